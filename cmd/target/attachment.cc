// SPDX-License-Identifier: MIT
#include "cmd/target/attachment.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "attach/seccomp_filter.h"
#include "cmd/common/commands.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/target/target_program.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

using Client = serve::Client;

constexpr int kLockTries = 2000, kLockUs = 10000;  // 20 s
constexpr int kDetachMs = 5000;
// The agent may not have seen yet that we, or another command, have hung up.
constexpr int kBusyTries = 10, kBusyUs = 20000;
// A preloaded agent that is starting, until it serves.
constexpr int kStartTries = 100, kStartUs = 20000;  // 2 s

std::string mark_of(const std::string& runtime, int pid) {
  return runtime + "/" + std::to_string(pid) + ".attached";
}

bool lives(int pid) { return ::kill(pid, 0) == 0 || errno == EPERM; }

// Signals that would end us between two steps. They come afterwards.
class SignalsLater {
 public:
  SignalsLater() {
    sigset_t set;
    ::sigemptyset(&set);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::sigaddset(&set, signal);
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  ~SignalsLater() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsLater(const SignalsLater&) = delete;

 private:
  sigset_t before_;
};

// --- the file that says that the agent is to go

// Opens the file and waits for its lock. `flags`: O_CREAT, or 0. Not valid: there is none, or it is
// another user's. ETIMEDOUT: another command does not come to its end.
Result<UniqueFd> lock_mark(const std::string& path, int flags) {
  for (int i = 0; i < kLockTries; i++) {
    UniqueFd mark(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600));
    struct stat status;
    if (!mark.valid() && (flags & O_CREAT)) return sys_error("make " + path, errno);
    if (!mark.valid() || ::fstat(mark.get(), &status) != 0 || status.st_uid != ::geteuid())
      return UniqueFd();
    if (::flock(mark.get(), LOCK_EX | LOCK_NB) != 0) {
      ::usleep(kLockUs);
      continue;
    }
    // The one that has had the lock before us may have removed it.
    if (::fstat(mark.get(), &status) == 0 && status.st_nlink > 0) return mark;
  }
  return user_error(ETIMEDOUT,
                    "Another command of patchbay holds " + path + " and does not come to its end.");
}

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

Result<attach::Arrived> put_in(int pid, const std::string& runtime, const AttachOptions& options) {
  attach::Arrival arrival;
  PB_ASSIGN(std::string agent, find_agent());
  arrival.agent = agent;
  arrival.settings = settings_for(runtime, options);
  PB_TRY(attach::check_seccomp(pid, options.force));
  const Result<attach::Arrived> arrived = attach::attach(pid, arrival);
  if (arrived.ok() || arrived.error().errno_value != EALREADY) return arrived;
  return user_error(EALREADY, "Process " + std::to_string(pid) + " has an agent, but not in " +
                                  runtime + ": set PATCHBAY_DIR to what it is in the program.");
}

