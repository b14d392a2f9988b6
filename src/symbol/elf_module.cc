// SPDX-License-Identifier: MIT
#include "symbol/elf_module.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "base/foreign_file.h"
#include "base/release.h"
#include "base/text.h"
#include "symbol/debug_file.h"
#include "symbol/held_files.h"
#include "symbol/landing_pads.h"
#include "symbol/plt.h"
#include "symbol/stored_addresses.h"
#include "symbol/unwind_table.h"

namespace patchbay {
namespace {

// From here on an index over all names is cheaper than another pass over the tables.
constexpr size_t kScansBeforeIndex = 16;
// A copy of an object whose file is gone must not double a program's memory.
constexpr size_t kMaxCopy = size_t{256} << 20;

bool same_segments(const std::vector<Elf64_Phdr>& a, const std::vector<Elf64_Phdr>& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(Elf64_Phdr)) == 0;
}

bool name_begins_with_library(std::string_view name, std::string_view library) {
  if (!name.starts_with(library)) return false;
  std::string_view rest = name.substr(library.size());
  return rest.empty() || rest.starts_with(".so") || rest[0] == '-';
}

using AddressRanges = std::vector<std::pair<uint64_t, uint64_t>>;

// Padding between functions belongs to them.
AddressRanges merged(AddressRanges ranges) {
  constexpr uint64_t kPadding = 64;
  std::sort(ranges.begin(), ranges.end());
  AddressRanges result;
  for (const auto& [start, end] : ranges) {
    if (result.empty() || start > result.back().second + kPadding)
      result.emplace_back(start, end);
    else
      result.back().second = std::max(result.back().second, end);
  }
  return result;
}

// A library that may be unloaded may also be built anew in the same place, and what was read of it
// must not change then. Where nothing can be copied, or too much, it is mapped all the same.
constexpr size_t kMaxCopiedFile = size_t{4} << 20;

Mapping copied_file(const std::string& path) {
  uint64_t size = 0;
  const Result<UniqueFd> fd = open_foreign_file(path, kMaxCopiedFile, &size);
  if (!fd.ok() || size == 0) return {};
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return {};
  Mapping copy(memory, size);
  return read_exactly(fd.value().get(), 0, copy.data(), size) ? std::move(copy) : Mapping();
}

uint32_t hash_of(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : name) hash = (hash ^ uint8_t(c)) * 0x100000001b3;
  return uint32_t(hash ^ (hash >> 32));
}

}  // namespace

ElfModule::ElfModule(ModuleIdentity identity) : identity_(std::move(identity)) {
  name_ = base_name(identity_.path);
  is_vdso_ = name_ == "[vdso]" || name_.starts_with("linux-vdso.so");
  for (const Elf64_Phdr& segment : identity_.segments) {
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
    uint64_t start = identity_.bias + segment.p_vaddr;
    text_ranges_.emplace_back(start, start + segment.p_memsz);
  }
  // A recorded module does not say; its file does, once somebody opens it.
  if (!identity_.in_this_process) text_ranges_.emplace_back(identity_.start, identity_.end);
}

const std::vector<std::pair<uint64_t, uint64_t>>& ElfModule::text_ranges() const {
  if (!identity_.in_this_process) const_cast<ElfModule*>(this)->open();
  return text_ranges_;
}

// --- files

// Uses the file when it is the one that was loaded, not one that has replaced it since.
bool ElfModule::use_file(const std::string& path, bool only_debug) {
  Mapping copy = identity_.may_be_unloaded ? copied_file(path) : Mapping();
  const bool is_copied = copy.size() > 0;
  if (path.empty()) return false;
  Result<FileMapping> file = is_copied ? FileMapping(std::move(copy)) : FileMapping::open(path);
  if (!file.ok()) return false;
  Result<ElfImage> image = ElfImage::from_file(file->bytes());
  if (!image.ok() || image->build_id() != identity_.build_id) return false;
  bool unproven = identity_.build_id.empty() && identity_.in_this_process;
  if (unproven && !same_segments(image->segments(), identity_.segments)) return false;
  file_ = std::move(file.value());
  image_ = std::move(image.value());
  has_code_ = !only_debug;
  is_copy_ = is_copied;
  return true;
}

