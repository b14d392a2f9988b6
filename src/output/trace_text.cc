// SPDX-License-Identifier: MIT
#include "output/trace_text.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "output/event_text.h"
#include "output/graph_text.h"
#include "output/line_columns.h"
#include "output/merge.h"
#include "output/text_put.h"
#include "output/trace_clock_convert.h"

namespace patchbay {

namespace {

constexpr size_t kMaxLine = 8156;  // the kernel's TRACE_SEQ_BUFFER_SIZE
// Of one read of trace_pipe, which the agent answers under its lock. The kernel stops at 8155.
// Less than FUSE asks a mount for at once, which is 128 KiB: where that is filled, the kernel asks
// for the rest of a larger read, and waits for it, while the reader has nothing yet.
constexpr size_t kPipeBytes = 124 * 1024;
constexpr char kNegativePid[] = {'<', 'X', 'X', 'X', '>', 0};  // as the kernel names it
constexpr uint64_t kRefreshNs = 1000000000;

uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec);
}

struct Task {
  std::string comm;
  uint32_t tgid = 0;
};

}  // namespace

struct TraceText::Impl : PageSource {
  Impl(const TraceTextSources& from, const TraceArray& of, std::unique_ptr<TraceFeed> feed,
       Mode how, std::optional<uint32_t> only);

  // --- PageSource: pages of the rings that are read, times as they are
  size_t nr_cpus() const override { return rings_.size(); }
  uint32_t cpu_number(size_t index) const override { return rings_[index].ring; }
  bool next_page(size_t index, PageImage* out) override;
  uint64_t to_ns(uint64_t time) const override { return time; }

  std::string next(size_t size);

 private:
  struct Ring {
    uint32_t ring = 0;
    // Shown, but not yet consumed: counted from the start of the page last given.
    uint32_t used = 0;
    uint64_t time = 0, entries = 0;
    RingPosition expected;   // where we left it
    bool annotated = false;  // "buffer started" was shown, or need not be
    bool begun = false;      // an event of it was seen
    // Option func-no-repeats: the last call, and how often it came again.
    std::vector<uint8_t> call;
    uint32_t cpu = 0;
    uint64_t repeats = 0, last_repeat = 0;
  };
  bool is_pipe() const { return mode_ == Mode::kPipe; }
  bool shows(uint32_t ring) const { return !cpu_ || *cpu_ == ring; }
  void begin();
  void resume(std::string* out);
  bool was_moved() const;
  void consume(Ring* ring);
  void load_events();
  void load_comms();
  void load_clock();
  const Task* task_of(int32_t pid);
  const EventText* text_of(std::span<const uint8_t> record);

  HeaderCounts count() const;
  bool take_event(MergedEvent* event);
  struct Mark {  // how far a ring is shown with this event
    size_t index = 0;
    uint32_t used = 0;
    uint64_t time = 0, entries = 0;
  };
  void set_mark(const Mark& mark);
  void resume_carried(std::string* out);
  std::string fill(std::string out, size_t size);
  bool append_event(std::string* out, Mark* mark);
  void append_line(std::string* out, MergedEvent* event);
  bool append_special(std::string* out, const MergedEvent& event, const EventText* text);
  bool append_graph(std::string* out, MergedEvent* event, const EventText* text);
  void append_graph_call(std::string* out, MergedEvent* event, const GraphLine& line,
                         const TracerText& tracer);
  bool is_repeat(std::string* out, const MergedEvent& event);
  void append_repeats(std::string* out, Ring* ring, uint64_t time);
  void append_context(std::string* out, MergedEvent* event);
  void append_text(std::string* out, const MergedEvent& event, const EventText* text);
  void append_raw(std::string* out, const MergedEvent& event, const EventText* text);
  void append_hex(std::string* out, const MergedEvent& event, const EventText* text);
  void append_binary(std::string* out, const MergedEvent& event, const EventText* text);

  const TraceTextSources& sources_;
  const TraceArray& array_;
  std::unique_ptr<TraceFeed> feed_;
  const Mode mode_;
  const std::optional<uint32_t> cpu_;
  const bool latency_;  // fixed when the file is opened, as in the kernel
  bool begun_ = false, ended_ = false, overrun_ = false;

