// SPDX-License-Identifier: MIT
#include "hot/fault.h"

namespace patchbay {

namespace {

struct FaultEntry {
  int32_t from;    // the first byte, relative to this word
  uint32_t bytes;  // that may fault; 1 stands for one instruction, which faults at its start
  int32_t fixup;   // where to continue, relative to this word
};

}  // namespace

extern "C" {
// Made by the linker: the ends of the section; null where nothing that may fault is linked.
extern const FaultEntry __start_pb_faults[] __attribute__((weak, visibility("hidden")));
extern const FaultEntry __stop_pb_faults[] __attribute__((weak, visibility("hidden")));

uint64_t fault_fixup(uint64_t ip) {
  for (const FaultEntry* entry = __start_pb_faults; entry != __stop_pb_faults; entry++) {
    const uint64_t from = uint64_t(&entry->from) + uint64_t(int64_t{entry->from});
    if (ip - from < entry->bytes) return uint64_t(&entry->fixup) + uint64_t(int64_t{entry->fixup});
  }
  return 0;
}
}

}  // namespace patchbay
