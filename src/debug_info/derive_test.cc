// SPDX-License-Identifier: MIT
// tests/debug_info/values.c: what is asked for, and the definition that the agent gets.
#include "debug_info/derive.h"

#include <gtest/gtest.h>

#include <random>

#include "debug_info/dwarf_testing.h"

namespace patchbay {
namespace {

std::unique_ptr<SourceProbes> open_probes(const std::string& path) {
  Result<std::unique_ptr<SourceProbes>> probes = SourceProbes::open(path);
  EXPECT_TRUE(probes.ok()) << probes.error().message();
  return probes.ok() ? std::move(*probes) : nullptr;
}

// The definitions, each with a '\n'; or the sentence of the error.
std::string derived(SourceProbes& probes, const std::string& text) {
  Result<ProbeRequest> request = parse_probe_request(text);
  if (!request.ok()) return request.error().message();
  Result<DerivedProbe> probe = probes.derive(*request);
  if (!probe.ok()) return probe.error().message();
  std::string lines;
  for (const std::string& line : probe->definitions(probe->event)) lines += line + "\n";
  return lines;
}
std::string notes(SourceProbes& probes, const std::string& text) {
  Result<DerivedProbe> probe = probes.derive(*parse_probe_request(text));
  std::string lines;
  if (!probe.ok()) return probe.error().message();
  for (const std::string& line : probe->notes) lines += line + "\n";
  return lines;
}

struct Row {
  const char *asked, *fetched;
};

// Of `reads`: at the first byte the registers are the same for every compiler.
constexpr Row kReads[] = {
    {"item", "item=%di:x64"},
    {"n", "n=%cx:s32"},
    {"n:x", "n=%cx:x32"},
    {"n:u8", "n=%cx:u8"},
    {"count=n", "count=%cx:s32"},
    {"item->id", "id=+0(%di):s32"},
    {"(*item).id", "id=+0(%di):s32"},
    {"item[0].id", "id=+0(%di):s32"},
    {"item[2].id", "id=+256(%di):s32"},
    {"*numbers", "numbers=+0(%si):s32"},
    {"numbers[0]", "numbers_0=+0(%si):s32"},
    {"numbers[3]", "numbers_3=+12(%si):s32"},
    {"item->name", "name=+0(+8(%di)):string"},
    {"item->name:x", "name=+8(%di):x64"},
    {"item->name[2]", "name_2=+2(+8(%di)):char"},
    {"words[1]", "words_1=+0(+8(%dx)):string"},
    {"*words", "words=+0(+0(%dx)):string"},
    {"**words", "words=+0(+0(%dx)):char"},
    {"item->numbers", "numbers=+16(%di):s32[4]"},
    {"item->numbers:x", "numbers=+16(%di):x32[4]"},
    {"item->numbers[3]", "numbers_3=+28(%di):s32"},
    {"*item->numbers", "numbers=+16(%di):s32"},
    {"item->label", "label=+32(%di):string/8"},
    {"item->label[1]", "label_1=+33(%di):char"},
    {"item->corner[1][2].y", "y=+62(%di):s16"},
    {"item->low", "low=+64(%di):b3@0/8"},
    {"item->high", "high=+64(%di):b7@3/16"},
    {"item->below", "below=+65(%di):sb5@2/8"},
    {"item->colour", "colour=+68(%di):u32"},
    {"item->whole", "whole=+72(%di):s32"},
    {"item->real", "real=+72(%di):float"},
    {"item->next->id", "id=+0(+80(%di)):s32"},
    {"item->next->next->name", "name=+0(+8(+80(+80(%di)))):string"},
    {"item->call", "call=+112(%di):x64"},
    {"counter", "counter=@counter:s32"},
    {"%ax", "arg1=%ax"},
    {"x=+8(%di):u32", "x=+8(%di):u32"},
    {"n n", "n=%cx:s32 n_1=%cx:s32"},
};

constexpr Row kMistakes[] = {
    {"nowhere", "'nowhere': there is no variable 'nowhere' at this place; there is: "},
    {"item->nam", "'item->nam': struct item has no member 'nam'; there is: name"},
    {"n->id", "'n->id': a value of type int has no members"},
    {"*n", "'*n': a value of type int is no pointer"},
    {"n[1]", "'n[1]': a value of type int has no elements"},
    {"item->numbers[4]", "'item->numbers[4]': element 4 of int[4]: there are 4"},
    {"item->corner[2]", "'item->corner[2]': element 2 of struct point[2][3]: there are 2"},
    {"item->numbers[x]", "'item->numbers[x]': takes a number between '[' and ']'"},
    {"item->numbers[1", "'item->numbers[1': takes a number between '[' and ']'"},
    {"item->", "'item->': misses the name of a member"},
    {"(item", "'(item': misses a ')'"},
    {"item)", "'item)': cannot be read from ')' on"},
    {"&item", "'&item': is an address; a probe fetches what is stored somewhere"},
    {"*", "'*': misses the name of a variable"},
    {"$retval", "'$retval': $retval is only there at the return: FUNC%return"},
    {"*item", "'*item' is of type item_t: name a member of it, "},
    {"item->huge", "'item->huge' is of type long double, which a probe cannot show"},
    {"item->corner", "'item->corner' is an array of struct point; name an element of it"},
};

class Derive : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!test::has_object(GetParam())) GTEST_SKIP();
    probes_ = open_probes(test::object_path(GetParam()));
    ASSERT_TRUE(probes_);
  }
  std::unique_ptr<SourceProbes> probes_;
};
INSTANTIATE_TEST_SUITE_P(Compilers, Derive,
                         ::testing::Values("values_4", "values_5", "values_z", "values_split",
                                           "values_clang"));

