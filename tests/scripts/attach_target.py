# SPDX-License-Identifier: MIT
"""A process that an agent comes to, seen from outside: what /proc says of it, and what differs.

Two pictures of a process are compared after the agent has left. What stays by design is a mapped
library, asleep, with memory of its own and files that it reads symbols from: those mappings may be
new, but nobody can write to the files. All else must be as it was.
"""
import os
import re
import time

# What may be mapped afterwards that was not before.
OURS = re.compile(r"patchbay|/libm[.-]|/libdl[.-]|/libpthread[.-]")
SHARED = "/dev/zero (deleted)"  # memory that children share
TEXT = re.compile(r"/(libc\.so\.6|libc-2\.\d+\.so|ld-linux-x86-64\.so\.2|ld-2\.\d+\.so)"
                  r"( \(deleted\))?$")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def fields(status):
    pairs = (line.split(":", 1) for line in status.decode("utf-8", "replace").splitlines())
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}


def live_task(pid):
    """A directory that has the maps also where the first thread has left."""
    for tid in os.listdir(f"/proc/{pid}/task"):
        task = f"/proc/{pid}/task/{tid}"
        try:
            if not fields(read(task + "/status"))["State"].startswith(("Z", "X")):
                return task
        except OSError:
            continue
    return f"/proc/{pid}"


class Mapping:
    def __init__(self, line):
        words = line.split(None, 5)
        self.start, self.end = (int(number, 16) for number in words[0].split("-"))
        self.access = words[1]
        self.name = words[5] if len(words) > 5 else ""

    def is_file(self):
        return self.name.startswith("/")


class Picture:
    """What is compared. `text` is left out where the process may not be read."""

    def __init__(self, pid):
        self.pid = pid
        task = live_task(pid)
        self.maps_text = read(task + "/maps").decode("utf-8", "replace")
        self.maps = [Mapping(line) for line in self.maps_text.splitlines()]
        self.status = fields(read(task + "/status"))
        self.environ = read(task + "/environ")
        self.masks, self.fds = {}, {}
        for tid in os.listdir(f"/proc/{pid}/task"):
            try:
                status = fields(read(f"/proc/{pid}/task/{tid}/status"))
                self.masks[tid] = status["SigBlk"]
            except OSError:
                pass
        for fd in os.listdir(task + "/fd"):
            try:
                self.fds[fd] = os.readlink(f"{task}/fd/{fd}")
            except OSError:
                pass
        try:
            self.program = os.readlink(task + "/exe")
        except OSError:
            self.program = None
        self.text = self.read_text(task)

    def read_text(self, task):
        text = {}
        with open(task + "/mem", "rb", buffering=0) as memory:
            for mapping in self.maps:
                if mapping.access != "r-xp" or not mapping.is_file():
                    continue
                if mapping.name != self.program and not TEXT.search(mapping.name):
                    continue
                memory.seek(mapping.start)
                text[mapping.start] = (mapping.name, memory.read(mapping.end - mapping.start))
        return text


def lasting_mask(pid, tid, wanted, seconds=5):
    """What a thread blocks, but for what it blocks while a handler of it runs: that passes."""
    end = time.monotonic() + seconds
    while True:
        try:
            mask = fields(read(f"/proc/{pid}/task/{tid}/status"))["SigBlk"]
        except OSError:
            return wanted
        if mask == wanted or time.monotonic() > end:
            return mask
        time.sleep(0.001)


# libc makes a thread, and lets it begin, with all signals blocked but SIGKILL and SIGSTOP.
BEING_MADE = f"{~(1 << 8 | 1 << 18) & 0xffffffffffffffff:016x}"


def settled_picture(pid):
    """A program that has just said that it is ready may still be making its last thread."""
    picture = Picture(pid)
    for _ in range(500):
        time.sleep(0.01)
        last, picture = picture, Picture(pid)
        if (last.masks, last.fds, last.maps_text) == (picture.masks, picture.fds,
                                                      picture.maps_text):
            if BEING_MADE not in picture.masks.values():
                break
    return picture


