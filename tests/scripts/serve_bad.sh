#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# patchbay serve and what is against it: open ports, secrets that others may read, wrong tokens,
# garbage, slow and many clients, a runtime directory with FIFOs, links and another user's things,
# a stopped process, a killed daemon.
. "$(dirname "$0")/common.bash"
. "$here/serve_common.bash"
need curl python3 openssl

# refused STATUS REGEX OPTION… : serve ends with that status, and says so.
refused() {
  local want=$1 regex=$2 status
  shift 2
  timeout 30 "$patchbay" serve --conf "" "$@" >"$work/out" 2>"$work/err" </dev/null
  status=$?
  same "serve $* is refused" "$want" "$status"
  has "serve $* says why" "$(cat "$work/err")" "$regex"
}
printf '%s\n' "$(openssl rand -hex 16)" >"$work/token"
chmod 600 "$work/token"
token=$(cat "$work/token")
refused 2 'needs --token-file' --listen 0.0.0.0:0
refused 2 'needs --token-file' --listen '[::]:0'
refused 2 'needs --tls-cert' --listen 0.0.0.0:0 --token-file "$work/token"
refused 2 'exclude each other' --no-token --token-file "$work/token"
refused 2 'go together' --tls-cert "$work/token"
refused 2 'on-alert needs --token-file' --on-alert snapshot
refused 2 'snapshot, keep 10' --on-alert 'rm -rf'
refused 2 '127.0.0.1:9797' --listen example.com:1
refused 1 'No such file' --listen 127.0.0.1:0 --token-file "$work/none"
cp "$work/token" "$work/open" && chmod 644 "$work/open"
refused 1 'chmod 600' --listen 127.0.0.1:0 --token-file "$work/open"
echo short >"$work/short" && chmod 600 "$work/short"
refused 1 '16 or more' --listen 127.0.0.1:0 --token-file "$work/short"
mkfifo -m 600 "$work/fifo"
refused 1 'no ordinary file' --listen 127.0.0.1:0 --token-file "$work/fifo"
refused 1 'does not start with this certificate' --listen 127.0.0.1:0 --tls-cert "$work/token" \
  --tls-key "$work/token"

# A hostile runtime directory: none of it is waited for, and the one honest process is read.
start_counted 700
ready "${pids[0]}"
hist "${pids[0]}" hist:keys=common_type
sleep 1000 &
started $!
other=$!
mkdir -m 700 "$PATCHBAY_DIR/$other" "$PATCHBAY_DIR/1"
mkfifo "$PATCHBAY_DIR/$other/ctl.sock" "$PATCHBAY_DIR/$other/buffer"
ln -s "$PATCHBAY_DIR/${pids[0]}" "$PATCHBAY_DIR/2"
ln -s /dev/zero "$PATCHBAY_DIR/1/ctl.sock"
mkfifo "$PATCHBAY_DIR/3"
# One that listens and never answers.
mkdir -m 700 "$PATCHBAY_DIR/$$"
python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.bind(sys.argv[1]); s.listen(1)
while True: time.sleep(100)' "$PATCHBAY_DIR/$$/ctl.sock" &
started $!
wait_for 30 test -S "$PATCHBAY_DIR/$$/ctl.sock"
refusing=5
if ((EUID == 0)); then
  mkdir -m 755 "$PATCHBAY_DIR/4"
  chown nobody "$PATCHBAY_DIR/4"
  refusing=6
fi
# What a killed daemon has left is no obstacle.
start_serve
kill -9 "$serve"
wait "$serve" 2>/dev/null
start_serve
check "the honest process is found" wait_for 60 agents_are 1
run_counted 0
counted() { [[ $(scrape | sum patchbay_functions_work_hits_total) == 700 ]]; }
check "and counted" wait_for 60 counted
check "the others are refused" \
  test "$(scrape | sum patchbay_serve_refused_processes)" -ge $((refusing - 1))
refused 1 'Another patchbay serve runs' --listen 127.0.0.1:0
has "status shows the daemon" "$("$patchbay" status --conf "")" "$url"

