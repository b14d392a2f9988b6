# SPDX-License-Identifier: MIT
"""Runs a command while another process holds many connections that do not get on.

  beside_connections.py PORT NUMBER COMMAND...    as root the holder is another user

Half of them say nothing, half stay in the middle of a request's head. Ends with the command's
status.
"""

import os
import signal
import socket
import subprocess
import sys

port, number, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
ready, told = os.pipe()
holder = os.fork()
if holder == 0:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    held = []
    for i in range(number):
        held.append(socket.socket())
        held[-1].settimeout(20)
        held[-1].connect(("127.0.0.1", port))
        try:
            if i % 2:
                held[-1].sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        except OSError:
            pass  # it was dropped for a later one
    os.write(told, b"x")
    signal.pause()
os.close(told)
assert os.read(ready, 1) == b"x", "the connections are not made"
status = subprocess.call(command, stdin=subprocess.DEVNULL)
os.kill(holder, 9)
os.waitpid(holder, 0)
sys.exit(status)
