// SPDX-License-Identifier: MIT
#include "debug_info/split_units.h"

#include <dwarf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/foreign_file.h"
#include "base/text.h"
#include "debug_info/debug_info.h"
#include "debug_info/die.h"
#include "debug_info/zstd_sections.h"

namespace patchbay {
namespace {

constexpr uint64_t kMostCopied = 512 << 20;  // of all files together
constexpr size_t kMostUnits = 1 << 16;
constexpr char kDescriptors[] = "/proc/self/fd/";
constexpr size_t kNameBytes = 32;  // with room for a descriptor's number

Elf_Data* data_of(Elf* elf, std::string_view wanted) {
  Elf_Scn* const section = find_section(elf, wanted);
  return section ? ::elf_getdata(section, nullptr) : nullptr;
}

std::optional<Dwarf_Attribute> name_of_rest(Dwarf_Die unit) {
  Dwarf_Attribute found;
  for (const unsigned one : {DW_AT_dwo_name, DW_AT_GNU_dwo_name})
    if (::dwarf_attr(&unit, one, &found)) return found;
  return std::nullopt;
}

// How many bytes of its section an attribute's value has at most.
size_t room_of(const Dwarf_Attribute& attribute, const Elf_Data* section) {
  const auto* begin = section ? static_cast<const unsigned char*>(section->d_buf) : nullptr;
  if (!begin || attribute.valp < begin || attribute.valp >= begin + section->d_size) return 0;
  return size_t(begin + section->d_size - attribute.valp);
}

// The number of a string that an attribute has by its number; nothing: it has another form.
std::optional<uint64_t> string_index(const Dwarf_Attribute& attribute, size_t room) {
  const size_t bytes = attribute.form == DW_FORM_strx1   ? 1
                       : attribute.form == DW_FORM_strx2 ? 2
                       : attribute.form == DW_FORM_strx3 ? 3
                       : attribute.form == DW_FORM_strx4 ? 4
                                                         : 0;
  uint64_t index = 0;
  if (bytes > room) return std::nullopt;
  std::memcpy(&index, attribute.valp, bytes);
  if (bytes > 0) return index;
  if (attribute.form != DW_FORM_strx) return std::nullopt;
  for (size_t i = 0; i < std::min<size_t>(room, 9); i++) {
    index |= uint64_t(attribute.valp[i] & 0x7f) << (7 * i);
    if (!(attribute.valp[i] & 0x80)) return index;
  }
  return std::nullopt;
}

}  // namespace

// Puts the name that all have behind the skeleton's attribute. False: its form is none that
// compilers take for it.
bool SplitUnits::rename(Dwarf_Die skeleton, Elf* elf) const {
  Dwarf_Attribute attribute = *name_of_rest(skeleton);
  const auto offset = uint32_t(name_at_);
  const size_t room = room_of(attribute, data_of(elf, ".debug_info"));
  if (attribute.form == DW_FORM_strp && room >= sizeof offset) {
    std::memcpy(attribute.valp, &offset, sizeof offset);
    return true;
  }
  const std::optional<uint64_t> index = string_index(attribute, room);
  const std::optional<uint64_t> base = number_of(skeleton, DW_AT_str_offsets_base);
  Elf_Data* const table = data_of(elf, ".debug_str_offsets");
  if (!index || !base || !table || table->d_size < sizeof offset) return false;
  const uint64_t most = table->d_size - sizeof offset;
  if (*base > most || *index > (most - *base) / sizeof offset) return false;
  std::memcpy(static_cast<char*>(table->d_buf) + *base + *index * sizeof offset, &offset,
              sizeof offset);
  return true;
}

UniqueFd SplitUnits::copy_of(const Skeleton& skeleton, const std::string& debug_path) {
  const ProcessPath process = split_process_path(debug_path);
  const std::string root = process.is_in_root() ? process.place + "/" : "";
  const std::string beside = debug_path.substr(0, debug_path.rfind('/') + 1);
  std::vector<std::string> places;
  if (skeleton.name.starts_with('/')) places.push_back(root + skeleton.name);
  if (!skeleton.name.starts_with('/') && skeleton.directory.starts_with('/'))
    places.push_back(root + skeleton.directory + "/" + skeleton.name);
  places.push_back(beside + std::string(base_name(skeleton.name)));
  for (const std::string& place : places) {
    Result<std::string> bytes = read_foreign_file(place, kMostCopied - copied_);
    if (!bytes.ok() || bytes->empty()) continue;
    Result<UnpackedBytes> packed =
        take_packed_bytes(place, {reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size()});
    if (!packed.ok()) continue;
    UniqueFd copy(::memfd_create("dwo", MFD_CLOEXEC));
    if (!copy.valid() ||
        ::write(copy.get(), bytes->data(), bytes->size()) != ssize_t(bytes->size()))
      continue;
    copied_ += bytes->size();
    unpacked_.add(std::move(*packed));
    return copy;
  }
  return UniqueFd();
}

void SplitUnits::join_one(Dwarf* dwarf, const Skeleton& skeleton, const std::string& debug_path) {
  Dwarf_Die unit, rest;
  if (!::dwarf_offdie(dwarf, skeleton.entry, &unit)) return;
  const UniqueFd copy = copy_of(skeleton, debug_path);
  // What is not there is asked for, too, for libdw to look for no other.
  const std::string path = kDescriptors + std::to_string(copy.get());
  std::memcpy(strings_.data() + name_at_, path.c_str(), path.size() + 1);
  const bool is_joined =
      ::dwarf_cu_info(unit.cu, nullptr, nullptr, nullptr, &rest, nullptr, nullptr, nullptr) == 0 &&
      rest.addr;
  if (is_joined)
    rests_.emplace(unit.addr, rest);
  else if (missing_.empty())
    missing_ = skeleton.name;
}

void SplitUnits::join(Dwarf** dwarf, Elf* elf, const std::string& debug_path) {
  std::vector<Dwarf_Die> units;
  std::vector<Skeleton> skeletons;
  Dwarf_Off offset = 0, next = 0;
  size_t header = 0;
  while (units.size() < kMostUnits &&
         ::dwarf_nextcu(*dwarf, offset, &next, &header, nullptr, nullptr, nullptr) == 0 &&
         next > offset) {
    Dwarf_Die unit;
    if (::dwarf_offdie(*dwarf, offset + header, &unit) && name_of_rest(unit)) {
      units.push_back(unit);
      Dwarf_Attribute name = *name_of_rest(unit);
      const char* text = ::dwarf_formstring(&name);
      skeletons.push_back({offset + header, text ? text : "", text_of(unit, DW_AT_comp_dir)});
    }
    offset = next;
  }
  Elf_Data* const strings = units.empty() ? nullptr : data_of(elf, ".debug_str");
  if (!strings || strings->d_size > UINT32_MAX - kNameBytes) return;
  strings_.assign(static_cast<const char*>(strings->d_buf), strings->d_size);
  strings_ += '\0';
  name_at_ = strings_.size();
  strings_.append(kNameBytes, '\0');
  std::vector<bool> is_renamed;
  for (const Dwarf_Die& unit : units) is_renamed.push_back(rename(unit, elf));
  strings->d_buf = strings_.data();
  strings->d_size = strings_.size();
  ::dwarf_end(*dwarf);
  *dwarf = ::dwarf_begin_elf(elf, DWARF_C_READ, nullptr);
  for (size_t i = 0; *dwarf && i < skeletons.size(); i++) {
    if (is_renamed[i]) join_one(*dwarf, skeletons[i], debug_path);
    if (!is_renamed[i] && missing_.empty()) missing_ = skeletons[i].name;
  }
}

std::optional<Dwarf_Die> SplitUnits::rest_of(Dwarf_Die skeleton) const {
  const auto found = rests_.find(skeleton.addr);
  if (found == rests_.end()) return std::nullopt;
  return found->second;
}

bool SplitUnits::may_name(Dwarf_Die unit, std::string_view name) {
  Elf* const elf = ::dwarf_getelf(::dwarf_cu_getdwarf(unit.cu));
  for (const char* section : {".debug_str.dwo", ".debug_info.dwo"}) {
    const Elf_Data* data = elf ? data_of(elf, section) : nullptr;
    if (data && data->d_buf && ::memmem(data->d_buf, data->d_size, name.data(), name.size()))
      return true;
  }
  return false;
}

}  // namespace patchbay
