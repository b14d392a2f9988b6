// SPDX-License-Identifier: MIT
#include "output/synthetic_text.h"

#include "base/text.h"

namespace patchbay {

namespace {

// What a 6.12 kernel calls the bits of a gfp_t, as in the print fmt of kmem:kmalloc. The order
// counts: the first name whose bits are all there takes them.
struct GfpName {
  uint32_t bits;
  const char* name;
};
constexpr GfpName kGfpNames[] = {
    {0x1c24ca, "GFP_TRANSHUGE"},
    {0x1c20ca, "GFP_TRANSHUGE_LIGHT"},
    {0x100cca, "GFP_HIGHUSER_MOVABLE"},
    {0x100cc2, "GFP_HIGHUSER"},
    {0x100cc0, "GFP_USER"},
    {0x400cc0, "GFP_KERNEL_ACCOUNT"},
    {0xcc0, "GFP_KERNEL"},
    {0xc40, "GFP_NOFS"},
    {0x820, "GFP_ATOMIC"},
    {0xc00, "GFP_NOIO"},
    {0x2800, "GFP_NOWAIT"},
    {0x1, "GFP_DMA"},
    {0x2, "__GFP_HIGHMEM"},
    {0x4, "GFP_DMA32"},
    {0x20, "__GFP_HIGH"},
    {0x40, "__GFP_IO"},
    {0x80, "__GFP_FS"},
    {0x2000, "__GFP_NOWARN"},
    {0x4000, "__GFP_RETRY_MAYFAIL"},
    {0x8000, "__GFP_NOFAIL"},
    {0x10000, "__GFP_NORETRY"},
    {0x40000, "__GFP_COMP"},
    {0x100, "__GFP_ZERO"},
    {0x80000, "__GFP_NOMEMALLOC"},
    {0x20000, "__GFP_MEMALLOC"},
    {0x100000, "__GFP_HARDWALL"},
    {0x200000, "__GFP_THISNODE"},
    {0x10, "__GFP_RECLAIMABLE"},
    {0x8, "__GFP_MOVABLE"},
    {0x400000, "__GFP_ACCOUNT"},
    {0x1000, "__GFP_WRITE"},
    {0xc00, "__GFP_RECLAIM"},
    {0x400, "__GFP_DIRECT_RECLAIM"},
    {0x800, "__GFP_KSWAPD_RECLAIM"},
    {0x800000, "__GFP_ZEROTAGS"},
};

std::string gfp_argument(const std::string& field) {
  std::string text = "__print_flags(REC->" + field + ", \"|\"";
  for (const GfpName& row : kGfpNames)
    text += ", { " + hex_number(row.bits) + ", \"" + row.name + "\" }";
  return text + ")";
}

// "a=%llu" of `rest`, up to what stands behind it; empty: it does not begin so.
std::string_view take_item(std::string_view* rest, const std::string& field) {
  if (!rest->starts_with(field + "=%")) return {};
  std::string_view item = rest->substr(0, rest->find_first_of(", \""));
  rest->remove_prefix(item.size());
  while (rest->starts_with(',') || rest->starts_with(' ')) rest->remove_prefix(1);
  return item;
}

std::string argument_of(const EventField& field) {
  if (!field.type.starts_with("__data_loc ")) {
    // The kernel shows small numbers without their sign, also those that have one. Here these have
    // it, and the others stay what they are.
    const bool has_sign = field.is_signed && field.type != "bool";
    const bool is_number = field.brackets.empty() && !field.array_len && !has_sign;
    if (is_number && field.size == 1) return "REC->" + field.name + " & 0xff";
    if (is_number && field.size == 2) return "REC->" + field.name + " & 0xffff";
    return "REC->" + field.name;
  }
  const bool is_stack = field.type.find("long[") != std::string::npos;
  return (is_stack ? "__get_stacktrace(" : "__get_str(") + field.name + ")";
}

}  // namespace

[[gnu::cold]] std::optional<EventCall> synthetic_text(const EventCall& call, bool verbose) {
  if (call.system != "synthetic" || !call.print_fmt.starts_with('"')) return std::nullopt;
  std::string_view rest = std::string_view(call.print_fmt).substr(1);
  std::string format, arguments;
  for (const EventField& field : call.fields) {
    std::string_view item = take_item(&rest, field.name);
    if (item.empty()) return std::nullopt;
    const bool is_last = &field == &call.fields.back();
    const std::string argument = argument_of(field);
    if (verbose) format.append("%").append(item.substr(field.name.size() + 1)).append(" ");
    if (argument.starts_with("__get_stacktrace")) {
      format += field.name + "=STACK:\\n%s";
    } else {
      format.append(item).append(is_last ? "" : " ");
    }
    arguments += ", " + argument;
    if (field.type != "gfp_t") continue;
    format += " (%s)";
    arguments += ", " + gfp_argument(field.name);
  }
  EventCall made = call;
  made.print_fmt = "\"" + format + "\"" + arguments;
  return made;
}

}  // namespace patchbay
