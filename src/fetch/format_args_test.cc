// SPDX-License-Identifier: MIT
//
// What fetch_format_args() shows of calls that the compiler has made: an assembler function keeps
// their registers. The signal handler does what the agent's does.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include <sys/mman.h>

#include <gtest/gtest.h>

#include "fetch/fetch_abi.h"
#include "fetch/format_args.h"
#include "hot/fixup_testing.h"

extern "C" {
patchbay::FetchRegisters format_args_test_registers;
char format_args_test_text[patchbay::kFormatArgsBytes + 1];
uint32_t format_args_test_size;

// FetchRegisters: xmm at 0, rax at 256, rsp at 288, the arguments at 400.
__asm__(
    ".pushsection .text\n.globl format_args_test_call\n.type format_args_test_call, @function\n"
    "format_args_test_call:\n"
    "lea format_args_test_registers(%rip), %r10\n"
    "movups %xmm0, (%r10)\nmovups %xmm1, 16(%r10)\nmovups %xmm2, 32(%r10)\n"
    "movups %xmm3, 48(%r10)\nmovups %xmm4, 64(%r10)\nmovups %xmm5, 80(%r10)\n"
    "movups %xmm6, 96(%r10)\nmovups %xmm7, 112(%r10)\n"
    "mov %rax, 256(%r10)\nmov %rsp, 288(%r10)\n"
    "mov %rdi, 400(%r10)\nmov %rsi, 408(%r10)\nmov %rdx, 416(%r10)\n"
    "mov %rcx, 424(%r10)\nmov %r8, 432(%r10)\nmov %r9, 440(%r10)\n"
    "jmp format_args_test_take\n"
    ".size format_args_test_call, . - format_args_test_call\n.popsection\n");
void format_args_test_call(const char* format, ...);
void format_args_test_take();

void format_args_test_take() {
  const patchbay::FetchRegisters& registers = format_args_test_registers;
  std::memset(format_args_test_text, 0x7e, sizeof format_args_test_text);
  format_args_test_size = patchbay::fetch_format_args(
      reinterpret_cast<uint8_t*>(format_args_test_text), registers.arg[0], &registers, {1, 0, 0});
}
}

namespace patchbay {
namespace {

static_assert(offsetof(FetchRegisters, reg) == 256 && offsetof(FetchRegisters, arg) == 400);

// The text, which ends with its only NUL; nothing behind its room is touched.
std::string taken() {
  EXPECT_GE(format_args_test_size, 1u);
  EXPECT_LE(format_args_test_size, kFormatArgsBytes);
  EXPECT_EQ(std::strlen(format_args_test_text) + 1, format_args_test_size);
  for (size_t i = kFormatArgsBytes; i < sizeof format_args_test_text; i++)
    EXPECT_EQ(format_args_test_text[i], 0x7e) << i;
  return format_args_test_text;
}

template <typename... Args>
std::string shown(const char* format, Args... args) {
  format_args_test_call(format, args...);
  return taken();
}

class FormatArgs : public ::testing::Test {
 protected:
  void SetUp() override {
    void* const pages =
        mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    end_ = static_cast<char*>(pages) + kPage;
    mprotect(end_, kPage, PROT_NONE);
  }
  void TearDown() override { munmap(end_ - kPage, 2 * kPage); }
  // Without a NUL, up to the page that cannot be read.
  char* at_the_end(const std::string& text) {
    std::memcpy(end_ - text.size(), text.data(), text.size());
    return end_ - text.size();
  }