TEST_P(Derive, ExpressionsAtTheEntry) {
  const std::string name = GetParam();
  for (const Row& row : kReads)
    EXPECT_EQ(derived(*probes_, std::string("reads ") + row.asked),
              "p:probe_" + name + "/reads " + name + ".so:reads " + row.fetched + "\n");
}

TEST_P(Derive, MistakesAreSentences) {
  for (const Row& row : kMistakes) {
    std::string said = derived(*probes_, std::string("reads ") + row.asked);
    if (said.starts_with("'*item' is of type struct item:"))  // clang goes behind the typedef
      said.replace(19, 11, "item_t");
    EXPECT_TRUE(said.starts_with(row.fetched)) << said << "\n  not: " << row.fetched;
  }
}

TEST_P(Derive, OtherParametersAndReturns) {
  const std::string name = GetParam(), group = "probe_" + name;
  EXPECT_EQ(derived(*probes_, "takes text ratio colour hidden"),
            "p:" + group + "/takes " + name +
                ".so:takes text=+0(%di):string ratio=%xmm0:double colour=%dx:u32 "
                "hidden=%cx:x64\n");
  EXPECT_EQ(notes(*probes_, "takes colour"), "colour: RED=0, GREEN=1, BLUE=7\n");
  EXPECT_EQ(notes(*probes_, "reads item->below"), "");
  EXPECT_TRUE(derived(*probes_, "takes hidden->x")
                  .starts_with("'hidden->x': the members of struct hidden are not in the debug"));
  EXPECT_EQ(derived(*probes_, "calls%return $retval n"),
            "r:" + group + "/calls__return " + name + ".so:calls ret=$retval:s32 n=$arg1:s32\n");
  EXPECT_EQ(derived(*probes_, "takes%return $retval text"),
            "r:" + group + "/takes__return " + name +
                ".so:takes ret=%xmm0:double text=+0($arg1):string\n");
  EXPECT_EQ(derived(*probes_, "takes%return ratio"),
            "'ratio' is not known when the function has returned (takes).");
  EXPECT_EQ(
      derived(*probes_, "mine:too=reads $params"),
      "p:mine/too " + name + ".so:reads item=%di:x64 numbers=%si:x64 words=%dx:x64 n=%cx:s32\n");
}

