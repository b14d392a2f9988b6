// SPDX-License-Identifier: MIT
//
// The records of the system `ftrace` that tracers make (docs/files.md), byte for byte as the
// format files say (event/ftrace_events.cc). Ids are fixed; those of other events begin at 512.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/buffer_abi.h"

namespace patchbay::abi {

inline constexpr uint16_t kFunctionId = 1, kKernelStackId = 4, kPrintId = 5, kBprintId = 6,
                          kGraphExitId = 10, kGraphEntryId = 11, kGraphRetaddrEntryId = 12,
                          kUserStackId = 13, kBputsId = 15, kRawDataId = 19, kFuncRepeatsId = 20;

inline constexpr uint32_t kRecordedArgs = 6;  // of func-args and funcgraph-args: the integer ones

struct FunctionRecord {
  RecordHeader header;
  uint64_t ip, parent_ip;
  uint64_t args[];  // kRecordedArgs or none
};
struct GraphEntryRecord {
  RecordHeader header;
  uint64_t func;
  uint32_t depth;
  uint32_t reserved;
  uint64_t args[];  // kRecordedArgs or none
};
struct GraphRetaddrEntryRecord {
  RecordHeader header;
  uint64_t func;
  uint32_t depth;
  uint32_t reserved;
  uint64_t retaddr;
  uint64_t args[];  // kRecordedArgs or none
};
struct GraphExitRecord {
  RecordHeader header;
  uint64_t func, retval;
  uint32_t depth, overrun;
  uint64_t calltime, rettime;  // raw clock in our rings, nanoseconds wherever records leave them
};
// Consecutive calls of the same function from the same place, but for the first of them.
struct FuncRepeatsRecord {
  RecordHeader header;
  uint64_t ip, parent_ip;
  uint16_t count;
  uint16_t top_delta_ts;     // the record's time minus that of the last call, upper …
  uint32_t bottom_delta_ts;  // … and lower bits
};
static_assert(sizeof(FunctionRecord) == 24 && sizeof(GraphEntryRecord) == 24);
static_assert(sizeof(GraphRetaddrEntryRecord) == 32 && sizeof(GraphExitRecord) == 48);
static_assert(offsetof(GraphExitRecord, calltime) == 32 && sizeof(FuncRepeatsRecord) == 32);

}  // namespace patchbay::abi
