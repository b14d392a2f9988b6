// SPDX-License-Identifier: MIT
#include "agent/follow.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "abi/follow_abi.h"
#include "agent/exec_environment.h"
#include "agent/exec_target.h"
#include "agent/libc_entries.h"
#include "agent/signal_hooks.h"
#include "base/raw_syscall.h"
#include "base/raw_text.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "symbol/follow_wishes.h"

namespace patchbay {
namespace {

// What the hooks need, in the memory of a child of vfork(), too. Written by the constructor.
struct Session {
  bool follows = false;
  bool was_executed = false;  // by a program that is followed
  char directory[2048] = "";  // DIR/tree-N
  char log[2048 + 8] = "";
  char agent[2048] = "";  // the library's path
  long seccomp = 0;       // the mode when it began
  abi::FollowSlots* slots = nullptr;
};
constinit Session g_session;  // other constructors of ours run later

// --- the log; raw system calls

// -1: it is gone, or the tool's directory is out of reach.
long open_log(int flags) {
  return raw_syscall(SYS_openat, AT_FDCWD, raw_pointer(g_session.log),
                     flags | O_CLOEXEC | O_NOFOLLOW, 0);
}

// Not by rseq: in the child of a vfork() that area is still its parent's.
uint32_t raw_cpu() {
  uint32_t cpu = 0;
  raw_syscall(SYS_getcpu, raw_pointer(&cpu));
  return cpu;
}

enum class Tool : uint8_t { kThere, kGone, kOutOfReach };
Tool look_for_tool() {
  const long fd = open_log(O_RDONLY);
  if (fd < 0) {
    const bool is_over =
        !g_session.slots || __atomic_load_n(&g_session.slots->is_over, __ATOMIC_ACQUIRE);
    return is_over ? Tool::kGone : Tool::kOutOfReach;
  }
  const bool is_there = raw_syscall(SYS_flock, fd, LOCK_SH | LOCK_NB) == -EWOULDBLOCK;
  raw_syscall(SYS_close, fd);
  return is_there ? Tool::kThere : Tool::kGone;
}

// A filter that came since may kill who opens a file.
bool has_confined_itself() { return raw_syscall(SYS_prctl, PR_GET_SECCOMP) != g_session.seccomp; }

void take_slot(long pid, long parent, const char* path, const char* reason) {
  abi::FollowSlots* const slots = g_session.slots;
  if (!slots) return;
  const uint32_t index = __atomic_fetch_add(&slots->taken, 1, __ATOMIC_RELAXED);
  if (index >= abi::kMostFollowSlots) return;
  abi::FollowSlot& slot = slots->slot[index];
  slot.pid = int32_t(pid);
  slot.parent = int32_t(parent);
  const bool may_ask = !has_confined_itself();  // a filter may kill for a call that it did not see
  slot.cpu = may_ask ? raw_cpu() : abi::kFollowNoCpu;
  if (may_ask) raw_syscall(SYS_prctl, PR_GET_NAME, raw_pointer(slot.comm));
  slot.time_ns = raw_monotonic_ns();
  raw_copy(slot.path, sizeof slot.path, path);
  raw_copy(slot.reason, sizeof slot.reason, reason);
  __atomic_store_n(&slot.is_written, 1, __ATOMIC_RELEASE);
}

bool has_limit_below(int which, uint64_t bytes) {
  uint64_t limit[2] = {};
  return raw_syscall(SYS_prlimit64, 0, which, 0, raw_pointer(limit)) == 0 && limit[0] < bytes;
}
// A write would end the program by a signal.
bool has_file_limit() { return has_limit_below(RLIMIT_FSIZE, uint64_t{1} << 28); }

class LogRecord {
 public:
  LogRecord(abi::FollowKind kind, long pid, long parent, uint32_t ticket = 0) {
    record_ = {.size = sizeof record_,
               .kind = kind,
               .pid = int32_t(pid),
               .parent = int32_t(parent),
               .time_ns = raw_monotonic_ns(),
               .cpu = raw_cpu(),
               .ticket = ticket,
               .comm = ""};
    raw_syscall(SYS_prctl, PR_GET_NAME, raw_pointer(record_.comm));
  }

  // With its NUL. Where there is no room the text is cut, and those behind it are left out.
  void add(const char* text, size_t size) {
    if (record_.size + 1 >= sizeof bytes_) return;
    for (size_t i = 0; i < size && record_.size + 1 < sizeof bytes_; i++)
      bytes_[record_.size++] = text[i];
    bytes_[record_.size++] = '\0';
  }
  void add(const char* text) { add(text, raw_length(text)); }

