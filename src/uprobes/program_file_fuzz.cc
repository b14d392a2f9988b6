// SPDX-License-Identifier: MIT
// Any bytes as the file of a program: nothing outside of them is read.
#include "uprobes/program_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = patchbay::ProgramFile::read({data, size});
  if (file) {
    (void)file->offset_of(file->first_address());
    (void)file->address_of(0);
  }
  for (const auto& function : patchbay::ProgramFile::functions_32({data, size}))
    if (function.name.empty()) __builtin_trap();
  return 0;
}