TEST_P(Derive, PlacesThatAreNotThere) {
  const std::string beyond = derived(*probes_, "reads:50");
  EXPECT_TRUE(beyond.starts_with("There is no line 50 with code in reads(); nearest ")) << beyond;
  EXPECT_TRUE(beyond.ends_with("; its line 0 is line 100 of " +
                               probes_->lines(*parse_probe_request("reads"))->file + "."))
      << beyond;
  EXPECT_TRUE(derived(*probes_, "values.c:150").starts_with("There is no line 150 with code in "));
  EXPECT_EQ(derived(*probes_, "no.c:1"),
            "There is no code of a file no.c in " + std::string(GetParam()) + ".so.");
  EXPECT_TRUE(derived(*probes_, "reads+0x5000").ends_with("0x5000 is beyond the end of reads()."));
  EXPECT_EQ(derived(*probes_, "twice%return"),
            "The function twice() is inlined everywhere: it has no return.");
  EXPECT_TRUE(derived(*probes_, "twic")
                  .starts_with("There is no function 'twic' in the debug "
                               "information of "));
  EXPECT_TRUE(derived(*probes_, "twic").ends_with("; near: twice."));
}

TEST_P(Derive, LinesAndVariables) {
  Result<FunctionLines> lines = probes_->lines(*parse_probe_request("reads"));
  ASSERT_TRUE(lines.ok());
  EXPECT_EQ(lines->function, "reads");
  EXPECT_TRUE(lines->file.ends_with("/values.c")) << lines->file;
  EXPECT_EQ(lines->first, 100);
  EXPECT_EQ(lines->lines.front(), 100);
  for (int line : {102, 103, 104, 105})
    EXPECT_TRUE(std::count(lines->lines.begin(), lines->lines.end(), line)) << line;
  EXPECT_LE(lines->last, 106);
  Result<std::vector<VisibleVariables>> found = probes_->variables(*parse_probe_request("reads"));
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().place, "reads");
  std::string shown;
  for (const auto& row : found->front().rows)
    if (row.name != "sum") shown += row.type + " " + row.name + " " + row.fetch + "\n";
  EXPECT_EQ(shown,
            "struct item* item %di:x64\nint* numbers %si:x64\nchar** words %dx:x64\n"
            "int n %cx:s32\n");
}

TEST_P(Derive, LinesOfFunctionEvents) {
  static constexpr struct {
    const char *function, *expected, *result;
  } kRows[] = {
      {"reads", "reads(x64 item, x64 numbers, x64 words, s32 n)", "s32"},
      {"takes", "takes(string text, x64 bytes, double ratio, u32 colour, x64 hidden)", "double"},
      {"in_other", "in_other(s32 n)", "s32"},
  };
  for (const auto& [function, expected, result] : kRows) {
    Result<FunctionEventLines> made = probes_->function_events(function);
    ASSERT_TRUE(made.ok()) << made.error().message();
    EXPECT_EQ(made->lines, std::vector<std::string>{expected});
    EXPECT_EQ(made->results, std::vector<std::string>{result});
  }
  const std::string said = probes_->function_events("twice").error().message();
  EXPECT_TRUE(
      said.starts_with("Only copies of twice() are left, inlined into calls() (values.c:311)"))
      << said;
  EXPECT_TRUE(
      said.ends_with(": it is never called. Probes reach the copies: `patchbay probe`, or "
                     "record -e 'twice $params'."))
      << said;
}

