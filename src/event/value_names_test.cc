// SPDX-License-Identifier: MIT
#include "event/value_names.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace patchbay {
namespace {

using Kind = ValueNames::Kind;
using Names = std::vector<NamedValue>;

const Names kOpen = {{"O_RDONLY", 0},      {"O_WRONLY", 1},        {"O_RDWR", 2},
                     {"O_ACCMODE", 3},     {"O_ACCMODE_MASK", 3},  {"O_CREAT", 0x40},
                     {"O_EXCL", 0x80},     {"O_DSYNC", 0x1000},    {"O_DIRECTORY", 0x10000},
                     {"O_SYNC", 0x101000}, {"O_CLOEXEC", 0x80000}, {"O_TMPFILE", 0x410000}};
const Names kSocket = {{"SOCK_STREAM", 1},       {"SOCK_DGRAM", 2},        {"SOCK_RAW", 3},
                       {"SOCK_RDM", 4},          {"SOCK_SEQPACKET", 5},    {"SOCK_TYPE_MASK", 15},
                       {"SOCK_NONBLOCK", 0x800}, {"SOCK_CLOEXEC", 0x80000}};
const Names kProtection = {{"PROT_NONE", 0}, {"PROT_READ", 1}, {"PROT_WRITE", 2}, {"PROT_EXEC", 4}};
const Names kSets = {{"A", 1}, {"B", 2}, {"C", 4}, {"AB", 3}, {"BC", 6}, {"ALL", -1}};
const Names kAccess = {{"R_OK", 4}, {"W_OK", 2}, {"X_OK", 1}, {"F_OK", 0}};
const Names kTop = {{"A", 1}, {"B", 2}, {"C", 4}, {"TOP", INT32_MIN}};
const Names kWhence = {{"SEEK_SET", 0}, {"SEEK_CUR", 1}, {"SEEK_END", 2}, {"BEFORE", -100}};

struct Case {
  const Names* names;
  Kind kind;
  uint64_t bits;
  uint32_t size;
  const char* text;
};
const Case kCases[] = {
    {&kOpen, Kind::kFlags, 0, 4, "O_RDONLY"},
    {&kOpen, Kind::kFlags, 0x80000, 4, "O_RDONLY|O_CLOEXEC"},
    {&kOpen, Kind::kFlags, 0xc1, 4, "O_WRONLY|O_CREAT|O_EXCL"},
    {&kOpen, Kind::kFlags, 3, 4, "O_ACCMODE"},
    {&kOpen, Kind::kFlags, 0x101002, 4, "O_RDWR|O_SYNC"},
    {&kOpen, Kind::kFlags, 0x1002, 4, "O_RDWR|O_DSYNC"},
    {&kOpen, Kind::kFlags, 0x410002, 4, "O_RDWR|O_TMPFILE"},
    {&kOpen, Kind::kFlags, 0x40000002, 4, "O_RDWR|0x40000000"},
    {&kOpen, Kind::kFlags, 0x100002, 4, "O_RDWR|0x100000"},
    {&kSocket, Kind::kFlags, 0x80001, 4, "SOCK_STREAM|SOCK_CLOEXEC"},
    {&kSocket, Kind::kFlags, 0x80805, 4, "SOCK_SEQPACKET|SOCK_NONBLOCK|SOCK_CLOEXEC"},
    {&kSocket, Kind::kFlags, 7, 4, "0x7"},  // no SOCK_RDM|SOCK_RAW
    {&kSocket, Kind::kFlags, 0x80009, 4, "SOCK_CLOEXEC|0x9"},
    {&kSocket, Kind::kFlags, 0x80000, 4, "SOCK_CLOEXEC"},
    {&kSocket, Kind::kFlags, 0, 4, "0"},
    {&kProtection, Kind::kFlags, 0, 4, "PROT_NONE"},
    {&kProtection, Kind::kFlags, 3, 4, "PROT_READ|PROT_WRITE"},
    {&kProtection, Kind::kFlags, 8, 4, "0x8"},
    {&kProtection, Kind::kFlags, 0xffffffff, 4, "PROT_READ|PROT_WRITE|PROT_EXEC|0xfffffff8"},
    {&kSets, Kind::kFlags, 7, 4, "C|AB"},
    {&kSets, Kind::kFlags, 5, 1, "A|C"},
    {&kSets, Kind::kFlags, 0xff, 1, "ALL"},
    {&kSets, Kind::kFlags, 0xffffffff, 4, "ALL"},
    {&kSets, Kind::kFlags, ~uint64_t{0}, 8, "ALL"},
    {&kSets, Kind::kFlags, 0xffffffff, 8, "C|AB|0xfffffff8"},
    {&kAccess, Kind::kFlags, 7, 4, "R_OK|W_OK|X_OK"},
    {&kTop, Kind::kFlags, 0x80000001, 4, "A|TOP"},
    {&kTop, Kind::kFlags, 0x80000001, 8, "A|0x80000000"},
    {&kTop, Kind::kFlags, 0x80000000, 4, "TOP"},
    {&kTop, Kind::kFlags, 1, 1, "A"},
    {&kWhence, Kind::kEnumeration, 2, 4, "SEEK_END"},
    {&kWhence, Kind::kEnumeration, 3, 4, "3"},
    {&kWhence, Kind::kEnumeration, 0xffffff9c, 4, "BEFORE"},
    {&kWhence, Kind::kEnumeration, 0x9c, 1, "BEFORE"},
    {&kWhence, Kind::kEnumeration, 0xffffff9c, 8, "4294967196"},
    {&kWhence, Kind::kEnumeration, 0xffffffff, 4, "-1"},
    {&kWhence, Kind::kEnumeration, 0x100000002, 4, "SEEK_END"},
};

TEST(ValueNames, AValueAsItsProgramCallsIt) {
  for (const Case& one : kCases)
    EXPECT_EQ(ValueNames(*one.names, one.kind).text(one.bits, one.size, true), one.text)
        << one.bits << " of " << one.names->front().name;
  EXPECT_EQ(ValueNames(kWhence, Kind::kEnumeration).text(0xffffffff, 4, false), "4294967295");
}

TEST(ValueNames, OfNamesWithOneValueTheFirstIsShown) {
  const ValueNames names({{"SIGABRT", 6}, {"SIGIOT", 6}}, Kind::kEnumeration);
  EXPECT_EQ(names.text(6, 4, true), "SIGABRT");
  EXPECT_EQ(names.count(), 1u);
}

// Every bit of every word is in the text, as a name's or as the number's.
TEST(ValueNames, NothingIsLeftOutAndNothingAdded) {
  for (const Names* all : {&kOpen, &kSocket, &kProtection, &kSets}) {
    const ValueNames names(*all, Kind::kFlags);
    for (uint64_t bits = 0; bits < 1 << 21; bits += bits < 4096 ? 1 : 127) {
      std::string text = names.text(bits, 4, true);
      uint64_t sum = 0;
      for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('|', begin), text.size());
        const std::string part = text.substr(begin, end - begin);
        const auto is_it = [&](const NamedValue& one) { return one.name == part; };
        const auto found = std::find_if(all->begin(), all->end(), is_it);
        const uint64_t value = found != all->end() ? uint64_t(found->value) & 0xffffffff
                                                   : std::stoull(part, nullptr, 0);
        EXPECT_EQ(sum & value, 0u) << text;
        sum |= value;
        begin = end + 1;
      }
      ASSERT_EQ(sum, bits) << text;
    }
  }
}

