#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs made for the kernel's histograms, unmodified, on a process's tree: what sqlhist does with
# libtracefs (tracefs_sql, synthetic events and histograms made of it, tracefs_hist_*), and
# trace-cmd with triggers, histograms and its own `hist`.
#   trace_cmd_hist.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need trace-cmd gcc pkg-config
[[ -r /dev/fuse && -w /dev/fuse ]] || skip "/dev/fuse is missing or not permitted"
unshare -m true 2>/dev/null || skip "mount namespaces are not permitted"
cd "$work" || exit 1

# --- a program of the kind of sqlhist: sql NAME STATEMENT echo|create. What is created is removed
# by the same process (libtracefs gives variables the process's id), at the end of its input.
cat >sql.c <<'EOP'
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>

static int said(const char* what) {
  fprintf(stderr, "%s: %s\n%s", what, strerror(errno), tracefs_error_last(NULL) ?: "");
  return 1;
}

/* Of one event a histogram, of two a synthetic event. */
static int do_sql(struct tep_handle* tep, char** words) {
  char* error = NULL;
  struct tracefs_synth* synth = tracefs_sql(tep, words[0], words[1], &error);
  if (!synth) {
    fprintf(stderr, "%s\n%s\n", strerror(errno), error ? error : "");
    return 1;
  }
  struct trace_seq text;
  trace_seq_init(&text);
  struct tracefs_hist* hist = tracefs_synth_get_start_hist(synth);
  const int is_pair = tracefs_synth_complete(synth);
  if (strcmp(words[2], "echo") == 0) {
    if (is_pair ? tracefs_synth_echo_cmd(&text, synth)
                : tracefs_hist_echo_cmd(&text, NULL, hist, TRACEFS_HIST_CMD_START))
      return said("echo");
    trace_seq_do_printf(&text);
  } else {
    if (is_pair ? tracefs_synth_create(synth) : tracefs_hist_start(NULL, hist))
      return said("create");
    puts("created");
    fflush(stdout);
    while (getchar() != EOF) continue;
    if (is_pair ? tracefs_synth_destroy(synth) : tracefs_hist_destroy(NULL, hist))
      return said("destroy");
  }
  trace_seq_destroy(&text);
  tracefs_synth_free(synth);
  return 0;
}

/* A histogram with two keys, a value, a sort and a filter: started, paused, cleared, continued. */
static int do_hist(struct tep_handle* tep, const char* step) {
  struct tracefs_hist* hist = tracefs_hist_alloc_2d(tep, "sched", "sched_switch", "next_pid",
                                                    TRACEFS_HIST_KEY_NORMAL, "next_comm", 0);
  if (!hist) return said("alloc");
  if (tracefs_hist_add_value(hist, "next_prio") ||
      tracefs_hist_add_sort_key(hist, "next_pid") ||
      tracefs_hist_sort_key_direction(hist, "next_pid", TRACEFS_HIST_SORT_DESCENDING) ||
      tracefs_hist_append_filter(hist, TRACEFS_FILTER_COMPARE, "next_pid", TRACEFS_COMPARE_GT, "1"))
    return said("add");
  int status = -1;
  if (strcmp(step, "start") == 0) status = tracefs_hist_start(NULL, hist);
  if (strcmp(step, "pause") == 0) status = tracefs_hist_pause(NULL, hist);
  if (strcmp(step, "continue") == 0) status = tracefs_hist_continue(NULL, hist);
  if (strcmp(step, "reset") == 0) status = tracefs_hist_reset(NULL, hist);
  if (strcmp(step, "destroy") == 0) status = tracefs_hist_destroy(NULL, hist);
  tracefs_hist_free(hist);
  return status ? said(step) : 0;
}

int main(int argc, char** argv) {
  struct tep_handle* tep = tracefs_local_events(NULL);
  if (!tep) return said("events");
  return argc == 4 ? do_sql(tep, argv + 1) : do_hist(tep, argv[1]);
}
EOP
pkg-config --exists libtracefs 2>/dev/null || skip "libtracefs-dev is not installed"
# shellcheck disable=SC2046
gcc sql.c $(pkg-config --cflags --libs libtracefs) -o sql 2>err ||
  skip "no program can be built with libtracefs: $(head -n 3 err)"

