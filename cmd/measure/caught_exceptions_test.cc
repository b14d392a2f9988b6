// SPDX-License-Identifier: MIT
#include "cmd/measure/caught_exceptions.h"

#include <cstring>

#include <gtest/gtest.h>

namespace patchbay::cmd {
namespace {

constexpr uint64_t kGnu = 0x474e5543432b2b00, kGnuCopy = kGnu + 1, kLibcxx = 0x434c4e47432b2b00;
constexpr const char* kNumbers[] = {"sp", "class", "kind0", "kind1", "kind2", "kind3"};
constexpr const char* kTexts[] = {"type0", "type1", "type2", "type3", "copied", "what"};

EventCall probe() {
  EventCall call;
  uint32_t offset = 16;
  for (const char* name : kNumbers) {
    call.fields.push_back({"u64", name, offset, 8, false, 0, {}});
    offset += 8;
  }
  for (const char* name : kTexts) {
    call.fields.push_back({"__data_loc char[]", name, offset, 4, false, 0, {}});
    offset += 4;
  }
  return call;
}

// Texts that are not said could not be read.
struct Thrown {
  uint64_t runtime = kGnu;
  std::vector<uint64_t> kinds = {};
  std::vector<std::string> types = {};
  const char *what = nullptr, *copied = nullptr;

  std::vector<uint8_t> record() const {
    const EventCall call = probe();
    std::vector<uint8_t> bytes(call.fields.back().offset + 4);
    const auto set = [&](const std::string& name, const void* from, size_t size) {
      std::memcpy(bytes.data() + call.find(name)->offset, from, size);
    };
    const auto set_text = [&](const std::string& name, const std::string& text) {
      const uint32_t where = uint32_t(bytes.size() | (text.size() + 1) << 16);
      set(name, &where, 4);
      bytes.insert(bytes.end(), text.begin(), text.end());
      bytes.push_back(0);
    };
    set("class", &runtime, 8);
    for (size_t i = 0; i < kinds.size(); i++) set("kind" + std::to_string(i), &kinds[i], 8);
    for (size_t i = 0; i < types.size(); i++) set_text("type" + std::to_string(i), types[i]);
    if (what) set_text("what", what);
    if (copied) set_text("copied", copied);
    return bytes;
  }
};

std::string text_of(const Thrown& thrown) {
  const EventCall call = probe();
  CaughtExceptions caught;
  caught.use(&call);
  return caught.text_of(thrown.record());
}

TEST(CaughtExceptions, TypesAndTheirTexts) {
  EXPECT_EQ(text_of({.kinds = {7}, .types = {"St13runtime_error"}, .what = "no room"}),
            "std::runtime_error: no room");
  EXPECT_EQ(text_of({.runtime = kLibcxx,
                     .kinds = {7, 7},
                     .types = {"N4shop5EmptyE", "St11logic_error"},
                     .what = "a\n\x1b[m"}),
            "shop::Empty: a\\n\\x1b[m");
  EXPECT_EQ(text_of({.kinds = {7, 7, 7},
                     .types = {"*N12_GLOBAL__N_11aE", "1b", "St13runtime_error"},
                     .what = nullptr}),
            "(anonymous namespace)::a");
  EXPECT_EQ(text_of({.kinds = {3}, .types = {"i"}, .what = "junk"}), "int");
  // What stands behind a type_info without a base may look like one.
  EXPECT_EQ(text_of({.kinds = {3, 7}, .types = {"5Plain", "St13runtime_error"}, .what = "junk"}),
            "Plain");
  EXPECT_EQ(text_of({.runtime = kGnuCopy,
                     .kinds = {7},
                     .types = {"St13runtime_error"},
                     .what = "junk",
                     .copied = "St12out_of_range"}),
            "std::out_of_range");
  EXPECT_EQ(text_of({.runtime = 0x4141, .types = {"i"}}), "");
  EXPECT_EQ(text_of({}), "");
}

TEST(CaughtExceptions, ForeignBytesAreNotReadBeyondTheirEnd) {
  const EventCall call = probe();
  CaughtExceptions caught;
  caught.use(&call);
  std::vector<uint8_t> bytes = Thrown{.kinds = {7}, .types = {"St13runtime_error"}}.record();
  for (size_t size = 0; size < bytes.size(); size++)
    (void)caught.text_of(std::span(bytes).first(size));
  const uint32_t beyond = 0x7fff'fff0;
  std::memcpy(bytes.data() + call.find("type0")->offset, &beyond, 4);
  EXPECT_EQ(caught.text_of(bytes), "");
  EXPECT_EQ(caught.stack_of(std::span(bytes).first(20)), 0u);
  EXPECT_EQ(CaughtExceptions().stack_of(bytes), 0u);
}

}  // namespace
}  // namespace patchbay::cmd
