// SPDX-License-Identifier: MIT
//
// Any bytes as .eh_frame_hdr and what it leads to: rows come in order, and blocks lead to them.
#include <cstdlib>

#include "symbol/unwind_table.h"

using namespace patchbay;

namespace {

void check(const UnwindTable& table) {
  if (table.rows.empty()) return;
  if (table.rows[0].start != 0) std::abort();
  for (size_t i = 1; i < table.rows.size(); i++)
    if (table.rows[i].start <= table.rows[i - 1].start) std::abort();
  const uint64_t size = table.last - table.first;
  if (table.blocks.size() != (size + kUnwindBlock - 1) / kUnwindBlock + 1) std::abort();
  for (size_t i = 0; i < table.blocks.size(); i++) {
    const uint32_t row = table.blocks[i];
    if (row >= table.rows.size() || table.rows[row].start > i * kUnwindBlock) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Elf64_Phdr load = {};
  load.p_type = PT_LOAD;
  load.p_flags = PF_R | PF_X;
  load.p_filesz = load.p_memsz = size;
  Elf64_Phdr frames = {};
  frames.p_type = PT_GNU_EH_FRAME;
  check(make_unwind_table(ElfImage::from_copy({data, size}, 0, {load, frames}, 0)));
  Result<ElfImage> image = ElfImage::from_file({data, size});
  if (image.ok()) check(make_unwind_table(*image));
  return 0;
}
