// SPDX-License-Identifier: MIT
#include "cmd/target/c_declaration.h"

#include <gtest/gtest.h>

namespace patchbay::cmd {
namespace {

CTypes known_types() {
  CTypes types;
  for (const char* line :
       {"typedef unsigned int mode_t;", "typedef unsigned long size_t;", "typedef long off_t;",
        "typedef off_t my_off;", "typedef const char *path_t;", "typedef void (*handler)(int);",
        "typedef struct pair pair_t;", "typedef loop_b loop_a;", "typedef loop_a loop_b;",
        "typedef enum color color_t;"})
    EXPECT_TRUE(types.add_typedef(line)) << line;
  for (const char* line :
       {"enum whence { SEEK_SET = 0, SEEK_CUR = 1, SEEK_END = 2, BEFORE = -100 };",
        "enum __attribute__((flag_enum)) access : unsigned short { READ = 0x1, WRITE = 02, };",
        "typedef enum { TINY, HUGE_ONE = 0x100000000 } extent_t;",
        "enum wide { TOP = 0x80000000u };"})
    EXPECT_TRUE(types.add_enum(line).ok()) << line;
  for (const char* line :
       {"struct point { int x; double y; };", "typedef struct { int quot, rem; } div_t;",
        "struct pair { const char *name; struct point at; char tag; long v[2]; };",
        "struct large { long a, b, c; };", "struct unknown_inside { mystery m; };",
        "struct vec { float x, y; };", "struct vecs { struct vec a; float b; };",
        "struct inner { double d; float f; };", "struct outer { struct inner i; float f; };"})
    EXPECT_TRUE(types.add_struct(line).ok()) << line;
  return types;
}

std::string line_of(const std::string& text, std::vector<std::string>* notes = nullptr) {
  Result<CDeclaration> declaration = parse_c_declaration(text);
  if (!declaration.ok()) return declaration.error().message();
  FunctionLine made = function_line(*declaration, known_types(), declaration->name);
  if (notes) *notes = made.notes;
  return made.line;
}

TEST(CDeclaration, BecomesALineOfFunctionEvents) {
  static constexpr struct {
    const char *declaration, *line;
  } kCases[] = {
      {"int open(const char *path, int flags, mode_t mode)",
       "open(string path, int flags, u32 mode)"},
      {"int open(const char *path, int flags, ...);", "open(string path, int flags)"},
      {"void *malloc(size_t size);", "malloc(u64 size)"},
      {"extern void *malloc(size_t);", "malloc(u64 arg1)"},
      {"int getpid(void);", "getpid()"},
      {"int getpid();", "getpid()"},
      {"getpid()", "getpid()"},
      {"char **f(char *buffer, char const *text, const char *const t2, char *const p)",
       "f(x64 buffer, string text, string t2, x64 p)"},
      {"void f(const char **texts, const char *list[], char *const *argv)",
       "f(x64 texts, x64 list, x64 argv)"},
      {"void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *))",
       "qsort(x64 base, u64 n, u64 size, symbol compare)"},
      {"handler signal(int number, handler h)", "signal(int number, symbol h)"},
      {"größe *größe(int länge, struct straße *ö)", "größe(int l_u00e4nge, x64 _u00f6)"},
      {"double pow(double x, float y, long double z)", "pow(double x, float y, long double z)"},
      {"__int128 mul(long double x, struct point p, unsigned __int128 n)",
       "mul(long double x, struct {int x, double y} p, u128 n)"},
      {"int f(div_t d, const struct point p, point q)",
       "f(struct {int quot, int rem} d, struct {int x, double y} p, struct {int x, double y} q)"},
      {"void f(pair_t p)",
       "f(struct {string name, int at_x, double at_y, char tag, s64 v_0, s64 v_1} p)"},
      {"struct large f(int a)", "f(NULL, int a)"},
      {"div_t div(int a, int b)", "div(int a, int b)"},
      {"void f(struct vecs v)", "f(struct {float a_x, float a_y, float b} v)"},
      {"void f(struct outer o)", "f(struct {double i_d, float i_f, float free2, float f} o)"},
      {"unsigned long long f(unsigned a, unsigned long long b, signed char c, unsigned char d, "
       "short e, unsigned short int g)",
       "f(u32 a, u64 b, s8 c, u8 d, s16 e, u16 g)"},
      {"void f(long a, long int b, bool c, _Bool d, char e)",
       "f(s64 a, s64 b, u8 c, u8 d, char e)"},
      {"void f(struct stat *s, const struct pair *p, union u *u, enum color c, color_t d)",
       "f(x64 s, x64 p, x64 u, int c, int d)"},
      {"void *operator new(unsigned long size)", "operator new(u64 size)"},
      {"void operator delete[](void *p, unsigned long size)", "operator delete[](x64 p, u64 size)"},
      {"void std::terminate(void);", "std::terminate()"},
      {"void __cxa_throw(void *object, std::type_info *type, void (*end)(void *))",
       "__cxa_throw(x64 object, string type+8[0]+0, symbol end)"},
      {"ssize_t read(int fd, void *restrict buf, my_off n)", "read(int fd, x64 buf, s64 n)"},
      {"long f(int fd, long offset, enum whence how, const enum access a, enum access *p)",
       "f(int fd, s64 offset, int how, u16 a, x64 p)"},
      {"extent_t f(extent_t e, whence how, enum wide w)", "f(s64 e, int how, u32 w)"},
      {"void f(path_t where, int row[3], const int *v)", "f(string where, x64 row, x64 v)"},
      {"void f(loop_a a)", "f(x64 a)"},
      {"std::string ns::Class::f(ns::Other &o, int n)", "ns::Class::f(x64 o, int n)"},
      {"static inline int __attr(int a)", "__attr(int a)"},
  };
  for (const auto& one : kCases) EXPECT_EQ(line_of(one.declaration), one.line) << one.declaration;
}

TEST(CDeclaration, WhatAFormatReads) {
  static constexpr struct {
    const char *declaration, *line;
  } kCases[] = {
      {"int printf(const char *format, ...)", "printf(string format, ...)"},
      {"int log_msg(int level, const char *__restrict __fmt, ...);",
       "log_msg(int level, string __fmt, ...)"},
      {"void f(const char *message, ...) __attribute__((format(printf, 1, 2)));",
       "f(string message, ...)"},
      {"__attribute__ ((__nonnull__ (1), __format__ (__gnu_printf__, 1, 2))) void f(const char *s, "
       "...)",
       "f(string s, ...)"},
      {"void f(mystery m, const char *fmt, ...)", "f(x64 m, string fmt, ...)"},
      {"struct large f(const char *fmt, ...)", "f(NULL, string fmt, ...)"},
      // No format, or none of printf's.
      {"int scan(const char *format, ...) __attribute__((format(scanf, 1, 2)))",
       "scan(string format)"},
      {"int sscanf(const char *s, const char *format, ...)", "sscanf(string s, string format)"},
      {"void f(const char *format, int n, ...)", "f(string format, int n)"},
      {"void f(const char *format, int n, ...) __attribute__((format(printf, 1, 3)))",
       "f(string format, int n)"},
      {"void f(const char *path, ...)", "f(string path)"},
      {"void f(const wchar_t *format, ...)", "f(x64 format)"},
      {"void f(const char *format)", "f(string format)"},
      {"void f(struct other o, const char *format, ...)", "f()"},
      {"int g(int a) __attribute__((const))", "g(int a)"},
  };
  for (const auto& one : kCases) EXPECT_EQ(line_of(one.declaration), one.line) << one.declaration;
  for (const char* text : {"int f(int a) __attribute__", "int f(int a) __attribute__((format(",
                           "__attribute__(", "int f(int a) __attribute__((format(printf, 1)))"})
    (void)line_of(text);
}

TEST(CDeclaration, SaysWhatItLeavesOut) {
  std::vector<std::string> notes;
  EXPECT_EQ(line_of("void f(int a, struct other b, int c)", &notes), "f(int a)");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0],
            "'b' (struct other) of f() is passed by value, as all behind it may be, and left out");
  EXPECT_EQ(line_of("void f(struct unknown_inside u)", &notes), "f()");
  EXPECT_EQ(notes.size(), 1u);
  EXPECT_EQ(
      line_of("void f(int a, int b, int c, int d, int e, int g, const char *h, double i)", &notes),
      "f(int a, int b, int c, int d, int e, int g, string h, double i)");
  EXPECT_TRUE(notes.empty()) << "the stack is read, too";
  EXPECT_EQ(line_of("void f(mystery m)", &notes), "f(x64 m)");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], "the type 'mystery' of 'm' is not known: it is shown as a hexadecimal word");
}