void ElfModule::open_own() {
  // The link leads to the program's file also after its name was given to another.
  if (identity_.is_executable && use_file("/proc/self/exe", false)) return;
  if (use_file(identity_.path, false)) return;
  copy_from_memory();
}

// The file is gone. A copy, and one that asks the kernel: the program may unload the object at any
// time, and then this reads nothing instead of crashing.
bool ElfModule::copy_from_memory() {
  size_t size = identity_.end - identity_.start;
  if (size > kMaxCopy || !loaded_now_) return false;
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  Mapping copy(memory, size);
  for (const Elf64_Phdr& segment : identity_.segments) {
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_R)) continue;
    uint64_t start = identity_.bias + segment.p_vaddr;
    iovec from = {reinterpret_cast<void*>(start), segment.p_memsz};
    iovec to = {copy.data() + (start - identity_.start), segment.p_memsz};
    if (::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) < 0) return false;
  }
  file_ = FileMapping(std::move(copy));
  is_copy_ = true;
  image_ = ElfImage::from_copy(file_.bytes(), identity_.start - identity_.bias, identity_.segments,
                               identity_.bias);
  return true;
}

void ElfModule::open_recorded() {
  const std::vector<std::string> places = places_of_file(identity_.path, identity_.build_id);
  const auto place = std::find_if(places.begin(), places.end(),
                                  [this](const auto& one) { return use_file(one, false); });
  if (place != places.end()) debug_place_ = *place;
  if (place == places.end() &&
      (identity_.build_id.empty() || !use_file(debug_path_of_build_id(identity_.build_id), true))) {
    return;
  }
  text_ranges_.clear();
  for (const Elf64_Phdr& segment : image_->segments()) {
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
    uint64_t start = identity_.bias + segment.p_vaddr;
    text_ranges_.emplace_back(start, start + segment.p_memsz);
  }
}

void ElfModule::open() {
  if (opened_) return;
  opened_ = true;
  if (is_vdso_) return;
  identity_.in_this_process ? open_own() : open_recorded();
  if (image_) soname_ = image_->soname();
}

void ElfModule::open_debug_file() {
  open();
  if (debug_tried_ || !image_ || file_.size() == 0 || image_->symtab().size() > 0) return;
  debug_tried_ = true;
  const std::string& path = debug_place_.empty() ? identity_.path : debug_place_;
  std::optional<FileMapping> file = find_debug_file(path, *image_, identity_.build_id);
  if (!file) file = packed_symbols(*image_);
  if (!file) return;
  Result<ElfImage> image = ElfImage::from_file(file->bytes());
  if (!image.ok()) return;
  debug_file_ = std::move(*file);
  debug_ = std::move(image.value());
}

bool ElfModule::is_called(std::string_view library) {
  if (library == identity_.path || name_begins_with_library(name_, library)) return true;
  open();
  return name_begins_with_library(soname_, library);
}

// --- functions

const std::vector<FunctionSymbol>& ElfModule::functions() {
  if (loaded_) return functions_;
  loaded_ = true;
  open_debug_file();
  if (!image_) return functions_;
  functions_ = load_functions({&*image_, debug_ ? &*debug_ : nullptr, has_code_, identity_.bias});
  read_old_versions();
  return functions_;
}

void ElfModule::read_old_versions() {
  for (const FunctionSymbol& function : functions_)
    if (function.has_default) old_versions_.try_emplace({function.address, function.name});
  if (old_versions_.empty()) return;
  for_each_name(
      [&](const TableSymbol& symbol) {
        const auto old = old_versions_.find(
            {symbol.symbol.st_value + identity_.bias, symbol.table.name(symbol.symbol)});
        if (old != old_versions_.end() && symbol.table.is_old_version(symbol.index))
          old->second = symbol.table.version(symbol.index);
      },
      "");
}

std::string_view ElfModule::version_of(const FunctionSymbol& function) const {
  const auto old = old_versions_.find({function.address, function.name});
  return old == old_versions_.end() ? std::string_view() : old->second;
}

