// SPDX-License-Identifier: MIT
#include "cmd/target/named_function.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>

#include "base/foreign_file.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/target/target_program.h"
#include "symbol/debug_file.h"
#include "symbol/demangled_name.h"
#include "symbol/elf_image.h"

namespace patchbay::cmd {
namespace {

// What a file knows by a name of C.
struct NameInFile {
  bool is_function = false;
  bool is_other = false;  // a variable, a function that is chosen at run time, or one of C++
};

// What an optimizer has left of a function.
bool is_clone(std::string_view symbol) {
  return !shown_clone_suffix(symbol).empty() && !is_cold_name(symbol);
}

void look_for_name(const ElfSymbols& symbols, const std::string& name, NameInFile* found) {
  const std::string length = std::to_string(name.size());
  const std::string cxx = "_Z" + length + name, local_cxx = "_ZL" + length + name;
  const std::string nameless = "_ZN12_GLOBAL__N_1" + length + name + "E";
  for (size_t i = 1; i < symbols.size(); i++) {
    const Elf64_Sym symbol = symbols[i];
    if (symbol.st_shndx == SHN_UNDEF) continue;
    if (symbols.name_is(symbol, name)) {
      const bool is_function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
      (is_function ? found->is_function : found->is_other) = true;
    } else if (symbols.starts_with(symbol, name + ".") && is_clone(symbols.name(symbol))) {
      found->is_function = true;
    } else if (symbols.starts_with(symbol, cxx) || symbols.starts_with(symbol, local_cxx) ||
               symbols.starts_with(symbol, nameless)) {
      found->is_other = true;
    }
  }
}

NameInFile look_for_name(const std::string& path, const std::string& name) {
  NameInFile found;
  Result<ElfFile> elf = open_elf(path);
  if (!elf.ok()) return found;
  look_for_name(elf->image.dynsym(), name, &found);
  look_for_name(elf->image.symtab(), name, &found);
  const std::string debug_file = debug_path_of_build_id(elf->image.build_id());
  if (debug_file.empty() || ::access(debug_file.c_str(), R_OK) != 0) return found;
  if (Result<ElfFile> debug = open_elf(debug_file); debug.ok())
    look_for_name(debug->image.symtab(), name, &found);
  return found;
}

}  // namespace

bool may_define(const std::string& path, const std::string& name) {
  if (!path.starts_with('/')) return false;  // the kernel's own
  if (!open_foreign_file(path, kMostMappedFile).ok()) return true;
  const NameInFile found = look_for_name(path, name);
  return found.is_function || found.is_other;
}

std::string sole_file_with_function(const std::vector<std::string>& objects,
                                    const std::string& name) {
  if (name.empty() || !is_word_start(name[0])) return "";
  // A symbol of C++ may be that of a clone, _ZN1fEv.isra.0.
  const bool is_symbol = name.starts_with("_Z");
  const auto is_part = [&](char c) { return is_word_char(c) || (is_symbol && c == '.'); };
  if (!std::all_of(name.begin(), name.end(), is_part)) return "";
  std::string sole;
  for (const std::string& object : objects) {
    const NameInFile found = look_for_name(object, name);
    if (found.is_other) return "";
    if (!found.is_function) continue;
    // The dynamic linker has copies of some of libc's functions, and comes behind all libraries.
    if (base_name(object).starts_with("ld-linux") && !sole.empty()) continue;
    if (!sole.empty() && !base_name(sole).starts_with("ld-linux")) return "";
    sole = object;
  }
  return sole;
}

bool is_file_of_library(const std::string& wanted, const std::string& file) {
  return wanted.empty() || file == wanted || file.starts_with(wanted + ".") ||
         file.starts_with(wanted + "-");
}

std::vector<std::string> files_by_rank(const std::vector<std::string>& files,
                                       const std::string& program) {
  const auto is_linker = [](const std::string& file) { return file.starts_with("ld-linux"); };
  const auto rank = [&](const std::string& file) {
    return file == program ? 0 : is_linker(file) ? 3 : file.starts_with("libc.so") ? 2 : 1;
  };
  std::vector<std::string> sorted;
  for (const std::string& file : files)
    if (std::find(sorted.begin(), sorted.end(), file) == sorted.end()) sorted.push_back(file);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  // The dynamic linker has copies of some of libc's functions.
  if (sorted.size() > 1 && is_linker(sorted.back())) sorted.pop_back();
  return sorted;
}

std::string library_word(const std::string& file) {
  const std::string word = file.substr(0, file.find(".so"));
  const bool is_word = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return is_word_char(c) || std::string_view(".+-").find(c) != std::string_view::npos;
  });
  return is_word ? word : "";
}

void say_which_is_meant(const std::string& name, const std::vector<std::string>& files) {
  std::string places, others;
  for (size_t i = 0; i < files.size(); i++) {
    places += (i == 0 ? "" : i + 1 == files.size() ? " and " : ", ") + files[i];
    if (i > 0) others += (i > 1 ? ", " : "") + library_word(files[i]) + ":" + name;
  }
  remark(name + "() is in " + places + ": " + library_word(files[0]) + ":" + name +
         " is meant; the other" + (files.size() > 2 ? "s are " : " is ") + others);
}

}  // namespace patchbay::cmd
