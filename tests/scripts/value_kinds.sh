#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Kinds of values that are easily shown wrongly: each is right in every output, or marked.
#   value_kinds.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need python3 gcc jq
cd "$work" || exit
cat >values.c <<'EOC'
#define KEPT __attribute__((noipa))
KEPT long put(const char *b, unsigned long n) { __asm__ volatile("" ::"r"(b)); return (long)n; }
KEPT long named(long pid, int *v) { __asm__ volatile("" ::"r"(pid), "r"(v)); return pid; }
struct bits { unsigned first : 2; int below : 5; long far : 40; };
KEPT int bits(struct bits *p) { __asm__ volatile("" ::"r"(p) : "memory"); return p->below; }
KEPT int rc(int i) { __asm__ volatile("" ::"r"(i)); return i < 9 ? -11 : 2; }
KEPT double take(double d, float f) { __asm__ volatile("" ::"x"(d), "x"(f)); return d; }
int main(void) {
  put("ab\0cd", 5), put("ab\0", 3), put("ab", 2), put("", 0);
  const double values[] = {-1, -0.0, 0, 1, __builtin_inf(), __builtin_nan(""), -__builtin_nan("")};
  for (int i = 0; i < 7; i++) take(values[i], (float)values[i]);
  for (int i = 0; i < 10; i++) rc(i);
  int eight = 8;
  named(5, &eight);
  bits(&(struct bits){3, -11, -5000000000}), bits(&(struct bits){3, 11, 5});
  static char long_text[300] = {[0 ... 298] = 'y'};
  put(long_text, 299), long_text[298] = 'z', put(long_text, 299);
  return 0;
}
EOC
gcc -g -O1 values.c -o values || fail "values.c"
# recorded FILE OPTION…
recorded() { "$patchbay" record -q -o "$1" "${@:2}" -- ./values 2>err || fail "$1: $(<err)"; }
# shown FILE FIELD [OPTION…] : a field of each line of the report.
shown() {
  "$patchbay" report -i "$1" "${@:3}" 2>/dev/null | grep -oE "$2=[^,) ]*" | cut -d= -f2- | xargs
}

# --- a text with a length has its NULs
put='put(string/n b, u64 n)'
recorded put.dat -e "$put" -f 'n < 6'
same "report" 'ab\x00cd ab\x00 ab ' "$("$patchbay" report -i put.dat |
  sed -n 's/.*b=\(.*\), n=.*/\1/p' | paste -sd ' ')"
texts='["ab\u0000cd","ab\u0000","ab",""]'
same "report --json" "$texts" "$("$patchbay" report --json -i put.dat | jq -sc 'map(.fields.b)')"
export_to() { "$patchbay" export --to "$1" -i put.dat -o "put.$1" 2>err || fail "$1: $(<err)"; }
export_to jsonl
same "jsonl" "$texts" "$(jq -sc 'map(.fields.b)' put.jsonl)"
"$patchbay" export --to csv -e put -i put.dat -o put.csv 2>err || fail "csv: $(<err)"
same "csv" 'ab\x00cd ab\x00 ab ' "$(python3 -c '
import csv
print(" ".join(row["b"] for row in csv.DictReader(open("put.csv", newline=""))))')"
export_to sqlite
same "sqlite" "['ab\\x00cd', 'ab\\x00', 'ab', '']" "$(python3 -c '
import sqlite3
print([row[0] for row in sqlite3.connect("put.sqlite").execute("select b from put order by ts")])')"
if python3 -c 'import pyarrow' 2>/dev/null; then
  export_to parquet
  same "parquet" "['ab\\x00cd', 'ab\\x00', 'ab', '']" "$(python3 -c '
import glob, pyarrow.parquet as p
name = next(f for f in glob.glob("put.parquet*/**/put*.parquet", recursive=True) or ["put.parquet"])
print(p.read_table(name).column("b").to_pylist())')"
fi
if command -v babeltrace2 >/dev/null; then
  export_to ctf
  has "ctf, whose strings end at a NUL" "$(babeltrace2 put.ctf)" 'b = "ab\\\\x00cd"'