TEST(CDeclaration, NamesWhatIsWrongAndWhere) {
  static constexpr struct {
    const char *text, *message;
  } kCases[] = {
      {"", "A function has its parameters in parentheses:\n\n^"},
      {"int", "A function has its parameters in parentheses:\nint\n   ^"},
      {"int (int a)", "The name of a function has to stand here:\nint (int a)\n    ^"},
      {"int f(int a", "A ')' is missing:\nint f(int a\n           ^"},
      {"int f(int a) b",
       "Nothing may stand behind the parameters:\nint f(int a) b\n             ^"},
      {"int f(int a,)", "A parameter is missing:\nint f(int a,)\n            ^"},
      {"int f(,int a)", "A parameter is missing:\nint f(,int a)\n      ^"},
      {"int f(..., int a) ", nullptr},
      {"work(item->name)", "No declaration of C has this:\nwork(item->name)\n         ^"},
      {"f(int a = 3)", "No declaration of C has this:\nf(int a = 3)\n        ^"},
      {"größe(länge = 3)", "No declaration of C has this:\ngröße(länge = 3)\n            ^"},
      {"f(*)", "A type has to stand here:\nf(*)\n  ^"},
  };
  for (const auto& one : kCases) {
    Result<CDeclaration> parsed = parse_c_declaration(one.text);
    if (!one.message) continue;
    ASSERT_FALSE(parsed.ok()) << one.text;
    EXPECT_EQ(parsed.error().message(), one.message);
  }
}

