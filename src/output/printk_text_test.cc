// SPDX-License-Identifier: MIT
//
// From a printf call to the record of ftrace:bprint and back to a text, judged by snprintf(): each
// conversion with its flags, widths, precisions and lengths, many of them at random. The record's
// second judge is libtraceevent, which decodes the arguments by the text of printk_formats.
#include "output/printk_text.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cinttypes>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

#include "hot/fixup_testing.h"
#include "probe/records/printk_hot.h"
#include "ring_buffer/ring_write_hot.h"

#if __has_include(<traceevent/event-parse.h>)
#include <dlfcn.h>
#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>
#endif

#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

namespace patchbay {
namespace {

std::vector<PrintkSpec> steps_of(const char* format) {
  std::vector<PrintkSpec> steps;
  PrintkPiece piece;
  for (uint32_t at = 0; next_printk_piece(format, at, &piece); at = piece.end)
    if (piece.pack != PrintkPack::kText && piece.pack != PrintkPack::kPercent)
      steps.push_back(piece);
  return steps;
}

std::vector<uint8_t> pack_list(const char* format, va_list list) {
  const std::vector<PrintkSpec> steps = steps_of(format);
  alignas(8) uint8_t bytes[kPrintkArgumentBytes];
  const uint32_t size = printk_pack(steps.data(), uint32_t(steps.size()),
                                    reinterpret_cast<VariadicArguments*>(list), bytes);
  EXPECT_LE(size, sizeof bytes);
  EXPECT_EQ(size % 4, 0u);
  return {bytes, bytes + size};
}

std::vector<uint8_t> pack(const char* format, ...) {
  va_list list;
  va_start(list, format);
  std::vector<uint8_t> bytes = pack_list(format, list);
  va_end(list);
  return bytes;
}

std::string text_of(std::string_view format, const std::vector<uint8_t>& arguments,
                    PrintkLayout layout = PrintkLayout::kOurs) {
  std::string out;
  append_printk(&out, format, arguments, layout, {});
  return out;
}

// What libtraceevent makes of it; empty: it is not there.
class Judge {
 public:
  Judge() {
#if __has_include(<traceevent/event-parse.h>)
    handle_ = dlopen("libtraceevent.so.1", RTLD_NOW);
#endif
  }
  bool is_there() const { return handle_ != nullptr; }
  std::string text(std::string_view format, const std::vector<uint8_t>& arguments) const;

