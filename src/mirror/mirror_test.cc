// SPDX-License-Identifier: MIT
// The file of a mirror as others read it, how fields are told, and what a hit shows.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "mirror/mirror_elf.h"
#include "mirror/mirror_layout.h"
#include "mirror/mirror_stubs.h"
#include "symbol/elf_image.h"
#include "symbol/sdt_notes.h"

namespace patchbay {
namespace {

EventField field(const char* type, const char* name, uint32_t offset, uint32_t size,
                 bool is_signed = false, uint32_t array_len = 0) {
  return {type, name, offset, size, is_signed, array_len, {}};
}

EventCall call_of(std::vector<EventField> fields) {
  EventCall call;
  call.system = "shop";
  call.name = "sold";
  call.common = common_fields();
  call.fields = std::move(fields);
  return call;
}

std::string line_of(const EventCall& call) {
  std::vector<std::string> left_out;
  Result<std::string> line = mirror_kernel_line(call, call.system, "/f", &left_out);
  std::string text = line.ok() ? *line : line.error().message();
  for (const std::string& name : left_out) text += " -" + name;
  return text;
}

TEST(MirrorElf, ItsNoteIsReadAsAnyPrograms) {
  Result<std::vector<uint8_t>> bytes = mirror_elf("shop", "sold", "-4@24(%rdi) 8@0(%rsi)");
  ASSERT_TRUE(bytes.ok());
  Result<ElfImage> image = ElfImage::from_file(*bytes);
  ASSERT_TRUE(image.ok()) << image.error().message();
  const std::vector<SdtNote> notes = read_sdt_notes(*image);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].provider, "shop");
  EXPECT_EQ(notes[0].name, "sold");
  EXPECT_EQ(notes[0].arguments, "-4@24(%rdi) 8@0(%rsi)");
  EXPECT_EQ(notes[0].address, kMirrorStubAt);
  EXPECT_EQ(notes[0].semaphore, kMirrorSemaphoreAt);
  EXPECT_EQ(bytes->at(kMirrorStubAt + 5), 0xc3) << "ret";
}

TEST(MirrorElf, NamesThatAreTooLong) {
  EXPECT_TRUE(mirror_elf(std::string(1000, 's'), std::string(1000, 'e'), "").ok());
  Result<std::vector<uint8_t>> bytes = mirror_elf(std::string(3000, 's'), "e", "");
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().errno_value, E2BIG);
}

TEST(MirrorLayout, EachKindOfField) {
  struct Case {
    EventField field;
    const char *usdt, *kernel;
  };
  const Case kCases[] = {
      {field("int", "f", 8, 4, true), "-4@8(%rdi)", " f=+8(%di):s32"},
      {field("unsigned char", "f", 9, 1), "1@9(%rdi)", " f=+9(%di):u8"},
      {field("long", "f", 16, 8, true), "-8@16(%rdi)", " f=+16(%di):s64"},
      {field("x64", "f", 16, 8), "8@16(%rdi)", " f=+16(%di):x64"},
      {field("const void *", "f", 16, 8), "8@16(%rdi)", " f=+16(%di):x64"},
      {field("double", "f", 16, 8, true), "8@16(%rdi)", " f=+16(%di):x64"},
      {field("__data_loc char[]", "f", 12, 4), "8@0(%rsi)", " f=+0(+0(%si)):string"},
      {field("__rel_loc char[]", "f", 12, 4), "8@0(%rsi)", " f=+0(+0(%si)):string"},
      {field("__data_loc int[]", "f", 12, 4), "8@0(%rsi)", " -f"},
      {field("char", "f", 8, 16, false, 16), "8@0(%rsi)", " f=+0(+0(%si)):string"},
      {field("u16", "f", 8, 6, false, 3), "8@0(%rsi)", " f=+8(%di):u16[3]"},
      {field("u8", "f", 8, 65, false, 65), "8@0(%rsi)", " -f"},
      {field("struct x", "f", 8, 24), "", " -f"},
      {field("unsigned long", "__ip", 8, 8), "", " __ip=+8(%di):x64"},
      {field("unsigned long", "__probe_ip", 8, 8), "", " probe_ip=+8(%di):x64"},
  };
  for (const Case& one : kCases) {
    const EventCall call = call_of({one.field});
    EXPECT_EQ(mirror_layout(call).usdt_arguments(), one.usdt) << one.field.type;
    EXPECT_EQ(line_of(call), std::string("p:shop/sold /f:0x400(0x1000)") + one.kernel);
  }
}

TEST(MirrorLayout, TheNoteHasTwelveArguments) {
  std::vector<EventField> fields;
  for (uint32_t i = 0; i < 14; i++)
    fields.push_back(field("int", ("f" + std::to_string(i)).c_str(), 8 + 4 * i, 4, true));
  const std::string text = mirror_layout(call_of(fields)).usdt_arguments();
  EXPECT_EQ(std::count(text.begin(), text.end(), '@'), 12);
  EXPECT_TRUE(text.ends_with("-4@52(%rdi)")) << text;
}

TEST(MirrorLayout, WhatTheKernelDoesNotTake) {
  EventCall call = call_of({});
  call.name = "std::sort";
  EXPECT_NE(line_of(call).find("not 'std::sort'"), std::string::npos);
  call.name = std::string(64, 'x');
  EXPECT_NE(line_of(call).find("at most 63 characters, and this one has 64"), std::string::npos);
  call.name = std::string(63, 'x');
  EXPECT_TRUE(line_of(call).starts_with("p:shop/"));
  call = call_of({field("int", "a_name_with_more_than_31_letters", 8, 4)});
  EXPECT_NE(line_of(call).find("at most 31 letters"), std::string::npos);
  call.fields.clear();
  for (uint32_t i = 0; i < 129; i++)
    call.fields.push_back(field("u8", ("a" + std::to_string(i)).c_str(), 8 + i, 1));
  EXPECT_NE(line_of(call).find("more than 128 fields"), std::string::npos);
  call.fields.pop_back();
  EXPECT_TRUE(line_of(call).starts_with("p:shop/"));
  std::vector<std::string> left_out;
  EXPECT_FALSE(mirror_kernel_line(call, "shop", "/a b/f", &left_out).ok()) << "a blank in a path";
}

