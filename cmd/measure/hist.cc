// SPDX-License-Identifier: MIT
//
// patchbay hist: counts the hits of an event by its fields, inside the process, and prints the
// table.

#include <algorithm>

#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/measure/hist_json.h"
#include "cmd/measure/hist_session.h"
#include "cmd/target/follow_request.h"
#include "hist/text/hist_text.h"

namespace patchbay::cmd {
namespace {

constexpr Option kOptions[] = {kPerProcessOption, kHistJsonOption,   kHistOutputOption,
                               kDelayOption,      kHistFollowOption, kVerboseOption};

struct HistOptions {
  HistTarget target;
  std::string event, definition;  // "hist:keys=…"
};

// "if", or the whole filter as one word of a shell: 'if size > 3'.
bool begins_filter(const std::string& word) { return word == "if" || word.starts_with("if "); }

// "keys=a" "vals=b" "if" "c" ">" "3" -> "hist:keys=a:vals=b if c > 3".
std::string definition_of(const std::vector<std::string>& words) {
  std::string text = words.empty() || words[0].starts_with("hist:") ? "" : "hist";
  bool in_filter = false;
  for (const std::string& word : words) {
    in_filter |= begins_filter(word);
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
  if (options->target.json && std::find(words.begin(), words.end(), "nohitcount") != words.end())
    return "--json has hitcount always: leave nohitcount out.";
  return options->target.check(has_command);
}

bool parse_command_line(int argc, char** argv, HistOptions* options, int* status) {
  std::vector<std::string> words;
  // Options stand before, between and behind the words.
  const int own = options->target.take_words(argc, argv);
  const auto take = [&](int id, const char* value) -> const char* {
    if (id != kWordId) return options->target.take_option(id, value);
    const bool in_filter = std::any_of(words.begin(), words.end(), begins_filter);
    if (in_filter || !options->target.take_pid_word(value)) words.push_back(value);
    return nullptr;
  };
  if (const std::optional<int> ended = parse_options(kHistLine, own, argv, take))
    return *status = *ended, false;
  const char* wrong = check(options, words, own < argc);
  if (wrong) *status = usage_error("hist", wrong);
  return wrong == nullptr;
}

Result<HistPlan> prepare(const HistOptions& options, CountedProcess& process) {
  PB_ASSIGN(std::string event, process.define(options.event));
  std::string directory = "events/" + event;
  directory[directory.find(':')] = '/';
  HistPlan plan;
  plan.writes.push_back({directory + "/trigger", options.definition});
  plan.histograms.push_back(directory);
  return plan;
}

}  // namespace

constexpr CommandLine kHistLine = {
    .name = "hist",
    .summary = "count the hits of an event by its fields",
    .synopsis =
        "hist [OPTION...] EVENT keys=FIELD[,FIELD...] [PART...] [if FILTER] -- CMD [ARG...]\n"
        "hist [OPTION...] EVENT keys=FIELD[,FIELD...] [PART...] [if FILTER] [-p PID]\n"
        "hist [OPTION...] EVENT keys=... -p PID,PID...|--all|--cgroup PATH|--exe GLOB",
    .about = R"(Counts the hits of an event in a program, by the values of its fields, and prints
the table when the program ends; in a terminal also while it runs. A running
process is counted until Ctrl-C. The tables of several processes are added up to
one.

EVENT is SYSTEM:EVENT or EVENT; 'FUNC(TYPE NAME, ...)' or 'FUNC(*)', the calls of a
function; 'FUNC:LINE VAR ...'; 'p:NAME PLACE ARG ...' as patchbay record -e takes
them.

Each PART is one that the file `trigger` of an event takes:
  keys=F[.MODIFIER],...    up to three: hex, sym, sym-offset, execname, log2,
                           buckets=N, stacktrace; common_pid, common_cpu and
                           common_stacktrace are fields, too
  vals=F[.MODIFIER],...    up to two that are summed up: hex, percent, graph,
                           quantiles, counters
  sort=F[.descending],...  default hitcount
  size=N                   entries, 128 to 131072, default 2048
  nohitcount

)",
    .options = {kProcessOptions, kOptions, kChosenProcessOptions},
    .after = R"(The exit status is that of CMD.
Example: patchbay hist 'malloc(u64 size)' keys=size.log2 vals=size sort=size -- \
             sort /etc/services
)",
    .words = "EVENT",
    .order = CommandLine::Words::kInOrder,
    .attaches = true,
    .lasts = true,
};

int run_hist(int argc, char** argv) {
  HistOptions options;
  int status = kOk;
  if (!parse_command_line(argc, argv, &options, &status)) return status;
  options.target.wishes = wishes_of(std::vector<EventRequest>{{options.event, ""}});
  HistSession session("hist", options.target,
                      [&](CountedProcess& process) { return prepare(options, process); });
  return session.run([&](const HistImage& image) {
    return options.target.json ? hist_json(image) : hist_text(image, HistStyle::kTerminal);
  });
}

}  // namespace patchbay::cmd
