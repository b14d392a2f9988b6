// SPDX-License-Identifier: MIT
//
// patchbay latency: how long it takes from one event to another, or a function to return, as a
// distribution that the process itself counts.
#include <getopt.h>

#include <cerrno>
#include <charconv>

#include "commands.h"
#include "hist_session.h"
#include "latency_plan.h"
#include "tracefs_command.h"

namespace patchbay::cmd {
namespace {

constexpr char kHelp[] =
    "Usage: patchbay latency [OPTION...] START [END] -- CMD [ARG...]\n"
    "       patchbay latency [OPTION...] START [END] -p PID\n\n"
    "Shows how long it takes from the event START to the next END of the same thread, in a program "
    "or\n"
    "a running process (until Ctrl-C): bars of powers of two, and quantiles. Nothing is recorded: "
    "the\n"
    "process counts.\n\n"
    "START, END  events as patchbay hist takes them. Without END START is a function, 'FUNC' or\n"
    "            'FUNC(TYPE NAME, ...)', and END its return; of nested calls the innermost "
    "counts.\n\n"
    "      --key FIELD   START and END belong together when the field is equal, in any threads;\n"
    "                    FIELD=FIELD when END calls it otherwise\n"
    "      --by FIELD    a distribution for each value of a field of START or END (start.FIELD,\n"
    "                    end.FIELD)\n"
    "  -p, --pid PID     the process; needed when there are several\n"
    "  -d, --delay SECS  between two looks in a terminal, default 1\n"
    "  -v, --verbose     prints the synthetic event and the histograms that it makes\n\n"
    "The exit status is that of CMD.\n"
    "Example: patchbay latency 'sqlite3_step(x64 stmt)' -- sqlite3 x.db 'select * from t'\n";

constexpr int kKey = 1001, kBy = 1002;

struct LatencyOptions {
  HistTarget target;
  LatencyRequest request;
  std::vector<std::string> events;  // as they were given
};

const char* take_option(int letter, const std::string& value, LatencyOptions* options) {
  switch (letter) {
    case 'p':
      return parse_pid(value, &options->target.pid) ? nullptr : "-p takes a process id.";
    case 'd': {
      const char* end = value.data() + value.size();
      auto [at, error] = std::from_chars(value.data(), end, options->target.delay);
      const bool right = error == std::errc() && at == end && options->target.delay > 0;
      return right && options->target.delay < 1e6 ? nullptr : "-d takes seconds.";
    }
    case kKey:
      options->request.key = value;
      return value.empty() ? "--key takes a field." : nullptr;
    case kBy:
      options->request.by = value;
      return value.empty() ? "--by takes a field." : nullptr;
    case 1:
      if (options->target.pid == 0 && parse_pid(value, &options->target.pid)) return nullptr;
      options->events.push_back(value);
      return options->events.size() > 2 ? "START and END are all; the program stands behind --."
                                        : nullptr;
    default:
      options->target.verbose = true;
      return nullptr;
  }
}

bool parse_command_line(int argc, char** argv, LatencyOptions* options, int* status) {
  static const option kOptions[] = {{"key", required_argument, nullptr, kKey},
                                    {"by", required_argument, nullptr, kBy},
                                    {"pid", required_argument, nullptr, 'p'},
                                    {"delay", required_argument, nullptr, 'd'},
                                    {"verbose", no_argument, nullptr, 'v'},
                                    {"help", no_argument, nullptr, 'h'},
                                    {}};
  ::opterr = 0;
  const int own = options->target.take_words(argc, argv);
  for (int letter; (letter = ::getopt_long(own, argv, "-p:d:vh", kOptions, nullptr)) != -1;) {
    if (letter == 'h') return std::fputs(kHelp, stdout), *status = kOk, false;
    if (letter == '?') return *status = bad_option("latency", argv), false;
    if (const char* wrong = take_option(letter, ::optarg ? ::optarg : "", options))
      return *status = usage_error("latency", wrong), false;
  }
  const char* wrong = nullptr;
  if (options->events.empty()) wrong = "START is needed, an event or a function.";
  if (own < argc && options->target.words.empty()) wrong = "The program to run is missing.";
  if (own < argc && options->target.pid) wrong = "A process and a program to run are too much.";
  if (wrong) *status = usage_error("latency", wrong);
  return wrong == nullptr;
}

// "int ns::f(int a)" -> "ns::f".
std::string function_of(const std::string& text) {
  std::string name = text.substr(0, text.find('('));
  name.resize(name.find_last_not_of(' ') + 1);
  return name.substr(name.find_last_of(" *&") + 1);
}

// A probe's line; its event is called after the function.
std::string probe_at(char kind, const std::string& function, const char* what) {
  constexpr size_t kMostLetters = 40;
  std::string name = function.substr(0, kMostLetters);
  for (char& c : name) {
    const bool is_letter =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_letter) c = '_';
  }
  return std::string(1, kind) + ":latency/" + name + what + " " + function;
}

// A function's call and return.
Status define_call(HistSession* session, const std::string& text, LatencyRequest* request) {
  const std::string function = function_of(text);
  const bool has_arguments = text.find('(') != text.npos;
  Result<std::string> start =
      session->define(has_arguments ? text : probe_at('p', function, "_start"));
  if (!start.ok()) return start.error();
  Result<std::string> end = session->define(probe_at('r', function, "_end"));
  if (!end.ok()) return end.error();
  request->start = *start;
  request->end = *end;
  return {};
}

Status define_events(HistSession* session, LatencyOptions* options) {
  const EventRequest first{options->events[0], ""};
  const bool is_function = first.kind() == EventRequest::Kind::kFunction;
  if (options->events.size() == 1 && is_function)
    return define_call(session, first.text, &options->request);
  Result<std::string> start = session->define(first.text);
  if (options->events.size() == 1) {
    // A function event of that name, which others have made, is the function, too.
    const bool is_call = !start.ok() || (start->starts_with("functions:") &&
                                         first.text.find(':') == std::string::npos);
    if (!is_call || first.kind() != EventRequest::Kind::kEvent)
      return user_error(EINVAL, "'" + first.text + "' is an event: END is needed, too.");
    return define_call(session, first.text, &options->request);
  }
  if (!start.ok()) return start.error();
  Result<std::string> end = session->define(options->events[1]);
  if (!end.ok()) return end.error();
  options->request.start = *start;
  options->request.end = *end;
  return {};
}

Status prepare(LatencyOptions* options, HistSession* session, LatencyPlan* plan) {
  PB_TRY(session->connect());
  PB_TRY(define_events(session, options));
  Result<EventFormats> events = EventFormats::of_process(session->client());
  if (!events.ok()) return events.error();
  Result<LatencyPlan> made = plan_latency(options->request, *events);
  if (!made.ok()) return made.error();
  *plan = *made;
  return session->apply(plan->plan);
}

}  // namespace

int run_latency(int argc, char** argv) {
  LatencyOptions options;
  int status = kOk;
  if (!parse_command_line(argc, argv, &options, &status)) return status;
  HistSession session("latency", options.target);
  LatencyPlan plan;
  Status ready = prepare(&options, &session, &plan);
  if (!ready.ok()) return fail("latency", ready.error());
  const std::string head = options.request.start + " -> " + options.request.end + "\n";
  return session.run([&](const std::vector<std::string>& texts) {
    return head + latency_text(read_latency(texts[0], texts[1], plan.by, plan.modifier));
  });
}

}  // namespace patchbay::cmd
