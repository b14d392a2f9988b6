#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the names that are listed mean their functions again? For function_names.sh, and by hand.

    names_back.py BUILD_DIR SEED COUNT [TARGET...]

Starts each target, takes COUNT names of `patchbay list functions` there, and says them to
`patchbay record` and `patchbay calls`. Each has to patch the function of this name in this object,
and no other one. A name that several objects have is said with its object in front. Targets:
libstdc++, python, node, rust, libclang; all that are there by default."""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOGETHER = 40  # names of one command
WAIT_S = 60
# What `calls` patches besides, and what a start does.
OWN = ("__cxa_begin_catch", "__cxa_throw", "_dl_debug_state")
HASHED = re.compile(r"^_ZN.*17h[0-9a-f]{16}E")
HASH = re.compile(r"::h[0-9a-f]{16}")
MOST_SHOWN = 20
CXX = """#include <iostream>
#include <regex>
int main() { std::string line; std::regex any("a*"); while (std::getline(std::cin, line))
  if (std::regex_match(line, any)) std::cout << line; }
"""
RUST = """use std::collections::HashMap;
trait Shape { fn area(&self) -> f64; }
struct Square(f64);
impl Shape for Square { #[inline(never)] fn area(&self) -> f64 { self.0 * self.0 } }
fn main() {
    let mut seen: HashMap<String, f64> = HashMap::new();
    let mut line = String::new();
    while std::io::stdin().read_line(&mut line).unwrap() > 0 {
        let shape: Box<dyn Shape> = Box::new(Square(line.len() as f64));
        seen.insert(format!("{:?}", line), shape.area());
        line.clear();
    }
    println!("{}", seen.len());
}
"""


def built(work, name, source, command):
    path = os.path.join(work, name)
    with open(path + source[0], "w") as file:
        file.write(source[1])
    done = subprocess.run(command + ["-o", path, path + source[0]], stderr=subprocess.DEVNULL)
    return [path] if done.returncode == 0 else None


def command_of(target, work):
    """What to start, or None; which objects' names are taken, or None of all."""
    if target == "libstdc++":
        return built(work, "cxx", (".cc", CXX), ["g++", "-O1"]), ["libstdc++.so", "cxx"]
    if target == "rust" and shutil.which("rustc"):
        return built(work, "rusty", (".rs", RUST), ["rustc", "-O", "-g"]), ["rusty"]
    if target == "python" and shutil.which("python3"):
        return ["python3", "-c", "import sys; sys.stdin.read()"], None
    if target == "node" and shutil.which("node"):
        return ["node", "-e", "process.stdin.resume()"], None
    if target == "libclang" and shutil.which("python3"):
        code = "import ctypes, sys; ctypes.CDLL('libclang-cpp.so.14'); sys.stdin.read()"
        return ["python3", "-c", code], ["libclang-cpp.so"]
    return None, None


def places(names):
    """"NAME [OBJECT]" as a place is shown, and so that blanks do not matter: {name: place}."""
    text = "\n".join(one[:one.rfind(" [")] for one in names)
    plain = subprocess.run(["c++filt", "-p", "-s", "gnu-v3"], input=text, capture_output=True,
                           text=True, errors="surrogateescape").stdout.split("\n")
    found = {}
    for name, one in zip(plain, names):
        symbol = one[:one.rfind(" [")]
        if HASHED.search(symbol):  # Rust's: dots are not those of a clone
            name = symbol if "." in symbol[:symbol.rfind("17h")] else HASH.sub("", name)
        found[one] = place(name, one[one.rfind(" [") + 2:-1])
    return found


def place(name, file):
    """Demanglers differ in what they call std::istream, and in thunks."""
    name = re.sub(r"\.[a-z]+[.0-9a-z]*$", "", name)
    name = re.sub(r"[ _]|\(\)$", "", name)
    name = re.sub(r"basic([io]+stream)<char,std::chartraits<char>>", r"\1", name)
    name = name.replace("std::basicstring<char,std::chartraits<char>,std::allocator<char>>",
                        "std::string")
    if name.startswith(("transactionclonefor", "non-virtualthunkto", "virtualthunkto")):
        name = name[:name.find("(")] if "(" in name else name
    return name + " " + file


class Target:
    def __init__(self, build, name, work):
        self.patchbay = build + "/bin/patchbay"
        self.name, self.work = name, tempfile.mkdtemp(dir=work)
        command, self.objects = command_of(name, self.work)
        self.process = None
        if not command:
            return
        self.env = dict(os.environ, PATCHBAY_DIR=self.work + "/dir")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            env=dict(self.env, LD_PRELOAD=build + "/lib/libpatchbay.so"))
        self.pid = str(self.process.pid)
        self.wait_for(lambda: self.run("ls", self.pid).returncode == 0)

    def wait_for(self, holds):
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            if holds():
                return True
            time.sleep(0.01)
        return False

    def run(self, *words):
        return subprocess.run([self.patchbay, *words], env=self.env, capture_output=True,
                              text=True, errors="surrogateescape")

    def listed(self):
        """What is listed, "NAME [OBJECT]": symbols, and names as people read them."""
        symbols = [line[:line.rfind(" ")] for line in
                   self.run("list", "functions", "-p", self.pid).stdout.splitlines()
                   if line.endswith((" jump", " short-jump", " int3", " sled"))]
        program = os.path.basename(os.readlink("/proc/%s/exe" % self.pid))
        has_object = re.compile(r" \[[^ ]+\]$").search
        names = [line if has_object(line) else line + " [" + program + "]" for line in
                 self.run("cat", self.pid, "available_filter_functions").stdout.splitlines()]
        every = sorted(set(symbols) | set(names))
        return [one for one in every if "[libpatchbay" not in one and "[[vdso]" not in one]

    def sites(self):
        """The places that are patched."""
        text = self.run("cat", self.pid, "debug/call_sites").stdout
        found = re.findall(r"^0x[0-9a-f]+ \S+ (.*) \[([^\]]*)\](?: .*)?$", text, re.M)
        return {place(*one) for one in found if one[0] not in OWN}

    def missed(self, command, words, wanted):
        """Which of the wanted places this command did not patch, and what it patched besides; None:
        it ended by itself. And what it said."""
        said = open(self.work + "/said", "w+", errors="surrogateescape")
        options = ["-q"] if command == "record" else []
        tool = subprocess.Popen(
            [self.patchbay, command, *options, "-o", self.work + "/" + command, "-p", self.pid,
             *[part for word in words for part in ("-e", word)]],
            env=self.env, stdout=subprocess.DEVNULL, stderr=said)
        self.wait_for(lambda: tool.poll() is not None or self.is_on())
        ended = tool.poll() is not None
        sites = self.sites()
        if not ended:
            tool.send_signal(signal.SIGINT)
        tool.wait()
        said.seek(0)
        text = said.read().strip()
        if ended:
            return None, text
        return sorted(wanted - sites) + ["besides " + one for one in sorted(sites - wanted)], text

    def is_on(self):
        """The command has switched on what it wants."""
        for one in self.run("ls", self.pid, "instances").stdout.split():
            where = "instances/" + one.rstrip("/") + "/set_event"
            if "functions:" in self.run("cat", self.pid, where).stdout:
                return True
        return False

    def end(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            return ["the program ended with %d" % self.process.returncode]
        return []


def check(target, seed, count):
    every = target.listed()
    wanted = [one for one in every if not target.objects or
              any("[" + file in one for file in target.objects)]
    names = random.Random(seed).sample(wanted, min(count, len(wanted)))
    place_of = places(every)
    files = {}  # of each name without parameters
    for one in place_of.values():
        files.setdefault(one[:one.rfind(" ")], set()).add(one)

    def word_of(one):
        name, file = one[:one.rfind(" [")], one[one.rfind(" [") + 2:-1]
        # The dynamic linker has copies of libc's, which nobody means by a plain name.
        is_sole = len(files[place_of[one][:place_of[one].rfind(" ")]]) == 1 or "@0x" in name
        is_sole = is_sole and not file.startswith("ld-linux")
        return name if is_sole else re.sub(r"\.so.*", "", file) + ":" + name
    bad = []

    def say(command, group):
        return target.missed(command, [word_of(one) for one in group],
                             {place_of[one] for one in group})
    for command in ("record", "calls"):
        for begin in range(0, len(names), TOGETHER):
            group = names[begin:begin + TOGETHER]
            if say(command, group)[0] == []:
                continue
            for one in group:  # which of them it is
                missed, said = say(command, [one])
                if missed != []:
                    bad.append("%s -e '%s' (%s): %s" % (
                        command, word_of(one), one,
                        "; ".join(missed) if missed else said.split("\n")[-1]))
    return len(names), bad


def main():
    build, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    targets = sys.argv[4:] or ["libstdc++", "python", "node", "rust", "libclang"]
    status = 0
    with tempfile.TemporaryDirectory() as work:
        for name in targets:
            target = Target(build, name, work)
            if not target.process:
                print(name + ": is not there")
                continue
            number, bad = check(target, seed, count)
            bad += target.end()
            print("%s: %d names of seed %d, %d wrong" % (name, number, seed, len(bad)))
            for one in bad[:MOST_SHOWN]:
                print("  " + one[:2000])
            status |= bool(bad)
    sys.exit(status)


main()
