// SPDX-License-Identifier: MIT
// printk_formats: the formats and texts that records of ftrace:bprint and ftrace:bputs name, once
// each, as programs that know the kernel's records are to read them (output/printk_text.h).
#include "output/printk_text.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {

FilePtr make_printk_formats(const Place& place) {
  return make_text_file(place, [](TraceArray&, const Place& where) -> Result<std::string> {
    return printk_formats_text(where.tree->printk_texts());
  });
}

}  // namespace patchbay::tracefs
