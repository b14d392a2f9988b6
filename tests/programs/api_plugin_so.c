// SPDX-License-Identifier: MIT
// Loaded and unloaded by api_unload.c, with events of its own that it never deletes: a synthetic
// one and a probe on its own function.
#include <patchbay/kernel.h>
#include <stdio.h>

int plugin_made = 1;

__attribute__((noinline)) int plugin_work(int a) {
  __asm__ volatile("" : "+r"(a));
  return a + 1;
}

__attribute__((constructor)) static void make_events(void) {
  static struct synth_field_desc fields[] = {{"int", "number"}, {"char[32]", "said"}};
  plugin_made = synth_event_create("plug", fields, ARRAY_SIZE(fields), THIS_MODULE);
  struct dynevent_cmd cmd;
  char text[MAX_DYNEVENT_CMD_LEN];
  kprobe_event_cmd_init(&cmd, text, sizeof text);
  kprobe_event_gen_cmd_start(&cmd, "plug_probe", "plugin_work", "a=%di:s32");
  if (kprobe_event_gen_cmd_end(&cmd)) plugin_made = -1;
}

/* Never puts its files back. */
int plugin_trace(const char* instance, int number) {
  struct trace_event_file* file = trace_get_event_file(instance, "synthetic", "plug");
  if (IS_ERR(file)) return (int)PTR_ERR(file);
  plugin_work(number);
  return synth_event_trace(file, 2, (u64)number, (u64) "by the plug-in");
}
