// SPDX-License-Identifier: MIT
//
// patchbay replay: the calls of a function_graph recording in the order in which they happened,
// indented, with the events that were recorded among them.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/run_time.h"
#include "cmd/common/who_options.h"
#include "cmd/record/recorded_arguments.h"
#include "cmd/report/graph_source.h"
#include "cmd/report/replay_lines.h"
#include "output/event_text.h"
#include "output/trace_line.h"

namespace patchbay::cmd {
namespace {

constexpr int kRetval = kFirstOptionId, kNoEvent = kFirstOptionId + 1, kJson = kRetval + 2;
constexpr Option kOptions[] = {
    {.letter = 'i',
     .name = "input",
     .argument = "FILE",
     .help = "reads FILE instead of trace.dat; it may be what patchbay report takes"},
    {.letter = 'F',
     .name = "only",
     .argument = "FUNC",
     .help = "shows only FUNC (a glob) and what it called",
     .repeats = true},
    {.letter = 'N',
     .name = "notrace",
     .argument = "GLOB",
     .help = "leaves out these functions and what they called",
     .repeats = true},
    {.letter = 'D', .name = "depth", .argument = "N", .help = "shows N levels only"},
    {.letter = 'T',
     .name = "time",
     .argument = "TIME",
     .help = "shows only calls that took TIME or longer: 20us, 1.5ms, 3s, 250 (nanoseconds)"},
    {.letter = 'B', .name = "buffer", .argument = "NAME", .help = "shows this instance only"},
    {.name = "retval",
     .help = "shows return values, as far as records have them: f(); /* = 0x1 */",
     .more =
         "A function that returns nothing, a floating-point number or a structure has none, where "
         "debug information says so. Where there is none the value is marked: /* = 0x1? */.",
     .id = kRetval},
    {.name = "no-event", .help = "shows calls without other events", .id = kNoEvent},
    {.name = "json",
     .help = "prints one JSON object a line",
     .more =
         "kind is begin, end, call (both: nothing was recorded inside), off_cpu, event or remark. "
         "Calls "
         "have ts, tid, depth, function and duration_ns (but begin), call with its arguments "
         "(but end), retval when it was recorded, and remark when they are not whole. "
         "With sched:sched_switch in the recording ends have on_cpu_ns and off_cpu_ns, and "
         "off_cpu_unsure when switches are missing; off_cpu has duration_ns and state, and "
         "off_cpu_unsure when its end is missing.",
     .id = kJson},
    {.name = "filter", .argument = "FUNC", .id = 'F', .kind = Option::Kind::kOldSpelling},
    {.letter = 't',
     .name = "time-filter",
     .argument = "TIME",
     .id = 'T',
     .kind = Option::Kind::kOldSpelling},
};

struct Options {
  std::string input = "trace.dat", buffer;
  bool one_buffer = false, events = true;
  std::vector<std::string> only, without;
  WhoChoice who;
  ReplayOptions lines;
  const ArgumentsOf* arguments_of = nullptr;
};

// --- command line

// Null when the option is right, else the sentence about it.
const char* take_option(int id, const std::string& value, Options* options) {
  switch (id) {
    case 'i':
      options->input = value;
      return nullptr;
    case 'F':
      options->only.push_back(value);
      return nullptr;
    case 'N':
      options->without.push_back(value);
      return nullptr;
    case 'D':
      return parse_positive(value, &options->lines.depth) ? nullptr
                                                          : "-D takes a number of levels.";
    case 'T':
      return parse_time(value, &options->lines.least_ns, "ns") ? nullptr
                                                         : "-T takes a time: 20us, 1.5ms, 3s.";
    case 'B':
      options->buffer = value;
      options->one_buffer = true;
      return nullptr;
    case kRetval:
      options->lines.retval = true;
      return nullptr;
    case kJson:
      options->lines.json = true;
      return nullptr;
    case kNoEvent:
      options->events = false;
      return nullptr;
    default:
      return take_who_option(id, value.c_str(), &options->who);
  }
}

bool parse_command_line(int argc, char** argv, Options* options, int* status) {
  const auto take = [&](int id, const char* value) { return take_option(id, value, options); };
  if (const std::optional<int> ended = parse_options(kReplayLine, argc, argv, take))
    return *status = *ended, false;
  if (::optind + 1 == argc && options->input == "trace.dat") options->input = argv[::optind++];
  if (::optind == argc) return true;
  return *status = too_much(kReplayLine, argv), false;
}

// --- output

// The text of events that are no calls.
class OtherEvents {
 public:
  OtherEvents(GraphSource& source, const ArgumentsOf* arguments_of) : by_id_(65536, nullptr) {
    context_.addresses = source.addresses();
    context_.escape = true;
    context_.arguments_of = arguments_of;
    for (const EventCall& event : source.events()) {
      texts_.push_back(std::make_unique<EventText>(event, true));
      by_id_[event.id] = texts_.back().get();
    }
  }
  std::string text_of(const MergedEvent& event) {
    uint16_t id = 0;
    std::string text;
    if (event.record.size() >= 2) std::memcpy(&id, event.record.data(), 2);
    if (!by_id_[id]) return "unknown event " + std::to_string(id);
    by_id_[id]->append(&text, event.record, &context_);
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }

