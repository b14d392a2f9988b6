// SPDX-License-Identifier: MIT
#include "debug_info/debug_info.h"

#include <elfutils/libdwelf.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/foreign_file.h"
#include "base/text.h"
#include "debug_info/zstd_sections.h"
#include "symbol/debug_file.h"

namespace patchbay {
namespace {

std::string hex_of(const void* bytes, ssize_t size) {
  std::string text;
  constexpr char kDigits[] = "0123456789abcdef";
  for (ssize_t i = 0; i < size; i++) {
    uint8_t byte = static_cast<const uint8_t*>(bytes)[i];
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

std::string build_id_of(Elf* elf) {
  const void* bytes = nullptr;
  const ssize_t size = ::dwelf_elf_gnu_build_id(elf, &bytes);
  return hex_of(bytes, size);
}

bool has_dwarf(Elf* elf) {
  return find_section(elf, ".debug_info") || find_section(elf, ".zdebug_info");
}

constexpr uint64_t kMostSections = 1 << 20;

// libelf has the headers from where they lie, and reads them more than once.
void keep_headers(FileMapping& file) {
  Elf64_Ehdr header = {};
  file.keep(0, sizeof header);
  if (file.size() < sizeof header) return;
  std::memcpy(&header, file.data(), sizeof header);
  file.keep(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  uint64_t sections = header.e_shnum;
  if (sections == 0 && header.e_shoff && header.e_shoff <= file.size() - sizeof(Elf64_Shdr)) {
    file.keep(header.e_shoff, sizeof(Elf64_Shdr));
    Elf64_Shdr first;
    std::memcpy(&first, file.data() + header.e_shoff, sizeof first);
    sections = std::min<uint64_t>(first.sh_size, kMostSections);
  }
  file.keep(header.e_shoff, sections * sizeof(Elf64_Shdr));
}

Result<Elf*> open_elf(const std::string& path, FileMapping* file) {
  PB_ASSIGN(*file, FileMapping::open_private(path));
  keep_headers(*file);
  PB_ASSIGN(UnpackedBytes by_zlib, take_zlib_bytes(path, *file));
  PB_ASSIGN(std::optional<FileMapping> unpacked, with_zstd_unpacked(path, *file));
  if (unpacked) *file = std::move(*unpacked);
  file->hold(std::move(by_zlib));
  ::elf_version(EV_CURRENT);
  Elf* elf = ::elf_memory(reinterpret_cast<char*>(file->data()), file->size());
  GElf_Ehdr header;
  bool is_ours = elf && ::elf_kind(elf) == ELF_K_ELF && ::gelf_getehdr(elf, &header) &&
                 header.e_machine == EM_X86_64 && ::gelf_getclass(elf) == ELFCLASS64;
  if (is_ours) return elf;
  ::elf_end(elf);
  return user_error(ENOEXEC, path + " is not a program or library for x86-64.");
}

// The place where the debug file of a build-id belongs, and advice, for the sentence of an error.
std::string how_to_get(const std::string& build_id) {
  std::string by_id = debug_path_of_build_id(build_id);
  std::string sentence = build_id.empty() ? "It has no build-id" : "Its build-id is " + build_id;
  if (!by_id.empty()) sentence += ", its debug file would be " + by_id;
  return sentence + ". Compile it with -g, or install its package's -dbg or -dbgsym package.";
}

bool is_wanted(const GElf_Sym& symbol) {
  unsigned type = GELF_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE &&
         (type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE);
}

}  // namespace

Elf_Scn* find_section(Elf* elf, std::string_view wanted) {
  size_t names = 0;
  if (::elf_getshdrstrndx(elf, &names) != 0) return nullptr;
  for (Elf_Scn* section = nullptr; (section = ::elf_nextscn(elf, section));) {
    GElf_Shdr header;
    if (!::gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS) continue;
    const char* name = ::elf_strptr(elf, names, header.sh_name);
    if (name && wanted == name) return section;
  }
  return nullptr;
}

Result<std::unique_ptr<DebugInfo>> DebugInfo::open(const std::string& path) {
  std::unique_ptr<DebugInfo> info(new DebugInfo());
  PB_TRY(info->open_files(path));
  return info;
}

DebugInfo::~DebugInfo() {
  ::free(frame_);
  if (eh_frame_) ::dwarf_cfi_end(eh_frame_);
  if (dwarf_) ::dwarf_end(dwarf_);
  if (alt_) ::dwarf_end(alt_);
  if (alt_elf_) ::elf_end(alt_elf_);
  if (debug_elf_) ::elf_end(debug_elf_);
  if (elf_) ::elf_end(elf_);
}

// A file of a process has no other path than the one that it was given: what its links lead to here
// is another file.
Status DebugInfo::choose_path(const std::string& path) {
  const bool is_held = path.starts_with("/proc/self/fd/");
  if (const ProcessPath process = split_process_path(path); !process.place.empty() || is_held) {
    opened_path_ = debug_path_ = path;
    path_ = process.inside;
  } else {
    char real[PATH_MAX];
    if (!::realpath(path.c_str(), real)) return sys_error("open " + path, errno);
    path_ = opened_path_ = debug_path_ = real;
  }
  name_ = base_name(path_);
  return {};
}

Status DebugInfo::open_files(const std::string& path) {
  PB_TRY(choose_path(path));
  PB_ASSIGN(auto elf, open_elf(opened_path_, &file_));
  elf_ = elf;
  size_t count = 0;
  (void)::elf_getphdrnum(elf_, &count);
  for (size_t i = 0; i < count; i++) {
    GElf_Phdr segment;
    if (!::gelf_getphdr(elf_, int(i), &segment)) continue;
    is_program_ |= segment.p_type == PT_INTERP;
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
    // The first bytes of a file are its header, also where they are in the same segment.
    const uint64_t header = segment.p_offset == 0 ? sizeof(Elf64_Ehdr) : 0;
    const uint64_t size = std::min<uint64_t>(segment.p_filesz, file_.size());
    if (size > header) code_ranges_.emplace_back(segment.p_vaddr + header, segment.p_vaddr + size);
  }
  if (!has_dwarf(elf_)) PB_TRY(find_debug_file());
  Elf* const with_dwarf = debug_elf_ ? debug_elf_ : elf_;
  dwarf_ = ::dwarf_begin_elf(with_dwarf, DWARF_C_READ, nullptr);
  if (dwarf_) split_units_.join(&dwarf_, with_dwarf, debug_path_);
  if (!dwarf_) {
    return user_error(EINVAL, "The debug information in " + debug_path_ +
                                  " cannot be read: " + ::dwarf_errmsg(-1) + ".");
  }
  PB_TRY(find_alt_file());
  read_symbols(elf_);
  if (debug_elf_) read_symbols(debug_elf_);
  std::sort(symbols_.begin(), symbols_.end(), [](const auto& a, const auto& b) {
    return a.address != b.address ? a.address < b.address : a.name < b.name;
  });
  return {};
}

std::string DebugInfo::build_id() const { return build_id_of(elf_); }

// False when the candidate exists and does not belong to us; *other says why. Where one of the two
// has no build-id, the checksum of .gnu_debuglink says whether it does (`checksum`: null, it was
// not found by that).
bool DebugInfo::take_debug_file(const std::string& candidate, const std::string& build_id,
                                const uint32_t* checksum, std::string* other) {
  FileMapping file;
  Result<Elf*> elf = open_elf(candidate, &file);
  if (!elf.ok()) return false;
  const std::string found = build_id_of(*elf);
  const auto word = [](const std::string& id) { return id.empty() ? "none" : id; };
  if (!found.empty() && !build_id.empty() && found != build_id)
    *other = candidate + " does not belong to it: the build-id there is " + found +
             ", its own is " + build_id + ".";
  else if ((found.empty() || build_id.empty()) && !checksum)
    *other = candidate + " does not belong to it: the build-id there is " + word(found) +
             ", its own is " + word(build_id) + ".";
  else if ((found.empty() || build_id.empty()) && !has_link_checksum(file.bytes(), *checksum))
    *other = candidate +
             " does not belong to it: .gnu_debuglink has another checksum (CRC-32) than that file, "
             "which is of another build.";
  else if (!has_dwarf(*elf))
    *other = candidate + " has no debug information either.";
  else
    return debug_elf_ = *elf, debug_file_ = std::move(file), debug_path_ = candidate, true;
  ::elf_end(*elf);
  return false;
}

Status DebugInfo::find_debug_file() {
  const std::string build_id = build_id_of(elf_);
  std::string other;
  GElf_Word checksum = 0;
  const char* link = ::dwelf_elf_gnu_debuglink(elf_, &checksum);
  const DebugFilePlaces places = debug_file_places(opened_path_, build_id, link ? link : "");
  for (const std::string& place : places.by_id)
    if (take_debug_file(place, build_id, nullptr, &other)) return {};
  for (const std::string& place : places.by_link)
    if (take_debug_file(place, build_id, &checksum, &other)) return {};
  return user_error(ENOENT, path_ + " has no debug information. " +
                                (other.empty() ? how_to_get(build_id) : other));
}

// What dwz has taken out of several debug files stands in one for all of them: by its build-id,
// else by the name, which may begin at the file that names it. libdw looks for it only where we
// have found none, and then there is none.
Status DebugInfo::find_alt_file() {
  const char* link = nullptr;
  const void* id = nullptr;
  const ssize_t size = ::dwelf_dwarf_gnu_debugaltlink(dwarf_, &link, &id);
  if (size <= 0 || !link || !*link) return {};
  const std::string build_id = hex_of(id, size), name = link;
  const std::string directory = debug_path_.substr(0, debug_path_.rfind('/') + 1);
  const ProcessPath process = split_process_path(debug_path_);
  const std::string root = process.is_in_root() ? process.place + "/" : "";
  for (const std::string& path :
       {debug_path_of_build_id(build_id), name[0] == '/' ? root + name : directory + name}) {
    FileMapping file;
    Result<Elf*> elf = path.empty() ? sys_error("open", ENOENT) : open_elf(path, &file);
    if (!elf.ok() && ::access(path.c_str(), F_OK) == 0) return elf.error();
    if (!elf.ok()) continue;
    alt_file_ = std::move(file);
    alt_elf_ = *elf;
    alt_ = ::dwarf_begin_elf(alt_elf_, DWARF_C_READ, nullptr);
    if (!alt_ || build_id_of(alt_elf_) != build_id)
      return user_error(EINVAL, path + " does not belong to " + debug_path_ + ", which names it.");
    ::dwarf_setalt(dwarf_, alt_);
    return {};
  }
  return {};
}

std::string_view DebugInfo::section(const char* name) const {
  Elf_Scn* section = find_section(debug_elf_ ? debug_elf_ : elf_, name);
  GElf_Shdr header;
  if (!section || !::gelf_getshdr(section, &header)) return {};
  if ((header.sh_flags & SHF_COMPRESSED) && ::elf_compress(section, 0, 0) < 0) return {};
  Elf_Data* data = ::elf_rawdata(section, nullptr);
  if (!data || !data->d_buf) return {};
  return {static_cast<const char*>(data->d_buf), data->d_size};
}

namespace {

// What .gnu.version says of the symbols of .dynsym; null: there is none.
Elf_Data* versions_of(Elf* elf) {
  GElf_Shdr header;
  for (Elf_Scn* section = nullptr; (section = ::elf_nextscn(elf, section));)
    if (::gelf_getshdr(section, &header) && header.sh_type == SHT_GNU_versym)
      return ::elf_getdata(section, nullptr);
  return nullptr;
}

// A version that new programs do not ask for. Other tables than .dynsym have it in the name.
bool is_old_symbol(std::string_view name, Elf_Data* versions, size_t index) {
  constexpr GElf_Versym kHidden = 0x8000;
  const size_t at = name.find('@');
  if (at != name.npos) return name.substr(at, 2) != "@@";
  GElf_Versym version = 0;
  return versions && ::gelf_getversym(versions, int(index), &version) && (version & kHidden);
}

}  // namespace

void DebugInfo::read_symbols(Elf* elf) {
  for (Elf_Scn* section = nullptr; (section = ::elf_nextscn(elf, section));) {
    GElf_Shdr header;
    if (!::gelf_getshdr(section, &header)) continue;
    if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) continue;
    Elf_Data* data = ::elf_getdata(section, nullptr);
    Elf_Data* const versions = header.sh_type == SHT_DYNSYM ? versions_of(elf) : nullptr;
    size_t count = data && header.sh_entsize ? data->d_size / header.sh_entsize : 0;
    for (size_t i = 0; i < count; i++) {
      GElf_Sym symbol;
      if (!::gelf_getsym(data, int(i), &symbol) || !is_wanted(symbol)) continue;
      const char* text = ::elf_strptr(elf, header.sh_link, symbol.st_name);
      if (!text || !*text) continue;
      std::string_view name(text);
      symbols_.push_back(
          {symbol.st_value, symbol.st_size, std::string(name.substr(0, name.find('@'))),
           GELF_ST_TYPE(symbol.st_info) == STT_FUNC, GELF_ST_BIND(symbol.st_info) == STB_LOCAL,
           is_old_symbol(name, versions, i)});
    }
  }
}

const ObjectSymbol* DebugInfo::symbol_at(uint64_t address, bool is_function) const {
  auto end = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                              [](uint64_t a, const ObjectSymbol& s) { return a < s.address; });
  const ObjectSymbol* best = nullptr;
  // The search is bounded: an array of labels before the symbol is no reason to look at all of
  // them.
  for (size_t steps = 0; end != symbols_.begin() && steps < 4096; steps++) {
    --end;
    bool holds = address - end->address < std::max<uint64_t>(end->size, 1);
    if (end->is_function != is_function || !holds) continue;
    bool better = !best || (best->address == end->address && best->is_local && !end->is_local);
    if (best && best->address != end->address) break;
    if (better) best = &*end;
  }
  return best;
}

bool DebugInfo::is_old_version(uint64_t address, std::string_view name) const {
  bool is_old = false;
  auto one = std::lower_bound(symbols_.begin(), symbols_.end(), address,
                              [](const ObjectSymbol& s, uint64_t a) { return s.address < a; });
  for (; one != symbols_.end() && one->address == address; ++one) {
    if (one->name != name) continue;
    if (!one->is_old_version) return false;
    is_old = true;
  }
  return is_old;
}

size_t DebugInfo::count_symbols(std::string_view name) const {
  std::vector<uint64_t> found;
  for (const ObjectSymbol& symbol : symbols_) {
    if (symbol.name == name && (found.empty() || found.back() != symbol.address))
      found.push_back(symbol.address);
  }
  return found.size();
}

bool DebugInfo::file_offset(uint64_t address, uint64_t* offset) const {
  size_t count = 0;
  (void)::elf_getphdrnum(elf_, &count);
  for (size_t i = 0; i < count; i++) {
    GElf_Phdr segment;
    if (!::gelf_getphdr(elf_, int(i), &segment) || segment.p_type != PT_LOAD) continue;
    if (address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_memsz) continue;
    *offset = address - segment.p_vaddr + segment.p_offset;
    return true;
  }
  return false;
}

std::string_view DebugInfo::code(uint64_t address, uint64_t size) const {
  uint64_t offset = 0;
  if (!is_code(address) || !file_offset(address, &offset) || offset >= file_.size()) return {};
  return {reinterpret_cast<const char*>(file_.data()) + offset,
          std::min<uint64_t>(size, file_.size() - offset)};
}

std::vector<PltEntry> DebugInfo::plt() const {
  Result<ElfImage> image = ElfImage::from_file(file_.bytes());
  return image.ok() ? read_plt(*image) : std::vector<PltEntry>();
}

bool DebugInfo::is_code(uint64_t address) const {
  return std::any_of(code_ranges_.begin(), code_ranges_.end(), [&](const auto& range) {
    return address >= range.first && address < range.second;
  });
}

std::pair<const Dwarf_Op*, size_t> DebugInfo::frame_address(uint64_t pc) {
  if (!has_asked_for_frames_) {
    eh_frame_ = ::dwarf_getcfi_elf(elf_);
    debug_frame_ = ::dwarf_getcfi(dwarf_);
    has_asked_for_frames_ = true;
  }
  for (Dwarf_CFI* table : {debug_frame_, eh_frame_}) {
    Dwarf_Frame* frame = nullptr;
    if (!table || ::dwarf_cfi_addrframe(table, pc, &frame) != 0) continue;
    ::free(frame_);
    frame_ = frame;
    Dwarf_Op* ops = nullptr;
    size_t count = 0;
    if (::dwarf_frame_cfa(frame_, &ops, &count) == 0 && count > 0) return {ops, count};
  }
  return {nullptr, 0};
}

}  // namespace patchbay
