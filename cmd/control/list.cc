// SPDX-License-Identifier: MIT
// patchbay list functions|events|processes|symbols: what can be traced, what is defined, who has an
// agent.
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "attach/attach.h"
#include "base/monotonic_clock.h"
#include "base/text.h"
#include "cmd/common/buffer_source.h"
#include "cmd/common/side_by_side.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/target/inside_ids.h"
#include "cmd/target/process_word.h"
#include "cmd/target/running_process.h"
#include "cmd/target/target_program.h"
#include "cmd/target/target_symbols.h"
#include "cmd/target/trace_request.h"
#include "ring_buffer/buffer_file.h"
#include "serve/directory.h"
#include "serve/peer_watch.h"
#include "symbol/symbol.h"

namespace patchbay::cmd {
namespace {

constexpr int kJson = kFirstOptionId;
constexpr Option kOptions[] = {
    kPidOption,
    {.name = "json", .help = "prints one JSON array", .id = kJson},
};

struct Options {
  int pid = 0;
  bool json = false;
  std::string glob;

  bool selects(const std::string& name) const {
    return glob.empty() || ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
  }
};

// One object of the output: names and values, shown as a line of `text` or as JSON.
struct Row {
  std::string text;
  std::vector<std::pair<const char*, std::string>> fields;  // values are JSON already
  std::vector<std::string> below = {};                      // lines of `text` of its own
};

void print_rows(const std::vector<Row>& rows, bool json) {
  if (!json) {
    for (const Row& row : rows) {
      std::printf("%s\n", one_line(row.text).c_str());
      for (const std::string& line : row.below) std::printf("%s\n", one_line(line).c_str());
    }
    return;
  }
  std::fputs("[", stdout);
  for (size_t i = 0; i < rows.size(); i++) {
    std::fputs(i == 0 ? "\n  {" : ",\n  {", stdout);
    for (size_t f = 0; f < rows[i].fields.size(); f++) {
      const auto& [name, value] = rows[i].fields[f];
      std::printf("%s\"%s\": %s", f == 0 ? "" : ", ", name, value.c_str());
    }
    std::fputs("}", stdout);
  }
  std::fputs(rows.empty() ? "]\n" : "\n]\n", stdout);
}

// "NAME [MODULE] KIND", where NAME may have blanks.
Row function_row(const std::string& line, std::string* name) {
  size_t kind = line.rfind(' ');
  size_t module = kind == line.npos || kind == 0 ? line.npos : line.rfind(" [", kind - 1);
  if (module == line.npos) return *name = line, Row{line, {{"name", json_quote(line)}}};
  *name = line.substr(0, module);
  std::string library = line.substr(module + 2, kind - module - 3);
  return Row{line,
             {{"name", json_quote(*name)},
              {"module", json_quote(library)},
              {"kind", json_quote(line.substr(kind + 1))}}};
}

int list_process_functions(const Options& options) {
  Result<std::unique_ptr<serve::Client>> client = choose_process(options.pid);
  if (!client.ok()) return fail("list", client.error());
  Result<std::string> text = (*client)->read_all("debug/function_kinds", serve::kMostFunctions);
  if (!text.ok()) return fail("list", text.error());
  std::vector<Row> rows;
  for (const std::string& line : split_lines(*text)) {
    std::string name;
    Row row = function_row(line, &name);
    if (options.selects(name)) rows.push_back(std::move(row));
  }
  print_rows(rows, options.json);
  return kOk;
}

const char* source_name(SymbolSource source) {
  switch (source) {
    case SymbolSource::kSymtab:
      return "symtab";
    case SymbolSource::kDynsym:
      return "dynsym";
    case SymbolSource::kDebugFile:
      return "debug file";
    case SymbolSource::kEhFrame:
      return "eh_frame";
  }
  return "?";
}

Row file_function_row(const Module& module, const FunctionSymbol& function,
                      const std::string& name) {
  char address[32];
  std::snprintf(address, sizeof address, "0x%llx",
                static_cast<unsigned long long>(function.address - module.bias()));
  return Row{name + " [" + module.name() + "] " + address + " " + std::to_string(function.size),
             {{"name", json_quote(name)},
              {"module", json_quote(module.name())},
              {"address", json_quote(address)},
              {"size", std::to_string(function.size)},
              {"source", json_quote(source_name(function.source))}}};
}

// The functions of a file that does not run: which of them can be traced only the agent knows.
int list_file_functions(const std::string& program, const Options& options) {
  Result<std::string> path = find_program(program);
  if (!path.ok()) return fail("list", path.error());
  Result<RecordedModule> recorded = module_of_file(*path);
  if (!recorded.ok()) return fail("list", recorded.error());
  std::unique_ptr<SymbolTable> table = make_recorded_symbol_table({*recorded});
  std::vector<Row> rows;
  for (Module* module : table->modules()) {
    for (const FunctionSymbol& function : module->functions()) {
      std::string name = display_name(*module, function);
      if (options.selects(name)) rows.push_back(file_function_row(*module, function, name));
    }
  }
  if (rows.empty() && options.glob.empty())
    return fail("list", *path + " has no functions that can be named.");
  print_rows(rows, options.json);
  return kOk;
}

int list_events(const Options& options) {
  Result<std::unique_ptr<serve::Client>> client = choose_process(options.pid);
  if (!client.ok()) return fail("list", client.error());
  Result<std::string> text = (*client)->read_all("available_events");
  Result<std::string> enabled = (*client)->read_all("set_event");
  if (!text.ok()) return fail("list", text.error());
  std::vector<std::string> on = split_lines(enabled.ok() ? *enabled : "");
  std::vector<Row> rows;
  for (const std::string& line : split_lines(*text)) {
    std::string name = line.substr(line.find(':') + 1);
    if (!options.selects(name)) continue;
    bool is_on = std::find(on.begin(), on.end(), line) != on.end();
    rows.push_back({line,
                    {{"system", json_quote(line.substr(0, line.find(':')))},
                     {"name", json_quote(name)},
                     {"enabled", is_on ? "true" : "false"}}});
  }
  print_rows(rows, options.json);
  return kOk;
}

struct ProcessFacts {
  std::string state =
      "";  // of ProcessState; "silent" instead of "alive": the agent does not answer
  // "preloaded", "attached", "forked" (a child that records with its parent), "asleep"; empty:
  // nobody says it
  std::string agent = "";
  std::string exe = "";
  int inside = 0;        // its number in a pid namespace of its own; 0: it has none
  std::string why = "";  // it is silent
};

// Also where a process has its agent in another runtime directory.
bool is_at_work(int pid) {
  const std::string directory = "/proc/" + std::to_string(pid);
  std::error_code none;
  for (const auto& task : std::filesystem::directory_iterator(directory + "/task", none)) {
    Result<std::string> name = read_file(task.path() / "comm");
    if (name.ok() && *name == std::string(serve::kControlThreadName) + "\n") return true;
  }
  Result<std::string> maps = read_file(directory + "/maps");
  const std::vector<std::string> lines = split_lines(maps.ok() ? *maps : "");
  return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find(" rw-s ") != line.npos &&
           line.find(std::string("/") + serve::kBufferName) != line.npos;
  });
}