std::string_view ElfModule::original_code(uint64_t address, size_t size) {
  open();
  uint64_t elf_address = address - identity_.bias;
  if (!image_ || !has_code_ || !image_->is_executable(elf_address)) return {};
  Bytes code = image_->at(elf_address);
  if (code.size() < size) return {};
  return {reinterpret_cast<const char*>(code.data()), size};
}

std::string_view ElfModule::file_bytes(uint64_t address) {
  open();
  if (!image_ || !has_code_) return {};
  const Bytes bytes = image_->at(address - identity_.bias);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void ElfModule::stored_addresses(const std::function<void(uint64_t, uint64_t)>& visit) {
  open();
  if (!image_ || !has_code_) return;
  for_each_stored_address(*image_, identity_.bias != 0, [&](uint64_t place, uint64_t value) {
    visit(place + identity_.bias, value + identity_.bias);
  });
}

std::vector<FunctionSymbol> ElfModule::scan_for(std::string_view name) {
  std::vector<FunctionSymbol> found;
  bool complete = true;
  auto scan = [&](const ElfSymbols& table, SymbolSource source) {
    for (size_t i = 0; i < table.size(); ++i) {
      Elf64_Sym symbol = table[i];
      if (!table.name_is(symbol, name) || symbol.st_shndx == SHN_UNDEF) continue;
      bool function = is_function(*image_, symbol);
      complete &= function ? symbol.st_size != 0 : ELF64_ST_TYPE(symbol.st_info) != STT_NOTYPE;
      if (!function) continue;
      FunctionSymbol made = make_function({table, symbol, i, source}, identity_.bias);
      auto same = [&](const FunctionSymbol& other) { return other.address == made.address; };
      if (std::none_of(found.begin(), found.end(), same)) found.push_back(made);
    }
  };
  scan(image_->symtab(), has_code_ ? SymbolSource::kSymtab : SymbolSource::kDebugFile);
  scan(image_->dynsym(), SymbolSource::kDynsym);
  if (found.empty()) {
    open_debug_file();
    if (debug_) scan(debug_->symtab(), SymbolSource::kDebugFile);
  }
  // The unwind tables know how long it is, or whether it is a function at all.
  return complete ? found : look_up(name);
}

void ElfModule::for_each_name(const std::function<void(const TableSymbol&)>& visit,
                              std::string_view start) {
  open_debug_file();
  if (!image_) return;
  auto walk = [&](const ElfSymbols& table, SymbolSource source) {
    for (size_t i = 0; i < table.size(); ++i) {
      Elf64_Sym symbol = table[i];
      if (table.starts_with(symbol, start) && is_function(*image_, symbol)) {
        visit({table, symbol, i, source});
      }
    }
  };
  walk(image_->symtab(), has_code_ ? SymbolSource::kSymtab : SymbolSource::kDebugFile);
  if (debug_) walk(debug_->symtab(), SymbolSource::kDebugFile);
  walk(image_->dynsym(), SymbolSource::kDynsym);
}

FunctionSymbol ElfModule::complete(const TableSymbol& symbol) {
  FunctionSymbol function = make_function(symbol, identity_.bias);
  if (function.size != 0) return function;
  for (const FunctionSymbol& other : look_up(function.name)) {
    if (other.address == function.address) return other;
  }
  return function;
}

void ElfModule::build_name_index() {
  functions();
  name_index_.assign(std::bit_ceil(functions_.size() * 2 + 1), 0);
  size_t mask = name_index_.size() - 1;
  for (size_t i = 0; i < functions_.size(); ++i) {
    if (functions_[i].name.empty()) continue;
    size_t slot = hash_of(functions_[i].name) & mask;
    while (name_index_[slot]) slot = (slot + 1) & mask;
    name_index_[slot] = uint32_t(i + 1);
  }
}

std::vector<FunctionSymbol> ElfModule::look_up(std::string_view name) {
  if (name_index_.empty()) build_name_index();
  std::vector<FunctionSymbol> found;
  size_t mask = name_index_.size() - 1;
  for (size_t slot = hash_of(name) & mask; name_index_[slot]; slot = (slot + 1) & mask) {
    const FunctionSymbol& function = functions_[name_index_[slot] - 1];
    if (function.name == name) found.push_back(function);
  }
  return found;
}

std::vector<FunctionSymbol> ElfModule::find_functions(std::string_view name) {
  open();
  if (!image_ || name.empty() || name.size() > ElfSymbols::kMaxName) return {};
  bool indexed = !name_index_.empty() || ++scans_ > kScansBeforeIndex;
  return indexed ? look_up(name) : scan_for(name);
}

// --- functions of a source file

// Local symbols stand behind the name of their file; global ones come last, and have none.
void ElfModule::for_each_local(
    const std::function<void(const TableSymbol&, std::string_view file)>& visit) {
  open_debug_file();
  if (!image_) return;
  const auto walk = [&](const ElfSymbols& table, SymbolSource source) {
    std::string_view file;
    for (size_t i = 0; i < table.size(); ++i) {
      const Elf64_Sym symbol = table[i];
      if (ELF64_ST_BIND(symbol.st_info) != STB_LOCAL) continue;
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FILE)
        file = table.name(symbol);
      else if (!file.empty() && is_function(*image_, symbol))
        visit({table, symbol, i, source}, file);
    }
  };
  walk(image_->symtab(), has_code_ ? SymbolSource::kSymtab : SymbolSource::kDebugFile);
  if (debug_) walk(debug_->symtab(), SymbolSource::kDebugFile);
}

