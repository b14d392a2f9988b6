#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# patchbay serve and the engines that scrape it: Prometheus, Prometheus with native histograms, and
# VictoriaMetrics, as Debian has them, with share/prometheus as it is, every second. Sums are the
# programs' own counts, quantiles are those of patchbay hist; half of the programs are killed, and
# two more while they count, and a histogram is cleared: no counter of any series goes back.
. "$(dirname "$0")/common.bash"
. "$here/serve_common.bash"
need curl jq python3
engines_judge=$here/serve_engines_judge.py
engines=()
if command -v prometheus >/dev/null; then engines+=(prometheus native); fi
if command -v victoria-metrics >/dev/null; then engines+=(victoria); fi
((${#engines[@]})) || skip "neither prometheus nor victoria-metrics is installed"
command -v prometheus >/dev/null ||
  echo "SKIPPED in part: prometheus is not installed: victoria-metrics alone has scraped"
command -v victoria-metrics >/dev/null ||
  echo "SKIPPED in part: victoria-metrics is not installed: prometheus alone has scraped"
export no_proxy='*' # of the scrapes of serve_common.bash
declare -A at engine_pid
# The engines write into $work until they are over.
end_engines() {
  kill -9 "${engine_pid[@]}"
  wait "${engine_pid[@]}"
}
trap 'end_engines 2>/dev/null; cleanup' EXIT

# --- twenty programs, and serve
nr=20 half=10
for ((i = 0; i < nr; i++)); do start_counted $((1000 + 137 * i)); done
for ((i = 0; i < nr; i++)); do
  wait_for 30 "$patchbay" write "${pids[i]}" events/functions/work/trigger hist:keys=common_type ||
    fail "the agent of program $i does not answer"
done
measured=(3 18) # one that is killed, and one that stays
for i in "${measured[@]}"; do
  hist "${pids[i]}" hist:keys=n.log2:vals=n
  hist "${pids[i]}" hist:keys=common_type:vals=n.counters
done
site=$work/site
mkdir -p "$site/targets"
cp "$here"/../../share/prometheus/*.yml "$site/"
if command -v promtool >/dev/null; then
  check "promtool takes the rules" promtool check rules "$site/rules.yml" >"$work/promtool" 2>&1
fi
printf '%s\n' 'global: {scrape_interval: 1s, evaluation_interval: 1s}' >>"$site/prometheus.yml"
start_serve --file-sd "$site/targets/patchbay.json"
sed -i "s|/run/patchbay/serve.token|$PATCHBAY_DIR/serve.token|" "$site/prometheus.yml"
if command -v promtool >/dev/null; then
  config=$(promtool check config "$site/prometheus.yml" 2>&1)
  same "promtool takes the configuration" 0 $?
  has "promtool finds the targets" "$config" 'is valid prometheus config file syntax'
  same "promtool warns of nothing" "" "$(grep WARNING <<<"$config")"
fi

# --- the engines. Each chooses its port: it is found by the socket that the process listens on.
start_engine() {
  local name=$1 home=$work/$1
  shift
  "$@" >"$home.log" 2>&1 </dev/null &
  engine_pid[$name]=$!
  started $!
  listens() { port=$(python3 "$engines_judge" port "${engine_pid[$name]}"); }
  wait_for 60 listens || fail "$name does not start: $(tail -n 3 "$home.log")"
  at[$name]=http://127.0.0.1:$port
}
for engine in "${engines[@]}"; do
  case $engine in
    victoria)
      # It knows no rules, and says so unless it is told not to mind.
      start_engine victoria victoria-metrics -httpListenAddr=127.0.0.1:0 \
        -storageDataPath="$work/victoria" -promscrape.config="$site/prometheus.yml" \
        -promscrape.config.strictParse=false -search.latencyOffset=0s -search.disableCache \
        -memory.allowedBytes=100MB
      ;;
    *)
      feature=()
      [[ $engine != native ]] || feature=(--enable-feature=native-histograms)
      start_engine "$engine" prometheus --config.file="$site/prometheus.yml" \
        --storage.tsdb.path="$work/$engine" --web.listen-address=127.0.0.1:0 "${feature[@]}"
      ;;
  esac
done
# ask ENGINE QUERY : the answer. one ENGINE QUERY : the number that it is.
ask() {
  curl -sS --noproxy '*' --max-time 30 -G --data-urlencode "query=$2" "${at[$1]}/api/v1/query"
}
one() { ask "$@" | jq -r '.data.result[0].value[1]'; }
# comes_to SENTENCE QUERY VALUE [ENGINE…] : each engine answers that in the end.
comes_to() {
  local sentence=$1 query=$2 value=$3 engine got end
  shift 3
  (($#)) || set -- "${engines[@]}"
  for engine in "$@"; do
    end=$((SECONDS + 60))
    until got=$(one "$engine" "$query") && [[ $got == "$value" ]] || ((SECONDS >= end)); do
      sleep 0.2
    done
    same "$engine: $sentence" "$value" "$got"
  done
}
hits='patchbay_functions_work_hits_total{hist="keys=common_type"}'
comes_to "all programs are there before they count" "sum(patchbay_agent_up)" $nr

# --- sums. patchbay hist looks at two of the programs meanwhile.
quantiles=()
for i in "${measured[@]}"; do
  (
    trap - INT # which a shell without a terminal ignores for what it starts
    exec "$patchbay" hist --json -o "$work/hist.$i" functions:work keys=common_type \
      vals=n.quantiles -p "${pids[i]}"
  ) >"$work/hist.out.$i" 2>&1 </dev/null &
  quantiles+=($!)
  started $!
  file=instances/patchbay-${quantiles[-1]}-1/events/functions/work/hist
  made() { "$patchbay" cat "${pids[i]}" "$file" | grep -q quantiles; }
  wait_for 30 made || fail "patchbay hist does not start: $(cat "$work/hist.out.$i")"
done
all=()
for ((i = 0; i < nr; i++)); do all+=("$i"); done
run_counted "${all[@]}"
calls=0
for ((i = 0; i < nr; i++)); do
  own=$(sed -n 's/^calls //p' "${outs[${pids[i]}]}")
  calls=$((calls + own))
done
for one_hist in "${quantiles[@]}"; do
  kill -INT "$one_hist"
  wait "$one_hist"
  same "patchbay hist ends well" 0 $?
done
comes_to "the sum of the hits is what the programs have counted" "sum($hits)" $calls
for i in "${measured[@]}"; do
  own=$(sed -n 's/^calls //p' "${outs[${pids[i]}]}")
  process="pid=\"${pids[i]}\""
  same "patchbay hist has counted the same" "$own" "$(jq -r .hits "$work/hist.$i")"
  comes_to "one program alone" "${hits%\}},$process}" "$own"
  for family in n n_log2; do
    name=patchbay_functions_work_$family
    for engine in "${engines[@]}"; do
      if [[ $engine == native ]]; then
        count="histogram_count($name{$process})" sum="histogram_sum($name{$process})"
        series="$name{$process}"
      else
        count="${name}_count{$process}" sum="${name}_sum{$process}"
        series="${name}_bucket{$process}"
      fi
      comes_to "$family has all calls" "$count" "$own" "$engine"
      comes_to "$family has their sum" "$sum" $((own * (own - 1) / 2)) "$engine"
      ask "$engine" "$series" >"$work/buckets"
      p50=$(one "$engine" "histogram_quantile(0.5, $series)")
      p99=$(one "$engine" "histogram_quantile(0.99, $series)")
      same "$engine: p50 and p99 of $family are in the buckets of what patchbay hist says" "" \
        "$(python3 "$engines_judge" bucket "$work/hist.$i" "$work/buckets" $family \
          "$p50" "$p99" 2>&1)"
    done
  done
done
if command -v promtool >/dev/null; then
  lint=$(scrape | promtool check metrics 2>&1 | grep -v 'abbreviated units\|^$')
  same "promtool finds nothing in the text" "" "$lint"
fi
picture=
if [[ ${at[prometheus]:-} ]] && command -v chromium >/dev/null; then
  page=${at[prometheus]}/graph
  expression=$(jq -rn --arg q "$hits" '$q|@uri')
  timeout -k 5 40 chromium --headless --no-sandbox --disable-gpu --no-first-run --no-proxy-server \
    --user-data-dir="$work/chromium" --virtual-time-budget=8000 --window-size=1000,900 \
    --screenshot="$work/graph.png" \
    "$page?g0.tab=0&g0.range_input=1m&g0.expr=$expression" \
    >"$work/chromium.log" 2>&1 </dev/null &
  picture=$!
  started $picture
else
  echo "SKIPPED in part: no chromium, or no prometheus: no picture of its graph"
fi

# --- deaths: of ten that have counted, and of two in the midst of it
start_counted 2000000000 20000
start_counted 2000000000 20000
runners="${pids[nr]}|${pids[nr + 1]}"
for ((i = nr; i < nr + 2; i++)); do
  wait_for 30 "$patchbay" write "${pids[i]}" events/functions/work/trigger hist:keys=common_type ||
    fail "the agent of program $i does not answer"
  echo >&"${fds[i]}"
done
comes_to "programs in the midst of counting" "count(${hits%\}},pid=~\"$runners\"} > 0)" 2
kill -9 "${pids[@]:0:half}" "${pids[@]:nr}"
wait "${pids[@]:0:half}" "${pids[@]:nr}" 2>/dev/null
# This script has scraped, too, and whoever has gets the last counts once more.
nr_shown() { scrape | python3 "$judge" count "${hits%%\{*}" hist=keys=common_type; }
ended() { [[ $(nr_shown) == "$half" ]]; }
wait_for 60 ended || fail "serve goes on to show those that were killed"
comes_to "the series of those that were killed end" "count($hits)" $half
comes_to "their last counts are kept" \
  "sum(max_over_time(${hits%\}},pid!~\"$runners\"}[10m]))" $calls
"$patchbay" write "${pids[nr - 1]}" events/functions/work/trigger hist:keys=common_type:clear ||
  fail "the histogram is not cleared"
# One scrape a second of each engine; looks are shared for half a second.
mark=$(($(scrape | sum patchbay_serve_scrapes_total) + 3 * ${#engines[@]}))
comes_to "scrapes after the histogram was cleared" \
  "count(patchbay_serve_scrapes_total >= $mark)" 1
comes_to "what was cleared stays" "${hits%\}},pid=\"${pids[nr - 1]}\"}" \
  "$(sed -n 's/^calls //p' "${outs[${pids[nr - 1]}]}")"
scrape >"$work/text"
for engine in "${engines[@]}"; do
  ask "$engine" '{__name__=~"patchbay_.+"}[10m]' >"$work/samples"
  python3 "$engines_judge" back "$work/text" "$work/samples" >"$work/back"
  same "$engine: no sample of a counter is less than the one before" "" "$(head -n -1 "$work/back")"
  counted=$(tail -n 1 "$work/back")
  echo "$engine: $counted"
  read -r nr_series _ <<<"$counted"
  # Each of the 22 programs has seven counters besides its hits.
  check "$engine: there are series to look at" test "$((nr_series))" -ge $((22 * 8))
  expression=$(python3 "$engines_judge" resets "$work/text" "$engine")
  now=$(date +%s)
  range=$(curl -sS --noproxy '*' --max-time 30 -G --data-urlencode "query=$expression" \
    -d "start=$((now - 120))&end=$now&step=5" "${at[$engine]}/api/v1/query_range" |
    jq -c '[.data.result[].values[][1]] | unique')
  same "$engine: resets() has seen none" '["0"]' "$range"
done

# --- the rules, as Prometheus evaluates them
if [[ ${at[prometheus]:-} ]]; then
  health() { curl -sS --noproxy '*' "${at[prometheus]}/api/v1/rules" |
    jq -r '[.data.groups[].rules[].health] | "\(length) \(unique | join(","))"'; }
  nr_rules=$(grep -cE '^ +- (record|alert):' "$site/rules.yml")
  is_well() { [[ $(health) == "$nr_rules ok" ]]; }
  wait_for 60 is_well
  same "prometheus: each rule can be evaluated" "$nr_rules ok" "$(health)"
  comes_to "serve is up" 'up{job="patchbay"}' 1
fi
if [[ $picture ]]; then
  if wait $picture; then
    same "the graph page of prometheus has a graph" "" \
      "$(python3 "$engines_judge" picture "$work/graph.png")"
  else
    echo "SKIPPED in part: chromium made no picture of the graph in 40 s"
  fi
fi
for engine in "${engines[@]}"; do
  kill "${engine_pid[$engine]}"
  wait "${engine_pid[$engine]}"
  same "$engine ends well" 0 $?
done
finish
