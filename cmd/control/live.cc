// SPDX-License-Identifier: MIT
//
// start, stop, show, clear, reset, stat, snapshot, extract: trace-cmd's commands on a running
// process. Each is a few reads and writes of its tracefs.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "cmd/common/print_file.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/record/file_options.h"
#include "cmd/record/record.h"
#include "cmd/record/record_report.h"
#include "cmd/target/apply_request.h"
#include "cmd/target/attachment.h"
#include "cmd/target/memory_need.h"
#include "cmd/target/process_word.h"
#include "cmd/target/request_options.h"
#include "cmd/target/tool_uses.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

constexpr int kPipe = kFirstOptionId, kSnapshot = kPipe + 1, kTake = kPipe + 2, kReset = kPipe + 3,
              kFree = kPipe + 4, kFormat = kPipe + 5;

constexpr Option kInstanceOption = {.letter = 'B',
                                    .name = "buffer",
                                    .argument = "NAME",
                                    .help = "means the instance NAME instead of the top one"};
constexpr Option kStartOptions[] = {kPidOption};
constexpr Option kPlainOptions[] = {kPidOption, kInstanceOption};
constexpr Option kShowOptions[] = {
    kPidOption,
    kInstanceOption,
    {.name = "pipe",
     .help = "follows the buffer until Ctrl-C or the end of the process, and takes what it prints",
     .id = kPipe},
    {.name = "snapshot", .help = "prints the snapshot", .id = kSnapshot},
    {.letter = 's', .id = kSnapshot, .kind = Option::Kind::kOldSpelling},
};
constexpr Option kSnapshotOptions[] = {
    kPidOption,
    kInstanceOption,
    {.name = "take", .help = "takes a snapshot", .id = kTake},
    {.name = "reset", .help = "empties the snapshot", .id = kReset},
    {.name = "free", .help = "frees the memory of the snapshot", .id = kFree},
    {.letter = 's', .id = kTake, .kind = Option::Kind::kOldSpelling},
    {.letter = 'r', .id = kReset, .kind = Option::Kind::kOldSpelling},
    {.letter = 'f', .id = kFree, .kind = Option::Kind::kOldSpelling},
};
constexpr Option kExtractOptions[] = {
    kPidOption,
    {.letter = 'B',
     .name = "buffer",
     .argument = "NAME",
     .help = "means the instance NAME instead of the top one",
     .repeats = true},
    {.letter = 'o',
     .name = "output",
     .argument = "FILE",
     .help = "writes FILE instead of trace.dat"},
    {.name = "format",
     .argument = "6|7",
     .help = "sets the version of the trace.dat; the default is 7",
     .id = kFormat},
};

struct LiveOptions {
  RecordOptions record;  // request, pid, output, version
  bool pipe = false;     // show --pipe
  int what = 0;          // kSnapshot, kTake, kReset or kFree of show and snapshot
};

using Client = serve::Client;

// Writes to a file that may not exist in this process, or not in an instance.
Status write_if_there(Client& client, const std::string& path, std::string_view text,
                      bool truncate) {
  Status status = client.write_all(path, text, truncate);
  return !status.ok() && status.error().errno_value == ENOENT ? Status() : status;
}

std::string directory_of(const LiveOptions& options) {
  return options.record.request.last().directory();
}

// --- the commands

Status start(Client& client, const LiveOptions& options) {
  const TraceRequest& request = options.record.request;
  PB_ASSIGN(std::string runtime, serve::runtime_directory(false));
  Result<std::unique_ptr<ToolUses>> uses =
      ToolUses::begin(client, runtime + "/" + std::to_string(client.pid()));
  if (!uses.ok()) return uses.error();
  AppliedRequest applied;
  applied.uses = uses->get();  // until it is done: what fails half-way changes nothing
  std::vector<std::string> directories;
  for (const InstanceRequest& instance : request.instances()) {
    bool is_meant =
        request.instances().size() == 1 || !instance.instance.empty() || !instance.events.empty();
    if (is_meant) directories.push_back(instance.directory());
  }
  for (const std::string& directory : directories)
    if (request.has_events()) PB_TRY(write_if_there(client, directory + "trace", "", true));
  PB_TRY(apply_request(request, client, &applied));
  for (const std::string& directory : directories)
    PB_TRY(client.write_all(directory + "tracing_on", "1\n", false));
  (*uses)->stay();
  return {};
}

