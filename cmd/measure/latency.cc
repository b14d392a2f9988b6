// SPDX-License-Identifier: MIT
//
// patchbay latency: how long it takes from one event to another, or a function to return, as a
// distribution that the process itself counts.

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/output_file.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/run_time.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/measure/hist_session.h"
#include "cmd/measure/latency_off_cpu.h"
#include "cmd/measure/latency_plan.h"
#include "cmd/target/follow_request.h"
#include "cmd/target/target_symbols.h"

namespace patchbay::cmd {
namespace {

constexpr int kKey = kFirstOptionId, kBy = kFirstOptionId + 1, kOffCpu = kFirstOptionId + 2,
              kNamed = kFirstOptionId + 3;
constexpr Option kOptions[] = {
    {.name = "key",
     .argument = "FIELD",
     .help = "pairs a START and an END whose fields are equal, in any threads; FIELD=FIELD when "
             "the field has another name in END",
     .id = kKey},
    {.name = "by",
     .argument = "FIELD",
     .help = "prints a distribution for each value of a field of START or END (start.FIELD, "
             "end.FIELD)",
     .more = "The one with most time comes first. Addresses are shown as the event shows them: by "
             "symbol, or hexadecimal.",
     .id = kBy},
    {.name = "named",
     .argument = "EVENT",
     .help = "takes what --by says from EVENT, which gives the --key its name: the text of a "
             "statement, the path of a descriptor",
     .more = "START is then a function with its arguments, one of which is the key. A call whose "
             "key EVENT has not named is not counted.",
     .id = kNamed},
    {.name = "off-cpu",
     .help = "says how much of each range and quantile the thread was off the CPU",
     .more = "That takes a recording: CMD is recorded for it, with the kernel's sched:sched_switch "
             "(as root), or -i names a recording that has it. A ? behind a share: switches are "
             "missing.",
     .id = kOffCpu},
    {.letter = 'i',
     .name = "input",
     .argument = "FILE",
     .help = "reads the recording FILE, with --off-cpu"},
    kPerProcessOption,
    kHistFollowOption,
    kHistJsonOption,
    kHistOutputOption,
    kDelayOption,
    kVerboseOption,
};

struct LatencyOptions {
  HistTarget target;
  LatencyRequest request;
  std::vector<std::string> events;  // as they were given
  std::string named;                // as it was given
  bool off_cpu = false;
  std::string input;  // of --off-cpu
};

const char* take_option(int id, const std::string& value, LatencyOptions* options) {
  switch (id) {
    case kKey:
      options->request.key = value;
      return value.empty() ? "--key takes a field." : nullptr;
    case kNamed:
      options->named = value;
      return value.empty() ? "--named takes an event." : nullptr;
    case kOffCpu:
      options->off_cpu = true;
      return nullptr;
    case 'i':
      options->input = value;
      return value.empty() ? "-i takes a file." : nullptr;
    case kBy:
      options->request.by = value;
      return value.empty() ? "--by takes a field." : nullptr;
    case kWordId:
      if (options->target.take_pid_word(value)) return nullptr;
      options->events.push_back(value);
      return options->events.size() > 2 ? "START and END are all; the program stands behind --."
                                        : nullptr;
    default:
      return options->target.take_option(id, value);
  }
}

// Null when --off-cpu fits to the rest, else the sentence about it.
const char* check_off_cpu(const LatencyOptions& options) {
  const bool has_input = !options.input.empty(), has_words = !options.target.words.empty();
  if (!options.off_cpu) return has_input ? "-i FILE is about --off-cpu." : nullptr;
  if (!options.request.key.empty() || !options.request.by.empty())
    return "--off-cpu has neither --key nor --by.";
  if (options.target.names_processes())
    return "--off-cpu takes a program or a recording: record -p PID makes one.";
  if (has_input == has_words) return "--off-cpu takes -i FILE, or a program behind --.";
  return nullptr;
}

// Null when --named fits to the rest, else the sentence about it.
const char* check_named(const LatencyOptions& options) {
  if (options.named.empty()) return nullptr;
  if (options.off_cpu) return "--off-cpu has no --named.";
  if (options.request.key.empty() || options.request.by.empty())
    return "--named needs --key, the field that both have, and --by, the name.";
  if (options.events.size() > 1) return "--named has no END: the calls of START are counted.";
  return nullptr;
}

bool parse_command_line(int argc, char** argv, LatencyOptions* options, int* status) {
  const int own = options->target.take_words(argc, argv);
  const auto take = [&](int id, const char* value) { return take_option(id, value, options); };
  if (const std::optional<int> ended = parse_options(kLatencyLine, own, argv, take))
    return *status = *ended, false;
  const char* wrong = nullptr;
  if (options->events.empty()) wrong = "START is needed, an event or a function.";
  if (!wrong) wrong = options->target.check(own < argc);
  if (!wrong) wrong = check_off_cpu(*options);
  if (!wrong) wrong = check_named(*options);
  if (wrong) *status = usage_error("latency", wrong);
  return wrong == nullptr;
}

// The whole calls of a function. Of a name alone process->define() makes an event with all of its
// arguments; they are needed only to tell calls apart.
Result<LatencyRequest> define_call(CountedProcess* process, const std::string& text,
                                   LatencyRequest request) {
  if (!request.key.empty()) return user_error(EINVAL, "--key is about two events, START and END.");
  const bool has_arguments = text.find('(') != text.npos || !request.by.empty();
  Result<std::string> call = process->define(has_arguments ? text : text + "()", true);
  // A library that comes later has the name alone.
  if (!call.ok() && call.error().errno_value == ENOENT && !has_arguments)
    call = process->define(text, true);
  if (!call.ok()) return call.error();
  request.start = request.end = *call;
  return request;
}

// Whole calls of a function, and the event that names their key.
Result<LatencyRequest> define_named(CountedProcess* process, const LatencyOptions& options) {
  const std::string& text = options.events[0];
  if (EventRequest{text, ""}.kind() != EventRequest::Kind::kFunction)
    return user_error(EINVAL,
                      "With --named START is a function with its arguments: 'FUNC(TYPE "
                      "NAME, ...)'.");
  LatencyRequest request = options.request;
  PB_ASSIGN(request.named, process->define(options.named));
  PB_ASSIGN(request.start, process->define(text, true));
  request.end = request.start;
  return request;
}

// "GROUP:EVENT" of the process.
bool is_there(CountedProcess* process, std::string text) {
  const size_t colon = text.find(':');
  if (colon == text.npos) return false;
  text[colon] = '/';
  return process->client().read_all("events/" + text + "/id").ok();
}

Result<LatencyRequest> define_events(CountedProcess* process, const LatencyOptions& options) {
  if (!options.named.empty()) return define_named(process, options);
  const EventRequest first{options.events[0], ""};
  const bool is_function = first.kind() == EventRequest::Kind::kFunction;
  if (options.events.size() == 1 && is_function)
    return define_call(process, first.text, options.request);
  if (options.events.size() == 1) {
    if (first.kind() == EventRequest::Kind::kEvent && !is_there(process, first.text))
      return define_call(process, first.text, options.request);
    PB_TRY(process->define(first.text));
    return user_error(EINVAL, "'" + first.text + "' is an event: END is needed, too.");
  }
  Result<std::string> start = process->define(first.text);
  if (!start.ok()) return start.error();
  PB_ASSIGN(std::string end, process->define(options.events[1]));
  LatencyRequest request = options.request;
  request.start = *start;
  request.end = end;
  return request;
}

// What one process was asked for; the results of all are read so.
struct Asked {
  LatencyRequest request;
  LatencyPlan plan;
};

Result<Asked> prepare(const LatencyOptions& options, CountedProcess* process) {
  PB_ASSIGN(LatencyRequest request, define_events(process, options));
  PB_ASSIGN(EventFormats events, EventFormats::of_process(process->client()));
  PB_ASSIGN(LatencyPlan plan, plan_latency(request, events));
  if (plan.is_by_function)
    plan.namesakes = namesakes_of(process->client(), function_name_in(options.events[0]));
  return Asked{request, plan};
}

// --- off the CPU

// A file that goes with this.
class TemporaryFile {
 public:
  TemporaryFile() {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder && *folder ? folder : "/tmp") + "/patchbay-latency.XXXXXX";
    const int fd = ::mkostemp(path_.data(), O_CLOEXEC);
    if (fd < 0) error_ = errno;
    if (fd >= 0) ::close(fd);
  }
  ~TemporaryFile() {
    if (error_ == 0) ::unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }
  int error() const { return error_; }