// Of many functions the lines are those of each alone, but for what is said of inlined copies.
TEST(DeriveOfManyFunctions, IsThatOfEach) {
  for (const char* object : {"passing_4", "passing_clang", "passing_cxx_5", "enums_4", "objects_5",
                             "values_z", "values_split", "values_clang"}) {
    if (!test::has_object(object)) continue;
    const auto each = open_probes(test::object_path(object)),
               many = open_probes(test::object_path(object));
    ASSERT_TRUE(each && many);
    many->expect_many(true);
    std::vector<std::string> names = each->functions();
    for (const ObjectSymbol& symbol : each->info().symbols())
      if (symbol.is_function) names.push_back(symbol.name);
    names.push_back("nobody_is_called_so");
    for (const std::string& name : names) {
      auto expected = each->function_events(name), made = many->function_events(name);
      SCOPED_TRACE(std::string(object) + " " + name);
      ASSERT_EQ(made.ok(), expected.ok());
      if (!made.ok()) {
        EXPECT_EQ(made.error().message(), expected.error().message());
        continue;
      }
      EXPECT_EQ(made->lines, expected->lines);
      EXPECT_EQ(made->results, expected->results);
      EXPECT_EQ(made->beyond, expected->beyond);
      EXPECT_EQ(made->names.size(), expected->names.size());
      ASSERT_EQ(made->objects.size(), expected->objects.size());
      for (size_t i = 0; i < made->objects.size(); i++)
        EXPECT_EQ(made->objects[i].size(), expected->objects[i].size());
    }
    // Whoever asks for one again hears of its copies.
    many->expect_many(false);
    for (const std::string& name : names) {
      auto expected = each->function_events(name), made = many->function_events(name);
      ASSERT_EQ(made.ok(), expected.ok()) << name;
      if (!made.ok()) continue;
      EXPECT_EQ(made->notes, expected->notes) << name;
    }
  }
}

// Values of 16 bytes and structures by value; where C's layout of the members is not theirs, words.
TEST(DeriveOfOneObject, ValuesOfSeveralWords) {
  static constexpr struct {
    const char *function, *list;
    size_t objects, beyond;
  } kRows[] = {
      {"integers", "char a, s16 b, s32 c, s64 d, x64 e, u8 f, s32 g, s64 h", 0, 0},
      {"structs",
       "struct {s32 a, s32 b} p, struct {s64 a, double b} m, struct {float x, float y, float z} v, "
       "struct {s64 a_0, s64 a_1, s64 a_2} b, s32 last",
       4, 0},
      {"no_room",
       "s64 a, s64 b, s64 c, s64 d, s64 e, struct {char text_0, char text_1, char text_2, char "
       "text_3, char text_4, char text_5, char text_6, char text_7, char text_8, char text_9, char "
       "text_10, char text_11} f, s64 g",
       1, 0},
      {"small", "struct {x64 w0} a, struct {x64 w0} b, u32 c, u8 d", 2, 0},
      {"int128", "s32 a, s128 b, s32 c", 1, 0},
      {"int128_on_stack", "s64 a, s64 b, s64 c, s64 d, s64 e, s64 f, s64 g, s128 h", 1, 0},
      {"long_doubles", "long double a, s32 b, struct {long double x} c, s32 d", 2, 0},
      {"packed_struct", "x64 p=?, s64 q", 1, 1},
      // `...` is known by the names.
      {"log_to", "s32 level, string format, ...", 0, 0},
      {"log_path", "string path", 0, 0},
      {"log_scanf", "string format", 0, 0},
      {"log_list", "s32 level, string format, x64 list", 0, 0},
  };
  for (const char* object : {"passing_4", "passing_5", "passing_clang"}) {
    if (!test::has_object(object)) continue;
    const auto probes = open_probes(test::object_path(object));
    const auto info = test::open_info(test::object_path(object));
    ASSERT_TRUE(probes && info);
    for (const auto& row : kRows) {
      Result<FunctionEventLines> made = probes->function_events(row.function);
      ASSERT_TRUE(made.ok()) << made.error().message();
      std::string list = row.list;
      size_t beyond = row.beyond;
      // clang up to 17 does not align it, so that a function event cannot name its place.
      if (test::made_by_clang(*info) && row.function == std::string("int128_on_stack"))
        list = list.substr(0, list.find("s128 h")) + "x64 h=?", beyond = 1;
      // Optimizing, it does not say where a value in two registers is.
      const bool is_lost =
          object == std::string("passing_clang") && row.function == std::string("int128");
      if (is_lost) list = "s32 a, NULL, NULL, x64 b=?, s32 c";
      EXPECT_EQ(made->lines.front(), row.function + ("(" + list) + ")") << object;
      EXPECT_EQ(made->objects.front().size(), row.objects) << row.function << ' ' << object;
      EXPECT_EQ(made->beyond.size(), beyond) << row.function << ' ' << object;
    }
    // The kernel's uprobes have no such types.
    Result<FunctionEventLines> made = probes->function_events("int128", false);
    ASSERT_TRUE(made.ok());
    const bool is_lost = object == std::string("passing_clang");
    EXPECT_EQ(made->lines.front(), "int128(s32 a, NULL, NULL, x64 b=?, s32 c)");
    EXPECT_TRUE(made->objects.front().empty());
    EXPECT_EQ(made->beyond.size(), is_lost ? 0u : 1u);
    made = probes->function_events("log_to", false);
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(made->lines.front(), "log_to(s32 level, string format)");
  }
}

