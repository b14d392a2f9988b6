// SPDX-License-Identifier: MIT
//
// The agent: everything of Patchbay that lives inside a traced program, wired together here and
// only here.
//
//   constructor (before main)                       control thread
//     read the environment                            own descriptor table, all signals blocked
//     runtime directory, buffer file, registry        serves the tree over DIR/PID/ctl.sock
//     (or all in memory, and no socket)
//     symbols, patcher, events, tree                  while recording: clock tables, loaded objects
//     signal, thread and fork hooks
//     static events; what the environment asks for (start_up.cc)
//     start the control thread
//     PATCHBAY_WAIT=TOOL: until the tool says resume
//
// Everything that changes the registry runs under its lock: the control thread, a thread of the
// program in a call of ours (exports.cc), and one that loads a library (registrations.cc). That one
// holds the dynamic linker's lock as well, so nothing under the lock calls dlopen or dlsym.
//
// Rules of the guest: code here runs under AgentScope, so that traced functions it calls are not
// followed; no exception leaves; a failure says so once on stderr and lets the program run
// untraced.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "agent/agent.h"
#include "agent/ending.h"
#include "agent/followers.h"
#include "agent/load_watch.h"
#include "agent/registrations.h"
#include "agent/signal_hooks.h"
#include "agent/stand_ins.h"
#include "agent/start_up.h"
#include "agent/task_hooks.h"
#include "base/check.h"
#include "base/last_thread.h"
#include "base/possible_cpus.h"
#include "base/program_stderr.h"
#include "base/raw_syscall.h"
#include "hist/hist_clock.h"
#include "patchbay/patchbay.h"
#include "ring_buffer/ring_write_hot.h"
#include "serve/directory.h"
#include "serve/peer_watch.h"
#include "tracer/function_commands.h"

// What the records of trace_marker carry as their __ip, so that their text begins with this name.
extern "C" __attribute__((visibility("protected"), noinline, used)) void tracing_mark_write() {
  __asm__ volatile("");
}

