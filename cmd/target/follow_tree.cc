// SPDX-License-Identifier: MIT
#include "cmd/target/follow_tree.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>

#include "base/raw_syscall.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/target/leftovers.h"
#include "cmd/target/running_process.h"
#include "serve/held_directory.h"

namespace patchbay::cmd {
namespace {

constexpr int kMostEarlier = 1000;  // DIR/PID.1 … (serve/directory.cc)

Status write_file(const std::string& path, const std::string& text) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid() || ::write(fd.get(), text.data(), text.size()) != ssize_t(text.size()))
    return sys_error("write " + path, errno);
  return {};
}

// DIR/tree-PID, new. A tool that has our number in another container may have that name.
Result<std::string> make_tree(const std::string& runtime) {
  const std::string path = runtime + "/" + abi::kFollowPrefix + std::to_string(::getpid());
  remove_stale_trees(runtime, false);
  for (int n = 0; n <= kMostEarlier; n++) {
    const std::string one = n == 0 ? path : path + "." + std::to_string(n);
    if (::mkdir(one.c_str(), 0700) == 0) return one;
    if (errno != EEXIST) return sys_error("make " + one, errno);
  }
  return user_error(EEXIST, "There are too many directories " + path + ".N: remove some.");
}

}  // namespace

// --- DIR/PID

ProgramDirectory ProgramDirectory::find(const std::string& runtime, pid_t pid) {
  ProgramDirectory found{runtime + "/" + std::to_string(pid), 0, 0};
  struct stat status;
  if (::stat(found.path.c_str(), &status) != 0) return found;
  found.device = status.st_dev;
  found.inode = status.st_ino;
  return found;
}

// What the process has executed before was moved to DIR/PID.N, or is moved at this moment: its
// successor has a directory of the same name then.
void ProgramDirectory::remove() const {
  if (inode == 0) return;
  for (int n = 0; n <= kMostEarlier; n++) {
    const std::string one = n == 0 ? path : path + "." + std::to_string(n);
    serve::HeldDirectory held = serve::HeldDirectory::open(one);
    if (!held.is_held() && n > 0) return;
    if (held.is(device, inode)) return held.remove();
  }
}

// --- its beginning and its end

namespace {

// Readable when the file has changed; where that cannot be told, from time to time.
UniqueFd watch_or_clock(const std::string& path) {
  UniqueFd watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (watch.valid() && ::inotify_add_watch(watch.get(), path.c_str(), IN_MODIFY) >= 0) return watch;
  constexpr itimerspec kEach{{0, 20'000'000}, {0, 20'000'000}};
  watch.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (watch.valid() && ::timerfd_settime(watch.get(), 0, &kEach, nullptr) != 0) watch.reset();
  return watch;
}

}  // namespace

