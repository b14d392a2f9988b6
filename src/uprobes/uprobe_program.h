// SPDX-License-Identifier: MIT
//
// A program that uprobes are set in: its files, their symbols, and how functions get their
// arguments. A program that does not run yet has its addresses as its file has them.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "symbol/symbol.h"
#include "uprobes/program_file.h"
#include "uprobes/uprobe_fetch.h"

namespace patchbay {

struct UprobeObject {
  std::string path;       // where we can open it, as long as we live
  std::string name;       // where the process has it
  UniqueFd file_held;     // of one that may go with the process, or that is gone
  RecordedModule module;  // its addresses
  ProgramFile file;
  bool is_go = false;
  bool is_go_without_libc = false;
};

// One place for a breakpoint.
struct UprobePlace {
  const UprobeObject* object = nullptr;
  UprobeSite site;
  uint64_t ip = 0;  // what records say: the function's entry also where the breakpoint is behind it
  std::string function;  // display name; "" when it is none's
  uint64_t offset = 0;   // in the function
};

class UprobeProgram {
 public:
  // The file that runs, and the libraries that are mapped.
  static Result<std::unique_ptr<UprobeProgram>> of_process(pid_t pid);
  // The file, and its dynamic linker (which is musl's libc).
  static Result<std::unique_ptr<UprobeProgram>> of_file(const std::string& path);

  SymbolTable& symbols() const { return *symbols_; }
  const UprobeObject& main_object() const { return *objects_.front(); }
  const std::vector<std::unique_ptr<UprobeObject>>& objects() const { return objects_; }
  std::vector<std::string> paths() const;
  // "a Go program", "a 32-bit program", "linked with musl", "statically linked"
  std::string what_it_is() const;

  // [LIB:]NAME, with an offset. ENOENT or EINVAL with a sentence.
  Result<UprobePlace> find(std::string_view symbol, uint64_t offset, bool on_return) const;
  Result<UprobePlace> at(uint64_t address, bool on_return) const;
  Result<UprobePlace> in_file(const std::string& path, uint64_t offset, bool on_return);
  // Where a byte of a file is; 0: nowhere.
  uint64_t address_of(std::string_view path, uint64_t offset) const;
  // An object lies `distance` further on than was thought. Places found before stay as they are.
  void move(const UprobeObject* object, uint64_t distance);

 private:
  UprobeProgram() = default;
  Status add(const std::string& path, uint64_t start, const std::string& name);
  void make_symbols();
  const UprobeObject* object_at(uint64_t address) const;
  Result<UprobePlace> place_in(const UprobeObject& object, uint64_t address, bool on_return) const;

  std::vector<std::unique_ptr<UprobeObject>> objects_;
  std::unique_ptr<SymbolTable> symbols_;
};

// Bytes from a Go function's entry to behind its check of the stack's size; 0: it has none. A
// function whose stack has to grow runs that check twice, and a breakpoint at the entry would be
// met twice in one call.
uint32_t go_stack_check_size(std::span<const uint8_t> untrusted_code);

}  // namespace patchbay
