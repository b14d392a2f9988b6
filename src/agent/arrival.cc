// SPDX-License-Identifier: MIT
#include "agent/arrival.h"

#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <string>

#include "abi/attach_abi.h"
#include "agent/agent.h"
#include "agent/apply_conf.h"
#include "agent/control_thread.h"
#include "agent/followers.h"
#include "agent/forked_child.h"
#include "agent/libc_hooks.h"
#include "agent/load_watch.h"
#include "agent/own_imports.h"
#include "agent/signal_hooks.h"
#include "agent/start_up.h"
#include "agent/task_hooks.h"
#include "base/agreed.h"
#include "base/loaded_objects.h"
#include "base/mapped_files.h"
#include "base/monotonic_clock.h"
#include "base/raw_syscall.h"
#include "base/raw_text.h"
#include "base/unique_fd.h"
#include "patch/stub_views.h"
#include "probe/returns/return_hook.h"
#include "registry/pid_lists.h"
#include "registry/settings.h"
#include "serve/directory.h"
#include "tracer/function_commands.h"

namespace patchbay {
namespace {

using abi::AttachHeader;
using abi::AttachMessage;

constexpr int kToolMs = 30000;              // a tool that is stopped must not hold us for ever
constexpr size_t kStackSize = 1024 * 1024;  // the C++ demangler recurses

// --- what is said

// The words between the stop of all threads and kInstalled take no memory.
void send_word(int socket, AttachMessage kind) {
  const AttachHeader header{abi::kAttachVersion, kind};
  raw_syscall(SYS_sendto, socket, raw_pointer(&header), long(sizeof header), MSG_NOSIGNAL, 0, 0);
}

// False: nobody listens any more.
bool send_text(int socket, AttachMessage kind, std::string_view text) {
  const AttachHeader header{abi::kAttachVersion, kind};
  std::string packet(reinterpret_cast<const char*>(&header), sizeof header);
  packet += text;
  packet.resize(std::min<size_t>(packet.size(), abi::kMaxAttachMessage));
  return ::send(socket, packet.data(), packet.size(), MSG_NOSIGNAL) == ssize_t(packet.size());
}

// kHooked, with what follows it.
struct Hooked {
  AttachHeader header;
  abi::AttachHeld held[abi::kMaxHeld];
  size_t nr_held;
};

// True: it has come. Takes no memory.
bool wait_for_hooked(int socket, Hooked* hooked) {
  constexpr size_t kMost = offsetof(Hooked, nr_held);
  pollfd polled = {socket, POLLIN, 0};
  for (const int64_t end = monotonic_ms() + kToolMs;;) {
    const int64_t left = end - monotonic_ms();
    const timespec limit = {time_t(left / 1000), long(left % 1000 * 1000000)};
    if (left <= 0) return false;
    const long ready = raw_syscall(SYS_ppoll, raw_pointer(&polled), 1, raw_pointer(&limit), 0, 8);
    if (ready == -EINTR) continue;
    if (ready <= 0) return false;
    const long size =
        raw_syscall(SYS_recvfrom, socket, raw_pointer(hooked), long(kMost), MSG_DONTWAIT, 0, 0);
    if (size < long(sizeof hooked->header)) return false;
    hooked->nr_held = (size_t(size) - sizeof hooked->header) / sizeof hooked->held[0];
    return hooked->header.kind == AttachMessage::kHooked;
  }
}

// The program has them blocked, and its own dispositions are there: they wait until it opens its
// mask.
void send_held(const Hooked& hooked) {
  for (size_t i = 0; i < hooked.nr_held; i++)
    for (uint32_t rest = hooked.held[i].signals; rest; rest &= rest - 1)
      raw_syscall(SYS_tgkill, raw_syscall(SYS_getpid), hooked.held[i].thread,
                  __builtin_ctz(rest) + 1);
}

struct Told {
  std::string settings;
  UniqueFd directory;  // the process's, if the tool has sent one
};

Result<Told> receive_settings(int socket) {
  pollfd polled = {socket, POLLIN, 0};
  int ready = 0;
  for (const int64_t end = monotonic_ms() + kToolMs; ready <= 0;) {
    const int64_t left = end - monotonic_ms();
    ready = left > 0 ? ::poll(&polled, 1, int(left)) : 0;
    if (ready == 0 || (ready < 0 && errno != EINTR))
      return user_error(ETIMEDOUT, "the tool says nothing");
  }
  std::string packet(abi::kMaxAttachMessage, '\0');
  iovec part{packet.data(), packet.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  AttachHeader header;
  if (size < ssize_t(sizeof header)) return user_error(EPROTO, "the tool has gone");
  Told told;
  if (const cmsghdr* passed = CMSG_FIRSTHDR(&message); passed && passed->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(passed), sizeof fd);
    told.directory.reset(fd);
  }
  std::memcpy(&header, packet.data(), sizeof header);
  if (header.version != abi::kAttachVersion || header.kind != AttachMessage::kSettings)
    return user_error(EPROTO, "tool and agent are of different versions");
  packet.resize(size_t(size));
  told.settings = packet.substr(sizeof header);
  return told;
}

// --- hooks

void append(std::string* text, const void* data, size_t size) {
  text->append(static_cast<const char*>(data), size);
}

int find_own_code(const dl_phdr_info& info, std::vector<abi::AttachRange>* ranges) {
  const auto here = reinterpret_cast<uint64_t>(&find_own_code);
  std::vector<abi::AttachRange> code;
  bool is_ours = false;
  for (int i = 0; i < info.dlpi_phnum; i++) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
    const uint64_t start = info.dlpi_addr + segment.p_vaddr;
    code.push_back({start, start + segment.p_memsz});
    is_ours |= here - start < segment.p_memsz;
  }
  if (is_ours) *ranges = std::move(code);
  return is_ours;
}

// Where a thread may be about to load through a pointer that is bad.
std::vector<abi::AttachRange> own_code() {
  std::vector<abi::AttachRange> ranges;
  for_each_object([&](const dl_phdr_info& info) { return find_own_code(info, &ranges); });
  const size_t views = __atomic_load_n(&g_chunk_view_count, __ATOMIC_ACQUIRE);
  for (size_t i = 0; i < views; i++)
    ranges.push_back({g_chunk_views[i].base, g_chunk_views[i].base + g_chunk_views[i].size});
  return ranges;
}

bool stands_in_text(const EntryHook& hook) {
  return std::memcmp(reinterpret_cast<const void*>(hook.address), hook.new_bytes.data(),
                     hook.new_bytes.size()) == 0;
}

// A tool that has died may have left some in the text: they work, and are found there.
abi::AttachHook hook_to_write(const EntryHook& hook, bool leaves) {
  abi::AttachHook made = {};
  made.address = hook.address;
  made.size = uint32_t(hook.new_bytes.size());
  made.displaced = leaves ? 0 : hook.displaced;
  const auto& wanted = leaves ? hook.old_bytes : hook.new_bytes;
  const auto& there = stands_in_text(hook) ? hook.new_bytes : hook.old_bytes;
  std::copy(wanted.begin(), wanted.end(), made.new_bytes);
  std::copy(there.begin(), there.end(), made.old_bytes);
  return made;
}

std::string hooks_message(const LibcHooks& hooks, bool leaves) {
  const SignalWords words = signal_words();
  // Where no thread may stand in that moment.
  const std::vector<abi::AttachRange> ranges = leaves ? own_code() : hooks.signal_askers;
  abi::AttachHooks head = {};
  head.nr_hooks = uint32_t(hooks.entries.size());
  head.nr_ranges = uint32_t(ranges.size());
  head.signals = words.signals;
  head.others = words.others;
  head.blocked = words.blocked;
  head.blocked_with = words.blocked_with;
  head.open = words.open;
  head.held = words.held;
  const ExitKey& key = exit_key();
  head.key_data = key.data, head.key_used = key.used;
  head.key_sequence = key.sequence, head.key_value = key.value;
  head.leaves = leaves;
  head.own_thread = int32_t(raw_syscall(SYS_gettid));
  std::string text;
  append(&text, &head, sizeof head);
  for (const EntryHook& hook : hooks.entries) {
    const abi::AttachHook made = hook_to_write(hook, leaves);
    append(&text, &made, sizeof made);
  }
  append(&text, ranges.data(), ranges.size() * sizeof ranges[0]);
  return text;
}

// The moment in which all other threads stand still. From the answer on to kInstalled: raw system
// calls only. A tool that dies there lets the threads go on; what it has not done then is not
// needed to go on, and the next one finds it undone.
Status exchange_hooks(Agent* agent, int socket, bool leaves) {
  PB_ASSIGN(const auto* hooks, libc_hooks(agent));
  send_text(socket, AttachMessage::kHooks, hooks_message(*hooks, leaves));
  Hooked hooked = {};
  if (!wait_for_hooked(socket, &hooked))
    return user_error(ECONNABORTED, "the tool has gone before the hooks were written");
  if (leaves) forget_outstanding_returns();
  leaves ? uninstall_signal_hooks() : install_signal_hooks();
  if (leaves) send_held(hooked);
  send_word(socket, AttachMessage::kInstalled);
  return {};
}

// --- coming

// The path that the tool knows, if it leads there from here as well; else this thread's working
// directory, which no other thread shares, becomes it.
Result<std::string> process_directory(const Told& told) {
  const std::string path = given_variable("PATCHBAY_PROCESS_DIRECTORY");
  struct stat theirs = {}, ours = {};
  if (!told.directory.valid() || ::fstat(told.directory.get(), &theirs) != 0)
    return user_error(EPROTO, "the tool has sent no directory");
  const bool is_seen = !path.empty() && ::access(path.c_str(), R_OK | W_OK | X_OK) == 0 &&
                       ::stat(path.c_str(), &ours) == 0 && ours.st_dev == theirs.st_dev &&
                       ours.st_ino == theirs.st_ino;
  if (is_seen) return path;
  if (::fchdir(told.directory.get()) != 0) return sys_error("enter the directory " + path, errno);
  return std::string(".");
}

Status move_buffers(Agent* agent) {
  const std::string& directory = agent->directory;
  Registry& registry = *agent->registry;
  if (directory.empty()) return registry.move_top("", "", 1024);
  PB_TRY(registry.move_top(directory + "/" + serve::kBufferName, directory + "/instances",
                           agent->settings.buffer_size_kb * 1024));
  PB_TRY(registry.settings().set_option(registry.top(), TraceOption::kOverwrite,
                                        agent->settings.overwrite));
  return name_program(agent);
}

Result<Agent*> make_or_wake(const Told& told) {
  set_given_variables(told.settings);
  AgentSettings settings = read_settings();
  settings.attached = true;
  settings.wait = false;
  PB_ASSIGN(std::string directory, process_directory(told));
  if (!g_agent) {
    PB_ASSIGN(Agent * agent, make_agent(std::move(settings), directory, nullptr));
    agent->asleep = true;  // a child that is forked before the hooks are there follows nothing
    install_task_hooks();
    return agent;
  }
  if (is_inherited(*g_agent)) PB_TRY(leave_parent(g_agent));
  std::lock_guard guard(g_agent->lock());
  g_agent->settings = std::move(settings);
  g_agent->directory = directory;
  PB_TRY(move_buffers(g_agent));
  return g_agent;
}

// Until our own handler is there a file that is cut short needs another one. All that is read of
// files before is read here; the hooks of libc are made once.
Result<Agent*> make_ready(const Told& told) {
  const MappedFilesGuard guard;
  PB_ASSIGN(Agent* const agent, make_or_wake(told));
  PB_TRY(libc_hooks(agent));
  return agent;
}

// --- going

void write_all(Agent* agent) {
  static constexpr struct {
    const char *file, *text;  // null: opened with O_TRUNC
  } kWrites[] = {
      {"current_tracer", "nop\n"},
      {"function_profile_enabled", "0\n"},
      {"set_ftrace_filter", nullptr},
      {"set_ftrace_notrace", nullptr},
      {"set_ftrace_pid", nullptr},
      {"set_ftrace_notrace_pid", nullptr},
      {"set_graph_function", nullptr},
      {"set_graph_notrace", nullptr},
      {"max_graph_depth", "0\n"},
      {"set_event", nullptr},
      {"set_event_pid", nullptr},
      {"set_event_notrace_pid", nullptr},
      {"snapshot", "0\n"},  // is the parent's in a forked child
      {"trace_clock", "local\n"},
      {"tracing_thresh", "0\n"},
      {"error_log", nullptr},
      {"tracing_on", "1\n"},
  };
  for (const auto& one : kWrites) {
    if (is_forked_child() && one.file == std::string_view("snapshot")) continue;
    (void)write_file(agent, one.file,
                     one.text ? std::optional<std::string_view>(one.text) : std::nullopt,
                     O_WRONLY | O_TRUNC);
  }
}

void set_default_options(Agent* agent) {
  TraceArray& top = agent->registry->top();
  TraceOptions standard;
  for (TraceOption option :
       {TraceOption::kOverwrite, TraceOption::kTracePrintkDest, TraceOption::kCopyTraceMarker})
    standard.set(option, true);
  for (size_t i = 0; i < kTraceOptions.size(); i++) {
    const auto option = TraceOption(i);
    if (top.options[option] != standard[option])
      (void)agent->registry->settings().set_option(top, option, standard[option]);
  }
}

// Every place that was patched has its own bytes again. Threads may have to leave some first.
Status wait_for_text(Agent* agent) {
  constexpr int64_t kWaitMs = 2000;
  const int64_t end = monotonic_ms() + kWaitMs;
  for (;;) {
    const uint64_t waiting = agent->patcher->finish_pending();
    const uint64_t patched = agent->patcher->patched_sites();
    if (!waiting && !patched) return {};
    if (monotonic_ms() >= end)
      return user_error(EAGAIN, std::to_string(waiting + patched) +
                                    " places are still patched, because threads stand in them: try "
                                    "again later");
    ::usleep(5000);
  }
}

}  // namespace

