// SPDX-License-Identifier: MIT
//
// A definition to its EventCall (docs/files.md, "Record of a function event") and to its fetch
// program ("The value of a field").
//
// A whole call has two programs. That of the entry makes the record as far as it is known then,
// with room for the rest; that of the return begins with what was made (kTaken) and adds the
// result, the fields that are `out`, and the duration.
//
// The value of a field (docs/decisions.md, D1): start with the argument (or address) and walk the
// suffixes. +N adds N, [i] adds i elements, and an [i] that is not the last suffix loads a pointer.
// At the end an array or a string is read where the address points; a scalar is loaded too if an
// index was among the suffixes, else the address is itself the value.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "event/errno_offset.h"
#include "event/function_event.h"
#include "event/function_event_atom.h"
#include "fetch/format_args.h"

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
[[gnu::cold]] void append_print(const FunctionEventField& field, std::string_view conversion,
                                std::string* format, std::string* values) {
  *format += field.name + "=";
  if (is_missing(field)) {
    *format += "?";
    return;
  }
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
  if (is_wide(field)) {  // no reader has a number of so many bits
    *format += "%s";
    *values += ", __print_hex_str(REC->" + field.name + ", 16)";
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

[[gnu::cold]] void append_print(const FunctionEventField& field, std::string* format,
                                std::string* values) {
  const FunctionEventAtom* atom = find_atom(field.atom);
  append_print(field, field.is_unsigned_word ? atom->unsigned_conversion : atom->conversion, format,
               values);
}

std::string make_print_fmt(const FunctionEventDef& def) {
  std::string format = "\"%pS->%pS(";
  std::string values = ", REC->__parent_ip, REC->__ip";
  bool first = true;
  for (const FunctionEventArg& arg : def.args) {
    for (const FunctionEventField& field : arg.fields) {
      if (!first) format += ", ";
      first = false;
      append_print(field, &format, &values);
    }
  }
  format += ')';
  if (def.result) {
    for (const FunctionEventField& field : def.result->fields) {
      format += ' ';
      append_print(field, &format, &values);
    }
  }
  if (def.error) {
    format += ' ';
    append_print(*def.error, &format, &values);
  }
  if (def.is_call) {
    format += " duration=%llu";
    values += ", REC->duration";
  }
  return format + '"' + values;
}

// Emits the chain of one field after the other and adds up what they need.
class FetchCompiler {
 public:
  enum class When : uint8_t { kOnly, kAtEntry, kAtReturn };
  FetchCompiler(const FunctionEventDef& def, const EventCall& call, When when)
      : def_(def), call_(call), when_(when) {}
  void compile();
  // `before`: dynamic bytes of the program that runs before this one.
  Result<FetchProgramPtr> finish(uint32_t max_record, uint64_t before) const;
  uint64_t dynamic_bytes() const { return dynamic_bytes_; }

 private:
  // Where a position is passed: what was taken before it.
  struct Registers {
    ArgumentPlaces places = {};
    ValueClass value = {};
    bool is_struct = false;
  };
  bool is_now(const FunctionEventField& field) const {
    return when_ == When::kOnly || is_of_return(field) == (when_ == When::kAtReturn);
  }
  void compile_field(const FunctionEventField& field, Registers at);
  void compile_words(const FunctionEventField& field, const EventField& place, Registers at);
  void compile_wide(const FunctionEventField& field, const EventField& place, Registers at);
  void compile_error();
  void compile_rest(size_t position);
  void emit_gap(uint32_t offset);
  bool emit_word(const FunctionEventField& field, Registers at, uint32_t byte);
  void take_place(const EventField& place);
  struct Number {
    const FunctionEventField* field;
    Registers at;
    const EventField* place;
  };
  Number find_number(const std::string& name) const;
  void emit_length(const FunctionEventField& field);
  bool emit_value(const FunctionEventField& field, Registers at);
  void emit_bound(const FunctionEventField& field);
  void emit_start(const FunctionEventField& field, Registers at);
  void emit_stack_word(uint8_t index);
  bool emit_steps(const FunctionEventField& field);
  void emit_end(const FunctionEventField& field, const EventField& place, bool is_address);
  void flush_add();
  void emit(FetchOp op, uint64_t imm, uint8_t index = 0, uint8_t size = 0, uint32_t offset = 0) {
    insns_.push_back({op, index, size, 0, offset, imm});
  }

  const FunctionEventDef& def_;
  const EventCall& call_;
  const When when_;
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
  if (field.source == FunctionEventField::Source::kConstant) {
    scalar_only_ = false;
    return emit(FetchOp::kImm, field.address);
  }
  if (field.source == FunctionEventField::Source::kStack) return emit(FetchOp::kReg, 0, 4);  // rsp
  const bool is_result = field.source == FunctionEventField::Source::kResult;
  if (!is_result && at.places.on_stack(at.value)) return emit_stack_word(uint8_t(at.places.stack));
  if (at.value.is_vector[0]) {
    uses_xmm_ = true;
    scalar_only_ = false;
    return emit(FetchOp::kXmm, 0, is_result ? 0 : uint8_t(at.places.vector));
  }
  if (is_result) return emit(FetchOp::kReg, 0, 0);  // rax
  emit(FetchOp::kArg, 0, uint8_t(at.places.integer));
}

// The word that has a byte of a value of several words, or of a structure. True: it is the address
// of that byte.
bool FetchCompiler::emit_word(const FunctionEventField& field, Registers at, uint32_t byte) {
  const bool is_result = field.source == FunctionEventField::Source::kResult;
  scalar_only_ = false;
  if (is_result ? at.value.in_memory : at.places.on_stack(at.value)) {
    emit(FetchOp::kReg, 0, is_result ? 0 : 4);  // where rax points, or behind the return address
    const uint64_t offset = (is_result ? 0 : 8 + 8 * uint64_t{at.places.stack}) + byte;
    if (offset) emit(FetchOp::kAdd, offset);
    return true;
  }
  const uint32_t word = byte / 8;
  const bool is_vector = at.value.is_vector[word];
  const bool is_second = word == 1 && at.value.is_vector[0] == is_vector;
  if (is_vector) {
    uses_xmm_ = true;
    emit(FetchOp::kXmm, 0, uint8_t((is_result ? 0 : at.places.vector) + is_second));
  } else if (is_result) {
    emit(FetchOp::kReg, 0, is_second ? 2 : 0);  // rdx, rax
  } else {
    emit(FetchOp::kArg, 0, uint8_t(at.places.integer + is_second));
  }
  if (byte % 8) emit(FetchOp::kBits, 0, uint8_t(byte % 8 * 8), uint8_t(8 * field.atom_size));
  return false;
}

// The last 6 bytes of a long double that is read at the return; those of the entry are zeroed
// with all of its record.
void FetchCompiler::emit_gap(uint32_t offset) {
  emit(FetchOp::kImm, 0);
  emit(FetchOp::kStore, 0, 0, 4, offset);
  emit(FetchOp::kStore, 0, 0, 2, offset + 4);
}

// 16 bytes. Of a long double 10 bytes are its own.
void FetchCompiler::compile_wide(const FunctionEventField& field, const EventField& place,
                                 Registers at) {
  scalar_only_ = false;
  if (at.value.is_x87) return emit(FetchOp::kX87, 0, 0, 0, place.offset);
  const auto end = [&](bool is_address, uint32_t offset, uint8_t size) {
    emit(is_address ? FetchOp::kLoad : FetchOp::kStore, 0, 0, size, offset);
  };
  const uint8_t rest = is_long_double(field) ? 2 : 8;
  end(emit_word(field, at, field.member_at), place.offset, 8);
  end(emit_word(field, at, field.member_at + 8), place.offset + 8, rest);
  if (rest == 8) return;
  has_gaps_ = true;
  if (when_ == When::kAtReturn) emit_gap(place.offset + 10);
}

// 16 bytes, or a member of a structure.
void FetchCompiler::compile_words(const FunctionEventField& field, const EventField& place,
                                  Registers at) {
  if (is_wide(field)) return compile_wide(field, place, at);
  const bool is_address = emit_word(field, at, field.member_at);
  if (!is_string(field))
    return emit(is_address ? FetchOp::kLoad : FetchOp::kStore, 0, 0, uint8_t(field.atom_size),
                place.offset);
  if (is_address) emit(FetchOp::kDeref, 0);
  emit_end(field, place, false);
}

// Behind the return address.
void FetchCompiler::emit_stack_word(uint8_t index) {
  scalar_only_ = false;
  emit(FetchOp::kReg, 0, 4);  // rsp
  emit(FetchOp::kAdd, 8 + 8 * uint64_t{index});
  emit(FetchOp::kDeref, 0);
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
  const Number number = find_number(field.length);
  const FunctionEventField& from = *number.field;
  const bool is_signed = find_atom(from.atom)->is_signed && !from.is_unsigned_word;
  const uint8_t bits =
      uint8_t((field.length_is_end ? kLengthIsEnd : 0) | (is_signed ? kLengthIsSigned : 0));
  const uint8_t size = uint8_t(from.atom_size);
  if (!is_now(from)) {  // it was taken at the entry
    emit(FetchOp::kField, number.place->offset, is_signed, size);
    return emit(FetchOp::kLength, 0, bits, 0);
  }
  const bool is_address = emit_value(from, number.at);
  if (!is_address && size < 8) emit(FetchOp::kExtend, 0, is_signed, size);
  emit(FetchOp::kLength, 0, bits, is_address ? size : 0);
}

FetchCompiler::Number FetchCompiler::find_number(const std::string& name) const {
  size_t place = 2;
  for (size_t i = 0; i < def_.args.size(); i++)
    for (const FunctionEventField& field : def_.args[i].fields) {
      const bool is_member = def_.args[i].struct_size != 0;  // as the parser has it
      if (!is_member && field.name == name && can_be_length(field))
        return {&field, registers_[i], &call_.fields[place]};
      place += is_missing(field) ? 0 : 1;
    }
  return {&def_.result->fields[0], {{}, class_of_result(*def_.result)}, &call_.fields[place]};
}

void FetchCompiler::compile_field(const FunctionEventField& field, Registers at) {
  if (is_missing(field)) return;
  const EventField& place = call_.fields[next_field_++];
  take_place(place);
  if (!is_now(field)) return;
  if (at.is_struct || is_wide(field)) return compile_words(field, place, at);
  if (field.most) emit_length(field);
  const size_t behind_length = insns_.size();
  const bool is_address = emit_value(field, at);
  // An empty text or array needs no pointer.
  if (!field.length.empty()) insns_[behind_length - 1].imm = insns_.size() - behind_length;
  emit_end(field, place, is_address);
}

// errno is an int, whatever the field is.
void FetchCompiler::compile_error() {
  const EventField& place = call_.fields[next_field_++];
  take_place(place);
  scalar_only_ = false;
  if (when_ != When::kAtReturn) return;
  emit(FetchOp::kThread, errno_offset());
  emit(FetchOp::kPeek, 0, 0, sizeof(int));
  emit(FetchOp::kExtend, 0, 1, sizeof(int));
  emit(FetchOp::kStore, 0, 0, uint8_t(place.size), place.offset);
}

// The parser has seen to it that a format is in front.
void FetchCompiler::compile_rest(size_t position) {
  const EventField& place = call_.fields[next_field_++];
  take_place(place);
  if (when_ == When::kAtReturn) return;
  const std::vector<FunctionEventField>& before = def_.args[position - 1].fields;
  const auto format = std::find_if(before.begin(), before.end(), is_format);
  emit_start(*format, registers_[position - 1]);
  const ArgumentPlaces& taken = registers_[position].places;
  emit(FetchOp::kFormatArgs, taken.stack, uint8_t(taken.integer), uint8_t(taken.vector),
       place.offset);
  dynamic_bytes_ += kFormatArgsBytes;
  uses_xmm_ = true;
  scalar_only_ = false;
}

void FetchCompiler::take_place(const EventField& place) {
  if (place.offset != fixed_end_) has_gaps_ = true;
  fixed_end_ = place.offset + place.size;
}

void FetchCompiler::compile() {
  ArgumentPlaces next = first_place(def_);
  for (const FunctionEventArg& arg : def_.args) {
    const ValueClass value = class_of(arg);
    next.align(value);
    registers_.push_back({next, value, arg.struct_size != 0});
    next.take(value);
  }
  if (when_ == When::kAtReturn) emit(FetchOp::kTaken, 0);
  for (size_t i = 0; i < def_.args.size(); i++)
    for (const FunctionEventField& field : def_.args[i].fields)
      field.source == FunctionEventField::Source::kFormatArgs ? compile_rest(i)
                                                              : compile_field(field, registers_[i]);
  if (def_.result)
    for (const FunctionEventField& field : def_.result->fields)
      compile_field(field, {{}, class_of_result(*def_.result), def_.result->struct_size != 0});
  if (def_.error) compile_error();
  if (!def_.is_call) return;
  const EventField& duration = call_.fields[next_field_++];
  take_place(duration);
  scalar_only_ = false;
  if (when_ != When::kAtReturn) return;
  emit(FetchOp::kField, sizeof(uint64_t), 0, 8);  // call_data.h
  emit(FetchOp::kStore, 0, 0, 8, duration.offset);
}

Result<FetchProgramPtr> FetchCompiler::finish(uint32_t max_record, uint64_t before) const {
  const uint64_t dynamic = dynamic_bytes_ + align_up(before, 4);
  uint64_t max_size = align_up(fixed_end_ + dynamic, 4);
  bool unreachable = dynamic && max_size > kMaxDataLoc;
  if (when_ == When::kAtEntry && max_size > kMostTaken)
    return user_error(E2BIG, "what " + call_.name + " takes when it is called could need " +
                                 std::to_string(max_size) + " bytes, and a call keeps " +
                                 std::to_string(kMostTaken) +
                                 ": give texts and arrays a limit, as in string/LENGTH/100");
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
  program->uses_reg = false;  // rsp is known on every way into a function, all at its return
  program->scalar_only = scalar_only_ && max_size <= kMaxScalarRecord;
  program->has_gaps = has_gaps_ && when_ != When::kAtReturn;
  program->head = RecordHead::kFunction;
  for (size_t i = 0; i < insns_.size(); i++) program->insn[i] = insns_[i];
  return FetchProgramPtr(program);
}

}  // namespace

namespace {

// One field behind the other, each aligned to its unit.
void add_field(const FunctionEventField& field, EventCall* call) {
  if (is_missing(field)) return;
  const bool is_signed = find_atom(field.atom)->is_signed && !field.is_unsigned_word;
  const uint32_t unit = is_dynamic_array(field) ? kDataLocBytes : field.atom_size;
  const EventField& last = call->fields.back();
  const uint64_t offset = align_up(last.offset + last.size, std::min(unit, 8u));
  const uint64_t size = uint64_t{unit} * (field.array_len ? field.array_len : 1);
  call->fields.push_back({type_text(field),
                          field.name,
                          uint32_t(offset),
                          uint32_t(size),
                          is_signed,
                          field.array_len,
                          {},
                          is_string(field) && field.most != 0});
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
  for (const FunctionEventArg& arg : def.args)
    for (const FunctionEventField& field : arg.fields) add_field(field, &call);
  if (def.result)
    for (const FunctionEventField& field : def.result->fields) add_field(field, &call);
  if (def.error) add_field(*def.error, &call);
  if (def.is_call) {
    FunctionEventField duration;
    duration.atom = "u64";
    duration.atom_size = 8;
    duration.name = kDurationField;
    add_field(duration, &call);
  }
  call.print_fmt = make_print_fmt(def);
  return call;
}

Result<FetchProgramPtr> compile_function_event(const FunctionEventDef& def, const EventCall& call,
                                               uint32_t max_record) {
  using When = FetchCompiler::When;
  FetchCompiler first(def, call, def.is_call ? When::kAtEntry : When::kOnly);
  first.compile();
  Result<FetchProgramPtr> made = first.finish(max_record, 0);
  if (!made.ok() || !def.is_call) return made;
  FetchCompiler at_return(def, call, When::kAtReturn);
  at_return.compile();
  PB_ASSIGN(FetchProgramPtr program, at_return.finish(max_record, first.dynamic_bytes()));
  program->at_entry = made->release();
  return program;
}

}  // namespace patchbay
