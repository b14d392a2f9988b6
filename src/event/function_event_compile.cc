// SPDX-License-Identifier: MIT
//
// A definition to its EventCall (docs/files.md, "Record of a function event") and to its fetch
// program ("The value of a field").
//
// The value of a field (docs/decisions.md, D1): start with the argument (or address) and walk the
// suffixes. +N adds N, [i] adds i elements, and an [i] that is not the last suffix loads a pointer.
// At the end an array or a string is read where the address points; a scalar is loaded too if an
// index was among the suffixes, else the address is itself the value.
#include <cerrno>
#include <cstdlib>
#include <string>

#include "event/function_event.h"
#include "event/function_event_atom.h"

namespace patchbay {

namespace {

constexpr uint32_t kFirstField = 24;          // behind the common fields, __parent_ip and __ip
constexpr uint32_t kMaxDataLoc = UINT16_MAX;  // __data_loc has 16 bits for the offset
constexpr uint32_t kDataLocBytes = 4;
constexpr uint32_t kMaxScalarRecord = 112;  // what an event's header word can say the length of

uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

bool is_dynamic_array(const FunctionEventField& field) {
  return field.is_array() && !field.array_len;
}

// `long[]` behind __data_loc is a stack to the readers of records, and `unsigned long[]` a mask of
// CPUs.
std::string type_text(const FunctionEventField& field) {
  if (is_string(field)) return "__data_loc char[]";
  if (is_dynamic_array(field)) {
    const bool is_long = field.atom == "long";
    const std::string type = is_long ? (field.is_unsigned_word ? "u64" : "s64") : field.atom;
    return "__data_loc " + std::string(field.is_unsigned_word && !is_long ? "unsigned " : "") +
           type + "[]";
  }
  return field.is_unsigned_word ? "unsigned " + field.atom : field.atom;
}

// `conversion` for each element and the expression that goes with it, into the two halves of print
// fmt.
void append_print(const FunctionEventField& field, std::string_view conversion, std::string* format,
                  std::string* values) {
  *format += field.name + "=";
  if (is_string(field)) {
    *format += "%s";
    *values += ", __get_str(" + field.name + ")";
    return;
  }
  if (is_dynamic_array(field)) {
    const std::string size = std::to_string(field.atom_size);
    *format += "%s";
    *values += ", __print_array(__get_dynamic_array(" + field.name + "), __get_dynamic_array_len(" +
               field.name + ") / " + size + ", " + size + ")";
    return;
  }
  bool by_element = field.array_len && !is_char_array(field);
  for (uint32_t i = 0; i < (by_element ? field.array_len : 1); i++) {
    if (i) *format += ":";
    *format += conversion;
    *values += ", REC->" + field.name;
    if (by_element) *values += "[" + std::to_string(i) + "]";
  }
}

std::string make_print_fmt(const FunctionEventDef& def) {
  std::string format = "\"%pS->%pS(";
  std::string values = ", REC->__parent_ip, REC->__ip";
  bool first = true;
  for (const FunctionEventArg& arg : def.args) {
    for (const FunctionEventField& field : arg.fields) {
      const FunctionEventAtom* atom = find_atom(field.atom);
      if (!first) format += ", ";
      first = false;
      append_print(field, field.is_unsigned_word ? atom->unsigned_conversion : atom->conversion,
                   &format, &values);
    }
  }
  return format + ")\"" + values;
}

// Emits the chain of one field after the other and adds up what they need.
class FetchCompiler {
 public:
  FetchCompiler(const FunctionEventDef& def, const EventCall& call) : def_(def), call_(call) {}
  void compile();
  Result<FetchProgramPtr> finish(uint32_t max_record) const;

 private:
  // The registers that a position is passed in, as many as were taken before it.
  struct Registers {
    uint8_t integer = 0, vector = 0;
  };
  void compile_field(const FunctionEventField& field, Registers at);
  void emit_length(const FunctionEventField& field);
  bool emit_value(const FunctionEventField& field, Registers at);
  void emit_bound(const FunctionEventField& field);
  void emit_start(const FunctionEventField& field, Registers at);
  bool emit_steps(const FunctionEventField& field);
  void emit_end(const FunctionEventField& field, const EventField& place, bool is_address);
  void flush_add();
  void emit(FetchOp op, uint64_t imm, uint8_t index = 0, uint8_t size = 0, uint32_t offset = 0) {
    insns_.push_back({op, index, size, 0, offset, imm});
  }