 private:
  template <typename F>
  F* find(const char* name) const {
    return reinterpret_cast<F*>(dlsym(handle_, name));
  }
  void* handle_ = nullptr;
};

constexpr char kBprint[] =
    "name: bprint\nID: 6\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:const char * fmt;\toffset:16;\tsize:8;\tsigned:0;\n"
    "\tfield:u32 buf[];\toffset:24;\tsize:0;\tsigned:0;\n\n"
    "print fmt: \"%ps: %s\", (void *)REC->ip, REC->fmt\n";

std::string Judge::text(std::string_view format, const std::vector<uint8_t>& arguments) const {
#if __has_include(<traceevent/event-parse.h>)
  const std::string listed = printk_formats_text({{0x1000, std::string(format)}});
  const size_t quote = listed.find('"');
  const std::string quoted = listed.substr(quote, listed.find('\n') - quote);
  tep_handle* tep = find<decltype(tep_alloc)>("tep_alloc")();
  find<decltype(tep_set_long_size)>("tep_set_long_size")(tep, 8);
  find<decltype(tep_parse_event)>("tep_parse_event")(tep, kBprint, sizeof kBprint - 1, "ftrace");
  find<decltype(tep_register_print_string)>("tep_register_print_string")(tep, quoted.c_str(),
                                                                         0x1000);
  std::vector<uint8_t> bytes(24);
  const uint64_t words[3] = {6 | uint64_t{42} << 32, 0x2000, 0x1000};
  std::memcpy(bytes.data(), words, sizeof words);
  bytes.insert(bytes.end(), arguments.begin(), arguments.end());
  bytes.insert(bytes.end(), 64, 0);
  tep_record record = {};
  record.data = bytes.data();
  record.size = int(24 + arguments.size());
  trace_seq seq;
  find<decltype(trace_seq_init)>("trace_seq_init")(&seq);
  find<decltype(tep_print_event)>("tep_print_event")(tep, &seq, &record, "%s", TEP_PRINT_INFO);
  find<decltype(trace_seq_terminate)>("trace_seq_terminate")(&seq);
  std::string made = seq.buffer;
  find<decltype(trace_seq_destroy)>("trace_seq_destroy")(&seq);
  find<decltype(tep_free)>("tep_free")(tep);
  return made.substr(std::min(made.find(": ") + 2, made.size()));
#else
  return std::string(format.substr(0, 0)) + char(arguments.size());
#endif
}

const Judge& judge() {
  static const Judge one;
  return one;
}

template <typename... Arguments>
std::string printed(const char* format, Arguments... arguments) {
  char text[4096];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

template <typename... Arguments>
void expect_same(const char* format, Arguments... arguments) {
  SCOPED_TRACE(format);
  const std::string wanted = printed(format, arguments...);
  const std::vector<uint8_t> packed = pack(format, arguments...);
  EXPECT_EQ(text_of(format, packed), wanted);
  if (has_float(format)) return;
  // As it is read out of a trace.dat, by us and by trace-cmd.
  const std::string foreign = foreign_printk_format(format);
  EXPECT_EQ(text_of(foreign, packed, PrintkLayout::kKernels), wanted) << foreign;
  if (judge().is_there()) {
    EXPECT_EQ(judge().text(format, packed), wanted) << foreign;
  }
}

TEST(PrintkText, Integers) {
  expect_same("%d %u %x %X %o %i", -7, 7u, 0xabcu, 0xabcu, 8u, 9);
  expect_same("a %d%% of %d\n!", 5, 9);
  for (const char* format :
       {"%5d|",  "%-5d|", "%05d|",  "%+d|",   "% d|",   "%.3d|",  "%8.3d|", "%-8.3d|", "%08.3d|",
        "%+5d|", "%.0d|", "%1d|",   "%-+6d|", "% 06d|", "%+.4d|", "%x|",    "%#x|",    "%#010x|",
        "%#X|",  "%#o|",  "%-#8o|", "%.5x|",  "%8x|",   "%u|",    "%'d|",   "%#.0o|",  "%.0x|"})
    for (int value : {0, 1, -1, 42, -42, 123456, INT32_MAX, INT32_MIN}) expect_same(format, value);
  for (const char* format :
       {"%ld|", "%lu|", "%lx|", "%#lx|", "%lld|", "%llu|", "%llX|", "%zu|", "%zd|", "%jd|", "%ju|",
        "%td|", "%20ld|", "%-20ld|", "%020lx|", "%+lld|", "%.30ld|", "%lo|", "%#lo|"})
    for (long value : {0L, 1L, -1L, 1234567890123456789L, INT64_MAX, INT64_MIN})
      expect_same(format, value);
  for (const char* format : {"%hd|", "%hu|", "%hx|", "%hhd|", "%hhu|", "%hhX|", "%-6hd|", "%6hhd|"})
    for (int value : {0, 1, -1, 255, 256, 65535, 70000, -70000}) expect_same(format, value);
}

TEST(PrintkText, TextsAndCharacters) {
  const char* const none = nullptr;
  expect_same("%s|%s|%s", "ab", "", "cde");
  for (const char* format : {"%s|", "%10s|", "%-10s|", "%.2s|", "%8.2s|", "%-8.2s|", "%.0s|"})
    for (const char* text : {"", "a", "abc", "exactly10!", "longer than that"})
      expect_same(format, text);
  expect_same("%s|", none);
  expect_same("%c%c|%3c|%-3c|", 'a', 'b', 'c', 'd');
  expect_same("%s%d%s%ld", "odd", 5, "even", 6L);
  expect_same("%d%s%c%s", 1, "x", 'y', "z");
  expect_same("say \"%s\" \\ \t%d", "hi", 4);
}

TEST(PrintkText, Pointers) {
  int here = 0;
  expect_same("%p|", static_cast<void*>(&here));
  expect_same("%p|", nullptr);
  expect_same("%20p|%-20p|", static_cast<void*>(&here), static_cast<void*>(&here));
  expect_same("%10p|", nullptr);
}

TEST(PrintkText, WidthsAndPrecisionsAsArguments) {
  for (int width : {0, 3, 10, -10}) {
    expect_same("%*d|%d", width, 42, 7);
    expect_same("%*s|%d", width, "abc", 7);
    expect_same("%-*x|", width, 0xabcu);
    for (int precision : {0, 2, 5, -1}) {
      expect_same("%*.*d|", width, precision, 42);
      expect_same("%*.*s|%ld", width, precision, "abcdef", 8L);
      expect_same("%.*f|", precision, 2.71828);
      expect_same("%*.*e|%d", width, precision, 2.71828, 9);
    }
  }
}

TEST(PrintkText, Floats) {
  for (const char* format :
       {"%f|",   "%e|",     "%g|",      "%F|",    "%E|",    "%G|",      "%.0f|",
        "%.3f|", "%10.2f|", "%-12.4e|", "%+g|",   "% f|",   "%012.3f|", "%#.0f|",
        "%#g|",  "%#.3g|",  "%#.0e|",   "%.20g|", "%.40f|", "%015g|",   "%-15g|",
        "%a|",   "%A|",     "%.3a|",    "%20a|",  "%lf|",   "%.0g|",    "%#.10g|"})
    for (double value : {0.0,
                         -0.0,
                         1.0,
                         -1.5,
                         0.1,
                         3.14159265358979,
                         1e10,
                         123456789.0,
                         1e-10,
                         1e22,
                         1e300,
                         9.9999995,
                         0.5,
                         1.5,
                         2.5,
                         100000.0,
                         1000000.0,
                         std::numeric_limits<double>::infinity(),
                         -std::numeric_limits<double>::infinity(),
                         std::numeric_limits<double>::quiet_NaN()})
      expect_same(format, value);
  expect_same("%f %d %s %g", 1.25, 7, "x", -2.5);
  expect_same("%f %f %f %f %f %f %f %f %f %f|%d", 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11);
}

// A long double is recorded as the double that is nearest.
TEST(PrintkText, LongDoubles) {
  for (long double value :
       {0.0L, -0.0L, 1.0L, -1.25L, 0.1L, 1e300L, 1e-300L, 4.9e-324L, 2.5e-324L, 1e-310L, 1.0L / 3,
        std::numeric_limits<long double>::max(), std::numeric_limits<long double>::infinity(),
        0x1.fffffffffffff8p0L, 0x1.00000000000008p0L, 0x1.00000000000018p0L, 1e-4940L}) {
    const std::vector<uint8_t> packed = pack("%d %Lg %d", 1, value, 2);
    EXPECT_EQ(text_of("%d %Lg %d", packed), printed("%d %g %d", 1, double(value), 2));
    double kept;
    ASSERT_GE(packed.size(), 12u);
    std::memcpy(&kept, packed.data() + 4, 8);
    const double wanted = double(value);
    EXPECT_EQ(std::memcmp(&kept, &wanted, 8), 0) << double(value) << " " << kept;
  }
}

TEST(PrintkText, WhatIsNotKnownIsText) {
  int unused = 0;
  EXPECT_EQ(text_of("%d %n %d", pack("%d %n %d", 5, &unused, 6)), "5 %n %d");
  for (const char* format : {"%ls", "%lc", "%m", "%1$d", "%", "%5", "%l", "%.", "%5%d", "%999999d"})
    EXPECT_EQ(text_of(format, pack(format, 1, 2)), format);
  EXPECT_EQ(foreign_printk_format("100% %n"), "100%% %%n");
}

TEST(PrintkText, RecordsThatAreCutShort) {
  const char* const format = "%d %ld %s %-5d %f";
  const std::vector<uint8_t> whole = pack(format, 1, 2L, "three", 4, 5.0);
  EXPECT_EQ(text_of(format, whole), "1 2 three 4     5.000000");
  for (size_t size = 0; size < whole.size(); size++) {
    const std::vector<uint8_t> part(whole.begin(), whole.begin() + long(size));
    EXPECT_NE(text_of(format, part).find("(cut)"), std::string::npos) << size;
  }
}

// --- bad memory

class PrintkFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    page_ = static_cast<char*>(
        mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(page_, MAP_FAILED);
    ASSERT_EQ(mprotect(page_ + 4096, 4096, PROT_NONE), 0);
  }
  void TearDown() override { munmap(page_, 8192); }
  char* page_ = nullptr;
  test::FaultFixups fixups_;
};

TEST_F(PrintkFaults, StringsThatCannotBeRead) {
  std::memset(page_, 'x', 4096);
  char* const open_end = page_ + 4090;  // no NUL before the page that cannot be read
  EXPECT_EQ(text_of("%s|%d", pack("%s|%d", open_end, 7)), "(fault)|7");
  EXPECT_EQ(text_of("%.6s|%d", pack("%.6s|%d", open_end, 7)), "xxxxxx|7");
  EXPECT_EQ(text_of("%10s|", pack("%10s|", reinterpret_cast<char*>(8))), "   (fault)|");
  EXPECT_EQ(text_of("%-10s|%d", pack("%-10s|%d", reinterpret_cast<char*>(~0x7fffL << 47), 7)),
            "(fault)   |7");
  open_end[5] = '\0';
  EXPECT_EQ(text_of("%s|%d", pack("%s|%d", open_end, 7)), "xxxxx|7");
  EXPECT_EQ(printk_text_length(open_end, 100), 5);
  EXPECT_EQ(printk_text_length(page_ + 4096, 100), -1);
}

TEST_F(PrintkFaults, LongStringsLeaveRoomForTheRest) {
  const std::string text(3000, 'y');
  const char* const format = "%s %s %s %d %ld %f|";
  const std::vector<uint8_t> packed =
      pack(format, text.c_str(), text.c_str(), text.c_str(), 1, 2L, 3.0);
  EXPECT_GT(packed.size(), kPrintkArgumentBytes / 2);
  const std::string shown = text_of(format, packed);
  EXPECT_TRUE(shown.starts_with("yyyy"));
  EXPECT_TRUE(shown.ends_with("y 1 2 3.000000|")) << shown;
}

TEST_F(PrintkFaults, ConstantMemory) {
  EXPECT_TRUE(printk_is_constant("a text of the program"));
  char on_stack[] = "a text that changes";
  EXPECT_FALSE(printk_is_constant(on_stack));
  static char in_data[] = "another";
  EXPECT_FALSE(printk_is_constant(in_data + 1));
  std::strcpy(page_, "read-only from here on");
  EXPECT_FALSE(printk_is_constant(page_));
  ASSERT_EQ(mprotect(page_, 4096, PROT_READ), 0);
  EXPECT_TRUE(printk_is_constant(page_));
  EXPECT_STREQ(page_, "read-only from here on");
  EXPECT_STREQ(on_stack, "a text that changes");
}

// --- plans

class PrintkPlans : public PrintkFaults {
 protected:
  void SetUp() override {
    PrintkFaults::SetUp();
    pb_printk_table = &table_;
  }
  void TearDown() override {
    pb_printk_table = nullptr;
    PrintkFaults::TearDown();
  }
  // A text at the first page, as an object has it that was loaded there.
  const char* load(const std::string& text) {
    mprotect(page_, 4096, PROT_READ | PROT_WRITE);
    std::memset(page_, 0, 4096);
    std::memcpy(page_, text.c_str(), text.size());
    mprotect(page_, 4096, PROT_READ);
    return page_;
  }
  static inline abi::PrintkTable table_;
};

TEST_F(PrintkPlans, AFormatIsKeptOnce) {
  const char* const format = load("x=%d y=%s in a plan\n");
  EXPECT_EQ(printk_plan(format), nullptr);
  const PrintkPlan* plan = printk_learn(format);
  ASSERT_NE(plan, nullptr);
  EXPECT_STREQ(plan->text, format);
  EXPECT_EQ(plan->nr_steps, 2u);
  EXPECT_EQ(printk_plan(format), plan);
  static const char same[] = "x=%d y=%s in a plan\n";
  const PrintkPlan* other = printk_learn(same);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->text, plan->text);
}

// dlclose, dlopen: another text at the same address.
TEST_F(PrintkPlans, AnotherTextAtTheAddressIsNoticed) {
  const char* const format = load("the first of two\n");
  const PrintkPlan* plan = printk_learn(format);
  ASSERT_NE(plan, nullptr);
  const char* const kept = plan->text;
  for (const char* text :
       {"the other of two", "the first of two\n and more", "", "the", "the firsT of two\n"}) {
    load(text);
    EXPECT_EQ(printk_plan(format), nullptr) << text;
  }
  load("the second %d\n");
  const PrintkPlan* second = printk_learn(format);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(printk_plan(format), second);
  EXPECT_EQ(second->nr_steps, 1u);
  EXPECT_STREQ(kept, "the first of two\n");
  ASSERT_EQ(mprotect(page_, 4096, PROT_NONE), 0);  // unloaded
  EXPECT_EQ(printk_plan(format), nullptr);
}

TEST_F(PrintkPlans, WhatCannotBeKept) {
  char on_stack[] = "not constant %d\n";
  EXPECT_EQ(printk_learn(on_stack), nullptr);
  EXPECT_EQ(printk_learn(load(std::string(kPrintkMaxFormat, 'x'))), nullptr);
  EXPECT_NE(printk_learn(load(std::string(kPrintkMaxFormat - 1, 'x'))), nullptr);
  std::string many;
  for (uint32_t i = 0; i <= kPrintkMaxSteps; i++) many += "%d";
  EXPECT_EQ(printk_learn(load(many)), nullptr);
  EXPECT_EQ(printk_learn(reinterpret_cast<const char*>(16)), nullptr);
  pb_printk_closed = 1;
  EXPECT_EQ(printk_learn(load("while the file is being replaced\n")), nullptr);
  pb_printk_closed = 0;
  pb_printk_table = nullptr;
  EXPECT_EQ(printk_learn(load("without a table\n")), nullptr);
}

TEST_F(PrintkPlans, AFullTableTakesNoMore) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < 3 * abi::kPrintkTextBytes / 1000; i++)
    kept += printk_learn(load(std::to_string(i) + std::string(1000, 'z'))) != nullptr;
  EXPECT_GT(kept, 100u);
  EXPECT_LT(kept, abi::kPrintkTextBytes / 1000);
  EXPECT_LE(table_.used_bytes, abi::kPrintkTextBytes);
  EXPECT_EQ(pb_printk_entering, 0u);
}

