// SPDX-License-Identifier: MIT
//
// Where the code of filters lives. Most filters are smaller than 200 bytes, so they share pages in
// units of 64 bytes. A page is executable and never writable while a thread may run it: bytes are
// put in as patches are, through /proc/self/mem. Where that is refused each filter gets pages of
// its own, filled before they become executable.
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "arch/x86_64/text_memory.h"
#include "base/raw_syscall.h"
#include "filter/filter_code.h"
#include "patch/stub_views.h"

namespace patchbay {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kUnit = 64;
constexpr size_t kUnits = kPage / kUnit;

uint64_t map(size_t size, int protection) {
  const long at =
      raw_syscall(SYS_mmap, 0, long(size), protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at > 0 ? uint64_t(at) : 0;
}
void unmap(uint64_t address, size_t size) { raw_syscall(SYS_munmap, long(address), long(size)); }

struct PoolPage {
  uint64_t address;
  uint64_t used;       // a bit per unit
  uint64_t ever_used;  // units that some core may have executed
};

// Called by the control thread only, under the agent's lock.
std::vector<PoolPage>& pool() {
  static auto* pages = new std::vector<PoolPage>;  // never destroyed: no exit handler
  return *pages;
}

uint64_t units_mask(size_t count) {
  return count == kUnits ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

uint64_t take_from(PoolPage* page, size_t count) {
  for (size_t at = 0; at + count <= kUnits; at++) {
    const uint64_t mask = units_mask(count) << at;
    if (page->used & mask) continue;
    if (page->ever_used & mask)
      sync_all_cores();  // nobody runs it any more, but may have it cached
    page->used |= mask;
    page->ever_used |= mask;
    return page->address + at * kUnit;
  }
  return 0;
}

uint64_t take(size_t size) {
  const size_t count = (size + kUnit - 1) / kUnit;
  for (PoolPage& page : pool())
    if (const uint64_t at = take_from(&page, count)) return at;
  const uint64_t address = map(kPage, PROT_READ | PROT_EXEC);
  if (!address) return 0;
  pool().push_back({address, 0, 0});
  return take_from(&pool().back(), count);
}

void give_back(uint64_t address, size_t size) {
  auto& pages = pool();
  for (size_t i = 0; i < pages.size(); i++) {
    PoolPage& page = pages[i];
    if (page.address != (address & ~(kPage - 1))) continue;
    page.used &= ~(units_mask((size + kUnit - 1) / kUnit) << (address - page.address) / kUnit);
    if (page.used) return;
    unmap(page.address, kPage);
    pages.erase(pages.begin() + long(i));
    return;
  }
  unmap(address, size);  // pages of its own
}

// Not TextMemory::write alone: its way out where /proc/self/mem is refused makes the page writable,
// which others may be executing.
bool can_write_text() {
  const long fd = raw_syscall(SYS_openat, -100 /* AT_FDCWD */, raw_pointer("/proc/self/mem"),
                              02 /* O_RDWR */, 0);
  if (fd < 0) return false;
  raw_syscall(SYS_close, fd);
  return true;
}

// What unwinders look at. Code beyond the last place works as well, but is unknown to them.
struct Place {
  std::atomic<uint64_t> address = 0;  // 0: free; written last
  uint64_t end = 0;
  uint16_t shape = 0;
};
constexpr size_t kPlaces = 1024;
constinit Place g_places[kPlaces];  // of no memory until used
std::atomic<size_t> g_places_used;  // the ones behind have never been

size_t note_place(uint64_t address, size_t size, uint16_t shape) {
  for (size_t i = 0; i < kPlaces; i++) {
    Place& place = g_places[i];
    if (place.address.load(std::memory_order_relaxed)) continue;
    place.end = address + size;
    place.shape = shape;
    place.address.store(address, std::memory_order_release);  // pairs with generated_code_at
    if (i >= g_places_used.load(std::memory_order_relaxed))
      g_places_used.store(i + 1, std::memory_order_release);
    return i + 1;
  }
  return 0;
}

}  // namespace

bool generated_code_at(uint64_t ip, uint16_t* moved) {
  const size_t used = g_places_used.load(std::memory_order_acquire);
  for (size_t i = 0; i < used; i++) {
    const uint64_t address = g_places[i].address.load(std::memory_order_acquire);
    if (!address || ip < address || ip >= g_places[i].end) continue;
    const StackShape& shape = g_stack_shapes[g_places[i].shape];
    *moved = 0;
    for (uint32_t row = 0; row < shape.count && shape.row[row].at <= ip - address; row++)
      *moved = shape.row[row].moved;
    return true;
  }
  return false;
}

FilterCode::FilterCode(const uint8_t* code, size_t size, uint16_t shape) {
  place(code, size);
  if (address_) place_ = note_place(address_, size, shape);
}

void FilterCode::place(const uint8_t* code, size_t size) {
  if (size <= kPage && can_write_text()) {
    size_ = size;
    address_ = take(size);
    if (address_ && TextMemory().write(address_, code, size)) return;
    if (address_) give_back(address_, size_);
  }
  size_ = (size + kPage - 1) / kPage * kPage;
  address_ = map(size_, PROT_READ | PROT_WRITE);
  if (!address_) return;
  std::memcpy(reinterpret_cast<void*>(address_), code, size);
  if (raw_syscall(SYS_mprotect, long(address_), long(size_), PROT_READ | PROT_EXEC) == 0) return;
  unmap(address_, size_);
  address_ = 0;
}

FilterCode::~FilterCode() {
  if (place_) g_places[place_ - 1].address.store(0, std::memory_order_release);
  if (address_) give_back(address_, size_);
}

}  // namespace patchbay
