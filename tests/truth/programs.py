# SPDX-License-Identifier: MIT
"""Programs that know their own truth: what each of their functions is given at each call.

A program is made of a seed. Its functions are those that optimizers change: local ones of one name
in several files, parameters that are the same at each call or that nobody reads, structures in
registers, more arguments than registers. No function writes down what it was given, because that
would keep it alive: the generator writes the callers, and so it knows.

A value is one of: int, float, bool, Char, str, Enum, Pointer, and a list of (member, value).
"""
import random
from dataclasses import dataclass, field
from typing import Any

COLORS = {'kRed': 0, 'kGreen': 5, 'kNone': -3}
WORDS = ['ab', 'rope', 'seven', 'a long text with blanks', 'x']
NAMESAKES = ['helper', 'parse', 'init', 'usage']


class Char(str):
    """One character, and not a text of one."""


class Enum(str):
    """An enumerator's name."""


class Pointer(int):
    """An address that nobody reads from."""


ADDRESS = 'any address'  # the value of `this`


def whole(low, high):
    return lambda rng: rng.choice([rng.randint(low, high), low, high, rng.randint(0, 99)])


def quarter(rng):
    return rng.randint(-4000, 4000) / 4


# The scalar types: C's name, and what makes a value.
SCALARS = {
    'int': whole(-2**31 + 1, 2**31 - 1), 'unsigned': whole(0, 2**32 - 1),
    'short': whole(-2**15, 2**15 - 1), 'unsigned short': whole(0, 2**16 - 1),
    'signed char': whole(-128, 127), 'unsigned char': whole(0, 255),
    'long': whole(-2**63 + 1, 2**63 - 1), 'unsigned long': whole(0, 2**64 - 1),
    'bool': lambda rng: rng.random() < 0.5, 'char': lambda rng: Char(rng.choice('abcxyz')),
    'float': quarter, 'double': quarter, 'enum color': lambda rng: Enum(rng.choice(list(COLORS))),
    'const char *': lambda rng: rng.choice(WORDS),
    'void *': lambda rng: Pointer(rng.randint(1, 2**40)),
}
IN_STRUCTS = [name for name in SCALARS if '*' not in name]
SCALARS |= {'long double': quarter, '__int128': SCALARS['long']}
REFERENCES = {'const int &': SCALARS['int'], 'const double &': quarter}
TEXT = 'const std::string &'
REFERENCES[TEXT] = SCALARS['const char *']


def literal(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Char):
        return f"'{value}'"
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, Pointer):
        return f'(void *){hex(value)}'
    if isinstance(value, int) and abs(value) >= 2**31:
        return f'{value}L' if value < 2**63 else f'{value}UL'
    return str(value)


def name_of(type_):
    if isinstance(type_, Reference):
        return f'const struct {type_.name} &'
    return f'struct {type_.name}' if isinstance(type_, Struct) else type_


@dataclass
class Struct:
    name: str
    members: list  # (type, name)

    def declared(self):
        inside = ' '.join(f'{name_of(type_)} {name};' for type_, name in self.members)
        return f'struct {self.name} {{ {inside} }};'


class Reference(Struct):
    """A structure that a reference is passed of."""


@dataclass
class Parameter:
    type: Any  # a name of SCALARS, or a Struct
    name: str
    uses: list = field(default_factory=list)  # expressions that the function's body reads
    constant: Any = None                      # the value at all calls
    is_behind_address: bool = False           # as Fortran passes what has no `value`

    def type_name(self):
        return name_of(self.type)

    def is_reference(self):
        return (isinstance(self.type, Reference) or self.type in list(REFERENCES)
                or self.is_behind_address)


