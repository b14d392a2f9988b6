// SPDX-License-Identifier: MIT
//
// Small files that unpack to much: each is bounded, and all of them together.
#include "debug_info/packed_symbols.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <lzma.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/unpacked_bytes.h"
#include "debug_info/debug_info.h"
#include "debug_info/zstd_sections.h"

namespace patchbay {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

std::vector<uint8_t> packed_zeros(size_t bytes) {
  const std::vector<uint8_t> zeros(bytes);
  std::vector<uint8_t> packed(::lzma_stream_buffer_bound(bytes));
  size_t size = 0;
  EXPECT_EQ(::lzma_easy_buffer_encode(0, LZMA_CHECK_NONE, nullptr, zeros.data(), bytes,
                                      packed.data(), &size, packed.size()),
            LZMA_OK);
  packed.resize(size);
  return packed;
}

TEST(PackedSymbols, AreBoundedInOneFile) {
  EXPECT_TRUE(unpacked_symbols(packed_zeros(31 * kMiB)).has_value());
  EXPECT_FALSE(unpacked_symbols(packed_zeros(33 * kMiB)).has_value());
}

TEST(PackedSymbols, AreBoundedInAllFilesTogether) {
  const std::vector<uint8_t> packed = packed_zeros(30 * kMiB);
  std::vector<FileMapping> held;
  for (int i = 0; i < 20; i++)
    if (auto file = unpacked_symbols(packed)) held.push_back(std::move(*file));
  EXPECT_GT(held.size(), size_t{5});
  EXPECT_LT(held.size(), size_t{9});
  held.clear();
  EXPECT_TRUE(unpacked_symbols(packed).has_value());  // what has ended is given back
}

TEST(PackedSymbols, OfDamagedBytesAreNone) {
  std::vector<uint8_t> packed = packed_zeros(kMiB);
  packed.resize(packed.size() / 2);
  EXPECT_FALSE(unpacked_symbols(packed).has_value());
  EXPECT_FALSE(unpacked_symbols({}).has_value());
}

TEST(UnpackedBytes, AreGivenBack) {
  {
    auto one = UnpackedBytes::take(60, 100);
    ASSERT_TRUE(one.has_value());
    EXPECT_FALSE(UnpackedBytes::take(41, 100).has_value());
    one->keep(50);
    auto two = UnpackedBytes::take(50, 100);
    ASSERT_TRUE(two.has_value());
    one->add(std::move(*two));
    EXPECT_FALSE(UnpackedBytes::take(1, 100).has_value());
    EXPECT_FALSE(UnpackedBytes::take(~uint64_t{0}, 100).has_value());
  }
  EXPECT_TRUE(UnpackedBytes::take(100, 100).has_value());
}

// A program whose .debug_info says that it unpacks to `bytes`.
std::string file_with_packed_section(uint32_t type, uint64_t bytes) {
  struct {
    Elf64_Ehdr header{};
    Elf64_Chdr packed{};
    char content[256 << 10] = {};
    char names[32] = "\0.debug_info\0.shstrtab";
    Elf64_Shdr sections[3] = {};
  } file;
  std::memcpy(file.header.e_ident, ELFMAG, SELFMAG);
  file.header.e_ident[EI_CLASS] = ELFCLASS64;
  file.header.e_ident[EI_DATA] = ELFDATA2LSB;
  file.header.e_ident[EI_VERSION] = EV_CURRENT;
  file.header.e_type = ET_EXEC;
  file.header.e_machine = EM_X86_64;
  file.header.e_version = EV_CURRENT;
  file.header.e_ehsize = sizeof file.header;
  file.header.e_shentsize = sizeof(Elf64_Shdr);
  file.header.e_shoff = offsetof(decltype(file), sections);
  file.header.e_shnum = 3;
  file.header.e_shstrndx = 2;
  file.packed.ch_type = type;
  file.packed.ch_size = bytes;
  file.packed.ch_addralign = 1;
  file.sections[1].sh_name = 1;
  file.sections[1].sh_type = SHT_PROGBITS;
  file.sections[1].sh_flags = SHF_COMPRESSED;
  file.sections[1].sh_offset = offsetof(decltype(file), packed);
  file.sections[1].sh_size = sizeof file.packed + sizeof file.content;
  file.sections[2].sh_name = 13;
  file.sections[2].sh_type = SHT_STRTAB;
  file.sections[2].sh_offset = offsetof(decltype(file), names);
  file.sections[2].sh_size = sizeof file.names;
  std::string path = ::testing::TempDir() + "packed_section";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(&file), sizeof file);
  return path;
}

// One section alone that says more than all may be; and sections whose number stands elsewhere.
TEST(PackedSections, AreCountedWhateverTheHeaderSays) {
  const std::string path = file_with_packed_section(2, UnpackedBytes::most() + 1);
  EXPECT_FALSE(DebugInfo::open(path).ok());
  std::vector<uint8_t> bytes(1 << 20);
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shoff = sizeof header;
  Elf64_Shdr sections[3] = {};
  sections[0].sh_size = 3;
  sections[2].sh_type = SHT_PROGBITS;
  sections[2].sh_flags = SHF_COMPRESSED;
  sections[2].sh_offset = 4096;
  sections[2].sh_size = bytes.size() - 4096;
  Elf64_Chdr packed = {};
  packed.ch_type = ELFCOMPRESS_ZLIB;
  packed.ch_size = uint64_t{300} << 20;
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, sections, sizeof sections);
  std::memcpy(bytes.data() + 4096, &packed, sizeof packed);
  auto most = UnpackedBytes::take(UnpackedBytes::most() - 100 * kMiB, UnpackedBytes::most());
  ASSERT_TRUE(most.has_value());
  EXPECT_FALSE(take_packed_bytes("x", bytes).ok());
  sections[0].sh_size = 1 << 20;
  std::memcpy(bytes.data() + sizeof header, sections, sizeof sections);
  EXPECT_FALSE(take_packed_bytes("x", bytes).ok());
}

TEST(PackedSections, AreRefusedBeforeTheyAreUnpacked) {
  constexpr uint32_t kAllTypes[] = {ELFCOMPRESS_ZLIB, 2};
  auto most = UnpackedBytes::take(UnpackedBytes::most() - 10 * kMiB, UnpackedBytes::most());
  ASSERT_TRUE(most.has_value());
  for (const uint32_t type : kAllTypes) {
    const auto info = DebugInfo::open(file_with_packed_section(type, uint64_t{200} << 20));
    ASSERT_FALSE(info.ok());
    EXPECT_NE(info.error().what.find("that is too much"), std::string::npos) << info.error().what;
  }
}

}  // namespace
}  // namespace patchbay
