// SPDX-License-Identifier: MIT
//
// Wrong lines, each with its caret and text: those that a 6.12 kernel was asked, of the kernel's
// selftests {kprobe,uprobe,eprobe,fprobe,tprobe}_syntax_errors.tc, and of ours. Rows that name
// arguments of functions answer what a kernel without BTF does. What needs the registry (events
// of the same name, instruction boundaries) is tested there.
#include <cerrno>

#include <gtest/gtest.h>

#include "event/probe_event_testing.h"

namespace patchbay {
namespace {

struct Row {
  std::string_view line;  // ^ before the character that the caret shows
  std::string_view text;
  int error = EINVAL;
  std::string_view second = "";
};

void check(const Row& row, ProbeFile file) {
  TestWorld world;
  const size_t caret = row.line.find('^');
  std::string line(row.line);
  line.erase(caret, 1);
  ProbeParse parsed = parse_probe_event(line, file, world);
  ASSERT_TRUE(parsed.error) << line;
  EXPECT_FALSE(parsed.definition) << line;
  EXPECT_EQ(parsed.error->text, row.text) << line;
  EXPECT_TRUE(parsed.error->is_logged) << line;
  EXPECT_EQ(parsed.error->position, caret) << line << "\n" << std::string(caret, ' ') << "^";
  EXPECT_EQ(parsed.error->error, row.error) << line;
  EXPECT_EQ(parsed.error->second_text, row.second) << line;
  EXPECT_EQ(parsed.error->second_position, row.second.empty() ? 0 : caret) << line;
}

#define NO_ADDR "Invalid probed address or symbol"
#define NO_BTF "BTF is not available or not supported"
#define BAD_VAR "Invalid $-variable specified"
#define EVENT_RULES "Event name must follow the same rules as C identifiers"
#define GROUP_RULES "Group name must follow the same rules as C identifiers"
#define ONLY_MEMORY "String accepts only memory argument"
#define ONLY_ENTRY "$arg* can be used only on function entry or exit"
#define ONLY_STRING "$comm and immediate-string only accepts string type"
#define USED "This argument name is already used"
#define NO_FETCH "Invalid fetch argument"
#define NO_EVENT_INFO "This requires both group and event name to attach"
#define LONG "12345678901234567890123456789012345678901234567890123456789012345"

TEST(ProbeErrors, KprobesOfTheSpec) {
  const Row kRows[] = {
      {"r^0 vfs_read", "Invalid maxactive number"},
      {"r^4097 vfs_read", "Maxactive is too big"},
      {"r ^vfs_read+1", "Retprobe address must be an function entry"},
      {"p vfs_read a=^5", NO_FETCH},
      {"p vfs_read a=^%foo", "Invalid register name"},
      {"p:^/ev vfs_read", "Group name is not specified"},
      {"p:a/^b/c vfs_read", EVENT_RULES},
      {"p:^1a vfs_read", EVENT_RULES},
      {"p:^a-b vfs_read", EVENT_RULES},
      {"p:^1g/a vfs_read", GROUP_RULES},
      {"p ^nosuch", NO_ADDR},
      {"p ^vfs_read+", NO_ADDR},
      {"p ^vfs_read+x", NO_ADDR},
      {"p ^vfs_read-x", NO_ADDR},
      {"p vfs_read^%foo", "Invalid probed address suffix"},
      {"p vfs_read ^$nosuch", BAD_VAR},
      {"p vfs_read ^$retval", "$retval is not available on probe"},
      {"p vfs_read ^$stackx", BAD_VAR},
      {"p vfs_read ^$arg0", "Invalid argument number"},
      {"p ^vfs_read @", NO_ADDR, ENOENT},
      {"p ^vfs_read @nosuch", NO_ADDR, ENOENT},
      {"p vfs_read ^@+10", "File offset is not available with kprobe"},
      {"p vfs_read ^+0", "Dereference needs a brace"},
      {"p vfs_read ^+x(%ax)", "Invalid dereference offset"},
      {"p vfs_read +0(%ax^", "Dereference brace is not closed"},
      {"p vfs_read +0(%ax):^foo", "Unknown type is specified"},
      {"p vfs_read %ax:^string", ONLY_MEMORY},
      {"p vfs_read $comm:^u8", ONLY_STRING},
      {"p vfs_read +0(^$comm)", "$comm can not be dereferenced"},
      {"p vfs_read \\\"abc^", "String is not closed with '\"'"},
      {"p vfs_read \\^x", "Invalid immediate value"},
      {"p vfs_read %ax:u8[^", "Array is not closed"},
      {"p vfs_read %ax:u8[4]^x", "Array has wrong suffix"},
      {"p vfs_read %ax:u8[^0]", "Invalid array size"},
      {"p vfs_read %ax:u8[^65]", "Array number is too big"},
      {"p vfs_read %ax:^u8[4]", ONLY_MEMORY},
      {"p vfs_read %ax:^b4", "Unknown type is specified"},
      {"p vfs_read %ax:^b4@64/32", "Invalid bitfield"},
      {"p vfs_read a=^", "No argument expression"},
      {"p vfs_read ^=%ax", "Argument name is not specified"},
      {"p vfs_read ^1a=%ax", "Argument name must follow the same rules as C identifiers"},
      {"p vfs_read a=%ax ^a=%bx", USED},
      {"p vfs_read ^common_pid=%ax", USED},
      {"p vfs_read ^__probe_ip=%ax", USED},
      {"p vfs_read ^nosucharg", NO_BTF, EOPNOTSUPP},
      {"p vfs_read ^count->x", NO_BTF, EOPNOTSUPP},
      {"p vfs_read ^file-x", NO_BTF, EOPNOTSUPP},
      {"p vfs_read a=^$arg*", BAD_VAR},
      {"p vfs_read $arg* ^$arg*", "$arg* can be used only once in the parameters"},
      {"p vfs_read ^$arg*", NO_BTF, EOPNOTSUPP},
      {"p vfs_read $arg* %bad ^$arg1", NO_BTF, EOPNOTSUPP},
      {"p vfs_read+5 ^$arg*", ONLY_ENTRY},
      {"p vfs_read+5 ^$arg1", ONLY_ENTRY},
      {"p ^0", "Failed to register probe event"},
      {"p ^0xzz", NO_ADDR},
      {"p vfs_read $comm:^string[2]", ONLY_STRING},
      {"p vfs_read ^file:string", NO_BTF, EOPNOTSUPP},
      {"p ^name_show", "The symbol is not unique"},
  };
  for (const Row& row : kRows) {
    check(row, ProbeFile::kKprobeEvents);
    check(row, ProbeFile::kDynamicEvents);
  }
}

TEST(ProbeErrors, WordsThatAreOurs) {
  constexpr const char* kNoType = "Unknown type is specified";
  const Row kRows[] = {
      {"p ^vfs_read-4294967296", NO_ADDR},
      {"p vfs_read ^a6", NO_BTF, EOPNOTSUPP},
      {"p vfs_read ^rv", NO_BTF, EOPNOTSUPP},
      {"p vfs_read+5 ^a0", NO_BTF},
      {"p vfs_read+5 ^ra", NO_BTF},
      {"p vfs_read +0(%ax):^string/0", kNoType},
      {"p vfs_read +0(%ax):^string/x", kNoType},
      {"p vfs_read +0(%ax):^string/4[2]", kNoType},
  };
  for (const Row& row : kRows) check(row, ProbeFile::kKprobeEvents);
}

// The largest that is taken, and the smallest that is not.
TEST(ProbeErrors, Limits) {
  const std::string name(63, 'n');
  const auto arguments = [](int count) {
    std::string text;
    for (int i = 0; i < count; i++) text += " a" + std::to_string(i) + "=%ax";
    return text;
  };
  TestWorld world;
  for (const std::string& line :
       {std::string("r4096 vfs_read"), "p:" + name + "/" + name + " vfs_read",
        "p vfs_read" + arguments(128), std::string("p vfs_read-4294967295")})
    EXPECT_FALSE(parse_probe_event(line, ProbeFile::kKprobeEvents, world).error) << line;
  check({"r^4097 vfs_read", "Maxactive is too big"}, ProbeFile::kKprobeEvents);
  const std::string group = "p:^" + name + "n/e vfs_read", event = "p:g/^" + name + "n vfs_read";
  check({group, "Group name is too long"}, ProbeFile::kKprobeEvents);
  check({event, "Event name is too long"}, ProbeFile::kKprobeEvents);
  const ProbeParse parsed =
      parse_probe_event("p vfs_read" + arguments(129), ProbeFile::kKprobeEvents, world);
  ASSERT_TRUE(parsed.error);
  EXPECT_EQ(parsed.error->error, E2BIG);
}

TEST(ProbeErrors, KprobesOfTheSelftests) {
  const Row kRows[] = {
      {"p^100 vfs_read", "Maxactive is only for function exit"},
      {"r^1a111 vfs_read", "Invalid maxactive number"},
      {"r^100000 vfs_read", "Maxactive is too big"},
      {"p ^non_exist_func", NO_ADDR},
      {"p ^hoge-fuga", NO_ADDR},
      {"p ^hoge+1000-1000", NO_ADDR},
      {"r ^vfs_read+10", "Retprobe address must be an function entry"},
      {"p:^/bar vfs_read", "Group name is not specified"},
      {"p:^" LONG "/bar vfs_read", "Group name is too long"},
      {"p:^foo.1/bar vfs_read", GROUP_RULES},
      {"p:^ vfs_read", "Event name is not specified"},
      {"p:foo/^" LONG " vfs_read", "Event name is too long"},
      {"p:foo/^bar.1 vfs_read", EVENT_RULES},
      {"p vfs_read ^$stack10000", "Invalid stack number"},
      {"p vfs_read ^$arg10000", "Invalid argument number"},
      {"p vfs_read ^$none_var", BAD_VAR},
      {"p vfs_read ^%none_reg", "Invalid register name"},
      {"p vfs_read ^@12345678abcde", "Invalid memory address"},
      {"p vfs_read arg1=\\^x", "Invalid immediate value"},
      {"p vfs_read arg1=\\\"abcd^", "String is not closed with '\"'"},
      {"p vfs_read ^+0@0)", "Dereference needs a brace"},
      {"p vfs_read ^+0ab1(@0)", "Invalid dereference offset"},
      {"p vfs_read +0(+0(@0^)", "Dereference brace is not closed"},
      {"p vfs_read ^&1", NO_FETCH},
      {"p vfs_read +0(^+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(@0))))))))))))))",
       "Dereference is too much nested"},
      {"p vfs_read +0(@11):u8[10^", "Array is not closed"},
      {"p vfs_read +0(@11):u8[10]^a", "Array has wrong suffix"},
      {"p vfs_read +0(@11):u8[^10a]", "Invalid array size"},
      {"p vfs_read +0(@11):u8[^256]", "Array number is too big"},
      {"p vfs_read @11:^unknown_type", "Unknown type is specified"},
      {"p vfs_read $stack0:^string", ONLY_MEMORY},
      {"p vfs_read @11:^b10@a/16", "Invalid bitfield"},
      {"p vfs_read ^arg123456789012345678901234567890=@11", "Argument name is too long"},
      {"p vfs_read ^=@11", "Argument name is not specified"},
      {"p vfs_read ^var.1=@11", "Argument name must follow the same rules as C identifiers"},
      {"p vfs_read var1=@11 ^var1=@12", USED},
      {"p vfs_read ^+1234567(+1234567(+1234567(+1234567(+1234567(+1234567(@1234))))))",
       "Argument expression is too long", E2BIG},
      {"p vfs_read arg1=^", "No argument expression"},
      {"p vfs_read^%hoge", "Invalid probed address suffix"},
      {"p ^vfs_read+10%return", "Retprobe address must be an function entry"},
  };
  for (const Row& row : kRows) check(row, ProbeFile::kKprobeEvents);
}

TEST(ProbeErrors, KprobePeculiarities) {
  const Row kRows[] = {
      {"r 0x401000 ^$retval", "$retval is not available on probe"},
      {"p 0x401000 ^$arg1", ONLY_ENTRY},
      {"p ^0x1000", "Failed to register probe event"},
      {"r ^0x401001", "Failed to register probe event"},
      {"p vfs_read ^$retvalx", "$retval is not available on probe"},
      {"r vfs_read ^$retvalx", "This variable is not found at this probe point", ENOENT},
      {"r vfs_read ^$retval->x", NO_BTF, EOPNOTSUPP},
      {"r vfs_read ^$arg7", "Invalid argument number"},
      {"p vfs_read +u0^(foo)", NO_BTF, EOPNOTSUPP},
      {"p vfs_read +0(^)", NO_FETCH},
      {"p ^vfs_read @jiffies+x", "Failed to register probe event"},
      {"p vfs_read $arg2 +0(%sp) ^%foo", "Invalid register name"},
      {"p vfs_read \\\"a:^b\"", ONLY_STRING},
      {"p vfs_read \\^99999999999999999999", "Invalid immediate value", ERANGE},
      {"p vfs_read ^@99999999999999999999", "Invalid memory address", ERANGE},
      {"p vfs_read +0(%di):sym^str[2]", ONLY_MEMORY},
      {"p vfs_read %di:^symstr[2]", ONLY_MEMORY},
      {"p vfs_read +u0(%di):sym^str", "Symbol String doesn't accept data/userdata"},
      {"p vfs_read +u0(%di):u8[^4]", ONLY_MEMORY},
      {"p vfs_read \\5:^symstr", "Symbol String doesn't accept data/userdata"},
      {"p vfs_read %ax:^%pd", "Unknown type is specified"},
      {"p vfs_read %ax:^b0@1/8", "Invalid bitfield"},
      {"p vfs_read %ax:^b9@0/8", "Invalid bitfield"},
      {"p vfs_read %ax:^b4@5/8", "Invalid bitfield"},
      {"p vfs_read %ax:^b18446744073709551615@1/8", "Invalid bitfield"},
      {"p vfs_read %ax:^b4@0/12", "Unknown type is specified"},
      {"p vfs_read %ax:^float80", "Unknown type is specified"},
      {"r vfs_read %ax:^float80", "Unknown type is specified"},
      {"r vfs_read $retval:^float80[2]", "Unknown type is specified"},
      {"r vfs_read +0($retval):^float80", "Unknown type is specified"},
      {"p vfs_read ^$argx", BAD_VAR},
      {"p vfs_read ^$arg", BAD_VAR},
      {"p vfs_read $stack1:u8[4^", "Array is not closed"},
      {"p vfs_read ^a.b", NO_BTF, EOPNOTSUPP},
      {"p vfs_read ^%rax", "Invalid register name"},
      {"p vfs_read ^%xmm16", "Invalid register name"},
      {"p vfs_read a=+0(@0):u64[64] b=+0(@0):u64[64] c=+0(@0):u64[64] d=+0(@0):u64[64] "
       "e=+0(@0):u64[64] f=+0(@0):u64[64] g=+0(^@0):u64[1]",
       "Event too big (too many fields?)", E2BIG},
  };
  for (const Row& row : kRows) check(row, ProbeFile::kKprobeEvents);
}

TEST(ProbeErrors, Uprobes) {
  const Row kRows[] = {
      {"p ^/nosuch:1", "Failed to find the given file", ENOENT},
      {"p ^/sys:1", "Not a regular file"},
      {"p /bin/busybox:0x1000(^", "Reference counter brace is not closed"},
      {"p /bin/busybox:0x1000(0x20^", "Reference counter brace is not closed"},
      {"p /bin/busybox:0x1000(0x20)^x", "Reference counter has wrong suffix"},
      {"p /bin/busybox:0x1000(^x)", "Invalid reference counter offset"},
      {"p /bin/busybox:0x1000(0x20)^%return", "Reference counter has wrong suffix"},
      {"p /bin/busybox:0x1000^%foo", "Invalid probed address suffix"},
      {"p /bin/busybox:0x1000 ^@jiffies", "Symbol is not available with uprobe"},
      {"p /bin/busybox:0x1000 ^@+x", "Invalid file offset value"},
      {"p /bin/busybox:0x1000 ^$arg1", ONLY_ENTRY},
      {"r /bin/busybox:0x1000 ^$arg1", ONLY_ENTRY},
      {"p /bin/busybox:0x1000 ^$arg*", BAD_VAR},
      {"p /bin/busybox:0x1000 ^$retval", "$retval is not available on probe"},
      {"p /bin/busybox:0x1000 %ip:^symbol", "Unknown type is specified"},
      {"p /bin/busybox:0x1000 +0(%di):^symstr", "Unknown type is specified"},
      {"p /bin/busybox:0x1000 ^foo", NO_BTF},
      {"p:^/x /bin/busybox:1", "Group name is not specified"},
      {"p ^/non_exist_file:100", "Failed to find the given file", ENOENT},
      {"p ^/sys:100", "Not a regular file"},
      {"p /bin/sh:^10a", "Invalid uprobe offset"},
      {"p /bin/sh:^99999999999999999999", "Invalid uprobe offset", ERANGE},
      {"p /bin/sh:10(^1a)", "Invalid reference counter offset"},
      {"p /bin/sh:10(10^", "Reference counter brace is not closed"},
      {"p /bin/sh:10(10)^a", "Reference counter has wrong suffix"},
      {"p /bin/sh:10 ^@+ab", "Invalid file offset value"},
      {"p /bin/sh:10 ^@symbol", "Symbol is not available with uprobe"},
      {"p /bin/sh:10^%hoge", "Invalid probed address suffix"},
      {"p /bin/sh:10(10)^%return", "Reference counter has wrong suffix"},
      {"p /bin/sh:10 $stack0:^symstr", "Unknown type is specified"},
  };
  for (const Row& row : kRows) {
    check(row, ProbeFile::kUprobeEvents);
    check(row, ProbeFile::kDynamicEvents);
  }
}

TEST(ProbeErrors, FprobesAndTracepoints) {
  const Row kRows[] = {
      {"f^5 vfs_read", "Maxactive is only for function exit"},
      {"f^1a111 vfs_read", "Invalid maxactive number"},
      {"f^100000 vfs_read", "Maxactive is too big"},
      {"f^0 vfs_read%return", "Invalid maxactive number"},
      {"f^5000 vfs_read%return", "Maxactive is too big"},
      {"f ^nosuch", "Failed to register probe event"},
      {"f ^vfs_read+5", "Failed to register probe event"},
      {"f ^vfs_read+0", "Failed to register probe event"},
      {"f vfs_read^%foo", "Invalid probed address suffix"},
      {"f:^1a vfs_read", EVENT_RULES},
      {"f:^/bar vfs_read", "Group name is not specified"},
      {"f:^ vfs_read", "Event name is not specified"},
      {"f vfs_read ^%ax", BAD_VAR, EINVAL, NO_FETCH},
      {"f vfs_read ^%return", BAD_VAR, EINVAL, NO_FETCH},
      {"f vfs_read ^$stack10000", "Invalid stack number"},
      {"f vfs_read ^$arg10000", "Invalid argument number"},
      {"f vfs_read ^$none_var", BAD_VAR},
      {"f vfs_read ^@12345678abcde", "Invalid memory address"},
      {"f vfs_read ^@+10", "File offset is not available with kprobe"},
      {"f vfs_read +0(^+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(@0))))))))))))))",
       "Dereference is too much nested"},
      {"f vfs_read a=$arg2:x64 s=+0($arg2):sym^str[2]", ONLY_MEMORY},
      {"f vfs_read%return $arg1:^symstr", "Symbol String doesn't accept data/userdata"},
      {"f vfs_read ^$arg*", NO_BTF, EOPNOTSUPP},
      {"t^100 kfree", "Maxactive is only for function exit"},
      {"t:^/bar kfree", "Group name is not specified"},
      {"t:^" LONG "/bar kfree", "Group name is too long"},
      {"t:foo/^bar.1 kfree", EVENT_RULES},
      {"t k^*ee", "Invalid character in tracepoint name"},
      {"t kfree^%return", "Invalid probed address suffix"},
      {"t kfree ^nosuch", NO_BTF, EOPNOTSUPP},
      {"t kfree ^$arg*", NO_BTF, EOPNOTSUPP},
      {"t kfree ^$arg9", "This variable is not found at this probe point", ENOENT},
      {"t kfree ^$arg10000", "Invalid argument number"},
      {"t kfree ^$retval", "$retval is not available on probe"},
      {"t kfree a=+0(^$retval)", "$retval is not available on probe"},
      {"t kfree ^%ax", BAD_VAR, EINVAL, NO_FETCH},
      {"t kfree ^%return", BAD_VAR, EINVAL, NO_FETCH},
      {"t kfree ^$stack10000", "Invalid stack number"},
      {"t kfree $stack0:^string", ONLY_MEMORY},
      {"t kfree a=^$stack0", BAD_VAR},
      {"t kfree @11:^b10@a/16", "Invalid bitfield"},
      {"t:ev sched_switch $arg1 ^$arg*", NO_BTF, EOPNOTSUPP},
  };
  for (const Row& row : kRows) check(row, ProbeFile::kDynamicEvents);
}

TEST(ProbeErrors, EventProbes) {
  const Row kRows[] = {
      {"e:g/ev syscalls.sys_enter_umask m=$mask:x8 $comm ^$nosuch", BAD_VAR},
      {"e:g/ev syscalls.sys_enter_umask $mask $comm:string x=^$common_pid", BAD_VAR},
      {"e ^syscalls.nosuch", "Attached event does not exist", ENODEV},
      {"e ^nosuch", NO_EVENT_INFO},
      {"e syscalls.sys_enter_umask if ^", "No filter rule after 'if'"},
      {"e syscalls.sys_enter_umask +0(^%di)", BAD_VAR, EINVAL, NO_FETCH},
      {"e syscalls.sys_enter_umask @jiffies \\5 ^$stack", BAD_VAR},
      {"e ^a.", NO_EVENT_INFO},
      {"e ^.b", "Group name is not specified", EINVAL, NO_EVENT_INFO},
      {"e ^1a.b", GROUP_RULES, EINVAL, NO_EVENT_INFO},
      {"e ^a.b", "Attached event does not exist", ENODEV},
      {"e syscalls/sys_enter_openat ^foo", NO_BTF},
      {"e:^/bar syscalls/sys_enter_openat", "Group name is not specified"},
      {"e:^" LONG "/bar syscalls/sys_enter_openat", "Group name is too long"},
      {"e:^foo.1/bar syscalls/sys_enter_openat", GROUP_RULES},
      {"e:^ syscalls/sys_enter_openat", "Event name is not specified"},
      {"e:foo/^" LONG " syscalls/sys_enter_openat", "Event name is too long"},
      {"e:foo/^bar.1 syscalls/sys_enter_openat", EVENT_RULES},
      {"e:foo/bar syscalls/sys_enter_openat arg=^dfd", NO_BTF},
      {"e:foo/bar syscalls/sys_enter_openat arg=^$foo", BAD_VAR},
      {"e:foo/bar syscalls/sys_enter_openat if ^", "No filter rule after 'if'"},
      {"e syscalls.sys_enter_umask $comm:^symstr", "Symbol String doesn't accept data/userdata"},
  };
  for (const Row& row : kRows) check(row, ProbeFile::kDynamicEvents);
  TestWorld world;
  ProbeParse parsed = parse_probe_event("e a.1b", ProbeFile::kDynamicEvents, world);
  ASSERT_TRUE(parsed.error);
  EXPECT_EQ(parsed.error->text, EVENT_RULES);
  EXPECT_EQ(parsed.error->position, 4u);
  EXPECT_EQ(parsed.error->second_text, NO_EVENT_INFO);
  EXPECT_EQ(parsed.error->second_position, 2u);
}

TEST(ProbeErrors, LocationOfEachKind) {
  TestWorld world;
  auto location = [&world](std::string_view line, ProbeFile file) {
    ProbeParse parsed = parse_probe_event(line, file, world);
    return parsed.error ? parsed.error->location : "";
  };
  EXPECT_EQ(location("p nosuch", ProbeFile::kDynamicEvents), "trace_kprobe");
  EXPECT_EQ(location("p /nosuch:1", ProbeFile::kDynamicEvents), "trace_uprobe");
  EXPECT_EQ(location("p5 /bin/sh:1", ProbeFile::kDynamicEvents), "trace_kprobe");
  EXPECT_EQ(location("f nosuch", ProbeFile::kDynamicEvents), "trace_fprobe");
  EXPECT_EQ(location("t k*", ProbeFile::kDynamicEvents), "trace_fprobe");
  EXPECT_EQ(location("e nosuch", ProbeFile::kDynamicEvents), "event_probe");
}

TEST(ProbeErrors, LinesThatNoKindTakes) {
  const std::pair<ProbeFile, std::string_view> kLines[] = {
      {ProbeFile::kKprobeEvents, "p"},
      {ProbeFile::kKprobeEvents, "p:"},
      {ProbeFile::kKprobeEvents, ""},
      {ProbeFile::kKprobeEvents, "p /bin/sh:0x10"},
      {ProbeFile::kKprobeEvents, "f vfs_read"},
      {ProbeFile::kKprobeEvents, "e syscalls.sys_enter_umask"},
      {ProbeFile::kKprobeEvents, "!p:a vfs_read"},
      {ProbeFile::kUprobeEvents, "p vfs_read"},
      {ProbeFile::kUprobeEvents, "p /bin/sh"},
      {ProbeFile::kUprobeEvents, "p /bin/sh:x"},
      {ProbeFile::kUprobeEvents, "p"},
      {ProbeFile::kDynamicEvents, "x8 foo"},
      {ProbeFile::kDynamicEvents, "e"},
      {ProbeFile::kDynamicEvents, "f"},
      {ProbeFile::kDynamicEvents, "t:a"},
      {ProbeFile::kDynamicEvents, "p /bin/sh:x"},
  };
  TestWorld world;
  for (const auto& [file, line] : kLines) {
    ProbeParse parsed = parse_probe_event(line, file, world);
    ASSERT_TRUE(parsed.error) << line;
    EXPECT_FALSE(parsed.error->is_logged) << line;
    EXPECT_EQ(parsed.error->error, EINVAL) << line;
  }
  std::string many = "p vfs_read";
  for (int i = 0; i < 129; i++) many += " a" + std::to_string(i) + "=%ax:u8";
  ProbeParse parsed = parse_probe_event(many, ProbeFile::kKprobeEvents, world);
  ASSERT_TRUE(parsed.error);
  EXPECT_EQ(parsed.error->error, E2BIG);
  EXPECT_FALSE(parsed.error->is_logged);
  parsed = parse_probe_event("e kmem.kfree @nosuch", ProbeFile::kDynamicEvents, world);
  ASSERT_TRUE(parsed.error);
  EXPECT_EQ(parsed.error->error, ENOENT);
  EXPECT_FALSE(parsed.error->is_logged);
}

TEST(ProbeErrors, HelpNamesWhatWasMeant) {
  TestWorld world;
  auto help = [&world](std::string_view line) {
    ProbeParse parsed = parse_probe_event(line, ProbeFile::kDynamicEvents, world);
    return parsed.error ? parsed.error->help : "";
  };
  EXPECT_EQ(help("p vfs_read %rax"), "there is no register %rax; did you mean %ax?");
  EXPECT_NE(help("p vfs_read %r16").find("did you mean %r1"), std::string::npos);
  EXPECT_NE(help("p vfs_read %ax:strnig").find("did you mean string"), std::string::npos);
  EXPECT_NE(help("p vfs_read $retvla").find("retval"), std::string::npos);
  EXPECT_NE(help("e kmem.kfree $prt").find("did you mean ptr"), std::string::npos);
  EXPECT_EQ(help("p vfs_raed"), "did you mean vfs_read?");
  EXPECT_EQ(help("e kmem.kfree ptr"), "a field is $ptr");
}

TEST(ProbeErrors, CommandIsCountedWithoutSurplusBlanks) {
  TestWorld world;
  ProbeParse parsed = parse_probe_event("  p\t vfs_read   %foo ", ProbeFile::kKprobeEvents, world);
  ASSERT_TRUE(parsed.error);
  EXPECT_EQ(parsed.error->position, std::string_view("p vfs_read ").size());
}

}  // namespace
}  // namespace patchbay