 private:
  std::string path_;
  int error_ = 0;
};

// Runs `patchbay record` of the program, with the kernel's switches. Its exit status. Ctrl-C is
// for it.
Result<int> record_program(const LatencyOptions& options, const std::string& path) {
  std::vector<std::string> words = {"patchbay", "record", "-q", "-o", path};
  if (options.events.size() == 1) {
    words.insert(words.end(), {"-t", "function_graph", "-l", function_name_in(options.events[0])});
  } else {
    for (const std::string& event : options.events) words.insert(words.end(), {"-e", event});
  }
  if (!run_time_text().empty())
    words.insert(words.end(), {"--for", std::string(run_time_text())});
  words.insert(words.end(), {"-k", "sched:sched_switch", "--"});
  words.insert(words.end(), options.target.words.begin(), options.target.words.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  struct sigaction ignore = {}, before = {};
  ignore.sa_handler = SIG_IGN;
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t interrupt;
  ::sigemptyset(&interrupt);
  ::sigaddset(&interrupt, SIGINT);
  ::sigaction(SIGINT, &ignore, &before);
  if (before.sa_handler != SIG_IGN) {
    ::posix_spawnattr_setsigdefault(&attributes, &interrupt);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  }
  pid_t child = 0;
  int status = 0;
  const int error =
      ::posix_spawn(&child, "/proc/self/exe", nullptr, &attributes, argv.data(), environ);
  if (error == 0)
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  ::sigaction(SIGINT, &before, nullptr);
  ::posix_spawnattr_destroy(&attributes);
  if (error) return sys_error("run patchbay record", error);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The name of an event in a recording: what stands in front of the arguments that define it.
std::string recorded_name(const std::string& event) {
  return event.find('(') == event.npos ? event : function_name_in(event);
}

int latency_off_cpu(const LatencyOptions& options) {
  TemporaryFile made;
  std::string path = options.input;
  int status = kOk;
  if (path.empty()) {
    if (made.error()) return fail("latency", sys_error("make " + made.path(), made.error()));
    Result<int> recorded = record_program(options, path = made.path());
    if (!recorded.ok()) return fail("latency", recorded.error());
    status = *recorded;
  }
  const std::string start = recorded_name(options.events[0]);
  const std::string end = options.events.size() > 1 ? recorded_name(options.events[1]) : "";
  auto calls = recorded_off_cpu_calls(path, start, end);
  if (!calls.ok()) {
    const int failed = fail("latency", calls.error());
    return status != kOk ? status : failed;
  }
  const OffCpuLatency latency = off_cpu_latency(*calls);
  const std::string text = options.target.json ? off_cpu_json(start, end, latency)
                                               : start + " -> " + (end.empty() ? "return" : end) +
                                                     "\n" + off_cpu_text(latency);
  const Status written = write_output(options.target.output, text);
  return written.ok() ? status : fail("latency", written.error());
}

}  // namespace

constexpr CommandLine kLatencyLine = {
    .name = "latency",
    .summary = "show how long it takes from one event to another",
    .synopsis =
        "latency [OPTION...] START [END] -- CMD [ARG...]\n"
        "latency [OPTION...] START [END] [-p PID]\n"
        "latency --named EVENT --key FIELD --by FIELD [OPTION...] START -- CMD [ARG...]\n"
        "latency [OPTION...] START [END] -p PID,PID...|--all|--service NAME|--cgroup PATH\n"
        "latency --off-cpu -i FILE [OPTION...] START [END]",
    .about = R"(Shows how long it takes from the event START to the next END of the same thread,
in a program, or in a running process until Ctrl-C: bars of powers of two, and
quantiles. Nothing is recorded: the process counts. What several processes have
counted is added up, and has the quantiles of all their times.

START and END are events as patchbay hist takes them. Without END, START is a
function, 'FUNC' or 'FUNC(TYPE NAME, ...)', and each of its calls counts, nested
ones too, when it returns; 'TYPE NAME = FUNC(...)' has its result for --by. Each
of several functions of one name has a distribution of its own.

)",
    .options = {kProcessOptions, kOptions, kChosenProcessOptions},
    .after = R"(The exit status is that of CMD.
Example: patchbay latency 'sqlite3_step(x64 stmt)' -- sqlite3 x.db 'select * from t'
)",
    .words = "EVENT EVENT",
    .order = CommandLine::Words::kInOrder,
    .attaches = true,
    .lasts = true,
};

int run_latency(int argc, char** argv) {
  LatencyOptions options;
  int status = kOk;
  if (!parse_command_line(argc, argv, &options, &status)) return status;
  if (options.off_cpu) return latency_off_cpu(options);
  std::vector<EventRequest> events;
  for (const std::string& event : options.events) events.push_back({event, ""});
  if (!options.named.empty()) events.push_back({options.named, ""});
  options.target.wishes = wishes_of(events);
  Asked asked;  // of the first that is not refused
  HistSession session("latency", options.target, [&](CountedProcess& process) -> Result<HistPlan> {
    PB_ASSIGN(Asked made, prepare(options, &process));
    if (!session.is_counting()) asked = made;
    return made.plan.plan;
  });
  return session.run([&](const HistImage& image) {
    const std::vector<Distribution> found = read_latency(image, asked.plan);
    if (options.target.json) return latency_json(asked.request, found);
    const LatencyRequest& request = asked.request;
    const std::string end = request.is_call() ? "return" : request.end;
    const std::string how = request.named.empty() ? " -> " + end : ", named by " + request.named;
    return request.start + how + "\n" + latency_text(found);
  });
}

}  // namespace patchbay::cmd
