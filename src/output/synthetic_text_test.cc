// SPDX-License-Identifier: MIT
// Lines of synthetic events: what a 6.12 kernel printed for the same values; but
// small numbers that have a sign show it.
#include "output/synthetic_text.h"

#include <gtest/gtest.h>

#include "event/synthetic_event.h"
#include "output/event_text.h"
#include "registry/inject.h"

namespace patchbay {
namespace {

constexpr char kKallsyms[] =
    "1000 t bprm_execve\n15f0 t next1\n2000 t do_syscall_64\n21b0 t next2\n";

std::string bytes_of(const auto& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

EventCall event(std::string_view line) {
  SyntheticParse parsed =
      parse_synthetic_event(line, SyntheticForm::kOwn, [](std::string_view) { return false; });
  EXPECT_TRUE(parsed.definition) << line;
  return parsed.definition ? make_synthetic_event_call(*parsed.definition) : EventCall{};
}

std::string print(const EventCall& call, const std::string& record, bool verbose = false) {
  AddressNames names = AddressNames::from_kallsyms(kKallsyms);
  AddressText addresses(&names, false);
  TextContext context;
  context.addresses = &addresses;
  context.verbose = verbose;
  std::string out;
  EventText(call).append(&out, {reinterpret_cast<const uint8_t*>(record.data()), record.size()},
                         &context);
  return out;
}

struct Row {
  const char *line, *values, *text, *verbose;
};

TEST(SyntheticText, NumbersAndTexts) {
  static constexpr Row kRows[] = {
      {"sd char c[16]; pid_t p", "c=\"sh\" p=147", "sd: c=sh p=147", "sd: %s c=sh %d p=147"},
      {"sa pid_t p; char d[]", "p=148 d=\"/bin/busybox\"", "sa: p=148 d=/bin/busybox",
       "sa: %d p=148 %s d=/bin/busybox"},
      {"su char a; u8 b; bool c; s16 d", "a=-88 b=255 c=95 d=-1", "su: a=-88 b=255 c=95 d=-1",
       "su: %d a=-88 %u b=255 %d c=95 %d d=-1"},
      {"st long a; unsigned long b; pid_t c; u16 d",
       "a=-46502586940375784 b=18400241486769175832 c=-1069007592 d=65535",
       "st: a=-46502586940375784 b=18400241486769175832 c=-1069007592 d=65535",
       "st: %ld a=-46502586940375784 %lu b=18400241486769175832 %d c=-1069007592 %u d=65535"},
      {"se s64 a; u64 b; s32 c; u32 d; unsigned char e", "a=-1 b=1 c=-1 d=4294967295 e=200",
       "se: a=-1 b=1 c=-1 d=4294967295 e=200",
       "se: %lld a=-1 %llu b=1 %d c=-1 %u d=4294967295 %u e=200"},
      // The kernel has a NUL before each closing parenthesis.
      {"sv gfp_t g; gfp_t j; gfp_t k", "g=0xcd0 j=0 k=0xffffffff",
       "sv: g=cd0  (GFP_KERNEL|__GFP_RECLAIMABLE)j=0  ()k=ffffffff (GFP_TRANSHUGE|GFP_ATOMIC|"
       "GFP_DMA|GFP_DMA32|__GFP_RETRY_MAYFAIL|__GFP_NOFAIL|__GFP_NORETRY|__GFP_ZERO|"
       "__GFP_MEMALLOC|__GFP_THISNODE|__GFP_RECLAIMABLE|__GFP_ACCOUNT|__GFP_WRITE|"
       "__GFP_ZEROTAGS|0xff000200)",
       "sv: %x g=cd0  (GFP_KERNEL|__GFP_RECLAIMABLE)%x j=0  ()%x k=ffffffff (GFP_TRANSHUGE|"
       "GFP_ATOMIC|GFP_DMA|GFP_DMA32|__GFP_RETRY_MAYFAIL|__GFP_NOFAIL|__GFP_NORETRY|__GFP_ZERO|"
       "__GFP_MEMALLOC|__GFP_THISNODE|__GFP_RECLAIMABLE|__GFP_ACCOUNT|__GFP_WRITE|"
       "__GFP_ZEROTAGS|0xff000200)"},
  };
  for (const Row& row : kRows) {
    EventCall call = event(row.line);
    auto record = make_injected_record(call, row.values, 4000, [](std::string_view) { return ""; });
    ASSERT_TRUE(record.ok()) << row.line << ": " << record.error().message();
    EXPECT_EQ(print(call, *record), row.text);
    EXPECT_EQ(print(call, *record, true), row.verbose);
  }
}

// What is stored begins with the number of addresses.
TEST(SyntheticText, Stacks) {
  EventCall call = event("sc unsigned long[] st; pid_t p; pid_t q");
  std::string record = std::string(8, '\0') + bytes_of(uint32_t{32 | 24 << 16}) + bytes_of(0) +
                       bytes_of(int64_t{148}) + bytes_of(int64_t{149}) + bytes_of(uint64_t{2}) +
                       bytes_of(uint64_t{0x1589}) + bytes_of(uint64_t{0x2087});
  EXPECT_EQ(print(call, record),
            "sc: st=STACK:\n=> bprm_execve+0x589/0x5f0\n=> do_syscall_64+0x87/0x1b0\n"
            "p=148 q=149");
  EXPECT_EQ(print(call, record, true),
            "sc: %s st=STACK:\n=> bprm_execve+0x589/0x5f0\n=> do_syscall_64+0x87/0x1b0\n"
            "%d p=148 %d q=149");
  // The last one: the line ends behind an empty line.
  call = event("sb pid_t p; long st[]");
  record = std::string(8, '\0') + bytes_of(int64_t{148}) + bytes_of(uint32_t{24 | 16 << 16}) +
           bytes_of(0) + bytes_of(uint64_t{1}) + bytes_of(uint64_t{0x1589});
  EXPECT_EQ(print(call, record), "sb: p=148 st=STACK:\n=> bprm_execve+0x589/0x5f0\n");
  // Nothing stored, and a record that is cut.
  for (size_t size = 8; size <= 24; size++)
    EXPECT_TRUE(print(call, record.substr(0, size)).ends_with(" st=STACK:\n")) << size;
}

TEST(SyntheticText, OtherFormsAreLeftAlone) {
  EventCall call = event("e u64 a; u64 b");
  call.system = "other";
  EXPECT_FALSE(synthetic_text(call, false));
  call.system = "synthetic";
  ASSERT_TRUE(synthetic_text(call, false));
  for (const char* fmt :
       {"a=%llu", "\"b=%llu, a=%llu\", REC->b, REC->a", "\"a=%llu\", REC->a", ""}) {
    call.print_fmt = fmt;
    EXPECT_FALSE(synthetic_text(call, false)) << fmt;
  }
  call.print_fmt = "\"a=%llu\", REC->a";  // understood as it is
  EXPECT_EQ(print(call, std::string(24, '\0')), "e: a=0");
}

}  // namespace
}  // namespace patchbay
