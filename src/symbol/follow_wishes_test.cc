// SPDX-License-Identifier: MIT
#include "symbol/follow_wishes.h"

#include <gtest/gtest.h>

#include "base/file_mapping.h"

namespace patchbay {
namespace {

TEST(FollowWishes, ATextIsReadAsItWasWritten) {
  FollowWishes wishes;
  wishes.buffer_size_kb = 512;
  wishes.overwrite = false;
  wishes.pid_namespace = 4026531836;
  wishes.all = true;
  wishes.only = {"cc1", "/usr/lib/*"};
  wishes.functions = {"operator new", "ns::f"};
  wishes.events = {"sched:tick"};
  wishes.libraries = {"libplug"};
  const FollowWishes read = parse_follow_wishes(text_of(wishes));
  EXPECT_EQ(text_of(read), text_of(wishes));
  EXPECT_EQ(read.buffer_size_kb, 512u);
  EXPECT_FALSE(read.overwrite);
  EXPECT_EQ(read.pid_namespace, 4026531836u);
  EXPECT_TRUE(read.all);
  EXPECT_EQ(read.only, wishes.only);
  EXPECT_EQ(read.functions, wishes.functions);
  EXPECT_EQ(read.events, wishes.events);
  EXPECT_EQ(read.libraries, wishes.libraries);
}

TEST(FollowWishes, WhatIsNoLineIsPassedOver) {
  const FollowWishes read =
      parse_follow_wishes("function\nfunction \n\nwhat ever\nbuffer_size_kb x");
  EXPECT_TRUE(read.functions.empty());
  EXPECT_EQ(read.buffer_size_kb, 0u);
  EXPECT_FALSE(read.all);
}

TEST(FollowWishes, Programs) {
  FollowWishes wishes;
  EXPECT_TRUE(is_wanted_program(wishes, "/usr/bin/ls"));
  wishes.only = {"cc1", "/opt/*"};
  EXPECT_TRUE(is_wanted_program(wishes, "/usr/lib/gcc/cc1"));
  EXPECT_TRUE(is_wanted_program(wishes, "/opt/a/b"));
  EXPECT_FALSE(is_wanted_program(wishes, "/usr/lib/gcc/cc1plus"));
}

struct Meaning {
  const char *pattern, *symbol;
  bool may;
};

TEST(FollowWishes, NamesThatMayMeanAFunction) {
  const Meaning rows[] = {
      {"malloc", "malloc", true},
      {"malloc", "malloc@@GLIBC_2.2.5", true},
      {"malloc", "mallocx", false},
      {"malloc", "__libc_malloc", false},
      {"f", "f.constprop.0", true},
      {"f.constprop.0", "f", false},
      {"parse*", "parse_line", true},
      {"parse*", "reparse", false},
      {"f?[ab]", "fxa", true},
      {"ns::Class::f", "_ZN2ns5Class1fEi", true},
      {"f", "_Z1fi", true},  // a C++ name without its parameters
      {"insert", "_ZN2ns5Class1fEi", false},
      {"db::Table<*>::insert*", "_ZN2db5TableIiE6insertEi", true},
      {"db::Table<*>::insert*", "_ZN2db5TableIiE5eraseEi", false},
      {"(anonymous namespace)::work", "_ZN12_GLOBAL__N_14workEv", true},
      {"operator new", "_Znwm", true},  // abbreviated: nothing can be said
      {"std::string", "_ZNSsC1Ev", true},
      {"ns::~Class", "_ZN2ns5ClassD1Ev", true},
      {"ns::*", "_ZN2ns1fEv", true},
      {"ns::*", "_ZN2db1fEv", false},
      {"*", "anything", true},
      {"*", "_ZN2ns1fEv", true},
      {"core::fmt::write", "_RNvNtCs1_4core3fmt5write", true},
  };
  for (const Meaning& row : rows)
    EXPECT_EQ(may_mean(row.pattern, row.symbol), row.may) << row.pattern << " " << row.symbol;
}

int own_function() { return 17; }

TEST(FollowWishes, AnObjectThatHasThem) {
  Result<FileMapping> file = FileMapping::open("/proc/self/exe");
  ASSERT_TRUE(file.ok());
  Result<ElfImage> image = ElfImage::from_file(file->bytes());
  ASSERT_TRUE(image.ok());
  ASSERT_EQ(own_function(), 17);
  FollowWishes wishes;
  EXPECT_FALSE(may_have_wanted(wishes, *image));
  wishes.functions = {"no_such_function_anywhere"};
  EXPECT_FALSE(may_have_wanted(wishes, *image));
  wishes.functions = {"main"};
  EXPECT_TRUE(may_have_wanted(wishes, *image));
  wishes.functions = {"own_function"};
  EXPECT_TRUE(may_have_wanted(wishes, *image));
  wishes.functions = {"gtest_of_another_program"};
  wishes.events = {"no:such"};
  EXPECT_FALSE(may_have_wanted(wishes, *image));
}

TEST(FollowWishes, AProcessAndItsLibraries) {
  FollowWishes wishes;
  wishes.functions = {"malloc"};  // libc's
  EXPECT_TRUE(may_have_wanted(wishes));
  wishes.functions = {"no_such_function_anywhere"};
  EXPECT_FALSE(may_have_wanted(wishes));
  wishes.libraries = {"libc"};  // is there
  EXPECT_FALSE(may_have_wanted(wishes));
  wishes.libraries = {"libplug_that_may_come"};
  EXPECT_TRUE(may_have_wanted(wishes));
}

}  // namespace
}  // namespace patchbay
