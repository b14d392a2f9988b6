// SPDX-License-Identifier: MIT
#include "export/export_stream.h"

#include <algorithm>
#include <cstring>

#include "output/graph_times.h"

namespace patchbay {
namespace {

constexpr size_t kMostFrames = 1024;

int32_t tid_of(std::span<const uint8_t> record) {
  int32_t tid = 0;
  if (record.size() >= 8) std::memcpy(&tid, record.data() + 4, 4);
  return tid;
}

}  // namespace

bool ExportFormat::Place::read(std::span<const uint8_t> record, uint64_t* out) const {
  *out = 0;
  if (size == 0) return true;
  if (size > 8 || offset > record.size() || record.size() - offset < size) return false;
  std::memcpy(out, record.data() + offset, size);
  return true;
}

ExportFormat::ExportFormat(const EventCall& event, const ExportSchema* of)
    : call(&event), schema(of) {
  using Role = ExportSchema::Role;
  const Role role = of->role;
  const auto place = [&](const char* name) {
    const EventField* field = event.find(name);
    return field ? Place{field->offset, field->size} : Place{};
  };
  if (role == Role::kProbeReturn) func = place("__probe_func");
  if (role == Role::kProbeEntry) func = place(event.find("__probe_ip") ? "__probe_ip" : "__ip");
  if (role == Role::kFunction) func = place("ip");
  if (role == Role::kStack) {
    is_user_stack = event.name == "user_stack";
    frames = place("caller");
    nr_frames = place("size");
    if (const EventField* field = event.find("caller")) frames.size = std::max(8u, field->size);
  }
  if (role != Role::kGraphEntry && role != Role::kGraphExit) return;
  func = place("func");
  depth = place("depth");
  calltime = place("calltime");
  rettime = place("rettime");
  retval = place("retval");
  args = place("args");
  if (event.find("args")) args.size = 8;
}

void ExportFormats::add(const EventCall& event, const ExportSchema* schema) {
  if (event.id >= by_id_.size()) by_id_.resize(size_t(event.id) + 1);
  if (formats_.size() >= 65535) return;
  formats_.emplace_back(event, schema);
  by_id_[event.id] = uint16_t(formats_.size());
}

ExportFormat* ExportFormats::find(std::span<const uint8_t> record) {
  if (record.size() < 8) return nullptr;
  const uint16_t id = uint16_t(record[0] | record[1] << 8);
  const uint16_t index = id < by_id_.size() ? by_id_[id] : 0;
  return index ? &formats_[index - 1] : nullptr;
}

bool ExportStream::load_page() {
  if (has_page_ && events_.malformed()) damaged_pages_++;
  // Not over the page that the current event is in.
  if (reading_ == current_.page) reading_ = 1 - reading_;
  PageImage* page = &pages_[reading_];
  has_page_ = source_->next_page(index_, page);
  if (!has_page_) return ended_ = true, false;
  const bool unknown = page->lost_before == kLostUnknown || lost_ == kLostUnknown;
  lost_ = unknown ? kLostUnknown : lost_ + page->lost_before;
  if (of_rings_)
    convert_graph_times_of_page(page->bytes,
                                [this](uint64_t ticks) { return source_->to_ns(ticks); });
  events_ = EventIterator(page->bytes, page->used);
  return true;
}

bool ExportStream::fetch(Event* out) {
  EventView view;
  for (;;) {
    if (has_page_ && events_.next(&view)) break;
    if (ended_ || !load_page()) return false;
  }
  *out = {source_->to_ns(view.time), lost_, view.record, reading_};
  lost_ = 0;
  return true;
}

// A stack ends with its record, with a word of ones, or with a 0 behind its first frame.
void ExportStream::take_frames(const ExportFormat& format, std::span<const uint8_t> record) {
  uint64_t most = kMostFrames, size = 0;
  if (!format.is_user_stack && format.nr_frames.size && format.nr_frames.read(record, &size))
    most = std::min(most, size);
  for (size_t at = format.frames.offset; at + 8 <= record.size() && most > 0; at += 8, most--) {
    uint64_t frame = 0;
    std::memcpy(&frame, record.data() + at, 8);
    if (frame == 0 || frame == ~uint64_t{0}) return;
    stack_.push_back(frame);
  }
}

bool ExportStream::attach(const Event& stack) {
  if (stack.lost || tid_of(stack.record) != tid_of(current_.record)) return false;
  const ExportFormat* format = formats_->find(stack.record);
  if (!format || format->schema->role != ExportSchema::Role::kStack) return false;
  bool* has = format->is_user_stack ? &has_user_stack_ : &has_kernel_stack_;
  // A second one belongs to an event that this one has interrupted. One of the kernel comes first.
  if (*has || has_user_stack_ || format->frames.size == 0) return false;
  *has = true;
  take_frames(*format, stack.record);
  if (!format->is_user_stack) kernel_frames_ = uint32_t(stack_.size());
  records_++;
  return true;
}

bool ExportStream::advance() {
  if (!has_ahead_ && !fetch(&ahead_)) return false;
  current_ = ahead_;
  stack_.clear();
  kernel_frames_ = 0;
  records_ = 1;
  has_kernel_stack_ = has_user_stack_ = false;
  const ExportFormat* format = formats_->find(current_.record);
  const bool is_stack = format && format->schema->role == ExportSchema::Role::kStack;
  if (is_stack) take_frames(*format, current_.record);
  while ((has_ahead_ = fetch(&ahead_)) && !is_stack && attach(ahead_)) {
  }
  return true;
}

}  // namespace patchbay
