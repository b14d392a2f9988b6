// SPDX-License-Identifier: MIT
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "cmd/common/commands.h"
#include "cmd/target/target_program.h"

namespace patchbay::cmd {
namespace {

TEST(JsonQuote, EscapesAndRepairs) {
  const struct {
    std::string_view text;
    const char* expected;
  } table[] = {
      {"", "\"\""},
      {"plain", "\"plain\""},
      {"a\"b\\c", "\"a\\\"b\\\\c\""},
      {"\n\t\x01\x7f", "\"\\u000a\\u0009\\u0001\\u007f\""},
      {"gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\""},
      {"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
      {"\xff|", "\"\xef\xbf\xbd|\""},
      {"\xc3", "\"\xef\xbf\xbd\""},
      {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                  // overlong
      {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},  // a surrogate
  };
  for (const auto& row : table) EXPECT_EQ(json_quote(row.text), row.expected) << row.expected;
}

TEST(Printable, LinesStayAndNothingCommandsATerminal) {
  EXPECT_EQ(printable("f(int a ! b)\n        ^\n"), "f(int a ! b)\n        ^\n");
  EXPECT_EQ(printable("\033[31mred\a\ttab \xc3\xa4 \xff\n\n"),
            "\\x1b[31mred\\x07\ttab \xc3\xa4 \\xff\n\n");
  EXPECT_EQ(printable(""), "");
}

TEST(ParsePid, OnlyAProcessId) {
  const struct {
    const char* text;
    int expected;
  } table[] = {{"1", 1},       {"4194304", 4194304},
               {"4194305", 0}, {"0", 0},
               {"-1", 0},      {"+1", 0},
               {"1 ", 0},      {"", 0},
               {"x", 0},       {"99999999999999999999", 0}};
  for (const auto& row : table) {
    int pid = 0;
    EXPECT_EQ(parse_pid(row.text, &pid) ? pid : 0, row.expected) << row.text;
  }
}

TEST(Color, IsWhatWasAskedFor) {
  EXPECT_TRUE(set_color("always"));
  EXPECT_TRUE(use_color(stdout));
  EXPECT_TRUE(set_color("never"));
  EXPECT_FALSE(use_color(stdout));
  EXPECT_FALSE(set_color("sometimes"));
  EXPECT_TRUE(set_color("auto"));
}

// An ELF head of 64 bytes and one program header of type `segment`.
std::string elf(uint8_t elf_class, uint16_t machine, uint16_t type, uint32_t segment) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = elf_class;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = machine;
  header.e_type = type;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr entry{};
  entry.p_type = segment;
  return std::string(reinterpret_cast<char*>(&header), sizeof header) +
         std::string(reinterpret_cast<char*>(&entry), sizeof entry);
}

class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "pb-program-XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
  }
  std::string make(const std::string& bytes, mode_t mode = 0755) {
    std::string path = directory_ + "/program" + std::to_string(number_++);
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  // "" when the program is taken, else the sentence.
  std::string verdict(const std::string& bytes, mode_t mode = 0755) {
    Status status = check_program(make(bytes, mode));
    return status.ok() ? "" : status.error().message();
  }

  std::string directory_;
  int number_ = 0;
};

TEST_F(ProgramTest, WhatCannotTakeTheAgentIsRefused) {
  std::string good = elf(ELFCLASS64, EM_X86_64, ET_DYN, PT_INTERP);
  const struct {
    std::string bytes;
    mode_t mode;
    const char* part;
  } table[] = {
      {good, 0755, ""},
      {elf(ELFCLASS64, EM_X86_64, ET_EXEC, PT_INTERP), 0755, ""},
      {elf(ELFCLASS64, EM_X86_64, ET_EXEC, PT_LOAD), 0755, "statically linked"},
      {elf(ELFCLASS64, EM_X86_64, ET_REL, PT_LOAD), 0755, "object file"},
      {elf(ELFCLASS32, EM_386, ET_EXEC, PT_INTERP), 0755, "32-bit x86"},
      {elf(ELFCLASS32, EM_X86_64, ET_EXEC, PT_INTERP), 0755, "x32"},
      {elf(ELFCLASS64, EM_AARCH64, ET_EXEC, PT_INTERP), 0755, "AArch64"},
      {good.substr(0, 70), 0755, "damaged"},
      {good.substr(0, 30), 0755, "damaged"},
      {"", 0755, "neither"},
      {"\177ELF", 0755, "not a program"},
      {"text", 0755, "neither"},
      {"#!\n", 0755, "names no interpreter"},
      {"#! /nonexistent/shell\n", 0755, "/nonexistent/shell"},
      {"#!/bin/sh\n", 0755, ""},
      {good, 04755, "set-user-id"},
      {good, 02755, "set-group-id"},
  };
  for (const auto& row : table) {
    std::string sentence = verdict(row.bytes, row.mode);
    EXPECT_EQ(sentence.empty(), *row.part == 0) << sentence;
    EXPECT_NE(sentence.find(row.part), sentence.npos) << sentence << " has no " << row.part;
  }
}

TEST_F(ProgramTest, ScriptsAreFollowed) {
  std::string still = make(elf(ELFCLASS64, EM_X86_64, ET_EXEC, PT_LOAD));
  EXPECT_NE(verdict("#!" + still + " -x\n").find(still + " is statically linked"),
            std::string::npos);
  std::string loop = directory_ + "/loop";
  std::ofstream(loop) << "#!" << loop << "\n";
  ASSERT_EQ(::chmod(loop.c_str(), 0755), 0);
  EXPECT_FALSE(check_program(loop).ok());
}

TEST_F(ProgramTest, EnvIsLeftOut) {
  using Words = std::vector<std::string>;
  std::string script = make("#!/usr/bin/env sh\n"), optioned = make("#!/usr/bin/env -S sh -x\n");
  EXPECT_EQ(without_env(script, {"s", "a"}), (Words{"sh", script, "a"}));
  EXPECT_EQ(without_env(optioned, {"s", "a"}), (Words{"s", "a"}));
  EXPECT_EQ(without_env("/bin/sh", {"sh"}), (Words{"sh"}));
}

TEST(FindProgram, LooksInPath) {
  EXPECT_TRUE(find_program("sh").ok());
  EXPECT_EQ(find_program("no-such-program-at-all").error().errno_value, ENOENT);
  EXPECT_EQ(find_program("/").error().errno_value, EACCES);
  EXPECT_EQ(find_program("").error().errno_value, ENOENT);
}

}  // namespace
}  // namespace patchbay::cmd
