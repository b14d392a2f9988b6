#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether --json says what the text form says; prints what differs.

    json_judge.py graph|replay|report|hist TEXT JSON    json_judge.py latency JSON HITS
    json_judge.py top OWN JSON      OWN: "NAME CALLS" as graph_calls has counted
"""
import json
import re
import sys

UNITS = {"us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}
TIME = r" *([0-9.]+) (us|ms|s|m|h) *"


def lines_of(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read().split("\n")[:-1]


def rows_of(path):
    return [json.loads(line) for line in lines_of(path)]


def expect(what, expected, found):
    if expected != found:
        print(f"{what}: {found!r}, and the text has {expected!r}")


def expect_time(what, figure, found):
    """A time of the text has three decimals."""
    number, unit = figure[0], figure[1].strip()
    if abs(float(number) * UNITS[unit] - found) > UNITS[unit] * 0.00051:
        print(f"{what}: {found} ns, and the text has {number} {unit}")


def graph(text_path, json_path):
    rows = iter(rows_of(json_path))
    ids = {None}
    count = 0
    for line in lines_of(text_path):
        if line.startswith("#"):
            thread = re.match("# thread: (.*)", line)
            ids = {None}
            continue
        row = next(rows)
        count += 1
        way = re.match(TIME + r" *(\d+) calls?  +(.*)", line)
        if way and row["kind"] == "way":
            expect("way", way.group(4).split(" > "), row["functions"])
            expect("calls", int(way.group(3)), row["calls"])
            continue
        match = re.match(TIME + TIME + r"(\d+)  " + TIME + TIME + r"([0-9.]+) (us|ms|s |m |h )  "
                         r"((?:\|  |   )*(?:\+- )?)(.*)", line)
        if not match:
            print("no line of a tree:", line)
            continue
        figures = match.groups()
        expect("function", figures[12], row["function"])
        expect("calls", int(figures[4]), row["calls"])
        for name, at in (("total_ns", 0), ("self_ns", 2), ("average_ns", 5), ("min_ns", 7),
                         ("max_ns", 9)):
            expect_time(name, figures[at:at + 2], row[name])
        if row["kind"] == "function":
            continue
        expect("depth", len(figures[11]) // 3, row["depth"])
        if row["parent"] not in ids:
            print("a parent comes behind its child:", row)
        ids.add(row["id"])
        if thread:
            expect("thread", thread.group(1), row["thread"])
    expect("lines", count, len(rows_of(json_path)))
    if not count:
        print("there is nothing to compare")


def replay(text_path, json_path):
    rows = rows_of(json_path)
    lines = [line for line in lines_of(text_path) if not line.startswith("#")]
    expect("lines", len(lines), len(rows))
    for line, row in zip(lines, rows):
        match = re.match(r"(.{10}) \[ *(\d+)\] \| ( *)(.*)", line)
        if not match:
            expect("kind", "remark", row["kind"])
            continue
        time, tid, blanks, shown = match.groups()
        expect("tid", int(tid), row["tid"])
        expect("depth", len(blanks) // 2, row["depth"])
        if time.strip():
            expect_time("duration", re.match(TIME, time).groups(), row["duration_ns"])
        expected = {"begin": lambda: row["call"] + " {", "call": lambda: row["call"] + ";",
                    "end": lambda: "} /* " + row["function"],
                    "event": lambda: "/* " + row["text"] + " */"}[row["kind"]]()
        expect("text", expected, shown[:len(expected)])
        if row.get("remark") and row["remark"] not in shown:
            print("a remark that the text has not:", row)
    if not rows:
        print("there is nothing to compare")


def report(text_path, json_path):
    """The calls of function_graph: as many arguments as the text shows."""
    text = "\n".join(lines_of(text_path))
    shown = [len(call.split(", ")) if call else 0 for call in
             re.findall(r"funcgraph_entry: .*\|  +\w+\((.*?)\)[;{ ]", text)]
    rows = [row for row in rows_of(json_path) if row["event"] == "funcgraph_entry"]
    expect("calls", len(shown), len(rows))
    for number, row in zip(shown, rows):
        if not isinstance(row["fields"]["args"], list) or len(row["fields"]["args"]) < number:
            print("arguments are missing:", row)
    if not rows:
        print("there is nothing to compare")


def hist(text_path, json_path):
    table = json.load(open(json_path, encoding="utf-8"))
    text = "\n".join(lines_of(text_path))
    expect("definition", re.search(r"trigger info: (.*) \[", text).group(1), table["definition"])
    for name, label in (("hits", "Hits"), ("nr_entries", "Entries"), ("dropped", "Dropped")):
        expect(name, int(re.search(label + r": (\d+)", text).group(1)), table[name])
    entries = re.findall(r"^\{ (.*) \} (.*)$", text, re.M)
    expect("entries", len(entries), len(table["entries"]))
    is_hex = ".hex" in table["definition"]
    rows = []
    for entry in table["entries"]:
        shown = []
        for name, value in entry["keys"].items():
            if isinstance(value, dict) and ".log2" in table["definition"]:
                value = "~ 2^" + str(value["to"].bit_length() - 1)
            elif isinstance(value, dict):
                value = f"~ {value['from']}-{value['to']}"
            shown.append(f"{name}: {value}")
        keys = ", ".join(shown)
        shown = [f"{name}: {value:.2f}" if "%" in name else
                 f"{name}: {value:x}" if is_hex and name != "hitcount" else f"{name}: {value}"
                 for name, value in entry["values"].items()]
        rows.append((keys, " ".join(shown)))
    texts = [(re.sub(" +", " ", keys).replace(" ,", ",").strip(), re.sub(" +", " ", values).strip())
             for keys, values in entries]
    if ":sort=hitcount:" in table["definition"]:
        # Both are of runs of their own: what is hit as often stands as it came first.
        hits = [entry["values"]["hitcount"] for entry in table["entries"]]
        expect("order", sorted(hits), hits)
        hits_of = lambda row: (int(re.search(r"hitcount: (\d+)", row[1]).group(1)), row)
        rows.sort(key=hits_of)
        texts.sort(key=hits_of)
    for (keys, values), (found_keys, found_values) in zip(texts, rows):
        expect("keys", keys, found_keys)
        expect("values", values, found_values)
    if not entries:
        print("there is nothing to compare")


def latency(json_path, hits):
    result = json.load(open(json_path, encoding="utf-8"))
    expect("hits", int(hits), sum(one["hits"] for one in result["distributions"]))
    for one in result["distributions"]:
        expect("bars", one["hits"], sum(bar["hits"] for bar in one["bars"]))
        if not 0 < one["p50_ns"] <= one["p99.9_ns"] <= one["max_ns"] or "by" not in one:
            print("quantiles:", one)
        last = one["bars"][-1]
        if not last["from_ns"] * 0.98 <= one["max_ns"] <= last["to_ns"] * 1.02:
            print("the longest is not in the last bar:", one)


def top(own_path, json_path):
    table = rows_of(json_path)[-1]
    own = {"calls_" + name: int(calls) for name, calls in (line.split() for line in
                                                           lines_of(own_path))}
    found = {row["function"]: row["calls"] for row in table["functions"]}
    # The profiler counts returns: what exit() or an exception has ended, or longjmp(), has none.
    for name in ("calls_leaf", "calls_middle", "calls_recurse", "calls_thread", "calls_catch"):
        calls = own[name]
        if calls:
            expect(name, calls, found.get(name))
    expect("calls", sum(found.values()), table["calls"])
    if table["functions"][0]["time_ns"] < table["functions"][-1]["time_ns"]:
        print("not by time")


{"graph": graph, "replay": replay, "report": report, "hist": hist, "latency": latency,
 "top": top}[sys.argv[1]](*sys.argv[2:])
