# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154
# What the scripts about pages share, behind common.bash: counts of report, and the browser.
# Screenshots are kept in BUILD_DIR/tests/view.
here_view=$here/../view
shots=$build/tests/view
mkdir -p "$shots"

# expect FILE [NAME=JSON…] : what report says of a recording, and more, as JSON.
cat >"$work/expect.py" <<'EOP'
import json, re, sys
out, stat, *more = sys.argv[1:]
expected = {"records": [], "total": 0, "lost": 0}
for line in open(stat):
    count, what = line.strip().split("  ", 1)
    if what == "in all": expected["total"] = int(count)
    elif lost := re.search(r"on CPU \d+, (?:at least )?(\d+) lost", what):
        expected["lost"] += int(lost[1])
    elif count.isdigit() and what != "event": expected["records"].append([what, int(count)])
expected["records"].sort()
for word in more:
    name, value = word.split("=", 1)
    expected[name] = json.loads(value)
json.dump(expected, open(out, "w"))
EOP
expect() {
  "$patchbay" report -i "$1.dat" --stat 2>/dev/null | grep -E '^ +[0-9]' >"$1.stat"
  python3 "$work/expect.py" "$1.json" "$1.stat" "${@:2}" || fail "what report says of $1"
}
# walk CASE NAME : opens NAME.html in the browser.
walk() {
  checks=$((checks + 1))
  node "$here_view/view.mjs" "$1" "$work/$2.html" "$work/$2.json" "$shots" || fail "$1"
}
