// SPDX-License-Identifier: MIT
//
// patchbay/patchbay.h: the files of the program's own tree, read and written under the agent's
// lock. A forked child asks the agent of its parent.
#include <fcntl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <new>

#include "agent/agent.h"
#include "agent/apply_conf.h"
#include "agent/last_error.h"
#include "base/raw_syscall.h"
#include "patchbay/patchbay.h"
#include "serve/client.h"

#define PATCHBAY_API extern "C" __attribute__((visibility("default")))

namespace patchbay {
namespace {

Result<std::unique_ptr<tracefs::File>> open_file(Agent* agent, const char* path, uint32_t flags) {
  PB_ASSIGN(auto node, tracefs::lookup(*agent->root, path));
  if (!node.file) return sys_error(path, EISDIR);
  PB_TRY(node.file->open(flags));
  return std::move(node.file);
}

// As much as there is now, and no more than `most` bytes.
Result<std::string> read_whole(Agent* agent, const char* path, size_t most) {
  constexpr size_t kPiece = 64 * 1024;
  std::lock_guard guard(agent->lock());
  PB_ASSIGN(auto file, open_file(agent, path, O_RDONLY | O_NONBLOCK));
  std::string text;
  while (text.size() < most) {
    auto piece = file->read_next(std::min(kPiece, most - text.size()), tracefs::ReadMode::kAny);
    if (!piece.ok() && piece.error().errno_value == EAGAIN) return text;
    if (!piece.ok()) return piece.error();
    if (piece->empty()) return text;
    text += *piece;
  }
  return text;
}

Result<std::unique_ptr<serve::Client>> parents_client() {
  if (!g_agent || g_agent->directory.empty()) return sys_error("patchbay", ESRCH);
  return serve::Client::connect_directory(g_agent->directory);
}

Result<std::string> read_from(const char* path, size_t most) {
  forget_error();
  AgentScope scope;
  if (Agent* agent = own_agent()) return read_whole(agent, path, most);
  PB_ASSIGN(auto client, parents_client());
  auto text = client->read_all(path, serve::kMostTable);
  if (text.ok() && text->size() > most) text->resize(most);
  return text;
}

int write_to(const char* path, const char* text, bool truncate) try {
  if (!path || !text) return refuse_plain(-EINVAL);
  forget_error();
  AgentScope scope;
  if (Agent* agent = own_agent()) {
    std::lock_guard guard(agent->lock());
    return answer_of(write_file(agent, path, text, O_WRONLY | (truncate ? O_TRUNC : O_APPEND)));
  }
  auto client = parents_client();
  if (!client.ok()) return refuse(client.error());
  return answer_of((*client)->write_all(path, text, truncate));
} catch (const std::bad_alloc&) {
  return no_memory(-ENOMEM);
}

// Looks again and again, without the lock between: whatever makes the file readable is done by
// threads that do not tell.
Result<int> wait_until_readable(Agent* agent, const char* path, int timeout_ms) {
  constexpr int64_t kLongestNapNs = 10'000'000;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  std::unique_ptr<tracefs::File> file;
  for (int64_t nap_ns = 500'000;; nap_ns = std::min(2 * nap_ns, kLongestNapNs)) {
    {
      AgentScope scope;
      std::lock_guard guard(agent->lock());
      if (!file) {
        PB_ASSIGN(auto opened, open_file(agent, path, O_RDONLY | O_NONBLOCK));
        file = std::move(opened);
      }
      const bool is_readable = file->readable();
      const bool is_over = timeout_ms >= 0 && std::chrono::steady_clock::now() >= end;
      if (is_readable || is_over) {
        file.reset();
        return int(is_readable);
      }
    }
    timespec nap{0, nap_ns};
    raw_syscall(SYS_nanosleep, raw_pointer(&nap));
  }
}

}  // namespace
}  // namespace patchbay

using namespace patchbay;

PATCHBAY_API const char* patchbay_version() { return PATCHBAY_VERSION; }

PATCHBAY_API int patchbay_write(const char* path, const char* text) {
  return write_to(path, text, false);
}

PATCHBAY_API int patchbay_replace(const char* path, const char* text) {
  return write_to(path, text, true);
}

PATCHBAY_API ssize_t patchbay_read(const char* path, char* buffer, size_t size) try {
  if (!path || (!buffer && size)) return refuse_plain(-EINVAL);
  auto text = read_from(path, SIZE_MAX);
  if (!text.ok()) return refuse(text.error());
  if (size > 0) {
    size_t stored = std::min(text->size(), size - 1);
    std::memcpy(buffer, text->data(), stored);
    buffer[stored] = '\0';
  }
  return ssize_t(text->size());
} catch (const std::bad_alloc&) {
  return no_memory(ssize_t(-ENOMEM));
}

PATCHBAY_API ssize_t patchbay_read_to(const char* path, size_t most, patchbay_take_fn take,
                                      void* data) try {
  if (!path || !take) return refuse_plain(-EINVAL);
  auto text = read_from(path, most);
  if (!text.ok()) return refuse(text.error());
  take(text->data(), text->size(), data);
  return ssize_t(text->size());
} catch (const std::bad_alloc&) {
  return no_memory(ssize_t(-ENOMEM));
}

PATCHBAY_API int patchbay_wait(const char* path, int timeout_ms) try {
  if (!path) return refuse_plain(-EINVAL);
  forget_error();
  Agent* agent = own_agent();
  if (!agent) return refuse(user_error(ESRCH, "Patchbay does not run in this process."));
  auto answer = wait_until_readable(agent, path, timeout_ms);
  return answer.ok() ? *answer : refuse(answer.error());
} catch (const std::bad_alloc&) {
  return no_memory(-ENOMEM);
}

PATCHBAY_API size_t patchbay_error_text(char* buffer, size_t size) {
  return copy_error(buffer, size);
}

PATCHBAY_API const char* patchbay_directory() {
  if (!g_agent) return "";
  return g_agent->directory.empty() ? "memory" : g_agent->directory.c_str();
}