TEST(DeriveOfOneObject, ResultsOfSeveralWords) {
  static constexpr struct {
    const char *function, *whole, *result;
  } kRows[] = {
      {"returns_big", "struct {s64 a_0, s64 a_1, s64 a_2} __ret", ""},
      {"returns_pair", "struct {s32 a, s32 b} __ret", ""},
      {"returns_int", "", "s32"},
  };
  const auto probes = open_probes(test::object_path("passing_5"));
  ASSERT_TRUE(probes);
  for (const auto& row : kRows) {
    Result<FunctionEventLines> made = probes->function_events(row.function);
    ASSERT_TRUE(made.ok()) << made.error().message();
    EXPECT_EQ(made->wholes.front().text, row.whole) << row.function;
    EXPECT_EQ(made->results.front(), row.result) << row.function;
  }
}

TEST(DeriveOfOneObject, InlinedCopiesAreSeveralPlaces) {
  const auto probes = open_probes(test::object_path("values_4"));
  ASSERT_TRUE(probes);
  const std::string lines = derived(*probes, "twice value");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
  EXPECT_EQ(lines.find("p:probe_values_4/twice values_4.so:calls+"), 0u) << lines;
}

TEST(DeriveOfOneObject, AVariableThatNoSymbolNamesGoesByTheFile) {
  const auto probes = open_probes(test::object_path("values_4"));
  ASSERT_TRUE(probes);
  const std::string line = derived(*probes, "reads only_here.id");
  EXPECT_EQ(line.find("p:probe_values_4/reads " + probes->info().path() + ":0x"), 0u) << line;
  EXPECT_NE(line.find(" id=@+0x"), line.npos) << line;
}

// --- names of values

// The names of each value, of the parameter or ("=") of the result.
std::string value_names(SourceProbes& probes, const std::string& function,
                        const std::string& parameter, const std::vector<int64_t>& values,
                        uint32_t size) {
  Result<FunctionEventLines> made = probes.function_events(function);
  if (!made.ok()) return made.error().message();
  if (made->names.size() != 1) return "?";
  const FunctionValueNames& all = made->names[0];
  const SharedValueNames names = parameter == "=" ? all.result : all.of(parameter);
  if (!names) return "none";
  std::string text;
  for (const int64_t value : values)
    text += (text.empty() ? "" : ", ") + names->text(uint64_t(value), size, true);
  return text;
}

class Enumerations : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Objects, Enumerations,
                         ::testing::Values("enums_4", "enums_5", "enums_clang"));

