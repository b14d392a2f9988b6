// SPDX-License-Identifier: MIT
// tests/debug_info/passing.c: where the System V convention puts each parameter. The expected
// places are what gcc and clang read there.
#include "debug_info/calling_convention.h"

#include <gtest/gtest.h>

#include "debug_info/dwarf_testing.h"

namespace patchbay {
namespace {

std::string shown(const Where& where) {
  if (where.kind == Where::Kind::kPieces) {
    std::string text;
    for (const Where::Piece& piece : where.pieces)
      text += (text.empty() ? "" : "+") + shown(piece.where);
    return text;
  }
  Result<std::string> text =
      fetch_text(where, [](uint64_t) -> std::optional<std::string> { return std::nullopt; });
  return text.ok() ? *text : text.error().message();
}

// "a %di, b %si …"
std::string places(const DebugInfo& info, const char* function, bool at_return = false) {
  std::string text;
  for (const PassedParameter& one : passed_parameters(test::die_named(info, function)).parameters)
    text += (text.empty() ? "" : ", ") + one.name + " " + shown(place_of(one, at_return));
  return text;
}

struct Row {
  const char* function;
  const char* places;
};

constexpr Row kPassing[] = {
    {"integers", "a %di, b %si, c %dx, d %cx, e %r8, f %r9, g +8(%sp), h +16(%sp)"},
    {"floats", "a %di, b %xmm0, c %xmm1, d %si"},
    {"nine_doubles",
     "a %xmm0, b %xmm1, c %xmm2, d %xmm3, e %xmm4, f %xmm5, g %xmm6, h %xmm7, i +8(%sp), j %di"},
    {"structs", "p %di, m %si+%xmm0, v %xmm1+%xmm2, b +8(%sp), last %dx"},
    {"no_room", "a %di, b %si, c %dx, d %cx, e %r8, f +8(%sp), g %r9"},
    {"small", "a %di, b %si, c %dx, d %cx"},
    {"transparent", "a %di, b %si, c %dx"},
    {"int128", "a %di, b %si+%dx, c %cx"},
    {"int128_on_stack", "a %di, b %si, c %dx, d %cx, e %r8, f %r9, g +8(%sp), h +24(%sp)"},
    {"long_doubles", "a +8(%sp), b %di, c +24(%sp), d %si"},
    {"aligned_on_stack",
     "a %di, b %si, c %dx, d %cx, e %r8, f %r9, g +8(%sp), h +24(%sp), i +56(%sp)"},
    {"packed_struct", "p +8(%sp), q %di"},
    {"complexes", "a %xmm0, b %xmm1+%xmm2, c %xmm3"},
    {"complex_member", "a %xmm0+%xmm1, b %xmm2"},
    {"vectors", "a %xmm0, b %xmm1, c %xmm2"},
    {"quads", "a %xmm0, b %xmm1"},
    {"nothing", ""},
    {"returns_big", "n %si"},
    {"returns_pair", "n %di"},
};

class Passing : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Compilers, Passing,
                         ::testing::Values("passing_4", "passing_5", "passing_split_4",
                                           "passing_split_5", "passing_clang",
                                           "passing_clang_split"));

TEST_P(Passing, EachParameterHasItsPlace) {
  if (!test::has_object(GetParam())) GTEST_SKIP();
  const auto info = test::open_info(test::object_path(GetParam()));
  ASSERT_TRUE(info);
  for (const Row& row : kPassing) {
    std::string expected = row.places;
    // clang up to 17 does not align it.
    if (test::made_by_clang(*info) && row.function == std::string("int128_on_stack"))
      expected.replace(expected.size() - 8, 8, "+16(%sp)");
    EXPECT_EQ(places(*info, row.function), expected) << row.function;
  }
}

TEST_P(Passing, AtTheReturnArgumentsAreNumbered) {
  if (!test::has_object(GetParam())) GTEST_SKIP();
  const auto info = test::open_info(test::object_path(GetParam()));
  ASSERT_TRUE(info);
  const std::string gone = "not known when the function has returned";
  EXPECT_EQ(places(*info, "integers", true),
            "a $arg1, b $arg2, c $arg3, d $arg4, e $arg5, f $arg6, g " + gone + ", h " + gone);
  EXPECT_EQ(places(*info, "floats", true), "a $arg1, b " + gone + ", c " + gone + ", d $arg2");
  EXPECT_EQ(places(*info, "returns_big", true), "n $arg2");
}

TEST_P(Passing, Results) {
  if (!test::has_object(GetParam())) GTEST_SKIP();
  const auto info = test::open_info(test::object_path(GetParam()));
  ASSERT_TRUE(info);
  constexpr Row kResults[] = {
      {"returns_int", "$retval"},
      {"returns_double", "%xmm0"},
      {"returns_pair", "$retval"},
      {"returns_mixed", "$retval+%xmm0"},
      {"returns_big", "+0($retval)"},
      {"returns_long_double", "in a register that probes cannot read"},
      {"nothing", "nothing: the function returns void"},
  };
  for (const Row& row : kResults)
    EXPECT_EQ(shown(returned_value(test::die_named(*info, row.function))), row.places)
        << row.function;
  EXPECT_TRUE(passed_parameters(test::die_named(*info, "returns_big")).has_hidden_result);
  EXPECT_FALSE(passed_parameters(test::die_named(*info, "returns_mixed")).has_hidden_result);
}

class PassingCxx : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Compilers, PassingCxx,
                         ::testing::Values("passing_cxx_4", "passing_cxx_5"));

TEST_P(PassingCxx, ClassesWithADestructorGoByReference) {
  const auto info = test::open_info(test::object_path(GetParam()));
  ASSERT_TRUE(info);
  const PassedParameters passed = passed_parameters(test::die_named(*info, "by_copy"));
  ASSERT_EQ(passed.parameters.size(), 4u);
  EXPECT_TRUE(passed.parameters[0].by_reference);
  EXPECT_EQ(shown(place_of(passed.parameters[0], false)), "+0(%di)");
  EXPECT_EQ(shown(place_of(passed.parameters[0], true)), "+0($arg1)");
  EXPECT_EQ(shown(place_of(passed.parameters[1], false)), "%si");
  EXPECT_FALSE(passed.parameters[2].is_known) << "a class without members is passed nowhere";
  EXPECT_EQ(shown(place_of(passed.parameters[3], false)), "%dx");
  const PassedParameters bases = passed_parameters(test::die_named(*info, "derived"));
  ASSERT_EQ(bases.parameters.size(), 2u);
  EXPECT_EQ(shown(place_of(bases.parameters[0], false)), "%di+%xmm0");
  EXPECT_EQ(shown(place_of(bases.parameters[1], false)), "%si");
}

}  // namespace
}  // namespace patchbay