  std::vector<Ring> rings_;
  std::unique_ptr<EventMerger> merger_;
  uint64_t end_ = ~uint64_t{0};  // kTrace: raw time of the first read
  uint64_t index_ = 0;           // of the next event
  uint64_t number_ = 0;          // the last event's, of the clock `counter`
  uint64_t last_time_ = 0;       // as shown
  uint64_t shown_time_ = 0;      // of the event being shown
  std::string carry_;            // a line that had no room …
  Mark carry_mark_;              // … and what it shows
  std::vector<uint8_t> record_;  // a copy for the latency format, which looks at the next event

  TraceClockConvert clock_;
  AddressText addresses_;
  TextContext context_;
  uint64_t generation_ = ~uint64_t{0};
  std::vector<const EventCall*> calls_;            // by id
  std::vector<std::unique_ptr<EventText>> texts_;  // by id, made at first use
  std::unordered_map<int32_t, Task> tasks_;
  uint64_t comms_loaded_ = 0;
  bool comms_asked_ = false;  // in this read
  int32_t last_pid_ = -1;
  const Task* last_task_ = nullptr;
  GraphText graph_;
};

TraceText::Impl::Impl(const TraceTextSources& from, const TraceArray& of,
                      std::unique_ptr<TraceFeed> feed, Mode how, std::optional<uint32_t> only)
    : sources_(from),
      array_(of),
      feed_(std::move(feed)),
      mode_(how),
      cpu_(only),
      latency_(of.options[TraceOption::kLatencyFormat]),
      addresses_(from.names, false),
      graph_(
          of.options, std::max(feed_->nr_rings(), 2u) - 1,
          [this](int32_t pid) { return std::string_view(task_of(pid)->comm); }, &context_) {
  context_.addresses = &addresses_;
  context_.arguments_of = &sources_.arguments_of;
  context_.printk = sources_.printk;
}

// --- what lines are made of

void TraceText::Impl::load_events() {
  if (generation_ == sources_.generation) return;
  generation_ = sources_.generation;
  addresses_.drop();  // libraries may have come or gone too
  std::fill(calls_.begin(), calls_.end(), nullptr);
  for (const EventCall* call : sources_.events()) {
    if (call->id >= calls_.size()) calls_.resize(size_t(call->id) + 1);
    calls_[call->id] = call;
  }
  if (texts_.size() < calls_.size()) texts_.resize(calls_.size());
}

const EventText* TraceText::Impl::text_of(std::span<const uint8_t> record) {
  if (record.size() < sizeof(abi::RecordHeader)) return nullptr;
  uint16_t id = load<uint16_t>(record.data());
  if (id >= texts_.size()) return nullptr;
  if (!texts_[id] && calls_[id]) texts_[id] = std::make_unique<EventText>(*calls_[id]);
  return texts_[id].get();
}

void TraceText::Impl::load_comms() {
  last_task_ = nullptr;
  comms_loaded_ = monotonic_ns();
  for (const abi::CommEntry& entry : sources_.comms()) {
    Task& task = tasks_[int32_t(entry.tid)];
    task.comm.assign(entry.comm, strnlen(entry.comm, sizeof entry.comm));
    task.tgid = entry.tgid;
  }
}

const Task* TraceText::Impl::task_of(int32_t pid) {
  // Never freed: the trace may be read to the very end of the process.
  static const Task &unknown = *new Task{"<...>", 0}, &idle = *new Task{"<idle>", 0},
                    &negative = *new Task{kNegativePid, 0};
  if (last_task_ && pid == last_pid_) return last_task_;
  auto found = tasks_.find(pid);
  if (found == tasks_.end() && pid > 0 && !comms_asked_) {
    comms_asked_ = true;
    load_comms();
    found = tasks_.find(pid);
  }
  last_pid_ = pid;
  last_task_ = found != tasks_.end() ? &found->second
               : pid == 0            ? &idle
               : pid < 0             ? &negative
                                     : &unknown;
  return last_task_;
}

void TraceText::Impl::load_clock() {
  if (array_.clock != clock_.clock()) last_time_ = 0;
  clock_ = sources_.clock(array_.clock);
}

// --- reading and consuming

