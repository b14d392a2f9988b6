// SPDX-License-Identifier: MIT
//
// Which records match: every kind of predicate, by machine code and by the interpreter, which must
// agree.
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string_view>

#include <fnmatch.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include <gtest/gtest.h>

#include "base/testing.h"
#include "filter/filter_insn.h"
#include "filter/filter_testing.h"
#include "hot/fault.h"
#include "hot/thread_block_testing.h"

namespace patchbay {
namespace {

// Machine code and interpreter agree, or the test fails.
bool matches(const std::string& text, const TestRecord& record) {
  FilterResult result = compile_filter(text, test_context());
  EXPECT_FALSE(result.error) << text << ": " << result.error->text;
  if (result.error) return false;
  EXPECT_NE(result.program->code, nullptr);
  const bool match = filter_match(result.program.get(), record.bytes.data(), record.size());
  EXPECT_EQ(match, filter_interpret(result.program.get(), record.bytes.data(), record.size()))
      << text;
  return match;
}

void expect_all(const TestRecord& record, std::initializer_list<const char*> yes,
                std::initializer_list<const char*> no) {
  for (const char* text : yes) EXPECT_TRUE(matches(text, record)) << text;
  for (const char* text : no) EXPECT_FALSE(matches(text, record)) << text;
}

TEST(FilterRun, NumbersOfEveryWidth) {
  TestRecord record;
  record.set("u8", uint8_t{200}).set("s8", int8_t{-56}).set("u16", uint16_t{50000});
  record.set("s16", int16_t{-2}).set("u32", uint32_t{3000000000}).set("prev_pid", int32_t{-1});
  record.set("u64", ~uint64_t{0}).set("prev_state", int64_t{-5000000000});
  expect_all(record,
             {"u8 == 200",
              "u8 > 100",
              "u8 == 456",
              "s8 == -56",
              "s8 < 0",
              "s8 == 200",
              "u16 >= 50000",
              "u16 > 0x7fff",
              "s16 == -2",
              "s16 <= -1",
              "s16 == 65534",
              "u32 == 3000000000",
              "u32 > 2999999999",
              "u32 & 0x80000000",
              "prev_pid == -1",
              "prev_pid < 0",
              "prev_pid == 0xffffffff",
              "prev_pid == 037777777777",
              "u64 == 18446744073709551615",
              "u64 > 1",
              "u64 & 0x8000000000000000",
              "prev_state == -5000000000",
              "prev_state < -4999999999",
              "prev_state != -1",
              "prev_state >= -5000000001",
              "prev_state & -1",
              "s8 & 0x80"},
             {"u8 < 100", "u8 != 200", "s8 > 0", "u16 < 0", "s16 > 0", "u32 < 1", "prev_pid > 0",
              "u64 < 1", "u64 == 1", "prev_state > 0", "u8 & 0x37", "u64 & 0", "args == 0",
              "args != 0", "stacktrace != 1"});
}

// The judge is C.
template <typename T>
bool compares(T left, std::string_view op, T right) {
  if (op == "<") return left < right;
  if (op == "<=") return left <= right;
  if (op == ">") return left > right;
  if (op == ">=") return left >= right;
  return op == "==" ? left == right : left != right;
}

TEST(FilterRun, FloatingPoint) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kValues[] = {
      -kInfinity, -1e300, -2.5,  -2,
      -0.5,       -0.0,   0.0,   1e-300,
      0.5,        2,      2.5,   1e300,
      kInfinity,  kNan,   -kNan, std::numeric_limits<double>::signaling_NaN()};
  constexpr const char* kTexts[] = {"-inf", "-1e300", "-2.5", "-2", "-.5",  "-0",
                                    "0",    "1e-300", "0.5",  "2",  "2.50", "1e+300",
                                    "inf",  "nan",    "-nan", "nan"};
  constexpr const char* kOps[] = {"<", "<=", ">", ">=", "==", "!="};
  for (double left : kValues) {
    TestRecord record;
    record.set("real", left).set("real4", float(left));
    for (size_t i = 0; i < std::size(kValues); i++) {
      for (const std::string op : kOps) {
        const double right = kValues[i];
        const std::string rest = " " + op + " " + kTexts[i];
        const bool wanted = compares(left, op, right);
        const bool wanted4 = compares(float(left), op, float(right));
        EXPECT_EQ(matches("real" + rest, record), wanted) << left << rest;
        EXPECT_EQ(matches("real4" + rest, record), wanted4) << float(left) << rest;
        EXPECT_EQ(matches("!(real" + rest + ")", record), !wanted) << left << rest;
        EXPECT_EQ(matches("u8 == 1 || !(real4" + rest + " && u8 == 0)", record), !wanted4)
            << float(left) << rest;
      }
    }
  }
  for (const char* text : {"real & 1", "real ~ 1", "real == 1x", "real == x", "real == --1"})
    EXPECT_TRUE(compile_filter(text, test_context()).error) << text;
}

// A field that this record does not have is in no relation to any value.
TEST(FilterRun, FieldsThatNotEveryRecordHas) {
  TestRecord record;
  record.set("u32", 7).set("real", 0.0).set("u16", uint16_t{2});
  expect_all(record,
             {"guarded == 7", "guarded != 6", "guarded > 6 && u32 == 7", "guarded_real == 0",
              "u32 == 8 || guarded == 7", "!(guarded == 6)"},
             {"guarded == 6", "guarded_real != 0"});
  record.set("u16", uint16_t{1});
  expect_all(record, {"!(guarded == 7)", "u32 == 7 || guarded == 7", "!guarded == 7 && u32 == 7"},
             {"guarded == 7", "guarded != 7", "guarded & 7", "guarded_real == 0",
              "guarded_real < 1", "guarded == 7 || guarded != 7"});
}

// A text with a length has its NULs; what ends it is the one behind its last byte.
TEST(FilterRun, TextsWithNul) {
  TestRecord record;
  record.text("counted", std::string("ab\0cd", 5));
  expect_all(record,
             {"counted ~ 'ab*'", "counted ~ '*cd'", "counted ~ 'ab?cd'", "counted != 'ab'",
              "counted ~ '*b?c*'"},
             {"counted == 'ab'", "counted ~ '*b'", "counted == 'abcd'"});
  record.text("counted", std::string("ab\0", 3));
  expect_all(record, {"counted ~ 'ab?'", "counted != ab"}, {"counted == ab", "counted ~ 'ab?c'"});
  record.text("counted", "ab");
  expect_all(record, {"counted == ab", "counted ~ '*b'"}, {"counted != ab"});
  record.text("name", std::string("ab\0cd", 5));  // one without
  expect_all(record, {"name == ab"}, {"name ~ '*cd'"});
  record.set("counted", uint32_t{104});
  expect_all(record, {"counted == ''"}, {"counted == ab"});
}

TEST(FilterRun, LogicAndPrecedence) {
  TestRecord record;
  record.set("prev_pid", 1).set("next_pid", 2);
  expect_all(record,
             {"prev_pid == 1 && next_pid == 2", "prev_pid == 1 || next_pid == 3 && next_pid == 4",
              "next_pid == 3 && next_pid == 4 || prev_pid == 1", "!prev_pid == 5",
              "!(prev_pid == 5 || next_pid == 3)", "!(prev_pid == 1 && next_pid == 3)",
              "!(!(prev_pid == 1) || !(next_pid == 2))", "!!prev_pid == 1",
              "(prev_pid == 3 || prev_pid == 1) && !(next_pid == 3 || !next_pid == 2)"},
             {"prev_pid == 1 && next_pid == 3", "(prev_pid == 1 || next_pid == 3) && next_pid == 4",
              "!prev_pid == 1", "!(prev_pid == 1)", "!(prev_pid == 5 || next_pid == 2)",
              "!!!prev_pid == 1", "prev_pid == 0 || !(next_pid == 2)"});
}

TEST(FilterRun, TextsOfEveryKind) {
  const char pointed[] = "pointed at";
  TestRecord record;
  record.text("prev_comm", "bash").text("name", "eth0").text("rel", "relative");
  record.text("buf", "rest").set("ptr", pointed);
  expect_all(
      record,
      {"prev_comm == bash", "prev_comm == 'bash'", "prev_comm != \"bas\"", "name == eth0",
       "name != 'eth'", "rel == relative", "rel ~ '*tive'", "ptr == 'pointed at'",
       "ptr.ustring ~ 'point*'", "buf == rest", "prev_comm ~ '*sh'", "prev_comm ~ '!c*'"},
      {"prev_comm == bas", "prev_comm == bashs", "prev_comm != bash", "name == eth", "rel == rel",
       "ptr == pointed", "ptr != 'pointed at'", "buf != rest", "prev_comm == ''"});
  // A fixed array without NUL, and one that is empty.
  record.text("prev_comm", "0123456789abcdef");
  expect_all(record, {"prev_comm == '0123456789abcdef'", "prev_comm ~ '*ef'"},
             {"prev_comm == '0123456789abcde'"});
  record.text("prev_comm", "");
  expect_all(record, {"prev_comm == ''", "prev_comm ~ '*'"}, {"prev_comm != ''"});
}

TEST(FilterRun, Globs) {
  struct Row {
    const char* pattern;
    std::vector<const char*> yes, no;
  };
  const Row kRows[] = {
      {"ab*", {"ab", "abc"}, {"a", "xab"}},
      {"*ab", {"ab", "xab"}, {"aba", "b"}},
      {"*ab*", {"ab", "xabx"}, {"a", "ba"}},
      {"a*b", {"ab", "axxb"}, {"abx", "a"}},
      {"a*b*c", {"abc", "axbxbxc"}, {"acb", "abcx"}},
      {"a?c", {"abc"}, {"ac", "abbc"}},
      {"[a-c]x", {"ax", "cx"}, {"dx", "x"}},
      {"[!a-c]x", {"dx"}, {"ax", "x"}},
      {"[]x]", {"]", "x"}, {"[", "a"}},
      {"[!]x]", {"a"}, {"]", "x"}},
      {"[a-]", {"a", "-"}, {"b"}},
      {"[abc", {"[abc"}, {"a", "[ab"}},
      {"*[x", {"[x", "a[x"}, {"x"}},
      {"a\\*b", {"a*b"}, {"axb"}},
      {"a\\", {"a"}, {"a\\"}},
      {"*\\*", {"*", "a*"}, {"a"}},
      {"!ab*", {"xab"}, {"ab", "abc"}},
      {"!", {"a"}, {""}},
      {"*", {"", "a"}, {}},
      {"**", {"", "a"}, {}},
      {"plain", {"plain"}, {"plai", "plainx"}},
      {"1*", {"1*"}, {"12", "1"}},
      {"!1*", {"12"}, {"1*"}},
      {"*a*a*a*b", {"aaab", "aaaaab"}, {"aaaaaaaa"}},
  };
  for (const Row& row : kRows) {
    const std::string filter = std::string("name ~ '") + row.pattern + "'";
    for (const char* text : row.yes)
      EXPECT_TRUE(matches(filter, TestRecord().text("name", text))) << row.pattern << " " << text;
    for (const char* text : row.no)
      EXPECT_FALSE(matches(filter, TestRecord().text("name", text))) << row.pattern << " " << text;
  }
}

TEST(FilterRun, GlobsAgreeWithFnmatch) {
  const auto seed = uint64_t(std::time(nullptr));
  RandomFilter random(seed);
  const char* const kParts[] = {"a", "b", "*", "?", "[ab]", "[!a]", "[a-b]"};
  for (int i = 0; i < 20000; i++) {
    std::string pattern, text;
    for (uint64_t n = random.below(8); n; n--) pattern += kParts[random.below(7)];
    for (uint64_t n = random.below(12); n; n--) text += char('a' + random.below(3));
    const bool expected = fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
    ASSERT_EQ(matches("name ~ '" + pattern + "'", TestRecord().text("name", text)), expected)
        << "seed " << seed << ": " << pattern << " on " << text;
  }
}

TEST(FilterRun, Cpus) {
  const test::OneCpu one;
  const std::string number = std::to_string(one.cpu);
  TestRecord record;
  for (const char* name : {"CPU", "cpu", "common_cpu"}) {
    EXPECT_TRUE(matches(std::string(name) + " == " + number, record));
    EXPECT_TRUE(matches(std::string(name) + " & CPUS{" + number + "}", record));
    EXPECT_TRUE(matches(std::string(name) + " & CPUS{all}", record));
    EXPECT_FALSE(matches(std::string(name) + " > " + number, record));
    EXPECT_FALSE(matches(std::string(name) + " != CPUS{" + number + "}", record));
    EXPECT_FALSE(matches(std::string(name) + " == -1", record));
  }
  record.set("prev_pid", 2).set("u8", uint8_t{255}).cpus(6);
  expect_all(record,
             {"prev_pid == CPUS{2}", "prev_pid & CPUS{2}", "prev_pid & CPUS{1-2}",
              "prev_pid != CPUS{1-2}", "prev_pid != CPUS{1}", "cpus == CPUS{1-2}", "cpus & CPUS{2}",
              "cpus & CPUS{0,2}", "cpus != CPUS{1}", "prev_pid != CPUS{,}"},
             {"prev_pid == CPUS{1-2}", "prev_pid & CPUS{0-1}", "prev_pid != CPUS{2}",
              "u8 & CPUS{0-7}", "cpus == CPUS{1}", "cpus & CPUS{0,3}", "cpus != CPUS{1-2}",
              "prev_pid == CPUS{,}", "args & CPUS{0-7}", "cpus == 6"});
}

TEST(FilterRun, Comm) {
  char before[16];
  prctl(PR_GET_NAME, before);
  prctl(PR_SET_NAME, "a comm");
  TestRecord record;
  expect_all(record, {"COMM == 'a comm'", "comm ~ 'a*'", "COMM != b"}, {"COMM == a", "comm ~ b*"});
  {
    const test::Playing player(7, "played");
    expect_all(record, {"COMM == played"}, {"COMM == 'a comm'"});
  }
  prctl(PR_SET_NAME, before);
}

TEST(FilterRun, Functions) {
  TestRecord record;
  record.set("prev_state", uint64_t{8191}).set("u64", uint64_t{8192});
  expect_all(record,
             {"prev_state.function == one", "prev_state.function == 4096",
              "prev_state.function != two(int)", "u64.function == two", "u64.function != 0x1fff"},
             {"prev_state.function != one", "u64.function == one"});
}

TEST(FilterRun, ARecordThatIsTooShortOrPointsOutsideIsNoMatch) {
  TestRecord record;
  record.set("u64", uint64_t{1}).text("name", "x");
  FilterResult result = compile_filter("u64 == 1", test_context());
  EXPECT_TRUE(filter_match(result.program.get(), record.bytes.data(), 64));
  EXPECT_FALSE(filter_match(result.program.get(), record.bytes.data(), 63));
  EXPECT_FALSE(filter_interpret(result.program.get(), record.bytes.data(), 63));
  record.set("ptr", "a");  // 8 bytes from 72 on
  FilterResult pointer = compile_filter("ptr == a", test_context());
  EXPECT_TRUE(filter_match(pointer.program.get(), record.bytes.data(), 80));
  for (const uint32_t size : {72u, 76u, 79u}) {
    EXPECT_FALSE(filter_match(pointer.program.get(), record.bytes.data(), size)) << size;
    EXPECT_FALSE(filter_interpret(pointer.program.get(), record.bytes.data(), size)) << size;
  }
  record.set("name", uint32_t{1000 | 4 << 16}).set("cpus", uint32_t{0xffffffff});
  expect_all(record, {"!name == x"}, {"name != x", "name == x", "cpus != CPUS{1}"});
  // More than there is: cut at the end of the record.
  record.set("name", uint32_t{158 | 100 << 16});
  record.bytes[158] = record.bytes[159] = 'z';
  EXPECT_TRUE(matches("name == zz", record));
}

// --- pointers that cannot be followed

int faults_seen;

void on_fault(int, siginfo_t*, void* context) {
  auto& ip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const uint64_t fixup = fault_fixup(uint64_t(ip));
  if (!fixup) std::abort();
  ip = greg_t(fixup);
  faults_seen++;
}

TEST(FilterRun, AFaultIsNoMatchWhateverTheOperator) {
  struct sigaction action = {}, old_segv, old_bus;
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, &old_segv);
  sigaction(SIGBUS, &action, &old_bus);
  faults_seen = 0;
  auto* page = static_cast<char*>(
      mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(page + 4096, 4096, PROT_NONE);
  std::memset(page, 'x', 4096);
  for (const void* bad :
       {static_cast<const void*>(nullptr), reinterpret_cast<const void*>(~0ull),
        reinterpret_cast<const void*>(1ull << 63), static_cast<const void*>(page + 4090)}) {
    TestRecord record;
    record.set("ptr", bad);
    expect_all(record, {"!ptr == a"}, {"ptr == a", "ptr != a", "ptr ~ '*'", "ptr ~ '!a'"});
  }
  EXPECT_GT(faults_seen, 0);
  // The NUL is the page's last byte: nothing behind it is touched.
  page[4095] = 0;
  faults_seen = 0;
  TestRecord record;
  record.set("ptr", page + 4092);
  EXPECT_TRUE(matches("ptr == xxx", record));
  // At most 1024 bytes with the NUL.
  record.set("ptr", page + 1);
  EXPECT_TRUE(matches("ptr ~ '*x'", record));
  page[1 + 1022] = 'y';
  page[1 + 1023] = 'z';
  EXPECT_TRUE(matches("ptr ~ '*y'", record));
  EXPECT_EQ(faults_seen, 0);
  sigaction(SIGSEGV, &old_segv, nullptr);
  sigaction(SIGBUS, &old_bus, nullptr);
  munmap(page, 8192);
}

TEST(FilterRun, MachineCodeAndInterpreterAgree) {
  const auto seed = uint64_t(std::time(nullptr)) * 1000 + 1;
  RandomFilter random(seed);
  int matched = 0;
  for (int i = 0; i < 3000; i++) {
    const std::string text = random.expression();
    FilterResult result = compile_filter(text, test_context());
    ASSERT_FALSE(result.error) << "seed " << seed << ": " << text << ": " << result.error->text;
    ASSERT_NE(result.program->code, nullptr);
    for (int n = 0; n < 20; n++) {
      TestRecord record = random.record("abab");
      const uint32_t size = random.below(10) ? record.size() : uint32_t(random.below(176));
      const bool match = filter_match(result.program.get(), record.bytes.data(), size);
      const bool expected = filter_interpret(result.program.get(), record.bytes.data(), size);
      ASSERT_EQ(match, expected) << "seed " << seed << ": " << text;
      matched += match;
    }
  }
  EXPECT_GT(matched, 1000) << "the random filters say nothing";
}

TEST(FilterRun, AnyOfSeveralMatchesWhatOneOfThemDoes) {
  RandomFilter random(11);
  int matched = 0, of_them = 0;
  for (uint32_t i = 0; i < 400; i++) {
    std::vector<FilterProgramPtr> own;
    std::vector<const FilterProgram*> filters;
    while (filters.size() < 1 + i % 4) {
      own.push_back(compile_filter(random.expression(), test_context()).program);
      filters.push_back(own.back().get());
    }
    const FilterProgramPtr any = any_filter(filters);
    ASSERT_TRUE(any && any->code);
    for (int n = 0; n < 20; n++) {
      TestRecord record = random.record("abab");
      bool expected = false;
      for (const FilterProgram* one : filters)
        expected |= filter_interpret(one, record.bytes.data(), record.size());
      ASSERT_EQ(filter_interpret(any.get(), record.bytes.data(), record.size()), expected) << i;
      ASSERT_EQ(filter_match(any.get(), record.bytes.data(), record.size()), expected) << i;
      of_them++;
      matched += expected;
    }
  }
  EXPECT_GT(matched, 1000);
  EXPECT_LT(matched, of_them - 1000);
}

TEST(FilterRun, ManyProgramsComeAndGo) {
  std::vector<FilterProgramPtr> programs;
  TestRecord record;
  for (int i = 0; i < 500; i++) {
    record.set("prev_pid", i);
    std::string text = "prev_pid == " + std::to_string(i);
    for (int n = i % 70; n; n--) text += " && u8 == 0";
    FilterResult result = compile_filter(text, test_context());
    ASSERT_NE(result.program, nullptr);
    if (i % 3 == 0 && !programs.empty()) programs.erase(programs.begin() + i % 7 % 2);
    programs.push_back(std::move(result.program));
    EXPECT_TRUE(filter_match(programs.back().get(), record.bytes.data(), record.size()));
    EXPECT_FALSE(filter_match(programs.front().get(), record.bytes.data(), record.size()) && i > 9);
  }
}

}  // namespace
}  // namespace patchbay
