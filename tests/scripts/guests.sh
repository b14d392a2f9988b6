#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The agent is a guest in programs that do unusual things: each program of tests/programs/guests/
# runs alone, then in every mode, in four builds: gcc and clang, PIE and not. Its output, its exit
# status and the counts it prints are the same in all of them.
#   guests.sh BUILD_DIR [PROGRAM…]
# Without PROGRAM each program has each mode in one of its builds, in turn. GUESTS=1, or a PROGRAM,
# has all modes in all builds. GUEST_MODES="e G" and GUEST_BUILDS="gcc-pie" choose some.
#
# The head of a program says, one a line and as often as needed:
#   // build: -O1 -lfoo       flags of both compilers (the default: -O2)
#   // only: gcc-no-pie       the builds it is for (the default: all)
#   // event: f(int a)        a function event; the modes r and calls have its name
#   // probe: p:x f+0x4       a place, which the modes e, s and attached have beside it
#   // refused: f REGEX       f, or a place, may be refused with this reason
#   // skip: G*               modes that it does not have, with the reason behind
# It prints "calls f N" for what it has counted itself. To be attached to it waits before main(), or
# where it calls guest_wait() when it defines guest_waits_itself (guests/guest_wait.inc).
. "$(dirname "$0")/common.bash"
need gcc clang
guests=$here/../programs/guests
all_builds="gcc-pie gcc-no-pie clang-pie clang-no-pie"
all_modes="e s r F G F* G* calls attached"

in_a_line() { head -n 6 | tr '\n' '|' | cut -c1-300; }
# head_of SOURCE WORD : what follows `// WORD: ` in the lines of its head.
head_of() { sed -n "s|^// $2: ||p" "$1"; }

build_guest() { # SOURCE BUILD
  local name compiler=${2%%-*} language=() flags program
  name=$(basename "$1")
  read -ra flags <<<"$(head_of "$1" build | tr '\n' ' ')"
  if [[ $1 == *.cc ]]; then
    [[ $compiler == gcc ]] && compiler=g++ || compiler=clang++
    language=(-std=c++20)
  fi
  case $2 in
    *-no-pie) flags=(-fno-pie -no-pie -fcf-protection=none "${flags[@]}") ;;
    *) flags=(-fPIE -pie "${flags[@]}") ;;
  esac
  program=$work/$2/${name%.*}
  "$compiler" "${language[@]}" -O2 -g -w -D_GNU_SOURCE= "$1" -x none "$work/guest_wait.o" \
    -Wl,--wrap=main "${flags[@]}" -lpthread -ldl -o "$program" 2>"$program.build" ||
    echo "FAIL: $name does not build, $2: $(in_a_line <"$program.build")"
}

# arguments_of MODE SOURCE : of `record`, one a line. Sets nothing; `dropped` are refused functions.
arguments_of() {
  local event function
  case $1 in
    e | s | attached)
      while read -r event; do
        [[ " $dropped " == *" ${event%%(*} "* ]] || printf '%s\n' -e "$event"
      done < <(head_of "$2" event)
      while read -r event; do
        [[ " $dropped " == *" ${event##* } "* ]] || printf '%s\n' -e "$event"
      done < <(head_of "$2" probe)
      [[ $1 != s ]] || printf '%s\n' -O stacktrace
      ;;
    r | calls)
      while read -r function; do
        [[ " $dropped " == *" $function "* ]] && continue
        [[ $1 == r ]] && printf '%s\n' -e "r:returns $function" || printf '%s\n' -e "$function"
      done < <(head_of "$2" event | sed 's/(.*//')
      ;;
    F) printf '%s\n' -t function -l ':mod:!*' ;;
    G) printf '%s\n' -t function_graph -l ':mod:!*' ;;
    'F*') printf '%s\n' -t function -l '*' ;;
    'G*') printf '%s\n' -t function_graph -l '*' ;;
  esac
}

# counted MODE FUNCTION : how often the recording of this run has it.
counted() {
  case $1 in
    e | s | attached) grep -cE -- "->([A-Za-z0-9_:<>, ]*::)?$2\(" report ;;
    r) grep -cF -- "<- $2)" report ;;
    F*) grep -cF -- ": $2 <-" report ;;
    G*) grep -cE -- "funcgraph_entry: .* $2\(\)" report ;;
    calls) grep -cE -- "^(\[[0-9]+\] )? *$2\(" report ;;
  esac
}

# run_mode MODE PROGRAM ARGUMENT… : sets status; leaves the files out, err and report.
run_mode() {
  local mode=$1 program=$2 recorder
  shift 2
  rm -f t.dat
  : >report
  case $mode in
    calls) timeout -k 5 60 "$patchbay" calls -o report "$@" -- "$program" >out 2>err </dev/null ;;
    attached)
      [[ -p fifo ]] || mkfifo fifo
      GUEST_WAIT=$PWD/fifo timeout -k 5 60 "$program" >out 2>err </dev/null &
      local waits=$! pid
      wait_for 20 test -e fifo.waits || { wait $waits; status=$?; return; }
      pid=$(<fifo.waits)
      rm -f fifo.waits
      timeout -k 5 60 "$patchbay" record -o t.dat "$@" -p "$pid" >record 2>&1 </dev/null &
      recorder=$!
      are_on() { ! kill -0 $recorder || [[ $("$patchbay" cat "$pid" enabled_functions) ]]; }
      wait_for 20 are_on
      timeout 20 bash -c 'echo >fifo'
      wait $recorder
      wait $waits
      status=$?
      cat record >>err  # the tool's lines, at the end
      return
      ;;
    *) timeout -k 5 60 "$patchbay" record -o t.dat "$@" -- "$program" >out 2>err </dev/null ;;
  esac
  status=$?
}