bool TraceText::Impl::next_page(size_t index, PageImage* out) {
  Ring& ring = rings_[index];
  if (is_pipe() && shows(ring.ring)) consume(&ring);  // it speaks of the page that now goes
  return feed_->next_page(ring.ring, out);
}

void TraceText::Impl::consume(Ring* ring) {
  if (ring->entries == 0) return;
  feed_->consume(ring->ring, ring->used, ring->time, ring->entries);
  ring->used = 0;
  ring->entries = 0;
  ring->expected = feed_->position(ring->ring);
}

HeaderCounts TraceText::Impl::count() const {
  HeaderCounts counts;
  for (uint32_t ring = 0; ring < feed_->nr_rings(); ring++) {
    RingCounts of = feed_->counts(ring);  // of all CPUs, also in the file of one
    counts.entries += of.entries;
    counts.written += of.entries + of.overrun;
  }
  long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  counts.nr_cpus = online > 0 ? uint32_t(online) : 1;
  return counts;
}

// At the first read, and when someone else has moved our place.
void TraceText::Impl::begin() {
  begun_ = true;
  rings_.clear();
  carry_.clear();
  number_ = 0;
  overrun_ = false;
  for (uint32_t i = 0; i < feed_->nr_rings(); i++) {
    RingCounts counts = feed_->counts(i);
    overrun_ |= counts.overrun > 0;
    // `counter` numbers the events of all rings, whichever are shown.
    if (!shows(i) && array_.clock != TraceClock::kCounter) continue;
    Ring& ring = rings_.emplace_back();
    ring.ring = i;
    ring.expected = feed_->position(i);
    number_ += counts.read + counts.overrun;
  }
  if (!is_pipe()) end_ = feed_->now();
  merger_ = std::make_unique<EventMerger>(this);
}

bool TraceText::Impl::was_moved() const {
  for (const Ring& ring : rings_) {
    if (!shows(ring.ring)) continue;
    RingPosition position = feed_->position(ring.ring);
    if (position.seq != ring.expected.seq || position.offset != ring.expected.offset) return true;
  }
  return false;
}

// Before each further read: what has come meanwhile, or, when our place was moved (a clear, another
// reader, another clock), everything anew.
void TraceText::Impl::resume(std::string* out) {
  if (!is_pipe()) return resume_carried(out);
  bool counts = rings_.size() == feed_->nr_rings();
  if (was_moved() || (array_.clock == TraceClock::kCounter && !counts)) {
    feed_->restart();
    begin();
    return;
  }
  resume_carried(out);
  merger_->refill();
}

// The next event that is to be shown, with the lost ones before it that are to be spoken of.
bool TraceText::Impl::take_event(MergedEvent* event) {
  while (merger_->next(event)) {
    if (event->ns > end_) return false;
    Ring& ring = rings_[event->index];
    bool first = !ring.begun;
    ring.begun = true;
    // What was overwritten before the first one stands in the counts already, and `trace` does not
    // speak of it, as the kernel's does not.
    if (event->lost_before != kLostUnknown && !first) number_ += event->lost_before;
    number_++;
    if (first && !is_pipe()) event->lost_before = 0;
    if (shows(ring.ring)) return true;
  }
  return false;
}

// --- lines

// print_trace_fmt() for each kind of format; false: `out` has the line without a newline.
bool TraceText::Impl::append_special(std::string* out, const MergedEvent& event,
                                     const EventText* text) {
  const TraceOptions& options = array_.options;
  if (options[TraceOption::kBin]) {
    append_binary(out, event, text);
  } else if (options[TraceOption::kHex]) {
    append_hex(out, event, text);
  } else if (options[TraceOption::kRaw]) {
    append_raw(out, event, text);
  } else {
    return false;
  }
  return true;
}

void TraceText::Impl::append_binary(std::string* out, const MergedEvent& event,
                                    const EventText* text) {
  int32_t pid = event.record.size() >= 8 ? load<int32_t>(event.record.data() + 4) : 0;
  if (array_.options[TraceOption::kContextInfo]) {
    out->append(reinterpret_cast<const char*>(&pid), 4);
    out->append(reinterpret_cast<const char*>(&event.cpu), 4);
    out->append(reinterpret_cast<const char*>(&shown_time_), 8);
  }
  if (text && text->tracer().append_binary(out, event.record)) return;
  *out += "type: ";
  put_number(out, event.record.size() >= 2 ? load<uint16_t>(event.record.data()) : 0);
  *out += '\n';
}

