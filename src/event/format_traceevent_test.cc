// SPDX-License-Identifier: MIT
//
// The judge of our format files: libtraceevent, which trace-cmd, KernelShark and perf print with.
// It is opened at run time, so that the tests build and run without it; then these are skipped, and
// say so.
#include <gtest/gtest.h>

#if __has_include(<traceevent/event-parse.h>)
#include <dlfcn.h>
#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>

#include <cstring>
#include <string>
#include <vector>

#include "abi/buffer_abi.h"
#include "event/function_event.h"

namespace patchbay {
namespace {

struct TraceEventLibrary {
  void* handle = dlopen("libtraceevent.so.1", RTLD_NOW);
  template <typename F>
  F* find(const char* name) const {
    return reinterpret_cast<F*>(dlsym(handle, name));
  }
};

uint64_t word(double value) {
  uint64_t result;
  std::memcpy(&result, &value, 8);
  return result;
}

struct Record {
  std::vector<uint8_t> bytes;
  EventCall call;
};

// The record of one call from caller (0x1010) to callee (0x2000).
Record make_record(std::string_view line, const FetchRegisters& frame) {
  FunctionEventParse parsed = parse_function_event(line, nullptr);
  EXPECT_TRUE(parsed.def) << line;
  Record record{{}, make_function_event_call(*parsed.def, 1399)};
  auto program = compile_function_event(*parsed.def, record.call, 4080);
  EXPECT_TRUE(program.ok());
  record.bytes.resize((*program)->max_size);
  abi::RecordHeader header = {1399, 0, 0, 42};
  uint64_t ips[2] = {0x1010, 0x2000};
  std::memcpy(record.bytes.data(), &header, 8);
  std::memcpy(record.bytes.data() + 8, ips, 16);
  record.bytes.resize(fetch_run(program->get(), &frame, nullptr, record.bytes.data()));
  return record;
}

class FormatTraceEvent : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!library_.handle)
      GTEST_SKIP() << "libtraceevent.so.1 (Debian: libtraceevent1) is not installed";
    tep_ = library_.find<decltype(tep_alloc)>("tep_alloc")();
    library_.find<decltype(tep_set_long_size)>("tep_set_long_size")(tep_, 8);
    auto add = library_.find<decltype(tep_register_function)>("tep_register_function");
    char names[3][8] = {"caller", "callee", "end"};
    for (unsigned i = 0; i < 3; i++) add(tep_, names[i], 0x1000 * (i + 1), nullptr);
  }
  void TearDown() override {
    if (tep_) library_.find<decltype(tep_free)>("tep_free")(tep_);
  }

  std::string print(std::string_view line, std::vector<uint64_t> args,
                    std::vector<uint64_t> vectors = {}) {
    FetchRegisters frame = {};
    for (size_t i = 0; i < args.size(); i++) frame.arg[i] = args[i];
    for (size_t i = 0; i < vectors.size(); i++) frame.xmm[i][0] = vectors[i];
    Record record = make_record(line, frame);
    std::string format = record.call.format_text();
    EXPECT_EQ(library_.find<decltype(tep_parse_event)>("tep_parse_event")(
                  tep_, format.c_str(), format.size(), "functions"),
              0)
        << format;
    trace_seq seq;
    library_.find<decltype(trace_seq_init)>("trace_seq_init")(&seq);
    tep_record raw = {};
    raw.data = record.bytes.data();
    raw.size = int(record.bytes.size());
    library_.find<decltype(tep_print_event)>("tep_print_event")(tep_, &seq, &raw, "%s",
                                                                TEP_PRINT_INFO);
    library_.find<decltype(trace_seq_terminate)>("trace_seq_terminate")(&seq);
    std::string text = seq.buffer;
    library_.find<decltype(trace_seq_destroy)>("trace_seq_destroy")(&seq);
    return text;
  }
  // What stands in the parentheses.
  std::string fields(std::string_view line, std::vector<uint64_t> args,
                     std::vector<uint64_t> vectors = {}) {
    std::string text = print(line, std::move(args), std::move(vectors)),
                head = "caller+0x10->callee+0x0(";
    EXPECT_EQ(text.substr(0, head.size()), head) << line;
    EXPECT_EQ(text.substr(text.size() - 1), ")") << line;
    return text.substr(head.size(), text.size() - head.size() - 1);
  }

  TraceEventLibrary library_;
  tep_handle* tep_ = nullptr;
};

