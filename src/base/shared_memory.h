// SPDX-License-Identifier: MIT
//
// Memory that is never freed and that forked children share, for the few words that a traced
// thread of any of these processes changes: is an instance recording, how often does an action
// still act. (What is in a buffer file is shared as well, but readers of foreign processes see it.)
//
// It comes from one mapping, made at the first call and reserved for all that comes later: so what
// is taken from it after a fork is there in running children too, at the same address. In a child
// agree_on_shared() finds it (base/agreed.h); what the child makes otherwise is its own.
#pragma once

#include <cstddef>
#include <new>
#include <string_view>

namespace patchbay {

// Zeroed, on a cache line of its own. Never null: without memory for a shared mapping it is private
// memory, and each child goes on with what it had. Any thread; in a forked child private memory.
void* shared_forever(size_t bytes);

// Whole pages, zeroed, of which only what is touched takes memory. Null: there are none.
void* shared_pages(size_t bytes);
// What was shared_pages() or shared_forever() is also there in children that run already.
bool is_shared_with_running(const void* at);

template <typename T>
T* make_shared_forever() {
  return new (shared_forever(sizeof(T))) T{};
}

// The same memory in the parent and in a child that repeats the change. `fresh`: nobody has written
// it yet; else it is in use, and not to be initialised.
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
