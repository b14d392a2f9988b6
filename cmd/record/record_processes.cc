// SPDX-License-Identifier: MIT
//
// patchbay record -p A -p B, --all, --cgroup, --service, --container: several running processes in
// one file, each left as it was found.
//
//   find them, set them up   member_search.h, in a thread of its own
//   take their sub-buffers   here, into a file for each
//   they end, or Ctrl-C      each is stopped, then each file is finished, then all are one
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include "base/monotonic_clock.h"
#include "base/raw_syscall.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/descriptors.h"
#include "cmd/common/run_time.h"
#include "cmd/record/member_search.h"
#include "cmd/record/process_member.h"
#include "cmd/record/record.h"
#include "cmd/record/record_report.h"
#include "cmd/record/recording_parts.h"
#include "cmd/target/process_source.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

constexpr int kLookMs = 100, kRefreshMs = 1000;
constexpr int kLatestDrainMs = 20;  // within what is done for one member after the other
constexpr size_t kMostSentences = 8;

std::string of_processes(size_t count, const char* one, const char* many) {
  return std::to_string(count) + (count == 1 ? " process" : " processes") +
         (count == 1 ? one : many);
}

std::string name_of(const MergedPart& part) {
  return std::string(base_name(part.exe)) + " (" + std::to_string(part.pid) + ")";
}

// "1234 (inside 7)"
std::string with_inside(const MergedPart& part) {
  return std::to_string(part.pid) + " (inside " + std::to_string(part.inside) + ")";
}

class RecordedProcesses {
 public:
  RecordedProcesses(const RecordOptions& options, const RecordingParts& parts, ProcessSource source,
                    const std::string& runtime)
      : options_(options),
        parts_(parts),
        where_(source.where()),
        may_grow_(source.may_grow()),
        named_(source.named()),
        search_(options, parts, std::move(source), runtime) {}

  // Until a signal, or until nobody is left. False: nothing is recorded, which was said.
  bool record(int signals);
  // `lock`: of the output, which stays as soon as it has what was recorded.
  int finish(OutputLock* lock);

 private:
  bool take_news();
  void take_members(MemberSearch::News news);
  void begin(bool is_empty);
  void drain();
  void drain_if_late();
  bool is_recordable();
  bool say_what_nobody_has();
  void wait(int signals, int wait_ms);
  void look_after_members();
  void note_end(ProcessMember* member);
  void keep(RecordedPart part);
  void stop_all();
  void drop_all();
  void find_orphans();
  void show(Progress* progress) const;
  std::vector<std::string> refusals() const;
  void print_summary(const MergeResult& merged) const;
  void print_members() const;

  const RecordOptions& options_;
  const RecordingParts& parts_;
  const std::string where_;
  bool may_grow_;
  const std::set<int> named_;
  MemberSearch search_;
  std::vector<std::unique_ptr<ProcessMember>> live_;
  std::vector<std::unique_ptr<ProcessMember>> stopped_members_;  // they are left at the end
  std::vector<RecordedPart> done_;  // also of those that have nothing of the request
  std::vector<NotFollowed> refused_;
  std::vector<std::string> executed_;          // sentences
  std::set<std::string> found_;                // texts of -e and -l that a process has
  std::map<std::string, std::string> errors_;  // … and of those that one has not: why
  bool has_begun_ = false, stopped_ = false;
  int64_t drained_ = 0;  // ms
  size_t nr_ended_ = 0, nr_go_on_ = 0;
};

// --- who is there

void RecordedProcesses::take_members(MemberSearch::News news) {
  for (std::unique_ptr<ProcessMember>& member : news.members) {
    const AppliedRequest& applied = member->applied();
    found_.insert(applied.found.begin(), applied.found.end());
    errors_.insert(applied.errors.begin(), applied.errors.end());
    if (member->recording)
      live_.push_back(std::move(member));
    else
      keep(std::move(*member));
  }
  for (RecordedPart& part : news.finished) keep(std::move(part));
  refused_.insert(refused_.end(), news.refused.begin(), news.refused.end());
  may_grow_ = news.may_grow;
}

// False: nobody can be recorded, which was said.
bool RecordedProcesses::take_news() {
  MemberSearch::News news = search_.take();
  const bool has_looked = news.has_looked, is_empty = news.is_empty;
  take_members(std::move(news));
  if (has_begun_ || !has_looked) return true;
  has_begun_ = true;
  if (!may_grow_ && !is_recordable()) return false;
  run_time_begins();
  if (!options_.quiet) begin(is_empty);
  return true;
}

