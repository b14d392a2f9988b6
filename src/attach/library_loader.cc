// SPDX-License-Identifier: MIT
#include "attach/library_loader.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>

#include "abi/attach_abi.h"
#include "attach/other_root.h"
#include "attach/tracing.h"
#include "base/monotonic_clock.h"

// loader_code.S
extern "C" const uint8_t attach_code[], attach_code_end[];

namespace patchbay::attach {
namespace {

constexpr int kFetchTimeoutMs = 1000;
constexpr int kBetweenTriesMs = 1;

void nap_us(int microseconds) {
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

std::string process_name(pid_t pid) { return "process " + std::to_string(pid); }

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

Error interrupted() { return user_error(EINTR, "interrupted"); }

Error gone(pid_t pid) {
  if (::kill(pid, 0) != 0 && errno == ESRCH)
    return user_error(ESRCH, process_name(pid) + " has ended");
  return user_error(ESRCH, process_name(pid) + " ends, or executes another program");
}

// The stack that a thread stands on: the program's for its first thread, else the mapping in which
// libc has put the thread's own data as well. Empty: neither, a signal's stack or a coroutine's.
Range stack_of(const std::vector<MapLine>& lines, bool is_first,
               const user_regs_struct& registers) {
  const MapLine* line = line_at(lines, registers.rsp);
  if (!line) return {};
  const bool is_own = is_first ? line->name == "[stack]" : line->range.contains(registers.fs_base);
  return is_own ? line->range : Range{};
}

// A number that the program does not have for a long time.
int32_t high_number(pid_t pid) {
  constexpr uint64_t kSpare = 16, kHigh = 1000;
  rlimit limit = {};
  if (::prlimit(pid, RLIMIT_NOFILE, nullptr, &limit) != 0 || limit.rlim_cur <= kSpare) return 3;
  return int32_t(std::min<uint64_t>(limit.rlim_cur - kSpare, kHigh));
}

// One end of a pair that process `pid` has made. The number of the descriptor is what memory of the
// process says: it may be a socket that leads to somebody who would take our words for root's.
bool is_pair_of(int socket, pid_t pid) {
  int domain = 0, type = 0;
  ucred peer = {};
  socklen_t size = sizeof domain, peer_size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
         ::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET &&
         ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) == 0 && peer.pid == pid;
}

// As the process itself and its threads are numbered where it lives.
std::string inner_pid(pid_t pid) {
  const auto status = read_file("/proc/" + std::to_string(pid) + "/status");
  const std::string text = status.ok() ? status.value() : "";
  const size_t at = text.find("\nNSpid:");
  if (at == text.npos) return std::to_string(pid);
  const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  return line.substr(line.find_last_of(" \t") + 1);
}

}  // namespace

Status LibraryLoader::set_word(size_t offset, uint32_t value) {
  return target_.write(field(offset), &value, sizeof value);
}

Result<LoaderBlock> LibraryLoader::read_block() const {
  LoaderBlock block;
  // Not the paths: they are ours.
  if (!target_.read(data_, &block, offsetof(LoaderBlock, other_path)).ok()) return gone(pid_);
  return block;
}

Result<std::unique_ptr<LibraryLoader>> LibraryLoader::make(const Target& target,
                                                           const TargetLibc& libc, int timeout_ms,
                                                           bool (*is_interrupted)()) {
  const pid_t pid = target.pid();
  const int64_t end = monotonic_ms() + timeout_ms;
  Error last =
      user_error(EAGAIN, "no thread of " + process_name(pid) + " stands where it can be stopped");
  // A thread that waits may run for a moment, having been woken: it is waited for before others
  // are tried.
  constexpr int kForWaitingMs = 12, kForWaitingTries = 3;
  constexpr int kForChildlessMs = 120, kForChildlessTries = 8;
  using Among = ThreadChoice::Among;
  const int64_t began = monotonic_ms();
  int tries = 0;
  bool has_timed_out = false;
  do {
    const ThreadChoice choice(pid, libc);
    const int64_t waited = monotonic_ms() - began;
    const bool for_waiting = waited < kForWaitingMs || tries < kForWaitingTries;
    const bool for_childless = waited < kForChildlessMs || tries < kForChildlessTries;
    tries++;
    const Among among = for_waiting     ? Among::kWaiting
                        : for_childless ? Among::kChildless
                                        : Among::kAll;
    for (const pid_t tid : choice.candidates(among)) {
      // One that did not stop in time is traced still. It may execute a program, and has the first
      // one's number then.
      if (has_timed_out && tid == pid) continue;
      if (is_interrupted && is_interrupted()) return interrupted();
      auto made = make_in(target, tid, libc, choice, timeout_ms);
      if (made.ok()) made.value()->is_interrupted_ = is_interrupted;
      if (made.ok()) return made;
      last = made.error();
      has_timed_out |= last.errno_value == ETIMEDOUT;
      // EDEADLK: something of ours is left in that thread, until it comes to its end.
      constexpr int kOthersMayDo[] = {EAGAIN, ESRCH, ETIMEDOUT};
      if (std::find(std::begin(kOthersMayDo), std::end(kOthersMayDo), last.errno_value) ==
          std::end(kOthersMayDo))
        return last;
    }
    if (read_maps(pid).empty()) return gone(pid);  // also of a zombie
    if (is_interrupted && is_interrupted()) return interrupted();
    nap_us(kBetweenTriesMs * 1000);
  } while (monotonic_ms() < end);
  return last;
}

Result<std::unique_ptr<LibraryLoader>> LibraryLoader::make_in(const Target& target, pid_t tid,
                                                              const TargetLibc& libc,
                                                              const ThreadChoice& choice,
                                                              int timeout_ms) {
  std::unique_ptr<LibraryLoader> loader(new LibraryLoader(target));
  PB_TRY(loader->stop_and_make(tid, libc, choice, timeout_ms));
  return loader;
}

Status LibraryLoader::stop_and_make(pid_t tid, const TargetLibc& libc, const ThreadChoice& choice,
                                    int timeout_ms) {
  const std::vector<MapLine> lines = read_maps(pid_);  // before: it may be long
  const uint64_t began = monotonic_ns();
  PB_ASSIGN(const std::unique_ptr<StoppedThread> thread,
            StoppedThread::stop(target_, tid, kFetchTimeoutMs));
  PB_TRY(choice.may_use(tid, thread->call_at_stop(), thread->registers()));
  PB_TRY(thread->guard(stack_of(lines, pid_ == tid, thread->registers()), libc.restorer()));
  Status made = map_block(*thread, libc);
  if (made.ok()) made = fill_block(libc, thread->frame_stack());
  if (made.ok()) made = make_thread(*thread, timeout_ms);
  if (is_abandoned_) return made;
  if (!made.ok() && !has_loader_) unmap_block(*thread, libc);
  Status restored = thread->restore();
  if (restored.ok() && has_loader_) restored = set_word(offsetof(LoaderBlock, left), 1);
  Status released = thread->release();
  stopped_ns_ = monotonic_ns() - began;
  for (Status* status : {&made, &restored, &released})
    if (!status->ok()) return *status;
  return {};
}

// Code that may be written and executed is what hardened programs forbid: ours never is.
Status LibraryLoader::map_block(StoppedThread& thread, const TargetLibc& libc) {
  const auto map = [&](uint64_t size, int access) -> Result<uint64_t> {
    PB_ASSIGN(const long answer,
              thread.system_call(libc.syscall_instruction(), SYS_mmap, 0, long(size), access,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (answer < 0 && answer > -4096)
      return sys_error("map memory in " + process_name(pid_), int(-answer));
    return uint64_t(answer);
  };
  PB_ASSIGN(data_, map(kDataSize, PROT_READ | PROT_WRITE));
  PB_ASSIGN(code_, map(kCodeSize, PROT_READ | PROT_EXEC));
  return target_.write(code_, attach_code, size_t(attach_code_end - attach_code));
}

void LibraryLoader::unmap_block(StoppedThread& thread, const TargetLibc& libc) {
  const auto unmap = [&](uint64_t address, uint64_t size) {
    if (address)
      (void)thread.system_call(libc.syscall_instruction(), SYS_munmap, long(address), long(size));
  };
  unmap(data_, kDataSize);
  unmap(code_, kCodeSize);
}

Status LibraryLoader::fill_block(const TargetLibc& libc, uint64_t frame) {
  LoaderBlock block = {};
  const struct {
    const char* name;
    uint64_t* address;
  } functions[] = {{"pthread_create", &block.pthread_create},
                   {"pthread_detach", &block.pthread_detach},
                   {"dlopen", &block.dlopen},
                   {"dlsym", &block.dlsym},
                   {"dlerror", &block.dlerror},
                   {"dlclose", &block.dlclose}};
  for (const auto& function : functions) {
    *function.address = libc.function(function.name);
    if (!*function.address)
      return user_error(ENOEXEC, "the libc of " + process_name(pid_) + " has no " + function.name +
                                     "(): before glibc 2.34 the program has to have libpthread "
                                     "and libdl");
  }
  block.syscall_return = libc.syscall_instruction();
  block.code = code_, block.code_size = kCodeSize, block.data_size = kDataSize;
  block.frame = frame;
  block.high_fd = high_number(pid_);
  static_assert(sizeof abi::kLoaderName <= sizeof block.loader_name);
  std::memcpy(block.loader_name, abi::kLoaderName, sizeof abi::kLoaderName);
  return target_.write(data_, &block, offsetof(LoaderBlock, text));
}

Status LibraryLoader::make_thread(StoppedThread& thread, int timeout_ms) {
  PB_TRY(thread.start(code_, data_ + kDataSize, data_));
  Status waited = wait_for_stage(thread, Stage::kSockets, timeout_ms);
  if (waited.ok()) waited = take_our_end();
  // Without our end the thread is made all the same, and ends when it finds itself alone.
  if (waited.ok() || waited.error().errno_value == EPROTO)
    if (Status finished = wait_for_stage(thread, Stage::kFinished, timeout_ms); !finished.ok())
      waited = finished;
  if (!waited.ok() && waited.error().errno_value == EDEADLK) return abandon(thread, waited);
  if (!waited.ok() && waited.error().errno_value != EPROTO) return waited;
  PB_TRY(thread.fetch(kFetchTimeoutMs));
  PB_ASSIGN(const LoaderBlock block, read_block());
  if (block.left)  // we were slow
    return abandon(thread, user_error(EAGAIN, thread_name(block.loader) + " was not fetched"));
  if (block.error < 0)
    return sys_error("make a socket pair in " + process_name(pid_), -block.error);
  if (block.error > 0)
    return user_error(ENOMEM,
                      process_name(pid_) + " cannot make a thread: " + std::strerror(block.error));
  has_loader_ = true;
  return waited;
}

// It holds a lock of libc or waits for one, and has to come to its end by itself; or it has.
Status LibraryLoader::abandon(StoppedThread& thread, const Status& why) {
  has_loader_ = is_abandoned_ = true;
  (void)set_word(offsetof(LoaderBlock, abandoned), 1);
  (void)thread.leave();
  return why;
}

Status LibraryLoader::wait_for_stage(StoppedThread& thread, Stage stage, int timeout_ms) {
  constexpr int kSpins = 200, kNapUs = 20;
  const int64_t end = monotonic_ms() + timeout_ms;
  for (int spins = 0;; spins++) {
    PB_TRY(thread.still_runs());
    Stage found = Stage::kNone;
    if (!target_.read(field(offsetof(LoaderBlock, stage)), &found, sizeof found).ok())
      return gone(pid_);
    if (found >= stage) return {};
    if (monotonic_ms() >= end)
      return user_error(EDEADLK, process_name(pid_) +
                                     " does not make a thread: something holds a lock that "
                                     "pthread_create() waits for");
    if (spins > kSpins) nap_us(kNapUs);
  }
}

// EPROTO: the thread will find itself alone.
Status LibraryLoader::take_our_end() {
  count_step();
  int32_t theirs = -1;
  PB_TRY(target_.read(field(offsetof(LoaderBlock, sockets)), &theirs, sizeof theirs));
  if (theirs < 0) return {};  // there is no socket, and no thread; the block says why
  Result<UniqueFd> taken = target_.take_descriptor(theirs);
  PB_TRY(set_word(offsetof(LoaderBlock, taken), 1));
  if (!taken.ok())
    return user_error(EPROTO, "the socket in " + process_name(pid_) + " cannot be reached (" +
                                  taken.error().message() +
                                  "): it takes Linux 5.6, and a filter of system calls that lets "
                                  "this command make the call");
  if (!is_pair_of(taken.value().get(), pid_))
    return user_error(EPROTO, process_name(pid_) +
                                  " shows another descriptor for the socket pair "
                                  "that its thread was to make");
  socket_ = std::move(*taken);
  return {};
}

Status LibraryLoader::send(int descriptor) {
  count_step();
  char byte = 0;
  iovec bytes = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
  msghdr message = {};
  message.msg_iov = &bytes, message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control, message.msg_controllen = sizeof control;
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  }
  if (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) return {};
  if (errno == EPIPE || errno == ECONNRESET) return gone(pid_);
  return sys_error("talk to the thread in " + process_name(pid_), errno);
}

Status LibraryLoader::load(const Library& library, int timeout_ms) {
  Status loaded = send_library(library, timeout_ms);
  if (loaded.ok()) {
    auto state = wait_for_state(LoaderState::kCalled, timeout_ms);
    loaded = state.ok() ? outcome(library) : Status(state.error());
  }
  const auto block = read_block();
  if (!loaded.ok() || !block.ok() || !block.value().is_shared) let_go();
  if (!loaded.ok()) socket_.reset();
  return loaded;
}

Status LibraryLoader::send_library(const Library& library, int timeout_ms) {
  UniqueFd file;
  std::string path = library.path;
  bool is_seen = true;
  if (!library.entry) {
    if (char* absolute = ::realpath(path.c_str(), nullptr)) {
      path = absolute;
      std::free(absolute);
    }
    is_seen = sees(path);
    if (!is_seen) {
      PB_ASSIGN(file, directory_with_copy(pid_, path));
    } else if (lives_where_we_do(pid_)) {
      // The second way, where the path leads through a directory that the process's user may not
      // enter. One with other mounts may have this file read-only: a descriptor of ours would be
      // the way around that.
      file.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      if (!file.valid()) return sys_error("open " + path, errno);
    }
  }
  PB_TRY(send(file.get()));
  PB_TRY(wait_for_state(LoaderState::kReceived, timeout_ms));
  PB_TRY(write_paths(library, path, is_seen));
  return send(-1);
}

// The process finds the very file there that we find.
bool LibraryLoader::sees(const std::string& path) const {
  struct stat ours = {}, theirs = {};
  const std::string seen = "/proc/" + std::to_string(pid_) + "/root" + path;
  return path.size() < sizeof LoaderBlock::path && ::stat(path.c_str(), &ours) == 0 &&
         ::stat(seen.c_str(), &theirs) == 0 && ours.st_dev == theirs.st_dev &&
         ours.st_ino == theirs.st_ino;
}

// Where the path leads to the library in the process too, it is that; else the directory that has
// been sent is where the way begins: another root, another file system, no /proc. In both cases the
// number of what was sent is the second way.
Status LibraryLoader::write_paths(const Library& library, const std::string& path, bool is_seen) {
  PB_ASSIGN(LoaderBlock block, read_block());
  std::memset(block.path, 0, sizeof block.path);
  std::memset(block.other_path, 0, sizeof block.other_path);
  block.entry = library.entry;
  block.version = library.version;
  PB_TRY(target_.write(field(offsetof(LoaderBlock, entry)), &block.entry, sizeof block.entry));
  PB_TRY(set_word(offsetof(LoaderBlock, version), block.version));
  std::strncpy(block.name, library.function.c_str(), sizeof block.name - 1);
  PB_TRY(target_.write(field(offsetof(LoaderBlock, name)), block.name, sizeof block.name));
  if (library.entry) return {};
  const std::string by_number = "/proc/" + inner_pid(pid_) + "/task/" +
                                std::to_string(block.loader) + "/fd/" +
                                std::to_string(block.library_fd);
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string first = is_seen ? path : "./" + name;
  const std::string second = is_seen ? by_number : by_number + "/" + name;
  std::strncpy(block.path, first.c_str(), sizeof block.path - 1);
  if (block.library_fd >= 0 && second.size() < sizeof block.other_path)
    std::strncpy(block.other_path, second.c_str(), sizeof block.other_path - 1);
  PB_TRY(set_word(offsetof(LoaderBlock, from_directory), !is_seen));
  return target_.write(field(offsetof(LoaderBlock, other_path)), block.other_path,
                       sizeof block.other_path + sizeof block.path);
}

Result<LoaderState> LibraryLoader::wait_for_state(LoaderState state, int timeout_ms) {
  constexpr int kNapUs = 100;
  const int64_t end = monotonic_ms() + timeout_ms;
  for (;;) {
    LoaderState found = LoaderState::kWaiting;
    if (!target_.read(field(offsetof(LoaderBlock, state)), &found, sizeof found).ok())
      return gone(pid_);
    if (found >= state) return found;
    if (is_interrupted_ && is_interrupted_()) return interrupted();
    if (monotonic_ms() >= end) {
      if (found == LoaderState::kLoading) return user_error(ETIMEDOUT, who_holds_the_lock());
      return user_error(ETIMEDOUT, "the thread made in " + process_name(pid_) + " does not answer");
    }
    nap_us(kNapUs);
  }
}

// The thread that loads the library waits on a futex, which is a mutex of libc: its owner is the
// third word.
std::string LibraryLoader::who_holds_the_lock() const {
  const std::string busy = "the dynamic linker of " + process_name(pid_) + " is busy";
  const auto block = read_block();
  if (!block.ok()) return busy;
  const std::string tasks = "/proc/" + std::to_string(pid_) + "/task/";
  const auto text = read_file(tasks + std::to_string(block.value().loader) + "/syscall");
  long number = -1;
  uint64_t pc = 0;
  if (!text.ok() || !parse_syscall(text.value(), &number, &pc) || number != SYS_futex) return busy;
  const size_t argument = text.value().find("0x");
  const uint64_t mutex = std::strtoull(text.value().c_str() + argument, nullptr, 16);
  int32_t words[3] = {};
  if (!target_.read(mutex, words, sizeof words).ok() || words[2] <= 0 ||
      !is_there(tasks + std::to_string(words[2])))
    return busy;
  return thread_name(words[2]) + " holds the dynamic linker's lock in dlopen";
}

Status LibraryLoader::outcome(const Library& library) {
  PB_ASSIGN(LoaderBlock block, read_block());
  block.text[sizeof block.text - 1] = '\0';
  if (block.state == LoaderState::kNotLoaded)
    return user_error(ELIBACC, library.path + " does not load in " + process_name(pid_) + ": " +
                                   (block.text[0] ? block.text : "nobody says why"));
  if (block.result)
    return sys_error(library.function + "() in " + process_name(pid_), block.result);
  return {};
}

// The thread takes away what is ours, and ends.
void LibraryLoader::let_go() {
  if (!std::exchange(has_loader_, false)) return;
  (void)set_word(offsetof(LoaderBlock, cancel), 1);
  (void)set_word(offsetof(LoaderBlock, seen), 1);
}

LibraryLoader::~LibraryLoader() { let_go(); }

}  // namespace patchbay::attach