// --- printk_formats

TEST(PrintkFormats, LinesAreReadBack) {
  const std::vector<BufferFile::Text> texts = {
      {0x7f0000001000, "plain\n"},
      {0x7f0000002000, "tab\t \"quoted\" back\\slash %d\n"},
      {0x7f0000003000, "%-5d|%c|%f|%hd"}};
  const std::string text = printk_formats_text(texts);
  EXPECT_EQ(text,
            "0x7f0000001000 : \"plain\\n\"\n"
            "0x7f0000002000 : \"tab\\t \\\"quoted\\\" back\\\\slash %d\\n\"\n"
            "0x7f0000003000 : \"%s|%s|0x%llx|%d\"\n"
            "0x80007f0000003000 : \"%-5d|%c|%f|%hd\"\n");
  PrintkTexts read = PrintkTexts::from_formats(text);
  ASSERT_NE(read.find(0x7f0000001000), nullptr);
  EXPECT_EQ(read.find(0x7f0000001000)->text, "plain\n");
  EXPECT_EQ(read.find(0x7f0000002000)->text, texts[1].text);
  EXPECT_EQ(read.find(0x7f0000003000)->text, texts[2].text);
  EXPECT_EQ(read.find(0x7f0000003000)->layout, PrintkLayout::kOurs);
  EXPECT_EQ(read.find(0x7f0000004000), nullptr);
}

