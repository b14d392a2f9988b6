# SPDX-License-Identifier: MIT
"""Compares what an outside reader finds in an export with columns, with `patchbay report --json` of
the same recording: each event, each field, each stack.

  tables.py parquet  ROWS.jsonl REPORT.json     of read_parquet.mjs
  tables.py sqlite   FILE       REPORT.json     through the program sqlite3
  tables.py perf     ROWS.jsonl REPORT.json     of perf_rows.py, inside perf script
  tables.py ctf      DIRECTORY  REPORT.json     through babeltrace2's library
  tables.py pprof    RAW.txt    FOLDED.txt      of `go tool pprof -raw` and report --folded

Prints "N events, M values" and what differs; exits 1 when anything does.
"""
import collections
import json
import re
import struct
import subprocess
import sys

problems = []
values = 0
in_ctf = "ctf" in sys.argv[1:2]
STACKS = ("kernel_stack", "user_stack")
HEAD = ("ts", "cpu", "tid", "pid", "comm", "function", "caller")


def complain(text):
    problems.append(text)


def ns(text):
    whole, _, part = text.partition(".")
    return int(whole) * 10 ** 9 + int(part.ljust(9, "0"))


def unescaped(text):
    """report escapes comms; the bytes themselves as a format with UTF-8 has them."""
    raw = re.sub(rb"\\(x[0-9a-f]{2}|[ntr])", lambda m: {b"n": b"\n", b"t": b"\t", b"r": b"\r"}.get(
        m[1]) or bytes([int(m[1][1:], 16)]), text.encode())
    return raw.decode(errors="replace")


def report_events(path):
    """A stack belongs to the event before it on its CPU, if that is its thread's. Where another
    thread came between, or this one went to another CPU, the stack is an event of its own."""
    events, last = [], {}  # by CPU: the event, and the stacks that it has
    for line in open(path, encoding="utf-8"):
        event = json.loads(line)
        event["ts"] = ns(re.match(r'\{"ts":([0-9.]+)', line).group(1))
        event["tid"] = event.pop("pid")
        kind = event["event"]
        owner, has = last.get(event["cpu"], (None, []))
        if kind in STACKS:
            frames = event["fields"]["caller"]  # of a fixed number, filled with zeros
            frames = frames[:frames.index(0)] if 0 in frames else frames
            if owner and owner["tid"] == event["tid"] and not {kind, "user_stack"} & set(has):
                has.append(kind)
                owner.setdefault("stack", []).extend(frames)
                continue
            event = {**event, "fields": {}, "stack": frames}
        events.append(event)
        last[event["cpu"]] = event, list(STACKS) if kind in STACKS else []
    return events


def column_of(name, columns):
    """Names that columns of ours have get a prefix, and numbers where only the case differs."""
    for candidate in (name, "field_" + name):
        if candidate in columns and (candidate != name or name not in HEAD + ("stack",)):
            return candidate
    for candidate in columns:
        if re.fullmatch(rf"(field_)?{re.escape(name)}_[0-9]+", candidate):
            return candidate
    return None


def same_number(one, other):
    if isinstance(one, float) or isinstance(other, float):
        one, other = float(one), float(other)
        return one == other or struct.pack("f", one) == struct.pack("f", other)
    return (int(one) - int(other)) % 2 ** 64 == 0  # SQLite's have a sign


def same(one, other):
    """Nothing, an empty list and an empty text are the same: not every format has all of them. In
    CTF a number that a record was cut before is 0."""
    if one in (None, "", []):
        return other in (None, "", "[]", []) or one is None and in_ctf and other == 0
    if other is None:
        return False
    if isinstance(one, list):
        if isinstance(other, str):
            other = json.loads(other)
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other))
    if isinstance(one, str):
        return one == other
    if isinstance(other, str) and not re.fullmatch(r"-?[0-9.e+-]+", other):
        return False
    return same_number(one, other)


