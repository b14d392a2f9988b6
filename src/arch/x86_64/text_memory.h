// SPDX-License-Identifier: MIT
//
// Reading and writing the program's text, and making every core notice. Text stays read-only and
// executable: writes go through /proc/self/mem; where that is refused, the pages are made writable
// for the length of one write.
#pragma once

#include <cstddef>
#include <cstdint>

namespace patchbay {

// Opened for one transaction and closed after it: a descriptor that is kept would be another
// process's memory after fork, and could be closed and reused by the program.
class TextMemory {
 public:
  TextMemory();
  ~TextMemory();
  TextMemory(const TextMemory&) = delete;
  TextMemory& operator=(const TextMemory&) = delete;

  // False when some byte is not mapped.
  bool read(uint64_t address, uint8_t* out, size_t size) const;
  // Bytes that do not change may be part of the span: they are rewritten with themselves. Not
  // atomic over more than one byte: the caller guards the others by int3.
  bool write(uint64_t address, const uint8_t* data, size_t size);

 private:
  bool write_by_mprotect(uint64_t address, const uint8_t* data, size_t size);
  int fd_ = -1;
};

// Copies what can be read of [address, address + size), from its start on; returns how much that
// is. By the kernel: an object that another thread unloads meanwhile makes the copy short, and
// nobody faults.
size_t copy_of_memory(uint64_t address, void* out, size_t size);

// Returns when every core has executed a serializing instruction, so that no core runs bytes that
// were fetched before. False: the kernel lacks membarrier(SYNC_CORE) and a slower way was taken.
bool sync_all_cores();

}  // namespace patchbay
