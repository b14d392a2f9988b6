# SPDX-License-Identifier: MIT
"""Runs inside perf: `perf script -i FILE -s perf_rows.py`. Writes each event with its fields, as
perf and libtraceevent read them, as a JSON line into the file that PERF_ROWS names."""
import json
import os

out = open(os.environ["PERF_ROWS"], "w", encoding="utf-8")


def plain(value):
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": bytes(value).hex()}
    return value


def trace_unhandled(name, context, fields, sample):
    common = {key: value for key, value in fields.items() if key.startswith("common_")}
    stack = [frame["ip"] for frame in common.get("common_callchain", [])]
    json.dump({"event": name.split("__", 1)[1],
               "ts": common["common_s"] * 10 ** 9 + common["common_ns"],
               "cpu": common["common_cpu"], "tid": common["common_pid"],
               "comm": common["common_comm"], "stack": stack,
               "columns": {k: plain(v) for k, v in fields.items() if k not in common}}, out)
    out.write("\n")


def trace_end():
    out.close()
