#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# patchbay report: chosen columns, relative times, and the pager of a terminal.
#   report_forms.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need python3
cd "$work" || exit
report() { "$patchbay" report -i e.dat "$@" 2>/dev/null; }
"$patchbay" record -q -o e.dat -e app:app_work -e app:app_end -- \
  "$programs/event_app" 1 2 10 >/dev/null 2>err || fail "record: $(cat err)"
report --json >json

# --- columns
report --fields comm,tid,cpu,time,event,n,name >columns
same "their head" $'# comm\ttid\tcpu\ttime\tevent\tn\tname' "$(head -n 1 columns)"
cat >columns.py <<'EOP'
import json, sys
rows = [json.loads(line) for line in open("json")]
lines = [line.rstrip("\n").split("\t") for line in open("columns") if not line.startswith("#")]
if len(rows) != len(lines) or not rows: print("lines:", len(rows), len(lines))
for row, line in zip(rows, lines):
    fields = row["fields"]
    expected = [row["comm"], str(row["pid"]), str(row["cpu"]), f"{row['ts']:.6f}", row["event"],
                str(fields.get("n", "-")), fields.get("name", "-")]
    same = expected[:3] + expected[4:] == line[:3] + line[4:]
    if not same or abs(float(line[3]) - row["ts"]) > 2e-6: print(expected, line)
EOP
same "each event has them" "" "$(python3 columns.py 2>&1)"
check "a field that an event has not" grep -q $'app_end\t-\t' columns
same "trace is the text of a line" "$(report | grep -v '^#' | sed 's/.* [0-9]*\.[0-9]*: //')" \
  "$(report --fields trace | grep -v '^#')"
"$patchbay" report -i e.dat --fields comm,nam 2>err
same "no such column" 1 $?
has "near ones" "$(cat err)" "no field of an event is named 'nam'; near: .*name"
"$patchbay" report -i e.dat --fields comm --json 2>err
same "--fields and --json" 2 $?

# --- times
cat >times.py <<'EOP'
import json
whole, since, before = ([json.loads(line)["ts"] for line in open(name)]
                        for name in ("json", "since", "before"))
if not len(whole) == len(since) == len(before) > 2: print("lines")
if since[0] != 0 or before[0] != 0: print("the first is not 0")
for i in range(1, len(whole)):
    if abs(since[i] - (whole[i] - whole[0])) > 1e-6: print("since the first", i)
    if abs(before[i] - (whole[i] - whole[i - 1])) > 1e-6: print("since the one before", i)
EOP
report --reltime --json >since
report --deltatime --json >before
same "--reltime and --deltatime" "" "$(python3 times.py 2>&1)"
same "in lines, too" 0.000000 "$(report --reltime | grep -v '^#' | head -n 1 |
  sed 's/.* \([0-9]*\.[0-9]*\): .*/\1/')"
"$patchbay" report -i e.dat --reltime --deltatime 2>err
same "not both" 2 $?

# --- the pager: what a terminal shows went through it
cat >terminal.py <<'EOP'
import os, pty, subprocess, sys
master, slave = pty.openpty()
process = subprocess.Popen(sys.argv[1:], stdin=slave, stdout=slave, stderr=slave)
os.close(slave)
text = b""
while True:
    try:
        part = os.read(master, 65536)
    except OSError:
        break
    if not part: break
    text += part
sys.stdout.write(text.decode("utf-8", "replace").replace("\r\n", "\n"))
sys.exit(process.wait())
EOP
on_terminal() { timeout 100 python3 terminal.py "$@"; }
report | sed 's/^/paged: /' >paged
same "PAGER" "$(cat paged)" \
  "$(PAGER="sed 's/^/paged: /'" on_terminal "$patchbay" report -i e.dat)"
same "PATCHBAY_PAGER before it" "$(cat paged)" \
  "$(PAGER=false PATCHBAY_PAGER="sed 's/^/paged: /'" on_terminal "$patchbay" report -i e.dat)"
same "LESS has a default" FRX "$(
  unset LESS
  PAGER="printenv LESS" on_terminal "$patchbay" report -i e.dat
)"
plain=$(report)
same "--no-pager" "$plain" "$(PAGER=false on_terminal "$patchbay" report -i e.dat --no-pager)"
for none in "" cat; do
  same "PAGER='$none' is none" "$plain" "$(PAGER=$none on_terminal "$patchbay" report -i e.dat)"
done
has "a pager that is not there" \
  "$(PATCHBAY_PAGER=no-such-pager on_terminal "$patchbay" report -i e.dat)" \
  "'no-such-pager' cannot be run"
same "no pager in a pipe" "$plain" "$(PAGER=false report)"
PAGER=true on_terminal "$patchbay" report -i e.dat >out
same "a pager that is left at once is no error" "0 " "$? $(cat out)"
has "mistakes come before it" "$(PAGER=false on_terminal "$patchbay" report -i no.dat)" 'no\.dat'
finish
