#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Outputs in directories where others may write: nothing that they plant is followed, and no output
# that is removed while it is made is lost in silence.
. "$(dirname "$0")/common.bash"
need python3
precious=$work/precious
renew_precious() {
  rm -f "$precious"
  echo "of root" >"$precious"
  chmod 600 "$precious"
}
# untouched NAME : what the planted links lead to is as it was.
untouched() {
  same "$1: what a link leads to" "600 of root" "$(stat -c %a "$precious") $(<"$precious")"
}
event='two_numbers(int a, int b)'
program=("$programs/calls")
run="'${program[0]}'"
follow=(record -q --follow -e "$event")  # of a shell and what it runs
"$patchbay" record -q -e "$event" -o "$work/seed.dat" -- "${program[@]}" >/dev/null 2>&1
check "there is a recording" test -s "$work/seed.dat"

# --- links of another user; with and without the sticky bit, which the kernel's own rule needs
open_directory=$work/open
make_open() {
  rm -rf "$open_directory"
  mkdir "$open_directory"
  chmod "$1" "$open_directory"
  renew_precious
}
plant() { ln -s "$precious" "$open_directory/$1" && chown -h 65534:65534 "$open_directory/$1"; }
# refused NAME OUTPUT COMMAND… : OUTPUT is a planted link.
refused() {
  local name=$1 output=$2 status
  shift 2
  plant "$output"
  "$patchbay" "$@" >"$work/said" 2>"$work/err" </dev/null
  status=$?
  same "$name: status with a planted link" 1 $status
  has "$name: what is said" "$(<"$work/err")" 'is a link of user 65534|Permission denied'
  untouched "$name"
}
if ((EUID == 0)); then
  for mode in 777 1777; do
    make_open $mode
    cd "$open_directory" || exit 1
    refused "record $mode" x.dat record -q -e "$event" -o x.dat -- "${program[@]}"
    refused "record, the default name $mode" trace.dat record -q -e "$event" -- "${program[@]}"
    refused "view $mode" page.html view -i ../seed.dat -o page.html
    refused "merge $mode" m.dat merge ../seed.dat -o m.dat
    for format in csv perfetto parquet sqlite perf pprof ctf; do
      refused "export $format $mode" "t.$format" export --to $format -i ../seed.dat -o "t.$format"
    done
    refused "calls $mode" calls.txt calls -e "$event" -o calls.txt -- "${program[@]}"
    refused "hist $mode" h.txt hist "$event" keys=a -o h.txt -- "${program[@]}"
    refused "top $mode" top.txt top -o top.txt -- "${program[@]}"
    # Names that nobody has given.
    make_open $mode
    cd "$open_directory" || exit 1
    for name in x.dat.merged page.html.part sd.json.new; do plant $name; done
    "$patchbay" "${follow[@]}" -o x.dat -- sh -c "$run; $run" >/dev/null 2>"$work/err"
    same "several programs $mode: $(<"$work/err")" 0 $?
    check "several programs $mode: the file is whole" test "$(count_of x.dat two_numbers)" -gt 0
    "$patchbay" view -i ../seed.dat -o page.html 2>"$work/err"
    same "a page $mode: $(<"$work/err")" 0 $?
    "$patchbay" serve --listen 127.0.0.1:0 --file-sd sd.json >/dev/null 2>"$work/err" &
    daemon=$!
    started $daemon
    wait_for 10 test -s sd.json || fail "serve $mode: no sd.json: $(<"$work/err")"
    kill $daemon
    wait $daemon 2>/dev/null
    untouched "names beside outputs $mode"
    same "nothing is left beside them $mode" "" \
      "$(find . -regextype egrep -regex '.*\.[a-z2-7]{10}\..*')"
  done
fi

# --- mode and owner stay
cd "$work" || exit 1
for output in page.html many.dat; do
  : >$output
  chmod 640 $output
  ((EUID != 0)) || chown 65534:65534 $output