Status switch_all_off(Agent* agent) {
  Registry& registry = *agent->registry;
  for (TraceArray* array : registry.arrays()) {
    const std::string name = array->name;
    PB_TRY(registry.remove_array(name));
  }
  agent->triggers->array_goes(registry.top());
  write_all(agent);
  agent->tracers->commands().clear(registry.top());
  agent->waiting_events.clear();
  agent->waiting_writes.clear();
  agent->waiting_triggers.clear();
  registry.top().module_requests.clear();
  for (const char* file : {"synthetic_events", "dynamic_events", "function_events"})
    PB_TRY(write_file(agent, file, std::nullopt, O_WRONLY | O_TRUNC));
  set_default_options(agent);
  stop_watching_loads(agent);
  return wait_for_text(agent);
}

// From here on no child that is forked begins to follow: it would miss that we leave.
Status prepare_to_leave(Agent* agent) {
  PB_TRY(switch_all_off(agent));
  tell_followers_to_leave();
  agent->asleep = true;
  return {};
}

namespace {

void remove_directory(Agent* agent) {
  const std::string directory = std::exchange(agent->directory, "");
  if (directory.empty()) return;
  (void)move_buffers(agent);  // which removes the file
  ::unlink((directory + "/" + serve::kSocketName).c_str());
  ::rmdir((directory + "/instances").c_str());
  const std::string path = given_variable("PATCHBAY_PROCESS_DIRECTORY");
  if (::rmdir(directory.c_str()) != 0) ::rmdir(path.c_str());
}

void fall_asleep(Agent* agent) {
  std::lock_guard guard(agent->lock());
  agent->asleep = true;
  agent->server.reset();
  agent->triggers->leave();
  remove_directory(agent);
  agent->symbols->drop_caches();
  // No thread looks at these: they are the control thread's. What threads may be late with stays.
  agent->tracers->forget_all();
  agent->patcher->drop_caches();
}

// False: a tool has taken some of them back.
bool hooks_stand(Agent* agent) {
  auto hooks = libc_hooks(agent);
  return hooks.ok() &&
         std::all_of((*hooks)->entries.begin(), (*hooks)->entries.end(), stands_in_text);
}

// Over the connection of the tool that has said detach. False: it has gone, and we serve on.
bool leave(Agent* agent, int socket) {
  wait_for_followers();
  const Status exchanged = exchange_hooks(agent, socket, true);
  if (!exchanged.ok()) {
    send_text(socket, AttachMessage::kFailed, exchanged.error().message());
    if (hooks_stand(agent)) {
      agent->asleep = false;
      return false;
    }
    forget_outstanding_returns();
    uninstall_signal_hooks();  // it was killed in the middle: what it has begun is finished
  }
  fall_asleep(agent);
  return true;
}

// --- the thread

// Without the tool: what it has not taken out of the text works, and the next one finds it there.
void go_back(Agent* agent, int socket, std::string_view why) {
  {
    std::lock_guard guard(agent->lock());
    (void)prepare_to_leave(agent);
  }
  wait_for_followers();
  forget_outstanding_returns();
  uninstall_signal_hooks();
  fall_asleep(agent);
  send_text(socket, AttachMessage::kFailed, why);
}

void serve_until_detached(Agent* agent, int socket) {
  make_server(agent);
  if (!agent->server) return go_back(agent, socket, "it has no socket");
  if (!send_text(socket, AttachMessage::kServing, given_variable("PATCHBAY_PROCESS_DIRECTORY")))
    return go_back(agent, socket, "the tool has gone");
  for (;;) {
    if (Status status = agent->server->run(); !status.ok())
      return go_back(agent, socket, status.error().message());
    UniqueFd tool = agent->server->take_handed_over();
    if (!tool.valid()) return;
    if (!leave(agent, tool.get())) {
      agent->server->go_on();
      continue;
    }
    send_word(tool.get(), AttachMessage::kAsleep);
    return;
  }
}

void arrive(int socket) {
  Result<Told> told = receive_settings(socket);
  Result<Agent*> made = told.ok() ? make_ready(*told) : Result<Agent*>(told.error());
  Status status = made.ok() ? exchange_hooks(*made, socket, false) : Status(made.error());
  if (!status.ok()) {
    if (own_agent()) fall_asleep(g_agent);
    send_text(socket, AttachMessage::kFailed, status.error().message());
    return;
  }
  (*made)->asleep = false;
  begin_tracing(*made);
  if (!hooks_stand(*made)) return go_back(*made, socket, "the hooks of libc were taken back");
  serve_until_detached(*made, socket);
}

// The program's signals stay with its threads; only our own faults get through, and what libc sends
// to each thread by itself: a setuid() of the program waits until all have taken it.
void block_signals() {
  constexpr uint64_t kOfLibc = uint64_t{3} << 31;
  uint64_t all = ~kOfLibc;
  for (int signal : {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE})
    all &= ~(uint64_t{1} << (signal - 1));
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_pointer(&all), 0, 8);
}

