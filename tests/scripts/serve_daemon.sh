#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The daemon: patchbay.conf's [serve] and [attach], `patchbay status`, snapshots by alerts.
. "$(dirname "$0")/common.bash"
. "$here/serve_common.bash"
need curl python3 jq openssl
openssl rand -hex 16 >"$work/token" && chmod 600 "$work/token"
token=$(cat "$work/token")
cp "$programs/steady" "$work/ruled"
cat >"$work/patchbay.conf" <<CONF
# What the agent reads of the same file.
trace_clock = mono
[serve]
listen = 127.0.0.1:0
token-file = $work/token
file-sd = $work/targets.json
on-alert = snapshot, keep 2
alert-directory = $work/alerts
[attach]
exe = $work/rul*
event = work(u64 n)
histogram = work(u64 n) keys=common_type
CONF
# A control group that is called as a service is, and one that is not.
groups=()
for name in patchbay-serve-$$.service patchbay-serve-$$.slice; do
  group=$(make_group "$name") && groups+=("$group")
done
leave_groups() {
  local group
  for group in "${groups[@]}"; do remove_group "$group"; done
}
trap 'leave_groups; cleanup' EXIT
((${#groups[@]} == 2)) && cat >>"$work/patchbay.conf" <<CONF
[attach]
service = patchbay-serve-$$
event = work(s64 n)
[attach]
cgroup = patchbay-serve-$$.slice
event = usleep(u32 us)
CONF
start_daemon() {
  rm -f "$work/url"
  "$patchbay" serve --conf "$work/patchbay.conf" >"$work/url" 2>"$work/serve.err" </dev/null &
  serve=$!
  started $serve
  wait_for 30 test -s "$work/url" || fail "serve does not start: $(cat "$work/serve.err")"
  url=$(cat "$work/url")
}
scrape() { curl -sS --max-time 60 -H "Authorization: Bearer $token" "$url"; }
"$work/ruled" 1000 &
started $!
first=$!
start_daemon
same "the target of file_sd" "${url#http://}" \
  "$(jq -r '.[0].targets[0]' "$work/targets.json")/metrics"
same "and of http_sd" "$(cat "$work/targets.json")" \
  "$(curl -s -H "Authorization: Bearer $token" "${url%metrics}sd")"
hits=patchbay_functions_work_hits_total
has_hits() { (($(scrape | sum $hits "pid=$1") > 0)); }
if wait_for 60 has_hits $first; then
  "$work/ruled" 1000 &
  started $!
  second=$!
  check "a process that comes later gets the rule, too" wait_for 60 has_hits $second
  status=$("$patchbay" status --conf "$work/patchbay.conf" --json)
  same "status: both processes" 2 "$(jq '.processes | length' <<<"$status")"
  same "status: attached" attached "$(jq -r '.processes[0].arrival' <<<"$status")"
  same "status: their event" functions:work "$(jq -r '.processes[0].events[0]' <<<"$status")"
  same "status: their histogram" 1 "$(jq '.processes[0].histograms' <<<"$status")"
  same "status: the rules" $((${#groups[@]} + 1)) "$(jq '.rules' <<<"$status")"
  same "status: the daemon" "$url" "$(jq -r '.daemon.url' <<<"$status")"
  has "status as a table" "$("$patchbay" status --conf "$work/patchbay.conf")" \
    "$first alive +attached +1 +1 .* ruled"

  # Control groups: one that is there, and one that comes into it later.
  event_of() {
    "$patchbay" status --conf "$work/patchbay.conf" --json |
      jq -r --argjson pid "$1" '.processes[] | select(.pid == $pid) | .events | join(" ")'
  }
  has_event() { [[ $(event_of "$1") == "$2" ]]; }
  if ((${#groups[@]} == 2)); then
    cp "$programs/steady" "$work/grouped"
    "$work/grouped" 1000 &
    started $!
    served=$!
    "$work/grouped" 1000 &
    started $!
    sliced=$!
    echo $served >"${groups[0]}/cgroup.procs"
    echo $sliced >"${groups[1]}/cgroup.procs"
    check "a process of the service has its rule's event" \
      wait_for 60 has_event $served functions:work
    check "and one of the control group" wait_for 60 has_event $sliced functions:usleep
    kill -9 $served $sliced
    wait $served $sliced 2>/dev/null
  else
    echo "SKIPPED: $(basename "$0"): no control groups can be made: rules by service and cgroup"
  fi

  # Alerts: each takes a snapshot of the process; of one process not too often.
  alert() {
    curl -s -o "$work/body" -w '%{http_code}' --max-time 90 -H "Authorization: Bearer $token" \
      -d "{\"version\": \"4\", \"alerts\": [{\"status\": \"$2\", \"labels\": {\"pid\": \"$1\"}}]}" \
      "${url%metrics}alert"
  }
  same "an alert" 200 "$(alert $first firing)"
  has "one snapshot" "$(cat "$work/body")" '^1 snapshots'
  same "a file" 1 "$(find "$work/alerts" -name 'alert-*.dat' | wc -l)"
  check "it can be read" grep -q 'work' <<<"$("$patchbay" report -i "$work"/alerts/alert-*.dat)"
  same "the same at once" 200 "$(alert $first firing)"
  has "is not done" "$(cat "$work/body")" '^0 snapshots'
  same "one that is over" 200 "$(alert $second resolved)"
  has "is nothing" "$(cat "$work/body")" '^0 snapshots'
  same "garbage" 400 "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $token" \
    -d '[[[[' "${url%metrics}alert")"
  same "a large body" 413 "$(head -c 2000000 /dev/zero | curl -s -o /dev/null -w '%{http_code}' \
    -H "Authorization: Bearer $token" -H Expect: --data-binary @- "${url%metrics}alert")"
  touch "$work/alerts/alert-20200101T000000.000-1.dat" \
    "$work/alerts/alert-20200101T000001.000-1.dat"
  same "an alert of another one" 200 "$(alert $second firing)"
  same "the newest two are kept" 2 "$(find "$work/alerts" -name 'alert-*.dat' | wc -l)"
else
  echo "SKIPPED: $(basename "$0"): attaching: $(tail -n 1 "$work/serve.err")"
fi
kill "$serve"
wait "$serve"
same "it ends well" 0 $?
check "the file of file_sd goes with it" test ! -e "$work/targets.json"
has "status without a daemon" "$("$patchbay" status --conf "$work/patchbay.conf")" 'none runs'

# Mistakes in the file.
mistake() {
  printf '%s\n' "$2" >"$work/bad.conf"
  "$patchbay" serve --conf "$work/bad.conf" >"$work/out" 2>&1 </dev/null
  same "mistake: $1" 1 $?
  has "mistake: $1" "$(cat "$work/out")" "$3"
}
mistake "a setting" $'[serve]\nlissten = 1' 'bad.conf:2: There is no setting .lissten'
mistake "a value" $'[serve]\nlisten = x' 'bad.conf:2: --listen takes'
mistake "a section" '[server]' 'bad.conf:1: A section is'
mistake "a rule" $'[attach]\nevent = x' 'bad.conf:1: The rule names no'
printf '[serve]\n' >"$work/open.conf" && chmod 666 "$work/open.conf"
has "a file of everybody" "$("$patchbay" serve --conf "$work/open.conf" 2>&1)" 'written by others'
finish
