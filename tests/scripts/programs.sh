#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Each small nasty program runs without and with `patchbay record`: same output, same exit status.
# Events: the lines `// event: …` of its source, or traced(int n).
#   programs.sh BUILD_DIR [PROGRAM…]
. "$(dirname "$0")/common.bash"

events_for() {
  local source=$here/../programs/${1%%_sled*}.c
  local events
  [[ -f $source ]] || source+=c
  events=$(sed -n 's|^// event: ||p' "$source")
  printf '%s\n' "${events:-traced(int n)}"
}

run_both() {
  local name=$1 plain traced plain_status traced_status event arguments=()
  while read -r event; do arguments+=(-e "$event"); done < <(events_for "$name")
  plain=$(timeout -k 5 30 "$programs/$name" 2>&1 </dev/null)
  plain_status=$?
  traced=$(timeout -k 5 30 "$patchbay" record -o "$work/$name.dat" "${arguments[@]}" -- \
    "$programs/$name" 2>"$work/$name.err" </dev/null)
  traced_status=$?
  # close_std speaks on stderr; the tool's own lines are marked.
  traced+=$(grep -v '^\[\? *patchbay' "$work/$name.err")
  same "$name: exit status" "$plain_status" "$traced_status"
  same "$name: output" "$plain" "$traced"
  case $name in
    exec_early | exit_early | abort_late | default_segv | daemonise | calls_sled_*) ;;
    *)
      checks=$((checks + 1))
      (($(events_of "$work/$name.dat" | wc -l) > 0)) ||
        fail "$name: no event was recorded: $(tail -n 2 "$work/$name.err")"
      ;;
  esac
}

# Go's runtime looks for the auxiliary vector behind the environment, walking from argv.
run_go() {
  command -v go >/dev/null || { echo "SKIPPED: go is not installed: no Go program"; return; }
  cat >"$work/go_cgo.go" <<'EOF'
package main

import "C"
import ("fmt"; "os"; "strings")

func main() {
  for _, one := range os.Environ() {
    if strings.HasPrefix(one, "PATCHBAY_WAIT=") || strings.HasPrefix(one, "LD_PRELOAD=") {
      fmt.Println("WRONG:", one)
    }
  }
  fmt.Println("go_cgo: runs, PATH", os.Getenv("PATH") != "")
}
EOF
  (cd "$work" && CGO_ENABLED=1 GOCACHE=$work/go-cache GOTOOLCHAIN=local GOFLAGS=-mod=mod \
    go build -o go_cgo go_cgo.go) || { fail "the Go program does not build"; return; }
  same "a Go program runs" "go_cgo: runs, PATH true" "$(env -u LD_PRELOAD timeout -k 5 60 \
    "$patchbay" record -q -o "$work/go.dat" -e 'malloc(size_t n)' -- "$work/go_cgo" 2>&1)"
}

# The process must end although our thread is in it, also where nobody waits for its events.
run_preloaded() {
  local status
  timeout -k 5 30 env LD_PRELOAD="$agent" "$programs/$1" >/dev/null 2>&1 </dev/null
  status=$?
  same "$1 with the agent alone: exit status" "$2" "$status"
}

# The agent gets no memory any more from its Nth allocation on, while it starts or later: the
# program runs on, and stops recording at worst.
run_without_memory() {
  local name=$1 plain traced after
  plain=$("$programs/$name" 2>/dev/null </dev/null; echo "status $?")
  for after in 1 300 1000 1500 2500 10000; do
    traced=$(timeout -k 5 30 env FAIL_AFTER=$after PATCHBAY_FUNCTION_EVENTS='traced(int n)' \
      LD_PRELOAD="$programs/failing_malloc_so.so:$agent" \
      "$programs/$name" 2>"$work/$name.err" </dev/null; echo "status $?")
    same "$name, no memory from allocation $after on" "$plain" "$traced"
    ((after > 300)) || has "$name: it says so" "$(cat "$work/$name.err")" '^patchbay: out of memory'
  done
}

names=("$@")
with_more=$((${#names[@]} == 0))
if ((${#names[@]} == 0)); then
  for program in "$programs"/*; do
    name=$(basename "$program")
    [[ -f $program && -x $program && $name != *.so ]] || continue
    case $name in
      static_hello | shared_counter | *_generated) continue ;;
      # have scripts of their own
      api_* | return_* | source_* | graph_calls | call_arguments | stacks | chaos_calls) continue ;;
      whole_calls | mirror_calls | thread_birth) continue ;;
      exec_ways | dlopen_again | dlopen_reload | hits | unwind_* | key_first) continue ;;
      confined_idle) continue ;;  # forbids what recording needs
      # have no function `traced`
      event_app | histogram_events | counted | dlopen_probes | steady) continue ;;
      two_calls | pairs | hostile_keys | stuck) continue ;;
      fork_workers) continue ;;
    esac
    names+=("$name")
  done
fi
for name in "${names[@]}"; do run_both "$name"; done
if ((with_more)); then
  run_preloaded raw_exit 3
  run_preloaded raw_exit_threads 4
  run_preloaded strict_seccomp 7
  run_preloaded out_of_memory 3
  run_preloaded confined_idle 5
  for name in many_threads fork_children dlopen_close; do run_without_memory "$name"; done
  run_go
fi
finish