 private:
  std::vector<std::unique_ptr<EventText>> texts_;
  std::vector<const EventText*> by_id_;
  TextContext context_;
};

std::string lost_text(const MergedEvent& event) {
  std::string count = event.lost_before == kLostUnknown ? "" : std::to_string(event.lost_before);
  return "CPU " + std::to_string(event.cpu) + " has lost " + count + (count.empty() ? "" : " ") +
         "events";
}

// The functions that one of the globs means; null for no globs.
std::function<bool(uint64_t)> any_of(const std::vector<std::string>& globs, GraphSource& source) {
  if (globs.empty()) return nullptr;
  return [&globs, &source](uint64_t func) {
    return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
      return function_fits(glob, source.function_name(func));
    });
  };
}

// Each time that a thread was off the CPU since its first record, when it writes the next one.
class OffCpuLines {
 public:
  OffCpuLines(const GraphSource& source, ReplayLines* lines) : source_(source), lines_(lines) {}
  void before(const GraphRecord& record) {
    if (!source_.off_cpu()) return;
    const std::span<const OffCpuSpan> spans = source_.off_cpu()->spans(record.tid);
    const auto [known, is_first] = next_.try_emplace(record.tid, 0);
    size_t& next = known->second;
    while (is_first && next < spans.size() && spans[next].from_ns < record.ns) next++;
    for (; next < spans.size() && spans[next].from_ns < record.ns; next++) {
      if (spans[next].until_ns > record.ns && !is_of_program(record)) break;
      lines_->off_cpu(record.tid, spans[next].from_ns, share_of(spans[next], record),
                      source_.off_cpu_state(spans[next]));
    }
  }

 private:
  // Who makes a call is on the CPU: a span that goes on beyond it has its end missing. The kernel
  // writes records in the name of a thread that it is just about to leave.
  bool is_of_program(const GraphRecord& record) const {
    return source_.input().kernel_buffer() && record.kind != GraphRecord::Kind::kOther;
  }
  OffCpuShare share_of(const OffCpuSpan& span, const GraphRecord& record) const {
    const uint64_t until_ns = std::min(span.until_ns, record.ns);
    OffCpuShare share = source_.off_cpu()->within(record.tid, span.from_ns, until_ns);
    share.is_sure = share.is_sure && span.until_ns <= record.ns;
    return share;
  }

  const GraphSource& source_;
  ReplayLines* lines_;
  std::unordered_map<int32_t, size_t> next_;  // span
};

