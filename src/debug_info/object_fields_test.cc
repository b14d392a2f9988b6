// SPDX-License-Identifier: MIT
// tests/debug_info/objects.cc: types of the C++ library as fields of function events.
#include "debug_info/object_fields.h"

#include <gtest/gtest.h>

#include "debug_info/derive.h"
#include "debug_info/dwarf_testing.h"
#include "event/function_event.h"

namespace patchbay {
namespace {

struct Row {
  const char *function, *list;
  size_t objects;
};

constexpr Row kRows[] = {
    {"string_reference", "string/s_len/255 s[0]+0 | u64 s_len+8[0]", 1},
    {"string_value", "s32 n, string/s_len/255 s[0]+0 | u64 s_len+8[0]", 1},
    {"view", "u64 s_len, string/s_len/255 s, s32 n", 1},
    {"view_reference", "string/s_len/255 s+8[0]+0 | u64 s_len[0]", 1},
    {"path", "string/p_len/255 p[0]+0 | u64 p_len+8[0]", 1},
    {"wide", "u32[s_len/64] s[0]+0 | u64 s_len+8[0]", 1},
    {"ints", "s32[<v_end/8] v[0]+0 | x64 v_end+8[0] | x64 v_begin[0]", 1},
    {"bits", "x64 v", 0},
    {"items", "x64 v", 0},
    {"texts",
     "string/v_0_len/63 v_0[0][0]+0 | u64 v_0_len[0]+8[0]<v_end | "
     "string/v_1_len/63 v_1[0]+32[0]+0 | u64 v_1_len[0]+40[0]<v_end | "
     "string/v_2_len/63 v_2[0]+64[0]+0 | u64 v_2_len[0]+72[0]<v_end | "
     "x64 v_end+8[0] | x64 v_begin[0] | u8[/1] v_ok",
     1},
    {"text_array",
     "string/v_0_len/63 v_0+8[0]+0 | u64 v_0_len[0] | string/v_1_len/63 v_1+24[0]+0 | "
     "u64 v_1_len+16[0] | u8[/1] v_ok",
     1},
    {"colors", "u8[<v_end/8] v[0]+0 | x64 v_end+8[0] | x64 v_begin[0]", 1},
    {"chars", "string/<v_end/255 v[0]+0 | x64 v_end+8[0] | x64 v_begin[0]", 1},
    {"array", "s64[/8] v", 1},
    {"span", "s16[v_len/8] v, u64 v_len", 1},
    {"span_of", "float[/2] v", 1},
    {"span_reference", "s32[v_len/8] v[0]+0 | u64 v_len+8[0]", 1},
    {"optional_in_one", "s32 v | x64 v_has", 1},
    {"optional_in_two", "double v, x64 v_has, s32 n", 1},
    {"optional_reference",
     "string/v_len/63 v[0]+0 | u64 v_len+8[0] | u8 v_has+32[0] | u8[/1] v_has_ok+32", 1},
    {"unique", "x64 p[0] | u8[/1] p_ok | s32 p_value[0][0] | u8[/1] p_value_ok[0]+0", 1},
    {"unique_deleter",
     "x64 p+8[0] | u8[/1] p_ok+8 | s32 p_value+8[0][0] | u8[/1] p_value_ok+8[0]+0", 1},
    {"unique_reference",
     "x64 p+8[0] | u8[/1] p_ok+8 | s32 p_value+8[0][0] | u8[/1] p_value_ok+8[0]+0", 1},
    {"shared",
     "x64 p[0] | u8[/1] p_ok | s32 p_value_a[0][0] | u8[/1] p_value_a_ok[0]+0 | "
     "u8[/1] p_value_ok[0]+0",
     1},
    {"sizes",
     "u64 m_size+40[0] | u8[/1] m_size_ok+40, u64 s_size+24[0] | u8[/1] s_size_ok+24, "
     "u64 l_size+16[0] | u8[/1] l_size_ok+16",
     3},
    {"duration", "s64 d, s64 h[0] | u8[/1] h_ok", 2},
    {"taken", "string/s_len_2/255 s[0]+0 | u64 s_len_2+8[0], s32 s_len, s32 s_len_1", 1},
    {"not_ours", "x64 v, x64 p", 0},
    {"fills", "x64 out, x64 numbers, x64 d", 0},
    {"changes",
     "s32[<v_end/8] v[0]+0 | x64 v_end+8[0] | x64 v_begin[0], "
     "s32 moved_a[0] | u8[/1] moved_a_ok | u8[/1] moved_ok",
     2},
};

class ObjectFieldsOf : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Objects, ObjectFieldsOf,
                         ::testing::Values("objects_4", "objects_5", "objects_clang"));

TEST_P(ObjectFieldsOf, TypesOfTheLibrary) {
  if (!test::has_object(GetParam())) GTEST_SKIP();
  Result<std::unique_ptr<SourceProbes>> probes = SourceProbes::open(test::object_path(GetParam()));
  ASSERT_TRUE(probes.ok()) << probes.error().message();
  for (const Row& row : kRows) {
    Result<FunctionEventLines> made = (*probes)->function_events(row.function);
    ASSERT_TRUE(made.ok()) << made.error().message();
    ASSERT_EQ(made->lines.size(), 1u);
    EXPECT_EQ(made->lines[0], row.function + ("(" + std::string(row.list)) + ")");
    ASSERT_EQ(made->objects.size(), 1u);
    EXPECT_EQ(made->objects[0].size(), row.objects) << row.function;
    const FunctionEventParse parsed = parse_function_event(made->lines[0], nullptr);
    EXPECT_TRUE(parsed.def) << (parsed.error ? parsed.error->text : "");
    // Each field that a form names is one of the event's.
    if (!parsed.def) continue;
    const EventCall call = make_function_event_call(*parsed.def, 1);
    for (const ObjectArgument& object : made->objects[0])
      for (const std::string& field : object.fields) EXPECT_TRUE(call.find(field)) << field;
  }
}

// function_events takes no line above 4095 bytes.
TEST_P(ObjectFieldsOf, LargeStructures) {
  if (!test::has_object(GetParam())) GTEST_SKIP();
  Result<std::unique_ptr<SourceProbes>> probes = SourceProbes::open(test::object_path(GetParam()));
  ASSERT_TRUE(probes.ok()) << probes.error().message();
  constexpr std::pair<const char*, size_t> kLarge[] = {
      {"large", 3}, {"large_lists", 2}, {"many_large", 0}};
  for (const auto& [function, objects] : kLarge) {
    Result<FunctionEventLines> made = (*probes)->function_events(function);
    ASSERT_TRUE(made.ok()) << made.error().message();
    EXPECT_LT(made->lines[0].size(), 4000u) << function;
    EXPECT_TRUE(parse_function_event(made->lines[0], nullptr).def) << function;
    ASSERT_EQ(made->objects[0].size(), objects) << function;
    for (const ObjectArgument& object : made->objects[0]) EXPECT_LE(object.fields.size(), 48u);
    if (objects) {
      EXPECT_EQ(made->objects[0][0].form.parts.back().unit, "{…}");
    }
  }
}

// The kernel's uprobes have no form for lengths.
TEST(ObjectFieldsAre, LeftOutWhereAsked) {
  Result<std::unique_ptr<SourceProbes>> probes = SourceProbes::open(test::object_path("objects_5"));
  ASSERT_TRUE(probes.ok()) << probes.error().message();
  auto made = (*probes)->function_events("string_value", false);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->lines[0], "string_value(s32 n, string s+0[0]+0)");
  EXPECT_TRUE(made->objects[0].empty());
}

}  // namespace
}  // namespace patchbay
