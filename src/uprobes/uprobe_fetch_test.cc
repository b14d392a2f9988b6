// SPDX-License-Identifier: MIT
#include "uprobes/uprobe_fetch.h"

#include <gtest/gtest.h>

#include <cstring>

#include "event/function_event.h"

namespace patchbay {
namespace {

uint64_t address_of(std::string_view name) { return name == "counter" ? 0x405010 : 0; }

std::variant<UprobeFetch, NoUprobeForm> split(std::string_view line, UprobeSite site) {
  const FunctionEventParse parsed = parse_function_event(line, address_of);
  EXPECT_TRUE(parsed.def) << line;
  const EventCall call = make_function_event_call(*parsed.def, 7);
  std::vector<std::string> names;
  for (size_t i = 2; i < call.fields.size(); i++) names.push_back(call.fields[i].name);
  auto program = compile_function_event(*parsed.def, call, 4000);
  EXPECT_TRUE(program.ok()) << line;
  return split_fetch(**program, site, names);
}

UprobeSite site_of(UprobeAbi abi) {
  UprobeSite site;
  site.abi = abi;
  site.address = 0x401140;
  site.file_offset = 0x1140;
  site.module_start = 0x400000;
  site.module_end = 0x500000;
  return site;
}

std::string text_of(const std::variant<UprobeFetch, NoUprobeForm>& made) {
  if (const auto* none = std::get_if<NoUprobeForm>(&made))
    return std::to_string(none->field) + ": " + none->why;
  std::string text;
  for (const KernelArgument& argument : std::get<UprobeFetch>(made).arguments)
    text += (text.empty() ? "" : " ") + argument.name + "=" + argument.fetch;
  return text;
}

struct Case {
  const char* line;
  const char* arguments;  // or "FIELD: SENTENCE", its beginning
};

TEST(UprobeFetch, ArgumentsOfX86_64) {
  constexpr Case kCases[] = {
      {"f()", "__v0=$stack0:u64"},
      {"f(int n)", "__v0=$stack0:u64 n=%di:u64"},
      {"f(NULL, u8 c, x64 p)", "__v0=$stack0:u64 c=%si:u64 p=%dx:u64"},
      {"f(int a, int b, int c, int d, int e, int g)",
       "__v0=$stack0:u64 a=%di:u64 b=%si:u64 c=%dx:u64 d=%cx:u64 e=%r8:u64 g=%r9:u64"},
      // What is added to a number is ours to add.
      {"f(int n+4)", "__v0=$stack0:u64 n=%di:u64"},
      {"f(int n[0])", "__v0=$stack0:u64 n=+0(%di):u32"},
      {"f(short n[3])", "__v0=$stack0:u64 n=+6(%di):u16"},
      {"f(int n+8[0])", "__v0=$stack0:u64 n=+8(%di):u32"},
      // A pointer in between is an argument, which says whether it could be read.
      {"f(long n[1][2])", "__v0=$stack0:u64 __v1=+8(%di):u64 n=+16(+8(%di)):u64"},
      {"f(int[4] v)", "__v0=$stack0:u64 v=+0(%di):u32[4]"},
      {"f(u8[100] v)", "__v0=$stack0:u64 v=+0(%di):u8[64] __v2=+64(%di):u8[36]"},
      {"f(string s)", "__v0=$stack0:u64 s=+0(%di):u64[64]"},
      {"f(string s[0][0])", "__v0=$stack0:u64 __v1=+0(%di):u64 s=+0(+0(%di)):u64[64]"},
      {"f(double d[1])", "__v0=$stack0:u64 d=+8(%di):u64"},
      // Variables move with their file: counted from the breakpoint's place in it.
      {"f(int c=$counter)", "__v0=$stack0:u64 c=@+20496:u32"},
      {"f(int c=0x7000000)", "__v0=$stack0:u64 c=@0x7000000:u32"},
      // One value, two fields.
      {"f(int a | u8 b)", "__v0=$stack0:u64 a=%di:u64"},
      {"f(double d)", "0: the kernel's uprobes do not read vector registers"},
      {"f(int n, float x)", "1: the kernel's uprobes do not read vector registers"},
      {"f(x8[3600] v)", "0: an event of the kernel's uprobes has at most 3584 bytes"},
      {"f(string a, string b, string c, string d, string e, string g | string h[0][0])",
       "6: an event of the kernel's uprobes is not so large"},
  };
  for (const Case& one : kCases) {
    const std::string text = text_of(split(one.line, site_of(UprobeAbi::kSysV)));
    EXPECT_EQ(text.substr(0, std::strlen(one.arguments)), one.arguments) << one.line;
    if (one.arguments[0] == '_') {
      EXPECT_EQ(text, one.arguments) << one.line;
    }
  }
}

TEST(UprobeFetch, ArgumentsOfI386) {
  constexpr Case kCases[] = {
      {"f(int n)", "__v0=+0($stack):u32 n=+4($stack):u32"},
      {"f(NULL, long n)", "__v0=+0($stack):u32 n=+8($stack):u32"},
      {"f(string s)", "0: the kernel follows pointers of 64 bits, and this one has 32"},
      {"f(int n, int v[0])", "1: the kernel follows pointers of 64 bits"},
      {"f(int[2] v)", "0: the kernel follows pointers of 64 bits"},
  };
  for (const Case& one : kCases) {
    const std::string text = text_of(split(one.line, site_of(UprobeAbi::kI386)));
    EXPECT_EQ(text.substr(0, std::strlen(one.arguments)), one.arguments) << one.line;
  }
}

TEST(UprobeFetch, ArgumentsOfGo) {
  UprobeSite site = site_of(UprobeAbi::kGo);
  site.go_registers = {0, 1, 3};  // (int, string, int)
  EXPECT_EQ(text_of(split("f(int n, string s, u8 ok)", site)),
            "__v0=$stack0:u64 n=%ax:u64 s=+0(%bx):u64[64] __v3=%cx:u64 ok=%di:u64");
  site.go_registers = {0};
  EXPECT_EQ(text_of(split("f(string s[0][0])", site)),
            "__v0=$stack0:u64 __v1=+0(%ax):u64 s=+0(+0(%ax)):u64[64] __v3=+8(%ax):u64")
      << "a text behind a pointer has its length behind its address";
  site.go_registers = {8};
  EXPECT_EQ(text_of(split("f(string s)", site)).substr(0, 20), "0: Go passes nine wo");
  site.go_registers = {9};
  EXPECT_EQ(text_of(split("f(int n)", site)).substr(0, 20), "0: Go passes nine wo");
  site = site_of(UprobeAbi::kGoOnStack);
  EXPECT_EQ(text_of(split("f(int n)", site)).substr(0, 24), "0: an assembly function ");
  EXPECT_EQ(text_of(split("f()", site)), "__v0=$stack0:u64");
}

TEST(UprobeFetch, NoArgumentsAtAReturn) {
  UprobeSite site = site_of(UprobeAbi::kSysV);
  site.on_return = true;
  EXPECT_EQ(text_of(split("f(int n)", site)).substr(0, 28), "0: the kernel keeps no argum");
}

// --- records

// A kernel's record with the arguments one behind the other, all bytes 0.
std::vector<uint8_t> lay_out(UprobeFetch* fetch) {
  uint32_t end = 16;
  for (KernelArgument& argument : fetch->arguments) {
    argument.offset = end;
    end += argument.size * std::max(argument.count, 1u);
  }
  return std::vector<uint8_t>(end);
}

void set(std::vector<uint8_t>* record, const UprobeFetch& fetch, size_t argument, uint64_t value) {
  std::memcpy(record->data() + fetch.arguments[argument].offset, &value,
              fetch.arguments[argument].size);
}

std::string text_in(const std::vector<uint8_t>& record, uint32_t offset) {
  uint32_t word = 0;
  std::memcpy(&word, record.data() + offset, 4);
  if (!(word >> 16)) return "(no text)";
  return std::string(reinterpret_cast<const char*>(record.data()) + (word & 0xffff),
                     (word >> 16) - 1);
}

UprobeFetch fetch_of(std::string_view line, const UprobeSite& site) {
  auto made = split(line, site);
  EXPECT_TRUE(std::holds_alternative<UprobeFetch>(made)) << text_of(made);
  return std::get<UprobeFetch>(std::move(made));
}

TEST(UprobeFetch, RecordsAreTheAgents) {
  UprobeFetch fetch = fetch_of("f(int n+4, u8 c, string s)", site_of(UprobeAbi::kSysV));
  std::vector<uint8_t> kernel = lay_out(&fetch), record(24, 0xee);
  set(&kernel, fetch, 1, uint64_t(-7));
  set(&kernel, fetch, 2, 0x1ff);
  std::memcpy(kernel.data() + fetch.arguments[3].offset, "a text", 6);
  ASSERT_TRUE(fetch.append_fields(kernel, &record));
  int32_t n = 0;
  std::memcpy(&n, record.data() + 24, 4);
  EXPECT_EQ(n, -3);
  EXPECT_EQ(record[28], 0xff);
  EXPECT_EQ(text_in(record, 32), "a text");
  EXPECT_EQ(record.size() % 4, 0u);
  kernel.pop_back();
  EXPECT_FALSE(fetch.append_fields(kernel, &record)) << "cut off";
}

TEST(UprobeFetch, LongTextsAreCutWhereTheAgentCutsThem) {
  UprobeFetch fetch = fetch_of("f(string s)", site_of(UprobeAbi::kSysV));
  std::vector<uint8_t> kernel = lay_out(&fetch), record(24);
  std::memset(kernel.data() + fetch.arguments[1].offset, 'x', 512);
  ASSERT_TRUE(fetch.append_fields(kernel, &record));
  EXPECT_EQ(text_in(record, 24).size(), 511u);
}

TEST(UprobeFetch, AGuardThatIsZeroIsAFault) {
  UprobeFetch fetch = fetch_of("f(long n[1][2], string s[0][0])", site_of(UprobeAbi::kSysV));
  std::vector<uint8_t> kernel = lay_out(&fetch), record(24);
  ASSERT_EQ(fetch.arguments.size(), 5u);
  set(&kernel, fetch, 2, 0x5555);  // what is left over of another hit
  std::memcpy(kernel.data() + fetch.arguments[4].offset, "stale", 5);
  ASSERT_TRUE(fetch.append_fields(kernel, &record));
  uint64_t n = 1;
  std::memcpy(&n, record.data() + 24, 8);
  EXPECT_EQ(n, 0u);
  EXPECT_EQ(text_in(record, 32), "");
  set(&kernel, fetch, 1, 0x1000);
  set(&kernel, fetch, 3, 0x2000);
  record.resize(24);
  ASSERT_TRUE(fetch.append_fields(kernel, &record));
  std::memcpy(&n, record.data() + 24, 8);
  EXPECT_EQ(n, 0x5555u);
  EXPECT_EQ(text_in(record, 32), "stale");
}

TEST(UprobeFetch, TheLengthEndsATextOfGo) {
  UprobeSite site = site_of(UprobeAbi::kGo);
  site.go_registers = {0};
  UprobeFetch fetch = fetch_of("f(string s)", site);
  std::vector<uint8_t> kernel = lay_out(&fetch), record(24);
  std::memcpy(kernel.data() + fetch.arguments[1].offset, "literalanother", 14);
  set(&kernel, fetch, 2, 7);
  ASSERT_TRUE(fetch.append_fields(kernel, &record));
  EXPECT_EQ(text_in(record, 24), "literal");
  set(&kernel, fetch, 2, uint64_t(-1));
  record.resize(24);
  ASSERT_TRUE(fetch.append_fields(kernel, &record));
  EXPECT_EQ(text_in(record, 24), "literalanother") << "a length that is none";
}

}  // namespace
}  // namespace patchbay