mkfifo in out
exec 3<>in 4<>out
LD_PRELOAD=$agent "$programs/histogram_events" <in >out 2>program.err 3>&- 4>&- &
pid=$!
started $pid
wait_for 20 "$patchbay" ls $pid || fail "the program has no agent"
hit() {
  tr '|' '\t' >&3
  echo 'done' >&3
  read -r -t 60 -u 4 _ || fail "the program does not answer"
}
within() { timeout 60 "$patchbay" with-tracefs $pid -- "$@"; }
quietly() { "$@" >log 2>&1 || { cat log; false; }; }
rd() { "$patchbay" cat $pid "$1"; }
triggers() { rd "events/$1/trigger" | grep -v '^#'; }

# create NAME STATEMENT, then destroy.
create() {
  rm -f hold created
  mkfifo hold
  within ./sql "$1" "$2" create <hold >created 2>&1 &
  sql=$!
  started $sql
  exec 5>hold
  check "created: $2" wait_for 20 grep -q created created
}
destroy() {
  exec 5>&-
  wait $sql
  same "removed: $(cat created)" 0 $?
}

# --- one event: a histogram
statement='SELECT next_pid, CAST(next_prio AS _COUNTER_) FROM sched_switch WHERE next_prio < 100'
create none "$statement"
has "as libtracefs writes it" "$(triggers sched/sched_switch)" \
  '^hist:keys=next_pid:vals=hitcount,next_prio:sort=hitcount:size=2048 if next_prio < 100 \[a'
hit <<'HITS'
switch|3|swapper|0|120|0|rt|77|19
switch|2|swapper|0|120|0|bash|78|120
switch|1|swapper|0|120|0|rt|79|20
HITS
same "its table" "{ next_pid:         79 } hitcount:          1  next_prio:         20
{ next_pid:         77 } hitcount:          3  next_prio:         57" \
  "$(rd events/sched/sched_switch/hist | grep '^{')"
destroy
same "nothing is left" "" "$(triggers sched/sched_switch)"
for type in HEX SYM SYM-OFFSET LOG; do
  create none "SELECT CAST(call_site AS $type) FROM kmalloc"
  has "CAST AS $type" "$(triggers kmem/kmalloc)" \
    "^hist:keys=call_site.$(sed 's/log/log2/' <<<"${type,,}"):vals=hitcount:"
  destroy
done
same "nothing is left" "" "$(triggers kmem/kmalloc)"

# --- two events: a synthetic event, as sqlhist's own documentation has it
statement='SELECT start.pid, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS lat, start.prio AS p
  FROM sched_waking AS start JOIN sched_switch AS end ON start.pid = end.next_pid
  WHERE start.prio < 100 && end.prev_pid != 5'
check "commands for two events" quietly within ./sql wakeup "$statement" echo
has "with a synthetic event" "$(cat log)" "wakeup s32 pid; u64 lat; s32 p|wakeup pid_t pid"
create wakeup "$statement"
has "the event" "$(rd synthetic_events)" '^wakeup'$'\t''.* pid; (u|s)64 lat; .* p$'
check "its histogram" "$patchbay" write $pid events/synthetic/wakeup/trigger 'hist:keys=pid,p'
check "enabled" "$patchbay" write $pid events/synthetic/wakeup/enable 1
hit <<'HITS'
waking|1|rt|77|19
switch|1|swapper|0|120|0|rt|77|19
switch|1|swapper|0|120|0|rt|77|19
waking|1|bash|78|120
switch|1|swapper|0|120|0|bash|78|120
waking|1|rt|79|20
switch|1|x|5|120|0|rt|79|20
waking|1|rt|77|19
switch|1|swapper|0|120|0|rt|77|19
HITS
same "a row for each pair" "{ pid:         77, p:         19 } hitcount:          2" \
  "$(rd events/synthetic/wakeup/hist | grep '^{')"
