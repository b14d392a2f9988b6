#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Real programs with the agent preloaded and events on: same output and exit status as without.
# Servers listen on unix sockets in this script's folder only.
. "$(dirname "$0")/common.bash"

# Two ways to start a program: alone, and with events on functions that all of them call.
plain=$work/plain
traced=$work/traced
printf '#!/bin/sh\nexec "$@"\n' >"$plain"
cat >"$traced" <<SCRIPT
#!/bin/sh
PATCHBAY_FUNCTION_EVENTS='malloc(size_t size);openat(int dfd, string path, x32 flags);read(int fd)'
PATCHBAY_TRACE_EVENT='functions:*'
export PATCHBAY_FUNCTION_EVENTS PATCHBAY_TRACE_EVENT
LD_PRELOAD=$agent exec "\$@"
SCRIPT
chmod 755 "$plain" "$traced"
# compare NAME COMMAND… : output and status of both runs.
compare() {
  local name=$1 expected actual status
  shift
  expected=$(timeout 120 "$plain" "$@" 2>&1 </dev/null)
  status=$?
  actual=$(timeout 120 "$traced" "$@" 2>&1 </dev/null)
  same "$name: exit status" $status $?
  same "$name: output" "$expected" "$actual"
}
# with NAME PROGRAM : is it there?
with() {
  command -v "$2" >/dev/null && return
  echo "SKIPPED: $1 is not installed"
  return 1
}

compare bash bash -c 'for i in 1 2 3; do echo $((i * i)); done; (exit 3) | cat; ls / | sort; exit 5'
with sqlite3 sqlite3 && compare sqlite3 sqlite3 :memory: \
  'create table t(a, b);
   with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
   insert into t select i, hex(i) from n; select count(*), sum(a), max(b) from t; select nope;'
if with git git; then
  git init -q "$work/repository" && echo text >"$work/repository/file"
  export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
  git -C "$work/repository" add file
  git -C "$work/repository" -c user.name=a -c user.email=a@b.c commit -q -m first
  compare git git -C "$work/repository" log --stat
  compare git-status git -C "$work/repository" status --short --branch
  compare git-fsck git -C "$work/repository" fsck --full --no-progress
fi
with python3 python3 && compare python3 python3 -c '
import json, re, threading, subprocess, multiprocessing
print(json.dumps({"a": [1, 2.5, None]}), re.findall(r"\w+", "some words here"))
results = []
threads = [threading.Thread(target=lambda i=i: results.append(i * i)) for i in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sorted(results), subprocess.run(["echo", "child"], capture_output=True).stdout)
with multiprocessing.Pool(2) as pool: print(pool.map(abs, range(-4, 0)))
raise SystemExit(9)'
with node node && compare node node -e '
const { execSync } = require("child_process");
const work = new Promise(done => setTimeout(() => done("later"), 20));
work.then(text => {
  console.log(text, execSync("echo child").toString().trim(), JSON.stringify([1, {a: 2}]));
  let sum = 0;
  for (let i = 0; i < 3e6; ++i) sum += i % 7;
  console.log(sum);
  process.exitCode = 4;
});'
with openssl openssl && compare openssl openssl dgst -sha256 /etc/passwd

redis_run() {
  local prefix=$1 socket=$work/redis.sock answer
  "$prefix" redis-server --port 0 --unixsocket "$socket" --save '' --dir "$work" \
    --daemonize no >"$work/redis.log" 2>&1 &
  local pid=$!
  started "$pid"
  wait_for 20 redis-cli -s "$socket" ping >/dev/null || echo "redis-server did not start"
  answer=$(for i in 1 2 3 4 5; do redis-cli -s "$socket" set "key$i" "value$i"; done
    redis-cli -s "$socket" mget key1 key3 key5
    redis-cli -s "$socket" bgsave >/dev/null
    sleep 0.3
    redis-cli -s "$socket" dbsize)
  redis-cli -s "$socket" shutdown nosave >/dev/null 2>&1
  wait $pid
  echo "$answer; status $?"
  rm -f "$socket"
}
with redis redis-server && with redis redis-cli &&
  same "redis-server" "$(redis_run "$plain")" "$(redis_run "$traced")"

nginx_run() {
  local prefix=$1 dir=$work/nginx status
  rm -rf "$dir" && mkdir "$dir" && chmod 777 "$dir"
  nginx_site "$dir" on 2
  "$prefix" nginx -p "$dir" -c "$dir/nginx.conf" >"$dir/out" 2>&1
  status=$?
  wait_for 10 test -S "$dir/sock"
  started "$(cat "$dir/pid" 2>/dev/null)"
  local i
  for i in 1 2 3; do
    python3 - "$dir/sock" <<'PYTHON'
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
s.sendall(b"GET / HTTP/1.0\r\n\r\n")
data = b""
while chunk := s.recv(65536): data += chunk
print(data.split(b"\r\n")[0].decode(), data.split(b"\r\n\r\n")[1])
PYTHON
  done
  nginx -p "$dir" -c "$dir/nginx.conf" -s quit >/dev/null 2>&1
  wait_for 10 test ! -e "$dir/pid" || echo "nginx did not stop"
  echo "status $status"
}
with nginx nginx && with nginx python3 &&
  same "nginx" "$(nginx_run "$plain")" "$(nginx_run "$traced")"

postgres_run() {
  local prefix=$1 dir=$work/postgres bin=$2 user=() i
  rm -rf "$dir" && mkdir -m 700 "$dir"
  if ((EUID == 0)); then
    chown postgres "$dir"
    user=(setpriv --reuid postgres --regid postgres --clear-groups)
  fi
  "${user[@]}" "$bin/initdb" -D "$dir/data" -A trust --no-sync >"$work/initdb.log" 2>&1
  # The server may not write into a folder that is root's: it gets its own.
  PATCHBAY_DIR=$dir "${user[@]}" "$prefix" "$bin/postgres" -D "$dir/data" -k "$dir" \
    -c listen_addresses='' -c fsync=off >"$work/postgres.log" 2>&1 &
  local pid=$!
  started "$pid"
  for ((i = 0; i < 100; i++)); do
    "${user[@]}" "$bin/psql" -h "$dir" -d postgres -c 'select 1' >/dev/null 2>&1 && break
    sleep 0.1
  done
  "${user[@]}" "$bin/psql" -h "$dir" -d postgres -At -c 'create table t as
    select i, md5(i::text) m from generate_series(1, 20000) i' -c 'create index on t(m)' \
    -c 'select count(*), min(m), max(m) from t' -c 'select * from t where m < $$001$$ order by 1' \
    -c 'select no_such_column' 2>&1
  kill -INT $pid
  wait $pid
  echo "status $?"
}
postgres_bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort | tail -n 1)
if [[ -n $postgres_bin ]] && { ((EUID != 0)) || id postgres >/dev/null 2>&1; }; then
  chmod 755 "$work"
  same "postgres" "$(postgres_run "$plain" "$postgres_bin")" \
    "$(postgres_run "$traced" "$postgres_bin")"
else
  echo "SKIPPED: postgres is not installed"
fi
finish
