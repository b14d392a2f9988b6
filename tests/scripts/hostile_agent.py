# SPDX-License-Identifier: MIT
"""Commands of the tool on agents that lie (tests/hostile/hostile_agent.h).

hostile_agent.py PATCHBAY PROGRAM FOLDER ROUNDS [SEED]: ROUNDS times a command, an agent and a
moment of Ctrl-C or SIGTERM by a seed, several at a time. Each command has to end when it is told
to, take no more memory than its kind may beyond what it takes of an agent that does not lie, and
write nothing but what it was told to.
"""
import concurrent.futures
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

MANNERS = ["mixed", "mixed", "mixed", "flood", "lines", "dribble", "again", "mute", "deaf", "spin"]
# What is written is OUT. MB: what it may take beyond its usual memory.
COMMANDS = [
    ("cat PID trace", 64), ("ls PID", 64), ("ls PID events", 64), ("list processes", 64),
    ("list events -p PID", 64), ("list functions -p PID", 192), ("list symbols -p PID", 64),
    ("status --conf ", 64), ("stat -p PID", 64), ("show -p PID", 64), ("snapshot -p PID", 64),
    ("extract -p PID -o OUT", 64), ("start -p PID", 64), ("stop -p PID", 64),
    ("clear -p PID", 64), ("reset -p PID", 64), ("write PID tracing_on 1", 64),
    ("top -p PID", 192), ("hist -p PID hit keys=n", 192), ("latency -p PID hit other", 192),
    ("calls -p PID -e hit", 192), ("record -q -p PID -e hit -o OUT", 192),
    ("record -q -p PID -o OUT", 64), ("view -p PID -e hit", 192), ("probe -p PID --list", 64),
    ("mirror -p PID hit", 64), ("completions words 3 patchbay cat PID ev", 64),
]
# A guard against a hang, on a machine with anything else to do; what it took is printed.
LAST_S = 30


class Agents:
    """One of each manner; of the mixed ones a new one for each round."""

    def __init__(self, program, environment):
        self.program, self.environment = program, environment
        self.lock = threading.Lock()
        self.of_manner = {}

    def start(self, manner, seed):
        process = subprocess.Popen([self.program, str(seed), manner], env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        if process.stdout.readline() != b"ready\n":
            raise SystemExit("the agent does not start")
        return process

    def get(self, manner, seed):
        if manner == "mixed":
            return self.start(manner, seed)
        with self.lock:
            if manner not in self.of_manner:
                self.of_manner[manner] = self.start(manner, seed)
            return self.of_manner[manner]

    def put(self, manner, process):
        if manner == "mixed":
            process.kill()
            process.wait()
            directory = os.path.join(self.environment["PATCHBAY_DIR"], str(process.pid))
            shutil.rmtree(directory, ignore_errors=True)

    def end(self):
        for process in self.of_manner.values():
            process.kill()
            process.wait()


class Run:
    def __init__(self, patchbay, program, folder):
        self.patchbay, self.folder = patchbay, folder
        self.environment = dict(os.environ)
        self.agents = Agents(program, self.environment)
        self.usual_kb = {}
        self.lock = threading.Lock()
        self.failures = []
        self.longest = (0, "")
        self.largest = (0, "")

    def command(self, words, pid, number, after_s, told):
        """Its status, seconds since it was told to end, memory in KB, and what it has said."""
        place = os.path.join(self.folder, "place%d" % number)
        os.makedirs(place, exist_ok=True)
        argv = [self.patchbay] + [w.replace("PID", str(pid)).replace("OUT", "out.dat")
                                  for w in words.split(" ")]
        with open(os.path.join(self.folder, "said%d" % number), "wb+") as said:
            process = subprocess.Popen(argv, cwd=place, env=self.environment,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=said)
            ended, told_at = self.wait(process.pid, after_s), 0.0
            if not ended:
                told_at = time.monotonic()
                os.kill(process.pid, told)
                ended = self.wait(process.pid, LAST_S)
            took = time.monotonic() - told_at if told_at else 0.0
            if not ended:
                os.kill(process.pid, signal.SIGKILL)
                ended = self.wait(process.pid, LAST_S)
            process.returncode = 0
            said.seek(0)
            text = said.read(100_000).decode("utf-8", "replace")
        left = sorted(os.listdir(place))
        for name in left:
            os.unlink(os.path.join(place, name))
        return ended[0], took, ended[1], text, left

    @staticmethod
    def wait(pid, seconds):
        """(status, KB), or None when it has not ended."""
        end = time.monotonic() + seconds
        while True:
            done, status, usage = os.wait4(pid, os.WNOHANG)
            if done:
                return status, usage.ru_maxrss
            if time.monotonic() > end:
                return None
            time.sleep(0.005)

    def usual(self, words, number):
        with self.lock:
            if words in self.usual_kb:
                return self.usual_kb[words]
        agent = self.agents.get("right", 0)
        kb = self.command(words, agent.pid, number, 0.3, signal.SIGINT)[2]
        with self.lock:
            self.usual_kb[words] = kb
        return kb

    def round(self, seed, number):
        dice = random.Random(seed)
        words, most_mb = dice.choice(COMMANDS)
        manner = dice.choice(MANNERS)
        after_s = dice.choice([0.02, 0.1, 0.3, 0.6])
        told = dice.choice([signal.SIGINT, signal.SIGTERM])
        usual_kb = self.usual(words, number)
        agent = self.agents.get(manner, seed)
        status, took, kb, said, left = self.command(words, agent.pid, number, after_s, told)
        self.agents.put(manner, agent)
        what = "round %d: patchbay %s, of one that is %s" % (seed, words, manner)
        ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        wrong = []
        if ended_by not in (0, told):
            wrong.append("ended by signal %d" % ended_by)
        if took > LAST_S:
            wrong.append("did not end when it was told to")
        if kb > usual_kb + most_mb * 1024:
            wrong.append("took %d MB, usually %d MB" % (kb >> 10, usual_kb >> 10))
        if "\x1b" in said or "terminate called" in said:
            wrong.append("said %r" % said[:200])
        if any(not name.startswith("out.dat") for name in left):
            wrong.append("wrote %s" % left)
        with self.lock:
            self.failures += ["%s: %s" % (what, one) for one in wrong]
            self.longest = max(self.longest, (took, what))
            self.largest = max(self.largest, (kb - usual_kb, what))


def main():
    patchbay, program, folder, rounds = sys.argv[1:4] + [int(sys.argv[4])]
    first = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    run = Run(patchbay, program, folder)
    numbers = iter(range(1 << 30))
    own = threading.local()

    def one(seed):
        if not hasattr(own, "number"):
            own.number = next(numbers)
        run.round(seed, own.number)

    try:
        with concurrent.futures.ThreadPoolExecutor(max_workers=8) as pool:
            list(pool.map(one, range(first, first + rounds)))
    finally:
        run.agents.end()
    for line in run.failures[:50]:
        print("FAIL:", line)
    print("%d rounds, %d failures" % (rounds, len(run.failures)))
    print("longest after a signal: %.2f s (%s)" % run.longest)
    print("largest growth: %.1f MB (%s)" % (run.largest[0] / 1024, run.largest[1]))
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print("%.1f s of CPU" % (usage.ru_utime + usage.ru_stime))
    return 1 if run.failures else 0


sys.exit(main())
