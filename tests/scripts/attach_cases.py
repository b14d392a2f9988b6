#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs with one nasty property each, run alone and while an agent comes and goes.

  attach_cases.py BUILD WORK [REGEX...]     the cases whose name or number a REGEX finds; all

Each case runs twice: what it prints and its exit status must be the same. Between two attaches it
is left alone for a moment; behind the last detach /proc must say what it said before the first
attach (attach_target.py). A case that has to be refused must be refused with its sentence, and
nothing may have changed.

A line is printed for each case: PASS, FAIL or SKIP, and why. Exit status 1 with a FAIL.
  ATTACH_ROUNDS   attaches and detaches of each case (3)
  ATTACH_JOBS     cases at a time (4)
  ATTACH_TOOL     what is run instead of BUILD/bin/patchbay
"""
import concurrent.futures
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from attach_target import (Picture, differences, fields, read, settled_picture,
                           where_threads_stand)

BUILD, WORK = (os.path.abspath(path) for path in sys.argv[1:3])
ROUNDS = int(os.environ.get("ATTACH_ROUNDS", "3"))
TOOL = os.environ.get("ATTACH_TOOL", BUILD + "/bin/patchbay")
PROGRAMS = BUILD + "/tests/attach/"
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "attach")
NOBODY = ["env", f"PATCHBAY_DIR={WORK}/nobody", "setpriv", "--reuid", "65534", "--regid", "65534",
          "--clear-groups"]
ATTACH_SECONDS, END_SECONDS = 20, 30


SPEAKER = re.compile(r"^patchbay( attach| detach)?: ")
STAYS = re.compile(r"^patchbay: the agent stays in process \d+ until `patchbay detach \d+`: .*\n")


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def children(pid):
    try:
        return [int(word) for word in read(f"/proc/{pid}/task/{pid}/children").split()]
    except OSError:
        return []


def wait_for(seconds, what, condition):
    end = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > end:
            raise Failed(f"{what}: not within {seconds} s")
        time.sleep(0.005)
    return result


def state(pid):
    try:
        return fields(read(f"/proc/{pid}/status"))["State"][0]
    except OSError:
        return "X"


class Target:
    """A program under test with pipes; `pid` is the process that is attached to."""

    def __init__(self, argv, case):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, cwd=WORK, start_new_session=True,
                                        env={**os.environ, **case.environment})
        self.errors, self.pid = b"", self.process.pid
        try:
            self.wait_for_word(b"ready\n")
            for _ in range(case.descend):
                self.pid = wait_for(5, "a child", lambda: children(self.pid))[0]
        except BaseException:
            self.kill()
            raise

    def wait_for_word(self, word):
        """On stderr; what was there before it is dropped."""
        end = time.monotonic() + 20
        while word not in self.errors:
            if not select.select([self.process.stderr], [], [], max(0, end - time.monotonic()))[0]:
                raise Failed(f"{word!r} has not come: {self.errors[-300:]!r}")
            part = os.read(self.process.stderr.fileno(), 65536)
            if not part:
                status = self.process.wait(END_SECONDS)
                text = self.errors.decode("utf-8", "replace").strip()
                raise Skipped(text) if status == 77 else Failed(f"ended with {status}: {text}")
            self.errors += part
        before, self.errors = self.errors.split(word, 1)
        return before

    def say(self):
        try:
            self.process.stdin.write(b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def end(self):
        """Tells it to end. What it printed, and its exit status."""
        try:
            output, _ = self.process.communicate(b"\n", timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            raise Failed(f"does not end: {where_threads_stand(self.pid)}") from None
        finally:
            self.kill()
        return output.decode("utf-8", "replace"), self.process.returncode

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                pipe.close()
            except OSError:
                pass
        self.process.wait()


class Answer:
    def __init__(self, status, errors):
        self.status, self.errors = status, errors.decode("utf-8", "replace").strip()

    def sentence(self):
        return SPEAKER.sub("", self.errors)


def tool(command, pid, prefix=(), impatient=0, during=None):
    """`patchbay COMMAND PID`. impatient: Ctrl-C after so many seconds."""
    process = subprocess.Popen([*prefix, TOOL, command, str(pid)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        if during:
            during()
        try:
            _, errors = process.communicate(timeout=impatient or ATTACH_SECONDS)
        except subprocess.TimeoutExpired:
            if not impatient:
                raise
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=ATTACH_SECONDS)
            errors = errors or b"patchbay: interrupted"
    except subprocess.TimeoutExpired:
        stands = where_threads_stand(pid)
        process.kill()
        _, errors = process.communicate()
        raise Failed(f"{command} does not come back: {errors.decode()[-200:]} [{stands}]") from None
    return Answer(process.returncode, errors)


def check_sentence(answer, wanted, command="attach"):
    if answer.status == 0:
        return
    text = answer.errors
    if answer.status not in (1, 130, -signal.SIGINT):
        raise Failed(f"{command}: status {answer.status}, {text!r}")
    if not SPEAKER.match(text) or "\n" in text:
        raise Failed(f"{command}: not one sentence: {text!r}")
    if wanted and not re.search(wanted, text):
        raise Failed(f"{command}: another sentence: {text!r}")


class Case:
    """may: it may be given up, with a sentence that the regular expression finds.

    late: that may be when a thread has been made already, whose stack libc keeps.
    """

    def __init__(self, numbers, name, argv=None, *, refused=None, may=None, volatile=False,
                 prefix=(), descend=0, environment=None, impatient=0, tool_prefix=(), program=None,
                 keep=False, run=None, need=(), settle=0.0, root=False, late=False):
        self.numbers, self.name = numbers, name
        self.argv = [*prefix, *(argv or [PROGRAMS + name.split()[0], *name.split()[1:]])]
        self.refused, self.may, self.volatile = refused, may, volatile
        self.descend, self.environment = descend, environment or {}
        self.impatient, self.tool_prefix, self.program = impatient, tool_prefix, program
        self.keep, self.settle, self.root = keep, settle, root
        self.own_run, self.need, self.late = run, need, late
        self.gave_up, self.attached, self.why, self.first = 0, 0, "", None

    def expected(self):
        target = Target(self.argv, self)
        time.sleep(0.1 + self.settle)
        return target.end()

    def attach(self, target, **how):
        answer = tool("attach", target.pid, self.tool_prefix, self.impatient, **how)
        check_sentence(answer, self.refused or self.may)
        if answer.status == 0 and self.refused:
            raise Failed("attached, but it should be refused")
        if answer.status != 0 and not self.refused and self.may is None:
            raise Failed(f"not attached: {answer.sentence()}")
        if answer.status == 0:
            self.attached += 1
        else:
            self.gave_up += 1
            self.why = answer.sentence()
        return answer.status == 0

    def detach(self, target):
        answer = tool("detach", target.pid, self.tool_prefix)
        check_sentence(answer, None, "detach")
        if answer.status != 0:
            raise Failed(f"detach: {answer.sentence()}")

    def rounds(self, target):
        for _ in range(1 if self.refused else ROUNDS):
            if self.attach(target):
                time.sleep(random.uniform(0, 0.15))
                self.detach(target)
                if not self.first and not self.volatile:
                    self.first = Picture(target.pid)
            time.sleep(random.uniform(0, 0.03))

    def compare(self, before, target):
        after = Picture(target.pid)
        unlike = list(differences(before, after, self.volatile))
        nothing = not self.attached and not self.volatile and not self.late
        if nothing and before.maps_text != after.maps_text:
            unlike.append("the mappings are others, but nothing was attached")
        if self.first and self.attached > 1:
            unlike.extend(grown(self.first, after))
        if unlike:
            raise Failed("; ".join(unlike[:6]))

    def observed(self):
        target = Target(self.argv, self)
        try:
            time.sleep(self.settle)
            before = Picture(target.pid) if self.volatile else settled_picture(target.pid)
            self.rounds(target)
            if state(target.pid) in "ZX":
                raise ProcessLookupError
            self.compare(before, target)
            if self.keep:
                self.attach(target)
        except (ProcessLookupError, FileNotFoundError):
            output, status = target.end()
            raise Failed(f"it ended meanwhile: printed {output!r}, status {status}") from None
        except BaseException:
            target.kill()
            raise
        return target.end()

    def run(self):
        for program in self.need:
            if not shutil.which(program):
                raise Skipped(f"{program} is not installed")
        if self.root and os.geteuid() != 0:
            raise Skipped("only as root")
        if self.program:
            self.argv = [*self.argv[:-1], self.program()]
        if self.own_run:
            return self.own_run(self)
        wanted, seen = self.expected(), self.observed()
        if wanted != seen:
            raise Failed(f"printed {seen[0]!r}, status {seen[1]}; alone {wanted[0]!r}, {wanted[1]}")
        return None

    def line(self):
        try:
            note = self.run()
            verdict = "PASS"
            if note is None:
                note = f"attached {self.attached} times" if self.attached else ""
                if self.gave_up:
                    note += f"{', ' if note else ''}refused {self.gave_up} times: {self.why}"
        except Skipped as why:
            verdict, note = "SKIP", str(why)
        except (Failed, OSError, subprocess.SubprocessError) as why:
            verdict, note = "FAIL", str(why) or repr(why)
        numbers = ",".join(str(number) for number in self.numbers)
        return verdict, f"{verdict} {numbers:>5} {self.name}: {note}"


def grown(first, last):
    """What more attaches and detaches have added to what the first ones left."""
    if len(last.maps) > len(first.maps) + 1:  # malloc's own memory may grow once
        yield f"{len(first.maps)} mappings behind the first detach are {len(last.maps)}"
    memory = [int(picture.status["RssAnon"].split()[0]) for picture in (first, last)]
    if memory[1] > memory[0] + 1024:
        yield f"{memory[0]} kB of memory behind the first detach are {memory[1]}"


# --- cases with a story of their own

def run_stopped(case):
    """18: a stopped process is refused, and stays stopped."""
    target = Target(case.argv, case)
    try:
        os.kill(target.pid, signal.SIGSTOP)
        wait_for(10, "stopped", lambda: state(target.pid) == "T")
        before = Picture(target.pid)
        case.rounds(target)
        case.compare(before, target)
        if state(target.pid) != "T":
            raise Failed("it is not stopped any more")
        os.kill(target.pid, signal.SIGCONT)
    except BaseException:
        target.kill()
        raise
    return check_end(case, target)


def check_end(case, target):
    seen, wanted = target.end(), case.expected()
    if seen != wanted:
        raise Failed(f"printed {seen[0]!r}, status {seen[1]}; alone {wanted[0]!r}, {wanted[1]}")
    return None


def run_fork(case):
    """82: the child of an attached process can be attached to as well, and each left alone."""
    target = Target(case.argv, case)
    try:
        before = Picture(target.pid)
        case.attach(target)
        target.say()
        target.wait_for_word(b"child ")
        target.wait_for_word(b"\n")
        child = wait_for(5, "a child", lambda: children(target.pid))[0]
        for _ in range(ROUNDS):
            for command in ("attach", "detach"):
                answer = tool(command, child)
                if answer.status != 0:
                    raise Failed(f"{command} of the child: {answer.sentence()}")
        unlike = list(differences(before, Picture(child), True))
        if unlike:
            raise Failed("the child: " + "; ".join(unlike[:4]))
    except BaseException:
        target.kill()
        raise
    output, status = target.end()
    wanted = "read of stdin: ok\nwrong: 0\nread of stdin: ok\nwaitpid: ok\nwrong: 0\n"
    if (output, status) != (wanted, 0):
        raise Failed(f"printed {output!r}, status {status}")
    return f"attached {case.attached} times; its child {ROUNDS} times"


def run_exits(case):
    """66: it ends, or executes another program, at any moment of an attach."""
    ends, executes = 0, 0
    for number in range(4 * ROUNDS):
        target = Target(case.argv, case)
        delay = random.uniform(0, 0.04)

        def end_it(target=target, delay=delay, kills=number % 2):
            time.sleep(delay)
            if kills:
                target.process.kill()
            else:
                target.say()

        try:
            case.may = ""
            case.attach(target, during=end_it)
            if number % 2:
                ends += 1
            else:
                output, status = target.end()
                executes += 1
                if status != 11 or "show the program itself | ONLY=this" not in output:
                    raise Failed(f"printed {output[-300:]!r}, status {status}")
        finally:
            target.kill()
    return f"{ends} times killed, {executes} times executing; attached {case.attached} times"


def run_reused(case):
    """67: the number is another process's by the time the tool looks again."""
    if not os.path.exists("/proc/sys/kernel/ns_last_pid") or os.geteuid() != 0:
        raise Skipped("numbers of processes cannot be chosen here")
    reused = 0
    for _ in range(3 * ROUNDS):
        target = Target(case.argv, case)
        second = []

        def replace(target=target, second=second):
            time.sleep(random.uniform(0, 0.02))
            target.kill()
            with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as last:
                last.write(str(target.pid - 1))
            second.append(Target(case.argv, case))

        try:
            case.may = ""
            attached = case.attach(target, during=replace)
            if second and second[0].pid == target.pid:
                reused += 1
                text = Picture(second[0].pid).maps_text
                if not attached and "patchbay" in text:
                    raise Failed("the new process was changed")
        finally:
            target.kill()
            for process in second:
                process.kill()
    return f"{reused} times the number was another's"


