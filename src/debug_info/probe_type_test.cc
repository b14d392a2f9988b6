// SPDX-License-Identifier: MIT
#include "debug_info/probe_type.h"

#include <gtest/gtest.h>

#include "debug_info/dwarf_testing.h"

namespace patchbay {
namespace {

using test::name_is;
using test::number;

class Types : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!test::has_object(GetParam())) GTEST_SKIP();
    info_ = test::open_info(test::object_path(GetParam()));
    ASSERT_TRUE(info_);
    item_ = facts_of(test::die_named(*info_, "item"));
  }
  std::optional<Member> member(const char* name) { return find_member(item_, name, nullptr); }
  std::unique_ptr<DebugInfo> info_;
  TypeFacts item_;
};
INSTANTIATE_TEST_SUITE_P(Compilers, Types,
                         ::testing::Values("values_4", "values_5", "values_clang"));

TEST_P(Types, OfMembers) {
  struct Row {
    const char *name, *type, *scalar;
    uint64_t offset, size;
  };
  const Row rows[] = {
      {"id", "int", "s32", 0, 4},
      {"name", "const char*", "x64", 8, 8},
      {"numbers", "int[4]", "", 16, 16},
      {"label", "char[8]", "", 32, 8},
      {"corner", "struct point[2][3]", "", 40, 24},
      {"colour", "enum colour", "u32", 68, 4},
      {"whole", "int", "s32", 72, 4},
      {"real", "float", "float", 72, 4},
      {"next", "item_t*", "x64", 80, 8},
      {"huge", "long double", "", 96, 16},
      {"call", "void()*", "x64", 112, 8},
  };
  ASSERT_EQ(item_.kind, TypeKind::kAggregate);
  EXPECT_EQ(item_.size, 128u);
  for (const Row& row : rows) {
    const std::optional<Member> found = member(row.name);
    ASSERT_TRUE(found) << row.name;
    EXPECT_EQ(type_name(found->type), row.type) << row.name;
    EXPECT_EQ(scalar_type(facts_of(found->type)), row.scalar) << row.name;
    EXPECT_EQ(found->offset, row.offset) << row.name;
    EXPECT_EQ(facts_of(found->type).size, row.size) << row.name;
    EXPECT_EQ(found->bit_size, 0u) << row.name;
  }
  EXPECT_FALSE(member("nothing"));
  EXPECT_FALSE(find_member(facts_of(member("id")->type), "id", nullptr));
}

TEST_P(Types, BitFields) {
  struct Row {
    const char* name;
    unsigned bits;
    uint64_t first;
  };
  for (const Row& row : {Row{"low", 3, 512}, Row{"high", 7, 515}, Row{"below", 5, 522}}) {
    const std::optional<Member> found = member(row.name);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->bit_size, row.bits) << row.name;
    EXPECT_EQ(found->first_bit, row.first) << row.name;
  }
  EXPECT_TRUE(facts_of(member("below")->type).is_signed);
  EXPECT_FALSE(facts_of(member("low")->type).is_signed);
}

TEST_P(Types, ArraysAndEnums) {
  const TypeFacts corner = facts_of(member("corner")->type);
  EXPECT_EQ(corner.kind, TypeKind::kArray);
  EXPECT_EQ(dimensions_of(corner), 2u);
  EXPECT_EQ(length_of(corner), 2u);
  EXPECT_EQ(stride_of(corner), 12u);
  const TypeFacts label = facts_of(member("label")->type);
  EXPECT_TRUE(facts_of(element_of(label)).is_plain_char);
  EXPECT_EQ(stride_of(label), 1u);
  EXPECT_EQ(enumerators_of(facts_of(member("colour")->type)), "RED=0, GREEN=1, BLUE=7");
  EXPECT_EQ(enumerators_of(item_), "");
  EXPECT_EQ(facts_of(std::nullopt).kind, TypeKind::kVoid);
  EXPECT_EQ(type_name(std::nullopt), "void");
}

TEST(TypesOfCxx, BasesAreInside) {
  const auto info = test::open_info(test::object_path("passing_cxx_5"));
  ASSERT_TRUE(info);
  const TypeFacts derived = facts_of(test::die_named(*info, "Derived"));
  EXPECT_EQ(find_member(derived, "first", nullptr)->offset, 0u);
  EXPECT_EQ(find_member(derived, "second", nullptr)->offset, 8u);
  EXPECT_EQ(members_of(derived).size(), 2u);
}

// --- types that lead in circles: a bound ends every question

TEST(HandMadeTypes, CirclesEnd) {
  const test::HandMadeUnit unit(
      {DW_TAG_compile_unit,
       "",
       {name_is("u")},
       {{DW_TAG_typedef, "a", {name_is("a"), test::type_is("b")}, {}},
        {DW_TAG_const_type, "b", {test::type_is("a")}, {}},
        {DW_TAG_pointer_type, "p", {name_is("p"), test::type_is("p")}, {}},
        {DW_TAG_array_type,
         "r",
         {name_is("r"), test::type_is("r")},
         {{DW_TAG_subrange_type, "", {number(DW_AT_count, 1000000)}, {}}}},
        {DW_TAG_structure_type,
         "s",
         {name_is("s"), number(DW_AT_byte_size, 8)},
         {{DW_TAG_member, "", {test::type_is("s")}, {}},
          {DW_TAG_inheritance, "", {test::type_is("s")}, {}},
          {DW_TAG_member, "", {name_is("m"), test::type_is("a")}, {}}}}}});
  const test::TemporaryFile file(
      test::elf_file({{".debug_info", unit.info}, {".debug_abbrev", unit.abbreviations}}));
  const auto info = test::open_info(file.path());
  ASSERT_TRUE(info);
  EXPECT_EQ(facts_of(test::die_named(*info, "a")).kind, TypeKind::kVoid);
  EXPECT_EQ(facts_of(test::die_named(*info, "p")).kind, TypeKind::kPointer);
  EXPECT_TRUE(type_name(test::die_named(*info, "p")).starts_with("?*"));
  (void)type_name(test::die_named(*info, "r"));
  (void)stride_of(facts_of(test::die_named(*info, "r")));
  const TypeFacts circle = facts_of(test::die_named(*info, "s"));
  EXPECT_FALSE(find_member(circle, "nothing", nullptr));
  EXPECT_LE(members_of(circle).size(), 10000u);
}

}  // namespace
}  // namespace patchbay
