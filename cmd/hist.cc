// SPDX-License-Identifier: MIT
//
// patchbay hist: counts the hits of an event by its fields, inside the process, and prints the
// table.
#include <getopt.h>

#include <algorithm>
#include <charconv>

#include "commands.h"
#include "hist_entries.h"
#include "hist_session.h"
#include "tracefs_command.h"

namespace patchbay::cmd {
namespace {

constexpr char kHelp[] =
    "Usage: patchbay hist [OPTION...] EVENT keys=FIELD[,FIELD] [PART...] [if FILTER] -- CMD "
    "[ARG...]\n"
    "       patchbay hist [OPTION...] EVENT keys=FIELD[,FIELD] [PART...] [if FILTER] -p PID\n\n"
    "Counts the hits of an event in a program, by the values of its fields, and prints the table "
    "when\n"
    "the program ends; in a terminal also while it runs. Of a running process: until Ctrl-C.\n\n"
    "EVENT is SYSTEM:EVENT or EVENT; 'FUNC(TYPE NAME, ...)' or 'FUNC(*)', a function's calls;\n"
    "'FUNC:LINE VAR ...'; 'p:NAME PLACE ARG ...' as patchbay record -e takes them.\n\n"
    "PARTs, as the file `trigger` of an event takes them:\n"
    "  keys=F[.MODIFIER],...  up to three: hex, sym, sym-offset, execname, log2, buckets=N,\n"
    "                         stacktrace; common_pid, common_cpu, common_stacktrace are fields, "
    "too\n"
    "  vals=F[.MODIFIER],...  up to two that are summed up: hex, percent, graph, quantiles\n"
    "  sort=F[.descending],...  default hitcount\n"
    "  size=N                 entries, 128 to 131072, default 2048\n"
    "  nohitcount\n\n"
    "  -p, --pid PID     the process; needed when there are several\n"
    "  -d, --delay SECS  between two looks in a terminal, default 1\n"
    "  -v, --verbose     prints what is written to the process's tracefs\n\n"
    "The exit status is that of CMD.\n"
    "Example: patchbay hist 'malloc(u64 size)' keys=size.log2 vals=size sort=size -- sort "
    "/etc/services\n";

struct HistOptions {
  HistTarget target;
  std::string event, definition;  // "hist:keys=…"
};

const char* take_option(int letter, const std::string& value, HistTarget* target) {
  switch (letter) {
    case 'p':
      return parse_pid(value, &target->pid) ? nullptr : "-p takes a process id.";
    case 'd': {
      const char* end = value.data() + value.size();
      auto [at, error] = std::from_chars(value.data(), end, target->delay);
      const bool right = error == std::errc() && at == end && target->delay > 0;
      return right && target->delay < 1e6 ? nullptr : "-d takes seconds.";
    }
    default:
      target->verbose = true;
      return nullptr;
  }
}

// "keys=a" "vals=b" "if" "c" ">" "3" -> "hist:keys=a:vals=b if c > 3".
std::string definition_of(const std::vector<std::string>& words) {
  std::string text = words.empty() || words[0].starts_with("hist:") ? "" : "hist";
  bool in_filter = false;
  for (const std::string& word : words) {
    in_filter |= word == "if";
    if (!text.empty()) text += in_filter ? " " : ":";
    text += word;
  }
  return text;
}

const char* check(HistOptions* options, const std::vector<std::string>& words, bool has_command) {
  if (words.empty()) return "An event is needed.";
  options->event = words[0];
  options->definition = definition_of({words.begin() + 1, words.end()});
  if (words.size() < 2) return "What to count by is needed: keys=FIELD.";
  if (has_command && options->target.words.empty()) return "The program to run is missing.";
  if (has_command && options->target.pid) return "A process and a program to run are too much.";
  return nullptr;
}

bool parse_command_line(int argc, char** argv, HistOptions* options, int* status) {
  static const option kOptions[] = {{"pid", required_argument, nullptr, 'p'},
                                    {"delay", required_argument, nullptr, 'd'},
                                    {"verbose", no_argument, nullptr, 'v'},
                                    {"help", no_argument, nullptr, 'h'},
                                    {}};
  ::opterr = 0;
  std::vector<std::string> words;
  // Options stand before, between and behind the words.
  const int own = options->target.take_words(argc, argv);
  for (int letter; (letter = ::getopt_long(own, argv, "-p:d:vh", kOptions, nullptr)) != -1;) {
    if (letter == 'h') return std::fputs(kHelp, stdout), *status = kOk, false;
    if (letter == '?') return *status = bad_option("hist", argv), false;
    const bool in_filter = std::find(words.begin(), words.end(), "if") != words.end();
    if (letter == 1 && !in_filter && options->target.pid == 0 &&
        parse_pid(::optarg, &options->target.pid))
      continue;
    if (letter == 1) {
      words.push_back(::optarg);
    } else if (const char* wrong =
                   take_option(letter, ::optarg ? ::optarg : "", &options->target)) {
      return *status = usage_error("hist", wrong), false;
    }
  }
  const char* wrong = check(options, words, own < argc);
  if (wrong) *status = usage_error("hist", wrong);
  return wrong == nullptr;
}

Status prepare(const HistOptions& options, HistSession* session) {
  PB_TRY(session->connect());
  Result<std::string> event = session->define(options.event);
  if (!event.ok()) return event.error();
  std::string directory = "events/" + *event;
  directory[directory.find(':')] = '/';
  HistPlan plan;
  plan.writes.push_back({directory + "/trigger", options.definition});
  plan.histograms.push_back(directory);
  return session->apply(plan);
}

}  // namespace

int run_hist(int argc, char** argv) {
  HistOptions options;
  int status = kOk;
  if (!parse_command_line(argc, argv, &options, &status)) return status;
  HistSession session("hist", options.target);
  Status ready = prepare(options, &session);
  if (!ready.ok()) return fail("hist", ready.error());
  return session.run(
      [](const std::vector<std::string>& texts) { return printable_hist(texts[0]); });
}

}  // namespace patchbay::cmd
