// SPDX-License-Identifier: MIT
//
// The record is that of the kernel's probe events: common fields, __probe_ip, then the arguments
// one behind the other without alignment.
#include "event/sdt_event.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

namespace patchbay {
namespace {

using Place = SdtArgument::Place;

struct FieldKind {
  uint8_t size;
  bool is_signed;
  bool is_float;
};

// What holds the n-th argument of every site that has one.
FieldKind field_kind(const std::vector<std::vector<SdtArgument>>& sites, size_t n) {
  std::optional<FieldKind> kind;
  for (const auto& site : sites) {
    if (n >= site.size()) continue;
    const SdtArgument& argument = site[n];
    if (!kind) {
      kind = {argument.size, argument.is_signed, argument.is_float};
    } else if (kind->size != argument.size || kind->is_signed != argument.is_signed ||
               kind->is_float != argument.is_float) {
      kind = {8, kind->is_signed || argument.is_signed, false};
    }
  }
  return kind.value_or(FieldKind{8, false, false});
}

constexpr char kTextType[] = "__data_loc char[]";
constexpr uint32_t kTextField = 4;  // bytes of the word that says where it is

std::string type_name(const FieldKind& kind) {
  if (kind.is_float && kind.size >= 4) return kind.size == 8 ? "double" : "float";
  return (kind.is_signed ? "s" : "u") + std::to_string(kind.size * 8);
}

// Eight unsigned bytes are an address more often than not.
const char* print_format(const FieldKind& kind) {
  if (kind.is_float && kind.size >= 4) return kind.size == 8 ? "0x%Lx" : "0x%x";
  if (kind.size == 8) return kind.is_signed ? "%Ld" : "0x%Lx";
  return kind.is_signed ? "%d" : "%u";
}

class SiteCompiler {
 public:
  explicit SiteCompiler(const SdtSymbolAddress& address_of) : address_of_(address_of) {}

  void add(const SdtArgument& argument, const EventField& field) {
    const auto size = uint8_t(field.size);
    uint64_t offset = uint64_t(argument.offset);
    Place place = argument.place;
    if (!argument.symbol.empty()) {
      const uint64_t address = address_of_(argument.symbol);
      if (!address) place = Place::kUnknown;
      offset += address;
    }
    start(argument, place, offset);
    if (field.type == kTextType) {
      // The word in memory is the text's address.
      if (place == Place::kMemory) put(FetchOp::kDeref, 0, 0, 0, 0);
      // Index 1: what cannot be read is no empty text.
      put(FetchOp::kString, 1, 0, field.offset, kMaxStringBytes);
      dynamic_bytes_ += kMaxStringBytes;
      return;
    }
    if (place == Place::kMemory && argument.size == size) {
      put(FetchOp::kLoad, 0, size, field.offset, 0);
      return;
    }
    if (place == Place::kMemory) put(FetchOp::kPeek, 0, argument.size, 0, 0);
    if (argument.size < size) put(FetchOp::kExtend, argument.is_signed, argument.size, 0, 0);
    put(FetchOp::kStore, 0, size, field.offset, 0);
  }

  void add_missing(const EventField& field) { add(SdtArgument(), field); }

  Result<FetchProgramPtr> finish(const EventCall& call) const {
    const size_t bytes = sizeof(FetchProgram) + insns_.size() * sizeof(FetchInsn);
    auto* program = static_cast<FetchProgram*>(std::calloc(1, bytes));
    if (!program) return sys_error("compile a probe's arguments", ENOMEM);
    const EventField& last = call.fields.back();
    program->fixed_size = last.offset + last.size;
    program->max_size = (program->fixed_size + dynamic_bytes_ + 3) / 4 * 4;
    program->nr_insns = uint16_t(insns_.size());
    program->uses_xmm = uses_xmm_;
    program->uses_reg = uses_reg_;
    program->head = RecordHead::kProbe;
    std::copy(insns_.begin(), insns_.end(), program->insn);
    return FetchProgramPtr(program);
  }

 private:
  void put(FetchOp op, int index, uint8_t size, uint32_t offset, uint64_t imm) {
    insns_.push_back({op, uint8_t(index), size, 0, offset, imm});
  }

  // The value, or the address of kMemory.
  void start(const SdtArgument& argument, Place place, uint64_t offset) {
    switch (place) {
      case Place::kUnknown:
        return put(FetchOp::kImm, 0, 0, 0, 0);
      case Place::kConstant:
        return put(FetchOp::kImm, 0, 0, 0, offset);
      case Place::kXmm:
        uses_xmm_ = true;
        uses_reg_ |= argument.base >= 8;
        return put(FetchOp::kXmm, argument.base, 0, 0, 0);
      case Place::kRegister:
        uses_reg_ = true;
        return put(FetchOp::kReg, argument.base, 0, 0, 0);
      case Place::kMemory:
        break;
    }
    uses_reg_ |= argument.base >= 0 || argument.index >= 0;
    if (argument.base >= 0)
      put(FetchOp::kReg, argument.base, 0, 0, 0);
    else
      put(FetchOp::kImm, 0, 0, 0, 0);
    if (argument.index >= 0) put(FetchOp::kAddReg, argument.index, argument.scale, 0, 0);
    if (offset) put(FetchOp::kAdd, 0, 0, 0, offset);
  }

  const SdtSymbolAddress& address_of_;
  std::vector<FetchInsn> insns_;
  uint32_t dynamic_bytes_ = 0;
  bool uses_xmm_ = false, uses_reg_ = false;
};

}  // namespace

[[gnu::cold]] EventCall make_sdt_event_call(std::string_view provider, std::string_view name,
                                            const std::vector<std::vector<SdtArgument>>& sites) {
  EventCall call;
  call.system = "sdt_" + std::string(provider);
  call.name = name;
  call.common = common_fields();
  call.fields.push_back({"unsigned long", "__probe_ip", 8, 8, false});
  size_t count = 0;
  for (const auto& site : sites) count = std::max(count, site.size());
  std::string format = "(%lx)", values = ", REC->__probe_ip";
  uint32_t offset = record_head_size(RecordHead::kProbe);
  for (size_t n = 0; n < count; n++) {
    const FieldKind kind = field_kind(sites, n);
    const std::string field = "arg" + std::to_string(n + 1);
    if (kind.size == 8 && !kind.is_float && is_sdt_text(provider, name, n)) {
      call.fields.push_back({kTextType, field, offset, kTextField, true});
      offset += kTextField;
      format += " " + field + "=\\\"%s\\\"";
      values += ", __get_str(" + field + ")";
      continue;
    }
    const bool is_signed = kind.is_signed || (kind.is_float && kind.size >= 4);
    call.fields.push_back({type_name(kind), field, offset, kind.size, is_signed});
    offset += kind.size;
    format += " " + field + "=" + print_format(kind);
    values += ", REC->" + field;
  }
  call.print_fmt = "\"" + format + "\"" + values;
  return call;
}

Result<FetchProgramPtr> compile_sdt_site(const std::vector<SdtArgument>& arguments,
                                         const EventCall& call,
                                         const SdtSymbolAddress& address_of) {
  SiteCompiler compiler(address_of);
  for (size_t n = 0; n + 1 < call.fields.size(); n++) {
    const EventField& field = call.fields[n + 1];
    if (n < arguments.size())
      compiler.add(arguments[n], field);
    else
      compiler.add_missing(field);
  }
  return compiler.finish(call);
}

}  // namespace patchbay