  // False: the log is out of reach.
  bool append() {
    const long fd = has_file_limit() ? -1 : open_log(O_WRONLY | O_APPEND);
    if (fd < 0) return false;
    __builtin_memcpy(bytes_, &record_, sizeof record_);
    const long written = raw_syscall(SYS_write, fd, raw_pointer(bytes_), record_.size);
    raw_syscall(SYS_close, fd);
    return written == long(record_.size);
  }

 private:
  abi::FollowRecord record_;
  char bytes_[abi::kMostFollowRecord];
};

void tell_of_this(abi::FollowKind kind, std::string_view sentence = {}) {
  char exe[2048];
  const ssize_t length = ::readlink("/proc/self/exe", exe, sizeof exe);
  LogRecord record(kind, ::getpid(), ::getppid());
  if (kind == abi::FollowKind::kSays) record.add(sentence.data(), sentence.size());
  record.add(exe, length > 0 ? size_t(length) : 0);
  Result<std::string> words = read_file("/proc/self/cmdline");
  std::string_view rest = words.ok() ? std::string_view(*words) : std::string_view();
  while (!rest.empty()) {
    const std::string_view word = cut_at(&rest, '\0');
    record.add(word.data(), word.size());
  }
  if (!record.append() && kind == abi::FollowKind::kSays) {
    const std::string text(sentence);
    take_slot(::getpid(), ::getppid(), length > 0 ? std::string(exe, size_t(length)).c_str() : "",
              text.c_str());
  }
}

// --- what is not followed

constexpr const char* kOutOfReach = "the recording's directory is out of its reach";
constexpr const char* kOtherNumbers = "it has process numbers of its own, as in a container";
constexpr const char* kHasAgent = "it is given an agent of its own";
constexpr const char* kHasSanitizer = "its LD_PRELOAD has a sanitizer's runtime";
constexpr const char* kFileLimit = "its file size limit leaves no room for a buffer";
constexpr const char* kDescriptorLimit = "its descriptor limit leaves no room for the agent";
constexpr const char* kMemoryLimit = "its memory limit leaves no room for the agent";
constexpr const char* kConfined = "its process has confined itself by seccomp";
constexpr const char* kSmallStack = "it is executed on a signal's stack, which is too small";
constexpr const char* kTooLong = "its words and variables leave no room for two more";
constexpr const char* kTooManyVariables = "it has more variables than can be copied there";

void tell_not_followed(const char* path, const char* reason) {
  const long pid = raw_syscall(SYS_getpid), parent = raw_syscall(SYS_getppid);
  if (reason == kConfined) return take_slot(pid, parent, path, reason);
  LogRecord record(abi::FollowKind::kNotFollowed, pid, parent);
  record.add(path);
  record.add(reason);
  if (!record.append()) take_slot(pid, parent, path, reason);
}

void after_fork_in_child() {
  if (has_confined_itself()) return;
  const long pid = raw_syscall(SYS_getpid), parent = raw_syscall(SYS_getppid);
  (void)LogRecord(abi::FollowKind::kForked, pid, parent).append();
}

// --- the start

void map_slots() {
  const std::string path = std::string(g_session.directory) + "/" + abi::kFollowSlots;
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  void* const at =
      ::mmap(nullptr, sizeof(abi::FollowSlots), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (at != MAP_FAILED) g_session.slots = static_cast<abi::FollowSlots*>(at);
}

bool set_session() {
  const char* directory = std::getenv(abi::kFollowVariable);
  Dl_info self;
  if (!directory || directory[0] != '/' || std::strlen(directory) >= sizeof g_session.directory)
    return false;
  if (!::dladdr(reinterpret_cast<void*>(&set_session), &self) || self.dli_fname[0] != '/' ||
      std::strlen(self.dli_fname) >= sizeof g_session.agent)
    return false;
  std::strcpy(g_session.directory, directory);
  std::strcpy(g_session.log, (std::string(directory) + "/" + abi::kFollowLog).c_str());
  std::strcpy(g_session.agent, self.dli_fname);
  g_session.seccomp = raw_syscall(SYS_prctl, PR_GET_SECCOMP);
  if (look_for_tool() != Tool::kThere) return false;
  map_slots();
  return true;
}

void begin() {
  ::pthread_atfork(nullptr, nullptr, after_fork_in_child);
  g_session.follows = true;  // for calls that come by an entry of ours
}

bool is_pid_namespace(uint64_t inode) {
  struct stat status;
  return ::stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == inode;
}

std::string own_exe() {
  char exe[4096];
  const ssize_t length = ::readlink("/proc/self/exe", exe, sizeof exe);
  return {exe, length > 0 ? size_t(length) : 0};
}

}  // namespace

Follow begin_following(AgentSettings* settings) {
  if (!std::getenv(abi::kFollowVariable)) return Follow::kNo;
  if (!set_session()) return Follow::kOver;
  g_session.was_executed = true;
  begin();
  const std::string directory = g_session.directory;
  Result<std::string> text = read_file(directory + "/" + abi::kFollowWanted);
  const FollowWishes wishes = parse_follow_wishes(text.ok() ? *text : "");
  if (!is_wanted_program(wishes, own_exe()) || !may_have_wanted(wishes)) {
    tell_of_this(abi::FollowKind::kHasNothing);
    return Follow::kNothing;
  }
  // DIR/PID would be that of another process, which has the number where the tool is.
  if (!is_pid_namespace(wishes.pid_namespace)) {
    tell_not_followed(own_exe().c_str(), kOtherNumbers);
    return Follow::kNothing;
  }
  settings->runtime_directory = directory.substr(0, directory.rfind('/'));
  settings->wait = true;
  settings->overwrite = wishes.overwrite;
  if (wishes.buffer_size_kb) settings->buffer_size_kb = wishes.buffer_size_kb;
  return Follow::kWanted;
}

void begin_following_first() {
  if (set_session()) begin();
}

void tell_tool_of_agent() { tell_of_this(abi::FollowKind::kWaits); }

bool is_followed() { return look_for_tool() == Tool::kThere; }

bool mark_directory(const std::string& directory) {
  return !g_session.was_executed ||
         ::symlink(g_session.directory, (directory + "/" + abi::kFollowTree).c_str()) == 0 ||
         errno != ENOENT;
}

bool tell_tool(std::string_view sentence) {
  if (!g_session.was_executed) return false;
  if (!has_confined_itself()) tell_of_this(abi::FollowKind::kSays, sentence);
  return true;
}

// --- a call of execve()

namespace {

constexpr size_t kMostVariables = 1024;  // of those that are kept on the stack
long call_exec(const ExecCall& call, char* const* environment) {
  const ExecSignals inherited;
  if (call.is_execve)
    return raw_syscall(SYS_execve, raw_pointer(call.path), raw_pointer(call.words),
                       raw_pointer(environment));
  return raw_syscall(SYS_execveat, call.directory, raw_pointer(call.path), raw_pointer(call.words),
                     raw_pointer(environment), call.flags);
}

const char* limit_reason() {
  constexpr uint64_t kFewDescriptors = 16;
  if (has_file_limit()) return kFileLimit;
  if (has_limit_below(RLIMIT_NOFILE, kFewDescriptors)) return kDescriptorLimit;
  return has_limit_below(RLIMIT_AS, uint64_t{1} << 32) ? kMemoryLimit : nullptr;
}

ExecDecision not_followed(const char* reason) {
  ExecDecision decision;
  decision.reason = reason;
  return decision;
}

// What a program, or a script, has put into LD_PRELOAD by itself keeps its place.
const char* preload_reason(char* const* environment) {
  static constexpr char kName[] = "LD_PRELOAD=";
  for (; environment && *environment; environment++) {
    if (!raw_starts_with(*environment, kName)) continue;
    for (const char* at = *environment + sizeof kName - 1; *at; at++) {
      if (raw_starts_with(at, "libpatchbay.so")) return kHasAgent;
      for (const char* runtime : {"libasan.", "libtsan.", "liblsan.", "libclang_rt."})
        if (raw_starts_with(at, runtime)) return kHasSanitizer;
    }
  }
  return nullptr;
}

// fexecve() has no path: that of the file.
struct ExecPath {
  explicit ExecPath(const ExecCall& call) {
    raw_copy(text, sizeof text, call.path);
    if (text[0]) return;
    const RawDescriptorPath name(call.directory);
    (void)raw_syscall(SYS_readlinkat, AT_FDCWD, raw_pointer(name.text()), raw_pointer(text),
                      sizeof text - 1);
    if (!text[0]) raw_copy(text, sizeof text, name.text());
  }
  char text[1024] = "";
};

__attribute__((noinline)) void tell_exec_not_followed(const ExecCall& call, const char* reason) {
  tell_not_followed(ExecPath(call).text, reason);
}

// --- a process that is followed alone

bool is_followed_alone() {
  return g_session.slots && __atomic_load_n(&g_session.slots->only_pid, __ATOMIC_RELAXED) != 0;
}

// Its children are left alone.
bool is_other_than_followed() {
  return is_followed_alone() &&
         __atomic_load_n(&g_session.slots->only_pid, __ATOMIC_RELAXED) != raw_syscall(SYS_getpid);
}

// What this process has counted goes with its program. A tool that is stopped is not waited for
// longer than by who starts.
void wait_until_seen(uint32_t ticket) {
  constexpr uint64_t kMostNs = 60'000'000'000;
  abi::FollowSlots* const slots = g_session.slots;
  for (const uint64_t begin_ns = raw_monotonic_ns(); raw_monotonic_ns() - begin_ns < kMostNs;) {
    const uint32_t seen = __atomic_load_n(&slots->seen, __ATOMIC_ACQUIRE);
    if (int32_t(seen - ticket) > 0 || __atomic_load_n(&slots->is_over, __ATOMIC_ACQUIRE)) return;
    if (look_for_tool() != Tool::kThere) return;
    const int64_t second[2] = {1, 0};
    (void)raw_syscall(SYS_futex, raw_pointer(&slots->seen), FUTEX_WAIT, seen, raw_pointer(second));
  }
}

__attribute__((noinline)) void tell_of_exec(const ExecCall& call) {
  const uint32_t ticket = __atomic_fetch_add(&g_session.slots->tickets, 1, __ATOMIC_RELAXED);
  bool is_told = false;
  {
    LogRecord record(abi::FollowKind::kExecutes, raw_syscall(SYS_getpid), raw_syscall(SYS_getppid),
                     ticket);
    record.add(ExecPath(call).text);
    is_told = record.append();
  }
  if (is_told) wait_until_seen(ticket);
}

__attribute__((noinline)) long tell_of_failure(long result) {
  (void)LogRecord(abi::FollowKind::kStays, raw_syscall(SYS_getpid), raw_syscall(SYS_getppid))
      .append();
  return result;
}

// posix_spawn()'s child has 32 KB of stack.
__attribute__((noinline)) long call_with_agent(const ExecCall& call, const char* runtime_first) {
  char* variables[kMostVariables];
  char text[6144];
  const ExecAdditions add{
      .agent = g_session.agent, .runtime_first = runtime_first, .follow = g_session.directory};
  if (!make_exec_environment(call.environment, add, variables, kMostVariables, text, sizeof text)) {
    tell_not_followed(call.path, kTooManyVariables);
    return call_exec(call, call.environment);
  }
  const long result = call_exec(call, variables);
  if (result != -E2BIG) return result;
  tell_not_followed(call.path, kTooLong);  // with what we have added
  return call_exec(call, call.environment);
}

// Capabilities that a process has kept without being root are gone then. access() leaves them out.
bool reaches_log_after_exec() {
  return raw_syscall(SYS_faccessat, AT_FDCWD, raw_pointer(g_session.log), R_OK | W_OK) == 0;
}

long execute_as_followed(const ExecCall& call) {
  const bool is_confined = has_confined_itself();
  if (!is_confined &&
      (!exec_list_is_readable(call.environment) || exec_only_lists(call.environment)))
    return call_exec(call, call.environment);
  Tool tool = is_confined ? Tool::kOutOfReach : look_for_tool();
  if (tool == Tool::kGone || is_other_than_followed()) return call_exec(call, call.environment);
  const bool is_in_reach = tool == Tool::kThere;
  if (tool == Tool::kThere && !reaches_log_after_exec()) tool = Tool::kOutOfReach;
  ExecDecision decision = not_followed(kConfined);
  if (!is_confined)
    decision = decide_exec(call.directory, call.path, call.flags, g_session.agent, call.words);
  if (decision.follow && tool == Tool::kOutOfReach) decision = not_followed(kOutOfReach);
  if (decision.follow)
    if (const char* reason = preload_reason(call.environment)) decision = not_followed(reason);
  if (decision.follow)
    if (const char* reason = limit_reason()) decision = not_followed(reason);
  const bool is_told = is_followed_alone() && is_in_reach && (decision.follow || decision.reason);
  if (is_told) tell_of_exec(call);
  if (decision.reason) tell_exec_not_followed(call, decision.reason);
  const long result = decision.follow ? call_with_agent(call, decision.runtime_first)
                                      : call_exec(call, call.environment);
  return is_told ? tell_of_failure(result) : result;
}

// What is done here has up to 20 KB on the stack. A thread's, and a child's of posix_spawn(), have
// more; the one that a crash handler runs on need not.
bool has_small_stack() {
  constexpr uint64_t kNeeded = 24 * 1024;
  stack_t stack{};
  if (raw_syscall(SYS_sigaltstack, 0, raw_pointer(&stack)) != 0 || !(stack.ss_flags & SS_ONSTACK))
    return false;
  return reinterpret_cast<uint64_t>(&stack) - reinterpret_cast<uint64_t>(stack.ss_sp) < kNeeded;
}

}  // namespace

long execute(const ExecCall& call) {
  if (!g_session.follows) return call_exec(call, call.environment);
  if (!has_small_stack()) return execute_as_followed(call);
  if (raw_syscall(SYS_faccessat, call.directory, raw_pointer(call.path), F_OK) == 0)
    take_slot(raw_syscall(SYS_getpid), raw_syscall(SYS_getppid), call.path, kSmallStack);
  return call_exec(call, call.environment);
}

}  // namespace patchbay