void TraceText::Impl::append_hex(std::string* out, const MergedEvent& event,
                                 const EventText* text) {
  int32_t pid = event.record.size() >= 8 ? load<int32_t>(event.record.data() + 4) : 0;
  if (array_.options[TraceOption::kContextInfo]) {
    put_padded(out, uint32_t(pid), 8, '0', 16);
    *out += ' ';
    put_padded(out, event.cpu, 8, '0', 16);
    *out += ' ';
    put_padded(out, shown_time_, 16, '0', 16);
    *out += ' ';
  }
  if (text && text->tracer().append_hex(out, event.record)) {
    *out += '\n';
    return;
  }
  *out += "type: ";
  put_number(out, event.record.size() >= 2 ? load<uint16_t>(event.record.data()) : 0);
  *out += "\n\n";
}

void TraceText::Impl::append_raw(std::string* out, const MergedEvent& event,
                                 const EventText* text) {
  if (array_.options[TraceOption::kContextInfo]) {
    put_number(out, event.record.size() >= 8 ? load<int32_t>(event.record.data() + 4) : 0);
    *out += ' ';
    put_number(out, event.cpu);
    *out += ' ';
    put_number(out, shown_time_);
    *out += ' ';
  }
  if (text) {
    text->append_raw(out, event.record, &context_);
  } else {
    put_number(out, event.record.size() >= 2 ? load<uint16_t>(event.record.data()) : 0);
    *out += " ?";
  }
  *out += '\n';
}

// trace_print_context()
void TraceText::Impl::append_context(std::string* out, MergedEvent* event) {
  abi::RecordHeader header{};
  std::memcpy(&header, event->record.data(), std::min(sizeof header, event->record.size()));
  const Task* task = task_of(header.common_pid);
  if (latency_) {
    uint64_t next = shown_time_, raw = 0;
    if (!is_pipe()) {  // the merger's record ends with the look at the next one
      record_.assign(event->record.begin(), event->record.end());
      event->record = record_;
      if (merger_->peek(&raw) && raw <= end_)
        next = clock_.clock() == TraceClock::kCounter ? number_ + 1 : clock_.convert(raw);
    }
    return put_latency_columns(out, header,
                               {.comm = task->comm,
                                .cpu = event->cpu,
                                .index = index_,
                                .time = shown_time_,
                                .next = std::max(next, shown_time_),
                                .in_ns = clock_.in_ns(),
                                .verbose = array_.options[TraceOption::kVerbose]});
  }
  put_task(out, task->comm, header.common_pid);
  if (array_.options[TraceOption::kRecordTgid]) {
    *out += '(';
    if (task->tgid) {
      put_padded(out, task->tgid, 7, ' ');
    } else {
      *out += "-------";
    }
    *out += ") ";
  }
  if (clock_.in_ns() && array_.options[TraceOption::kIrqInfo])
    return put_place_and_time(out, event->cpu, header.common_flags, header.common_preempt_count,
                              shown_time_);
  put_cpu(out, event->cpu);
  if (array_.options[TraceOption::kIrqInfo])
    put_flags(out, header.common_flags, header.common_preempt_count);
  *out += ' ';
  if (clock_.in_ns()) {
    put_seconds(out, shown_time_);
  } else {
    put_padded(out, shown_time_, 12, ' ');
  }
  *out += ": ";
}

// The text, or what the kernel leaves of a line that is too long.
void TraceText::Impl::append_text(std::string* out, const MergedEvent& event,
                                  const EventText* text) {
  if (!text) {
    *out += "Unknown type ";
    put_number(out, event.record.size() >= 2 ? load<uint16_t>(event.record.data()) : 0);
    *out += '\n';
    return;
  }
  size_t start = out->size();
  if (array_.options[TraceOption::kFields]) {
    text->append_fields(out, event.record, &context_);
  } else {
    text->append(out, event.record, &context_);
  }
  if (out->size() - start >= kMaxLine) {
    out->resize(start);
    *out += text->name();
    *out += ": [LINE TOO BIG]";
  }
  *out += '\n';
}