TEST(PrintkFormats, AKernelsLines) {
  PrintkTexts read = PrintkTexts::from_formats(
      "0xffffffff82345678 : \"%c %hd %*d %pS %s\\n\"\n0x : \"x\"\nnonsense\n0x12\n0x13 : \"\n"
      "0x14 : \"y\n");
  const PrintkTexts::Text* text = read.find(0xffffffff82345678);
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(text->layout, PrintkLayout::kKernels);
  // As vbin_printf() packs them: 1, 2, 4 + 4 and 8 bytes, each aligned.
  const uint8_t packed[] = {'a', 0, 0xfe, 0xff, 4, 0, 0, 0, 7,   0,   0, 0,
                            1,   2, 3,    4,    5, 6, 0, 0, 'h', 'i', 0};
  std::string out;
  append_printk(&out, text->text, packed, text->layout,
                [](uint64_t address) { return "at " + std::to_string(address & 0xff); });
  EXPECT_EQ(out, "a -2    7 at 1 hi\n");
  for (uint64_t address : {0, 0x12, 0x13, 0x14}) EXPECT_EQ(read.find(address), nullptr);
}

TEST(PrintkFormats, TextsAreAskedForAgain) {
  int asked = 0;
  std::vector<BufferFile::Text> known;
  PrintkTexts texts([&] {
    asked++;
    return known;
  });
  EXPECT_EQ(texts.find(1), nullptr);
  EXPECT_EQ(texts.find(1), nullptr);
  EXPECT_EQ(asked, 1);
  known = {{2, "two"}};
  ASSERT_NE(texts.find(2), nullptr);
  EXPECT_EQ(asked, 2);
}

