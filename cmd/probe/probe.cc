// SPDX-License-Identifier: MIT
//
// patchbay probe: probes by source line and variable, as perf probe has them.
//
//   what is asked for --- debug information of FILE ---> plain definitions, printed
//                                                          └─> dynamic_events of the process
#include <fcntl.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <set>
#include <sstream>

#include "cmd/common/tracefs_command.h"
#include "cmd/probe/probe_show.h"
#include "cmd/target/attachment.h"
#include "cmd/target/probe_source.h"
#include "cmd/target/process_word.h"
#include "cmd/target/target_program.h"
#include "cmd/target/trace_request.h"
#include "serve/client.h"
#include "symbol/symbol.h"

namespace patchbay::cmd {
namespace {

constexpr int kDel = kFirstOptionId, kList = kDel + 1, kFuncs = kDel + 2, kPrototype = kDel + 3;
constexpr Option kOptions[] = {
    {.letter = 'x',
     .name = "exec",
     .argument = "FILE",
     .help = "names the program or library; the default is the program of the process",
     .more = "Without it the libraries of the process are looked into as well."},
    kPidOption,
    {.letter = 'm',
     .name = "mount",
     .argument = "DIR",
     .help = "names the place where its tracefs is mounted"},
    {.letter = 'a',
     .name = "add",
     .argument = "DEFINITION",
     .help = "adds a probe",
     .more = "Words behind the options are one definition as well.",
     .repeats = true},
    {.name = "del",
     .argument = "GLOB",
     .help = "removes the probes [GROUP:]EVENT that fit",
     .id = kDel},
    {.name = "list", .argument = "[GLOB]", .help = "lists the probes that there are", .id = kList},
    {.letter = 'L',
     .name = "line",
     .argument = "FUNC",
     .help = "prints the source of FUNC; lines where a probe can be have their number"},
    {.letter = 'V',
     .name = "vars",
     .argument = "PLACE",
     .help = "prints the variables at the place, and how they are fetched"},
    {.name = "funcs",
     .argument = "[GLOB]",
     .help = "prints the functions that the debug information knows",
     .id = kFuncs},
    {.name = "prototype",
     .argument = "FUNC",
     .help = "prints what is known of the arguments of FUNC, and who says it",
     .more = "It is what `-e FUNC` of record, with a name alone, makes an event of.",
     .id = kPrototype},
    {.letter = 'n', .name = "dry-run", .help = "prints the definition and writes nothing"},
    {.letter = 'd', .argument = "GLOB", .id = kDel, .kind = Option::Kind::kOldSpelling},
    {.letter = 'l', .argument = "[GLOB]", .id = kList, .kind = Option::Kind::kOldSpelling},
    {.letter = 'F', .argument = "[GLOB]", .id = kFuncs, .kind = Option::Kind::kOldSpelling},
};

struct ProbeOptions {
  std::string file, mount;
  int pid = 0;
  bool dry_run = false;
  int action = 'a';
  std::vector<std::string> words;  // definitions, or the action's value
};

// --- the tracefs of a process: through its socket, or where it is mounted

class ProbeTarget {
 public:
  // A process that is only asked need not have an agent. One that gets a probe is given it.
  static Result<ProbeTarget> open(const ProbeOptions& options);
  void stay() { attachment_->stay(); }
  Result<std::string> read(const std::string& file);
  Status append(const std::string& file, const std::string& line);
  const std::string& exe() const { return exe_; }
  int pid() const { return pid_; }

