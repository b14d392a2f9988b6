# SPDX-License-Identifier: MIT
"""Programs with random signatures, for call_signatures.sh.

    call_signatures.py SEED COUNT DIRECTORY [COMPILER]

writes DIRECTORY/program.c, whose functions f0, f1, … each print how they were called and what they
return, and DIRECTORY/events, a definition of function_events for each: a whole call. Arguments are
passed in integer registers, in vector registers and on the stack, as they come; among them values
of 16 bytes, and structures by value. COMPILER clang: as clang up to 17 has it, whose __int128 is
split between a register and the stack, no __int128 is where only one register is left."""
import random
import sys

# C type, word of function_events, printf conversion
INTEGERS = [
    ("signed char", "s8", "%hhd", 8, True), ("unsigned char", "u8", "%hhu", 8, False),
    ("short", "short", "%hd", 16, True), ("unsigned short", "u16", "%hu", 16, False),
    ("int", "int", "%d", 32, True), ("unsigned", "u32", "%u", 32, False),
    ("unsigned", "x32", "%x", 32, False), ("long", "long", "%ld", 64, True),
    ("unsigned long", "u64", "%lu", 64, False), ("unsigned long", "x64", "%lx", 64, False),
    ("_Bool", "u8", "%hhu", 1, False), ("enum colour", "int", "%d", 2, False),
]
FLOATS = [("float", "float", "%g"), ("double", "double", "%g")]


WIDE = [("__int128", "s128"), ("unsigned __int128", "u128"), ("unsigned __int128", "x128"),
        ("long double", "long double")]
# Members of structures: C type, word, conversion, size, class
MEMBERS = [("signed char", "s8", "%hhd", 1, "I"), ("unsigned short", "u16", "%hu", 2, "I"),
           ("int", "int", "%d", 4, "I"), ("long", "long", "%ld", 8, "I"),
           ("unsigned long", "x64", "%lx", 8, "I"), ("float", "float", "%g", 4, "V"),
           ("double", "double", "%g", 8, "V"), ("const char *", "string", "%s", 8, "I")]