TEST(ValueNames, FlagsByTheirValues) {
  static const struct {
    const char* name;
    std::vector<int64_t> values;
    bool are_flags;
  } kRows[] = {
      {"color", {0, 1, 2}, false},
      {"color", {1, 2}, false},
      {"color", {0, 1, 2, 3}, false},
      {"color", {0, 1, 2, 3, 4}, false},
      {"color", {1, 2, 3, 4, 5, 6, 7, 8}, false},
      {"color", {1, 2, 3, 4}, false},
      {"color", {1, 2, 4}, true},
      {"color", {0, 1, 2, 4, 8}, true},
      {"color", {0, 1, 2, 4, 7}, true},
      {"color", {1, 2, 4, 9}, false},  // 8 is in no name
      {"color", {1, 2, 3, 4, 8, 16}, true},
      {"color", {1, 2, 4, 0x7fffffff}, true},
      {"color", {1, 2, 4, -1}, true},
      {"color", {1, 2, 4, -2}, false},
      {"color", {0x100, 0x200, 0x400}, true},
      {"open_flags", {1, 2}, true},
      {"ns::ModeFlags", {0, 1}, true},
      {"VkAccessFlagBits", {1, 2, 3, 4, 0x7fffffff}, true},
      {"flags", {0}, false},
      {"flags", {1, 2, 3, 5}, false},
      {"color", {}, false},
      {"color", {INT64_MIN, 1, 2, 4}, true},
      {"_Ios_Openmode", {1, 2, 4, 8, 16, 1 << 16, INT32_MAX, INT32_MIN}, true},
  };
  for (const auto& row : kRows) {
    Names names;
    for (const int64_t value : row.values) names.push_back({std::to_string(value), value});
    EXPECT_EQ(ValueNames::kind_of(row.name, names) == Kind::kFlags, row.are_flags)
        << row.name << " " << ::testing::PrintToString(row.values);
  }
}

}  // namespace
}  // namespace patchbay
