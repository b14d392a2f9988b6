// SPDX-License-Identifier: MIT
#include "cmd/measure/executed_notes.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace patchbay::cmd {
namespace {

using Sentences = std::vector<std::string>;

TEST(ExecutedNotes, ProgramsInASentence) {
  std::vector<std::string> names;
  for (const char* exe : {"/bin/sh", "/usr/bin/ls", "/bin/sh"}) add_program(exe, &names);
  EXPECT_EQ(list_of_programs(names), "sh and ls");
  EXPECT_EQ(list_of_programs({"sh"}), "sh");
  EXPECT_EQ(list_of_programs({"a", "b", "c", "d"}), "a, b, c and d");
  EXPECT_EQ(list_of_programs({"a", "b", "c", "d", "e"}), "a, b, c and 2 more");
}

TEST(ExecutedNotes, EachProgramIsInOneSentence) {
  ExecutedNotes notes("counted", "whose calls are not counted", "nothing of it");
  Sentences losses;
  notes.add("/bin/sh", {}, &losses);
  notes.add("/bin/env", user_error(ENOENT, "there is no such function"), &losses);
  notes.add_unreached({"/bin/true", nullptr, "", ""}, &losses);
  EXPECT_EQ(losses, Sentences{});
  notes.add_unreached({"./s", nullptr, "", "statically linked"}, &losses);
  notes.add("/bin/ls", user_error(EINVAL, "no room"), &losses);
  EXPECT_EQ(losses, (Sentences{"the program has executed another one (./s), whose calls are not "
                               "counted: statically linked",
                               "the program has executed another one (/bin/ls), whose calls are "
                               "not counted: no room"}));
  EXPECT_EQ(notes.take(nullptr), (Sentences{"the program has executed sh, which is counted, too",
                                            "env and true have nothing of it"}));
  EXPECT_EQ(notes.take(nullptr), Sentences{});
}

}  // namespace
}  // namespace patchbay::cmd