namespace patchbay {

Agent* g_agent = nullptr;

Agent* own_agent() { return g_agent && g_agent->pid == ::getpid() ? g_agent : nullptr; }

void look_at_objects(Agent* agent) {
  agent->usdt_events->refresh();
  agent->functions->refresh();
  agent->probe_events->refresh();
  agent->tracers->refresh();
  agent->registry->follow_stacks();
  agent->walked_callers.refresh(*agent->symbols);
}

void say(std::string_view sentence) {
  char line[1024];
  const int length = std::snprintf(line, sizeof line, "patchbay: %.*s\n", int(sentence.size()),
                                   sentence.data());
  if (length > 0 && size_t(length) < sizeof line)
    return write_to_program_stderr({line, size_t(length)});
  for (std::string_view part : {std::string_view("patchbay: "), sentence, std::string_view("\n")})
    write_to_program_stderr(part);
}

namespace {

constexpr int kResumeTimeoutSeconds = 60;  // a tool that died must not hold its program for ever
constexpr size_t kControlStackSize = 1024 * 1024;  // the C++ demangler recurses

std::vector<TraceArray*> every_array(Agent* agent) {
  std::vector<TraceArray*> arrays = agent->registry->arrays();
  arrays.push_back(&agent->registry->top());
  return arrays;
}

// A broken invariant of ours: recording stops, once with a line that says why; the program goes on.
void agent_check_failed(const char* file, int line, const char* expression, uint64_t a,
                        uint64_t b) {
  static std::atomic<bool> reported{false};
  if (g_agent)
    for (TraceArray* array : every_array(g_agent)) array->buffer->disable();
  if (reported.exchange(true)) return;
  char text[256];
  int length =
      std::snprintf(text, sizeof text,
                    "patchbay: %s:%d: check failed: %s (%#llx, %#llx); recording has stopped\n",
                    file, line, expression, (unsigned long long)a, (unsigned long long)b);
  if (length > 0) raw_syscall(SYS_write, 2, long(text), std::min<long>(length, sizeof text - 1));
}

// glibc (2.35 and later) registers rseq for every thread and says where; anything else takes the
// slower path.
void find_rseq() {
  auto* offset = static_cast<const ptrdiff_t*>(::dlsym(RTLD_DEFAULT, "__rseq_offset"));
  auto* size = static_cast<const unsigned*>(::dlsym(RTLD_DEFAULT, "__rseq_size"));
  if (!offset || !size || *size == 0) return;
  const char* thread = static_cast<const char*>(__builtin_thread_pointer());
  int32_t cpu_id = *reinterpret_cast<const volatile int32_t*>(thread + *offset + 4);
  if (cpu_id >= 0) pb_rseq_offset = *offset;
}

// --- life
// --------------------------------------------------------------------------------------------

// The executable's path and the command line, each word with its NUL.
std::string program_identity() {
  char exe[4096];
  ssize_t length = ::readlink("/proc/self/exe", exe, sizeof exe);
  std::string identity(exe, length > 0 ? size_t(length) : 0);
  identity += '\0';
  if (auto words = read_file("/proc/self/cmdline"); words.ok()) identity += *words;
  return identity;
}

// Where no directory can be had the program is traced all the same, by itself. Not where one was
// asked for: whoever did would look there.
Status find_directory(Agent* agent) {
  auto directory = serve::runtime_directory(true);
  if (directory.ok()) directory = serve::make_process_directory(*directory, agent->pid);
  if (directory.ok())
    agent->directory = *directory;
  else if (serve::directory_is_chosen())
    return directory.error();
  else
    say(directory.error().message() +
        "; what this program records stays in its memory, where no tool finds it: PATCHBAY_DIR "
        "names another directory");
  return {};
}

// The directory is the last thing that the environment is asked for. A program that is executed
// from here on (a sanitizer's symbolizer) starts as it would without us, and waits for nobody.
Status make_agent(Agent* agent, char** argv_end) {
  Status found = find_directory(agent);
  if (agent->settings.wait) hide_from_environment(argv_end);
  if (!found.ok()) return found;
  RegistryOptions options;
  if (agent->directory.size()) {
    options.buffer.path = agent->directory + "/" + serve::kBufferName;
    options.instance_directory = agent->directory + "/instances";
  }
  options.buffer.nr_cpus = possible_cpus();
  options.buffer.bytes_per_cpu = agent->settings.buffer_size_kb * 1024;
  options.buffer.overwrite = agent->settings.overwrite;
  options.marker_ip = reinterpret_cast<uint64_t>(&tracing_mark_write);
  agent->symbols = make_self_symbol_table();
  auto registry = Registry::create(options, *agent->symbols);
  if (!registry.ok()) return registry.error();
  agent->registry = std::move(*registry);
  RingBuffer& buffer = *agent->registry->top().buffer;
  PB_TRY(buffer.append_meta(abi::kMetaExe, program_identity()));
  if (buffer.header()->clock != abi::kClockTsc)
    pb_rseq_offset = 0;  // the locked path reads the other clock
  agent->registry->set_single_threaded(true);
  agent->patcher = make_patcher();
  agent->patcher->set_stand_ins(find_stand_ins());
  agent->sites = std::make_unique<ProbeSites>(*agent->patcher);
  agent->sites->set_before_returns([agent] { agent->walked_callers.begin(*agent->symbols); });
  agent->symbols->set_unload_hook(
      [agent](const Module& gone) { agent->sites->unmapped(gone.start(), gone.end()); });
  agent->functions =
      std::make_unique<FunctionEvents>(*agent->registry, *agent->patcher, *agent->sites);
  agent->static_events = std::make_unique<StaticEvents>(*agent->registry, *agent->patcher);
  agent->usdt_events =
      std::make_unique<UsdtEvents>(*agent->registry, *agent->patcher, *agent->sites);
  agent->synthetic_events = std::make_unique<SyntheticEvents>(*agent->registry);
  agent->probe_events =
      std::make_unique<ProbeEvents>(*agent->registry, *agent->patcher, *agent->sites);
  agent->tracers = std::make_unique<Tracers>(*agent->registry, *agent->patcher, *agent->sites);
  agent->callback_ops = std::make_unique<CallbackOps>(*agent->registry, agent->tracers->ops());
  agent->triggers = std::make_unique<EventTriggers>(*agent->registry, *agent->synthetic_events);
  agent->context = std::make_unique<tracefs::TreeContext>(tracefs::TreeContext{
      *agent->registry, *agent->functions, *agent->probe_events, *agent->synthetic_events,
      *agent->sites, *agent->symbols, *agent->tracers, *agent->triggers});
  agent->context->look_for_events = [agent] { look_at_objects(agent); };
  agent->context->more_call_sites = [agent] {
    return agent->static_events->sites() + agent->usdt_events->sites();
  };
  agent->context->more_counters = follower_counts;
  agent->root = tracefs::make_root(*agent->context);
  make_followers(agent);
  return {};
}

void resume(Agent* agent) {
  retry_waiting_events(agent);  // the tool has defined events since
  agent->registry->set_single_threaded(false);
  agent->resumed.store(1, std::memory_order_release);
  raw_syscall(SYS_futex, long(&agent->resumed), FUTEX_WAKE, 1 << 30);
}

void wait_for(std::atomic<uint32_t>* word, int seconds) {
  timespec timeout = {seconds, 0};
  while (!word->load(std::memory_order_acquire))
    if (raw_syscall(SYS_futex, long(word), FUTEX_WAIT, 0, long(&timeout)) == -ETIMEDOUT) return;
}

// Objects that came or went without telling us bring and take USDT probes. Cheap when there were
// none: the dynamic linker counts its loads.
void follow_loads(Agent* agent) {
  const uint64_t before = agent->usdt_events->site_count();
  look_at_objects(agent);
  if (agent->usdt_events->site_count() != before) retry_waiting_events(agent);
}

int64_t monotonic_ms() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1000 + now.tv_nsec / 1000000;
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
      if (recording) (void)agent->registry->describe_modules();  // callers, also static events'
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

void end_of_program(Agent* agent);

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

void follow_tracer(Agent* agent) {
  if (!agent->patcher->follow_tracer()) return;
  say("a debugger traces this program: where it has an int3 of ours stands a hlt, whose SIGSEGV "
      "the program needs (gdb: handle SIGSEGV nostop noprint pass)");
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
  agent->registry->clear(top, cpu);
  return text;
}

void answer_actions(Agent* agent, int milliseconds) {
  if (!wait_for_actions(milliseconds)) return;
  std::lock_guard guard(agent->lock());
  agent->tracers->commands().run_asked();
  agent->triggers->run_asked();
}

void make_server(Agent* agent) {
  RingBuffer& buffer = *agent->registry->top().buffer;
  if (serve::private_descriptors()) buffer.hold_file();
  serve::ServerOptions options;
  options.directory = agent->directory;
  options.lock = &agent->lock();
  options.hooks.resume = [agent] { resume(agent); };
  options.hooks.journal = follower_journal();
  options.served = wait_for_followers;
  options.hooks.open_buffer = [agent]() -> Result<UniqueFd> {
    const std::string& path = agent->registry->top().buffer->path();
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!fd.valid()) return sys_error("open " + path, errno);
    // Whoever reads addresses in it wants names, also before anything was recorded.
    PB_TRY(agent->registry->describe_modules());
    return fd;
  };
  options.acted = [agent] {
    remove_ended_instances(agent);
    follow_wishes(agent);
  };
  options.periodic = [agent] { return keep_up(agent); };
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
      Status status = agent->server->run();
      if (!status.ok()) say(status.error().message());
      return;
    } catch (const std::bad_alloc&) {
      say_no_memory();
      tell_ready(agent);
    }
  }
}

