// SPDX-License-Identifier: MIT
//
// The records of .eh_frame one by one:
//
//   .eh_frame_hdr                        .eh_frame
//   +---------------------------+        +-----------------------------------------+
//   | version, three encodings  |   +--> | CIE: how addresses are encoded, ...     |
//   | start of .eh_frame -------+---+    +-----------------------------------------+
//   | number of entries         |        | FDE: distance to its CIE, start, size,  |
//   | start, FDE  (sorted) -----+------> |      instructions that describe frames  |
//   | ...                       |        +-----------------------------------------+
//
// (Linux Standard Base, Core, chapter 10.6.) Only the FDE has the size of a function, so each FDE
// is visited.
#pragma once

#include <cstdint>
#include <functional>

#include "symbol/byte_reader.h"
#include "symbol/elf_image.h"

namespace patchbay {

inline constexpr uint8_t kOmittedPointer = 0xff;

struct EhCie {
  uint64_t address = 0;
  uint64_t code_alignment = 1;
  int64_t data_alignment = 1;
  uint64_t return_register = 0;
  uint8_t pointer_encoding = 0;
  uint8_t table_encoding = kOmittedPointer;  // of the pointer to a function's table of handlers
  bool has_augmentation_data = false;
  bool is_signal_frame = false;
  bool valid = false;
  Bytes instructions;  // that every FDE of it begins with
};

struct EhFde {
  uint64_t body = 0;   // ELF address of the bytes behind its length
  uint64_t start = 0;  // ELF address of the function
  uint64_t size = 0;
  const EhCie* cie = nullptr;        // until the next read_fde()
  ByteReader rest = ByteReader({});  // behind `size`: augmentation data, instructions
};

class EhRecords {
 public:
  // `header`: ELF address of .eh_frame_hdr.
  EhRecords(const ElfImage& image, uint64_t header) : image_(image), header_(header) {}

  // All that the table of .eh_frame_hdr names; when it has none, all records in their order (CIEs
  // too, which read_fde() tells). False: the header, or a part of the table, cannot be read.
  bool for_each(const std::function<void(uint64_t address)>& visit);

  enum class Kind : uint8_t { kFde, kCie, kBad };
  Kind read_fde(uint64_t address, EhFde* fde);

 private:
  bool read_pointer(ByteReader& reader, uint8_t encoding, uint64_t base, uint64_t* out) const;
  Bytes record_at(uint64_t address, uint64_t* body, uint64_t* next) const;
  const EhCie& cie_at(uint64_t address);
  void parse_cie(uint64_t address);
  bool parse_augmentation(ByteReader& reader, uint64_t body, const char* letters);

  const ElfImage& image_;
  uint64_t header_;
  EhCie cie_;  // the last one: neighbours share it
};

// PT_GNU_EH_FRAME's address; 0: the object has no unwind tables.
uint64_t eh_frame_header(const ElfImage& image);

// A pointer in one of the encodings of unwind tables (DW_EH_PE_*), relative to nothing or to
// itself; `self` is its address. 0 stays 0. False when it is encoded otherwise or does not fit.
bool read_encoded_pointer(ByteReader& reader, uint8_t encoding, uint64_t self, uint64_t* out);

}  // namespace patchbay
