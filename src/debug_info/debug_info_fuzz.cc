// SPDX-License-Identifier: MIT
//
// Any bytes as debug information: six sections, each behind its length. Whatever is asked about
// them, the answer is a definition or a sentence.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "debug_info/derive.h"
#include "debug_info/hand_made_dwarf.h"
#include "debug_info/prototypes.h"

using namespace patchbay;

namespace {

const std::string& file_name() {
  static const std::string name = [] {
    char made[] = "/tmp/debug_info_fuzz.XXXXXX";
    if (::mkstemp(made) < 0) std::abort();
    return std::string(made);
  }();
  return name;
}

test::Sections sections_of(std::string_view bytes) {
  test::Sections sections;
  for (const char* name : {".debug_abbrev", ".debug_line", ".debug_str", ".debug_loclists",
                           ".debug_rnglists", ".debug_info"}) {
    size_t size = bytes.size();
    if (name != std::string_view(".debug_info") && bytes.size() >= 2) {
      size = std::min<size_t>(uint8_t(bytes[0]) | size_t(uint8_t(bytes[1])) << 8, bytes.size() - 2);
      bytes.remove_prefix(2);
    }
    sections.emplace_back(name, bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return sections;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string file = test::elf_file(sections_of({reinterpret_cast<const char*>(data), size}));
  std::ofstream(file_name(), std::ios::binary).write(file.data(), std::streamsize(file.size()));
  Result<std::unique_ptr<SourceProbes>> probes = SourceProbes::open(file_name());
  if (!probes.ok()) return 0;
  for (const char* text : {"f a->b c[1] $vars", "f:1 *a", "f%return $retval", "a.c:1 $vars"}) {
    Result<ProbeRequest> request = parse_probe_request(text);
    if (!request.ok()) std::abort();
    (void)(*probes)->derive(*request);
    (void)(*probes)->lines(*request);
    (void)(*probes)->variables(*request);
  }
  (void)(*probes)->function_events("f");
  auto prototypes = FunctionPrototypes::open(file_name(), "");
  for (uint64_t address = 0x1000; prototypes.ok() && address < 0x1010; address++)
    (void)(*prototypes)->at(address);
  return 0;
}
