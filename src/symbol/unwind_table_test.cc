// SPDX-License-Identifier: MIT
//
// Rows of hand-made .eh_frame sections, byte by byte; and those of this program and its libraries,
// which have to cover what the functions cover.
#include "symbol/unwind_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>

#include "symbol/symbol.h"

namespace patchbay {
namespace {

using Raw = std::vector<uint8_t>;

constexpr uint64_t kHeader = 0x100, kFrames = 0x200, kText = 0x1000, kSize = 0x3000;
constexpr uint8_t kRestoreRt = 'S';

void put32(Raw* raw, size_t at, uint64_t value) {
  const auto word = uint32_t(value);
  std::memcpy(raw->data() + at, &word, 4);
}

// An object of one segment: a header without a table, CIEs and FDEs, text.
class Object {
 public:
  Object() : bytes_(kSize), at_(kFrames) {
    const uint8_t header[] = {1, 0x1b, 0xff, 0xff};
    std::memcpy(bytes_.data() + kHeader, header, sizeof header);
    put32(&bytes_, kHeader + 4, kFrames - (kHeader + 4));
  }
  // "zR" or "zRS", rip at CFA - 8, CFA = rsp + 8, unless `first` says otherwise.
  void cie(uint8_t letter = 0, const Raw& first = {0x0c, 7, 8, 0x90, 1}) {
    cie_ = at_;
    Raw body = {0, 0, 0, 0, 1, 'z', 'R'};
    if (letter) body.push_back(letter);
    for (uint8_t byte : {0, 1, 0x78, 16, 1, 0x1b}) body.push_back(byte);
    body.insert(body.end(), first.begin(), first.end());
    record(body);
  }
  void fde(uint64_t start, uint32_t size, const Raw& instructions) {
    Raw body(12);
    put32(&body, 0, at_ + 4 - cie_);
    put32(&body, 4, start - (at_ + 8));
    put32(&body, 8, size);
    body.push_back(0);
    body.insert(body.end(), instructions.begin(), instructions.end());
    record(body);
  }
  UnwindTable table() const {
    Elf64_Phdr load = {};
    load.p_type = PT_LOAD;
    load.p_flags = PF_R | PF_X;
    load.p_filesz = load.p_memsz = kSize;
    Elf64_Phdr frames = {};
    frames.p_type = PT_GNU_EH_FRAME;
    frames.p_vaddr = kHeader;
    return make_unwind_table(ElfImage::from_copy(bytes_, 0, {load, frames}, 0));
  }