  const FunctionEventDef& def_;
  const EventCall& call_;
  std::vector<FetchInsn> insns_;
  std::vector<Registers> registers_;  // of each position
  size_t next_field_ = 2;             // behind __parent_ip and __ip
  uint64_t pending_add_ = 0;
  uint64_t fixed_end_ = kFirstField;
  uint64_t dynamic_bytes_ = 0;
  bool has_gaps_ = false;
  bool uses_xmm_ = false;
  bool scalar_only_ = true;
};

void FetchCompiler::flush_add() {
  if (pending_add_) emit(FetchOp::kAdd, pending_add_);
  pending_add_ = 0;
}

void FetchCompiler::emit_start(const FunctionEventField& field, Registers at) {
  if (field.source == FunctionEventField::Source::kAddress) {
    scalar_only_ = false;
    return emit(FetchOp::kImm, field.address);
  }
  if (is_float(field) && !field.is_array() && field.suffixes.empty()) {
    uses_xmm_ = true;
    scalar_only_ = false;
    return emit(FetchOp::kXmm, 0, at.vector);
  }
  emit(FetchOp::kArg, 0, at.integer);
}

// True: what the walk ends with is the address of a value, not the value.
bool FetchCompiler::emit_steps(const FunctionEventField& field) {
  bool has_index = false;
  for (size_t i = 0; i < field.suffixes.size(); i++) {
    const auto& suffix = field.suffixes[i];
    pending_add_ += suffix.is_index ? suffix.value * field.atom_size : suffix.value;
    if (!suffix.is_index) continue;
    has_index = true;
    if (i + 1 == field.suffixes.size()) continue;
    flush_add();
    emit(FetchOp::kDeref, 0);
  }
  flush_add();
  return has_index || field.source == FunctionEventField::Source::kAddress;
}

void FetchCompiler::emit_end(const FunctionEventField& field, const EventField& place,
                             bool is_address) {
  uint8_t size = uint8_t(field.atom_size);
  if (field.most && is_string(field)) {
    emit(FetchOp::kText, field.most + 1, 0, size, place.offset);
    dynamic_bytes_ += field.most + 1;
  } else if (field.most) {
    emit(FetchOp::kElements, field.most, 0, size, place.offset);
    dynamic_bytes_ += uint64_t{field.most} * size + size - 1;
  } else if (is_string(field)) {
    emit(FetchOp::kString, kMaxStringBytes, 0, size, place.offset);
    dynamic_bytes_ += kMaxStringBytes;
  } else if (field.array_len) {
    emit(FetchOp::kArray, field.array_len, 0, size, place.offset);
  } else if (is_address) {
    emit(FetchOp::kLoad, 0, 0, size, place.offset);
  } else {
    return emit(FetchOp::kStore, 0, 0, size, place.offset);
  }
  scalar_only_ = false;
}

// The bound of a field that is loaded only below an address. The parser has seen to it that the
// bound is there, and has none itself.
void FetchCompiler::emit_bound(const FunctionEventField& field) {
  FunctionEventField bounded;
  bounded.length = field.below;
  bounded.length_is_end = true;
  emit_length(bounded);
}

// As emit_steps() says it.
bool FetchCompiler::emit_value(const FunctionEventField& field, Registers at) {
  if (!field.below.empty()) emit_bound(field);
  emit_start(field, at);
  const bool is_address = emit_steps(field);
  if (!field.below.empty()) emit(FetchOp::kBelow, 0);
  return is_address;
}

// The parser has seen to it that the field is there.
void FetchCompiler::emit_length(const FunctionEventField& field) {
  if (field.length.empty()) {
    emit(FetchOp::kImm, field.most);
    return emit(FetchOp::kLength, 0);
  }
  for (size_t i = 0; i < def_.args.size(); i++) {
    for (const FunctionEventField& from : def_.args[i].fields) {
      if (from.name != field.length || !can_be_length(from)) continue;
      const bool is_signed = find_atom(from.atom)->is_signed && !from.is_unsigned_word;
      const uint8_t bits =
          uint8_t((field.length_is_end ? kLengthIsEnd : 0) | (is_signed ? kLengthIsSigned : 0));
      const uint8_t size = uint8_t(from.atom_size);
      const bool is_address = emit_value(from, registers_[i]);
      if (!is_address && size < 8) emit(FetchOp::kExtend, 0, is_signed, size);
      return emit(FetchOp::kLength, 0, bits, is_address ? size : 0);
    }
  }
}

void FetchCompiler::compile_field(const FunctionEventField& field, Registers at) {
  const EventField& place = call_.fields[next_field_++];
  if (field.most) emit_length(field);
  const size_t behind_length = insns_.size();
  const bool is_address = emit_value(field, at);
  // An empty text or array needs no pointer.
  if (!field.length.empty()) insns_[behind_length - 1].imm = insns_.size() - behind_length;
  emit_end(field, place, is_address);
  if (place.offset != fixed_end_) has_gaps_ = true;
  fixed_end_ = place.offset + place.size;
}

void FetchCompiler::compile() {
  Registers next;
  for (const FunctionEventArg& arg : def_.args) {
    registers_.push_back(next);
    next.integer += arg.passed() == FunctionEventArg::Passed::kInteger;
    next.vector += arg.passed() == FunctionEventArg::Passed::kVector;
  }
  for (size_t i = 0; i < def_.args.size(); i++)
    for (const FunctionEventField& field : def_.args[i].fields) compile_field(field, registers_[i]);
}

Result<FetchProgramPtr> FetchCompiler::finish(uint32_t max_record) const {
  uint64_t max_size = align_up(fixed_end_ + dynamic_bytes_, 4);
  bool unreachable = dynamic_bytes_ && max_size > kMaxDataLoc;
  if (max_size > max_record || unreachable || insns_.size() > UINT16_MAX)
    return user_error(
        E2BIG, "the record of " + call_.name + " could need " + std::to_string(max_size) +
                   " bytes, more than a sub-buffer holds (" + std::to_string(max_record) + ")");
  auto* program = static_cast<FetchProgram*>(
      std::calloc(1, sizeof(FetchProgram) + insns_.size() * sizeof(FetchInsn)));
  if (!program) return sys_error("allocate a fetch program", ENOMEM);
  program->fixed_size = uint32_t(fixed_end_);
  program->max_size = uint32_t(max_size);
  program->nr_insns = uint16_t(insns_.size());
  program->uses_xmm = uses_xmm_;
  program->scalar_only = scalar_only_ && max_size <= kMaxScalarRecord;
  program->has_gaps = has_gaps_;
  program->head = RecordHead::kFunction;
  for (size_t i = 0; i < insns_.size(); i++) program->insn[i] = insns_[i];
  return FetchProgramPtr(program);
}

}  // namespace

EventCall make_function_event_call(const FunctionEventDef& def, uint16_t id) {
  EventCall call;
  call.system = "functions";
  call.name = def.event_name();
  call.id = id;
  call.common = common_fields();
  call.fields.push_back({"unsigned long", "__parent_ip", 8, 8, false, 0, {}});
  call.fields.push_back({"unsigned long", "__ip", 16, 8, false, 0, {}});
  uint64_t end = kFirstField;
  for (const FunctionEventArg& arg : def.args) {
    for (const FunctionEventField& field : arg.fields) {
      bool is_signed = find_atom(field.atom)->is_signed && !field.is_unsigned_word;
      const uint32_t unit = is_dynamic_array(field) ? kDataLocBytes : field.atom_size;
      uint64_t offset = align_up(end, unit);
      uint64_t size = uint64_t{unit} * (field.array_len ? field.array_len : 1);
      call.fields.push_back({type_text(field),
                             field.name,
                             uint32_t(offset),
                             uint32_t(size),
                             is_signed,
                             field.array_len,
                             {}});
      end = offset + size;
    }
  }
  call.print_fmt = make_print_fmt(def);
  return call;
}

Result<FetchProgramPtr> compile_function_event(const FunctionEventDef& def, const EventCall& call,
                                               uint32_t max_record) {
  FetchCompiler compiler(def, call);
  compiler.compile();
  return compiler.finish(max_record);
}

}  // namespace patchbay
