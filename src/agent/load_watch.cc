// SPDX-License-Identifier: MIT
#include "agent/load_watch.h"

#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include "agent/agent.h"
#include "agent/start_up.h"
#include "arch/x86_64/decoder.h"
#include "arch/x86_64/text_memory.h"
#include "base/monotonic_clock.h"
#include "base/raw_syscall.h"
#include "probe/callbacks/callback_hot.h"
#include "registry/event_requests.h"
#include "registry/object_log.h"
#include "symbol/elf_module.h"

namespace patchbay {

namespace {

constexpr size_t kNeededStack = 96 * 1024;
constexpr int kLockSeconds = 1;

struct Counts {
  unsigned long long came = 0, went = 0;
  bool operator==(const Counts&) const = default;
};

std::atomic<unsigned long long> g_seen{~0ull};  // came + went, at the last look
std::atomic<bool> g_missed{false};
std::atomic<int64_t> g_looked_ms{0};
constexpr int64_t kRelocationMs = 500;  // far more than it takes

// Under the agent's lock. Made when it is first needed: the agent's constructor may run before
// those of this file.
struct Watch {
  bool is_planned = false;
  bool is_on = false;
  bool is_told = false;
  SitePlan plan;
};
Watch& the_watch() {
  static auto* watch = new Watch;
  return *watch;
}

int note_counts(dl_phdr_info* info, size_t, void* counts) {
  *static_cast<Counts*>(counts) = {info->dlpi_adds, info->dlpi_subs};
  return 1;
}

unsigned long long objects_so_far() {
  Counts counts;
  ::dl_iterate_phdr(note_counts, &counts);
  return counts.came + counts.went;
}

// The dynamic linker's own account, by way of the program's DT_DEBUG; null: not known.
const r_debug* debug_of_linker(const dl_phdr_info& program) {
  const ElfW(Dyn)* entry = nullptr;
  for (int i = 0; i < program.dlpi_phnum; i++)
    if (program.dlpi_phdr[i].p_type == PT_DYNAMIC)
      entry =
          reinterpret_cast<const ElfW(Dyn)*>(program.dlpi_addr + program.dlpi_phdr[i].p_vaddr);
  for (; entry && entry->d_tag != DT_NULL; entry++)
    if (entry->d_tag == DT_DEBUG) return reinterpret_cast<const r_debug*>(entry->d_un.d_ptr);
  return nullptr;
}

// Under the dynamic linker's lock of its lists. Namespaces of dlmopen() hang on the first one's
// account since glibc 2.35.
int look_for_other_libc(dl_phdr_info* program, size_t, void* found) {
  const auto* first = reinterpret_cast<const r_debug_extended*>(debug_of_linker(*program));
  if (!first || first->base.r_version < 2) return 1;
  for (const r_debug_extended* other = first->r_next; other; other = other->r_next)
    for (const link_map* object = other->base.r_map; object; object = object->l_next)
      if (std::string_view(object->l_name).ends_with("/libc.so.6"))
        *static_cast<bool*>(found) = true;
  return 1;  // the program is the first one
}

// Once: nothing of ours stands in front of its functions.
void name_other_libc() {
  static bool is_named = false;
  bool is_there = false;
  if (!is_named) ::dl_iterate_phdr(look_for_other_libc, &is_there);
  if (is_there && !std::exchange(is_named, true))
    say("a second C library, of dlmopen(), is left alone: what its namespace does with signals is "
        "as if by system calls of the program's own (see the limits in the manual)");
}

// Where the stack of this thread begins and may end; false: not known.
bool find_stack(uint64_t* first, uint64_t* last) {
  if (raw_syscall(SYS_gettid) == raw_syscall(SYS_getpid)) {  // glibc would read /proc/self/maps
    constexpr uint64_t kMost = 8 << 20;
    rlimit limit = {};
    if (::getrlimit(RLIMIT_STACK, &limit) != 0) return false;
    *last = ::getauxval(AT_RANDOM);  // above main's frames
    *first = *last - std::min<uint64_t>(limit.rlim_cur, kMost);
    return true;
  }
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return false;
  void* start = nullptr;
  size_t size = 0;
  const bool known = ::pthread_attr_getstack(&attributes, &start, &size) == 0;
  ::pthread_attr_destroy(&attributes);
  *first = reinterpret_cast<uint64_t>(start);
  *last = *first + size;
  return known;
}

// False also for a thread that runs on a stack which is not its own.
bool has_stack() {
  uint64_t first = 0, last = 0;
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  return find_stack(&first, &last) && here > first + kNeededStack && here <= last;
}

// pthread_mutex_timedlock() waits by the wall clock, which may be set back meanwhile;
// pthread_mutex_clocklock() is newer than the libc that the agent has to run with.
bool lock_in_time(std::recursive_mutex& mutex) {
  constexpr timespec kNap{0, 100'000};
  for (const int64_t end = monotonic_ms() + kLockSeconds * 1000; !mutex.try_lock();) {
    if (monotonic_ms() >= end) return false;
    raw_syscall(SYS_nanosleep, raw_pointer(&kNap));
  }
  return true;
}

void end_look(Agent* agent) {
  agent->patcher->set_unused({});
  agent->symbols->end_loading();
}

// The look itself. No thread runs the code of an object that has just been mapped.
void look(Agent* agent) {
  SymbolTable& symbols = *agent->symbols;
  symbols.begin_loading();
  symbols.refresh();
  std::vector<std::pair<uint64_t, uint64_t>> unused;
  for (const Module* module : symbols.modules())
    if (!static_cast<const ElfModule*>(module)->is_relocated())
      unused.emplace_back(module->start(), module->end());
  agent->patcher->set_unused(std::move(unused));
  g_looked_ms = monotonic_ms();
  const uint64_t before = agent->usdt_events->site_count();
  look_at_objects(agent);
  name_other_libc();
  (void)agent->registry->objects().describe();  // it may call what is traced from now on
  if (agent->has_waiting() && agent->usdt_events->site_count() != before)
    retry_waiting_events(agent);
  end_look(agent);
}

bool look_now(Agent* agent) {
  if (!has_stack() || !lock_in_time(agent->lock())) return false;
  std::lock_guard guard(agent->lock(), std::adopt_lock);
  try {
    look(agent);
  } catch (const std::exception&) {  // no memory
    end_look(agent);
    return false;
  }
  return true;
}

// The thread may hold the agent's lock with its data half changed, or, in a callback, any lock.
bool is_inside() {
  const CallbackSlot* slot = pb_thread.callback_slot;
  const HitCallback* running = slot ? __atomic_load_n(&slot->running, __ATOMIC_RELAXED) : nullptr;
  return pb_thread.in_agent || (running && running->vectors != LiveVectors::kNone);
}

// In place of _dl_debug_state().
void objects_changed() {
  Agent* agent = own_agent();
  if (!agent) return;  // a forked child, which has no agent of its own
  const int saved_errno = errno;
  const unsigned long long now = objects_so_far();
  if (now != g_seen.exchange(now, std::memory_order_relaxed)) {
    const bool inside = is_inside();
    AgentScope scope;
    if (inside || !look_now(agent)) g_missed.store(true, std::memory_order_relaxed);
  }
  errno = saved_errno;
}

// sub $8, %rsp; movabs $objects_changed, %rax; call *%rax; add $8, %rsp. A function that takes and
// returns nothing is called in place of one that does neither: no register needs to be kept.
size_t emit_call(uint8_t* out, size_t capacity, uint64_t) {
  static constexpr uint8_t kBefore[] = {0x48, 0x83, 0xec, 0x08, 0x48, 0xb8};
  static constexpr uint8_t kBehind[] = {0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08};
  constexpr size_t kSize = sizeof kBefore + 8 + sizeof kBehind;
  if (capacity < kSize) return 0;
  void (*const target)() = objects_changed;
  std::memcpy(out, kBefore, sizeof kBefore);
  std::memcpy(out + sizeof kBefore, &target, 8);
  std::memcpy(out + sizeof kBefore + 8, kBehind, sizeof kBehind);
  return kSize;
}

// r_debug.r_brk; 0: not known.
uint64_t place_of_notices() {
  uint64_t address = 0;
  const auto look_at_program = [](dl_phdr_info* info, size_t, void* found) {
    const r_debug* const debug = debug_of_linker(*info);
    if (debug) *static_cast<uint64_t*>(found) = debug->r_brk;
    return 1;  // the program is the first one
  };
  ::dl_iterate_phdr(look_at_program, &address);
  return address;
}

// A function that returns at once, and padding behind it. Looked at by ourselves: to plan it like
// any function would read all that the dynamic linker's file says.
const char* plan_empty_function(uint64_t address, SitePlan* plan) {
  static constexpr uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
  constexpr uint8_t kRet = 0xc3, kInt3 = 0xcc;
  constexpr size_t kJumpSize = 5;
  uint8_t bytes[sizeof kEndbr64 + kMaxDisplaced];
  if (!address || copy_of_memory(address, bytes, sizeof bytes) != sizeof bytes)
    return "its place is not known";
  const uint8_t* at = bytes;
  if (std::equal(std::begin(kEndbr64), std::end(kEndbr64), at)) at += sizeof kEndbr64;
  if (*at == kInt3) return "a debugger has its breakpoint there";
  if (*at != kRet) return "it is not the empty function that it was expected to be";
  plan->entry = address;
  plan->patch_address = address + uint64_t(at - bytes);
  Insn insn;
  for (size_t behind = 1; behind < kJumpSize; behind += insn.length) {
    const uint64_t where = plan->patch_address + behind;
    if (!decode_insn(at + behind, kMaxDisplaced - behind, where, &insn) ||
        (insn.kind != InsnKind::kNop && insn.kind != InsnKind::kTrap))
      return "there is no room behind it";
  }
  std::copy_n(at, kMaxDisplaced, plan->original.begin());
  plan->displaced = kJumpSize;
  plan->boundary_count = 1;
  plan->no_trap = "int3 refused in the dynamic linker";
  plan->kind = SiteKind::kJump;
  return nullptr;
}

bool plan_watch() {
  Watch& watch = the_watch();
  if (watch.is_planned) return true;
  const char* refusal = plan_empty_function(place_of_notices(), &watch.plan);
  watch.plan.reason = refusal ? refusal : "";
  return watch.is_planned = !refusal;
}

bool switch_watch(Agent* agent, bool on) {
  SiteChange change{the_watch().plan, {}};
  if (on) change.prologue = emit_call;
  auto report = agent->patcher->apply({&change, 1}, agent->registry->single_threaded());
  if (!report.ok() || report->refused) return false;
  the_watch().is_on = on;
  return true;
}

void start_watch(Agent* agent) {
  if (plan_watch() && switch_watch(agent, true)) {
    look_at_objects(agent);  // what came before
    name_other_libc();
    return;
  }
  if (std::exchange(the_watch().is_told, true)) return;
  say("libraries that are loaded from now on are found within a second only: the dynamic linker's "
      "_dl_debug_state cannot be patched" +
      (the_watch().plan.reason.empty() ? std::string() : " (" + the_watch().plan.reason + ")"));
}

bool anything_wanted(Agent* agent) {
  return agent->functions->wants_objects() || agent->probe_events->wants_objects() ||
         agent->usdt_events->any_wanted() || agent->tracers->wants_objects() ||
         agent->has_waiting() || agent->registry->requests().waiting();
}

}  // namespace

void follow_wishes(Agent* agent) {
  try {
    const bool wanted = anything_wanted(agent);
    if (wanted == the_watch().is_on) return;
    if (wanted)
      start_watch(agent);
    else
      switch_watch(agent, false);
  } catch (const std::exception&) {  // no memory: the next time
  }
}

void stop_watching_loads(Agent* agent) {
  if (the_watch().is_on) switch_watch(agent, false);
}

bool loads_are_watched(Agent* agent) {
  if (monotonic_ms() - g_looked_ms >= kRelocationMs) agent->symbols->loading_is_over();
  return !g_missed.exchange(false, std::memory_order_relaxed) && the_watch().is_on;
}

}  // namespace patchbay