// One that came by itself. Where it serves elsewhere, no time makes it serve here.
Result<std::unique_ptr<Client>> wait_for_agent(int pid) {
  Result<std::unique_ptr<Client>> client = Client::connect(pid);
  for (int i = 0; i < kStartTries && !client.ok() && lives(pid); i++) {
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

Status take_out(int pid, const std::string& runtime) {
  Status done = attach::detach(pid, kDetachMs);
  for (int i = 0; i < kBusyTries && !done.ok() && done.error().errno_value == EBUSY; i++) {
    ::usleep(kBusyUs);
    done = attach::detach(pid, kDetachMs);
  }
  if (done.ok()) remove_what_is_ours(runtime + "/" + std::to_string(pid));
  return done;
}

// The process may have ended or executed another program.
bool is_there(int pid) {
  Result<std::string> agent = find_agent();
  if (!lives(pid) || !agent.ok()) return lives(pid);
  Result<attach::Presence> presence = attach::presence_of(pid, *agent);
  return presence.ok() && *presence == attach::Presence::kActive;
}

// A forked child has its parent's hooks, and no socket.
bool has_inherited_hooks(int pid) {
  Result<std::string> agent = find_agent();
  if (!agent.ok()) return false;
  Result<attach::Presence> presence = attach::presence_of(pid, *agent);
  return presence.ok() && *presence == attach::Presence::kAsleep && attach::has_hooks(pid);
}

}  // namespace

void Attachment::join(const std::string& runtime, int pid) {
  pid_ = pid;
  mark_ = mark_of(runtime, pid);
}

Result<std::unique_ptr<Client>> attach_if_needed(int pid, Attachment* attachment,
                                                 const AttachOptions& options) {
  PB_ASSIGN(std::string runtime, serve::runtime_directory(false));
  Result<std::unique_ptr<Client>> client = choose_process(pid);
  if (client.ok()) attachment->join(runtime, pid ? pid : (*client)->pid());
  const bool has_none = !client.ok() && client.error().errno_value == ESRCH && pid && lives(pid);
  if (!has_none) return client;
  const SignalsLater later;  // no half of it is left behind
  PB_ASSIGN(std::string own, serve::runtime_directory(true));
  PB_ASSIGN(UniqueFd mark, lock_mark(mark_of(own, pid), O_CREAT));
  client = Client::connect(pid);  // another command may have been faster
  struct stat status = {};
  const bool is_new = ::fstat(mark.get(), &status) == 0 && status.st_size == 0;
  attachment->join(own, pid);
  if (client.ok() && is_new) ::unlink(attachment->mark_.c_str());  // the agent is to stay
  if (client.ok()) return client;
  if (is_new) (void)!::write(mark.get(), "\n", 1);
  const Result<attach::Arrived> put = put_in(pid, own, options);
  attachment->is_ours_ = put.ok();
  if (put.ok()) {
    attachment->arrived_ = put.value();
    return Client::connect(pid);
  }
  ::unlink(attachment->mark_.c_str());
  attachment->pid_ = 0;
  if (put.error().errno_value == EALREADY)
    if (auto started = wait_for_agent(pid); started.ok()) return started;
  return put.error();
}

void Attachment::stay(bool say) {
  const int pid = std::exchange(pid_, 0);
  if (pid == 0) return;
  ::unlink(mark_.c_str());
  if (say && is_ours_)
    remark("process " + std::to_string(pid) + " has the agent now, until `patchbay detach " +
           std::to_string(pid) + "`");
}

void Attachment::leave() {
  const int pid = std::exchange(pid_, 0);
  if (pid == 0) return;
  SignalsLater later;
  Result<UniqueFd> mark = lock_mark(mark_, 0);
  if (!mark.ok() || !mark->valid()) return;
  const Status done = lives(pid) ? take_out(pid, mark_.substr(0, mark_.rfind('/'))) : Status();
  const int error = done.ok() ? 0 : done.error().errno_value;
  if (error == EBUSY) return;  // it goes with the other command
  if (error == 0 || error == EINVAL || !is_there(pid)) return (void)::unlink(mark_.c_str());
  remark("the agent stays in process " + std::to_string(pid) + ": " + done.error().message());
}

Status detach_process(int pid) {
  PB_ASSIGN(std::string runtime, serve::runtime_directory(false));
  SignalsLater later;
  PB_ASSIGN(UniqueFd mark, lock_mark(mark_of(runtime, pid), 0));
  Status done = take_out(pid, runtime);
  if (!done.ok() && has_inherited_hooks(pid)) {  // it gets a socket, and is left
    if (const auto put = put_in(pid, runtime, {}); !put.ok()) return put.error();
    done = take_out(pid, runtime);
  }
  PB_TRY(done);
  if (mark.valid()) ::unlink(mark_of(runtime, pid).c_str());
  return {};
}

}  // namespace patchbay::cmd
