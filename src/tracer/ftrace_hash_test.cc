// SPDX-License-Identifier: MIT
//
// Lines of set_ftrace_filter over the functions of this very program: globs, C++ names that look
// like globs or commands, one name for several functions, modules.
#include "tracer/ftrace_hash.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

#if defined(__clang__)
#define TRACED __attribute__((noinline, used, visibility("default")))
#else
#define TRACED __attribute__((noipa, used, visibility("default")))
#endif
#define BODY(n)                                   \
  {                                               \
    __asm__ volatile("nopl 64(%%rax)" : "+r"(a)); \
    return a * (n);                               \
  }

extern "C" {
TRACED long hashed_first(long a) BODY(2);
TRACED long hashed_second(long a) BODY(3);
TRACED long hashed_third(long a) BODY(4);
}

namespace hashed {
TRACED long twice(long a) BODY(2);
TRACED long twice(int a) BODY(3);
[[gnu::abi_tag("tagged")]] TRACED long marked(long a) BODY(5);
TRACED long marked_too(long a) BODY(7);
template <typename T>
TRACED long of_type(long a) BODY(long(sizeof(T)) + 1);
template long of_type<char*>(long);
template long of_type<char**>(long);
struct Box {
  TRACED long operator()(long a) BODY(6);
  TRACED long operator*(long a) BODY(7);
  TRACED long operator[](long a) BODY(8);
  TRACED long operator+(long a) BODY(9);
};
}  // namespace hashed

namespace patchbay {
namespace {

// Calls them all, so that the compiler keeps the members.
long call_all(long a) {
  hashed::Box box;
  return box(a) + box * a + box[a] + (box + a) + hashed::twice(a) + hashed::twice(int(a)) +
         hashed::of_type<char*>(a) + hashed::of_type<char**>(a);
}

using Names = std::vector<std::string>;

class FtraceHashTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (table) return;  // for a suite that is derived from this one, too
    symbols = make_self_symbol_table().release();
    table = new FunctionTable(*symbols, *make_patcher().release());
    table->refresh(nullptr, nullptr);
    ASSERT_NE(call_all(1), 0);
  }
  static FilterLine line(std::string_view text) {
    Result<FilterLine> parsed = parse_filter_line(text);
    EXPECT_TRUE(parsed.ok()) << text;
    return parsed.ok() ? *parsed : FilterLine{};
  }
  static Names names(const FtraceHash& hash) {
    Names list;
    for (const DynFtrace* function : table->functions()) {
      if (hash.functions.contains(const_cast<DynFtrace*>(function)))
        list.emplace_back(function->name);
    }
    std::sort(list.begin(), list.end());
    return list;
  }
  static Names selected(std::string_view text) {
    FtraceHash hash;
    (void)apply_filter_line(*table, line(text), &hash);
    return names(hash);
  }
  static std::string error(std::string_view text) {
    FtraceHash hash;
    Status status = apply_filter_line(*table, line(text), &hash);
    return status.ok() ? "" : status.error().message();
  }

  static inline SymbolTable* symbols = nullptr;
  static inline FunctionTable* table = nullptr;
};

TEST(GlobMatch, Table) {
  struct {
    const char *pattern, *name;
    bool matches;
  } const cases[] = {
      {"", "", true},
      {"", "a", false},
      {"a", "", false},
      {"abc", "abc", true},
      {"abc", "abcd", false},
      {"*", "", true},
      {"*", "abc", true},
      {"**", "abc", true},
      {"a*", "abc", true},
      {"a*", "ba", false},
      {"*c", "abc", true},
      {"*c", "abcd", false},
      {"*b*", "abc", true},
      {"a*c", "abc", true},
      {"a*c", "ac", true},
      {"a*b*c", "aXbXbc", true},
      {"a*b*c", "aXbX", false},
      {"*ab", "aab", true},
      {"a?c", "abc", true},
      {"a?c", "ac", false},
      {"???", "abc", true},
      {"?", "", false},
      {"*?", "a", true},
      {"?*", "", false},
      {"[abc]", "b", true},
      {"[abc]", "d", false},
      {"[a-c]x", "bx", true},
      {"[!a-c]x", "bx", false},
      {"[!a-c]x", "dx", true},
      {"[c-a]", "b", false},
      {"[]a]", "]", true},
      {"[!]a]", "]", false},
      {"[a-]", "-", true},
      {"[a", "[a", true},
      {"[a", "a", false},
      {"[", "[", true},
      {"[]", "[]", true},
      {"x[!", "x[!", true},
      {"\\*", "*", true},
      {"\\*", "a", false},
      {"\\a", "a", true},
      {"a\\", "a", true},
      {"*[xy]z", "axyz", true},
      {"*\\*", "a*", true},
      {"*ab*ab", "ababab", true},
      {"*a*b*c*d*e", "aaaaabbbbbcccccddddd", false},
  };
  for (const auto& one : cases)
    EXPECT_EQ(glob_match(one.pattern, one.name), one.matches) << one.pattern << " " << one.name;
}