def covered(old, mappings):
    """Is each byte of `old` still mapped with the same access? Neighbours may have been joined."""
    at = old.start
    for mapping in mappings:
        if mapping.start <= at < mapping.end and mapping.access == old.access:
            at = mapping.end
    return at >= old.end


def maps_differ(before, after, exact_memory):
    for old in before.maps:
        if old.name in ("[heap]", "[stack]"):
            continue
        if not exact_memory and old.name != before.program and not TEXT.search(old.name):
            continue
        if not covered(old, after.maps):
            yield (f"{old.start:x}-{old.end:x} {old.access} {old.name or 'memory'} "
                   "is not mapped as before")
    known = {(old.name, old.start) for old in before.maps}
    for new in after.maps:
        if "w" in new.access and "x" in new.access and not covered(new, before.maps):
            yield f"{new.start:x} {new.access} can be written to and executed"
        if new.is_file() and (new.name, new.start) not in known and not OURS.search(new.name):
            if exact_memory and new.access not in ("r--p", "r--s") and new.name != SHARED:
                yield f"{new.name} is mapped at {new.start:x}"


def text_differs(before, after):
    for start, (name, old) in before.text.items():
        new = after.text.get(start, ("", b""))[1]
        if old == new:
            continue
        at = next((i for i, pair in enumerate(zip(old, new)) if pair[0] != pair[1]), len(new))
        yield (f"text of {os.path.basename(name)}+{at:#x}: {old[at:at + 8].hex()} "
               f"is {new[at:at + 8].hex()}")


def differences(before, after, volatile=False):
    """One sentence each. A volatile process makes threads, memory and descriptors by itself."""
    yield from text_differs(before, after)
    yield from maps_differ(before, after, not volatile)
    # libc catches signals 32 and 33 by itself, from the first pthread_create() on.
    caught = [int(picture.status["SigCgt"], 16) & ~(3 << 31) for picture in (before, after)]
    if caught[0] != caught[1]:
        yield f"SigCgt {before.status['SigCgt']} is {after.status['SigCgt']}"
    for name in ("SigIgn", "Uid", "Seccomp", "NoNewPrivs", "CapEff"):
        if before.status.get(name) != after.status.get(name):
            yield f"{name} {before.status.get(name)} is {after.status.get(name)}"
    if before.environ != after.environ:
        yield "the environment has changed"
    for tid in before.masks.keys() & after.masks.keys():
        if volatile or before.masks[tid] == after.masks[tid]:
            continue
        mask = lasting_mask(after.pid, tid, before.masks[tid])
        if mask != before.masks[tid]:
            yield f"SigBlk of thread {tid} {before.masks[tid]} is {mask}"
    if volatile:
        return
    if before.masks.keys() != after.masks.keys():
        yield f"{len(before.masks)} threads are {len(after.masks)}"
    for fd in sorted(before.fds.keys() | after.fds.keys(), key=int):
        if before.fds.get(fd) != after.fds.get(fd):
            yield f"descriptor {fd}: {before.fds.get(fd)} is {after.fds.get(fd)}"


def where_threads_stand(pid):
    """For a report of what hangs: a few threads, with the system call and where in the kernel."""
    lines = []
    try:
        for tid in sorted(os.listdir(f"/proc/{pid}/task"), key=int)[:6]:
            task = f"/proc/{pid}/task/{tid}"
            status = fields(read(task + "/status"))
            lines.append(f"{tid} {status['State'][:1]} tracer {status['TracerPid']} "
                         f"{read(task + '/comm').decode().strip()} "
                         f"in {read(task + '/syscall').decode().split()[0]} "
                         f"{read(task + '/wchan').decode()}")
    except OSError:
        lines.append("it is gone")
    return "; ".join(lines)