void RecordedProcesses::begin(bool is_empty) {
  if (may_grow_ && live_.empty())
    note((is_empty ? "no process is " : "no process is recorded yet that is ") + where_ +
         ": waiting for those that come; Ctrl-C ends the recording");
  else
    note("recording " + of_processes(live_.size() + done_.size(), "", "") +
         "; Ctrl-C ends the recording");
  if (may_grow_)
    for (const auto& [text, why] : errors_)
      if (!found_.contains(text))
        note("no process has '" + text + "': it is waited for in those that come");
}

std::vector<std::string> RecordedProcesses::refusals() const {
  std::vector<std::string> sentences;
  for (const NotFollowed& one : refused_)
    sentences.push_back("process " + std::to_string(one.pid) + " (" +
                        std::string(base_name(one.path)) + ") " + one.reason);
  return sentences;
}

// An event that none of the processes has is a mistake, as it is of a single process.
bool RecordedProcesses::say_what_nobody_has() {
  bool all = true;
  for (const auto& [text, why] : errors_) {
    if (found_.contains(text)) continue;
    all = false;
    (void)fail(options_.command, "no process has '" + text + "':\n" + why);
  }
  return all;
}

bool RecordedProcesses::is_recordable() {
  bool is_right = say_what_nobody_has();
  const auto has_recorded = [](const auto& one) { return !one.part.path.empty(); };
  const bool has_any = !live_.empty() || std::any_of(done_.begin(), done_.end(), has_recorded);
  if (is_right && !has_any) {
    std::string text = "none of the processes can be recorded:";
    for (const std::string& sentence : refusals()) text += "\n  " + sentence;
    (void)fail(options_.command, text);
    is_right = false;
  }
  return is_right;
}

// --- while they run

void RecordedProcesses::wait(int signals, int wait_ms) {
  std::vector<pollfd> polled{{signals, POLLIN, 0}, {search_.descriptor(), POLLIN, 0}};
  for (const auto& member : live_)
    if (!member->has_ended() && !member->gone()) polled.push_back({member->descriptor(), 0, 0});
  (void)::poll(polled.data(), polled.size(), wait_ms);
  stopped_ = polled[0].revents != 0;
  if (stopped_) serve::end_soon();
}

void RecordedProcesses::show(Progress* progress) const {
  uint64_t events = 0, bytes = 0, lost = 0;
  const auto add = [&](const RecordedPart& part) {
    events += part.published(), bytes += part.bytes_spooled(), lost += part.lost();
  };
  for (const auto& member : live_) add(*member);
  for (const RecordedPart& part : done_) add(part);
  progress->show(events, bytes, lost);
}

// A process that has ended is done when its forked children are, which record with it.
void RecordedProcesses::look_after_members() {
  std::vector<ProcessMember*> to_look;
  for (const auto& member : live_) {
    member->look_inside();
    if (!member->has_ended() && (!member->gone() || !member->is_settled())) continue;
    note_end(member.get());
    if (!member->has_children()) to_look.push_back(member.get());
  }
  if (to_look.empty()) return;
  const std::vector<SharedMaps> maps = shared_maps();
  for (ProcessMember* member : to_look) {
    member->find_children(maps);
    if (member->has_children()) continue;
    const auto at = std::find_if(live_.begin(), live_.end(),
                                 [&](const auto& one) { return one.get() == member; });
    std::unique_ptr<ProcessMember> ended = std::move(*at);
    live_.erase(at);
    search_.leave(std::move(ended));
  }
}

void RecordedProcesses::note_end(ProcessMember* member) {
  if (member->has_ended()) return;
  member->note_end();
  nr_ended_++;
  const std::string successor = member->successor();
  // In a group the search finds it. A number means the program that had it at the beginning.
  if (successor.empty() || (may_grow_ && !named_.contains(member->part.pid))) return;
  executed_.push_back("process " + std::to_string(member->part.pid) + " has executed " + successor +
                      ", which is not recorded");
  refused_.push_back({member->part.pid, member->part.end_ns, successor,
                      "executed by a process that was recorded by its number"});
}

void RecordedProcesses::keep(RecordedPart part) { done_.push_back(std::move(part)); }