# refused SOURCE : what of its functions the tool has just refused with the reason it may have.
refused() {
  local function reason
  while read -r function reason; do
    grep -qE -- "$reason" err && grep -qE -- "[: ']${function/+/\\+}($|[('])" err &&
      echo "$function"
  done < <(head_of "$1" refused)
}

# try SOURCE BUILD MODE : prints a line for each difference, and at the end what it was.
try() {
  local name mode=$3 arguments function truth there lost status dropped="" more what
  name=$(basename "$1") && name=${name%.*}
  local alone=$work/$2/$name.alone program=$work/$2/$name
  [[ -x $program ]] || return
  mkdir -p "$work/runs/$2-$name-$mode/run" && cd "$work/runs/$2-$name-$mode" || return
  chmod 700 run
  export PATCHBAY_DIR=$PWD/run
  while
    readarray -t arguments < <(arguments_of "$mode" "$1")
    ((${#arguments[@]})) || return 0
    run_mode "$mode" "$program" "${arguments[@]}"
    [[ ! -e t.dat ]] || "$patchbay" report -i t.dat >report 2>/dev/null
    more=$(refused "$1" | head -n 1)
    [[ $more && $mode != *[FG]* ]]
  do dropped+=" $more"; done
  lost=$(summary_lost err)
  [[ $status == "$(<"$alone.status")" ]] ||
    echo "FAIL: $name, $2, $mode: status $status, alone $(<"$alone.status"): $(in_a_line <err)"
  sed -i -E '/^(\[ )?patchbay/d' err
  for what in out err; do
    cmp -s $what "$alone.$what" ||
      echo "FAIL: $name, $2, $mode: std$what: $(diff "$alone.$what" $what | in_a_line)"
  done
  while read -r _ function truth; do
    [[ " $dropped " == *" $function "* ]] && continue
    there=$(counted "$mode" "$function")
    [[ $mode == *[FG]* && $there == 0 ]] && head_of "$1" refused | grep -q "^$function " && continue
    ((there <= truth && there + ${lost:-0} >= truth)) ||
      echo "FAIL: $name, $2, $mode: $there calls of $function, lost ${lost:-0}; truth $truth"
  done < <(grep -E '^calls [^ ]+ [0-9]+$' "$alone.out")
  echo "ran $name $2 $mode"
}

run_alone() { # SOURCE BUILD
  local name
  name=$(basename "$1") && name=$work/$2/${name%.*}
  [[ -x $name ]] || return
  cd "$work" && timeout -k 5 60 "$name" >"$name.alone.out" 2>"$name.alone.err" </dev/null
  echo $? >"$name.alone.status"
}

# in_turn COMMAND… : as many beside each other as there are processors.
in_turn() {
  while (($(jobs -rp | wc -l) >= processors)); do wait -n; done
  "$@" >>"$work/log.$BASHPID" 2>&1 &
}
processors=$(nproc)

gcc -O1 -fPIE -c -x c "$guests/guest_wait.inc" -o "$work/guest_wait.o" || fail "guest_wait.inc"
sources=()
for name in "$@"; do sources+=("$guests/$name".c*); done
((${#sources[@]})) || sources=("$guests"/*.c*)
declare -A builds_of
for build in $all_builds; do mkdir "$work/$build"; done
for source in "${sources[@]}"; do
  builds_of[$source]=$(head_of "$source" only)
  for build in ${builds_of[$source]:=$all_builds}; do in_turn build_guest "$source" "$build"; done
done
wait
for source in "${sources[@]}"; do
  for build in ${builds_of[$source]}; do in_turn run_alone "$source" "$build"; done
done
wait
turn=0
for source in "${sources[@]}"; do
  read -ra builds <<<"${GUEST_BUILDS:-${builds_of[$source]}}"
  skips=$(head_of "$source" skip | sed 's/ .*//')
  for mode in ${GUEST_MODES:-$all_modes}; do
    grep -qxF -- "$mode" <<<"$skips" && continue
    turn=$((turn + 1))
    if [[ ${GUESTS:-} ]] || (($#)); then
      for build in "${builds[@]}"; do in_turn try "$source" "$build" "$mode"; done
    else
      in_turn try "$source" "${builds[turn % ${#builds[@]}]}" "$mode"
    fi
  done
  turn=$((turn + 1))
done
wait
checks=$(cat "$work"/log.* | grep -c '^ran ')
while read -r line; do fail "$line"; done < <(cat "$work"/log.* | sed -n 's/^FAIL: //p')
grep -hvE '^(ran|FAIL)' "$work"/log.*
finish
