#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Forked children of a process that an agent has come to.

  attach_forked.py BUILD WORK [REGEX...]     the stories whose name a REGEX finds; all

tests/attach/forks does what it is told. What is counted is exact: `tick` is called as often as the
program was told to. The text of a process that was detached is compared with what it was before
anybody attached to the first of its ancestors. A line for each story; exit status 1 with a FAIL.
"""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from attach_target import Picture, differences, settled_picture, where_threads_stand

BUILD, WORK = (os.path.abspath(path) for path in sys.argv[1:3])
TOOL = BUILD + "/bin/patchbay"
PATIENCE = 60
TICK = "tick(int n)"


class Failed(Exception):
    pass


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE
    while not (result := condition()):
        if time.monotonic() > end:
            raise Failed(f"{what}: not within {PATIENCE} s")
        time.sleep(0.01)
    return result


def patchbay(*words, status=0):
    done = subprocess.run([TOOL, *(str(word) for word in words)], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=PATIENCE, check=False)
    text = (done.stdout + done.stderr).decode("utf-8", "replace")
    if done.returncode != status:
        raise Failed(f"patchbay {' '.join(str(word) for word in words)}: status "
                     f"{done.returncode}: {text.strip()[-400:]}")
    return text


class Process:
    """One of the family: its fifo, and what it has answered."""

    def __init__(self, family, name):
        self.family, self.name, self.answered = family, name, 0
        os.mkfifo(family.path(name, "in"))
        self.fifo = os.open(family.path(name, "in"), os.O_RDWR)
        self.pid = 0

    def begun(self):
        self.pid = int(self.answer("ready"))
        return self

    def answer(self, word):
        def look():
            if self.family.process.poll() is not None and word != "ended":
                raise Failed(f"the first process has ended: {self.family.process.returncode}")
            try:
                with open(self.family.path(self.name, "out"), encoding="ascii") as file:
                    lines = file.read().split("\n")[self.answered:-1]
            except OSError:
                return None
            for number, line in enumerate(lines):
                if line.split(" ")[0] == word:
                    self.answered += number + 1
                    return line.split(" ", 1)[1]
            return None
        try:
            return wait_for(f"{self.name}: {word}", look)
        except Failed as why:
            raise Failed(f"{why} [{where_threads_stand(self.pid)}]") from None

    def say(self, text):
        os.write(self.fifo, text.encode() + b"\n")

    def do(self, text):
        self.say(text)
        self.answer("did")

    def fork(self, name):
        child = Process(self.family, name)
        self.say("fork " + name)
        self.answer("forked")
        self.answer("did")
        return child.begun()


class Family:
    count = 0

    def __init__(self):
        Family.count += 1
        self.folder = f"{WORK}/family{Family.count}"
        os.mkdir(self.folder)
        first = Process(self, "first")
        self.process = subprocess.Popen([BUILD + "/tests/attach/forks", self.folder],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        start_new_session=True)
        self.first = first.begun()
        self.before = settled_picture(self.first.pid)

    def path(self, name, end):
        return f"{self.folder}/{name}.{end}"

    def is_as_before(self, process):
        unlike = [text for text in differences(self.before, Picture(process.pid), True)]
        if unlike:
            raise Failed(f"{process.name}: " + "; ".join(unlike[:4]))

    def end(self):
        """The family has seen nothing, and said nothing."""
        members = sorted(os.listdir(self.folder), reverse=True)
        for name in members:
            if name.endswith(".in") and name != "first.in":
                with open(self.folder + "/" + name, "r+b", buffering=0) as fifo:
                    fifo.write(b"end\n")
        self.first.say("end")
        try:
            _, errors = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failed(f"does not end: {where_threads_stand(self.first.pid)}") from None
        if self.process.returncode != 7 or errors:
            raise Failed(f"ended with {self.process.returncode}: {errors.decode()[-300:]}")

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()


class Recording:
    """patchbay record -p; it records when this is made."""

    def __init__(self, process, event=TICK, *more):
        self.pid, self.function = process.pid, event.split("(")[0]
        self.file = f"{process.family.folder}/{process.name}.dat"
        self.tool = subprocess.Popen(
            [TOOL, "record", "-q", "-b", "4M", "-e", event, *more, "-o", self.file, "-p",
             str(self.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE)
        wait_for("a recording", self.is_on)

    def is_on(self):
        if self.tool.poll() is not None:
            raise Failed(f"record has ended: {self.tool.stderr.read().decode()[-400:]}")
        enable = f"instances/patchbay-{self.tool.pid}-1/events/functions/{self.function}/enable"
        done = subprocess.run([TOOL, "cat", str(self.pid), enable], capture_output=True,
                              timeout=PATIENCE, check=False)
        return done.stdout.startswith(b"1")

    def end(self):
        """How many events of each process there were."""
        self.tool.send_signal(signal.SIGINT)
        try:
            _, errors = self.tool.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.tool.kill()
            raise Failed(f"record does not end: {where_threads_stand(self.pid)}") from None
        if self.tool.returncode not in (0, 130):
            raise Failed(f"record: status {self.tool.returncode}: {errors.decode()[-400:]}")
        report = subprocess.run([TOOL, "report", "-i", self.file], capture_output=True, check=True)
        counts = {}
        for pid in re.findall(rf"-(\d+) +\[\d+\].*->{self.function}\(".encode(), report.stdout):
            counts[int(pid)] = counts.get(int(pid), 0) + 1
        os.unlink(self.file)
        return counts


def same(what, wanted, found):
    if wanted != found:
        raise Failed(f"{what}: {found} instead of {wanted}")


def exact(process, count=1000):
    """Records it alone, as any other process, and it is as before when that is over."""
    recording = Recording(process)
    process.do(f"work {count}")
    process.do(f"thread {count}")
    same(f"events of {process.name}", 2 * count, sum(recording.end().values()))
    process.family.is_as_before(process)


def has_thread_of_ours(process):
    for tid in os.listdir(f"/proc/{process.pid}/task"):
        with open(f"/proc/{process.pid}/task/{tid}/comm", encoding="ascii") as name:
            if name.read() == "patchbay\n":
                return True
    return False


# --- the stories

def of_attached(family):
    """The parent has the agent: before, while and after the child is recorded."""
    patchbay("attach", family.first.pid)
    family.first.do("spin")
    child = family.first.fork("child")
    exact(child)
    exact(child)
    other = family.first.fork("other")
    grandchild = other.fork("grandchild")  # `other` follows its parent still
    exact(grandchild)
    exact(other)
    exact(family.first.fork("third").fork("fourth").fork("fifth"), 100)
    patchbay("detach", family.first.pid)
    family.is_as_before(family.first)
    exact(child)
    exact(family.first)


def of_asleep(family):
    """The parent has been detached before the fork."""
    patchbay("attach", family.first.pid)
    patchbay("detach", family.first.pid)
    child = family.first.fork("child")
    exact(child)
    recording = Recording(family.first)
    family.first.do("work 500")
    child.do("work 500")  # it was forked while the agent slept: it is by itself
    same("events", {family.first.pid: 500}, recording.end())
    exact(child.fork("grandchild"))
    exact(child)
    exact(family.first)


def parent_leaves(family):
    """The parent is detached behind the fork: the child rests, and is nobody's."""
    patchbay("attach", family.first.pid)
    child = family.first.fork("child")
    child.do("spin")
    grandchild = child.fork("grandchild")
    patchbay("detach", family.first.pid)
    family.is_as_before(family.first)
    for one in (child, grandchild):
        wait_for("no thread of ours", lambda one=one: not has_thread_of_ours(one))
    recording = Recording(family.first)
    for one in (family.first, child, grandchild):
        one.do("work 300")
    same("events", {family.first.pid: 300}, recording.end())
    exact(grandchild)
    exact(child)
    exact(child.fork("late"))


