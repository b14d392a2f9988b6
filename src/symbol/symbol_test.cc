// SPDX-License-Identifier: MIT
//
// The table of the running process, asked for functions of this test program and of libc.
#include "symbol/symbol.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>

#define KEEP [[gnu::noinline, gnu::used]]

namespace pb_fixture {
KEEP int overloaded(int value) { return value + 1; }
KEEP int overloaded(const char* text) { return text ? text[0] : 0; }
KEEP int overloaded(int a, char b) { return a + b + 3; }

template <typename T>
struct Box {
  KEEP T get() const { return value; }
  template <typename U>
  [[gnu::noinline]] U as(U bias) const {
    return U(value) + bias;
  }
  T value;
};
template struct Box<int>;
template struct Box<long>;
template int Box<int>::as<int>(int) const;

struct Callable {
  KEEP int operator()(int value) const { return value * 3; }
  KEEP bool operator<(const Callable&) const { return seed != 0; }
  KEEP void unique_pb_method() { ++seed; }
  int seed = 1;
};
namespace left {
KEEP int pb_twice() { return 11; }
}  // namespace left
namespace right {
KEEP int pb_twice() { return 12; }
}  // namespace right
using Handler = int (*)(const char*);
KEEP Handler pick_handler(int which) {
  Handler handler = overloaded;
  return which ? handler : nullptr;
}
}  // namespace pb_fixture

// Names that libc has.
KEEP int send(const pb_fixture::Callable& callable, int value) { return callable.seed + value; }
namespace {
KEEP int recv(int value) { return value * 17; }
KEEP int pb_anonymous_function(int value) { return value * 7 + 1; }
}  // namespace

extern "C" {
KEEP int pb_original(int value) noexcept { return value * 5; }
int pb_alias(int) noexcept __attribute__((alias("pb_original")));
int __pb_underscored(int) noexcept __attribute__((alias("pb_original")));
KEEP static int pb_static_function(int value) { return value * 9; }
KEEP int pb_implementation(int value) { return value * 13; }
using PbFunction = int (*)(int);
KEEP __attribute__((no_sanitize("address", "undefined"))) PbFunction pb_chooser(void) {
  return pb_implementation;
}
int pb_chosen(int) __attribute__((ifunc("pb_chooser")));
int pb_data_object = 42;
}

namespace patchbay {
namespace {

class SelfSymbols : public testing::Test {
 protected:
  std::vector<ResolvedFunction> resolve(std::string_view spec) {
    auto result = table_->resolve(spec);
    EXPECT_TRUE(result.ok()) << spec << ": " << (result.ok() ? "" : result.error().message());
    return result.ok() ? std::move(*result) : std::vector<ResolvedFunction>();
  }
  void expect_only(std::string_view spec, const void* address, const std::string& display) {
    auto found = resolve(spec);
    ASSERT_EQ(found.size(), 1u) << spec;
    EXPECT_EQ(found[0].symbol.address, uint64_t(address)) << spec;
    EXPECT_EQ(found[0].display_name, display) << spec;
    EXPECT_GT(found[0].symbol.size, 0u) << spec;
    EXPECT_LT(found[0].symbol.size, 100000u) << spec;
  }
  std::string refusal(std::string_view spec) {
    auto result = table_->resolve(spec);
    EXPECT_FALSE(result.ok()) << spec;
    if (result.ok()) return "";
    const int error = result.error().errno_value;
    EXPECT_TRUE(error == EINVAL || error == ENOENT) << error;  // no such function: ENOENT
    EXPECT_TRUE(result.error().sentence);
    return result.error().message();
  }
  Module* module_named(std::string_view start) {
    for (Module* module : table_->modules()) {
      if (module->name().starts_with(start)) return module;
    }
    return nullptr;
  }
  std::string own_name() { return table_->modules()[0]->name(); }

