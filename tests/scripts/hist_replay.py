# SPDX-License-Identifier: MIT
"""Hits that make a table of a histogram again, for tests/programs/histogram_events.cc.

  hist_replay.py EVENT 'NAME…' <TABLE

TABLE has lines as a hist file has them; NAME… are the fields of it, or numbers and words, that
EVENT takes, in order. What a table sums up is divided over its hits so that the sum is right.
"""
import re
import sys

event, template = sys.argv[1], sys.argv[2].split()
for line in sys.stdin:
    line = line.strip()
    if not line.startswith("{"):
        continue
    keys, values = line[1:].split("}", 1)
    fields, sums = {}, {}
    for part in re.split(r",(?= \w+:)", keys):
        name, value = (text.strip() for text in part.split(":", 1))
        if found := re.fullmatch(r"(.*?) *\[ *(\d+)\]", value):  # .execname and .syscall
            if name == "common_pid":
                print("task", found[2], found[1], sep="\t")
            value = found[2]
        elif found := re.fullmatch(r"\[[0-9a-f]+\] (\w+)(\+0x[0-9a-f]+)?.*", value):
            value = "&" + found[1] + (found[2] or "+1")
        elif found := re.fullmatch(r"~ 2\^(\d+)", value):
            value = str(2 ** int(found[1]))
        elif found := re.fullmatch(r"~ (\d+)-\d+", value):
            value = found[1]
        elif re.fullmatch(r"[0-9a-f]{12,}", value):
            value = "0x" + value if re.search("[a-f]", value) else value
        fields[name] = value
    for name, value in re.findall(r"(\w+): +(\d+)", values):
        sums[name] = int(value)
    hits = sums.pop("hitcount")

    def one(count, last):
        row = []
        for name in template:
            if name in fields:
                row.append(fields[name])
            elif name in sums:
                share = sums[name] // hits
                row.append(str(sums[name] - share * (hits - 1) if last else share))
            else:
                row.append(name)
        print(event, count, *row, sep="\t")

    if hits > 1:
        one(hits - 1, False)
    one(1, True)
