// SPDX-License-Identifier: MIT
#include "cmd/measure/call_text.h"

#include <gtest/gtest.h>

#include "cmd/measure/call_lines.h"
#include "ring_buffer/buffer_file.h"

namespace patchbay::cmd {
namespace {

// Fields from offset 8 on, one behind the other.
EventCall event_of(std::vector<EventField> fields) {
  EventCall call;
  uint32_t offset = 8;
  for (EventField& field : fields) {
    field.offset = offset;
    offset += field.size;
    call.fields.push_back(field);
  }
  return call;
}

EventCall entry_of(std::vector<EventField> fields) {
  std::vector<EventField> all = {{"unsigned long", "__parent_ip", 0, 8},
                                 {"unsigned long", "__ip", 0, 8}};
  all.insert(all.end(), fields.begin(), fields.end());
  return event_of(std::move(all));
}

EventCall return_of(std::vector<EventField> fields) {
  std::vector<EventField> all = {{"unsigned long", "__probe_func", 0, 8},
                                 {"unsigned long", "__probe_ret_ip", 0, 8}};
  all.insert(all.end(), fields.begin(), fields.end());
  return event_of(std::move(all));
}

class Record {
 public:
  explicit Record(const EventCall& call) {
    size_t size = 8;
    for (const EventField& field : call.fields)
      size = std::max(size, size_t(field.offset) + field.size);
    bytes_.resize(size);
  }
  template <typename T>
  Record& set(const EventCall& call, const char* field, T value) {
    std::memcpy(bytes_.data() + call.find(field)->offset, &value, sizeof value);
    return *this;
  }
  // With its NUL; `size` 0: it could not be read.
  Record& set_text(const EventCall& call, const char* field, std::string_view text, bool is_there) {
    const size_t size = is_there ? text.size() + 1 : 0;
    set(call, field, uint32_t(bytes_.size() | size << 16));
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    bytes_.push_back(0);
    return *this;
  }
  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

EventField text(const char* name) { return {"__data_loc char[]", name, 0, 4}; }

template <typename T>
std::string shown(const EventField& field, T value, bool has_types) {
  const EventCall entry = entry_of({field});
  const CallText call("f", entry, nullptr, "", has_types);
  std::string out;
  call.append_call(&out, Record(entry).set(entry, field.name.c_str(), value).bytes(), 1, {});
  return out;
}

TEST(CallText, Scalars) {
  EXPECT_EQ(shown({"int", "a", 0, 4, true}, -5, true), "f(-5)");
  EXPECT_EQ(shown({"unsigned int", "a", 0, 4}, 4000000000u, true), "f(4000000000)");
  EXPECT_EQ(shown({"u64", "a", 0, 8}, ~uint64_t{0}, true), "f(18446744073709551615)");
  EXPECT_EQ(shown({"x64", "p", 0, 8}, uint64_t{0}, true), "f(NULL)");
  EXPECT_EQ(shown({"x64", "p", 0, 8}, uint64_t{0}, false), "f(0x0)");
  EXPECT_EQ(shown({"x64", "p", 0, 8}, uint64_t{0x7f12}, true), "f(0x7f12)");
  EXPECT_EQ(shown({"int", "oflag", 0, 4, true}, 0x80000, true), "f(0x80000)");
  EXPECT_EQ(shown({"double", "d", 0, 8}, 2.5, true), "f(2.5)");
  EXPECT_EQ(shown({"float", "d", 0, 4}, 0.25f, true), "f(0.25)");
  EXPECT_EQ(shown({"char", "c", 0, 1}, 'x', true), "f('x')");
  EXPECT_EQ(shown({"char", "c", 0, 1}, '\n', true), "f('\\n')");
  EXPECT_EQ(shown({"char", "c", 0, 1}, '\'', true), "f('\\'')");
  EXPECT_EQ(shown({"char", "c", 0, 1}, '"', true), "f('\"')");
}

// An argument "s" whose address is recorded, too.
std::string shown_text(std::string_view value, uint64_t address, bool is_there, bool can_read) {
  const EventCall entry = entry_of({text("s"), {"x64", "s_at", 0, 8}});
  const CallText call("f", entry, nullptr, "", true);
  Record record(entry);
  record.set(entry, "s_at", address).set_text(entry, "s", value, is_there);
  CallTextContext context;
  context.can_read = [can_read](int32_t, uint64_t) { return can_read; };
  std::string out;
  call.append_call(&out, record.bytes(), 1, context);
  return out;
}

TEST(CallText, TextsThatAreNoneAreNotShownAsTexts) {
  EXPECT_EQ(shown_text("/etc/passwd", 0x1000, true, true), "f(\"/etc/passwd\")");
  EXPECT_EQ(shown_text("", 0, true, true), "f(NULL)");
  EXPECT_EQ(shown_text("", 0x1000, true, true), "f(\"\")");
  EXPECT_EQ(shown_text("", 0x1000, true, false), "f(0x1000)");
  EXPECT_EQ(shown_text("", 0x1000, false, true), "f(0x1000)");
  EXPECT_EQ(shown_text("a\"b\\c\n\x1b[31m\xff", 1, true, true),
            "f(\"a\\\"b\\\\c\\n\\x1b[31m\\xff\")");
  EXPECT_EQ(shown_text(std::string(511, 'x'), 1, true, true),
            "f(\"" + std::string(511, 'x') + "\"...)");
  EXPECT_EQ(shown_text(std::string(510, 'x'), 1, true, true),
            "f(\"" + std::string(510, 'x') + "\")");
}

TEST(CallText, WhatIsPassedOnlySometimes) {
  const EventCall entry =
      entry_of({{"int", "flags", 0, 4, true}, {"u32", "mode", 0, 4}, {"int", "n", 0, 4, true}});
  FunctionValueNames names;
  names.conditions = {{"mode", "flags", 0x40, {}}, {"n", "flags", 0, {3, 0x41}}};
  names.octal = {"mode"};
  const CallText call("f", entry, nullptr, "", true, names);
  const auto shown_with = [&](int flags, uint32_t mode) {
    std::string out;
    Record record(entry);
    record.set(entry, "flags", flags).set(entry, "mode", mode).set(entry, "n", -5);
    call.append_call(&out, record.bytes(), 1, {});
    return out;
  };
  EXPECT_EQ(shown_with(2, 0644), "f(0x2)");
  EXPECT_EQ(shown_with(3, 0644), "f(0x3, -5)");
  EXPECT_EQ(shown_with(0x40, 0644), "f(0x40, 0644)");
  EXPECT_EQ(shown_with(0x41, 0), "f(0x41, 0, -5)");
}

TEST(CallText, ValuesHaveTheNamesOfTheirEnumeration) {
  const auto names = [](std::vector<NamedValue> values, ValueNames::Kind kind) {
    return std::make_shared<const ValueNames>(std::move(values), kind);
  };
  FunctionValueNames all;
  all.arguments = {
      {"oflag", names({{"O_RDONLY", 0}, {"O_CLOEXEC", 0x80000}}, ValueNames::Kind::kFlags)},
      {"whence", names({{"SEEK_SET", 0}, {"SEEK\x1b", -2}}, ValueNames::Kind::kEnumeration)},
      {"letter", names({{"A", 'a'}}, ValueNames::Kind::kEnumeration)}};
  all.result = names({{"kDone", 1}}, ValueNames::Kind::kEnumeration);
  const EventCall entry = entry_of({{"int", "oflag", 0, 4, true},
                                    {"int", "whence", 0, 4, true},
                                    {"char", "letter", 0, 1, true},
                                    {"int", "other", 0, 4, true}});
  const EventCall returned = return_of({{"s32", "ret", 0, 4, true}});
  const CallText call("f", entry, &returned, "s32", true, all);
  const auto shown = [&](int oflag, int whence, int result) {
    Record record(entry), back(returned);
    record.set(entry, "oflag", oflag).set(entry, "whence", whence).set(entry, "letter", 'a');
    back.set(returned, "ret", result);
    std::string out;
    call.append_call(&out, record.bytes(), 1, {});
    call.append_result(&out, back.bytes(), 1, {});
    return out;
  };
  EXPECT_EQ(shown(0, 0, 1), "f(O_RDONLY, SEEK_SET, 'a', 0) = kDone");
  EXPECT_EQ(shown(0x80001, 7, 2), "f(O_CLOEXEC|0x1, 7, 'a', 0) = 2");
  EXPECT_EQ(shown(0x4000, -2, -1), "f(0x4000, SEEK\\x1b, 'a', 0) = -1");
  std::string cut;
  call.append_call(&cut, Record(entry).bytes().first(26), 1, {});
  EXPECT_EQ(cut, "f((cut), (cut), (cut), (cut))");
}

struct ResultCase {
  const char* result;
  EventField field;
  uint64_t value;
  const char* text;
  bool fails;
};

TEST(CallText, Results) {
  const EventCall entry = entry_of({});
  const EventField kInt{"s32", "ret", 0, 4, true}, kWord{"u64", "ret", 0, 8};
  const ResultCase cases[] = {
      {"int", kInt, 3, " = 3", false},
      {"int", kInt, ~uint64_t{0}, " = -1", true},
      {"int", kInt, uint64_t(-2), " = -2", false},
      {"u32", {"u32", "ret", 0, 4}, 0xffffffff, " = 4294967295", false},
      {"x64", kWord, 0, " = NULL", true},
      {"x64", kWord, ~uint64_t{0}, " = 0xffffffffffffffff", true},
      {"x64", kWord, 0x5581, " = 0x5581", false},
      {"void", kWord, 0, "", false},
      {"", kWord, 0, " = ?", false},
  };
  for (const ResultCase& one : cases) {
    const EventCall returned = return_of({one.field});
    const CallText call("f", entry, &returned, one.result, true);
    Record record(returned);
    record.set(returned, "__probe_ret_ip", uint64_t{0x77});
    if (one.field.size == 4)
      record.set(returned, "ret", uint32_t(one.value));
    else
      record.set(returned, "ret", one.value);
    std::string out;
    call.append_result(&out, record.bytes(), 1, {});
    EXPECT_EQ(out, one.text) << one.result;
    EXPECT_EQ(call.is_failure(record.bytes()), one.fails) << one.text;
    EXPECT_EQ(call.caller_of_return(record.bytes()), 0x77u);
    EXPECT_EQ(call.caller_of_return(record.bytes().first(10)), 0u);
  }
}

struct FailureCase {
  FailureSign sign;
  int32_t result, error;
  const char* text;
  bool fails;
};

TEST(CallText, ACallThatHasFailedSaysWhy) {
  const FailureCase cases[] = {
      {FailureSign::kErrno, -1, ENOENT, " = -1 ENOENT", true},
      {FailureSign::kErrno, -1, EAGAIN, " = -1 EAGAIN", true},
      {FailureSign::kErrno, 3, ENOENT, " = 3", false},  // errno is of a call before
      {FailureSign::kErrno, -1, 0, " = -1", true},      // nothing has set it
      {FailureSign::kErrno, -1, 4711, " = -1", true},   // no error has this number
      {FailureSign::kErrno, -1, -2, " = -1", true},
      {FailureSign::kUnknown, -1, ENOENT, " = -1", true},
      {FailureSign::kResult, EBUSY, ENOENT, " = 16 EBUSY", true},
      {FailureSign::kResult, 0, ENOENT, " = 0", false},
      {FailureSign::kResult, -1, ENOENT, " = -1", true},
      {FailureSign::kResult, 4711, ENOENT, " = 4711", true},
  };
  const EventCall entry = entry_of({});
  const EventCall returned = return_of({{"s32", "ret", 0, 4, true}, {"s32", "errno", 0, 4, true}});
  for (const FailureCase& one : cases) {
    const CallText call("f", entry, &returned, "int", true, {}, one.sign);
    Record record(returned);
    record.set(returned, "ret", one.result).set(returned, "errno", one.error);
    std::string out;
    call.append_result(&out, record.bytes(), 1, {});
    EXPECT_EQ(out, one.text);
    EXPECT_EQ(call.is_failure(record.bytes()), one.fails) << one.text;
  }
  const EventCall text = return_of(
      {{"u64", "ret", 0, 8}, {"__data_loc char[]", "text", 0, 4}, {"s32", "errno", 0, 4, true}});
  const CallText getcwd("getcwd", entry, &text, "string", true, {}, FailureSign::kErrno);
  Record record(text);
  record.set(text, "ret", uint64_t{0}).set(text, "errno", int32_t{ERANGE});
  std::string out;
  getcwd.append_result(&out, record.bytes(), 1, {});
  EXPECT_EQ(out, " = NULL ERANGE");
}

TEST(CallText, ATextAsResult) {
  const EventCall entry = entry_of({}), returned = return_of({{"u64", "ret", 0, 8}, text("text")});
  const CallText call("getenv", entry, &returned, "string", true);
  const auto result = [&](std::string_view value, uint64_t address, bool is_there) {
    Record record(returned);
    record.set(returned, "ret", address).set_text(returned, "text", value, is_there);
    std::string out = call.is_failure(record.bytes()) ? "fails" : "";
    call.append_result(&out, record.bytes(), 1, {});
    return out;
  };
  EXPECT_EQ(result("C.UTF-8", 0x10, true), " = \"C.UTF-8\"");
  EXPECT_EQ(result("", 0x10, true), " = \"\"");
  EXPECT_EQ(result("", 0x10, false), " = 0x10");
  EXPECT_EQ(result("", 0, false), "fails = NULL");
}

TEST(CallText, ARecordThatIsShortIsNotReadBeyondItsEnd) {
  const EventCall entry = entry_of({text("s"), {"int", "n", 0, 4, true}, {"x64[4]", "a", 0, 32}});
  const CallText call("f", entry, nullptr, "", true);
  const Record whole = Record(entry).set(entry, "s", 0xffffffffu);
  for (size_t size = 0; size <= whole.bytes().size(); size++) {
    const std::vector<uint8_t> cut(whole.bytes().begin(), whole.bytes().begin() + long(size));
    std::string out;
    call.append_call(&out, cut, 1, {});
    EXPECT_TRUE(out.starts_with("f(") && out.ends_with(")")) << out;
    (void)call.caller_of_entry(cut);
  }
}

TEST(CallText, AWholeCallIsAnEntryAndAReturn) {
  EventCall whole = entry_of({{"int", "a", 0, 4, true},
                              {"int", "__ret", 0, 4, true},
                              {"int", "__errno", 0, 4, true},
                              {"u64", "duration", 0, 8}});
  whole.print_fmt = "\"%pS->%pS(a=%d) __ret=%d __errno=%d duration=%llu\", REC->a";
  const auto [entry, returned] = split_whole_call(whole);
  const CallText call("f", entry, &returned, "int", true, {}, FailureSign::kErrno);
  Record record(whole);
  record.set(whole, "a", 5).set(whole, "__ret", -1).set(whole, "__errno", 2);
  record.set(whole, "duration", uint64_t{77});
  std::string out;
  call.append_call(&out, record.bytes(), 1, {});
  call.append_result(&out, record.bytes(), 1, {});
  EXPECT_EQ(out, "f(5) = -1 ENOENT");
  EXPECT_EQ(call.duration_of_whole(record.bytes()), 77u);
  EXPECT_TRUE(call.is_failure(record.bytes()));

  EventCall text_alone = entry_of({text("s"), {"u64", "duration", 0, 8}});
  text_alone.print_fmt = "\"%pS->%pS() s=%s duration=%llu\", __get_str(s)";
  const auto [none, result] = split_whole_call(text_alone);
  const CallText named("g", none, &result, "string", true);
  out.clear();
  Record said(text_alone);
  said.set_text(text_alone, "s", "one", true);
  named.append_call(&out, said.bytes(), 1, {});
  named.append_result(&out, said.bytes(), 1, {});
  EXPECT_EQ(out, "g() = \"one\"");
  EXPECT_FALSE(named.is_failure(said.bytes()));
  (void)split_whole_call(EventCall());  // no print fmt, no field
}

TEST(CallText, Milliseconds) {
  const auto shown = [](uint64_t ns) {
    std::string text;
    put_milliseconds(&text, ns);
    return text;
  };
  EXPECT_EQ(shown(0), "0.000000 ms");
  EXPECT_EQ(shown(345), "0.000345 ms");
  EXPECT_EQ(shown(9'999), "0.009999 ms");
  EXPECT_EQ(shown(10'000), "0.010 ms");
  EXPECT_EQ(shown(12'345), "0.012 ms");
  EXPECT_EQ(shown(999'500), "1.000 ms");
  EXPECT_EQ(shown(1'234'567'890), "1234.568 ms");
  EXPECT_EQ(shown(~uint64_t{0}), "18446744073709.552 ms");
}

// --- lines

// The lines of main(1) { leaf(2) } and a failed call of another thread.
std::string lines_of(const CallLineOptions& options, bool with_table = false) {
  const EventCall entry = entry_of({{"int", "n", 0, 4, true}}),
                  returned = return_of({{"s32", "ret", 0, 4, true}});
  const std::vector<CallText> functions = {{"outer", entry, &returned, "int", true},
                                           {"leaf", entry, &returned, "int", true}};
  const auto entered = [&](int n) { return Record(entry).set(entry, "n", n); };
  const auto result = [&](int n) { return Record(returned).set(returned, "ret", n); };
  const CallTextContext context;
  CallTotals totals;
  CallLines lines(options, functions, context, nullptr, &totals);
  OpenCalls calls(&lines);
  calls.enter(7, 1000, 0, 1, 0, entered(1).bytes());
  calls.enter(7, 2000, 1, 2, 0, entered(2).bytes());
  calls.leave(7, 3000, 1, 2, result(5).bytes());
  calls.leave(7, 21000, 0, 1, result(6).bytes());
  lines.lost(12);
  lines.lost(kLostUnknown);
  calls.enter(8, 30000, 1, 2, 0, entered(3).bytes());
  calls.leave(8, 30001, 1, 2, result(-1).bytes());
  calls.enter(7, 40000, 1, 2, 0, entered(4).bytes());
  calls.finish(50000);
  return with_table ? totals.table() : *lines.out();
}

TEST(CallLines, OneLineACall) {
  EXPECT_EQ(lines_of({}),
            "leaf(2) = 5 <0.001000 ms>\n"
            "outer(1) = 6 <0.020 ms>\n"
            "... 12 events lost\n"
            "... some events lost\n"
            "[8] leaf(3) = -1 <0.000001 ms>\n"
            "[7] leaf(4) <unfinished ...>\n");
}

TEST(CallLines, Indented) {
  CallLineOptions options;
  options.indented = true;
  EXPECT_EQ(lines_of(options).substr(0, 82),
            "outer(1) {\n"
            "  leaf(2) = 5 <0.001000 ms>\n"
            "} = 6 <0.020 ms>  /* outer */\n"
            "... 12 events");
}

TEST(CallLines, LeftOut) {
  CallLineOptions options;
  options.errors_only = true;
  EXPECT_EQ(lines_of(options),
            "... 12 events lost\n... some events lost\n[8] leaf(3) = -1 <0.000001 ms>\n");
  options = {};
  options.longer_ns = 10'000;
  options.indented = true;
  EXPECT_EQ(lines_of(options),
            "outer(1) = 6 <0.020 ms>\n... 12 events lost\n... some events lost\n"
            "[7] leaf(4) <unfinished ...>\n");
}

TEST(CallLines, Table) {
  CallLineOptions options;
  options.table = true;
  EXPECT_EQ(lines_of(options), "");
  EXPECT_EQ(lines_of(options, true),
            "     calls    errors       total ms        mean ms         max ms  function\n"
            "         1         0          0.020       0.020000       0.020000  outer\n"
            "         3         1          0.001       0.000500       0.001000  leaf\n");
}

}  // namespace
}  // namespace patchbay::cmd