TEST(CDeclaration, WhatAFunctionReturns) {
  static constexpr struct {
    const char *declaration, *result;
  } kCases[] = {
      {"int f(void)", "int"},
      {"void f(void)", "void"},
      {"extern void *f(size_t)", "x64"},
      {"char *getenv(const char *name)", "string"},
      {"const char *f(void)", "string"},
      {"char **f(void)", "x64"},
      {"static inline off_t f(int n)", "s64"},
      {"mode_t f(void)", "u32"},
      {"double f(double x)", "double"},
      {"handler f(int n)", "symbol"},
      {"struct pair f(int n)", ""},
      {"long double f(void)", "float80"},
      {"__int128 f(void)", ""},
      {"struct point f(void)", ""},
      {"unknown_t f(void)", ""},
      {"f(int a)", ""},
  };
  for (const auto& one : kCases) {
    Result<CDeclaration> parsed = parse_c_declaration(one.declaration);
    ASSERT_TRUE(parsed.ok()) << one.declaration;
    EXPECT_EQ(result_atom(*parsed, known_types()), one.result) << one.declaration;
  }
}

// "NAME: the text of 1, of 3, of -100", a row each.
TEST(CDeclaration, HasTheNamesOfItsEnumerations) {
  Result<CDeclaration> declaration = parse_c_declaration(
      "color_t f(enum whence how, access, extent_t e, int n, enum color c, const whence *p)");
  ASSERT_TRUE(declaration.ok());
  const FunctionLine made = function_line(*declaration, known_types(), "f");
  std::string shown;
  for (const auto& [name, names] : made.names.arguments)
    shown += name + ": " + names->text(1, 4, true) + " " + names->text(3, 4, true) + " " +
             names->text(uint64_t(-100), 4, true) + "\n";
  EXPECT_EQ(shown,
            "how: SEEK_CUR 3 BEFORE\n"
            "arg2: READ READ|WRITE 0xffffff9c\n"
            "e: 1 3 -100\n");
  EXPECT_EQ(made.names.result, nullptr);
  Result<CDeclaration> returns = parse_c_declaration("enum whence f(void)");
  ASSERT_TRUE(returns.ok());
  const FunctionValueNames names = function_line(*returns, known_types(), "f").names;
  ASSERT_TRUE(names.result);
  EXPECT_EQ(names.result->text(2, 4, true), "SEEK_END");
}

