// SPDX-License-Identifier: MIT
//
// What it takes at least to lead N functions that other threads may run elsewhere, and back: the
// patches of enable.cc without all that a tracer has to know about a function. For each there are
// the 256 bytes of a stub, a jump at its entry and a word that says that it is on. The text is
// written as docs/text_poke.md has it: a page at a time through /proc/self/mem, guards, tails,
// heads, and all processors synchronize after each. Nothing is decoded, planned or allocated, no
// thread is waited for, and nobody could ask what is on. The stubs are never run.
#pragma once

#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace bench {

class EnableLimit {
 public:
  // Sorted; each has five bytes of its own.
  explicit EnableLimit(std::vector<uint8_t*> entries)
      : entries_(std::move(entries)),
        on_(entries_.size()),
        memory_(::open("/proc/self/mem", O_RDWR)) {
    ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
    const size_t size = entries_.size() * kStub;
    stubs_ = static_cast<uint8_t*>(
        ::mmap(nullptr, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (uint8_t* entry : entries_) originals_.emplace_back(entry, entry + kJump);
  }

  void on() {
    std::vector<uint8_t> image(entries_.size() * kStub, 0x90);
    for (size_t i = 0; i < entries_.size(); i++) {
      uint8_t* stub = &image[i * kStub];
      std::memcpy(stub, originals_[i].data(), kJump);
      put_jump(stub + kStub - kJump, stubs_ + (i + 1) * kStub - kJump, entries_[i] + kJump);
    }
    write(stubs_, image.data(), image.size());
    change([this](size_t i, uint8_t* bytes) { put_jump(bytes, entries_[i], stubs_ + i * kStub); });
    for (auto& on : on_) on = 1;
  }
  void off() {
    change([this](size_t i, uint8_t* bytes) { std::memcpy(bytes, originals_[i].data(), kJump); });
    for (auto& on : on_) on = 0;
  }

 private:
  static constexpr size_t kStub = 256, kJump = 5;
  static constexpr uintptr_t kPage = 4096;

  static void put_jump(uint8_t* at, const uint8_t* from, const uint8_t* to) {
    const auto distance = int32_t(to - (from + kJump));
    at[0] = 0xe9;
    std::memcpy(at + 1, &distance, sizeof distance);
  }
  void write(uint8_t* to, const uint8_t* bytes, size_t size) const {
    (void)!::pwrite(memory_, bytes, size, off_t(reinterpret_cast<uintptr_t>(to)));
  }
  static void synchronize() {
    ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
  }
  template <typename Wanted>
  void change(Wanted wanted) {
    pass([](size_t, uint8_t* bytes) { bytes[0] = 0xcc; });
    pass([&](size_t i, uint8_t* bytes) {
      wanted(i, bytes);
      bytes[0] = 0xcc;
    });
    pass(wanted);
  }
  // The entries of a page, and one that goes on in the next page, are written at once.
  template <typename Wanted>
  void pass(Wanted wanted) {
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i < entries_.size();) {
      uint8_t* const first = entries_[i];
      const uintptr_t page = reinterpret_cast<uintptr_t>(first) / kPage;
      size_t end = i;
      while (end < entries_.size() && reinterpret_cast<uintptr_t>(entries_[end]) / kPage == page)
        end++;
      bytes.assign(first, entries_[end - 1] + kJump);
      for (; i < end; i++) wanted(i, &bytes[size_t(entries_[i] - first)]);
      write(first, bytes.data(), bytes.size());
    }
    synchronize();
  }

  std::vector<uint8_t*> entries_;
  std::vector<std::vector<uint8_t>> originals_;
  std::vector<uint64_t> on_;
  int memory_;
  uint8_t* stubs_;
};

}  // namespace bench
