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
#include "probe/probe_compile.h"
#include "probe/return_hook.h"

namespace patchbay {
namespace {

constexpr size_t kMaxReturnCode = 1024;
constexpr uint32_t kUnit = 64;

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

// 0 stands for none.
uint32_t first_free() {
  if (shapes().empty()) return kUnit;
  const Shape& last = shapes().back();
  return (last.offset + uint32_t(last.code.size()) + kUnit - 1) / kUnit * kUnit;
}

}  // namespace

uint32_t return_code(const SiteProgram& program) {
  if (program.nr_events != 1 || !has_fast_return(program.event[0])) return 0;
  ProbeCode code{};
  code.event = program.event[0];
  code.fast = code.at_return = true;
  std::vector<uint8_t> bytes = code_at(code, 0);
  for (const Shape& known : shapes())
    if (known.code == bytes) return known.offset;
  const uint32_t offset = first_free();
  if (bytes.empty() || offset + bytes.size() > kReturnCodeSize) return 0;
  const uint64_t address = reinterpret_cast<uint64_t>(pb_return_code) + offset;
  const std::vector<uint8_t> placed = code_at(code, address);
  if (!TextMemory().write(address, placed.data(), placed.size())) return 0;
  shapes().push_back({std::move(bytes), offset});
  return offset;
}

}  // namespace patchbay