// "READ|WRITE" of a file is its own, also where another file has an enumeration of this name.
TEST(CDeclaration, AFilesOwnEnumerationsComeFirst) {
  CTypes all, file([&] { return &all; });
  ASSERT_TRUE(all.add_enum("enum mode { OTHER = 1 };").ok());
  ASSERT_TRUE(all.add_enum("enum state { IDLE = 1 };").ok());
  ASSERT_TRUE(all.add_enum("enum mode { THIRD = 1 };").ok());
  ASSERT_TRUE(file.add_enum("enum mode { OWN = 1 };").ok());
  EXPECT_EQ(all.names_of("enum mode")->text(1, 4, true), "OTHER");
  EXPECT_EQ(file.names_of("enum mode")->text(1, 4, true), "OWN");
  EXPECT_EQ(file.names_of("const enum state")->text(1, 4, true), "IDLE");
  EXPECT_EQ(file.names_of("enum none"), nullptr);
  EXPECT_EQ(file.names_of("enum mode *"), nullptr);
}

TEST(CDeclaration, OtherLinesAreNoTypedefs) {
  CTypes types;
  for (const char* line :
       {"struct { int a; };", "struct s { int a : 3; };", "struct s { union { int a; } b; };",
        "struct s { };", "struct s { int a }", "struct s { int; };", "struct s { int a; } b c;"})
    EXPECT_FALSE(types.add_struct(line).ok()) << line;
  for (const char* line : {"", "typedef", "typedef ;", "typedef int;", "int a;",
                           "typedef int a, b;", "typedef struct { int a; } s;"})
    EXPECT_FALSE(types.add_typedef(line)) << line;
}

TEST(CDeclaration, WhatIsPassedForDots) {
  const auto line_of = [](const char* text, const char* rest, FunctionLine* made) {
    Result<CDeclaration> declaration = parse_c_declaration(text);
    if (!declaration.ok()) return declaration.error().message();
    CTypes types;
    types.add_typedef("typedef unsigned int mode_t;");
    *made = function_line(*declaration, types, declaration->name, rest);
    return made->line;
  };
  FunctionLine made;
  EXPECT_EQ(line_of("int run(const char *path, const char *arg, ...)", "", &made),
            "run(string path, string arg)");
  EXPECT_EQ(line_of("int scan(char *format, ...)", "", &made), "scan(x64 format)");
  EXPECT_EQ(line_of("int no(const char *format)", "", &made), "no(string format)");
  EXPECT_EQ(line_of("int open(const char *path, int flags, ...)", " mode_t mode if flags & 0x40 2",
                    &made),
            "open(string path, int flags, u32 mode)");
  ASSERT_EQ(made.names.conditions.size(), 1u);
  EXPECT_EQ(made.names.conditions[0].argument, "mode");
  EXPECT_EQ(made.names.conditions[0].of, "flags");
  EXPECT_EQ(made.names.conditions[0].mask, 0x42u);
  EXPECT_EQ(made.names.octal, std::vector<std::string>{"mode"});
  EXPECT_EQ(line_of("int fcntl(int fd, int cmd, ...)",
                    " int arg if cmd = 1 2 | void *at if cmd = 3; const char *name", &made),
            "fcntl(int fd, int cmd, int arg | x64 at, string name)");
  ASSERT_EQ(made.names.conditions.size(), 2u);
  EXPECT_EQ(made.names.conditions[1].values, std::vector<uint64_t>{3});
  for (const char* wrong : {"int", "int a if b", "int a if b & x", "int a if b < 3",
                            "long double a", "struct s a", "int a, int b"})
    EXPECT_EQ(line_of("int f(int n, ...)", wrong, &made), "f(int n)") << wrong;
}

}  // namespace
}  // namespace patchbay::cmd
