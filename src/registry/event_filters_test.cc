// SPDX-License-Identifier: MIT
#include "registry/event_filters.h"

#include <cerrno>
#include <cstring>

#include "registry/registry_testing.h"

namespace patchbay {
namespace {

using test::error_of;

using EventFiltersTest = test::OneSourceTest;

TEST_F(EventFiltersTest, FiltersAreShownAndRun) {
  LiveEvent* a = add("sys", "a", &source_);
  EXPECT_EQ(registry_->filters().show(top(), a), "none\n");
  ASSERT_TRUE(registry_->filters().set(top(), a, " a > 3 && text == \"x\"  \n").ok());
  EXPECT_EQ(registry_->filters().show(top(), a), " a > 3 && text == \"x\"\n");
  ASSERT_TRUE(enable(top(), a).ok());
  ASSERT_NE(running("a")->filter, nullptr);
  const EventProgram* filtered = running("a");
  ASSERT_TRUE(registry_->filters().set(top(), a, " 0 ").ok());
  EXPECT_EQ(registry_->filters().show(top(), a), "none\n");
  EXPECT_EQ(running("a")->filter, nullptr);
  EXPECT_EQ(record(filtered, 9), kRingOff);
}

TEST_F(EventFiltersTest, AFailedFilterSwitchesFilteringOff) {
  LiveEvent* a = add("sys", "a", &source_);
  ASSERT_TRUE(enable(top(), a).ok());
  ASSERT_TRUE(registry_->filters().set(top(), a, "a == 1").ok());
  EXPECT_EQ(error_of(registry_->filters().set(top(), a, "nosuch == 1")), EINVAL);
  EXPECT_EQ(running("a")->filter, nullptr);
  EXPECT_EQ(registry_->filters().show(top(), a),
            "nosuch == 1\n       ^\nparse_error: Field not found\n\n");
  const std::string log = top().errors.show();
  EXPECT_NE(log.find("] event filter parse error: error: Field not found\n"
                     "  Command: nosuch == 1\n                  ^\n"),
            log.npos)
      << log;
  EXPECT_EQ(error_of(registry_->filters().set(top(), a, "\n")), EINVAL);
  EXPECT_NE(top().errors.show().find("parse error: error: Error\n  Command: \n           ^\n"),
            std::string::npos);
}

TEST_F(EventFiltersTest, ASystemFilterKeepsWhatItDoesNotFit) {
  LiveEvent* a = add("sys", "a", &source_);
  LiveEvent* b = add("sys", "b", &source_);
  b->call.fields[0].name = "b";
  ASSERT_TRUE(registry_->filters().set(top(), b, "b == 7").ok());
  ASSERT_TRUE(registry_->filters().set_system(top(), "sys", "a == 5").ok());
  EXPECT_EQ(registry_->filters().show(top(), a), "a == 5\n");
  EXPECT_EQ(registry_->filters().show(top(), b), "b == 7\n");
  EXPECT_NE(
      top().errors.show().find("error: Couldn't find or set field in one of a subsystem's events\n"
                               "  Command: a == 5\n           ^\n"),
      std::string::npos);
  ASSERT_TRUE(registry_->filters().set_system(top(), "sys", "nosuch = 5").ok());
  EXPECT_EQ(registry_->filters().show(top(), a), "a == 5\n");
  ASSERT_TRUE(registry_->filters().set_system(top(), "sys", "0").ok());
  EXPECT_EQ(registry_->filters().show(top(), a), "none\n");
  EXPECT_EQ(registry_->filters().show(top(), b), "none\n");
}

}  // namespace
}  // namespace patchbay
