// SPDX-License-Identifier: MIT
//
// USDT probes as events: the argument texts of their notes, the event that the sites of one probe
// make together, and for each site the program that fetches its arguments.
//
//   "-4@%edi 8@-16(%rbp) 4@$5"   ->   s32 arg1, u64 arg2 (shown as hex), u32 arg3
//
// Where it is known that an argument is a text, the record has the text.
//
// Sites of one probe may have their arguments in other places, and even of other sizes: the field
// is then as wide as 8 bytes, and each site's program extends what it has. What one site has and
// another has not (or there as a floating-point number of another kind) is 0 in that one's records,
// and the event has a field `__known`: bit n says that arg(n+1) is there. Readers show `?` without
// it. What no site has is no field: the text says `?` there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "event/event_call.h"
#include "event/function_event.h"

namespace patchbay {

struct SdtArgument {
  enum class Place : uint8_t {
    kUnknown,   // cannot be had (a segment, a high byte, a far xmm register)
    kConstant,  // offset, plus the address of symbol
    kRegister,  // base
    kXmm,       // base
    kMemory,    // [base + index * scale + offset + address of symbol]
  };
  Place place = Place::kUnknown;
  uint8_t size = 8;  // 1 2 4 8
  bool is_signed = false;
  bool is_float = false;
  int8_t base = -1;  // general register as in machine code, or xmm; -1: none
  int8_t index = -1;
  uint8_t scale = 1;
  int64_t offset = 0;
  std::string_view symbol;  // empty: none
};

inline constexpr size_t kMaxSdtArguments = 16;

// Never fails: a text that it does not understand becomes an argument that cannot be fetched.
// Arguments beyond kMaxSdtArguments are dropped.
std::vector<SdtArgument> parse_sdt_arguments(std::string_view text);

// Whether the argument, counted from 0, is known to be a text that ends with a NUL (sdt_texts.cc).
bool is_sdt_text(std::string_view provider, std::string_view name, size_t argument);

// The event of sites with these arguments (at least one site): sdt_PROVIDER:NAME, fields
// __probe_ip, arg1 …, perhaps __known.
EventCall make_sdt_event_call(std::string_view provider, std::string_view name,
                              const std::vector<std::vector<SdtArgument>>& sites);

// The bit of `__known` that a record has where it has this field.
struct SdtKnown {
  uint32_t offset = 0;
  uint16_t bit = 0;

  bool is_there(std::span<const uint8_t> record) const;
};
// Nothing: every record of the event has the field.
std::optional<SdtKnown> sdt_known(const EventCall& call, std::string_view field);

// Address of a symbol of the object that the probe is in. 0: it is unknown.
using SdtSymbolAddress = std::function<uint64_t(std::string_view symbol)>;
// Symbols become addresses; what needs an unknown one cannot be had.
void resolve_sdt_symbols(const SdtSymbolAddress& address_of, std::vector<SdtArgument>* arguments);

// Fetches one site's arguments, without symbols, into the fields of the call. ENOMEM.
Result<FetchProgramPtr> compile_sdt_site(const std::vector<SdtArgument>& arguments,
                                         const EventCall& call);

}  // namespace patchbay
