// SPDX-License-Identifier: MIT
#include "base/unique_names.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(UniqueNames, OfJson) {
  UniqueNames names({}, "", UniqueNames::Case::kDiffers);
  EXPECT_EQ(names.unique("v"), "v");
  EXPECT_EQ(names.unique("V"), "V");
  EXPECT_EQ(names.unique("v"), "v_2");
  EXPECT_EQ(names.unique("v_2"), "v_2_2");
}

TEST(UniqueNames, OfColumns) {
  UniqueNames names({"ts", "cpu", "pid"});
  const std::pair<const char*, const char*> cases[] = {
      {"fd", "fd"},       {"pid", "field_pid"}, {"PID", "field_PID_2"}, {"select", "select"},
      {"FD", "FD_2"},     {"fd", "fd_3"},       {"", "unnamed"},        {"", "unnamed_2"},
      {"fd_2", "fd_2_2"}, {"Ts", "field_Ts"},   {"\x01", "\x01"},
  };
  for (const auto& [name, expected] : cases) EXPECT_EQ(names.unique(name), expected) << name;
}

}  // namespace
}  // namespace patchbay
