// SPDX-License-Identifier: MIT
//
// Format files (docs/files.md): what we write we read back byte for byte, what kernels write
// we can use, and what nobody should write is refused.
#include <gtest/gtest.h>

#include "event/event_call.h"
#include "event/function_event.h"

namespace patchbay {
namespace {

EventCall parse(std::string_view text) {
  auto result = parse_format("test", text);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message());
  return result.ok() ? *result : EventCall{};
}

constexpr std::string_view kCommon =
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";

std::string with_fields(std::string_view fields) {
  return "name: ev\nID: 314\nformat:\n" + std::string(kCommon) + "\n" + std::string(fields) +
         "\nprint fmt: \"x\"\n";
}

TEST(FormatParse, OurOwnFormatsReadBackByteForByte) {
  for (std::string_view line :
       {"f()", "f(int a, unsigned char b, string s, char[16] comm, x64[6] st, double d)",
        "f(symbol ip[16] | x64[6] irq_stack[16], int 0x1234)"}) {
    EventCall call = make_function_event_call(*parse_function_event(line, nullptr).def, 77);
    auto read = parse_format("functions", call.format_text());
    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(read->format_text(), call.format_text());
    EXPECT_EQ(read->system, "functions");
    EXPECT_EQ(read->fields.size(), call.fields.size());
  }
}

TEST(FormatParse, KernelFormatsReadBackByteForByte) {
  for (std::string_view fields :
       {"",
        "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:pid_t "
        "prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n",
        "\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n",
        "\tfield:const char * p;\toffset:8;\tsize:8;\tsigned:0;\n",
        "\tfield:u8 a[];\toffset:26;\tsize:4;\tsigned:0;\n\tfield:char "
        "buf[];\toffset:16;\tsize:0;\tsigned:0;\n",
        "\tfield:char comm[TASK_COMM_LEN];\toffset:8;\tsize:16;\tsigned:0;\n"}) {
    EXPECT_EQ(parse(with_fields(fields)).format_text(), with_fields(fields));
  }
}

TEST(FormatParse, DeclarationsOfEveryShape) {
  struct Row {
    const char* text;
    const char* type;
    const char* name;
    uint32_t size, array_len;
  };
  for (Row row :
       {Row{"char comm[16]", "char", "comm", 16, 16}, Row{"u8 a[]", "u8", "a", 4, 4},
        Row{"char buf[]", "char", "buf", 0, 0},
        Row{"unsigned long x[3]", "unsigned long", "x", 24, 3},
        Row{"struct page *page", "struct page *", "page", 8, 0},
        Row{"__data_loc char[] s", "__data_loc char[]", "s", 4, 0},
        Row{"__rel_loc cpumask_t[] m", "__rel_loc cpumask_t[]", "m", 4, 0},
        Row{"unsigned int f[N_FLAGS]", "unsigned int", "f", 12, 3},
        Row{"__u64 g[2][3]", "__u64", "g", 48, 6}, Row{"char * names[]", "char *", "names", 16, 2},
        Row{"  int   spaced  ", "int", "spaced", 4, 0}}) {
    EventCall call = parse(with_fields("\tfield:" + std::string(row.text) + ";\toffset:8;\tsize:" +
                                       std::to_string(row.size) + ";\tsigned:1;\n"));
    ASSERT_EQ(call.fields.size(), 1u) << row.text;
    EXPECT_EQ(call.fields[0].type, row.type);
    EXPECT_EQ(call.fields[0].name, row.name);
    EXPECT_EQ(call.fields[0].array_len, row.array_len) << row.text;
    EXPECT_TRUE(call.fields[0].is_signed);
  }
}

TEST(FormatParse, OldAndNewKernels) {
  EventCall call = parse(
      "name: old\nID: 7\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\n"
      "\tfield:int common_tgid;\toffset:8;\tsize:4;\n\n"
      "\tfield:int a;\toffset:12;\tsize:4;\tsigned:1;\tnew_key:9;\r\n"
      "\tfield:int common_looking;\toffset:16;\tsize:4;\tsigned:1;\n\nprint fmt: \"a:b; %d\", "
      "REC->a");
  EXPECT_EQ(call.common.size(), 2u);
  EXPECT_EQ(call.fields.size(), 2u);
  EXPECT_EQ(call.print_fmt, "\"a:b; %d\", REC->a");
  EXPECT_EQ(call.find("a")->offset, 12u);
  EXPECT_EQ(call.find("common_tgid")->size, 4u);
  EXPECT_EQ(call.find("b"), nullptr);
  EXPECT_EQ(call.find("l\xc3\xa4"), nullptr);
  call.fields.push_back({"int", "l_u00e4", 16, 4, true, 0, {}});
  EXPECT_EQ(call.find("l\xc3\xa4"), &call.fields.back()) << "as the program calls it";
}

TEST(FormatParse, BadTextIsRefused) {
  for (std::string text :
       {std::string(""), std::string("name: x\n"), std::string("ID: 3\n"),
        std::string("name: x\nID: 65536\n"), std::string("name: x\nID: -1\n"),
        with_fields("\tfield:int a;\toffset:8;\n"), with_fields("\tfield:int a;\tsize:8;\n"),
        with_fields("\tfield:int;\toffset:8;\tsize:4;\n"),
        with_fields("\tfield:;\toffset:8;\tsize:4;\n"),
        with_fields("\tfield:int a];\toffset:8;\tsize:4;\n"),
        with_fields("\tfield:int a;\toffset:4294967295;\tsize:4;\n"),
        with_fields("\tfield:int a;\toffset:1048576;\tsize:1;\n"),
        with_fields("\tfield:int a;\toffset:99999999999999999999999;\tsize:1;\n")}) {
    auto result = parse_format("test", text);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_NE(result.error().errno_value, 0);
  }
}

}  // namespace
}  // namespace patchbay
