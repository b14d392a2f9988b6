// SPDX-License-Identifier: MIT
// debug/call_sites: the places in functions that are patched now, and for whom; the sites of static
// events; those of USDT probes that were ever asked for.
#include "base/text.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

namespace {

std::string function_label(SymbolTable& symbols, uint64_t address) {
  SymbolizedAddress found;
  if (!symbols.symbolize(address, &found)) return hex_number(address);
  return found.name + (found.module ? " [" + found.module->name() + "]" : "");
}

}  // namespace

FilePtr make_call_sites(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& at) -> Result<std::string> {
    const TreeContext& context = at.tree->context;
    std::string text = context.sites.show(
        [&](uint64_t address) { return function_label(context.symbols, address); });
    if (context.more_call_sites) text += context.more_call_sites();
    return text;
  });
}

}  // namespace patchbay::tracefs