namespace {

// "src/a.c" is meant by a.c, src/a.c and lib/src/a.c: a compiler notes the one or the other.
bool is_file(std::string_view noted, std::string_view asked) {
  if (noted.size() > asked.size()) std::swap(noted, asked);
  if (noted.empty() || !asked.ends_with(noted)) return false;
  return asked.size() == noted.size() || asked[asked.size() - noted.size() - 1] == '/';
}

bool is_named(std::string_view symbol, std::string_view asked) {
  if (symbol.starts_with(asked) && (symbol.size() == asked.size() || symbol[asked.size()] == '.'))
    return true;
  return symbol.starts_with("_Z") && demangle(symbol.substr(0, symbol.find('.')), false) == asked;
}

}  // namespace

std::vector<FunctionSymbol> ElfModule::find_functions_of_file(std::string_view name,
                                                              std::string_view file) {
  std::vector<FunctionSymbol> found;
  for_each_local([&](const TableSymbol& symbol, std::string_view of) {
    if (!is_file(of, file) || !is_named(symbol.table.name(symbol.symbol), name)) return;
    FunctionSymbol function = complete(symbol);
    const auto same = [&](const auto& other) { return other.address == function.address; };
    if (!function.is_cold_part && std::none_of(found.begin(), found.end(), same))
      found.push_back(function);
  });
  return found;
}

std::vector<FunctionSymbol> ElfModule::find_functions_of_version(std::string_view name,
                                                                 std::string_view version) {
  std::vector<FunctionSymbol> found;
  for_each_name(
      [&](const TableSymbol& symbol) {
        const std::string_view its_version = symbol.table.version(symbol.index);
        if (its_version != version) return;
        const std::string_view mangled = symbol.table.name(symbol.symbol);
        if (!is_named(mangled, name) && without_blanks(demangle(mangled, false)) != name) return;
        FunctionSymbol& function = found.emplace_back(complete(symbol));
        if (symbol.table.is_old_version(symbol.index))
          old_versions_[{function.address, function.name}] = its_version;
      },
      "");
  for (FunctionSymbol& function : found) {
    const std::vector<FunctionSymbol> all = find_functions(function.name);
    function.has_default =
        function.is_old_version &&
        std::any_of(all.begin(), all.end(), [](const auto& one) { return !one.is_old_version; });
  }
  return found;
}

std::string_view ElfModule::file_of(const FunctionSymbol& function) {
  std::string_view found;
  for_each_local([&](const TableSymbol& symbol, std::string_view file) {
    const bool is_it = symbol.symbol.st_value + identity_.bias == function.address &&
                       symbol.table.name_is(symbol.symbol, function.name);
    if (is_it && found.empty()) found = file;
  });
  return found;
}

// --- stubs of calls