Result<std::unique_ptr<FollowTree>> FollowTree::make(const std::string& runtime,
                                                     FollowWishes wishes) {
  std::unique_ptr<FollowTree> made(new FollowTree());
  made->runtime_ = runtime;
  PB_ASSIGN(made->directory_, make_tree(runtime));
  const std::string& directory = made->directory_;
  struct stat status;
  if (::stat("/proc/self/ns/pid", &status) == 0) wishes.pid_namespace = status.st_ino;
  PB_TRY(write_file(directory + "/" + abi::kFollowWanted, text_of(wishes)));
  const std::string log = directory + "/" + abi::kFollowLog;
  made->log_.reset(::open(log.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made->log_.valid()) return sys_error("write " + log, errno);
  // By the lock the programs know that this command lives.
  if (::flock(made->log_.get(), LOCK_EX | LOCK_NB) != 0)
    return user_error(ENOLCK, "what the program executes is not recorded, which takes a directory "
                              "with locks: flock(" + log + "): " + std::strerror(errno) +
                              "; PATCHBAY_DIR names another one");
  PB_TRY(write_file(directory + "/" + abi::kFollowSlots, std::string(sizeof(abi::FollowSlots), 0)));
  UniqueFd slots(::open((directory + "/" + abi::kFollowSlots).c_str(), O_RDWR | O_CLOEXEC));
  void* const at =
      ::mmap(nullptr, sizeof(abi::FollowSlots), PROT_READ | PROT_WRITE, MAP_SHARED, slots.get(), 0);
  if (at == MAP_FAILED) return sys_error("map " + directory + "/" + abi::kFollowSlots, errno);
  made->slots_ = Mapping(at, sizeof(abi::FollowSlots));
  made->watch_ = watch_or_clock(log);
  if (!made->watch_.valid()) return sys_error("watch " + log, errno);
  return made;
}

FollowTree::~FollowTree() {
  remove_early_directories();
  close();
  log_.reset();
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

// Of programs that were killed before they have said that they wait.
void FollowTree::remove_early_directories() const {
  std::error_code error;
  std::vector<std::filesystem::path> early;
  for (const auto& entry : std::filesystem::directory_iterator(runtime_, error)) {
    const int pid = std::atoi(entry.path().filename().c_str());
    const bool is_before = entry.path().has_extension();  // PID.N, of a program before this one
    if (pid <= 0 || (is_alive(pid) && !is_before)) continue;
    // Who was killed, or executed another program, as soon as it had its directory.
    if (::rmdir(entry.path().c_str()) == 0) continue;
    const auto tree = std::filesystem::read_symlink(entry.path() / abi::kFollowTree, error);
    if (!error && tree == directory_ && !is_alive(pid)) early.push_back(entry.path());
  }
  for (const auto& path : early) std::filesystem::remove_all(path, error);
}

void FollowTree::close() {
  if (!slots()) return;
  __atomic_store_n(&slots()->is_over, 1, __ATOMIC_RELEASE);
  (void)::flock(log_.get(), LOCK_UN);
  raw_syscall(SYS_futex, raw_pointer(&slots()->seen), FUTEX_WAKE, INT_MAX);
}

// --- what the agents say

std::vector<FollowSaid> FollowTree::read() {
  std::vector<FollowSaid> said;
  read_log(&said);
  read_slots(&said);
  return said;
}

void FollowTree::read_log(std::vector<FollowSaid>* said) {
  char events[4096];
  while (::read(watch_.get(), events, sizeof events) > 0) {
  }
  char bytes[65536];
  for (ssize_t count; (count = ::read(log_.get(), bytes, sizeof bytes)) > 0;)
    unread_.append(bytes, size_t(count)), consumed_ += count;
  forget_consumed();
  const std::optional<size_t> taken = take_follow_records(unread_, said);
  if (!taken) is_damaged_ = true;
  unread_.erase(0, taken.value_or(unread_.size()));
}

// The log may lie in memory, and a recording last for days.
void FollowTree::forget_consumed() {
  constexpr off_t kEnough = 1 << 20;
  if (consumed_ - forgotten_ < kEnough) return;
  (void)::fallocate(log_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, forgotten_,
                    consumed_ - forgotten_);
  forgotten_ = consumed_;
}

void FollowTree::read_slots(std::vector<FollowSaid>* said) {
  const uint32_t taken = __atomic_load_n(&slots()->taken, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < std::min(taken, abi::kMostFollowSlots); i++) {
    const abi::FollowSlot& slot = slots()->slot[i];
    if (!__atomic_load_n(&slot.is_written, __ATOMIC_ACQUIRE) || !slots_taken_.insert(i).second)
      continue;
    said->push_back(
        {abi::FollowKind::kNotFollowed,
         slot.pid,
         slot.parent,
         slot.time_ns,
         slot.cpu,
         0,
         text_at(slot.comm, sizeof slot.comm),
         {text_at(slot.path, sizeof slot.path), text_at(slot.reason, sizeof slot.reason)}});
  }
}

uint64_t FollowTree::unnamed() const {
  return __atomic_load_n(&slots()->taken, __ATOMIC_RELAXED) - slots_taken_.size();
}

// --- one process alone

void FollowTree::follow_only(pid_t pid) {
  __atomic_store_n(&slots()->only_pid, int32_t(pid), __ATOMIC_RELEASE);
}

void FollowTree::saw(uint32_t ticket) {
  if (int32_t(ticket + 1 - slots()->seen) > 0)
    __atomic_store_n(&slots()->seen, ticket + 1, __ATOMIC_RELEASE);
  raw_syscall(SYS_futex, raw_pointer(&slots()->seen), FUTEX_WAKE, INT_MAX);
}

}  // namespace patchbay::cmd