# Requests that are none.
port=${url#http://127.0.0.1:} port=${port%/metrics}
code() { curl -s -o "$work/body" -w '%{http_code}' --max-time 60 "$@"; }
allowed() { code -H "Authorization: Bearer $made_token" "$@"; }
same "the file of the token" 600 "$(stat -c %a "$PATCHBAY_DIR/serve.token")"
has "it says where the token is" "$(cat "$work/serve.err.$serves")" \
  "credentials_file: $PATCHBAY_DIR/serve.token"
for path in metrics sd ''; do same "/$path without it" 401 "$(code "${url%metrics}$path")"; done
has "and why" "$(cat "$work/body")" 'Bearer TOKEN'
same "a part of it" 401 "$(code -H "Authorization: Bearer ${made_token%?}" "$url")"
same "the token" 200 "$(allowed "$url")"
same "another path" 404 "$(allowed "${url%metrics}../../etc/passwd" --path-as-is)"
same "another method" 405 "$(allowed -X DELETE "$url")"
same "an alert without a token" 401 "$(code -d '{}' "${url%metrics}alert")"
same "healthy" 200 "$(code "${url%metrics}-/healthy")"
head -c 100000 /dev/urandom >"$work/noise"
python3 - "$port" "$work/noise" <<'PYTHON'
import socket, sys
port, noise = int(sys.argv[1]), open(sys.argv[2], "rb").read()
for request in [noise, b"GET /metrics HTTP/1.1\r\n" + b"X: " + b"y" * 200000 + b"\r\n\r\n",
                b"GET " + b"/" * 100000, b"\r\n" * 5000,
                b"POST /alert HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-"
                b"Length: 99999999999999999999\r\n\r\n", b"GET /metrics HTTP/1.1\r\n\r\n"]:
    s = socket.create_connection(("127.0.0.1", port), 20)
    try:
        s.sendall(request)
        s.shutdown(socket.SHUT_WR)
        while s.recv(65536): pass
    except OSError:
        pass
    s.close()
PYTHON
check "after garbage it answers" counted
# Many that say nothing: when they are gone it answers.
python3 - "$port" <<'PYTHON'
import socket, sys
held = []
for i in range(100):
    held.append(socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20))
    held[-1].sendall(b"GET /metrics HT")
PYTHON
check "after 100 that said nothing it answers" wait_for 60 counted
same "beside 200 that stay it answers" 200 "$(python3 "$here/beside_connections.py" "$port" 200 \
  curl -s -o "$work/body" -w '%{http_code}' --max-time 10 -H "Authorization: Bearer $made_token" \
  "$url")"

# A process that is stopped keeps its counts, and the others go on.
start_counted 300
ready "${pids[1]}"
hist "${pids[1]}" hist:keys=common_type
run_counted 1
both() { [[ $(scrape | sum patchbay_functions_work_hits_total) == 1000 ]]; }
check "two programs" wait_for 60 both
stop_whole "${pids[0]}"
sleep 0.6
check "one is stopped: both are shown" both
kill -CONT "${pids[0]}"
kill "$serve"
wait "$serve" 2>/dev/null
check "the token goes with it" test ! -e "$PATCHBAY_DIR/serve.token"

# Without one, for all users of the machine.
start_serve --no-token
has "it says who may ask" "$(cat "$work/serve.err.$serves")" 'every user of this machine'
check "there is no token" test ! -e "$PATCHBAY_DIR/serve.token"
same "anybody" 200 "$(code "$url")"
same "a name of a foreign page" 403 "$(code -H 'Host: evil.example' "$url")"
kill "$serve"
wait "$serve" 2>/dev/null

# TLS and a token.
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/key.pem" -out "$work/cert.pem" -days 2 \
  -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>/dev/null
chmod 600 "$work/key.pem"
start_serve --listen 0.0.0.0:0 --token-file "$work/token" --tls-cert "$work/cert.pem" \
  --tls-key "$work/key.pem"
url=${url/0.0.0.0/127.0.0.1}
has "it speaks TLS" "$url" '^https://'
same "without a token" 401 "$(code --cacert "$work/cert.pem" "$url")"
same "with another one" 401 "$(code --cacert "$work/cert.pem" -H 'Authorization: Bearer x' "$url")"
same "with it" 200 \
  "$(code --cacert "$work/cert.pem" -H "Authorization: Bearer $token" "$url")"
has "there are metrics" "$(cat "$work/body")" '^patchbay_serve_agents'
same "without TLS" 000 "$(code "${url/https/http}" 2>/dev/null | sed 's/^400$/000/')"
finish
