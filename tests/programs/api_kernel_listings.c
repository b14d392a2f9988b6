// SPDX-License-Identifier: MIT
//
// The listings of the kernel's event documentation, section "In-kernel trace event API", as they
// are printed there: only the includes are Patchbay's, and what stands around them says what they
// answered. Compiled as C11 and, by api_kernel_listings_cxx.cc, as C++20.
//
//   api_kernel_listings STEP…     create pieces array once kprobe kretprobe dynevent
#include <patchbay/kernel.h>
#include <patchbay/patchbay.h>
#include <patchbay/trace.h>
#include <patchbay/trace_events.h>
#include <stdio.h>
#include <string.h>

static int ret;
static struct trace_event_file *create_synth_test, *schedtest_event_file, *gen_kprobe_test;

static void say(const char* what) { printf("%s: %d\n", what, ret); }

/* The lines of an event in `trace`, from its name on, and nothing is left in the buffer. */
static void show(const char* event) {
  static char text[65536];
  char name[64];
  patchbay_read("trace", text, sizeof text);
  snprintf(name, sizeof name, " %s: ", event);
  for (char* line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    const char* at = strstr(line, name);
    if (at) printf("  %s\n", at + 1);
  }
  static int shown;
  patchbay_write("trace_clock", shown++ % 2 ? "local" : "mono");  // another clock empties it
}

// --- 7.1

static struct synth_field_desc sched_fields[] = {
      { .type = "pid_t",              .name = "next_pid_field" },
      { .type = "char[16]",           .name = "next_comm_field" },
      { .type = "u64",                .name = "ts_ns" },
      { .type = "u64",                .name = "ts_ms" },
      { .type = "unsigned int",       .name = "cpu" },
      { .type = "char[64]",           .name = "my_string_field" },
      { .type = "int",                .name = "my_int_field" },
};

static void create(void) {
ret = synth_event_create("schedtest", sched_fields,
                         ARRAY_SIZE(sched_fields), THIS_MODULE);
  say("synth_event_create");
}

static void generate(void) {
struct dynevent_cmd cmd;
char *buf;

/* Create a buffer to hold the generated command */
buf = kzalloc(MAX_DYNEVENT_CMD_LEN, GFP_KERNEL);

/* Before generating the command, initialize the cmd object */
synth_event_cmd_init(&cmd, buf, MAX_DYNEVENT_CMD_LEN);

ret = synth_event_gen_cmd_start(&cmd, "schedtest", THIS_MODULE,
                                "pid_t", "next_pid_field",
                                "u64", "ts_ns");
  say("synth_event_gen_cmd_start");

ret = synth_event_add_field(&cmd, "int", "intfield");
  say("synth_event_add_field");

ret = synth_event_gen_cmd_end(&cmd);
  say("synth_event_gen_cmd_end");
  kfree(buf);
}

static void generate_from_array(void) {
  struct dynevent_cmd cmd;
  struct synth_field_desc* fields = sched_fields;
  const unsigned int n_fields = 2;
  char text[MAX_DYNEVENT_CMD_LEN];
  synth_event_cmd_init(&cmd, text, MAX_DYNEVENT_CMD_LEN);
ret = synth_event_gen_cmd_array_start(&cmd, "schedtest", THIS_MODULE,
                                      fields, n_fields);
  say("synth_event_gen_cmd_array_start");
ret = synth_event_add_fields(&cmd, sched_fields, 4);
  say("synth_event_add_fields");
  ret = synth_event_add_field_str(&cmd, "char as_it_is[]");
  say("synth_event_add_field_str");
ret = synth_event_gen_cmd_end(&cmd);
  say("synth_event_gen_cmd_end");
}

static void delete_event(void) {
ret = synth_event_delete("schedtest");
  say("synth_event_delete");
}

static void show_definition(void) {
  char text[4096];
  patchbay_read("synthetic_events", text, sizeof text);
  printf("  %s", text);
}

// --- 7.2

