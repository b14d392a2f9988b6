# SPDX-License-Identifier: MIT
"""Compares an export with `patchbay report --json` of the same recording, event by event and field
by field. Prints what is missing, and how much was compared.

  compare.py FORMAT EXPORTED REPORT.json [PREFIX...]

For perfetto EXPORTED is what perfetto_check.py printed.
"""
import csv
import json
import re
import sys

problems = []
# What is the place of a probe or function event, which report has by name in front of the fields.
PLACES = {"__parent_ip", "__ip", "__probe_ip", "__probe_func", "__probe_ret_ip"}
arguments = 0  # of calls, compared


def complain(text):
    problems.append(text)


def ns(text):
    whole, _, part = str(text).partition(".")
    return int(whole) * 10 ** 9 + int(part.ljust(9, "0")[:9])


def clean(value):
    """Texts as every format has them: control characters and bytes that are not UTF-8 differ."""
    if isinstance(value, str):
        return re.sub(r"\\x[0-9a-f]{2}|\\[ntr]|[\x00-\x1f\x7f-\x9f\ufffd]", "?", value)
    if isinstance(value, list):
        return [clean(one) for one in value]
    return value


def plain(value):
    """A value as the one text of formats that have texts only."""
    if isinstance(value, list):
        return json.dumps(value, separators=(",", ":"))
    if isinstance(value, (int, float)):
        return str(value)
    return "" if value is None else value


def report_events(path):
    """Without stacks, which belong to the event before them."""
    events, stacks = [], 0
    for line in open(path, encoding="utf-8"):
        number = re.match(r'\{"ts":([0-9.]+)', line).group(1)
        event = json.loads(line)
        if event["event"] in ("kernel_stack", "user_stack"):
            stacks += 1
            continue
        event["ts"] = ns(number)
        event["fields"] = {k: clean(v) for k, v in event["fields"].items() if k not in PLACES}
        events.append(event)
    return events, stacks


def same_fields(what, expected, found, as_text=False):
    for name, value in expected.items():
        if name not in found:
            complain(f"{what}: no field {name}")
            continue
        other = clean(found[name])
        if as_text or isinstance(value, list) and isinstance(other, str):
            value, other = plain(value), plain(other)
        if isinstance(value, float) and isinstance(other, (int, float)):
            if abs(value - other) > 1e-6 * max(1, abs(value)):
                complain(f"{what}: {name} is {other}, not {value}")
        elif value == "" and other == "(fault)":
            pass  # a text that could not be read
        elif value != other and not (value is None):
            complain(f"{what}: {name} is {other!r}, not {value!r}")
    extra = set(found) - set(expected) - PLACES
    if extra and expected:
        complain(f"{what}: fields {sorted(extra)} too much")


def key(event):
    return (event["ts"], event["pid"], event["event"])


def compare_lists(expected, found, as_text=False):
    """By time, thread and name; those that agree in all keep their order."""
    expected = sorted(expected, key=key)
    found = sorted(found, key=key)
    if len(expected) != len(found):
        complain(f"{len(found)} events, not {len(expected)}")
    for one, other in zip(expected, found):
        if key(one) != key(other):
            complain(f"{key(other)} stands where {key(one)} should")
            return
        what = f"{one['event']} at {one['ts']}"
        if "cpu" in other and one["cpu"] != other["cpu"]:
            complain(f"{what}: CPU {other['cpu']}, not {one['cpu']}")
        if "comm" in other and clean(one["comm"]) != clean(other["comm"]):
            complain(f"{what}: comm {other['comm']!r}, not {one['comm']!r}")
        if other["fields"] is not None and "text" not in other["fields"]:
            same_fields(what, one["fields"], other["fields"], as_text)


GRAPH = ("funcgraph_entry", "funcgraph_exit", "funcgraph_retaddr_entry")


def calls_of(events):
    entries = sum(e["event"] in GRAPH and e["event"] != "funcgraph_exit" for e in events)
    return entries, sum(e["event"] == "funcgraph_exit" for e in events)


def is_word(value, word):
    """A number, or its text in hexadecimal, is the recorded word, as far as its type goes."""
    if isinstance(value, str):
        if not re.fullmatch(r"0x[0-9a-f]+", value):
            return True
        value = int(value, 16)
    return any((value - word) % 2 ** bits == 0 for bits in (8, 16, 32, 64))


def compare_arguments(expected, found):
    """Of calls that viewers get as slices, by name: each is the recorded word of its place.
    `found`: (time, thread, values)."""
    global arguments
    recorded = {}
    for event in expected:
        if event["event"] in GRAPH and event["event"] != "funcgraph_exit":
            recorded.setdefault((event["ts"], event["pid"]), []).append(event["fields"].get("args"))
    for ts, tid, values in found:
        words = recorded.get((ts, tid))
        if not values or not words:
            if values:
                complain(f"arguments of a call at {ts} that nobody recorded")
            continue
        if not any(one and len(values) <= len(one) and all(map(is_word, values, one))
                   for one in words):
            complain(f"arguments of the call at {ts} are {values}, not {words}")
        arguments += len(values)
    if any(one for words in recorded.values() for one in words) and not arguments:
        complain("no call has its arguments")


