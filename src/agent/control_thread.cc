// SPDX-License-Identifier: MIT
#include "agent/control_thread.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "agent/arrival.h"
#include "agent/end_of_program.h"
#include "agent/ended_instances.h"
#include "agent/followers.h"
#include "agent/load_watch.h"
#include "agent/signal_view.h"
#include "agent/start_up.h"
#include "agent/thread_aside.h"
#include "base/last_thread.h"
#include "base/monotonic_clock.h"
#include "base/raw_syscall.h"
#include "hist/hist_clock.h"
#include "registry/object_log.h"
#include "registry/settings.h"
#include "serve/peer_watch.h"
#include "tracer/function_commands.h"

namespace patchbay {

namespace {

bool g_has_own_descriptors = false;  // of this thread

constexpr size_t kControlStackSize = 1024 * 1024;  // the C++ demangler recurses

void resume(Agent* agent) {
  retry_waiting_events(agent);  // the tool has defined events since
  agent->registry->set_single_threaded(false);
  agent->resumed.store(1, std::memory_order_release);
  raw_syscall(SYS_futex, long(&agent->resumed), FUTEX_WAKE, 1 << 30);
}

// Objects that came or went without telling us bring and take USDT probes. Cheap when there were
// none: the dynamic linker counts its loads.
void follow_loads(Agent* agent) {
  const uint64_t before = agent->usdt_events->site_count();
  look_at_objects(agent);
  if (agent->usdt_events->site_count() != before) retry_waiting_events(agent);
}

// Pairs of the first moments make short recordings precise; later one a second is plenty. The
// second call is a moment after start: what has not registered its events by then is worth a word.
int keep_clock(Agent* agent) {
  const int64_t now = monotonic_ms();
  if (now < agent->clock_due_ms) return int(agent->clock_due_ms - now);
  const int call = agent->clock_calls++;
  bool recording = false;
  keep_hist_clocks();
  for (TraceArray* array : every_array(agent)) {
    if (call > 0) array->buffer->add_clock_pair();
    recording |= array->buffer->enabled();
  }
  const bool wanted = agent->has_waiting();
  int wait = recording || wanted ? 1000 : -1;
  if (call < 2) {
    wait = call == 0 ? 10 : 100;
  } else {
    if (recording || wanted) {
      loads_are_watched(agent);
      follow_loads(agent);
      if (recording) (void)agent->registry->objects().describe();  // callers, also static events'
    }
    if (wanted) retry_waiting_events(agent);  // the program or a tool may have defined the event
    if (agent->resumed || !agent->settings.wait) report_waiting_events(agent);
  }
  agent->clock_due_ms = wait < 0 ? 0 : now + wait;
  return wait;
}

// A function tracer wants the functions of a library soon after it was loaded.
int follow_functions(Agent* agent) {
  if (!agent->tracers->is_tracing()) return -1;
  if (loads_are_watched(agent)) return 1000;
  follow_loads(agent);
  return 50;
}

// Places at which a thread stood when they were patched work through an int3 and get their jump
// later: tried after a moment and then ever more seldom. Where a thread stays for good nothing is
// tried until something else is patched. Returns the milliseconds to the next try; -1: none.
int finish_places(Agent* agent) {
  constexpr int kFirstMs = 100, kMaxTries = 8;
  auto& pending = agent->pending;
  const int64_t now = monotonic_ms();
  const uint64_t patched = agent->patcher->patched_sites();
  if (patched != std::exchange(pending.patched_sites, patched)) pending.tries = 0;
  if (pending.tries >= kMaxTries) return -1;
  if (pending.tries && now < pending.due_ms) return int(pending.due_ms - now);
  if (agent->patcher->finish_pending() == 0) return -1;
  const int wait = kFirstMs << pending.tries++;
  pending.due_ms = now + wait;
  return wait;
}

// The last thread of the program may leave by the bare system call: then we are what is left of the
// process, which nobody can end but by SIGKILL.
void end_with_program(Agent* agent) {
  if (!is_last_thread()) return;
  try {
    end_of_program(agent);
  } catch (const std::bad_alloc&) {
    say_no_memory();
  }
  // Older kernels report what the first thread has given, newer ones what the last one gives.
  for (;;) raw_syscall(SYS_exit, first_thread_status());
}

void follow_tracer_each_second(Agent* agent) {
  constexpr int kLookMs = 900;
  static int64_t looked_ms = 0;
  const int64_t now = monotonic_ms();
  if (now - looked_ms < kLookMs) return;
  looked_ms = now;
  follow_tracer(agent);
}

int keep_up(Agent* agent) {
  std::lock_guard guard(agent->lock());
  constexpr int kLookMs = 1000;  // a debugger may come while anything is patched
  remove_ended_instances(agent);
  const bool looks = agent->patcher->patched_sites() || !agent->ended_instances.empty();
  int soonest = looks ? kLookMs : -1;
  follow_wishes(agent);
  follow_tracer_each_second(agent);
  for (int wait : {keep_clock(agent), finish_places(agent), follow_functions(agent)})
    if (wait >= 0 && (soonest < 0 || wait < soonest)) soonest = wait;
  return soonest;
}

std::string lines_of(tracefs::Directory& directory) {
  std::string text;
  const auto file = directory.file("trace");
  if (!file || !file->open(O_RDONLY).ok()) return text;
  for (;;) {
    auto part = file->read_next(65536, tracefs::ReadMode::kAny);
    if (!part.ok() || part->empty()) break;
    text += *part;
  }
  while (text.starts_with('#')) text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
  return text;
}

// The command dump of set_ftrace_filter: the buffer in the latency format, which is then empty.
std::string dump_text(Agent* agent, std::optional<uint32_t> cpu) {
  TraceArray& top = agent->registry->top();
  const TraceOptions options = top.options;
  top.options.set(TraceOption::kLatencyFormat, true);
  top.options.set(TraceOption::kPauseOnTrace, false);
  std::string text;
  if (!cpu) {
    text = lines_of(*agent->root);
  } else if (auto all = agent->root->directory("per_cpu")) {
    auto one = all->directory("cpu" + std::to_string(*cpu));
    if (one) text = lines_of(*one);
  }
  top.options = options;
  agent->registry->settings().clear(top, cpu);
  return text;
}

void answer_actions(Agent* agent, int milliseconds) {
  if (!wait_for_actions(milliseconds)) return;
  std::lock_guard guard(agent->lock());
  agent->tracers->commands().run_asked();
  agent->triggers->run_asked();
}

}  // namespace

void make_server(Agent* agent) {
  RingBuffer& buffer = *agent->registry->top().buffer;
  if (!agent->settings.attached) g_has_own_descriptors = serve::private_descriptors();
  if (g_has_own_descriptors) buffer.hold_file();
  serve::ServerOptions options;
  options.directory = agent->directory;
  options.lock = &agent->lock();
  options.hooks.resume = [agent] { resume(agent); };
  options.hooks.attached = agent->settings.attached;
  options.hooks.journal = follower_journal();
  options.served = wait_for_followers;
  options.hooks.open_buffer = [agent]() -> Result<UniqueFd> {
    const std::string& path = agent->registry->top().buffer->path();
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!fd.valid()) return sys_error("open " + path, errno);
    // A reader needs names for addresses in it, also before anything was recorded.
    PB_TRY(agent->registry->objects().describe());
    return fd;
  };
  options.acted = [agent] {
    agent->asleep = false;  // a tool that wanted us to leave has gone, and another one works here
    remove_ended_instances(agent);
    follow_wishes(agent);
  };
  options.periodic = [agent] { return keep_up(agent); };
  if (agent->settings.attached) options.detach = [agent] { return prepare_to_leave(agent); };
  options.glance = [agent] { end_with_program(agent); };
  options.glance_ms = agent->settings.wait ? 100 : 1000;
  options.asks = actions_may_ask;
  options.answer = [agent](int milliseconds) { answer_actions(agent, milliseconds); };
  {
    std::lock_guard guard(agent->lock());
    agent->tracers->commands().set_dump_text(
        [agent](std::optional<uint32_t> cpu) { return dump_text(agent, cpu); });
  }
  auto server = serve::Server::create(*agent->root, std::move(options));
  if (server.ok())
    agent->server = std::move(*server);
  else
    say(server.error().message());
}

