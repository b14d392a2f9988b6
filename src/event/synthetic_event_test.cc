// SPDX-License-Identifier: MIT
// Lines of synthetic_events: everything here was written to a 6.12 kernel, whose
// answers these are. `^` stands before the character under error_log's caret.
#include "event/synthetic_event.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <span>

namespace patchbay {
namespace {

constexpr char kForm[] = "Command must be of the form: <name> field[;field] ...";
constexpr char kDynamicForm[] =
    "Command must be of the form: s or -:[synthetic/]<name> field[;field] ...";

bool nothing_exists(std::string_view) { return false; }

SyntheticDefinition parse(std::string_view line, SyntheticForm form = SyntheticForm::kOwn) {
  SyntheticParse parsed = parse_synthetic_event(line, form, nothing_exists);
  EXPECT_TRUE(parsed.definition) << line << ": " << parsed.error->text;
  return parsed.definition.value_or(SyntheticDefinition{});
}

struct ErrorRow {
  const char* line;
  const char* text;
};

void check_errors(std::span<const ErrorRow> rows, SyntheticForm form) {
  for (const ErrorRow& row : rows) {
    std::string line = row.line;
    size_t caret = line.find('^');
    line.erase(caret, 1);
    SyntheticParse parsed = parse_synthetic_event(line, form, nothing_exists);
    EXPECT_FALSE(parsed.definition) << line;
    ASSERT_TRUE(parsed.error) << line;
    EXPECT_EQ(parsed.error->text, row.text) << line;
    EXPECT_EQ(parsed.error->position, caret) << line;
    EXPECT_EQ(parsed.error->error, EINVAL) << line;
  }
}

// The kernel has none; in its files they are as unknown as there.
TEST(SyntheticEvent, RealNumbersAreTheProgramsOnly) {
  constexpr std::string_view kLine = "one double load; float part";
  const SyntheticDefinition made = parse(kLine, SyntheticForm::kProgram);
  ASSERT_EQ(made.fields.size(), 2u);
  EXPECT_EQ(made.fields[0].size, 8u);
  EXPECT_EQ(made.fields[1].size, 4u);
  EXPECT_EQ(make_synthetic_event_call(made).print_fmt,
            "\"load=%g, part=%g\", REC->load, REC->part");
  for (SyntheticForm form : {SyntheticForm::kOwn, SyntheticForm::kDynamic}) {
    const std::string line = (form == SyntheticForm::kDynamic ? "s:" : "") + std::string(kLine);
    const SyntheticParse refused = parse_synthetic_event(line, form, nothing_exists);
    ASSERT_TRUE(refused.error);
    EXPECT_EQ(refused.error->text, "Invalid type");
  }
}

TEST(SyntheticEvent, EveryErrorWithItsCaret) {
  static constexpr ErrorRow kRows[] = {
      {"^ev", kForm},
      {"^ev;", kForm},
      {"^ev u64", kForm},
      {"ev ^foo a", "Invalid type"},
      {"^ev unsigned", kForm},
      {"ev ^unsigned a", "Incomplete type"},
      {"ev unsigned ^short a", "Invalid type"},
      {"ev ^short a", "Invalid type"},
      {"ev ^size_t a", "Invalid type"},
      {"ev char ^a[257]", "Invalid array specification"},
      {"ev char ^a[x]", "Invalid array specification"},
      {"ev ^int a[4]", "Invalid type"},
      {"ev ^u64[] a", "Invalid type"},
      {"ev u64 ^1a", "Illegal name"},
      {"^1ev u64 a", "Illegal name"},
      {"^e-v u64 a", "Illegal name"},
      {"ev u64 ^a-b", "Illegal name"},
      {"^s:ev u64 a", "Illegal name"},
      {"ev char ^str];[", "Illegal name"},
      {"ev char str; ^int", "Invalid field"},
      {"ev char ^str[; int v", "Invalid array specification"},
      {"ev char str;^[]", "Invalid field"},
      {"ev char ^st-r[]", "Illegal name"},
      {"^mye;vent u64 a", kForm},
      {"^; u64 a", kForm},
      {"^ev; u64 a", kForm},
      {"^ev ; u64 a", kForm},
      {"ev ^const char a", "Invalid type"},
      {"ev ^struct foo a", "Invalid type"},
      {"ev int ^*a", "Illegal name"},
      {"ev void ^*a", "Illegal name"},
      {"ev u64 a; ^foo b", "Invalid type"},
      {"ev ^__data_loc char[] a", "Invalid type"},
      {"^a/b u64 a", "Illegal name"},
      {"^synthetic/ten u64 a", "Illegal name"},
      {"c1 char ^a[-1]", "Invalid array specification"},
      {"c2 char ^a[ 4 ]", "Invalid array specification"},
      {"c3 char a ^[4]", "Invalid field"},
      {"^c4 char[4]a", kForm},
      {"c5 char ^[4] a", "Illegal name"},
      {"c6 char ^a[4][4]", "Invalid array specification"},
      {"c7 char ^a[0x10]", "Invalid array specification"},
      {"c9 char ^a]4[", "Illegal name"},
      {"d3 long long ^a", "Invalid field"},
      {"d4 ^unsigned unsigned int a", "Invalid type"},
      {"d5 ^signed int a", "Invalid type"},
      {"d6 unsigned ^u64 a", "Invalid type"},
      {"d9 unsigned ^pid_t a", "Invalid type"},
      {"e1 s64 a ^b", "Invalid field"},
      {"e2 ^s64 a; s64", "Invalid field"},  // where the word is first found
      {"e3 s64 a ^b; s64 c", "Invalid field"},
      {"e4 ^string a", "Invalid type"},
      {"e5 char ^*a", "Illegal name"},
      {"e6 ^stacktrace a", "Invalid type"},
      {"e8 pid_t ^pid, u64 x", "Illegal name"},
  };
  check_errors(kRows, SyntheticForm::kOwn);
}

TEST(SyntheticEvent, ErrorsOfDynamicEvents) {
  static constexpr ErrorRow kRows[] = {
      {"^s:junk/ev3 u64 a", kDynamicForm},
      {"^s: u64 a", kForm},
      {"^s:ev", kForm},
      {"^s:ev u64", kForm},
      {"^s:synthetic/ u64 a", kForm},
      {"s:^a.b u64 a", "Illegal name"},
      {"s:^synthetic.bb u64 a", "Illegal name"},
      {"s:synthetic/^1a u64 a", "Illegal name"},
  };
  check_errors(kRows, SyntheticForm::kDynamic);
}

TEST(SyntheticEvent, NameThatIsTaken) {
  struct {
    const char* line;
    SyntheticForm form;
    size_t position;
  } cases[] = {
      {"one u64 a", SyntheticForm::kOwn, 0},
      {"one foo bar", SyntheticForm::kOwn, 0},  // asked before the fields are looked at
      {"s:one u64 a", SyntheticForm::kDynamic, 2},
      {"s:synthetic/one u64 a; int b", SyntheticForm::kDynamic, 12},
  };
  for (const auto& c : cases) {
    SyntheticParse parsed =
        parse_synthetic_event(c.line, c.form, [](std::string_view name) { return name == "one"; });
    ASSERT_TRUE(parsed.error) << c.line;
    EXPECT_EQ(parsed.error->text, "Event already exists");
    EXPECT_EQ(parsed.error->position, c.position) << c.line;
    EXPECT_EQ(parsed.error->error, EEXIST);
  }
}

TEST(SyntheticEvent, TooManyFields) {
  std::string line = "ev";
  for (int i = 0; i < 64; i++) line += (i ? "; u8 f" : " u8 f") + std::to_string(i);
  EXPECT_EQ(parse(line).fields.size(), 64u);
  SyntheticParse parsed =
      parse_synthetic_event(line + "; u8 f64", SyntheticForm::kOwn, nothing_exists);
  ASSERT_TRUE(parsed.error);
  EXPECT_EQ(parsed.error->text, "Too many fields");
  EXPECT_EQ(parsed.error->position, 0u);
}

TEST(SyntheticEvent, LinesThatAreTaken) {
  struct {
    const char *line, *shown;
  } cases[] = {
      {"one u64 a", "one\tu64 a"},
      {"two u64 a;", "two\tu64 a"},
      {"two2   u64   a  ;  int   b  ; ", "two2\tu64 a; int b"},
      {"three u64 a u64 b", "three\tu64 a; u64 b"},
      {"three1 u64 a int b char c", "three1\tu64 a; int b; char c"},
      {"three2 u64 a unsigned int b", "three2\tu64 a; unsigned int b"},
      {"three3 char a[8] int b", "three3\tchar[8] a; int b"},
      {"five unsigned int  a ;;", "five\tunsigned int a"},
      {"six u64 a;; u64 b", "six\tu64 a; u64 b"},
      {"seven u64 common_pid", "seven\tu64 common_pid"},
      {"eight u64 a; u64 a", "eight\tu64 a; u64 a"},
      {"ten\tu64 a", "ten\tu64 a"},
      {"c8 char a[010]", "c8\tchar[010] a"},
      {"d1 unsigned long a[]", "d1\tunsigned long[] a"},
      {"d2 long a[4]", "d2\tlong[4] a"},
      {"d7 unsigned char a[4]", "d7\tunsigned char[4] a"},
      {"d8 unsigned char a[]", "d8\tunsigned char[] a"},
  };
  for (const auto& c : cases) EXPECT_EQ(parse(c.line).show(), c.shown);
  EXPECT_EQ(parse("s:dy u64 a", SyntheticForm::kDynamic).show(), "dy\tu64 a");
  EXPECT_EQ(parse("s:synthetic/dy2 u64 a; int b", SyntheticForm::kDynamic).show(),
            "dy2\tu64 a; int b");
}

TEST(SyntheticEvent, SizesOfTexts) {
  struct {
    const char* line;
    SyntheticField::Kind kind;
    uint32_t size;
  } cases[] = {
      {"e char a[1]", SyntheticField::Kind::kText, 1},
      {"e char a[256]", SyntheticField::Kind::kText, 256},
      {"e char a[010]", SyntheticField::Kind::kText, 8},
      {"e char a[0x9]", SyntheticField::Kind::kText, 9},
      {"e char a[+9]", SyntheticField::Kind::kText, 9},
      {"e char[16] a", SyntheticField::Kind::kText, 16},
      {"e char a[0]", SyntheticField::Kind::kDynamicText, 8},
      {"e char a[]", SyntheticField::Kind::kDynamicText, 8},
      {"e char[] a", SyntheticField::Kind::kDynamicText, 8},
      {"e long a[]", SyntheticField::Kind::kStack, 8},
      {"e unsigned long[] a", SyntheticField::Kind::kStack, 8},
  };
  for (const auto& c : cases) {
    SyntheticDefinition definition = parse(c.line);
    ASSERT_EQ(definition.fields.size(), 1u) << c.line;
    EXPECT_EQ(definition.fields[0].kind, c.kind) << c.line;
    EXPECT_EQ(definition.fields[0].size, c.size) << c.line;
  }
  for (const char* line : {"e char a[08]", "e char a[0x]", "e char a[+]", "e char a[1 ]"})
    EXPECT_TRUE(parse_synthetic_event(line, SyntheticForm::kOwn, nothing_exists).error) << line;
}

constexpr char kAllTypes[] =
    "all s8 a; u8 b; s16 c; u16 d; s32 e; u32 f; s64 g; u64 h; char i; int j; long k; bool l; "
    "pid_t m; gfp_t n; unsigned char o; unsigned int p; unsigned long q; char r[16]; char s[0]; "
    "char t[256]; char u[]; unsigned long[] v; long[] w; long x[]; unsigned char y; char[8] z";

// The kernel's, but for the id.
constexpr char kAllFormat[] =
    "name: all\n"
    "ID: 0\n"
    "format:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
    "\n"
    "\tfield:s8 a;\toffset:8;\tsize:1;\tsigned:1;\n"
    "\tfield:u8 b;\toffset:16;\tsize:1;\tsigned:0;\n"
    "\tfield:s16 c;\toffset:24;\tsize:2;\tsigned:1;\n"
    "\tfield:u16 d;\toffset:32;\tsize:2;\tsigned:0;\n"
    "\tfield:s32 e;\toffset:40;\tsize:4;\tsigned:1;\n"
    "\tfield:u32 f;\toffset:48;\tsize:4;\tsigned:0;\n"
    "\tfield:s64 g;\toffset:56;\tsize:8;\tsigned:1;\n"
    "\tfield:u64 h;\toffset:64;\tsize:8;\tsigned:0;\n"
    "\tfield:char i;\toffset:72;\tsize:1;\tsigned:1;\n"
    "\tfield:int j;\toffset:80;\tsize:4;\tsigned:1;\n"
    "\tfield:long k;\toffset:88;\tsize:8;\tsigned:1;\n"
    "\tfield:bool l;\toffset:96;\tsize:1;\tsigned:1;\n"
    "\tfield:pid_t m;\toffset:104;\tsize:4;\tsigned:1;\n"
    "\tfield:gfp_t n;\toffset:112;\tsize:4;\tsigned:0;\n"
    "\tfield:unsigned char o;\toffset:120;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned int p;\toffset:128;\tsize:4;\tsigned:0;\n"
    "\tfield:unsigned long q;\toffset:136;\tsize:8;\tsigned:0;\n"
    "\tfield:char r[];\toffset:144;\tsize:16;\tsigned:1;\n"
    "\tfield:__data_loc char[0] s;\toffset:400;\tsize:8;\tsigned:1;\n"
    "\tfield:char t[];\toffset:408;\tsize:256;\tsigned:1;\n"
    "\tfield:__data_loc char[] u;\toffset:664;\tsize:8;\tsigned:1;\n"
    "\tfield:__data_loc unsigned long[] v;\toffset:672;\tsize:8;\tsigned:1;\n"
    "\tfield:__data_loc long[] w;\toffset:680;\tsize:8;\tsigned:1;\n"
    "\tfield:__data_loc long[] x;\toffset:688;\tsize:8;\tsigned:1;\n"
    "\tfield:unsigned char y;\toffset:696;\tsize:1;\tsigned:0;\n"
    "\tfield:char z[];\toffset:704;\tsize:8;\tsigned:1;\n"
    "\n"
    "print fmt: \"a=%d, b=%u, c=%d, d=%u, e=%d, f=%u, g=%lld, h=%llu, i=%d, j=%d, "
    "k=%ld, l=%d, m=%d, n=%x, o=%u, p=%u, q=%lu, r=%s, s=%s, t=%s, u=%s, v=%s, w=%s, "
    "x=%s, y=%u, z=%s\", ((REC->a & 0xff) ^ 0x80) - 0x80, REC->b, "
    "((REC->c & 0xffff) ^ 0x8000) - 0x8000, REC->d, REC->e, REC->f, REC->g, "
    "REC->h, ((REC->i & 0xff) ^ 0x80) - 0x80, REC->j, REC->k, REC->l, REC->m, REC->n, REC->o, "
    "REC->p, REC->q, "
    "REC->r, __get_str(s), REC->t, __get_str(u), __get_stacktrace(v), "
    "__get_stacktrace(w), __get_stacktrace(x), REC->y, REC->z\n";

TEST(SyntheticEvent, FormatOfEveryType) {
  SyntheticDefinition all = parse(kAllTypes);
  EXPECT_EQ(make_synthetic_event_call(all).format_text(), kAllFormat);
  EXPECT_EQ(all.show(),
            "all\ts8 a; u8 b; s16 c; u16 d; s32 e; u32 f; s64 g; u64 h; char i; int j; long k; "
            "bool l; pid_t m; gfp_t n; unsigned char o; unsigned int p; unsigned long q; "
            "char[16] r; char[0] s; char[256] t; char[] u; unsigned long[] v; long[] w; long[] x; "
            "unsigned char y; char[8] z");
  EXPECT_EQ(all.fixed_size(), 704u + 256);
  EXPECT_EQ(all.max_size(), 704u + 256 + 2 * 256 + 3 * 32 * 8);
}

TEST(SyntheticEvent, FormatIsReadBack) {
  EventCall call = make_synthetic_event_call(parse(kAllTypes));
  auto again = parse_format("synthetic", call.format_text());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->format_text(), call.format_text());
}

TEST(SyntheticEvent, SignednessFollowsTheTypesFirstLetter) {
  SyntheticDefinition definition =
      parse("e unsigned char a[4]; unsigned char b[]; unsigned long c[]; bool d; gfp_t e");
  bool want[] = {false, true, true, true, false};
  for (size_t i = 0; i < 5; i++) EXPECT_EQ(definition.fields[i].is_signed, want[i]) << i;
}

}  // namespace
}  // namespace patchbay
