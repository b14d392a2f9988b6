// SPDX-License-Identifier: MIT
//
// The record is that of the kernel's probe events: common fields, __probe_ip, then the arguments
// one behind the other without alignment.
#include "event/sdt_event.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "base/text.h"

namespace patchbay {
namespace {

using Place = SdtArgument::Place;

struct FieldKind {
  uint8_t size;
  bool is_signed;
  bool is_float;
};

// A floating-point number fits into a field of its own kind alone.
bool fits(const SdtArgument& argument, const FieldKind& kind) {
  if (argument.place == Place::kUnknown || argument.is_float != kind.is_float) return false;
  return !kind.is_float || argument.size == kind.size;
}

// What holds the n-th argument of every site that has one, as far as it fits; nothing: none has.
std::optional<FieldKind> field_kind(const std::vector<std::vector<SdtArgument>>& sites, size_t n) {
  std::optional<FieldKind> kind;
  for (const auto& site : sites) {
    if (n >= site.size() || site[n].place == Place::kUnknown) continue;
    const SdtArgument& argument = site[n];
    if (!kind)
      kind = {argument.size, argument.is_signed, argument.is_float};
    else if (fits(argument, *kind) &&
             (kind->size != argument.size || kind->is_signed != argument.is_signed))
      kind = {8, kind->is_signed || argument.is_signed, kind->is_float};
  }
  return kind;
}

bool is_everywhere(const std::vector<std::vector<SdtArgument>>& sites, size_t n,
                   const FieldKind& kind) {
  return std::all_of(sites.begin(), sites.end(), [&](const std::vector<SdtArgument>& site) {
    return n < site.size() && fits(site[n], kind);
  });
}

constexpr char kTextType[] = "__data_loc char[]";
constexpr std::string_view kKnown = "__known", kArgument = "arg", kSystem = "sdt_";
constexpr uint32_t kTextField = 4;  // bytes of the word that says where it is

std::string type_name(const FieldKind& kind) {
  if (kind.is_float) return kind.size == 8 ? "double" : "float";
  return (kind.is_signed ? "s" : "u") + std::to_string(kind.size * 8);
}

// Eight unsigned bytes are an address more often than not.
const char* print_format(const FieldKind& kind) {
  if (kind.is_float) return kind.size == 8 ? "%Lx" : "%x";  // as function events have it
  if (kind.size == 8) return kind.is_signed ? "%Ld" : "0x%Lx";
  return kind.is_signed ? "%d" : "%u";
}

// Of a field of numbers or texts.
FieldKind kind_of(const EventField& field) {
  if (field.type == kTextType) return {8, false, false};
  return {uint8_t(field.size), field.is_signed, field.type == "double" || field.type == "float"};
}

class SiteCompiler {
 public:
  void add(const SdtArgument& argument, const EventField& field) {
    const auto size = uint8_t(field.size);
    const Place place = argument.place;
    start(argument, place, uint64_t(argument.offset));
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
  void add_constant(uint64_t value, const EventField& field) {
    put(FetchOp::kImm, 0, 0, 0, value);
    put(FetchOp::kStore, 0, uint8_t(field.size), field.offset, 0);
  }

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

  std::vector<FetchInsn> insns_;
  uint32_t dynamic_bytes_ = 0;
  bool uses_xmm_ = false, uses_reg_ = false;
};

}  // namespace

[[gnu::cold]] EventCall make_sdt_event_call(std::string_view provider, std::string_view name,
                                            const std::vector<std::vector<SdtArgument>>& sites) {
  EventCall call;
  call.system = std::string(kSystem) + std::string(provider);
  call.name = name;
  call.common = common_fields();
  call.fields.push_back({"unsigned long", "__probe_ip", 8, 8, false});
  size_t count = 0;
  for (const auto& site : sites) count = std::max(count, site.size());
  std::string format = "(%lx)", values = ", REC->__probe_ip";
  uint32_t offset = record_head_size(RecordHead::kProbe);
  bool needs_known = false;
  for (size_t n = 0; n < count; n++) {
    const std::string field = std::string(kArgument) + std::to_string(n + 1);
    format += " " + field + "=";
    const std::optional<FieldKind> found = field_kind(sites, n);
    if (!found) {
      format += '?';
      continue;
    }
    const FieldKind& kind = *found;
    needs_known |= !is_everywhere(sites, n, kind);
    if (kind.size == 8 && !kind.is_float && is_sdt_text(provider, call.name, n)) {
      call.fields.push_back({kTextType, field, offset, kTextField, true});
      offset += kTextField;
      format += "\\\"%s\\\"";
      values += ", __get_str(" + field + ")";
      continue;
    }
    const bool is_signed = kind.is_signed || kind.is_float;
    call.fields.push_back({type_name(kind), field, offset, kind.size, is_signed});
    offset += kind.size;
    format += print_format(kind);
    values += ", REC->" + field;
  }
  if (needs_known) call.fields.push_back({"u16", std::string(kKnown), offset, 2, false});
  call.print_fmt = "\"" + format + "\"" + values;
  return call;
}

bool SdtKnown::is_there(std::span<const uint8_t> record) const {
  uint16_t bits = 0;
  if (record.size() < sizeof bits || offset > record.size() - sizeof bits) return true;
  std::memcpy(&bits, record.data() + offset, sizeof bits);
  return bits & bit;
}

std::optional<SdtKnown> sdt_known(const EventCall& call, std::string_view field) {
  unsigned number = 0;
  if (!call.system.starts_with(kSystem) || !field.starts_with(kArgument) ||
      !to_number(field.substr(kArgument.size()), &number) || number - 1 >= kMaxSdtArguments)
    return std::nullopt;
  const EventField* known = call.find(kKnown);
  if (!known || known->size != 2) return std::nullopt;
  return SdtKnown{known->offset, uint16_t(1u << (number - 1))};
}

void resolve_sdt_symbols(const SdtSymbolAddress& address_of, std::vector<SdtArgument>* arguments) {
  for (SdtArgument& argument : *arguments) {
    if (argument.symbol.empty()) continue;
    const uint64_t address = address_of(argument.symbol);
    if (!address) argument.place = Place::kUnknown;
    argument.offset = int64_t(uint64_t(argument.offset) + address);
    argument.symbol = {};
  }
}

Result<FetchProgramPtr> compile_sdt_site(const std::vector<SdtArgument>& arguments,
                                         const EventCall& call) {
  SiteCompiler compiler;
  uint16_t known = 0;
  for (const EventField& field : call.fields) {
    size_t number = 0;
    const std::string_view name = field.name;
    const bool is_argument = name.starts_with(kArgument) &&
                             to_number(name.substr(kArgument.size()), &number) && number > 0;
    if (field.name == kKnown) {
      compiler.add_constant(known, field);
    } else if (!is_argument) {
      continue;  // __probe_ip
    } else if (number <= arguments.size() && fits(arguments[number - 1], kind_of(field))) {
      compiler.add(arguments[number - 1], field);
      known |= uint16_t(1u << (number - 1));
    } else {
      compiler.add_missing(field);
    }
  }
  return compiler.finish(call);
}

}  // namespace patchbay
