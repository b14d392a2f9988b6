// SPDX-License-Identifier: MIT
//
// Gaps come from /proc/self/maps. The nearest one wins, but never the room into which the heap or
// the stack grows.

#include "arch/x86_64/near_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/raw_syscall.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace patchbay {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLowest = 0x10000;
constexpr uint64_t kHighest = 0x7ffffffff000;
constexpr uint64_t kHeapRoom = uint64_t{1} << 30;
constexpr uint64_t kStackRoom = uint64_t{64} << 20;

struct Gap {
  uint64_t first, last;  // [first, last)
};

std::string read_maps() {
  static const char kPath[] = "/proc/self/maps";
  std::string text;
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, raw_pointer(kPath), O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return text;
  size_t used = 0;
  for (;;) {
    text.resize(used + 65536);
    const long n = raw_syscall(SYS_read, fd, raw_pointer(text.data() + used), 65536);
    if (n <= 0) break;
    used += static_cast<size_t>(n);
  }
  raw_syscall(SYS_close, fd);
  text.resize(used);
  return text;
}

std::vector<Gap> find_gaps() {
  const std::string maps = read_maps();
  std::vector<Gap> gaps;
  uint64_t previous_end = kLowest;
  for (size_t at = 0; at < maps.size();) {
    size_t eol = maps.find('\n', at);
    if (eol == std::string::npos) eol = maps.size();
    const std::string_view line(maps.data() + at, eol - at);
    char* cursor = nullptr;
    uint64_t start = std::strtoull(maps.c_str() + at, &cursor, 16);
    const uint64_t end = std::strtoull(cursor + 1, nullptr, 16);
    if (start > kHighest) break;
    uint64_t usable_end = start;
    if (line.ends_with("[stack]")) usable_end -= std::min(usable_end, kStackRoom);
    if (usable_end > previous_end) gaps.push_back({previous_end, usable_end});
    previous_end = std::max(previous_end, line.ends_with("[heap]") ? end + kHeapRoom : end);
    at = eol + 1;
  }
  if (previous_end < kHighest) gaps.push_back({previous_end, kHighest});
  return gaps;
}

// The place in the gap that is nearest to `code`, one page off its ends; 0: too small or too far.
uint64_t place_in(const Gap& gap, uint64_t code, uint64_t size) {
  if (gap.last - gap.first < size + 2 * kPage) return 0;
  const uint64_t low = gap.first + kPage;
  const uint64_t high = gap.last - kPage - size;
  const uint64_t place = std::clamp(code & ~(kPage - 1), low, high);
  return within_reach(place, code) && within_reach(place + size, code) ? place : 0;
}

bool map_at(uint64_t place, size_t size) {
  const long got =
      raw_syscall(SYS_mmap, static_cast<long>(place), static_cast<long>(size),
                  PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == static_cast<long>(place)) return true;
  // A kernel before 4.17 takes the address as a hint.
  if (got > 0) raw_syscall(SYS_munmap, got, static_cast<long>(size));
  return false;
}

// Where there is no /proc (a chroot) the gaps are not known: what is free is tried, downwards
// first, where the kernel puts mappings next.
uint64_t map_by_trial(uint64_t code, size_t size) {
  constexpr uint64_t kStep = uint64_t{2} << 20, kFarthest = uint64_t{1} << 30;
  const uint64_t page = code & ~(kPage - 1);
  for (const int64_t direction : {-1, 1})
    for (uint64_t step = kStep; step < kFarthest; step += kStep) {
      const uint64_t place = page + uint64_t(direction) * step;
      if (place - kLowest < kHighest - kLowest - size && map_at(place, size)) return place;
    }
  return 0;
}

}  // namespace

uint64_t map_near(uint64_t code, size_t size) {
  for (int attempt = 0; attempt < 4; attempt++) {
    std::vector<uint64_t> places;
    for (const Gap& gap : find_gaps()) {
      if (const uint64_t place = place_in(gap, code, size)) places.push_back(place);
    }
    auto distance = [code](uint64_t place) { return place > code ? place - code : code - place; };
    std::sort(places.begin(), places.end(),
              [&](uint64_t a, uint64_t b) { return distance(a) < distance(b); });
    for (uint64_t place : places) {
      if (map_at(place, size)) return place;
    }
  }
  return ::access("/proc/self/maps", R_OK) == 0 ? 0 : map_by_trial(code, size);
}

}  // namespace patchbay
