// SPDX-License-Identifier: MIT
//
// Symbols first (.symtab, or the debug file's, and .dynsym), then the unwind tables: they give
// sizes to symbols that have none, names without a type their right to be functions, and they stand
// alone where no symbol covers the code. Memory is needed for the result, and while loading for the
// unwind ranges.
#include "symbol/load_functions.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "symbol/demangled_name.h"
#include "symbol/eh_frame.h"

namespace patchbay {
namespace {

int name_rank(const FunctionSymbol& function) {
  int rank = 0;
  if (function.is_cold_part) rank += 8;
  if (!function.is_global) rank += 4;
  if (function.name.starts_with("__")) rank += 2;
  if (function.name.starts_with("_") && !function.name.starts_with("_Z")) rank += 1;
  return rank;
}

class Loader {
 public:
  explicit Loader(const ObjectSources& sources) : sources_(sources), image_(*sources.image) {}
  std::vector<FunctionSymbol> load();

 private:
  void add_table(const ElfSymbols& table, SymbolSource source);
  void add_labels();
  void drop_signal_frames();
  void give_sizes();
  void add_nameless();
  void mark_old_versions();
  uint64_t end_of_text(uint64_t address) const;
  const FrameRange* frame_around(uint64_t address) const;
  bool looks_like_plt(uint64_t address) const;

