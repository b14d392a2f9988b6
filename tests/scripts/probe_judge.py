# SPDX-License-Identifier: MIT
"""gdb as judge of what `patchbay probe` derives; run inside gdb by probe_source.sh:

    PROBES=FILE gdb -q -batch -x probe_judge.py PROGRAM

FILE has one derived definition a line, each with the expressions that its arguments stand for:

    p:group/event lib:symbol+18 n=-20(%bp):s32<TAB>n=item->n

At each place the fetch texts are evaluated over registers and memory as the agent would do it, and
compared with what gdb prints for the expression. Prints each difference, and the numbers of values
that agree and that gdb itself calls optimized out.
"""
import os
import re
import struct

import gdb

REGISTERS = {"ax": "rax", "dx": "rdx", "cx": "rcx", "bx": "rbx", "si": "rsi", "di": "rdi",
             "bp": "rbp", "sp": "rsp", "ip": "rip"}
HITS = 3  # looked at, of each place
messages = set()
counts = {"same": 0, "different": 0, "gdb does not know": 0}


def symbols(path):
    text = os.popen("nm '%s'" % path).read()
    return {f[2]: int(f[0], 16) for f in (line.split() for line in text.splitlines())
            if len(f) == 3}


def register(name):
    name = REGISTERS.get(name, name)
    if name.startswith("xmm"):
        return int(gdb.parse_and_eval("$%s.v2_int64[0]" % name)) & (1 << 64) - 1
    return int(gdb.parse_and_eval("$" + name).cast(gdb.lookup_type("unsigned long")))


def memory(address, size):
    return bytes(gdb.selected_inferior().read_memory(address & (1 << 64) - 1, size))


def split(fetch):
    """The address whose memory is meant, or the value: ("memory", a) or ("value", v)."""
    match = re.fullmatch(r"([+-])(\d+)\((.*)\)", fetch)
    if match:
        inner, value = split(match.group(3))
        if inner == "memory":
            value = struct.unpack("<Q", memory(value, 8))[0]
        offset = int(match.group(2))
        return "memory", value + (offset if match.group(1) == "+" else -offset)
    if fetch.startswith("%"):
        return "value", register(fetch[1:])
    if fetch.startswith("\\"):
        return "value", int(fetch[1:])
    match = re.fullmatch(r"@([^+]+)(?:\+(\d+))?", fetch)
    if match:
        return "memory", SYMBOLS[match.group(1)] + int(match.group(2) or 0)
    raise gdb.GdbError("cannot evaluate " + fetch)


def cut(value, bits, signed):
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> bits - 1 else value


def fetched(fetch, kind):
    where, value = split(fetch)
    if kind.startswith("string"):
        most = int(kind[7:] or 1 << 20)
        text = b""
        while len(text) < most and (byte := memory(value + len(text), 1)) != b"\0":
            text += byte
        return text.decode("latin-1")
    kind = {"float": "x32", "double": "x64"}.get(kind, kind)
    field = re.fullmatch(r"b(\d+)@(\d+)/(\d+)", kind)
    bits = 8 if kind == "char" else int(field.group(3)) if field else int(kind[1:])
    if where == "memory":
        value = int.from_bytes(memory(value, bits // 8), "little")
    if field:
        return cut(value >> int(field.group(2)), int(field.group(1)), False)
    return cut(value, bits, kind[0] == "s" or kind == "char")


def by_gdb(expression, kind):
    value = gdb.parse_and_eval(expression)
    if value.is_optimized_out:
        return None
    target = value.type.strip_typedefs()
    if target.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        value = value.referenced_value()
        target = value.type.strip_typedefs()
    if kind.startswith("string"):
        if "basic_string" in str(target):
            member = "_M_str" if "view" in str(target) else "_M_dataplus"
            value = value[member] if member == "_M_str" else value[member]["_M_p"]
        return value.string("latin-1")
    if target.code == gdb.TYPE_CODE_FLT:
        return int.from_bytes(struct.pack("<d" if target.sizeof == 8 else "<f", float(value)),
                              "little")
    field = re.match(r"b(\d+)@", kind)
    bits = int(field.group(1)) if field else 8 if kind == "char" else int(kind[1:])
    return cut(int(value), bits, not field and (kind[0] == "s" or kind == "char"))


class Place(gdb.Breakpoint):
    def __init__(self, address, name, arguments):
        super().__init__("*%d" % address, internal=True)
        self.silent = True
        self.name, self.arguments, self.hits = name, arguments, 0

    def stop(self):
        self.hits += 1
        if self.hits > HITS:
            return False
        for fetch, kind, expression in self.arguments:
            self.compare(fetch, kind, expression)
        return False

    def compare(self, fetch, kind, expression):
        try:
            theirs = by_gdb(expression, kind)
        except gdb.error as error:
            theirs = None
            if "No symbol" in str(error):
                messages.add("gdb: %s at %s: %s" % (expression, self.name, error))
        if theirs is None:
            counts["gdb does not know"] += 1
            return
        try:
            ours = fetched(fetch, kind)
        except (gdb.error, KeyError) as error:
            ours = error
        counts["same" if ours == theirs else "different"] += 1
        if ours != theirs:
            messages.add("DIFFERENT: %s %s as %s:%s is %r, gdb says %r"
                         % (self.name, expression, fetch, kind, ours, theirs))


def read_probes():
    with open(os.environ["PROBES"], encoding="utf-8") as lines:
        for line in lines:
            definition, _, expressions = line.rstrip("\n").partition("\t")
            names = dict(word.split("=", 1) for word in expressions.split())
            words = definition.split()
            symbol, _, offset = words[1].split(":", 1)[1].partition("+")
            if symbol not in SYMBOLS:
                continue  # PATH:0xOFFSET, where no symbol has the name alone
            arguments = []
            for word in words[2:]:
                name, _, rest = word.partition("=")
                fetch, _, kind = rest.rpartition(":")
                if "[" not in kind:
                    arguments.append((fetch, kind, names.get(name, name)))
            Place(SYMBOLS[symbol] + int(offset or 0), words[1], arguments)


gdb.execute("set pagination off")
gdb.execute("set print inferior-events off")
SYMBOLS = symbols(gdb.current_progspace().filename)
read_probes()
gdb.execute("run >/dev/null", to_string=True)
for message in sorted(messages):
    print(message)
print("judged: %(same)d same, %(different)d different, %(gdb does not know)d unknown to gdb"
      % counts)