namespace {

// glibc ends the process when its last thread ends, main having left by pthread_exit(). Our thread
// must not be the one that it waits for, so it leaves glibc's count; `by` = +1 puts it back before
// it returns.
void count_as_program_thread(int by) {
  auto* count = static_cast<unsigned*>(::dlvsym(RTLD_DEFAULT, "__nptl_nthreads", "GLIBC_PRIVATE"));
  if (count) __atomic_fetch_add(count, unsigned(by), __ATOMIC_SEQ_CST);
}

void tell_ready(Agent* agent) {
  agent->ready.store(1, std::memory_order_release);
  raw_syscall(SYS_futex, long(&agent->ready), FUTEX_WAKE, 1 << 30);
}

// Without memory whatever was asked for is left undone, and we wait for better times.
void serve_program(Agent* agent) {
  for (;; ::usleep(1'000'000)) {
    try {
      if (!agent->server) make_server(agent);
      tell_ready(agent);
      if (!agent->server) return;
      do {
        Status status = agent->server->run();
        if (!status.ok()) return say(status.error().message());
      } while (!control_thread_leaves(g_has_own_descriptors));
      return;
    } catch (const std::bad_alloc&) {
      say_no_memory();
      tell_ready(agent);
    }
  }
}

}  // namespace

void begin_control_thread() {
  pb_thread.in_agent = 1;  // for good
  count_as_program_thread(-1);
  ::prctl(PR_SET_NAME, serve::kControlThreadName);
  // A root, a working directory and a umask of our own: the program may change its own, and the
  // runtime directory is still found.
  if (::unshare(CLONE_FS) == 0) ::umask(077);
}

void end_control_thread() { count_as_program_thread(+1); }

int keep_own_descriptors(int fd) {
  g_has_own_descriptors = serve::private_descriptors(&fd);
  return fd;
}

namespace {

void* control_thread(void* argument) {
  begin_control_thread();
  control_thread_is_there(g_has_own_descriptors);
  serve_program(static_cast<Agent*>(argument));
  end_control_thread();
  return nullptr;
}

}  // namespace

void follow_tracer(Agent* agent) {
  if (!agent->patcher->follow_tracer()) return;
  say("a debugger traces this program: where it has an int3 of ours stands a hlt, whose SIGSEGV "
      "the program needs (gdb: handle SIGSEGV nostop noprint pass)");
}

// All signals stay with the program's threads; only our own synchronous ones get through.
bool start_control_thread(Agent* agent) {
  AgentScope scope;
  // The kernel's mask alone: what the program believes of its own stays as it is.
  constexpr uint64_t kOfLibc = uint64_t{3} << 31;
  constexpr uint64_t kAllButOurs = ~(kOwnSignals | kOfLibc);
  uint64_t old = 0;
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_pointer(&kAllButOurs), raw_pointer(&old), 8);
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kControlStackSize);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  int error = ::pthread_create(&thread, &attributes, control_thread, agent);
  ::pthread_attr_destroy(&attributes);
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_pointer(&old), 0, 8);
  if (error) say("no control thread: " + std::string(std::strerror(error)));
  return error == 0;
}

}  // namespace patchbay