void RecordedProcesses::drain() {
  for (const auto& member : live_) (void)member->recording->drain();
  drained_ = monotonic_ms();
}

void RecordedProcesses::drain_if_late() {
  if (monotonic_ms() - drained_ >= kLatestDrainMs) drain();
}

bool RecordedProcesses::record(int signals) {
  if (const Status started = search_.start(); !started.ok())
    return fail(options_.command, started.error()) == kOk;
  Progress progress(!options_.quiet);
  bool is_right = true;
  int64_t next_look = 0, next_refresh = monotonic_ms() + kRefreshMs;
  for (int wait_ms = 1; is_right && !stopped_;) {
    is_right = take_news();
    if (has_begun_ && live_.empty() && !may_grow_) break;
    unsigned filled = 0;
    for (const auto& member : live_) filled = std::max(filled, member->recording->drain());
    drained_ = monotonic_ms();
    wait_ms = next_wait_ms(filled, wait_ms);
    show(&progress);
    wait(signals, wait_ms);
    if (const int64_t now = monotonic_ms(); now >= next_look) {
      look_after_members();
      next_look = now + kLookMs;
    }
    if (monotonic_ms() < next_refresh) continue;
    for (const auto& member : live_) {
      member->recording->refresh_events();
      drain_if_late();
    }
    next_refresh = monotonic_ms() + kRefreshMs;
  }
  progress.clear();
  if (is_right)
    stop_all();
  else
    drop_all();
  return is_right;
}

// Those that are stopped later go on meanwhile, so their rings are emptied in between. To leave a
// process may take seconds, and the file is not to wait for it.
void RecordedProcesses::stop_all() {
  const auto stop = [this](ProcessMember* member) {
    member->look_inside();
    if (!member->gone()) member->stop();
    drain_if_late();
  };
  for (size_t i = 0; i < live_.size(); i++) stop(live_[i].get());
  drain();
  const size_t nr_stopped = live_.size();
  search_.stop();
  take_members(search_.take());  // also who was being set up
  for (size_t i = nr_stopped; i < live_.size(); i++) stop(live_[i].get());
  for (std::unique_ptr<ProcessMember>& member : live_) {
    while (member->gone() && !member->is_settled()) ::usleep(1000);
    if (member->gone()) note_end(member.get());
    nr_go_on_ += !member->has_ended();
    parts_.finish(member.get(), options_.request);
    keep(std::move(*member));
  }
  find_orphans();
  stopped_members_ = std::move(live_);
  live_.clear();
}

// Forked children of who has just ended: they are left as they were, too.
void RecordedProcesses::find_orphans() {
  const auto may_have = [](const auto& member) { return member->may_have_children(); };
  if (std::none_of(live_.begin(), live_.end(), may_have)) return;
  const std::vector<SharedMaps> maps = shared_maps();
  for (const auto& member : live_)
    if (may_have(member)) member->find_children(maps);
}

void RecordedProcesses::drop_all() {
  for (const auto& member : live_) member->stop();
  search_.stop();
  take_members(search_.take());
  for (const auto& member : live_) {
    member->recording.reset();
    parts_.remove(*member);
    if (member->gone()) note_end(member.get());
  }
  find_orphans();
  live_.clear();
  for (const RecordedPart& part : done_) parts_.remove(part);
}

// --- afterwards

void RecordedProcesses::print_members() const {
  std::vector<std::string> names, losers, inside;
  std::map<std::string, std::vector<std::string>> by_note, by_reason;
  for (const RecordedPart& part : done_) {
    if (!part.part.path.empty()) names.emplace_back(base_name(part.part.exe));
    if (!part.part.path.empty() && part.part.inside)
      inside.push_back(std::string(base_name(part.part.exe)) + " " + with_inside(part.part));
    if (part.lost()) losers.push_back(name_of(part.part) + " " + std::to_string(part.lost()));
    if (!part.part.note.empty()) by_note[part.part.note].push_back(name_of(part.part));
  }
  note(of_processes(names.size(), " is", " are") + " in the file: " + counted(names));
  if (!inside.empty())
    note(of_processes(inside.size(), " has", " have") +
         " another number inside: " + counted(inside));
  if (!losers.empty() && names.size() > 1) note("lost in " + counted(losers));
  for (const auto& [sentence, who] : by_note) note(counted(who) + ": " + sentence);
  for (const NotFollowed& one : refused_)
    by_reason[one.reason].push_back(std::string(base_name(one.path)) + " (" +
                                    std::to_string(one.pid) + ")");
  for (const auto& [reason, who] : by_reason)
    note("not recorded (" + reason + "): " + counted(who));
  for (size_t i = 0; i < std::min(executed_.size(), kMostSentences); i++) note(executed_[i]);
}

