// SPDX-License-Identifier: MIT
// Statements of `patchbay sql`. The first of them are those of libtracefs' documentation, and mean
// what libtracefs makes of them: the same keys, variables, types and filters.
#include <gtest/gtest.h>

#include "cmd/measure/sql_build.h"
#include "cmd/measure/sql_parse.h"

namespace patchbay::cmd {
namespace {

constexpr char kCommon[] =
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

struct KnownEvent {
  const char* name;  // SYSTEM:EVENT
  const char* fields;
};
constexpr KnownEvent kEvents[] = {
    {"sched:sched_waking",
     "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
     "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
     "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"},
    {"sched:sched_switch",
     "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
     "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
     "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
     "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
     "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
     "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
     "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n"},
    {"syscalls:sys_enter_read", "\tfield:unsigned int fd;\toffset:16;\tsize:8;\tsigned:0;\n"},
    {"syscalls:sys_exit_read", "\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n"},
    {"raw_syscalls:sys_enter", "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"},
    {"kmem:kmalloc",
     "\tfield:unsigned long call_site;\toffset:8;\tsize:8;\tsigned:0;\n"
     "\tfield:const void * ptr;\toffset:16;\tsize:8;\tsigned:0;\n"
     "\tfield:size_t bytes_req;\toffset:24;\tsize:8;\tsigned:0;\n"},
    {"sqlite:prepare", "\tfield:__data_loc char[] sql;\toffset:8;\tsize:4;\tsigned:0;\n"},
    {"other:sys_enter", "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"},
    {"db:from", "\tfield:int from;\toffset:8;\tsize:4;\tsigned:1;\n"},
};

EventFormats known_events() {
  std::vector<std::string> names;
  for (const KnownEvent& event : kEvents) names.push_back(event.name);
  return EventFormats(names, [](const std::string& path) -> Result<std::string> {
    for (const KnownEvent& event : kEvents) {
      std::string name = event.name;
      name[name.find(':')] = '/';
      if (path != "events/" + name + "/format") continue;
      return "name: " + name.substr(name.find('/') + 1) + "\nID: 1\nformat:\n" + kCommon +
             event.fields + "\nprint fmt: \"\"\n";
    }
    return user_error(ENOENT, "no such file");
  });
}

std::string commands_of(std::string_view statement) {
  SqlParse parse = parse_sql(statement);
  if (!parse.query) return parse.error->show(statement);
  EventFormats events = known_events();
  SqlBuild made = build_sql(*parse.query, events, "ev");
  return made.plan ? made.plan->commands() : made.error->show(statement);
}

// The caret's place in a statement of one line, and the text.
void expect_error(const std::string& marked, const std::string& text) {
  const size_t caret = marked.find('^');
  std::string statement = marked;
  statement.erase(caret, 1);
  EXPECT_EQ(commands_of(statement), statement + "\n" + std::string(caret, ' ') + "^\n" + text);
}

// --- what libtracefs documents

TEST(Sql, FieldsOfBothEvents) {
  EXPECT_EQ(commands_of("SELECT start.fd AS filed, end.ret AS return FROM sys_enter_read AS start "
                        "JOIN sys_exit_read AS end ON start.common_pid = end.common_pid"),
            "echo 's:ev u64 filed; s64 return' >> dynamic_events\n"
            "echo 'hist:keys=common_pid:__ev_1=fd' >> events/syscalls/sys_enter_read/trigger\n"
            "echo 'hist:keys=common_pid:__ev_2=ret:onmatch(syscalls.sys_enter_read).ev($__ev_1,"
            "$__ev_2)' >> "
            "events/syscalls/sys_exit_read/trigger\n");
}

TEST(Sql, WakeupLatencyWithFilters) {
  EXPECT_EQ(
      commands_of("select start.pid, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) as lat from "
                  "sched_waking as start JOIN sched_switch as end ON start.pid = end.next_pid "
                  "WHERE start.prio < 100 && (!(end.prev_pid < 1 || end.prev_prio > 100) || "
                  "end.prev_pid == 0)"),
      "echo 's:ev pid_t pid; u64 lat' >> dynamic_events\n"
      "echo 'hist:keys=pid:__ev_1=pid,__ev_2=common_timestamp.usecs if prio < 100' >> "
      "events/sched/sched_waking/trigger\n"
      "echo 'hist:keys=next_pid:__ev_3=common_timestamp.usecs-$__ev_2:"
      "onmatch(sched.sched_waking).ev($__ev_1,$__ev_3) "
      "if (!(prev_pid < 1 || prev_prio > 100) || prev_pid == 0)' >> "
      "events/sched/sched_switch/trigger\n");
}

TEST(Sql, EventsByTheirNames) {
  EXPECT_EQ(commands_of("SELECT sched_waking.pid, sched.sched_switch.prev_comm FROM sched_waking "
                        "JOIN sched.sched_switch ON sched_switch.next_pid = sched_waking.pid"),
            "echo 's:ev pid_t pid; char prev_comm[16]' >> dynamic_events\n"
            "echo 'hist:keys=pid:__ev_1=pid' >> events/sched/sched_waking/trigger\n"
            "echo 'hist:keys=next_pid:__ev_2=prev_comm:onmatch(sched.sched_waking).ev($__ev_1,"
            "$__ev_2)' >> "
            "events/sched/sched_switch/trigger\n");
}

TEST(Sql, Histograms) {
  EXPECT_EQ(commands_of("select CAST(common_pid AS comm), CAST(id AS syscall) FROM "
                        "raw_syscalls.sys_enter"),
            "echo 'hist:keys=common_pid.execname,id.syscall' >> "
            "events/raw_syscalls/sys_enter/trigger\n");
  EXPECT_EQ(commands_of("SELECT common_pid, CAST(bytes_req AS _COUNTER_) FROM kmalloc"),
            "echo 'hist:keys=common_pid:vals=bytes_req' >> events/kmem/kmalloc/trigger\n");
  EXPECT_EQ(commands_of("SELECT CAST(call_site AS SYM-OFFSET), CAST(ptr as hex) FROM kmem.kmalloc"),
            "echo 'hist:keys=call_site.sym-offset,ptr.hex' >> events/kmem/kmalloc/trigger\n");
  EXPECT_EQ(commands_of("SELECT comm, pid FROM sched_waking WHERE prio = 120 AND comm ~ 'a*'"),
            "echo 'hist:keys=comm,pid if prio == 120 && comm ~ \"a*\"' >> "
            "events/sched/sched_waking/trigger\n");
}

TEST(Sql, KeywordsAsNames) {
  EXPECT_EQ(commands_of("select \\from from db.\\from"),
            "echo 'hist:keys=from' >> events/db/from/trigger\n");
}

// --- what it does not

TEST(Sql, Timestamps) {
  const std::string rest = " as d FROM sched_waking s JOIN sched_switch e ON s.pid = e.next_pid";
  const std::string whole = commands_of("SELECT TIMESTAMP_DELTA" + rest);
  EXPECT_EQ(whole, commands_of("SELECT e.TIMESTAMP - s.TIMESTAMP" + rest));
  EXPECT_EQ(whole,
            "echo 's:ev u64 d' >> dynamic_events\n"
            "echo 'hist:keys=pid:__ev_1=common_timestamp' >> events/sched/sched_waking/trigger\n"
            "echo 'hist:keys=next_pid:__ev_2=common_timestamp-$__ev_1:onmatch(sched.sched_waking)."
            "ev($__ev_2)' >> events/sched/sched_switch/trigger\n");
  EXPECT_NE(commands_of("SELECT s.STACKTRACE" + rest).find("ev long d[]"), std::string::npos);
}

TEST(Sql, ExpressionsHaveTheTypeOfTheirFirstOperand) {
  const std::string rest = " as d FROM sched_waking s JOIN sched_switch e ON s.pid = e.next_pid";
  EXPECT_NE(commands_of("SELECT s.prio - e.next_prio" + rest).find("s:ev s32 d'"),
            std::string::npos);
  EXPECT_NE(commands_of("SELECT 5 + e.next_prio" + rest).find("s:ev u64 d'"), std::string::npos);
  EXPECT_NE(
      commands_of("SELECT (e.next_prio * 2) + s.prio" + rest).find("__ev_2=next_prio*2+$__ev_1"),
      std::string::npos);
  EXPECT_NE(commands_of("SELECT s.prio * 2" + rest).find("keys=pid:__ev_1=prio*2'"),
            std::string::npos)
      << "what only the first event is needed for is computed there";
}

TEST(Sql, ValuesAndCastsOfOurs) {
  EXPECT_EQ(commands_of("SELECT CAST(bytes_req AS BUCKETS=10), CAST(bytes_req AS QUANTILES), "
                        "CAST(bytes_req AS PERCENT) FROM kmalloc;"),
            "echo 'hist:keys=bytes_req.buckets=10:vals=bytes_req.quantiles,bytes_req.percent' >> "
            "events/kmem/kmalloc/trigger\n");
  EXPECT_EQ(commands_of("SELECT sql FROM sqlite:prepare"),
            "echo 'hist:keys=sql' >> events/sqlite/prepare/trigger\n");
  EXPECT_EQ(commands_of("SELECT bytes_req/4096 FROM kmalloc"),
            "echo 'hist:keys=bytes_req/4096' >> events/kmem/kmalloc/trigger\n");
}

TEST(Sql, QuotesOfTheShell) {
  EXPECT_EQ(commands_of("SELECT comm FROM sched_waking WHERE comm = \"it's\""),
            "echo 'hist:keys=comm if comm == \"it'\\''s\"' >> events/sched/sched_waking/trigger\n");
}

TEST(Sql, FiltersGoToTheirEvents) {
  const std::string text = commands_of(
      "SELECT s.pid FROM sched_waking s JOIN sched_switch e ON s.pid = e.next_pid WHERE "
      "s.prio >= 1 AND e.prev_state & 3 AND (s.prio = 2 OR s.prio = -3) AND NOT e.prev_pid "
      "<> 0");
  EXPECT_NE(text.find(" if prio >= 1 && (prio == 2 || prio == -3)'"), std::string::npos) << text;
  EXPECT_NE(text.find(" if prev_state & 3 && !(prev_pid != 0)'"), std::string::npos) << text;
}

// --- errors

TEST(Sql, SyntaxErrors) {
  expect_error("^", "SELECT is expected here, not the end");
  expect_error("^UPDATE x", "SELECT is expected here, not 'UPDATE'");
  expect_error("SELECT ^* FROM a", "a field is expected here, not '*'");
  expect_error("SELECT a^", "FROM is expected here, not the end");
  expect_error("SELECT a b ^c FROM d", "FROM is expected here, not 'c'");
  expect_error("SELECT a FROM ^where", "an event is expected here, not 'where'");
  expect_error("SELECT a FROM b JOIN c ^", "ON is expected here, not the end");
  expect_error("SELECT a FROM b JOIN c ON d.e ^< f.g", "'=' is expected here, not '<'");
  expect_error("SELECT CAST(a ^hex) FROM b", "AS is expected here, not 'hex'");
  expect_error("SELECT (a + 1 ^FROM b", "')' is expected here, not 'FROM'");
  expect_error("SELECT a FROM b WHERE a ^", "a comparison is expected here, not the end");
  expect_error("SELECT a FROM b WHERE a = ^)", "a number or a text is expected here, not ')'");
  expect_error("SELECT a FROM b WHERE a = ^'x", "this text has no end");
  expect_error("SELECT a FROM b c ^d", "this is too much");
  expect_error("SELECT ^a.b.c.d FROM b", "a field has two parts before its name at most");
  expect_error("SELECT a + ^12x FROM b", "'12x' is no number");
}

TEST(Sql, CaretOfLinesAndCharacters) {
  EXPECT_EQ(commands_of("SELECT pid\nFROM nothere\nWHERE x = 1"),
            "FROM nothere\n     ^\nThere is no event 'nothere'.");
  EXPECT_EQ(commands_of("SELECT '\xc3\xa4' FROM a"),
            "SELECT '\xc3\xa4' FROM a\n       ^\n"
            "a field is expected here, not '\xc3\xa4'");
}

TEST(Sql, WhatDoesNotExist) {
  expect_error("SELECT ^nothere FROM sched_waking", "'nothere' is no field of sched:sched_waking");
  expect_error("SELECT pid FROM ^sched_wakin",
               "There is no event 'sched_wakin'; near: sched:sched_waking.");
  expect_error("SELECT id FROM ^sys_enter",
               "There are raw_syscalls:sys_enter and other:sys_enter: say which.");
  expect_error("SELECT ^x.pid FROM sched_waking AS y", "'x' is no event of this statement");
  expect_error("SELECT ^pid FROM sched_waking s JOIN sched_switch e ON s.pid = e.next_pid",
               "'pid' of which event? Write EVENT.pid");
  expect_error("SELECT ^CAST(pid AS TIME) FROM sched_waking",
               "there is no type 'time'; there are HEX, SYM, SYM-OFFSET, SYSCALL, EXECNAME, LOG2, "
               "BUCKETS=N, _COUNTER_, PERCENT, GRAPH and QUANTILES");
}

TEST(Sql, WhatDoesNotFit) {
  expect_error("SELECT ^CAST(comm AS HEX) FROM sched_waking", "a text cannot be CAST");
  expect_error("SELECT ^comm + 1 FROM sched_waking", "'comm' is a text");
  expect_error("SELECT ^CAST(pid AS _COUNTER_) FROM sched_waking",
               "one item at least must not be a value");
  expect_error("SELECT pid, prio, comm, ^common_pid FROM sched_waking", "at most 3 keys");
  expect_error("SELECT ^pid+1+2+3+4 FROM sched_waking", "at most 3 operators");
  const std::string join = " FROM sched_waking s JOIN sched_switch e ON ";
  expect_error("SELECT s.pid" + join + "^s.pid = s.prio",
               "ON compares a field of one event with one of the other");
  expect_error("SELECT s.pid" + join + "^s.comm = e.next_pid",
               "'s.comm' and 'e.next_pid' are a text and a number");
  expect_error("SELECT ^s.pid + 1" + join + "s.pid = e.next_pid",
               "an expression needs a name: AS NAME");
  expect_error("SELECT ^CAST(s.pid AS HEX)" + join + "s.pid = e.next_pid",
               "CAST is for histograms, which have no JOIN");
  expect_error("SELECT ^(e.TIMESTAMP - s.TIMESTAMP) / 1000 AS d" + join + "s.pid = e.next_pid",
               "a histogram cannot compute this: it has no parentheses");
  expect_error("SELECT s.pid" + join + "s.pid = e.next_pid WHERE s.prio < 1 OR ^e.prev_prio < 1",
               "only AND may stand between conditions on different events");
  expect_error("SELECT s.pid" + join + "s.pid = e.next_pid WHERE ^s.TIMESTAMP > 1",
               "'s.TIMESTAMP' cannot be in a filter");
}

TEST(Sql, DeepNestingEnds) {
  const std::string deep(100000, '(');
  EXPECT_NE(commands_of("SELECT " + deep).find("too many parentheses"), std::string::npos);
  EXPECT_NE(commands_of("SELECT a FROM b WHERE " + deep).find("too many parentheses"),
            std::string::npos);
  EXPECT_NE(commands_of("SELECT a FROM b WHERE " + std::string(100000, '!')).find("too many"),
            std::string::npos);
}

}  // namespace
}  // namespace patchbay::cmd