def recorded_together(family):
    """A recording of the parent has its children's events, until somebody attaches to them."""
    recording = Recording(family.first)
    child, other = family.first.fork("child"), family.first.fork("other")
    for one in (family.first, child, other):
        one.do("work 700")
    exact(child)
    child.do("work 50")  # nobody's
    other.do("work 50")
    same("events", {family.first.pid: 700, child.pid: 700, other.pid: 750}, recording.end())
    other.do("work 50")
    recording = Recording(other)
    recorded = other.fork("recorded")
    recorded.do("work 300")
    other.do("work 200")
    same("events of a child and its child", {other.pid: 200, recorded.pid: 300}, recording.end())
    exact(family.first)
    exact(other)


def busy_parent(family):
    """What the parent has on, and has open, stays as it is when the child goes its own way."""
    first = family.first
    patchbay("attach", first.pid)
    patchbay("write", first.pid, "function_events", "tick(int n)")
    patchbay("write", first.pid, "events/functions/tick/trigger", "hist:keys=n")
    patchbay("write", first.pid, "events/functions/tick/enable", "1")
    recording = Recording(first, "tock(int n)")
    with subprocess.Popen([TOOL, "cat", str(first.pid), "trace_pipe"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL) as reader:
        try:
            child = first.fork("child")
            child.do("spin")
            child.do("work 10")
            exact(child)
            first.do("work 10")
            hits = sum(int(count) for count in re.findall(
                r"hitcount: +(\d+)", patchbay("cat", first.pid, "events/functions/tick/hist")))
            same("what the parent's histogram has", 20, hits)
            same("tracing_on", "1", patchbay("cat", first.pid, "tracing_on").strip())
        finally:
            reader.terminate()
    if not recording.end():
        raise Failed("the parent's recording is empty")
    exact(child)


def detached_as_child(family):
    """A child that follows its parent can be taken out of that, and is listed."""
    patchbay("attach", family.first.pid)
    child = family.first.fork("child")
    child.do("spin")

    def listed(process):
        found = re.search(rf"^ *{process.pid} +\S+ +(\S+)", patchbay("list", "processes"),
                          re.MULTILINE)
        return found.group(1) if found else None

    same("list", "attached", listed(family.first))
    same("list", "forked", listed(child))
    same("said", True, "detached from" in patchbay("detach", child.pid))
    family.is_as_before(child)
    same("list", "asleep", listed(child))
    same("said", True, "already" in patchbay("detach", child.pid))
    other = family.first.fork("other")
    patchbay("detach", family.first.pid)
    same("said", True, "detached from" in patchbay("detach", other.pid))
    family.is_as_before(other)
    exact(child)
    exact(other)


def child_killed(family):
    """It is killed at any moment of an attach; its parent goes on."""
    patchbay("attach", family.first.pid)
    for number in range(8):
        child = family.first.fork(f"child{number}")
        tool = subprocess.Popen([TOOL, "record", "-q", "-e", TICK, "-o", family.folder + "/k.dat",
                                 "-p", str(child.pid)], stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(number * 0.006)
        os.kill(child.pid, signal.SIGKILL)
        try:
            tool.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            tool.kill()
            raise Failed("record does not see that the child has ended") from None
    for name in os.listdir(family.folder):
        if name.startswith("child") and name.endswith(".in"):
            os.unlink(f"{family.folder}/{name}")
    patchbay("detach", family.first.pid)
    exact(family.first)


def main():
    stories = [of_attached, of_asleep, parent_leaves, recorded_together, busy_parent,
               detached_as_child, child_killed]
    wanted = [re.compile(word) for word in sys.argv[3:]]
    failures = 0
    for story in stories:
        if wanted and not any(word.search(story.__name__) for word in wanted):
            continue
        family = Family()
        try:
            story(family)
            family.end()
            print(f"PASS {story.__name__}", flush=True)
        except (Failed, OSError, subprocess.SubprocessError) as why:
            failures += 1
            print(f"FAIL {story.__name__}: {why}", flush=True)
        finally:
            family.kill()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