def same_in_perf(one, other):
    """perf has the bytes of arrays, numbers without their signs, and addresses without names."""
    if isinstance(one, list) and isinstance(other, dict):
        data = bytes.fromhex(other["bytes"])
        if not one or len(data) % len(one):
            return not data
        size = len(data) // len(one)
        numbers = [int.from_bytes(data[at:at + size], "little") for at in range(0, len(data), size)]
        return all(same_in_perf(a, b) for a, b in zip(one, numbers))
    if one is None:  # perf does not look for the record's end
        return True
    if isinstance(one, str) and len(one) > 65000:  # the end of such a record is cut, and said
        return isinstance(other, str) and len(other) > 65000 and one.startswith(other[:65000])
    if one in ("", []):
        is_array = isinstance(other, dict)
        return not other["bytes"].strip("0") if is_array else other in (None, "")
    if isinstance(one, str):
        if isinstance(other, dict):
            other = bytes.fromhex(other["bytes"]).split(b"\0")[0].decode(errors="replace")
        return isinstance(other, int) or one == other
    if isinstance(one, float) or other == struct.unpack("<Q", struct.pack("<d", one))[0]:
        return other in (struct.unpack("<Q", struct.pack("<d", one))[0],
                         struct.unpack("<I", struct.pack("<f", one))[0])
    return any(one % 2 ** bits == other % 2 ** 64 for bits in (8, 16, 32, 64))


def compare(expected, found, in_perf):
    """By time and CPU. Two calls may be in one nanosecond (a processor reads its time stamp ahead
    of what stands before it), and each event has a table of its own: then by name, in their order.
    """
    global values
    def order(event):
        return event["ts"], event["cpu"]
    expected.sort(key=lambda event: (*order(event), event["event"]))
    found.sort(key=lambda event: (*order(event), event["event"]))
    if len(expected) != len(found):
        complain(f"{len(found)} events, not {len(expected)}")
    for one, other in zip(expected, found):
        what = f"{one['event']} at {one['ts']}"
        if order(one) != order(other) or one["tid"] != other["tid"]:
            complain(f"{order(other)} of {other['tid']} stands where {what} should")
            return
        if not one["event"].startswith("unknown event ") and one["event"] != other["event"]:
            complain(f"{what}: it is {other['event']}")
        if other["comm"] not in (one["comm"], unescaped(one["comm"])):
            complain(f"{what}: comm {other['comm']!r}, not {one['comm']!r}")
        for name in ("function", "caller"):
            if name in one and name in other["columns"] and one[name] != other["columns"][name]:
                complain(f"{what}: {name} {other['columns'][name]!r}, not {one[name]!r}")
        for name, value in one["fields"].items():
            column = name if in_perf else column_of(name, other["columns"])
            if column not in other["columns"]:
                complain(f"{what}: no field {name} in {list(other['columns'])}")
            elif not (same_in_perf if in_perf else same)(value, other["columns"][column]):
                complain(f"{what}: {name} is {other['columns'][column]!r}, not {value!r}")
            values += 1
        if len(one.get("stack", [])) != len(other.get("stack") or []):
            complain(f"{what}: frames {other.get('stack')}, not {one.get('stack')}")
        elif other.get("has_addresses") and one.get("stack", []) != other.get("stack"):
            complain(f"{what}: another stack")
        values += len(one.get("stack", []))


def event_of(name, columns, row, stack=None):
    table = dict(zip(columns, row))
    event = {"event": name, "ts": int(table["ts"]), "cpu": int(table["cpu"]),
             "tid": int(table["tid"]), "comm": table["comm"],
             "columns": {k: v for k, v in table.items() if k != "stack"}}
    event["stack"] = stack if stack is not None else table.get("stack") or []
    return event


def of_parquet(path):
    found, counts, said = [], {}, {}
    for line in open(path, encoding="utf-8"):
        table = json.loads(line)
        name = table["file"][:-len(".parquet")]
        if name == "_events":
            said = {row[0]: (row[2], int(row[3])) for row in table["rows"]}
        if name in ("_events", "_losses", "_threads"):
            continue
        counts[table["file"]] = (name.split(".")[-1].removeprefix("_"), len(table["rows"]))
        found += [event_of(name.split(".")[-1], table["columns"], row) for row in table["rows"]]
    if counts != said:
        complain(f"_events says {said}, but there are {counts}")
    return found


