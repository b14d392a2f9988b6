#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what patchbay shows of generated programs (programs.py) with their truth.

  judge.py --tool PATCHBAY [--seed S] [--programs N] [--jobs J] [--keep DIR]
           [--languages c,c++,rust] [--gdb-each N] [--hist-each N]

A value is right, or marked (`?`), or wrong. Each call is there once. A line of figures is printed
for each compiler and level. Of a program that is shown wrong, DIR/SEED has the sources, how they
were compiled, what was shown, and in `why` what is the truth.

Of each Nth program, gdb is asked for all values, too.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import programs

LEVELS = ['-O0', '-O1', '-O2', '-O3', '-Os', '-Og']
EXTRAS = [[], [], ['-flto'], ['-ffunction-sections', '-Wl,--gc-sections']]
FORMS = [[], [], [], ['-gdwarf-4'], ['-fno-omit-frame-pointer'], ['-fno-pie', '-no-pie'],
         ['-fno-asynchronous-unwind-tables']]
COMPILERS = {'c': ['gcc', 'clang'], 'c++': ['g++', 'clang++'], 'rust': ['rustc'],
             'fortran': ['gfortran']}
COMPILERS = {language: [name for name in names if shutil.which(name)]
             for language, names in COMPILERS.items()}
MARKS = ('?', '(optimized out)')


def split_list(text):
    """The parts of `a, {b, c}, "d, e"`."""
    parts, depth, quote, begin, i = [], 0, '', 0, 0
    while i < len(text):
        c = text[i]
        if quote:
            i += c == '\\'
            quote = '' if c == quote else quote
        elif c in '"\'':
            quote = c
        elif c in '({[':
            depth += 1
        elif c in ')}]':
            depth -= 1
        elif depth == 0 and text.startswith(', ', i):
            parts.append(text[begin:i])
            begin = i + 2
        i += 1
    return parts + [text[begin:]] if text else []


def leaf_is(shown, value):
    if value is programs.ADDRESS:
        return re.fullmatch(r'(0x)?[0-9a-f]+', shown) is not None
    if isinstance(value, bool):
        return shown in (str(value).lower(), str(int(value)))
    if isinstance(value, programs.Char):
        return shown in (f"'{value}'", value, str(ord(value)))
    if isinstance(value, programs.Enum):
        return shown in (value, str(programs.COLORS[value]))
    if isinstance(value, str):
        if pair := re.fullmatch(r'\{data_ptr=0x[0-9a-f]+, length=(\d+)\}', shown):  # Rust's
            return int(pair[1]) == len(value)
        return shown in (f'"{value}"', value)
    if isinstance(value, programs.Pointer):
        return shown.removeprefix('0x') == f'{value:x}'
    try:
        return float(shown) == value if isinstance(value, float) else int(shown) == value
    except ValueError:
        return False


class Verdict:
    def __init__(self):
        self.right = self.marked = 0
        self.wrong = []  # sentences
        self.known = []  # the same, of what is marked and gdb knows
        self.gdb = []  # of each value that gdb was asked for: is it marked, does gdb know it

    def leaf(self, where, shown, value):
        if shown in MARKS:
            self.marked += 1
        elif leaf_is(shown, value):
            self.right += 1
        else:
            self.wrong.append(f'{where}: shown {shown}, is {value!r}')

    def tree(self, where, shown, value):
        """`shown` as `calls` writes it: {a=1, b=2}."""
        if not isinstance(value, list) or shown in MARKS:
            return self.leaf(where, shown, value)
        parts = [part.partition('=') for part in split_list(shown[1:-1])]
        if shown[:1] != '{' or [p[0] for p in parts] != [name for name, _ in value]:
            return self.wrong.append(f'{where}: shown {shown}, is {value!r}')
        for (name, _, text), (_, member) in zip(parts, value):
            self.tree(f'{where}.{name}', text, member)

    def fields(self, where, shown, name, value, is_reference=False):
        """`shown`: the fields of a record, where p.m is p_m. What is compared is taken out. What
        nobody reads behind a reference has no field."""
        shown.pop(f'{name}_ok', None)  # whether a reference could be followed
        if name in shown:
            length = shown.pop(f'{name}_len', None)  # of Rust's texts
            if length and length != str(len(value)):
                self.wrong.append(f'{where}: {name}_len is {len(value)}')
            return self.leaf(f'{where}.{name}', shown.pop(name), value)
        if f'{name}_data_ptr' in shown and shown.pop(f'{name}_data_ptr'):
            return self.leaf(where, shown.pop(f'{name}_length', 'nothing'), len(value))
        if not isinstance(value, list):
            if is_reference:
                return self.leaf(where, '?', value)
            return self.wrong.append(f'{where}: {name} is not there')
        for member, inside in value:
            self.fields(where, shown, f'{name}_{member}', inside, is_reference)