 private:
  void record(const Raw& body) {
    put32(&bytes_, at_, body.size());
    std::memcpy(bytes_.data() + at_ + 4, body.data(), body.size());
    at_ += 4 + body.size();
  }
  Raw bytes_;
  uint64_t at_, cie_ = 0;
};

std::string kind_name(UnwindKind kind) {
  const char* names[] = {"none", "rsp",    "rbp",       "deref",
                         "plt",  "signal", "outermost", "unsupported"};
  return names[size_t(kind)];
}

// "0:rsp+8 1:rsp+16/2": start, CFA, where rbp is saved.
std::string text_of(const UnwindTable& table) {
  std::string text;
  for (const UnwindRow& row : table.rows) {
    const UnwindRule rule = unpack_rule(row.rule);
    if (!text.empty()) text += " ";
    text += std::to_string(row.start) + ":" + kind_name(rule.kind);
    if (rule.offset) text += (rule.offset < 0 ? "" : "+") + std::to_string(rule.offset);
    if (rule.saved_rbp == kRbpAtRbp)
      text += "/*rbp";
    else if (rule.saved_rbp == kRbpLost)
      text += "/lost";
    else if (rule.saved_rbp)
      text += "/" + std::to_string(rule.saved_rbp);
  }
  return text;
}

TEST(UnwindTable, Instructions) {
  const struct {
    const char* what;
    Raw instructions;
    const char* rows;
  } kCases[] = {
      {"none: as the CIE says", {}, "0:rsp+8 32:none"},
      {"push rbp; mov rsp, rbp; …; pop; ret",
       {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x50, 0x0c, 7, 8},
       "0:rsp+8 1:rsp+16/2 4:rbp+16/2 20:rsp+8/2 32:none"},
      {"advances of 1, 2 and 4 bytes",
       {0x02, 2, 0x0e, 16, 0x03, 2, 0, 0x0e, 24, 0x04, 2, 0, 0, 0, 0x0e, 32},
       "0:rsp+8 2:rsp+16 4:rsp+24 6:rsp+32 32:none"},
      {"an advance behind the end", {0x02, 200, 0x0e, 16}, "0:rsp+8 32:none"},
      {"remember, epilogue, restore",
       {0x41, 0x0e, 16, 0x86, 2, 0x41, 0x0a, 0x0e, 8, 0xc6, 0x41, 0x0b},
       "0:rsp+8 1:rsp+16/2 2:rsp+8 3:rsp+16/2 32:none"},
      {"restore without remember", {0x41, 0x0b}, "0:rsp+8 1:unsupported 32:none"},
      {"a large frame", {0x41, 0x0e, 0x80, 0x80, 0x40}, "0:rsp+8 1:rsp+1048576 32:none"},
      {"too large", {0x41, 0x0e, 0x80, 0x80, 0x80, 0x01}, "0:rsp+8 1:unsupported 32:none"},
      {"no multiple of 8", {0x41, 0x0e, 12}, "0:rsp+8 1:unsupported 32:none"},
      {"nobody called it", {0x07, 16}, "0:outermost 32:none"},
      {"return address elsewhere", {0x90, 2}, "0:unsupported 32:none"},
      {"return address in a register", {0x09, 16, 2}, "0:unsupported 32:none"},
      {"another register is the CFA", {0x41, 0x0c, 10, 0}, "0:rsp+8 1:unsupported 32:none"},
      {"a realigned stack: CFA at rbp - 8, rbp at rbp",
       {0x41, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0},
       "0:rsp+8 1:deref-8/*rbp 32:none"},
      {"a CFA that is computed", {0x41, 0x0f, 2, 0x31, 0x32}, "0:rsp+8 1:unsupported 32:none"},
      {"an expression that is only a base", {0x41, 0x0f, 2, 0x76, 16}, "0:rsp+8 1:rbp+16 32:none"},
      {"rbp in a register", {0x41, 0x09, 6, 3}, "0:rsp+8 1:rsp+8/lost 32:none"},
      {"rbp undefined", {0x41, 0x07, 6}, "0:rsp+8 1:rsp+8/lost 32:none"},
      {"rbp by an expression", {0x41, 0x10, 6, 2, 0x77, 8}, "0:rsp+8 1:rsp+8/lost 32:none"},
      {"other registers do not matter",
       {0x41, 0x83, 3, 0x8c, 4, 0x05, 15, 5, 0x11, 14, 6, 0x2e, 16, 0x08, 3, 0x14, 3, 1, 0xc3},
       "0:rsp+8 32:none"},
      {"a PLT entry",
       {0x41, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22},
       "0:rsp+8 1:plt+88 32:none"},
      {"an unknown instruction", {0x41, 0x3f}, "0:rsp+8 1:unsupported 32:none"},
      {"an expression that is cut", {0x41, 0x0f, 100, 0x77}, "0:rsp+8 1:unsupported 32:none"},
      {"an operand that is cut", {0x41, 0x0e}, "0:rsp+8 1:unsupported 32:none"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.what);
    Object object;
    object.cie();
    object.fde(kText, 32, c.instructions);
    EXPECT_EQ(text_of(object.table()), c.rows);
  }
}

TEST(UnwindTable, SignalFrames) {
  Object object;
  object.cie(kRestoreRt, {});
  object.fde(kText, 16, {0x0f, 4, 0x77, 0xa0, 0x01, 0x06, 0x10, 16, 3, 0x77, 0xa8, 0x01});
  object.fde(kText + 16, 16, {0x0f, 4, 0x77, 0xa8, 0x01, 0x06});
  EXPECT_EQ(text_of(object.table()), "0:signal 16:unsupported 32:none");
}

TEST(UnwindTable, GapsOverlapsAndOrder) {
  Object object;
  object.cie();
  object.fde(kText + 0x400, 16, {0x0e, 24});
  object.fde(kText, 32, {});
  object.fde(kText + 16, 32, {0x0e, 32});  // overlaps: the first one holds
  object.fde(kText + 0x410, 16, {0x0e, 24});
  object.fde(kSize + 0x1000, 16, {});  // not in the object
  const UnwindTable table = object.table();
  EXPECT_EQ(text_of(table), "0:rsp+8 32:none 1024:rsp+24 1056:none");
  EXPECT_EQ(table.first, kText);
  EXPECT_EQ(table.last, kText + 0x420);
  EXPECT_EQ(table.blocks, (std::vector<uint32_t>{0, 1, 1, 1, 2, 3}));
}

TEST(UnwindTable, NothingToRead) {
  EXPECT_TRUE(Object().table().rows.empty());
  EXPECT_TRUE(make_unwind_table(ElfImage::from_copy({}, 0, {}, 0)).rows.empty());
}

// What the program itself is made of: each function of more than a PLT entry has rows.
TEST(UnwindTable, OwnObjects) {
  auto symbols = make_self_symbol_table();
  symbols->refresh();
  size_t tables = 0, inside = 0, functions = 0;
  for (Module* module : symbols->modules()) {
    const UnwindTable table = module->unwind_table();
    if (table.rows.empty()) continue;
    tables++;
    EXPECT_EQ(table.rows[0].start, 0u);
    for (size_t i = 1; i < table.rows.size(); i++)
      ASSERT_LT(table.rows[i - 1].start, table.rows[i].start) << module->path() << " " << i;
    for (const FunctionSymbol& function : module->functions()) {
      if (function.is_cold_part || function.name.empty()) continue;
      functions++;
      const uint64_t at = function.address - module->bias();
      if (at < table.first || at >= table.last) continue;
      const auto offset = uint32_t(at - table.first);
      uint32_t row = table.blocks[offset / kUnwindBlock];
      while (row + 1 < table.rows.size() && table.rows[row + 1].start <= offset) row++;
      const UnwindRule rule = unpack_rule(table.rows[row].rule);
      inside += rule.kind == UnwindKind::kRsp && rule.offset == 8 && rule.saved_rbp == 0;
    }
  }
  EXPECT_GE(tables, 3u);  // this program, libstdc++, libc
  EXPECT_GT(functions, 1000u);
  EXPECT_GT(inside * 100, functions * 98);
}

}  // namespace
}  // namespace patchbay
