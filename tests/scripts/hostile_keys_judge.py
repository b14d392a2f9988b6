#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether a table has what tests/programs/hostile_keys has said, each as often, and nothing else.

hostile_keys_judge.py json|text|latency|page SAID TABLE [LABEL=VALUE]
Prints what is wrong; nothing when all is right.
"""
import collections
import json
import re
import sys

MOST = 255  # bytes of a key
FAMILY = "patchbay_functions_take_hits_total"


def said(path):
    texts = collections.Counter()
    with open(path, encoding="ascii") as lines:
        for line in lines:
            text, _, calls = line.rstrip("\n").partition(" ")
            if calls:
                texts[bytes.fromhex(text)] += int(calls)
    return texts


def cut(text):
    return text[:MOST] + (b"..." if len(text) > MOST else b"")


def pieces(text, has_c1=False):
    """Characters; and the bytes that are of none, as numbers."""
    for char in text.decode("utf-8", "surrogateescape"):
        code = ord(char)
        if 0xDC80 <= code <= 0xDCFF:
            yield code - 0xDC00
        elif 0x80 <= code < 0xA0 and not has_c1:
            yield from char.encode()
        else:
            yield char


def in_json(text):
    return "".join(piece if isinstance(piece, str) else "\ufffd" for piece in pieces(cut(text)))


def in_label(text):
    """What is long ends in its hash."""
    value = b""
    for piece in pieces(cut(text), True):
        code = piece if isinstance(piece, int) else ord(piece)
        is_shown = isinstance(piece, str) and (code == 10 or (code >= 32 and code != 127))
        shown = piece.encode() if is_shown else f"\\x{code:02x}".encode()
        if len(value) + len(shown) > 200:
            fnv = 0xCBF29CE484222325
            for byte in cut(text):
                fnv = (fnv ^ byte) * 0x100000001B3 & (2**64 - 1)
            return value.decode() + f"~{fnv:#x}"
        value += shown
    return value.decode()


def expected(texts, form):
    counted = collections.Counter()
    for text, calls in texts.items():
        counted[form(text)] += calls
    return counted


def of_json(path):
    found = collections.Counter()
    with open(path, encoding="utf-8") as file:
        table = json.load(file)
    for entry in table["entries"]:
        found[entry["keys"]["s"]] += entry["values"]["hitcount"]
    total = sum(found.values())
    if table["hits"] != total or table["nr_entries"] != len(table["entries"]):
        print("totals:", table["hits"], table["nr_entries"], "entries have", total)
    return found


def of_latency(path):
    found = collections.Counter()
    with open(path, encoding="utf-8") as file:
        for one in json.load(file)["distributions"]:
            found[one["by"]] += one["hits"]
            if sum(bar["hits"] for bar in one["bars"]) != one["hits"]:
                print("bars of", one["by"])
    return found


def of_page(path, label):
    found = collections.Counter()
    sample = re.compile(r'([a-zA-Z_:][\w:]*)(?:\{((?:\w+="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+)')
    name, value = label.split("=")
    with open(path, encoding="utf-8", newline="\n") as lines:
        for line in lines:
            line = line.rstrip("\n")
            match = sample.fullmatch(line)
            if not match and not line.startswith("#"):
                print("no sample:", line)
            if not match or match[1] != FAMILY:
                continue
            labels = {key: re.sub(r"\\(.)", lambda c: "\n" if c[1] == "n" else c[1], text)
                      for key, text in re.findall(r'(\w+)="((?:[^"\\\n]|\\.)*)"', match[2])}
            if labels[name] == value:
                found[labels["s"]] += int(match[3])
    return found


def of_text(path, texts):
    """A row is one line, whatever its key is: as many as there are texts, with all of the hits."""
    with open(path, encoding="utf-8", newline="\n") as file:
        rows = [line for line in file if line.startswith("{ ")]
    hits = sum(int(row.rpartition("} hitcount:")[2]) for row in rows)
    if len(rows) != len({text[:MOST] + bytes(len(text) > MOST) for text in texts}):
        print("rows:", len(rows))
    if hits != sum(texts.values()):
        print("hits:", hits, "and not", sum(texts.values()))


def main():
    form, texts = sys.argv[1], said(sys.argv[2])
    if form == "text":
        return of_text(sys.argv[3], texts)
    if form in ("json", "latency"):
        found = of_json(sys.argv[3]) if form == "json" else of_latency(sys.argv[3])
        wanted = expected(texts, in_json)
    else:
        found, wanted = of_page(sys.argv[3], sys.argv[4]), expected(texts, in_label)
    for text in (found | wanted):
        if found[text] != wanted[text]:
            print(repr(text), "is there", found[text], "times and not", wanted[text])
    return None


main()