const std::vector<FunctionSymbol>& ElfModule::plt_entries() {
  if (plt_loaded_) return plt_;
  plt_loaded_ = true;
  open();
  if (!image_ || !has_code_) return plt_;
  for (const PltEntry& entry : read_plt(*image_)) {
    FunctionSymbol function;
    function.address = entry.address + identity_.bias;
    function.size = entry.size;
    function.name = plt_names_.emplace_back(std::string(entry.name) + "@plt");
    plt_.push_back(function);
  }
  return plt_;
}

const FunctionSymbol* ElfModule::plt_entry_around(uint64_t address) {
  open();
  if (!image_ || !image_->is_plt(address - identity_.bias)) return nullptr;
  const std::vector<FunctionSymbol>& all = plt_entries();
  auto after = std::upper_bound(all.begin(), all.end(), address,
                                [](uint64_t a, const FunctionSymbol& f) { return a < f.address; });
  if (after == all.begin()) return nullptr;
  const FunctionSymbol& entry = *std::prev(after);
  return address - entry.address < entry.size ? &entry : nullptr;
}

std::string_view ElfModule::imported_at(uint64_t address) {
  if (const FunctionSymbol* stub = plt_entry_around(address)) return stub->name;
  if (!image_) return {};
  if (!imports_loaded_) {
    imports_loaded_ = true;
    for (const PltEntry& word : read_import_words(*image_))
      imports_.emplace(word.address + identity_.bias, word.name);
  }
  const auto found = imports_.find(address);
  return found == imports_.end() ? std::string_view() : found->second;
}

bool ElfModule::is_go() {
  open();
  return image_ && image_->find_section(".gopclntab");
}

bool ElfModule::has_packed_names() {
  open_debug_file();
  return image_ && !debug_ && image_->symtab().size() == 0 &&
         image_->find_section(".gnu_debugdata");
}

// By the tables of the file itself: one pass over the names.
AddressRanges ElfModule::walked_code() {
  if (is_go()) return text_ranges();
  AddressRanges ranges;
  if (!image_) return ranges;
  for (const ElfSymbols& table : {image_->symtab(), image_->dynsym()}) {
    for (size_t i = 0; i < table.size(); ++i) {
      const Elf64_Sym symbol = table[i];
      if (symbol.st_shndx == SHN_UNDEF) continue;
      if (table.name_is(symbol, "caml_frametable")) return text_ranges();
      if (!table.starts_with(symbol, "Builtins_") || !is_function(*image_, symbol)) continue;
      const uint64_t start = symbol.st_value + identity_.bias;
      ranges.emplace_back(start, start + std::max<uint64_t>(symbol.st_size, 1));
    }
  }
  return merged(std::move(ranges));
}

uint64_t ElfModule::find_symbol(std::string_view name) {
  open_debug_file();
  if (!image_ || name.empty()) return 0;
  const ElfSymbols tables[] = {image_->symtab(), image_->dynsym(),
                               debug_ ? debug_->symtab() : ElfSymbols()};
  for (const ElfSymbols& table : tables) {
    for (size_t i = 0; i < table.size(); ++i) {
      Elf64_Sym symbol = table[i];
      unsigned type = ELF64_ST_TYPE(symbol.st_info);
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS || type > STT_FUNC) continue;
      if (symbol.st_value && table.name_is(symbol, name)) return symbol.st_value + identity_.bias;
    }
  }
  return 0;
}

std::vector<SdtNote> ElfModule::sdt_notes() {
  open();
  if (!image_ || !has_code_) return {};
  std::vector<SdtNote> notes = read_sdt_notes(*image_);
  for (SdtNote& note : notes) {
    note.address += identity_.bias;
    if (note.semaphore) note.semaphore += identity_.bias;
  }
  return notes;
}

bool ElfModule::landing_pads(std::vector<uint64_t>* pads) {
  open();
  if (!image_ || !has_code_ || !read_landing_pads(*image_, pads)) return false;
  for (uint64_t& pad : *pads) pad += identity_.bias;
  return true;
}

UnwindTable ElfModule::unwind_table() {
  open();
  return image_ && has_code_ ? make_unwind_table(*image_) : UnwindTable{};
}