done
owner=$(stat -c '%a %u' page.html)
"$patchbay" view -i seed.dat -o page.html 2>/dev/null
same "view: mode and owner" "$owner" "$(stat -c '%a %u' page.html)"
"$patchbay" "${follow[@]}" -o many.dat -- sh -c "$run; true" >/dev/null 2>&1
same "record: mode and owner" "$owner" "$(stat -c '%a %u' many.dat)"
ln -s many.dat link.dat
"$patchbay" "${follow[@]}" -o link.dat -- sh -c "$run; true" >/dev/null 2>&1
check "a link of one's own stays" test -L link.dat
check "and leads to the file" test "$(count_of many.dat two_numbers)" -gt 0
ln -s /proc/self/fd/1 stdout  # as /dev/stdout
"$patchbay" view -i seed.dat -o stdout 2>/dev/null >page.copy
check "a link of /proc stays" test -L stdout
check "a page to standard output" grep -q '<!DOCTYPE html>' page.copy
"$patchbay" export --to csv -i seed.dat -o >(grep -c two_numbers >"$work/piped") 2>/dev/null
wait_for 5 test -s "$work/piped" || fail "csv into a pipe of the shell"

# --- an output that is removed meanwhile
# gone NAME HOW STATUS SENTENCE : HOW is done to gone/x.dat while on_command is recorded.
gone() {
  local name=$1 how=$2 expected=$3 sentence=$4 status
  rm -rf gone x.dat.*
  mkdir gone
  "$patchbay" record -e 'alpha(int n)' -o gone/x.dat -p $pid >/dev/null 2>"$work/err" </dev/null &
  local recorder=$!
  started $recorder
  is_recorded() { "$patchbay" cat $pid enabled_functions | grep -q '^alpha '; }
  wait_for 20 is_recorded || fail "$name: nothing is recorded"
  echo "alpha 20" >&3
  read -r -u 4 -t 20 _
  $how
  echo "alpha 5" >&3
  read -r -u 4 -t 20 _
  kill -INT $recorder
  wait $recorder
  status=$?
  same "$name: status" "$expected" $status
  has "$name: what is said" "$(<"$work/err")" "$sentence"
}
remove_it() { rm gone/x.dat; }
rename_it() { mv gone/x.dat gone/y.dat; }
replace_it() { echo other >gone/other && mv gone/other gone/x.dat; }
remove_directory() { rm -r gone; }
start_driven on_command
gone removed remove_it 1 'gone/x.dat was removed meanwhile; it is written again'
same "removed: all is there" 25 "$(count_of gone/x.dat alpha)"
gone renamed rename_it 0 '25 events'
same "renamed: all is there" 25 "$(count_of gone/y.dat alpha)"
check "renamed: no second one" test ! -e gone/x.dat
gone replaced replace_it 1 'was removed or replaced meanwhile: the recording is in gone/x.dat\.'
same "replaced: the other one stays" other "$(<gone/x.dat)"
same "replaced: all is there" 25 "$(count_of gone/x.dat.* alpha)"
gone "its directory removed" remove_directory 1 'meanwhile: the recording is in \./x.dat\.'
same "its directory removed: all is there" 25 "$(count_of x.dat.* alpha)"
exec 3>&-
wait $pid

# The same of a program that is started, and of several.
mkdir -p gone
"$patchbay" "${follow[@]}" -o gone/x.dat -- sh -c "rm gone/x.dat; exec $run" \
  >/dev/null 2>"$work/err"
same "a program: status: $(<"$work/err")" 0 $?
check "a program: it is there" test "$(count_of gone/x.dat two_numbers)" -gt 0
"$patchbay" "${follow[@]}" -o gone/x.dat -- sh -c "rm -r gone; $run; true" \
  >/dev/null 2>"$work/err"
same "several programs without their directory: status" 1 $?
has "several programs without their directory" "$(<"$work/err")" 'the recording is in \./x.dat\.'
"$patchbay" calls --follow -e "$event" -o calls.txt -- sh -c "rm calls.txt; $run" \
  >/dev/null 2>"$work/err"
same "calls -o: status" 1 $?
has "calls -o" "$(<"$work/err")" 'calls.txt was removed while it was written'

# A limit of file sizes leaves no directory of an agent that could not begin.
mkdir -m 700 empty
(ulimit -f 8 && PATCHBAY_DIR=$work/empty LD_PRELOAD=$agent PATCHBAY_FUNCTION_EVENTS=$event \
  "${program[@]}" >/dev/null 2>"$work/err")
same "a limit of file sizes: the program runs" 0 $?
has "a limit of file sizes" "$(<"$work/err")" "File too large; this program runs untraced"
same "no directory is left" "" "$(ls empty)"
# --- standard output is closed: no other file gets the text, and it is said
cd "$work" || exit 1
for command in "hist '$event' keys=a" "hist '$event' keys=a --json" 'latency two_numbers'; do
  eval "'$patchbay' $command -- $run" >&- 2>err
  same "$command: status with a closed output" 1 $?
  has "$command: what is said" "$(<err)" 'utput'
done
finish
