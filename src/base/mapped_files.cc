// SPDX-License-Identifier: MIT
#include "base/mapped_files.h"

#include <sys/mman.h>

#include <atomic>
#include <new>

#include "base/raw_syscall.h"

namespace patchbay {

// Never freed, and used again: the handler walks the list while others change it.
struct NotedFile {
  std::atomic<uintptr_t> start{0}, end{0};  // 0: nothing is mapped
  std::atomic<bool> is_taken{true};
  std::string path;
  NotedFile* next = nullptr;
};

namespace {

constexpr uintptr_t kPage = 4096;

std::atomic<NotedFile*> g_files{nullptr};
std::atomic<NotedFile*> g_changed{nullptr};  // the first of them

// Only the owner of a mapping takes it away, so the one that has faulted stays where it is.
NotedFile* file_at(uintptr_t address) {
  for (NotedFile* file = g_files.load(std::memory_order_acquire); file; file = file->next) {
    const uintptr_t start = file->start.load(std::memory_order_acquire);
    const uintptr_t end = file->end.load(std::memory_order_acquire);
    if (start && address >= start && address < end && file->start.load() == start) return file;
  }
  return nullptr;
}

NotedFile* free_file() {
  for (NotedFile* file = g_files.load(std::memory_order_acquire); file; file = file->next)
    if (!file->is_taken.exchange(true, std::memory_order_acquire)) return file;
  auto* made = new (std::nothrow) NotedFile;
  if (!made) return nullptr;
  made->next = g_files.load(std::memory_order_relaxed);
  while (!g_files.compare_exchange_weak(made->next, made, std::memory_order_release)) {
  }
  return made;
}

struct sigaction g_before;

void on_bus_error(int number, siginfo_t* info, void*) {
  // What is not ours repeats itself, and finds the handler that was there.
  if (!fill_lost_page(*info)) (void)::sigaction(number, &g_before, nullptr);
}

}  // namespace

NotedFile* note_mapped_file(const void* address, size_t size, const std::string& path) {
  NotedFile* file = free_file();
  if (!file) return nullptr;
  file->path = path;
  file->end.store(reinterpret_cast<uintptr_t>(address) + size, std::memory_order_relaxed);
  file->start.store(reinterpret_cast<uintptr_t>(address), std::memory_order_release);
  return file;
}

void forget_mapped_file(NotedFile* file) {
  file->start.store(0);
  // The one that has changed keeps its name.
  if (file != g_changed.load()) file->is_taken.store(false, std::memory_order_release);
}

bool fill_lost_page(const siginfo_t& info) {
  if (info.si_code != BUS_ADRERR) return false;
  const auto address = reinterpret_cast<uintptr_t>(info.si_addr);
  NotedFile* file = file_at(address);
  if (!file) return false;
  const long page = long(address & ~(kPage - 1));
  const long made = raw_syscall(SYS_mmap, page, kPage, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (made != page) return false;
  NotedFile* none = nullptr;
  (void)g_changed.compare_exchange_strong(none, file);
  return true;
}

std::string changed_file() {
  const NotedFile* file = g_changed.load();
  return file ? file->path : "";
}

MappedFilesGuard::MappedFilesGuard() {
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  (void)::sigaction(SIGBUS, &action, &g_before);
}

MappedFilesGuard::~MappedFilesGuard() {
  struct sigaction now = {};
  if (::sigaction(SIGBUS, nullptr, &now) == 0 && now.sa_sigaction == on_bus_error)
    (void)::sigaction(SIGBUS, &g_before, nullptr);
}

}  // namespace patchbay
