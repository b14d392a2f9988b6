#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# patchbay view: pages of recordings in chromium, against the counts of report and of the program.
# Screenshots are kept in BUILD_DIR/tests/view.
#   view.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
. "$(dirname "$0")/view_common.bash"
need chromium node python3 gcc objcopy
cd "$work" || exit
# No compiler takes such a name; object files have what they have.
evil="page_<script>document.title='evil'</script>&\"x"
gcc -O2 -g -c "$here_view/page_program.c" -o program.o &&
  objcopy --redefine-sym "page_evil=$evil" program.o && gcc -pthread program.o -o program ||
  fail "the program does not compile"

# --- calls, events with texts, stacks, hostile names: everything that a person does with a page
"$patchbay" record -q -o walk.dat -t function_graph -l 'page_*' -O funcgraph-args \
  -O funcgraph-retval -e 'page_step(int i, string text)' -- ./program 20 >own 2>err ||
  fail "record: $(cat err)"
"$patchbay" view -i walk.dat -o walk.html 2>said
same "view" 0 $?
has "it says what it wrote" "$(cat said)" 'view: [0-9]+ records, [0-9.]+ [KM]B in walk.html'
calls=$(awk '/^page_/ { printf "%s\"%s\":%d", sep, $1, $2; sep = "," }' own)
"$patchbay" report -i walk.dat --json >walk.lines 2>/dev/null
events=$(grep -c '"event":"functions:page_step"\|"event":"page_step"' walk.lines)
same "each step is an event, too" "$(awk '$1 == "page_step" { print $2 }' own)" "$events"
called=$(awk '{ sum += $2 } END { print sum }' own)
expect walk "calls={$calls}" "rows=$((called + events))" \
  "needles=$(grep -c 'the needle' walk.lines)" "threes=$((events / 10))" \
  'details=["page_work","n","10","big","return value"]'
walk walk walk
check "nothing of the data is in the page as it is" \
  bash -c '! grep -q "document.title=.evil" walk.html'
has "the page forbids itself to ask anybody" "$(cat walk.html)" "default-src 'none'"
check "no address of a network is in the page" \
  bash -c '! grep -oE "(src|href)=\"?(https?:)?//" walk.html'
"$patchbay" view walk.dat -o - >stdout.html 2>/dev/null
check "-o - is the same page" cmp -s walk.html stdout.html

# --- the page without its data: no more than 300 KB
"$patchbay" view -i walk.dat -e 'no_such_event' -o none.html 2>err
same "an event that there is not" 1 $?
python3 - <<'EOP' >sizes
import re
page = open("walk.html", "rb").read()
data = re.search(rb'id="recording">([^<]*)<', page)[1]
print(len(page) - len(data) <= 300 * 1024, len(page) - len(data))
EOP
has "the page without data is small: $(cat sizes)" "$(cat sizes)" '^True'

# --- losses
"$patchbay" record -q -b 16 -o lossy.dat -t function_graph -l 'page_*' -- ./program 3000 \
  >/dev/null 2>&1
"$patchbay" view -i lossy.dat -o lossy.html 2>/dev/null || fail "view of losses"
expect lossy
if grep -q '"lost": 0' lossy.json; then
  # A recorder that keeps up loses nothing; the flight recorder's ring does.
  echo "the recorder has kept up: no losses to show"
else
  walk lossy lossy
fi

# --- a part of a recording, and one that is cut
"$patchbay" view -i walk.dat --rows 100 -o cut.html 2>err || fail "view --rows"
has "the cut is said" "$(cat err)" 'the first 100 calls and events'
"$patchbay" view -i walk.dat --from 0 --until 1000 -e '*page_step' -o part.html 2>err ||
  fail "view --from --until -e: $(cat err)"
"$patchbay" view -i walk.dat --from soon -o part.html 2>err
same "--from that is no time" 2 $?

# --- no event, and damaged files
"$patchbay" record -q -o empty.dat -e 'page_never(int a)' -- ./program 1 >/dev/null 2>&1
"$patchbay" view -i empty.dat -o empty.html 2>err || fail "view of nothing: $(cat err)"
expect empty
walk empty empty
size=$(stat -c %s walk.dat)
head -c $((size * 9 / 10)) walk.dat >short.dat
if "$patchbay" view -i short.dat -o short.html 2>err; then
  expect short
  walk damaged short
else
  has "a short file is refused with a sentence" "$(cat err)" 'patchbay view: .*short.dat'
fi
for part in 1 20 50; do
  head -c $((size * part / 100)) walk.dat >short.dat
  timeout 60 "$patchbay" view -i short.dat -o short.html >/dev/null 2>&1
  check "$part % of a file is a page or a sentence" test $? -le 1
done
check "no half page is left" bash -c '! ls ./*.part 2>/dev/null'
python3 - <<'EOP'
import re
page = open("walk.html").read()
data = re.search(r'id="recording">([^<]*)<', page)
open("broken.html", "w").write(page.replace(data[1], data[1][: len(data[1]) // 2]))
EOP
cp walk.json broken.json
walk broken broken
"$patchbay" view -i walk.dat -o /dev/full 2>err
same "a full disk" 1 $?
has "is said" "$(cat err)" 'write /dev/full: No space left'

# --- a million rows
"$patchbay" record -q -b 65536 -o big.dat -t function_graph -l 'page_*' -- ./program 26000 \
  >own 2>err
"$patchbay" view -i big.dat --rows 2000000 -o big.html 2>said || fail "view of a large recording"
rows=$(awk '{ sum += $2 } END { print sum }' own)
expect big "rows=$rows"
echo "  big.html: $(stat -c %s big.html) bytes, trace.dat: $(stat -c %s big.dat)"
walk big big
finish
