// SPDX-License-Identifier: MIT
//
// Where the code of fast returns lives, and that of what whole calls take at their entries: rooms
// in the agent's own text (return_hook.S, function_entry.S), which give it one place in the unwind
// tables. A room is filled from its start and never written twice: a thread may be there at any
// time. Code serves all events of one shape, so that there is little of it; when the room is
// full, new shapes take the general way.
#include <algorithm>
#include <string>
#include <vector>

#include "arch/x86_64/text_memory.h"
#include "base/check.h"
#include "codegen/call_code.h"
#include "codegen/probe_compile.h"
#include "probe/returns/return_hook.h"

namespace patchbay {
namespace {

constexpr size_t kMostCode = 1024;
constexpr uint32_t kUnit = kReturnCodeUnit;

std::vector<uint8_t> code_at(const ProbeCode& code, uint64_t address) {
  std::vector<uint8_t> bytes(kMostCode);
  bytes.resize(emit_probe(code, bytes.data(), bytes.size(), address));
  return bytes;
}

class CodeRoom {
 public:
  CodeRoom(const uint8_t* begin, uint32_t size) : begin_(begin), size_(size) {}

  // Where such code is, in units; 0: there is none, and no room for it. Filters may be many, one
  // after the other: their code has half of the room at most.
  uint16_t find_or_place(const ProbeCode& code) {
    std::vector<uint8_t> bytes = code_at(code, 0);
    for (const Shape& known : shapes_)
      if (known.code == bytes) return uint16_t(known.offset / kUnit);
    const uint32_t offset = first_free();
    const uint32_t most = code.filtered ? size_ / 2 : size_;
    if (bytes.empty() || offset + bytes.size() > most) return 0;
    const uint64_t address = reinterpret_cast<uint64_t>(begin_) + offset;
    const std::vector<uint8_t> placed = code_at(code, address);
    PB_CHECK_VALUES(placed.size() == bytes.size(), placed.size(), bytes.size());
    PB_CHECK_VALUES(offset / kUnit <= UINT16_MAX, offset, kUnit);
    if (!TextMemory().write(address, placed.data(), placed.size())) return 0;
    shapes_.push_back({std::move(bytes), offset});
    return uint16_t(offset / kUnit);
  }

 private:
  struct Shape {
    std::vector<uint8_t> code;  // as it would be at address 0
    uint32_t offset;
  };
  uint32_t first_free() const {
    if (shapes_.empty()) return kUnit;  // 0 is none
    const Shape& last = shapes_.back();
    return (last.offset + uint32_t(last.code.size()) + kUnit - 1) / kUnit * kUnit;
  }

  const uint8_t* const begin_;
  const uint32_t size_;
  std::vector<Shape> shapes_;
};

// Called by the control thread only, under the agent's lock; never destroyed: no exit handler.
CodeRoom& return_room() {
  static auto* made = new CodeRoom(pb_return_code, kReturnCodeSize);
  return *made;
}
CodeRoom& take_room() {
  static auto* made = new CodeRoom(pb_take_code, kTakeCodeSize);
  return *made;
}

}  // namespace

uint16_t return_code(const SiteProgram& program) {
  if (program.nr_events != 1) return 0;
  if (!has_fast_return(program.event[0])) return 0;
  ProbeCode code{};
  code.event = program.event[0];
  code.fast = code.at_return = true;
  code.filtered = program.event[0].event->filter != nullptr;
  return return_room().find_or_place(code);
}

uint16_t take_code(const SiteProgram& program) {
  if (!has_take_code(program)) return 0;
  ProbeCode code{};
  const auto* whole = std::find_if(program.event, program.event + program.nr_events, is_whole_call);
  code.event.fetch = whole->fetch->at_entry;
  code.fast = code.takes = true;
  return take_room().find_or_place(code);
}

namespace {

bool is_limited(const SiteProgram& program) {
  for (uint32_t i = 0; i < program.nr_events; i++)
    if (program.event[i].counts && program.event[i].counts->max_active) return true;
  return false;
}

uint16_t hook_code(const SiteProgram& program, bool takes_by_code) {
  if (program.has_calls)
    return takes_by_code && !program.has_graph && !is_limited(program) ? kHookCalls : 0;
  if (!program.has_graph) return is_limited(program) ? 0 : kHookPlain;
  if (program.nr_events != 1) return 0;
  if (is_fast_graph(program.event[0])) return kHookGraph;
  return is_fast_profile(program.event[0]) ? kHookProfile : 0;
}

uint16_t entry_code(const SiteProgram& program) {
  constexpr uint32_t kMost = 16;  // each has a bit of its own in what is left to the general way
  if (program.nr_events > kMost) return 0;
  if (program.nr_events == 1 && is_fast_callback(program.event[0])) return kEntryCallback;
  for (uint32_t i = 0; i < program.nr_events; i++)
    if (!is_fast_call(program.event[i])) return 0;
  return kEntryCalls;
}

}  // namespace

void choose_code(SiteProgram* program, bool on_return) {
  const uint16_t take = on_return && program->has_calls ? take_code(*program) : 0;
  if (take) __atomic_store_n(&program->take_code, take, __ATOMIC_RELAXED);  // before kHookCalls
  __atomic_store_n(&program->return_code, on_return ? return_code(*program) : 0, __ATOMIC_RELAXED);
  __atomic_store_n(&program->code,
                   on_return ? hook_code(*program, take != 0) : entry_code(*program),
                   __ATOMIC_RELEASE);
}

}  // namespace patchbay