  std::unique_ptr<SymbolTable> table_ = make_self_symbol_table();
};

TEST_F(SelfSymbols, VersionsBehindAnAt) {
  for (const char* version : {"GLIBC_2.2.5", "GLIBC_2.3.2"}) {
    auto found = resolve(std::string("libc:pthread_cond_wait@") + version);
    ASSERT_EQ(found.size(), 1u) << version;
    EXPECT_EQ(found[0].symbol.address,
              uint64_t(dlvsym(RTLD_DEFAULT, "pthread_cond_wait", version)));
    const bool is_old = std::string_view(version) == "GLIBC_2.2.5";
    EXPECT_EQ(found[0].display_name,
              is_old ? "pthread_cond_wait@GLIBC_2.2.5" : "pthread_cond_wait");
  }
  Module* libc = module_named("libc.so");
  ASSERT_NE(libc, nullptr);
  size_t nr_shown = 0;
  for (const FunctionSymbol& function : libc->functions()) {
    if (function.name != "pthread_cond_wait") continue;
    const auto shown = resolve("libc:" + display_name(*libc, function));
    EXPECT_EQ(shown[0].symbol.address, function.address) << display_name(*libc, function);
    nr_shown++;
  }
  EXPECT_EQ(nr_shown, 2u);
  EXPECT_EQ(resolve("pthread_cond_wait@@GLIBC_2.3.2")[0].symbol.address,
            resolve("libc:pthread_cond_wait")[0].symbol.address);
  EXPECT_NE(refusal("libc:pthread_cond_wait@GLIBC_2.4"), "");
}

TEST_F(SelfSymbols, TheProgramsOwnComesBeforeLibcs) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer has functions of these names in the program";
#endif
  expect_only("send", (void*)(int (*)(const pb_fixture::Callable&, int))::send, "send");
  expect_only("recv", (void*)(int (*)(int))::recv, "(anonymous namespace)::recv");
  EXPECT_EQ(resolve("libc:send")[0].module->name().substr(0, 4), "libc");
  EXPECT_EQ(resolve(own_name() + ":send")[0].symbol.address, resolve("send")[0].symbol.address);
}

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\n  lacks: " << part;
}

// Of libc itself, not of a sanitizer that stands before it.
void* libc_symbol(const char* name) {
  static void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  return dlsym(libc, name);
}

// One member function's address, without a pointer-to-member's other half.
template <typename Member>
const void* address_of_member(Member member) {
  const void* address = nullptr;
  std::memcpy(&address, &member, sizeof address);
  return address;
}

using pb_fixture::Box;
using pb_fixture::Callable;

TEST_F(SelfSymbols, CNames) {
  expect_only("pb_original", (void*)pb_original, "pb_original");
  expect_only("pb_static_function", (void*)pb_static_function, "pb_static_function");
  expect_only(" pb_original ", (void*)pb_original, "pb_original");
}

TEST_F(SelfSymbols, AliasesAreOneFunction) {
  expect_only("pb_alias", (void*)pb_original, "pb_alias");
  SymbolizedAddress where;
  ASSERT_TRUE(table_->symbolize(uint64_t(&pb_original) + 1, &where));
  EXPECT_EQ(where.name, "pb_alias");  // the shorter one
  EXPECT_EQ(where.start, uint64_t(&pb_original));
  EXPECT_EQ(where.offset, 1u);
}