// The process that has a thread of ours: a forked child has none.
std::atomic<pid_t> g_thread_of{0};

void* arrived_thread(void* argument) {
  int socket = int(reinterpret_cast<intptr_t>(argument));
  block_signals();
  begin_control_thread();
  const int kept = keep_own_descriptors(socket);
  try {
    arrive(kept);
  } catch (const std::exception&) {
    if (own_agent() && !g_agent->asleep)
      go_back(g_agent, kept, "there is no memory left in the process");
    else
      send_text(kept, AttachMessage::kFailed, "there is no memory left in the process");
  }
  ::close(kept);
  end_control_thread();
  g_thread_of.store(0, std::memory_order_release);
  return nullptr;
}

}  // namespace

bool is_loaded_late() {
  char name[16] = {};
  raw_syscall(SYS_prctl, PR_GET_NAME, raw_pointer(name));
  return raw_is_same(name, abi::kLoaderName);  // the agent may not have bound its functions yet
}

}  // namespace patchbay

// Called by the thread that the tool has made (attach/loader_code.S). 0, or an errno. EALREADY: we
// serve. ENOPKG: this libc has not all that we need. EINPROGRESS: a thread of ours that another
// tool has told to come or to go is at it, or the program has been started with the agent, just
// now.
extern "C" __attribute__((visibility("default"))) int patchbay_attached(int socket, int version) {
  using namespace patchbay;
  if (version != int(abi::kAttachVersion)) return EPROTO;
  if (!libc_is_complete()) return ENOPKG;
  // A child of one that was started with the agent has it where the program finds it: in front.
  if (g_agent && is_inherited(*g_agent) && !g_agent->settings.attached) return ECHILD;
  if (own_agent() && !g_agent->settings.attached) return EALREADY;
  if (is_starting()) return EINPROGRESS;
  const pid_t self = ::getpid();
  if (g_thread_of.exchange(self, std::memory_order_acq_rel) == self)
    return own_agent() && !g_agent->asleep ? EALREADY : EINPROGRESS;
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStackSize);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const int error = ::pthread_create(&thread, &attributes, arrived_thread,
                                     reinterpret_cast<void*>(intptr_t{socket}));
  ::pthread_attr_destroy(&attributes);
  if (error) g_thread_of.store(0, std::memory_order_release);
  return error;
}
