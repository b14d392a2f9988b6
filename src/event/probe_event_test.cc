// SPDX-License-Identifier: MIT
//
// Good lines: how they are listed, what removes them, the fields and print fmt of their events
// (as a kernel of version 6.12 shows them), and the values that their programs fetch.
#include "event/probe_event.h"

#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>

#include "event/probe_event_testing.h"

namespace patchbay {
namespace {

ProbeFile file_of(std::string_view line) {
  const size_t place = line.find(" /");
  return line[0] != 'p' && line[0] != 'r' ? ProbeFile::kDynamicEvents
         : place != line.npos             ? ProbeFile::kUprobeEvents
                                          : ProbeFile::kKprobeEvents;
}

ProbeDefinition parse(std::string_view line, TestWorld& world) {
  ProbeParse parsed = parse_probe_event(line, file_of(line), world);
  if (parsed.error)
    ADD_FAILURE() << line << "\n" << parsed.error->text << " " << parsed.error->help;
  return parsed.definition ? *parsed.definition : ProbeDefinition{};
}
ProbeDefinition parse(std::string_view line) {
  TestWorld world;
  return parse(line, world);
}

// An offset before the symbol, and other names of what is fetched.
TEST(ProbeListing, AsTheFirstPatchesHadIt) {
  EXPECT_EQ(parse("p main-3").show(), "p:kprobes/p_main__3 main-3");
  EXPECT_EQ(parse("p:e main-3").place(), "main-3");
  EXPECT_EQ(parse("p:myprobe main a0 a1 a2 a3").show(),
            "p:kprobes/myprobe main arg1=a0 arg2=a1 arg3=a2 arg4=a3");
  EXPECT_EQ(parse("r:myretprobe main rv ra").show(), "r:kprobes/myretprobe main arg1=rv arg2=ra");
}

TEST(ProbeListing, NamesAndRoundTrip) {
  const std::pair<std::string_view, std::string_view> kRows[] = {
      {"p vfs_read", "p:kprobes/p_vfs_read_0 vfs_read"},
      {"p vfs_read+5 %ax", "p:kprobes/p_vfs_read_5 vfs_read+5 arg1=%ax"},
      {"p vfs_read+0x10", "p:kprobes/p_vfs_read_16 vfs_read+16"},
      {"r vfs_read", "r:kprobes/r_vfs_read_0 vfs_read"},
      {"r5:a vfs_read $retval", "r5:kprobes/a vfs_read arg1=$retval"},
      {"p vfs_read%return", "r:kprobes/r_vfs_read_0 vfs_read"},
      {"p:g/ vfs_read", "p:g/p_vfs_read_0 vfs_read"},
      {"p:g/e vfs_read", "p:g/e vfs_read"},
      {"p:g.e vfs_read", "p:g/e vfs_read"},
      {"p:g-h/e vfs_read", "p:g-h/e vfs_read"},
      {"pjunk:e vfs_read", "p:kprobes/e vfs_read"},
      {"p 0x401000", "p:kprobes/p_0x401000 0x401000"},
      {"p 4198400", "p:kprobes/p_0x401000 0x401000"},
      {"p foo.isra.0", "p:kprobes/p_foo_isra_0_0 foo.isra.0"},
      {"p later.so:f+4 +0(%sp)", "p:kprobes/p_later_so_f_4 later.so:f+4 arg1=+0(%sp)"},
      {"p ns::f", "p:kprobes/p_ns__f_0 ns::f"},
      {"p ns::f(int,char*)+4", "p:kprobes/p_ns__f_int_char___4 ns::f(int,char*)+4"},
      {"p libx-1.so:ns::f+3", "p:kprobes/p_libx_1_so_ns__f_3 libx-1.so:ns::f+3"},
      {"p libx-1.so:g", "p:kprobes/p_libx_1_so_g_0 libx-1.so:g"},
      {"p ns::operator+", "p:kprobes/p_ns__operator__0 ns::operator+"},
      {"p ns::operator++4", "p:kprobes/p_ns__operator__4 ns::operator++4"},
      {"p ns::operator->", "p:kprobes/p_ns__operator___0 ns::operator->"},
      {"p ns::operator%(A)%return", "r:kprobes/r_ns__operator__A__0 ns::operator%(A)"},
      {"p ns::operator/", "p:kprobes/p_ns__operator__0 ns::operator/"},
      {"p main a=@jiffies b=@jiffies+4:u8 c=@ns::counter-8:x32",
       "p:kprobes/p_main_0 main a=@jiffies b=@jiffies+4:u8 c=@ns::counter-8:x32"},
      {"p main $stack $stack2 $comm $COMM \\5 \\-1:s8 \\\"ab\"",
       "p:kprobes/p_main_0 main arg1=$stack arg2=$stack2 arg3=$comm arg4=$COMM arg5=\\5 "
       "arg6=\\-1:s8 arg7=\\\"ab\""},
      {"p main +0(%ax)foo %xmm15", "p:kprobes/p_main_0 main arg1=+0(%ax)foo arg2=%xmm15"},
      {"p main +0(%sp):string[4] +8(-u16(@0x1234)):b4@2/8[3]",
       "p:kprobes/p_main_0 main arg1=+0(%sp):string[4] arg2=+8(-u16(@0x1234)):b4@2/8[3]"},
      {"p main +0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(%ax))))))))))))))",
       "p:kprobes/p_main_0 main arg1=+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(%ax))))))))))))))"},
      {"f vfs_read", "f:fprobes/vfs_read__entry vfs_read"},
      {"f vfs_read%return", "f:fprobes/vfs_read__exit vfs_read%return"},
      {"f vfs_read $retval", "f:fprobes/vfs_read__exit vfs_read%return arg1=$retval"},
      {"f9 vfs_read%return $arg2", "f9:fprobes/vfs_read__exit vfs_read%return arg1=$arg2"},
      {"f vfs_*", "f:fprobes/vfs____entry vfs_*"},
      {"f later.so:f", "f:fprobes/later_so_f__entry later.so:f"},
      {"t kfree $arg1 p=$arg2:x64", "t:tracepoints/kfree kfree arg1=$arg1 p=$arg2:x64"},
      {"t 9later", "t:tracepoints/_9later 9later"},
      {"t not_there_yet $arg5", "t:tracepoints/not_there_yet not_there_yet arg1=$arg5"},
      {"e kmem.kfree $ptr if ptr != 0", "e:eprobes/kfree kmem.kfree arg1=$ptr"},
      {"e:x/y kmem/kfree a=+0($ptr):u8", "e:x/y kmem.kfree a=+0($ptr):u8"},
      {"e kmem.kfree $comm c=$comm:string", "e:eprobes/kfree kmem.kfree arg1=$comm c=$comm:string"},
      {"p /bin/sh:0x1000", "p:uprobes/p_sh_0x1000 /bin/sh:0x0000000000001000"},
      {"p:u /usr/lib/libfoo-1.2.so:16(0x20) %di",
       "p:uprobes/u /usr/lib/libfoo-1.2.so:0x0000000000000010(0x20) arg1=%di"},
      {"p /usr/lib/libfoo-1.2.so:16",
       "p:uprobes/p_libfoo_0x10 /usr/lib/libfoo-1.2.so:0x0000000000000010"},
      {"r /bin/sh:1 $retval", "r:uprobes/p_sh_0x1 /bin/sh:0x0000000000000001 arg1=$retval"},
      {"p /bin/sh:1%return", "r:uprobes/p_sh_0x1 /bin/sh:0x0000000000000001"},
      {"r5:name /bin/sh:1", "r:uprobes/p_sh_0x1 /bin/sh:0x0000000000000001"},
      {"p /bin/sh:1 @+0x10:u8 +4(@+8)",
       "p:uprobes/p_sh_0x1 /bin/sh:0x0000000000000001 arg1=@+0x10:u8 arg2=+4(@+8)"},
  };
  for (const auto& [line, shown] : kRows) {
    EXPECT_EQ(parse(line).show(), shown) << line;
    EXPECT_EQ(parse(shown).show(), shown);
  }
  EXPECT_EQ(parse("e kmem.kfree $ptr if ptr != 0").filter, "ptr != 0");
  EXPECT_EQ(parse("r5:a vfs_read").max_active, 5u);
  EXPECT_FALSE(parse("r:a vfs_read").max_active);
  EXPECT_EQ(parse("p:u /bin/sh:16(0x20)").reference_counter, 0x20u);
  const std::string long_name = "f later.so:" + std::string(80, 'x');
  EXPECT_EQ(parse(long_name).event.size(), 63u);
}

TEST(ProbeRemoval, WhatItMeans) {
  struct Row {
    std::string_view removal, definition;
    bool matches;
  };
  const Row kRows[] = {
      {"-:e", "p:g/e vfs_read", true},
      {"-:g/e", "p:g/e vfs_read", true},
      {"-:g/", "p:g/e vfs_read", true},
      {"-:h/e", "p:g/e vfs_read", false},
      {"-:h/", "p:g/e vfs_read", false},
      {"-:/e", "p:g/e vfs_read", false},
      {"-:g.e", "p:g/e vfs_read", false},
      {"-:g/e vfs_read", "p:g/e vfs_read", true},
      {"-:g/e vfs_read+5", "p:g/e vfs_read+5", true},
      {"-:g/e vfs_read", "p:g/e vfs_read+5", false},
      {"-:g/e vfs_read", "r:g/e vfs_read", true},
      {"-:g/e vfs_read a=%ax", "p:g/e vfs_read a=%ax b=%bx", true},
      {"-:g/e vfs_read a=%ax b=%bx", "p:g/e vfs_read a=%ax b=%bx", true},
      {"-:g/e vfs_read b=%bx", "p:g/e vfs_read a=%ax b=%bx", false},
      {"-:g/e vfs_read a=%ax b=%bx c=%cx", "p:g/e vfs_read a=%ax b=%bx", false},
      {"-:g/e vfs_read %ax", "p:g/e vfs_read %ax", false},
      {"-:g/e vfs_read arg1=%ax", "p:g/e vfs_read %ax", true},
      {"!p:g/e vfs_read", "p:g/e vfs_read", true},
      {"!r:g/e vfs_read", "p:g/e vfs_read", true},
      {"!p1:e", "p:g/e vfs_read", true},
      {"-:u /bin/sh:0x0000000000000010", "p:u /bin/sh:16", true},
      {"-:u /bin/sh:16", "p:u /bin/sh:16", false},
      {"-:u /bin/sh:0x0000000000000010(0x20)", "p:u /bin/sh:16(32)", true},
      {"-:u /bin/sh:0x0000000000000010", "p:u /bin/sh:16(32)", false},
      {"-:x vfs_read", "f:x vfs_read%return", true},
      {"-:x kmem/kfree", "e:x kmem.kfree", true},
      {"-:x kmem.kfree p=$ptr", "e:x kmem.kfree p=$ptr", true},
      {"-:x kmem.kmalloc", "e:x kmem.kfree", false},
  };
  for (const Row& row : kRows) {
    ASSERT_TRUE(is_probe_removal(row.removal));
    ProbeRemovalParse parsed = parse_probe_removal(row.removal, ProbeFile::kDynamicEvents);
    ASSERT_TRUE(parsed.removal) << row.removal;
    EXPECT_EQ(matches(*parsed.removal, parse(row.definition)), row.matches)
        << row.removal << " / " << row.definition;
  }
  for (std::string_view line : {"-", "-:", "-e", "-x:e", "!p", "!p vfs_read", "!p:", "!"}) {
    ProbeRemovalParse parsed = parse_probe_removal(line, ProbeFile::kDynamicEvents);
    ASSERT_TRUE(parsed.error) << line;
    EXPECT_EQ(parsed.error->error, EINVAL);
    EXPECT_FALSE(parsed.error->is_logged);
  }
  EXPECT_TRUE(parse_probe_removal("!p:e", ProbeFile::kKprobeEvents).error);
  EXPECT_FALSE(is_probe_removal("p:e vfs_read"));
}

TEST(ProbeDefinition, SamePlaceAndDifferentArguments) {
  EXPECT_TRUE(parse("p:a vfs_read").same_place(parse("p:b vfs_read+0 %ax")));
  EXPECT_FALSE(parse("p:a vfs_read").same_place(parse("p:a vfs_read+1")));
  EXPECT_FALSE(parse("p:a vfs_read").same_place(parse("f:a vfs_read")));
  EXPECT_FALSE(parse("p 0x401000").same_place(parse("p 0x401001")));
  auto differ = [](std::string_view a, std::string_view b) {
    return different_argument(parse("p:m vfs_open " + std::string(a)),
                              parse("p:m vfs_read " + std::string(b)));
  };
  EXPECT_EQ(differ("a=%ax b=%bx:u8", "a=%cx b=%dx:b4@0/8"), std::nullopt);
  EXPECT_EQ(differ("b=%ax", "a=%ax"), 0u);
  EXPECT_EQ(differ("a=%ax:x32", "a=%ax"), 0u);
  EXPECT_EQ(differ("a=%ax:u64", "a=%ax:x64"), 0u);
  EXPECT_EQ(differ("a=+0(%ax):u8[2]", "a=+0(%ax):u8"), 0u);
  EXPECT_EQ(differ("a=%ax b=%bx", "a=%ax"), 1u);
  EXPECT_EQ(differ("z=%ax", "a=%ax b=%bx"), 1u);
  EXPECT_EQ(differ("", "a=%ax"), 0u);
}

// The part of a format file behind the common fields.
std::string format_of(std::string_view line) {
  ProbeDefinition definition = parse(line);
  const EventCall call = make_probe_event_call(&definition);
  std::string text = call.format_text();
  auto read = parse_format(call.system, text);
  EXPECT_TRUE(read.ok()) << line;
  EXPECT_EQ(read.ok() ? read->format_text() : "", text) << line;
  text = text.substr(text.find("common_pid"));
  return text.substr(text.find("\n\n") + 2);
}

struct FormatRow {
  std::string_view line, format;
};

#define IP "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
#define RETURN                                                           \
  "\tfield:unsigned long __probe_func;\toffset:8;\tsize:8;\tsigned:0;\n" \
  "\tfield:unsigned long __probe_ret_ip;\toffset:16;\tsize:8;\tsigned:0;\n"

// Answers of the kernel.
constexpr FormatRow kFormats[] = {
    {"p:b vfs_read", IP "\nprint fmt: \"(%lx)\", REC->__probe_ip\n"},
    {"p:a vfs_read n=+0($arg1):x8 u=$arg3:u64 c=+0(%si):char a=+0(%si):u8[4] s=+0($arg2):string "
     "us=+0($arg2):ustring sa=+0($arg2):string[2] b=%ax:b4@2/8 y=%ip:symbol ys=%ip:symstr "
     "st=$stack st1=$stack1:s16 cm=$comm im=\\5:s32 tx=\\\"ab\"",
     IP
     "\tfield:u8 n;\toffset:16;\tsize:1;\tsigned:0;\n"
     "\tfield:u64 u;\toffset:17;\tsize:8;\tsigned:0;\n"
     "\tfield:u8 c;\toffset:25;\tsize:1;\tsigned:0;\n"
     "\tfield:u8 a[];\toffset:26;\tsize:4;\tsigned:0;\n"
     "\tfield:__data_loc char[] s;\toffset:30;\tsize:4;\tsigned:1;\n"
     "\tfield:__data_loc char[] us;\toffset:34;\tsize:4;\tsigned:1;\n"
     "\tfield:__data_loc char[][2] sa;\toffset:38;\tsize:8;\tsigned:1;\n"
     "\tfield:u8 b;\toffset:46;\tsize:1;\tsigned:0;\n"
     "\tfield:u64 y;\toffset:47;\tsize:8;\tsigned:0;\n"
     "\tfield:__data_loc char[] ys;\toffset:55;\tsize:4;\tsigned:1;\n"
     "\tfield:u64 st;\toffset:59;\tsize:8;\tsigned:0;\n"
     "\tfield:s16 st1;\toffset:67;\tsize:2;\tsigned:1;\n"
     "\tfield:__data_loc char[] cm;\toffset:69;\tsize:4;\tsigned:1;\n"
     "\tfield:s32 im;\toffset:73;\tsize:4;\tsigned:1;\n"
     "\tfield:__data_loc char[] tx;\toffset:77;\tsize:4;\tsigned:1;\n"
     "\nprint fmt: \"(%lx) n=0x%x u=%Lu c='%c' a={%u,%u,%u,%u} s=\\\"%s\\\" us=\\\"%s\\\" "
     "sa={\\\"%s\\\",\\\"%s\\\"} b=%u y=%pS ys=\\\"%s\\\" st=0x%Lx st1=%d cm=\\\"%s\\\" im=%d "
     "tx=\\\"%s\\\"\", REC->__probe_ip, REC->n, REC->u, REC->c, REC->a[0], REC->a[1], REC->a[2], "
     "REC->a[3], __get_str(s), __get_str(us), __get_str(sa[0]), __get_str(sa[1]), REC->b, "
     "REC->y, __get_str(ys), REC->st, REC->st1, __get_str(cm), REC->im, __get_str(tx)\n"},
    {"r5:c vfs_read ret=$retval:s64 file=$arg1:x32", RETURN
     "\tfield:s64 ret;\toffset:24;\tsize:8;\tsigned:1;\n"
     "\tfield:u32 file;\toffset:32;\tsize:4;\tsigned:0;\n"
     "\nprint fmt: \"(%lx <- %lx) ret=%Ld file=0x%x\", REC->__probe_func, REC->__probe_ret_ip, "
     "REC->ret, REC->file\n"},
    {"p:g/d vfs_write%return $retval:s64",
     RETURN "\tfield:s64 arg1;\toffset:24;\tsize:8;\tsigned:1;\n"
            "\nprint fmt: \"(%lx <- %lx) arg1=%Ld\", REC->__probe_func, REC->__probe_ret_ip, "
            "REC->arg1\n"},
    {"f:e vfs_read a=$arg2:x64 m=+0($arg2):s16[3] -8(+u8($arg2)):x32", IP
     "\tfield:u64 a;\toffset:16;\tsize:8;\tsigned:0;\n"
     "\tfield:s16 m[];\toffset:24;\tsize:6;\tsigned:1;\n"
     "\tfield:u32 arg3;\toffset:30;\tsize:4;\tsigned:0;\n"
     "\nprint fmt: \"(%lx) a=0x%Lx m={%d,%d,%d} arg3=0x%x\", REC->__probe_ip, REC->a, REC->m[0], "
     "REC->m[1], REC->m[2], REC->arg3\n"},
    {"f:e2 vfs_read%return $retval:x32",
     RETURN "\tfield:u32 arg1;\toffset:24;\tsize:4;\tsigned:0;\n"
            "\nprint fmt: \"(%lx <- %lx) arg1=0x%x\", REC->__probe_func, REC->__probe_ret_ip, "
            "REC->arg1\n"},
    {"t:tt kfree p=$arg1:x64", IP "\tfield:u64 p;\toffset:16;\tsize:8;\tsigned:0;\n"
                                  "\nprint fmt: \"(%lx) p=0x%Lx\", REC->__probe_ip, REC->p\n"},
    {"e:ee syscalls.sys_enter_umask m=$mask:x8 $comm:string $mask",
     "\tfield:u8 m;\toffset:8;\tsize:1;\tsigned:0;\n"
     "\tfield:__data_loc char[] arg2;\toffset:9;\tsize:4;\tsigned:1;\n"
     "\tfield:u64 arg3;\toffset:13;\tsize:8;\tsigned:0;\n"
     "\nprint fmt: \" m=0x%x arg2=\\\"%s\\\" arg3=0x%Lx\", REC->m, __get_str(arg2), REC->arg3\n"},
    {"e:eo sched.sched_process_exec f=$filename:string g=+0($filename):u8[3] $pid:s32",
     "\tfield:__data_loc char[] f;\toffset:8;\tsize:4;\tsigned:1;\n"
     "\tfield:u8 g[];\toffset:12;\tsize:3;\tsigned:0;\n"
     "\tfield:s32 arg3;\toffset:15;\tsize:4;\tsigned:1;\n"
     "\nprint fmt: \" f=\\\"%s\\\" g={%u,%u,%u} arg3=%d\", __get_str(f), REC->g[0], REC->g[1], "
     "REC->g[2], REC->arg3\n"},
    {"p:u /bin/busybox:0x1000 a=%ax:u8 s=+0(%di):string[3] +0(%sp):b3@5/16[2]",
     IP "\tfield:u8 a;\toffset:16;\tsize:1;\tsigned:0;\n"
        "\tfield:__data_loc char[][3] s;\toffset:17;\tsize:12;\tsigned:1;\n"
        "\tfield:u16 arg3[];\toffset:29;\tsize:4;\tsigned:0;\n"
        "\nprint fmt: \"(%lx) a=%u s={\\\"%s\\\",\\\"%s\\\",\\\"%s\\\"} arg3={%u,%u}\", "
        "REC->__probe_ip, REC->a, __get_str(s[0]), __get_str(s[1]), __get_str(s[2]), REC->arg3[0], "
        "REC->arg3[1]\n"},
    {"r:ur2 /bin/busybox:0x1200 $retval %cs %orig_ax",
     RETURN "\tfield:u64 arg1;\toffset:24;\tsize:8;\tsigned:0;\n"
            "\tfield:u64 arg2;\toffset:32;\tsize:8;\tsigned:0;\n"
            "\tfield:u64 arg3;\toffset:40;\tsize:8;\tsigned:0;\n"
            "\nprint fmt: \"(%lx <- %lx) arg1=0x%Lx arg2=0x%Lx arg3=0x%Lx\", REC->__probe_func, "
            "REC->__probe_ret_ip, REC->arg1, REC->arg2, REC->arg3\n"},
    {"p:a1 vfs_read s8=%ax:s8 s16=%bx:s16 s32=%cx:s32 s64=%dx:s64 u16=%si:u16 u32=%di:u32 "
     "x16=%r8:x16 x64=%r9",
     IP "\tfield:s8 s8;\toffset:16;\tsize:1;\tsigned:1;\n"
        "\tfield:s16 s16;\toffset:17;\tsize:2;\tsigned:1;\n"
        "\tfield:s32 s32;\toffset:19;\tsize:4;\tsigned:1;\n"
        "\tfield:s64 s64;\toffset:23;\tsize:8;\tsigned:1;\n"
        "\tfield:u16 u16;\toffset:31;\tsize:2;\tsigned:0;\n"
        "\tfield:u32 u32;\toffset:33;\tsize:4;\tsigned:0;\n"
        "\tfield:u16 x16;\toffset:37;\tsize:2;\tsigned:0;\n"
        "\tfield:u64 x64;\toffset:39;\tsize:8;\tsigned:0;\n"
        "\nprint fmt: \"(%lx) s8=%d s16=%d s32=%d s64=%Ld u16=%u u32=%u x16=0x%x x64=0x%Lx\", "
        "REC->__probe_ip, REC->s8, REC->s16, REC->s32, REC->s64, REC->u16, REC->u32, REC->x16, "
        "REC->x64\n"},
    {"p:a2 vfs_read+0 fl=%flags ss=%ss b=%bp:b1@63/64 c=+0(@jiffies):char[5] y=+0(%sp):symbol[2] "
     "z=-16(%sp):s64[1]",
     IP "\tfield:u64 fl;\toffset:16;\tsize:8;\tsigned:0;\n"
        "\tfield:u64 ss;\toffset:24;\tsize:8;\tsigned:0;\n"
        "\tfield:u64 b;\toffset:32;\tsize:8;\tsigned:0;\n"
        "\tfield:u8 c[];\toffset:40;\tsize:5;\tsigned:0;\n"
        "\tfield:u64 y[];\toffset:45;\tsize:16;\tsigned:0;\n"
        "\tfield:s64 z[];\toffset:61;\tsize:8;\tsigned:1;\n"
        "\nprint fmt: \"(%lx) fl=0x%Lx ss=0x%Lx b=%Lu c={'%c','%c','%c','%c','%c'} y={%pS,%pS} "
        "z={%Ld}\", REC->__probe_ip, REC->fl, REC->ss, REC->b, REC->c[0], REC->c[1], REC->c[2], "
        "REC->c[3], REC->c[4], REC->y[0], REC->y[1], REC->z[0]\n"},
    {"r:a3 vfs_read us=+0($retval):ustring[2] cm=$COMM:string st=$stack0:x32",
     RETURN "\tfield:__data_loc char[][2] us;\toffset:24;\tsize:8;\tsigned:1;\n"
            "\tfield:__data_loc char[] cm;\toffset:32;\tsize:4;\tsigned:1;\n"
            "\tfield:u32 st;\toffset:36;\tsize:4;\tsigned:0;\n"
            "\nprint fmt: \"(%lx <- %lx) us={\\\"%s\\\",\\\"%s\\\"} cm=\\\"%s\\\" st=0x%x\", "
            "REC->__probe_func, REC->__probe_ret_ip, __get_str(us[0]), __get_str(us[1]), "
            "__get_str(cm), REC->st\n"},
    {"f:a4 vfs_read%return im=\\\"x\" n=\\-5:s8 ar=+8(+16($arg1)):b5@1/32",
     RETURN "\tfield:__data_loc char[] im;\toffset:24;\tsize:4;\tsigned:1;\n"
            "\tfield:s8 n;\toffset:28;\tsize:1;\tsigned:1;\n"
            "\tfield:u32 ar;\toffset:29;\tsize:4;\tsigned:0;\n"
            "\nprint fmt: \"(%lx <- %lx) im=\\\"%s\\\" n=%d ar=%u\", REC->__probe_func, "
            "REC->__probe_ret_ip, __get_str(im), REC->n, REC->ar\n"},
    {"t:a5 kfree $comm st=+0($arg2):string[1] mem=@jiffies:u32",
     IP "\tfield:__data_loc char[] arg1;\toffset:16;\tsize:4;\tsigned:1;\n"
        "\tfield:__data_loc char[][1] st;\toffset:20;\tsize:4;\tsigned:1;\n"
        "\tfield:u32 mem;\toffset:24;\tsize:4;\tsigned:0;\n"
        "\nprint fmt: \"(%lx) arg1=\\\"%s\\\" st={\\\"%s\\\"} mem=%u\", REC->__probe_ip, "
        "__get_str(arg1), __get_str(st[0]), REC->mem\n"},
    {"e:a6 kmem.kfree",

     "\nprint fmt: \"\"\n"},
    {"p:a7 /bin/busybox:0x1300 mem=@0x1234:x16[2] fo=@+16:s8 st=$stack0:u64 +0($stack):string",
     IP "\tfield:u16 mem[];\toffset:16;\tsize:4;\tsigned:0;\n"
        "\tfield:s8 fo;\toffset:20;\tsize:1;\tsigned:1;\n"
        "\tfield:u64 st;\toffset:21;\tsize:8;\tsigned:0;\n"
        "\tfield:__data_loc char[] arg4;\toffset:29;\tsize:4;\tsigned:1;\n"
        "\nprint fmt: \"(%lx) mem={0x%x,0x%x} fo=%d st=%Lu arg4=\\\"%s\\\"\", REC->__probe_ip, "
        "REC->mem[0], REC->mem[1], REC->fo, REC->st, __get_str(arg4)\n"},
};

TEST(ProbeFormat, AsTheKernel) {
  for (const FormatRow& row : kFormats) EXPECT_EQ(format_of(row.line), row.format) << row.line;
}

TEST(ProbeFormat, HeadsOfTexts) {
  auto call_of = [](std::string_view line) {
    ProbeDefinition definition = parse(line);
    return make_probe_event_call(&definition);
  };
  EXPECT_EQ(call_of("p:g/e vfs_read").system, "g");
  EXPECT_EQ(call_of("p:g/e vfs_read").name, "e");
  EXPECT_EQ(call_of("p vfs_read").head, ProbeHead::kByFields);
  EXPECT_EQ(call_of("t kfree").head, ProbeHead::kByFields);
  EXPECT_EQ(call_of("p /bin/sh:1").head, ProbeHead::kNumbers);
  EXPECT_EQ(call_of("r /bin/sh:1").head, ProbeHead::kNumbers);
  EXPECT_EQ(call_of("e kmem.kfree").head, ProbeHead::kSource);
  EXPECT_EQ(call_of("e kmem.kfree").shown_source, "kmem.kfree");
}

}  // namespace
}  // namespace patchbay