// What the agent is in a process that does not answer: "asleep" where it has been taken out, and
// its library is still there; "forked"; "" where there is none, or it works elsewhere.
std::string silent_agent(int pid, const std::string& runtime) {
  Result<std::string> agent = find_agent();
  if (!agent.ok()) return "";
  Result<attach::Presence> presence = attach::presence_of(pid, *agent);
  if (!presence.ok() || *presence != attach::Presence::kAsleep) return "";
  if (records_with(pid, runtime) != 0) return "forked";  // with its parent
  return is_at_work(pid) ? "" : "asleep";
}

// The program's name in a buffer file.
std::string recorded_exe(const serve::ProcessEntry& entry) {
  if (!entry.has_buffer) return "";
  auto buffer = BufferFile::open(entry.directory + "/" + serve::kBufferName, false);
  if (!buffer.ok()) return "";
  auto meta = (*buffer)->meta();
  if (!meta.ok()) return "";
  for (const BufferFile::Meta& record : *meta) {
    if (record.type == abi::kMetaExe) return record.payload.substr(0, record.payload.find('\0'));
  }
  return "";
}

// What the agent says about itself and the program, or what is left of it.
ProcessFacts facts_of(const serve::ProcessEntry& entry, int64_t until_ms) {
  ProcessFacts facts{process_state_name(entry.state)};
  if (entry.state == serve::ProcessState::kAlive) {
    Result<std::unique_ptr<serve::Client>> client =
        serve::Client::connect_directory(entry.directory, until_ms);
    if (client.ok()) return {facts.state, (*client)->arrival(), (*client)->exe()};
    if (!serve::is_gone(client.error())) {
      facts.state = "silent";
      facts.why = client.error().message();
    }
  }
  if (entry.state == serve::ProcessState::kNoAgent)
    facts.agent = silent_agent(entry.pid, entry.directory.substr(0, entry.directory.rfind('/')));
  facts.exe = recorded_exe(entry);
  return facts;
}