@dataclass
class Function:
    name: str          # as a person writes it
    number: int
    file: int
    is_static: bool
    parameters: list
    result: Any        # None: void
    result_value: Any = None
    is_old_style: bool = False
    # Or of C++: template, method, constructor (of a class with a virtual base).
    kind: str = 'function'
    calls: list = field(default_factory=list)  # lists of values

    def all_parameters(self):
        hidden = [Parameter('', 'this')] if self.kind in ('method', 'constructor') else []
        return hidden + self.parameters


@dataclass
class Program:
    files: dict      # name -> text
    truth: dict      # name -> [(values, function)]: its calls, in their order


class Maker:
    def __init__(self, seed, language):
        self.rng = random.Random(seed)
        self.language = language
        self.structs = []
        for i in range(4):
            self.structs.append(self.struct(i))
        self.sources = 0
        self.functions = [self.function(i) for i in range(self.rng.randint(8, 16))]

    def struct(self, number):
        members = [(self.rng.choice(IN_STRUCTS), f'm{i}') for i in range(self.rng.randint(1, 6))]
        if number > 1 and self.rng.random() < 0.4:
            members.append((self.structs[number - 2], 'in'))
        return Struct(f'S{number}', members)

    def value(self, type_):
        if isinstance(type_, Struct):
            return [(name, self.value(member)) for member, name in type_.members]
        return (SCALARS | REFERENCES)[type_](self.rng)

    def read_of(self, type_, name, likely=0.5):
        """Expressions that read a value: of a structure, some of its members."""
        if isinstance(type_, Struct):
            picked = [m for m in type_.members if self.rng.random() < likely]
            return [use for member, m in picked for use in self.read_of(member, f'{name}.{m}')]
        if type_ == TEXT:
            return [f'{name}[0]'] if self.rng.random() < 0.5 else [f'(long){name}.size()']
        if type_ == '__int128':
            return [f'(long){name}', f'(long)({name} >> 64)']
        return [f'{name}[0]' if type_ == 'const char *' else f'(long){name}']

    def any_type(self, is_result=False):
        if self.language == 'c++' and not is_result and self.rng.random() < 0.08:
            return self.rng.choice(list(REFERENCES))
        if self.language == 'c++' and not is_result and self.rng.random() < 0.08:
            picked = self.rng.choice(self.structs)
            return Reference(picked.name, picked.members)
        return self.rng.choice(self.structs if self.rng.random() < 0.25 else list(SCALARS))

    def function(self, number):
        rng = self.rng
        is_static = rng.random() < 0.7
        name = f'f{number}'
        f = Function(name, number, rng.randint(0, 1), is_static, [],
                     None if rng.random() < 0.25 else self.any_type(is_result=True))
        taken = [g.name for g in getattr(self, 'functions_so_far', []) if g.file == f.file]
        if is_static and rng.random() < 0.4:
            f.name = rng.choice([n for n in NAMESAKES if n not in taken] or [name])
        self.functions_so_far = getattr(self, 'functions_so_far', []) + [f]
        if self.language == 'c++':
            f.kind = rng.choice(['function', 'function', 'template', 'method', 'constructor'])
        if f.kind in ('method', 'constructor'):
            f.name, f.is_static = f'C{number}::{name}', False
        elif f.kind == 'template':
            f.name = name
        if f.kind == 'constructor':
            f.name, f.result = f'C{number}::C{number}', None
        for i in range(rng.choice([0, 1, 2, 3, 3, 4, 5, 7, 11])):
            p = Parameter(self.any_type(), f'p{i}')
            if rng.random() < 0.6:
                p.uses = self.read_of(p.type, p.name)
            if rng.random() < 0.3:
                p.constant = self.value(p.type)
            f.parameters.append(p)
        if f.result is not None:
            f.result_value = self.value(f.result)
        if self.language == 'c':
            f.is_old_style = rng.random() < 0.1 and f.parameters != []
        f.calls = [[self.value(p.type) if p.constant is None else p.constant for p in f.parameters]
                   for _ in range(rng.choice([0, 1, 2, 3, 3]) )]
        return f

    def source(self, lines, type_, value):
        """An expression whose value only the running program knows."""
        if isinstance(type_, Struct):
            inside = [self.source(lines, member, v) for (member, _), (_, v)
                      in zip(type_.members, value)]
            return self.made(type_, inside)
        self.sources += 1
        if type_ in REFERENCES:
            plain = 'const char *' if type_ == TEXT else type_.split()[1]
            lines.append(f'static {plain} volatile v{self.sources} = {literal(value)};')
            name = f'v{self.sources}'
            return f'std::string{{{name}}}' if type_ == TEXT else f'({plain}){name}'
        lines.append(f'static {type_} volatile v{self.sources} = {literal(value)};')
        return f'v{self.sources}'

    def made(self, type_, inside):
        begin = type_.name if self.language == 'c++' else f'(struct {type_.name})'
        return f'{begin}{{ {", ".join(inside)} }}'

    def constant(self, type_, value):
        if isinstance(type_, Struct):
            return self.made(type_, [
                self.constant(member, v) if isinstance(member, Struct)
                else f'({member}){literal(v)}'
                for (member, _), (_, v) in zip(type_.members, value)])
        # A function of the old style is given what the caller's expression is.
        return f'({type_}){literal(value)}' if self.language == 'c' else literal(value)

    def definition(self, f, lines):
        result = 'void' if f.result is None else name_of(f.result)
        head = ('static ' if f.is_static else '') + f'__attribute__((noinline)) {result} {f.name}'
        typed = [f'{p.type_name()} {p.name}' for p in f.parameters]
        if f.kind == 'template':
            head = 'template <typename T> ' + head
            if typed:
                typed[0] = 'T p0'
        elif f.kind != 'function':
            base, own = ('', result) if f.kind == 'method' else (' : virtual Base', '')
            owner, short = f.name.split('::')
            head = f'{own} {f.name}'
            inside = f'__attribute__((noinline)) {own} {short}({", ".join(typed)});'
            lines.append(f'struct {owner}{base} {{ {inside} }};')
        body = [f'sink = {f.number + 1000};']
        body += [f'sink = {use};' for p in f.parameters for use in p.uses]
        if f.result is not None:
            is_constant = self.rng.random() < 0.3
            make = self.constant if is_constant else lambda *what: self.source(lines, *what)
            body.append(f'return {make(f.result, f.result_value)};')
        if f.is_old_style:
            lines.append(f'{head}({", ".join(p.name for p in f.parameters)}) '
                         + ' '.join(t + ';' for t in typed))
        else:
            lines.append(f'{head}({", ".join(typed) or "void"})')
        lines.append('{ ' + ' '.join(body) + ' }')

    def call(self, f, values, lines):
        arguments = [self.constant(p.type, v) if p.constant is not None else
                     self.source(lines, p.type, v) for p, v in zip(f.parameters, values)]
        text = f'({", ".join(arguments)});'
        if f.kind == 'constructor':
            return self.construct(f, text if arguments else ';', lines)
        if f.kind == 'method':
            text = f'{f.name.split("::")[0]}().{f.name.split("::")[1]}{text}'
        elif f.kind == 'template':
            text = f'{f.name}<{f.parameters[0].type_name() if f.parameters else "int"}>{text}'
        else:
            text = f.name + text
        is_read = f.result is not None and self.rng.random() < 0.6
        if is_read:
            uses = self.read_of(f.result, 'r', likely=1)
            reads = ' '.join(f'sink = {use};' for use in uses)
            text = f'{{ {name_of(f.result)} r = {text} {reads} }}'
        return '  ' + text

    def construct(self, f, arguments, lines):
        """Constructs an object, or one of a class that is derived from its class."""
        owner = f.name.split('::')[0]
        if self.rng.random() < 0.5:
            return f'  {{ {owner} object{arguments} }}'
        self.sources += 1
        given = arguments.rstrip(';') or '()'
        derived = f'D{self.sources}'
        lines.append(f'struct {derived} : {owner} {{ {derived}() : {owner}{given} {{}} }};')
        return f'  {{ {derived} object; }}'

    def program(self):
        suffix = 'cc' if self.language == 'c++' else 'c'
        files = {'t.h': '\n'.join(
            ['#include <stdbool.h>']
            + ['#include <string>'] * any(p.type == TEXT for f in self.functions
                                          for p in f.parameters)
            + ['extern volatile long sink;',
               'enum color { %s };' % ', '.join(f'{k} = {v}' for k, v in COLORS.items())]
            + [s.declared() for s in self.structs]
            + ['struct Base { long base = 1; };'] * (self.language == 'c++')) + '\n'}
        truth = {}
        for number, file in enumerate('ab'):
            mine = [f for f in self.functions if f.file == number]
            lines, calls = ['#include "t.h"'], []
            for f in mine:
                self.definition(f, lines)
            order = [(f, values) for f in mine for values in f.calls]
            self.rng.shuffle(order)
            for f, values in order:
                calls.append(self.call(f, values, lines))
                hidden = [ADDRESS] * (len(f.all_parameters()) - len(values))
                truth.setdefault(f.name, []).append((hidden + values, f))
            for f in mine:
                truth.setdefault(f.name, [])
            files[f'{file}.{suffix}'] = '\n'.join(
                lines + [f'void drive_{file}(void)', '{', *calls, '}']) + '\n'
        files[f'main.{suffix}'] = ('#include "t.h"\nvolatile long sink;\nvoid drive_a(void);\n'
                                   'void drive_b(void);\nint main(void)\n{\n  drive_a();\n'
                                   '  drive_b();\n}\n')
        return Program(files, truth)


