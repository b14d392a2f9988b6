// SPDX-License-Identifier: MIT
#include "uprobes/uprobe_program.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "uprobes/kernel_rings.h"
#include "uprobes/kernel_tracefs.h"
#include "uprobes/uprobe_event.h"
#include "uprobes/uprobe_recording.h"

namespace patchbay {
namespace {

TEST(UprobeProgram, GoStackChecks) {
  struct Case {
    std::vector<uint8_t> code;
    uint32_t size;
  };
  const Case kCases[] = {
      {{0x49, 0x3b, 0x66, 0x10, 0x76, 0x20, 0x48, 0x83}, 6},                     // jbe rel8
      {{0x49, 0x3b, 0x66, 0x10, 0x0f, 0x86, 1, 2, 0, 0, 0x48}, 10},              // jbe rel32
      {{0x4c, 0x8d, 0x64, 0x24, 0x88, 0x4d, 0x3b, 0x66, 0x10, 0x76, 0x33}, 11},  // lea r12
      {{0x4c, 0x8d, 0xa4, 0x24, 0, 0xff, 0xff, 0xff, 0x4d, 0x3b, 0x66, 0x10, 0x0f, 0x86, 1, 0, 0,
        0},
       18},
      {{0x49, 0x89, 0xe4, 0x49, 0x81, 0xec, 0, 0, 1, 0, 0x72, 0x40, 0x4d, 0x3b, 0x66, 0x10, 0x76,
        1},
       18},
      {{0x48, 0x83, 0xec, 0x18}, 0},              // it has none
      {{0x49, 0x3b, 0x66, 0x10}, 0},              // cut off
      {{0x49, 0x3b, 0x66, 0x10, 0x75, 0x20}, 0},  // another jump
      {{}, 0},
  };
  for (const Case& one : kCases) EXPECT_EQ(go_stack_check_size(one.code), one.size);
}

TEST(UprobeProgram, ADamagedFileIsNoProgram) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_X86_64;
  header.e_type = ET_EXEC;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 3;
  header.e_phoff = uint64_t(-8);
  auto bytes = [&] {
    return std::span<const uint8_t>(reinterpret_cast<const uint8_t*>(&header), sizeof header);
  };
  EXPECT_FALSE(ProgramFile::read(bytes())) << "segments outside of it";
  EXPECT_FALSE(ProgramFile::read(bytes().first(30)));
  header.e_machine = EM_AARCH64;
  EXPECT_FALSE(ProgramFile::read(bytes()));
}

TEST(UprobeProgram, OffsetsAndAddresses) {
  ProgramFile file;
  file.segments = {{0x400000, 0, 0x500, 0x500, false}, {0x401000, 0x800, 0x300, 0x300, true}};
  EXPECT_EQ(file.offset_of(0x401010), 0x810u);
  EXPECT_EQ(file.offset_of(0x400010), std::nullopt) << "no code";
  EXPECT_EQ(file.offset_of(0x401300), std::nullopt);
  EXPECT_EQ(file.address_of(0x810), 0x401010u);
  EXPECT_EQ(file.address_of(0x10), 0x400010u);
  EXPECT_EQ(file.address_of(0x700), std::nullopt);
}

// This program itself.
int counted __attribute__((used)) = 5;
extern "C" __attribute__((noinline, used)) int uprobe_test_function(int n) { return n + counted; }

TEST(UprobeProgram, LinesOfTheKernel) {
  auto program = UprobeProgram::of_process(::getpid());
  ASSERT_TRUE(program.ok()) << program.error().message();
  struct Case {
    const char* line;
    const char* begins;
    const char* ends;
  };
  constexpr Case kCases[] = {
      {"p:here uprobe_test_function n=$arg1:s32", "p:G/here /prog:0x", " n=%di:u64"},
      {"p:here uprobe_test_function+0 a=%ax:u8 s=+0(+8(%di)):string c=$comm", "p:G/here /prog:0x",
       " a=%ax:u64 __v1=+8(%di):u64 s=+0(+8(%di)):u64[64] c=$comm:string"},
      {"r:back uprobe_test_function $retval:s32", "r:G/back /prog:0x", " arg1=%ax:u64"},
      {"f:in uprobe_test_function x=$arg2", "p:G/in /prog:0x", " x=%si:u64"},
      {"f:out uprobe_test_function%return x=$retval", "r:G/out /prog:0x", " x=%ax:u64"},
      {"p:w uprobe_test_function w=$stack1 i=\\123:u32", "p:G/w /prog:0x", " w=+8(%sp):u64"},
      {"p:b uprobe_test_function b=b4@2/32 ", "", "there is no type"},
  };
  for (const Case& one : kCases) {
    auto event = UprobeEvent::of_probe(one.line, **program);
    if (!*one.begins) {
      EXPECT_FALSE(event.ok()) << one.line;
      continue;
    }
    ASSERT_TRUE(event.ok()) << one.line << "\n" << event.error().message();
    const std::string line = (*event)->definition("G", "/prog");
    EXPECT_TRUE(line.starts_with(one.begins)) << line;
    EXPECT_TRUE(line.ends_with(one.ends)) << line;
  }
}

TEST(UprobeProgram, RefusalsHaveACaret) {
  auto program = UprobeProgram::of_process(::getpid());
  ASSERT_TRUE(program.ok());
  struct Case {
    bool is_function;
    const char* line;
    size_t caret;
    const char* sentence;
  };
  constexpr Case kCases[] = {
      {true, "uprobe_test_function(int n, double d)", 35, "do not read vector registers"},
      {true, "uprobe_test_functio(int n)", 0, "uprobe_test_function"},
      {false, "p:x uprobe_test_function a=%xmm0:double", 25, "do not read vector registers"},
      {false, "p:x uprobe_test_function a=%di s=%di:symstr", 31, "A name is not made"},
      {false, "r:x uprobe_test_function a=$arg1", 25, "keeps no arguments"},
      {false, "f:x uprobe_* a=$arg1", 4, "globs are for the agent"},
      {false, "p:x uprobe_test_function a=\\\"text\":string", 25, "no texts of the definition"},
      {false, "p:x uprobe_no_such_function", 4, "no function \"uprobe_no_such"},
  };
  for (const Case& one : kCases) {
    auto event = one.is_function ? UprobeEvent::of_function(one.line, **program)
                                 : UprobeEvent::of_probe(one.line, **program);
    ASSERT_FALSE(event.ok()) << one.line;
    const std::string text = event.error().message();
    EXPECT_NE(text.find("\n" + std::string(one.caret, ' ') + "^\n"), text.npos) << text;
    std::string sentence = one.sentence;
    if (sentence == "A name is not made") sentence = "a name is not made";
    EXPECT_NE(text.find(sentence), text.npos) << text;
  }
}

TEST(UprobeProgram, FiltersAreAboutFields) {
  auto program = UprobeProgram::of_process(::getpid());
  ASSERT_TRUE(program.ok());
  auto event = UprobeEvent::of_function("uprobe_test_function(int n, string s)", **program);
  ASSERT_TRUE(event.ok()) << event.error().message();
  SymbolTable& symbols = (*program)->symbols();
  EXPECT_TRUE((*event)->set_filter("n > -3 && s ~ \"a*\"", symbols).ok());
  EXPECT_TRUE((*event)->set_filter("common_pid == 4", symbols).ok());
  for (const char* wrong : {"m > 3", "n >", "", "COMM == \"x\"", "CPU == 1"})
    EXPECT_FALSE((*event)->set_filter(wrong, symbols).ok()) << wrong;
}

TEST(KernelTracefs, RemovalsOfAGroup) {
  const auto removals = uprobe_removals(
      "p:patchbay_12/work /bin/prog:0x0000000000001139 n=%di:u64\n"
      "r:patchbay_123/back /bin/prog:0x10\np:other/patchbay_12 /bin/x:0x1\nnonsense\n",
      "patchbay_12");
  ASSERT_EQ(removals.size(), 1u);
  EXPECT_EQ(removals[0], "-:patchbay_12/work");
}

TEST(KernelTracefs, NumbersOfStats) {
  const char* text = "entries: 12\noverrun: 7\ncommit overrun: 3\ndropped events: x\n";
  EXPECT_EQ(stats_number(text, "entries"), 12u);
  EXPECT_EQ(stats_number(text, "overrun"), 7u);
  EXPECT_EQ(stats_number(text, "commit overrun"), 3u);
  EXPECT_EQ(stats_number(text, "dropped events"), 0u);
  EXPECT_EQ(stats_number(text, "read events"), 0u);
}

TEST(RecordPages, WhatGoesInComesOut) {
  struct Seen {
    uint64_t time;
    std::vector<uint8_t> record;
  };
  std::vector<Seen> seen;
  std::vector<uint64_t> lost;
  RecordPages pages(4096, [&](const PageImage& made) {
    PageImage page = made;
    read_commit(&page);
    EXPECT_EQ(page.entries, made.entries);
    if (page.lost_before) lost.push_back(page.lost_before);
    EventIterator events(page.bytes, page.used);
    for (EventView event; events.next(&event);)
      seen.push_back({event.time, {event.record.begin(), event.record.end()}});
    EXPECT_FALSE(events.malformed());
  });
  uint64_t time = 1000;
  const size_t kSizes[] = {8, 28, 112, 116, 600, 4, 3000};
  for (size_t i = 0; i < 200; i++) {
    const std::vector<uint8_t> record(kSizes[i % std::size(kSizes)], uint8_t(i));
    if (i == 50) pages.lose(7);
    time += i % 9 == 0 ? uint64_t{1} << 30 : i;
    EXPECT_TRUE(pages.add(time, record));
  }
  EXPECT_FALSE(pages.add(time, std::vector<uint8_t>(4090)));
  pages.flush();
  ASSERT_EQ(seen.size(), 200u);
  time = 1000;
  for (size_t i = 0; i < 200; i++) {
    time += i % 9 == 0 ? uint64_t{1} << 30 : i;
    EXPECT_EQ(seen[i].time, time) << i;
    EXPECT_EQ(seen[i].record, std::vector<uint8_t>(kSizes[i % std::size(kSizes)], uint8_t(i)));
  }
  EXPECT_EQ(lost, std::vector<uint64_t>{7});
}

}  // namespace
}  // namespace patchbay