def watched(story):
    """A story between two pictures of the process, and then its end as if there had been none."""
    def run(case):
        target = Target(case.argv, case)
        try:
            before = Picture(target.pid) if case.volatile else settled_picture(target.pid)
            note = story(case, target)
            case.compare(before, target)
        except (ProcessLookupError, FileNotFoundError):
            raise Failed(f"it ended meanwhile: {target.end()}") from None
        except BaseException:
            target.kill()
            raise
        check_end(case, target)
        return note
    return run


@watched
def run_stop_arrives(case, target):
    """19: it is stopped at any moment of an attach; it stays stopped, and goes on when it is told.
    """
    refused = 0
    for _ in range(2 * ROUNDS):
        delay = random.uniform(0, 0.03)

        def stop(delay=delay):
            time.sleep(delay)
            os.kill(target.pid, signal.SIGSTOP)

        answer = tool("attach", target.pid, during=stop)
        # The agent was there when it stopped: the tool cannot take it out, and says so first.
        check_sentence(Answer(answer.status, STAYS.sub("", answer.errors).encode()), None)
        refused += answer.status != 0
        wait_for(10, "stopped", lambda: state(target.pid) == "T")
        os.kill(target.pid, signal.SIGCONT)
        wait_for(10, "going on", lambda: state(target.pid) != "T")
        leave_alone(target.pid)
        case.attached += 1
    return f"{refused} times refused"