TEST(ParseFilterLine, Table) {
  struct {
    const char* text;
    bool remove;
    const char *pattern, *module, *command, *parameter;
  } const cases[] = {
      {"vfs_read", false, "vfs_read", "", "", ""},
      {"!vfs_*", true, "vfs_*", "", "", ""},
      {"vfs_*:mod:ext4", false, "vfs_*", "ext4", "", ""},
      {"!vfs_*:mod:ext4", true, "vfs_*", "ext4", "", ""},
      {":mod:ext4", false, "", "ext4", "", ""},
      {"vfs_*:mod:!ext*", false, "vfs_*", "ext*", "", ""},
      {"f:mod:a:b", false, "f", "a:b", "", ""},
      {"f:traceoff", false, "f", "", "traceoff", ""},
      {"f:traceoff:3", false, "f", "", "traceoff", "3"},
      {"!f:enable_event:sys:ev:2", true, "f", "", "enable_event", "sys:ev:2"},
      {"ns::f", false, "ns::f", "", "", ""},
      {"ns::f:traceon", false, "ns::f", "", "traceon", ""},
      {"ns::*:mod:lib*", false, "ns::*", "lib*", "", ""},
      {"ns::operator():dump", false, "ns::operator()", "", "dump", ""},
      {"a::b<c::d>::e:traceoff:1", false, "a::b<c::d>::e", "", "traceoff", "1"},
      {"to_s[abi:cxx11]", false, "to_s[abi:cxx11]", "", "", ""},
      {"to_s[abi:cxx11]:traceoff", false, "to_s[abi:cxx11]", "", "traceoff", ""},
      {"to_s[abi:traceoff", false, "to_s[abi", "", "traceoff", ""},
      {"f()::{lambda(auto:1)#1}:dump", false, "f()::{lambda(auto:1)#1}", "", "dump", ""},
      {"*:::traceoff", false, "*::", "", "traceoff", ""},
  };
  for (const auto& one : cases) {
    Result<FilterLine> line = parse_filter_line(one.text);
    ASSERT_TRUE(line.ok()) << one.text;
    EXPECT_EQ(line->remove, one.remove) << one.text;
    EXPECT_EQ(line->pattern, one.pattern) << one.text;
    EXPECT_EQ(line->module, one.module) << one.text;
    EXPECT_EQ(line->command, one.command) << one.text;
    EXPECT_EQ(line->parameter, one.parameter) << one.text;
  }
  for (const char* text : {"f:", ":", "f::g:", "!f:"}) EXPECT_FALSE(parse_filter_line(text).ok());
}

TEST(ParseFilterLine, Numbers) {
  struct {
    const char* text;
    bool is_index;
    uint64_t index;
  } const cases[] = {{"12", true, 12},
                     {"0xc", true, 12},
                     {"014", true, 12},
                     {"0", true, 0},
                     {"1x", false, 0},
                     {"0x", false, 0},
                     {"09", false, 0},
                     {"-1", false, 0},
                     {"a1", false, 0},
                     {"!7", true, 7},
                     {"99999999999999999999", false, 0}};
  for (const auto& one : cases) {
    Result<FilterLine> line = parse_filter_line(one.text);
    ASSERT_TRUE(line.ok());
    EXPECT_EQ(line->is_index, one.is_index) << one.text;
    if (one.is_index) {
      EXPECT_EQ(line->index, one.index) << one.text;
    }
  }
}

TEST_F(FtraceHashTest, SelectsByNameAndGlob) {
  EXPECT_EQ(selected("hashed_first"), Names{"hashed_first"});
  EXPECT_EQ(selected("hashed_*"), (Names{"hashed_first", "hashed_second", "hashed_third"}));
  EXPECT_EQ(selected("hashed_[ft]*"), (Names{"hashed_first", "hashed_third"}));
  EXPECT_EQ(selected("*shed_sec*"), Names{"hashed_second"});
  EXPECT_EQ(selected("hashed"), Names{});
}

TEST_F(FtraceHashTest, OneNameIsAllFunctionsOfThisName) {
  EXPECT_EQ(selected("hashed::twice"), (Names{"hashed::twice", "hashed::twice"}));
}

