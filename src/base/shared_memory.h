// SPDX-License-Identifier: MIT
//
// Memory that is never freed and that forked children share. It holds the few words that traced
// threads of all these processes change: whether an instance is recording, how often an action will
// still act. (A buffer file is shared as well, but readers in other processes see it.)
//
// The first call makes one mapping and reserves it for everything that comes later. So memory that
// the parent takes after a fork is also in children that run already, at the same address. A child
// finds it by agree_on_shared() (base/agreed.h); any other memory that the child makes is its own.
#pragma once

#include <cstddef>
#include <new>
#include <string_view>

#include "base/result.h"

namespace patchbay {

// Zeroed memory on a cache line of its own; any thread may call. Never null: where no shared
// mapping can be made, and in a forked child, it is private memory of each process.
void* shared_forever(size_t bytes);

// Whole zeroed pages; a page takes memory when it is touched. Null: no mapping can be made.
void* shared_pages(size_t bytes);
// Whether children that run already see this place too; it is from the two functions above.
bool is_shared_with_running(const void* at);

// In a forked child that goes its own way (agent/forked_child.h): from now on it shares this memory
// with nobody but the children that it forks itself.
// Everything stays where it is and as it is. What other threads write at that very moment may be
// lost.
Status leave_shared_memory();

template <typename T>
T* make_shared_forever() {
  return new (shared_forever(sizeof(T))) T{};
}

// The same memory in the parent and in a child that repeats the change. `fresh`: no process has
// written it yet. Memory that is not fresh is in use and must not be initialised.
struct SharedPlace {
  void* at;
  bool fresh;
};
SharedPlace agree_on_shared(size_t bytes, std::string_view what, std::string_view name);

template <typename T>
T* agreed_shared(std::string_view what, std::string_view name = {}, bool* fresh = nullptr) {
  const SharedPlace place = agree_on_shared(sizeof(T), what, name);
  if (fresh) *fresh = place.fresh;
  return place.fresh ? new (place.at) T{} : static_cast<T*>(place.at);
}

}  // namespace patchbay
