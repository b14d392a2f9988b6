// SPDX-License-Identifier: MIT
#include "export/export_source.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "abi/match_abi.h"
#include "abi/trace_dat_abi.h"
#include "export/export_calls.h"
#include "export/export_choice.h"
#include "export/export_flows.h"
#include "export/export_people.h"
#include "export/export_sink.h"
#include "export/export_stream.h"
#include "export/export_switches.h"
#include "export/export_who.h"
#include "output/printk_text.h"
#include "trace_dat/metadata.h"
#include "trace_dat/recorded_names.h"

namespace patchbay {

using Role = ExportSchema::Role;
using Kind = ExportEvent::Kind;

namespace {

// One input, decoded.
struct InputState {
  ExportInput input;
  std::vector<EventCall> events;  // a schema may point to one of them
  ExportFormats formats;
  AddressNames names;
  ArgumentsOf arguments_of;  // of the image that `names` stands at; may be empty
  std::unique_ptr<AddressText> plain, escaped;
  PrintkTexts printk;
  TextContext context;
  std::vector<std::unordered_map<int32_t, ExportThreadCalls>> threads;  // by buffer
  std::string matches;                                                  // abi/match_abi.h
};

// Threads are found by their last one nearly always.
struct Stream : ExportStream {
  using ExportStream::ExportStream;
  ExportThreadCalls* last = nullptr;
  int32_t last_tid = 0;
};

int32_t tid_of(std::span<const uint8_t> record) {
  int32_t tid = 0;
  if (record.size() >= 8) std::memcpy(&tid, record.data() + 4, 4);
  return tid;
}

Status decode_input(InputState* state) {
  const ExportInput& input = state->input;
  if (input.dat) {
    state->events = input.dat->events();
    state->names = recorded_names(*input.dat);
    state->printk = PrintkTexts::from_formats(input.dat->printk_formats());
    for (const auto& option : input.dat->options())
      if (option.id == abi::kDatMatches) state->matches = option.body;
  } else {
    PB_ASSIGN(auto meta, read_recorded_meta(*input.buffer));
    state->events = std::move(meta.events);
    state->matches = std::move(meta.matches);
    state->names = AddressNames::from_symbols(make_recorded_symbol_table(std::move(meta.modules)));
    state->printk.add(input.buffer->printk_texts());
  }
  state->plain = std::make_unique<AddressText>(&state->names, false);
  state->escaped = std::make_unique<AddressText>(&state->names, true);
  state->context.addresses = state->escaped.get();
  if (input.arguments_of)
    state->arguments_of = [state](uint64_t function) {
      return state->input.arguments_of(function, state->names.image());
    };
  state->context.arguments_of = &state->arguments_of;
  state->context.printk = &state->printk;
  state->context.escape = state->context.trace_cmd = true;
  state->threads.resize(input.pages.size());
  return {};
}

ExportInputInfo info_of(const ExportInput& input, uint32_t host) {
  ExportInputInfo info{input.path, host, "", false, input.names};
  if (input.buffer) {
    info.clock = "mono";
  } else if (!input.dat->buffers().empty()) {
    info.clock = input.dat->buffers().front().clock;
  }
  // Our pages hold ticks, and the file says how they become nanoseconds of CLOCK_MONOTONIC: by a
  // factor and an offset. Of trace-cmd's recordings only the factor is there.
  bool has_offset = false;
  if (input.dat)
    for (const auto& option : input.dat->options()) has_offset |= option.id == abi::kDatOffset;
  if (info.clock == "x86-tsc" && has_offset) info.clock = "mono";
  info.is_monotonic = info.clock == "mono";
  return info;
}

uint64_t absolute(uint64_t ns, bool is_relative, uint64_t first) {
  return is_relative && ns <= ~uint64_t{0} - first ? ns + first : ns;
}

}  // namespace

struct ExportSource::Impl {
  std::deque<InputState> inputs;
  std::vector<std::unique_ptr<ExportSchema>> schemas;
  std::map<std::string, ExportSchema*> schema_by_layout;
  std::map<std::string, uint32_t> label_uses;
  ExportPeople people;
  WhoFinder who{&people};
  std::optional<WhoSelection> wanted_who;  // none: everybody
  ExportMeta meta;
  ExportSelection selection;
  ExportPairs pairs;
  ExportFlows flows;
  ExportSwitches switches;
  ExportStats stats;
  uint64_t from_ns = 0, until_ns = ~uint64_t{0};

