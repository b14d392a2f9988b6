// SPDX-License-Identifier: MIT
//
// From the arguments of a definition to a fetch program. A chain as parsed ends in a value, or in
// an address whose value is wanted; what is behind depends on the type:
//
//              value                       address
//   u8 … x64   STORE                       LOAD
//   bitfield   BITS STORE                  PEEK BITS STORE
//   TYPE[N]    -                           ARRAY; bitfields one by one
//   string     STRING                      STRING; [N]: STRING_ARRAY
//   symstr     SYMBOL                      DEREF SYMBOL
//
// Constant texts lie behind the instructions, in the same allocation.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "event/errno_offset.h"
#include "event/probe_event.h"
#include "event/probe_event_argument.h"

namespace patchbay {

namespace {

constexpr uint32_t kMaxScalarRecord = 112;    // what an event's header word can say the length of
constexpr uint32_t kMaxDataLoc = UINT16_MAX;  // __data_loc has 16 bits for the offset
constexpr SymbolNames kNoNames = {nullptr, 0, ""};
// The registers of the first six arguments, as in machine code: di si dx cx r8 r9.
constexpr uint8_t kArgumentRegisters[] = {7, 6, 2, 1, 8, 9};

uint32_t align_up(uint64_t value) { return uint32_t((value + 3) / 4 * 4); }

class ProbeCompiler {
 public:
  ProbeCompiler(const ProbeDefinition& definition, const ProbeCompileContext& context)
      : definition_(definition), context_(context) {
    const bool by_symbol = definition.kind == ProbeKind::kFprobe ||
                           (definition.kind == ProbeKind::kKprobe && !definition.symbol.empty() &&
                            definition.offset == 0);
    at_entry_ = !definition.on_return && (by_symbol || context.at_entry);
  }

  void add(const ProbeArgument& argument);
  Result<FetchProgramPtr> finish(const EventCall& call);

 private:
  FetchInsn& emit(FetchOp op, int index, uint8_t size, uint32_t offset, uint64_t imm) {
    return insns_.emplace_back(FetchInsn{op, uint8_t(index), size, 0, offset, imm});
  }
  void add_number(const ProbeArgument& argument);
  void add_bits(const ProbeArgument& argument);
  void add_text(const ProbeArgument& argument);
  void add_text_at(const ProbeArgument& argument);
  void add_fault(uint32_t offset);
  void emit_string(uint32_t offset, uint32_t bound = 0);
  void emit_start(const ProbeArgument& argument);
  void emit_field(const EventField* field);
  const EventField* source_field(const ProbeArgument& argument) const;
  void emit_step(FetchInsn step);
  void emit_steps(const ProbeArgument& argument);
  uint32_t string_limit(uint32_t fixed_size, uint32_t max_record) const;
  void note_needs(FetchProgram* program) const;