static void trace_all_at_once(void) {
  create_synth_test = trace_get_event_file(NULL, "synthetic", "schedtest");
  trace_array_set_clr_event(create_synth_test->tr, "synthetic", "schedtest", true);
ret = synth_event_trace(create_synth_test, 7, /* number of values */
                        444,             /* next_pid_field */
                        (u64)"clackers", /* next_comm_field */
                        1000000,         /* ts_ns */
                        1000,            /* ts_ms */
                        smp_processor_id(),/* cpu */
                        (u64)"Thneed",   /* my_string_field */
                        999);            /* my_int_field */
  say("synth_event_trace");
  trace_array_set_clr_event(create_synth_test->tr, "synthetic", "schedtest", false);
  trace_put_event_file(create_synth_test);
  show("schedtest");
}

static void trace_array_of_values(void) {
u64 vals[7];

vals[0] = 777;                  /* next_pid_field */
vals[1] = (u64)"tiddlywinks";   /* next_comm_field */
vals[2] = 1000000;              /* ts_ns */
vals[3] = 1000;                 /* ts_ms */
vals[4] = smp_processor_id();   /* cpu */
vals[5] = (u64)"thneed";        /* my_string_field */
vals[6] = 398;                  /* my_int_field */

schedtest_event_file = trace_get_event_file(NULL, "synthetic",
                                            "schedtest");

trace_array_set_clr_event(schedtest_event_file->tr,
                          "synthetic", "schedtest", true);

ret = synth_event_trace_array(schedtest_event_file, vals,
                              ARRAY_SIZE(vals));
  say("synth_event_trace_array");
}

static void trace_piecewise(void) {
struct synth_event_trace_state trace_state;

ret = synth_event_trace_start(schedtest_event_file, &trace_state);
  say("synth_event_trace_start");

/* next_pid_field */
ret = synth_event_add_next_val(777, &trace_state);

/* next_comm_field */
ret = synth_event_add_next_val((u64)"slinky", &trace_state);

/* ts_ns */
ret = synth_event_add_next_val(1000000, &trace_state);

/* ts_ms */
ret = synth_event_add_next_val(1000, &trace_state);

/* cpu */
ret = synth_event_add_next_val(smp_processor_id(), &trace_state);

/* my_string_field */
ret = synth_event_add_next_val((u64)"thneed_2.01", &trace_state);

/* my_int_field */
ret = synth_event_add_next_val(395, &trace_state);
  say("synth_event_add_next_val");

ret = synth_event_trace_end(&trace_state);
  say("synth_event_trace_end");
}

static void trace_by_name(void) {
  struct synth_event_trace_state trace_state;
  ret = synth_event_trace_start(schedtest_event_file, &trace_state);
ret = synth_event_add_val("next_pid_field", 777, &trace_state);
ret = synth_event_add_val("next_comm_field", (u64)"silly putty",
                          &trace_state);
ret = synth_event_add_val("ts_ns", 1000000, &trace_state);
ret = synth_event_add_val("ts_ms", 1000, &trace_state);
ret = synth_event_add_val("cpu", smp_processor_id(), &trace_state);
ret = synth_event_add_val("my_string_field", (u64)"thneed_9",
                          &trace_state);
ret = synth_event_add_val("my_int_field", 3999, &trace_state);
  say("synth_event_add_val");
  ret = synth_event_trace_end(&trace_state);
  say("synth_event_trace_end");
}

static void put_back(void) {
  show("schedtest");
trace_array_set_clr_event(schedtest_event_file->tr,
                          "synthetic", "schedtest", false);

trace_put_event_file(schedtest_event_file);
}

// --- 7.3

__attribute__((noinline)) long do_sys_open(int dfd, const char* filename, int flags, int mode);
__attribute__((noinline)) long do_sys_open(int dfd, const char* filename, int flags, int mode) {
  __asm__ volatile("" : : "r"(dfd), "r"(filename), "r"(flags), "r"(mode) : "memory");
  return 42;
}

