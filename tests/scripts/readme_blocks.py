#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the blocks of README.md and of pages in docs/, and compares what they print.

    readme_blocks.py PAGE.md... FROM=TO...

Each page has a shell of its own, in which its blocks run in order, as a reader would type them.

A block is a run of lines indented by four blanks, or fenced. Lines that begin with "$ " are
commands; those behind a command are lines of its output, in order, with lines left out. Numbers,
addresses, times and blanks are not compared. A comment before a block says what is special:

    <!-- readme: not run, REASON -->        it cannot be run here
    <!-- readme: lines of FILE -->          it is a quotation; each line stands in FILE
    <!-- readme: interrupted -->            its last command is sent SIGINT after some seconds
    <!-- readme: other output -->           the output depends on the machine: only the exit counts

FROM=TO replace what stands in the commands for something of the reader's. An exit status other than
0 is wrong, unless the block shows an error. Environment: README_CXX is the command that compiles
C++.
"""
import os
import re
import shlex
import subprocess
import sys
import time

MARK = "<<<end of a command>>>"
COMMENT = re.compile(r"<!-- readme: (.*?) -->$")
ERRORS = ("patchbay record:", "bash: ", "parse_error")


def blocks(text):
    """(number of the line, comment, lines) of each block."""
    comment, lines, start, fence = "", [], 0, None
    for number, line in enumerate(text.split("\n") + [""], 1):
        if fence is not None:
            if line.startswith("```"):
                yield start, comment or fence, lines
                fence, lines, comment = None, [], ""
            else:
                lines.append(line)
        elif line.startswith("```"):
            fence, start = line[3:], number
        elif line.startswith("    ") or (lines and not line.strip()):
            start = start if lines else number
            lines.append(line[4:])
        else:
            while lines and not lines[-1]:
                lines.pop()
            if lines:
                yield start, comment, lines
            if lines or line.strip():
                comment = ""
            lines = []
            if found := COMMENT.match(line):
                comment = found.group(1)


def commands(lines):
    """[command, lines of output] of a block; after a backslash or an open quote it goes on."""
    found = []
    for line in lines:
        if found and (found[-1][0].endswith("\\") or found[-1][0].count("'") % 2):
            found[-1][0] += "\n" + line
        elif line.startswith("$ "):
            found.append([line[2:], []])
        elif found:
            found[-1][1].append(line)
    return found


def plain(line):
    line = re.sub(r"\(cpu\d[^)]*\)", "(cpus)", line)
    line = re.sub(r"^bash: line \d+: ", "bash: ", re.sub(r"\|#*$", "|", line))
    line = re.sub(r"\b0x[0-9a-f]+\b|\b[0-9a-f]{6,}\b|\b\d[\d.,]*", "N", line)
    line = re.sub(r"\b[0-9a-f]*\d[0-9a-f]*\b", "N", line)
    line = re.sub(r"\bN (ns|us|ms|s|KB|MB|bytes)(?=\W|$)", "N U", line)
    return " ".join(line.replace("[", " [ ").replace("]", " ] ").replace("(", " ( ").split())


def missing_line(expected, actual):
    """The first line of `expected` that `actual` does not have behind the one before; or None."""
    at = 0
    have = [plain(line) for line in actual]
    for line in expected:
        want = plain(line)
        if want in ("", "..."):
            continue
        is_start = want.endswith("…")
        while at < len(have):
            got = have[at]
            at += 1
            if got == want or (is_start and got.startswith(want[:-1].strip())):
                break
        else:
            return line
    return None


class Shell:
    def __init__(self):
        self.process = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, errors="replace")

    def run(self, command):
        """Exit status and lines of output."""
        self.process.stdin.write(f"{command}\nstatus=$?; echo; echo '{MARK}' $status\n")
        self.process.stdin.flush()
        output = []
        for line in self.process.stdout:
            if line.startswith(MARK):
                return int(line.split()[-1]), output[:-1] if output and not output[-1] else output
            output.append(line.rstrip("\n"))
        return -1, output


def replaced(text, pairs):
    for old, new in pairs:
        text = text.replace(old, new)
    return text


def check_quotation(path, lines):
    """Lines may be broken elsewhere; a blank line or "..." is for what is left out."""
    with open(path, encoding="utf-8") as file:
        source = "".join(file.read().split())
    for part in re.split(r"\n(?:\.\.\.)?\n", "\n".join(lines)):
        if "".join(part.split()) not in source:
            return f"this does not stand in {path}:\n{part}"
    return None


def check_program(lines):
    with open("readme_program.cc", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    words = shlex.split(os.environ["README_CXX"]) + ["readme_program.cc", "-o", "readme_program"]
    compiled = subprocess.run(words, capture_output=True, text=True)
    if compiled.returncode:
        return compiled.stderr
    ran = subprocess.run(["./readme_program"], capture_output=True, text=True, timeout=60)
    return None if ran.returncode == 0 and ran.stdout else f"status {ran.returncode}: {ran.stdout}"


def check_commands(shell, comment, lines, pairs):
    shows_error = any(line.startswith(ERRORS) for line in lines)
    every = commands(lines)
    if not every:
        return "it has no commands, and no comment that says what it is"
    wrong = None
    for command, expected in every:
        typed = replaced(command, pairs)
        if comment == "interrupted" and command == every[-1][0]:
            typed = "timeout -s INT 4 " + typed
        status, output = shell.run(typed)
        home = os.environ["PATCHBAY_DIR"]
        output = [line.replace(home, "/run/patchbay") for line in output]
        missing = None if comment == "other output" else missing_line(expected, output)
        until = time.monotonic() + 20  # a process, or its events, may take a while to be there
        while missing is not None and typed.startswith(("tail ", "grep ", "patchbay ls ")):
            if time.monotonic() > until:
                break
            time.sleep(0.1)
            status, output = shell.run(typed)
            missing = missing_line(expected, output)
        told = f"$ {command}\n" + "\n".join(output[:40])
        if status and not shows_error and comment != "interrupted":
            wrong = wrong or f"status {status}\n{told}"
        if missing is not None:
            wrong = wrong or f"no line of the output is like\n{missing}\n{told}"
    return wrong


def check_block(shell, comment, lines, pairs):
    """None, or what is wrong."""
    if comment.startswith("lines of "):
        return check_quotation(comment[9:], lines)
    if comment == "cpp":
        return check_program(lines)
    return check_commands(shell, comment, lines, pairs)


def check_page(page, pairs):
    """How many of its blocks were run, were not run, and failed."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    name, shell, ran, passed_over, failed = os.path.basename(page), Shell(), 0, 0, 0
    for number, comment, lines in blocks(text):
        if comment.startswith("not run, "):
            passed_over += 1
            print(f"{name}:{number}: not run: {comment[9:]}")
            continue
        ran += 1
        if wrong := check_block(shell, comment, lines, pairs):
            failed += 1
            print(f"FAIL: {name}:{number}: {wrong}")
    print(f"{name}: {ran} blocks have been run, {passed_over} have not; {failed} failed")
    return ran, failed


def main():
    pages = [word for word in sys.argv[1:] if "=" not in word]
    pairs = [word.split("=", 1) for word in sys.argv[1:] if "=" in word]
    counts = [check_page(page, pairs) for page in pages]
    ran, failed = sum(count[0] for count in counts), sum(count[1] for count in counts)
    return 1 if failed or ran < 25 else 0


sys.exit(main())
