// SPDX-License-Identifier: MIT
// What definitions mean and why others are refused: the answers of a 6.12 kernel.
#include "hist/definition/hist_build.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "hist/definition/hist_build_testing.h"

namespace patchbay {
namespace {

using test::FakeHistWorld;

struct Entry {
  size_t position;
  const char* text;
};
struct Refused {
  const char* event;
  const char* command;
  std::vector<Entry> entries;  // the last ones of error_log, in their order
};

// What stands before the caret, and the text.
std::vector<std::pair<size_t, std::string>> entries_of(const ErrorLog& log) {
  std::vector<std::pair<size_t, std::string>> found;
  std::istringstream lines(log.show());
  constexpr size_t kIndent = 11;
  const std::string mark = ": error: ";
  std::string head, command, caret;
  while (std::getline(lines, head) && std::getline(lines, command) && std::getline(lines, caret))
    found.emplace_back(caret.size() - 1 - kIndent, head.substr(head.find(mark) + mark.size()));
  return found;
}

const Refused kRefused[] = {
    {"sys_enter_umask", "hist:keys=common_comm", {{10, "Couldn't find field"}}},
    {"sys_enter_umask", "hist:keys=comm,cpu,common_cpu", {{10, "Couldn't find field"}}},
    {"sys_enter_umask",
     "hist:keys=mask:nohitcount",
     {{0, "Non-hitcount value is required for 'nohitcount'"}}},
    {"sys_enter_umask",
     "hist:keys=mask,common_pid,common_comm,common_cpu",
     {{26, "Couldn't find field"}}},
    {"sys_enter_umask", "hist:keys=mask:x=mask-5-2*3/1", {{24, "Too many subexpressions (3 max)"}}},
    {"sys_enter_umask", "hist:keys=mask:x=mask/0", {{22, "Division by zero"}}},
    {"sys_enter_umask", "hist:keys=mask:x=1+2+3+4+5", {{17, "Too many subexpressions (3 max)"}}},
    {"sys_enter_umask",
     "hist:keys=mask:x=mask+1+2+3+4+mask",
     {{17, "Too many subexpressions (3 max)"}}},
    {"sys_enter_umask", "hist:keys=mask:x=5a", {{17, "Expecting numeric literal"}}},
    {"sys_enter_umask",
     "hist:keys=mask:x=common_timestamp.usecs-mask",
     {{0, "Timestamp units in expression don't match"}}},
    {"sys_enter_umask",
     "hist:keys=mask:x=common_timestamp.usecs-common_timestamp",
     {{0, "Timestamp units in expression don't match"}}},
    {"sys_enter_umask", "hist:keys=mask:x=", {{15, "Empty assignment"}}},
    {"sys_enter_umask", "hist:keys=mask:=x", {{16, "Couldn't find field"}}},
    {"sys_enter_umask", "hist:keys=nosuch", {{10, "Couldn't find field"}}},
    {"sys_enter_umask", "hist:keys=mask.foo", {{15, "Invalid field modifier"}}},
    {"sys_enter_umask", "hist:keys=mask.execname", {{15, "Invalid field modifier"}}},
    {"sys_enter_umask", "hist:keys=mask:vals=mask.log2", {{20, "Invalid field modifier"}}},
    {"sys_enter_umask", "hist:keys=mask:vals=mask.sym", {{20, "Invalid field modifier"}}},
    {"sys_enter_umask", "hist:keys=mask:vals=mask.execname", {{25, "Invalid field modifier"}}},
    {"sys_enter_umask", "hist:keys=mask.percent", {{15, "Invalid field modifier"}}},
    {"sys_enter_umask", "hist:keys=mask.graph", {{15, "Invalid field modifier"}}},
    {"sys_enter_umask", "hist:keys=mask.buckets", {{0, "Invalid field modifier"}}},
    {"sys_enter_umask", "hist:keys=mask.buckets=0", {{23, "Invalid field modifier"}}},
    {"sys_enter_umask", "hist:keys=mask.buckets=x", {{23, "Invalid field modifier"}}},
    {"sys_enter_umask", "hist:keys=mask.stacktrace", {{10, "Invalid field modifier"}}},
    {"sys_enter_umask", "hist:keys=mask:sort=foo", {{20, "Sort field must be a key or a val"}}},
    {"sys_enter_umask", "hist:keys=mask:sort=", {{15, "Empty assignment"}}},
    {"sys_enter_umask", "hist:keys=mask:sort=mask,", {{15, "Empty sort field"}}},
    {"sys_enter_umask", "hist:keys=mask:sort=mask.foo", {{25, "Invalid sort modifier"}}},
    {"sys_enter_umask",
     "hist:keys=mask:sort=mask,mask,mask",
     {{15, "Too many sort fields (Max = 2)"}}},
    {"sys_enter_umask",
     "hist:keys=mask:sort=mask,hitcount,mask",
     {{15, "Too many sort fields (Max = 2)"}}},
    {"sys_enter_umask", "hist:keys=", {{5, "Empty assignment"}}},
    {"sys_enter_umask", "hist:keys=mask:vals=", {{15, "Empty assignment"}}},
    {"sys_enter_umask", "hist:keys=mask:vals=nosuch", {{20, "Couldn't find field"}}},
    {"sys_enter_umask", "hist:keys=mask:size=", {{15, "Empty assignment"}}},
    {"sys_enter_umask", "hist:keys=mask:name=", {{15, "Empty assignment"}}},
    {"sys_enter_umask", "hist:keys=mask:x=mask,x=mask", {{15, "Variable already defined"}}},
    {"sys_enter_umask", "hist:keys=mask:x=mask:x=mask", {{15, "Variable already defined"}}},
    {"sys_enter_umask", "hist:keys=mask:x=$nosuch", {{17, "Couldn't find field"}}},
    {"sys_enter_umask", "hist:keys=$nosuch", {{10, "Couldn't find field"}}},
    {"sys_enter_umask", "hist:keys=mask:vals=$nosuch", {{20, "Couldn't find field"}}},
    {"sys_enter_umask",
     "hist:keys=mask:onmatch(syscalls.sys_enter_kill).trace(foo)",
     {{54, "Couldn't find synthetic event"}}},
    {"sys_enter_umask",
     "hist:keys=mask:onmatch(syscalls.nosuch).trace(foo)",
     {{32, "Invalid subsystem or event name"}}},
    {"sys_enter_umask", "hist:keys=mask:onmatch(nosuch)", {{23, "Missing subsystem"}}},
    {"sys_enter_umask", "hist:keys=mask:onmatch()", {{0, "Missing subsystem"}}},
    {"sys_enter_umask", "hist:keys=mask:onmatch(a.b", {{23, "No closing paren found"}}},
    {"sys_enter_umask",
     "hist:keys=mask:onmatch(syscalls.sys_enter_kill).save(mask)",
     {{48, "Handler doesn't support action"}}},
    {"sys_enter_umask",
     "hist:keys=mask:onmatch(syscalls.sys_enter_kill).snapshot()",
     {{48, "Handler doesn't support action"}}},
    {"sys_enter_umask",
     "hist:keys=mask:onmax(mask).save(mask)",
     {{10, "For onmax(x) or onchange(x), x must be a variable"}}},
    {"sys_enter_umask",
     "hist:keys=mask:onmax($x).save(mask)",
     {{19, "Couldn't find onmax or onchange variable"}}},
    {"sys_enter_umask", "hist:keys=mask:x=mask:onmax($x).save()", {{0, "Invalid action param"}}},
    {"sys_enter_umask",
     "hist:keys=mask:x=mask:onmax($x).save(nosuch)",
     {{37, "Couldn't create field variable"}}},
    {"sys_enter_umask",
     "hist:keys=mask:x=mask:onmax($x).save(mask):onmax($x).save(mask)",
     {{0, "Can't have more than one save() action per hist"}}},
    {"sys_enter_umask", "hist:keys=mask:x=mask:onmax($x).foo()", {{0, "Invalid action param"}}},
    {"sys_enter_umask", "hist:keys=mask:x=mask:onmax($x)", {{0, "No action found"}}},
    {"sys_enter_umask",
     "hist:keys=mask:x=mask:onmax($x).trace(nosuch,$x)",
     {{38, "Couldn't find synthetic event"}}},
    {"sys_enter_umask", "hist:keys=mask foo", {{10, "Couldn't find field"}}},
    {"sys_enter_umask", "hist:keys=mask:x=common_comm", {{17, "Couldn't find field"}}},
    {"sys_enter_umask", "hist:keys=mask:vals=mask.buckets=2", {{20, "Invalid field modifier"}}},
    {"sys_enter_umask", "hist:keys=mask:x=mask.log2", {{17, "Invalid field modifier"}}},
    {"sys_enter_umask", "hist:keys=mask:x=mask.percent", {{22, "Invalid field modifier"}}},
    {"sys_enter_umask",
     "hist:keys=mask:x=common_stacktrace.stacktrace",
     {{17, "Invalid field modifier"}}},
    {"sys_enter_umask", "hist:keys=common_stacktrace.stacktrace", {{10, "Invalid field modifier"}}},
    {"sys_enter_umask", "hist:keys=mask:x=mask.buckets=4", {{17, "Invalid field modifier"}}},
    {"sys_enter_umask", "hist:keys=mask:vals=common_stacktrace", {{20, "Invalid field modifier"}}},
    {"sys_enter_umask", "hist:keys=mask:sort=hitcount.percent", {{29, "Invalid sort modifier"}}},
    {"sys_enter_umask",
     "hist:keys=mask:x=common_timestamp.usecs/100",
     {{0, "Timestamp units in expression don't match"}}},
    {"sys_enter_umask", "hist:keys=mask:x=3/0", {{19, "Division by zero"}}},
    {"sys_enter_umask", "hist:keys=mask : vals=hitcount", {{10, "Couldn't find field"}}},
    {"sys_exit_umask",
     "hist:keys=ret:z2=foo.sys_enter_umask.$m",
     {{32, "Couldn't find variable"}, {37, "Couldn't find field"}}},
    {"sys_exit_umask",
     "hist:keys=ret:z3=syscalls.sys_enter_umask.$q",
     {{43, "Couldn't find variable"}, {42, "Couldn't find field"}}},
    {"sys_exit_umask",
     "hist:keys=ret:z4=$m",
     {{18,
       "Variable name not unique, need to use fully qualified name (subsys.event.var) for "
       "variable"},
      {18, "Couldn't find variable"},
      {17, "Couldn't find field"}}},
    {"sys_enter_umask",
     "hist:keys=$m",
     {{11,
       "Variable name not unique, need to use fully qualified name (subsys.event.var) for "
       "variable"},
      {11, "Couldn't find variable"},
      {10, "Couldn't find field"}}},
    {"sys_exit_umask",
     "hist:keys=ret:onmatch(syscalls.sys_enter_chdir).sy($m)",
     {{16, "Couldn't find param"}}},
    {"sys_exit_umask",
     "hist:keys=ret:onmatch(syscalls.sys_enter_umask).sy(mask)",
     {{42, "Couldn't find field"},
      {42, "Couldn't parse field variable"},
      {42, "Matching event histogram not found"}}},
    {"sys_exit_umask",
     "hist:keys=common_pid:onmatch(syscalls.sys_enter_umask).sy(mask)",
     {{49, "Couldn't find field"}, {49, "Couldn't parse field variable"}}},
    {"sys_exit_umask",
     "hist:keys=common_pid:onmatch(syscalls.sys_enter_umask).sy(nosuch)",
     {{58, "Couldn't find field"},
      {58, "Couldn't parse field variable"},
      {58, "Couldn't find field"},
      {58, "Couldn't create histogram for field"}}},
    {"sys_exit_umask",
     "hist:keys=common_pid:onmatch(syscalls.sys_enter_umask).sy($nosuch)",
     {{59, "Couldn't find param"}}},
};

class HistBuildTest : public testing::Test {
 protected:
  void SetUp() override {
    world_.add_synthetic("sy u64 a");
    world_.add_synthetic("text char s[16]; char d[]");
    world_.add_synthetic("short char s[8]");
    world_.add_synthetic("frames long[] stack");
    world_.add_synthetic("two u64 a; int b");
  }
  int errno_of(const char* event, std::string_view command) {
    return world_.write(event, command.substr(std::strlen("hist:")));
  }
  void prepare(const char* event, const char* text) { ASSERT_EQ(world_.write(event, text), 0); }
  // What is listed, or the errno.
  std::string listed(const char* event, std::string_view command) {
    std::string listing;
    const int error = world_.write(event, command.substr(std::strlen("hist:")), &listing);
    return error ? "errno " + std::to_string(error) : listing;
  }
  FakeHistWorld world_;
};

TEST_F(HistBuildTest, RefusesWithTheKernelsEntriesAndCarets) {
  for (const Refused& row : kRefused) {
    world_.clear();
    const bool needs_matching = std::strstr(row.command, "keys=common_pid:");
    const bool needs_variable = std::strchr(row.command, '$') != nullptr;
    if (needs_matching) prepare("sys_enter_umask", "keys=common_pid");
    if (needs_variable) prepare("sys_enter_umask", "keys=mask:m=mask");
    const bool is_ambiguous = std::strstr(row.entries[0].text, "not unique");
    if (is_ambiguous) prepare("sys_enter_kill", "keys=pid:m=pid");
    errno_of(row.event, row.command);
    const auto found = entries_of(world_.log());
    ASSERT_GE(found.size(), row.entries.size()) << row.command;
    for (size_t i = 0; i < row.entries.size(); i++) {
      const auto& entry = found[found.size() - row.entries.size() + i];
      EXPECT_EQ(entry.second, row.entries[i].text) << row.command;
      EXPECT_EQ(entry.first, row.entries[i].position) << row.command << "\n" << entry.second;
    }
  }
}

struct Listed {
  const char* command;
  const char* answer;  // "errno 22"
};
// All on sys_enter_umask.
const Listed kListed[] = {
    {"hist:keys=mask,mask.stacktrace", "errno 22"},
    {"hist:keys=mask:x=mask.stacktrace", "errno 22"},
    {"hist:keys=mask:vals=mask.stacktrace", "errno 22"},
    {"hist:keys=mask,common_stacktrace.stacktrace", "errno 22"},
    {"hist:keys=mask:x=mask:onmax($x).save(mask.stacktrace)", "errno 22"},
    {"hist:keys=mask:vals=mask.percent,mask.graph",
     "hist:keys=mask:vals=hitcount,mask.percent,mask.graph:sort=hitcount:size=2048"},
    {"hist:keys=mask:vals=hitcount.percent",
     "hist:keys=mask:vals=hitcount,hitcount.percent:sort=hitcount:size=2048"},
    {"hist:keys=mask:vals=hitcount.graph",
     "hist:keys=mask:vals=hitcount,hitcount.graph:sort=hitcount:size=2048"},
    {"hist:keys=mask:vals=hitcount,hitcount",
     "hist:keys=mask:vals=hitcount,hitcount:sort=hitcount:size=2048"},
    {"hist:keys=hitcount", "hist:keys=hitcount:vals=hitcount:sort=hitcount:size=2048"},
    {"hist:keys=mask:x=$nosuch", "errno 22"},
    {"hist:keys=common_timestamp.log2",
     "hist:keys=common_timestamp.log2:vals=hitcount:sort=hitcount:size=2048:clock=global"},
    {"hist:keys=mask:x=-(-(mask))", "errno 22"},
    {"hist:keys=mask:x=-(mask+1)",
     "hist:keys=mask:vals=hitcount:x=-(mask+1):sort=hitcount:size=2048"},
    {"hist:keys=mask:x=common_timestamp.usecs+common_timestamp.usecs+common_timestamp.usecs",
     "hist:keys=mask:vals=hitcount:x=common_timestamp.usecs+common_timestamp.usecs.usecs+common_"
     "timestamp.usecs:sort=hitcount:size=2048:clock=global"},
    {"hist:keys=mask:x=mask.hex+mask.sym",
     "hist:keys=mask:vals=hitcount:x=mask.hex+mask.sym:sort=hitcount:size=2048"},
    {"hist:keys=mask:x=mask:y=$x+1:z=$x",
     "hist:keys=mask:vals=hitcount:x=mask,y=mask+1,z=mask:sort=hitcount:size=2048"},
    {"hist:keys=mask:x=5:y=$x", "errno 22"},
    {"hist:keys=mask:vals=mask+1", "hist:keys=mask:vals=hitcount,mask+1:sort=hitcount:size=2048"},
    {"hist:keys=mask:vals=mask+1:sort=mask+1",
     "hist:keys=mask:vals=hitcount,mask+1:sort=mask+1:size=2048"},
    {"hist:keys=mask+1:sort=mask+1", "hist:keys=mask+1:vals=hitcount:sort=mask+1:size=2048"},
    {"hist:keys=mask:x=common_pid.execname",
     "hist:keys=mask:vals=hitcount:x=common_pid.execname:sort=hitcount:size=2048"},
    {"hist:keys=common_pid.execname:x=common_cpu:y=common_stacktrace:sort=common_pid.descending",
     "hist:keys=common_pid.execname:vals=hitcount:x=common_cpu,y=common_stacktrace:sort=common_pid."
     "execname.descending:size=2048"},
    {"hist:keys=mask.hex,common_pid.execname,common_cpu:vals=mask.hex:sort=mask,common_pid."
     "descending",
     "hist:keys=mask.hex,common_pid.execname,common_cpu:vals=hitcount,mask.hex:sort=mask.hex,"
     "common_pid.execname.descending:size=2048"},
    {"hist:keys=mask.buckets=10:sort=mask",
     "hist:keys=mask.buckets=10:vals=hitcount:sort=mask.buckets=10:size=2048"},
    {"hist:keys=mask:x=common_timestamp.usecs:y=common_timestamp",
     "hist:keys=mask:vals=hitcount:x=common_timestamp.usecs,y=common_timestamp:sort=hitcount:size="
     "2048:clock=global"},
    {"hist:keys=mask.sym-offset:vals=mask:sort=mask.descending,hitcount.ascending:size=1000",
     "hist:keys=mask.sym-offset:vals=hitcount,mask:sort=mask.descending,hitcount:size=1024"},
    {"hist:keys=stacktrace", "hist:keys=common_stacktrace:vals=hitcount:sort=hitcount:size=2048"},
    {"hist:keys=cpu,CPU,STACKTRACE",
     "hist:keys=common_cpu,common_cpu,common_stacktrace:vals=hitcount:sort=hitcount:size=2048"},
    {"hist:keys=mask:name=foo", "hist:name=foo:keys=mask:vals=hitcount:sort=hitcount:size=2048"},
    {"hist:keys=mask:name=foo:vals=mask if mask > 3",
     "hist:name=foo:keys=mask:vals=hitcount,mask:sort=hitcount:size=2048 if mask > 3"},
    {"hist:keys=mask:x=mask:onmax($x).save(mask,common_pid,common_cpu):onchange($x).snapshot() if "
     "mask==1",
     "hist:keys=mask:vals=hitcount:x=mask:sort=hitcount:size=2048:onmax($x).save(mask,common_pid,"
     "common_cpu):onchange($x).snapshot() if mask==1"},
    {"hist:keys=mask:x=mask:onmax($x).save(mask.hex,$x", "errno 22"},
    {"hist:keys=mask:x=mask,y=3*mask:nohitcount:vals=mask",
     "hist:keys=mask:vals=mask:x=mask,y=3*mask:sort=hitcount:size=2048:nohitcount"},
    {"hist:keys=mask:vals=mask,hitcount:sort=hitcount.descending",
     "hist:keys=mask:vals=hitcount,mask:sort=hitcount.descending:size=2048"},
    {"hist:keys=mask.percentage", "errno 22"},
    {"hist:keys=mask:vals=mask.percentage",
     "hist:keys=mask:vals=hitcount,mask.percent:sort=hitcount:size=2048"},
    {"hist:keys=mask:vals=common_timestamp,common_cpu",
     "hist:keys=mask:vals=hitcount,common_timestamp,common_cpu:sort=hitcount:size=2048:clock="
     "global"},
    {"hist:keys=mask:x=sys.ev.mask:y=syscalls.sys_enter_umask.$x", "errno 22"},
    {"hist:keys=mask:", "errno 22"},
    {"hist:keys=mask::vals=mask", "errno 22"},
    {"hist:keys=mask:x", "errno 22"},
    {"hist:keys=mask:x=mask+", "errno 22"},
    {"hist:keys=mask:x=+mask", "errno 22"},
    {"hist:keys=mask:size=0x80", "hist:keys=mask:vals=hitcount:sort=hitcount:size=128"},
    {"hist:keys=mask:size=131072", "hist:keys=mask:vals=hitcount:sort=hitcount:size=131072"},
    {"hist:keys=mask:size=5a", "errno 22"},
    {"hist:keys=mask:clock=mono:x=common_timestamp",
     "hist:keys=mask:vals=hitcount:x=common_timestamp:sort=hitcount:size=2048:clock=mono"},
    {"hist:keys=mask  if  mask == 1 ",
     "hist:keys=mask:vals=hitcount:sort=hitcount:size=2048 if  mask == 1"},
    {"hist:keys=mask:a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8,i=9,j=10,k=11,l=12,m=13,n=14,o=15,p=16,q=17",
     "hist:keys=mask:vals=hitcount:a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8,i=9,j=10,k=11,l=12,m=13,n=14,o="
     "15,p=16:sort=hitcount:size=2048"},
    {"hist:keys=mask:a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8,i=9,j=10,k=11,l=12,m=13,n=14,o=15,p=16:q=17",
     "errno 22"},
    {"hist:keys=mask:a=1,b", "errno 22"},
    {"hist:keys=mask:a=1=2", "errno 22"},
    {"hist:keys=mask:a=mask:onmax($a).save(x)", "errno 22"},
    {"hist:keys=mask:a=mask:onmax($a)save(mask)", "errno 22"},
    {"hist:keys=mask:a=mask:onmax($a.save(mask)", "errno 22"},
    {"hist:keys=mask:a=mask:onmax($a).snapshot(", "errno 22"},
    {"hist:keys=mask:a=mask:onmax($a).trace()", "errno 22"},
    {"hist:keys=mask:a=mask:mask2=mask:onmax($a).save(mask,mask)",
     "hist:keys=mask:vals=hitcount:a=mask,mask2=mask:sort=hitcount:size=2048:onmax($a).save(mask,"
     "mask)"},
    {"hist:keys=mask:mask=mask:onmax($mask).save(mask)", "errno 22"},
    {"hist:keys=mask:a=mask:onmax($a).save(mask):onmax($a).snapshot()",
     "hist:keys=mask:vals=hitcount:a=mask:sort=hitcount:size=2048:onmax($a).save(mask):onmax($a)."
     "snapshot()"},
    {"hist:keys=mask:a=mask:onmax($a).snapshot():onmax($a).snapshot()", "errno 16"},
    {"hist:keys=mask:pause", "hist:keys=mask:vals=hitcount:sort=hitcount:size=2048"},
    {"hist:keys=mask:a=common_type",
     "hist:keys=mask:vals=hitcount:a=common_type:sort=hitcount:size=2048"},
    {"hist:keys=mask:x=5a5", "errno 22"},
    {"hist:keys=nosuch.stacktrace", "errno 22"},
    {"hist:keys=cpu.stacktrace", "errno 22"},
    {"hist:keys=mask.bucketsx=3", "errno 22"},
    {"hist:keys=mask.bucket=3", "hist:keys=mask.buckets=3:vals=hitcount:sort=hitcount:size=2048"},
    {"hist:keys=mask.nosuch.foo", "errno 22"},
    {"hist:keys=a.b.mask.hex", "hist:keys=mask.hex:vals=hitcount:sort=hitcount:size=2048"},
    {"hist:keys=a..mask", "hist:keys=mask:vals=hitcount:sort=hitcount:size=2048"},
    {"hist:keys=mask,", "errno 22"},
    {"hist:keys=,", "errno 22"},
    {"hist:keys=mask:vals=mask,", "errno 22"},
    {"hist:keys=mask:vals=hitcount,mask,mask,hitcount",
     "hist:keys=mask:vals=hitcount,mask,mask:sort=hitcount:size=2048"},
    {"hist:keys=mask:vals=mask,mask,hitcount",
     "hist:keys=mask:vals=hitcount,mask,mask:sort=hitcount:size=2048"},
    {"hist:keys=mask:vals=mask,mask,mask", "errno 22"},
    {"hist:keys=mask,mask,mask,mask", "errno 22"},
    {"hist:keys=mask,mask,mask", "hist:keys=mask,mask,mask:vals=hitcount:sort=hitcount:size=2048"},
    {"hist:keys=mask:vals=$x:x=mask",
     "hist:keys=mask:vals=hitcount,mask:x=mask:sort=hitcount:size=2048"},
    {"hist:keys=mask:vals=$x:x=$y", "errno 22"},
    {"hist:keys=mask.hex.sym", "errno 22"},
    {"hist:keys=mask:sort=mask.hex", "errno 22"},
    {"hist:keys=mask:sort=hitcount,", "errno 22"},
    {"hist:keys=mask:sort=,mask", "errno 22"},
    {"hist:keys=mask:sort=.descending", "errno 22"},
    {"hist:keys=mask:x=mask*mask/2-3",
     "hist:keys=mask:vals=hitcount:x=mask*mask/2-3:sort=hitcount:size=2048"},
    {"hist:keys=mask:x=64/8/4/2", "hist:keys=mask:vals=hitcount:x=1:sort=hitcount:size=2048"},
    {"hist:keys=mask:x=1-2",
     "hist:keys=mask:vals=hitcount:x=18446744073709551615:sort=hitcount:size=2048"},
    {"hist:keys=mask:x=2*3+mask", "hist:keys=mask:vals=hitcount:x=6+mask:sort=hitcount:size=2048"},
    {"hist:keys=mask:x=18446744073709551615",
     "hist:keys=mask:vals=hitcount:x=18446744073709551615:sort=hitcount:size=2048"},
    {"hist:keys=mask:x=18446744073709551616", "errno 22"},
    {"hist:keys=mask:x=08", "errno 22"},
    {"hist:keys=mask:x=0x", "errno 22"},
    {"hist:keys=mask:x=+5", "errno 22"},
    {"hist:keys=mask:x=-mask", "errno 22"},
    {"hist:keys=mask:x=-5", "errno 22"},
    {"hist:keys=mask:x=-(mask", "errno 22"},
    {"hist:keys=mask:x=-(mask)+1", "errno 22"},
    {"hist:keys=mask:x=-(mask).hex", "errno 22"},
    {"hist:keys=mask:x=1+-(mask)", "errno 22"},
    {"hist:keys=mask:x=(mask+1)*2", "errno 22"},
    {"hist:keys=mask:vals=hitcount.hex",
     "hist:keys=mask:vals=hitcount,hitcount.hex:sort=hitcount:size=2048"},
    {"hist:keys=common_pid.usecs",
     "hist:keys=common_pid.usecs:vals=hitcount:sort=hitcount:size=2048"},
    {"hist:keys=common_timestamp.usecs:vals=common_timestamp",
     "hist:keys=common_timestamp.usecs:vals=hitcount,common_timestamp:sort=hitcount:size=2048:"
     "clock=global"},
    {"hist:keys=common_cpu.hex:x=common_cpu.log2", "errno 22"},
    {"hist:keys=common_pid.syscall:x=common_pid.hex",
     "hist:keys=common_pid.syscall:vals=hitcount:x=common_pid.hex:sort=hitcount:size=2048"},
    {"hist:keys=mask:x=mask.execname", "errno 22"},
    {"hist:onmax($x).save(mask):keys=mask:x=mask",
     "hist:keys=mask:vals=hitcount:x=mask:sort=hitcount:size=2048:onmax($x).save(mask)"},
    {"hist:keys=mask:x=mask:onmax($x).saved(mask)",
     "hist:keys=mask:vals=hitcount:x=mask:sort=hitcount:size=2048:onmax($x).saved(mask)"},
    {"hist:keys=mask:x=mask:onmax($x).snapshots()",
     "hist:keys=mask:vals=hitcount:x=mask:sort=hitcount:size=2048:onmax($x).snapshots()"},
    {"hist:keys=mask:x=mask:onmax($x).save( mask , common_pid )",
     "hist:keys=mask:vals=hitcount:x=mask:sort=hitcount:size=2048:onmax($x).save(mask,common_pid)"},
    {"hist:keys=mask:x=mask:onmax($x) .save(mask)",
     "hist:keys=mask:vals=hitcount:x=mask:sort=hitcount:size=2048:onmax($x).save(mask)"},
    {"hist:keys=mask:x=mask:onmax($x).save(mask)junk",
     "hist:keys=mask:vals=hitcount:x=mask:sort=hitcount:size=2048:onmax($x).save(mask)"},
    {"hist:keys=mask:x=mask:onmax($x).save(mask)=junk", "errno 22"},
    {"hist:keys=mask:x=mask:onmax( $x).save(mask)", "errno 22"},
    {"hist:keys=mask:x=mask:onmax($x).tracefoo(sy)", "errno 22"},
    {"hist:keys=mask:x=mask:onmax($x).save(common_timestamp)",
     "hist:keys=mask:vals=hitcount:x=mask:sort=hitcount:size=2048:clock=global:onmax($x).save("
     "common_timestamp)"},
    {"hist:keys=mask:x=mask:onchange($x).save(common_timestamp.usecs)",
     "hist:keys=mask:vals=hitcount:x=mask:sort=hitcount:size=2048:clock=global:onchange($x).save("
     "common_timestamp.usecs)"},
    {"hist:keys=mask:x=mask:onmax($x).save(mask.log2)",
     "hist:keys=mask:vals=hitcount:x=mask:sort=hitcount:size=2048:onmax($x).save(mask.log2)"},
    {"hist:keys=mask:x=mask:onmax($x).save(a.b.mask)",
     "hist:keys=mask:vals=hitcount:x=mask:sort=hitcount:size=2048:onmax($x).save(a)"},
    {"hist:keys=mask:x=mask:onmax($x).save(5)", "errno 22"},
    {"hist:keys=mask:x=mask:onmax($x).save(55)",
     "hist:keys=mask:vals=hitcount:x=mask:sort=hitcount:size=2048:onmax($x).save(55)"},
    {"hist:keys=mask:x=common_pid.execname+1",
     "hist:keys=mask:vals=hitcount:x=common_pid.execname+1:sort=hitcount:size=2048"},
    {"hist:keys=mask:x=1,y=2,z=$y", "errno 22"},
    {"hist:keys=mask:x=common_type,y=common_flags,z=common_preempt_count",
     "hist:keys=mask:vals=hitcount:x=common_type,y=common_flags,z=common_preempt_count:sort="
     "hitcount:size=2048"},
    {"hist:keys=mask:x=mask,y=mask,x=mask", "errno 22"},
    {"hist:keys=mask:size=100000", "hist:keys=mask:vals=hitcount:sort=hitcount:size=131072"},
    {"hist:keys=mask:size=0", "errno 22"},
    {"hist:keys=mask:size=-1", "errno 22"},
    {"hist:keys=mask:size=127", "hist:keys=mask:vals=hitcount:sort=hitcount:size=128"},
    {"hist:keys=mask:size=65", "hist:keys=mask:vals=hitcount:sort=hitcount:size=128"},
    {"hist:keys=mask:clock= mono :x=common_timestamp",
     "hist:keys=mask:vals=hitcount:x=common_timestamp:sort=hitcount:size=2048:clock=mono"},
    {"hist:keys=mask:keys=common_pid:vals=mask:val=common_cpu:values=hitcount:sort=mask:sort="
     "common_pid",
     "hist:keys=common_pid:vals=hitcount:sort=common_pid:size=2048"},
    {"hist:key=mask:pause:nohitcount", "errno 2"},
    {"hist:key=mask:val=mask:NOHC", "hist:keys=mask:vals=mask:sort=hitcount:size=2048:nohitcount"},
    {"hist:", "errno 22"},
    {"hist:vals=mask", "errno 22"},
    {"hist:keys=__syscall_nr.syscall",
     "hist:keys=__syscall_nr.syscall:vals=hitcount:sort=hitcount:size=2048"},
};

TEST_F(HistBuildTest, ListsAsTheKernelDoes) {
  for (const Listed& row : kListed) {
    world_.clear();
    EXPECT_EQ(listed("sys_enter_umask", row.command), row.answer) << row.command;
  }
}

TEST_F(HistBuildTest, TextsAreKeysAndVariablesButNoNumbers) {
  EXPECT_EQ(listed("fork", "hist:keys=parent_comm,name:x=name:sort=name"),
            "hist:keys=parent_comm,name:vals=hitcount:x=name:sort=name:size=2048");
  const HistData& hist = *world_.hists().back();
  EXPECT_EQ(hist.keys[0]->type, "char[16]");
  EXPECT_EQ(hist.keys[0]->size, 16u);
  EXPECT_EQ(hist.keys[1]->size, kMaxHistText);
  EXPECT_TRUE(hist.variables[0]->flags & kHistString);
  for (const char* command :
       {"hist:keys=parent_comm.log2", "hist:keys=parent_comm.buckets=2",
        "hist:keys=parent_pid:vals=name", "hist:keys=parent_pid:z=name+1",
        "hist:keys=parent_pid:z=1+name", "hist:keys=parent_pid:z=-(name)",
        "hist:keys=parent_pid:z=$x+1", "hist:keys=parent_pid:vals=name.quantiles",
        "hist:keys=parent_pid:vals=name.counters", "hist:keys=parent_pid.counters"})
    EXPECT_EQ(listed("fork", command), "errno 22") << command;
  EXPECT_EQ(listed("fork", "hist:keys=words"), "errno 12");
  EXPECT_EQ(listed("fork", "hist:keys=stack.stacktrace:s=stack.stacktrace"),
            "hist:keys=stack.stacktrace:vals=hitcount:s=stack:sort=hitcount:size=2048");
}

TEST_F(HistBuildTest, VariablesOfOthersAreReferredToOnce) {
  prepare("sys_enter_umask", "keys=common_pid:m=mask,c=7,t=common_timestamp.usecs");
  EXPECT_EQ(listed("sys_exit_umask", "hist:keys=common_pid:x=$m,y=$m+$c:z=2*$c:u=$t"),
            "hist:keys=common_pid:vals=hitcount:x=$m,y=$m+$c,z=14,u=$t.usecs:sort=hitcount:"
            "size=2048");
  const HistData& hist = *world_.hists().back();
  ASSERT_EQ(hist.var_refs.size(), 3u);
  EXPECT_TRUE(hist.var_refs[0]->read_once);
  EXPECT_TRUE(hist.var_refs[1]->read_once);
  EXPECT_FALSE(hist.var_refs[2]->read_once);
  EXPECT_EQ(hist.var_refs[1]->var_index, 1u);
  EXPECT_EQ(hist.var_refs[1]->var_data, world_.hists()[0].get());
  EXPECT_EQ(listed("sys_exit_umask", "hist:keys=ret:q=syscalls.sys_enter_umask.$m+1"),
            "hist:keys=ret:vals=hitcount:q=syscalls.sys_enter_umask.$m+1:sort=hitcount:size=2048");
  EXPECT_EQ(listed("sys_exit_umask", "hist:keys=ret:r=$t-common_timestamp"), "errno 22");
  EXPECT_EQ(listed("sys_exit_umask", "hist:keys=$m"), "errno 22");
}

TEST_F(HistBuildTest, ActionsFindWhatTheyNeed) {
  prepare("sys_enter_umask", "keys=common_pid:m=mask if mask == 1");
  EXPECT_EQ(listed("sys_exit_umask",
                   "hist:keys=common_pid:onmatch(syscalls.sys_enter_umask).two($m,common_pid)"),
            "hist:keys=common_pid:vals=hitcount:sort=hitcount:size=2048:"
            "onmatch(syscalls.sys_enter_umask).two($m,common_pid)");
  const HistData& first = *world_.hists().back();
  ASSERT_EQ(first.actions[0]->params.size(), 2u);
  EXPECT_EQ(first.actions[0]->params[1]->var_data, &first);
  ASSERT_EQ(first.field_vars.size(), 1u);
  // A field of the matched event: a histogram there, with its keys and filter.
  prepare("sys_exit_umask", "keys=common_pid:onmatch(syscalls.sys_enter_umask).trace(sy,mask)");
  const HistData& auxiliary = *world_.hists()[2];
  EXPECT_TRUE(auxiliary.is_auxiliary);
  EXPECT_EQ(hist_listing(auxiliary),
            "hist:keys=common_pid:vals=hitcount:synthetic_mask=mask:sort=hitcount:size=2048 if "
            "mask == 1");
  const size_t count = world_.hists().size();
  prepare("sys_exit_umask", "keys=common_pid:onmatch(syscalls.sys_enter_umask).sy(mask)");
  EXPECT_EQ(world_.hists().size(), count + 1);  // found again
  prepare("fork", "keys=parent_pid:c=common_pid.execname:onmatch(sched.fork).text(parent_comm,$c)");
  prepare("fork", "keys=parent_pid:s=common_stacktrace:onmatch(sched.fork).frames($s)");
  for (const char* command : {"hist:keys=parent_pid:onmatch(sched.fork).short(parent_comm)",
                              "hist:keys=parent_pid:onmatch(sched.fork).frames(parent_comm)",
                              "hist:keys=parent_pid:onmatch(sched.fork).sy(parent_pid)",
                              "hist:keys=parent_pid:onmatch(sched.fork).two(parent_pid)",
                              "hist:keys=parent_pid:onmatch(sched.fork).sy()",
                              "hist:keys=parent_pid:onmatch(sched.fork).text(parent_comm)"})
    EXPECT_EQ(listed("fork", command), "errno 22") << command;
}

TEST_F(HistBuildTest, OneSaveAndOneSnapshot) {
  EXPECT_EQ(
      listed("sys_enter_umask", "hist:keys=mask:x=mask:onmax($x).save(mask):onmax($x).save(mask)"),
      "errno 17");
  EXPECT_EQ(listed("sys_enter_umask",
                   "hist:keys=mask:x=mask:onmax($x).snapshot():onchange($x).snapshot()"),
            "errno 16");
}

TEST_F(HistBuildTest, WhatIsTheSameTrigger) {
  struct Row {
    const char *a, *b;
    bool same;
  };
  const Row rows[] = {
      {"keys=mask", "keys=mask:size=4096", true},
      {"keys=mask+1", "keys=mask+2", true},
      {"keys=mask.buckets=2", "keys=mask.buckets=4", true},
      {"keys=mask", "keys=mask.hex", false},
      {"keys=mask", "keys=mask:vals=mask", false},
      {"keys=mask:a1=mask", "keys=mask:a2=mask", false},
      {"keys=mask:sort=mask", "keys=mask:sort=mask.descending", false},
      {"keys=mask", "keys=mask if mask == 1", false},
      {"keys=mask if mask==1", "keys=mask if mask == 1", false},
      {"keys=mask:x=mask:onmax($x).save(mask)", "keys=mask:x=mask:onmax($x).save(common_pid)",
       false},
      {"keys=mask:x=mask:onmax($x).save(mask)", "keys=mask:x=mask:onchange($x).save(mask)", false},
  };
  for (const Row& row : rows) {
    world_.clear();
    prepare("sys_enter_umask", row.a);
    auto first = world_.release();
    prepare("sys_enter_umask", row.b);
    EXPECT_EQ(same_hist(*first, *world_.hists()[0], true), row.same) << row.a << " " << row.b;
  }
}

}  // namespace
}  // namespace patchbay
