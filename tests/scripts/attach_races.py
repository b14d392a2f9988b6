#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Commands that meet at one process, and what may be left of them: nothing.

  attach_races.py BUILD WORK [REGEX...]     the races whose name a REGEX finds; all

The runtime directory, PATCHBAY_DIR, is empty before each race and has to be empty behind it, or to
have only what the race says. ATTACH_ROUNDS: of each race (3). ATTACH_SEED: of the random delays.
"""
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

BUILD, WORK = (os.path.abspath(path) for path in sys.argv[1:3])
TOOL, AGENT = BUILD + "/bin/patchbay", BUILD + "/lib/libpatchbay.so"
RUN = os.environ["PATCHBAY_DIR"]
ROUNDS = int(os.environ.get("ATTACH_ROUNDS", "3"))
SEED = int(os.environ.get("ATTACH_SEED", str(random.randrange(10 ** 6))))
SECONDS = 60

# Calls getppid() all the time. The first letter on stdin: e(nds), x (executes another program).
PROGRAM = """
import os, select, sys
sys.stdout.write("ready\\n")
sys.stdout.flush()
while not select.select([0], [], [], 0.01)[0]:
    os.getppid()
if os.read(0, 1) == b"x":
    os.execv("/bin/sleep", ["sleep", "1000"])