 private:
  std::unique_ptr<Attachment> attachment_ = std::make_unique<Attachment>();
  std::unique_ptr<serve::Client> client_;
  std::string directory_, exe_;
  int pid_ = 0;  // 0: of a directory
};

Result<ProbeTarget> ProbeTarget::open(const ProbeOptions& options) {
  ProbeTarget target;
  target.directory_ = options.mount;
  if (!options.mount.empty()) return target;
  const bool adds = options.action == 'a' && !options.dry_run;
  const bool only_asks = !adds && options.action != kList && options.action != kDel;
  Result<std::unique_ptr<serve::Client>> client =
      adds ? attach_if_needed(options.pid, target.attachment_.get()) : choose_process(options.pid);
  target.pid_ = client.ok() ? (*client)->pid() : options.pid;
  target.exe_ = client.ok() ? (*client)->exe() : exe_of(options.pid);
  if (!client.ok() && (!only_asks || target.exe_.empty())) return client.error();
  if (client.ok()) target.client_ = std::move(*client);
  return target;
}

Result<std::string> ProbeTarget::read(const std::string& file) {
  if (!client_ && directory_.empty()) return std::string();
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
  PB_ASSIGN(std::string text, target.read("dynamic_events"));
  std::vector<ListedProbe> probes;
  for (const std::string& line : split_lines(text)) {
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
    std::printf("Removed: %s\n", one_line(name).c_str());
  }
  return kOk;
}

// --- adding

// The objects to look into: the file that was named, or those of the process.
Result<std::vector<std::string>> chosen_objects(const ProbeOptions& options, ProbeTarget* target) {
  if (options.file.empty()) {
    if (target && target->pid() != 0) return objects_of(target->pid(), target->exe());
    return user_error(EINVAL, "A program is needed: -x FILE names it.");
  }
  if (::access(options.file.c_str(), R_OK) == 0) return std::vector<std::string>{options.file};
  PB_ASSIGN(std::string program, find_program(options.file));
  return std::vector<std::string>{program};
}

Status add_probe(const ProbeOptions& options, const std::vector<std::string>& objects,
                 const std::string& text, ProbeTarget* target) {
  PB_ASSIGN(DerivedProbe probe, derive_probe(objects, text));
  print_probe_notes(probe.notes);
  PB_ASSIGN(std::string there, target ? target->read("dynamic_events") : std::string());
  std::string name = free_event_name(there, probe);
  for (const std::string& line : probe.definitions(name)) {
    const bool is_written = !options.dry_run && target;
    Status written = is_written ? target->append("dynamic_events", line) : Status();
    if (!written.ok()) {
      // With a caret it begins with the line.
      const std::string sentence = written.error().message();
      const bool has_line = sentence.starts_with(line + "\n");
      return user_error(written.error().errno_value,
                        has_line ? "\n" + sentence : line + ": " + sentence);
    }
    std::printf("%s\n", one_line(line).c_str());
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
  if (chosen) chosen->stay();
  return kOk;
}

// --- questions

// The files that a question is about: FILE's, or those of a process, which is not needed longer.
Result<std::vector<std::string>> asked_objects(const ProbeOptions& options) {
  if (!options.file.empty()) return chosen_objects(options, nullptr);
  PB_ASSIGN(ProbeTarget target, ProbeTarget::open(options));
  return chosen_objects(options, &target);
}

int ask(const ProbeOptions& options) {
  Result<std::vector<std::string>> objects = asked_objects(options);
  if (!objects.ok()) return fail("probe", objects.error());
  const std::string word = options.words.empty() ? "" : options.words[0];
  if (options.action == kPrototype) return show_prototype(*objects, word);
  Result<std::unique_ptr<SourceProbes>> source = SourceProbes::open(objects->front());
  if (!source.ok()) return fail("probe", source.error());
  if (options.action == kFuncs) return show_functions(**source, word);
  Result<ProbeRequest> request = parse_probe_request(word);
  if (!request.ok()) return fail("probe", request.error());
  return options.action == 'L' ? show_lines(**source, *request)
                               : show_variables(**source, *request);
}

// --- command line

// Null when the option is right, else the sentence about it.
const char* take_option(int id, const std::string& text, ProbeOptions* options) {
  switch (id) {
    case 'x':
      options->file = text;
      return text.empty() ? "-x takes a file." : nullptr;
    case 'm':
      options->mount = text;
      return text.empty() ? "-m takes a directory." : nullptr;
    case 'p':
      return take_pid(text.c_str(), &options->pid);
    case 'n':
      options->dry_run = true;
      return nullptr;
    case 'a':
      options->words.push_back(text);
      return text.empty() ? "-a takes a definition." : nullptr;
    default:
      if (options->action != 'a')
        return "Only one of --del, --list, -L, -V, --funcs and --prototype can be given.";
      options->action = id;
      if (::optarg) options->words.push_back(text);
      return nullptr;
  }
}

bool parse_command_line(int argc, char** argv, ProbeOptions* options, int* status) {
  const auto take = [&](int id, const char* value) { return take_option(id, value, options); };
  if (const std::optional<int> ended = parse_options(kProbeLine, argc, argv, take))
    return *status = *ended, false;
  if (options->pid == 0) (void)take_pid_word(argv, argc, &options->pid);
  std::string rest;
  for (int i = ::optind; i < argc; i++) rest += (rest.empty() ? "" : " ") + std::string(argv[i]);
  if (!rest.empty()) options->words.push_back(rest);
  bool takes_one = options->action != 'a';
  if (takes_one && options->words.size() > 1)
    return *status = usage_error("probe", "The word '" + rest + "' is one too many."), false;
  if (options->action == 'a' && options->words.empty())
    return *status = usage_error("probe", "A definition is missing."), false;
  return true;
}

}  // namespace

constexpr CommandLine kProbeLine = {
    .name = "probe",
    .summary = "put a probe on a source line and fetch variables",
    .synopsis =
        "probe [-x FILE] [-p PID|-m DIR] [-n] [-a] DEFINITION...\n"
        "probe [-x FILE] -L FUNC | -V PLACE | --funcs[=GLOB] | --prototype FUNC\n"
        "probe [-p PID|-m DIR] --list[=GLOB] | --del GLOB",
    .about = R"(Puts a probe on a line of a program's source and fetches its variables. The plain
definition is printed and written to dynamic_events of the process, where the probe
is enabled. A process without the agent gets it, until `patchbay detach`.

DEFINITION  [[GROUP:]EVENT=]PLACE [ARG...]
PLACE       FUNC  FUNC:LINE  FUNC+OFFSET  FUNC%return  FUNC@FILE:LINE  FILE:LINE
            'FUNC;PATTERN'; LINE of a function counts from its first line
ARG         [NAME=]EXPR[:TYPE]; EXPR is var, var->member, var[2].x, *var, $retval;
            also $vars, $params, and %REG, @SYM, +8(%sp) as a definition has them

)",
    .options = {kOptions},
    .after = R"(Example: patchbay probe -p 1234 'work:3 n item->name' &&
         patchbay write 1234 events/probe_calls/work_L3/enable 1
)",
    .order = CommandLine::Words::kLast,
    .attaches = true,
};

int run_probe(int argc, char** argv) {
  ProbeOptions options;
  int status = kOk;
  if (!parse_command_line(argc, argv, &options, &status)) return status;
  switch (options.action) {
    case 'a':
      return add_probes(options);
    case kDel:
      return delete_probes(options);
    case kList:
      return list_probes(options);
    default:
      return ask(options);
  }
}

}  // namespace patchbay::cmd
