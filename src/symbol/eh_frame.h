// SPDX-License-Identifier: MIT
//
// Where functions begin and end according to the unwind tables. A stripped file still has them.
#pragma once

#include <cstdint>
#include <vector>

#include "symbol/elf_image.h"

namespace patchbay {

struct FrameRange {
  uint64_t start = 0;  // ELF address
  uint32_t size = 0;
  // The frame of a signal handler's return; no code calls it.
  bool is_signal_frame = false;
  // The first instruction already has a frame that a function's entry cannot have: the cold part of
  // another function, or a PLT header.
  bool is_part = false;
};

// Sorted by address, one entry a start. Found through PT_GNU_EH_FRAME: its table, or when it has
// none the records one after the other.
std::vector<FrameRange> read_eh_frame(const ElfImage& image);

// Where a function's table of exception handlers lies (its LSDA, see landing_pads.h).
struct HandlerTable {
  uint64_t function = 0;  // ELF address of its start
  uint64_t address = 0;   // ELF address of the table
};

// All of them. False when a record cannot be read or there are no unwind tables: the object may
// have others then.
bool read_handler_tables(const ElfImage& image, std::vector<HandlerTable>* tables);

}  // namespace patchbay