TEST_F(FtraceHashTest, NamesThatAreListedSelectWhatTheyName) {
  EXPECT_EQ(selected("hashed::Box::operator*"), Names{"hashed::Box::operator*"});
  EXPECT_EQ(selected("hashed::Box::operator[]"), Names{"hashed::Box::operator[]"});
  EXPECT_EQ(selected("hashed::Box::operator()"), Names{"hashed::Box::operator()"});
  EXPECT_EQ(selected("hashed::of_type<char*>"), Names{"hashed::of_type<char*>"});
  EXPECT_EQ(selected("hashed::marked[abi:tagged]"), Names{"hashed::marked[abi:tagged]"});
  EXPECT_EQ(selected("hashed::Box::oper*").size(), 4u);
  EXPECT_EQ(selected("hashed::marked*").size(), 2u);
  // Listed by the name of what was chosen for this processor.
  EXPECT_EQ(selected("memmove").size(), 1u);
}

// Each is compared with all: of a sanitizer's 36,000 functions (its runtime is in the program) only
// some.
TEST_F(FtraceHashTest, EveryListedNameSelectsItself) {
  const size_t step = 1 + table->functions().size() / 10000;
  size_t number = 0;
  for (const DynFtrace* function : table->functions()) {
    if (!FunctionTable::module_name(*function).empty()) break;
    if (++number % (step * step)) continue;
    const std::vector<DynFtrace*> found = matching_functions(*table, line(function->name));
    EXPECT_TRUE(std::find(found.begin(), found.end(), function) != found.end()) << function->name;
    EXPECT_EQ(function->name.find_first_of(" \t\n"), std::string_view::npos) << function->name;
  }
}

TEST_F(FtraceHashTest, Numbers) {
  const auto functions = table->functions();
  EXPECT_EQ(matching_functions(*table, line("1")), std::vector<DynFtrace*>{functions[0]});
  const std::string last = std::to_string(functions.size());
  EXPECT_EQ(matching_functions(*table, line(last)), std::vector<DynFtrace*>{functions.back()});
  EXPECT_TRUE(matching_functions(*table, line("0")).empty());
  EXPECT_NE(error(std::to_string(functions.size() + 1)), "");
}

TEST_F(FtraceHashTest, Removes) {
  FtraceHash hash;
  ASSERT_TRUE(apply_filter_line(*table, line("hashed_*"), &hash).ok());
  ASSERT_TRUE(apply_filter_line(*table, line("!hashed_s*"), &hash).ok());
  EXPECT_EQ(names(hash), (Names{"hashed_first", "hashed_third"}));
  ASSERT_TRUE(apply_filter_line(*table, line("!hashed_s*"), &hash).ok());
  ASSERT_TRUE(apply_filter_line(*table, line("!hashed_*"), &hash).ok());
  EXPECT_TRUE(hash.empty());
}

TEST_F(FtraceHashTest, Modules) {
  Dl_info libc;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&getenv), &libc), 0);
  EXPECT_EQ(selected("getenv:mod:libc.so.6"), Names{"getenv"});
  EXPECT_EQ(selected("getenv:mod:libc"), Names{"getenv"});
  EXPECT_EQ(selected("getenv:mod:lib[c]*"), Names{"getenv"});
  EXPECT_EQ(selected("getenv:mod:!libc"), Names{});
  EXPECT_EQ(selected("getenv:mod:!libm"), Names{"getenv"});
  EXPECT_EQ(selected("hashed_*:mod:"), Names{});
  EXPECT_EQ(selected("hashed_first:mod:!"), Names{"hashed_first"});
  EXPECT_EQ(selected("hashed_first:mod:tracer_test"), Names{"hashed_first"}) << "its own name";
  EXPECT_EQ(selected("getenv:mod:!tracer_test"), Names{"getenv"});
  EXPECT_EQ(selected("hashed_first:mod:!tracer_test"), Names{});
  EXPECT_EQ(selected("hashed_first:mod:tracer_*"), Names{}) << "a glob is about libraries";
  EXPECT_GT(selected(":mod:libc").size(), 1000u);
  EXPECT_NE(error("nosuchfunction:mod:libc"), "");
}

TEST_F(FtraceHashTest, ModulesThatComeLater) {
  FtraceHash hash;
  ASSERT_TRUE(apply_filter_line(*table, line("hashed_*:mod:later"), &hash).ok());
  ASSERT_TRUE(apply_filter_line(*table, line(":mod:libc"), &hash).ok());
  ASSERT_TRUE(apply_filter_line(*table, line("cos:mod:later"), &hash).ok());
  EXPECT_EQ(hash.modules, (Names{"cos:mod:later", "hashed_*:mod:later"}));
  EXPECT_FALSE(apply_module_lines(*table, table->functions(), &hash));
  ASSERT_TRUE(apply_filter_line(*table, line("!cos:mod:later"), &hash).ok());
  EXPECT_FALSE(apply_filter_line(*table, line("!cos:mod:later"), &hash).ok());
  ASSERT_TRUE(apply_filter_line(*table, line("!*:mod:later"), &hash).ok());
  EXPECT_TRUE(hash.modules.empty());
  // One that waits for what is there.
  hash = {};
  hash.modules = {"getenv:mod:libc", "f:mod:nosuchmodule"};
  EXPECT_TRUE(apply_module_lines(*table, table->functions(), &hash));
  EXPECT_EQ(names(hash), Names{"getenv"});
  EXPECT_EQ(hash.modules, Names{"f:mod:nosuchmodule"});
}

