# SPDX-License-Identifier: MIT
"""Run by gdb: prints the arguments of all calls as the debugger knows them at the first byte.

  gdb -batch -ex 'python entries = {0x1139: "f0", …}' -x ask_gdb.py PROGRAM

The addresses are those of the file; that of main is among them.
"""
import gdb

gdb.execute('set breakpoint pending off')
gdb.execute('starti', to_string=True)
main = next(address for address, name in entries.items() if name == 'main')
bias = int(gdb.parse_and_eval('(unsigned long)&main')) - main
for address, name in entries.items():
    gdb.execute(f'break *{bias + address}', to_string=True)
gdb.execute('continue', to_string=True)
while gdb.selected_inferior().pid:
    name = entries.get(int(gdb.parse_and_eval('$pc')) - bias)
    if name is None:
        break
    print(f'CALL {name}')
    print(gdb.execute('info args', to_string=True))
    gdb.execute('continue', to_string=True)