OtherUse ElfModule::find_other_use(std::string_view name) {
  open_debug_file();
  if (!image_ || name.empty()) return OtherUse::kNone;
  OtherUse use = OtherUse::kNone;
  const ElfSymbols tables[] = {image_->symtab(), image_->dynsym(),
                               debug_ ? debug_->symtab() : ElfSymbols()};
  for (const ElfSymbols& table : tables) {
    for (size_t i = 0; i < table.size(); ++i) {
      Elf64_Sym symbol = table[i];
      if (!table.name_is(symbol, name)) continue;
      if (is_function(*image_, symbol)) return OtherUse::kCode;
      if (symbol.st_shndx != SHN_UNDEF) return OtherUse::kData;
      use = OtherUse::kImport;
    }
  }
  return use;
}

const FunctionSymbol* ElfModule::function_around(uint64_t address) {
  const std::vector<FunctionSymbol>& all = functions();
  auto after = std::upper_bound(all.begin(), all.end(), address,
                                [](uint64_t a, const FunctionSymbol& f) { return a < f.address; });
  // A longer function may lie around a short one that ends before the address.
  constexpr int kNeighbours = 64;
  const FunctionSymbol* best = nullptr;
  for (int i = 0; i < kNeighbours && after != all.begin(); ++i) {
    --after;
    if (best && after->address != best->address) break;
    if (address - after->address < after->size) best = &*after;
  }
  return best;
}

const FunctionSymbol* ElfModule::function_at(uint64_t address) {
  const std::vector<FunctionSymbol>& all = functions();
  auto at = std::lower_bound(all.begin(), all.end(), address,
                             [](const FunctionSymbol& f, uint64_t a) { return f.address < a; });
  return at != all.end() && at->address == address ? &*at : nullptr;
}

namespace {

// Of environ, _environ and __environ the first.
size_t underscores(std::string_view name) {
  return std::min(name.find_first_not_of('_'), name.size());
}

bool stands_before(const FunctionSymbol& a, const FunctionSymbol& b) {
  if (a.address != b.address) return a.address < b.address;
  if (a.size != b.size) return a.size > b.size;
  return underscores(a.name) < underscores(b.name);
}

}  // namespace

void ElfModule::load_variables() {
  if (variables_loaded_) return;
  variables_loaded_ = true;
  open_debug_file();
  if (!image_) return;
  const ElfSymbols tables[] = {image_->symtab(), debug_ ? debug_->symtab() : ElfSymbols(),
                               image_->dynsym()};
  for (const ElfSymbols& table : tables) {
    for (size_t i = 0; i < table.size(); ++i) {
      const Elf64_Sym symbol = table[i];
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF) continue;
      if (symbol.st_shndx == SHN_ABS || symbol.st_size == 0) continue;
      FunctionSymbol variable;
      variable.address = symbol.st_value + identity_.bias;
      variable.size = uint32_t(std::min<uint64_t>(symbol.st_size, UINT32_MAX));
      variable.name = table.name(symbol);
      if (!variable.name.empty()) variables_.push_back(variable);
    }
  }
  std::stable_sort(variables_.begin(), variables_.end(), stands_before);
}

const FunctionSymbol* ElfModule::variable_around(uint64_t address) {
  load_variables();
  auto after = std::upper_bound(variables_.begin(), variables_.end(), address,
                                [](uint64_t a, const FunctionSymbol& v) { return a < v.address; });
  if (after == variables_.begin()) return nullptr;
  // Of those that begin there the first has the best name, and is the longest.
  const auto found =
      std::lower_bound(variables_.begin(), after, std::prev(after)->address,
                       [](const FunctionSymbol& v, uint64_t a) { return v.address < a; });
  return address - found->address < found->size ? &*found : nullptr;
}

void ElfModule::drop_caches() {
  loaded_ = false;
  variables_loaded_ = false;
  release(&variables_);
  scans_ = 0;
  release(&functions_);
  release(&name_index_);
  // The pages of files come back from the page cache when they are read again; a copy would not.
  for (FileMapping* mapping : {&file_, &debug_file_}) {
    bool is_copy = mapping == &file_ && is_copy_;
    if (mapping->size() > 0 && !is_copy) ::madvise(mapping->data(), mapping->size(), MADV_DONTNEED);
  }
}

}  // namespace patchbay
