// SPDX-License-Identifier: MIT
//
// patchbay latency: how long it takes from one event to another, or a function to return, as a
// distribution that the process itself counts.

#include <cerrno>

#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/measure/hist_session.h"
#include "cmd/measure/latency_plan.h"

namespace patchbay::cmd {
namespace {

constexpr int kKey = kFirstOptionId, kBy = kFirstOptionId + 1;
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
    kPerProcessOption,
    kHistJsonOption,
    kHistOutputOption,
    kDelayOption,
    kVerboseOption,
};

struct LatencyOptions {
  HistTarget target;
  LatencyRequest request;
  std::vector<std::string> events;  // as they were given
};

const char* take_option(int id, const std::string& value, LatencyOptions* options) {
  switch (id) {
    case kKey:
      options->request.key = value;
      return value.empty() ? "--key takes a field." : nullptr;
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

bool parse_command_line(int argc, char** argv, LatencyOptions* options, int* status) {
  const int own = options->target.take_words(argc, argv);
  const auto take = [&](int id, const char* value) { return take_option(id, value, options); };
  if (const std::optional<int> ended = parse_options(kLatencyLine, own, argv, take))
    return *status = *ended, false;
  const char* wrong = nullptr;
  if (options->events.empty()) wrong = "START is needed, an event or a function.";
  if (!wrong) wrong = options->target.check(own < argc);
  if (wrong) *status = usage_error("latency", wrong);
  return wrong == nullptr;
}

// A probe's line; its event is called after the function.
std::string probe_at(char kind, const std::string& function, const char* what) {
  constexpr size_t kMostLetters = 40;
  std::string name = function.substr(0, kMostLetters);
  for (char& c : name) {
    if (!is_letter(c) && !is_digit(c)) c = '_';
  }
  return std::string(1, kind) + ":latency/" + name + what + " " + function;
}

// A function's call and return.
Result<LatencyRequest> define_call(CountedProcess* process, const std::string& text,
                                   LatencyRequest request) {
  const std::string function = function_name_in(text);
  const bool has_arguments = text.find('(') != text.npos;
  Result<std::string> start =
      process->define(has_arguments ? text : probe_at('p', function, "_start"));
  if (!start.ok()) return start.error();
  PB_ASSIGN(std::string end, process->define(probe_at('r', function, "_end")));
  request.start = *start;
  request.end = end;
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
  const EventRequest first{options.events[0], ""};
  const bool is_function = first.kind() == EventRequest::Kind::kFunction;
  if (options.events.size() == 1 && is_function)
    return define_call(process, first.text, options.request);
  if (options.events.size() == 1) {
    // Not by process->define(), which makes a function event of a name, with all of its arguments.
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
  return Asked{request, plan};
}

}  // namespace

constexpr CommandLine kLatencyLine = {
    .name = "latency",
    .summary = "show how long it takes from one event to another",
    .synopsis =
        "latency [OPTION...] START [END] -- CMD [ARG...]\n"
        "latency [OPTION...] START [END] [-p PID]\n"
        "latency [OPTION...] START [END] -p PID,PID...|--all|--service NAME|--cgroup PATH",
    .about = R"(Shows how long it takes from the event START to the next END of the same thread,
in a program, or in a running process until Ctrl-C: bars of powers of two, and
quantiles. Nothing is recorded: the process counts. What several processes have
counted is added up, and has the quantiles of all their times.

START and END are events as patchbay hist takes them. Without END, START is a
function, 'FUNC' or 'FUNC(TYPE NAME, ...)', and END is its return; of nested calls
the innermost counts.

)",
    .options = {kProcessOptions, kOptions},
    .after = R"(The exit status is that of CMD.
Example: patchbay latency 'sqlite3_step(x64 stmt)' -- sqlite3 x.db 'select * from t'
)",
    .words = "EVENT EVENT",
    .order = CommandLine::Words::kInOrder,
};

int run_latency(int argc, char** argv) {
  LatencyOptions options;
  int status = kOk;
  if (!parse_command_line(argc, argv, &options, &status)) return status;
  Asked asked;  // of the first that is not refused
  HistSession session("latency", options.target, [&](CountedProcess& process) -> Result<HistPlan> {
    PB_ASSIGN(Asked made, prepare(options, &process));
    if (!session.has_members()) asked = made;
    return made.plan.plan;
  });
  return session.run([&](const std::vector<std::string>& texts) {
    const std::vector<Distribution> found =
        read_latency(texts[0], texts[1], asked.plan.by, asked.plan.modifier);
    if (options.target.json) return latency_json(asked.request, found);
    return asked.request.start + " -> " + asked.request.end + "\n" + latency_text(found);
  });
}

}  // namespace patchbay::cmd