void RecordedProcesses::print_summary(const MergeResult& merged) const {
  SummaryFigures figures;
  std::set<std::string> recorded;
  uint64_t missed = 0;
  for (const RecordedPart& part : done_) {
    add_counts(part.counts, &figures.by_ring);
    figures.nr_cpus = std::max(figures.nr_cpus, part.nr_cpus);
    if (part.ring_bytes)
      figures.ring_bytes =
          figures.ring_bytes ? std::min(figures.ring_bytes, part.ring_bytes) : part.ring_bytes;
    missed += part.missed;
    recorded.insert(part.recorded.begin(), part.recorded.end());
  }
  TraceDatResult file = merged.file;
  for (const RecordedPart& part : done_) file.events_lost += part.not_saved;
  print_figures(figures, file, options_.output);
  print_members();
  for (const InstanceRequest& instance : options_.request.instances())
    for (const EventRequest& event : instance.events)
      if (!recorded.contains(event.text) && found_.contains(event.text))
        note("no process has called or hit '" + event.text + "'");
  if (missed) note(std::to_string(missed) + " hits could not be recorded");
  for (const std::string& sentence : merged.notes) note(sentence);
  if (nr_ended_) note(of_processes(nr_ended_, " has ended", " have ended"));
  if (stopped_)
    note("recording has stopped" +
         (nr_go_on_ ? "; " + of_processes(nr_go_on_, " goes on", " go on") : ""));
}

int RecordedProcesses::finish(OutputLock* lock) {
  std::vector<MergedPart> parts;
  bool has_file = false, is_saved = true;
  for (const RecordedPart& part : done_) {
    parts.push_back(part.part);
    has_file |= !part.part.path.empty();
    is_saved &= part.is_saved;
  }
  if (!has_file) {
    std::string text = "no process was recorded.";
    for (const std::string& sentence : refusals()) text += "\n  " + sentence;
    for (const RecordedPart& part : done_)
      if (!part.part.note.empty()) text += "\n  " + sentence_of(part.part);
    return fail(options_.command, text);
  }
  const std::string output = parts_.output();
  Result<MergeResult> merged =
      parts_.merge(parts, refused_,
                   output + ".*.part have the processes: `patchbay merge` makes one file of them.");
  if (!merged.ok()) return fail(options_.command, merged.error());
  lock->keep();
  if (!options_.quiet) print_summary(*merged);
  if (options_.quiet && options_.prepare)  // of rows that are printed, without a summary
    for (const std::string& sentence : refusals()) remark("not in the rows: " + sentence);
  if (!is_saved) (void)fail(options_.command, output + ": the disk took not all of the events.");
  // Who is told to end before all were looked at cannot know what nobody has.
  const bool is_right = !has_begun_ || say_what_nobody_has();
  is_saved = report_place(options_.command, merged->file, options_.output) && is_saved;
  return is_right && is_saved ? kOk : kFailed;
}

}  // namespace

int record_processes(const RecordOptions& options) {
  Result<std::unique_ptr<OutputLock>> lock = OutputLock::take(options.output);
  if (!lock.ok()) return fail(options.command, lock.error());
  Result<std::string> runtime = serve::runtime_directory(true);
  if (!runtime.ok()) return fail(options.command, runtime.error());
  Result<ProcessSource> source = ProcessSource::of(options.several, *runtime);
  if (!source.ok()) return fail(options.command, source.error());
  Result<RecordingParts> parts =
      RecordingParts::beside(options, "a recording of several processes");
  if (!parts.ok()) return fail(options.command, parts.error());
  const UniqueFd signals = watch_signals();  // before the search, which is to have them blocked
  raise_descriptor_limit();
  int status = kFailed;
  {
    RecordedProcesses processes(options, *parts, std::move(*source), *runtime);
    if (processes.record(signals.get())) status = processes.finish(lock->get());
  }
  return options.print && status == kOk ? print_report(options) : status;
}

}  // namespace patchbay::cmd
