// SPDX-License-Identifier: MIT
// The notes of this program: as they are, and with every kind of damage.
#include "symbol/sdt_notes.h"

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#endif

#include <cstring>
#include <optional>

#include <gtest/gtest.h>

#include "base/file_mapping.h"
#include "symbol/symbol.h"

#ifdef STAP_PROBE
namespace {
__attribute__((noinline)) int probed(int a) {
  STAP_PROBE2(pbsymbol, first, a, 7);
  STAP_PROBE(pbsymbol, second);
  return a;
}
}  // namespace

namespace patchbay {
namespace {

class SdtNotes : public ::testing::Test {
 protected:
  void SetUp() override {
    probed(1);
    auto file = FileMapping::open("/proc/self/exe");
    ASSERT_TRUE(file.ok());
    const Bytes all = file->bytes();
    bytes_.assign(all.begin(), all.end());
    auto image = ElfImage::from_file(bytes_);
    ASSERT_TRUE(image.ok());
    const ElfSection* section = image->find_section(".note.stapsdt");
    ASSERT_NE(section, nullptr);
    note_ = bytes_.data() + section->offset;
    while (std::memcmp(text(), "pbsymbol", 9) != 0) note_ += 12 + 8 + padded_size();
  }

  // The descriptor of the note: pc, base, semaphore; then the texts.
  uint8_t* descriptor() { return note_ + 12 + 8; }
  char* text() { return reinterpret_cast<char*>(descriptor() + 24); }
  uint32_t padded_size() {
    uint32_t size;
    std::memcpy(&size, note_ + 4, 4);
    return (size + 3) / 4 * 4;
  }
  void put(size_t offset, uint64_t value, size_t size) {
    std::memcpy(note_ + offset, &value, size);
  }
  uint64_t get(size_t offset) {
    uint64_t value;
    std::memcpy(&value, note_ + offset, 8);
    return value;
  }
  std::vector<SdtNote> read() {
    image_.emplace(std::move(*ElfImage::from_file(bytes_)));
    std::vector<SdtNote> found;
    for (const SdtNote& note : read_sdt_notes(*image_))
      if (note.provider == "pbsymbol") found.push_back(note);
    return found;
  }

  std::vector<uint8_t> bytes_;
  uint8_t* note_ = nullptr;
  std::optional<ElfImage> image_;
};

TEST_F(SdtNotes, AsTheyAre) {
  const auto notes = read();
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0].name, "first");
  EXPECT_TRUE(notes[0].arguments.find("@$7") != std::string_view::npos) << notes[0].arguments;
  EXPECT_EQ(notes[0].semaphore, 0u);
  EXPECT_EQ(notes[1].name, "second");
  EXPECT_EQ(notes[1].arguments, "");
  EXPECT_EQ(image_->at(notes[0].address)[0], 0x90);
}

TEST_F(SdtNotes, OfALoadedModuleHaveRunTimeAddresses) {
  auto symbols = make_self_symbol_table();
  symbols->refresh();
  int found = 0;
  for (Module* module : symbols->modules()) {
    for (const SdtNote& note : module->sdt_notes()) {
      if (note.provider != "pbsymbol") continue;
      EXPECT_EQ(*reinterpret_cast<const uint8_t*>(note.address), 0x90) << note.name;
      found++;
    }
  }
  EXPECT_EQ(found, 2);
}

TEST_F(SdtNotes, AMovedObjectMovesThem) {
  const uint64_t before = read()[0].address;
  put(20 + 8, get(20 + 8) + 16, 8);  // linked 16 bytes further up than it lies now
  EXPECT_EQ(read()[0].address, before - 16);
}

TEST_F(SdtNotes, DamagedOnesAreLeftOut) {
  struct Damage {
    const char* what;
    size_t offset;
    uint64_t value;
    size_t size;
    size_t left;
  };
  const Damage kDamages[] = {
      {"owner", 12, 'x', 1, 1},
      {"type", 8, 4, 4, 1},
      {"pc", 20, 0x10, 8, 1},
      {"pc", 20, ~uint64_t{0}, 8, 1},
      {"semaphore in text", 36, get(20), 8, 1},
      {"semaphore nowhere", 36, ~uint64_t{0}, 8, 1},
      {"provider", 44, 0, 1, 1},
      {"name", 44 + 9, ':', 1, 1},
      {"sizes", 0, ~uint64_t{0}, 8, 0},
      {"descriptor size", 4, 10, 4, 0},
      {"no NUL", 4, 24 + 12, 4, 0},
  };
  const std::vector<uint8_t> good = bytes_;
  for (const Damage& damage : kDamages) {
    put(damage.offset, damage.value, damage.size);
    EXPECT_LE(read().size(), damage.left) << damage.what;
    std::copy(good.begin(), good.end(), bytes_.begin());
  }
  EXPECT_EQ(read().size(), 2u);
}

}  // namespace
}  // namespace patchbay
#endif
