// SPDX-License-Identifier: MIT
//
// Files that are mapped to be read. Whoever may write such a file may also cut it short, as `cp`
// over it does, and then a load behind its end is a SIGBUS. So each mapping of a file is noted
// here, and the handler of SIGBUS puts a page of zeros where a page has gone: the load is done
// again, and who reads foreign bytes takes zeros as any others.
//
//   the tool     MappedFilesGuard in main(); at its end changed_file() says what has happened
//   the agent    its own handler (agent/signal_hooks.cc), before that a MappedFilesGuard
#pragma once

#include <signal.h>

#include <cstddef>
#include <string>

namespace patchbay {

struct NotedFile;

// `size`: of whole pages. Null: there is no memory to note it, and the file must not be mapped.
NotedFile* note_mapped_file(const void* address, size_t size, const std::string& path);
// Before it is unmapped: afterwards the addresses are others'.
void forget_mapped_file(NotedFile* file);

// For a handler of SIGBUS: whether the load may be done again. Async-signal-safe.
bool fill_lost_page(const siginfo_t& info);

// The first file that was cut short while it was read; empty: there was none.
std::string changed_file();

// A handler of SIGBUS that fills pages. A SIGBUS of any other kind goes to the handler that was
// there before, from then on.
class MappedFilesGuard {
 public:
  MappedFilesGuard();
  ~MappedFilesGuard();
  MappedFilesGuard(const MappedFilesGuard&) = delete;
};

}  // namespace patchbay
