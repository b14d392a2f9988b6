// SPDX-License-Identifier: MIT
//
// What uprobes have to know of an ELF file for x86, of 64 or 32 bits: which byte of the file is at
// which address, and the functions of a 32-bit file, which symbol/ does not read. The bytes are not
// trusted: what does not fit is absent.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace patchbay {

struct ProgramFile {
  struct Segment {
    uint64_t address = 0, offset = 0, file_size = 0, memory_size = 0;
    bool is_executable = false;
  };
  struct Function {
    uint64_t address = 0, size = 0;
    bool is_global = false;
    std::string name;
  };
  bool is_32_bit = false;         // pointers of 4 bytes
  bool is_x32 = false;            // which the kernel runs in 64-bit mode
  bool is_fixed = false;          // ET_EXEC: it lies where the file says
  std::vector<Segment> segments;  // PT_LOAD
  std::string interpreter;        // PT_INTERP; empty: static
  bool has_go_note = false;

  std::optional<uint64_t> offset_of(uint64_t address) const;  // only of code
  std::optional<uint64_t> address_of(uint64_t offset) const;
  uint64_t first_address() const;
  uint64_t end_address() const;

  // Nothing: it is no ELF program for x86.
  static std::optional<ProgramFile> read(std::span<const uint8_t> untrusted_bytes);
  // Of a 32-bit file: .symtab, else .dynsym; by address.
  static std::vector<Function> functions_32(std::span<const uint8_t> untrusted_bytes);
};

}  // namespace patchbay
