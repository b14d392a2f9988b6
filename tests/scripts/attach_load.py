# SPDX-License-Identifier: MIT
"""Requests to a web server on a unix socket, from two threads: attach_load.py SOCKET FILE [COUNT]

Until FILE exists, or COUNT times. Prints how many there were and how long they took. Exit status 1
if one has failed.
"""
import os
import socket
import sys
import threading
import time

path, stop = sys.argv[1], sys.argv[2]
count = int(sys.argv[3]) if len(sys.argv) > 3 else None
lock, times, failures, begun = threading.Lock(), [], [], 0


def request():
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(path)
        connection.sendall(b"GET /index.html HTTP/1.0\r\n\r\n")
        data = b""
        while part := connection.recv(65536):
            data += part
    if not (data.startswith(b"HTTP/1.1 200") and data.endswith(b"a page\n")):
        raise OSError(f"answered {data[:60]!r}")


def goes_on():
    global begun
    with lock:
        begun += 1
        return begun <= count if count else not os.path.exists(stop)


def run():
    while goes_on():
        since = time.monotonic()
        try:
            request()
        except OSError as why:
            failures.append(str(why))
        times.append(time.monotonic() - since)


threads = [threading.Thread(target=run) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
times.sort()
shares = ", ".join(f"p{share} {times[min(len(times) - 1, int(len(times) * share / 100))] * 1e3:.2f}"
                   for share in (50, 99, 99.9))
print(f"{len(times)} requests, {len(failures)} failed; ms: {shares}, most {times[-1] * 1e3:.2f}")
for why in failures[:5]:
    print(why)
sys.exit(1 if failures else 0)
