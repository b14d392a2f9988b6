// SPDX-License-Identifier: MIT
//
// The grammar of function_events (docs/files.md), its names, and one error a state.
#include <gtest/gtest.h>

#include "event/function_event.h"
#include "event/function_name.h"

namespace patchbay {
namespace {

uint64_t address_of(std::string_view symbol) {
  if (symbol == "jiffies") return 0x1000;
  if (symbol == "ns::counter") return 0x2000;
  return 0;
}

FunctionEventDef parse(std::string_view line) {
  FunctionEventParse result = parse_function_event(line, address_of);
  if (result.error) ADD_FAILURE() << line << "\n" << result.error->text;
  EXPECT_EQ(result.def.has_value(), result.function_was_parsed && !result.error);
  return result.def ? *result.def : FunctionEventDef{};
}

void expect_canonical(std::string_view line, std::string_view canonical) {
  FunctionEventDef def = parse(line);
  EXPECT_EQ(def.canonical(), canonical);
  EXPECT_EQ(parse(def.canonical()).canonical(), canonical) << "what is read can be written again";
}

TEST(FunctionEventParse, CanonicalLineIsShownAndReadBack) {
  expect_canonical("do_IRQ(symbol ip[16] | x64[6] irq_stack[16])",
                   "do_IRQ(symbol ip[16] | x64[6] irq_stack[16])");
  expect_canonical("__vfs_read(symbol read+40[0]+16)", "__vfs_read(symbol read+40[0]+16)");
  expect_canonical("SyS_openat(int dfd, string path, x32 flags, x16 mode)",
                   "SyS_openat(int dfd, string path, x32 flags, x16 mode)");
  expect_canonical("  f  (  )  ", "f()");
  expect_canonical("f(unsigned int a+0x10[010],NULL,x8[0x6]p+16[0]+558|char c)",
                   "f(unsigned int a+16[8], NULL, x8[6] p+16[0]+558 | char c)");
  expect_canonical("f(int a = 0xFF, symbol regs [ 16 ])", "f(int a=0xff, symbol regs[16])");
  expect_canonical("f(int 0x1F)", "f(int 0x1f)");
  expect_canonical("f(int[4] 0x1F|int b)", "f(int[4] 0x1f | int b)");
  expect_canonical("f(double x, float NULL, float[4] m, double p+8[1], float g=0x10)",
                   "f(double x, float NULL, float[4] m, double p+8[1], float g=0x10)");
  expect_canonical("f(NULL, NULL)", "f(NULL, NULL)");
  expect_canonical("f(x64 skb | int skb[32])", "f(x64 skb | int skb[32])");
  expect_canonical("f(unsigned symbol s, unsigned string t)",
                   "f(unsigned symbol s, unsigned string t)");
}

// A program's names may have letters of every script; those of fields and events are C's.
TEST(FunctionEventParse, NamesBeyondAscii) {
  expect_canonical("größe(int länge)", "größe(int l_u00e4nge)");
  expect_canonical("int größe = ns::größe<straße>::名(string/ä t, int ä)",
                   "int gr_u00f6_u00dfe = ns::größe<straße>::名(string/_u00e4 t, int _u00e4)");
  expect_canonical("maß = f(straße *s)", "ma_u00df=f(x64 s)");
  EXPECT_EQ(parse("größe(int a)").event_name(), "gr_u00f6_u00dfe");
}

// What is accepted can be read again as it is shown.
TEST(FunctionEventParse, NamesThatGrowInAscii) {
  expect_canonical("ääääääääää=f()",
                   "_u00e4_u00e4_u00e4_u00e4_u00e4_u00e4_u00e4_u00e4_u00e4_u00e4=f()");
  const FunctionEventParse parsed = parse_function_event("äääääääääää=f()", {});
  ASSERT_TRUE(parsed.error);
  EXPECT_NE(parsed.error->text.find("one that is not of ASCII counts as 6"), std::string::npos)
      << parsed.error->text;
}

TEST(FunctionEventParse, LengthsThatAFieldSays) {
  expect_canonical("f(string / n_len n [0]+0|u64 n_len+8[0])",
                   "f(string/n_len n[0]+0 | u64 n_len+8[0])");
  expect_canonical("f(int fd, string/count/64 buf, size_t count)",
                   "f(int fd, string/count/64 buf, size_t count)");
  expect_canonical("f(string/n/511 s, int n)", "f(string/n s, int n)");
  expect_canonical("f(int[<end] v[0]+0 | x64 end+8[0])", "f(int[<end] v[0]+0 | x64 end+8[0])");
  expect_canonical("f(unsigned long [ n / 0x8 ] v, int n)", "f(unsigned long[n/8] v, int n)");
  expect_canonical("f(double[/4] v, float w)", "f(double[/4] v, float w)");
  expect_canonical("f(string/n t=0x1000, int n)", "f(string/n t=0x1000, int n)");
  expect_canonical("f(u64 n[0]+8[0] < end | x64 end+8[0])", "f(u64 n[0]+8[0]<end | x64 end+8[0])");
  const auto error = [](std::string_view line) {
    const FunctionEventParse result = parse_function_event(line, address_of);
    return result.error ? result.error->text : "none";
  };
  EXPECT_EQ(error("f(int a, string/n s)"),
            "f(int a, string /n s)\n         ^\nError: No field 'n' that is a number");
  for (const char* line :
       {"f(int[n] v)", "f(int[v] v)", "f(int[n] v, double n)", "f(int[n] v, string n)",
        "f(int[n] v, int[2] n)", "f(int a[0]<b)", "f(int a[0]<a)",
        "f(int a[0]<b, int b[0]<c, int c)", "f(int a[0]<b, double b)", "f(string/s s)"})
    EXPECT_NE(error(line).find("that is a number"), std::string::npos) << line;
  for (const char* line :
       {"f(string/ s, int n)", "f(string/8 s)", "f(string/n/0 s, int n)",
        "f(string/n/512 s, int n)", "f(int[n/65] v, int n)", "f(int[/] v)", "f(int[<<n] v, int n)",
        "f(int[<] v)", "f(int[n v, int n)", "f(char[n] v, int n)", "f(string[n] v, int n)",
        "f(int a<n, int n)", "f(int a[0]+4<n, int n)", "f(int[2] a[0]<n, int n)",
        "f(string a[0]<n, int n)", "f(int a[0]<8)", "f(int a[0]<n+4, int n)", "f(int/n v, int n)"})
    EXPECT_NE(error(line), "none") << line;
}

TEST(FunctionEventParse, AnEventCanHaveAName) {
  expect_canonical("add=ns::operator+(x64 a)", "add=ns::operator+(x64 a)");
  expect_canonical(" call = Box::operator()(x64 b)", "call=Box::operator()(x64 b)");
  expect_canonical("e=lib.so:ns::f(int, char)(int a)", "e=lib.so:ns::f(int, char)(int a)");
  EXPECT_EQ(parse("add=ns::operator+(x64 a)").event_name(), "add");
  EXPECT_EQ(parse("add=ns::operator+(x64 a)").function, "ns::operator+");
  EXPECT_EQ(parse("ns::operator==(x64 a)").event_name(), "ns_operator");
  EXPECT_EQ(parse("operator==(x64 a)").function, "operator==");
  EXPECT_EQ(parse("ns::Box::operator=(x64 a)").function, "ns::Box::operator=");
}

TEST(FunctionEventParse, WholeCalls) {
  expect_canonical("int fd=open( string path , x32 flags)",
                   "int fd = open(string path, x32 flags)");
  expect_canonical("const char *s = getenv(const char *name)", "string s = getenv(string name)");
  expect_canonical("unsigned int n = f()", "unsigned int n = f()");
  expect_canonical("double d = scale(double x, float NULL)",
                   "double d = scale(double x, float NULL)");
  expect_canonical("x64 p = f(int a) ", "x64 p = f(int a)");
  expect_canonical("int v[0]+4[2] = f()", "int v[0]+4[2] = f()");
  expect_canonical("int[4] v = f()", "int[4] v = f()");
  expect_canonical("void  =  free(x64 p)", "void = free(x64 p)");
  expect_canonical("mine = int fd = open(string path)", "mine=int fd = open(string path)");
  expect_canonical("mine = void = free(x64 p)", "mine=void = free(x64 p)");
  expect_canonical("int r = ns::A::operator==(x64 that)", "int r = ns::A::operator==(x64 that)");
  expect_canonical("e=ns::A::operator=(x64 that)", "e=ns::A::operator=(x64 that)");
  expect_canonical("long n = read(int fd, out string/n buf, size_t count)",
                   "long n = read(int fd, out string/n buf, size_t count)");
  expect_canonical("void = f(out int a[0] | int a, out u8[4] b, out long[n/8] v, int n)",
                   "void = f(out int a[0] | int a, out u8[4] b, out long[n/8] v, int n)");
  expect_canonical("void = f(out *p, out int g=0x1000)", "void = f(x64 p, out int g=0x1000)");
  expect_canonical("string/n text = f(int n)", "string/n text = f(int n)");
  expect_canonical("int fd = open( int $errno,string path )",
                   "int fd = open(string path, int $errno)");
  expect_canonical("f(int a, x64 % sp, u64 at = %sp)", "f(int a, x64 %sp, u64 at=%sp)");
  expect_canonical("void = f(s64 why = $errno)", "void = f(s64 why=$errno)");
  expect_canonical("int fd = open(unsigned short errno=$errno)",
                   "int fd = open(unsigned short $errno)");
  const FunctionEventDef def = parse("mine = int fd = libc:open(string path)");
  EXPECT_EQ(def.event_name(), "mine");
  EXPECT_EQ(def.function, "libc:open");
  EXPECT_TRUE(def.is_call);
  EXPECT_EQ(def.result->fields[0].name, "fd");
  EXPECT_FALSE(parse("void = f()").result);
  EXPECT_EQ(parse("int fd = open()").event_name(), "open");
  EXPECT_EQ(without_event_name("mine = int fd = f()"), "int fd = f()");
  EXPECT_EQ(without_event_name("int fd = f()"), "int fd = f()");
}

// What a compiler has taken away from a function is no argument any more.
TEST(FunctionEventParse, ConstantsAndWhatIsMissing) {
  expect_canonical("f(string unit = ?, int factor=\\7, int value)",
                   "f(string unit=?, int factor=\\7, int value)");
  expect_canonical("f(s8 a=\\-128, u8 b=\\255, x32 c=\\0x10, u64 d=\\18446744073709551615)",
                   "f(s8 a=\\-128, u8 b=\\255, x32 c=\\0x10, u64 d=\\18446744073709551615)");
  expect_canonical("f(double d=\\-1.5e-3, float g=\\0.1)",
                   "f(double d=\\-0.0015, float g=\\0.100000001)");
  expect_canonical("f(u64 n=\\3, string/n text)", "f(u64 n=\\3, string/n text)");
  EXPECT_EQ(parse("f(int a=\\1, x64 b=?, int c)").args[2].fields[0].position, 0);
  for (const char* line : {"f(int a=\\)",
                           "f(int a=\\b)",
                           "f(s8 a=\\128)",
                           "f(s8 a=\\-129)",
                           "f(u8 a=\\-1)",
                           "f(u8 a=\\256)",
                           "f(int a=\\2147483648)",
                           "f(double a=\\x)",
                           "f(double a=\\)",
                           "f(string a=\\1)",
                           "f(int a=\\1[0])",
                           "f(int a=\\1 | int b)",
                           "f(int a | int b=\\1)",
                           "f(int[2] a=\\1)",
                           "f(int \\1)",
                           "f(int ?)",
                           "f(int a=? | int b)",
                           "f(int a=?[0])",
                           "int r=\\1 = f()",
                           "int r = f(out int a=?)",
                           "f(string/n text, int n=?)",
                           "f(int a[0]=\\1)",
                           "f(long s=\\9223372036854775808)",
                           "f(s128 a=\\1)"})
    EXPECT_TRUE(parse_function_event(line, address_of).error) << line;
  EXPECT_EQ(parse_function_event("f(u8 a=\\256)", address_of).error->message,
            "Error: Behind \\ stands a number that a u8 can have");
}

TEST(FunctionEventParse, WholeCallsThatAreNone) {
  const auto error = [](std::string_view line) {
    const FunctionEventParse result = parse_function_event(line, address_of);
    return result.error ? result.error->text : "none";
  };
  EXPECT_EQ(error("itn fd = open(string path)"),
            "itn fd = open(string path)\n^\nUnexpected token 'itn' for INIT state");
  EXPECT_EQ(error("int fd = !(string path)"),
            "int fd = ! (string path)\n         ^\nUnexpected token '!' for RESULT state");
  EXPECT_EQ(
      error("int n = f(string/n s)"),
      "int n = f( string /n s)\n           ^\nError: n is known when the call returns: write out");
  EXPECT_EQ(error("f(out string s)"),
            "f( out string s)\n   ^\nError: out is for a call with its result, as in int n = "
            "read(int fd, out string/n buf)");
  EXPECT_EQ(
      error("int n = f(out int a)"),
      "int n = f(out int a)\n              ^\nError: out is for what a pointer points to, as in "
      "out int a[0]");
  EXPECT_EQ(
      error("f(int a, int $errno)"),
      "f(int a, int $ errno )\n               ^\nError: $errno is for a call with its result, as "
      "in int fd = open(string path, int $errno)");
  EXPECT_EQ(
      error("int r = f(int[2] $errno)"),
      "int r = f(int[2] $ errno )\n                   ^\nError: $errno is a number: int $errno");
  EXPECT_EQ(error("int r = f(int $errno, int again=$errno)"),
            "int r = f(int $errno, int again=$ errno )\n                                  "
            "^\nError: $errno stands by itself, and once");
  for (const char* line : {"int r = f(double $errno)",
                           "int r = f(string $errno)",
                           "int r = f(char e=$errno)",
                           "int r = f(int a | int $errno)",
                           "int r = f(int $errno | int a)",
                           "int $errno = f()",
                           "int r = f(int $errno[0])",
                           "int r = f(int e+4=$errno)",
                           "int r = f(s128 $errno)",
                           "f(x64 %rsp)",
                           "f(x64 a | x64 %sp)",
                           "f(x64 %sp | x64 a)",
                           "f(string %sp)",
                           "f(x64 %sp+8)",
                           "f(double %sp)",
                           "f(x64 %)",
                           "int r = f(out x64 %sp)",
                           "int r = f(out int $errno)",
                           "int r = f(symbol $errno)",
                           "int r = f(int duration=$errno)",
                           "int r = f(struct {int $errno} a)",
                           "int r = f(string/errno s, int $errno)"})
    EXPECT_NE(error(line), "none") << line;
  for (const char* line :
       {"int fd = ", "void x = f()", "int a b = f()", "int fd = open",
        "void = ", "int duration = f()", "void = f(int duration)", "int fd=0x10 = f()",
        "void = f(out NULL)", "void = f(out out int a[0])", "void = f(out)",
        "void = f(out double d)", "void = f(out float NULL)", "void = f(int[n] v, out int n[0])",
        "int a|int b = f()", "int a, int b = f()", "void void = f()"})
    EXPECT_NE(error(line), "none") << line;
}

TEST(FunctionEventParse, LinesAmongThoseOfOtherKinds) {
  for (std::string_view line : {"f(int a)", "p(int a)", "a=f()", "lib:f()", "ns::f(int)(int a)",
                                "int a = f()", "void = f()", "a=int b = f()"})
    EXPECT_TRUE(is_function_event_line(line)) << line;
  for (std::string_view line :
       {"p f", "p:x f a=+0(%di)", "f:x f(int)%return", "s:x int a", "e:x g.e a=$b", "f (int a)",
        "-:f", "x:foo", "p:x lib:ns::f(int)", "=f()", "f", ""})
    EXPECT_FALSE(is_function_event_line(line)) << line;
}

TEST(FunctionEventParse, PointersAsHeadersWriteThem) {
  expect_canonical("f(const char *s, char *b, int n)", "f(string s, x64 b, int n)");
  expect_canonical("f(struct outer *p, const struct outer **q, int *x)", "f(x64 p, x64 q, x64 x)");
  expect_canonical("f(char const*s, unsigned int *n, unsigned char c)",
                   "f(string s, x64 n, unsigned char c)");
  expect_canonical("f(const ns::Box &b, void *const p, NULL, const char *restrict t)",
                   "f(x64 b, x64 p, NULL, string t)");
}

TEST(FunctionEventParse, WhatHelps) {
  auto help = [](std::string_view line) {
    FunctionEventParse result = parse_function_event(line, address_of);
    return result.error ? result.error->help : "";
  };
  EXPECT_EQ(help("f(itn a)"), "There is no type itn; did you mean int?");
  EXPECT_NE(help("f(struct outer p)").find("; the types are char "), std::string::npos);
  EXPECT_NE(help("int f(int a)").find("int NAME = FUNCTION(...)"), std::string::npos);
  EXPECT_NE(help("f(int a) ret").find("int NAME = FUNCTION(...)"), std::string::npos);
  EXPECT_EQ(help("f(int a"), "");
}

TEST(FunctionEventParse, TheTokenIsFoundInTheLineAsItWasWritten) {
  auto position = [](std::string_view line) {
    FunctionEventParse result = parse_function_event(line, address_of);
    return result.error ? result.error->position : 0;
  };
  EXPECT_EQ(position("libc:f(  int  a,foo b)"), 16u);
  EXPECT_EQ(position("ev=libc:f(foo b)"), 10u);
  EXPECT_EQ(position("f(int a"), 7u);
  EXPECT_EQ(position("a=!"), 2u);
}

TEST(FunctionEventParse, SymbolAddresses) {
  expect_canonical("f(long now=$jiffies)", "f(long now=0x1000)");
  expect_canonical("f(long $jiffies)", "f(long jiffies=0x1000)");
  expect_canonical("f(long $ns::counter | int a)", "f(long ns_counter=0x2000 | int a)");
  EXPECT_EQ(parse("f(long $jiffies)").args[0].fields[0].address_symbol, "jiffies");
}

TEST(FunctionEventParse, PositionsAreCountedAsPassed) {
  using Passed = FunctionEventArg::Passed;
  FunctionEventDef def =
      parse("f(int a=0x1, int b, double d, NULL, float[2] m, int c | x64 e=0x8, double[1] z=0x9)");
  std::vector<Passed> passed;
  for (const auto& arg : def.args) passed.push_back(arg.passed());
  EXPECT_EQ(passed, (std::vector<Passed>{Passed::kNowhere, Passed::kInteger, Passed::kVector,
                                         Passed::kInteger, Passed::kInteger, Passed::kInteger,
                                         Passed::kNowhere}));
  EXPECT_EQ(def.args[1].fields[0].position, 0);
  EXPECT_EQ(def.args[5].fields[0].position, 4);
}

TEST(FunctionEventParse, NullSkips) {
  FunctionEventDef def = parse("f(NULL, int a, NULL)");
  EXPECT_TRUE(def.args[0].is_null && def.args[2].is_null);
  EXPECT_EQ(def.args[1].fields[0].position, 1);
}

void expect_error(std::string_view line, std::string_view text) {
  FunctionEventParse result = parse_function_event(line, address_of);
  ASSERT_TRUE(result.error) << line;
  EXPECT_FALSE(result.def);
  EXPECT_EQ(result.error->text, text);
  EXPECT_TRUE(result.function_was_parsed);
}

TEST(FunctionEventParse, OneErrorForEachState) {
  expect_error("größe(maß länge)",
               "größe( maß länge)\n       ^\nUnexpected token 'maß' for PARAM state");
  expect_error("f(int *p[3])",
               "f(x64 p [ 3])\n        ^\n"
               "Error: What a pointer points to is written with its type, as in int NAME[0]");
  expect_error("f!(int a)", "f ! (int a)\n  ^\nUnexpected token '!' for FUNC state");
  expect_error("f(foo a, int b)", "f( foo a, int b)\n   ^\nUnexpected token 'foo' for PARAM state");
  expect_error("f(unsigned foo)",
               "f(unsigned foo )\n           ^\nUnexpected token 'foo' for UNSIGNED state");
  expect_error("f(unsigned NULL)",
               "f(unsigned NULL )\n           ^\nUnexpected token 'NULL' for UNSIGNED state");
  expect_error("f(unsigned double d)",
               "f(unsigned double d)\n           ^\nUnexpected token 'double' for UNSIGNED state");
  expect_error("f(int  5)", "f(int 5 )\n      ^\nUnexpected token '5' for TYPE state");
  expect_error("f(string[4] a)",
               "f(string [ 4] a)\n         ^\nUnexpected token '[' for TYPE state");
  expect_error("f(int[0] a)", "f(int[ 0 ] a)\n       ^\nUnexpected token '0' for ARRAY state");
  expect_error("f(int[4+ a)", "f(int[4 + a)\n        ^\nUnexpected token '+' for ARRAY_SIZE state");
  expect_error("f(int[4], b)",
               "f(int[4] , b)\n         ^\nUnexpected token ',' for ARRAY_END state");
  expect_error("f(int a int b)", "f(int a int b)\n        ^\nUnexpected token 'int' for VAR state");
  expect_error("f(int a-4)", "f(int a - 4)\n        ^\nUnexpected token '-' for VAR state");
  expect_error("f(int a+4=0x10)",
               "f(int a+4 = 0x10)\n          ^\nUnexpected token '=' for VAR state");
  expect_error("f(int a+b)", "f(int a+ b )\n         ^\nUnexpected token 'b' for PLUS state");
  expect_error("f(int a+08)", "f(int a+ 08 )\n         ^\nUnexpected token '08' for PLUS state");
  expect_error("f(int a[b])", "f(int a[ b ])\n         ^\nUnexpected token 'b' for BRACKET state");
  expect_error("f(int a[3)", "f(int a[3 )\n          ^\nUnexpected token ')' for INDIRECT state");
  expect_error("f(int a[3]b)",
               "f(int a[3] b )\n           ^\nUnexpected token 'b' for BRACKET_END state");
  expect_error("f(int a[3]=0x1)",
               "f(int a[3] = 0x1)\n           ^\nUnexpected token '=' for BRACKET_END state");
  expect_error("f(int a=16)", "f(int a= 16 )\n         ^\nUnexpected token '16' for EQUAL state");
  expect_error("f(int a=0x10+4)",
               "f(int a=0x10 + 4)\n             ^\nUnexpected token '+' for ADDR state");
  expect_error("f(int a=$nope)",
               "f(int a=$ nope )\n          ^\nUnexpected token 'nope' for SYMBOL state");
  expect_error("f(int a,)", "f(int a, )\n         ^\nUnexpected token ')' for COMMA state");
  expect_error("f(int a | NULL)",
               "f(int a | NULL )\n          ^\nUnexpected token 'NULL' for PIPE state");
  expect_error("f(NULL | int a)", "f(NULL | int a)\n       ^\nUnexpected token '|' for NULL state");
  expect_error("f(int a) x", "f(int a) x\n         ^\nUnexpected token 'x' for END state");
}

TEST(FunctionEventParse, WhatAFormatReads) {
  expect_canonical("printf(string format,...)", "printf(string format, ...)");
  expect_canonical("int n = f(double x, string s|x64 at, ... , int $errno)",
                   "int n = f(double x, string s | x64 at, ..., int $errno)");
  expect_canonical("f(string format, ..., x64 %sp)", "f(string format, ..., x64 %sp)");
  expect_canonical("log(int level, const char *fmt, ...)", "log(int level, string fmt, ...)");
  const FunctionEventDef def = parse("f(int a, string format, ...)");
  ASSERT_EQ(def.args.size(), 3u);
  EXPECT_EQ(def.args[2].fields[0].name, kFormatArgsField);
}

TEST(FunctionEventParse, WhatNoFormatReads) {
  constexpr char kNoFormat[] =
      "Error: ... is read by a format in front of it, as in printf(string format, ...)";
  expect_error("f(...)", std::string("f( ... )\n   ^\n") + kNoFormat);
  expect_error("f(int a, ...)", std::string("f(int a, ... )\n         ^\n") + kNoFormat);
  for (const char* line : {"f(string a[0], ...)", "f(string a+8, ...)",
                           "int n = f(int l, string/l a, ...)", "f(string a, ..., ...)",
                           "f(NULL, ...)", "f(string a=0x10, ...)", "f(struct {string a} s, ...)",
                           "exec(const char *path, ...)", "scanf(const char *format, ...)"}) {
    const FunctionEventParse result = parse_function_event(line, address_of);
    ASSERT_TRUE(result.error) << line;
    EXPECT_EQ(result.error->message, kNoFormat) << line;
  }
  expect_error("f(string a, ..., int b)",
               "f(string a, ..., int b)\n                 ^\n"
               "Error: ... is the last of what is passed");
  for (const char* line : {"f(int varargs, string a, ...)", "f(string a, ..., int varargs=0x10)",
                           "f(string varargs)", "f(int n, string/n varargs)"}) {
    const FunctionEventParse result = parse_function_event(line, address_of);
    ASSERT_TRUE(result.error) << line;
    EXPECT_EQ(result.error->message, "Error: The field varargs is what the format reads");
  }
  for (const char* line : {"f(string a, ... | int b)", "f(string a, ..)", "f(string a, ... x)"})
    EXPECT_TRUE(parse_function_event(line, address_of).error) << line;
}

TEST(FunctionEventParse, EndedEarly) {
  expect_error("f", "f \n  ^\nUnexpected ending");
  expect_error("f(int a", "f(int a \n        ^\nUnexpected ending");
  expect_error("f(int a,", "f(int a, \n         ^\nUnexpected ending");
}

TEST(FunctionEventParse, NameThatCannotBeOne) {
  for (std::string_view line : {"", "   ", "5f(int a)", "*(int a)", "(int a)", "-f()", ":f()"}) {
    FunctionEventParse result = parse_function_event(line, address_of);
    ASSERT_TRUE(result.error) << line;
    EXPECT_FALSE(result.function_was_parsed) << line;
  }
  EXPECT_EQ(parse_function_event("5f(int a)", address_of).error->text,
            "5f (int a)\n^\nUnexpected token '5f' for INIT state");
}

// What finds no register is on the stack.
TEST(FunctionEventParse, TooManyArguments) {
  EXPECT_FALSE(parse("f(int a, int b, int c, int d, int e, int g, int h=0x10)").uses_stack);
  EXPECT_FALSE(parse("f(int a, double b, int c, int d, int e, double g, int h, int i)").uses_stack);
  EXPECT_FALSE(
      parse("f(float a,float b,float c,float d,float e,float f,float g,double NULL)").uses_stack);
  EXPECT_TRUE(
      parse("f(float a,float b,float c,float d,float e,float f,float g,double NULL,float i)")
          .uses_stack);
  EXPECT_TRUE(parse("f(NULL, NULL, NULL, NULL, NULL, NULL, NULL, string s)").uses_stack);
  std::string line = "f(", more;
  for (int i = 0; i < 6 + 32; i++) line += (i ? ", NULL" : "NULL");
  expect_canonical(line + ")", line + ")");
  const FunctionEventParse result = parse_function_event(line + ", int i)", address_of);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->message, "Error: Too many arguments (max of 32 on the stack)");
  const FunctionEventParse out = parse_function_event(
      "void = f(NULL, NULL, NULL, NULL, NULL, NULL, out int a[0])", address_of);
  ASSERT_TRUE(out.error);
  EXPECT_EQ(out.error->message, "Error: An argument on the stack is the function's own: no out");
}

TEST(FunctionEventParse, FloatsAndIntegersDoNotMix) {
  std::string message = "^\nError: Floating-point and integer fields in one argument";
  expect_error("f(double d | x64 d)", "f(double d | x64 d)\n" + std::string(13, ' ') + message);
  expect_error("f(int d | float d | int e)",
               "f(int d | float d | int e)\n" + std::string(10, ' ') + message);
  expect_error("f(double d+8)", "f( double d+8)\n" + std::string(3, ' ') +
                                    "^\nError: Offset into a double without an index");
  parse("f(double d[1] | x64 d)");
  parse("f(double d | float e)");
}

TEST(FunctionEventParse, AnEntryHasAtMost232Characters) {
  std::string many = "f(";
  for (int i = 0; i < 200; i++) many += "int field_" + std::to_string(i) + "=0x10, ";
  for (std::string line :
       {many + "oops b", "f(int " + std::string(4000, 'x') + " ?)", std::string(4000, 'f') + "(5)",
        "f(" + std::string(4000, 'x') + ")", "f(int a" + std::string(2000, ')')}) {
    FunctionEventParse result = parse_function_event(line, address_of);
    ASSERT_TRUE(result.error);
    const std::string& text = result.error->text;
    EXPECT_LE(text.size(), 232u) << text;
    size_t first = text.find('\n'), second = text.find('\n', first + 1);
    ASSERT_NE(second, std::string::npos) << text;
    size_t caret = second - first - 2;
    size_t quote = text.find('\'', second);
    ASSERT_LT(caret, first);
    EXPECT_EQ(text[caret], text[quote + 1]) << "the caret stands under the token\n" << text;
  }
}

TEST(FunctionEventParse, NumbersThatDoNotFit) {
  expect_error("f(int a+18446744073709551616)",
               "f(int a+ 18446744073709551616 )\n         ^\nUnexpected token "
               "'18446744073709551616' for PLUS state");
  EXPECT_EQ(parse("f(int a+18446744073709551615)").args[0].fields[0].suffixes[0].value, UINT64_MAX);
  expect_error("f(x64[65537] a)",
               "f(x64[ 65537 ] a)\n       ^\nError: Record too large (max of 524288)");
  expect_error("f(x64[65536] a, char[1] b)",
               "f(x64[65536] a, char[ 1 ] b)\n                      ^\nError: Record too large "
               "(max of 524288)");
}

void expect_name(std::string_view line, std::string_view function, std::string_view event) {
  EXPECT_EQ(line.substr(0, scan_function_name(line)), function);
  FunctionEventDef def = parse(line);
  EXPECT_EQ(def.function, function);
  EXPECT_EQ(def.event_name(), event);
  EXPECT_EQ(parse(def.canonical()).canonical(), def.canonical());
}

TEST(FunctionEventParse, NamesOfFunctions) {
  expect_name("do_IRQ(int a)", "do_IRQ", "do_IRQ");
  expect_name("__vfs_read (int a)", "__vfs_read", "__vfs_read");
  expect_name("libc.so.6:open(string path)", "libc.so.6:open", "open");
  expect_name("libstdc++.so.6:ns::f()", "libstdc++.so.6:ns::f", "ns_f");
  expect_name("/usr/lib/lib-a.so:__f()", "/usr/lib/lib-a.so:__f", "__f");
  expect_name("ns::Class::method(x64 self)", "ns::Class::method", "ns_Class_method");
  expect_name("ns::f(int, char const*)(int a, string b)", "ns::f(int, char const*)",
              "ns_f_int_char_const");
  expect_name("ns::f() (int a)", "ns::f()", "ns_f");
  expect_name("ns::f(void (*)(int), int) const (x64 self)", "ns::f(void (*)(int), int) const",
              "ns_f_void_int_int_const");
  expect_name("ns::Box<int>::get(x64 self)", "ns::Box<int>::get", "ns_Box_int_get");
  expect_name("ns::Box<int (*)(char), (ns::E)1>::get()()",
              "ns::Box<int (*)(char), (ns::E)1>::get()", "ns_Box_int_char_ns_E_1_get");
  expect_name("F::operator()(x64 self)", "F::operator()", "F_operator");
  expect_name("main.(*item).grow(x64 self)", "main.(*item).grow", "main_item_grow");
  expect_name("F::operator()(int) const(x64 self, int a)", "F::operator()(int) const",
              "F_operator_int_const");
  expect_name("ns::operator<<(x64 a)", "ns::operator<<", "ns_operator");
  expect_name("sort<By<operator<<(S&,D_const&)::{lambda(P,P)#2}>_>.constprop.0(x64 a)",
              "sort<By<operator<<(S&,D_const&)::{lambda(P,P)#2}>_>.constprop.0",
              "sort_By_operator_S_D_const_lambda_P_P_2___constprop_0");
  expect_name("operator new[](unsigned long)(long size)", "operator new[](unsigned long)",
              "operator_new_unsigned_long");
  expect_name("F::operator bool()", "F::operator bool", "F_operator_bool");
  expect_name("my_operator(int a)", "my_operator", "my_operator");
  expect_name("(anonymous namespace)::f(int a)", "(anonymous namespace)::f",
              "anonymous_namespace_f");
  expect_name("ns::(anonymous namespace)::f(int)(int a)", "ns::(anonymous namespace)::f(int)",
              "ns_anonymous_namespace_f_int");
  expect_name("F::~F(x64 self)", "F::~F", "F_F");
  expect_name("f(int)::{lambda(int)#1}::operator()(int) const(x64 self)",
              "f(int)::{lambda(int)#1}::operator()(int) const",
              "f_int_lambda_int_1_operator_int_const");
  expect_name("make[abi:cxx11](int)(int a)", "make[abi:cxx11](int)", "make_abi_cxx11_int");
  expect_name("_ZN2ns1fEv(int a)", "_ZN2ns1fEv", "_ZN2ns1fEv");
  expect_name("f.part.0(int a)", "f.part.0", "f_part_0");
  expect_name("a.out@0x12ab(int a)", "a.out@0x12ab", "a_out_0x12ab");
  expect_name("/opt/my-app/bin/x+y@0x10()", "/opt/my-app/bin/x+y@0x10", "x_y_0x10");
  expect_name("7z.so:f()", "7z.so:f", "f");
}

TEST(FunctionEventParse, LongEventNamesStayApart) {
  std::string a = "ns::" + std::string(300, 'a') + "::f",
              b = "ns::" + std::string(300, 'a') + "::g";
  std::string name_a = parse(a + "()").event_name(), name_b = parse(b + "()").event_name();
  EXPECT_LE(name_a.size(), 200u);
  EXPECT_NE(name_a, name_b);
}

std::string canonical(std::string_view line) {
  FunctionEventParse result = parse_function_event(line, nullptr);
  return result.def ? result.def->canonical() : result.error->message;
}

TEST(FunctionEventByValue, IsListedAsItCanBeWrittenAgain) {
  const struct {
    const char *line, *listed;
  } cases[] = {
      {"struct{ long quot,long rem } r = ldiv(long a, long b)",
       "struct {long quot, long rem} r = ldiv(long a, long b)"},
      {"f(struct {unsigned int a, const char *b, double c} p, __int128 q)",
       "f(struct {unsigned int a, string b, double c} p, s128 q)"},
      {"f(unsigned __int128 a, long double b)", "f(u128 a, float80 b)"},
      {"long double r = f()", "float80 r = f()"},
      {"struct {long double x} r = f()", "struct {float80 x} r = f()"},
      {"f(struct {string s|x64 s_at, int n} p)", "f(struct {string s | x64 s_at, int n} p)"},
      {"f(struct {int a | u32 b, u8 c} p, int d)", "f(struct {int a | u32 b, u8 c} p, int d)"},
      {"f(long double *p)", "f(x64 p)"},
      {"f(s128 a | x128 b)", "f(s128 a | x128 b)"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(canonical(one.line), one.listed);
    EXPECT_EQ(canonical(one.listed), one.listed);
  }
}

TEST(FunctionEventByValue, WhatCannotBeSaysWhy) {
  const struct {
    const char *line, *why;
  } cases[] = {
      {"f(struct {int[3] a} p)", "Unexpected token '['"},
      {"f(struct {int a[0]} p)", "A member of a structure"},
      {"f(struct {} p)", "Unexpected token '}'"},
      {"f(struct {int a})", "Unexpected token ')'"},
      {"f(struct {int a} p | int b)", "Unexpected token '|'"},
      {"f(struct {int a | long b} p)", "Behind | stands the same member"},
      {"f(struct {float a | float b} p)", "Behind | stands the same member"},
      {"struct {s128 y | long double x} r = f()", "Behind | stands the same member"},
      {"f(struct {int a} p[0])", "Unexpected token '['"},
      {"int r = f(out struct {int a} p)", "OUT state"},
      {"f(s128[2] a)", "values themselves"},
      {"f(s128 a[0])", "values themselves"},
      {"f(s128 a+8)", "values themselves"},
      {"f(s128 a=0x8)", "values themselves"},
      {"f(s128 a | long b)", "values themselves"},
      {"f(string/a t, s128 a)", "No field 'a'"},
  };
  for (const auto& one : cases)
    EXPECT_NE(canonical(one.line).find(one.why), std::string::npos) << canonical(one.line);
}

TEST(FunctionEventByValue, AViewOfAMemberTakesNoPlace) {
  const FunctionEventParse parsed =
      parse_function_event("f(struct {u8 a, string s | x64 at, u8 b} p)", nullptr);
  ASSERT_TRUE(parsed.def);
  const FunctionEventArg& arg = parsed.def->args[0];
  ASSERT_EQ(arg.fields.size(), 4u);
  EXPECT_EQ(arg.fields[1].member_at, 8u);
  EXPECT_EQ(arg.fields[2].member_at, 8u);
  EXPECT_EQ(arg.fields[3].member_at, 16u);
  EXPECT_EQ(arg.struct_size, 24u);
}

}  // namespace
}  // namespace patchbay
