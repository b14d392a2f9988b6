# SPDX-License-Identifier: MIT
"""Reads a perfetto trace as an importer would, and complains of what one would not understand.

  perfetto_check.py TRACE PERFETTO.proto > events.jsonl

Messages and fields are those of the .proto. What is not there, numbers that are not defined before
their use in their sequence, ends without a beginning, texts that are not UTF-8 or have control
characters, tracks that nobody describes, and events without a descriptor are errors. Nothing of
one machine is known to another one.
Prints the events: {"kind", "ts", "tid", "machine", …}, as compare.py wants them.
"""
import json
import re
import struct
import sys


def read_schema(path):
    """message -> {number: (name, type, repeated)}"""
    text = re.sub(r"//[^\n]*", "", open(path, encoding="utf-8").read())
    schema = {}
    for name, body in re.findall(r"message (\w+) \{([^}]*)\}", text):
        rows = re.findall(r"(optional|repeated) (\w+) (\w+) = (\d+);", body)
        schema[name] = {int(number): (field, kind, label == "repeated")
                        for label, kind, field, number in rows}
    return schema


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
        shift += 7
        if shift > 63:
            raise ValueError("a varint has no end")


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = data[at:at + 8], at + 8
        elif wire == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise ValueError("a field is cut")
        else:
            raise ValueError(f"wire type {wire}")
        yield tag >> 3, wire, value


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def text_of(value):
    text = value.decode("utf-8")  # an error is an error
    if any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in text):
        raise ValueError(f"a control character in {text!r}")
    return text


# Perfetto's own message of an event, as a trace would describe it.
OWN_EVENTS = {4: {"group_name": "sched", "event_descriptor": {"name": "sched_switch", "field": [
    {"name": name, "number": number, "type": kind} for number, (name, kind) in enumerate(
        [("prev_comm", 9), ("prev_pid", 3), ("prev_prio", 3), ("prev_state", 3), ("next_comm", 9),
         ("next_pid", 3), ("next_prio", 3)], 1)]}}}


def decode(schema, message, data):
    out = {}
    for number, wire, value in fields(data):
        if message == "FtraceEvent" and (number >= 65536 or number in OWN_EVENTS):
            out.setdefault("generic", []).append((number, value))
            continue
        if number not in schema[message]:
            raise ValueError(f"{message} has no field {number}")
        name, kind, repeated = schema[message][number]
        if kind in schema:
            value = decode(schema, kind, value)
        elif kind == "string":
            value = text_of(value)
        elif kind == "double":
            value = struct.unpack("<d", value)[0]
        elif kind == "fixed64":
            value = struct.unpack("<Q", value)[0]
        elif wire != 0:
            raise ValueError(f"{message}.{name} has wire type {wire}")
        elif kind in ("int32", "int64"):
            value = signed(value)
        elif kind == "bool":
            value = bool(value)
        if repeated:
            out.setdefault(name, []).append(value)
        elif name in out:
            raise ValueError(f"{message}.{name} is there twice")
        else:
            out[name] = value
    return out


class Sequence:
    KINDS = {"event_categories": "category", "event_names": "name", "function_names": "function",
             "debug_annotation_names": "annotation", "mapping_paths": "path"}

    def __init__(self):
        self.valid = False
        self.clock = None

    def clear(self):
        self.valid = True
        self.defaults = {}
        self.interned = {}

    def take(self, data):
        for field, entries in data.items():
            for entry in entries:
                key = (field, entry["iid"])
                if key in self.interned:
                    raise ValueError(f"{field} {entry['iid']} is defined twice")
                self.interned[key] = entry

    def get(self, field, iid):
        if (field, iid) not in self.interned:
            raise ValueError(f"{field} {iid} is used, but not defined")
        return self.interned[(field, iid)]

    def stack(self, iid):
        frames = []
        for frame_id in self.get("callstacks", iid)["frame_ids"]:
            frame = self.get("frames", frame_id)
            for path in self.get("mappings", frame["mapping_id"])["path_string_ids"]:
                self.get("mapping_paths", path)
            frames.append(self.get("function_names", frame["function_name_id"])["str"])
        return frames[::-1]  # the innermost first