TEST_F(SelfSymbols, Overloads) {
  auto all = resolve("pb_fixture::overloaded");
  std::set<uint64_t> addresses;
  for (auto& function : all) {
    addresses.insert(function.symbol.address);
    EXPECT_EQ(function.display_name, "pb_fixture::overloaded");
  }
  int (*of_int)(int) = pb_fixture::overloaded;
  int (*of_text)(const char*) = pb_fixture::overloaded;
  int (*of_both)(int, char) = pb_fixture::overloaded;
  EXPECT_EQ(addresses,
            (std::set<uint64_t>{uint64_t(of_int), uint64_t(of_text), uint64_t(of_both)}));
  expect_only("pb_fixture::overloaded(int)", (void*)of_int, "pb_fixture::overloaded");
  expect_only("pb_fixture::overloaded(const char *)", (void*)of_text, "pb_fixture::overloaded");
  expect_only("pb_fixture::overloaded(char const*)", (void*)of_text, "pb_fixture::overloaded");
  expect_only("pb_fixture::overloaded(int,char)", (void*)of_both, "pb_fixture::overloaded");
  expect_only("_ZN10pb_fixture10overloadedEi", (void*)of_int, "pb_fixture::overloaded");
  expect_only(own_name() + ":pb_fixture::overloaded(int)", (void*)of_int, "pb_fixture::overloaded");
  expect_part(refusal("pb_fixture::overloaded(long)"), "pb_fixture::overloaded(int, char)");
}

TEST_F(SelfSymbols, TemplatesAndOperators) {
  const void* get_int = address_of_member(&Box<int>::get);
  expect_only("pb_fixture::Box<int>::get", get_int, "pb_fixture::Box<int>::get");
  expect_only("pb_fixture::Box<int>::get() const", get_int, "pb_fixture::Box<int>::get");
  EXPECT_EQ(resolve("pb_fixture::Box::get").size(), 2u);
  const void* as_int = address_of_member(&Box<int>::as<int>);
  expect_only("pb_fixture::Box<int>::as<int>", as_int, "pb_fixture::Box<int>::as<int>");
  expect_only("pb_fixture::Box<int>::as<int>(int)", as_int, "pb_fixture::Box<int>::as<int>");
  expect_only("pb_fixture::Callable::operator()", address_of_member(&Callable::operator()),
              "pb_fixture::Callable::operator()");
  expect_only("pb_fixture::Callable::operator<", address_of_member(&Callable::operator<),
              "pb_fixture::Callable::operator<");
  expect_only("pb_fixture::pick_handler", (void*)pb_fixture::pick_handler,
              "pb_fixture::pick_handler");
}

TEST_F(SelfSymbols, AnonymousNamespaceAndSuffix) {
  const void* address = (void*)pb_anonymous_function;
  expect_only("(anonymous namespace)::pb_anonymous_function", address,
              "(anonymous namespace)::pb_anonymous_function");
  expect_only("pb_anonymous_function", address, "(anonymous namespace)::pb_anonymous_function");
  expect_only("Callable::unique_pb_method", address_of_member(&Callable::unique_pb_method),
              "pb_fixture::Callable::unique_pb_method");
  expect_only("left::pb_twice", (void*)pb_fixture::left::pb_twice, "pb_fixture::left::pb_twice");
  std::string sentence = refusal("pb_twice");
  expect_part(sentence, "can mean 2 functions");
  expect_part(sentence, "pb_fixture::right::pb_twice");
}

TEST_F(SelfSymbols, IfuncGivesTheImplementation) {
  auto found = resolve("pb_chosen");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].symbol.address, uint64_t(&pb_implementation));
  EXPECT_EQ(found[0].display_name, "pb_chosen");
  EXPECT_FALSE(found[0].symbol.is_ifunc);
  auto copies = resolve("libc:memcpy");
  void* used = libc_symbol("memcpy");
  EXPECT_TRUE(std::any_of(copies.begin(), copies.end(), [&](const ResolvedFunction& function) {
    return function.symbol.address == uint64_t(used) && function.symbol.size > 0;
  }));
}

TEST_F(SelfSymbols, TheDefaultVersionIsMeant) {
  for (const char* name : {"pthread_cond_wait", "pthread_cond_signal", "posix_spawn"}) {
    auto found = resolve(std::string("libc:") + name);
    ASSERT_EQ(found.size(), 1u) << name;
    EXPECT_EQ(found[0].symbol.address, uint64_t(libc_symbol(name))) << name;
  }
}

