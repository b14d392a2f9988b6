#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Damaged debug information: bytes of the .debug_* sections of a program are flipped (seeded), and
# `patchbay probe` is asked about it. It must answer or refuse with a sentence; never crash, never
# hang, never read where nothing is. PATCHBAY_TOOL chooses another tool (one built with ASan).
. "$(dirname "$0")/common.bash"
need python3 gcc g++
tool=${PATCHBAY_TOOL:-$patchbay}
export ASAN_OPTIONS=exitcode=99:detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:exitcode=99
runs=${DAMAGED_RUNS:-500}
seed=${DAMAGED_SEED:-20121}

gcc -g -O2 -gdwarf-5 -o "$work/c" "$here/../programs/source_c.c" || skip "gcc cannot build"
g++ -std=c++17 -g -O0 -gdwarf-4 -o "$work/cxx" "$here/../programs/source_cxx.cc" || skip "no g++"

cat >"$work/damage.py" <<'PYTHON'
import os, random, re, struct, subprocess, sys
tool, runs, seed, work = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
ASKED = {
    "c": [["-V", "members:2"], ["-L", "make_text"], ["-a", "twice value doubled", "-n"],
          ["-a", "scalars $vars", "-n"], ["-F"], ["-a", "source_c.c:60 $vars", "-n"]],
    "cxx": [["-V", "shop::Order::rename:1"], ["-L", "add"], ["-F"],
            ["-a", "shop::Order::add(int):1 name_ base_number", "-n"],
            ["-a", "hidden reference table", "-n"], ["-a", "largest $params", "-n"]],
}

def sections(data):
    start, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3a)
    headers = [struct.unpack_from("<IIQQQQ", data, start + i * size) for i in range(count)]
    strings = headers[names][4]
    for name, _, _, _, offset, length in headers:
        text = data[strings + name:data.index(b"\0", strings + name)].decode()
        if re.match(r"\.debug_|\.eh_frame$|\.symtab$", text) and length:
            yield offset, length

bad = 0
for run in range(runs):
    chance = random.Random(seed + run)
    program = chance.choice(sorted(ASKED))
    with open(os.path.join(work, program), "rb") as file:
        data = bytearray(file.read())
    places = list(sections(data))
    for _ in range(chance.choice((1, 4, 30, 300))):
        offset, length = chance.choice(places)
        byte = chance.choice((0, 0xff, 0x80, chance.randrange(256)))
        data[offset + chance.randrange(length)] = byte
    damaged = os.path.join(work, "damaged")
    with open(damaged, "wb") as file:
        file.write(data)
    words = chance.choice(ASKED[program])
    try:
        command = [tool, "probe", "-x", damaged] + words
        done = subprocess.run(command, capture_output=True, timeout=20)
        status, said = done.returncode, done.stderr
    except subprocess.TimeoutExpired:
        status, said = "no end", b""
    if status not in (0, 1) or (status == 1 and not said):
        bad += 1
        print("run %d (seed %d): %s %s: status %s" % (run, seed, program, words, status))
        print(said.decode(errors="replace")[-600:])
        os.rename(damaged, "%s.bad%d" % (damaged, bad))
print("%d runs, %d bad" % (runs, bad))
sys.exit(bad != 0)
PYTHON
check "the tool survives $runs damaged files" \
  python3 "$work/damage.py" "$tool" "$runs" "$seed" "$work"
finish