same "and a record" 2 "$(rd trace | grep -cE ' wakeup: pid=77 lat=[0-9]+ p=19$')"
"$patchbay" write $pid events/synthetic/wakeup/enable 0
"$patchbay" write $pid events/synthetic/wakeup/trigger '!hist:keys=pid,p'
destroy
same "nothing is left" "" \
  "$(triggers sched/sched_switch)$(triggers sched/sched_waking)$(rd synthetic_events)"
within ./sql wakeup 'SELECT nosuch FROM sched_switch' create >log 2>&1 <&-
check "an unknown field is refused" test $? -ne 0

# --- tracefs_hist_*
for step in start pause reset continue; do
  check "tracefs_hist_$step" quietly within ./sql $step
  [[ $step == start ]] && hit <<<'switch|2|swapper|0|120|0|rt|77|19'
  [[ $step == pause ]] && hit <<<'switch|5|swapper|0|120|0|rt|77|19' &&
    has "paused" "$(rd events/sched/sched_switch/hist)" '^\{ .* \} hitcount:          2 '
done
hit <<'HITS'
switch|1|swapper|0|120|0|rt|77|19
switch|1|swapper|0|120|0|init|1|19
switch|1|swapper|0|120|0|a b|88|10
HITS
row='{ next_pid: %10d, next_comm: %-50s } hitcount:          1  next_prio: %10d\n'
# shellcheck disable=SC2059
same "cleared and continued" "$(printf "$row" 88 'a b' 10 77 rt 19)" \
  "$(rd events/sched/sched_switch/hist | grep '^{')"
check "tracefs_hist_destroy" quietly within ./sql destroy
same "nothing is left" "" "$(triggers sched/sched_switch)"

# --- trace-cmd: triggers, histograms among them, shown and reset
tc() { within trace-cmd "$@"; }
check "start with a histogram" quietly tc start -e sched:sched_switch \
  -R 'hist:keys=next_pid:vals=next_prio:sort=next_pid' -e kmem:kmalloc \
  -R 'stacktrace if bytes_req > 100'
has "the trigger is there" "$(triggers sched/sched_switch)" \
  '^hist:keys=next_pid:vals=hitcount,next_prio:sort=next_pid:size=2048 \[active\]$'
hit <<'HITS'
switch|2|swapper|0|120|0|rt|77|19
switch|1|rt|77|19|1|bash|78|120
kmemdup|1|1|200|256
HITS
same "its table" "{ next_pid:         77 } hitcount:          2  next_prio:         38
{ next_pid:         78 } hitcount:          1  next_prio:        120" \
  "$(rd events/sched/sched_switch/hist | grep '^{')"
tc stat >stat 2>&1
has "stat shows it" "$(cat stat)" 'hist:keys=next_pid'
has "and the other" "$(cat stat)" 'stacktrace:unlimited if bytes_req > 100'
has "show has a stack" "$(tc show 2>&1)" '<stack trace>'
check "extract" quietly tc extract -o x.dat
check "reset" quietly tc reset
same "reset leaves no trigger" "" "$(triggers sched/sched_switch)$(triggers kmem/kmalloc)"
has "hist of the file" "$(trace-cmd hist -i x.dat -P 2>&1)" '<all pids> +sched_switch #3$'
same "its events" 4 \
  "$(trace-cmd report -i x.dat 2>/dev/null | grep -cE ' (sched_switch|kmalloc): ')"

# --- trace-cmd hist of a recording with stacks: who calls what
check "record with stacks" quietly tc record -e kmem:kmalloc -T -o stacks.dat sh -c \
  "printf 'kmemdup\t5\t1\t7\t8\nkmalloc\t3\t1\t7\t8\ndone\n' >&3; sleep 0.5"
read -r -t 10 -u 4 _
trace-cmd hist -i stacks.dat -P >hist.out 2>&1
# (Its own counting: one more than the eight of its report.)
has "hist: all of the events" "$(cat hist.out)" '^ +%100\.00 <all pids> +kmalloc #9$'
has "hist: those through kmemdup" "$(cat hist.out)" '--%66\.67-- kmemdup  # 6$'
has "hist: those that are not" "$(cat hist.out)" '--%33\.33-- main  # 3$'
exec 3>&- 4<&-
wait $pid
same "the program ends well" "0 " "$? $(cat program.err)"
finish