def of_jsonl(path, expected):
    found, lost = [], 0
    for line in open(path, encoding="utf-8"):
        if "<" in line:
            complain("a < that is not escaped")
        number = re.match(r'\{"ts":([0-9.]+)', line).group(1)
        event = json.loads(line)
        if "lost" in event or "event" not in event:
            lost += "lost" in event
            continue
        if event["event"] in ("kernel_stack", "user_stack"):
            continue
        found.append({**event, "ts": ns(number), "pid": event["tid"]})
    compare_lists(expected, found)
    return found


def of_csv(path, expected):
    found = []
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, strict=True)
        single = "fields" not in rows.fieldnames
        fixed = rows.fieldnames[:10] + ["stack"]
        for row in rows:
            if None in row or None in row.values():
                complain(f"a row of another length: {row}")
            if row["event"] in ("lost", "kernel_stack", "user_stack", "call without exit"):
                continue
            if single:
                values = {k: v for k, v in row.items() if k not in fixed}
            else:
                values = json.loads(row["fields"])
            found.append({"ts": ns(row["ts"]), "pid": int(row["tid"]), "cpu": int(row["cpu"]),
                          "event": row["event"], "comm": row["comm"], "fields": values})
    compare_lists(expected, found, as_text=single)
    return found


def of_chrome(path, expected):
    text = open(path, encoding="utf-8").read()
    if "<" in text:
        complain("a < that is not escaped")
    numbers = re.findall(r'"ts":([0-9.]+)', text)
    found, begun, depth, last = [], [], {}, {}
    counts = {}
    events = json.loads(text)["traceEvents"]
    for number, event in zip(numbers, events):
        phase = event["ph"]
        counts[phase] = counts.get(phase, 0) + 1
        micros, _, nanos = number.partition(".")
        when = int(micros) * 1000 + int(nanos)
        track = (event["pid"], event["tid"])
        if phase == "B":
            begun.append((when, event["tid"], list(event.get("args", {}).values())))
        if phase in "BE":
            depth[track] = depth.get(track, 0) + (1 if phase == "B" else -1)
            if depth[track] < 0:
                complain(f"an end without a beginning on {track}")
            if when < last.get(track, 0):
                complain(f"times go back on {track}")
            last[track] = when
        if phase == "i" and event["name"] != "lost events" and \
                event["name"] not in ("kernel_stack", "user_stack"):
            found.append({"ts": when, "pid": event["tid"], "event": event["name"],
                          "fields": event["args"]})
    entries, exits = calls_of(expected)
    if counts.get("B", 0) != entries:
        complain(f"{counts.get('B', 0)} beginnings, not {entries}")
    if counts.get("E", 0) + counts.get("X", 0) < exits:
        complain(f"{counts.get('E', 0)} ends, not {exits}")
    compare_arguments(expected, begun)
    single = [e for e in expected if e["event"] not in GRAPH and e["pid"] != 0]
    compare_lists(single, [f for f in found if f["pid"] > 8])
    return events


def of_perfetto(path, expected):
    found, begun, slices, graph_slices, end = [], [], 0, 0, None
    for line in open(path, encoding="utf-8"):
        event = json.loads(line)
        if event["kind"] == "event":
            found.append({"ts": event["ts"], "pid": event["tid"], "cpu": event["cpu"],
                          "event": event["name"], "fields": event["args"]})
        elif event["kind"] == "slice":
            slices += 1
            if event["track"] == "returns":
                continue
            graph_slices += 1
            event["args"].pop("retval", None)
            event["args"].pop("no_return", None)
            begun.append((event["ts"], event["tid"], list(event["args"].values())))
        elif event["kind"] == "end":
            end = event
    entries, exits = calls_of(expected)
    if graph_slices + end["open"] < entries:
        complain(f"{graph_slices} calls and {end['open']} open ones, not {entries}")
    compare_arguments(expected, begun)
    compare_lists([e for e in expected if e["event"] not in GRAPH], found)
    return found + [None] * slices


def main():
    form, exported, report = sys.argv[1:4]
    expected, stacks = report_events(report)
    if len(sys.argv) > 4:
        expected = [e for e in expected if e["event"] in sys.argv[4:]]
    found = {"jsonl": of_jsonl, "csv": of_csv, "chrome": of_chrome,
             "perfetto": of_perfetto}[form](exported, expected)
    for problem in problems[:5]:
        print(problem)
    compared = f"{len(expected)} events, {stacks} stacks, {arguments} arguments compared"
    print(f"{len(problems)} problems" if problems else compared)
    sys.exit(1 if problems or not found and expected else 0)


main()
