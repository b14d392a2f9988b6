// SPDX-License-Identifier: MIT
//
// patchbay probe: probes by source line and variable, as perf probe has them.
//
//   what is asked for --- debug information of FILE ---> plain definitions, printed
//                                                          └─> dynamic_events of the process
#include <fcntl.h>
#include <fnmatch.h>
#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <set>
#include <sstream>

#include "probe_show.h"
#include "probe_source.h"
#include "serve/client.h"
#include "symbol/symbol.h"
#include "target_program.h"
#include "trace_request.h"
#include "tracefs_command.h"

namespace patchbay::cmd {
namespace {

constexpr const char kHelp[] =
    "Usage: patchbay probe [-x FILE] [-p PID|-m DIR] [-n] [-a] 'DEFINITION'...\n"
    "       patchbay probe [-x FILE] -L FUNC | -V PLACE | -F [GLOB]\n"
    "       patchbay probe [-p PID|-m DIR] -l [GLOB] | -d GLOB\n\n"
    "Puts a probe on a line of a program's source and fetches its variables. The plain definition\n"
    "is printed and written to dynamic_events of the process; enable it there.\n\n"
    "DEFINITION  [[GROUP:]EVENT=]PLACE [ARG...]\n"
    "PLACE       FUNC  FUNC:LINE  FUNC+OFFSET  FUNC%return  FUNC@FILE:LINE  FILE:LINE\n"
    "            'FUNC;PATTERN'; LINE of a function counts from its first line\n"
    "ARG         [NAME=]EXPR[:TYPE]; EXPR is var, var->member, var[2].x, *var, $retval; also "
    "$vars,\n"
    "            $params, and %REG, @SYM, +8(%sp) as a definition has them\n\n"
    "  -x, --exec FILE   the program or library; default: the program of the process\n"
    "  -p, --pid PID     the process; needed when several have an agent\n"
    "  -m, --mount DIR   its tracefs where it is mounted\n"
    "  -a, --add DEF     any number of them\n"
    "  -d, --del GLOB    removes [GROUP:]EVENT\n"
    "  -l, --list [GLOB] the probes there are\n"
    "  -L, --line FUNC   its source, with numbers where a probe can be\n"
    "  -V, --vars PLACE  the variables there\n"
    "  -F, --funcs [GLOB]  functions with debug information\n"
    "  -n, --dry-run     prints the definition and writes nothing\n\n"
    "Example: patchbay probe -p 1234 'work:3 n item->name' &&\n"
    "         patchbay write 1234 events/probe_calls/work_L3/enable 1\n";

struct ProbeOptions {
  std::string file, mount;
  int pid = 0;
  bool dry_run = false;
  char action = 'a';
  std::vector<std::string> words;  // definitions, or the action's value
};

// --- the tracefs of a process: through its socket, or where it is mounted

class ProbeTarget {
 public:
  static Result<ProbeTarget> open(const ProbeOptions& options);
  Result<std::string> read(const std::string& file);
  Status append(const std::string& file, const std::string& line);
  std::string exe() const { return client_ ? client_->exe() : ""; }
  int pid() const { return client_ ? client_->pid() : 0; }