Status stop(Client& client, const LiveOptions& options) {
  return client.write_all(directory_of(options) + "tracing_on", "0\n", false);
}

Status clear(Client& client, const LiveOptions& options) {
  return client.write_all(directory_of(options) + "trace", "", true);
}

// The tracer, its functions and their commands.
Status reset_tracer(Client& client, const std::string& directory) {
  PB_TRY(write_if_there(client, directory + "current_tracer", "nop\n", true));
  for (const char* file :
       {"set_ftrace_filter", "set_ftrace_notrace", "set_ftrace_pid", "set_ftrace_notrace_pid"})
    PB_TRY(write_if_there(client, directory + file, "", true));
  Result<std::string> left = client.read_all(directory + "set_ftrace_filter");
  for (const std::string& line : split_lines(left.ok() ? *left : "")) {
    if (!is_function_command(line)) continue;
    size_t end = line.rfind(':');
    std::string counted = line.substr(end).starts_with(":count=") ? ":0" : "";
    PB_TRY(client.write_all(directory + "set_ftrace_filter",
                            "!" + line.substr(0, end) + counted + "\n", false));
  }
  if (!directory.empty()) return {};
  PB_TRY(write_if_there(client, "function_profile_enabled", "0\n", true));
  PB_TRY(write_if_there(client, "max_graph_depth", "0\n", true));
  PB_TRY(write_if_there(client, "set_graph_function", "", true));
  return write_if_there(client, "set_graph_notrace", "", true);
}

// Takes back what a command has left in a process that did not answer at that time.
void take_back_left(Client& client) {
  Result<std::string> runtime = serve::runtime_directory(false);
  if (runtime.ok()) (void)ToolUses::begin(client, *runtime + "/" + std::to_string(client.pid()));
}

Status reset(Client& client, const LiveOptions& options) {
  take_back_left(client);
  std::string directory = directory_of(options);
  PB_TRY(reset_tracer(client, directory));
  PB_TRY(client.write_all(directory + "set_event", "", true));
  PB_ASSIGN(std::vector<std::string> systems, client.list(directory + "events"));
  for (const std::string& system : systems) {
    // A system without a filter of its own (ftrace) has nothing to remove.
    if (system.ends_with('/'))
      PB_TRY(write_if_there(client, directory + "events/" + system + "filter", "0\n", false));
  }
  for (const char* file : {"set_event_pid", "set_event_notrace_pid"})
    PB_TRY(write_if_there(client, directory + file, "", true));
  Status removed = directory.empty() ? client.write_all("function_events", "", true) : Status();
  if (!removed.ok() && removed.error().errno_value != EBUSY) return removed;  // an instance has it
  removed = directory.empty() ? write_if_there(client, "dynamic_events", "", true) : Status();
  if (!removed.ok() && removed.error().errno_value != EBUSY) return removed;
  PB_TRY(write_if_there(client, directory + "trace_clock", "local\n", false));
  PB_TRY(write_if_there(client, directory + "snapshot", "0\n", false));
  PB_TRY(client.write_all(directory + "trace", "", true));
  return client.write_all(directory + "tracing_on", "1\n", false);
}

Status show(Client& client, const LiveOptions& options) {
  std::string directory = directory_of(options);
  stop_on_interrupt();
  const char* file = options.pipe ? "trace_pipe" : options.what == kSnapshot ? "snapshot" : "trace";
  return print_file(client, directory + file);
}

Status snapshot(Client& client, const LiveOptions& options) {
  std::string path = directory_of(options) + "snapshot";
  switch (options.what) {
    case kTake:
      return client.write_all(path, "1\n", false);
    case kReset:
      return client.write_all(path, "2\n", false);
    case kFree:
      return client.write_all(path, "0\n", false);
    default:
      return print_file(client, path);
  }
}

