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
// program in a call of ours (src/api/), and one that loads a library (registrations.cc). That one
// holds the dynamic linker's lock as well, so nothing under the lock calls dlopen or dlsym.
//
// Rules of the guest: code here runs under AgentScope, so that traced functions it calls are not
// followed; no exception leaves; a failure says so once on stderr and lets the program run
// untraced.
#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

#include "abi/follow_abi.h"
#include "agent/agent.h"
#include "agent/arrival.h"
#include "agent/control_thread.h"
#include "agent/end_of_program.h"
#include "agent/follow.h"
#include "agent/followers.h"
#include "agent/libc_entries.h"
#include "agent/libc_hooks.h"
#include "agent/load_watch.h"
#include "agent/next_function.h"
#include "agent/own_imports.h"
#include "agent/registrations.h"
#include "agent/signal_hooks.h"
#include "agent/stand_ins.h"
#include "agent/start_up.h"
#include "agent/task_hooks.h"
#include "base/check.h"
#include "base/last_thread.h"
#include "base/libc_thread.h"
#include "base/mapped_files.h"
#include "base/own_program.h"
#include "base/possible_cpus.h"
#include "base/program_stderr.h"
#include "base/raw_syscall.h"
#include "patchbay/patchbay.h"
#include "registry/object_log.h"
#include "ring_buffer/ring_write_hot.h"
#include "ring_buffer/thread_rseq.h"
#include "serve/directory.h"

// What the records of trace_marker carry as their __ip, so that their text begins with this name.
extern "C" __attribute__((visibility("protected"), noinline, used)) void tracing_mark_write() {
  __asm__ volatile("");
}