// print_graph_function(); false: no line of its own kind, as for stacks.
bool TraceText::Impl::append_graph(std::string* out, MergedEvent* event, const EventText* text) {
  if (!text) return false;
  using Kind = TracerText::Kind;
  const TracerText& tracer = text->tracer();
  if (tracer.kind() == Kind::kStack || tracer.kind() == Kind::kFunction) return false;
  abi::RecordHeader header{};
  std::memcpy(&header, event->record.data(), std::min(sizeof header, event->record.size()));
  const GraphLine line{.ring = event->index,
                       .cpu = event->cpu,
                       .pid = header.common_pid,
                       .time = shown_time_,
                       .flags = header.common_flags,
                       .preempt = header.common_preempt_count};
  if (tracer.is_graph()) {
    append_graph_call(out, event, line, tracer);
    return true;
  }
  std::string comment;
  if (text->is_marker()) {
    text->append_message(&comment, event->record, &context_);
  } else {
    text->append(&comment, event->record, &context_);
  }
  graph_.append_comment(out, line, comment);
  return true;
}

// An entry whose exit is the next event of its CPU is one line with it: get_return_for_leaf().
void TraceText::Impl::append_graph_call(std::string* out, MergedEvent* event, const GraphLine& line,
                                        const TracerText& tracer) {
  auto duration = [this](const GraphEvent& exit) {
    const uint64_t start = clock_.to_ns(exit.calltime), end = clock_.to_ns(exit.rettime);
    return end - std::min(start, end);
  };
  const GraphEvent call = tracer.graph_event(event->record);
  if (tracer.kind() == TracerText::Kind::kGraphExit)
    return graph_.append_exit(out, line, call, duration(call));
  MergedEvent behind;
  const EventText* next = nullptr;
  if (merger_->peek_behind(&behind) && behind.ns <= end_) next = text_of(behind.record);
  if (next && next->tracer().kind() == TracerText::Kind::kGraphExit) {
    const GraphEvent exit = next->tracer().graph_event(behind.record);
    if (exit.pid == call.pid && exit.func == call.func) {
      merger_->take_behind();
      number_++;
      event->page_used = behind.page_used;
      event->page_entries = behind.page_entries;
      event->ns = behind.ns;
      return graph_.append_entry(out, line, call, &exit, duration(exit));
    }
  }
  graph_.append_entry(out, line, call, nullptr, 0);
}

// Option func-no-repeats: a call that comes again at once on its CPU is only counted. The kernel
// does this when it records; here all calls are recorded, and the text leaves them out.
bool TraceText::Impl::is_repeat(std::string* out, const MergedEvent& event) {
  Ring& ring = rings_[event.index];
  const EventText* text = text_of(event.record);
  if (!text || text->tracer().kind() != TracerText::Kind::kFunction) return false;
  if (text->tracer().same_call(ring.call, event.record)) {
    ring.repeats++;
    ring.last_repeat = shown_time_;
    return true;
  }
  append_repeats(out, &ring, shown_time_);
  ring.call.assign(event.record.begin(), event.record.end());
  ring.cpu = event.cpu;
  return false;
}

void TraceText::Impl::append_repeats(std::string* out, Ring* ring, uint64_t time) {
  if (ring->repeats == 0) return;
  const EventText* text = text_of(ring->call);
  const uint64_t count = std::exchange(ring->repeats, 0), shown = std::exchange(shown_time_, time);
  MergedEvent event;
  event.cpu = ring->cpu;
  event.record = ring->call;
  if (array_.options[TraceOption::kContextInfo]) append_context(out, &event);
  text->tracer().append_repeats(out, ring->call, count, ring->last_repeat, &context_);
  *out += '\n';
  shown_time_ = shown;
}

// print_trace_line()
void TraceText::Impl::append_line(std::string* out, MergedEvent* event) {
  const TraceOptions& options = array_.options;
  if (event->lost_before) put_lost(out, event->cpu, event->lost_before);
  const EventText* text = text_of(event->record);
  if (array_.tracer == Tracer::kFunctionGraph && append_graph(out, event, text)) return;
  if (text && text->is_marker() && options[TraceOption::kTracePrintk] &&
      options[TraceOption::kPrintkMsgOnly]) {
    text->append_message(out, event->record, &context_);
    *out += '\n';
    return;
  }
  if (append_special(out, *event, text)) return;
  Ring& ring = rings_[event->index];
  // test_cpu_buff_start()
  if (options[TraceOption::kAnnotate] && overrun_ && !is_pipe() && !ring.annotated) {
    ring.annotated = true;
    if (index_ > 1) {
      *out += "##### CPU ";
      put_number(out, event->cpu);
      *out += " buffer started ####\n";
    }
  }
  if (options[TraceOption::kContextInfo]) append_context(out, event);
  append_text(out, *event, text);
}