  std::deque<Stream> streams;
  std::vector<Stream*> heap;  // those with an event, the earliest first
  bool pending = false;       // the first one's event was handed out
  bool loss_said = false;     // … and what was lost before it
  bool flows_said = false;    // … and what it is linked to
  ExportEvent::Flows current_flows{};
  size_t finish_input = 0, finish_buffer = 0;
  std::string name;  // of frame_name()

  void add_schemas(InputState* state);
  void open_streams(uint32_t index);
  void start();
  bool before(const Stream* a, const Stream* b) const;
  void sift_down();
  void drop_pending();
  bool next(ExportEvent* out);
  bool take_loss(Stream* stream, ExportEvent* out);
  bool take(Stream* stream, ExportEvent* out);
  ExportThreadCalls* thread_of(Stream* stream, int32_t tid);
  void end_call(ExportThreadCalls* calls, ExportCallEnd how, ExportEvent* out);
  bool take_entry(const ExportFormat& format, ExportThreadCalls* calls, ExportEvent* out);
  bool take_exit(const ExportFormat& format, ExportThreadCalls* calls, ExportEvent* out);
  void take_pair(const ExportFormat& format, ExportEvent* out);
  bool finish(ExportEvent* out);
};

// --- opening

void ExportSource::Impl::add_schemas(InputState* state) {
  for (const EventCall& event : state->events) {
    EventCall layout = event;
    layout.id = 0;
    ExportSchema*& known = schema_by_layout[event.system + "\n" + layout.format_text()];
    if (!known) {
      schemas.push_back(std::make_unique<ExportSchema>(event, uint32_t(schemas.size())));
      known = schemas.back().get();
      const uint32_t uses = ++label_uses[known->label];
      if (uses > 1) known->label += "#" + std::to_string(uses);
      meta.has_returns |= known->role == Role::kProbeReturn;
    }
    state->formats.add(event, known);
  }
}

void ExportSource::Impl::open_streams(uint32_t index) {
  InputState& state = inputs[index];
  for (uint32_t buffer = 0; buffer < state.input.pages.size(); buffer++) {
    PageSource* pages = state.input.pages[buffer].get();
    for (size_t cpu = 0; cpu < pages->nr_cpus(); cpu++) {
      streams.emplace_back(pages, cpu, &state.formats, state.input.buffer != nullptr);
      streams.back().input = index;
      streams.back().buffer = buffer;
      meta.nr_cpus = std::max(meta.nr_cpus, pages->cpu_number(cpu) + 1);
    }
  }
}

void ExportSource::Impl::start() {
  const auto after = [this](const Stream* a, const Stream* b) { return before(b, a); };
  for (Stream& stream : streams)
    if (stream.advance()) heap.push_back(&stream);
  std::make_heap(heap.begin(), heap.end(), after);
  if (!heap.empty()) meta.first_ns = stats.first_ns = stats.last_ns = heap[0]->ns();
}

Result<std::unique_ptr<ExportSource>> ExportSource::open(std::vector<ExportInput> inputs,
                                                         const ExportChoice& choice) {
  auto impl = std::make_unique<Impl>();
  for (ExportInput& input : inputs) {
    const uint32_t index = uint32_t(impl->inputs.size());
    InputState& state = impl->inputs.emplace_back();
    state.input = std::move(input);
    PB_TRY(decode_input(&state));
    impl->add_schemas(&state);
    impl->flows.define(index, state.matches);
    impl->switches.define(index, state.events);
    impl->meta.inputs.push_back(info_of(state.input, impl->people.add(state.input)));
    impl->who.add(images_of(state.input.dat));
    impl->open_streams(index);
  }
  impl->flows.resolve(impl->schemas);
  impl->people.name_processes();
  impl->people.list(&impl->meta);
  PB_TRY(impl->selection.set(choice, impl->schemas));
  if (choice.who.has_any()) impl->wanted_who.emplace(choice.who, &impl->who);
  impl->start();
  impl->from_ns = absolute(choice.from_ns, choice.from_is_relative, impl->meta.first_ns);
  impl->until_ns = absolute(choice.until_ns, choice.until_is_relative, impl->meta.first_ns);
  return std::unique_ptr<ExportSource>(new ExportSource(std::move(impl)));
}

// --- merging

bool ExportSource::Impl::before(const Stream* a, const Stream* b) const {
  return a->ns() != b->ns() ? a->ns() < b->ns() : a < b;
}

void ExportSource::Impl::sift_down() {
  for (size_t at = 0;;) {
    size_t child = 2 * at + 1;
    if (child >= heap.size()) return;
    if (child + 1 < heap.size() && before(heap[child + 1], heap[child])) child++;
    if (!before(heap[child], heap[at])) return;
    std::swap(heap[at], heap[child]);
    at = child;
  }
}

void ExportSource::Impl::drop_pending() {
  if (!std::exchange(pending, false)) return;
  loss_said = flows_said = false;
  if (!heap[0]->advance()) {
    stats.damaged_pages += heap[0]->damaged_pages();
    heap[0] = heap.back();
    heap.pop_back();
  }
  sift_down();
}

bool ExportSource::Impl::next(ExportEvent* out) {
  for (;;) {
    drop_pending();
    if (heap.empty() || heap[0]->ns() > until_ns) return finish(out);
    Stream* stream = heap[0];
    if (stream->ns() < from_ns) {
      pending = true;
      continue;
    }
    stats.last_ns = std::max(stats.last_ns, stream->ns());
    *out = {.ns = stats.last_ns,
            .cpu = stream->cpu(),
            .input = stream->input,
            .buffer = stream->buffer};
    if (take_loss(stream, out) || take(stream, out)) return true;
  }
}

bool ExportSource::Impl::take_loss(Stream* stream, ExportEvent* out) {
  if (stream->lost() == 0 || std::exchange(loss_said, true)) return false;
  out->kind = Kind::kLoss;
  out->lost = stream->lost();
  flows.lose(out->input);
  switches.lose(out->input);
  stats.lost_by_cpu[out->cpu] += out->lost == kLostUnknown ? 1 : out->lost;
  stats.lost_at_least |= out->lost == kLostUnknown;
  return true;
}

// --- one event

ExportThreadCalls* ExportSource::Impl::thread_of(Stream* stream, int32_t tid) {
  if (stream->last && stream->last_tid == tid) return stream->last;
  // Idle threads: one a CPU.
  const int32_t key = tid == 0 ? -1 - int32_t(stream->cpu() & 0xffff) : tid;
  ExportThreadCalls& calls = inputs[stream->input].threads[stream->buffer][key];
  if (!calls.thread) calls.thread = people.thread(stream->input, tid, tid == 0 ? stream->cpu() : 0);
  stream->last = &calls;  // stays where it is
  stream->last_tid = tid;
  return &calls;
}

// False: nothing of it is wanted. What has to be said before the event itself leaves it pending for
// the next call.
bool ExportSource::Impl::take(Stream* stream, ExportEvent* out) {
  out->record = stream->record();
  ExportFormat* format = inputs[stream->input].formats.find(out->record);
  out->schema = format ? format->schema : nullptr;
  const bool is_wanted = selection.wants(out->schema, out->record) &&
                         (!wanted_who || wanted_who->wants(stream->input, tid_of(out->record),
                                                           stream->cpu(), stream->ns()));
  // Once, though an event may have to wait for the ends of calls.
  if (!std::exchange(flows_said, true))
    current_flows = flows.see(*out, tid_of(out->record), is_wanted);
  out->flows = current_flows;
  if (!is_wanted) return pending = true, false;
  ExportThreadCalls* calls = thread_of(stream, tid_of(out->record));
  out->thread = calls->thread;
  out->stack = stream->stack();
  out->kernel_frames = stream->kernel_frames();
  const Role role = format ? format->schema->role : Role::kEvent;
  pending = true;
  if (role == Role::kGraphEntry && !take_entry(*format, calls, out)) return pending = false, true;
  if (role == Role::kGraphExit && !take_exit(*format, calls, out)) return pending = false, true;
  if (meta.has_returns && (role == Role::kProbeEntry || role == Role::kProbeReturn))
    take_pair(*format, out);
  out->off_cpu = switches.see(stream->input, out->ns, out->record,
                              [&](int32_t tid) { return people.thread(stream->input, tid, 0); });
  calls->last_ns = out->ns;
  stats.events += stream->records();
  if (!format) stats.unknown_events++;
  return true;
}

void ExportSource::Impl::end_call(ExportThreadCalls* calls, ExportCallEnd how, ExportEvent* out) {
  const ExportOpenCall& call = calls->open.back();
  out->kind = Kind::kCallEnd;
  out->call = {.function = call.function,
               .depth = call.depth,
               .begin_ns = call.begin_ns,
               .how = how,
               .end_ns = std::max(calls->last_ns, call.begin_ns)};
  out->call.duration_ns = out->call.end_ns - call.begin_ns;
  calls->open.pop_back();
  stats.calls++;
  if (how == ExportCallEnd::kReturned) return;
  (how == ExportCallEnd::kOpenAtEnd ? stats.open_at_end : stats.without_exit)++;
  out->record = {};
  out->schema = nullptr;
  out->stack = {};
  out->kernel_frames = 0;
}

// False: `out` is the end of a call that must have ended before.
bool ExportSource::Impl::take_entry(const ExportFormat& format, ExportThreadCalls* calls,
                                    ExportEvent* out) {
  uint64_t function = 0, depth = 0;
  if (!format.func.read(out->record, &function) || !format.depth.read(out->record, &depth)) {
    stats.short_records++;
    return true;
  }
  depth = uint32_t(depth);
  if (calls->has_from(depth)) return end_call(calls, ExportCallEnd::kNoReturn, out), false;
  if (calls->open.size() >= ExportThreadCalls::kMostOpen) return true;
  calls->open.push_back({function, out->ns, uint32_t(depth)});
  out->kind = Kind::kCallBegin;
  out->call = {.function = function, .depth = uint32_t(depth), .begin_ns = out->ns};
  if (format.args.size && out->record.size() > format.args.offset) {
    const size_t bytes = (out->record.size() - format.args.offset) / 8 * 8;
    out->call.args = out->record.subspan(format.args.offset, bytes);
  }
  return true;
}

bool ExportSource::Impl::take_exit(const ExportFormat& format, ExportThreadCalls* calls,
                                   ExportEvent* out) {
  uint64_t function = 0, depth = 0, begin = 0, end = 0, retval = 0;
  if (!format.func.read(out->record, &function) || !format.depth.read(out->record, &depth) ||
      !format.calltime.read(out->record, &begin) || !format.rettime.read(out->record, &end) ||
      !format.retval.read(out->record, &retval)) {
    stats.short_records++;
    return true;
  }
  depth = uint32_t(depth);
  if (calls->has_from(depth + 1)) return end_call(calls, ExportCallEnd::kNoReturn, out), false;
  const uint64_t took = std::min(end > begin ? end - begin : 0, out->ns);
  const bool is_open = calls->has_from(depth);
  if (is_open && calls->open.back().function == function) {
    calls->last_ns = out->ns;
    end_call(calls, ExportCallEnd::kReturned, out);
  } else {
    if (is_open) return end_call(calls, ExportCallEnd::kNoReturn, out), false;
    out->kind = Kind::kCallEnd;
    out->call = {.function = function,
                 .depth = uint32_t(depth),
                 .begin_ns = out->ns - took,
                 .how = ExportCallEnd::kNoEntry,
                 .end_ns = out->ns};
    stats.calls++;
    stats.without_entry++;
  }
  out->call.duration_ns = took;
  out->call.retval = retval;
  if (format.retval.size == 0) return true;
  InputState& state = inputs[out->input];
  state.names.stand_at(out->thread->tid, out->ns);
  out->call.has_retval = result_word(state.context.arguments_of, function) != ResultWord::kNone;
  return true;
}

void ExportSource::Impl::take_pair(const ExportFormat& format, ExportEvent* out) {
  uint64_t function = 0;
  if (!format.func.read(out->record, &function)) {
    stats.short_records++;
  } else if (format.schema->role == Role::kProbeEntry) {
    pairs.enter(out->thread, function, out->ns, format.schema, out->record);
  } else {
    out->pair = pairs.leave(out->thread, function);
  }
}

// What is open, thread by thread, the innermost call first.
bool ExportSource::Impl::finish(ExportEvent* out) {
  for (; finish_input < inputs.size(); finish_input++, finish_buffer = 0) {
    InputState& state = inputs[finish_input];
    for (; finish_buffer < state.threads.size(); finish_buffer++) {
      auto& threads = state.threads[finish_buffer];
      while (!threads.empty()) {
        auto calls = threads.begin();
        if (calls->second.open.empty()) {
          threads.erase(calls);
          continue;
        }
        *out = {.ns = stats.last_ns, .input = uint32_t(finish_input)};
        out->buffer = uint32_t(finish_buffer);
        out->thread = calls->second.thread;
        end_call(&calls->second, ExportCallEnd::kOpenAtEnd, out);
        return true;
      }
    }
  }
  return false;
}

// --- what callers see

ExportSource::ExportSource(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ExportSource::~ExportSource() = default;
const ExportMeta& ExportSource::meta() const { return impl_->meta; }
const std::vector<std::unique_ptr<ExportSchema>>& ExportSource::schemas() const {
  return impl_->schemas;
}
const ExportSchema* ExportSource::only_wanted() const {
  const ExportSchema* only = nullptr;
  for (const auto& schema : impl_->schemas) {
    if (!impl_->selection.wants_kind(*schema)) continue;
    if (only) return nullptr;
    only = schema.get();
  }
  return only;
}
bool ExportSource::next(ExportEvent* out) { return impl_->next(out); }
const ExportStats& ExportSource::stats() const { return impl_->stats; }

AddressText& ExportSource::addresses_of_input(uint32_t input) {
  return *impl_->inputs[input].plain;
}
AddressText& ExportSource::addresses(const ExportEvent& event) {
  if (event.thread) impl_->inputs[event.input].names.stand_at(event.thread->tid, event.ns);
  return addresses_of_input(event.input);
}

const std::string& ExportSource::frame_name(const ExportEvent& event, size_t index) {
  constexpr uint64_t kTrampoline = 0x7fffffff;  // of a kernel's stacks
  const uint64_t address = event.stack[index];
  if (index < event.kernel_frames && address == kTrampoline)
    return impl_->name = "[FTRACE TRAMPOLINE]";
  const bool is_place = index == 0 || index == event.kernel_frames;
  AddressText& names = addresses(event);
  return is_place ? names.of(address).plain : names.caller(address).plain;
}

const CallArguments* ExportSource::arguments_of(const ExportEvent& event, uint64_t function) {
  addresses(event);  // stands at its image
  const ArgumentsOf& ask = impl_->inputs[event.input].arguments_of;
  return ask ? ask(function) : nullptr;
}

void ExportSource::append_text(std::string* out, const ExportEvent& event) {
  InputState& state = impl_->inputs[event.input];
  if (event.thread) state.names.stand_at(event.thread->tid, event.ns);
  ExportFormat* format = state.formats.find(event.record);
  if (!format) {
    *out += "unknown event " + std::to_string(event.id());
    return;
  }
  if (!format->text) format->text = std::make_unique<EventText>(*format->call, true);
  state.context.time = event.ns;
  format->text->append(out, event.record, &state.context);
}

Status export_all(ExportSource* source, ExportSink* sink, const EachExported& each) {
  PB_TRY(sink->begin(source->meta(), source));
  std::vector<bool> known(source->schemas().size(), false);
  ExportEvent event;
  while (source->next(&event)) {
    if (each) each(event);
    if (event.kind == Kind::kLoss) {
      PB_TRY(sink->loss(event));
      continue;
    }
    if (event.schema && !known[event.schema->index]) {
      known[event.schema->index] = true;
      PB_TRY(sink->schema(*event.schema));
    }
    PB_TRY(sink->event(event));
  }
  return sink->end(source->stats());
}

}  // namespace patchbay