def of_sqlite(path):
    def ask(sql):
        asked = subprocess.run(["sqlite3", "-json", path, sql], capture_output=True, check=True)
        return json.loads(asked.stdout or b"[]")
    stacks = collections.defaultdict(list)
    for row in ask("select id, address from stacks order by id, depth"):
        stacks[row["id"]].append(row["address"] % 2 ** 64)
    found = []
    if ask("pragma integrity_check") != [{"integrity_check": "ok"}]:
        complain("the database is damaged")
    for table in ask("select * from events"):
        name = '"' + table["table"].replace('"', '""') + '"'
        rows = ask(f"select * from {name}")
        if len(rows) != table["rows"]:
            complain(f"{len(rows)} rows in {name}, events says {table['rows']}")
        for row in rows:
            event = event_of(table["event"], row.keys(), row.values(), stacks.get(row["stack"], []))
            event["has_addresses"] = True
            found.append(event)
    return found


def of_perf(path):
    found = []
    for line in open(path, encoding="utf-8"):
        event = json.loads(line)
        event["has_addresses"] = True
        found.append(event)
    return found


def of_ctf(path):
    import bt2

    def plain(value):
        if isinstance(value, bt2._ArrayFieldConst):
            return [plain(one) for one in value]
        if isinstance(value, bt2._RealFieldConst):
            return float(value)
        if isinstance(value, bt2._StringFieldConst):  # an empty one shows what was there before
            return str(value).encode()[:len(value)].decode()
        return int(value)

    found = []
    for message in bt2.TraceCollectionMessageIterator(path):
        if not isinstance(message, bt2._EventMessageConst):
            continue
        event, fields = message.event, {}
        for name, value in event.payload_field.items():
            fields[name] = plain(value)
        common = event.common_context_field
        stack = fields.pop("stack", [])
        found.append({"event": event.name.split(":", 1)[1].split("#")[0],
                      "ts": message.default_clock_snapshot.value,
                      "cpu": int(event.packet.context_field["cpu_id"]), "tid": int(common["tid"]),
                      "comm": plain(common["comm"]), "columns": fields, "stack": stack})
    return found


def of_pprof(raw, folded):
    """Sums by stack: own time where there is time, numbers otherwise."""
    global values
    expected, found, names, kinds = collections.Counter(), collections.Counter(), {}, []
    samples, part = [], ""
    for line in open(raw, encoding="utf-8"):
        if re.match(r"(Samples|Locations|Mappings):?$|Locations", line):
            part = line.split(":")[0].strip()
        elif part == "Samples" and "/" in line and not kinds:
            kinds = [kind.split("[")[0] for kind in line.split()]
        elif part == "Samples" and re.match(r"\s*[0-9 ]+: [0-9 ]+$", line):
            numbers, stack = line.split(":")
            samples.append(([int(n) for n in numbers.split()], stack.split()))
        elif part == "Locations":
            match = re.match(
                r"\s*([0-9]+): 0x[0-9a-f]+ (?:M=[0-9]+ )?(.*) :0 s=0(?:\((.*)\))?$", line)
            if match:
                names[match[1]] = match[3] or match[2]
    which = kinds.index("time/nanoseconds") if "time/nanoseconds" in kinds else 0
    for numbers, stack in samples:
        found[";".join(names[one] for one in reversed(stack)).replace(" ", "")] += numbers[which]
    for line in open(folded, encoding="utf-8"):
        stack, number = line.rsplit(" ", 1)
        expected[stack.replace(" ", "")] += int(number)
    found = +found
    for stack in set(expected) | set(found):
        if expected[stack] != found[stack]:
            complain(f"{stack}: {found[stack]}, not {expected[stack]}")
    values = len(expected)
    return sum(expected.values())


def main():
    kind, exported, report = sys.argv[1:]
    if kind == "pprof":
        count = of_pprof(exported, report)
    else:
        expected = report_events(report)
        readers = {"parquet": of_parquet, "sqlite": of_sqlite, "perf": of_perf, "ctf": of_ctf}
        found = readers[kind](exported)
        compare(expected, found, kind == "perf")
        count = len(expected)
    for text in problems[:10]:
        print(text[:400])
    if len(problems) > 10:
        print(f"… and {len(problems) - 10} more")
    if problems or count == 0 or values == 0:
        sys.exit(1)
    print(f"{count} events, {values} values")


main()
