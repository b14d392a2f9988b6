// SPDX-License-Identifier: MIT
#include "debug_info/functions.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "debug_info/dwarf_testing.h"

namespace patchbay {
namespace {

TEST(IsFile, ByTheEndOfItsPath) {
  for (const auto& [path, asked] : std::vector<std::pair<const char*, const char*>>{
           {"/a/b.c", "b.c"}, {"/a/b.c", "a/b.c"}, {"/a/b.c", "/a/b.c"}, {"b.c", "b.c"}})
    EXPECT_TRUE(is_file(path, asked)) << path << " " << asked;
  for (const auto& [path, asked] : std::vector<std::pair<const char*, const char*>>{
           {"/a/bb.c", "b.c"}, {"/a/b.c", "c/b.c"}, {"/a/b.c", ".c"}, {"", "b.c"}})
    EXPECT_FALSE(is_file(path, asked)) << path << " " << asked;
}

class Functions : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    info_ = test::open_info(test::object_path(GetParam()));
    ASSERT_TRUE(info_);
    index_ = std::make_unique<UnitIndex>(*info_);
    finder_ = std::make_unique<FunctionFinder>(*info_, *index_);
  }
  // "name(n)": that many instances; or the sentence of the error.
  std::string found(const char* name, const char* file = "") {
    Result<std::vector<FunctionInstance>> instances = finder_->find(name, file);
    if (!instances.ok()) return instances.error().message();
    return instances->front().name + "(" + std::to_string(instances->size()) + ")";
  }
  std::unique_ptr<DebugInfo> info_;
  std::unique_ptr<UnitIndex> index_;
  std::unique_ptr<FunctionFinder> finder_;
};
INSTANTIATE_TEST_SUITE_P(Objects, Functions, ::testing::Values("passing_cxx_4", "passing_cxx_5"));

TEST_P(Functions, ByEveryNameThatTheyHave) {
  const std::pair<const char*, const char*> rows[] = {
      {"by_copy", "shop::by_copy(1)"},
      {"shop::by_copy", "shop::by_copy(1)"},
      {"::shop::by_copy", "shop::by_copy(1)"},
      {"Order::add", "shop::Order::add(2)"},
      {"shop::Order::add", "shop::Order::add(2)"},
      {"shop::Order::add(int)", "shop::Order::add(1)"},
      {"shop::Order::add(double)", "shop::Order::add(1)"},
      {"_ZN4shop5Order3addEi", "shop::Order::add(1)"},
      {"store::add", "store::add(1)"},
      {"largest<int>", "shop::largest<int>(1)"},
      {"shop::largest", "shop::largest<int>(1)"},
      {"Owner::~Owner", "Owner::~Owner(1)"},
  };
  for (const auto& [name, expected] : rows) EXPECT_EQ(found(name), expected) << name;
  EXPECT_EQ(found("by_copy", "passing_cxx.cc"), "shop::by_copy(1)");
}

TEST_P(Functions, MistakesAreSentences) {
  const std::string object = GetParam() + std::string(".so");
  EXPECT_EQ(found("add"),
            "'add' can mean 2 functions: shop::Order::add, store::add; write the whole name.");
  EXPECT_EQ(found("by_copy", "other.cc"),
            "The function 'by_copy' of " + object + " does not stand in a file other.cc.");
  EXPECT_EQ(found("by_cop"), "There is no function 'by_cop' in the debug information of " + object +
                                 "; near: by_copy.");
  EXPECT_EQ(found("shop::Order::add(char)").find("There is no function "), 0u);
  EXPECT_EQ(found("").find("There is no function "), 0u);
}

TEST_P(Functions, AreListed) {
  const std::vector<std::string> names = finder_->names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const char* name : {"shop::by_copy", "shop::derived", "shop::Order::add", "store::add"})
    EXPECT_TRUE(std::count(names.begin(), names.end(), name)) << name;
}

TEST_P(Functions, InnermostOfAnAddress) {
  const FunctionInstance add = (*finder_->find("store::add", "")).front();
  Dwarf_Die unit;
  Dwarf_Die die = add.die;
  ASSERT_TRUE(::dwarf_diecu(&die, &unit, nullptr, nullptr));
  const std::optional<FunctionInstance> found = finder_->innermost(unit, add.entry + 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->entry, add.entry);
  EXPECT_EQ(found->name, "add");
  EXPECT_FALSE(found->is_inlined);
  EXPECT_FALSE(finder_->innermost(unit, 0x7fffffff));
}

TEST(FunctionsOfSplitUnits, AreThereWhereTheirFileIs) {
  const auto info = test::open_info(test::object_path("values_split"));
  ASSERT_TRUE(info);
  const UnitIndex index(*info);
  FunctionFinder finder(*info, index);
  EXPECT_TRUE(finder.find("reads", "").ok());
  EXPECT_EQ(finder.find("nobody", "").error().errno_value, ENOENT);
}

// Another file's name, and a file of another build.
TEST(FunctionsOfSplitUnits, AreSaidToBeElsewhere) {
  const std::string object = test::object_path("values_split");
  const std::string bytes = test::read_bytes(object), split = object + "-values.dwo";
  const size_t name = bytes.find("-values.dwo");
  if (test::read_bytes(split).empty() || name == bytes.npos) GTEST_SKIP() << "another name";
  const test::TemporaryFile file;
  for (const char* other : {"-absent.dwo", "-others.dwo"}) {
    std::string renamed = bytes;
    for (size_t at = name; at != bytes.npos; at = bytes.find("-values.dwo", at + 1))
      renamed.replace(at, 11, other);
    std::ofstream(file.path(), std::ios::binary) << renamed;
    const std::string others = object + "-others.dwo";
    std::ofstream(others, std::ios::binary)
        << test::read_bytes(test::object_path("passing_split_5") + "-passing.dwo");
    const auto info = test::open_info(file.path());
    ASSERT_TRUE(info);
    const UnitIndex index(*info);
    const Error error = FunctionFinder(*info, index).find("reads", "").error();
    EXPECT_EQ(error.errno_value, ENODATA);
    EXPECT_NE(error.message().find(std::string(other) + " is not there, or is of another build"),
              std::string::npos)
        << error.message();
    ::unlink(others.c_str());
  }
}

}  // namespace
}  // namespace patchbay
