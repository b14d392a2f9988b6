// SPDX-License-Identifier: MIT
#include "symbol/follow_wishes.h"

#include <fnmatch.h>
#include <link.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/file_mapping.h"
#include "base/loaded_objects.h"
#include "base/text.h"
#include "symbol/debug_file.h"
#include "symbol/sdt_notes.h"

namespace patchbay {
namespace {

bool is_glob(std::string_view text) { return text.find_first_of("*?[") != text.npos; }

bool fits(const std::string& pattern, std::string_view text) {
  return ::fnmatch(pattern.c_str(), std::string(text).c_str(), 0) == 0;
}

// The function's own name, "insert" of "db::Table<*>::insert*(int)". A mangled name has it, unless
// it is one of those that are abbreviated there; then it is empty.
std::string_view own_name(std::string_view pattern) {
  int depth = 0;
  size_t begin = 0, end = 0;
  bool inside = false;
  for (size_t at = 0; at < pattern.size(); at++) {
    const char c = pattern[at];
    if (c == '<' || c == '(' || c == '[' || c == '{') depth++;
    if (c == '>' || c == ')' || c == ']' || c == '}') depth--;
    const bool is_part = depth == 0 && is_word_char(c);
    if (is_part && !inside) begin = at;
    if (is_part) end = at + 1;
    inside = is_part;
  }
  const std::string_view name = pattern.substr(begin, end - begin);
  if (pattern.find("operator") != pattern.npos || pattern.find('{') != pattern.npos) return "";
  for (std::string_view abbreviated :
       {"std", "string", "basic_string", "allocator", "istream", "ostream", "iostream"})
    if (name == abbreviated) return "";
  return name;
}

bool is_mangled(std::string_view symbol) {
  return symbol.starts_with("_Z") || symbol.starts_with("_R");
}

bool has_function(const std::vector<std::string>& patterns, const ElfSymbols& symbols) {
  for (size_t i = 0; i < symbols.size(); i++) {
    const Elf64_Sym symbol = symbols[i];
    const int type = ELF64_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC)) continue;
    const std::string_view name = symbols.name(symbol);
    for (const std::string& pattern : patterns)
      if (may_mean(pattern, name)) return true;
  }
  return false;
}

// "SYSTEM:EVENT", "EVENT".
bool has_event(const std::vector<std::string>& events, std::string_view system,
               std::string_view name) {
  return std::any_of(events.begin(), events.end(), [&](const std::string& event) {
    const size_t colon = event.find(':');
    if (colon == event.npos) return fits(event, name) || fits(event, system);
    return fits(event.substr(0, colon), system) && fits(event.substr(colon + 1), name);
  });
}

// What cannot be read may have anything.
bool file_may_have(const FollowWishes& wishes, const char* path) {
  Result<FileMapping> file = FileMapping::open(path);
  if (!file.ok()) return true;
  Result<ElfImage> image = ElfImage::from_file(file->bytes());
  if (!image.ok() || may_have_wanted(wishes, *image)) return true;
  if (wishes.functions.empty() || image->symtab().size() > 0) return false;
  const std::optional<FileMapping> debug = find_debug_file(path, *image, image->build_id());
  if (!debug) return false;
  Result<ElfImage> separate = ElfImage::from_file(debug->bytes());
  return !separate.ok() || has_function(wishes.functions, separate->symtab());
}

// The files of the loaded objects. The vdso has none, and the agent is not looked at.
std::vector<std::string> loaded_files() {
  std::vector<std::string> files;
  for_each_object([&](const dl_phdr_info& info) {
    const std::string_view name = info.dlpi_name ? info.dlpi_name : "";
    if (files.empty())
      files.push_back("/proc/self/exe");
    else if (name.starts_with('/') && name.find("/libpatchbay.so") == name.npos)
      files.emplace_back(name);
    return 0;
  });
  return files;
}

bool waits_for_library(const FollowWishes& wishes, const std::vector<std::string>& files) {
  return std::any_of(wishes.libraries.begin(), wishes.libraries.end(), [&](const std::string& one) {
    return std::none_of(files.begin(), files.end(),
                        [&](const std::string& file) { return base_name(file).starts_with(one); });
  });
}

}  // namespace

FollowWishes parse_follow_wishes(std::string_view text) {
  FollowWishes wishes;
  for (const std::string& line : split_lines(text)) {
    std::string_view rest = line;
    const std::string_view word = cut_at(&rest, ' ');
    if (word == "buffer_size_kb") (void)to_number(rest, &wishes.buffer_size_kb);
    if (word == "pid_namespace") (void)to_number(rest, &wishes.pid_namespace);
    if (word == "overwrite") wishes.overwrite = rest != "0";
    if (word == "all") wishes.all = true;
    if (rest.empty()) continue;
    if (word == "only") wishes.only.emplace_back(rest);
    if (word == "function") wishes.functions.emplace_back(rest);
    if (word == "event") wishes.events.emplace_back(rest);
    if (word == "library") wishes.libraries.emplace_back(rest);
  }
  return wishes;
}

std::string text_of(const FollowWishes& wishes) {
  std::string text = "buffer_size_kb " + std::to_string(wishes.buffer_size_kb) + "\noverwrite " +
                     (wishes.overwrite ? "1" : "0") + "\npid_namespace " +
                     std::to_string(wishes.pid_namespace) + "\n";
  const auto add = [&text](const char* word, const std::vector<std::string>& values) {
    for (const std::string& value : values) text += std::string(word) + " " + value + "\n";
  };
  add("only", wishes.only);
  add("function", wishes.functions);
  add("event", wishes.events);
  add("library", wishes.libraries);
  return text + (wishes.all ? "all\n" : "");
}

bool is_wanted_program(const FollowWishes& wishes, const std::string& exe) {
  return wishes.only.empty() ||
         std::any_of(wishes.only.begin(), wishes.only.end(), [&](const std::string& glob) {
           return fits(glob, exe) || fits(glob, base_name(exe));
         });
}

bool may_mean(std::string_view pattern, std::string_view symbol) {
  symbol = symbol.substr(0, symbol.find('@'));
  if (is_mangled(symbol)) {
    const std::string_view name = own_name(pattern);
    return name.empty() || symbol.find(name) != symbol.npos;
  }
  if (!is_glob(pattern))
    return symbol.substr(0, pattern.size()) == pattern &&
           (symbol.size() == pattern.size() || symbol[pattern.size()] == '.');
  return fits(std::string(pattern), symbol);
}

bool may_have_wanted(const FollowWishes& wishes, const ElfImage& image) {
  if (!wishes.functions.empty() && (has_function(wishes.functions, image.dynsym()) ||
                                    has_function(wishes.functions, image.symtab())))
    return true;
  if (wishes.events.empty()) return false;
  if (image.find_section("patchbay_events")) return true;
  for (const SdtNote& note : read_sdt_notes(image))
    if (has_event(wishes.events, note.provider, note.name)) return true;
  return false;
}

bool may_have_wanted(const FollowWishes& wishes) {
  if (wishes.all) return true;
  const std::vector<std::string> files = loaded_files();
  return waits_for_library(wishes, files) ||
         std::any_of(files.begin(), files.end(),
                     [&](const std::string& file) { return file_may_have(wishes, file.c_str()); });
}

}  // namespace patchbay
