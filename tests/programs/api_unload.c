// SPDX-License-Identifier: MIT
//
// A plug-in that owns events is unloaded while they are on, and their records are in the buffers of
// three instances (PATCHBAY_TRACE_INSTANCE='one;two'). Prints what is there then.
//
//   api_unload LOADS
#include <dlfcn.h>
#include <patchbay/kernel.h>
#include <patchbay/patchbay.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char g_text[1 << 20];

static int lines_with(const char* path, const char* wanted) {
  int count = 0;
  patchbay_read(path, g_text, sizeof g_text);
  for (char* line = strtok(g_text, "\n"); line; line = strtok(NULL, "\n"))
    count += line[0] != '#' && strstr(line, wanted) != NULL;
  return count;
}

static const char* const kInstances[] = {NULL, "one", "two"};
static const char* const kRoots[] = {"", "instances/one/", "instances/two/"};

static void load_and_unload(const char* path, int load) {
  void* handle = dlopen(path, RTLD_NOW);
  if (!handle) {
    puts(dlerror());
    exit(1);
  }
  int (*trace)(const char*, int) = (int (*)(const char*, int))dlsym(handle, "plugin_trace");
  printf("made: %d\n", *(int*)dlsym(handle, "plugin_made"));
  char file[128];
  for (int i = 0; i < 3; i++) {
    snprintf(file, sizeof file, "%sevents/synthetic/plug/enable", kRoots[i]);
    patchbay_write(file, "1");
  }
  patchbay_write("events/kprobes/plug_probe/enable", "1");
  patchbay_write("events/synthetic/plug/trigger", "hist:keys=number");
  struct trace_event_file* ours = trace_get_event_file("one", "synthetic", "plug");
  int answers = 0;
  for (int i = 0; i < 3; i++)
    for (int n = 0; n < 10; n++) answers |= trace(kInstances[i], load * 10 + n);
  printf("recorded: %d\n", answers);
  dlclose(handle);
  printf("after: %d\n", synth_event_trace(ours, 2, (u64)1, (u64) "too late"));
  struct synth_event_trace_state state;
  printf("after: %d\n", synth_event_trace_start(ours, &state));
  trace_put_event_file(ours);
}

int main(int argc, char** argv) {
  char path[4096] = "";
  const int loads = argc > 1 ? atoi(argv[1]) : 2;
  if (readlink("/proc/self/exe", path, sizeof path - 32) < 0) return 1;
  strcpy(strrchr(path, '/'), "/api_plugin_so.so");
  for (int load = 0; load < loads; load++) load_and_unload(path, load);
  printf("defined: %d\n", lines_with("dynamic_events", "plug"));
  for (int i = 0; i < 3; i++) {
    char file[128], root[160];
    snprintf(file, sizeof file, "%strace", kRoots[i]);
    printf("%s: %d\n", file, lines_with(file, " plug: number="));
    printf("%s: %d\n", file, lines_with(file, "said=by the plug-in"));
    snprintf(root, sizeof root, "%sevents/synthetic/plug/enable", kRoots[i]);
    printf("gone: %d\n", patchbay_write(root, "1"));
  }
  printf("probe: %d\n", lines_with("trace", " plug_probe: (plugin_work+0x"));
  printf("unknown: %d\n", lines_with("trace", "Unknown type"));
  return 0;
}