 private:
  std::unique_ptr<serve::Client> client_;
  std::string directory_;
};

Result<ProbeTarget> ProbeTarget::open(const ProbeOptions& options) {
  ProbeTarget target;
  target.directory_ = options.mount;
  if (!options.mount.empty()) return target;
  Result<std::unique_ptr<serve::Client>> client = choose_process(options.pid);
  if (!client.ok()) return client.error();
  target.client_ = std::move(*client);
  return target;
}

Result<std::string> ProbeTarget::read(const std::string& file) {
  if (client_) return client_->read_all(file);
  std::ifstream stream(directory_ + "/" + file);
  if (!stream) return sys_error("open " + directory_ + "/" + file, errno);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

Status ProbeTarget::append(const std::string& file, const std::string& line) {
  if (client_) return client_->write_all(file, line + "\n", false);
  std::string path = directory_ + "/" + file, text = line + "\n";
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!fd.valid()) return sys_error("open " + path, errno);
  ssize_t count = ::write(fd.get(), text.data(), text.size());
  return count == ssize_t(text.size()) ? Status() : Status(sys_error("write " + path, errno));
}

// --- what the target has

// "p:GROUP/EVENT PLACE ARGS" taken apart; empty names for other lines.
struct ListedProbe {
  std::string name;  // GROUP:EVENT
  std::string place;
};
ListedProbe parse_listed(const std::string& line) {
  size_t colon = line.find(':'), blank = line.find(' ');
  if (colon == line.npos || blank == line.npos || blank < colon || line[0] == 's') return {};
  ListedProbe probe{line.substr(colon + 1, blank - colon - 1), line.substr(blank + 1)};
  size_t slash = probe.name.find('/');
  if (slash != probe.name.npos) probe.name[slash] = ':';
  return probe;
}

bool matches(const std::string& glob, const std::string& name) {
  size_t colon = name.find(':');
  return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0 ||
         ::fnmatch(glob.c_str(), name.substr(colon + 1).c_str(), 0) == 0;
}

Result<std::vector<ListedProbe>> listed_probes(ProbeTarget& target) {
  Result<std::string> text = target.read("dynamic_events");
  if (!text.ok()) return text.error();
  std::vector<ListedProbe> probes;
  for (const std::string& line : split_lines(*text)) {
    ListedProbe probe = parse_listed(line);
    if (!probe.name.empty()) probes.push_back(std::move(probe));
  }
  return probes;
}

int list_probes(const ProbeOptions& options) {
  Result<ProbeTarget> target = ProbeTarget::open(options);
  if (!target.ok()) return fail("probe", target.error());
  Result<std::vector<ListedProbe>> probes = listed_probes(*target);
  if (!probes.ok()) return fail("probe", probes.error());
  for (const ListedProbe& probe : *probes) {
    if (!options.words.empty() && !matches(options.words[0], probe.name)) continue;
    size_t blank = probe.place.find(' ');
    std::string place = probe.place.substr(0, blank);
    std::string with = blank == probe.place.npos ? "" : " with " + probe.place.substr(blank + 1);
    std::printf("  %-30s (on %s%s)\n", printable(probe.name).c_str(), printable(place).c_str(),
                printable(with).c_str());
  }
  return kOk;
}

int delete_probes(const ProbeOptions& options) {
  Result<ProbeTarget> target = ProbeTarget::open(options);
  if (!target.ok()) return fail("probe", target.error());
  Result<std::vector<ListedProbe>> probes = listed_probes(*target);
  if (!probes.ok()) return fail("probe", probes.error());
  std::set<std::string> chosen;
  std::vector<std::string_view> names;
  for (const ListedProbe& probe : *probes) {
    names.push_back(probe.name);
    if (matches(options.words[0], probe.name)) chosen.insert(probe.name);
  }
  if (chosen.empty()) {
    std::string sentence = "There is no probe '" + options.words[0] + "'";
    std::vector<std::string> near = near_matches(options.words[0], names);
    for (size_t i = 0; i < near.size(); i++) sentence += (i ? ", " : "; near: ") + near[i];
    return fail("probe", sentence + ".");
  }
  for (std::string name : chosen) {
    std::string line = name;
    line.replace(line.find(':'), 1, "/");
    Status removed = options.dry_run ? Status() : target->append("dynamic_events", "-:" + line);
    if (!removed.ok()) return fail("probe", name + ": " + removed.error().message());
    std::printf("Removed: %s\n", name.c_str());
  }
  return kOk;
}

// --- adding

// The objects to look into: the file that was named, or those of the process.
Result<std::vector<std::string>> chosen_objects(const ProbeOptions& options, ProbeTarget* target) {
  if (options.file.empty()) {
    if (target && target->pid() != 0) return objects_of(target->pid(), target->exe());
    return user_error(EINVAL, "Which program? -x FILE names it.");
  }
  if (::access(options.file.c_str(), R_OK) == 0) return std::vector<std::string>{options.file};
  Result<std::string> program = find_program(options.file);
  if (!program.ok()) return program.error();
  return std::vector<std::string>{*program};
}

Status add_probe(const ProbeOptions& options, const std::vector<std::string>& objects,
                 const std::string& text, ProbeTarget* target) {
  Result<DerivedProbe> probe = derive_probe(objects, text);
  if (!probe.ok()) return probe.error();
  print_probe_notes(probe->notes);
  Result<std::string> there = target ? target->read("dynamic_events") : std::string();
  if (!there.ok()) return there.error();
  std::string name = free_event_name(*there, *probe);
  for (const std::string& line : probe->definitions(name)) {
    const bool is_written = !options.dry_run && target;
    Status written = is_written ? target->append("dynamic_events", line) : Status();
    if (!written.ok()) {
      // With a caret it begins with the line.
      const std::string sentence = written.error().message();
      const bool has_line = sentence.starts_with(line + "\n");
      return user_error(written.error().errno_value,
                        has_line ? "\n" + sentence : line + ": " + sentence);
    }
    std::printf("%s\n", line.c_str());
  }
  return {};
}

int add_probes(const ProbeOptions& options) {
  std::optional<ProbeTarget> target;
  bool needs_target = !options.dry_run || options.file.empty();
  if (needs_target) {
    Result<ProbeTarget> opened = ProbeTarget::open(options);
    if (!opened.ok()) return fail("probe", opened.error());
    target = std::move(*opened);
  }
  ProbeTarget* chosen = target ? &*target : nullptr;
  Result<std::vector<std::string>> objects = chosen_objects(options, chosen);
  if (!objects.ok()) return fail("probe", objects.error());
  for (const std::string& definition : options.words) {
    Status added = add_probe(options, *objects, definition, chosen);
    if (!added.ok()) return fail("probe", added.error());
  }
  return kOk;
}

// --- questions

int ask(const ProbeOptions& options) {
  std::optional<ProbeTarget> target;
  if (options.file.empty()) {
    Result<ProbeTarget> opened = ProbeTarget::open(options);
    if (!opened.ok()) return fail("probe", opened.error());
    target = std::move(*opened);
  }
  Result<std::vector<std::string>> objects = chosen_objects(options, target ? &*target : nullptr);
  if (!objects.ok()) return fail("probe", objects.error());
  Result<std::unique_ptr<SourceProbes>> source = SourceProbes::open(objects->front());
  if (!source.ok()) return fail("probe", source.error());
  std::string word = options.words.empty() ? "" : options.words[0];
  if (options.action == 'F') return show_functions(**source, word);
  Result<ProbeRequest> request = parse_probe_request(word);
  if (!request.ok()) return fail("probe", request.error());
  return options.action == 'L' ? show_lines(**source, *request)
                               : show_variables(**source, *request);
}

// --- command line

// Null when the option is right, else the sentence about it.
const char* take_option(int letter, const char* value, ProbeOptions* options) {
  std::string text = value ? value : "";
  switch (letter) {
    case 'x':
      options->file = text;
      return text.empty() ? "-x takes a file." : nullptr;
    case 'm':
      options->mount = text;
      return text.empty() ? "-m takes a directory." : nullptr;
    case 'p':
      return parse_pid(text, &options->pid) ? nullptr : "-p takes a process id.";
    case 'n':
      options->dry_run = true;
      return nullptr;
    case 'a':
      options->words.push_back(text);
      return text.empty() ? "-a takes a definition." : nullptr;
    default:
      if (options->action != 'a') return "Only one of -d, -l, -L, -V and -F can be given.";
      options->action = char(letter);
      if (value) options->words.push_back(text);
      return nullptr;
  }
}

bool parse_command_line(int argc, char** argv, ProbeOptions* options, int* status) {
  const option long_options[] = {
      {"exec", required_argument, nullptr, 'x'},  {"pid", required_argument, nullptr, 'p'},
      {"mount", required_argument, nullptr, 'm'}, {"add", required_argument, nullptr, 'a'},
      {"del", required_argument, nullptr, 'd'},   {"list", optional_argument, nullptr, 'l'},
      {"line", required_argument, nullptr, 'L'},  {"vars", required_argument, nullptr, 'V'},
      {"funcs", optional_argument, nullptr, 'F'}, {"dry-run", no_argument, nullptr, 'n'},
      {"help", no_argument, nullptr, 'h'},        {}};
  ::opterr = 0;
  for (int letter; (letter = ::getopt_long(argc, argv, "+x:p:m:a:d:l::L:V:F::nh", long_options,
                                           nullptr)) != -1;) {
    if (letter == 'h') return std::fputs(kHelp, stdout), *status = kOk, false;
    if (letter == '?') return *status = bad_option("probe", argv), false;
    if (const char* wrong = take_option(letter, ::optarg, options))
      return *status = usage_error("probe", wrong), false;
  }
  if (options->pid == 0) (void)take_pid_word(argv, argc, &options->pid);
  std::string rest;
  for (int i = ::optind; i < argc; i++) rest += (rest.empty() ? "" : " ") + std::string(argv[i]);
  if (!rest.empty()) options->words.push_back(rest);
  bool takes_one = options->action != 'a';
  if (takes_one && options->words.size() > 1)
    return *status = usage_error("probe", "'" + rest + "' is too much."), false;
  if (options->action == 'a' && options->words.empty())
    return *status = usage_error("probe", "A definition is missing."), false;
  return true;
}

}  // namespace

int run_probe(int argc, char** argv) {
  ProbeOptions options;
  int status = kOk;
  if (!parse_command_line(argc, argv, &options, &status)) return status;
  switch (options.action) {
    case 'a':
      return add_probes(options);
    case 'd':
      return delete_probes(options);
    case 'l':
      return list_probes(options);
    default:
      return ask(options);
  }
}

}  // namespace patchbay::cmd
