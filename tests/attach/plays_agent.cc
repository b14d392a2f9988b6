// SPDX-License-Identifier: MIT
//
// A program of a user who wants more. To whoever attaches it shows an agent of its own: its libc's
// dlopen() and dlsym() lead to functions of this file. What it says as an agent is to be written
// into a program of root's that it executes meanwhile (set_user_id.c).
//
//   plays_agent MODE VICTIM ARGUMENT [ROUNDS]
//
//   detach    serves, executes VICTIM when the file `execute` is there, and has left a child that
//             answers from then on, on the socket on which this process listens
//   first     says that its first thread is the agent's, which goes on in the stop of all threads,
//             and executes VICTIM in it
//   executes  the thread that it has made for the agent does so
//   loader    the thread that is to make another one for the tool does so
//   writes    tries to write what it is given of the host, says what it could, and refuses
//   storm     executes VICTIM after a moment, with ARGUMENT, ROUNDS and this program: it comes back
//   idle      nothing of this: it waits, and executes VICTIM when `execute` is there
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "abi/attach_abi.h"
#include "serve/protocol.h"

namespace {

using namespace patchbay;

// The words of root's program that are to be written: below its thread pointer, and its mask.
constexpr int64_t kWords = -1024;
constexpr uint32_t kRanges = 3900;  // as many as a message takes: the stop is to last

std::string g_mode, g_victim, g_argument;
std::atomic<bool> g_executes{false};

[[noreturn]] void execute() {
  ::execl(g_victim.c_str(), g_victim.c_str(), g_argument.c_str(), nullptr);
  ::_exit(3);
}

char state_of(int thread) {
  char text[256] = {};
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t size = ::read(file, text, sizeof text - 1);
  ::close(file);
  const char* end = size > 0 ? std::strrchr(text, ')') : nullptr;
  return end ? end[2] : '?';
}

void wait_for_stop_of(int thread) {
  while (state_of(thread) != 't') {
  }
}

void send(int socket, abi::AttachMessage kind, const std::string& body = "") {
  const abi::AttachHeader header = {abi::kAttachVersion, kind};
  std::string packet(reinterpret_cast<const char*>(&header), sizeof header);
  packet += body;
  (void)!::send(socket, packet.data(), packet.size(), MSG_NOSIGNAL);
}

std::string receive(int socket, int* passed = nullptr) {
  std::string packet(serve::kMaxMessage, '\0');
  iovec part = {packet.data(), packet.size()};
  alignas(cmsghdr) char control[64] = {};
  msghdr message = {};
  message.msg_iov = &part, message.msg_iovlen = 1;
  message.msg_control = control, message.msg_controllen = sizeof control;
  const ssize_t size = ::recvmsg(socket, &message, 0);
  if (const cmsghdr* head = CMSG_FIRSTHDR(&message); head && passed)
    std::memcpy(passed, CMSG_DATA(head), sizeof *passed);
  packet.resize(size > 0 ? size_t(size) : 0);
  return packet;
}

std::string plan(int own_thread, bool leaves, bool is_honest) {
  abi::AttachHooks head = {};
  head.own_thread = own_thread;
  head.leaves = leaves;
  if (!is_honest) {
    head.nr_ranges = kRanges;
    head.open = kWords;
    head.held = kWords + 8;
    head.blocked = leaves ? kWords + 16 : 0;
    head.key_data = 704, head.key_used = 712;
    head.key_sequence = head.key_value = 0x6464646464646464;
  }
  std::string text(reinterpret_cast<const char*>(&head), sizeof head);
  for (uint32_t i = 0; i < head.nr_ranges; i++) {
    const abi::AttachRange range = {8 * i + 8, 8 * i + 12};
    text.append(reinterpret_cast<const char*>(&range), sizeof range);
  }
  return text;
}

// One of `process` that is not its first.
int other_thread(int process) {
  int found = process;
  DIR* tasks = ::opendir(("/proc/" + std::to_string(process) + "/task").c_str());
  while (const dirent* entry = tasks ? ::readdir(tasks) : nullptr)
    if (const int tid = std::atoi(entry->d_name); tid && tid != process) found = tid;
  if (tasks) ::closedir(tasks);
  return found;
}

// What the child answers that the process has left behind.
void answer(int connection, int process) {
  for (;;) {
    const std::string asked = receive(connection);
    serve::Request request = {};
    if (asked.size() < sizeof request) return;
    std::memcpy(&request, asked.data(), sizeof request);
    serve::Reply reply = {};
    std::string text;
    if (serve::Call(request.call) == serve::Call::kHello) {
      const std::string number = std::to_string(process);
      for (const std::string& word :
           {number, std::string("/bin/x"), number, std::string("attached")})
        text += word + '\0';
    }
    if (serve::Call(request.call) == serve::Call::kWrite)
      reply.value = asked.size() - sizeof request;
    std::string packet(reinterpret_cast<const char*>(&reply), sizeof reply);
    packet += text;
    (void)!::send(connection, packet.data(), packet.size(), MSG_NOSIGNAL);
    if (serve::Call(request.call) != serve::Call::kDetach) continue;
    send(connection, abi::AttachMessage::kHooks, plan(other_thread(process), false, false));
    if (receive(connection).empty()) return;
    send(connection, abi::AttachMessage::kInstalled);
    send(connection, abi::AttachMessage::kServing, "x");
  }
}

void serve_for(int listener, int process) {
  for (;;) {
    const int connection = ::accept(listener, nullptr, nullptr);
    if (connection < 0) return;
    std::thread([=] {
      answer(connection, process);
      ::close(connection);
    }).detach();
  }
}

// The end of `executed` that this process has kept is closed by an exec.
void serve_when_executed(int listener, int process, int executed) {
  char byte;
  (void)!::read(executed, &byte, 1);
  serve_for(listener, process);
  ::_exit(0);
}

void* play(void* argument) {
  const int socket = int(reinterpret_cast<intptr_t>(argument));
  const int self = ::getpid(), own = int(::syscall(SYS_gettid));
  int directory = -1;
  (void)receive(socket, &directory);
  if (g_mode == "detach") {
    const int listener = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/thread-self/fd/%d/ctl.sock",
                  directory);
    if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener, 8) != 0)
      std::perror("listen");
    int executed[2];
    if (::pipe2(executed, O_CLOEXEC) != 0 || ::fcntl(listener, F_SETFD, FD_CLOEXEC) != 0)
      return nullptr;
    if (::fork() == 0) {
      ::close(executed[1]);
      serve_when_executed(listener, self, executed[0]);
    }
    std::thread(serve_for, listener, self).detach();
  }
  const bool is_honest = g_mode == "detach";
  send(socket, abi::AttachMessage::kHooks, plan(g_mode == "first" ? self : own, false, is_honest));
  if (g_mode == "first") {
    g_executes = true;
    ::pause();
  }
  if (g_mode == "executes") {
    wait_for_stop_of(self);
    execute();
  }
  (void)receive(socket);
  send(socket, abi::AttachMessage::kInstalled);
  send(socket, abi::AttachMessage::kServing, "x");
  for (;;) ::pause();
}

