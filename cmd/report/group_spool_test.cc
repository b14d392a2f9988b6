// SPDX-License-Identifier: MIT
#include "cmd/report/group_spool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdlib>
#include <map>

namespace patchbay::cmd {
namespace {

std::string text_of(GroupSpool* spool, size_t group) {
  std::string text;
  const Status read = spool->read(group, [&](std::string* piece) {
    text += *piece;
    piece->clear();  // as a writer does
    return true;
  });
  EXPECT_TRUE(read.ok()) << read.error().message();
  return text;
}

TEST(GroupSpool, EachGroupHasItsTextInOrder) {
  for (const size_t memory : {size_t{1}, size_t{10}, size_t{1000}, size_t{5000000}}) {
    GroupSpool spool(memory);
    std::map<size_t, std::string> expected;
    for (size_t i = 0; i < 3000; i++) {
      const size_t group = i * i % 7 + (i > 2000 ? 100 : 0);
      const std::string line =
          std::to_string(group) + ":" + std::string(i % 50, 'x') + std::to_string(i) + "\n";
      expected[group] += line;
      ASSERT_TRUE(spool.append(group, line).ok());
    }
    for (const auto& [group, text] : expected) EXPECT_EQ(text_of(&spool, group), text) << memory;
    EXPECT_EQ(text_of(&spool, 6), "") << "between groups";
    EXPECT_EQ(text_of(&spool, 1000), "") << "behind all";
    EXPECT_EQ(spool.file_size() > 0, memory < 5000000);
  }
}

TEST(GroupSpool, TextsLongerThanPieces) {
  GroupSpool spool(1 << 20);
  const std::string a(3 << 20, 'a'), b(700000, 'b');
  for (const std::string* text : {&b, &a, &b, &a})
    ASSERT_TRUE(spool.append(*text == a, *text).ok());
  EXPECT_EQ(text_of(&spool, 1), a + a);
  EXPECT_EQ(text_of(&spool, 0), b + b);
}

TEST(GroupSpool, ReadingEndsWhenAsked) {
  GroupSpool spool(1);
  ASSERT_TRUE(spool.append(0, "a").ok() && spool.append(0, "b").ok());
  int pieces = 0;
  EXPECT_TRUE(spool.read(0, [&](std::string*) { return ++pieces > 1; }).ok());
  EXPECT_EQ(pieces, 1);
}

TEST(GroupSpool, ADiskThatIsFullIsSaid) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  GroupSpool spool(100);
  Status status;
  for (int i = 0; i < 100 && status.ok(); i++) status = spool.append(0, std::string(50, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, SIG_DFL);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().errno_value, EFBIG);
  EXPECT_NE(status.error().message().find("write the temporary file of --group in "),
            std::string::npos);
}

TEST(GroupSpool, ADirectoryThatIsNotThere) {
  const char* old = std::getenv("TMPDIR");
  const std::string kept = old ? old : "";
  ::setenv("TMPDIR", "/no/such/folder", 1);
  GroupSpool spool(1);
  const Status status = spool.append(0, "a");
  old ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message().find("/no/such/folder: No such file"), std::string::npos);
}

}  // namespace
}  // namespace patchbay::cmd