  static constexpr size_t kPage = 4096;
  char* end_ = nullptr;
  test::FaultFixups fixups_;
};

TEST_F(FormatArgs, WithoutConversionsThereIsNothing) {
  EXPECT_EQ(shown("hello"), "");
  EXPECT_EQ(shown(""), "");
  EXPECT_EQ(shown("100 %% of %m"), "");
}

TEST_F(FormatArgs, Integers) {
  EXPECT_EQ(shown("%d %i", -5, 7), "-5, 7");
  EXPECT_EQ(shown("%u", ~0u), "4294967295");
  EXPECT_EQ(shown("%x %X %#x", 0x1f, 0xab, 0), "0x1f, 0xab, 0x0");
  EXPECT_EQ(shown("%o %o", 8, 0), "010, 0");
  EXPECT_EQ(shown("%hhd %hhu %hhx", 0x1ff, 0x1ff, 0x1ff), "-1, 255, 0xff");
  EXPECT_EQ(shown("%hd %hu", 0x1ffff, 0x1ffff), "-1, 65535");
  EXPECT_EQ(shown("%ld %lu %lx", -1l, ~0ul, 1ul << 63),
            "-1, 18446744073709551615, 0x8000000000000000");
  EXPECT_EQ(shown("%lld %qd %Ld", -2ll, -3ll, -4ll), "-2, -3, -4");
  EXPECT_EQ(shown("%jd %zd %zu %td", intmax_t{-5}, ssize_t{-6}, size_t{7}, ptrdiff_t{-8}),
            "-5, -6, 7, -8");
  EXPECT_EQ(shown("%d", std::numeric_limits<int>::min()), "-2147483648");
  EXPECT_EQ(shown("%ld", std::numeric_limits<long>::min()), "-9223372036854775808");
  EXPECT_EQ(shown("%+05d % d %-8u %'d %I d", 1, 2, 3u, 4, 5), "1, 2, 3, 4, 5");
}

TEST_F(FormatArgs, CharactersAndPointers) {
  EXPECT_EQ(shown("%c%c%c%c", 'x', '\'', '"', '\\'), "'x', '\\'', '\"', '\\\\'");
  EXPECT_EQ(shown("%c %c", 0, '\n'), "'\\x00', '\\n'");
  EXPECT_EQ(shown("%lc %C", unsigned('L'), 0x20acu), "L'L', L'\\x20ac'");
  EXPECT_EQ(shown("%p %p", reinterpret_cast<void*>(0x12ab), nullptr), "0x12ab, NULL");
  EXPECT_EQ(shown("%n%d", reinterpret_cast<int*>(0x10), 3), "0x10, 3");
}

TEST_F(FormatArgs, Texts) {
  EXPECT_EQ(shown("%s %10s %-4s|", "abc", "", "d\te\"f\\"), R"("abc", "", "d\te\"f\\")");
  EXPECT_EQ(shown("%s", "\x01\x7f\xc3\xa9"), "\"\\x01\\x7f\xc3\xa9\"");
  const char* const nothing = nullptr;
  EXPECT_EQ(shown("%s", nothing), "NULL");
  EXPECT_EQ(shown("%s %d", reinterpret_cast<const char*>(0x10), 3), "0x10 (unreadable), 3");
  EXPECT_EQ(shown("%s %d", reinterpret_cast<const char*>(0x8000000000000000), 3),
            "0x8000000000000000 (unreadable), 3");
  EXPECT_EQ(shown("%.3s %.*s %.0s", "abcdef", 2, "xyz", "no"), R"("abc", 2, "xy", "")");
  EXPECT_EQ(shown("%.*s", -1, "all of it"), R"(-1, "all of it")");
  EXPECT_EQ(shown("%.s", reinterpret_cast<const char*>(0x10)), R"("")");
  EXPECT_EQ(shown("%.3s|%d", at_the_end("end"), 1), R"("end", 1)") << "no byte more is read";
  EXPECT_EQ(shown("%s|%d", at_the_end("end"), 1), R"("end" (unreadable), 1)");
  EXPECT_EQ(shown("%ls %S", L"wide", nothing).substr(0, 2), "0x");
  EXPECT_NE(shown("%ls", L"wide").find(" (wide)"), std::string::npos);
}

TEST_F(FormatArgs, FloatingPoint) {
  EXPECT_EQ(shown("%f %e %g %a", 3.25, 1.0, -0.5, 0.0), "0x1.ap+1, 0x1p+0, -0x1p-1, 0x0p+0");
  EXPECT_EQ(shown("%F %E %G %A %lf", 2.0, 2.0, 2.0, 2.0, -0.0),
            "0x1p+1, 0x1p+1, 0x1p+1, 0x1p+1, -0x0p+0");
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double endless = std::numeric_limits<double>::infinity();
  EXPECT_EQ(shown("%f %f %f %f", none, endless, -endless, 5e-324),
            "nan, inf, -inf, 0x0.0000000000001p-1022");
  EXPECT_EQ(shown("%Lf %Lg", 12.5L, -0.0L), "0xc.8p+0L, -0x0p+0L");
  EXPECT_EQ(shown("%Lf", std::numeric_limits<long double>::infinity()), "infL");
  EXPECT_EQ(shown("%d %Lf %d", 1, 1.5L, 2), "1, 0xcp-3L, 2");
}

TEST_F(FormatArgs, MoreThanTheRegistersHold) {
  EXPECT_EQ(shown("%d %d %d %d %d %d %d %s", 1, 2, 3, 4, 5, 6, 7, "eight"),
            R"(1, 2, 3, 4, 5, 6, 7, "eight")");
  EXPECT_EQ(shown("%g%g%g%g%g%g%g%g%g%g", 1., 1., 1., 1., 1., 1., 1., 1., 2., 4.),
            "0x1p+0, 0x1p+0, 0x1p+0, 0x1p+0, 0x1p+0, 0x1p+0, 0x1p+0, 0x1p+0, 0x1p+1, 0x1p+2");
  // One word on the stack, a gap, and a long double, which is aligned.
  EXPECT_EQ(shown("%d%d%d%d%d%d%Lf%d%Lf", 1, 2, 3, 4, 5, 6, 1.0L, 7, 2.0L),
            "1, 2, 3, 4, 5, 6, 0x8p-3L, 7, 0x8p-2L");
  EXPECT_EQ(shown("%d%g%d%g%d%g%d%g%d%g%d%g%d%g%d%g%d%g", 1, 1., 2, 1., 3, 1., 4, 1., 5, 1., 6, 1.,
                  7, 1., 8, 1., 9, 2.),
            "1, 0x1p+0, 2, 0x1p+0, 3, 0x1p+0, 4, 0x1p+0, 5, 0x1p+0, 6, 0x1p+0, 7, 0x1p+0, 8, "
            "0x1p+0, 9, 0x1p+1");
  EXPECT_EQ(shown("%*d %-*.*f", 8, 3, 9, 2, 1.0), "8, 3, 9, 2, 0x1p+0");
}

TEST_F(FormatArgs, WhatIsNoFormat) {
  EXPECT_EQ(shown("%d %R %d", 1, 2, 3), "1, ? (%R)");
  EXPECT_EQ(shown("%2$d %1$d", 1, 2), "? (positional)");
  EXPECT_EQ(shown("%d %*1$d", 1, 2), "1, ? (positional)");
  EXPECT_EQ(shown("%hs", "abc"), "? (%s)") << "h is for integers";
  EXPECT_EQ(shown("%d %", 1), "1, ? (%)");
  EXPECT_EQ(shown("%l", 1l), "? (%)");
  EXPECT_EQ(shown(reinterpret_cast<const char*>(0x10), 1), "?");
  EXPECT_EQ(shown(nullptr, 1), "?");
  EXPECT_EQ(shown(at_the_end("%d %"), 1), "1, ?");
  EXPECT_EQ(shown(at_the_end("%d"), 1), "1, ?");
  EXPECT_EQ(shown("%99999999999999999999d", 1), "1");
  EXPECT_EQ(shown("%.99999999999999999999s", "x"), "\"x\"");
}

TEST_F(FormatArgs, ACallerThatHasPassedNoVectorRegister) {
  format_args_test_call("%g %d", 1.0, 3);
  format_args_test_registers.reg[0] = 0;
  format_args_test_take();
  EXPECT_EQ(taken(), "?, 3");
}

TEST_F(FormatArgs, WhatIsCut) {
  const std::string longest(kFormatTextBytes, 'a');
  EXPECT_EQ(shown("%s|%d", longest.c_str(), 1), "\"" + longest + "\", 1");
  EXPECT_EQ(shown("%s|%d", (longest + "b").c_str(), 1), "\"" + longest + "\"..., 1");
  const std::string two = shown("%s%s%d%d", longest.c_str(), longest.c_str(), 1, 2);
  EXPECT_TRUE(two.ends_with("aaa\"..., ...")) << two;
  EXPECT_GT(two.size(), kFormatArgsBytes - 20);
  for (size_t length = 370; length < 420; length++) {
    const std::string some = shown("%s%s%d%d%d%d%d", longest.c_str(),
                                   std::string(length, 'b').c_str(), 111, 222, 333, 444, 555);
    EXPECT_TRUE(some.ends_with(", ...") || some.ends_with(", 555")) << some;
  }
  const std::string escapes(300, '\x01');
  EXPECT_TRUE(shown("%s%d", escapes.c_str(), 1).find("\\x01\"...") != std::string::npos);
  std::string many, values;
  for (uint32_t i = 0; i < kMostConversions; i++) {
    many += "%.0f%%";
    values += i ? ", ?" : "?";
  }
  format_args_test_call((many + "%d").c_str(), 7);
  std::string text = taken();
  EXPECT_TRUE(text.ends_with(", ...")) << text;
  EXPECT_EQ(shown(std::string(2 * kMostFormatBytes, 'x').c_str(), 1), "...");
}

TEST_F(FormatArgs, NamedArgumentsTakeTheirPlaces) {
  format_args_test_call("ignored", 2, "%d %d %d %d %g", 3, 4, 5, 6, 1.0);
  uint8_t text[kFormatArgsBytes];
  const FetchRegisters& registers = format_args_test_registers;
  (void)fetch_format_args(text, registers.arg[2], &registers, {4, 0, 0});
  EXPECT_TRUE(std::string(reinterpret_cast<char*>(text)).starts_with("4, 5, ")) << text;
}

}  // namespace
}  // namespace patchbay