def run_leader_exit(case):
    """30: the first thread has left; the kernel shows neither maps nor program by its number."""
    target = Target(case.argv, case)
    try:
        before = settled_picture(target.pid)
        wait_for(10, "its first thread has ended", lambda: state(target.pid) == "Z")
        check_refused(tool("attach", target.pid), case.refused)
        unlike = list(differences(before, Picture(target.pid)))
        if unlike:
            raise Failed("; ".join(unlike[:4]))
    except BaseException:
        target.kill()
        raise
    return check_end(case, target)


def run_shell(case):
    """74: a shell and its children, which come and go and execute programs."""
    target = Target(case.argv, case)
    try:
        before = Picture(target.pid)
        for _ in range(ROUNDS):
            case.attach(target)
            time.sleep(0.1)
            case.detach(target)
        # bash sets handlers as it goes.
        unlike = [text for text in differences(before, Picture(target.pid), True)
                  if not text.startswith("SigCgt")]
        if unlike:
            raise Failed("; ".join(unlike[:4]))
    except BaseException:
        target.kill()
        raise
    return check_end(case, target)


# bash itself loses the line now and then, when it comes as the time is over; then it sees the end.
SHELL = """echo ready >&2
sum=0 i=0
until read -r -t 0.01 line || (($? == 1)); do
  ((++i)) && [[ $(echo "$i" | cat) == "$i" ]] || echo "wrong: $i"
  [[ $(bash -c 'exit 7'; echo $?) == 7 ]] || echo "wrong status"
done
trap 'echo trapped' USR1; kill -USR1 $$
echo over
exit 5
"""


@watched
def run_held(case, target):
    """33: signals that come while they are blocked, and the agent is there, come when it has gone.
    """
    for number in range(ROUNDS):
        case.attach(target)
        if number == ROUNDS - 1:
            target.say()
            target.wait_for_word(b"sent\n")
        case.detach(target)
    pending = [fields(read(f"/proc/{target.pid}/task/{tid}/status"))["SigPnd"]
               for tid in os.listdir(f"/proc/{target.pid}/task")]
    if [int(mask, 16) for mask in pending] != [1 << 4 | 1 << 7] * 2:
        raise Failed(f"pending: {pending}")
    return f"attached {case.attached} times; the signals wait"


