#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges what the engines of serve_engines.sh answer. Prints what is wrong.

    serve_engines_judge.py port PID                      the port on loopback that it listens on
    serve_engines_judge.py bucket HIST BUCKETS FAMILY P50 P99
                        P50 and P99 of the engine are in the buckets of those of patchbay hist
                        --json; BUCKETS is the engine's answer for the series of the histogram
    serve_engines_judge.py back TEXT SAMPLES             samples of counters that are less than the
                        one before; TEXT is what serve answers, for the types. Last: how many
    serve_engines_judge.py resets TEXT ENGINE            the sum of resets() of all counters
    serve_engines_judge.py picture PNG                   it has a graph in its lower half
"""
import json
import math
import os
import struct
import sys
import zlib


def port(pid):
    mine = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            mine.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except OSError:  # closed meanwhile
            pass
    with open(f"/proc/{pid}/net/tcp", encoding="ascii") as table:
        for line in table.readlines()[1:]:
            words = line.split()
            address, number = words[1].split(":")
            if words[3] == "0A" and address == "0100007F" and f"socket:[{words[9]}]" in mine:
                print(int(number, 16))
                return 0
    return 1


def bucket(hist, buckets, family, *values):
    with open(hist, encoding="utf-8") as file:
        entries = json.load(file)["entries"]
    assert len(entries) == 1, entries
    with open(buckets, encoding="utf-8") as file:
        result = json.load(file)["data"]["result"]
    bounds = sorted(float(one["metric"]["le"]) for one in result if "le" in one["metric"])
    for name, value in zip(("n.p50", "n.p99"), values, strict=True):
        pair = float(entries[0]["values"][name]), float(value)
        if bounds:
            at = [next(i for i, bound in enumerate(bounds) if x <= bound) for x in pair]
            most = 0
        else:  # native: schema 0 and 3. What hist says is 1.6 % off, and may be in the next one.
            per_power, most = (1, 0) if family == "n_log2" else (8, 1)
            at = [math.ceil(math.log2(x) * per_power) for x in pair]
        if abs(at[0] - at[1]) > most:
            print(f"{name}: patchbay hist says {pair[0]}, the engine {pair[1]}: buckets {at}")


def counters(text):
    """The types of the families of counters and histograms, by name."""
    with open(text, encoding="utf-8") as file:
        for line in file:
            if line.startswith("# TYPE "):
                name, kind = line.split()[2:4]
                if kind in ("counter", "histogram"):
                    yield name, kind


def back(text, samples):
    names = set()
    for name, kind in counters(text):
        names |= {name} if kind == "counter" else {name + s for s in ("_bucket", "_sum", "_count")}
    with open(samples, encoding="utf-8") as file:
        answer = json.load(file)
    nr_series = nr_samples = 0
    for one in answer["data"]["result"]:
        if one["metric"]["__name__"] not in names or "values" not in one:
            continue
        nr_series += 1
        nr_samples += len(one["values"])
        before = 0.0
        for when, number in one["values"]:
            if float(number) < before:
                print(f"{one['metric']}: {number} after {before} at {when}")
            before = float(number)
    print(f"{nr_series} series of counters have {nr_samples} samples")


def resets(text, engine):
    parts = []
    for name, kind in counters(text):
        endings = [""]
        if kind == "histogram" and engine != "native":
            endings = ["_bucket", "_sum", "_count"]
        parts += [f"sum(resets({name}{ending}[10m]))" for ending in endings]
    # What had no sample at that time counts as none, but not what never has any.
    print(" + ".join(f"({part} or vector(0))" for part in parts))


def picture(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        print("no PNG")
        return
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        elif kind == b"IDAT":
            packed += body
        at += size + 12
    assert depth == 8 and colour in (2, 6), (depth, colour)
    line = 1 + width * (3 if colour == 2 else 4)
    raw = zlib.decompress(packed)
    assert len(raw) == line * height
    # Equal lines are equal ones as filtered, too, but for the first: a blank picture has few.
    lower = {raw[i * line : (i + 1) * line] for i in range(height // 2, height)}
    if len(lower) < 50:
        print(f"{len(lower)} different lines in the lower half of {width}x{height}")


if __name__ == "__main__":
    sys.exit(globals()[sys.argv[1]](*sys.argv[2:]))
