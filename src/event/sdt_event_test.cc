// SPDX-License-Identifier: MIT
// Argument texts as compilers write them, the event that sites make, and the values that a site's
// program fetches.
#include "event/sdt_event.h"

#include <cstring>

#include <gtest/gtest.h>

namespace patchbay {
namespace {

std::string shown(const SdtArgument& a) {
  static const char* const kPlaces[] = {"unknown", "constant", "register", "xmm", "memory"};
  std::string text = (a.is_signed ? "s" : "u") + std::to_string(a.size * 8);
  if (a.is_float) text += "f";
  text += std::string(" ") + kPlaces[int(a.place)];
  if (a.base >= 0) text += " base " + std::to_string(a.base);
  if (a.index >= 0) text += " index " + std::to_string(a.index) + "*" + std::to_string(a.scale);
  if (a.offset) text += " offset " + std::to_string(a.offset);
  if (!a.symbol.empty()) text += " symbol " + std::string(a.symbol);
  return text;
}

TEST(SdtArguments, AsCompilersWriteThem) {
  struct Row {
    const char* text;
    const char* parsed;
  };
  const Row kRows[] = {
      {"-4@%eax", "s32 register base 0"},
      {"8@%rdi", "u64 register base 7"},
      {"1@%dil", "u8 register base 7"},
      {"-2@%r10w", "s16 register base 10"},
      {"8@-16(%rbp)", "u64 memory base 5 offset -16"},
      {"-4@112(%rsp)", "s32 memory base 4 offset 112"},
      {"4@(%r12)", "u32 memory base 12"},
      {"4@0(%r13)", "u32 memory base 13"},
      {"8@(%rax,%rdx,8)", "u64 memory base 0 index 2*8"},
      {"8@-8(%rax,%rdx)", "u64 memory base 0 index 2*1 offset -8"},
      {"8@16(,%rcx,4)", "u64 memory index 1*4 offset 16"},
      {"4@$5", "u32 constant offset 5"},
      {"-4@$-1", "s32 constant offset -1"},
      {"8@$name", "u64 constant symbol name"},
      {"4@NBuffers(%rip)", "u32 memory symbol NBuffers"},
      {"4@52+CheckpointStats(%rip)", "u32 memory offset 52 symbol CheckpointStats"},
      {"4@sym+8(%rip)", "u32 memory offset 8 symbol sym"},
      {"4@sym-8(%rip)", "u32 memory offset -8 symbol sym"},
      {"8@-8+24(%rsp)", "u64 memory base 4 offset 16"},
      {"8@0x10(%rax)", "u64 memory base 0 offset 16"},
      {"8f@%xmm0", "u64f xmm base 0"},
      {"-8f@%xmm7", "s64f xmm base 7"},
      {"%rax", "u64 register base 0"},
      {"$7", "u64 constant offset 7"},
      // Cannot be had.
      {"1@%ah", "u8 unknown"},
      {"8f@%xmm15", "u64f xmm base 15"},
      {"8f@%xmm16", "u64f unknown"},
      {"8@%fs:16", "u64 unknown"},
      {"8@8(%rip)", "u64 unknown"},
      {"3@%eax", "u64 unknown"},
      {"2f@%xmm0", "u16f unknown"},  // a half
      {"16@(%rbx)", "u64 unknown"},
      {"8@", "u64 unknown"},
      {"8@(%eax)", "u64 unknown"},
      {"8@(%rax", "u64 unknown"},
      {"8@(%rax,%rdx,3)", "u64 unknown"},
      {"8@%rax)", "u64 unknown"},
      {"8@$5 junk", "u64 constant offset 5"},
      {"99999999999@%rax", "u64 unknown"},
      {"junk", "u64 memory symbol junk"},
  };
  for (const Row& row : kRows) {
    auto arguments = parse_sdt_arguments(row.text);
    ASSERT_FALSE(arguments.empty()) << row.text;
    EXPECT_EQ(shown(arguments[0]), row.parsed) << row.text;
  }
  EXPECT_EQ(parse_sdt_arguments("").size(), 0u);
  EXPECT_EQ(parse_sdt_arguments("  8@%rbp  8@%r12 -4@%eax ").size(), 3u);
  std::string many;
  for (int i = 0; i < 40; i++) many += "8@%rax ";
  EXPECT_EQ(parse_sdt_arguments(many).size(), kMaxSdtArguments);
}

EventCall call_of(const std::vector<const char*>& sites) {
  std::vector<std::vector<SdtArgument>> arguments;
  for (const char* site : sites) arguments.push_back(parse_sdt_arguments(site));
  return make_sdt_event_call("prov", "name", arguments);
}

TEST(SdtEvent, FieldsAndFormat) {
  EventCall call = call_of({"-4@%eax 8@%rdi 1@%al -8@%rcx 8f@%xmm0"});
  EXPECT_EQ(call.system + ":" + call.name, "sdt_prov:name");
  std::string fields;
  for (const EventField& field : call.fields)
    fields += field.type + " " + field.name + " " + std::to_string(field.offset) + "/" +
              std::to_string(field.size) + "/" + std::to_string(field.is_signed) + "; ";
  EXPECT_EQ(fields,
            "unsigned long __probe_ip 8/8/0; s32 arg1 16/4/1; u64 arg2 20/8/0; u8 arg3 28/1/0; "
            "s64 arg4 29/8/1; double arg5 37/8/1; ");
  EXPECT_EQ(call.print_fmt,
            "\"(%lx) arg1=%d arg2=0x%Lx arg3=%u arg4=%Ld arg5=%Lx\", REC->__probe_ip, REC->arg1, "
            "REC->arg2, REC->arg3, REC->arg4, REC->arg5");
  call.id = 700;
  auto read = parse_format(call.system, call.format_text());
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->format_text(), call.format_text());
  EXPECT_EQ(call_of({""}).print_fmt, "\"(%lx)\", REC->__probe_ip");
}

TEST(SdtEvent, SitesThatDifferShareAWideField) {
  EventCall call = call_of({"-4@%eax 4@%ebx", "-8@%rax 4@$5 8@%rdx"});
  ASSERT_EQ(call.fields.size(), 5u);
  EXPECT_EQ(call.fields[1].type, "s64");
  EXPECT_EQ(call.fields[2].type, "u32");
  EXPECT_EQ(call.fields[3].type, "u64");
  EXPECT_EQ(call.fields[4].name, "__known");  // one site has no third
}

TEST(SdtEvent, TextsThatAreKnown) {
  const EventCall call = make_sdt_event_call(
      "python", "line",
      {parse_sdt_arguments("8@%rdi 8@8(%rbx) -4@%eax"), parse_sdt_arguments("8@%rdi")});
  EXPECT_EQ(call.fields[1].type, "__data_loc char[]");
  EXPECT_EQ(call.fields[2].type, "__data_loc char[]");
  EXPECT_EQ(call.fields[3].type, "s32");
  EXPECT_EQ(call.print_fmt,
            "\"(%lx) arg1=\\\"%s\\\" arg2=\\\"%s\\\" arg3=%d\", REC->__probe_ip, __get_str(arg1), "
            "__get_str(arg2), REC->arg3");
  EXPECT_FALSE(is_sdt_text("python", "line", 2));
  EXPECT_FALSE(is_sdt_text("other", "line", 0)) << "its argument may be anything";
  // An argument of four bytes is no address.
  EXPECT_EQ(make_sdt_event_call("python", "line", {parse_sdt_arguments("4@%edi")}).fields[1].type,
            "u32");
}

struct Fetched {
  std::vector<uint8_t> record;
  uint64_t at(uint32_t offset, uint32_t size) const {
    uint64_t value = 0;
    std::memcpy(&value, &record[offset], size);
    return value;
  }
};

Fetched fetch(const char* site, const EventCall& call, const FetchRegisters& registers) {
  static const uint32_t kKnown[] = {11, 22};
  std::vector<SdtArgument> arguments = parse_sdt_arguments(site);
  resolve_sdt_symbols(
      [](std::string_view name) {
        return name == "known" ? reinterpret_cast<uint64_t>(kKnown) : uint64_t{0};
      },
      &arguments);
  auto program = compile_sdt_site(arguments, call);
  EXPECT_TRUE(program.ok());
  Fetched result;
  result.record.resize((*program)->max_size, 0xee);
  EXPECT_EQ(fetch_run(program->get(), &registers, nullptr, result.record.data()),
            (*program)->max_size);
  EXPECT_EQ((*program)->head, RecordHead::kProbe);
  return result;
}

TEST(SdtEvent, ValuesOfASite) {
  uint64_t words[4] = {0x1111111122222222, 0xfffffffffffffff0, 3, 4};
  FetchRegisters registers = {};
  registers.reg[0] = 0xffffffff80000001;
  registers.reg[3] = reinterpret_cast<uint64_t>(words);
  registers.reg[9] = 2;
  registers.xmm[2][0] = 77;
  const char* site =
      "-4@%eax 8@8(%rbx) 8@(%rbx,%r9,8) 4@4+known(%rip) 8@$-1 8f@%xmm2 4@unknown(%rip) 1@%ah";
  const EventCall call = call_of({site});
  const Fetched got = fetch(site, call, registers);
  // The symbol of arg7 is unknown, which nobody knew when the event was made; arg8 is no field.
  const uint64_t expected[] = {0x80000001, words[1], 3, 22, ~0ull, 77, 0};
  ASSERT_EQ(call.fields.size(), 1 + std::size(expected));
  for (size_t i = 0; i < std::size(expected); i++)
    EXPECT_EQ(got.at(call.fields[i + 1].offset, call.fields[i + 1].size), expected[i]) << i;
}

// What one site has and another has not.
TEST(SdtEvent, ArgumentsThatAreNotEverywhere) {
  const struct {
    std::vector<const char*> sites;
    std::string fields, fmt;
    std::vector<uint32_t> known;  // of each site
  } rows[] = {
      {{"4@$1 4@$2", "4@$1"}, "arg1 arg2 __known", "arg1=%u arg2=%u", {3, 1}},
      {{"1@%ah 4@$2", "1@%ah 4@$3"}, "arg2", "arg1=? arg2=%u", {}},
      {{"16@(%rbx) -4@$2 4@$3", "8@$1 -4@$2 4@$3"},
       "arg1 arg2 arg3 __known",
       "arg1=0x%Lx arg2=%d arg3=%u",
       {6, 7}},
      {{"8f@%xmm0", "4f@%xmm0", "8@%rax"}, "arg1 __known", "arg1=%Lx", {1, 0, 0}},
      {{"4@$1", "-8@$2"}, "arg1", "arg1=%Ld", {}},
      {{"", "8@$5"}, "arg1 __known", "arg1=0x%Lx", {0, 1}},
      {{"1@%ah"}, "", "arg1=?", {}},
  };
  for (const auto& row : rows) {
    const EventCall call = call_of(row.sites);
    std::string fields;
    for (size_t i = 1; i < call.fields.size(); i++)
      fields += (i > 1 ? " " : "") + call.fields[i].name;
    EXPECT_EQ(fields, row.fields);
    EXPECT_TRUE(call.print_fmt.starts_with("\"(%lx) " + row.fmt + "\"")) << call.print_fmt;
    const auto first = sdt_known(call, "arg1");
    EXPECT_EQ(first.has_value(), !row.known.empty()) << row.fmt;
    for (size_t i = 0; i < row.known.size(); i++) {
      const Fetched got = fetch(row.sites[i], call, FetchRegisters());
      EXPECT_EQ(got.at(call.fields.back().offset, 2), row.known[i]) << row.fmt << " " << i;
      EXPECT_EQ(first->is_there(got.record), (row.known[i] & 1) != 0);
    }
  }
  EXPECT_FALSE(sdt_known(call_of({"4@$1 4@$2", "4@$1"}), "__probe_ip"));
  EXPECT_FALSE(sdt_known(call_of({"4@$1 4@$2", "4@$1"}), "arg17"));
  EXPECT_FALSE(sdt_known(call_of({"4@$1 4@$2", "4@$1"}), "arg0"));
}

TEST(SdtEvent, TextsAreFetched) {
  const char* const words[] = {"unused", "greet"};
  FetchRegisters registers = {};
  registers.reg[3] = reinterpret_cast<uint64_t>(words);
  registers.reg[7] = reinterpret_cast<uint64_t>("calls.py");
  const char* site = "8@%rdi 8@8(%rbx) -4@$7";
  const EventCall call = make_sdt_event_call("python", "line", {parse_sdt_arguments(site)});
  auto program = compile_sdt_site(parse_sdt_arguments(site), call);
  ASSERT_TRUE(program.ok());
  std::vector<uint8_t> record((*program)->max_size, 0xee);
  const uint32_t size = fetch_run(program->get(), &registers, nullptr, record.data());
  const auto text_at = [&](uint32_t offset) {
    uint32_t where = 0;
    std::memcpy(&where, &record[offset], 4);
    const char* const text = reinterpret_cast<const char*>(&record[where & 0xffff]);
    return std::string(text, where >> 16 ? (where >> 16) - 1 : 0);
  };
  EXPECT_LT(size, 64u);
  EXPECT_EQ(text_at(call.fields[1].offset), "calls.py");
  EXPECT_EQ(text_at(call.fields[2].offset), "greet");
}

TEST(SdtEvent, NarrowArgumentsAreExtended) {
  const uint32_t memory = 0xfffffffe;
  FetchRegisters registers = {};
  registers.reg[0] = 0x5555555580000000;
  registers.reg[3] = reinterpret_cast<uint64_t>(&memory);
  const EventCall call = call_of({"-4@%eax", "-8@%rax", "-4@(%rbx)", "4@(%rbx)"});
  ASSERT_EQ(call.fields[1].type, "s64");
  EXPECT_EQ(fetch("-4@%eax", call, registers).at(16, 8), 0xffffffff80000000);
  EXPECT_EQ(fetch("-8@%rax", call, registers).at(16, 8), registers.reg[0]);
  EXPECT_EQ(fetch("-4@(%rbx)", call, registers).at(16, 8), 0xfffffffffffffffe);
  EXPECT_EQ(fetch("4@(%rbx)", call, registers).at(16, 8), 0xfffffffe);
  EXPECT_EQ(fetch("", call, registers).at(16, 8), 0u);
}

}  // namespace
}  // namespace patchbay