  const ProbeDefinition& definition_;
  const ProbeCompileContext& context_;
  bool at_entry_;
  std::vector<FetchInsn> insns_;
  std::string texts_;                 // NUL after each
  std::vector<size_t> text_insns_;    // kImm whose value is an offset in texts_
  std::vector<size_t> string_insns_;  // kString and kStringArray, which share the room there is
  uint32_t strings_ = 0;              // of them, arrays counted by element
  uint32_t other_dynamic_ = 0;        // bytes that names and symbols can need
};

// --- starts

// As the kernel reads a field: an address of a text for those with texts, else up to 8 bytes.
void ProbeCompiler::emit_field(const EventField* field) {
  if (!field || field->size == 0) {
    emit(FetchOp::kImm, 0, 8, 0, 0);
    return;
  }
  const bool is_loc =
      field->type.starts_with("__data_loc") && field->type.find("char") != field->type.npos;
  const bool is_array = field->array_len && field->type == "char";
  if (is_loc || is_array) {
    emit(FetchOp::kFieldText, is_array, 0, is_array ? field->size : 0, field->offset);
    return;
  }
  uint8_t size = 8;
  while (size > field->size) size /= 2;
  emit(FetchOp::kField, field->is_signed, size, 0, field->offset);
}

const EventField* ProbeCompiler::source_field(const ProbeArgument& argument) const {
  if (!context_.source) return nullptr;
  const std::vector<EventField>& fields = context_.source->fields;
  if (argument.start == ProbeStart::kFieldIndex)
    return size_t(argument.start_number) < fields.size() ? &fields[size_t(argument.start_number)]
                                                         : nullptr;
  auto found = std::find_if(fields.begin(), fields.end(), [&](const EventField& field) {
    return field.name == argument.start_name;
  });
  return found == fields.end() ? nullptr : &*found;
}

void ProbeCompiler::emit_start(const ProbeArgument& argument) {
  const FetchInsn& first = argument.steps.front();
  uint64_t address = first.imm;
  switch (argument.start) {
    case ProbeStart::kField:
    case ProbeStart::kFieldIndex:
      return emit_field(source_field(argument));
    case ProbeStart::kSymbol:
      if (context_.world) {
        std::string_view symbol = argument.start_name;
        int64_t offset = 0;
        const bool good = !split_symbol_offset(&symbol, &offset);
        address = good ? context_.world->address_of(symbol) : 0;
        if (address) address += uint64_t(offset);
      }
      break;
    case ProbeStart::kFileOffset:
      if (context_.world)
        address = context_.world->data_at(definition_.symbol, uint64_t(argument.start_number));
      break;
    case ProbeStart::kErrno:
      emit(FetchOp::kThread, 0, 8, 0, errno_offset());
      return;
    default:
      return emit_step(first);
  }
  emit(FetchOp::kImm, 0, 8, 0, address);
}

void ProbeCompiler::emit_step(FetchInsn step) {
  if (step.op == FetchOp::kReg && at_entry_) {
    const auto* found =
        std::find(std::begin(kArgumentRegisters), std::end(kArgumentRegisters), step.index);
    if (found != std::end(kArgumentRegisters)) {
      step.op = FetchOp::kArg;
      step.index = uint8_t(found - kArgumentRegisters);
    }
  }
  if (step.op == FetchOp::kReg && step.index == kIpRegister && !definition_.on_return &&
      context_.ip)
    step = {FetchOp::kImm, 0, 8, 0, 0, context_.ip};
  insns_.push_back(step);
}

void ProbeCompiler::emit_steps(const ProbeArgument& argument) {
  emit_start(argument);
  for (size_t i = 1; i < argument.steps.size(); i++) emit_step(argument.steps[i]);
}

// --- ends

void ProbeCompiler::add_bits(const ProbeArgument& argument) {
  const uint8_t size = argument.type->size;
  for (uint32_t i = 0; i < std::max(argument.array_len, 1u); i++) {
    emit_steps(argument);
    if (i) emit(FetchOp::kAdd, 0, 8, 0, uint64_t{i} * size);
    if (argument.ends_in_address) emit(FetchOp::kPeek, 0, size, 0, 0);
    emit(FetchOp::kBits, argument.bit_offset, argument.bit_width, 0, argument.bit_is_signed);
    emit(FetchOp::kStore, 0, size, argument.offset + i * size, 0);
  }
}

void ProbeCompiler::add_number(const ProbeArgument& argument) {
  const uint8_t size = argument.type->size;
  if (argument.type == long_double_type()) {
    emit(FetchOp::kX87, 0, 0, argument.offset, 0);
    return;
  }
  // Names and texts as numbers: the kernel gives the address of its own copy.
  if (argument.steps.empty())
    emit(FetchOp::kImm, 0, 8, 0, 0);
  else
    emit_steps(argument);
  if (argument.array_len)
    emit(FetchOp::kArray, 0, size, argument.offset, argument.array_len);
  else
    emit(argument.ends_in_address ? FetchOp::kLoad : FetchOp::kStore, 0, size, argument.offset, 0);
}

// `bound`: bytes of the text, without its NUL; 0: it is what there is room for.
void ProbeCompiler::emit_string(uint32_t offset, uint32_t bound) {
  string_insns_.push_back(insns_.size());
  strings_++;
  emit(FetchOp::kString, 1, 4, offset, bound ? bound + 1 : kMaxProbeString);
}

void ProbeCompiler::add_text_at(const ProbeArgument& argument) {
  switch (argument.start) {
    case ProbeStart::kComm:
      other_dynamic_ += kCommTextSize;
      emit(FetchOp::kComm, 0, 4, argument.offset, 0);
      return;
    case ProbeStart::kText:
      text_insns_.push_back(insns_.size());
      emit(FetchOp::kImm, 0, 8, 0, texts_.size());
      texts_ += argument.start_name + '\0';
      break;
    default:
      emit_steps(argument);
  }
  if (argument.type->name == "symstr") {
    if (argument.ends_in_address) emit(FetchOp::kDeref, 0, 8, 0, 0);
    const SymbolNames* names = context_.names ? context_.names : &kNoNames;
    emit(FetchOp::kSymbol, 0, 4, argument.offset, reinterpret_cast<uint64_t>(names));
    other_dynamic_ += kSymbolTextSize;
    return;
  }
  emit_string(argument.offset, text_bound(argument.text).value_or(0));
}

void ProbeCompiler::add_fault(uint32_t offset) {
  emit(FetchOp::kImm, 0, 8, 0, 0);
  emit_string(offset);
}

void ProbeCompiler::add_text(const ProbeArgument& argument) {
  if (!argument.array_len) return add_text_at(argument);
  if (argument.ends_in_address) {
    emit_steps(argument);
    string_insns_.push_back(insns_.size());
    strings_ += argument.array_len;
    emit(FetchOp::kStringArray, 1, uint8_t(argument.array_len), argument.offset, kMaxProbeString);
    return;
  }
  // Not an array in memory: the first one is the text itself, and there are no others.
  add_text_at(argument);
  for (uint32_t i = 1; i < argument.array_len; i++) add_fault(argument.offset + i * 4);
}

void ProbeCompiler::add(const ProbeArgument& argument) {
  if (argument.bit_width && !argument.steps.empty()) return add_bits(argument);
  if (argument.type->field_type.starts_with("__data_loc")) return add_text(argument);
  add_number(argument);
}

// --- the whole

uint32_t ProbeCompiler::string_limit(uint32_t fixed_size, uint32_t max_record) const {
  if (!strings_) return kMaxProbeString;
  const uint64_t used = uint64_t{fixed_size} + other_dynamic_ + 3;
  const uint64_t room = std::min(max_record, kMaxDataLoc);
  if (used > room) return 0;
  return uint32_t(std::min<uint64_t>((room - used) / strings_, kMaxProbeString));
}

void ProbeCompiler::note_needs(FetchProgram* program) const {
  bool is_plain = program->max_size <= kMaxScalarRecord;
  bool may_add = false;
  for (const FetchInsn& insn : insns_) {
    const bool is_register = insn.op == FetchOp::kReg;
    program->uses_xmm |= insn.op == FetchOp::kXmm;
    // The entry that saves xmm8 and above is the one that saves all general registers.
    program->uses_reg |=
        is_register || insn.op == FetchOp::kAddReg || (insn.op == FetchOp::kXmm && insn.index >= 8);
    const bool starts = insn.op == FetchOp::kArg || (is_register && insn.index < kFlagsRegister);
    const bool goes_on = insn.op == FetchOp::kAdd || insn.op == FetchOp::kStore;
    is_plain &= starts || (goes_on && may_add);
    may_add = insn.op != FetchOp::kStore;
  }
  program->scalar_only = is_plain;
}

Result<FetchProgramPtr> ProbeCompiler::finish(const EventCall& call) {
  const RecordHead head = definition_.kind == ProbeKind::kEprobe ? RecordHead::kEvent
                          : definition_.on_return                ? RecordHead::kReturn
                                                                 : RecordHead::kProbe;
  uint32_t fixed_size = record_head_size(head);
  if (!call.fields.empty()) fixed_size = call.fields.back().offset + call.fields.back().size;
  const uint32_t limit = string_limit(fixed_size, context_.max_record);
  const uint64_t max_size =
      align_up(uint64_t{fixed_size} + other_dynamic_ + uint64_t{limit} * strings_);
  const bool fits = max_size <= context_.max_record && insns_.size() <= UINT16_MAX &&
                    limit >= kMinProbeString &&
                    (max_size <= kMaxDataLoc || !(strings_ || other_dynamic_));
  if (!fits)
    return user_error(E2BIG, "the record of " + call.name +
                                 " could need more than a sub-buffer holds (" +
                                 std::to_string(context_.max_record) + " bytes)");
  const size_t texts_at = sizeof(FetchProgram) + insns_.size() * sizeof(FetchInsn);
  auto* program = static_cast<FetchProgram*>(std::calloc(1, texts_at + texts_.size()));
  if (!program) return sys_error("allocate a fetch program", ENOMEM);
  char* texts = reinterpret_cast<char*>(program) + texts_at;
  std::memcpy(texts, texts_.data(), texts_.size());
  for (size_t i : text_insns_) insns_[i].imm += reinterpret_cast<uint64_t>(texts);
  for (size_t i : string_insns_) insns_[i].imm = std::min<uint64_t>(insns_[i].imm, limit);
  program->fixed_size = fixed_size;
  program->max_size = uint32_t(max_size);
  program->nr_insns = uint16_t(insns_.size());
  program->head = head;
  std::copy(insns_.begin(), insns_.end(), program->insn);
  note_needs(program);
  return FetchProgramPtr(program);
}

}  // namespace

[[gnu::cold]] Result<FetchProgramPtr> compile_probe_event(const ProbeDefinition& definition,
                                                          const EventCall& call,
                                                          const ProbeCompileContext& context) {
  ProbeCompiler compiler(definition, context);
  for (const ProbeArgument& argument : definition.arguments) compiler.add(argument);
  return compiler.finish(call);
}

}  // namespace patchbay
