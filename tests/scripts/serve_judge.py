#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads what `patchbay serve` answers, by the specifications of the formats and nothing else.

    serve_judge.py sum NAME [LABEL=VALUE…] <text         the sum of the samples
    serve_judge.py count NAME [LABEL=VALUE…] <text       how many there are
    serve_judge.py back BEFORE AFTER                     series of counters that have gone back
    serve_judge.py open <text                            what is wrong with an OpenMetrics text
    serve_judge.py proto PROTO <delimited                metric families as protoc decodes them;
                                                         checks native buckets against classic ones
"""
import re
import subprocess
import sys

SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')


def labels_of(text):
    labels, at = {}, 0
    while at < len(text):
        match = LABEL.match(text, at)
        assert match, text
        assert match[1] not in labels, text
        labels[match[1]] = re.sub(r'\\(.)', lambda m: {"n": "\n"}.get(m[1], m[1]), match[2])
        at = match.end()
    return labels


def samples(text):
    seen = set()
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        match = SAMPLE.match(line)
        assert match, f"no sample: {line!r}"
        labels = labels_of(match[2] or "")
        key = (match[1], tuple(sorted(labels.items())))
        assert key not in seen, f"twice: {line}"
        seen.add(key)
        yield match[1], labels, match[3]


def chosen(text, name, wanted):
    pairs = [one.split("=", 1) for one in wanted]
    for found, labels, value in samples(text):
        if found == name and all(labels.get(key) == value2 for key, value2 in pairs):
            yield value


def types(text):
    return dict(line.split()[2:4] for line in text.splitlines() if line.startswith("# TYPE "))


def back(before, after):
    counters = {name for name, kind in types(after).items() if kind != "gauge"}
    old = {(n, tuple(sorted(l.items()))): float(v) for n, l, v in samples(before)}
    for name, labels, value in samples(after):
        family = re.sub(r"_(bucket|sum|count)$", "", name)
        if name not in counters and family not in counters:
            continue
        key = (name, tuple(sorted(labels.items())))
        if key in old and float(value) < old[key]:
            print(f"{name} {labels}: {old[key]} -> {value}")


def open_metrics(text):
    if not text.endswith("# EOF\n"):
        print("no # EOF at the end")
    family, done, kinds = None, set(), {}
    for line in text.splitlines()[:-1]:
        if line.startswith("# TYPE "):
            kinds[line.split()[2]] = line.split()[3]
        if line.startswith("# "):
            name = line.split()[2]
            if name != family:
                if name in done:
                    print("families are mixed:", name)
                done.add(name)
                family = name
            continue
        name = SAMPLE.match(line)[1]
        ends = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]}
        if not any(name == family + end for end in ends[kinds[family]]):
            print("not of its family:", family, name)
    list(samples(text))


def proto(path):
    data, framed, at = sys.stdin.buffer.read(), b"", 0
    while at < len(data):
        size, shift, start = 0, 0, at
        while True:
            byte = data[at]
            size |= (byte & 127) << shift
            shift, at = shift + 7, at + 1
            if byte < 128:
                break
        framed += b"\x0a" + data[start:at + size]
        at += size
    text = subprocess.run(["protoc", "--decode=Families", f"-I{path.rsplit('/', 1)[0]}", path],
                          input=framed, stdout=subprocess.PIPE, check=True).stdout.decode()
    assert not re.search(r"^\s*\d+:", text, re.M), "a field that the specification does not have"
    natives = 0
    for message in re.findall(r"histogram \{\n(.*?)\n    \}\n", text, re.S):
        count = int(re.search(r"^\s*sample_count: (\d+)", message, re.M)[1])
        zeros = re.search(r"^\s*zero_count: (\d+)", message, re.M)
        total, now = int(zeros[1]) if zeros else 0, 0
        deltas = [int(one) for one in re.findall(r"positive_delta: (-?\d+)", message)]
        spans = sum(int(one) for one in re.findall(r"length: (\d+)", message))
        for delta in deltas:
            now += delta
            total += now
        last = int(re.findall(r"cumulative_count: (\d+)", message)[-1])
        if total != count or last != count or spans != len(deltas):
            print(f"native {total}, classic {last}, count {count}, {spans} spans", file=sys.stderr)
            sys.exit(1)
        natives += 1
    print(text)
    print(f"# {natives} histograms")


if __name__ == "__main__":
    what, rest = sys.argv[1], sys.argv[2:]
    if what == "sum":
        values = list(chosen(sys.stdin.read(), rest[0], rest[1:]))
        print(sum(int(v) if re.fullmatch(r"-?\d+", v) else float(v) for v in values))
    elif what == "count":
        print(len(list(chosen(sys.stdin.read(), rest[0], rest[1:]))))
    elif what == "back":
        back(open(rest[0]).read(), open(rest[1]).read())
    elif what == "open":
        open_metrics(sys.stdin.read())
    else:
        proto(rest[0])