fi
same "calls" '"ab\x00cd" "ab\x00" "ab" ""' "$("$patchbay" calls -e "long r = $put" -- \
  ./values 2>&1 | grep -v yyy | sed -n 's/^put(\(.*\), [0-9]*) = .*/\1/p' | xargs -d '\n')"
for filter in 'b == "ab" -> 2' 'b ~ "*cd" -> 5' 'b ~ "ab?" -> 3' 'b != "ab" -> 5 3 0'; do
  recorded some.dat -e "$put" -f "(${filter% -> *}) && n < 6"
  same "record -f ${filter% -> *}" "${filter#* -> }" "$(shown some.dat n)"
  same "report -f ${filter% -> *}" "${filter#* -> }" "$(shown put.dat n -f "${filter% -> *}")"
done

table=$("$patchbay" hist "$put" keys=b sort=b -- ./values)
keys=$(grep -o 'b: .*} hitcount: *[0-9]*' <<<"$table" |
  sed -E 's/^b: //; s/ *\} hitcount: */ /; s/y{255}\.\.\./255y.../')
same "keys of hist; what is cut is marked" ' 1,255y... 2,ab 1,ab\x00 1,ab\x00cd 1' \
  "$(LC_ALL=C sort <<<"$keys" | paste -sd,)"

# --- fields of one name, and fields called as what a format has itself
recorded named.dat -e 'named(long pid, x64 v | int v[0] | long V | int comm[0])'
wanted='"pid":5,"v":1,"v_2":8,"V":1,"comm":8'
for json in "$("$patchbay" report --json -i named.dat)" \
  "$("$patchbay" export --to jsonl -i named.dat -o -)"; do
  same "JSON" "$wanted" "$(grep -o '"pid":5,"v":.*' <<<"$json" |
    sed -E 's/("v"|"V"):[0-9]+/\1:1/g; s/\}.*//')"
done
"$patchbay" export --to csv -e named -i named.dat -o named.csv 2>err ||
  fail "csv: $(<err)"
same "csv" "comm,field_pid,v,v_2,V_3,field_comm 5 8 8" "$(python3 -c '
import csv
row = next(csv.DictReader(open("named.csv", newline="")))
names = list(row)
print(",".join(names[4:5] + names[-6:-1]), row["field_pid"], row["v_2"], row["field_comm"])')"

# --- bit fields have their sign
recorded bits.dat -e 'bits:0 p->first p->below p->far'
same "bit fields" 'first=3 below=-11 far=-5000000000 first=3 below=11 far=5' \
  "$("$patchbay" report -i bits.dat | grep -o 'first=.*' | xargs)"
same "nothing is said of them" "" "$(<err)"

# --- numbers below 0 in histograms
result='int r = rc(int i)'
json=$("$patchbay" hist "$result" keys=r vals=r,r.quantiles sort=hitcount.descending --json -- \
  ./values)
same "hist --json" '[-11,-99,-11,-11,2,2]' "$(jq -c '.entries | [.[0].keys.r, .[0].values.r,
  .[0].values["r.p50"], .[0].values["r.max"], .[1].keys.r, .[1].values["r.max"]]' <<<"$json")"
has "hist" "$("$patchbay" hist "$result" keys=r vals=r -- ./values)" \
  '\{ r:        -11 } hitcount:          9  r:        -99'
same "counters" '[-97,[[-11,-11,9],[2,2,1]]]' "$("$patchbay" hist "$result" keys=common_pid \
  vals=r.counters --json -- ./values | jq -c '.entries[0].values["r.counters"] |
  [.sum, (.ranges | map([.from, .to, .hits]))]')"

# --- a NaN is in no order
recorded take.dat -e 'take(double d, float f)'
for filter in 'd < 0 -> -1' 'd >= 0 -> -0 0 1 inf' 'f <= 0 -> -1 -0 0' 'f == 0 -> -0 0' \
  '!(d < 0) -> -0 0 1 inf nan -nan' 'f != 1 -> -1 -0 0 inf nan -nan'; do
  recorded some.dat -e 'take(double d, float f)' -f "${filter% -> *}"
  same "record -f ${filter% -> *}" "${filter#* -> }" "$(shown some.dat d)"
  same "report -f ${filter% -> *}" "${filter#* -> }" "$(shown take.dat d -f "${filter% -> *}")"
done
finish
