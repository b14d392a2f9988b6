// SPDX-License-Identifier: MIT
//
// What is shown can be typed back: a name as lists show it is a name in a definition, and means the
// function that it was shown for.
#include "event/function_name.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "symbol/symbol.h"

namespace patchbay {
namespace {

TEST(FunctionName, EndsBeforeItsArguments) {
  const std::string_view names[] = {"open",
                                    "größe",
                                    "libc:open",
                                    "ns::f(int, char)",
                                    "Box<int>::get",
                                    "Box<unsigned_int>::get",
                                    "T::operator*",
                                    "T::operator()",
                                    "T::operator bool",
                                    "T::operator_bool",
                                    "T::operator_char_const*",
                                    "T::operator_std::vector<int,_std::allocator<int>_>",
                                    "operator_new[]",
                                    "operator_add",
                                    "std::operator>><char>",
                                    "std::operator<<_<char>",
                                    "std::operator<< <char>",
                                    "T::operator->*",
                                    "non-virtual_thunk_to_T::~T",
                                    "non-virtual thunk to T::~T",
                                    "lit::operator\"\"_kg",
                                    "lit::operator\"\" _kg",
                                    "shop::hidden.llvm.1234",
                                    "count.Frame.actor",
                                    "(anonymous_namespace)::f",
                                    "(anonymous namespace)::f",
                                    "f@VER_1",
                                    "f@@VER_2.3",
                                    "f(int)::{lambda(char)#1}::operator()",
                                    "T::f(int,_char)_const::{lambda(char)#1}::operator()",
                                    "T::f(int, char) const::{lambda(char)#1}::operator()",
                                    "T::f()_const_&::Local::g"};
  for (const std::string_view name : names) {
    EXPECT_EQ(scan_function_name(std::string(name) + "(int a)"), name.size()) << name;
  }
}

// A sample; PATCHBAY_SEED chooses another one, PATCHBAY_LIBRARY another library.
class NamesOfALibrary : public testing::Test {
 protected:
  void expect_found(const FunctionSymbol& function, const std::string& name) {
    auto found = table_->resolve(library_->name() + ":" + name);
    ASSERT_TRUE(found.ok()) << function.name << ": " << found.error().message();
    // D0 only leads to D1 of the same name.
    const bool is_way = function.name.find("D0E") != function.name.npos;
    const bool is_among = std::any_of(found->begin(), found->end(), [&](const auto& one) {
      return one.symbol.address == function.address ||
             (is_way && one.symbol.size > 0 &&
              one.display_name == display_name(*library_, function));
    });
    EXPECT_TRUE(is_among) << function.name << " is shown as " << name;
  }
  void find_library(std::string_view name) {
    for (Module* module : table_->modules())
      if (module->name().starts_with(name.substr(name.rfind('/') + 1))) library_ = module;
  }
  std::unique_ptr<SymbolTable> table_;
  Module* library_ = nullptr;
};

TEST_F(NamesOfALibrary, MeanTheirFunctions) {
  const char* asked = std::getenv("PATCHBAY_LIBRARY");
  const char* path = asked ? asked : "libstdc++.so.6";
  ASSERT_NE(dlopen(path, RTLD_NOW), nullptr) << dlerror();
  table_ = make_self_symbol_table();
  find_library(path);
  ASSERT_NE(library_, nullptr);
  const char* seed = std::getenv("PATCHBAY_SEED");
  std::mt19937 random(seed ? unsigned(std::atoi(seed)) : 1);
  const auto& functions = library_->functions();
  for (const FunctionSymbol& function : functions) {
    if (function.name.empty() || function.is_cold_part || function.is_ifunc) continue;
    const std::string printed = display_name(*library_, function), name = without_blanks(printed);
    for (const std::string& one : {name, printed})
      EXPECT_EQ(scan_function_name(one + "(int a)"), one.size()) << one;
    if (random() % functions.size() >= 400) continue;
    expect_found(function, name);
    expect_found(function, printed);
  }
}

}  // namespace
}  // namespace patchbay
