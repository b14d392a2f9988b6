/* SPDX-License-Identifier: MIT
 *
 * A program that defines an event of its own and records it: no macro, no header of events, and
 * the fields may come from a configuration. Run as it is, it shows what it has recorded:
 *
 *   ./api_synth_event
 *     order: id=1 price=250 item=tea …
 */
#include <patchbay/patchbay.h>
#include <patchbay/trace_events.h>
#include <stdio.h>
#include <string.h>

static struct trace_event_file* order_event;

static void sell(int id, int price, const char* item) {
  /* 0 also while nobody has enabled the event: then this costs next to nothing. */
  synth_event_trace(order_event, 3, (uint64_t)id, (uint64_t)price, (uint64_t)(uintptr_t)item);
}

/* The same, field by field, in any order. */
static void give_away(int id, const char* item) {
  struct synth_event_trace_state state;
  synth_event_trace_start(order_event, &state);
  synth_event_add_val("item", (uint64_t)(uintptr_t)item, &state);
  synth_event_add_val("id", (uint64_t)id, &state);
  synth_event_trace_end(&state);
}

static int define(void) {
  struct synth_field_desc fields[] = {{"int", "id"}, {"u32", "price"}, {"char[16]", "item"}};
  int error = synth_event_create("order", fields, 3, PATCHBAY_THIS_MODULE);
  if (error) return error;
  order_event = trace_get_event_file(NULL, "synthetic", "order");
  return patchbay_write("events/synthetic/order/enable", "1");
}

static void show_trace(void) {
  static char text[1 << 16];
  if (patchbay_read("trace", text, sizeof text) < 0) return;
  for (char* line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
    if (line[0] != '#') puts(strstr(line, "order: "));
}

int main(void) {
  const int error = define();
  if (error) return fprintf(stderr, "no event: %s\n", strerror(-error)), 1;
  sell(1, 250, "tea");
  sell(2, 1200, "teapot");
  give_away(3, "spoon");
  patchbay_write("events/synthetic/order/enable", "0");
  sell(4, 90, "biscuits"); /* not recorded */
  show_trace();
  trace_put_event_file(order_event);
  return synth_event_delete("order") != 0;
}
