// SPDX-License-Identifier: MIT
//
// Objects of two pages, made by hand: what is loaded without code, then code at 0x1000.
#include "symbol/stored_addresses.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

namespace patchbay {
namespace {

using Found = std::set<std::pair<uint64_t, uint64_t>>;

class HandMadeObject {
 public:
  HandMadeObject() : bytes_(0x2000) {
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof header;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 3;
    put(0, header);
    put(0x40, segment(PT_LOAD, PF_R | PF_W, 0, 0x1000));
    put(0x40 + 56, segment(PT_LOAD, PF_R | PF_X, 0x1000, 0x1000));
    put(0x40 + 112, segment(PT_DYNAMIC, PF_R, 0x200, 0x100));
  }
  template <typename T>
  void put(uint64_t at, const T& value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void put_dynamic(int64_t tag, uint64_t value) {
    put(0x200 + 16 * dynamic_++, Elf64_Dyn{tag, {value}});
  }
  Found found(bool is_moved) const {
    Found all;
    auto image = ElfImage::from_file(bytes_);
    EXPECT_TRUE(image.ok());
    if (image.ok())
      for_each_stored_address(image.value(), is_moved, [&](uint64_t place, uint64_t value) {
        if (place >= 0x200) all.emplace(place, value);  // behind the headers
      });
    return all;
  }

 private:
  static Elf64_Phdr segment(uint32_t type, uint32_t flags, uint64_t at, uint64_t size) {
    Elf64_Phdr made = {};
    made.p_type = type;
    made.p_flags = flags;
    made.p_offset = made.p_vaddr = made.p_paddr = at;
    made.p_filesz = made.p_memsz = size;
    made.p_align = 0x1000;
    return made;
  }

  std::vector<uint8_t> bytes_;
  uint64_t dynamic_ = 0;
};

TEST(StoredAddresses, OfRelocations) {
  HandMadeObject object;
  object.put_dynamic(DT_RELA, 0x400);
  object.put_dynamic(DT_RELASZ, 3 * sizeof(Elf64_Rela));
  object.put(0x400, Elf64_Rela{0x800, R_X86_64_RELATIVE, 0x1002});
  object.put(0x418, Elf64_Rela{0x808, R_X86_64_RELATIVE, 0x900});              // data
  object.put(0x430, Elf64_Rela{0x810, ELF64_R_INFO(7, R_X86_64_64), 0x1004});  // no such symbol
  EXPECT_EQ(object.found(true), (Found{{0x800, 0x1002}}));
}

TEST(StoredAddresses, OfPackedRelocations) {
  HandMadeObject object;
  object.put_dynamic(DT_RELR, 0x400);
  object.put_dynamic(DT_RELRSZ, 16);
  object.put(0x400, uint64_t{0x800});
  object.put(0x408, uint64_t{1 | (1 << 1) | (1 << 3)});  // 0x808, 0x818
  for (uint64_t at = 0x800; at < 0x820; at += 8) object.put(at, 0x1000 + at / 8);
  EXPECT_EQ(object.found(true), (Found{{0x800, 0x1100}, {0x808, 0x1101}, {0x818, 0x1103}}));
}

TEST(StoredAddresses, OfWordsWhereNothingIsMoved) {
  HandMadeObject object;
  object.put(0x803, uint64_t{0x1002});  // of 8 bytes, anywhere
  object.put(0x810, uint32_t{0x1003});  // of 4, aligned
  object.put(0x814, uint32_t{0xffffffff});
  object.put(0x821, uint32_t{0x1004});  // of 4, not aligned
  object.put(0x825, uint32_t{0xffffffff});
  object.put(0x1100, uint64_t{0x1005});  // data beside code
  object.put(0x1111, uint64_t{0x1006});  // code
  EXPECT_EQ(object.found(false), (Found{{0x803, 0x1002}, {0x810, 0x1003}, {0x1100, 0x1005}}));
  EXPECT_EQ(object.found(true), Found{});
}

TEST(StoredAddresses, TablesThatLieAboutTheirSize) {
  HandMadeObject object;
  object.put_dynamic(DT_RELA, 0xff0);
  object.put_dynamic(DT_RELASZ, UINT64_MAX);
  object.put_dynamic(DT_RELR, 0x5000);
  object.put_dynamic(DT_RELRSZ, 8);
  EXPECT_EQ(object.found(true), Found{});
}

}  // namespace
}  // namespace patchbay