class Structure:
    """A structure by value, and its class: of each word I or V, or M of memory."""

    def __init__(self, rng, name, may_have_text):
        self.name = name
        members = MEMBERS if may_have_text else MEMBERS[:-1]
        self.members = [rng.choice(members) for _ in range(rng.choice([1, 2, 2, 3, 3, 4, 6]))]
        seen = 0
        for i, one in enumerate(self.members):  # a call keeps few texts
            seen += one[1] == "string"
            if one[1] == "string" and seen > 1:
                self.members[i] = MEMBERS[2]
        at, words = 0, {}
        for one in self.members:
            at = (at + one[3] - 1) // one[3] * one[3]
            words[at // 8] = "I" if words.get(at // 8) == "I" else one[4]
            at += one[3]
        self.where = "M" if at > 16 else "".join(words[i] for i in sorted(words))
        self.texts = sum(one[1] == "string" for one in self.members)

    def definition(self):
        inner = " ".join("%s m%d;" % (one[0], i) for i, one in enumerate(self.members))
        return "struct %s { %s };" % (self.name, inner)

    def word(self):
        return "struct {%s}" % ", ".join("%s m%d" % (one[1], i)
                                         for i, one in enumerate(self.members))

    def literal(self, rng):
        values = []
        for one in self.members:
            if one[1] == "string":
                values.append(literal("text", rng))
            elif one[4] == "V":
                values.append(literal(FLOATS[one[0] == "double"], rng))
            else:
                values.append(integer_literal(rng, one[3] * 8, one[0].find("unsigned") < 0))
        return "(struct %s){%s}" % (self.name, ", ".join(values))

    def formats(self, name):
        return ["%s_m%d=%s" % (name, i, one[2]) for i, one in enumerate(self.members)]

    def values(self, name):
        return ["%s.m%d" % (name, i) for i in range(len(self.members))]


def integer_literal(rng, bits, signed):
    return literal((None, None, None, bits, signed), rng)


def wide_literal(kind, rng):
    if kind[0] == "long double":
        return "%rL" % (rng.randint(-3999, 3999) / 4 + 0.125)
    high, low = integer(rng, 64, kind[0] == "__int128"), integer(rng, 64, False)
    high = "(-9223372036854775807L - 1)" if high == -2 ** 63 else "%d" % high
    sign = "" if kind[0] == "__int128" else "U"
    return "(%s)(((unsigned __int128)(%s%s) << 64) | %dUL)" % (
        kind[0], high, sign if high[0] != "(" else "", low)


def wide_value(kind, name):
    """The printf conversion and its argument."""
    if kind[0] == "long double":
        return "%Lg", name
    if kind[1] == "x128":
        return "%s", "wide(%s, 16, 0)" % name
    return "%s", "wide((unsigned __int128)%s, 10, %d)" % (name, kind[0] == "__int128")


WIDE_SOURCE = """static const char *wide(unsigned __int128 value, unsigned base, int is_signed) {
  static char text[16][48];
  static unsigned next;
  char *at = text[next++ % 16] + 47;
  int minus = is_signed && (__int128)value < 0;
  if (minus) value = -value;
  do *--at = "0123456789abcdef"[value % base]; while (value /= base);
  if (minus) *--at = '-';
  return at;
}"""


class Registers:
    """What arguments have taken, to say where an __int128 would go."""

    def __init__(self):
        self.integer = self.vector = 0

    def take(self, where):
        integer, vector = where.count("I"), where.count("V")
        if where != "M" and self.integer + integer <= 6 and self.vector + vector <= 8:
            self.integer += integer
            self.vector += vector

    def is_split(self):
        return self.integer >= 5


def integer(rng, bits, signed):
    if bits < 8:
        return rng.randrange(2 ** bits)
    low, high = (-2 ** (bits - 1), 2 ** (bits - 1) - 1) if signed else (0, 2 ** bits - 1)
    value = rng.choice([low, high, 0, 1, rng.randint(low, high)])
    return value


def literal(kind, rng):
    """A value as C writes it."""
    if kind == "text":
        return '"%s"' % "".join(rng.choice("abc xyz/09") for _ in range(rng.randrange(12)))
    if kind in FLOATS:
        return "%gf" % (rng.randint(-3999, 3999) / 4 + 0.125) if kind[0] == "float" else \
            "%r" % (rng.randint(-3999, 3999) / 4 + 0.125)
    _, _, _, bits, signed = kind
    value = integer(rng, bits, signed)
    if value == -2 ** 63:
        return "(-9223372036854775807L - 1)"
    return "%d%s" % (value, "UL" if not signed else "L")


def pick(rng):
    return rng.choice([rng.choice(INTEGERS), rng.choice(INTEGERS), rng.choice(FLOATS), "text",
                       "pointee", "structure", rng.choice(WIDE)])


def main():
    seed, count, where = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    is_clang = sys.argv[4:] == ["clang"]
    rng = random.Random(seed)
    source = ["#include <stdio.h>", "enum colour { RED, GREEN, BLUE, WHITE };",
              "#define TRACED __attribute__((noinline%s))" % ("" if is_clang else ", noclone"),
              WIDE_SOURCE]
    calls, events = [], []
    for number in range(count):
        parameters, words, formats, values, given = [], [], [], [], []
        texts, taken = 0, Registers()
        result = rng.choice([rng.choice(INTEGERS), rng.choice(FLOATS), "text", "void", "structure",
                             rng.choice(WIDE)])
        if result == "structure":
            result = Structure(rng, "r%d" % number, False)
            source.append(result.definition())
            taken.integer = result.where == "M"
        for i in range(rng.randrange(15)):
            kind, name = pick(rng), "p%d" % i
            if kind == "text" and texts == 3:
                kind = "pointee"  # a call keeps three texts
            if kind in WIDE and kind[0] != "long double" and is_clang and taken.is_split():
                kind = "pointee"
            texts += kind == "text"
            if kind == "structure":
                kind = Structure(rng, "s%d_%d" % (number, i), texts < 3)
                texts += kind.texts
                source.append(kind.definition())
                parameters.append("struct %s %s" % (kind.name, name))
                words.append("%s %s" % (kind.word(), name))
                formats += kind.formats(name)
                values += kind.values(name)
                given.append(kind.literal(rng))
                taken.take(kind.where)
            elif kind in WIDE:
                parameters.append("%s %s" % (kind[0], name))
                words.append("%s %s" % (kind[1], name))
                conversion, value = wide_value(kind, name)
                formats.append(name + "=" + conversion)
                values.append(value)
                given.append(wide_literal(kind, rng))
                taken.take("M" if kind[0] == "long double" else "II")
            elif kind == "text":
                taken.take("I")
                parameters.append("const char *" + name)
                words.append("string " + name)
                formats.append(name + "=%s")
                values.append(name)
                given.append(literal(kind, rng))
            elif kind == "pointee":
                taken.take("I")
                parameters.append("const int *" + name)
                words.append("int %s[1]" % name)
                formats.append(name + "=%d")
                values.append(name + "[1]")
                given.append("(const int[]){7, %d}" % integer(rng, 32, True))
            else:
                taken.take("V" if kind in FLOATS else "I")
                parameters.append("%s %s" % (kind[0], name))
                words.append("%s %s" % (kind[1], name))
                formats.append(name + "=" + kind[2])
                values.append(name)
                given.append(literal(kind, rng))
        name = "f%d" % number
        if result == "void":
            c_type, heading, line_end, returned = "void", "void", "", ""
        elif result == "text":
            c_type, heading, line_end = "const char *", "string r", " r=%s"
            returned = literal(result, rng)
        elif isinstance(result, Structure):
            c_type, heading = "struct " + result.name, result.word() + " r"
            line_end = " " + " ".join(result.formats("r"))
            returned = result.literal(rng)
        elif result in WIDE:
            c_type, heading = result[0], result[1] + " r"
            line_end = " r=" + wide_value(result, "r")[0]
            returned = wide_literal(result, rng)
        else:
            c_type, heading, line_end = result[0], result[1] + " r", " r=" + result[2]
            returned = literal(result, rng)
        source.append("TRACED %s %s(%s) {" % (c_type, name, ", ".join(parameters) or "void"))
        if returned:
            source.append("  %s r = %s;" % (c_type, returned))
            if isinstance(result, Structure):
                values += result.values("r")
            else:
                values.append(wide_value(result, "r")[1] if result in WIDE else "r")
        source.append('  printf("%s(%s)%s\\n"%s);' % (name, ", ".join(formats), line_end,
                                                    "".join(", " + one for one in values)))
        if returned:
            source.append("  return r;")
        source.append("}")
        calls.append("  %s(%s);" % (name, ", ".join(given)))
        events.append("%s = %s(%s)" % (heading, name, ", ".join(words)))
    source += ["int main(void) {"] + calls + ["  return 0;", "}", ""]
    with open(where + "/program.c", "w", encoding="ascii") as out:
        out.write("\n".join(source))
    with open(where + "/events", "w", encoding="ascii") as out:
        out.write("\n".join(events) + "\n")


main()
