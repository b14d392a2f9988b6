// SPDX-License-Identifier: MIT
//
// One loaded object. Its file is opened at the first question for its symbols or code. A single
// name is looked for in the symbol tables as they lie in the file: that costs a millisecond or two,
// even for node, and no memory. Only a list of all functions, an address or many names build
// indexes.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file_mapping.h"
#include "symbol/elf_image.h"
#include "symbol/load_functions.h"
#include "symbol/sdt_notes.h"
#include "symbol/symbol.h"

namespace patchbay {

struct ModuleIdentity {
  std::string path;
  std::string given_name;  // as the dynamic linker has it
  std::string build_id;
  uint64_t start = 0, end = 0, bias = 0;
  std::vector<Elf64_Phdr> segments;  // of an object in this process; empty for a recorded one
  bool in_this_process = false;
  bool is_executable = false;  // the program itself, not a library
  bool is_tracer = false;      // the library that this code is in
  bool may_be_unloaded = false;
};

// What else a name can be in an object.
enum class OtherUse { kNone, kImport, kData, kCode };

class ElfModule final : public Module {
 public:
  explicit ElfModule(ModuleIdentity identity);

  const std::string& path() const override { return identity_.path; }
  const std::string& name() const override { return name_; }
  const std::string& build_id() const override { return identity_.build_id; }
  uint64_t start() const override { return identity_.start; }
  uint64_t end() const override { return identity_.end; }
  uint64_t bias() const override { return identity_.bias; }
  const std::vector<FunctionSymbol>& functions() override;
  std::string_view original_code(uint64_t address, size_t size) override;
  std::string_view file_bytes(uint64_t address) override;
  void stored_addresses(const std::function<void(uint64_t, uint64_t)>& visit) override;
  const std::vector<std::pair<uint64_t, uint64_t>>& text_ranges() const override;
  std::vector<SdtNote> sdt_notes() override;
  bool landing_pads(std::vector<uint64_t>* pads) override;
  UnwindTable unwind_table() override;
  uint64_t find_symbol(std::string_view name) override;
  std::string_view version_of(const FunctionSymbol& function) const override;
  std::vector<std::pair<uint64_t, uint64_t>> walked_code() override;
  bool is_go() override;
  // The names of its local functions stand in a compressed section (MiniDebugInfo) alone.
  bool has_packed_names();

  const ModuleIdentity& identity() const { return identity_; }
  bool is_vdso() const { return is_vdso_; }
  // False: it was mapped a moment ago, and none of its code can be called yet.
  bool is_relocated() const { return relocated_; }
  void set_relocated(bool relocated) { relocated_ = relocated; }
  void set_loaded(bool loaded) { loaded_now_ = loaded; }
  // Whether `library:` means this module: libc for libc.so.6 and libc-2.31.so, or the soname's
  // start.
  bool is_called(std::string_view library);
  // Every function symbol of the tables, unsorted, doubles included, whose name starts with
  // `start`.
  void for_each_name(const std::function<void(const TableSymbol&)>& visit, std::string_view start);
  // The function of a symbol, with its size also when the symbol has none.
  FunctionSymbol complete(const TableSymbol& symbol);
  // Every function of exactly this (mangled) name.
  std::vector<FunctionSymbol> find_functions(std::string_view name);
  OtherUse find_other_use(std::string_view name);
  // Those of a source file (its name as STT_FILE has it, or the end of a path), clones included.
  std::vector<FunctionSymbol> find_functions_of_file(std::string_view name, std::string_view file);
  // Of a version: memcpy, GLIBC_2.2.5.
  std::vector<FunctionSymbol> find_functions_of_version(std::string_view name,
                                                        std::string_view version);
  // The source file of a local function; empty: no symbol table says.
  std::string_view file_of(const FunctionSymbol& function);
  // The stubs of calls into other objects: "strlen@plt". Names stay valid as long as the module.
  const std::vector<FunctionSymbol>& plt_entries();
  const FunctionSymbol* plt_entry_around(uint64_t address);
  std::string_view imported_at(uint64_t address) override;
  // The best name of the function that starts at, or contains, an address; null when there is none.
  const FunctionSymbol* function_at(uint64_t address);
  const FunctionSymbol* function_around(uint64_t address);
  // The variable that an address lies in, in the words of a function; null when there is none.
  const FunctionSymbol* variable_around(uint64_t address);
  void drop_caches();

 private:
  void open();
  void open_own();
  void open_recorded();
  bool copy_from_memory();
  bool use_file(const std::string& path, bool only_debug);
  void open_debug_file();
  std::vector<FunctionSymbol> scan_for(std::string_view name);
  std::vector<FunctionSymbol> look_up(std::string_view name);
  void build_name_index();
  void read_old_versions();
  void load_variables();
  void for_each_local(const std::function<void(const TableSymbol&, std::string_view file)>& visit);

  ModuleIdentity identity_;
  std::string name_;
  std::string soname_;
  bool is_vdso_ = false;
  bool relocated_ = true;
  bool loaded_now_ = true;  // false: its memory is gone, or another's
  bool opened_ = false;
  bool has_code_ = true;
  bool is_copy_ = false;  // file_ is a copy of memory, or of the file
  bool debug_tried_ = false;
  std::string debug_place_;  // of a recorded module: where its file is
  FileMapping file_, debug_file_;
  std::optional<ElfImage> image_, debug_;

  bool plt_loaded_ = false;
  std::vector<FunctionSymbol> plt_;  // by address
  std::deque<std::string> plt_names_;
  bool imports_loaded_ = false;
  std::unordered_map<uint64_t, std::string> imports_;  // by the address of the word

  bool variables_loaded_ = false;
  std::vector<FunctionSymbol> variables_;  // by address, of one address the best name first

  bool loaded_ = false;
  std::vector<FunctionSymbol> functions_;
  // Of those that has_default, by address and name.
  std::map<std::pair<uint64_t, std::string_view>, std::string_view> old_versions_;
  size_t scans_ = 0;
  std::vector<uint32_t> name_index_;  // open addressing; index + 1 into functions_, 0 is free
  std::vector<std::pair<uint64_t, uint64_t>> text_ranges_;
};

// The parts of a table are what it makes: both kinds of it make ElfModules.
inline ElfModule* elf(Module* module) { return static_cast<ElfModule*>(module); }

}  // namespace patchbay
