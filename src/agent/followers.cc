// SPDX-License-Identifier: MIT
#include "agent/followers.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "agent/agent.h"
#include "agent/forked_child.h"
#include "agent/next_function.h"
#include "agent/stand_ins.h"
#include "base/last_thread.h"
#include "base/raw_syscall.h"
#include "base/shared_memory.h"
#include "hist/hist_clock.h"
#include "patch/trap_gate.h"
#include "serve/server.h"

namespace patchbay {
namespace {

constexpr uint64_t kJournalSize = 4 << 20;     // many times the largest write; a power of two
constexpr uint32_t kSlots = 1024;              // children that are waited for
constexpr uint64_t kFree = ~uint64_t{0};       // Slot.position: nobody
constexpr uint64_t kPatienceNs = 500'000'000;  // with a child that has not begun: it may be stopped
constexpr uint64_t kLongPatienceNs = 5'000'000'000;  // with one that repeats something now
constexpr long kLookNs = 1'000'000'000;
constexpr size_t kStackSize = 1024 * 1024;  // as the control thread's, whose stack a child reuses

// A child that follows. Its follower holds `alive` for as long as it runs: the kernel gives it back
// when the child dies, is killed, or executes another program.
struct Slot {
  pthread_mutex_t alive;
  uint64_t position;  // atomic; what it has repeated
  uint64_t late;      // of the parent: not waited for before it has come here
  uint32_t is_busy;   // atomic; 1: it repeats something now
};

struct Shared {
  uint32_t generation;  // atomic; children sleep on it
  uint32_t answers;     // atomic; the parent sleeps on it
  // Bytes ever appended, and of these how many are no longer there. Atomic.
  uint64_t head, tail;
  // For debug/counters; atomic.
  uint64_t not_followed;  // children without a follower
  uint64_t stopped;       // children that have stopped recording, all of it or an instance
  uint32_t slots_used;    // atomic; none from here on was ever taken
  Slot slot[kSlots];
  uint8_t bytes[kJournalSize];
};

Shared* g_shared = nullptr;

// Of this process; under the lock.
uint64_t g_position = 0;  // what it has done or repeated
bool g_has_said = false;
uint64_t g_files_at_last_fork = 0;
serve::Repeater* g_repeater = nullptr;
Slot* g_slot = nullptr;

std::atomic<uint32_t> g_follower{0};      // 1: there is one
std::atomic<uint32_t> g_follower_tid{0};  // of the last one; 0: it has not begun yet
std::atomic<uint32_t> g_step_aside{0};
bool g_has_left = false;             // the parent's agent; of the follower
unsigned* g_thread_count = nullptr;  // glibc's
bool g_has_standard_descriptors = true;
int g_seccomp = 0;  // the mode when the follower began

void wake(const uint32_t* word) { raw_syscall(SYS_futex, raw_pointer(word), FUTEX_WAKE, 1 << 30); }
// False: the time is over.
bool sleep_on(const uint32_t* word, uint32_t value, long ns) {
  const timespec timeout = {ns / 1'000'000'000, ns % 1'000'000'000};
  return raw_syscall(SYS_futex, raw_pointer(word), FUTEX_WAIT, value, raw_pointer(&timeout)) !=
         -ETIMEDOUT;
}

uint64_t load(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
void store(uint64_t* word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

// --- the journal: u64 size, then so many bytes, then up to a multiple of 8

void put(uint64_t at, const void* from, uint64_t size) {
  const auto* bytes = static_cast<const uint8_t*>(from);
  const uint64_t offset = at % kJournalSize, first = std::min(size, kJournalSize - offset);
  std::memcpy(g_shared->bytes + offset, bytes, first);
  std::memcpy(g_shared->bytes, bytes + first, size - first);
}

void get(uint64_t at, void* to, uint64_t size) {
  auto* bytes = static_cast<uint8_t*>(to);
  const uint64_t offset = at % kJournalSize, first = std::min(size, kJournalSize - offset);
  std::memcpy(bytes, g_shared->bytes + offset, first);
  std::memcpy(bytes + first, g_shared->bytes, size - first);
}

uint64_t room_for(uint64_t size) { return (sizeof(uint64_t) + size + 7) & ~uint64_t{7}; }

class Journal : public serve::OperationJournal {
 public:
  bool wanted() const override { return has_forked() && !is_forked_child(); }
  uint64_t files_at_last_fork() const override { return g_files_at_last_fork; }

  // The tail moves before bytes are overwritten, so a child that reads them then finds out.
  void append(const serve::Operation& operation) override {
    const std::string bytes = serve::encode_operation(operation);
    const uint64_t size = bytes.size(), room = room_for(size), head = g_shared->head;
    if (room > kJournalSize / 2) return;  // no request is as long
    if (head + room > load(&g_shared->tail) + kJournalSize)
      __atomic_store_n(&g_shared->tail, head + room - kJournalSize, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    put(head, &size, sizeof size);
    put(head + sizeof size, bytes.data(), size);
    store(&g_shared->head, head + room);
    g_position = head + room;
    __atomic_fetch_add(&g_shared->generation, 1, __ATOMIC_SEQ_CST);
    wake(&g_shared->generation);
  }
};

// The operation at g_position, which moves behind it. False: it is no longer there.
bool take_operation(serve::Operation* operation) {
  uint64_t size = 0;
  get(g_position, &size, sizeof size);
  if (size > kJournalSize / 2) return false;
  std::string bytes(size, '\0');
  get(g_position + sizeof size, bytes.data(), size);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (load(&g_shared->tail) > g_position) return false;
  auto decoded = serve::decode_operation(bytes);
  if (!decoded.ok()) return false;
  *operation = std::move(*decoded);
  g_position += room_for(size);
  return true;
}

// --- a child that cannot follow

void say_once(const std::string& why) {
  if (std::exchange(g_has_said, true)) return;
  say("the forked child " + std::to_string(::getpid()) + " " + why);
}

void stop_recording(TraceArray* array) {
  __atomic_fetch_add(&g_shared->stopped, 1, __ATOMIC_RELAXED);
  g_agent->registry->abandon(*array);
}

// The top instance first, which takes no memory.
void abandon_all() {
  g_agent->registry->abandon(g_agent->registry->top());
  for (TraceArray* array : g_agent->registry->arrays()) g_agent->registry->abandon(*array);
}

void stop_recording_all() {
  __atomic_fetch_add(&g_shared->stopped, 1, __ATOMIC_RELAXED);
  abandon_all();
}

// The instance that a path is of.
TraceArray* array_of(std::string_view path) {
  constexpr std::string_view kInstances = "instances/";
  if (!path.starts_with(kInstances)) return &g_agent->registry->top();
  path.remove_prefix(kInstances.size());
  return g_agent->registry->find_array(path.substr(0, path.find('/')));
}

void cannot_repeat(const serve::Operation& operation, const Status& status) {
  TraceArray* array = array_of(operation.path);
  const std::string where = operation.path.empty() ? "an open file" : operation.path;
  say_once("cannot follow a change of " + where +
           (status.ok() ? std::string() : " (" + status.error().message() + ")") +
           " and stops recording" +
           (array && !array->is_top() ? " into the instance " + array->name : ""));
  if (array) stop_recording(array);
}

// --- following

// What the parent could do has to come out the same here. What failed there may fail in another way
// here, for instance because a name is not even found.
void repeat_one(const serve::Operation& operation) {
  begin_repeating(operation.notes);
  const Status status = g_repeater->repeat(operation);
  const bool all_found = end_repeating();
  if (operation.error || (status.ok() && all_found)) return;
  cannot_repeat(operation, status);
}

// Under the lock.
void catch_up() {
  serve::Operation operation;
  while (g_position < load(&g_shared->head)) {
    if (!take_operation(&operation)) {
      g_position = load(&g_shared->head);
      say_once("was stopped for too long to follow what was changed, and stops recording");
      return stop_recording_all();
    }
    if (operation.kind == serve::OperationKind::kLeave) {
      g_has_left = true;
      return;
    }
    repeat_one(operation);
  }
}

void say_busy(uint32_t busy) {
  if (g_slot) __atomic_store_n(&g_slot->is_busy, busy, __ATOMIC_RELEASE);
}

void say_how_far() {
  if (!g_slot) return;
  say_busy(0);
  store(&g_slot->position, g_position);
  __atomic_fetch_add(&g_shared->answers, 1, __ATOMIC_SEQ_CST);
  wake(&g_shared->answers);
}

// Null: all are taken. Then this child follows, but is not waited for.
Slot* take_slot() {
  for (uint32_t i = 0; i < kSlots; i++) {
    Slot* slot = &g_shared->slot[i];
    const int error = ::pthread_mutex_trylock(&slot->alive);
    if (error == EOWNERDEAD) ::pthread_mutex_consistent(&slot->alive);
    if (error && error != EOWNERDEAD) continue;
    slot->late = 0;
    slot->is_busy = 0;
    store(&slot->position, g_position);
    uint32_t used = __atomic_load_n(&g_shared->slots_used, __ATOMIC_RELAXED);
    while (used <= i && !__atomic_compare_exchange_n(&g_shared->slots_used, &used, i + 1, false,
                                                     __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return slot;
  }
  return nullptr;
}

void give_slot_back() {
  if (!g_slot) return;
  store(&g_slot->position, kFree);
  ::pthread_mutex_unlock(&g_slot->alive);
  g_slot = nullptr;
}

// A table of descriptors that is empty, whatever the program opens and closes; and a root and
// a working directory that stay.
void leave_shared_tables() {
  constexpr unsigned kUnshare = 2;  // CLOSE_RANGE_UNSHARE: nothing is copied first
  if (::unshare(CLONE_FS) == 0) ::umask(077);
  if (raw_syscall(SYS_close_range, 0, ~0u, kUnshare) != 0) {
    serve::private_descriptors();
    return;
  }
  g_has_standard_descriptors = false;
}

// The lowest numbers, so that no file of ours is ever taken for a standard stream. Most children
// never come to need them.
void make_standard_descriptors() {
  if (std::exchange(g_has_standard_descriptors, true)) return;
  for (int i = 0; i < 3; i++) (void)!::open("/dev/null", O_RDWR | O_CLOEXEC);
}

// A seccomp filter that came over all threads since may kill a thread that opens a file.
bool is_confined() { return ::prctl(PR_GET_SECCOMP) != g_seccomp; }

void give_up(const char* why) try {
  g_position = load(&g_shared->head);
  stop_recording_all();
  say_once(why);
} catch (const std::bad_alloc&) {
  say_no_memory();
}

// Under the lock. False: this child follows no longer.
bool follow_changes() {
  const bool confined = is_confined();
  say_busy(1);
  if (!confined) make_standard_descriptors();
  try {
    if (confined)
      give_up("is confined by seccomp, cannot follow what is changed, and stops recording");
    else
      catch_up();
  } catch (const std::bad_alloc&) {
    give_up("has no memory to follow what was changed, and stops recording");
  }
  say_how_far();
  return !confined;
}

// What the control thread does in the parent. Places at which a thread stood when they were patched
// are tried again, but not for ever.
void keep_up(int* tries) try {
  constexpr int kMostTries = 8;
  std::lock_guard guard(g_agent->lock());
  keep_hist_clocks();
  if (*tries >= kMostTries) return;
  *tries = g_agent->patcher->finish_pending() ? *tries + 1 : kMostTries;
} catch (const std::bad_alloc&) {
  say_no_memory();
}

// Returns what the thread is to exit with.
int follow() {
  int tries = 0;
  g_slot = take_slot();
  g_seccomp = ::prctl(PR_GET_SECCOMP);
  while (!g_step_aside.load(std::memory_order_acquire)) {
    const uint32_t generation = __atomic_load_n(&g_shared->generation, __ATOMIC_SEQ_CST);
    if (load(&g_shared->head) != g_position) {
      std::lock_guard guard(g_agent->lock());
      if (!follow_changes()) break;
      if (g_has_left) {
        give_slot_back();
        (void)go_own_way(g_agent);  // or when somebody attaches
        break;
      }
      tries = 0;
    } else if (!sleep_on(&g_shared->generation, generation, kLookNs)) {
      if (is_last_thread()) return first_thread_status();
      keep_up(&tries);
    }
  }
  return 0;
}

void* follower_thread(void*) {
  pb_thread.in_agent = 1;  // for good
  trap_gate_arrived();
  g_follower_tid.store(uint32_t(raw_syscall(SYS_gettid)), std::memory_order_release);
  // A thread of glibc's own count would keep pthread_exit() in main from ending the process.
  if (g_thread_count) __atomic_fetch_sub(g_thread_count, 1, __ATOMIC_SEQ_CST);
  ::prctl(PR_SET_NAME, "patchbay");
  leave_shared_tables();
  const int code = follow();
  give_slot_back();
  g_follower.store(0, std::memory_order_release);
  // Not by way of glibc, for which the last of its threads would end the process.
  for (;;) raw_syscall(SYS_exit, code);
  return nullptr;
}

// With the program's signals blocked, which the thread inherits; those of glibc itself and our own
// synchronous ones get through.
bool start_follower() {
  constexpr auto bit = [](int signal) { return uint64_t{1} << (signal - 1); };
  constexpr uint64_t kOpen =
      bit(SIGTRAP) | bit(SIGSEGV) | bit(SIGBUS) | bit(SIGILL) | bit(SIGFPE) | bit(32) | bit(33);
  const uint64_t blocked = ~kOpen;
  uint64_t before = 0;
  pthread_attr_t attributes;
  const auto create = next_function<decltype(&::pthread_create)>(Next::kPthreadCreate);
  if (!create || ::pthread_attr_init(&attributes) != 0) return false;
  ::pthread_attr_setstacksize(&attributes, kStackSize);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_pointer(&blocked), raw_pointer(&before), 8);
  g_follower_tid.store(0, std::memory_order_relaxed);
  g_follower.store(1, std::memory_order_relaxed);
  pthread_t thread;
  trap_gate_enter();
  trap_gate_expect();
  const int error = create(&thread, &attributes, follower_thread, nullptr);
  if (error) trap_gate_arrived();
  trap_gate_leave();
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_pointer(&before), 0, 8);
  ::pthread_attr_destroy(&attributes);
  if (error) g_follower.store(0, std::memory_order_relaxed);
  return error == 0;
}

void not_followed(const char* why) try {
  __atomic_fetch_add(&g_shared->not_followed, 1, __ATOMIC_RELAXED);
  abandon_all();
  say_once(why);
} catch (const std::bad_alloc&) {
  say_no_memory();
}

// --- the parent waits

// Whether the slot's child still has something to repeat. A dead child loses its slot.
bool is_behind(Slot* slot, uint64_t target) {
  const uint64_t position = load(&slot->position);
  if (position >= target) return false;
  const int error = ::pthread_mutex_trylock(&slot->alive);
  if (error == EBUSY) return position >= slot->late;
  if (error == EOWNERDEAD) ::pthread_mutex_consistent(&slot->alive);
  if (error && error != EOWNERDEAD) return false;
  store(&slot->position, kFree);
  ::pthread_mutex_unlock(&slot->alive);
  return false;
}

bool is_anybody_behind(uint64_t target, uint64_t waited_ns) {
  bool any = false;
  const uint32_t used = __atomic_load_n(&g_shared->slots_used, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < used; i++) {
    Slot* slot = &g_shared->slot[i];
    if (!is_behind(slot, target)) continue;
    const bool is_busy = __atomic_load_n(&slot->is_busy, __ATOMIC_ACQUIRE);
    if (waited_ns < (is_busy ? kLongPatienceNs : kPatienceNs))
      any = true;
    else
      slot->late = target;
  }
  return any;
}

uint32_t count_followers() {
  uint32_t count = 0;
  const uint32_t used = __atomic_load_n(&g_shared->slots_used, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < used; i++) {
    if (load(&g_shared->slot[i].position) == kFree) continue;
    is_behind(&g_shared->slot[i], kFree - 1);  // looks whether it lives
    count += load(&g_shared->slot[i].position) != kFree;
  }
  return count;
}

}  // namespace

void make_followers(Agent* agent) {
  if (agent->directory.empty()) return;
  void* memory = shared_pages(sizeof(Shared));
  if (!memory || !is_shared_with_running(memory)) return;
  next_address(Next::kPthreadCreate);  // a child looks nothing up
  g_thread_count =
      static_cast<unsigned*>(::dlvsym(RTLD_DEFAULT, "__nptl_nthreads", "GLIBC_PRIVATE"));
  g_repeater = new serve::Repeater(*agent->root);
  g_shared = static_cast<Shared*>(memory);
}

serve::OperationJournal* follower_journal() {
  static auto* const journal = new Journal;
  return g_shared ? journal : nullptr;
}

void tell_followers_to_leave() {
  if (!follower_journal() || !follower_journal()->wanted()) return;
  serve::Operation operation;
  operation.kind = serve::OperationKind::kLeave;
  follower_journal()->append(operation);
}

void wait_for_followers() {
  if (!g_shared || !has_forked()) return;
  const uint64_t target = g_shared->head, begin = raw_monotonic_ns();
  for (;;) {
    const uint32_t answers = __atomic_load_n(&g_shared->answers, __ATOMIC_SEQ_CST);
    if (!is_anybody_behind(target, raw_monotonic_ns() - begin)) return;
    sleep_on(&g_shared->answers, answers, 20'000'000);
  }
}

std::string follower_counts() {
  if (!g_shared || !has_forked()) return {};
  const auto line = [](const char* name, uint64_t count) {
    return std::string("forked children ") + name + ": " + std::to_string(count) + "\n";
  };
  return line("that follow", count_followers()) +
         line("without a thread to follow", load(&g_shared->not_followed)) +
         line("that stopped recording", load(&g_shared->stopped));
}

void followers_before_fork() {
  if (!g_shared) return;
  if (!has_forked() && !is_forked_child()) {
    pthread_mutexattr_t attributes;
    ::pthread_mutexattr_init(&attributes);
    ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    for (Slot& slot : g_shared->slot) {
      ::pthread_mutex_init(&slot.alive, &attributes);
      slot.position = kFree;
    }
    ::pthread_mutexattr_destroy(&attributes);
    set_has_forked();
  }
  g_files_at_last_fork = serve::OpenFiles::next_number();
}

void follow_after_fork(bool clean) {
  set_forked_child();
  g_slot = nullptr;
  g_follower.store(0, std::memory_order_relaxed);
  g_step_aside.store(0, std::memory_order_relaxed);
  g_has_left = false;
  if (!g_shared || g_agent->asleep) return;
  if (!clean)
    not_followed("was forked by a signal handler in the middle of the agent; it records nothing");
  else if (!start_follower())
    not_followed("has no thread to follow what is changed; it records nothing");
}

namespace {

bool is_follower_gone() {
  const uint32_t tid = g_follower_tid.load(std::memory_order_acquire);
  return tid && raw_syscall(SYS_tgkill, ::getpid(), tid, 0) == -ESRCH;
}

void step_aside() {
  {
    std::lock_guard guard(g_agent->lock());  // not in the middle of a change
    g_step_aside.store(1, std::memory_order_release);
  }
  for (int i = 0; i < 10000 && !is_follower_gone(); i++) {
    wake(&g_shared->generation);
    const timespec pause = {0, 100'000};
    raw_syscall(SYS_nanosleep, raw_pointer(&pause), 0);
  }
}

void step_back() {
  g_step_aside.store(0, std::memory_order_release);
  if (g_follower.load(std::memory_order_acquire) || start_follower()) return;
  std::lock_guard guard(g_agent->lock());
  not_followed("has no thread to follow what is changed any more; it records nothing");
}

}  // namespace

bool end_following() {
  if (g_follower.load(std::memory_order_acquire)) step_aside();
  return !g_follower.load(std::memory_order_acquire) || is_follower_gone();
}

void close_followed_files() {
  delete std::exchange(g_repeater, nullptr);
  if (g_shared) g_repeater = new serve::Repeater(*g_agent->root);
}

void followers_begin_anew() {
  if (g_shared) std::memset(static_cast<void*>(g_shared), 0, offsetof(Shared, bytes));
  g_position = 0;
  g_has_said = false;
  g_slot = nullptr;
  g_has_left = false;
  g_follower.store(0, std::memory_order_relaxed);
  g_step_aside.store(0, std::memory_order_relaxed);
}

int follower_thread() {
  if (!g_follower.load(std::memory_order_acquire)) return 0;
  const uint32_t tid = g_follower_tid.load(std::memory_order_acquire);
  return tid ? int(tid) : -1;
}

bool follower_steps_aside() {
  if (!g_follower.load(std::memory_order_acquire) || pb_thread.in_agent) return false;
  AgentScope scope;
  step_aside();
  return true;
}

void follower_steps_back() {
  const int saved = errno;
  AgentScope scope;
  step_back();
  errno = saved;
}

}  // namespace patchbay