namespace patchbay {

Agent* g_agent = nullptr;

// Not by libc's getpid(): the program's may be traced, and this is no call of the program's.
Agent* own_agent() {
  return g_agent && g_agent->pid == pid_t(raw_syscall(SYS_getpid)) ? g_agent : nullptr;
}

std::vector<TraceArray*> every_array(Agent* agent) {
  std::vector<TraceArray*> arrays = agent->registry->arrays();
  arrays.push_back(&agent->registry->top());
  return arrays;
}

void look_at_objects(Agent* agent) {
  agent->usdt_events->refresh();
  agent->functions->refresh();
  agent->probe_events->refresh();
  agent->tracers->refresh();
  agent->registry->objects().follow_stacks();
  agent->walked_callers.refresh(*agent->symbols);
}

void say(std::string_view sentence) {
  if (tell_tool(sentence)) return;
  char line[1024];
  const int length =
      std::snprintf(line, sizeof line, "patchbay: %.*s\n", int(sentence.size()), sentence.data());
  if (length > 0 && size_t(length) < sizeof line)
    return write_to_program_stderr({line, size_t(length)});
  for (std::string_view part : {std::string_view("patchbay: "), sentence, std::string_view("\n")})
    write_to_program_stderr(part);
}

namespace {

constexpr int kResumeTimeoutSeconds = 60;  // a tool that died must not hold its program for ever

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

// glibc (2.35 and later) registers rseq for every thread and says where. Anything else gets an area
// of ours, or takes the slower path.
bool libc_has_rseq(const ptrdiff_t* offset, const unsigned* size) {
  if (!offset || !size || *size == 0) return false;
  const char* thread = static_cast<const char*>(__builtin_thread_pointer());
  return *reinterpret_cast<const volatile int32_t*>(thread + *offset + 4) >= 0;
}
void find_rseq(bool is_attached) {
  pb_libc_tid_offset = offset_of_pthread_tid();
  auto* offset = static_cast<const ptrdiff_t*>(::dlsym(RTLD_DEFAULT, "__rseq_offset"));
  auto* size = static_cast<const unsigned*>(::dlsym(RTLD_DEFAULT, "__rseq_size"));
  if (!libc_has_rseq(offset, size)) {  // an agent that has come late has the tool do that
    if (is_attached || (is_only_thread() && replace_syscall_entry())) use_own_rseq();
    return;
  }
  pb_rseq_offset = *offset;
  pb_rseq_size = find_rseq_size(*offset);
  rseq_was_registered();
}

// The executable's path and the command line, each word with its NUL.
std::string program_identity() {
  std::string identity = own_program();
  identity += '\0';
  if (auto words = read_file("/proc/self/cmdline"); words.ok()) identity += *words;
  return identity;
}

// Where no directory can be had the program is traced all the same, by itself. Where PATCHBAY_DIR
// names one it is an error, because the user would look there.
Status find_directory(Agent* agent) {
  if (agent->settings.attached) return {};  // the tool has made it
  Result<std::string> directory = agent->settings.runtime_directory;
  if (directory->empty()) directory = serve::runtime_directory(true);
  // A tool that removes the directory of the program before may take an empty one with it.
  constexpr int kMostTries = 4;
  Result<std::string> runtime = directory;
  for (int i = 0; runtime.ok() && i < kMostTries; i++) {
    directory = serve::make_process_directory(*runtime, agent->pid);
    if (!directory.ok() || mark_directory(*directory)) break;
  }
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

std::vector<StandIn> all_stand_ins() {
  std::vector<StandIn> list = find_stand_ins();
  for (const StandIn& one : entry_stand_ins()) list.push_back(one);
  return list;
}

// The directory is the last thing that the environment is asked for. A program that is executed
// from here on (a sanitizer's symbolizer) starts as it would without us, and waits for nobody.
Status fill_agent(Agent* agent, char** argv_end) {
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
  PB_ASSIGN(auto registry, Registry::create(options, *agent->symbols));
  agent->registry = std::move(registry);
  RingBuffer& buffer = *agent->registry->top().buffer;
  PB_TRY(name_program(agent));
  if (buffer.header()->clock != abi::kClockTsc)
    pb_rseq_offset = 0;  // the locked path reads the other clock
  agent->registry->set_single_threaded(!agent->settings.attached && is_only_thread());
  agent->patcher = make_patcher();
  if (!agent->settings.attached) agent->patcher->set_stand_ins(all_stand_ins());
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

// Of an agent that could not begin: nobody would know what it is.
void remove_own_directory(const std::string& directory) {
  if (directory.empty()) return;
  ::unlink((directory + "/" + abi::kFollowTree).c_str());
  ::rmdir(directory.c_str());
}

void wait_for(std::atomic<uint32_t>* word, int seconds) {
  timespec timeout = {seconds, 0};
  while (!word->load(std::memory_order_acquire))
    if (raw_syscall(SYS_futex, long(word), FUTEX_WAIT, 0, long(&timeout)) == -ETIMEDOUT) return;
}

}  // namespace

Status name_program(Agent* agent) {
  return agent->registry->top().buffer->append_meta(abi::kMetaExe, program_identity());
}

[[gnu::cold]] Result<Agent*> make_agent(AgentSettings settings, const std::string& directory,
                                        char** argv_end) {
  auto* agent = new Agent;  // for good: what fails has handed out pointers to it
  agent->settings = std::move(settings);
  agent->directory = directory;
  agent->pid = ::getpid();
  find_rseq(agent->settings.attached);
  if (const Status filled = fill_agent(agent, argv_end); !filled.ok()) {
    if (!agent->settings.attached) remove_own_directory(agent->directory);
    return filled.error();
  }
  set_check_handler(agent_check_failed);
  return g_agent = agent;
}

void begin_tracing(Agent* agent) {
  std::lock_guard guard(agent->lock());
  find_static_events(agent);
  take_early_registrations(agent);
  look_at_objects(agent);
  apply_settings(agent);
  follow_wishes(agent);
}

namespace {

// A tool that has died must not hold its program for ever.
void wait_for_tool(Agent* agent, Follow follow) {
  if (follow != Follow::kWanted) return wait_for(&agent->resumed, kResumeTimeoutSeconds);
  tell_tool_of_agent();
  for (int i = 0; i < kResumeTimeoutSeconds && !agent->resumed && is_followed(); i++)
    wait_for(&agent->resumed, 1);
}

void start(char** argv_end) {
  if (how_started() == Started::kByChildOfTool) return hide_from_environment(argv_end);
  remember_first_thread();
  const bool is_alone = is_only_thread();
  if (is_alone) replace_libc_entries();
  std::optional<MappedFilesGuard> files(std::in_place);  // until our own handler is there
  AgentSettings settings = read_settings();
  Follow follow = Follow::kNo;
  if (settings.wait)
    begin_following_first();
  else
    follow = begin_following(&settings);
  if (follow == Follow::kOver || follow == Follow::kNothing) return hide_from_environment(argv_end);
  Result<Agent*> made = make_agent(std::move(settings), "", argv_end);
  if (!made.ok()) return say(made.error().message() + "; this program runs untraced");
  Agent* const agent = *made;
  find_next_functions();
  files.reset();
  install_signal_hooks();
  install_task_hooks();
  if (!is_alone) {
    write_libc_entries(agent);
    agent->patcher->set_stand_ins(all_stand_ins());
  }
  begin_tracing(agent);
  bool serving = start_control_thread(agent);
  if (serving) wait_for(&agent->ready, 5);
  const bool has_socket = serving && agent->directory.size() && agent->server;
  if (agent->settings.wait && has_socket) wait_for_tool(agent, follow);
  agent->registry->set_single_threaded(false);
  std::lock_guard guard(agent->lock());
  follow_tracer(agent);
}

constinit std::atomic<bool> g_is_starting{false};

// glibc hands the vectors of the process to each constructor.
__attribute__((constructor)) void agent_constructor(int argc, char** argv, char**) {
  if (::getauxval(AT_SECURE)) return;  // a set-user-id program is not ours to look into
  if (is_loaded_late()) return;        // arrival.cc
  int saved_errno = errno;
  AgentScope scope;
  if (!libc_is_complete())
    return say(
        "this libc (before 2.34) is here without its libpthread or libdl; this program runs "
        "untraced");
  g_is_starting.store(true, std::memory_order_release);
  try {
    start(argv + argc + 1);
  } catch (const std::bad_alloc&) {
    say("out of memory; this program runs untraced");
  }
  g_is_starting.store(false, std::memory_order_release);
  errno = saved_errno;
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

bool is_starting() { return g_is_starting.load(std::memory_order_acquire); }

}  // namespace patchbay