RUST = {'int': 'i32', 'unsigned': 'u32', 'short': 'i16', 'unsigned short': 'u16',
        'signed char': 'i8', 'unsigned char': 'u8', 'long': 'i64', 'unsigned long': 'u64',
        'bool': 'bool', 'float': 'f32', 'double': 'f64', 'const char *': "&'static str"}
RUST_HEAD = """static mut SINK: i64 = 0;
fn sink(x: i64) { unsafe { std::ptr::write_volatile(&raw mut SINK, x) } }
fn hide<T: Copy>(x: T) -> T { unsafe { std::ptr::read_volatile(&x) } }
"""


class RustMaker(Maker):
    """One file, plain types: what it makes of them is all its own."""

    def any_type(self, is_result=False):
        return self.rng.choice(list(RUST))

    def function(self, number):
        f = super().function(number)
        f.name, f.is_static, f.is_old_style = f'main::f{number}', True, False
        if f.result == 'const char *':  # is shown as the pair that it is
            f.result, f.result_value = 'long', self.value('long')
        return f

    def read_of(self, type_, name, likely=0.5):
        if type_ == 'const char *':
            return [f'{name}.as_ptr() as i64', f'{name}.len() as i64']
        return [f'{name} as i64']

    def source(self, lines, type_, value):
        return f'hide({self.constant(type_, value)})'

    def constant(self, type_, value):
        text = f'"{value}"' if isinstance(value, str) else str(value).lower()
        return text if type_ in ('bool', 'const char *') else f'{text}{RUST[type_]}'

    def definition(self, f, lines):
        typed = ', '.join(f'{p.name}: {RUST[p.type]}' for p in f.parameters)
        body = [f'sink({f.number + 1000});']
        body += [f'sink({use});' for p in f.parameters for use in p.uses]
        head = f'#[inline(never)] fn {f.name.removeprefix("main::")}({typed})'
        if f.result is not None:
            head += f' -> {RUST[f.result]}'
            make = self.source if self.rng.random() < 0.7 else lambda _, *what: self.constant(*what)
            body.append(make(lines, f.result, f.result_value))
        lines.append(f'{head} {{ {" ".join(body)} }}')

    def call(self, f, values, lines):
        arguments = [self.constant(p.type, v) if p.constant is not None else
                     self.source(lines, p.type, v) for p, v in zip(f.parameters, values)]
        text = f'{f.name.removeprefix("main::")}({", ".join(arguments)});'
        if f.result is None or self.rng.random() < 0.4:
            return '  ' + text
        uses = ' '.join(f'sink({use});' for use in self.read_of(f.result, 'r'))
        return f'  {{ let r = {text} {uses} }}'

    def program(self):
        lines, truth = [RUST_HEAD], {f.name: [] for f in self.functions}
        for f in self.functions:
            self.definition(f, lines)
        order = [(f, values) for f in self.functions for values in f.calls]
        self.rng.shuffle(order)
        calls = [self.call(f, values, lines) for f, values in order]
        for f, values in order:
            truth[f.name].append((values, f))
        return Program({'main.rs': '\n'.join([*lines, 'fn main() {', *calls, '}']) + '\n'}, truth)