"""


class Failed(Exception):
    pass


def wait_for(what, condition, seconds=SECONDS):
    end = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > end:
            raise Failed(f"{what}: not within {seconds} s")
        time.sleep(0.002)
    return result


class Process:
    """Ends with the block, however that is left."""

    def __init__(self, argv, environment=None, **pipes):
        self.process = subprocess.Popen(argv, env={**os.environ, **(environment or {})}, **pipes)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.send_signal(signal.SIGCONT)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()

    def end(self):
        try:
            _, errors = self.process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.process.args[1]} does not end") from None
        return self.process.returncode, (errors or b"").decode("utf-8", "replace").strip()


class Target(Process):
    def __init__(self):
        super().__init__([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
        self.process.stdout.readline()

    def say(self, letter):
        self.process.stdin.write(letter)
        self.process.stdin.flush()


def start(*words):
    return Process([TOOL, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE)


def recorder(pid, name="trace"):
    return start("record", "-q", "-p", str(pid), "-e", "getppid()", "-o", f"{WORK}/{name}.dat")


def tool(*words):
    with start(*words) as command:
        return command.end()


def expect(command, wanted):
    status, errors = command.end()
    if status != wanted:
        raise Failed(f"{command.process.args[1]}: status {status}, {errors!r}")


def agent_of(pid):
    out = subprocess.run([TOOL, "list", "processes", "--json"], capture_output=True, check=True)
    rows = [row["agent"] for row in json.loads(out.stdout) if row["pid"] == pid]
    return rows[0] if rows else "none"


def is_patched(pid):
    out = subprocess.run([TOOL, "cat", str(pid), "enabled_functions"], capture_output=True,
                         check=False)
    return b"getppid" in out.stdout


def records(pid):
    wait_for("the recorder has not begun", lambda: is_patched(pid))


def has_buffer(one):
    """The recorder has got all it needs of the process, which is a little after is_patched()."""
    for fd in os.listdir(f"/proc/{one.pid}/fd"):
        try:
            if "/instances/" in os.readlink(f"/proc/{one.pid}/fd/{fd}"):
                return True
        except FileNotFoundError:  # closed meanwhile
            pass
    return False


def left():
    return sorted(os.listdir(RUN))


def expect_left(*names):
    if left() != sorted(names):
        inside = {name: os.listdir(f"{RUN}/{name}") for name in left() if name.isdigit()}
        raise Failed(f"left are {left()}, and should be {sorted(names)}: {inside}")


def pause(longest):
    time.sleep(random.uniform(0, longest))


# --- a thread executes another program while the tool stops the others

def executes_under_attach():
    """Neither the tool nor the program hangs, and the program does all that it was told."""
    came = 0
    program = f"{BUILD}/tests/attach/shapes"
    with Process([program, "executing", str(25 * ROUNDS)], stdout=subprocess.DEVNULL) as target:
        while target.process.poll() is None:
            came += tool("attach", str(target.pid))[0] == 0
        expect(target, 0)
    subprocess.run([TOOL, "clean"], check=False, capture_output=True)
    return f"attached {came} times"


# --- one ends while the other comes

def end_and_attach():
    """What a user has put in by hand stays, also when a recorder ends at that moment."""
    with Target() as target:
        for _ in range(ROUNDS):
            with recorder(target.pid) as first:
                records(target.pid)
                first.process.send_signal(signal.SIGINT)
                pause(0.03)
                status, errors = tool("attach", str(target.pid))
                if status != 0:
                    raise Failed(f"attach: {errors}")
                expect(first, 0)
            if agent_of(target.pid) != "attached":
                raise Failed("the recorder has taken out what was to stay")
            expect_left(str(target.pid))
            status, errors = tool("detach", str(target.pid))
            if status != 0:
                raise Failed(f"detach: {errors}")
            expect_left()


def end_and_record():
    """The second recorder keeps the agent; the last one leaves nothing."""
    with Target() as target:
        for _ in range(ROUNDS):
            with recorder(target.pid) as first:
                records(target.pid)
                first.process.send_signal(signal.SIGINT)
                pause(0.05)
                with recorder(target.pid, "second") as second:
                    expect(first, 0)
                    records(target.pid)
                    second.process.send_signal(signal.SIGINT)
                    expect(second, 0)
            expect_left()
            if agent_of(target.pid) != "asleep":
                raise Failed(f"the agent is {agent_of(target.pid)}")


def two_and_two():
    """Two at once, which end at about the same time."""
    with Target() as target:
        for _ in range(ROUNDS):
            with recorder(target.pid) as first, recorder(target.pid, "second") as second:
                records(target.pid)
                for one in random.sample([first, second], 2):
                    pause(0.04)
                    one.process.send_signal(signal.SIGINT)
                for one in (first, second):
                    status, errors = one.end()
                    if status not in (0, 1) or (status == 1 and "interrupted" not in errors):
                        raise Failed(f"record: {errors}")
            expect_left()


# --- the process goes

COMMANDS = {"record": lambda pid: recorder(pid),
            "top": lambda pid: start("top", "-p", str(pid), "-l", "getppid", "-d", "0.1"),
            "hist": lambda pid: start("hist", "getppid()", "keys=common_pid", "-p", str(pid))}
# What a command says that had not set up everything yet.
GONE = r"executed another program|has ended"


def process_goes(how):
    def race():
        for name, command in COMMANDS.items():
            for _ in range(max(1, ROUNDS // 3)):
                with Target() as target, command(target.pid) as one:
                    records(target.pid)
                    pause(0.05)
                    how(target)
                    status, errors = one.end()
                    gone_too_soon = status == 1 and re.search(GONE, errors)
                    if status != 0 and not gone_too_soon:
                        raise Failed(f"{name}: status {status}, {errors!r}")
                    expect_left()
    return race


def process_goes_at_any_moment():
    """Also while the agent comes: the command says so, and leaves nothing."""
    for number in range(4 * ROUNDS):
        with Target() as target, recorder(target.pid) as one:
            pause(0.08)
            (target.process.kill, lambda: target.say(b"e"), lambda: target.say(b"x"))[number % 3]()
            if number % 3 == 2:  # the recorder may have come after that, to the other program
                time.sleep(0.3)
                one.process.send_signal(signal.SIGINT)
            status, errors = one.end()
            if status not in (0, 1) or (status == 1 and not errors.startswith("patchbay record: ")):
                raise Failed(f"status {status}: {errors}")
            expect_left()


def stale_marks():
    """What a killed command has left of a process that has ended, and nothing else, is cleaned."""
    with Target() as target, Target() as living:
        for pid in (target.pid, living.pid):
            with recorder(pid) as one:
                records(pid)
                one.process.kill()
                one.end()
        target.process.kill()
        target.process.wait()
        mark = f"{target.pid}.attached"
        if mark not in left():
            raise Failed(f"no mark is left: {left()}")
        out = subprocess.run([TOOL, "clean", "--dry-run"], capture_output=True, check=True).stdout
        if f"would remove {RUN}/{mark}".encode() not in out or mark not in left():
            raise Failed(f"clean --dry-run: {out.decode()}")
        status, errors = tool("clean", "--all")
        if status != 0:
            raise Failed(f"clean: {errors}")
        expect_left(str(living.pid), f"{living.pid}.attached")
        status, errors = tool("detach", str(living.pid))
        if status != 0:
            raise Failed(f"detach: {errors}")
    expect_left()


# --- the number is another's

def reused(pid, environment=None):
    """A new process with this number; None: somebody else was faster, too often."""
    for _ in range(50):
        with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as last:
            last.write(str(pid - 1))
        process = Process(["sleep", "1000"], environment)
        if process.pid == pid:
            return process
        process.__exit__()  # with what it had made by then
        subprocess.run(["rm", "-rf", f"{RUN}/{process.pid}"], check=False)
    return None


def number_used_again(attached):
    def race():
        if not os.access("/proc/sys/kernel/ns_last_pid", os.W_OK):
            return "numbers of processes cannot be chosen here"
        with Target() as target, recorder(target.pid) as first:
            records(target.pid)
            wait_for("no buffer", lambda: has_buffer(first))
            first.process.send_signal(signal.SIGSTOP)
            target.process.kill()
            target.process.wait()
            second = reused(target.pid, None if attached else {"LD_PRELOAD": AGENT})
            if not second:
                return "the number was always another's"
            with second:
                if attached:
                    return goes_on_recorded(target.pid, first)
                wait_for("no agent", lambda: agent_of(target.pid) == "preloaded")
                first.process.send_signal(signal.SIGCONT)
                expect(first, 0)
                if agent_of(target.pid) != "preloaded":
                    raise Failed("the agent of the new process is gone")
                expect_left(str(target.pid))
        if tool("clean", "--all")[0] != 0:
            raise Failed("clean")
        expect_left()
        return None
    return race


def goes_on_recorded(pid, first):
    # The first recorder's socket and buffer are in the way, and are put aside.
    with start("record", "-q", "-p", str(pid), "-e", "nanosleep()", "-o",
               f"{WORK}/second.dat") as second:
        wait_for("not attached", lambda: agent_of(pid) == "attached")
        first.process.send_signal(signal.SIGCONT)
        expect(first, 0)
        if agent_of(pid) != "attached":
            raise Failed("the first recorder has taken the second one's agent")
        second.process.send_signal(signal.SIGINT)
        expect(second, 0)
    if agent_of(pid) != "asleep":
        raise Failed("the agent has not gone")
    if tool("clean", "--all")[0] != 0:
        raise Failed("clean")
    expect_left()


# --- Ctrl-C

def interrupts():
    commands = {**COMMANDS, "attach": lambda pid: start("attach", str(pid)),
                "latency": lambda pid: start("latency", "getppid", "-p", str(pid)),
                "start": lambda pid: start("start", "-p", str(pid), "-e", "getppid()")}
    told = {signal.SIGINT: 0, signal.SIGTERM: 0}
    with Target() as target:
        for number in range(3 * ROUNDS):
            for name, command in commands.items():
                which = random.choice(list(told))
                with command(target.pid) as one:
                    pause(0.12 if number % 2 else 0.03)
                    one.process.send_signal(which)
                    status, errors = one.end()
                told[which] += status == -which
                if status not in (0, 1, -which) or (status == 1 and "interrupted" not in errors):
                    raise Failed(f"{name}: status {status}, {errors}")
                if name in ("attach", "start") and status == 0:
                    expect_left(str(target.pid))
                    expect(start("detach", str(target.pid)), 0)
                if left():
                    raise Failed(f"{name}, status {status}, {errors!r} has left {left()}")
                if agent_of(target.pid) not in ("asleep", "none"):
                    raise Failed(f"{name}: the agent is {agent_of(target.pid)}")
        target.say(b"e")
        expect(target, 0)
    return f"ended by the signal: {sum(told.values())} of {3 * ROUNDS * len(commands)}"


RACES = {"end and attach": end_and_attach, "end and record": end_and_record,
         "two and two": two_and_two,
         "the process is killed": process_goes(lambda target: target.process.kill()),
         "the process ends": process_goes(lambda target: target.say(b"e")),
         "the process executes another program": process_goes(lambda target: target.say(b"x")),
         "the process goes at any moment": process_goes_at_any_moment,
         "executes under attach": executes_under_attach,
         "stale marks": stale_marks,
         "the number is a preloaded process's": number_used_again(False),
         "the number is an attached process's": number_used_again(True),
         "interrupts": interrupts}


def main():
    random.seed(SEED)
    print(f"attach_races: ATTACH_SEED={SEED} ATTACH_ROUNDS={ROUNDS}", flush=True)
    failures = 0
    for name, race in RACES.items():
        if sys.argv[3:] and not any(re.search(word, name) for word in sys.argv[3:]):
            continue
        since = time.monotonic()
        try:
            note = race()
        except (Failed, OSError, subprocess.SubprocessError) as why:
            failures, note = failures + 1, why
            print(f"FAIL {name}: {note}; left: {left()}", flush=True)
            for entry in left():
                subprocess.run(["rm", "-rf", f"{RUN}/{entry}"], check=False)
            continue
        print(f"PASS {name}: {time.monotonic() - since:.1f} s{'; ' + note if note else ''}",
              flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
