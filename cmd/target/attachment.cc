// SPDX-License-Identifier: MIT
#include "cmd/target/attachment.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "attach/process_files.h"
#include "attach/seccomp_filter.h"
#include "base/monotonic_clock.h"
#include "cmd/common/commands.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/target/memory_need.h"
#include "cmd/target/running_process.h"
#include "cmd/target/target_program.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

using Client = serve::Client;

constexpr int kDetachMs = 5000, kDetachPatienceMs = 10'000;
// The agent may not have seen yet that we, or another command, have hung up.
constexpr int kBusyTries = 25, kBusyUs = 20000;
// A preloaded agent that is starting, until it serves.
constexpr int kStartMs = 2000, kStartUs = 20000;
// An agent that is coming or going.
constexpr int kOnItsWayMs = 10'000, kOnItsWayUs = 50'000;
// Each holds all threads for 200 ms.
constexpr int kBusyMachineTries = 3;
constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

Error interrupted_error() { return user_error(EINTR, "interrupted"); }

}  // namespace

// Signals that would end or stop us between two steps. They come afterwards.
class Attachment::SignalsLater {
 public:
  SignalsLater() {
    sigset_t set;
    ::sigemptyset(&set);
    for (int signal : kEndingSignals) ::sigaddset(&set, signal);
    for (int signal : {SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU}) ::sigaddset(&set, signal);
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  ~SignalsLater() {
    if (!is_over_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalsLater(const SignalsLater&) = delete;
  // What the command has done is done: it ends well, and what comes now comes too late.
  void command_is_over() { is_over_ = true; }

 private:
  sigset_t before_;
  bool is_over_ = false;
};

namespace {

// --- in

// What the tool's environment says, for the agent that comes late as for one that is preloaded.
std::vector<std::pair<std::string, std::string>> settings_for(const std::string& runtime,
                                                              const AttachOptions& options) {
  std::vector<std::pair<std::string, std::string>> settings{{"PATCHBAY_DIR", runtime}};
  const std::string kb = std::to_string(options.buffer_kb);
  if (options.buffer_kb) settings.emplace_back("PATCHBAY_BUFFER_SIZE_KB", kb);
  for (char** line = environ; *line; line++) {
    const std::string_view text = *line;
    const std::string name(text.substr(0, text.find('=')));
    if (!name.starts_with("PATCHBAY_") || name == "PATCHBAY_DIR" || name == "PATCHBAY_AGENT" ||
        name == "PATCHBAY_WAIT" || name == "PATCHBAY_PRELOADED")
      continue;
    const bool is_given = options.buffer_kb &&
                          (name == "PATCHBAY_BUFFER_SIZE_KB" || name == "PATCHBAY_TRACE_BUF_SIZE");
    if (!is_given && text.size() > name.size())
      settings.emplace_back(name, text.substr(name.size() + 1));
  }
  return settings;
}

Result<attach::Arrived> attach_agent(int pid, const std::string& runtime,
                                     const AttachOptions& options) {
  attach::Arrival arrival;
  PB_ASSIGN(std::string agent, find_agent());
  arrival.agent = agent;
  arrival.settings = settings_for(runtime, options);
  arrival.is_interrupted = is_told_to_end;
  PB_TRY(attach::check_seccomp(pid, is_forced()));
  Result<attach::Arrived> arrived = attach::attach(pid, arrival);
  const int64_t end = monotonic_ms() + std::min(kOnItsWayMs, options.wait_ms);
  for (int busy = 0; !arrived.ok() && is_alive(pid) && !is_told_to_end() && monotonic_ms() < end;) {
    const int error = arrived.error().errno_value;
    if (error != EINPROGRESS && (error != ETIME || ++busy == kBusyMachineTries)) break;
    ::usleep(kOnItsWayUs);
    arrived = attach::attach(pid, arrival);
  }
  const int error = arrived.ok() ? 0 : arrived.error().errno_value;
  if ((error == EINPROGRESS || error == ETIME) && is_told_to_end()) return interrupted_error();
  if (error != EALREADY) return arrived;
  return user_error(EALREADY, "Process " + std::to_string(pid) + " has an agent, but not in " +
                                  runtime + ": set PATCHBAY_DIR to what it is in the program.");
}

// One that came by itself. Where it serves elsewhere, no time makes it serve here.
Result<std::unique_ptr<Client>> wait_for_agent(int pid, int wait_ms) {
  Result<std::unique_ptr<Client>> client = Client::connect(pid);
  const int64_t end = monotonic_ms() + std::min(kStartMs, wait_ms);
  while (!client.ok() && is_alive(pid) && !is_told_to_end() && monotonic_ms() < end) {
    ::usleep(kStartUs);
    client = Client::connect(pid);
  }
  return client;
}

// --- out

// What the tool has put into the agent's directory, which the agent leaves empty otherwise.
void remove_what_is_ours(const std::string& directory) {
  struct stat status;
  if (::lstat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(directory, none)) {
    const std::string name = entry.path().filename();
    if (status.st_uid == ::geteuid() && name.starts_with("uses.")) ::unlink(entry.path().c_str());
  }
  ::rmdir(directory.c_str());  // also of another user's process: an empty one, and not a link
}

// EBUSY: another command is there, too. What a busy machine keeps from being done is tried for as
// long as a person waits: an agent that stays behind is worse.
Status detach_agent(int pid, const std::string& runtime) {
  const int64_t end = monotonic_ms() + kDetachPatienceMs;
  bool may_have_gone = false;
  Status done;
  for (int busy = 0;; ::usleep(kBusyUs)) {
    done = attach::detach(pid, kDetachMs);
    const int error = done.ok() ? 0 : done.error().errno_value;
    // On a machine that is too busy (ETIME) the agent finishes by itself what we have begun.
    may_have_gone |= error == ETIME;
    if (error == EBUSY && ++busy < kBusyTries) continue;
    if ((error != EAGAIN && error != ETIME) || monotonic_ms() >= end) break;
  }
  if (!done.ok() && may_have_gone && done.error().errno_value == ESRCH) done = {};
  if (done.ok()) remove_what_is_ours(runtime + "/" + std::to_string(pid));
  return done;
}

// What has become of the agent of a process that does not answer. One that ends still has the
// library mapped for a moment, and one that has closed all its descriptors has a new socket soon.
attach::Presence look_for_agent(int pid, const std::string& runtime) {
  using attach::Presence;
  constexpr int kLooks = 50, kLookUs = 20000;
  Result<std::string> agent = find_agent();
  Presence found = Presence::kNone;
  for (int i = 0; i < kLooks; i++) {
    Result<Presence> presence =
        agent.ok() ? attach::presence_of(pid, *agent) : Result<Presence>(agent.error());
    found = presence.ok() ? *presence : Presence::kNone;
    if (found == Presence::kNone || found == Presence::kActive) break;
    ::usleep(kLookUs);
  }
  // Where the first thread has ended, the others' maps are not seen under the process's number.
  const bool listens = serve::connect_socket(runtime + "/" + std::to_string(pid)).ok();
  return found == Presence::kNone && listens ? Presence::kActive : found;
}

void say_that_it_stays(int pid, const Error& why) {
  const std::string number = std::to_string(pid);
  remark("the agent stays in process " + number + " until `patchbay detach " + number +
         "`: " + why.message());
}

// A forked child has its parent's hooks, and no socket.
bool has_inherited_hooks(int pid) {
  Result<std::string> agent = find_agent();
  if (!agent.ok()) return false;
  Result<attach::Presence> presence = attach::presence_of(pid, *agent);
  return presence.ok() && *presence == attach::Presence::kAsleep && attach::has_hooks(pid);
}

}  // namespace

Attachment::Attachment() = default;

Attachment::~Attachment() { leave(); }

void Attachment::join(const std::string& runtime, int pid) {
  pid_ = pid;
  runtime_ = runtime;
  start_time_ = start_time_of(pid);
  directory_ = serve::HeldDirectory::open(runtime + "/" + std::to_string(pid));
  is_marked_ = ::access(attached_mark_path(runtime, pid).c_str(), F_OK) == 0;
}

void Attachment::deliver_signals() { later_.reset(); }

// The agent of a process that has none, or has just got one from another command. Everything is as
// it was when it fails.
Result<std::unique_ptr<Client>> Attachment::put_in(int pid, const AttachOptions& options) {
  PB_ASSIGN(const std::string own, serve::runtime_directory(true));
  PB_ASSIGN(AttachedMark mark, AttachedMark::lock(own, pid, options.wait_ms, is_told_to_end));
  const std::string start_time = start_time_of(pid);
  const bool is_new = !mark.is_of(start_time);
  Result<std::unique_ptr<Client>> client = Client::connect(pid);  // another command was faster
  if (client.ok()) {
    join(own, pid);
    if (is_new) mark.remove();  // the agent is to stay
    return client;
  }
  PB_TRY(check_room_for_agent(pid, options.buffer_kb));
  // Without it nobody would know that the agent is to go.
  const Status marked = is_new ? mark.write(start_time) : Status();
  const Result<attach::Arrived> arrived =
      marked.ok() ? attach_agent(pid, own, options) : Result<attach::Arrived>(marked.error());
  if (!arrived.ok()) {
    mark.remove();
    return arrived.error();
  }
  join(own, pid);
  is_ours_ = true;
  arrived_ = arrived.value();
  return Client::connect(pid);
}

Result<std::unique_ptr<Client>> attach_if_needed(int pid, Attachment* attachment,
                                                 const AttachOptions& options) {
  PB_ASSIGN(std::string runtime, serve::runtime_directory(false));
  Result<std::unique_ptr<Client>> client = choose_process(pid);
  const bool has_none = !client.ok() && client.error().errno_value == ESRCH && pid && is_alive(pid);
  if (!client.ok() && !has_none) return client;
  if (client.ok()) {
    attachment->join(runtime, pid ? pid : (*client)->pid());
    attach::hold_files_of((*client)->peer() ? (*client)->peer() : pid);
    if (!attachment->is_marked_) return client;  // nobody takes it out
  }
  attachment->later_ = std::make_unique<Attachment::SignalsLater>();
  if (!client.ok()) client = attachment->put_in(pid, options);
  if (!client.ok() && client.error().errno_value == EALREADY) {
    if (auto started = wait_for_agent(pid, options.wait_ms); started.ok()) {
      client = std::move(started);
      attachment->join(runtime, pid);
    } else if (is_alive(pid)) {
      // It may have been on its way out, told by a tool that was killed.
      client = attachment->put_in(pid, options);
    }
  }
  if (client.ok() && is_told_to_end()) client = interrupted_error();
  if (!client.ok()) attachment->leave();
  if (client.ok()) attach::hold_files_of((*client)->peer() ? (*client)->peer() : pid);
  return client;
}

bool Attachment::stay(bool say) {
  if (is_ours_ && is_told_to_end()) return false;  // we are still connected: it goes at the end
  const int pid = std::exchange(pid_, 0);
  if (pid != 0) {
    const SignalsLater later;
    // A command that is taking the agent out has it asked already, or finds us connected. It does
    // not find the mark any more when it is its turn.
    Result<AttachedMark> mark = AttachedMark::lock_if_there(runtime_, pid);
    if (!mark.ok() || !mark->is_locked())
      ::unlink(attached_mark_path(runtime_, pid).c_str());
    else if (mark->is_of(start_time_))
      mark->remove();
    if (say && is_ours_)
      remark("process " + std::to_string(pid) + " has the agent now, until `patchbay detach " +
             std::to_string(pid) + "`");
  }
  if (later_) later_->command_is_over();
  later_.reset();
  return true;
}

void Attachment::leave() {
  if (const int pid = std::exchange(pid_, 0); pid != 0) {
    const SignalsLater later;
    take_out(pid);
  }
  deliver_signals();
}

// Of a process that has ended, or has executed another program, everything goes that its agent has
// left in the runtime directory; but not what is a later process's.
void Attachment::take_out(int pid) {
  Result<AttachedMark> mark = AttachedMark::lock_if_there(runtime_, pid);
  if (!mark.ok()) return say_that_it_stays(pid, mark.error());
  if (!mark->is_locked()) return;
  const bool has_ended = start_time_of(pid) != start_time_;
  if (!mark->is_of(start_time_)) {
    if (has_ended && is_marked_) directory_.remove();  // the mark is a later process's
    return;
  }
  const Status done = has_ended ? Status() : detach_agent(pid, runtime_);
  const int error = done.ok() ? 0 : done.error().errno_value;
  if (error == EBUSY) {  // it goes with the other command
    // … which may have put it into the program that the process has executed since.
    if (!directory_.is_in_place()) directory_.remove();
    return;
  }
  bool is_gone = has_ended || !directory_.is_in_place();
  if (error != 0 && error != EINVAL) {
    const attach::Presence now = look_for_agent(pid, runtime_);
    if (now == attach::Presence::kActive) return say_that_it_stays(pid, done.error());
    is_gone |= now == attach::Presence::kNone;
  }
  if (is_gone) directory_.remove();
  mark->remove();
}

bool is_told_to_end() {
  sigset_t pending;
  if (::sigpending(&pending) != 0) return false;
  return std::any_of(std::begin(kEndingSignals), std::end(kEndingSignals), [&](int signal) {
    struct sigaction action {};
    return ::sigismember(&pending, signal) == 1 && ::sigaction(signal, nullptr, &action) == 0 &&
           action.sa_handler != SIG_IGN;
  });
}

Status detach_process(int pid) {
  PB_ASSIGN(std::string runtime, serve::runtime_directory(false));
  const Attachment::SignalsLater later;
  PB_ASSIGN(AttachedMark mark, AttachedMark::lock_if_there(runtime, pid));
  Status done = detach_agent(pid, runtime);
  if (!done.ok() && has_inherited_hooks(pid)) {  // it gets a socket, and is left
    if (const auto put = attach_agent(pid, runtime, {}); !put.ok()) return put.error();
    done = detach_agent(pid, runtime);
  }
  PB_TRY(done);
  if (mark.is_locked()) mark.remove();
  return {};
}

}  // namespace patchbay::cmd