// False: no event now.
bool TraceText::Impl::append_event(std::string* out, Mark* mark) {
  MergedEvent event;
  if (!take_event(&event)) return false;
  bool counter = clock_.clock() == TraceClock::kCounter;
  shown_time_ = counter ? number_ : clock_.convert(event.ns);
  if (is_pipe()) {
    // Another clock may be behind the one that was left (mono_raw): time never goes back for that.
    shown_time_ = std::max(shown_time_, last_time_);
    last_time_ = shown_time_;
    index_++;
  }
  context_.time = shown_time_;
  const bool merges =
      array_.tracer == Tracer::kFunction && array_.options[TraceOption::kFuncNoRepeats];
  if (!merges || !is_repeat(out, event)) append_line(out, &event);
  if (!is_pipe()) index_++;
  *mark = {event.index, event.page_used, event.ns, event.page_entries};
  return true;
}

void TraceText::Impl::set_mark(const Mark& mark) {
  Ring& ring = rings_[mark.index];
  ring.used = mark.used;
  ring.time = mark.time;
  ring.entries = mark.entries;
}

void TraceText::Impl::resume_carried(std::string* out) {
  if (carry_.empty()) return;
  *out += carry_;
  carry_.clear();
  set_mark(carry_mark_);
}

std::string TraceText::Impl::fill(std::string out, size_t size) {
  for (;;) {
    size_t start = out.size();
    Mark mark;
    if (!append_event(&out, &mark)) {
      for (Ring& ring : rings_) append_repeats(&out, &ring, ring.last_repeat);
      ended_ = !is_pipe();
      break;
    }
    if (out.size() > size && start > 0) {
      carry_.assign(out, start);
      carry_mark_ = mark;
      out.resize(start);
      break;
    }
    set_mark(mark);
  }
  if (is_pipe())
    for (Ring& ring : rings_)
      if (shows(ring.ring)) consume(&ring);
  return out;
}

std::string TraceText::Impl::next(size_t size) {
  std::string out;
  if (ended_ && carry_.empty()) return out;
  if (is_pipe()) size = std::min(size, kPipeBytes);
  out.reserve(std::min(size, kPipeBytes) + kMaxLine);
  comms_asked_ = false;
  if (monotonic_ns() - comms_loaded_ > kRefreshNs) load_comms();
  load_events();
  context_.sym_offset = array_.options[TraceOption::kSymOffset];
  context_.sym_addr = array_.options[TraceOption::kSymAddr];
  context_.hash_ptr = array_.options[TraceOption::kHashPtr];
  context_.verbose = array_.options[TraceOption::kVerbose];
  context_.print_parent = array_.options[TraceOption::kPrintParent];
  context_.sym_userobj = array_.options[TraceOption::kSymUserObj];
  bool first = !begun_;
  if (first && !is_pipe())
    put_header(&out, array_.options, latency_, count(), kTracerNames[size_t(array_.tracer)]);
  if (first) begin();
  load_clock();
  if (!first) resume(&out);
  return fill(std::move(out), size);
}

TraceText::TraceText(const TraceTextSources& sources, const TraceArray& array, RingBuffer* buffer,
                     Mode mode, std::optional<uint32_t> cpu)
    : TraceText(sources, array, make_ring_feed(buffer), mode, cpu) {}

TraceText::TraceText(const TraceTextSources& sources, const TraceArray& array,
                     std::unique_ptr<TraceFeed> feed, Mode mode, std::optional<uint32_t> cpu)
    : impl_(std::make_unique<Impl>(sources, array, std::move(feed), mode, cpu)) {}

TraceText::~TraceText() = default;

std::string TraceText::next(size_t size) { return impl_->next(size); }

}  // namespace patchbay
