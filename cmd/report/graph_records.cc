// SPDX-License-Identifier: MIT
#include "cmd/report/graph_records.h"

#include <algorithm>
#include <cstring>

namespace patchbay::cmd {
namespace {

constexpr size_t kMostFrames = 512;

// The value of a field of 1, 2, 4 or 8 bytes; false when it lies behind the end. A field that the
// format does not have is 0.
template <typename Field>
bool read_field(std::span<const uint8_t> record, const Field& field, uint64_t* out) {
  *out = 0;
  if (field.size == 0) return true;
  if (field.size > 8 || field.offset > record.size() || record.size() - field.offset < field.size)
    return false;
  std::memcpy(out, record.data() + field.offset, field.size);
  return true;
}

GraphRecord::Kind kind_of(const EventCall& event) {
  if (event.system != "ftrace" && !event.system.empty()) return GraphRecord::Kind::kOther;
  if (event.name == "funcgraph_entry" || event.name == "funcgraph_retaddr_entry")
    return GraphRecord::Kind::kEntry;
  if (event.name == "funcgraph_exit") return GraphRecord::Kind::kExit;
  if (event.name == "function") return GraphRecord::Kind::kFunction;
  if (event.name == "kernel_stack" || event.name == "user_stack") return GraphRecord::Kind::kStack;
  return GraphRecord::Kind::kOther;
}

}  // namespace

GraphDecoder::Layout GraphDecoder::layout_of(const EventCall& event) {
  auto field = [&](const char* name) {
    const EventField* found = event.find(name);
    return found ? Field{found->offset, found->size} : Field{};
  };
  Layout layout;
  layout.kind = kind_of(event);
  layout.func = field(layout.kind == GraphRecord::Kind::kFunction ? "ip" : "func");
  layout.parent = field("parent_ip");
  layout.depth = field("depth");
  layout.calltime = field("calltime");
  layout.rettime = field("rettime");
  layout.retval = field("retval");
  layout.frames = field("caller");
  layout.args = field("args");
  if (event.find("args")) layout.args.size = 8;
  if (const EventField* caller = event.find("caller")) layout.frames.size = caller->size ? 8 : 0;
  return layout;
}

GraphDecoder::GraphDecoder(const std::vector<EventCall>& events, ToNs to_ns)
    : by_id_(65536, 0), to_ns_(std::move(to_ns)) {
  for (const EventCall& event : events) {
    Layout layout = layout_of(event);
    if (layout.kind == GraphRecord::Kind::kOther || layouts_.size() >= 65535) continue;
    layouts_.push_back(layout);
    by_id_[event.id] = uint16_t(layouts_.size());
  }
}

// A stack ends with its record, with a word of ones, or with a 0 behind its first frame.
bool GraphDecoder::take_frames(const Layout& layout, std::span<const uint8_t> record,
                               GraphRecord* out) {
  out->frames.clear();
  if (layout.frames.size == 0) return false;
  for (size_t at = layout.frames.offset; at + 8 <= record.size(); at += 8) {
    uint64_t frame = 0;
    std::memcpy(&frame, record.data() + at, 8);
    if (frame == 0 || frame == ~uint64_t{0} || out->frames.size() == kMostFrames) break;
    out->frames.push_back(frame);
  }
  return true;
}

bool GraphDecoder::decode(const MergedEvent& event, GraphRecord* out) const {
  uint16_t id = 0;
  out->kind = GraphRecord::Kind::kOther;
  out->ns = event.ns;
  uint64_t tid = 0, depth = 0, calltime = 0, rettime = 0;
  if (event.record.size() < 2 || !read_field(event.record, pid_, &tid)) return false;
  std::memcpy(&id, event.record.data(), 2);
  out->tid = int32_t(tid);
  if (by_id_[id] == 0) return true;
  const Layout& layout = layouts_[by_id_[id] - 1];
  if (layout.kind == GraphRecord::Kind::kStack && !take_frames(layout, event.record, out))
    return false;
  bool whole = read_field(event.record, layout.func, &out->func) &&
               read_field(event.record, layout.parent, &out->parent) &&
               read_field(event.record, layout.depth, &depth) &&
               read_field(event.record, layout.calltime, &calltime) &&
               read_field(event.record, layout.rettime, &rettime) &&
               read_field(event.record, layout.retval, &out->retval);
  if (!whole) return false;
  out->args = {};
  if (layout.args.size != 0 && event.record.size() > layout.args.offset)
    out->args = event.record.subspan(layout.args.offset);
  out->kind = layout.kind;
  out->depth = uint32_t(depth);
  out->has_retval = layout.retval.size != 0;
  uint64_t begin = to_ns_(calltime), end = to_ns_(rettime);
  out->duration_ns = rettime > calltime && end > begin ? end - begin : 0;
  return true;
}

}  // namespace patchbay::cmd