ProcessFacts guarded_facts(const serve::ProcessEntry& entry, int64_t until_ms) {
  ProcessFacts facts{process_state_name(entry.state)};
  const Status done = guarded([&]() -> Status {
    facts = facts_of(entry, until_ms);
    return {};
  });
  if (!done.ok()) facts.why = done.error().message();
  return facts;
}

// The buffers of instances, and snapshots, each on a line of its own below its process.
std::vector<std::string> other_buffers(const BufferSource& source) {
  std::vector<std::string> lines;
  for (const BufferPart& part : source.parts) {
    if (part.path == source.top) continue;
    struct stat status = {};
    char size[32];
    (void)::stat(part.path.c_str(), &status);
    std::snprintf(size, sizeof size, "%26llu KB  ",
                  static_cast<unsigned long long>(status.st_blocks) / 2);
    lines.push_back(size + part.path);
  }
  return lines;
}

// All of them as JSON, "" the top one.
std::string buffers_json(const BufferSource& source) {
  std::string text;
  for (const BufferPart& part : source.parts)
    text += (text.empty() ? "" : ", ") + json_quote(part.name);
  return "[" + text + "]";
}

Row process_row(const serve::ProcessEntry& entry, const ProcessFacts& facts) {
  char text[64];
  std::snprintf(text, sizeof text, "%7d %-8s %-9s %9llu KB  ", entry.pid, facts.state.c_str(),
                facts.agent.empty() ? "-" : facts.agent.c_str(),
                static_cast<unsigned long long>(entry.buffer_bytes / 1024));
  const bool has_directory = !entry.directory.empty();
  const BufferSource source = has_directory ? source_of_directory(entry.directory) : BufferSource{};
  Row row{text + (has_directory ? entry.directory : "-") + "  " +
              (facts.exe.empty() ? "-" : facts.exe) +
              (facts.inside ? "  (inside " + std::to_string(facts.inside) + ")" : "") +
              (facts.why.empty() ? "" : "  (" + facts.why + ")"),
          {{"pid", std::to_string(entry.pid)},
           {"state", json_quote(facts.state)},
           {"agent", facts.agent.empty() ? "null" : json_quote(facts.agent)},
           {"directory", json_quote(entry.directory)},
           {"has_buffer", entry.has_buffer ? "true" : "false"},
           {"buffer_bytes", std::to_string(entry.buffer_bytes)},
           {"buffers", buffers_json(source)},
           {"exe", json_quote(facts.exe)}},
          other_buffers(source)};
  if (facts.inside) row.fields.emplace_back("inside", std::to_string(facts.inside));
  if (!facts.why.empty()) row.fields.emplace_back("why", json_quote(facts.why));
  return row;
}

// Processes of this user (of all, for root) in which the agent sleeps, or that were forked with it:
// nothing in the runtime directory tells of them.
std::map<int, std::string> silent_processes(const std::set<int>& but, const std::string& runtime) {
  std::map<int, std::string> found;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
    int pid = 0;
    struct stat status;
    if (!parse_pid(entry.path().filename().string(), &pid) || but.contains(pid)) continue;
    if (::stat(entry.path().c_str(), &status) != 0) continue;
    const bool is_ours = ::geteuid() == 0 || status.st_uid == ::geteuid();
    const std::string agent = is_ours ? silent_agent(pid, runtime) : "";
    if (!agent.empty()) found[pid] = agent;
  }
  return found;
}

