// SPDX-License-Identifier: MIT
#include "symbol/debug_file.h"

#include <array>

#include "base/foreign_file.h"
#include "symbol/byte_reader.h"

namespace patchbay {
namespace {

constexpr const char* kDebugRoot = "/usr/lib/debug";
// A file that is larger is not read to the end for its checksum: it needs a build-id.
constexpr size_t kMostChecked = size_t{1} << 30;

// The CRC-32 of .gnu_debuglink (the one of zip and Ethernet).
uint32_t crc32_of(Bytes bytes) {
  std::array<uint32_t, 256> table;
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? 0xedb88320 : 0);
    table[i] = value;
  }
  uint32_t crc = 0xffffffff;
  for (uint8_t byte : bytes) crc = (crc >> 8) ^ table[(crc ^ byte) & 0xff];
  return ~crc;
}

struct DebugLink {
  std::string file;
  uint32_t crc = 0;
};

// The section: a file name, padding to 4 bytes, the checksum.
DebugLink debug_link_of(const ElfImage& image) {
  const ElfSection* section = image.find_section(".gnu_debuglink");
  if (!section) return {};
  Bytes bytes = image.section_bytes(*section);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  size_t end = text.find('\0');
  if (end == 0 || end == text.npos || text.substr(0, end).find('/') != text.npos) return {};
  ByteReader reader(bytes);
  reader.skip((end + 4) & ~size_t{3});
  DebugLink link{std::string(text.substr(0, end)), reader.read<uint32_t>()};
  return reader.ok() ? link : DebugLink{};
}

// `crc` null: only the build-id can prove that the file belongs.
std::optional<FileMapping> open_if_it_belongs(const std::string& path, const std::string& build_id,
                                              const uint32_t* crc) {
  Result<FileMapping> file = FileMapping::open(path);
  if (!file.ok()) return std::nullopt;
  Result<ElfImage> image = ElfImage::from_file(file->bytes());
  if (!image.ok() || image->symtab().size() == 0) return std::nullopt;
  std::string found = image->build_id();
  bool belongs = !found.empty() && !build_id.empty()
                     ? found == build_id
                     : crc && has_link_checksum(file->bytes(), *crc);
  if (!belongs) return std::nullopt;
  return std::move(file.value());
}

}  // namespace

std::string debug_path_of_build_id(const std::string& build_id) {
  if (build_id.size() < 4) return "";
  return std::string(kDebugRoot) + "/.build-id/" + build_id.substr(0, 2) + "/" +
         build_id.substr(2) + ".debug";
}

DebugFilePlaces debug_file_places(const std::string& path, const std::string& build_id,
                                  std::string_view link) {
  DebugFilePlaces places;
  const ProcessPath process = split_process_path(path);
  const std::string root = process.is_in_root() ? process.place + "/" : "";
  if (std::string by_id = debug_path_of_build_id(build_id); !by_id.empty()) {
    places.by_id.push_back(by_id);
    if (!root.empty()) places.by_id.push_back(root + by_id);
  }
  // Beside a file that is held open there is nothing.
  const bool has_directory = process.place.empty() || process.is_in_root();
  const size_t slash = process.inside.rfind('/');
  if (!has_directory || link.empty() || link.find('/') != link.npos || slash == std::string::npos)
    return places;
  const std::string directory = process.inside.substr(0, slash);
  for (const std::string& place :
       {directory + "/", directory + "/.debug/", kDebugRoot + directory + "/"})
    if (std::string found = root + place + std::string(link); found != path)
      places.by_link.push_back(std::move(found));
  return places;
}

bool has_link_checksum(Bytes file, uint32_t checksum) {
  return file.size() <= kMostChecked && crc32_of(file) == checksum;
}

std::optional<FileMapping> find_debug_file(const std::string& path, const ElfImage& image,
                                           const std::string& build_id) {
  const DebugLink link = debug_link_of(image);
  const DebugFilePlaces places = debug_file_places(path, build_id, link.file);
  for (const std::string& place : places.by_id)
    if (auto file = open_if_it_belongs(place, build_id, nullptr)) return file;
  for (const std::string& place : places.by_link)
    if (auto file = open_if_it_belongs(place, build_id, &link.crc)) return file;
  return std::nullopt;
}

namespace {

UnpackSymbols symbol_unpacker = nullptr;

}  // namespace

void set_symbol_unpacker(UnpackSymbols unpack) { symbol_unpacker = unpack; }

std::optional<FileMapping> packed_symbols(const ElfImage& image) {
  const ElfSection* const section = image.find_section(".gnu_debugdata");
  if (!section || !symbol_unpacker) return std::nullopt;
  return symbol_unpacker(image.section_bytes(*section));
}

}  // namespace patchbay
