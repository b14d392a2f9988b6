# SPDX-License-Identifier: MIT
"""The rules of speedscope's file format: frames exist, opens and closes are nested and in order of
time, weights fit samples.   speedscope_check.py FILE OPENS   (0: a sampled profile)"""
import json
import sys

data = json.load(open(sys.argv[1], encoding="utf-8"))
assert data["$schema"] == "https://www.speedscope.app/file-format-schema.json"
frames, opens = data["shared"]["frames"], 0
assert all(isinstance(frame["name"], str) for frame in frames)
for profile in data["profiles"]:
    assert profile["startValue"] <= profile["endValue"], profile["name"]
    if profile["type"] == "sampled":
        assert len(profile["samples"]) == len(profile["weights"]) > 0
        assert all(0 <= f < len(frames) for sample in profile["samples"] for f in sample)
        assert sum(profile["weights"]) == profile["endValue"]
        continue
    stack, at = [], profile["startValue"]
    for event in profile["events"]:
        assert at <= event["at"] <= profile["endValue"], "times go back"
        at = event["at"]
        if event["type"] == "O":
            opens += 1
            assert 0 <= event["frame"] < len(frames)
            stack.append(event["frame"])
        else:
            assert stack.pop() == event["frame"], "not nested"
    assert not stack, "a call is not closed"
assert opens == int(sys.argv[2]), f"{opens} calls"
