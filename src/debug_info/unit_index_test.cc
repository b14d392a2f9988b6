// SPDX-License-Identifier: MIT
#include "debug_info/unit_index.h"

#include <gtest/gtest.h>

#include "debug_info/dwarf_testing.h"

namespace patchbay {
namespace {

std::vector<std::string> names(const std::vector<Dwarf_Die>& units) {
  std::vector<std::string> found;
  for (const Dwarf_Die& unit : units) {
    const std::string name = name_of(unit);
    found.push_back(name.substr(name.rfind('/') + 1));
  }
  return found;
}
using Names = std::vector<std::string>;

class Units : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Objects, Units,
                         ::testing::Values("values_4", "values_5", "values_z", "values_clang"));

TEST_P(Units, AreFoundByWhatTheyName) {
  if (!test::has_object(GetParam())) GTEST_SKIP();
  const auto info = test::open_info(test::object_path(GetParam()));
  ASSERT_TRUE(info);
  const UnitIndex index(*info);
  EXPECT_EQ(index.size(), 2u);
  EXPECT_EQ(names(index.all()), (Names{"values.c", "other.c"}));
  // A unit may be found by chance; one that names it is found.
  const std::pair<const char*, const char*> rows[] = {
      {"reads", "values.c"},        {"twice", "values.c"},   {"item", "values.c"},
      {"only_in_other", "other.c"}, {"in_other", "other.c"}, {"counter", "values.c"}};
  for (const auto& [name, unit] : rows) {
    const Names found = names(index.naming(name));
    EXPECT_TRUE(std::count(found.begin(), found.end(), unit)) << name;
  }
  EXPECT_EQ(names(index.naming("nobody_is_called_so")), Names{});
  EXPECT_EQ(names(index.naming("only_in_othe")), Names{}) << "the beginning of a name";
  for (const char* file : {"values.c", "other.c"}) {
    const Names found = names(index.with_file(file));
    EXPECT_TRUE(std::count(found.begin(), found.end(), file)) << file;
  }
  EXPECT_EQ(names(index.with_file("nothing.c")), Names{});
  EXPECT_EQ(names(index.referring({1, 2, 3})), Names{}) << "no unit refers to another one";
}

TEST(UnitIndex, FindsTemplatesByTheirName) {
  const auto info = test::open_info(test::object_path("passing_cxx_5"));
  ASSERT_TRUE(info);
  EXPECT_EQ(UnitIndex(*info).naming("largest").size(), 1u);
}

// Where a unit says that its lines lie may be anywhere.
TEST(UnitIndex, LinesThatLieNowhere) {
  for (const uint64_t begin :
       {uint64_t{0}, uint64_t{8}, uint64_t{12}, uint64_t{0x7fffffff}, UINT64_MAX - 2, UINT64_MAX}) {
    const test::HandMadeUnit unit(
        {DW_TAG_compile_unit, "", {{DW_AT_stmt_list, DW_FORM_data8, test::word(begin), ""}}, {}});
    const test::TemporaryFile file(test::elf_file({{".debug_info", unit.info},
                                                   {".debug_abbrev", unit.abbreviations},
                                                   {".debug_line", "0123a.c\0 567"}}));
    const auto info = test::open_info(file.path());
    ASSERT_TRUE(info);
    EXPECT_LE(UnitIndex(*info).with_file("a.c").size(), 1u) << begin;
  }
}

// A unit of link time optimisation refers to entries of others by their offset in the section.
TEST(UnitIndex, FindsWhoRefersToAnEntry) {
  const auto unit = [](std::vector<test::HandMadeAttribute> attributes) {
    return test::HandMadeUnit({DW_TAG_compile_unit,
                               "",
                               {test::name_is("u")},
                               {{DW_TAG_subprogram, "", std::move(attributes), {}}}});
  };
  const test::HandMadeUnit plain = unit({test::name_is("f")});
  test::HandMadeUnit refers =
      unit({{DW_AT_abstract_origin, DW_FORM_ref_addr, test::word(uint32_t{0x123}), ""}});
  // The offset of its abbreviations stands behind length, version, type and address size.
  refers.info.replace(8, 4, test::word(uint32_t(plain.abbreviations.size())));
  const test::TemporaryFile file(
      test::elf_file({{".debug_info", plain.info + refers.info},
                      {".debug_abbrev", plain.abbreviations + refers.abbreviations}}));
  const auto info = test::open_info(file.path());
  ASSERT_TRUE(info);
  const UnitIndex index(*info);
  ASSERT_EQ(index.size(), 2u);
  const std::vector<Dwarf_Die> found = index.referring({0x123});
  ASSERT_EQ(found.size(), 1u);
  Dwarf_Die die = found[0];
  EXPECT_GT(::dwarf_dieoffset(&die), plain.info.size());
  EXPECT_EQ(index.referring({0x124}).size(), 0u);
}

}  // namespace
}  // namespace patchbay
