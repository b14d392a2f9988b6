// SPDX-License-Identifier: MIT
#include "cmd/target/nothing_recorded.h"

#include <gtest/gtest.h>

namespace patchbay::cmd {
namespace {

NamedFunction named(const char* text) { return function_named({text, ""}); }

TEST(NothingRecorded, TheFunctionOfADefinition) {
  EXPECT_EQ(named("openat(int dfd, string path)").name, "openat");
  EXPECT_EQ(named("int ns::f(int, char)(int a)").name, "ns::f");
  EXPECT_EQ(named("char *libc:strdup(string s)").name, "strdup");
  EXPECT_EQ(named("char *libc:strdup(string s)").library, "libc");
  EXPECT_EQ(named("ns::f(*)").library, "");
  EXPECT_EQ(named("p:x libfoo:parse+0x1f %ax").library, "libfoo");
  EXPECT_EQ(named("p:x libfoo:parse+0x1f %ax").name, "parse");
  EXPECT_EQ(named("r malloc").name, "malloc");
  EXPECT_EQ(named("sdt_libc:memory*").name, "");
}

TEST(NothingRecorded, Families) {
  EXPECT_TRUE(is_of_family("openat", "opendir"));
  EXPECT_TRUE(is_of_family("openat", "__open64_2"));
  EXPECT_TRUE(is_of_family("read", "__pread_chk"));
  EXPECT_TRUE(is_of_family("printf", "__printf_chk"));
  EXPECT_TRUE(is_of_family("malloc", "_Znwm"));
  EXPECT_TRUE(is_of_family("my_parse", "__my_parse64"));  // the same stem
  EXPECT_FALSE(is_of_family("read", "readlink"));
  EXPECT_FALSE(is_of_family("open", "close"));
  EXPECT_FALSE(is_of_family("", "_"));
}

TEST(NothingRecorded, SaysWhichLibraryIsMissing) {
  const std::vector<RecordedModule> modules{{0x1000, 0x2000, 0, "", "/usr/lib/libplug-1.so"},
                                            {0x3000, 0x4000, 0, "", "/usr/lib/libother.so"}};
  auto why = [&](const char* text, const char* filter = "") {
    return why_nothing(std::vector<EventRequest>{{text, filter}}, modules, "/nowhere").at(0);
  };
  EXPECT_EQ(why("libplugin:f(int a)"), "'libplugin:f(int a)': libplugin was not loaded");
  EXPECT_EQ(why("libplug:f(int a)"), "f() was not called");
  EXPECT_EQ(why("p:x libplug-1.so:f"), "f() was not called");
  EXPECT_EQ(why("p:x f a=%di"), "f() was not called");
  for (const char* text : {"r:res f", "p:in f+4", "p:end f%return", "f:3 n", "f%return $retval"})
    EXPECT_EQ(why(text), "'" + std::string(text) + "' was not hit");
  EXPECT_EQ(why("shop:sold"), "'shop:sold' was not hit");
  EXPECT_EQ(why("f(int a)", "a > 3"),
            "'f(int a)' was not hit, or no hit fitted its filter 'a > 3'");
}

TEST(NothingRecorded, SaysOfAFunctionThatItsLibraryNeverCame) {
  const std::vector<RecordedModule> modules{{0x1000, 0x2000, 0, "", "/usr/lib/libplug.so.1"}};
  EXPECT_EQ(why_not_loaded("libother:f", modules), "'libother:f': libother was not loaded");
  EXPECT_EQ(why_not_loaded("libplug:f", modules), "");
  EXPECT_EQ(why_not_loaded("ns::f(int)", modules), "");
  EXPECT_EQ(why_not_loaded("operator new", modules), "");
  EXPECT_EQ(why_not_loaded("g8[abi:cxx11]", modules), "");
  EXPECT_EQ(why_not_loaded("libplug:g8[abi:cxx11]", modules), "");
}

TEST(NothingRecorded, FindsTheEventsWithoutRecords) {
  TraceRequest request;
  for (const char* text : {"open(string s)", "ns::f(int a)", "p:mine/gone parse", "sys:event",
                           "unknown(int a)", "p parse", "first=open(string s)"})
    ASSERT_EQ(request.take('e', text), nullptr) << text;
  std::vector<EventCall> events(6);
  const char* names[] = {"open_2", "ns_f", "gone", "event", "first", "open"};
  for (uint16_t i = 0; i < 6; i++) events[i].name = names[i], events[i].id = i;
  auto empty = without_records(request, events, [](uint16_t id) { return id == 0 ? 7u : 0u; });
  ASSERT_EQ(empty.size(), 3u);
  EXPECT_EQ(empty[0].text, "ns::f(int a)");
  EXPECT_EQ(empty[1].text, "p:mine/gone parse");
  EXPECT_EQ(empty[2].text, "first=open(string s)");
}

}  // namespace
}  // namespace patchbay::cmd
