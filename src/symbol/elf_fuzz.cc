// SPDX-License-Identifier: MIT
//
// Any bytes as an ELF file: whatever they are, reading them ends, within the bytes.
#include "symbol/demangled_name.h"
#include "symbol/landing_pads.h"
#include "symbol/load_functions.h"
#include "symbol/sdt_notes.h"

using namespace patchbay;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Result<ElfImage> image = ElfImage::from_file({data, size});
  if (!image.ok()) return 0;
  volatile size_t sink =
      image->build_id().size() + image->soname().size() + image->needed_libraries().size();
  std::vector<FunctionSymbol> functions = load_functions({&*image, &*image, true, 0x10000});
  size_t shown = 0;
  for (const FunctionSymbol& function : functions) {
    if (++shown > 64) break;
    sink = sink + demangle(function.name, false).size() + demangle(function.name, true).size();
    sink = sink + canonical_parameters(function.name).size() +
           without_template_arguments(function.name).size() + mangled_needles(function.name).size();
  }
  for (const SdtNote& note : read_sdt_notes(*image))
    sink = sink + note.provider.size() + note.name.size() + note.arguments.size();
  std::vector<uint64_t> pads;
  if (read_landing_pads(*image, &pads)) sink = sink + pads.size();
  pads.clear();
  sink = sink + add_landing_pads({data, size}, 0x1000, 0x2000, &pads);
  for (const ElfSection& section : image->sections()) {
    Bytes bytes = image->section_bytes(section);
    if (!bytes.empty()) sink = sink + bytes[0] + bytes[bytes.size() - 1];
  }
  return 0;
}