FORTRAN = {'int': 'integer(4)', 'short': 'integer(2)', 'signed char': 'integer(1)',
           'long': 'integer(8)', 'float': 'real(4)', 'double': 'real(8)'}


class FortranMaker(RustMaker):
    """Procedures of a module. What has no `value` is passed by its address."""

    def any_type(self, is_result=False):
        return self.rng.choice(list(FORTRAN))

    def function(self, number):
        f = super().function(number)
        f.name = f'__m_MOD_f{number}'
        for p in f.parameters:
            p.is_behind_address = self.rng.random() < 0.7
        return f

    def read_of(self, type_, name, likely=0.5):
        return [f'int({name}, 8)']

    def source(self, lines, type_, value):
        self.sources += 1
        lines.append(f'  {FORTRAN[type_]}, volatile :: v{self.sources} = '
                     + self.constant(type_, value))
        # An expression: what it is given has no other place.
        return f'v{self.sources} + {self.constant(type_, 0)}'

    def constant(self, type_, value):
        kind = FORTRAN[type_][-2]
        return f'{float(value) if "real" in FORTRAN[type_] else value}_{kind}'

    def definition(self, f, lines):
        name = f.name.removeprefix('__m_MOD_')
        head = 'subroutine' if f.result is None else 'function'
        lines.append(f'  {head} {name}({", ".join(p.name for p in f.parameters)})')
        for p in f.parameters:
            how = 'intent(in)' if p.is_behind_address else 'value'
            lines.append(f'    {FORTRAN[p.type]}, {how} :: {p.name}')
        if f.result is not None:
            lines.append(f'    {FORTRAN[f.result]} :: {name}')
        body = [str(f.number + 1000)] + [use for p in f.parameters for use in p.uses]
        lines += [f'    sink = {use}' for use in body]
        if f.result is not None:
            lines.append(f'    {name} = {self.constant(f.result, f.result_value)}')
        lines.append(f'  end {head}')

    def call(self, f, values, lines):
        arguments = [self.constant(p.type, v) if p.constant is not None else
                     self.source(lines, p.type, v) for p, v in zip(f.parameters, values)]
        text = f'{f.name.removeprefix("__m_MOD_")}({", ".join(arguments)})'
        return f'  call {text}' if f.result is None else f'  sink = int({text}, 8)'

    def program(self):
        lines, given, truth = [], [], {f.name: [] for f in self.functions}
        for f in self.functions:
            self.definition(f, lines)
        order = [(f, values) for f in self.functions for values in f.calls]
        self.rng.shuffle(order)
        calls = [self.call(f, values, given) for f, values in order]
        for f, values in order:
            truth[f.name].append((values, f))
        text = ['module m', '  integer(8), volatile :: sink = 0', 'contains', *lines, 'end module',
                'program main', '  use m', *given, *calls, 'end program']
        return Program({'main.f90': '\n'.join(text) + '\n'}, truth)