static void probe_entry(void) {
struct dynevent_cmd cmd;
char *buf;

/* Create a buffer to hold the generated command */
buf = kzalloc(MAX_DYNEVENT_CMD_LEN, GFP_KERNEL);

/* Before generating the command, initialize the cmd object */
kprobe_event_cmd_init(&cmd, buf, MAX_DYNEVENT_CMD_LEN);

/*
 * Define the gen_kprobe_test event with the first 2 kprobe
 * fields.
 */
ret = kprobe_event_gen_cmd_start(&cmd, "gen_kprobe_test", "do_sys_open",
                                 "dfd=%ax", "filename=%dx");
  say("kprobe_event_gen_cmd_start");

ret = kprobe_event_add_fields(&cmd, "flags=%cx", "mode=+4($stack)");
  say("kprobe_event_add_fields");

ret = kprobe_event_gen_cmd_end(&cmd);
  say("kprobe_event_gen_cmd_end");
  kfree(buf);

gen_kprobe_test = trace_get_event_file(NULL, "kprobes", "gen_kprobe_test");

ret = trace_array_set_clr_event(gen_kprobe_test->tr,
                                "kprobes", "gen_kprobe_test", true);
  say("trace_array_set_clr_event");
  do_sys_open(1, "/", 0x42, 0x1b6);
  show("gen_kprobe_test");
  ret = kprobe_event_delete("gen_kprobe_test");
  say("kprobe_event_delete while on");
  trace_array_set_clr_event(gen_kprobe_test->tr, "kprobes", "gen_kprobe_test", false);

trace_put_event_file(gen_kprobe_test);
ret = kprobe_event_delete("gen_kprobe_test");
  say("kprobe_event_delete");
}

static void probe_return(void) {
  struct dynevent_cmd cmd;
  char text[MAX_DYNEVENT_CMD_LEN];
  kprobe_event_cmd_init(&cmd, text, MAX_DYNEVENT_CMD_LEN);
ret = kretprobe_event_gen_cmd_start(&cmd, "gen_kretprobe_test",
                                    "do_sys_open", "$retval");
  say("kretprobe_event_gen_cmd_start");
ret = kretprobe_event_gen_cmd_end(&cmd);
  say("kretprobe_event_gen_cmd_end");
  patchbay_write("events/kprobes/gen_kretprobe_test/enable", "1");
  do_sys_open(1, "/", 0x42, 0x1b6);
  show("gen_kretprobe_test");
  patchbay_write("events/kprobes/gen_kretprobe_test/enable", "0");
  ret = kprobe_event_delete("gen_kretprobe_test");
  say("kprobe_event_delete");
}

// --- 7.4

enum { DYNEVENT_TYPE_FOO = DYNEVENT_TYPE_NONE + 1 };

static int foo_event_run_command(struct dynevent_cmd* cmd) {
  printf("  run:%s\n", cmd->buffer);
  return 0;
}

static int dynevent_foo_check_arg_fn(void* data) {
  const struct dynevent_arg_pair* pair = (const struct dynevent_arg_pair*)data;
  return pair->lhs && pair->rhs ? 0 : -EINVAL;
}

/* In these listings cmd is an object where it is declared, and a pointer to it where it is used. */
static void add_arguments(struct dynevent_cmd* cmd, const char* type, const char* name) {
struct dynevent_arg arg;

dynevent_arg_init(&arg, NULL, 0);

arg.str = name;

ret = dynevent_arg_add(cmd, &arg);
  say("dynevent_arg_add");

struct dynevent_arg_pair arg_pair;

dynevent_arg_pair_init(&arg_pair, dynevent_foo_check_arg_fn, 0, ';');

arg_pair.lhs = type;
arg_pair.rhs = name;

ret = dynevent_arg_pair_add(cmd, &arg_pair);
  say("dynevent_arg_pair_add");
}

static void low_level(void) {
struct dynevent_cmd cmd;
char *buf;
int maxlen = MAX_DYNEVENT_CMD_LEN;

buf = kzalloc(MAX_DYNEVENT_CMD_LEN, GFP_KERNEL);

  {
    struct dynevent_cmd* const object = &cmd;
    struct dynevent_cmd* cmd = object;
dynevent_cmd_init(cmd, buf, maxlen, DYNEVENT_TYPE_FOO,
                  foo_event_run_command);
    add_arguments(cmd, "u64", "a");
    ret = dynevent_str_add(cmd, "as it is");
    say("dynevent_str_add");
  }
ret = dynevent_create(&cmd);
  say("dynevent_create");
  kfree(buf);
}

int main(void) {
  create();
  show_definition();
  trace_all_at_once();
  trace_array_of_values();
  trace_piecewise();
  trace_by_name();
  put_back();
  delete_event();
  generate();
  show_definition();
  delete_event();
  generate_from_array();
  show_definition();
  delete_event();
  probe_entry();
  probe_return();
  low_level();
  return 0;
}
