# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the scripts of `patchbay serve` share, behind common.bash.
judge=$here/serve_judge.py

# start_counted CALLS [RATE] : a program that makes CALLS calls of work(n), RATE a second, when it
# is told to, and waits then. Adds it to pids and fds.
pids=() fds=() serves=0
start_counted() {
  local fifo=$work/in.${#pids[@]}.$RANDOM fd
  mkfifo "$fifo"
  PATCHBAY_FUNCTION_EVENTS='work(u64 n)' LD_PRELOAD=$agent "$programs/counted" \
    "${2:-1000000}" "$1" <"$fifo" >"$fifo.out" 2>"$fifo.err" &
  pids+=($!)
  started $!
  exec {fd}>"$fifo"
  fds+=("$fd")
  outs[$!]=$fifo.out
}
declare -A outs
# ready PID : its agent answers.
ready() { wait_for 30 "$patchbay" ls "$1" || fail "the agent of $1 does not answer"; }
# run_counted INDEX… : they make their calls; returns when all have.
run_counted() {
  local i
  for i in "$@"; do echo >&"${fds[i]}"; done
  for i in "$@"; do
    wait_for 60 grep -q '^calls' "${outs[${pids[i]}]}" || fail "program $i does not end its calls"
  done
}
# hist PID DEFINITION
hist() { "$patchbay" write "$1" events/functions/work/trigger "$2" || fail "no histogram in $1"; }

# start_serve OPTION… : sets url, serve, and the token that it has made.
start_serve() {
  serves=$((serves + 1))
  "$patchbay" serve --conf "" --listen 127.0.0.1:0 "$@" >"$work/url.$serves" \
    2>"$work/serve.err.$serves" </dev/null &
  serve=$!
  started $serve
  wait_for 30 test -s "$work/url.$serves" ||
    fail "serve does not start: $(cat "$work/serve.err.$serves")"
  url=$(cat "$work/url.$serves")
  made_token=$(cat "$PATCHBAY_DIR/serve.token" 2>/dev/null)
}
# scrape OPTION… : of curl.
scrape() { curl -sS --max-time 60 -H "Authorization: Bearer $made_token" "$@" "$url"; }
sum() { python3 "$judge" sum "$@"; }
agents_are() { [[ $(scrape | sum patchbay_serve_agents) == "$1" ]]; }