def run_old_threads(case):
    """26: threads that are older than the agent end while all functions of libc are patched."""
    target, toggles = Target(case.argv, case), 0
    try:
        before = Picture(target.pid)
        case.attach(target)
        told(["write", str(target.pid), "set_ftrace_filter", "*:mod:libc.so.6"])
        for number in range(8 * ROUNDS):
            target.process.stdin.write(b"e")
            target.process.stdin.flush()
            told(["write", str(target.pid), "current_tracer", ("function", "nop")[number % 2]])
            toggles += 1
            if state(target.pid) not in "SR":
                raise ProcessLookupError
            target.wait_for_word(b"round\n")
        case.detach(target)
        case.compare(before, target)
    except (ProcessLookupError, FileNotFoundError, Failed) as why:
        target.process.kill()
        raise Failed(f"behind {toggles} changes: {why}: {target.end()}") from None
    except BaseException:
        target.kill()
        raise
    output, status = target.end()
    if (output, status) != ("wrong: 0\n", 0):
        raise Failed(f"printed {output!r}, status {status}")
    return f"libc was patched {toggles} times"


def told(words):
    done = subprocess.run([TOOL, *words], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=2 * ATTACH_SECONDS, check=False)
    if done.returncode != 0:
        raise Failed(f"{' '.join(words)}: {done.stderr.decode()[-300:]}")


@watched
def run_frozen(case, target):
    """20: a frozen control group cannot be stopped; it is left alone, and thawed."""
    group = f"/sys/fs/cgroup/freezer/attach-case-{target.pid}"
    try:
        os.mkdir(group)
    except OSError as why:
        raise Skipped(f"no freezer of control groups: {why}") from None
    try:
        write(group + "/cgroup.procs", str(target.pid))
        write(group + "/freezer.state", "FROZEN")
        wait_for(10, "frozen", lambda: read(group + "/freezer.state") == b"FROZEN\n")
        case.rounds(target)
    finally:
        write(group + "/freezer.state", "THAWED")
        write("/sys/fs/cgroup/freezer/cgroup.procs", str(target.pid))
        os.rmdir(group)
    return None


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


@watched
def run_tool_killed(case, target):
    """79: the tool is killed at any moment; the program goes on, and the next attach works."""
    kills = 0
    for number in range(4 * ROUNDS):
        command = "detach" if number % 4 == 3 else "attach"
        if command == "detach":
            case.attach(target)
        process = subprocess.Popen([TOOL, command, str(target.pid)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(random.uniform(0, 0.04))
        process.kill()
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        if state(target.pid) not in "SR":
            raise Failed(f"{command} killed: {target.end()}")
        leave_alone(target.pid)
    case.attach(target)
    case.detach(target)
    return f"{kills} times killed; attached {case.attached} times"


def leave_alone(pid):
    """Detaches whatever state an unlucky tool has left; the agent may still be on its way."""
    for _ in range(50):
        answer = tool("attach", pid)
        if answer.status == 0 or "already" in answer.errors:
            break
        time.sleep(0.1)
    else:
        raise Failed(f"behind a killed tool: not attached: {answer.sentence()}")
    answer = tool("detach", pid)
    if answer.status != 0:
        raise Failed(f"behind a killed tool: not detached: {answer.sentence()}")


@watched
def run_two_tools(case, target):
    """84: two tools at once; one of them wins, or the other one finds the agent there."""
    lost = []
    for _ in range(2 * ROUNDS):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda _: tool("attach", target.pid), range(2)))
        for answer in answers:
            check_sentence(answer, None)
        if all(answer.status for answer in answers):
            raise Failed(f"neither has attached: {[answer.errors for answer in answers]}")
        lost += [answer.sentence() for answer in answers if answer.status]
        case.attached += 1
        case.detach(target)
    return f"attached {case.attached} times; {len(lost)} times the other one: {lost[:1]}"


@watched
def run_preloaded(case, target):
    """81: started with the agent: attach finds it there, and detach says what it is."""
    check_sentence(tool("attach", target.pid), None)
    answer = tool("detach", target.pid)
    check_refused(answer, "started with")
    return answer.sentence()