void* control_thread(void* argument) {
  Agent* agent = static_cast<Agent*>(argument);
  pb_thread.in_agent = 1;  // for good
  count_as_program_thread(-1);
  ::prctl(PR_SET_NAME, serve::kControlThreadName);
  // A root, a working directory and a umask of our own: the program may change its own, and the
  // runtime directory is still found.
  if (::unshare(CLONE_FS) == 0) ::umask(077);
  serve_program(agent);
  count_as_program_thread(+1);
  return nullptr;
}

// All signals stay with the program's threads; only our own synchronous ones get through.
bool start_control_thread(Agent* agent) {
  AgentScope scope;
  sigset_t all, old;
  ::sigfillset(&all);
  for (int signal : {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) ::sigdelset(&all, signal);
  ::pthread_sigmask(SIG_SETMASK, &all, &old);
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kControlStackSize);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  int error = ::pthread_create(&thread, &attributes, control_thread, agent);
  ::pthread_attr_destroy(&attributes);
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  if (error) say("no control thread: " + std::string(std::strerror(error)));
  return error == 0;
}

void start(char** argv_end) {
  if (how_started() == Started::kByChildOfTool) return hide_from_environment(argv_end);
  AgentSettings settings = read_settings();
  auto* agent = new Agent;
  agent->settings = std::move(settings);
  agent->pid = ::getpid();
  remember_first_thread();
  find_rseq();
  if (Status status = make_agent(agent, argv_end); !status.ok())
    return say(status.error().message() + "; this program runs untraced");
  g_agent = agent;
  set_check_handler(agent_check_failed);
  install_signal_hooks();
  install_task_hooks();
  {
    std::lock_guard guard(agent->lock());
    find_static_events(agent);
    take_early_registrations(agent);
    look_at_objects(agent);
    apply_settings(agent);
    follow_wishes(agent);
  }
  bool serving = start_control_thread(agent);
  if (serving) wait_for(&agent->ready, 5);
  const bool has_socket = serving && agent->directory.size();
  if (agent->settings.wait && has_socket) wait_for(&agent->resumed, kResumeTimeoutSeconds);
  agent->registry->set_single_threaded(false);
  std::lock_guard guard(agent->lock());
  follow_tracer(agent);
}

