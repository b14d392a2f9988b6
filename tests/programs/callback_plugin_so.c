// SPDX-License-Identifier: MIT
// Loaded and unloaded by api_callback_unload.c: registers callbacks and never takes them away.
#include <patchbay/ftrace.h>
#include <patchbay/subscribe.h>

int plugin_answers = 1;
long plugin_calls, plugin_records;

static void called(unsigned long ip, unsigned long parent_ip, struct ftrace_ops* ops,
                   struct ftrace_regs* fregs) {
  (void)ip, (void)parent_ip, (void)ops, (void)fregs;
  __atomic_add_fetch(&plugin_calls, 1, __ATOMIC_RELAXED);
  for (volatile int i = 0; i < 100; i = i + 1) continue;
}

static void listens(const struct patchbay_record* record, void* data) {
  (void)record;
  __atomic_add_fetch((long*)data, 1, __ATOMIC_RELAXED);
  for (volatile int i = 0; i < 100; i = i + 1) continue;
}

__attribute__((constructor)) static void begin(void) {
  static struct ftrace_ops ops = {.func = called};
  static struct patchbay_subscription* subscription;
  unsigned char name[] = "program_work";
  plugin_answers = ftrace_set_filter(&ops, name, sizeof name - 1, 1);
  plugin_answers |= register_ftrace_function(&ops);
  plugin_answers |=
      patchbay_subscribe(NULL, "unload", "tick", NULL, listens, &plugin_records, &subscription);
}
