// SPDX-License-Identifier: MIT
//
// Texts without libc, for code that runs where libc must not be called: see base/raw_syscall.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace patchbay {

inline size_t raw_length(const char* text) {
  size_t length = 0;
  while (text[length]) length++;
  return length;
}

inline bool raw_starts_with(const char* text, const char* prefix) {
  while (*prefix)
    if (*text++ != *prefix++) return false;
  return true;
}

inline bool raw_is_same(const char* a, const char* b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

inline bool raw_contains(const char* text, const char* part) {
  for (; *text; text++)
    if (raw_starts_with(text, part)) return true;
  return false;
}

// As much of a text as there is room for, with its NUL. False: it is cut.
inline bool raw_copy(char* to, size_t room, const char* text) {
  for (; room > 1 && *text; room--) *to++ = *text++;
  *to = '\0';
  return !*text;
}

// The path of a descriptor of the calling thread.
class RawDescriptorPath {
 public:
  explicit RawDescriptorPath(int fd) {
    char digits[12];
    size_t count = 0, end = sizeof kFolder - 1;
    raw_copy(text_, sizeof text_, kFolder);
    auto rest = uint32_t(fd);
    do digits[count++] = char('0' + rest % 10);
    while (rest /= 10);
    while (count) text_[end++] = digits[--count];
    text_[end] = '\0';
  }
  const char* text() const { return text_; }

 private:
  static constexpr char kFolder[] = "/proc/thread-self/fd/";
  char text_[sizeof kFolder + 10];
};

}  // namespace patchbay
