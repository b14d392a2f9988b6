// SPDX-License-Identifier: MIT
#include "cmd/record/record_report.h"

#include <getopt.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "base/monotonic_clock.h"
#include "cmd/common/commands.h"
#include "cmd/target/leftovers.h"
#include "cmd/target/nothing_recorded.h"

namespace patchbay::cmd {
namespace {

constexpr int kFastestMs = 1, kSlowestMs = 16;
constexpr unsigned kBusyPercent = 20;  // of a ring taken in one turn: do not sleep at all

constexpr size_t kMostKinds = 6;

constexpr uint64_t kMuchLost = 100;  // one event of so many

// A recording with holes misleads its reader later. So we say now how to avoid them.
void say_how_to_lose_less(uint64_t events, uint64_t lost, uint64_t size) {
  const uint64_t all = events + lost;
  if (lost == 0 || lost < all / kMuchLost) return;
  char percent[16];
  std::snprintf(percent, sizeof percent, "%.*f", lost * 10 < all ? 1 : 0,
                100.0 * double(lost) / double(all));
  note(std::string(percent) + " % of the events are lost: the buffer of a CPU (" + size_text(size) +
       ") was full. Give it more (-b " + std::to_string(std::clamp<uint64_t>(size >> 18, 1, 1024)) +
       "M), or record less: -f FILTER behind an event, -l and -N for the functions of a tracer");
}

// The kinds of the kernel's events, the most frequent first.
void say_kernel_part(const KernelEvents& kernel) {
  std::vector<std::pair<uint64_t, std::string>> kinds;
  for (const KernelEvents::Event& event : kernel.events())
    if (event.records) kinds.emplace_back(event.records, event.system + ":" + event.name);
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = std::to_string(kernel.nr_events()) + " of them are the kernel's";
  for (size_t i = 0; i < std::min(kinds.size(), kMostKinds); i++)
    text += (i ? ", " : ": ") + kinds[i].second + " " + std::to_string(kinds[i].first);
  note(text + (kinds.size() > kMostKinds ? ", ..." : ""));
}

std::string per_cpu_text(const std::vector<RingCounts>& by_ring, uint32_t nr_cpus) {
  std::string text;
  for (uint32_t ring = 0; ring < by_ring.size(); ring++) {
    const uint64_t lost = by_ring[ring].overwritten + by_ring[ring].dropped;
    bool is_cpu = ring < nr_cpus;
    if (!is_cpu && by_ring[ring].events + lost == 0) continue;
    text += (text.empty() ? "" : ", ") +
            (is_cpu ? "cpu" + std::to_string(ring) : std::string("no-rseq")) + " " +
            std::to_string(lost);
  }
  return text;
}

}  // namespace

Progress::Progress(bool wanted)
    : on_(wanted && ::isatty(STDERR_FILENO)), next_(monotonic_ms() + 1000) {}

void Progress::show(const Recording& recording) {
  if (on_ && monotonic_ms() >= next_)
    show(recording.published(), recording.bytes(), recording.lost());
}

void Progress::show(uint64_t events, uint64_t bytes, uint64_t lost) {
  if (!on_ || monotonic_ms() < next_) return;
  next_ = monotonic_ms() + 1000;
  std::fprintf(stderr, "\r\033[K[ patchbay record: %llu events, %s, lost %llu ]",
               static_cast<unsigned long long>(events), size_text(bytes).c_str(),
               static_cast<unsigned long long>(lost));
  shown_ = true;
}

void Progress::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void note(const std::string& text) {
  std::fprintf(stderr, "[ patchbay record: %s ]\n", printable(text).c_str());
}

std::string counted(const std::vector<std::string>& texts) {
  std::map<std::string, size_t> counts;
  for (const std::string& text : texts) counts[one_line(text)]++;
  std::vector<std::pair<size_t, std::string>> sorted;
  for (const auto& [text, count] : counts) sorted.emplace_back(count, text);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr size_t kMost = 8;
  std::string list;
  for (size_t i = 0; i < std::min(sorted.size(), kMost); i++)
    list += (i ? ", " : "") + sorted[i].second +
            (sorted[i].first > 1 ? " (" + std::to_string(sorted[i].first) + ")" : "");
  return list + (sorted.size() > kMost ? ", ..." : "");
}

namespace {

// The line of the summary. What is lost.
uint64_t print_line(const SummaryFigures& figures, const TraceDatResult& result,
                    const std::string& output, uint64_t* events) {
  uint64_t lost = 0;
  for (const RingCounts& counts : figures.by_ring) {
    *events += counts.events;
    lost += counts.overwritten + counts.dropped;
  }
  note(std::to_string(*events - result.events_lost) + " events, " + size_text(result.bytes) +
       " in " + (result.moved_to.empty() ? output : result.moved_to) + "; lost " +
       std::to_string(lost) + " (" + per_cpu_text(figures.by_ring, figures.nr_cpus) + ")");
  return lost;
}

void print_summary(const Recording& recording, const std::vector<RingCounts>& by_ring,
                   const TraceDatResult& result, const std::string& output) {
  uint64_t events = 0;
  const SummaryFigures figures{by_ring, recording.buffer().header().nr_cpus,
                               recording.ring_bytes()};
  const uint64_t lost = print_line(figures, result, output, &events);
  if (recording.kernel()) say_kernel_part(*recording.kernel());
  if (!recording.kernel_left().ok()) note(recording.kernel_left().error().message());
  if (!recording.followed().ok()) note(recording.followed().error().message());
  say_how_to_lose_less(events, lost, figures.ring_bytes);
}

}  // namespace

void print_figures(const SummaryFigures& figures, const TraceDatResult& result,
                   const std::string& output) {
  uint64_t events = 0;
  const uint64_t lost = print_line(figures, result, output, &events);
  say_how_to_lose_less(events, lost, figures.ring_bytes);
}

void print_summary(const Recording& recording, const TraceDatResult& result,
                   const std::string& output) {
  print_summary(recording, recording.counts(), result, output);
}

void print_summary(const Recording& recording, const FollowedTotals& totals,
                   const TraceDatResult& result, const std::string& output) {
  print_summary(recording, totals.counts, result, output);
}

void say_why_nothing(const TraceRequest& request, const Recording& recording,
                     const std::vector<std::string>& off) {
  const uint64_t not_taken = recording.missed() + recording.recursion() + recording.unhooked();
  if (recording.lost() + not_taken != 0) return;
  for (const std::string& name : off)
    if (recording.events() == 0) note("tracing_on of the instance '" + name + "' is 0");
  if (off.empty()) say_why_nothing(request, recording, recording.events(), {});
}

void say_why_nothing(const TraceRequest& request, const Recording& recording, uint64_t events,
                     const std::set<std::string>& recorded) {
  const uint64_t not_taken = recording.missed() + recording.recursion() + recording.unhooked();
  if (recording.lost() + not_taken != 0) return;
  Result<RecordedMeta> meta = read_recorded_meta(recording.buffer());
  if (!meta.ok()) return;
  const auto records_of = [&](uint16_t id) { return recording.events_of(id); };
  std::vector<EventRequest> without = without_records(request, meta->events, records_of);
  std::erase_if(without, [&](const EventRequest& one) { return recorded.contains(one.text); });
  const std::vector<std::string> sentences = events == 0
                                                 ? why_nothing(request, meta->modules, meta->exe)
                                                 : why_nothing(without, meta->modules, meta->exe);
  for (const std::string& sentence : sentences) note(sentence);
}

std::vector<std::string> recorded_texts(const TraceRequest& request, const Recording& recording) {
  Result<RecordedMeta> meta = read_recorded_meta(recording.buffer());
  if (!meta.ok()) return {};
  const auto records_of = [&](uint16_t id) { return recording.events_of(id); };
  std::set<std::string> without;
  for (const EventRequest& one : without_records(request, meta->events, records_of))
    without.insert(one.text);
  const auto has_event = [&](const EventRequest& event) {
    // One that the program does not have at all is not among those without records.
    return recording.events() > 0 && !without.contains(event.text);
  };
  std::vector<std::string> texts;
  for (const InstanceRequest& instance : request.instances())
    for (const EventRequest& event : instance.events)
      if (has_event(event)) texts.push_back(event.text);
  return texts;
}

bool report_place(std::string_view command, const TraceDatResult& result,
                  const std::string& output) {
  if (!result.moved_to.empty()) {
    fail(command, output + " was removed or replaced meanwhile: the recording is in " +
                      result.moved_to + ".");
    return false;
  }
  // Nothing is lost, but somebody has thought that it may go: a script is to know.
  if (result.was_removed)
    fail(command, output + " was removed meanwhile; it is written again, as a whole.");
  return !result.was_removed;
}

bool report_disk(std::string_view command, const TraceDatResult& result, const Recording& recording,
                 const std::string& output) {
  const bool is_in_place = report_place(command, result, output);
  if (result.events_lost == 0 && result.pages_lost == 0) return is_in_place;
  fail(command, output + ": " + std::strerror(result.error ? result.error : EIO) + "; " +
                    std::to_string(recording.events() - result.events_lost) +
                    " events are saved in it, " + std::to_string(result.events_lost) + " are not.");
  return false;
}

int print_report(const RecordOptions& options) {
  std::string words[] = {"report", "-i", options.output, "--json"};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(),
                  options.json ? words[3].data() : nullptr, nullptr};
  ::optind = 0;  // getopt starts anew
  return run_report(options.json ? 4 : 3, argv);
}

int next_wait_ms(unsigned filled, int wait_ms) {
  if (filled >= kBusyPercent) return 0;
  return filled > 0 ? std::max(wait_ms / 2, kFastestMs) : std::min(wait_ms * 2 + 1, kSlowestMs);
}

}  // namespace patchbay::cmd