def base_name(name):
    """helper.constprop.0@a.c -> helper; twice<int> -> twice"""
    name = re.sub(r'<.*>', '', name).rpartition(' ')[2]
    return re.sub(r'(@|\.(\d|constprop|isra|part|cold|llvm|lto_priv|__uniq)).*', '', name)


def check_counts(kind, shown, truth, verdict):
    for name in sorted(set(truth) | set(shown)):
        if len(shown.get(name, [])) != len(truth.get(name, [])):
            verdict.wrong.append(f'{kind}: {len(shown.get(name, []))} calls of {name}, are '
                                 f'{len(truth.get(name, []))}')
    return [name for name in truth if len(shown.get(name, [])) == len(truth[name])]


class Build:
    """How a program is compiled, and what that takes away."""

    def __init__(self, rng, language):
        self.compiler = rng.choice(COMPILERS[language])
        self.level, self.extra = rng.choice(LEVELS), rng.choice(EXTRAS)
        self.is_clang = 'clang' in self.compiler
        if self.is_clang and not shutil.which('ld.lld'):
            self.extra = []
        if self.compiler in ('rustc', 'gfortran'):
            self.extra = []
        self.is_lto = '-flto' in self.extra
        self.kind = f'{self.compiler} {self.level}' + (
            ' lto' if self.is_lto else ' gc' if self.extra else '')
        form = rng.choice(FORMS)
        self.command = [self.compiler, self.level, *self.extra, '-w', '-g', *form]
        if self.is_clang and self.is_lto:
            self.command.append('-fuse-ld=lld')
        if self.compiler == 'g++':
            # At -Os the two constructors of a class with a virtual base have a common part, which
            # has their name.
            self.command.append('-fno-declone-ctor-dtor')
        if self.compiler == 'gfortran':
            self.command = ['gfortran', self.level, '-fno-inline', '-fno-ipa-cp', '-fno-ipa-sra',
                            '-fno-range-check',
                            '-ffree-line-length-none', '-w', '-g']
        if self.compiler == 'rustc':
            level = self.level[2:].replace('g', '1')
            self.command = ['rustc', '-C', f'opt-level={level}', '-g', '-A', 'warnings']


def judge_calls(text, truth, build, verdict, results, gdb=None):
    shown = collections.defaultdict(list)
    for line in text.splitlines():
        match = re.fullmatch(r'([^(]+)\((.*)\)( = (.*))? <[^<>]* ms>', line)
        if match:
            shown[base_name(match[1])].append((line, split_list(match[2]), match[4]))
        elif line.strip():
            verdict.wrong.append(f'calls: {line}')
    for name in check_counts('calls', shown, truth, verdict):
        for number, (line, arguments, result) in enumerate(shown[name]):
            values, function = truth[name][number]
            where = f'calls: {line}'
            # Where an object is a part of another one, its constructor is given the tables too.
            arguments = [a for a in arguments if not a.startswith('&VTT')]
            if len(arguments) != len(values):
                verdict.wrong.append(f'{where}: {len(arguments)} arguments, are {len(values)}')
                continue
            for argument, value, p in zip(arguments, values, function.all_parameters()):
                if p.is_reference() and argument.startswith('0x'):
                    argument = '?'  # an address is no value
                verdict.tree(f'{where}: {p.name}', argument, value)
                if gdb and value is not programs.ADDRESS:
                    gdb.compare(verdict, where, (name, number, p.name), argument, value)
            if function.result is None:
                if result is not None:
                    results.wrong.append(f'{where}: a result, and it is void')
            else:
                results.tree(f'{where}: result', result or 'nothing', function.result_value)


def judge_record(text, truth, build, verdict):
    shown = collections.defaultdict(list)
    for line in text.splitlines():
        match = re.search(r': (?:[^(]+->)?([^(]+)\((.*)\)$', line)
        if match:
            shown[base_name(match[1])].append((line.split(': ', 1)[1], split_list(match[2])))
    for name in check_counts('record', shown, truth, verdict):
        for (line, fields), (values, function) in zip(shown[name], truth[name]):
            where = f'record: {line}'
            rest = dict(f.partition('=')[::2] for f in fields)
            # What is beside parameters: tables of virtual bases, bytes that pad a structure.
            rest = {k: v for k, v in rest.items()
                    if k not in ('__vtt_parm', 'vtt') and not re.search(r'_free(_\d+)?$', k)}
            for value, p in zip(values, function.all_parameters()):
                if p.is_reference() and re.fullmatch('[0-9a-f]{9,}', rest.get(p.name, '')) and (
                        f'{p.name}_ok' not in rest) and not leaf_is(rest[p.name], value):
                    rest[p.name] = '?'  # its address
                verdict.fields(where, rest, p.name, value, p.is_reference())
            if rest:
                verdict.wrong.append(f'{where}: {rest} are no parameters')