TEST_F(SelfSymbols, Libraries) {
  void* address = libc_symbol("openat");
  expect_only("libc:openat", address, "openat");
  expect_only("libc.so.6:openat", address, "openat");
  EXPECT_EQ(resolve("openat").back().module->name().substr(0, 4), "libc");
  EXPECT_FALSE(resolve("libstdc++:std::terminate").empty());
  EXPECT_FALSE(resolve("libstdc++:__cxa_throw").empty());
  std::string sentence = refusal("libcc:openat");
  expect_part(sentence, "no library \"libcc\"");
  expect_part(sentence, "libc.so.6");
  expect_part(refusal("libm:openat"), "libc.so.6 has it");
}

TEST_F(SelfSymbols, UnknownNamesSayWhy) {
  expect_part(refusal("pb_orginal"), "no function \"pb_orginal\" in this program or its libraries");
  expect_part(refusal("pb_orginal"), "did you mean pb_original");
  expect_part(refusal("pb_fixture::Callabel::unique_pb_method"),
              "did you mean pb_fixture::Callable::unique_pb_method");
  expect_part(refusal("pb_data_object"), "is not a function but data");
  expect_part(refusal("libstdc++:openat"), "libc.so.6 has it");
  expect_part(refusal(""), "missing");
  expect_part(refusal("libc:"), "missing");
  for (const char* odd :
       {"::", ":", "a:b:c", "((((", "<", "operator", "@0x", "x@0xzz", "\"", "::f(", "f)"}) {
    refusal(odd);
  }
}

TEST_F(SelfSymbols, FileAndOffset) {
  Module* self = table_->modules()[0];
  char spec[512];
  snprintf(spec, sizeof spec, "%s@0x%lx", self->name().c_str(),
           static_cast<unsigned long>(uint64_t(&pb_original) - self->bias()));
  auto found = resolve(spec);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].symbol.address, uint64_t(&pb_original));
  snprintf(spec, sizeof spec, "%s@0x%lx", self->name().c_str(),
           static_cast<unsigned long>(uint64_t(&pb_original) - self->bias() + 1));
  expect_part(refusal(spec), "it lies in pb_alias");
}

TEST_F(SelfSymbols, AddressOf) {
  EXPECT_EQ(table_->address_of("pb_data_object"), uint64_t(&pb_data_object));
  EXPECT_EQ(table_->address_of("pb_static_function"), uint64_t(&pb_static_function));
  EXPECT_EQ(table_->address_of("pb_chosen"), uint64_t(&pb_implementation));
  EXPECT_EQ(table_->address_of("libc:openat"), uint64_t(libc_symbol("openat")));
  EXPECT_EQ(table_->address_of("no_such_symbol_at_all"), 0u);
}

TEST_F(SelfSymbols, SymbolizedNamesHaveNoBlank) {
  SymbolizedAddress where;
  ASSERT_TRUE(table_->symbolize(uint64_t(&pb_anonymous_function), &where));
  EXPECT_EQ(where.name, "(anonymous_namespace)::pb_anonymous_function");
  EXPECT_EQ(where.module, table_->modules()[0]);
  EXPECT_FALSE(table_->symbolize(0, &where));
  EXPECT_FALSE(where.is_variable);
  ASSERT_TRUE(table_->symbolize(uint64_t(&pb_data_object), &where));
  EXPECT_EQ(where.name, "pb_data_object");
  EXPECT_TRUE(where.is_variable);
  EXPECT_EQ(where.offset, 0u);
#ifdef __SANITIZE_ADDRESS__  // clang's counts what it puts behind a variable
  EXPECT_GE(where.size, sizeof pb_data_object);
#else
  EXPECT_EQ(where.size, sizeof pb_data_object);
#endif
  EXPECT_FALSE(table_->symbolize(UINT64_MAX, &where));
  int local = 0;
  EXPECT_FALSE(table_->symbolize(uint64_t(&local), &where));
}

