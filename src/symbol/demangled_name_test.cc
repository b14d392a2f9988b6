// SPDX-License-Identifier: MIT
#include "symbol/demangled_name.h"

#include <gtest/gtest.h>

#include "symbol/symbol.h"

namespace patchbay {
namespace {

TEST(SplitDemangled, FindsNameAndParameters) {
  struct Case {
    const char *text, *name, *parameters, *trailing;
  };
  const Case kCases[] = {
      {"plain", "plain", "", ""},
      {"ns::f()", "ns::f", "()", ""},
      {"ns::f(int, char)", "ns::f", "(int, char)", ""},
      {"ns::C::get() const", "ns::C::get", "()", " const"},
      {"void ns::Box<int>::visit<long>(long) const", "ns::Box<int>::visit<long>", "(long)",
       " const"},
      {"std::vector<int, std::allocator<int> > const& ns::make<int>()", "ns::make<int>", "()", ""},
      {"ns::call(void (*)(int), char)", "ns::call", "(void (*)(int), char)", ""},
      {"void (*ns::handler<int>(int))(char)", "ns::handler<int>", "(int)", ""},
      {"(anonymous namespace)::f(int)", "(anonymous namespace)::f", "(int)", ""},
      {"a::(anonymous namespace)::C::f()", "a::(anonymous namespace)::C::f", "()", ""},
      {"ns::C::operator()(int) const", "ns::C::operator()", "(int)", " const"},
      {"ns::operator<<(ns::Out&, int)", "ns::operator<<", "(ns::Out&, int)", ""},
      {"ns::Out& ns::operator<< <int>(ns::Out&, int)", "ns::operator<< <int>", "(ns::Out&, int)",
       ""},
      {"bool ns::operator< <int>(int, int)", "ns::operator< <int>", "(int, int)", ""},
      {"ns::C::operator->() const", "ns::C::operator->", "()", " const"},
      {"ns::C::operator[](int)", "ns::C::operator[]", "(int)", ""},
      {"ns::C::operator unsigned int() const", "ns::C::operator unsigned int", "()", " const"},
      {"ns::C::operator std::vector<int>()", "ns::C::operator std::vector<int>", "()", ""},
      {"operator new(unsigned long)", "operator new", "(unsigned long)", ""},
      {"operator delete[](void*)", "operator delete[]", "(void*)", ""},
      {"ns::f(int)::{lambda(char)#1}::operator()(char) const",
       "ns::f(int)::{lambda(char)#1}::operator()", "(char)", " const"},
      {"ns::C::f() const::{lambda()#1}::operator()() const",
       "ns::C::f() const::{lambda()#1}::operator()", "()", " const"},
      {"ns::Box<void (*)(int)>::get()", "ns::Box<void (*)(int)>::get", "()", ""},
      {"ns::Num<((1)>(2))>::get()", "ns::Num<((1)>(2))>::get", "()", ""},
      {"decltype (x) ns::f<int>(int)", "ns::f<int>", "(int)", ""},
      {"ns::f[abi:cxx11](int)", "ns::f[abi:cxx11]", "(int)", ""},
      {"ns::~C()", "ns::~C", "()", ""},
      {"ns::f(int) [clone .isra.0]", "ns::f", "(int)", " [clone .isra.0]"},
      {"cooperator(int)", "cooperator", "(int)", ""},
      {"ns::operators(int)", "ns::operators", "(int)", ""},
      {"", "", "", ""},
      {"((((", "", "((((", ""},
      {"f<<<(", "f<<<(", "", ""},
      {"operator", "operator", "", ""},
  };
  for (const Case& test : kCases) {
    DemangledName parts = split_demangled(test.text);
    EXPECT_EQ(parts.name, test.name) << test.text;
    EXPECT_EQ(parts.parameters, test.parameters) << test.text;
    EXPECT_EQ(parts.trailing, test.trailing) << test.text;
  }
  EXPECT_EQ(split_demangled("non-virtual thunk to ns::C::f()").prefix, "non-virtual thunk to ");
  for (const char* name : {"C::f(int,_char)_const::{lambda()#1}::operator()",
                           "C::f(int, char) const &::{lambda()#1}::operator()"})
    EXPECT_EQ(split_demangled(name).name, name);
}

TEST(Demangle, WithAndWithoutParameters) {
  struct Case {
    const char *mangled, *plain, *full;
  };
  const Case kCases[] = {
      {"memcpy", "memcpy", "memcpy"},
      {"_Z1fi", "f", "f(int)"},
      {"_ZN2ns3BoxIiE3getEv", "ns::Box<int>::get", "ns::Box<int>::get()"},
      {"_ZN2ns4makeIiEEiv", "ns::make<int>", "int ns::make<int>()"},
      {"_ZNK2ns1CclEi", "ns::C::operator()", "ns::C::operator()(int) const"},
      {"_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f", "(anonymous namespace)::f()"},
      {"_Z1fPFviE", "f", "f(void (*)(int))"},
      {"_Z1fi.isra.0", "f.isra.0", "f(int) [clone .isra.0]"},
      {"_Z1fi.cold", "f.cold", "f(int) [clone .cold]"},
      {"_ZThn8_N2ns1C1fEv", "non-virtual thunk to ns::C::f", "non-virtual thunk to ns::C::f()"},
      {"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write",
       "core::fmt::write::h0123456789abcdef"},
      {"_Z", "_Z", "_Z"},
      {"_ZNot_a_name", "_ZNot_a_name", "_ZNot_a_name"},
      {"_Z1f\xff", "_Z1f\xff", "_Z1f\xff"},
      {"", "", ""},
  };
  for (const Case& test : kCases) {
    EXPECT_EQ(demangle(test.mangled, false), test.plain);
    EXPECT_EQ(demangle(test.mangled, true), test.full);
  }
}

TEST(CanonicalParameters, AgreeWithTheDemangler) {
  struct Case {
    const char *typed, *demangled;
  };
  const Case kCases[] = {
      {"(int,char)", "(int, char)"},
      {"(void)", "()"},
      {"(const char *, int)", "(char const*, int)"},
      {"(const unsigned long& n)", "(unsigned long const& n)"},
      {"(const ns::Box<const char*>&)", "(ns::Box<char const*> const&)"},
      {"(const std::string &)",
       "(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)"},
      {"(std::vector<std::vector<int>>)", "(std::vector<std::vector<int> >)"},
  };
  for (const Case& test : kCases) {
    EXPECT_EQ(canonical_parameters(test.typed), canonical_parameters(test.demangled)) << test.typed;
  }
  EXPECT_NE(canonical_parameters("(const char*)"), canonical_parameters("(char*)"));
  EXPECT_NE(canonical_parameters("(my::std::stringy)"), canonical_parameters("(my::std::string)"));
}

TEST(WithoutTemplateArguments, KeepsOperators) {
  EXPECT_EQ(without_template_arguments("ns::Box<int>::get"), "ns::Box::get");
  EXPECT_EQ(without_template_arguments("ns::Box<A<int> >::f<void (*)(int)>"), "ns::Box::f");
  EXPECT_EQ(without_template_arguments("ns::operator<< <int>"), "ns::operator<<");
  EXPECT_EQ(without_template_arguments("ns::C::operator->"), "ns::C::operator->");
  EXPECT_EQ(without_template_arguments("ns::f[abi:cxx11]"), "ns::f");
  EXPECT_EQ(without_template_arguments("(anonymous namespace)::f"), "(anonymous namespace)::f");
}

TEST(MangledNeedles, AreWhatTheMangledNameContains) {
  using Needles = std::vector<std::string>;
  EXPECT_EQ(mangled_needles("ns::Box<int>::get"), (Needles{"2ns", "3Box", "3get"}));
  EXPECT_EQ(mangled_needles("(anonymous namespace)::f"), (Needles{"1f"}));
  EXPECT_EQ(mangled_needles("std::string::append"), (Needles{"6append"}));
  EXPECT_EQ(mangled_needles("std::iostream::swap"), (Needles{"4swap"}));
  EXPECT_EQ(mangled_needles("ns::C::operator()"), (Needles{"2ns", "1C"}));
  EXPECT_EQ(mangled_needles("C::f(int) const::{lambda()#1}::g"), (Needles{"1C", "1f", "1g"}));
  EXPECT_EQ(mangled_needles("C::f(int)const::{lambda()#1}::g"), (Needles{"1C", "1f", "1g"}));
  EXPECT_EQ(mangled_needles("C::f()_const_&::constant"), (Needles{"1C", "1f", "8constant"}));
  EXPECT_EQ(mangled_needles("ns::C::~C"), (Needles{"2ns", "1C", "1C"}));
}

TEST(ColdNames, AreRecognised) {
  EXPECT_TRUE(is_cold_name("f.cold"));
  EXPECT_TRUE(is_cold_name("f.cold.12"));
  EXPECT_TRUE(is_cold_name("_Z1fi.part.0.cold"));
  EXPECT_FALSE(is_cold_name("f.part.0"));
  EXPECT_FALSE(is_cold_name("f.colder"));
  EXPECT_FALSE(is_cold_name("cold"));
  EXPECT_FALSE(is_cold_name(".cold"));
}

TEST(WithoutBlanks, LeavesNone) {
  EXPECT_EQ(without_blanks("ns::Map<int, char>::get"), "ns::Map<int,char>::get");
  EXPECT_EQ(without_blanks("(anonymous namespace)::f"), "(anonymous_namespace)::f");
  EXPECT_EQ(without_blanks("operator unsigned int"), "operator_unsigned_int");
}

TEST(SymbolFragment, StandsInEachSymbolThatTheGlobMatches) {
  EXPECT_EQ(symbol_fragment("malloc"), "malloc");
  EXPECT_EQ(symbol_fragment("db_*"), "db");
  EXPECT_EQ(symbol_fragment("ns::Box<int>::get*"), "Box");
  EXPECT_EQ(symbol_fragment("*parse*Statement"), "Statement");
  EXPECT_EQ(symbol_fragment("f[abcdef]gg"), "gg");
  EXPECT_EQ(symbol_fragment("operator new*"), "");
  EXPECT_EQ(symbol_fragment("opera*"), "") << "a part of a word that is written";
  EXPECT_EQ(symbol_fragment("std::string::append"), "append");
  EXPECT_EQ(symbol_fragment("*"), "");
  EXPECT_EQ(symbol_fragment("f"), "") << "a letter stands nearly everywhere";
  EXPECT_EQ(symbol_fragment("*0x12"), "");
  EXPECT_EQ(symbol_fragment("a\\bcd"), "cd");
  EXPECT_EQ(symbol_fragment("[x"), "");
}

TEST(SymbolFragment, OfManglings) {
  for (const char* symbol :
       {"_ZN2BxIjE3getEv", "_ZN4ConvcvbEv", "_Z4pabsDv4_f", "_ZN2ns12_GLOBAL__N_11fEv",
        "_ZN2BxIPKcE3getEv", "_ZN2ns3BoxIiE3getIlEEvv", "_ZNSs6appendERKSs",
        "_ZN12_GLOBAL__N_18in_anonEv", "_ZZN2ns5outerEvENKUlcE_clEc", "_ZN5ClassC1Ev",
        "_ZlsRSoRK5Class", "_ZTW9in_thread"}) {
    std::string shown = demangle(symbol, false);
    EXPECT_NE(std::string_view(symbol).find(symbol_fragment(shown)), std::string_view::npos)
        << shown << ": " << symbol_fragment(shown);
    std::replace(shown.begin(), shown.end(), ' ', '_');  // as files list it
    EXPECT_NE(std::string_view(symbol).find(symbol_fragment(shown)), std::string_view::npos)
        << shown << ": " << symbol_fragment(shown);
  }
}

}  // namespace
}  // namespace patchbay