WHOLE = ('int', 'unsigned', 'short', 'unsigned short', 'signed char', 'unsigned char', 'long',
         'unsigned long')


def judge_hist(directory, tool, program, names, rng, verdict):
    """A histogram by the values of one parameter: it counts them, or refuses the key."""
    may_be = []
    for name in names:
        functions = [f for _, f in program.truth[name]]
        if all(f is functions[0] for f in functions) and functions[0].kind != 'constructor':
            may_be += [(name, i) for i, p in enumerate(functions[0].parameters)
                       if p.type in WHOLE and not p.is_reference()]
    if not may_be:
        return
    name, i = rng.choice(may_be)
    done = run(directory, tool, 'hist', name, f'keys=p{i}', '--', './program')
    if done.returncode:
        verdict.marked += 1
        return
    shown = {int(value): int(count) for value, count in
             re.findall(r'\{ p\d+: *(-?\d+) *\} hitcount: *(\d+)', done.stdout)}
    values = [values[-len(f.parameters):][i] for values, f in program.truth[name]]
    if shown == collections.Counter(values):
        verdict.right += len(values)
    else:
        verdict.wrong.append(f'hist: {name} keys=p{i}: shown {shown}, is {sorted(values)}')


class Gdb:
    """Asks a debugger what it knows of the arguments that are marked."""

    def __init__(self, directory, symbols):
        entries = {int(line[:16], 16): base_name(line.split(' ', 2)[2].partition('(')[0])
                   for line in symbols if line[17:18] in 'tTW'}
        wanted = 'python entries = ' + repr(entries)
        text = run(directory, 'gdb', '-batch', '-nx', '-ex', wanted, '-x',
                   str(pathlib.Path(__file__).with_name('ask_gdb.py')), 'program').stdout
        self.calls = collections.defaultdict(list)  # name -> [{parameter: text}]
        for call in text.split('CALL ')[1:]:
            name, *lines = call.splitlines()
            self.calls[name].append(dict(line.partition(' = ')[::2] for line in lines))

    def compare(self, verdict, where, place, argument, value):
        """Each value of an argument: whether it is marked, and whether gdb has it."""
        name, number, parameter = place
        calls = self.calls[name]
        text = calls[number].get(parameter, '') if number < len(calls) else ''
        shown = dict(leaves(re.sub(r'(@0x[0-9a-f]+: )|( = )', lambda m: '=' if m[2] else '', text),
                            value))
        for path, one in leaves(argument, value):
            is_marked = one in MARKS
            is_known = gdb_leaf_is(shown.get(path, ''), leaf_at(value, path))
            verdict.gdb += [(is_marked, is_known)]
            if is_marked and is_known:
                verdict.known.append(f'{where}: gdb knows {parameter}{path}')


def leaves(text, value, path=''):
    """(path, text) of each value in `{a=1, b={c=2}}`; a text for a whole stands for its parts."""
    if not isinstance(value, list):
        return [(path, text)]
    parts = dict(p.partition('=')[::2] for p in split_list(text[1:-1])) if text[:1] == '{' else {}
    return [leaf for name, member in value
            for leaf in leaves(parts.get(name, '' if parts else text), member, f'{path}.{name}')]


def leaf_at(value, path):
    for name in path.split('.')[1:]:
        value = dict(value)[name]
    return value


def gdb_leaf_is(shown, value):
    if isinstance(value, programs.Char):
        return shown.endswith(f"'{value}'")
    if isinstance(value, str) and not isinstance(value, programs.Enum):
        return shown.endswith(f'"{value}"')
    return leaf_is(shown.split(' ')[0], value)


def run(directory, *command):
    done = subprocess.run(command, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors='replace', timeout=60)
    with open(directory / 'commands', 'a', encoding='utf-8') as log:
        log.write(' '.join(command) + '\n' + done.stderr)
    return done


def run_with(directory, names, verdict, *command):
    """Traces all these functions. One that is refused is wrong; the others are asked for then."""
    names = list(names)
    while names:
        events = [word for name in names for word in ('-e', name)]
        done = run(directory, *command, *events, '--', './program')
        if done.returncode == 0:
            return
        verdict.wrong.append(f'{command[1]}: {done.stderr.splitlines()[0]}')
        refused = [name for name in names if f"'{name}'" in done.stderr]
        if not refused:
            return
        names = [name for name in names if name not in refused]


