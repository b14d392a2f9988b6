// SPDX-License-Identifier: MIT
#include "agent/exec_environment.h"

#include <cerrno>
#include <cstdint>

#include "base/raw_syscall.h"
#include "base/raw_text.h"

namespace patchbay {
namespace {

constexpr char kPreload[] = "LD_PRELOAD=";
constexpr char kFollow[] = "PATCHBAY_FOLLOW=";
constexpr char kPreloaded[] = "PATCHBAY_PRELOADED=";
constexpr char kOurLibrary[] = "libpatchbay.so";

// Asks the kernel once for each page, and remembers the last one. rt_sigprocmask() reads the mask
// first, and then finds that there is nothing that it should do with it.
class ReadablePages {
 public:
  bool has(const void* at) {
    constexpr uintptr_t kPage = 4096;
    constexpr long kNothing = -1, kMaskSize = 8;
    const uintptr_t page = reinterpret_cast<uintptr_t>(at) & ~(kPage - 1);
    if (page == last_) return true;
    if (raw_syscall(SYS_rt_sigprocmask, kNothing, long(page), 0, kMaskSize) != -EINVAL)
      return false;
    last_ = page;
    return true;
  }

 private:
  uintptr_t last_ = 1;  // no page begins there
};

// Null: no entry of this name. Names end with their '='.
const char* last_value(char* const* envp, const char* name) {
  const char* value = nullptr;
  for (; envp && *envp; envp++)
    if (raw_starts_with(*envp, name)) value = *envp + raw_length(name);
  return value;
}

// --- lists of paths, as LD_PRELOAD has them

bool is_separator(char c) { return c == ':' || c == ' '; }

size_t path_length(const char* list) {
  size_t length = 0;
  while (list[length] && !is_separator(list[length])) length++;
  return length;
}

bool is_our_library(const char* path, size_t length) {
  size_t base = length;
  while (base > 0 && path[base - 1] != '/') base--;
  return length - base >= sizeof kOurLibrary - 1 && raw_starts_with(path + base, kOurLibrary);
}

bool has_our_library(const char* list) {
  for (; *list; list += is_separator(*list)) {
    const size_t length = path_length(list);
    if (is_our_library(list, length)) return true;
    list += length;
  }
  return false;
}

// --- texts

class Texts {
 public:
  Texts(char* to, size_t room) : to_(to), end_(to + room) {}

  // What follows up to end() is one text.
  char* begin() const { return to_; }
  void add(const char* text, size_t length) {
    for (; length; length--) put(*text++);
  }
  void add(const char* text) { add(text, raw_length(text)); }
  void end() { put('\0'); }

  bool fits() const { return fits_; }

 private:
  void put(char c) {
    if (to_ == end_)
      fits_ = false;
    else
      *to_++ = c;
  }

  char *to_, *end_;
  bool fits_ = true;
};

// `list` behind a colon, as it is, or without names of the agent: another file of that name would
// be a second agent.
void add_rest(Texts* texts, const char* list) {
  if (!has_our_library(list)) {
    texts->add(":");
    texts->add(list);
    return;
  }
  for (; *list; list += is_separator(*list)) {
    const size_t length = path_length(list);
    if (length && !is_our_library(list, length)) {
      texts->add(":");
      texts->add(list, length);
    }
    list += length;
  }
}

// What stands before the agent: the library that the program is linked with, or one that the
// program itself preloads. It may be in the list twice.
struct Runtime {
  const char* path = nullptr;
  size_t length = 0;
};
Runtime runtime_first(const ExecAdditions& add, const char* list) {
  if (add.runtime_first && *add.runtime_first)
    return {add.runtime_first, raw_length(add.runtime_first)};
  for (; list && *list; list += is_separator(*list)) {
    const size_t length = path_length(list);
    size_t base = length;
    while (base > 0 && list[base - 1] != '/') base--;
    const char* const name = list + base;
    if (raw_starts_with(name, "libasan.so") || raw_starts_with(name, "libclang_rt.asan"))
      return {list, length};
    list += length;
  }
  return {};
}

char* preload_entry(Texts* texts, const ExecAdditions& add, const char* old) {
  char* entry = texts->begin();
  texts->add(kPreload);
  if (const Runtime runtime = runtime_first(add, old); runtime.length) {
    texts->add(runtime.path, runtime.length);
    texts->add(":");
  }
  texts->add(add.agent);
  if (old) add_rest(texts, old);
  texts->end();
  return entry;
}

char* entry_of(Texts* texts, const char* name, const char* value, size_t length) {
  char* entry = texts->begin();
  texts->add(name);
  texts->add(value, length);
  texts->end();
  return entry;
}

}  // namespace

bool exec_list_is_readable(char* const* list) noexcept {
  ReadablePages vector, texts;
  for (; list; list++) {
    // An entry of a vector that is not aligned may lie in two pages.
    if (!vector.has(list) || !vector.has(reinterpret_cast<const char*>(list + 1) - 1)) return false;
    if (!*list) return true;
    for (const char* text = *list;; text++) {
      if (!texts.has(text)) return false;
      if (!*text) break;
    }
  }
  return true;
}

size_t exec_environment_count(char* const* envp) noexcept {
  size_t count = 0;
  while (envp && envp[count]) count++;
  return count;
}

ExecRoom exec_environment_room(char* const* envp, const ExecAdditions& add) noexcept {
  const char* old = last_value(envp, kPreload);
  size_t text = sizeof kPreload + raw_length(add.agent) + sizeof kFollow + raw_length(add.follow);
  if (old) text += 1 + raw_length(old);
  const Runtime runtime = runtime_first(add, old);
  if (runtime.length) text += sizeof kPreloaded + 2 * runtime.length + 1;
  return {exec_environment_count(envp) + 4, text};
}

bool make_exec_environment(char* const* envp, const ExecAdditions& add, char** out_vector,
                           size_t slots, char* text, size_t text_size) noexcept {
  Texts texts(text, text_size);
  const char* old = last_value(envp, kPreload);
  char* const preload = preload_entry(&texts, add, old);
  char* const follow = entry_of(&texts, kFollow, add.follow, raw_length(add.follow));
  const Runtime runtime = runtime_first(add, old);
  char* const preloaded =
      runtime.length ? entry_of(&texts, kPreloaded, runtime.path, runtime.length) : nullptr;
  if (!texts.fits() || exec_environment_count(envp) + 4 > slots) return false;
  bool has_follow = false, has_preloaded = !preloaded;
  for (; envp && *envp; envp++) {
    char* entry = *envp;
    if (old && entry + sizeof kPreload - 1 == old) entry = preload;
    if (raw_starts_with(entry, kFollow)) entry = follow, has_follow = true;
    if (preloaded && raw_starts_with(entry, kPreloaded)) entry = preloaded, has_preloaded = true;
    *out_vector++ = entry;
  }
  if (!old) *out_vector++ = preload;
  if (!has_follow) *out_vector++ = follow;
  if (!has_preloaded) *out_vector++ = preloaded;
  *out_vector = nullptr;
  return true;
}

bool exec_only_lists(char* const* envp) noexcept {
  return last_value(envp, "LD_TRACE_LOADED_OBJECTS=") != nullptr;
}

}  // namespace patchbay
