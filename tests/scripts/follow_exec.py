# SPDX-License-Identifier: MIT
"""Which programs were executed: by strace, by a recording, and where the two differ.

  follow_exec.py strace PREFIX              the files of strace -ff -xx -y -e execve,execveat
  follow_exec.py recorded FILE              a trace.dat
  follow_exec.py compare PREFIX FILE        prints what only one of them has; nothing: they agree

A line is the program's file behind its scripts' interpreters, a tab, and its words. Numbers and
the names of temporary files are the same in all runs. What was executed and not followed is in a
recording by its path alone.
"""
import collections
import glob
import os
import re
import sys

# The texts of ProcessImages::text() (src/trace_dat/process_images.cc).
ESCAPES = {"t": "\t", "n": "\n"}
CALL = re.compile(r'^(execve\(|execveat\((\S+?)(?:<(.*?)>)?, )"((?:\\x..)*)", \[(.*?)\], ')
DONE = re.compile(r"(\) += 0|<pid changed to \d+ \.\.\.>)$")
WORD = re.compile(r'"((?:\\x..)*)"')


def plain(hexadecimal):
    return bytes.fromhex(hexadecimal.replace("\\x", "")).decode(errors="replace")


def same_in_all_runs(text):
    text = re.sub(r"/tmp/cc[A-Za-z0-9]{6}", "/tmp/cc", text)
    return re.sub(r"[0-9]+", "0", re.sub(r"\s", " ", text))


def behind_scripts(path, words):
    """The ELF file that the kernel loads for a path, and its words."""
    for _ in range(6):
        try:
            with open(path, "rb") as file:
                head = file.read(256)
        except OSError:
            break
        if not head.startswith(b"#!"):
            break
        line = head[2:].split(b"\n")[0].decode().strip().split(None, 1)
        words = line + [path] + words[1:]
        path = line[0]
    return path if path.startswith("/proc/self/") else os.path.realpath(path), words


def executed(prefix):
    """(file, words) of each exec that has not failed."""
    for file, words in calls(prefix):
        yield first_file(prefix) if file.startswith("/proc/") else file, words


def first_file(prefix):
    """What a process of exec_ways calls /proc/self/exe: the one program that has done so."""
    files = [file for file, _ in calls(prefix) if file.endswith("/exec_ways")]
    return files[0] if files else "/proc/self/exe"


def calls(prefix):
    for name in glob.glob(prefix + ".*"):
        with open(name, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                call = CALL.match(line)
                if not call or not DONE.search(line.rstrip("\n")):
                    continue
                folder, path = call.group(3), plain(call.group(4))
                if folder and "\\x" in folder:
                    folder = plain(folder)
                if folder and not path.startswith("/"):
                    path = os.path.join(folder, path).rstrip("/")
                yield behind_scripts(path, [plain(word) for word in WORD.findall(call.group(5))])


def unescaped(word):
    return re.sub(r"\\(.)", lambda m: ESCAPES.get(m.group(1), m.group(1)), word, flags=re.S)


def recorded(path):
    """([(file, words)], [path of what was not followed]) of a merged trace.dat."""
    with open(path, "rb") as file:
        data = file.read()
    begin = data.find(b"image\t")
    text = data[begin : data.find(b"\0", begin)].decode(errors="replace") if begin >= 0 else ""
    images, skipped = [], []
    for line in re.split(r"(?<!\\)\n", text):
        kind, *words = re.split(r"(?<!\\)\t", line)
        if kind == "image":
            images.append(["", []])
        elif kind == "exe":
            images[-1][0] = unescaped(words[0])
        elif kind == "word":
            images[-1][1].append(unescaped(words[0]))
        elif kind == "skipped":
            skipped.append(unescaped(words[2]))
    return images, skipped


def line_of(program):
    return same_in_all_runs(program[0]) + "\t" + same_in_all_runs(" ".join(program[1]))


def compare(prefix, path):
    by_strace = collections.Counter(line_of(program) for program in executed(prefix))
    images, skipped = recorded(path)
    if not images and not skipped and sum(by_strace.values()) == 1:
        return  # a program that executes nothing: its file does not list programs
    by_us = collections.Counter(line_of(program) for program in images)
    for one in skipped:  # stands for any exec of this file that is not among the images
        file = same_in_all_runs(behind_scripts(one, [])[0])
        missing = [line for line in by_strace - by_us if line.split("\t")[0] == file]
        by_us[missing[0] if missing else file + "\tskipped"] += 1
    for line, count in sorted((by_strace - by_us).items()):
        print(f"only strace has {count} x {line}")
    for line, count in sorted((by_us - by_strace).items()):
        print(f"only the recording has {count} x {line}")
    if not by_strace:
        print("strace has seen nothing")


def main():
    what, *paths = sys.argv[1:]
    if what == "compare":
        compare(*paths)
    elif what == "strace":
        print("\n".join(sorted(line_of(program) for program in executed(*paths))))
    else:
        images, skipped = recorded(*paths)
        print("\n".join(sorted(line_of(program) for program in images) + sorted(skipped)))


main()
