// SPDX-License-Identifier: MIT
//
// The agent's side of attach_abi.h, for the tests of the tool's side. What it does is said by the
// settings:
//   HOOK=ADDRESS SIZE DISPLACED OLD NEW   one hook, numbers and bytes in hexadecimal
//   SIGNALS=MASK OTHERS                   masks of AttachHooks; the thread words are ours
//   RANGE=START END                       where no thread may be
//   FAIL=TEXT                             kFailed in place of kHooks
//   SILENT=1                              nothing is said any more after kHooked
//   STOP=1                                its process is stopped before it says that it serves
// A packet with one byte in place of a message asks it to detach.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "abi/attach_abi.h"

namespace {

using namespace patchbay::abi;

thread_local uint64_t t_blocked, t_blocked_with;
thread_local uint8_t t_open;

struct Agent {
  int socket;
  std::map<std::string, std::string> settings;
};

int64_t offset_of(const void* word) {
  uint64_t thread_pointer;
  __asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
  return int64_t(reinterpret_cast<uint64_t>(word) - thread_pointer);
}

void say(int socket, AttachMessage kind, const void* data = nullptr, size_t size = 0) {
  std::string message(sizeof(AttachHeader) + size, '\0');
  const AttachHeader header = {kAttachVersion, kind};
  std::memcpy(message.data(), &header, sizeof header);
  if (size) std::memcpy(message.data() + sizeof header, data, size);
  ::send(socket, message.data(), message.size(), MSG_NOSIGNAL);
}

// The kind of the next message, 0 at the end.
uint32_t hear(int socket, std::string* body = nullptr) {
  static char message[kMaxAttachMessage];
  const ssize_t size = ::recv(socket, message, sizeof message, 0);
  if (size <= 0) return 0;
  if (size < ssize_t(sizeof(AttachHeader))) return ~0u;
  AttachHeader header;
  std::memcpy(&header, message, sizeof header);
  if (body) body->assign(message + sizeof header, size_t(size) - sizeof header);
  return uint32_t(header.kind);
}

void bytes_of(const char* hex, uint8_t* out) {
  for (unsigned byte; std::sscanf(hex, "%2x", &byte) == 1; hex += 2) *out++ = uint8_t(byte);
}

void say_hooks(const Agent& agent, bool leaves) {
  struct {
    AttachHooks head;
    AttachHook hook;
    AttachRange range;
  } message = {};
  message.head.leaves = leaves;
  message.head.own_thread = int32_t(::syscall(SYS_gettid));
  if (const auto set = agent.settings.find("SIGNALS"); set != agent.settings.end()) {
    unsigned long signals = 0, others = 0;
    std::sscanf(set->second.c_str(), "%lx %lx", &signals, &others);
    message.head.signals = signals, message.head.others = others;
    message.head.blocked = offset_of(&t_blocked);
    message.head.blocked_with = offset_of(&t_blocked_with);
  }
  message.head.open = offset_of(&t_open);
  size_t size = sizeof message.head;
  if (const auto hook = agent.settings.find("HOOK"); hook != agent.settings.end()) {
    unsigned long address = 0;
    unsigned bytes = 0, displaced = 0;
    char old_bytes[64] = {}, new_bytes[64] = {};
    std::sscanf(hook->second.c_str(), "%lx %x %x %63s %63s", &address, &bytes, &displaced,
                old_bytes, new_bytes);
    message.head.nr_hooks = 1;
    message.hook.address = address;
    message.hook.size = bytes, message.hook.displaced = displaced;
    bytes_of(old_bytes, leaves ? message.hook.new_bytes : message.hook.old_bytes);
    bytes_of(new_bytes, leaves ? message.hook.old_bytes : message.hook.new_bytes);
    size += sizeof message.hook;
  }
  if (const auto range = agent.settings.find("RANGE"); range != agent.settings.end()) {
    AttachRange where = {};
    std::sscanf(range->second.c_str(), "%lx %lx", &where.start, &where.end);
    std::memcpy(reinterpret_cast<char*>(&message) + size, &where, sizeof where);
    message.head.nr_ranges = 1;
    size += sizeof where;
  }
  say(agent.socket, AttachMessage::kHooks, &message, size);
}

// The tool has gone: what it may have written is taken back.
void put_back(const Agent& agent) {
  const auto hook = agent.settings.find("HOOK");
  if (hook == agent.settings.end()) return;
  unsigned long address = 0;
  unsigned size = 0;
  char texts[2][64] = {};
  uint8_t old_bytes[kMaxHookBytes] = {}, new_bytes[kMaxHookBytes] = {}, found[kMaxHookBytes] = {};
  std::sscanf(hook->second.c_str(), "%lx %x %*x %63s %63s", &address, &size, texts[0], texts[1]);
  bytes_of(texts[0], old_bytes);
  bytes_of(texts[1], new_bytes);
  const int memory = ::open("/proc/thread-self/mem", O_RDWR | O_CLOEXEC);
  if (::pread(memory, found, size, off_t(address)) == ssize_t(size) &&
      std::memcmp(found, new_bytes, size) == 0)
    (void)!::pwrite(memory, old_bytes, size, off_t(address));
  ::close(memory);
}

bool exchange(const Agent& agent, bool leaves) {
  say_hooks(agent, leaves);
  if (hear(agent.socket) != uint32_t(AttachMessage::kHooked)) return put_back(agent), false;
  if (agent.settings.contains("SILENT")) return hear(agent.socket), false;
  say(agent.socket, AttachMessage::kInstalled);
  if (agent.settings.contains("STOP")) {
    ::kill(::getpid(), SIGSTOP);
    if (hear(agent.socket) == 0) return put_back(agent), false;
  }
  if (leaves) {
    say(agent.socket, AttachMessage::kAsleep);
  } else {
    const char directory[] = "/the/directory";
    say(agent.socket, AttachMessage::kServing, directory, sizeof directory - 1);
  }
  return true;
}

void* run(void* argument) {
  auto* agent = static_cast<Agent*>(argument);
  // As the real one: a loader that was late closes the socket in the program's table.
  if (::unshare(CLONE_FILES) == 0) {
    if (agent->socket > 3) ::close_range(3, unsigned(agent->socket) - 1, 0);
    ::close_range(unsigned(agent->socket) + 1, ~0u, 0);
  }
  std::string body;
  if (hear(agent->socket, &body) == uint32_t(AttachMessage::kSettings)) {
    for (size_t at = 0; at < body.size();) {
      const std::string line(body.c_str() + at);
      at += line.size() + 1;
      const size_t sign = line.find('=');
      if (sign != line.npos) agent->settings[line.substr(0, sign)] = line.substr(sign + 1);
    }
    if (const auto fail = agent->settings.find("FAIL"); fail != agent->settings.end())
      say(agent->socket, AttachMessage::kFailed, fail->second.data(), fail->second.size());
    else if (exchange(*agent, false) && hear(agent->socket) == ~0u)
      exchange(*agent, true);
  }
  ::close(agent->socket);
  delete agent;
  return nullptr;
}

}  // namespace

// The loader's own table of descriptors is inherited by the thread that it makes.
extern "C" __attribute__((visibility("default"))) int patchbay_attached(int socket, int version) {
  if (uint32_t(version) != kAttachVersion) return EINVAL;
  pthread_t thread;
  auto* agent = new Agent{socket, {}};
  if (const int error = ::pthread_create(&thread, nullptr, run, agent)) return delete agent, error;
  return ::pthread_detach(thread);
}
