#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The table of options: the manual pages agree with it, each command prints its help, spellings of
# the version before are understood, and bash completes commands, options, processes and events.
. "$(dirname "$0")/common.bash"

# --- the manual pages
need python3
same "the pages of the manual" "" "$("$here/../../tools/man_options" --check "$build" 2>&1)"

# --- help
for command in record report graph replay dump recover clean list cat write ls probe start stop \
  show clear reset stat snapshot extract top hist latency sql mount with-tracefs; do
  help=$("$patchbay" "$command" --help) || fail "$command --help"
  has "$command: help" "$help" "^Usage: patchbay $command"
  same "help $command" "$help" "$("$patchbay" help "$command")"
  out=$("$patchbay" "$command" --no-such 2>&1)
  same "$command: a wrong option" 2 $?
  has "$command: a wrong option" "$out" "There is no option '--no-such'"
done

# --- letters, and how they were spelt before
cd "$work" || exit 1
program=$programs/graph_calls
recorded() { # FILE OPTION... : what was recorded, without what differs from run to run
  "$patchbay" record -q -o "$1" "${@:2}" -- "$program" >/dev/null 2>&1
  "$patchbay" graph --flat "$1" 2>/dev/null | awk '/calls_/ { print $5, $NF }' | sort
}
new=$(recorded new.dat -t function_graph -l 'calls_*' -N calls_leaf)
has "record -t -l -N" "$new" 'calls_middle'
same "record -N" "" "$(grep calls_leaf <<<"$new")"
same "record -p TRACER -n" "$new" "$(recorded old.dat -p function_graph -l 'calls_*' -n calls_leaf)"
same "record --tracer --notrace" "$new" \
  "$(recorded long.dat --tracer function_graph --function 'calls_*' --notrace calls_leaf)"
check "record -m" "$patchbay" record -q -o m.dat -m drop -t function -l calls_leaf -- "$program"
lines() { "$patchbay" "$@" 2>&1 | sed 's/[0-9.]* [mun]*s//g'; }
has "graph -T" "$(lines graph -T 1us new.dat)" calls_
same "graph -t" "$(lines graph -T 1us new.dat)" "$(lines graph -t 1us new.dat)"
has "replay -F" "$(lines replay -F calls_middle new.dat)" calls_
same "replay --filter, -t" "$(lines replay -F calls_middle -T 1ns new.dat)" \
  "$(lines replay --filter calls_middle -t 1ns new.dat)"
same "dump -p -e -f" "$("$patchbay" dump --pages --events --formats new.dat)" \
  "$("$patchbay" dump -p -e -f new.dat)"
same "clean -a -n" "$("$patchbay" clean --all --dry-run)" "$("$patchbay" clean -a -n)"

# --- of a running process
"$patchbay" record -q -o live.dat -e 'getenv(string name)' -- sleep 60 2>/dev/null &
started $!
pid=
for _ in {1..100}; do
  pid=$("$patchbay" completions words -- patchbay cat '' | awk '$2 == "sleep" { print $1; exit }')
  [[ -z $pid ]] || break
  sleep 0.1
done
has "a process to complete" "$pid" '^[0-9]+$'
[[ -z $pid ]] || started "$pid"
check "write --truncate" "$patchbay" write --truncate "$pid" trace ''
check "write -t" "$patchbay" write -t "$pid" trace ''
check "start -t" "$patchbay" start -p "$pid" -t function -l getenv
same "start -t" function "$("$patchbay" cat "$pid" current_tracer)"
check "reset" "$patchbay" reset -p "$pid"
check "start -p TRACER -p PID" "$patchbay" start -p "$pid" -p function -l getenv
same "start -p TRACER" function "$("$patchbay" cat "$pid" current_tracer)"
for option in --take --reset --free -s -r -f; do
  check "snapshot $option" "$patchbay" snapshot "$option" -p "$pid"
done

# --- a mistake is named
same "an unknown letter behind a word with a dash" \
  "patchbay record: There is no option '-x'." \
  "$("$patchbay" record -o a-b -xq 2>&1 | head -n 1)"
has "a name that nobody has" "$("$patchbay" record -p nobody-has-it -l getenv 2>&1 | head -n 1)" \
  '^patchbay record: -p nobody-has-it: no process that you may look into has this name'
has "no process id" "$("$patchbay" cat -p 0 trace 2>&1 | head -n 1)" \
  'takes a process id, or the name'
has "a mistyped option" "$("$patchbay" record --hlep 2>&1 | head -n 1)" \
  "There is no option '--hlep'. Did you mean '--help'"
has "an option without its value" "$("$patchbay" record -o 2>&1 | head -n 1)" \
  "The option '-o' misses its value"
has "a value too much" "$("$patchbay" record --quiet=1 2>&1 | head -n 1)" \
  "The option '--quiet' takes no value"
has "two that begin alike" "$("$patchbay" record --c 2>&1 | head -n 1)" \
  "'--c'. It is the beginning of --c"
has "a program whose name begins with a digit" "$("$patchbay" top --once 7z-is-not-here 2>&1)" \
  7z-is-not-here

# --- what bash completes
eval "$("$patchbay" completions bash)"
completed() { # WORD... : what stands for the last word, without its own beginning up to a colon
  COMP_WORDS=("$patchbay" "$@") COMP_CWORD=$# COMPREPLY=()
  _patchbay 2>/dev/null
  printf '%s\n' "${COMPREPLY[@]}"
}
same "a command" "$(printf '%s\n' report replay)" "$(completed rep)"
same "an option" --tracer "$(completed record --tra)"
same "a value" function_graph "$(completed record -t function_)"
same "a process" "$pid" "$(completed stop -p "${pid::-1}" | grep -x "$pid")"
"$patchbay" start -p "$pid" -e 'getenv(string name)'
same "an event" functions:getenv \
  "$(COMP_WORDBREAKS='' && completed start -p "$pid" -e functions:get)"
same "an event where words end at colons" getenv \
  "$(COMP_WORDBREAKS=: && completed start -p "$pid" -e functions:get)"
same "a path" events/functions/ "$(completed ls "$pid" events/func)"
for shell in zsh fish; do
  has "$shell" "$("$patchbay" completions "$shell")" 'completions words --'
  ! command -v "$shell" >/dev/null || check "$shell" "$shell" -n \
    <("$patchbay" completions "$shell")
done
finish
