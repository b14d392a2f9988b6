// SPDX-License-Identifier: MIT
// Names of addresses for text output: from a kallsyms text (trace.dat) or a symbol table (buffer
// file). A recording of several programs has one kallsyms text for all, and names of its own for
// an image (a process between two execs) where that has something else at an address: so who names
// the addresses of a record says first whose record it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "symbol/symbol.h"

namespace patchbay {

class AddressNames {
 public:
  struct Name {
    std::string_view name;  // valid until the next lookup
    uint64_t offset = 0, size = 0;
    bool is_variable = false;
    const Module* module = nullptr;  // null: names alone are known
  };
  struct Range {
    uint64_t start = 0, end = 0;
    std::string name;  // "": no function is known there
    bool operator==(const Range&) const = default;
  };
  // Whose record it is: index of the image and one, 0: not known; the name of its thread then,
  // null: not known. The name stays where it is.
  struct Owner {
    uint32_t image = 0;
    const std::string* comm = nullptr;
  };
  using OwnerOf = std::function<Owner(int32_t tid, uint64_t ns)>;

  // Lines "%llx t name\t[module]"; lines that are not are skipped. A function ends where the next
  // line begins.
  static AddressNames from_kallsyms(std::string_view untrusted_text);
  static AddressNames from_symbols(std::unique_ptr<SymbolTable> symbols);
  // The agent's own table, which outlives this.
  static AddressNames from_symbols(SymbolTable& symbols);
  // The same names of a kallsyms text and of images, for another thread, which says itself who
  // stands where.
  AddressNames like_these(OwnerOf owner_of) const;

  // By image, ascending: what stands before all other names.
  void set_images(std::vector<std::vector<Range>> ranges, OwnerOf owner_of);
  bool has_images() const { return owner_of_ != nullptr; }
  // From here on a record of this thread and time is named.
  void stand_at(int32_t tid, uint64_t ns) {
    if (owner_of_) owner_ = owner_of_(tid, ns), tid_ = tid;
  }
  uint32_t image() const { return owner_.image; }
  // The thread's name then; null: nothing is known, or it is another thread.
  const std::string* comm(int32_t tid) const { return tid == tid_ ? owner_.comm : nullptr; }
  // Images with the same number name all addresses alike.
  uint32_t table() const { return owner_.image ? table_of_image_[owner_.image - 1] : 0; }

  // False when no function and no variable is known there.
  bool lookup(uint64_t address, Name* out);
  SymbolTable* symbols() const { return symbols_; }

 private:
  struct Line {
    uint64_t address;
    std::string name;
    bool is_variable;
  };
  using Lines = std::vector<Line>;
  using Tables = std::vector<std::vector<Range>>;
  std::shared_ptr<const Lines> lines_ = std::make_shared<Lines>();
  std::unique_ptr<SymbolTable> owned_;
  SymbolTable* symbols_ = nullptr;
  std::string last_;

  OwnerOf owner_of_;
  Owner owner_;
  int32_t tid_ = -1;
  std::shared_ptr<const Tables> tables_ = std::make_shared<Tables>();  // [0] is empty
  std::vector<uint32_t> table_of_image_;
};

}  // namespace patchbay