  const ObjectSources& sources_;
  const ElfImage& image_;
  std::vector<FunctionSymbol> functions_;  // addresses without bias until the end
  std::vector<FunctionSymbol> labels_;     // global names in code that do not say what they are
  std::vector<FrameRange> frames_;
};

void Loader::add_table(const ElfSymbols& table, SymbolSource source) {
  for (size_t i = 0; i < table.size(); ++i) {
    Elf64_Sym symbol = table[i];
    if (is_function(image_, symbol)) {
      functions_.push_back(make_function({table, symbol, i, source}, 0));
      if (functions_.back().name.empty()) functions_.pop_back();
      continue;
    }
    bool label = ELF64_ST_TYPE(symbol.st_info) == STT_NOTYPE && symbol.st_shndx != SHN_UNDEF &&
                 symbol.st_shndx < SHN_LORESERVE && image_.is_loaded(symbol.st_shndx) &&
                 ELF64_ST_BIND(symbol.st_info) != STB_LOCAL;
    if (label && image_.is_executable(symbol.st_value) && !image_.is_plt(symbol.st_value)) {
      labels_.push_back(make_function({table, symbol, i, source}, 0));
    }
  }
}

const FrameRange* Loader::frame_around(uint64_t address) const {
  auto after =
      std::upper_bound(frames_.begin(), frames_.end(), address,
                       [](uint64_t a, const FrameRange& frame) { return a < frame.start; });
  if (after == frames_.begin()) return nullptr;
  const FrameRange& frame = *std::prev(after);
  return address - frame.start < frame.size ? &frame : nullptr;
}

// A label at which an unwind range begins is a function, written in assembly without a .type line.
void Loader::add_labels() {
  for (const FunctionSymbol& label : labels_) {
    const FrameRange* frame = frame_around(label.address);
    bool begins = frame && frame->start == label.address && !frame->is_signal_frame;
    if (begins && !label.name.empty()) functions_.push_back(label);
  }
}

// Nobody calls what a signal handler returns to; its range begins one byte early, for the unwinder.
void Loader::drop_signal_frames() {
  std::erase_if(functions_, [this](const FunctionSymbol& function) {
    const FrameRange* frame = frame_around(function.address);
    return frame && frame->is_signal_frame;
  });
}

uint64_t Loader::end_of_text(uint64_t address) const {
  for (const Elf64_Phdr& segment : image_.segments()) {
    bool holds = address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_memsz;
    if (segment.p_type == PT_LOAD && holds) return segment.p_vaddr + segment.p_memsz;
  }
  return address;
}

// Walks backwards, so that the next function's address is at hand.
void Loader::give_sizes() {
  uint64_t next = 0;  // the next higher address than the one at hand
  for (size_t i = functions_.size(); i-- > 0;) {
    FunctionSymbol& function = functions_[i];
    bool last_alias = i + 1 == functions_.size() || functions_[i + 1].address != function.address;
    if (last_alias && i + 1 < functions_.size()) next = functions_[i + 1].address;
    if (function.size != 0) continue;
    const FrameRange* frame = frame_around(function.address);
    uint64_t text_end = end_of_text(function.address);
    uint64_t end = frame ? frame->start + frame->size : next ? std::min(next, text_end) : text_end;
    function.size = uint32_t(std::min<uint64_t>(end - function.address, UINT32_MAX));
  }
}

// jmp *slot(%rip), with or without endbr64 and bnd before it; push slot(%rip) begins the header.
bool Loader::looks_like_plt(uint64_t address) const {
  Bytes code = image_.at(address);
  static constexpr uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
  if (code.size() >= 16 && std::equal(kEndbr64, kEndbr64 + 4, code.begin())) code = code.subspan(4);
  if (code.size() >= 8 && code[0] == 0xf2) code = code.subspan(1);
  return code.size() >= 6 && code[0] == 0xff && (code[1] == 0x25 || code[1] == 0x35);
}

void Loader::add_nameless() {
  size_t named = functions_.size(), next = 0;
  uint64_t covered = 0;  // everything below belongs to a symbol
  for (const FrameRange& frame : frames_) {
    for (; next < named && functions_[next].address <= frame.start; ++next) {
      covered = std::max(covered, functions_[next].address + functions_[next].size);
    }
    if (frame.start < covered || frame.is_signal_frame) continue;
    if (image_.is_plt(frame.start) || looks_like_plt(frame.start)) continue;
    FunctionSymbol function;
    function.address = frame.start;
    function.size = frame.size;
    function.source = SymbolSource::kEhFrame;
    function.is_cold_part = frame.is_part;
    functions_.push_back(function);
  }
  auto middle = functions_.begin() + ptrdiff_t(named);
  std::inplace_merge(functions_.begin(), middle, functions_.end(),
                     [](const auto& a, const auto& b) { return a.address < b.address; });
}

void Loader::mark_old_versions() {
  std::unordered_map<std::string_view, bool> has_default;  // by the names of old versions
  for (const FunctionSymbol& function : functions_)
    if (function.is_old_version) has_default.emplace(function.name, false);
  if (has_default.empty()) return;
  for (const FunctionSymbol& function : functions_)
    if (const auto old = has_default.find(function.name); old != has_default.end())
      old->second |= !function.is_old_version && function.is_global;
  for (FunctionSymbol& function : functions_)
    function.has_default = function.is_old_version && has_default[function.name];
}

std::vector<FunctionSymbol> Loader::load() {
  SymbolSource own = sources_.has_code ? SymbolSource::kSymtab : SymbolSource::kDebugFile;
  add_table(image_.symtab(), own);
  if (sources_.debug) add_table(sources_.debug->symtab(), SymbolSource::kDebugFile);
  add_table(image_.dynsym(), SymbolSource::kDynsym);
  if (sources_.has_code) frames_ = read_eh_frame(image_);
  add_labels();
  drop_signal_frames();
  std::sort(functions_.begin(), functions_.end(), [](const auto& a, const auto& b) {
    return a.address != b.address ? a.address < b.address : is_better_name(a, b);
  });
  auto same = [](const auto& a, const auto& b) {
    return a.address == b.address && a.name == b.name;
  };
  functions_.erase(std::unique(functions_.begin(), functions_.end(), same), functions_.end());
  give_sizes();
  mark_old_versions();
  add_nameless();
  for (FunctionSymbol& function : functions_) function.address += sources_.bias;
  functions_.shrink_to_fit();
  return std::move(functions_);
}

}  // namespace

bool is_function(const ElfImage& image, const Elf64_Sym& symbol) {
  unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF &&
         symbol.st_shndx != SHN_ABS && symbol.st_value != 0 &&
         image.is_executable(symbol.st_value) && !image.is_plt(symbol.st_value);
}

FunctionSymbol make_function(const TableSymbol& from, uint64_t bias) {
  FunctionSymbol function;
  function.address = from.symbol.st_value + bias;
  function.size = uint32_t(std::min<uint64_t>(from.symbol.st_size, UINT32_MAX));
  function.source = from.source;
  function.is_ifunc = ELF64_ST_TYPE(from.symbol.st_info) == STT_GNU_IFUNC;
  function.is_global = ELF64_ST_BIND(from.symbol.st_info) != STB_LOCAL &&
                       ELF64_ST_VISIBILITY(from.symbol.st_other) != STV_HIDDEN;
  function.is_old_version = from.table.is_old_version(from.index);
  function.name = from.table.name(from.symbol);
  function.is_cold_part = is_cold_name(function.name);
  return function;
}

bool is_better_name(const FunctionSymbol& a, const FunctionSymbol& b) {
  int rank_a = name_rank(a), rank_b = name_rank(b);
  if (rank_a != rank_b) return rank_a < rank_b;
  if (a.name.size() != b.name.size()) return a.name.size() < b.name.size();
  if (int order = a.name.compare(b.name)) return order < 0;
  return a.source < b.source;
}

std::vector<FunctionSymbol> load_functions(const ObjectSources& sources) {
  return Loader(sources).load();
}

}  // namespace patchbay
