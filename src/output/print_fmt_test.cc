// SPDX-License-Identifier: MIT
// Print formats: real ones of a 6.12 kernel with what it printed, each conversion and operator, and
// the same texts from libtraceevent, which trace-cmd and KernelShark print with (skipped where it
// is not installed).
#include "output/print_fmt.h"

#include <gtest/gtest.h>

#include <cstring>

#if __has_include(<traceevent/event-parse.h>)
#include <dlfcn.h>
#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>
#define HAVE_JUDGE 1
#endif

namespace patchbay {
namespace {

std::string bytes_of(const auto& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// One record with a field of each kind.
EventCall make_call(std::string print_fmt) {
  EventCall call{"app", "all", 700, common_fields(), {}, std::move(print_fmt)};
  call.fields = {{"int", "i", 8, 4, true},
                 {"unsigned int", "u", 12, 4},
                 {"long", "l", 16, 8, true},
                 {"unsigned long", "ul", 24, 8},
                 {"void *", "p", 32, 8},
                 {"char", "comm", 40, 16, false, 16},
                 {"u8", "bytes", 56, 16, false, 16},
                 {"short", "h", 72, 2, true},
                 {"u8", "b", 74, 1},
                 {"char", "c", 75, 1, true},
                 {"u32", "words", 76, 12, false, 3},
                 {"__data_loc char[]", "s", 88, 4},
                 {"__data_loc u16[]", "d", 92, 4},
                 {"__rel_loc char[]", "r", 96, 4},
                 {"__data_loc unsigned long[]", "mask", 100, 4},
                 {"double", "f", 104, 8}};
  return call;
}

std::string make_record() {
  std::string r = bytes_of(uint16_t{700}) + std::string(2, '\0') + bytes_of(int32_t{77});
  r += bytes_of(int32_t{-5}) + bytes_of(uint32_t{4000000000}) + bytes_of(int64_t{-6}) +
       bytes_of(uint64_t{0xffffffff81000000}) + bytes_of(uint64_t{0x1010});
  std::string comm = "bash";
  comm.resize(16, '\0');
  r += comm;
  for (int i = 0; i < 16; i++) r += char(i == 0 ? 0xc0 : i == 1 ? 0xa8 : i);
  r += bytes_of(int16_t{-300}) + char(200) + 'q';
  for (uint32_t w : {1u, 0x20u, 0xffffffffu}) r += bytes_of(w);
  r += bytes_of(uint32_t{112 | 6 << 16}) + bytes_of(uint32_t{118 | 4 << 16});
  r += bytes_of(uint32_t{(122 - 100) | 4 << 16}) + bytes_of(uint32_t{128 | 8 << 16});
  r += bytes_of(1.5) + std::string("hello\0", 6) + bytes_of(uint16_t{7}) + bytes_of(uint16_t{9});
  r += std::string("rel\0\0\0", 6) + bytes_of(uint64_t{0x100000003});
  return r;
}

struct Printed {
  bool parsed = false;
  std::string text;
};
Printed print(const std::string& print_fmt, std::string record = make_record(),
              bool trace_cmd = false) {
  auto format = PrintFormat::compile(make_call(print_fmt));
  if (!format) return {};
  AddressNames names = AddressNames::from_kallsyms(
      "1000 t caller\n1100 t end\nffffffff81000000 t _text\nffffffff81000100 t next\n");
  AddressText addresses(&names, false);
  TextContext context;
  context.addresses = &addresses;
  context.hash_ptr = false;
  context.trace_cmd = trace_cmd;
  Printed printed{true, ""};
  format->append(&printed.text, {reinterpret_cast<const uint8_t*>(record.data()), record.size()},
                 &context);
  return printed;
}

struct Row {
  const char* print_fmt;
  const char* text;
  // libtraceevent prints the same. It does not: it knows neither %c of 1 byte, %+d nor floats,
  // takes an int below zero for an unsigned one in comparisons, and wants arrays of the exact size.
  bool judged = true;
};

const Row kRows[] = {
    {R"("no fields")", "no fields"},
    {R"("%d %u %ld %lx", REC->i, REC->u, REC->l, REC->ul)", "-5 4000000000 -6 ffffffff81000000"},
    {R"("%x %X %o", REC->i, REC->u, REC->b)", "fffffffb EE6B2800 310"},
    {R"("%hd %hhu %c", REC->h, REC->b, REC->c)", "-300 200 q", false},
    {R"("[%5d] [%-5d] [%05d] [%08lx]", REC->i, REC->i, REC->i, REC->b)",
     "[   -5] [-5   ] [-0005] [000000c8]"},
    {R"("[%#x] [%+d] [%.3d]", REC->b, REC->b, REC->i)", "[0xc8] [+200] [-005]", false},
    {R"("[%8s] [%-8s] [%.2s]", REC->comm, REC->comm, REC->comm)", "[    bash] [bash    ] [ba]"},
    {R"("%s %s %s", __get_str(s), __get_rel_str(r), REC->comm)", "hello rel bash"},
    {R"("100%% of \"%s\"", REC->comm)", "100% of \"bash\""},
    {R"("%pS %ps", REC->p, (void *)REC->ul)", "caller+0x10/0x100 _text", false},
    {R"("%ps", (void *)REC->p)", "caller"},
    {R"("%p %px", REC->p, REC->p)", "0000000000001010 0000000000001010", false},
    {R"("%d", REC->words[1])", "32"},
    {R"("%x", REC->words[2])", "ffffffff"},
    {R"("%d", REC->words[99])", "0", false},
    {R"("%d", REC->i + 7 * 2 - 1)", "8"},
    {R"("%d %d", REC->b / 7, REC->b % 7)", "28 4"},
    {R"("%d %d", REC->b / 0, REC->b % 0)", "0 0", false},
    {R"("%d", (REC->b >> 3) & 0x1f | 1 << 6)", "89"},
    {R"("%d%d%d", REC->i < 0, REC->u > 5, REC->i == -5 && !(REC->b != 200))", "111", false},
    {R"("%s", REC->i < 0 ? "minus" : "plus")", "minus", false},
    {R"("%s%s", (REC->b & 8) ? "a" : "", REC->b & 1 ? "+" : "")", "a"},
    {R"("%u %u", (unsigned char)REC->i, ((unsigned short)(REC->i)))", "251 65531"},
    {R"("0x%08lx", ((unsigned long)(REC->i)))", "0xfffffffffffffffb", false},
    {R"("%s", __print_symbolic(REC->b, { 0, "zero" }, { 200, "two" }, { 3, "three" }))", "two"},
    {R"("%s", __print_symbolic(REC->i, { 0, "zero" }))", "0xfffffffffffffffb", false},
    {R"("%s", __print_symbolic(REC->i, { -5, "minus" }, { SOME_ENUM, "never" }))", "minus", false},
    {R"("%s", __print_flags(REC->b, "|", { 0x08, "A" }, { 0x40, "B" }, { 0x1, "C" }))", "A|B|0x80"},
    {R"("%s", __print_flags(0, "|", { 0x08, "A" }))", "", false},
    {R"("%s", __print_flags(REC->b & (1UL << 3), "", {(unsigned long)(((1UL))) << (3), "A"}))",
     "A"},
    {R"("%s", __print_hex(REC->bytes, 4))", "c0 a8 02 03"},
    {R"("%s", __print_hex_str(REC->bytes, 4))", "c0a80203"},
    {R"("%s", __print_array(REC->words, 3, 4))", "{0x1,0x20,0xffffffff}", false},
    {R"("%s", __print_array(__get_dynamic_array(d), 2, 2))", "{0x7,0x9}", false},
    {R"("%d", __get_dynamic_array_len(d))", "4"},
    {R"("%d", ((u16 *)__get_dynamic_array(d))[1])", "9", false},
    {R"("%d", *(u8 *)REC->bytes)", "192", false},
    {R"("%s", __get_bitmask(mask))", "00000001,00000003"},
    {R"("%pI4 %pM", REC->bytes, REC->bytes)", "192.168.2.3 c0:a8:02:03:04:05", false},
    {R"("%pI6c", REC->bytes)", "c0a8:203:405:607:809:a0b:c0d:e0f"},
    {R"("%pU", REC->bytes)", "c0a80203-0405-0607-0809-0a0b0c0d0e0f"},
    {R"("%*phC", 3, REC->bytes)", "c0:a8:02", false},
    {R"("[%*d] [%.*s]", 6, REC->i, 3, REC->comm)", "[    -5] [bas]"},
    {R"("%Lu %llu %zu", REC->ul, REC->ul, REC->ul)",
     "18446744071578845184 18446744071578845184 18446744071578845184"},
    {R"("%f %.2f %g", REC->f, REC->f, REC->f)", "1.500000 1.50 1.5", false},
    {R"("%llu.%09u", __print_ns_to_secs(REC->u), __print_ns_without_secs(REC->u))", "4.000000000",
     false},
    {R"("%s" " and %d", REC->comm, REC->i)", "bash and -5", false},
    {R"("pid=%d", REC->common_pid)", "pid=77"},
    {R"("%d", 'A')", "65", false},
};

TEST(PrintFormat, PrintsAsTheKernelDoes) {
  for (const Row& row : kRows) {
    Printed printed = print(row.print_fmt);
    EXPECT_TRUE(printed.parsed) << row.print_fmt;
    EXPECT_EQ(printed.text, row.text) << row.print_fmt;
  }
}

TEST(PrintFormat, RefusesWhatItDoesNotKnow) {
  for (const char* bad :
       {"", "no quotes", "\"%d\"", "\"%d\", REC->nothing", "\"%d\", REC->i,",
        "\"%d\", REC->i REC->i", "\"%y\", REC->i", "\"%n\", REC->i", "\"%d\", sizeof(int)",
        "\"%d\", jiffies", "\"%d\", call(REC->i)", "\"%d\", (REC->i", "\"open", "\"%d\", 0x",
        "\"%d\", 12monkeys", "\"%s\", __print_symbolic(REC->i, { 1, \"a\" )",
        "\"%s\", __get_str(i)", "\"%99999d\", 1", "\"\\q\""})
    EXPECT_FALSE(print(bad).parsed) << bad;
  std::string deep = "\"%d\", " + std::string(100000, '(') + "1" + std::string(100000, ')');
  EXPECT_FALSE(print(deep).parsed);
  std::string chain = "\"%d\", 1";
  for (int i = 0; i < 50000; i++) chain += "+1";
  EXPECT_FALSE(print(chain).parsed);
}

TEST(PrintFormat, NeverReadsBehindTheRecord) {
  std::string whole = make_record();
  for (const Row& row : kRows)
    for (size_t size = 0; size < whole.size(); size++) {
      std::string cut(whole.data(), size);
      cut.shrink_to_fit();
      EXPECT_TRUE(print(row.print_fmt, cut).parsed);
    }
  std::string wild = whole;
  for (size_t at = 88; at < 104; at++) wild[at] = char(0xff);
  for (const Row& row : kRows) EXPECT_TRUE(print(row.print_fmt, wild).parsed);
}

TEST(PrintFormat, HashedPointersGiveNothingAway) {
  EXPECT_EQ(hashed_pointer(0x7f0012345678), hashed_pointer(0x7f0012345678));
  EXPECT_NE(hashed_pointer(0x7f0012345678), hashed_pointer(0x7f0012345679));
  EXPECT_LE(hashed_pointer(0x7f0012345678), UINT32_MAX);
}

// sched_switch as 6.12 has it, and its line for a task that goes on running.
TEST(PrintFormat, SchedSwitch) {
  EventCall call{"sched", "sched_switch", 310, common_fields(), {}, ""};
  call.fields = {{"char", "prev_comm", 8, 16, false, 16},  {"pid_t", "prev_pid", 24, 4, true},
                 {"int", "prev_prio", 28, 4, true},        {"long", "prev_state", 32, 8, true},
                 {"char", "next_comm", 40, 16, false, 16}, {"pid_t", "next_pid", 56, 4, true},
                 {"int", "next_prio", 60, 4, true}};
  std::string mask =
      "(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | "
      "0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1))";
  call.print_fmt =
      "\"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d "
      "next_prio=%d\", REC->prev_comm, REC->prev_pid, REC->prev_prio, " +
      mask + " ? __print_flags(" + mask +
      ", \"|\", { 0x00000001, \"S\" }, { 0x00000002, \"D\" }, "
      "{ 0x00000040, \"P\" }, { 0x00000080, \"I\" }) : \"R\", REC->prev_state & (((0x00000000 | "
      "0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + "
      "1) << 1) ? \"+\" : \"\", REC->next_comm, REC->next_pid, REC->next_prio";
  auto format = PrintFormat::compile(call);
  ASSERT_TRUE(format);
  const std::pair<int64_t, const char*> states[] = {
      {0, "R"}, {1, "S"}, {0x80, "I"}, {0x100, "R+"}, {3, "S|D"}};
  for (const auto& [state, letters] : states) {
    std::string r(64, '\0');
    r.replace(8, 9, "swapper/1");
    r.replace(28, 4, bytes_of(int32_t{120}));
    r.replace(32, 8, bytes_of(state));
    r.replace(40, 2, "sh");
    r.replace(56, 8, bytes_of(int32_t{139}) + bytes_of(int32_t{120}));
    TextContext context;
    std::string text;
    format->append(&text, {reinterpret_cast<const uint8_t*>(r.data()), r.size()}, &context);
    EXPECT_EQ(text, std::string("prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=") +
                        letters + " ==> next_comm=sh next_pid=139 next_prio=120");
  }
}

#ifdef HAVE_JUDGE
template <typename F>
F* find(void* library, const char* name) {
  return reinterpret_cast<F*>(dlsym(library, name));
}
#define TEP(name) find<decltype(name)>(library, #name)

TEST(PrintFormat, LibtraceeventPrintsTheSame) {
  void* library = dlopen("libtraceevent.so.1", RTLD_NOW);
  if (!library) GTEST_SKIP() << "libtraceevent.so.1 (Debian: libtraceevent1) is not installed";
  int judged = 0;
  for (const Row& row : kRows) {
    if (!row.judged) continue;
    tep_handle* tep = TEP(tep_alloc)();
    TEP(tep_set_long_size)(tep, 8);
    char names[3][8] = {"caller", "end", "_text"};
    const uint64_t addresses[3] = {0x1000, 0x1100, 0xffffffff81000000};
    for (int i = 0; i < 3; i++) TEP(tep_register_function)(tep, names[i], addresses[i], nullptr);
    std::string format = make_call(row.print_fmt).format_text(), record = make_record();
    EXPECT_EQ(TEP(tep_parse_event)(tep, format.c_str(), format.size(), "app"), 0) << row.print_fmt;
    trace_seq seq;
    TEP(trace_seq_init)(&seq);
    tep_record raw = {};
    raw.data = record.data();
    raw.size = int(record.size());
    TEP(tep_print_event)(tep, &seq, &raw, "%s", TEP_PRINT_INFO);
    TEP(trace_seq_terminate)(&seq);
    EXPECT_EQ(print(row.print_fmt, record, true).text, seq.buffer) << row.print_fmt;
    TEP(trace_seq_destroy)(&seq);
    TEP(tep_free)(tep);
    judged++;
  }
  EXPECT_GT(judged, 25);
}
#endif

}  // namespace
}  // namespace patchbay