// "Title: text", or the lines below the title.
void print_value(std::string_view title, Result<std::string> text) {
  if (!text.ok() || text->empty() || *text == "\n") return;
  std::vector<std::string> lines = split_lines(*text);
  if (lines.size() == 1)
    return (void)std::printf("%.*s: %s\n", int(title.size()), title.data(),
                             printable(lines[0]).c_str());
  std::printf("%.*s:\n", int(title.size()), title.data());
  constexpr size_t kMostShown = 20;  // a filter may hold thousands of functions
  for (size_t i = 0; i < std::min(lines.size(), kMostShown); i++)
    std::printf("  %s\n", printable(lines[i]).c_str());
  if (lines.size() > kMostShown) std::printf("  ... and %zu more\n", lines.size() - kMostShown);
}

Status stat(Client& client, const LiveOptions& options) {
  std::string directory = directory_of(options);
  constexpr std::pair<const char*, const char*> kValues[] = {
      {"Tracing on", "tracing_on"},
      {"Tracer", "current_tracer"},
      {"Its functions", "set_ftrace_filter"},
      {"Not these functions", "set_ftrace_notrace"},
      {"Events", "set_event"},
      {"Filters", "show_event_filters"},
      {"Threads", "set_event_pid"},
      {"Not these threads", "set_event_notrace_pid"},
      {"Clock", "trace_clock"},
      {"Buffer of a CPU (KB)", "buffer_size_kb"},
      {"Buffer in all (KB)", "buffer_total_size_kb"},
      {"Function events", "function_events"},
      {"Errors", "error_log"}};
  for (const auto& [title, file] : kValues) print_value(title, client.read_all(directory + file));
  Result<std::vector<std::string>> instances = client.list("instances");
  std::string names;
  if (directory.empty() && instances.ok()) {
    for (const std::string& name : *instances) names += name.substr(0, name.size() - 1) + "\n";
  }
  print_value("Instances", names);
  return {};
}

// Reads what is there without waiting. It stays there.
Status extract(Client& client, const LiveOptions& options) {
  const RecordOptions& record = options.record;
  PB_ASSIGN(std::unique_ptr<OutputLock> lock, OutputLock::take(record.output));
  PB_ASSIGN(std::string runtime, serve::runtime_directory(false));
  Result<std::vector<RecordedBuffer>> buffers =
      open_buffers(record.request, client, runtime + "/" + std::to_string(client.pid()), false);
  if (!buffers.ok()) return buffers.error();
  Result<std::unique_ptr<Recording>> recording =
      Recording::open(std::move(*buffers), record.output, record.version);
  if (!recording.ok()) return recording.error();
  lock->keep();
  PB_ASSIGN(TraceDatResult result, (*recording)->finish());
  std::printf("%llu events in %s\n",
              static_cast<unsigned long long>((*recording)->events() - result.events_lost),
              one_line(record.output).c_str());
  return saved_whole(result, record.output);
}

// --- command line

using LiveAction = Status (*)(Client& client, const LiveOptions& options);
constexpr LiveAction kActions[] = {start, stop, show, clear, reset, stat, snapshot, extract};

// Null when the option is right, else the sentence about it.
const char* take_option(bool is_start, int id, const char* value, LiveOptions* options) {
  const std::string_view text = value;
  if (TraceRequest::is_ours(id)) return options->record.request.take(id, value);
  switch (id) {
    case 'p':
      if (is_start) return options->record.request.take_pid(value, &options->record.pid);
      return take_pid(value, &options->record.pid);
    case 'o':
      options->record.output = text;
      return text.empty() ? "-o takes a file." : nullptr;
    case kPipe:
      options->pipe = true;
      return nullptr;
    case kFormat:
      options->record.version = text == "6" ? 6 : 7;
      return text == "6" || text == "7" ? nullptr : "--format takes 6 or 7.";
    default:
      options->what = id;
      return nullptr;
  }
}

bool parse_command_line(const CommandLine& line, int argc, char** argv, LiveOptions* options,
                        int* status) {
  const bool is_start = std::string_view(line.name) == "start";
  const auto take = [&](int id, const char* value) {
    return take_option(is_start, id, value, options);
  };
  if (const std::optional<int> ended = parse_options(line, argc, argv, take))
    return *status = *ended, false;
  const char* wrong = options->record.request.check();
  if (wrong) return *status = usage_error(line.name, wrong), false;
  if (options->record.pid == 0 && ::optind < argc)
    (void)take_pid_word(argv, argc, &options->record.pid);
  return ::optind == argc || (*status = too_much(line, argv), false);
}

}  // namespace

