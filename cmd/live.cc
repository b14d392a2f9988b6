// SPDX-License-Identifier: MIT
//
// start, stop, show, clear, reset, stat, snapshot, extract: trace-cmd's commands on a running
// process. Each is a few reads and writes of its tracefs.
#include <getopt.h>

#include <algorithm>
#include <cerrno>

#include "print_file.h"
#include "record.h"
#include "record_report.h"
#include "serve/directory.h"
#include "tool_uses.h"
#include "tracefs_command.h"

namespace patchbay::cmd {
namespace {

constexpr const char kHelp[] =
    "Usage: patchbay start [-p PID] [-B NAME] [-e EVENT [-f FILTER]]... [-C CLOCK] [-b SIZE] "
    "[-P TID]\n"
    "             [-p TRACER [-l GLOB]... [-n GLOB]... [-g FUNC]... [--max-graph-depth N]] "
    "[-O WORD]...\n"
    "       patchbay stop|clear|reset|stat [-p PID] [-B NAME]\n"
    "       patchbay show [-p PID] [-B NAME] [--pipe|-s]\n"
    "       patchbay snapshot [-p PID] [-B NAME] [-s|-r|-f]\n"
    "       patchbay extract [-p PID] [-B NAME]... [-o FILE] [--format 6|7]\n\n"
    "Tracing in a running process with an agent; PID is needed when there are several.\n\n"
    "start     empties the buffer, sets up and enables what is given (see `patchbay record -h`),\n"
    "          and lets events in; without -e and -p TRACER only that\n"
    "stop      lets no more events in; what is there stays\n"
    "show      prints the buffer; --pipe: follows it, taking what it prints; -s: the snapshot\n"
    "clear     empties the buffer\n"
    "reset     switches all events and the tracer off, removes filters, thread lists, function "
    "events\n"
    "          and probes, empties the buffer\n"
    "stat      prints what is set up\n"
    "snapshot  prints the snapshot; -s takes one, -r empties it, -f frees its memory\n"
    "extract   writes what is in the buffer to FILE (trace.dat) for `patchbay report`\n\n"
    "Example: patchbay start -p 1234 -e 'work(int n)' && sleep 1 && patchbay show -p 1234\n";

struct LiveOptions {
  RecordOptions record;  // request, pid, output, version
  bool pipe = false;     // show --pipe
  char what = 0;         // -s, -r or -f of show and snapshot
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
  Result<std::string> runtime = serve::runtime_directory(false);
  if (!runtime.ok()) return runtime.error();
  Result<std::unique_ptr<ToolUses>> uses =
      ToolUses::begin(client, *runtime + "/" + std::to_string(client.pid()));
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

// What a command has left in a process that did not answer then.
void take_back_left(Client& client) {
  Result<std::string> runtime = serve::runtime_directory(false);
  if (runtime.ok()) (void)ToolUses::begin(client, *runtime + "/" + std::to_string(client.pid()));
}

Status reset(Client& client, const LiveOptions& options) {
  take_back_left(client);
  std::string directory = directory_of(options);
  PB_TRY(reset_tracer(client, directory));
  PB_TRY(client.write_all(directory + "set_event", "", true));
  Result<std::vector<std::string>> systems = client.list(directory + "events");
  if (!systems.ok()) return systems.error();
  for (const std::string& system : *systems) {
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
  const char* file = options.pipe ? "trace_pipe" : options.what == 's' ? "snapshot" : "trace";
  return print_file(client, directory + file);
}

Status snapshot(Client& client, const LiveOptions& options) {
  std::string path = directory_of(options) + "snapshot";
  switch (options.what) {
    case 's':
      return client.write_all(path, "1\n", false);
    case 'r':
      return client.write_all(path, "2\n", false);
    case 'f':
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

// Reads on without waiting: what is there, and stays there.
Status extract(Client& client, const LiveOptions& options) {
  const RecordOptions& record = options.record;
  Result<std::unique_ptr<OutputLock>> lock = OutputLock::take(record.output);
  if (!lock.ok()) return lock.error();
  Result<std::string> runtime = serve::runtime_directory(false);
  if (!runtime.ok()) return runtime.error();
  Result<std::vector<RecordedBuffer>> buffers =
      open_buffers(record.request, client, *runtime + "/" + std::to_string(client.pid()), false);
  if (!buffers.ok()) return buffers.error();
  Result<std::unique_ptr<Recording>> recording =
      Recording::open(std::move(*buffers), record.output, record.version);
  if (!recording.ok()) return recording.error();
  (*lock)->keep();
  Result<TraceDatResult> result = (*recording)->finish();
  if (!result.ok()) return result.error();
  std::printf("%llu events in %s\n",
              static_cast<unsigned long long>((*recording)->events() - result->events_lost),
              record.output.c_str());
  if (result->pages_lost == 0) return {};
  return sys_error("write " + record.output, result->error ? result->error : EIO);
}

// --- command line

struct LiveCommand {
  const char* name;
  const char* letters;  // besides p, B and h
  Status (*run)(Client& client, const LiveOptions& options);
};
constexpr LiveCommand kLiveCommands[] = {
    {"start", "e:f:C:b:P:l:n:g:O:", start},
    {"stop", "", stop},
    {"show", "s", show},
    {"clear", "", clear},
    {"reset", "", reset},
    {"stat", "", stat},
    {"snapshot", "srf", snapshot},
    {"extract", "o:", extract},
};
constexpr int kPipe = 1001, kFormat = 1002, kPid = 1003;

// Null when the option is right, else the sentence about it.
const char* take_option(const LiveCommand& command, int letter, LiveOptions* options) {
  std::string_view text = ::optarg ? ::optarg : "";
  std::string_view name = command.name;
  bool is_word = letter == 's' || letter == 'r' || (letter == 'f' && name == "snapshot");
  if (is_word) return options->what = char(letter), nullptr;
  if (TraceRequest::is_ours(letter)) return options->record.request.take(letter, ::optarg);
  switch (letter) {
    case 'p':
      if (name == "start")
        return options->record.request.take_tracer_or_pid(::optarg, &options->record.pid);
      return parse_pid(text, &options->record.pid) ? nullptr : "-p takes a process id.";
    case kPid:
      return parse_pid(text, &options->record.pid) ? nullptr : "--pid takes a process id.";
    case 'o':
      options->record.output = text;
      return text.empty() ? "-o takes a file." : nullptr;
    case kPipe:
      options->pipe = true;
      return name == "show" ? nullptr : "--pipe belongs to show.";
    default:
      options->record.version = text == "6" ? 6 : 7;
      return name == "extract" && (text == "6" || text == "7") ? nullptr : "--format takes 6 or 7.";
  }
}

bool parse_command_line(const LiveCommand& command, int argc, char** argv, LiveOptions* options,
                        int* status) {
  std::vector<option> long_options;
  if (std::string_view(command.name) == "start") long_options = TraceRequest::long_options();
  for (const option& one : {option{"pid", required_argument, nullptr, kPid},
                            option{"buffer", required_argument, nullptr, 'B'},
                            option{"pipe", no_argument, nullptr, kPipe},
                            option{"format", required_argument, nullptr, kFormat},
                            option{"help", no_argument, nullptr, 'h'}, option{}})
    long_options.push_back(one);
  std::string letters = std::string("p:B:h") + command.letters;
  ::opterr = 0;
  for (int letter;
       (letter = ::getopt_long(argc, argv, letters.c_str(), long_options.data(), nullptr)) != -1;) {
    if (letter == 'h') return std::fputs(kHelp, stdout), *status = kOk, false;
    if (letter == '?') return *status = bad_option(command.name, argv), false;
    if (const char* wrong = take_option(command, letter, options))
      return *status = usage_error(command.name, wrong), false;
  }
  const char* wrong = options->record.request.check();
  if (wrong) return *status = usage_error(command.name, wrong), false;
  if (options->record.pid == 0 && ::optind < argc)
    (void)take_pid_word(argv, argc, &options->record.pid);
  if (::optind == argc) return true;
  return *status = usage_error(command.name, "'" + std::string(argv[::optind]) + "' is too much."),
         false;
}

}  // namespace

int run_live(int argc, char** argv) {
  const LiveCommand* command =
      std::find_if(std::begin(kLiveCommands), std::end(kLiveCommands),
                   [&](const LiveCommand& one) { return std::string_view(one.name) == argv[0]; });
  LiveOptions options;
  int status = kOk;
  if (!parse_command_line(*command, argc, argv, &options, &status)) return status;
  Result<std::unique_ptr<Client>> client = choose_process(options.record.pid);
  if (!client.ok()) return fail(command->name, client.error());
  Status done = command->run(**client, options);
  return done.ok() ? kOk : fail(command->name, done.error());
}

}  // namespace patchbay::cmd
