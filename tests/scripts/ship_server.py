#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What patchbay ship says to a ClickHouse server, answered by a program that keeps the rows.

  ship_server.py DIR PORT_FILE

Tables are files in DIR; each INSERT is one more file, which is there whole or not at all. The file
DIR/mode says how the next requests are answered; a number behind a word is how many of them:

  ok
  error     500, and a sentence of the server's
  garbage   200, and bytes that mean nothing
  drop      the connection is closed before anything is kept
  lose      INSERTs are kept, and the connection is closed without an answer
  half      the first half of the rows of an INSERT is kept, and the connection is closed
  full      500: there is no room
  slow      the answer takes two seconds
"""
import json
import os
import re
import struct
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

directory = sys.argv[1]
lock = threading.Lock()
FIXED = {"Int8": "<b", "Int16": "<h", "Int32": "<i", "Int64": "<q", "UInt8": "<B", "UInt16": "<H",
         "UInt32": "<I", "UInt64": "<Q", "Float32": "<f", "Float64": "<d", "Date": "<H"}


class Rows:
    def __init__(self, body):
        self.body, self.at = body, 0

    def take(self, size):
        if self.at + size > len(self.body):
            raise ValueError("the rows end in the middle of a value")
        self.at += size
        return self.body[self.at - size:self.at]

    def length(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def value(self, kind):
        if kind in FIXED:
            return struct.unpack(FIXED[kind], self.take(struct.calcsize(FIXED[kind])))[0]
        if kind == "String":
            return self.take(self.length()).decode()
        if kind == "UUID":
            high, low = struct.unpack("<QQ", self.take(16))
            return str(uuid.UUID(int=high << 64 | low))
        if kind.startswith("Nullable("):
            return None if self.take(1)[0] else self.value(kind[9:-1])
        if kind.startswith("Array("):
            return [self.value(kind[6:-1]) for _ in range(self.length())]
        raise ValueError("no type " + kind)


def table_path(database, table):
    return os.path.join(directory, f"{database}.{table}".replace("/", "%"))


def load_columns(database, table):
    path = table_path(database, table) + ".columns"
    if not os.path.exists(path):
        raise KeyError(f"Code: 60, e.displayText() = DB::Exception: no table {database}.{table}.")
    with open(path) as file:
        return json.load(file)


def save(path, what):
    with open(path + ".new", "w") as file:
        json.dump(what, file)
    os.rename(path + ".new", path)


def load_rows(database, table):
    prefix = os.path.basename(table_path(database, table)) + ".rows."
    rows = []
    for name in sorted(os.listdir(directory)):
        if name.startswith(prefix) and not name.endswith(".new"):
            with open(os.path.join(directory, name)) as file:
                rows += json.load(file)
    return rows


def names_of(text):
    return [re.sub(r"\\(.)", r"\1", name) for name in re.findall(r"`((?:[^`\\]|\\.)*)`", text)]


def split_columns(text):
    """name and type of each column of a CREATE TABLE"""
    return [[re.sub(r"\\(.)", r"\1", name), kind]
            for name, kind in re.findall(r"`((?:[^`\\]|\\.)*)` ([A-Za-z0-9()]+)(?:, |$)", text)]


def run(statement, body, half):
    where = re.search(r"`((?:[^`\\]|\\.)*)`\.`((?:[^`\\]|\\.)*)`", statement)
    place = where.groups() if where else None
    if statement == "SELECT version()":
        return "18.16.1\n"
    if statement.startswith("CREATE DATABASE IF NOT EXISTS "):
        return ""
    if statement.startswith("CREATE TABLE IF NOT EXISTS "):
        path = table_path(*place) + ".columns"
        columns = split_columns(re.search(r"\((.*)\) ENGINE = ", statement).group(1))
        if not os.path.exists(path):
            save(path, columns)
        return ""
    if statement.startswith("ALTER TABLE "):
        columns = load_columns(*place)
        name, kind = split_columns(statement[statement.index(" ADD COLUMN ") + 12:])[0]
        if any(name == known for known, _ in columns):
            raise KeyError("Code: 44, e.displayText() = DB::Exception: the column is there.")
        save(table_path(*place) + ".columns", columns + [[name, kind]])
        return ""
    if statement.startswith("SELECT name, type FROM system.columns "):
        place = re.search(r"database = '(.*)' AND table = '(.*)' FORMAT", statement).groups()
        return "".join(f"{name}\t{kind}\n" for name, kind in load_columns(*place))
    if statement.startswith("SELECT count() FROM system.processes "):
        return "0\n"
    if statement.startswith("SELECT block, count() "):
        host, source = re.search(r"host = '(.*)' AND source = (\d+)", statement).groups()
        counts = {}
        for row in load_rows(*place):
            if row["host"] == host and row["source"] == int(source):
                counts[row["block"]] = counts.get(row["block"], 0) + 1
        return "".join(f"{block}\t{count}\n" for block, count in counts.items())
    if statement.startswith("INSERT INTO "):
        kinds = dict(load_columns(*place))
        names = names_of(re.search(r"\((.*)\) FORMAT RowBinary$", statement).group(1))
        reader, rows = Rows(body), []
        while reader.at < len(body):
            rows.append({name: reader.value(kinds[name]) for name in names})
        if half:
            rows = rows[:len(rows) // 2]
        save(f"{table_path(*place)}.rows.{time.time_ns()}", rows)
        return ""
    raise KeyError("Code: 62, e.displayText() = DB::Exception: Syntax error: " + statement[:80])


def next_mode():
    path = os.path.join(directory, "mode")
    try:
        with open(path) as file:
            word, *count = file.read().split()
    except (FileNotFoundError, ValueError):
        return "ok"
    if count:
        left = int(count[0]) - 1
        with open(path + ".new", "w") as file:
            file.write(f"{word} {left}" if left else "ok")
        os.rename(path + ".new", path)
    return word


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, text):
        data = text if isinstance(text, bytes) else text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        statement = parse_qs(urlsplit(self.path).query).get("query", [""])[0]
        with lock:
            with open(os.path.join(directory, "log"), "a") as log:
                log.write(f"{len(body)} {self.headers.get('X-ClickHouse-User', '')} "
                          f"{statement[:200]}\n")
            mode = next_mode()
            is_insert = statement.startswith("INSERT ")
            if mode == "error":
                return self.answer(500, "Code: 999, e.displayText() = \x1b[31mno\n")
            if mode == "full":
                return self.answer(500, "Code: 243, e.displayText() = DB::Exception: No space\n")
            if mode == "garbage":
                return self.answer(200, b"\x00\xff\t<html>\n\t\t")
            if mode == "drop":
                return self.close()
            if mode == "slow":
                time.sleep(2)
            try:
                text = run(statement, body, mode == "half" and is_insert)
            except (KeyError, ValueError) as wrong:
                return self.answer(500, str(wrong.args[0]) + "\n")
        if mode in ("lose", "half") and is_insert:
            return self.close()
        return self.answer(200, text)

    def close(self):
        self.close_connection = True
        self.connection.close()

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (OSError, ValueError):  # closed by us
            self.close_connection = True


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, *_):
        pass


if __name__ == "__main__":
    if len(sys.argv) > 3 and sys.argv[2] == "rows":  # DIR rows DATABASE TABLE : one object a line
        for one in load_rows(sys.argv[3], sys.argv[4]):
            print(json.dumps(one))
        sys.exit()
    os.makedirs(directory, exist_ok=True)
    port = 0
    if os.path.exists(sys.argv[2]):  # it starts again where it was
        with open(sys.argv[2]) as file:
            port = int(file.read())
    server = Server(("127.0.0.1", port), Handler)
    with open(sys.argv[2] + ".new", "w") as file:
        file.write(str(server.server_address[1]))
    os.rename(sys.argv[2] + ".new", sys.argv[2])
    server.serve_forever()
