// SPDX-License-Identifier: MIT
// Loads the library reload_so (or ARGV[1]) three times, each time to the same address, then to
// another one because something else is there, and then once more while another library lies where
// it was. Each load calls reload_work 13 times: twice in the constructor, ten times in between,
// once in the destructor. Prints that nothing of it was disturbed.
// With ARGV[2] it waits for a line when the first load is over.
#include <dlfcn.h>
#include <libgen.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kCalls = 10, kSum = 7 * 45 + 3 * 10, kOtherSum = 5 * 45 + 10 };

static char folder[4096];

static void* load(const char* name) {
  char path[8192];
  snprintf(path, sizeof path, "%s%s", name[0] == '/' ? "" : folder, name);
  void* handle = dlopen(path, RTLD_NOW);
  if (!handle) fprintf(stderr, "%s\n", dlerror());
  return handle;
}

static char* base_of(void* handle) {
  struct link_map* map = NULL;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) ? NULL : (char*)map->l_addr;
}

static int call(void* handle, const char* name, int calls) {
  int (*function)(int) = (int (*)(int))dlsym(handle, name);
  return function ? function(calls) : -1;
}

// Whether the code of the function is that of its file.
static int is_untouched(void* handle, const char* path, const char* name) {
  const char* function = (const char*)dlsym(handle, name);
  char there[16], full[8192];
  snprintf(full, sizeof full, "%s%s", folder, path);
  FILE* file = fopen(full, "r");
  if (!file || !function) return 0;
  const int same = fseek(file, function - base_of(handle), SEEK_SET) == 0 &&
                   fread(there, sizeof there, 1, file) == 1 &&
                   memcmp(there, function, sizeof there) == 0;
  fclose(file);
  return same;
}

int main(int argc, char** argv) {
  const char* library = argc > 1 ? argv[1] : "reload_so.so";
  if (readlink("/proc/self/exe", folder, sizeof folder - 32) < 0) return 1;
  strcpy(strrchr(folder, '/') + 1, "");
  char* first = NULL;
  int good = 0, same = 0;
  for (int round = 0; round < 3; round++) {
    void* handle = load(library);
    if (!handle) return 2;
    if (!first) first = base_of(handle);
    same += base_of(handle) == first;
    good += call(handle, "reload_calls", kCalls) == kSum;
    dlclose(handle);
    if (argc > 2 && round == 0) getchar();
  }
  const long page = 4096;
  void* block =
      mmap(first, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  void* handle = load(library);
  if (!handle) return 2;
  const int moved = base_of(handle) != first;
  good += call(handle, "reload_calls", kCalls) == kSum;
  dlclose(handle);
  munmap(block, page);
  void* other = load("reload_other_so.so");
  if (!other) return 2;
  const int in_place = base_of(other) == first;
  const int untouched = is_untouched(other, "reload_other_so.so", "reload_idle");
  handle = load(library);
  if (!handle) return 2;
  good += call(handle, "reload_calls", kCalls) == kSum;
  const int fine = call(other, "reload_idles", kCalls) == kOtherSum;
  dlclose(handle);
  dlclose(other);
  printf("same place %d, moved %d, another in its place %d, untouched %d, good %d, fine %d\n", same,
         moved, in_place, untouched, good, fine);
  return 0;
}