class Checker:
    """Of one machine."""
    def __init__(self, number):
        self.number, self.name = number, None
        self.sequences, self.tracks, self.descriptors = {}, {}, dict(OWN_EVENTS)
        self.slices, self.order = [], 0
        self.events = []
        self.processes, self.threads = {}, {}
        self.lost_bundles = 0

    def packet(self, packet):
        number = packet.get("trusted_packet_sequence_id")
        if not number:
            raise ValueError("a packet without a sequence")
        sequence = self.sequences.setdefault(number, Sequence())
        flags = packet.get("sequence_flags", 0)
        if flags & 1:
            sequence.clear()
        if flags & 2 and not sequence.valid:
            raise ValueError("a packet needs a state that was never set")
        if "system_info" in packet:
            self.name = packet["system_info"]["machine_name"]
        if "trace_packet_defaults" in packet:
            sequence.defaults = packet["trace_packet_defaults"]
        if "interned_data" in packet:
            sequence.take(packet["interned_data"])
        if "clock_snapshot" in packet:
            clocks = {c["clock_id"]: c["timestamp"] for c in packet["clock_snapshot"]["clocks"]}
            if clocks[6] != clocks[3] or clocks[64] != clocks[6]:
                raise ValueError("the clocks of a snapshot differ")
            sequence.clock = clocks[64]
        if "track_descriptor" in packet:
            self.track(packet["track_descriptor"])
        for process in packet.get("process_tree", {}).get("processes", []):
            self.processes[process["pid"]] = process["cmdline"]
        for thread in packet.get("process_tree", {}).get("threads", []):
            self.threads[thread["tid"]] = thread
            if thread["tgid"] not in self.processes:
                raise ValueError("a thread before its process")
        if "ftrace_events" in packet:
            self.bundle(packet["ftrace_events"])
        if "track_event" in packet:
            self.track_event(sequence, packet)

    def track(self, track):
        if track["uuid"] in self.tracks:
            raise ValueError("a track is described twice")
        if "parent_uuid" in track and track["parent_uuid"] not in self.tracks:
            raise ValueError("a track before its parent")
        self.tracks[track["uuid"]] = track

    def thread_of(self, uuid):
        while uuid in self.tracks:
            track = self.tracks[uuid]
            if "thread" in track:
                return track["thread"]["tid"]
            uuid = track.get("parent_uuid")
        return 0

    def time_of(self, sequence, packet):
        clock = packet.get("timestamp_clock_id", sequence.defaults.get("timestamp_clock_id"))
        if clock == 6:
            return packet["timestamp"]
        if clock != 64 or sequence.clock is None:
            raise ValueError(f"a time of the clock {clock}")
        sequence.clock += packet["timestamp"]
        return sequence.clock

    def track_event(self, sequence, packet):
        event = packet["track_event"]
        default = sequence.defaults.get("track_event_defaults", {}).get("track_uuid")
        uuid = event.get("track_uuid", default)
        if uuid not in self.tracks:
            raise ValueError(f"an event on the track {uuid}, which nobody describes")
        made = {"ts": self.time_of(sequence, packet), "tid": self.thread_of(uuid), "track": uuid}
        if "name_iid" in event:
            made["name"] = sequence.get("event_names", event["name_iid"])["str"]
        if "callstack_iid" in event:
            made["stack"] = sequence.stack(event["callstack_iid"])
        for iid in event.get("category_iids", []):
            made["category"] = sequence.get("event_categories", iid)["str"]
        arguments = {}
        for one in event.get("debug_annotations", []):
            name = sequence.get("debug_annotation_names", one.pop("name_iid"))["str"]
            (arguments[name],) = one.values()
        made["args"] = arguments
        kind = event["type"]
        if kind == 4:
            if "counter" not in self.tracks[uuid]:
                raise ValueError("a value on a track that is no counter")
            made["value"] = event.get("counter_value", event.get("double_counter_value"))
        made["flows"] = event.get("flow_ids", [])
        made["kind"] = {1: "begin", 2: "end", 3: "instant", 4: "counter"}[kind]
        made["order"] = self.order = self.order + 1
        self.events.append(made)

    def bundle(self, bundle):
        self.lost_bundles += bundle.get("lost_events", False)
        for one in bundle.get("generic_event_descriptors", []):
            if one["field_id"] in self.descriptors:
                raise ValueError("an event is described twice")
            self.descriptors[one["field_id"]] = one
        last = 0
        for event in bundle.get("event", []):
            if event["timestamp"] < last:
                raise ValueError("a bundle is not in order of time")
            last = event["timestamp"]
            ((number, data),) = event["generic"]
            described = self.descriptors[number]
            by_number = {f["number"]: f for f in described["event_descriptor"].get("field", [])}
            values = {}
            for field, wire, value in fields(data):
                name, kind = by_number[field]["name"], by_number[field]["type"]
                if kind == 9:
                    value = text_of(value)
                elif kind == 1:
                    value = struct.unpack("<d", value)[0]
                elif kind == 3:
                    value = signed(value)
                elif kind != 4 or wire != 0:
                    raise ValueError(f"a field of type {kind}")
                values[name] = value
            self.events.append({"kind": "event", "ts": last, "tid": event["pid"],
                                "cpu": bundle["cpu"], "system": described["group_name"],
                                "name": described["event_descriptor"]["name"], "args": values})

    def arrows(self):
        """As an importer: the earliest event of a flow is its source, each further one a step."""
        last = {}
        for event in sorted((e for e in self.events if e.get("flows")),
                            key=lambda e: (e["ts"], e["order"])):
            for flow in event["flows"]:
                before = last.get(flow)
                last[flow] = event
                if before:
                    yield {"kind": "arrow", "from": before["name"], "to": event["name"],
                           "from_ts": before["ts"], "to_ts": event["ts"],
                           "from_args": before["args"], "to_args": event["args"]}

    def pair_slices(self):
        """As an importer: by time, then as they stand; each track is a stack."""
        open_slices = {}
        for event in sorted((e for e in self.events if e["kind"] in ("begin", "end")),
                            key=lambda e: (e["ts"], e["order"])):
            stack = open_slices.setdefault(event["track"], [])
            if event["kind"] == "begin":
                event["depth"] = len(stack)
                stack.append(event)
            elif not stack:
                raise ValueError("an end without a beginning")
            else:
                begun = stack.pop()
                self.slices.append({"kind": "slice", "ts": begun["ts"], "tid": begun["tid"],
                                    "name": begun["name"], "depth": begun["depth"],
                                    "dur": event["ts"] - begun["ts"],
                                    "track": self.tracks[begun["track"]].get("name", ""),
                                    "args": {**begun["args"], **event["args"]},
                                    "stack": begun.get("stack")})
        return sum(len(stack) for stack in open_slices.values())


def main():
    schema = read_schema(sys.argv[2])
    machines = {0: Checker(0)}
    data = open(sys.argv[1], "rb").read()
    for number, _, packet in fields(data):
        if number != 1:
            raise ValueError("something that is no packet")
        packet = decode(schema, "TracePacket", packet)
        machine = packet.get("machine_id", 0)
        machines.setdefault(machine, Checker(machine)).packet(packet)
    left_open = lost_bundles = 0
    for checker in machines.values():
        left_open += checker.pair_slices()
        lost_bundles += checker.lost_bundles
        for event in [*checker.events, *checker.slices, *checker.arrows()]:
            if event["kind"] not in ("begin", "end"):
                print(json.dumps({**event, "machine": checker.number}))
    first = machines[0]
    described = [{"name": c.name, "processes": c.processes,
                  "tracks": sorted(t["process"]["process_name"] for t in c.tracks.values()
                                   if "process" in t)} for c in machines.values()]
    print(json.dumps({"kind": "end", "open": left_open, "lost_bundles": lost_bundles,
                      "threads": {t["tid"]: t["name"] for t in first.threads.values()},
                      "processes": first.processes, "machines": described}))


main()