int attached(int socket, int) {
  pthread_t thread;
  // The loader closes its own end when it has come back.
  void* const kept = reinterpret_cast<void*>(intptr_t{::dup(socket)});
  return ::pthread_create(&thread, nullptr, play, kept);
}

// Files of the host: by a path from where the loader stands, and what is open, opened anew.
void write_what_is_given() {
  const auto try_to = [](const char* path, int flags) {
    const int file = ::open(path, flags, 0644);
    if (file >= 0) std::printf("could write %s\n", path);
    if (file >= 0) ::close(file);
  };
  try_to("made-by-the-container", O_CREAT | O_WRONLY);
  try_to("../made-by-the-container", O_CREAT | O_WRONLY);
  DIR* here = ::opendir(".");
  while (const dirent* entry = here ? ::readdir(here) : nullptr) {
    if (entry->d_name[0] == '.') continue;
    std::printf("is given: %s\n", entry->d_name);
    try_to(entry->d_name, O_RDWR);
    if (::chmod(entry->d_name, 0777) == 0) std::printf("could write %s\n", entry->d_name);
  }
  if (here) ::closedir(here);
  DIR* open_files = ::opendir("/proc/thread-self/fd");
  while (const dirent* entry = open_files ? ::readdir(open_files) : nullptr) {
    const std::string path = std::string("/proc/thread-self/fd/") + entry->d_name;
    if (std::atoi(entry->d_name) < 3) continue;
    try_to(path.c_str(), O_RDWR);
    try_to((path + "/made-by-the-container").c_str(), O_CREAT | O_WRONLY);
  }
  if (open_files) ::closedir(open_files);
  std::printf("has tried\n");
  std::fflush(stdout);
}

void* our_dlopen(const char*, int) {
  if (g_mode != "writes") return &g_mode;
  write_what_is_given();
  return nullptr;
}
void* our_dlsym(void*, const char*) { return reinterpret_cast<void*>(attached); }
int our_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) { execute(); }

void lead(const char* function, void* to) {
  auto* at = static_cast<uint8_t*>(::dlsym(RTLD_DEFAULT, function));
  const auto page = reinterpret_cast<uintptr_t>(at) & ~uintptr_t{4095};
  ::mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
  const uint8_t jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};  // mov, jmp *%rax
  std::memcpy(at, jump, sizeof jump);
  std::memcpy(at + 2, &to, sizeof to);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  g_mode = argv[1], g_victim = argv[2], g_argument = argv[3];
  if (g_mode == "storm" && argc == 5) {
    ::usleep(useconds_t(std::atoi(argv[4]) * 7919) % 3000);
    ::execl(argv[2], argv[2], argv[3], argv[4], "./plays_agent", nullptr);
    return 3;
  }
  if (g_mode == "loader") {
    lead("pthread_create", reinterpret_cast<void*>(our_pthread_create));
  } else if (g_mode != "idle") {
    lead("dlopen", reinterpret_cast<void*>(our_dlopen));
    lead("dlsym", reinterpret_cast<void*>(our_dlsym));
  }
  std::printf("ready\n");
  std::fflush(stdout);
  for (;;) {
    if (!g_executes) ::poll(nullptr, 0, 2);
    const bool others_stand = g_executes && state_of(other_thread(::getpid())) == 't';
    if (others_stand || ::access("execute", F_OK) == 0) execute();
  }
}
