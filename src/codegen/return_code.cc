// SPDX-License-Identifier: MIT
//
// Where the code of fast returns lives: room in the agent's own text (return_hook.S), which gives
// it one place in the unwind tables for all. It is filled from its start and never written twice: a
// thread may be there at any time. Code serves all events of one shape, so that there is little of
// it; when the room is full, new shapes take the general way.
#include <cstring>
#include <string>
#include <vector>

#include "arch/x86_64/text_memory.h"
#include "base/check.h"
#include "codegen/probe_compile.h"
#include "probe/returns/return_hook.h"

namespace patchbay {
namespace {

constexpr size_t kMaxReturnCode = 1024;
constexpr uint32_t kUnit = kReturnCodeUnit;

struct Shape {
  std::vector<uint8_t> code;  // as it would be at address 0
  uint32_t offset;
};

// Called by the control thread only, under the agent's lock; never destroyed: no exit handler.
std::vector<Shape>& shapes() {
  static auto* made = new std::vector<Shape>;
  return *made;
}

std::vector<uint8_t> code_at(const ProbeCode& code, uint64_t address) {
  std::vector<uint8_t> bytes(kMaxReturnCode);
  bytes.resize(emit_probe(code, bytes.data(), bytes.size(), address));
  return bytes;
}

uint32_t first_free() {
  if (shapes().empty()) return kUnit;  // 0 is none
  const Shape& last = shapes().back();
  return (last.offset + uint32_t(last.code.size()) + kUnit - 1) / kUnit * kUnit;
}

}  // namespace

uint16_t return_code(const SiteProgram& program) {
  if (program.nr_events != 1) return 0;
  if (!has_fast_return(program.event[0])) return 0;
  ProbeCode code{};
  code.event = program.event[0];
  code.fast = code.at_return = true;
  std::vector<uint8_t> bytes = code_at(code, 0);
  for (const Shape& known : shapes())
    if (known.code == bytes) return uint16_t(known.offset / kUnit);
  const uint32_t offset = first_free();
  if (bytes.empty() || offset + bytes.size() > kReturnCodeSize) return 0;
  const uint64_t address = reinterpret_cast<uint64_t>(pb_return_code) + offset;
  const std::vector<uint8_t> placed = code_at(code, address);
  PB_CHECK_VALUES(placed.size() == bytes.size(), placed.size(), bytes.size());
  PB_CHECK_VALUES(offset / kUnit <= UINT16_MAX, offset, kUnit);
  if (!TextMemory().write(address, placed.data(), placed.size())) return 0;
  shapes().push_back({std::move(bytes), offset});
  return uint16_t(offset / kUnit);
}

namespace {

bool is_limited(const SiteProgram& program) {
  for (uint32_t i = 0; i < program.nr_events; i++)
    if (program.event[i].counts && program.event[i].counts->max_active) return true;
  return false;
}

uint16_t hook_code(const SiteProgram& program) {
  if (program.has_calls) return 0;
  if (!program.has_graph) return is_limited(program) ? 0 : kHookPlain;
  if (program.nr_events != 1) return 0;
  if (is_fast_graph(program.event[0])) return kHookGraph;
  return is_fast_profile(program.event[0]) ? kHookProfile : 0;
}

uint16_t entry_code(const SiteProgram& program) {
  constexpr uint32_t kMost = 16;  // each has a bit of its own in what is left to the general way
  if (program.nr_events > kMost) return 0;
  for (uint32_t i = 0; i < program.nr_events; i++)
    if (!is_fast_call(program.event[i])) return 0;
  return kEntryCalls;
}

}  // namespace

void choose_code(SiteProgram* program, bool on_return) {
  __atomic_store_n(&program->return_code, on_return ? return_code(*program) : 0, __ATOMIC_RELAXED);
  __atomic_store_n(&program->code, on_return ? hook_code(*program) : entry_code(*program),
                   __ATOMIC_RELAXED);
}

}  // namespace patchbay