TEST_F(FormatTraceEvent, CallerThenCallee) {
  EXPECT_EQ(print("f()", {}), "caller+0x10->callee+0x0()");
}

TEST_F(FormatTraceEvent, SignedTypes) {
  EXPECT_EQ(fields("f(char c, s8 a, short b, s16 d, int e, s32 g)",
                   {'A', 0xff, 0xfffe, 0xfffd, ~3u, ~4u}),
            "c=A, a=-1, b=-2, d=-3, e=-4, g=-5");
}
TEST_F(FormatTraceEvent, LongSignedTypes) {
  EXPECT_EQ(fields("f(long a, s64 b, size_t c, u64 d)", {~0ul, ~1ul, ~0ul, 7}),
            "a=-1, b=-2, c=18446744073709551615, d=7");
}
TEST_F(FormatTraceEvent, UnsignedTypes) {
  EXPECT_EQ(fields("f(u8 a, u16 b, u32 c, unsigned char d)", {0xff, 0xffff, 0xffffffff, 'z'}),
            "a=255, b=65535, c=4294967295, d=z");
}
TEST_F(FormatTraceEvent, Hexadecimal) {
  EXPECT_EQ(fields("f(x8 a, x16 b, x32 c, x64 d)", {0xf, 0xabc, 0xffffffff, 0x123456789abcdef}),
            "a=f, b=abc, c=ffffffff, d=123456789abcdef");
}
TEST_F(FormatTraceEvent, UnsignedWord) {
  EXPECT_EQ(
      fields("f(unsigned s8 a, unsigned short b, unsigned int c, unsigned long d, unsigned x8 e)",
             {0xff, 0xffff, ~0u, ~0ul, 0xff}),
      "a=255, b=65535, c=4294967295, d=18446744073709551615, e=ff");
}
TEST_F(FormatTraceEvent, Arrays) {
  static const uint64_t words[2] = {0x11, 0x22};
  static const int8_t small[3] = {-1, 2, -3};
  EXPECT_EQ(fields("f(x64[2] irq_stack, s8[3] v, int n)", {uint64_t(words), uint64_t(small), 5}),
            "irq_stack=11:22, v=-1:2:-3, n=5");
}
TEST_F(FormatTraceEvent, Strings) {
  EXPECT_EQ(
      fields("f(string path, char[8] comm, int n, string empty)",
             {uint64_t("/proc/kallsyms"), uint64_t("bash\0xyz"), uint64_t(-100), uint64_t("")}),
      "path=/proc/kallsyms, comm=bash, n=-100, empty=");
}
TEST_F(FormatTraceEvent, WhatAFormatReads) {
  EXPECT_EQ(fields("f(int level, string format, ...)",
                   {3, uint64_t("%s %d %c"), uint64_t("a\"b"), uint64_t(-5), 'x'}),
            "level=3, format=%s %d %c, varargs=\"a\\\"b\", -5, 'x'");
}
TEST_F(FormatTraceEvent, Symbols) {
  EXPECT_EQ(fields("f(symbol s, int n)", {0x2004, 3}), "s=callee+0x4, n=3");
}
TEST_F(FormatTraceEvent, FieldNamedAfterItsAddress) {
  static const int variable = 41;
  char line[64];
  std::snprintf(line, sizeof line, "f(int %p, int n)", static_cast<const void*>(&variable));
  std::snprintf(line + 40, sizeof line - 40, "%p=41, n=6", static_cast<const void*>(&variable));
  EXPECT_EQ(fields(line, {6}), line + 40);
}
TEST_F(FormatTraceEvent, FloatsAreShownAsBitsAndDoNotBreakTheLine) {
  EXPECT_EQ(fields("f(double d, int n)", {7}, {word(1.5)}), "d=3ff8000000000000, n=7");
}

}  // namespace
}  // namespace patchbay

#else
TEST(FormatTraceEvent, Skipped) {
  GTEST_SKIP() << "built without libtraceevent's headers (Debian: libtraceevent-dev): nobody "
                  "judged our format files";
}
#endif