TEST(MirrorFileName, NothingThatAPathOfUprobeEventsCannotHave) {
  EXPECT_EQ(mirror_file_name("shop", "sold"), "shop.sold");
  const std::string odd = mirror_file_name("shop", "a b/c"),
                    other = mirror_file_name("shop", "a b_c");
  EXPECT_EQ(odd.find_first_of(" /"), odd.npos);
  EXPECT_NE(odd, other) << "different events have different files";
  EXPECT_LT(mirror_file_name("shop", std::string(255, 'x')).size(), 255u);
}

// What a stub was given.
struct Shown {
  const void* record = nullptr;
  std::vector<std::string> texts;
  uint64_t size = 0;
} shown;
uint32_t nr_shown_texts;

void take(const void* record, const uint64_t* texts, uint64_t size) {
  shown.record = record;
  shown.size = size;
  shown.texts.clear();
  for (uint32_t i = 0; i < nr_shown_texts; i++)
    shown.texts.emplace_back(reinterpret_cast<const char*>(texts[i]));
}

std::vector<std::string> show(const std::vector<MirrorText>& texts, std::vector<uint8_t> record) {
  uint32_t listeners = 1, copied = 0;
  for (const MirrorText& text : texts)
    if (text.kind == MirrorText::Kind::kFixed) copied += text.size + 1;
  nr_shown_texts = uint32_t(texts.size());
  const MirrorStub stub = {&listeners, take, nr_shown_texts, copied, texts.data()};
  mirror_show(&stub, record.data(), uint32_t(record.size()));
  EXPECT_EQ(shown.record, record.data());
  EXPECT_EQ(shown.size, record.size());
  return shown.texts;
}

TEST(MirrorShow, TextsOfARecord) {
  using Kind = MirrorText::Kind;
  using Texts = std::vector<std::string>;
  std::vector<uint8_t> record(40, 0);
  const auto word = [&](uint32_t at, uint32_t value) { std::memcpy(&record[at], &value, 4); };
  std::memcpy(&record[24], "tail\0abcd", 9);
  word(8, 24 | 5u << 16);   // "tail"
  word(12, 8 | 5u << 16);   // the same, from behind this word
  word(16, 36 | 5u << 16);  // reaches beyond the record
  word(20, 0);              // nothing
  EXPECT_EQ(show({{8, 4, Kind::kDataLoc, {}}, {12, 4, Kind::kRelLoc, {}}}, record),
            (Texts{"tail", "tail"}));
  EXPECT_EQ(show({{16, 4, Kind::kDataLoc, {}},
                  {20, 4, Kind::kDataLoc, {}},
                  {38, 4, Kind::kDataLoc, {}},
                  {60, 0, Kind::kInPlace, {}},
                  {38, 8, Kind::kFixed, {}}},
                 record),
            (Texts{"", "", "", "", ""}))
      << "nothing is read beyond a record";
  EXPECT_EQ(show({{29, 4, Kind::kFixed, {}}, {24, 5, Kind::kFixed, {}}, {26, 2, Kind::kFixed, {}}},
                 record),
            (Texts{"abcd", "tail", "il"}));
  EXPECT_EQ(show({{29, 0, Kind::kInPlace, {}}}, record), (Texts{"abcd"}));
  EXPECT_TRUE(show({}, record).empty());
}

class MirrorStubsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(directory_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string directory_ = (std::filesystem::temp_directory_path() / "mirror.XXXXXX").string();
  MirrorStubs stubs_;
};

TEST_F(MirrorStubsTest, OneMappingForAnEvent) {
  const EventCall call = call_of({field("int", "n", 8, 4, true)});
  Result<const MirrorStub*> first = stubs_.stub_of(call, directory_ + "/mirror");
  ASSERT_TRUE(first.ok()) << first.error().message();
  Result<const MirrorStub*> again = stubs_.stub_of(call, directory_ + "/mirror");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*first, *again);
  EXPECT_FALSE(mirror_has_listeners(*first));
  mirror_show(*first, reinterpret_cast<const uint8_t*>("12345678abcd"), 12);  // nobody minds
}

TEST_F(MirrorStubsTest, AnotherFileWhenItWasRemovedOrTheEventIsAnother) {
  EventCall call = call_of({field("int", "n", 8, 4, true)});
  Result<const MirrorStub*> first = stubs_.stub_of(call, directory_);
  ASSERT_TRUE(first.ok());
  const std::string path = directory_ + "/shop.sold";
  std::filesystem::remove(path);
  Result<const MirrorStub*> second = stubs_.stub_of(call, directory_);
  ASSERT_TRUE(second.ok());
  EXPECT_NE(*first, *second);
  call.fields.push_back(field("int", "m", 12, 4, true));
  Result<const MirrorStub*> third = stubs_.stub_of(call, directory_);
  ASSERT_TRUE(third.ok());
  EXPECT_NE(*second, *third);
  EXPECT_FALSE(mirror_has_listeners(*first)) << "it stays mapped";
}

TEST_F(MirrorStubsTest, WhereThereIsNoRoom) {
  const EventCall call = call_of({});
  Result<const MirrorStub*> made = stubs_.stub_of(call, directory_ + "/no/such");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().errno_value, ENOENT);
}

}  // namespace
}  // namespace patchbay
