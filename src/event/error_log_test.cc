// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <regex>

#include "event/error_log.h"

namespace patchbay {
namespace {

TEST(ErrorLog, AnEntryIsThreeLines) {
  ErrorLog log;
  log.add("event filter parse error", "Field not found", "nosuch == 1", 7);
  const std::regex form(R"(\[ *\d+\.\d{6}\] event filter parse error: error: Field not found\n)"
                        R"(  Command: nosuch == 1\n {18}\^\n)");
  EXPECT_TRUE(std::regex_match(log.show(), form)) << log.show();
}

TEST(ErrorLog, KeepsTheEightNewest) {
  ErrorLog log;
  for (int i = 0; i < 9; i++) log.add("here", "", "command " + std::to_string(i), 0);
  const std::string text = log.show();
  EXPECT_EQ(text.find("command 0\n"), text.npos);
  EXPECT_LT(text.find("command 1\n"), text.find("command 8\n"));
  EXPECT_NE(text.find("] here: error: Error\n"), text.npos);
  log.clear();
  EXPECT_EQ(log.show(), "");
}

TEST(ErrorLog, SaysWhereTheCommandsComeFrom) {
  ErrorLog log;
  {
    const std::string where = "app.conf:12";
    const ErrorOrigin origin(where);
    EXPECT_FALSE(origin.has_entries());
    log.add("here", "Wrong", "command", 2);
    EXPECT_TRUE(origin.has_entries());
  }
  EXPECT_NE(log.show().find("] app.conf:12: here: error: Wrong\n"), std::string::npos);
  log.add("here", "Wrong", "command", 2);
  EXPECT_NE(log.show().find("] here: error: Wrong\n"), std::string::npos);
}

}  // namespace
}  // namespace patchbay
