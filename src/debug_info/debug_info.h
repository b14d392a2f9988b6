// SPDX-License-Identifier: MIT
//
// The debug information (DWARF 4 and 5, through libdw) of one ELF file, for the tool only: nothing
// of this folder is linked into the agent.
//
//   debug_info      the file, its debug file, its symbols and call frame information
//   split_units     what -gsplit-dwarf has put into other files
//   unit_index      which units can say something about a name, without reading them all
//   kept_units      what was found there, kept for the next command
//   functions       a function's instances: its own code, and each place it was inlined into
//   source_lines    addresses of lines, lines of functions
//   location        a DWARF expression as a chain of loads that a probe can do
//   variable        variables visible at an address; values step by step: member, element, *
//   probe_type      types, their names and how a probe shows them
//   probe_request   `func:3 a->b` taken apart       derive   and turned into plain definitions
//   object_fields   objects of the C++ library as fields of function events
//   prototypes      by a function's address: how its recorded arguments are shown
//
// The bytes are foreign. libdw checks what it reads, and every walk of ours has a bound. libdw
// opens no file by itself, but copies of ours (split_units.h): it would wait for a FIFO, and what
// it maps would not be noted (base/mapped_files.h).
#pragma once

#include <elfutils/libdw.h>
#include <gelf.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/file_mapping.h"
#include "base/result.h"
#include "debug_info/split_units.h"
#include "symbol/plt.h"

namespace patchbay {

class CallSites;

// The section of this name that has bytes in the file; null: there is none.
Elf_Scn* find_section(Elf* elf, std::string_view name);

struct ObjectSymbol {
  uint64_t address = 0;
  uint64_t size = 0;
  std::string name;  // mangled, without @VERSION
  bool is_function = false;
  bool is_local = false;
  bool is_old_version = false;  // NAME@VERSION: not what NAME alone means
};

class DebugInfo {
 public:
  // The file at `path` is the one that is loaded; its DWARF may lie in it or in its debug file
  // (by build-id, or by .gnu_debuglink, whose checksum counts where there is no build-id). The
  // sentence of an error says what is missing, or what differs. The path may be one of a process
  // (base/foreign_file.h).
  static Result<std::unique_ptr<DebugInfo>> open(const std::string& path);
  ~DebugInfo();
  DebugInfo(const DebugInfo&) = delete;
  DebugInfo& operator=(const DebugInfo&) = delete;

  const std::string& path() const { return path_; }              // absolute; as the process has it
  const std::string& name() const { return name_; }              // base name
  const std::string& debug_path() const { return debug_path_; }  // where the DWARF is
  std::string build_id() const;                                  // hex; empty when there is none
  bool is_program() const { return is_program_; }                // it asks for a dynamic linker

  Dwarf* dwarf() const { return dwarf_; }
  const SplitUnits& split_units() const { return split_units_; }
  // A section of the file with the DWARF, decompressed; empty when it has none.
  std::string_view section(const char* name) const;
  // Sorted by address; functions and data.
  const std::vector<ObjectSymbol>& symbols() const { return symbols_; }
  // The symbol of this kind that contains the address; null when there is none.
  const ObjectSymbol* symbol_at(uint64_t address, bool is_function) const;
  // Whether a symbol of this name there is one of an old version, f@VERSION beside f@@VERSION, and
  // none the default one.
  bool is_old_version(uint64_t address, std::string_view name) const;
  // How many different addresses the name stands for.
  size_t count_symbols(std::string_view name) const;
  // Where an address lies in the file. An address that exists only in memory (.bss) gets the place
  // that it would have if the segment went on. False for an address in no segment.
  bool file_offset(uint64_t address, uint64_t* offset) const;
  // The bytes of the file's code from there on, at most so many; empty: there is none.
  std::string_view code(uint64_t address, uint64_t size) const;
  // Through which its code calls what others may define.
  std::vector<PltEntry> plt() const;
  // The addresses of all code, [first, second).
  const std::vector<std::pair<uint64_t, uint64_t>>& code_ranges() const { return code_ranges_; }
  // Whether code is loaded there. A function that the linker has thrown away keeps its entry, with
  // an address that is none: 0, 1, -1, -2 …
  bool is_code(uint64_t address) const;
  // The canonical frame address at `pc` as operations of DWARF; none when it is not known. They
  // stay valid until the next call.
  std::pair<const Dwarf_Op*, size_t> frame_address(uint64_t pc);

  // Whether optimized code is in a unit, as far as somebody has asked (entry_parameters.cc).
  std::unordered_map<void*, bool> optimized_units;
  // Who calls whom, as far as somebody has asked (call_sites.h).
  std::shared_ptr<CallSites> call_sites;

 private:
  DebugInfo() = default;
  Status open_files(const std::string& path);
  Status find_debug_file();
  Status choose_path(const std::string& path);
  bool take_debug_file(const std::string& candidate, const std::string& build_id,
                       const uint32_t* checksum, std::string* other);
  Status find_alt_file();
  void read_symbols(Elf* elf);

  std::string path_, name_, opened_path_, debug_path_;
  bool is_program_ = false;
  std::vector<std::pair<uint64_t, uint64_t>> code_ranges_;
  FileMapping file_, debug_file_, alt_file_;
  Elf* elf_ = nullptr;
  Elf *debug_elf_ = nullptr, *alt_elf_ = nullptr;  // null: elf_, and none
  SplitUnits split_units_;
  Dwarf *dwarf_ = nullptr, *alt_ = nullptr;
  Dwarf_CFI *eh_frame_ = nullptr, *debug_frame_ = nullptr;
  bool has_asked_for_frames_ = false;
  Dwarf_Frame* frame_ = nullptr;
  std::vector<ObjectSymbol> symbols_;
};

}  // namespace patchbay
