// SPDX-License-Identifier: MIT
// Loaded and unloaded by dlopen_close.c.
int plugin_add(int a, int b);
__attribute__((noinline)) int plugin_add(int a, int b) { return a + b; }