// Another table of the same process, of which nothing was asked yet.
class FreshTableTest : public FtraceHashTest {
 protected:
  void SetUp() override {
    fresh_.reset();
    patcher_ = make_patcher();
    fresh_ = std::make_unique<FunctionTable>(*symbols, *patcher_);
    fresh_->refresh(nullptr, nullptr);
  }
  static std::vector<std::pair<uint64_t, std::string>> places(const FunctionTable& of,
                                                              std::string_view text) {
    std::vector<std::pair<uint64_t, std::string>> list;
    for (const DynFtrace* function : matching_functions(of, line(text)))
      list.emplace_back(function->place.plan.entry, function->name);
    return list;
  }
  std::unique_ptr<Patcher> patcher_;
  std::unique_ptr<FunctionTable> fresh_;
};

TEST_F(FreshTableTest, OneNameMakesOneFunctionKnown) {
  EXPECT_TRUE(fresh_->known().empty());
  ASSERT_EQ(places(*fresh_, "hashed_first").size(), 1u);
  ASSERT_EQ(fresh_->known().size(), 1u);
  const DynFtrace* first = fresh_->known()[0];
  // It stays the same, and the order is that of the whole list.
  ASSERT_EQ(places(*fresh_, "getenv:mod:libc").size(), 1u);
  ASSERT_EQ(places(*fresh_, "hashed_[st]*").size(), 2u);
  EXPECT_EQ(fresh_->known().size(), 4u);
  const auto entry = reinterpret_cast<uint64_t>(&hashed_third);
  EXPECT_EQ(fresh_->find(entry)->name, "hashed_third");
  EXPECT_EQ(fresh_->find(entry + 1), nullptr);
  EXPECT_EQ(fresh_->find(reinterpret_cast<uint64_t>(&call_all))->place.plan.entry,
            reinterpret_cast<uint64_t>(&call_all));
  EXPECT_EQ(fresh_->known().size(), 5u);
  for (size_t i = 0; i < 5; i++) EXPECT_EQ(fresh_->known()[i]->index, i);
  const std::vector<DynFtrace*> before(fresh_->known().begin(), fresh_->known().end());
  const auto all = fresh_->functions();
  ASSERT_EQ(all.size(), table->functions().size());
  for (size_t i = 0; i < all.size(); i++) {
    ASSERT_EQ(all[i]->index, i);
    ASSERT_EQ(all[i]->place.plan.entry, table->functions()[i]->place.plan.entry);
    ASSERT_EQ(all[i]->name, table->functions()[i]->name);
  }
  EXPECT_EQ(fresh_->find(reinterpret_cast<uint64_t>(&hashed_first)), first);
  for (const DynFtrace* function : before)
    EXPECT_NE(std::find(all.begin(), all.end(), function), all.end()) << function->name;
}

TEST_F(FreshTableTest, ALineMeansTheSameWhateverIsKnown) {
  for (const char* text : {"hashed_first",
                           "hashed::twice",
                           "*twice*",
                           "hashed::Box::operator*",
                           "*operator()*",
                           "hashed::of_type<char*>",
                           "*marked*",
                           "*marked[[]abi:tagged]",
                           "std::*",
                           "*Box*",
                           "mallo?",
                           "[m]alloc",
                           "\\malloc",
                           "*@0x*",
                           "*alloc*:mod:libc",
                           "mem*",
                           "__*_start*",
                           "f",
                           "*(*",
                           "*anonymous*",
                           "nosuchfunction",
                           "getenv:mod:!libc",
                           ":mod:libm",
                           "1",
                           "100",
                           "*string*"}) {
    SetUp();
    EXPECT_EQ(places(*fresh_, text), places(*table, text)) << text;
  }
}

TEST_F(FtraceHashTest, ErrorsNameWhatIsNear) {
  EXPECT_NE(error("hashed_fist").find("near: hashed_first"), std::string::npos);
  EXPECT_NE(error("hashed_secondd*").find("near: hashed_second"), std::string::npos);
  EXPECT_NE(error("getenvv:mod:libc").find("near: getenv"), std::string::npos);
  EXPECT_EQ(error("0"), "There is no function number 0; available_filter_functions has " +
                            std::to_string(table->functions().size()) + ".");
}

}  // namespace
}  // namespace patchbay
