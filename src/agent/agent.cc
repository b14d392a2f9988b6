// SPDX-License-Identifier: MIT
//
// The agent: everything of Patchbay that lives inside a traced program, wired together here and
// only here.
//
//   constructor (before main)                       control thread
//     read the environment                            own descriptor table, all signals blocked
//     runtime directory, buffer file                  serves the tree over DIR/PID/ctl.sock
//     symbols, patcher, events, tree                  keeps the clock table while recording
//     signal and fork hooks
//     PATCHBAY_FUNCTION_EVENTS: define, enable
//     start the control thread
//     PATCHBAY_WAIT=1: until the tool says resume
//
// Rules of the guest: code here runs under AgentScope, so that traced functions it calls are not
// followed; no exception leaves; a failure says so once on stderr and lets the program run
// untraced.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "agent/environment.h"
#include "agent/signal_hooks.h"
#include "base/check.h"
#include "base/raw_syscall.h"
#include "patchbay/patchbay.h"
#include "registry/function_events.h"
#include "ring_buffer/ring_buffer.h"
#include "ring_buffer/ring_write_hot.h"
#include "serve/client.h"
#include "serve/directory.h"
#include "serve/server.h"
#include "tracefs/root.h"

namespace patchbay {
namespace {

constexpr int kResumeTimeoutSeconds = 60;  // a tool that died must not hold its program for ever
constexpr size_t kControlStackSize = 1024 * 1024;  // the C++ demangler recurses

// Traced functions called in here are counted as recursion, not followed.
class AgentScope {
 public:
  AgentScope() {
    pb_thread.in_agent++;
    pb_thread.fast_tid = 0;  // the probe sets it again at the thread's next hit
  }
  ~AgentScope() { pb_thread.in_agent--; }
};

struct Agent {
  AgentSettings settings;
  std::string directory;  // DIR/PID
  std::unique_ptr<RingBuffer> buffer;
  std::unique_ptr<SymbolTable> symbols;
  std::unique_ptr<Patcher> patcher;
  std::unique_ptr<FunctionEvents> events;
  std::unique_ptr<tracefs::TreeContext> context;
  std::unique_ptr<tracefs::Directory> root;
  std::unique_ptr<serve::Server> server;
  std::atomic<uint32_t> resumed{0};
  std::atomic<uint32_t> ready{0};
  int clock_calls = 0;
  pid_t pid = 0;
};

Agent* g_agent = nullptr;  // never freed: threads may run to the very end of the process

void say(const std::string& sentence) {
  std::string line = "patchbay: " + sentence + "\n";
  raw_syscall(SYS_write, 2, long(line.data()), long(line.size()));
}

// A broken invariant of ours: recording stops, once with a line that says why; the program goes on.
void agent_check_failed(const char* file, int line, const char* expression, uint64_t a,
                        uint64_t b) {
  static std::atomic<bool> reported{false};
  if (g_agent && g_agent->buffer) g_agent->buffer->disable();
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

uint32_t possible_cpus() {
  auto text = read_file("/sys/devices/system/cpu/possible");  // "0-1", "0-3,8-11"
  if (text.ok()) {
    size_t start = text->find_last_of(",-");
    const char* last = text->c_str() + (start == std::string::npos ? 0 : start + 1);
    long highest = std::strtol(last, nullptr, 10);
    if (highest >= 0 && highest < long(abi::kMaxRings) - 1) return uint32_t(highest) + 1;
  }
  long count = ::sysconf(_SC_NPROCESSORS_CONF);
  return count > 0 ? uint32_t(count) : 1;
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

Status make_agent(Agent* agent) {
  auto runtime = serve::runtime_directory(true);
  if (!runtime.ok()) return runtime.error();
  auto directory = serve::make_process_directory(*runtime, agent->pid);
  if (!directory.ok()) return directory.error();
  agent->directory = *directory;
  RingBufferOptions options;
  options.path = agent->directory + "/" + serve::kBufferName;
  options.nr_cpus = possible_cpus();
  options.bytes_per_cpu = agent->settings.buffer_size_kb * 1024;
  options.overwrite = agent->settings.overwrite;
  auto buffer = RingBuffer::create(options);
  if (!buffer.ok()) return buffer.error();
  agent->buffer = std::move(*buffer);
  PB_TRY(agent->buffer->append_meta(abi::kMetaExe, program_identity()));
  if (agent->buffer->header()->clock != abi::kClockTsc)
    pb_rseq_offset = 0;  // the locked path reads the other clock
  agent->symbols = make_self_symbol_table();
  agent->patcher = make_patcher();
  agent->events =
      std::make_unique<FunctionEvents>(*agent->symbols, *agent->patcher, *agent->buffer);
  agent->events->set_single_threaded(true);
  agent->context = std::make_unique<tracefs::TreeContext>(
      tracefs::TreeContext{*agent->events, *agent->symbols, *agent->buffer, {}, {}, {}});
  agent->context->tracing_on = [agent] { return agent->events->tracing(); };
  agent->context->set_tracing_on = [agent](bool on) { return agent->events->set_tracing(on); };
  agent->root = tracefs::make_root(*agent->context);
  return {};
}

// A program started by one that has an agent itself: the same definitions were reported there
// already, and a shell's children do not have the functions of the program they lead to.
bool parent_has_agent(const Agent& agent) {
  std::string parent =
      agent.directory.substr(0, agent.directory.rfind('/') + 1) + std::to_string(::getppid());
  return ::access(parent.c_str(), F_OK) == 0;
}

// PATCHBAY_FUNCTION_EVENTS and PATCHBAY_TRACE_EVENT: like the kernel's command line, a mistake is
// reported and the rest goes on.
void apply_settings(Agent* agent) {
  const bool quiet = parent_has_agent(*agent);
  auto report = [quiet](const Status& status) {
    if (!status.ok() && !quiet) say(status.error().message());
  };
  for (const std::string& line : agent->settings.function_events)
    report(agent->events->write_line(line));
  if (agent->settings.enable_all) report(agent->events->set_all_enabled(true));
  for (const std::string& event : agent->settings.trace_events) {
    auto file = tracefs::lookup(*agent->root, "set_event");
    if (!file.ok() || !file->file) return say("this agent has no set_event");
    auto written = file->file->write(event + "\n");
    if (!written.ok())
      report(
          user_error(EINVAL, "PATCHBAY_TRACE_EVENT: " + event + ": " + written.error().message()));
  }
}

void resume(Agent* agent) {
  agent->events->set_single_threaded(false);
  agent->resumed.store(1, std::memory_order_release);
  raw_syscall(SYS_futex, long(&agent->resumed), FUTEX_WAKE, 1 << 30);
}

void wait_for(std::atomic<uint32_t>* word, int seconds) {
  timespec timeout = {seconds, 0};
  while (!word->load(std::memory_order_acquire))
    if (raw_syscall(SYS_futex, long(word), FUTEX_WAIT, 0, long(&timeout)) == -ETIMEDOUT) return;
}

// Pairs of the first moments make short recordings precise; later one a second is plenty.
int keep_clock(Agent* agent) {
  int call = agent->clock_calls++;
  if (call > 0) agent->buffer->add_clock_pair();
  if (call == 0) return 10;
  if (call == 1) return 100;
  return agent->buffer->enabled() ? 1000 : -1;
}

void make_server(Agent* agent) {
  if (serve::private_descriptors()) agent->buffer->hold_file();
  serve::ServerOptions options;
  options.directory = agent->directory;
  options.hooks.resume = [agent] { resume(agent); };
  options.hooks.open_buffer = [agent]() -> Result<UniqueFd> {
    UniqueFd fd(::open(agent->buffer->path().c_str(), O_RDWR | O_CLOEXEC));
    if (!fd.valid()) return sys_error("open " + agent->buffer->path(), errno);
    return fd;
  };
  options.periodic = [agent] { return keep_clock(agent); };
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

void* control_thread(void* argument) {
  Agent* agent = static_cast<Agent*>(argument);
  pb_thread.in_agent = 1;  // for good
  count_as_program_thread(-1);
  ::prctl(PR_SET_NAME, "patchbay");
  make_server(agent);
  agent->ready.store(1, std::memory_order_release);
  raw_syscall(SYS_futex, long(&agent->ready), FUTEX_WAKE, 1 << 30);
  if (agent->server) {
    Status status = agent->server->run();
    if (!status.ok()) say(status.error().message());
  }
  count_as_program_thread(+1);
  return nullptr;
}

// All signals stay with the program's threads; only our own synchronous ones get through.
bool start_control_thread(Agent* agent) {
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

// A forked child goes on recording into the same rings (they belong to CPUs, not to processes),
// under its own thread id. It has no control thread.
void after_fork_in_child() {
  signal_hooks_after_fork();
  pb_thread.tid = 0;
  pb_thread.fast_tid = 0;
  pb_thread.known_to = 0;
}

void start() {
  AgentSettings settings = read_settings();
  auto* agent = new Agent;
  agent->settings = std::move(settings);
  agent->pid = ::getpid();
  find_rseq();
  if (Status status = make_agent(agent); !status.ok())
    return say(status.error().message() + "; this program runs untraced");
  g_agent = agent;
  set_check_handler(agent_check_failed);
  install_signal_hooks();
  ::pthread_atfork(nullptr, nullptr, after_fork_in_child);
  if (agent->settings.wait) hide_from_environment();
  apply_settings(agent);
  bool serving = start_control_thread(agent);
  if (serving) wait_for(&agent->ready, 5);
  if (agent->settings.wait && serving) wait_for(&agent->resumed, kResumeTimeoutSeconds);
  agent->events->set_single_threaded(false);
}

uint64_t recorded_events(const Agent& agent) {
  uint64_t total = 0;
  const RingSet* set = agent.buffer->rings();
  for (uint32_t ring = 0; ring < agent.buffer->header()->nr_rings; ring++) {
    auto* rc = reinterpret_cast<abi::RingControl*>(set->controls +
                                                   uint64_t(ring) * abi::kRingControlStride);
    total += rc->slot[rc->publish & abi::kParityBit ? 1 : 0].entries + rc->dropped;
  }
  return total;
}

__attribute__((constructor)) void agent_constructor() {
  if (::getauxval(AT_SECURE)) return;  // a set-user-id program is not ours to look into
  int saved_errno = errno;
  AgentScope scope;
  try {
    start();
  } catch (const std::bad_alloc&) {
    say("out of memory; this program runs untraced");
  }
  errno = saved_errno;
}

// The end of the owning process: the buffer file says so; a file without events is of no use to
// anybody. Recording goes on: other exit handlers and threads may still run.
__attribute__((destructor)) void agent_destructor() {
  Agent* agent = g_agent;
  if (!agent || ::getpid() != agent->pid) return;
  AgentScope scope;
  agent->buffer->close_cleanly();
  if (agent->server) agent->server->remove_socket();
  if (agent->settings.wait || recorded_events(*agent) > 0) return;
  ::unlink(agent->buffer->path().c_str());
  ::rmdir(agent->directory.c_str());
}

Result<std::unique_ptr<serve::Client>> self_client() {
  if (!g_agent) return sys_error("patchbay", ESRCH);
  return serve::Client::connect_directory(g_agent->directory);
}

}  // namespace
}  // namespace patchbay

#define PATCHBAY_API extern "C" __attribute__((visibility("default")))

PATCHBAY_API const char* patchbay_version() { return PATCHBAY_VERSION; }

PATCHBAY_API int patchbay_write(const char* path, const char* text) {
  patchbay::AgentScope scope;
  auto client = patchbay::self_client();
  if (!client.ok()) return -client.error().errno_value;
  patchbay::Status status = (*client)->write_all(path, text, false);
  return status.ok() ? 0 : -status.error().errno_value;
}

PATCHBAY_API ssize_t patchbay_read(const char* path, char* buffer, size_t size) {
  patchbay::AgentScope scope;
  auto client = patchbay::self_client();
  if (!client.ok()) return -client.error().errno_value;
  auto text = (*client)->read_all(path);
  if (!text.ok()) return -text.error().errno_value;
  if (size > 0) {
    size_t stored = std::min(text->size(), size - 1);
    std::memcpy(buffer, text->data(), stored);
    buffer[stored] = '\0';
  }
  return ssize_t(text->size());
}

PATCHBAY_API const char* patchbay_directory() {
  return patchbay::g_agent ? patchbay::g_agent->directory.c_str() : "";
}
