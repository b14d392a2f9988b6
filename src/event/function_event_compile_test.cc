// SPDX-License-Identifier: MIT
//
// From the line to the bytes of a record: types, offsets, print fmt (docs/files.md, "Record
// of a function event"), and the values by docs/decisions.md, D1, with every published example, run
// over memory of this program.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "event/event_call.h"
#include "event/function_event.h"

namespace patchbay {
namespace {

FunctionEventDef parse(std::string_view line) {
  FunctionEventParse result = parse_function_event(line, nullptr);
  if (result.error) ADD_FAILURE() << line << "\n" << result.error->text;
  return result.def ? *result.def : FunctionEventDef{};
}

EventCall make_call(std::string_view line) { return make_function_event_call(parse(line), 1399); }

FetchProgramPtr compile(std::string_view line) {
  FunctionEventDef def = parse(line);
  auto program = compile_function_event(def, make_function_event_call(def, 7), 4080);
  EXPECT_TRUE(program.ok()) << line;
  return program.ok() ? std::move(*program) : nullptr;
}

// A record, and its fields by their order.
struct Recorded {
  EventCall call;
  std::vector<uint8_t> bytes;
  template <typename T>
  T get(size_t field, size_t index = 0) const {
    T value;
    std::memcpy(&value, bytes.data() + call.fields[field + 2].offset + index * sizeof(T),
                sizeof(T));
    return value;
  }
  std::string string(size_t field) const {
    uint32_t data_loc = get<uint32_t>(field);
    return reinterpret_cast<const char*>(bytes.data()) + (data_loc & 0xffff);
  }
};

template <typename T>
uint64_t word(T value) {
  uint64_t result = 0;
  std::memcpy(&result, &value, sizeof value);
  return result;
}

Recorded record(std::string_view line, std::vector<uint64_t> args,
                std::vector<uint64_t> vectors = {}) {
  FunctionEventDef def = parse(line);
  Recorded result{make_function_event_call(def, 7), {}};
  auto program = compile_function_event(def, result.call, 4080);
  EXPECT_TRUE(program.ok());
  if (!program.ok()) return result;
  FetchRegisters frame = {};
  for (size_t i = 0; i < args.size(); i++) frame.arg[i] = args[i];
  for (size_t i = 0; i < vectors.size(); i++) frame.xmm[i][0] = vectors[i];
  result.bytes.assign((*program)->max_size, 0xee);
  uint32_t size = fetch_run(program->get(), &frame, nullptr, result.bytes.data());
  EXPECT_LE(size, result.bytes.size());
  result.bytes.resize(size);
  return result;
}

// What a call leaves, by its two programs: `args` at the entry; `result` and what memory has become
// at the return.
template <typename Meanwhile>
Recorded record_call(std::string_view line, std::vector<uint64_t> args, uint64_t result,
                     Meanwhile meanwhile, std::vector<uint64_t> vectors = {}) {
  FunctionEventDef def = parse(line);
  Recorded made{make_function_event_call(def, 7), {}};
  auto program = compile_function_event(def, made.call, 4080);
  EXPECT_TRUE(program.ok());
  if (!program.ok()) return made;
  const FetchProgram* taken = (*program)->at_entry;
  FetchRegisters frame = {};
  for (size_t i = 0; i < args.size(); i++) frame.arg[i] = args[i];
  for (size_t i = 0; i < vectors.size(); i++) frame.xmm[i][0] = vectors[i];
  std::vector<uint64_t> room(taken->max_size / 8 + 2, 0xeeeeeeeeeeeeeeee);
  auto* bytes = reinterpret_cast<uint8_t*>(room.data());
  room[0] = fetch_run(taken, &frame, nullptr, bytes);
  EXPECT_LE(room[0], taken->max_size);
  room[1] = 1234;
  meanwhile();
  FetchRegisters returned = {};
  std::memcpy(returned.arg, frame.arg, sizeof frame.arg);
  returned.reg[0] = result;
  returned.xmm[0][0] = result;
  made.bytes.assign((*program)->max_size, 0xee);
  const uint32_t size = fetch_run(program->get(), &returned, bytes, made.bytes.data());
  EXPECT_LE(size, made.bytes.size());
  made.bytes.resize(size);
  return made;
}

TEST(FunctionEventCall, AWholeCallsFormat) {
  const EventCall call = make_call("int fd = open(string path, x32 flags)");
  const std::string text = call.format_text();
  EXPECT_NE(text.find("field:__data_loc char[] path;\toffset:24;\tsize:4;"), text.npos) << text;
  EXPECT_NE(text.find("field:x32 flags;\toffset:28;\tsize:4;"), text.npos) << text;
  EXPECT_NE(text.find("field:int fd;\toffset:32;\tsize:4;\tsigned:1;"), text.npos) << text;
  EXPECT_NE(text.find("field:u64 duration;\toffset:40;\tsize:8;\tsigned:0;"), text.npos) << text;
  EXPECT_NE(text.find("\"%pS->%pS(path=%s, flags=%x) fd=%d duration=%llu\", REC->__parent_ip, "
                      "REC->__ip, __get_str(path), REC->flags, REC->fd, REC->duration"),
            text.npos)
      << text;
  EXPECT_EQ(make_call("void = f()").print_fmt,
            "\"%pS->%pS() duration=%llu\", REC->__parent_ip, REC->__ip, REC->duration");
  EXPECT_EQ(make_call("int fd = f(int $errno, int a)").print_fmt,
            "\"%pS->%pS(a=%d) fd=%d errno=%d duration=%llu\", REC->__parent_ip, REC->__ip, "
            "REC->a, REC->fd, REC->errno, REC->duration");
}

TEST(FunctionEventFetch, ConstantsAndWhatIsMissing) {
  const char* const line =
      "f(string unit=?, int factor=\\-7, double d=\\1.5, int value, u64 n=\\3, string/n text)";
  EXPECT_EQ(make_call(line).print_fmt,
            "\"%pS->%pS(unit=?, factor=%d, d=%llx, value=%d, n=%llu, text=%s)\", REC->__parent_ip, "
            "REC->__ip, REC->factor, REC->d, REC->value, REC->n, __get_str(text)");
  const Recorded r = record(line, {5, word("abcdef")});
  EXPECT_EQ(r.call.fields.size(), 2 + 5u);
  EXPECT_EQ(r.get<int>(0), -7);
  EXPECT_EQ(r.get<double>(1), 1.5);
  EXPECT_EQ(r.get<int>(2), 5);
  EXPECT_EQ(r.get<uint64_t>(3), 3u);
  EXPECT_EQ(r.string(4), "abc");
}

TEST(FunctionEventFetch, TheStackPointerTakesNoArgumentsPlace) {
  const FunctionEventDef def = parse("f(x64 %sp, int a, int b)");
  Recorded made{make_function_event_call(def, 7), {}};
  auto program = compile_function_event(def, made.call, 4080);
  ASSERT_TRUE(program.ok());
  EXPECT_TRUE(!(*program)->uses_reg && (*program)->scalar_only);
  FetchRegisters frame = {};
  frame.arg[0] = 11;
  frame.arg[1] = 12;
  frame.reg[4] = 0x7ffd'0000'1238;
  made.bytes.assign((*program)->max_size, 0xee);
  fetch_run(program->get(), &frame, nullptr, made.bytes.data());
  EXPECT_EQ(made.get<uint64_t>(0), frame.reg[4]);
  EXPECT_EQ(made.get<int32_t>(1), 11);
  EXPECT_EQ(made.get<int32_t>(2), 12);
}

// It is an int at the return, whatever type it is given.
TEST(FunctionEventFetch, ErrnoIsThatOfTheReturn) {
  errno = ENOENT;
  const auto meanwhile = [] { errno = EACCES; };
  const Recorded made = record_call("int r = f(u16 $errno, int a)", {5}, 7, meanwhile);
  EXPECT_EQ(made.get<int32_t>(0), 5);
  EXPECT_EQ(made.get<int32_t>(1), 7);
  EXPECT_EQ(made.get<uint16_t>(2), EACCES);
  const Recorded wide = record_call("void = f(long why=$errno)", {}, 0, [] { errno = -3; });
  EXPECT_EQ(wide.get<int64_t>(0), -3);
}

// What stands in st(0) is read where it stands, and is still there.
TEST(FunctionEventFetch, ALongDoubleThatIsReturned) {
  for (const char* line : {"long double r = f()", "struct {long double x} r = f()"}) {
    const FunctionEventDef def = parse(line);
    Recorded made{make_function_event_call(def, 7), {}};
    auto program = compile_function_event(def, made.call, 4080);
    ASSERT_TRUE(program.ok());
    std::vector<uint64_t> taken(16);
    made.bytes.assign((*program)->max_size, 0xee);
    taken[0] = 48;
    const FetchRegisters returned = {};
    const long double value = -1.0L / 3;
    long double after = 0;
    asm volatile("fldt %0" : : "m"(value));
    fetch_run(program->get(), &returned, reinterpret_cast<uint8_t*>(taken.data()),
              made.bytes.data());
    asm volatile("fstpt %0" : "=m"(after));
    EXPECT_EQ(after, value);
    EXPECT_EQ(made.get<long double>(0), value);
    for (size_t i = 10; i < 16; i++) EXPECT_EQ(made.bytes[made.call.fields[2].offset + i], 0);
    made.bytes.assign((*program)->max_size, 0xee);
    fetch_run(program->get(), &returned, reinterpret_cast<uint8_t*>(taken.data()),
              made.bytes.data());
    EXPECT_EQ(made.get<long double>(0), 0) << "nothing is there";
  }
}

// With something beside it, it is in memory, as every structure of more than 16 bytes.
TEST(FunctionEventFetch, ALongDoubleInAStructureThatIsReturned) {
  struct {
    long double x;
    int y;
  } value = {2.5L, 9};
  const Recorded made =
      record_call("struct {long double x, int y} r = f(int a)", {0, 4}, word(&value), [] {});
  EXPECT_EQ(made.get<int32_t>(0), 4);
  EXPECT_EQ(made.get<long double>(1), 2.5L);
  for (size_t i = 10; i < 16; i++) EXPECT_EQ(made.bytes[made.call.fields[3].offset + i], 0);
  EXPECT_EQ(made.get<int32_t>(2), 9);
}

TEST(FunctionEventFetch, AWholeCallKeepsWhatWasThereAtItsEntry) {
  char path[] = "/before", buffer[16] = "....";
  int32_t used = 0, numbers[3] = {1, 2, 3};
  const auto meanwhile = [&] {
    std::strcpy(path, "/after!");
    std::memcpy(buffer, "filled", 7);
    used = 6;
    numbers[1] = 22;
  };
  const Recorded made = record_call(
      "int n = f(string path, out string/n text, u8 small, out int used[0], int[3] were, "
      "out int[3] are | x64 at)",
      {word(path), word(buffer), 0x1ff, word(&used), word(numbers), word(numbers)},
      0xffffffff00000006, meanwhile);
  EXPECT_EQ(made.string(0), "/before");
  EXPECT_EQ(made.string(1), "filled");
  EXPECT_EQ(made.get<uint8_t>(2), 0xff);
  EXPECT_EQ(made.get<int32_t>(3), 6);
  EXPECT_EQ(made.get<int32_t>(4, 1), 2);
  EXPECT_EQ(made.get<int32_t>(5, 1), 22);
  EXPECT_EQ(made.get<uint64_t>(6), word(numbers));
  EXPECT_EQ(made.get<int32_t>(7), 6);
  EXPECT_EQ(made.get<uint64_t>(8), 1234u);
}

TEST(FunctionEventFetch, ResultsOfEveryKind) {
  const auto nothing = [] {};
  char text[] = "returned";
  const int32_t where[] = {5, 7};
  EXPECT_EQ(record_call("string s = f()", {}, word(text), nothing).string(0), "returned");
  EXPECT_EQ(record_call("int v[1] = f()", {}, word(where), nothing).get<int32_t>(0), 7);
  EXPECT_EQ(
      record_call("double d = f(double x)", {}, word(2.5), nothing, {word(9.0)}).get<double>(1),
      2.5);
  EXPECT_EQ(record_call("float d = f()", {}, word(2.5f), nothing).get<float>(0), 2.5f);
  EXPECT_EQ(record_call("string/n s = f(int n)", {3}, word(text), nothing).string(1), "ret");
  EXPECT_EQ(record_call("void = f(int n)", {3}, 0, nothing).get<uint64_t>(1), 1234u);
  // A length that is below 0 is not known.
  const Recorded failed =
      record_call("long n = read(out string/n s)", {word(text)}, uint64_t(-1), nothing);
  EXPECT_EQ(failed.get<uint32_t>(0) >> 16, 0u);
  EXPECT_EQ(failed.get<int64_t>(1), -1);
}

// A length that was taken at the entry is the one of the entry, whatever stands there since.
TEST(FunctionEventFetch, ALengthOfTheEntryServesAtTheReturn) {
  char text[] = "abcdef";
  int32_t room = 4;
  const Recorded made = record_call("void = f(out string/n s, int n[0])", {word(text), word(&room)},
                                    0, [&] { room = 1; });
  EXPECT_EQ(made.string(0), "abcd");
  EXPECT_EQ(made.get<int32_t>(1), 4);
}

// Behind six integers and eight floating-point numbers each is in the next word of the stack, in
// the order of the list.
TEST(FunctionEventFetch, ArgumentsOnTheStack) {
  const char text[] = "deep";
  const FunctionEventDef def = parse(
      "f(int a, NULL, NULL, NULL, NULL, NULL, s16 b, double NULL, double NULL, double NULL, "
      "double NULL, double NULL, double NULL, double NULL, double NULL, double c, string d, "
      "u8 e[1])");
  Recorded made{make_function_event_call(def, 7), {}};
  auto program = compile_function_event(def, made.call, 4080);
  ASSERT_TRUE(program.ok());
  EXPECT_FALSE((*program)->uses_reg);
  const uint64_t stack[] = {0xdead, 0xffff0000fffe, word(2.25), word(text), word(text)};
  FetchRegisters frame = {};
  frame.arg[0] = 11;
  frame.reg[4] = word(stack);
  made.bytes.assign((*program)->max_size, 0xee);
  fetch_run(program->get(), &frame, nullptr, made.bytes.data());
  EXPECT_EQ(made.get<int32_t>(0), 11);
  EXPECT_EQ(made.get<int16_t>(1), -2);
  EXPECT_EQ(made.get<double>(2), 2.25);
  EXPECT_EQ(made.string(3), "deep");
  EXPECT_EQ(made.get<uint8_t>(4), 'e');
}

TEST(FunctionEventFetch, WhatAFormatReads) {
  const char* const format = "%s %d %g";
  const Recorded one = record("f(long a, float b, string format, ...)",
                              {1, word(format), word("text"), 5}, {word(1.0), word(3.25)});
  EXPECT_EQ(one.string(2), format);
  // No vector register says al, which is 0 here.
  EXPECT_EQ(one.string(3), "\"text\", 5, ?");
  // The first text of the argument is another one.
  const char* const other = "%d %d %d";
  char line[80];
  (void)std::snprintf(line, sizeof line, "f(string a=%p | string format, ...)",
                      static_cast<const void*>(other));
  const Recorded second = record(line, {word("%d"), 5, 6, 7});
  EXPECT_EQ(second.string(0), other);
  EXPECT_EQ(second.string(2), "5");
  const EventCall call = make_call("f(string format, ...)");
  ASSERT_EQ(call.fields.size(), 4u);
  EXPECT_EQ(call.fields[3].name, "varargs");
  EXPECT_EQ(call.fields[3].type, "__data_loc char[]");
  EXPECT_EQ(call.print_fmt,
            "\"%pS->%pS(format=%s, varargs=%s)\", REC->__parent_ip, REC->__ip, "
            "__get_str(format), __get_str(varargs)");
  const FetchProgramPtr program = compile("f(string format, ...)");
  EXPECT_TRUE(program->uses_xmm);
  EXPECT_FALSE(program->scalar_only);
}

TEST(FunctionEventFetch, WhatACallTakesHasALimit) {
  const FunctionEventDef def = parse("void = f(string a, string b, string c, string d)");
  auto made = compile_function_event(def, make_function_event_call(def, 7), 4080);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().errno_value, E2BIG);
  EXPECT_NE(made.error().message().find("a call keeps 2040"), std::string::npos);
  // What is read at the return is no part of it.
  EXPECT_TRUE(compile("void = f(string a, string b, string c, out string d)"));
}

TEST(FunctionEventCall, EmptyEvent) {
  EXPECT_EQ(make_call("f()").format_text(),
            "name: f\nID: 1399\nformat:\n"
            "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
            "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
            "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
            "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
            "\n"
            "\tfield:unsigned long __parent_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
            "\tfield:unsigned long __ip;\toffset:16;\tsize:8;\tsigned:0;\n"
            "\nprint fmt: \"%pS->%pS()\", REC->__parent_ip, REC->__ip\n");
}

std::string fields_of(std::string_view line) {
  std::string text;
  EventCall call = make_call(line);
  for (size_t i = 2; i < call.fields.size(); i++) {
    const EventField& f = call.fields[i];
    text += f.type + " " + f.name + (f.array_len ? "[" + std::to_string(f.array_len) + "]" : "") +
            " " + std::to_string(f.offset) + "/" + std::to_string(f.size) + "/" +
            std::to_string(f.is_signed) + "; ";
  }
  return text;
}

TEST(FunctionEventCall, DoIrqExample) {
  EventCall call = make_call("do_IRQ(symbol ip[16] | x64[6] irq_stack[16])");
  std::string text = call.format_text();
  EXPECT_NE(text.find("\tfield:symbol ip;\toffset:24;\tsize:8;\tsigned:0;\n"
                      "\tfield:x64 irq_stack[6];\toffset:32;\tsize:48;\tsigned:0;\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(call.print_fmt,
            "\"%pS->%pS(ip=%pS, irq_stack=%llx:%llx:%llx:%llx:%llx:%llx)\", REC->__parent_ip, "
            "REC->__ip, REC->ip, "
            "REC->irq_stack[0], REC->irq_stack[1], REC->irq_stack[2], REC->irq_stack[3], "
            "REC->irq_stack[4], "
            "REC->irq_stack[5]");
}

TEST(FunctionEventCall, TypesSizesSignsAndAlignment) {
  EXPECT_EQ(fields_of("f(char a, short b, int c, long d, size_t e)"),
            "char a 24/1/1; short b 26/2/1; int c 28/4/1; long d 32/8/1; size_t e 40/8/0; ");
  EXPECT_EQ(fields_of("f(u8 a, s8 b, u16 c, s16 d, u32 e, s32 g)"),
            "u8 a 24/1/0; s8 b 25/1/1; u16 c 26/2/0; s16 d 28/2/1; u32 e 32/4/0; s32 g 36/4/1; ");
  EXPECT_EQ(fields_of("f(x8 a, x16 b, x32 c, x64 d, u64 e, s64 g)"),
            "x8 a 24/1/0; x16 b 26/2/0; x32 c 28/4/0; x64 d 32/8/0; u64 e 40/8/0; s64 g 48/8/1; ");
  EXPECT_EQ(fields_of("f(unsigned int skb, unsigned s8 a, unsigned symbol c, unsigned char[3] d)"),
            "unsigned int skb 24/4/0; unsigned s8 a 28/1/0; unsigned symbol c 32/8/0; unsigned "
            "char d[3] 40/3/0; ");
  EXPECT_EQ(fields_of("f(string path, float a, double b, int[3] c)"),
            "__data_loc char[] path 24/4/0; float a 28/4/1; double b 32/8/1; int c[3] 40/12/1; ");
}

TEST(FunctionEventCall, StringInTheFormat) {
  EventCall call = make_call("open(string path, char[8] comm)");
  EXPECT_NE(call.format_text().find("\tfield:__data_loc char[] path;\toffset:24;\tsize:4;\t"),
            std::string::npos);
  EXPECT_EQ(
      call.print_fmt,
      "\"%pS->%pS(path=%s, comm=%s)\", REC->__parent_ip, REC->__ip, __get_str(path), REC->comm");
}

TEST(FunctionEventValue, Scalars) {
  Recorded r = record("f(s8 a, short b, int c, long d, u16 e, x32 g)",
                      {0xff, 0xfffe, uint64_t(-3), uint64_t(-4), 65535, 0x123456789});
  EXPECT_EQ(r.get<int8_t>(0), -1);
  EXPECT_EQ(r.get<int16_t>(1), -2);
  EXPECT_EQ(r.get<int32_t>(2), -3);
  EXPECT_EQ(r.get<int64_t>(3), -4);
  EXPECT_EQ(r.get<uint16_t>(4), 65535);
  EXPECT_EQ(r.get<uint32_t>(5), 0x23456789u);
}

struct Memory {
  alignas(64) uint8_t at[1024];
  Memory() {
    for (size_t i = 0; i < sizeof at; i++) at[i] = uint8_t(i * 7 + i / 256);
  }
  template <typename T>
  T read(size_t offset) const {
    T value;
    std::memcpy(&value, at + offset, sizeof value);
    return value;
  }
  void point(size_t offset, const void* target) { std::memcpy(at + offset, &target, 8); }
  uint64_t address() const { return uint64_t(at); }
};

TEST(FunctionEventValue, IndexAndOffset) {
  Memory m;
  EXPECT_EQ(record("f(int skb[32])", {m.address()}).get<int>(0), m.read<int>(128));
  EXPECT_EQ(record("f(int skb+4[31])", {m.address()}).get<int>(0), m.read<int>(128));
  EXPECT_EQ(record("f(x64 param+4[2])", {m.address()}).get<uint64_t>(0), m.read<uint64_t>(20));
  EXPECT_EQ(record("f(x64 param+4)", {m.address()}).get<uint64_t>(0), m.address() + 4)
      << "no index, no load";
  EXPECT_EQ(record("f(x8 p[0])", {m.address()}).get<uint8_t>(0), m.read<uint8_t>(0));
  EXPECT_EQ(record("f(x16 p+1+2[0])", {m.address()}).get<uint16_t>(0), m.read<uint16_t>(3));
}

TEST(FunctionEventValue, ChainOfIndirects) {
  Memory m, n;
  m.point(16, n.at);
  Recorded r =
      record("f(x8[6] perm_addr+16[0]+558 | x8 a+16[0]+558[0] | x8[1] p+16[0]+558)", {m.address()});
  for (size_t i = 0; i < 6; i++) EXPECT_EQ(r.get<uint8_t>(0, i), n.at[558 + i]);
  EXPECT_EQ(r.get<uint8_t>(1), n.at[558]);
  EXPECT_EQ(r.get<uint8_t>(2), n.at[558]);
}

TEST(FunctionEventValue, VfsReadExample) {
  Memory file, operations;
  file.point(40, operations.at);
  operations.point(16, reinterpret_cast<const void*>(0x123456));
  EXPECT_EQ(record("__vfs_read(symbol read+40[0]+16)", {file.address()}).get<uint64_t>(0),
            0x123456u);
}

TEST(FunctionEventValue, IrqStackExample) {
  Memory m;
  Recorded r = record("do_IRQ(symbol ip[16] | x64[6] irq_stack[16])", {m.address()});
  EXPECT_EQ(r.get<uint64_t>(0), m.read<uint64_t>(128));
  for (size_t i = 0; i < 6; i++) EXPECT_EQ(r.get<uint64_t>(1, i), m.read<uint64_t>(128 + 8 * i));
}

TEST(FunctionEventValue, Strings) {
  char text[700];
  std::memset(text, 'x', sizeof text);
  text[699] = 0;
  const char* argv[2] = {"first", "second"};
  Recorded r =
      record("f(string s, string t, char[8] c, string a+8[0]+0, int n)",
             {uint64_t("select 1"), uint64_t(text), uint64_t("abc\0defg"), uint64_t(argv), 5});
  EXPECT_EQ(r.string(0), "select 1");
  EXPECT_EQ(r.string(1), std::string(511, 'x'));
  EXPECT_EQ(std::memcmp(r.bytes.data() + r.call.fields[4].offset, "abc\0defg", 8), 0);
  EXPECT_EQ(r.string(3), "second");
  EXPECT_EQ(r.get<int>(4), 5);
  EXPECT_EQ(record("f(string s+7)", {uint64_t("select 1")}).string(0), "1");
}

TEST(FunctionEventValue, Positions) {
  static int variable = 41;
  char line[128];
  std::snprintf(line, sizeof line,
                "f(NULL, x64 skb | int skb, NULL, int a=%p | int b, u8 last, NULL)",
                static_cast<void*>(&variable));
  Recorded r = record(line, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(r.get<uint64_t>(0), 2u);
  EXPECT_EQ(r.get<int>(1), 2);
  EXPECT_EQ(r.get<int>(2), 41);
  EXPECT_EQ(r.get<int>(3), 4);
  EXPECT_EQ(r.get<uint8_t>(4), 5);
}

TEST(FunctionEventValue, Addresses) {
  static int variable = 41;
  static const char text[] = "fixed";
  char line[256];
  std::snprintf(line, sizeof line,
                "f(int v=%p, int first, int %p | int second, string s=%p, char[5] c=%p)",
                static_cast<void*>(&variable), static_cast<void*>(&variable),
                static_cast<const void*>(text), static_cast<const void*>(text));
  for (int round = 0; round < 2; round++, variable++) {
    Recorded r = record(line, {1, 2, 3});
    EXPECT_EQ(r.get<int>(0), variable) << "the value follows the variable";
    EXPECT_EQ(r.get<int>(1), 1) << "an address takes no position";
    EXPECT_EQ(r.get<int>(2), variable);
    EXPECT_EQ(r.get<int>(3), 2);
    EXPECT_EQ(r.string(4), "fixed");
    EXPECT_EQ(std::memcmp(r.bytes.data() + r.call.fields[7].offset, "fixed", 5), 0);
  }
}

TEST(FunctionEventValue, FloatsAreCountedForThemselves) {
  static const double pair[2] = {0.5, 0.25};
  Recorded r = record("f(int a, double b, int c, float NULL, float d | float e, double p[1])",
                      {1, 2, uint64_t(pair), 4}, {word(1.5), word(9.0f), word(2.5f)});
  EXPECT_EQ(r.get<int>(0), 1);
  EXPECT_EQ(r.get<double>(1), 1.5);
  EXPECT_EQ(r.get<int>(2), 2);
  EXPECT_EQ(r.get<float>(3), 2.5f);
  EXPECT_EQ(r.get<float>(4), 2.5f);
  EXPECT_EQ(r.get<double>(5), 0.25);
}

TEST(FunctionEventCall, FieldsOfALengthInTheFormat) {
  const EventCall call =
      make_call("f(x8 a, string/n s, int[n/8] v, u64 n, unsigned long[/4] w, double[<n] d)");
  const std::string text = call.format_text();
  for (const char* line : {"field:__data_loc char[] s;\toffset:28;\tsize:4;\tsigned:0;",
                           "field:__data_loc int[] v;\toffset:32;\tsize:4;\tsigned:1;",
                           "field:u64 n;\toffset:40;\tsize:8;\tsigned:0;",
                           "field:__data_loc u64[] w;\toffset:48;\tsize:4;\tsigned:0;",
                           "field:__data_loc double[] d;\toffset:52;\tsize:4;\tsigned:1;"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  EXPECT_NE(call.print_fmt.find("__print_array(__get_dynamic_array(v), "
                                "__get_dynamic_array_len(v) / 4, 4)"),
            std::string::npos);
}

TEST(FunctionEventValue, LengthsThatAFieldSays) {
  struct Object {  // a text, and numbers between two addresses
    const char* text;
    uint64_t length;
    const int *begin, *end;
  };
  static const int kNumbers[] = {5, 6, 7};
  static const Object object{"hello, world", 5, kNumbers, kNumbers + 3};
  Recorded r = record(
      "f(x8 first, string/n s[0]+0 | u64 n+8[0] | int[<end/8] v+16[0]+0 | x64 end+24[0], "
      "string/m t, u8 m)",
      {1, uint64_t(&object), uint64_t(object.text), 0xff03});
  EXPECT_EQ(r.string(1), "hello");
  EXPECT_EQ(r.get<uint64_t>(2), 5u);
  EXPECT_EQ(r.string(5), "hel") << "the low byte is the length";
  const uint32_t where = r.get<uint32_t>(3);
  EXPECT_EQ(where >> 16, 12u);
  EXPECT_EQ(std::memcmp(r.bytes.data() + (where & 0xffff), kNumbers, 12), 0);
}

TEST(FunctionEventValue, OnlyBelowAnEnd) {
  struct Element {
    const char* text;
    uint64_t length;
  };
  static const Element kElements[] = {{"one", 3}, {"two!", 4}, {"never", 5}};
  struct List {
    const Element *begin, *end;
  };
  static const List list{kElements, kElements + 2};
  const std::string line =
      "f(string/a_n a[0][0]+0 | u64 a_n[0]+8[0]<end | string/b_n b[0]+16[0]+0 | "
      "u64 b_n[0]+24[0]<end | string/c_n c[0]+32[0]+0 | u64 c_n[0]+40[0]<end | x64 end+8[0])";
  Recorded r = record(line, {uint64_t(&list)});
  EXPECT_EQ(r.string(0), "one");
  EXPECT_EQ(r.string(2), "two!");
  EXPECT_EQ(r.string(4), "");
  EXPECT_EQ(r.get<uint64_t>(1), 3u);
  EXPECT_EQ(r.get<uint64_t>(3), 4u);
  EXPECT_EQ(r.get<uint64_t>(5), 0u);
}

TEST(FunctionEventCompile, WhatTheFastPathMayRelyOn) {
  EXPECT_TRUE(compile("f(int a, long b)")->scalar_only);
  EXPECT_TRUE(compile("f()")->scalar_only);
  EXPECT_TRUE(compile("f(int a+8, x8 b)")->scalar_only);
  for (const char* line :
       {"f(int a[0])", "f(string s)", "f(int[2] a)", "f(double d)", "f(int a=0x10)"})
    EXPECT_FALSE(compile(line)->scalar_only) << line;
  EXPECT_FALSE(compile("f(x64 a|x64 a|x64 a|x64 a|x64 a|x64 a|x64 a|x64 a|x64 a|x64 a|x64 a|x64 a)")
                   ->scalar_only)
      << "longer than 112 bytes";
  EXPECT_TRUE(compile("f(double d)")->uses_xmm);
  EXPECT_FALSE(compile("f(double d[0])")->uses_xmm);
}

TEST(FunctionEventCompile, SizesAndGaps) {
  struct Row {
    const char* line;
    uint32_t fixed, max;
    bool gaps;
  };
  for (Row row :
       {Row{"f()", 24, 24, false}, Row{"f(int a)", 28, 28, false}, Row{"f(x8 a)", 25, 28, false},
        Row{"f(x8 a, int b)", 32, 32, true}, Row{"f(string s)", 28, 540, false},
        Row{"f(string s, x8 c)", 29, 544, false}, Row{"f(string/n/8 s, int n)", 32, 44, false},
        Row{"f(int[/2] v)", 28, 40, false}, Row{"f(string s, string t)", 32, 1056, false}}) {
    FetchProgramPtr program = compile(row.line);
    EXPECT_EQ(program->fixed_size, row.fixed) << row.line;
    EXPECT_EQ(program->max_size, row.max) << row.line;
    EXPECT_EQ(bool(program->has_gaps), row.gaps) << row.line;
  }
  Recorded r = record("f(x8 a, int b, x8 c)", {0xaa, 0x11223344, 0xbb});
  EXPECT_EQ(std::string(r.bytes.begin() + 24, r.bytes.end()),
            std::string("\xaa\0\0\0\x44\x33\x22\x11\xbb\0\0\0", 12));
}

TEST(FunctionEventCompile, RecordsThatFitNoSubBufferAreRefused) {
  auto errno_of = [](std::string_view line, uint32_t max) {
    FunctionEventDef def = parse(line);
    auto program = compile_function_event(def, make_function_event_call(def, 7), max);
    return program.ok() ? 0 : program.error().errno_value;
  };
  EXPECT_EQ(errno_of("f(char[4056] a)", 4080), 0);
  EXPECT_EQ(errno_of("f(char[4057] a)", 4080), E2BIG);
  EXPECT_EQ(errno_of("f(char[60000] a, string s)", 500000), 0);
  EXPECT_EQ(errno_of("f(char[65536] a, string s)", 500000), E2BIG) << "__data_loc reaches 64 KiB";
  EXPECT_EQ(errno_of("f(char[65536] a)", 500000), 0);
}

TEST(FunctionEventByValue, AWordIsWhereItsMembersSayIt) {
  const Recorded made = record(
      "f(int a, struct {int x, float y, double z} p, struct {float x, float y} q, s128 w)",
      {1, 0x3fc0000000000002, 0x1122334455667788, 0x99}, {word(2.5), word(0x4020000040400000)});
  EXPECT_EQ(made.get<int>(0), 1);
  EXPECT_EQ(made.get<int>(1), 2);
  EXPECT_EQ(made.get<float>(2), 1.5f);
  EXPECT_EQ(made.get<double>(3), 2.5);
  EXPECT_EQ(made.get<float>(4), 3.0f);
  EXPECT_EQ(made.get<float>(5), 2.5f);
  EXPECT_EQ(made.get<uint64_t>(6), 0x1122334455667788u);
  EXPECT_EQ(made.get<uint64_t>(6, 1), 0x99u);
}

struct Large {
  long a;
  int b;
  const char* c;
};

TEST(FunctionEventByValue, AResultInMemoryTakesTheFirstRegister) {
  const Large large{7, -8, "nine"};
  const Recorded made = record_call("struct {long a, int b, string c} r = f(int x)",
                                    {word(&large), 5}, word(&large), [] {});
  EXPECT_EQ(made.get<int>(0), 5);
  EXPECT_EQ(made.get<long>(1), 7);
  EXPECT_EQ(made.get<int>(2), -8);
  EXPECT_EQ(made.string(3), "nine");
}

}  // namespace
}  // namespace patchbay
