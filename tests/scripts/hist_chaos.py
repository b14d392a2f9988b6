# SPDX-License-Identifier: MIT
"""Writes commands of histograms, triggers and synthetic events into a mounted tree for a while.

  hist_chaos.py TREE SECONDS SEED

Most commands are right ones that refer to each other, some are damaged. Prints how many were taken
and refused; removes at the end what it can.
"""
import os
import random
import sys
import time

tree, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)
pick = rng.choice
events = {
    "app/hit": ["n", "word"], "app/other": ["n"], "functions/called": ["n"],
    "synthetic/sy": ["aa", "ss"], "synthetic/s2": ["aa"], "ftrace/print": ["buf"],
}
generic = ["common_pid", "common_cpu", "common_timestamp", "common_stacktrace", "hitcount"]
modifiers = ["", "", "", ".hex", ".log2", ".buckets=10", ".usecs", ".percent", ".graph",
             ".quantiles", ".counters", ".execname", ".sym", ".stacktrace"]


def name():
    return "v%d" % rng.randrange(5)


def atom(fields):
    return pick([pick(fields), pick(fields), pick(generic), "$" + name(), str(rng.randrange(4)),
                 pick(list(events)).replace("/", ".") + ".$" + name()])


def fields_of(fields, most):
    return ",".join(pick(fields + generic) + pick(modifiers) for _ in range(rng.randint(1, most)))


def action(fields):
    handler = pick(["onmatch(%s)" % pick(list(events)).replace("/", "."), "onmax($%s)" % name(),
                    "onchange($%s)" % name()])
    return handler + pick([".snapshot()", ".save(%s)" % pick(fields),
                           ".sy(%s,%s)" % (atom(fields), atom(fields)),
                           ".trace(s2,%s)" % atom(fields)])


def part(fields):
    return pick([lambda: "vals=" + fields_of(fields, 2), lambda: "sort=" + pick(fields),
                 lambda: "size=%d" % pick([128, 256, 4096]), lambda: "name=shared",
                 lambda: action(fields), lambda: action(fields),
                 lambda: pick(["pause", "cont", "clear", "nohitcount"]),
                 lambda: name() + "=" + atom(fields),
                 lambda: name() + "=" + atom(fields) + pick("+-*/") + atom(fields)])()


def hist(event):
    fields = events[event]
    text = "hist:keys=" + fields_of(fields, 2)
    for _ in range(rng.randrange(4)):
        text += ":" + part(fields)
    return text + pick(["", "", " if common_pid > 1", " if %s == 3" % pick(fields)])


def command(event):
    text = hist(event)
    if rng.random() < 0.15:
        text = pick(["traceoff:3", "stacktrace:9", "snapshot:1", "enable_hist:app:hit",
                     "disable_hist:app:other:5", "enable_event:synthetic:sy"])
    if rng.random() < 0.1:
        text = "!" + text
    if rng.random() < 0.1:
        at = rng.randrange(len(text))
        text = text[:at] + pick([":", ",", "$", "", "(", "\xff"]) + text[at + 1:]
    return text


counts = {"taken": 0, "refused": 0}


def write(path, text, flags=0):
    try:
        file = os.open(os.path.join(tree, path), os.O_WRONLY | flags)
        try:
            os.write(file, text.encode("latin-1") + b"\n")
        finally:
            os.close(file)
        counts["taken"] += 1
    except OSError:
        counts["refused"] += 1


def read(path):
    try:
        with open(os.path.join(tree, path), "rb") as file:
            return file.read().decode("latin-1")
    except OSError:
        return ""


def remove_listed(event):
    for line in read("events/%s/trigger" % event).splitlines():
        if not line.startswith("#"):
            for state in " [active]", " [paused]":
                line = line.removesuffix(state)
            write("events/%s/trigger" % event, "!" + line)


def step():
    event = pick(list(events))
    kind = rng.random()
    if kind < 0.70:
        write("events/%s/trigger" % event, command(event), os.O_TRUNC if rng.random() < 0.08 else 0)
    elif kind < 0.78:
        read("events/%s/%s" % (event, pick(["hist", "trigger", "hist_debug"])))
    elif kind < 0.84:
        write("synthetic_events", pick(["sy u64 aa; char ss[]", "s2 u64 aa", "!sy", "!s2"]))
    elif kind < 0.90:
        write("trace_marker", pick(["text", "3", ""]))
    elif kind < 0.95:
        remove_listed(event)
    else:
        write("events/%s/enable" % event, pick("01"))


end = time.monotonic() + seconds
while time.monotonic() < end:
    step()
for _ in range(8):
    write("tracing_on", "1")
    for event in events:
        remove_listed(event)
        write("events/%s/trigger" % event, "", os.O_TRUNC)  # some are not listed as they are
        write("events/%s/enable" % event, "0")
write("synthetic_events", "", os.O_TRUNC)
print(counts["taken"], counts["refused"])