constexpr std::array<CommandLine, 8> kLiveLines = {{
    {.name = "start",
     .summary = "start tracing in a running process",
     .synopsis = "start [-p PID] [-B NAME] [-e EVENT [-f FILTER]]... [-t TRACER] [OPTION...]",
     .about = R"(Sets up and enables in a running process what is given, and lets events in. With
an event or a tracer the buffer is emptied first. EVENT is what `patchbay record`
takes. A process without the agent gets it, until `patchbay detach`.
)",
     .options = {kAllRequestOptions, kStartOptions},
     .after =
         R"(Example: patchbay start -p 1234 -e 'work(int n)' && sleep 1 && patchbay show -p 1234
)",
     .words = "PID",
     .attaches = true},
    {.name = "stop",
     .summary = "stop tracing in a running process",
     .synopsis = "stop [-p PID] [-B NAME]",
     .about = "Lets no more events in. What is in the buffer stays.\n\n",
     .options = {kPlainOptions},
     .words = "PID"},
    {.name = "show",
     .summary = "print the buffer of a process",
     .synopsis = "show [-p PID] [-B NAME] [--pipe|--snapshot]",
     .about = "Prints the buffer of a process.\n\n",
     .options = {kShowOptions},
     .words = "PID"},
    {.name = "clear",
     .summary = "empty the buffer of a process",
     .synopsis = "clear [-p PID] [-B NAME]",
     .about = "Empties the buffer of a process.\n\n",
     .options = {kPlainOptions},
     .words = "PID"},
    {.name = "reset",
     .summary = "switch everything off in a process",
     .synopsis = "reset [-p PID] [-B NAME]",
     .about = R"(Switches all events and the tracer off, removes filters, lists of threads, function
events and probes, and empties the buffer.

)",
     .options = {kPlainOptions},
     .words = "PID"},
    {.name = "stat",
     .summary = "print what is set up in a process",
     .synopsis = "stat [-p PID] [-B NAME]",
     .about = "Prints what is set up in a process.\n\n",
     .options = {kPlainOptions},
     .words = "PID"},
    {.name = "snapshot",
     .summary = "print, take or free the snapshot of a process",
     .synopsis = "snapshot [-p PID] [-B NAME] [--take|--reset|--free]",
     .about = "Prints the snapshot of a process, or changes it.\n\n",
     .options = {kSnapshotOptions},
     .words = "PID"},
    {.name = "extract",
     .summary = "write the buffer of a process to a trace.dat",
     .synopsis = "extract [-p PID] [-B NAME]... [-o FILE] [--format 6|7]",
     .about = R"(Writes what is in the buffer of a process to a trace.dat, for `patchbay report`. It
stays in the buffer.

)",
     .options = {kExtractOptions},
     .words = "PID"},
}};

int run_live(int argc, char** argv) {
  const auto line = std::find_if(kLiveLines.begin(), kLiveLines.end(), [&](const CommandLine& one) {
    return std::string_view(one.name) == argv[0];
  });
  LiveOptions options;
  int status = kOk;
  if (!parse_command_line(*line, argc, argv, &options, &status)) return status;
  const LiveAction action = kActions[line - kLiveLines.begin()];
  Attachment attachment;  // what fails to start anything leaves no agent behind
  const int pid = options.record.pid;
  const Status room =
      action == start && pid ? check_room_for_request(pid, options.record.request) : Status();
  if (!room.ok()) return fail(line->name, room.error());
  Result<std::unique_ptr<Client>> client = action == start
                                               ? attach_if_needed(options.record.pid, &attachment)
                                               : choose_process(options.record.pid);
  if (!client.ok()) return fail(line->name, client.error());
  Status done = action(**client, options);
  if (!done.ok()) return fail(line->name, done.error());
  attachment.stay();
  return kOk;
}

}  // namespace patchbay::cmd
