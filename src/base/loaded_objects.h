// SPDX-License-Identifier: MIT
//
// The objects that are loaded, one after the other, under the dynamic linker's lock.
//
// Nothing may be thrown across dl_iterate_phdr(): its frame has a cleanup, whose personality is of
// another unwinder than ours (libgcc_s is loaded for it), and that one ends the program. So what a
// visit throws ends the walk, and is thrown again behind it.
#pragma once

#include <link.h>

#include <cstddef>
#include <new>

namespace patchbay {

// `int visit(const dl_phdr_info&)`: the walk ends where it is not 0. Returns the last answer.
template <typename Visit>
int for_each_object(Visit visit) {
  struct Walk {
    Visit* visit;
    bool out_of_memory;
  } walk{&visit, false};
  const auto one = [](dl_phdr_info* info, size_t, void* data) -> int {
    auto* const walk = static_cast<Walk*>(data);
    try {
      return (*walk->visit)(*info);
    } catch (const std::bad_alloc&) {
      walk->out_of_memory = true;
      return 1;
    }
  };
  const int answer = ::dl_iterate_phdr(one, &walk);
  if (walk.out_of_memory) throw std::bad_alloc();
  return answer;
}

}  // namespace patchbay