TEST_F(SelfSymbols, FunctionsKeepTheirPromises) {
  for (Module* module : table_->modules()) {
    const auto& functions = module->functions();
    for (size_t i = 0; i < functions.size(); ++i) {
      const FunctionSymbol& function = functions[i];
      ASSERT_GT(function.size, 0u) << module->name() << " " << function.name;
      ASSERT_TRUE(std::any_of(
          module->text_ranges().begin(), module->text_ranges().end(),
          [&](auto r) { return function.address >= r.first && function.address < r.second; }));
      ASSERT_EQ(function.name.empty(), function.source == SymbolSource::kEhFrame);
      ASSERT_NE(function.name, "__restore_rt");
      if (i == 0) continue;
      const FunctionSymbol& before = functions[i - 1];
      ASSERT_LE(before.address, function.address);
      ASSERT_FALSE(before.address == function.address && before.name == function.name);
    }
    bool vdso = module->name() == "[vdso]";
    EXPECT_EQ(functions.empty(), vdso) << module->name();
  }
}

TEST_F(SelfSymbols, OriginalCodeIsTheFiles) {
  Module* self = table_->modules()[0];
  std::string_view code = self->original_code(uint64_t(&pb_original), 8);
  ASSERT_EQ(code.size(), 8u);
  EXPECT_EQ(std::memcmp(code.data(), reinterpret_cast<void*>(&pb_original), 8), 0);
  EXPECT_NE(code.data(), reinterpret_cast<const char*>(&pb_original));
  EXPECT_TRUE(self->original_code(uint64_t(&pb_data_object), 4).empty());
  EXPECT_TRUE(self->original_code(self->text_ranges()[0].second - 4, 1 << 30).empty());
  EXPECT_TRUE(self->original_code(0, 4).empty());
}

TEST_F(SelfSymbols, ManyLookUpsAndDroppedCachesAgree) {
  Module* libc = module_named("libc.so");
  ASSERT_NE(libc, nullptr);
  for (int round = 0; round < 40; ++round) {  // crosses from scanning to the index
    expect_only("pb_static_function", (void*)pb_static_function, "pb_static_function");
    if (round == 30) table_->drop_caches();
  }
  SymbolizedAddress where;
  ASSERT_TRUE(table_->symbolize(uint64_t(libc_symbol("openat")), &where));
  EXPECT_EQ(where.name, "openat");
  EXPECT_EQ(where.module, libc);
}

// Not a check but a report: which source gives how many functions, and how long loading takes.
TEST_F(SelfSymbols, Coverage) {
  std::vector<RecordedModule> modules;
  auto add = [&](Module& module) {
    modules.push_back(
        {module.start(), module.end(), module.bias(), module.build_id(), module.path()});
  };
  for (const char* name : {"libsqlite3.so.0", "libcrypto.so.3", "libstdc++.so.6"}) {
    if (!dlopen(name, RTLD_NOW)) fprintf(stderr, "SKIPPED: %s is not installed\n", name);
  }
  table_->refresh();
  for (const char* name : {"libc.so", "libsqlite3", "libcrypto", "libstdc++"}) {
    if (Module* module = module_named(name)) add(*module);
  }
  auto table = make_recorded_symbol_table(modules);
  for (Module* module : table->modules()) {
    auto begin = std::chrono::steady_clock::now();
    const auto& functions = module->functions();
    auto end = std::chrono::steady_clock::now();
    size_t counts[4] = {}, parts = 0;
    for (const FunctionSymbol& function : functions) {
      ++counts[size_t(function.source)];
      parts += function.is_cold_part;
    }
    EXPECT_GT(functions.size(), 100u) << module->path();
    printf("%-22s symtab %zu dynsym %zu debug file %zu eh_frame %zu (cold parts %zu) in %ld us\n",
           module->name().c_str(), counts[0], counts[1], counts[2], counts[3], parts,
           long(std::chrono::duration_cast<std::chrono::microseconds>(end - begin).count()));
  }
}

}  // namespace
}  // namespace patchbay