def record(pid, event, file, seconds):
    """A recording of a process that has no agent. The number of its events."""
    process = subprocess.Popen([TOOL, "record", "-q", "-e", event, "-o", file, "-p", str(pid)],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    enable = f"instances/patchbay-{process.pid}-1/events/functions/{event.split('(')[0]}/enable"

    def is_on():
        done = subprocess.run([TOOL, "cat", str(pid), enable], capture_output=True, check=False)
        return done.stdout.startswith(b"1") or process.poll() is not None

    wait_for(2 * ATTACH_SECONDS, "a recording", is_on)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=ATTACH_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise Failed(f"record does not end: {where_threads_stand(pid)}") from None
    if process.returncode not in (0, 130):
        raise Failed(f"record: status {process.returncode}: {errors.decode()[-300:]}")
    report = subprocess.run([TOOL, "report", "-i", file], capture_output=True, check=False)
    os.unlink(file)
    return report.stdout.count(b"->" + event.split("(")[0].encode() + b"(")


@watched
def run_recorded(case, target):
    """80: attached, events on, off and left, while the program is at work."""
    counts = [record(target.pid, "malloc(size_t size)", f"{WORK}/recorded.dat", 0.4)
              for _ in range(ROUNDS)]
    if not all(counts):
        raise Failed(f"events: {counts}")
    return f"events: {counts}"


@watched
def run_two_records(case, target):
    """77: two recordings at once; the first to end must not take the agent from the other."""
    for number in range(ROUNDS):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            runs = [pool.submit(record, target.pid, "malloc(size_t size)",
                                f"{WORK}/two-{number}-{which}.dat", 0.4 + 0.4 * which)
                    for which in range(2)]
            counts = [run.result() for run in runs]
        if not all(counts):
            raise Failed(f"events: {counts}")
    return f"events at last: {counts}"


def run_group(case):
    """44: what does not fit its control group is refused, and nothing happens to the program."""
    top = "/sys/fs/cgroup/memory" if os.path.isdir("/sys/fs/cgroup/memory") else "/sys/fs/cgroup"
    group = f"{top}/patchbay-test-{os.getpid()}"
    limit = "limit_in_bytes" if top.endswith("memory") else "max"
    try:
        os.mkdir(group)
        with open(f"{group}/memory.{limit}", "w", encoding="ascii") as file:
            file.write(str(8 << 20))
    except OSError as why:
        raise Skipped(f"no control group with a limit can be made: {why}") from None
    target = Target(case.argv, case)
    try:
        with open(f"{group}/cgroup.procs", "w", encoding="ascii") as file:
            file.write(str(target.pid))
        before = settled_picture(target.pid)
        for words, wanted in ((["-b", "65536", "-e", "malloc(size_t size)"], "buffer"),
                              (["-t", "function_graph"], "function_graph of about")):
            answer = subprocess.run([TOOL, "start", "-p", str(target.pid), *words],
                                    capture_output=True, text=True, check=False)
            if answer.returncode != 1 or wanted not in answer.stderr or group not in answer.stderr:
                raise Failed(f"start {words}: {answer.returncode}, {answer.stderr}")
            if Picture(target.pid).maps_text != before.maps_text:
                raise Failed(f"start {words} was refused, but something has come")
        # By another road only the agent can say it.
        if case.attach(target):
            answer = subprocess.run([TOOL, "write", str(target.pid), "current_tracer",
                                     "function_graph"], capture_output=True, text=True, check=False)
            if answer.returncode != 1 or "control group" not in answer.stderr:
                raise Failed(f"write current_tracer: {answer.returncode}, {answer.stderr}")
            case.detach(target)
    except BaseException:
        target.kill()
        raise
    finally:
        with open(f"{top}/cgroup.procs", "w", encoding="ascii") as file:
            try:
                file.write(str(target.pid))
            except OSError:
                pass  # it was killed
    note = check_end(case, target)
    os.rmdir(group)
    return note


# What `start` takes; "-B" makes an instance with a buffer of its own.
KINDS = [["-e", "malloc(size_t size)"], ["-e", "void *p = malloc(size_t size)"],
         ["-e", "r:behind malloc r=$retval"], ["-e", "malloc(size_t size)", "-f", "size > 3"],
         ["-B", "one", "-b", "512", "-e", "malloc(size_t size)"],
         ["-B", "one", "-t", "function", "-l", ":mod:libc.so*"],
         ["-B", "one", "-t", "function_graph", "-l", ":mod:libc.so*"],
         ["-B", "one", "-b", "64", "-t", "function_graph"], ["-t", "function"]]


def kept(pid):
    """What a process has of memory (kB), mappings, descriptors and threads."""
    picture = Picture(pid)
    memory = sum(int(picture.status[name].split()[0]) for name in ("RssAnon", "RssShmem"))
    return memory, len(picture.maps), len(picture.fds), len(picture.masks)


@watched
def run_cycles(case, target):
    """85: what is traced again and again leaves nothing behind but 3 kB a definition (the stub that
    a thread may come back to, and what stands in it)."""
    cycles = []
    for _ in range(max(2 * ROUNDS, 8)):
        for words in KINDS:
            started = subprocess.run([TOOL, "start", "-p", str(target.pid), *words],
                                     capture_output=True, text=True, check=False)
            if started.returncode != 0:
                raise Failed(f"start {words}: {started.stderr}")
            case.attached += 1
            case.detach(target)
        cycles.append(kept(target.pid))
    # What the program's malloc keeps of freed blocks goes up and down: the least of two cycles. The
    # first ones meet functions that were not traced before.
    # And it takes 132 kB at a time from the kernel, in some run in the middle of these cycles.
    first, last = (min(cycle[0] for cycle in part) for part in (cycles[2:4], cycles[-2:]))
    most = 132 + 3 * len(KINDS) * (len(cycles) - 3)
    if cycles[-1][1:] != cycles[1][1:] or last > first + most:
        raise Failed(f"kB, mappings, descriptors, threads behind each cycle: {cycles}")
    return f"{first} kB, later {last} kB"


def run_kernel_thread(case):
    for name in sorted(filter(str.isdigit, os.listdir("/proc")), key=int):
        try:
            stat = read(f"/proc/{name}/stat").decode("utf-8", "replace")
        except OSError:
            continue
        if int(stat.rpartition(")")[2].split()[6]) & 0x200000:
            check_refused(tool("attach", name), case.refused)
            return f"process {name}"
    raise Skipped("no thread of the kernel is to be seen")


def check_refused(answer, wanted):
    check_sentence(answer, wanted)
    if answer.status == 0:
        raise Failed("attached, but it should be refused")


def run_zombie(case):
    with subprocess.Popen(["true"]) as process:
        wait_for(10, "a zombie", lambda: state(process.pid) == "Z")
        check_refused(tool("attach", process.pid), case.refused)
        os.waitpid(process.pid, 0)
        check_refused(tool("attach", process.pid), "no process|has ended|does not exist")
        return ""


def run_without_leader(case):
    """30: its first thread has ended, and the others go on."""
    target = Target(case.argv, case)
    try:
        wait_for(10, "the end of its first thread", lambda: state(target.pid) == "Z")
        check_refused(tool("attach", target.pid), case.refused)
    except BaseException:
        target.kill()
        raise
    return check_end(case, target)


def run_itself(case):
    done = subprocess.run(["sh", "-c", 'exec "$0" attach $$', TOOL], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=ATTACH_SECONDS, check=False)
    check_refused(Answer(done.returncode, done.stderr), case.refused)
    return ""


def run_first_process(case):
    """64: number 1 of a pid namespace, by a tool that is inside."""
    target = Target(case.argv, case)
    try:
        before = settled_picture(target.pid)
        inside = ["nsenter", "-t", str(target.pid), "-p", "-m"]
        for _ in range(ROUNDS):
            answer = tool("attach", 1, inside)
            check_sentence(answer, None)
            if answer.status != 0:
                case.gave_up, case.why = case.gave_up + 1, answer.sentence()
                continue
            case.attached += 1
            answer = tool("detach", 1, inside)
            if answer.status != 0:
                raise Failed(f"detach: {answer.sentence()}")
        case.compare(before, target)
    except BaseException:
        target.kill()
        raise
    return check_end(case, target)


def run_replaced(case):
    """47: the files of a running program are others by now, or gone."""
    folder = os.path.join(WORK, "replaced")
    os.makedirs(folder, exist_ok=True)
    libc = next(mapping.name for mapping in Picture(os.getpid()).maps
                if re.search(r"/libc(-2\.\d+)?\.so", mapping.name))
    for path, name in ((PROGRAMS + "waits", "waits"), (libc, "libc.so.6")):
        shutil.copy(path, f"{folder}/{name}")
    case.argv = [folder + "/waits", "epoll-timeout"]
    case.environment = {"LD_LIBRARY_PATH": folder}
    target = Target(case.argv, case)
    try:
        for name in ("waits", "libc.so.6"):
            shutil.copy("/bin/true", f"{folder}/{name}.new")
            os.replace(f"{folder}/{name}.new", f"{folder}/{name}")
        os.unlink(folder + "/waits")
        before = Picture(target.pid)
        case.rounds(target)
        case.compare(before, target)
    except BaseException:
        target.kill()
        raise
    output, status = target.end()
    if (output, status) != ("epoll_wait: ok\nwrong: 0\n", 0):
        raise Failed(f"printed {output!r}, status {status}")
    return None


def run_fuse(case):
    """12: the mount goes away with the case, also when the program was killed."""
    try:
        wanted, seen = case.expected(), case.observed()
        if wanted != seen:
            raise Failed(f"printed {seen[0]!r}, status {seen[1]}; alone {wanted[0]!r}")
    finally:
        subprocess.run(["umount", "-l", case.argv[-1]], stderr=subprocess.DEVNULL, check=False)


def run_gdb(case):
    """56: under a debugger. gdb says things on stdout, so only the program's own line counts."""
    target = Target(case.argv, case)
    try:
        target.pid = wait_for(10, "the program", lambda: [
            pid for pid in children(target.process.pid)
            if os.readlink(f"/proc/{pid}/exe").endswith("waits")])[0]
        check_refused(tool("attach", target.pid), case.refused)
    except BaseException:
        target.kill()
        raise
    output, _ = target.end()
    if "wrong: 0" not in output or "exited normally" not in output:
        raise Failed(f"printed {output[-300:]!r}")
    return ""


# --- programs that are compiled here, where the compiler is installed

def built(name, command):
    def build():
        path = f"{WORK}/{name}"
        if not shutil.which(command[0]):
            raise Skipped(f"{command[0]} is not installed")
        words = [word.replace("OUT", path).replace("SRC", SOURCES) for word in command]
        done = subprocess.run(words, cwd=WORK, capture_output=True, text=True, timeout=120,
                              check=False, env={**os.environ, "GOCACHE": WORK + "/go-cache",
                                                "HOME": WORK})
        if done.returncode != 0:
            raise Skipped(f"{command[0]} cannot: {done.stderr.strip().splitlines()[-1][:120]}")
        return path
    return build


GO = """package main
import ("bufio"; "fmt"; "os")
func main() {
  os.Stderr.WriteString("ready\\n")
  bufio.NewReader(os.Stdin).ReadByte()
  fmt.Println("done")
}
"""


# --- the table

# A give-up that names threads, or a process that has no time for the agent.
ALONE = r"no thread|none of its threads|waits in|thread \d+|does not answer"
TRACED = r"is traced by process \d+"
STATIC = r"static program"
UNSHARE = ["unshare", "--fork", "--pid", "--mount-proc", "--kill-child"]


def waits():
    numbers = {1: ["read", "read-socket", "read-tty"], 2: ["futex", "condition", "semaphore"],
               3: ["futex-timeout", "condition-timeout"],
               4: ["poll", "poll-timeout", "ppoll", "ppoll-timeout", "select", "pselect-timeout",
                "select-constant"],
               5: ["nanosleep", "clock_nanosleep", "long-sleep 1"],
               6: ["epoll", "epoll-timeout", "epoll_pwait2", "epoll-signals"],
               7: ["io_uring", "io_getevents"],
               8: ["sigwaitinfo", "sigtimedwait", "sigsuspend", "pause", "signalfd"],
               9: ["semop", "semtimedop", "msgrcv", "recv", "recv-timeo", "accept", "accept-timeo",
                   "connect", "connect-timeo", "send-timeo", "writev-timeo", "sendmmsg-timeo",
                   "sendfile-timeo", "pwritev2-timeo", "recvmmsg", "msgsnd", "flock", "setlkw",
                   "fifo"],
               10: ["wait4", "waitid"]}
    # Where a thread waits as allocators wait, too, it may be refused when it is the only one.
    doubtful = {2, 3, 5, 7, 9}
    for number, words in numbers.items():
        for word in words:
            doubted = number in doubtful and not word.startswith(("recv", "accept"))
            may = ALONE if doubted or word == "signalfd" else None
            yield Case([number], f"waits {word}", may=may)
            if doubted:
                yield Case([number], f"waits {word} companion")


def loops():
    for number, word in ((13, "tight"), (14, "vdso"), (15, "altstack"), (16, "longjmp"),
                         (16, "signals"), (17, "rseq"), (40, "avx512")):
        yield Case([number], f"loops {word}", may=ALONE)
    yield Case([15], "loops altstack-read", may="does not stand on its stack|handles a signal")
    yield Case([40], "loops avx-read", may=ALONE)
    yield Case([18], "waits read, stopped", [PROGRAMS + "waits", "read"], refused="is stopped",
               run=run_stopped)


def storms():
    for count in (1, 2, 64):
        yield Case([22] if count == 1 else [21], f"storms malloc {count}", may=ALONE,
                   volatile=True)
    for allocator in ("libjemalloc.so.2", "libtcmalloc.so.4", "libmimalloc.so.2"):
        path = f"/usr/lib/x86_64-linux-gnu/{allocator}"
        yield Case([21], f"storms malloc 2, {allocator}", [PROGRAMS + "storms", "malloc", "2"],
                   volatile=True, may=ALONE, environment={"LD_PRELOAD": path},
                   program=lambda path=path: present(path, "2"))
    for count in (1, 2):
        may = ALONE if count == 1 else ""
        yield Case([23], f"storms dlopen {count}", may=may, volatile=True, keep=True)
        yield Case([26], f"storms threads {count * 4 - 3}", may=may, volatile=True, keep=True)
        yield Case([27], f"storms fork {count * 4 - 3}", may=may, volatile=True, keep=True)
    yield Case([24], "storms constructor 2", volatile=True, may="linker|dlopen", settle=0.1)
    yield Case([28], "storms constructor 0", volatile=True, refused="linker|dlopen|interrupted",
               impatient=4)
    yield Case([25], "exceptions 2", volatile=True, keep=True)
    yield Case([29], "storms stdio")
    yield Case([29], "storms setuid 2", volatile=True, may="dynamic linker|make a thread|" + ALONE)


def present(path, argument):
    if not os.path.exists(path):
        raise Skipped(f"{os.path.basename(path)} is not installed")
    return argument


def shapes():
    yield Case([11], "shapes vfork", refused="vfork|" + ALONE)
    yield Case([11], "shapes vfork, the child", [PROGRAMS + "shapes", "vfork"], descend=1,
               refused="shares its memory with process")
    yield Case([11], "shapes vfork companion", may="vfork|" + ALONE, late=True)
    folder = WORK + "/fuse"
    os.makedirs(folder, exist_ok=True)
    yield Case([12], "shapes fuse", [PROGRAMS + "shapes", "fuse", folder], may=ALONE, root=True,
               run=run_fuse, late=True)
    yield Case([30], "shapes leader-exit", refused="without its first thread",
               run=run_without_leader)
    yield Case([31], "shapes threads 1000")
    if ROUNDS > 3:
        yield Case([31], "shapes threads 10000", may="limit|threads")
    yield Case([32], "shapes born", volatile=True, keep=True)
    yield Case([33], "shapes blocked", keep=True)
    yield Case([33], "shapes asking", volatile=True, keep=True)
    yield Case([34], "shapes realtime")
    yield Case([35], "shapes thread-filter", refused="filter of system calls")
    yield Case([35], "shapes thread-mounts")
    yield Case([36], "shapes raw-clone")
    yield Case([37], "shapes fibers", volatile=True)
    yield Case([38], "shapes small-stacks")
    yield Case([30], "shapes leader-exit", refused="without its first thread", run=run_leader_exit)
    yield Case([19], "waits read, stopped meanwhile", [PROGRAMS + "waits", "read"],
               run=run_stop_arrives)
    yield Case([74], "a shell", ["bash", "-c", SHELL], volatile=True, run=run_shell)
    yield Case([78], "ends inline-hook", refused="differs from the file", late=True)
    yield Case([82], "shapes fork", run=run_fork)
    yield Case([26], "ends old-threads", volatile=True, run=run_old_threads)
    yield Case([33], "ends held", run=run_held)
    yield Case([83], "execs", [PROGRAMS + "execs"], keep=True)
    yield Case([66], "execs, ending meanwhile", [PROGRAMS + "execs"], run=run_exits)


def limits():
    root = WORK + "/root"
    os.makedirs(root, exist_ok=True)
    yield Case([41], "limits nofile", may="descriptor|files")
    yield Case([42], "limits as 4", may="memory|mmap|dlopen|map|thread")
    yield Case([42], "limits as 400", may="memory|mmap|dlopen|map|thread")
    yield Case([43], "limits nproc", may="pthread_create|thread|limit", root=True)
    yield Case([44], "a full control group", [PROGRAMS + "waits", "epoll-timeout"], root=True,
               run=run_group)
    yield Case([45], "limits tls", may="static TLS|thread-local", late=True)
    yield Case([46], "limits chroot", [PROGRAMS + "limits", "chroot", root], root=True)
    yield Case([46], "limits read-only", root=True)
    yield Case([47], "replaced", run=run_replaced)
    yield Case([48], "limits user", root=True)
    yield Case([48], "waits read, by nobody", [PROGRAMS + "waits", "read"], root=True,
               refused="another user", tool_prefix=NOBODY)
    yield Case([50], "limits setuid", root=True)
    yield Case([51], "limits strict", refused="strict")
    yield Case([51], "limits filter-kill", refused="seccomp")
    yield Case([51], "limits filter-errno", may="seccomp|not permitted")
    yield Case([52], "limits mdwe", may="MDWE|write|exec")
    for value in (1, 2):
        script = f"echo {value} >/proc/sys/vm/memfd_noexec && exec {PROGRAMS}waits read"
        yield Case([53], f"memfd_noexec {value}", [*UNSHARE, "sh", "-c", script], descend=1,
                   root=True)
    namespaces = {"pid": [], "user": ["--user", "--map-root-user"], "time": ["--time"],
                  "network": ["--net", "--ipc", "--uts"]}
    for name, words in namespaces.items():
        yield Case([55], f"namespaces {name}", [*UNSHARE, *words, PROGRAMS + "waits", "epoll"],
                   descend=1, root=True)
    yield Case([46, 55], "a container", [*UNSHARE, "--user", "--map-root-user",
                                         PROGRAMS + "limits", "chroot", WORK + "/root"],
               descend=1, root=True)


def tools():
    epoll, malloc = [PROGRAMS + "waits", "epoll-timeout"], [PROGRAMS + "storms", "malloc", "2"]
    # A thaw alone makes epoll_wait() answer EINTR.
    yield Case([20], "frozen", [PROGRAMS + "waits", "ppoll-timeout"],
               may="stop|frozen|" + ALONE, run=run_frozen, root=True)
    yield Case([77], "two recordings at once", malloc, volatile=True, run=run_two_records)
    # A wait may see one EINTR: the tool that would have repaired it is dead.
    yield Case([79], "the tool is killed", malloc, volatile=True, run=run_tool_killed)
    yield Case([80], "recorded at work", malloc, volatile=True, run=run_recorded)
    yield Case([81], "preloaded", epoll, run=run_preloaded,
               environment={"LD_PRELOAD": BUILD + "/lib/libpatchbay.so"})
    yield Case([84], "two tools at once", epoll, run=run_two_tools)
    yield Case([85], "traced again and again", epoll, run=run_cycles)


def refusals():
    waits_read = [PROGRAMS + "waits", "read"]
    yield Case([56], "under strace", ["strace", "-f", "-o", "/dev/null", *waits_read], descend=1,
               refused=TRACED, need=["strace"])
    yield Case([56], "under gdb", ["gdb", "-q", "-batch", "-nx", "-ex", "run", "--args",
                                   *waits_read], refused=TRACED, run=run_gdb, need=["gdb"])
    yield Case([56], "under valgrind", ["valgrind", "-q", *waits_read],
               refused=STATIC + "|no thread", need=["valgrind"])
    plain = "SRC/static_wait.c"
    kinds = ((57, "thread sanitizer", ["gcc", "-fsanitize=thread", plain], "fsanitize=thread"),
             (58, "static", ["gcc", "-static", plain], STATIC),
             (58, "static-pie", ["gcc", "-static-pie", plain], STATIC),
             (59, "musl", ["musl-gcc", plain], "musl"),
             (59, "musl static", ["musl-gcc", "-static", plain], STATIC),
             (61, "i386", ["gcc", "-m32", "-nostdlib", "-static", "-ffreestanding", "-fno-pie",
                           "-no-pie", "-fno-stack-protector", "SRC/freestanding_i386.c"], "64-bit"))
    for number, name, command, sentence in kinds:
        program = built(name.replace(" ", "-"), [*command, "-o", "OUT"])
        yield Case([number], name, ["built"], refused=sentence, program=program)
    with open(WORK + "/wait.go", "w", encoding="ascii") as source:
        source.write(GO)
    yield Case([60], "Go", ["built"], refused="Go|static program",
               program=built("go-program", ["go", "build", "-o", "OUT", "wait.go"]))
    yield Case([62], "a thread of the kernel", ["-"], refused="thread of the kernel",
               run=run_kernel_thread)
    yield Case([63], "a zombie", ["-"], refused="has ended", run=run_zombie)
    yield Case([64], "process 1", [*UNSHARE, *waits_read], descend=1, root=True, need=["nsenter"],
               run=run_first_process)
    yield Case([65], "itself", ["-"], refused="is this one", run=run_itself)
    yield Case([67], "a number used again", waits_read, run=run_reused)


def main():
    os.makedirs(WORK + "/nobody", exist_ok=True)
    if os.geteuid() == 0:
        os.chown(WORK + "/nobody", 65534, 65534)
    cases = [*waits(), *loops(), *storms(), *shapes(), *limits(), *tools(),
             *refusals()]
    wanted = [re.compile(word) for word in sys.argv[3:]]
    if wanted:
        cases = [case for case in cases if any(
            regex.search(case.name) or regex.fullmatch(str(number))
            for regex in wanted for number in case.numbers)]
    counts, numbers, lock = {"PASS": 0, "FAIL": 0, "SKIP": 0}, set(), threading.Lock()

    def run(case):
        verdict, line = case.line()
        with lock:
            counts[verdict] += 1
            if verdict == "PASS":
                numbers.update(case.numbers)
            print(line, flush=True)

    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("ATTACH_JOBS", "4"))) as pool:
        for future in [pool.submit(run, case) for case in cases]:
            future.result()
    attached = sum(case.attached for case in cases)
    print(f"attach_cases: {len(cases)} cases, {counts['PASS']} passed, {counts['FAIL']} failed, "
          f"{counts['SKIP']} skipped; {len(numbers)} numbers of the list; attached {attached} "
          f"times, given up {sum(case.gave_up for case in cases if not case.refused)} times")
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