uint64_t recorded_events(Agent* agent) {
  uint64_t total = 0;
  for (TraceArray* array : every_array(agent)) {
    const RingSet* set = array->buffer->rings();
    for (uint32_t ring = 0; ring < set->header->nr_rings; ring++) {
      const abi::RingControl* rc = set->control(ring);
      total += rc->slot[rc->publish & abi::kParityBit ? 1 : 0].entries + rc->dropped;
    }
  }
  return total;
}

// Files and directories of a process that has recorded nothing.
void remove_files(Agent* agent) {
  if (agent->directory.empty()) return;
  for (TraceArray* array : every_array(agent)) {
    ::unlink(array->buffer->path().c_str());
    if (array->snapshot) ::unlink(array->snapshot->path().c_str());
    if (!array->is_top()) ::rmdir((agent->directory + "/instances/" + array->name).c_str());
  }
  ::rmdir((agent->directory + "/instances").c_str());
  ::rmdir(agent->directory.c_str());
}

// glibc hands the vectors of the process to each constructor.
__attribute__((constructor)) void agent_constructor(int argc, char** argv, char**) {
  if (::getauxval(AT_SECURE)) return;  // a set-user-id program is not ours to look into
  int saved_errno = errno;
  AgentScope scope;
  try {
    start(argv + argc + 1);
  } catch (const std::bad_alloc&) {
    say("out of memory; this program runs untraced");
  }
  errno = saved_errno;
}

// The buffer files say that the process has ended; files without events are of no use to anybody.
// Recording goes on: other exit handlers and threads may still run. The lock is not waited for:
// whoever holds it may never run again.
void end_of_program(Agent* agent) {
  std::unique_lock guard(agent->lock(), std::try_to_lock);
  if (guard) report_waiting_events(agent);
  if (guard) report_unplaced_events(agent);
  if (guard && recorded_events(agent) > 0) (void)agent->registry->describe_modules();
  agent->registry->close_cleanly();
  if (agent->server) agent->server->remove_socket();
  if (agent->settings.wait || recorded_events(agent) > 0) return;
  remove_files(agent);
}

__attribute__((destructor)) void agent_destructor() {
  Agent* agent = own_agent();
  if (!agent) return;
  AgentScope scope;
  try {
    end_of_program(agent);
  } catch (const std::bad_alloc&) {
    say_no_memory();
  }
}

}  // namespace
}  // namespace patchbay
