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
                                    "f(int)::{lambda(char)#1}::operator()"};
  for (const std::string_view name : names) {
    EXPECT_EQ(scan_function_name(std::string(name) + "(int a)"), name.size()) << name;
  }
}

// A sample; PATCHBAY_SEED chooses another one.
TEST(FunctionName, OfALibraryNameTheirFunctions) {
  void* handle = dlopen("libstdc++.so.6", RTLD_NOW);
  ASSERT_NE(handle, nullptr);
  auto table = make_self_symbol_table();
  Module* library = nullptr;
  for (Module* module : table->modules())
    if (module->name().starts_with("libstdc++")) library = module;
  ASSERT_NE(library, nullptr);
  const char* seed = std::getenv("PATCHBAY_SEED");
  std::mt19937 random(seed ? unsigned(std::atoi(seed)) : 1);
  const auto& functions = library->functions();
  for (const FunctionSymbol& function : functions) {
    if (function.name.empty() || function.is_cold_part) continue;
    const std::string name = without_blanks(display_name(*library, function));
    EXPECT_EQ(scan_function_name(name + "(int a)"), name.size()) << name;
    if (random() % functions.size() >= 400) continue;
    auto found = table->resolve("libstdc++:" + name);
    ASSERT_TRUE(found.ok()) << function.name << ": " << found.error().message();
    const bool is_among = std::any_of(found->begin(), found->end(), [&](const auto& one) {
      return one.symbol.address == function.address;
    });
    EXPECT_TRUE(is_among) << function.name << " is shown as " << name;
  }
}

}  // namespace
}  // namespace patchbay
