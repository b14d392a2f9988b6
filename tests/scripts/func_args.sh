#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The options func-args and funcgraph-args: arguments by name and in the form of their type, from
# debug information (patchbay report) and from a function event's prototype (the files of the
# process); arg1, arg2, … where neither is there.
#   func_args.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
need strip
cd "$work" || exit
program=$programs/call_arguments
filters=(-l 'take_*' -l 'Shape::grow')
# calls < REPORT : each call as it is shown, once.
calls() { sed -nE 's/.*[ :]((take_[a-z]*|Shape::grow)\([^)]*\)).*/\1/p'; }

"$patchbay" record -q -t function -O func-args "${filters[@]}" -o f.dat -- "$program" >own 2>err ||
  fail "record: $(cat err)"
shape=$(cat own)
named="take_signed(n=-3, big=-4000000000)
take_unsigned(n=4000000000, small=200, big=5000000000)
take_bools(yes=true, no=false, letter=97)
take_pointers(text=0x1000, nothing=0x0)
take_enum(color=1, other=-2)
take_floats(before=7, d=?, f=?, behind=8)
take_pair(before=1, pair=[0x2:0x3], behind=4)
take_mixed(mixed=[?:0x6], ...)
take_many(a=1, b=2, c=3, d=4, e=5, f=6, ...)
take_hidden(n=5)
take_nothing()
Shape::grow(this=$shape, by=2)"
same "function: names and types from debug information" "$named" \
  "$("$patchbay" report -i f.dat 2>/dev/null | calls)"
has "the caller stands behind" "$("$patchbay" report -i f.dat 2>/dev/null)" \
  'take_signed\(n=-3, big=-4000000000\) <-main$'
"$patchbay" record -q -t function_graph -O funcgraph-args -O funcgraph-retval "${filters[@]}" \
  -o g.dat -- "$program" >own 2>err
shape2=$(cat own)
same "function_graph" "${named/$shape/$shape2}" "$("$patchbay" report -i g.dat 2>/dev/null | calls)"
same "replay" "${named/$shape/$shape2}" "$("$patchbay" replay -i g.dat 2>/dev/null | calls)"
# What functions that return nothing, or a structure, leave in the register is no result.
returning() { sed -nE 's/.*[ :](take_[a-z]*|Shape::grow)\(.*\); \/\* = .*/\1/p'; }
same "replay: return values" take_signed \
  "$("$patchbay" replay --retval -i g.dat 2>/dev/null | returning)"
same "replay --json" 1 "$("$patchbay" replay --json -i g.dat 2>/dev/null | grep -c '"retval"')"
same "jsonl" 1 "$("$patchbay" export --to jsonl -i g.dat -o - 2>/dev/null |
  grep -c '"duration_ns":[0-9]*,"retval"')"
"$patchbay" record -q --format 6 -t function -O func-args "${filters[@]}" -o six.dat -- "$program" \
  >own 2>err
same "the older file" "${named/$shape/$(cat own)}" \
  "$("$patchbay" report -i six.dat 2>/dev/null | calls)"
if command -v trace-cmd >/dev/null; then
  for file in f.dat six.dat; do
    same "trace-cmd reads $file" "" \
      "$(trace-cmd report -i $file 2>&1 >/dev/null | grep -v "^cpus=")"
  done
fi

# --- without debug information, and where the file is another one by now
strip -o plain "$program"
"$patchbay" record -q -t function -O func-args -l main -o p.dat -- ./plain >/dev/null 2>err &&
  fail "a stripped program has a main"
objcopy --strip-debug "$program" plain
"$patchbay" record -q -t function -O func-args "${filters[@]}" -o p.dat -- ./plain >/dev/null 2>err
report=$("$patchbay" report -i p.dat 2>/dev/null)
has "by number" "$report" 'take_signed\(arg1=0xfffffffd, arg2=0xffffffff1194d800, arg3=0x.*, arg6='
cp "$program" moved
"$patchbay" record -q -t function -O func-args "${filters[@]}" -o m.dat -- ./moved >/dev/null 2>err
has "the file is the same" "$("$patchbay" report -i m.dat 2>/dev/null)" 'take_signed\(n=-3'
cp "$programs/on_command" moved
has "the file is another one" "$("$patchbay" report -i m.dat 2>/dev/null)" 'take_signed\(arg1='
same "no options, no arguments" "" "$("$patchbay" record -q -t function "${filters[@]}" -o n.dat \
  -- "$program" >/dev/null 2>&1; "$patchbay" report -i n.dat 2>/dev/null | grep 'take_.*(')"

# --- the process itself: prototypes of function events
mkfifo in out
LD_PRELOAD=$agent "$programs/on_command" <in >out 2>err &
pid=$!
started $pid
exec 3>in 4<out
wait_for 20 "$patchbay" ls $pid || fail "the agent does not answer"
put() { "$patchbay" write "${@:3}" $pid "$1" "$2" || fail "$1 refuses $2"; }
call() { echo "$*" >&3 && read -r -t 60 -u 4 _ || fail "the program does not answer to $*"; }
shown() { "$patchbay" cat $pid trace | sed -nE 's/.*((alpha|beta|gamma_one)\([^)]*\)).*/\1/p'; }
put function_events 'alpha(int number)'
put function_events 'beta(x32 bits, NULL, s8 small | string text)'
put set_ftrace_filter 'alpha beta gamma_one'
put options/func-args 1
put current_tracer function
call alpha 2
call beta
call gamma_one
rest=$(shown)
has "a number by its name" "$rest" '^alpha\(number=0\)$'
has "in the form of its type" "$rest" '^alpha\(number=1\)$'
has "what has no name" "$rest" '^beta\(bits=0x0, arg2=0x[0-9a-f]+, small=-?[0-9]+\)$'
has "no prototype" "$rest" '^gamma_one\(arg1=0x0, arg2=0x'
put function_events '' -t
has "the prototype went with its event" "$(shown)" '^alpha\(arg1=0x0, arg2=0x'
# "f = 0x1", "f = 0x1?" of what nobody knows to be a result, "f": as the process shows it.
returned() {
  "$patchbay" cat $pid trace |
    sed -nE 's/.*\|  (alpha|beta|gamma_one)\(.*\);( \/\*( = [^ ]*) \*\/)?$/\1\3/p'
}
put function_events 'int r = alpha(int number)'
put function_events 'double r = beta()'
put options/funcgraph-retval 1
put current_tracer function_graph
call alpha 1
call beta
call gamma_one
same "function_graph: results, as far as they are known" "alpha = ,beta,gamma_one = ?" \
  "$(returned | sed -E 's/0x[0-9a-f]+|-[0-9]+//' | sort -u | paste -sd,)"
put current_tracer nop
put options/funcgraph-retval 0
put function_events '' -t
put function_events 'alpha(string text)'
put options/funcgraph-args 1
put current_tracer function_graph
call alpha
has "function_graph: a string is its address" "$("$patchbay" cat $pid trace)" \
  '\|  alpha\(text=0x0\);$'
exec 3>&-
wait $pid
same "the process has ended well" 0 $?
finish
