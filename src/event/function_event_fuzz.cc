// SPDX-License-Identifier: MIT
//
// libFuzzer: any bytes as a line of function_events. An error stays within its limit and has a
// caret; a definition survives being shown and parsed again, and its format file and fetch program
// agree.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "event/function_event.h"
#include "fetch/format_args.h"

namespace {

using namespace patchbay;

uint64_t address_of(std::string_view symbol) {
  return symbol.size() % 4 ? symbol.size() * 4096 : 0;
}

void require(bool condition) {
  if (!condition) std::abort();
}

// Each instruction; how many bytes behind the fixed part they may store.
uint64_t bytes_behind(const FetchProgram& program) {
  uint64_t bytes = 0;
  bool has_length = false;
  for (int i = 0; i < program.nr_insns; i++) {
    const FetchInsn& insn = program.insn[i];
    bool stores =
        insn.op == FetchOp::kStore || insn.op == FetchOp::kLoad || insn.op == FetchOp::kArray;
    uint64_t count = insn.op == FetchOp::kArray ? insn.imm : 1;
    if (stores) require(insn.offset >= 24 && insn.offset + insn.size * count <= program.fixed_size);
    if (insn.op == FetchOp::kArg) require(insn.index < kMaxIntegerArgs);
    if (insn.op == FetchOp::kXmm) require(insn.index < kMaxVectorArgs);
    if (insn.op == FetchOp::kString) bytes += uint32_t(insn.imm);
    if (insn.op == FetchOp::kFormatArgs) {
      require(insn.offset >= 24 && insn.offset + 4 <= program.fixed_size && program.uses_xmm);
      require(insn.index <= kMaxIntegerArgs && insn.size <= kMaxVectorArgs);
      require(insn.imm <= kMaxStackArgs);
      bytes += kFormatArgsBytes;
    }
    if (insn.op == FetchOp::kLength) has_length = true;
    if (insn.op == FetchOp::kText || insn.op == FetchOp::kElements) {
      require(std::exchange(has_length, false) && insn.imm >= 1);
      require(insn.offset >= 24 && insn.offset + 4 <= program.fixed_size);
      bytes += insn.op == FetchOp::kText ? insn.imm : insn.imm * insn.size + insn.size - 1;
    }
  }
  return bytes;
}

void check_program(const FunctionEventDef& def, const EventCall& call) {
  auto program = compile_function_event(def, call, 4080);
  if (!program.ok()) return;
  const FetchProgram* taken = (*program)->at_entry;
  require(def.is_call == (taken != nullptr));
  const uint64_t before = taken ? bytes_behind(*taken) : 0;
  const uint64_t strings = before + bytes_behind(**program);
  require((*program)->fixed_size + strings <= (*program)->max_size && (*program)->max_size <= 4080);
  if (taken)
    require(taken->fixed_size + before <= taken->max_size && taken->max_size <= kMostTaken);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view line(reinterpret_cast<const char*>(data), std::min<size_t>(size, 4095));
  line = line.substr(0, line.find('\n'));
  FunctionEventParse parsed = parse_function_event(line, address_of);
  require(parsed.def.has_value() != parsed.error.has_value());
  if (parsed.error) {
    require(parsed.error->text.size() <= 232);
    require(parsed.error->text.find("^\n") != std::string::npos);
    return 0;
  }
  std::string canonical = parsed.def->canonical();
  FunctionEventParse again = parse_function_event(canonical, address_of);
  require(again.def && again.def->canonical() == canonical);
  EventCall call = make_function_event_call(*parsed.def, 7);
  require(again.def->event_name() == call.name && !call.name.empty());
  auto read = parse_format("functions", call.format_text());
  require(read.ok() && read->format_text() == call.format_text());
  check_program(*parsed.def, call);
  return 0;
}
