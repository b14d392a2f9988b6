/* SPDX-License-Identifier: MIT
 *
 * A program that puts probes into itself: at a function's entry with its arguments, and at its
 * return with the value that it returns. The commands are put together word by word.
 *
 *   ./api_probe_event
 *     charged: account=17 amount=40 who=ann
 *     charge_done: (… <- charge) left=60 …
 */
#include <patchbay/patchbay.h>
#include <patchbay/trace_events.h>
#include <stdio.h>
#include <string.h>

__attribute__((noinline)) int charge(int account, int amount, const char* who) {
  __asm__ volatile("" : "+r"(account), "+r"(amount) : "r"(who) : "memory");
  return 100 - amount;
}

static int define_probe(void) {
  static char buffer[MAX_DYNEVENT_CMD_LEN];
  struct dynevent_cmd command;
  kprobe_event_cmd_init(&command, buffer, sizeof buffer);
  int error = kprobe_event_gen_cmd_start(&command, "charged", "charge", "account=%di:s32",
                                         "amount=%si:s32");
  if (!error) error = kprobe_event_add_field(&command, "who=+0(%dx):string");
  return error ? error : kprobe_event_gen_cmd_end(&command);
}

static int define_return_probe(void) {
  static char buffer[MAX_DYNEVENT_CMD_LEN];
  struct dynevent_cmd command;
  kprobe_event_cmd_init(&command, buffer, sizeof buffer);
  int error = kretprobe_event_gen_cmd_start(&command, "charge_done", "charge", "left=$retval:s32");
  return error ? error : kretprobe_event_gen_cmd_end(&command);
}

static void show_trace(void) {
  static char text[1 << 16];
  if (patchbay_read("trace", text, sizeof text) < 0) return;
  for (char* line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
    if (line[0] != '#') puts(strstr(line, "charge"));
}

int main(void) {
  int error = define_probe();
  if (!error) error = define_return_probe();
  if (!error) error = patchbay_write("events/kprobes/enable", "1");
  if (error) return fprintf(stderr, "no probes: %s\n", strerror(-error)), 1;
  int left = charge(17, 40, "ann");
  left += charge(18, 99, "bob");
  patchbay_write("events/kprobes/enable", "0");
  left += charge(19, 1, "nobody"); /* not recorded */
  show_trace();
  return left != 160 || kprobe_event_delete("charged") || kprobe_event_delete("charge_done");
}
