// SPDX-License-Identifier: MIT
//
// libFuzzer: any bytes as a line of dynamic_events, kprobe_events or uprobe_events. Inputs are
// turned into lines that get further than random bytes do: the first byte chooses the file, and
// bytes above 0x7f stand for words of the grammar.
//
// An error's caret stands within the line; a definition survives being listed and read again; its
// format can be read back; its program stores within the record and reads registers that there are.
#include <algorithm>
#include <cstdlib>

#include "event/probe_event_testing.h"

namespace {

using namespace patchbay;

void require(bool condition) {
  if (!condition) std::abort();
}

constexpr std::string_view kWords[] = {"p:",
                                       "r5:",
                                       "p ",
                                       "r ",
                                       "f ",
                                       "f9 ",
                                       "t ",
                                       "e ",
                                       "e:g/e ",
                                       "p:g/e ",
                                       "-:",
                                       "!p:",
                                       "vfs_read",
                                       "vfs_read+4",
                                       "vfs_read%return",
                                       "later.so:f",
                                       "ns::operator+",
                                       "ns::f(int,char*)",
                                       "0x401000",
                                       "/bin/sh:0x10",
                                       "/bin/sh:1(0x20)",
                                       "/bin/sh:1%return",
                                       "kfree",
                                       "sched_process_exec",
                                       "sched.sched_process_exec",
                                       "syscalls/sys_enter_openat",
                                       " ",
                                       " a=",
                                       " b=",
                                       " if ",
                                       "%ax",
                                       "%di",
                                       "%ip",
                                       "%cs",
                                       "%xmm15",
                                       "@jiffies",
                                       "@jiffies-4",
                                       "@ns::counter",
                                       "@0x1234",
                                       "@+16",
                                       "$stack",
                                       "$stack3",
                                       "$retval",
                                       "$arg1",
                                       "$arg7",
                                       "$arg*",
                                       "$comm",
                                       "$errno",
                                       "$filename",
                                       "$pid",
                                       "\\5",
                                       "\\-1",
                                       "\\\"text\"",
                                       "+0(",
                                       "-8(",
                                       "+u16(",
                                       "+18446744073709551615(",
                                       ")",
                                       ":u8",
                                       ":s16",
                                       ":x32",
                                       ":u64",
                                       ":char",
                                       ":symbol",
                                       ":string",
                                       ":ustring",
                                       ":symstr",
                                       ":b4@2/8",
                                       ":b31@1/32",
                                       ":b64@0/64",
                                       "[2]",
                                       "[64]",
                                       "[",
                                       "]",
                                       ":",
                                       "=",
                                       "%return",
                                       "(",
                                       "name",
                                       "common_pid"};

std::string line_of(const uint8_t* data, size_t size) {
  std::string line;
  for (size_t i = 0; i < size && line.size() < 4095; i++) {
    if (data[i] < 0x80)
      line += char(data[i]);
    else
      line += kWords[size_t(data[i] - 0x80) % std::size(kWords)];
  }
  return line.substr(0, std::min<size_t>(line.find('\n'), 4095));
}

bool stores(const FetchInsn& insn) {
  switch (insn.op) {
    case FetchOp::kStore:
    case FetchOp::kLoad:
    case FetchOp::kArray:
    case FetchOp::kString:
    case FetchOp::kStringArray:
    case FetchOp::kComm:
    case FetchOp::kSymbol:
      return true;
    default:
      return false;
  }
}

struct Need {
  uint64_t fixed, dynamic;
};
Need need_of(const FetchInsn& insn) {
  switch (insn.op) {
    case FetchOp::kArray:
      return {insn.imm * insn.size, 0};
    case FetchOp::kString:
      return {4, insn.imm};
    case FetchOp::kStringArray:
      return {uint64_t{4} * insn.size, insn.imm * insn.size};
    case FetchOp::kComm:
      return {4, kCommTextSize};
    case FetchOp::kSymbol:
      return {4, kSymbolTextSize};
    default:
      return {insn.size, 0};
  }
}

void check_insn(const FetchInsn& insn) {
  if (insn.op == FetchOp::kReg) require(insn.index < kNrRegisters);
  if (insn.op == FetchOp::kXmm) require(insn.index < 16);
  if (insn.op == FetchOp::kArg) require(insn.index < 6);
  if (insn.op == FetchOp::kBits) require(insn.size >= 1 && insn.index + insn.size <= 64);
  if (insn.op == FetchOp::kField) require(insn.imm + insn.size <= 64);
}

void check_program(const FetchProgram& program, const EventCall& call) {
  uint64_t dynamic = 0, end = record_head_size(program.head);
  for (int i = 0; i < program.nr_insns; i++) {
    const FetchInsn& insn = program.insn[i];
    check_insn(insn);
    if (!stores(insn)) continue;
    const Need need = need_of(insn);
    require(insn.offset == end);  // packed, in order, nothing left out
    end += need.fixed;
    dynamic += need.dynamic;
  }
  require(end == program.fixed_size);
  require(call.fields.empty() ||
          call.fields.back().offset + call.fields.back().size == program.fixed_size);
  require(program.fixed_size + dynamic <= program.max_size && program.max_size <= 4080);
}

void check_definition(ProbeDefinition definition, ProbeFile file, TestWorld& world) {
  const std::string shown = definition.show();
  ProbeParse again = parse_probe_event(shown, file, world);
  require(again.definition && again.definition->show() == shown);
  require(again.definition->same_place(definition) &&
          !different_argument(*again.definition, definition));
  ProbeRemovalParse removal = parse_probe_removal("-" + shown.substr(shown.find(':')), file);
  require(removal.removal.has_value());
  EventCall call = make_probe_event_call(&definition);
  require(!call.name.empty() && call.name.size() <= 63 && !call.system.empty());
  auto read = parse_format(call.system, call.format_text());
  require(read.ok() && read->format_text() == call.format_text());
  ProbeCompileContext context = {.max_record = 4080, .world = &world};
  if (definition.kind == ProbeKind::kEprobe)
    context.source = world.find_event(definition.source_group, definition.source_event);
  if (definition.kind == ProbeKind::kTracepoint)
    context.source = world.find_tracepoint(definition.symbol);
  auto program = compile_probe_event(definition, call, context);
  if (program.ok()) check_program(**program, call);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static TestWorld world;
  if (!size) return 0;
  const auto file = ProbeFile(data[0] % 3);
  const std::string line = line_of(data + 1, size - 1);
  if (is_probe_removal(line)) {
    ProbeRemovalParse parsed = parse_probe_removal(line, file);
    require(parsed.removal.has_value() != parsed.error.has_value());
    return 0;
  }
  ProbeParse parsed = parse_probe_event(line, file, world);
  require(parsed.definition.has_value() != parsed.error.has_value());
  if (parsed.definition) {
    check_definition(std::move(*parsed.definition), file, world);
    return 0;
  }
  const ProbeError& error = *parsed.error;
  require(error.error != 0 && error.is_logged == !error.text.empty());
  require(!error.is_logged || !error.location.empty());
  require(error.position <= line.size() + 1 && error.second_position <= line.size() + 1);
  return 0;
}