Result<PairingTotals> replay_buffer(GraphSource& source, size_t buffer, const Options& options) {
  ReplayOptions of_buffer = options.lines;
  of_buffer.instance = source.buffer_name(buffer);
  ReplayLines lines(
      of_buffer, [](const std::string& line) { std::fwrite(line.data(), 1, line.size(), stdout); });
  OtherEvents others(source, options.arguments_of);
  OffCpuLines off_cpu(source, &lines);
  CallPairing pairing(&lines, source.off_cpu());
  PB_TRY(source.walk(buffer, [&](const MergedEvent& event, const GraphRecord& record) {
    if (event.lost_before) lines.remark(lost_text(event));
    if (!source.is_chosen()) return;
    // The lines of off_cpu say what switches would.
    if (source.is_switch(event.record)) return;
    if (options.events) off_cpu.before(record);
    pairing.take(record);
    bool is_other =
        record.kind == GraphRecord::Kind::kOther || record.kind == GraphRecord::Kind::kFunction;
    if (is_other && options.events) lines.event(record.tid, record.ns, others.text_of(event));
  }));
  pairing.finish();
  lines.finish();
  return pairing.totals();
}

int replay(Options& options) {
  auto source = GraphSource::open(options.input);
  if (!source.ok()) return fail("replay", source.error());
  if (!::isatty(STDOUT_FILENO)) (*source)->show_progress("replay");
  if (options.events) (*source)->tell_kernel_events();
  (*source)->choose(options.who);
  RecordedArguments arguments((*source)->input());
  const ArgumentsOf arguments_of = [&](uint64_t func) {
    const GraphSource::Place place = (*source)->place_of(func);
    return arguments.of(place.address, place.image);
  };
  const ArgumentsOf arguments_of_record = [&](uint64_t func) {
    return arguments.of(func, (*source)->names()->image());
  };
  TextContext context;
  context.arguments_of = &arguments_of;
  options.arguments_of = &arguments_of_record;
  options.lines.arguments_of = arguments_of;
  options.lines.call_of = [&](uint64_t func, std::span<const uint8_t> words) {
    std::string call = (*source)->function_name(func);
    append_arguments(&call, words, func, &context);
    return call;
  };
  options.lines.off_cpu = (*source)->off_cpu() != nullptr;
  options.lines.name_of = [&](uint64_t func) { return (*source)->function_name(func); };
  options.lines.only = any_of(options.only, **source);
  options.lines.without = any_of(options.without, **source);
  PairingTotals totals;
  bool any = false;
  for (size_t i = 0; i < (*source)->nr_buffers(); i++) {
    std::string name;
    append_escaped(&name, (*source)->buffer_name(i));
    if (options.one_buffer && (*source)->buffer_name(i) != options.buffer) continue;
    any = true;
    if (!name.empty() && !options.lines.json) std::printf("# instance: %s\n", name.c_str());
    if (!options.lines.json) std::fputs(ReplayLines::head(options.lines.off_cpu), stdout);
    auto read = replay_buffer(**source, i, options);
    if (!read.ok()) return fail("replay", read.error());
    totals += *read;
  }
  std::fflush(stdout);
  if (!any) return fail("replay", "There is no instance '" + options.buffer + "' in the file.");
  print_graph_notes("replay", (*source)->losses(), totals);
  return kOk;
}

}  // namespace

constexpr CommandLine kReplayLine = {
    .name = "replay",
    .summary = "print the calls of a recording as they happened, indented",
    .synopsis = "replay [[-i] FILE] [OPTION...]",
    .about = R"(Prints the calls of a recording of the function_graph tracer as they happened,
indented, with how long each took. Other events of the recording stand among them
as comments.

Of a recording with the kernel's switches (record -k sched:sched_switch) it also
prints how long each was on the CPU, and a comment where the thread had been off it,
with the state that it was in: S and D wait, R+ was preempted. A ? behind a time:
switches were lost meanwhile.

)",
    .options = {kOptions, kWhoOptions},
    .after =
        "Example: patchbay record -t function_graph -- ./prog && patchbay replay -F parse -D 3\n",
    .words = "FILE",
};

int run_replay(int argc, char** argv) {
  Options options;
  int status = kOk;
  return parse_command_line(argc, argv, &options, &status) ? replay(options) : status;
}

}  // namespace patchbay::cmd