int list_processes_command(const Options& options) {
  Result<std::string> directory = serve::runtime_directory(false);
  if (!directory.ok()) return fail("list", directory.error());
  Result<std::vector<serve::ProcessEntry>> entries = serve::list_processes(*directory);
  if (!entries.ok()) return fail("list", entries.error());
  std::vector<Row> rows;
  std::set<int> shown;
  std::vector<ProcessFacts> all(entries->size());
  const int64_t until_ms = monotonic_ms() + kMostWaitMs;
  side_by_side(all.size(), [&](size_t i) { all[i] = guarded_facts((*entries)[i], until_ms); });
  for (size_t i = 0; i < all.size(); i++) {
    const serve::ProcessEntry& entry = (*entries)[i];
    ProcessFacts& facts = all[i];
    if (entry.state != serve::ProcessState::kDead) facts.inside = number_inside(entry.pid);
    if (entry.state != serve::ProcessState::kDead) shown.insert(entry.pid);
    if (options.selects(std::string(base_name(facts.exe))))
      rows.push_back(process_row(entry, facts));
  }
  for (const auto& [pid, agent] : silent_processes(shown, *directory)) {
    const ProcessFacts facts{"no-agent", agent, exe_of(pid), number_inside(pid)};
    if (options.selects(std::string(base_name(facts.exe))))
      rows.push_back(process_row({.pid = pid}, facts));
  }
  print_rows(rows, options.json);
  return kOk;
}

int list_symbols(const Options& options) {
  Result<std::unique_ptr<serve::Client>> client = choose_process(options.pid);
  if (!client.ok()) return fail("list", client.error());
  Result<std::string> text = target_kallsyms(**client);
  if (!text.ok()) return fail("list", text.error());
  std::fputs(printable(*text).c_str(), stdout);
  return kOk;
}

int unknown_object(const std::string& what) {
  std::vector<std::string> near =
      near_matches(what, {"functions", "events", "processes", "symbols"}, 1);
  return usage_error("list", "There is nothing called '" + what +
                                 "' to list: functions, events, processes, symbols." +
                                 (near.empty() ? "" : " Did you mean '" + near[0] + "'?"));
}

}  // namespace

constexpr CommandLine kListLine = {
    .name = "list",
    .summary = "list functions, events or processes",
    .synopsis =
        "list functions -p PID [--json] [GLOB]\n"
        "list functions PROGRAM|FILE [--json] [GLOB]\n"
        "list events [-p PID] [--json] [GLOB]\n"
        "list processes [--json] [GLOB]\n"
        "list symbols [-p PID]",
    .about = R"(functions  the functions of a process that can be traced, with their library and
           kind of call site (sled, jump, short-jump, int3); or the functions that
           an ELF file has
events     the events that are defined in a process
processes  the processes with an agent, and whether it was preloaded or attached;
           those it was taken out of, where it is asleep; children that were forked
           with it and record with their parent; and dead ones whose buffer is still
           there; below them the buffers of instances, and snapshots
symbols    the functions of a process with their addresses, as /proc/kallsyms has
           the kernel's

GLOB (*, ?, [a-z]) selects by the name of the function, event or program.

)",
    .options = {kOptions},
    .words = "functions|events|processes|symbols",
};

int run_list(int argc, char** argv) {
  Options options;
  const auto take = [&options](int id, const char* value) {
    options.json |= id == kJson;
    return id == 'p' ? take_pid(value, &options.pid) : nullptr;
  };
  if (const std::optional<int> ended = parse_options(kListLine, argc, argv, take)) return *ended;
  std::vector<std::string> words(argv + ::optind, argv + argc);
  if (words.empty())
    return usage_error("list",
                       "A word says what is listed: functions, events, processes or symbols.");
  std::string what = words.front(), file;
  words.erase(words.begin());
  if (what != "functions" && what != "events" && what != "processes" && what != "symbols")
    return unknown_object(what);
  // A file may be called as a number.
  if (what != "processes" && options.pid == 0 && !words.empty() &&
      ::access(words.front().c_str(), F_OK) != 0 && parse_pid(words.front(), &options.pid))
    words.erase(words.begin());
  if (what == "functions" && options.pid == 0 && !words.empty()) {
    file = words.front();
    words.erase(words.begin());
  }
  if (words.size() > 1) return usage_error("list", "The word '" + words[1] + "' is one too many.");
  if (!words.empty()) options.glob = words.front();
  if (what == "events") return list_events(options);
  if (what == "symbols") return list_symbols(options);
  if (what == "processes") return list_processes_command(options);
  return file.empty() ? list_process_functions(options) : list_file_functions(file, options);
}

}  // namespace patchbay::cmd