def judge_program(options, keep, seed):
    """-> (what it was compiled with, arguments, results)."""
    rng = random.Random(seed)
    language = rng.choice([name for name in options.languages.split(',')
                           if COMPILERS[name]])
    build = Build(rng, language)
    tool = options.tool
    make = {'rust': programs.RustMaker, 'fortran': programs.FortranMaker}.get(
        language, programs.Maker)
    program = make(seed, language).program()
    directory = keep / str(seed)
    directory.mkdir(parents=True)
    for name, text in program.files.items():
        (directory / name).write_text(text)
    verdict, results = Verdict(), Verdict()
    sources = [name for name in program.files if not name.endswith('.h')]
    if run(directory, *build.command, *sources, '-o', 'program').returncode:
        sys.exit(f'{directory}: the program cannot be compiled')
    symbols = run(directory, 'nm', '-C', 'program').stdout
    there = {base_name(line.split(' ', 2)[2].partition('(')[0]) for line in symbols.splitlines()
             if line[17:18] in 'tTW'}  # a function that nobody calls may be gone
    gdb = None
    if seed % options.gdb_each == 0 and language in ('c', 'c++') and shutil.which('gdb'):
        gdb = Gdb(directory, symbols.splitlines())
    names = [name for name in sorted(program.truth) if name in there]
    (directory / 'calls').touch()
    run_with(directory, names, verdict, tool, 'calls', '-o', 'calls')
    judge_calls((directory / 'calls').read_text(), program.truth, build, verdict, results,
                gdb)
    run_with(directory, names, verdict, tool, 'record', '-o', 'record.dat')
    report = run(directory, tool, 'report', '-i', 'record.dat').stdout
    (directory / 'report').write_text(report)
    judge_record(report, program.truth, build, verdict)
    called = [name for name in names if program.truth[name]]
    if seed % options.hist_each == 0:
        judge_hist(directory, tool, program, called, rng, verdict)
    if verdict.wrong or results.wrong or verdict.known:
        sentences = [' '.join(build.command)] + verdict.wrong + results.wrong + verdict.known
        (directory / 'why').write_text('\n'.join(sentences) + '\n')
    else:
        shutil.rmtree(directory)
    return build.kind, verdict, results


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--tool', required=True)
    parser.add_argument('--seed', type=int, default=random.randrange(10**6))
    parser.add_argument('--programs', type=int, default=300)
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('--languages', default='c,c,c,c++,c++,rust,fortran')
    parser.add_argument('--gdb-each', type=int, default=20)
    parser.add_argument('--hist-each', type=int, default=5)
    parser.add_argument('--keep')
    options = parser.parse_args()
    keep = pathlib.Path(options.keep or tempfile.mkdtemp(prefix='truth-'))
    (keep / 'run').mkdir(parents=True)
    print(f'seed {options.seed}, {options.programs} programs, what is wrong is in {keep}')
    figures = collections.defaultdict(lambda: [0] * 7)
    asked = []
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        seeds = range(options.seed * 10000, options.seed * 10000 + options.programs)
        waiting = [pool.submit(judge_program, options, keep, seed) for seed in seeds]
        for seed, done in zip(seeds, waiting):
            kind, verdict, results = done.result()
            row = [1]
            for one in (verdict, results):
                row += [one.right, one.marked, len(one.wrong)]
            figures[kind] = [a + b for a, b in zip(figures[kind], row)]
            if verdict.known:
                print(f'GDB {seed} {kind}: {len(verdict.known)}, {verdict.known[0]}')
            asked += verdict.gdb
            for sentence in (verdict.wrong + results.wrong)[:1]:
                print(f'WRONG {seed} {kind}: {sentence}')
    print('compiled with    programs | values  right  marked   wrong |'
          ' results  right  marked   wrong')
    total = [sum(column) for column in zip(*figures.values())]
    for kind, row in [*sorted(figures.items()), ('all', total)]:
        print('{:16} {:8} | {:13} {:7} {:7} | {:14} {:7} {:7}'.format(kind, *row))
    marked = sum(is_marked for is_marked, _ in asked)
    lacking = sum(not is_known for _, is_known in asked)
    known = sum(is_marked and is_known for is_marked, is_known in asked)
    print(f'gdb was asked for {len(asked)} values, of each {options.gdb_each}th program: it lacks '
          f'or has wrong {lacking}; {marked} are marked here, of which gdb knows {known}')
    sys.exit(total[3] + total[6] != 0)


if __name__ == '__main__':
    main()