TEST_P(Enumerations, HaveTheNamesThatTheSourceWritesThere) {
  if (!test::has_object(GetParam())) GTEST_SKIP();
  const auto probes = open_probes(test::object_path(GetParam()));
  ASSERT_TRUE(probes);
  static const struct {
    const char *function, *parameter;
    std::vector<int64_t> values;
    uint32_t size;
    const char* expected;
  } kRows[] = {
      {"paint", "plain", {0, 0x80, 0xffff, 1}, 4, "kRed, kGreen, kBlue, 1"},
      {"paint", "=", {0x80}, 4, "kGreen"},
      {"paint", "reference", {}, 8, "none"},
      {"paint", "access", {0, 1, 5, 7, 9}, 4, "0, kRead, kRead|kRun, kAll, kRead|0x8"},
      {"paint", "untagged", {1}, 4, "kSecond"},
      {"paint", "size", {1}, 4, "shop::kLarge"},
      {"paint", "state", {1}, 4, "shop::Box::kShut"},
      {"shop::Box::turn", "state", {1}, 4, "kShut"},
      {"shop::Box::turn", "lock", {1, 2}, 4, "Lock::kOff, 2"},
      {"shop::Box::turn", "size", {0}, 4, "kSmall"},
      {"shop::Box::turn", "=", {0}, 4, "Lock::kOn"},
      {"shop::Box::turn", "this", {}, 8, "none"},
      {"hide", "hidden", {1}, 4, "Hidden::kHere"},
      {"hide", "scoped", {-128, 127, 5, -5}, 1, "Scoped::kLow, Scoped::kHigh, 5, -5"},
      {"hide", "wide", {INT64_MIN, 1}, 8, "Wide::kTop, Wide::kOne"},
      {"uses", "=", {0}, 4, "none"},
  };
  for (const auto& row : kRows)
    EXPECT_EQ(value_names(*probes, row.function, row.parameter, row.values, row.size), row.expected)
        << row.function << " " << row.parameter;
}

// --- hostile files: the answer is a definition or a sentence

void ask_everything(const std::string& path) {
  Result<std::unique_ptr<SourceProbes>> opened = SourceProbes::open(path);
  if (!opened.ok()) {
    EXPECT_FALSE(opened.error().message().empty());
    return;
  }
  for (const char* text : {"reads item->next->name numbers[3] words[1] n counter", "takes $vars",
                           "calls%return $retval n", "values.c:300 value", "reads:3 sum"}) {
    const std::string answer = derived(**opened, text);
    EXPECT_TRUE(answer.starts_with("p:") || answer.starts_with("r:") || answer.ends_with("."))
        << answer;
  }
  (void)(*opened)->lines(*parse_probe_request("takes"));
  (void)(*opened)->variables(*parse_probe_request("calls:1"));
  for (const char* function : {"takes", "paint", "shop::Box::turn"})
    (void)(*opened)->function_events(function);
}

class Hostile : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Objects, Hostile,
                         ::testing::Values("values_4", "values_5", "values_z", "passing_cxx_5",
                                           "enums_5"));

TEST_P(Hostile, AnyCutIsAnswered) {
  const std::string bytes = test::read_bytes(test::object_path(GetParam()));
  ASSERT_GT(bytes.size(), 5000u);
  const test::TemporaryFile file;
  for (size_t i = 0; i < 100; i++) {
    file.write(bytes.substr(0, bytes.size() * i / 100));
    ask_everything(file.path());
  }
}

TEST_P(Hostile, FlippedBytesAreAnswered) {
  const std::string bytes = test::read_bytes(test::object_path(GetParam()));
  const auto info = test::open_info(test::object_path(GetParam()));
  ASSERT_TRUE(info);
  std::vector<std::pair<size_t, size_t>> places;  // of the sections in the file
  for (const char* name : {".debug_info", ".debug_abbrev", ".debug_line", ".debug_str",
                           ".debug_loclists", ".debug_rnglists", ".debug_loc", ".debug_ranges"}) {
    const std::string_view section = info->section(name);
    const size_t at = section.empty() ? bytes.npos : bytes.find(section);
    if (at != bytes.npos) places.emplace_back(at, section.size());
  }
  if (places.empty()) places.emplace_back(0x1000, bytes.size() - 0x1000);  // compressed
  const test::TemporaryFile file;
  std::mt19937 random(20121);
  constexpr char kBytes[] = {0, 1, '\x7f', '\x80', '\xff'};
  for (int run = 0; run < 400; run++) {
    std::string damaged = bytes;
    for (int i = 0; i < 1 + run % 8 * 4; i++) {
      const auto& [at, size] = places[random() % places.size()];
      damaged[at + random() % size] = run % 2 ? char(random()) : kBytes[random() % 5];
    }
    file.write(damaged);
    ask_everything(file.path());
  }
}

}  // namespace
}  // namespace patchbay
