#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Functions that the agent puts itself before (fork, sigaction, pthread_create, ...): the program's
# calls of them are traced, by libc's names and with the program's caller and arguments, and no call
# of the agent's own is.
#   stand_ins.sh BUILD_DIR
. "$(dirname "$0")/common.bash"
program=$programs/stand_ins
cd "$work" || exit
plain=$("$program")
# traced FILE OPTION... : its report's lines without heads. What it prints stays as it is.
traced() {
  local file=$1
  shift
  same "output of $*" "$plain" \
    "$("$patchbay" record -q --no-follow -o "$file" "$@" -- "$program" 2>err)"
  lines=$("$patchbay" report -i "$file" 2>/dev/null | grep -v '^#')
}
number() { grep -cE -- "$1" <<<"$lines"; }

counts="set_signals sigaction 3
set_signals signal 2
set_signals sigprocmask 4
set_signals pthread_sigmask 5
make_processes fork 2
make_processes vfork 2
make_processes system 1
make_processes popen 1
make_processes posix_spawn 1
wait_for_nothing ppoll 1
wait_for_nothing pselect 1
wait_for_nothing epoll_pwait 1
make_threads pthread_create 3
main backtrace 1
main prctl 1"
names=$(awk '{ print $2 }' <<<"$counts")
# check_each REGEX SENTENCE : of each line; CALLER and NAME stand for the function and who calls it.
check_each() {
  local caller name count line
  while read -r caller name count; do
    line=${1//NAME/$name}
    same "$2: $name" "$count" "$(number "${line//CALLER/$caller}")"
  done <<<"$counts"
}

events=() libc=() tracer=() probes=() returns=()
for name in $names; do
  events+=(-e "$name(int a)") libc+=(-e "libc:$name(int a)") tracer+=(-l "$name")
  probes+=(-e "p:p_$name $name ip=%ip:symbol")
  [[ $name == vfork ]] || returns+=(-e "r:r_$name $name")
done
traced events.dat "${events[@]}"
check_each ' CALLER->NAME\(a=' "a function event"
same "nobody else calls" 29 "$(number '->')"
traced libc.dat "${libc[@]}"
check_each ' CALLER->NAME\(a=' "a function event with libc:"
traced tracer.dat -t function "${tracer[@]}"
check_each ': NAME <-CALLER$' "the tracer function"
same "and by nobody else" 29 "$(number '<-')"
traced graph.dat -t function_graph "${tracer[@]}"
for name in sigaction system pthread_create; do
  has "function_graph has $name" "$lines" "funcgraph_entry: .* $name\\(\\)"
done
traced probes.dat "${probes[@]}"
check_each ': p_NAME: \(NAME\+0x0.* ip=NAME' "a probe"
traced returns.dat "${returns[@]}"
same "a return of fork in both processes" 4 "$(number 'r_fork: \(make_processes.* <- fork\)')"
same "returns of pthread_create" 3 "$(number 'r_pthread_create: \(make_threads')"
traced stacks.dat -t function -O func_stack_trace -l pthread_create
stack=$(sed -n '/kernel_stack/,$ p' <<<"$lines" | sed -n '2,4 p' | tr -d '\n')
same "a stack" " => pthread_create => make_threads => main" "$stack"

traced arguments.dat -e 'sigaction(int sig)' -e 'popen(string command, string mode)' \
  -e 'pthread_create(NULL, NULL, symbol run, u64 argument)' -e 'p:fp libc:system c=+0($arg1):string'
same "arguments of sigaction" 3 "$(number 'sigaction\(sig=10\)')"
same "of popen" 1 "$(number 'popen\(command=exit 1, mode=r\)')"
same "of pthread_create" 1 "$(number 'pthread_create\(run=in_thread\+0x0/.*, argument=8\)')"
same "of system" 1 "$(number 'fp: .* c="exit 1"')"

# Names of one function.
traced glob.dat -e 'f:fp pthread_create*'
same "a glob" 3 "$(number ': fp: \(pthread_create')"
finish