// --- at random

std::string random_format(std::mt19937& random, char* type, bool* star) {
  const char* const kTypes = "duxXocspfeg";
  std::string format = "%";
  *type = kTypes[random() % 11];
  for (char flag : std::string("-+ #0"))
    if (random() % 4 == 0) {
      const bool odd = std::strchr("csp", *type) && flag != '-';
      const bool plain = flag == '#' && std::strchr("du", *type);
      const bool sign = (flag == '+' || flag == ' ') && !std::strchr("dfeg", *type);
      if (!odd && !plain && !sign) format += flag;
    }
  *star = random() % 5 == 0;
  if (*star)
    format += '*';
  else if (random() % 2)
    format += std::to_string(1 + random() % 30);
  if (!std::strchr("cp", *type) && random() % 3 == 0) format += "." + std::to_string(random() % 20);
  return format;
}

TEST(PrintkText, Random) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 20000 && !::testing::Test::HasFailure(); i++) {
    char type;
    bool star;
    std::string format = random_format(random, &type, &star);
    const int width = int(random() % 60) - 30;
    const uint64_t word = (uint64_t{random()} << 32 | random()) >> random() % 64;
    auto check = [&](auto argument) {
      format += "|%d";
      star ? expect_same(format.c_str(), width, argument, i)
           : expect_same(format.c_str(), argument, i);
    };
    if (std::strchr("feg", type)) {
      format += type;
      check(double(word) / double(1 + random() % 100000) * (random() % 2 ? 1 : -1));
    } else if (type == 's') {
      format += type;
      check(&"some text of the program"[word % 20]);
    } else if (type == 'p') {
      format += type;
      check(reinterpret_cast<void*>(word));
    } else if (type == 'c') {
      format += type;
      check(int(' ' + word % 90));
    } else if (random() % 2) {
      format += (random() % 2 ? std::string("l") : "ll") + type;
      check(word);
    } else {
      format += (random() % 3 == 0 ? std::string("h") : "") + type;
      check(uint32_t(word));
    }
  }
}

}  // namespace
}  // namespace patchbay
