// SPDX-License-Identifier: MIT
#include "cmd/target/traced_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "attach/process_files.h"
#include "base/monotonic_clock.h"
#include "cmd/common/commands.h"
#include "cmd/target/running_process.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

constexpr int kAgentSeconds = 30;  // symbols of a large program on a slow disk
constexpr int kAgentPollMs = 1;
constexpr int kStopSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

sigset_t watched_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : kStopSignals) ::sigaddset(&set, signal);
  ::sigaddset(&set, SIGCHLD);
  return set;
}

// In the child: never returns. errno goes through the pipe, which exec closes. `gate`: where a byte
// is waited for before that; the end of it means that the tool is gone.
[[noreturn]] void become(std::vector<char*>& words, const EnvironmentList& environment,
                         const sigset_t& mask, int error_pipe, int gate) {
  char go = 0;
  ssize_t count = gate < 0 ? 1 : -1;
  while (count < 0) {
    count = ::read(gate, &go, 1);
    if (count < 0 && errno != EINTR) break;
  }
  if (count != 1) ::_exit(127);
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execvp(words[0], words.data());
  int error = errno;
  (void)!::write(error_pipe, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

Result<std::unique_ptr<TracedChild>> TracedChild::start(const std::vector<std::string>& words,
                                                        const EnvironmentList& environment) {
  std::unique_ptr<TracedChild> child(new TracedChild());
  PB_TRY(child->spawn(words, environment, false));
  PB_TRY(child->wait_for_exec());
  return child;
}

Result<std::unique_ptr<TracedChild>> TracedChild::start_held(
    const std::vector<std::string>& words) {
  std::unique_ptr<TracedChild> child(new TracedChild());
  PB_TRY(child->spawn(words, {}, true));
  return child;
}

Status TracedChild::let_go() {
  if (::write(gate_.get(), "", 1) != 1) return sys_error("start " + program_, errno);
  gate_.reset();
  PB_TRY(wait_for_exec());
  held_ = false;
  return {};
}

Status TracedChild::spawn(const std::vector<std::string>& words, const EnvironmentList& environment,
                          bool before_exec) {
  sigset_t watched = watched_signals(), old;
  if (::sigprocmask(SIG_BLOCK, &watched, &old) != 0) return sys_error("block signals", errno);
  signals_.reset(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) return sys_error("make a signalfd", errno);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return sys_error("make a pipe", errno);
  UniqueFd read_end(ends[0]), write_end(ends[1]), gate;
  if (before_exec) {
    int gates[2];
    if (::pipe2(gates, O_CLOEXEC) != 0) return sys_error("make a pipe", errno);
    gate.reset(gates[0]);
    gate_.reset(gates[1]);
  }
  program_ = words[0];
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) return sys_error("fork", errno);
  if (pid_ == 0) {
    gate_.reset();  // or it would wait for itself
    become(pointers, environment, old, write_end.get(), gate.get());
  }
  error_ = std::move(read_end);
  return {};
}

Status TracedChild::wait_for_exec() {
  const UniqueFd error_pipe = std::move(error_);
  int error = 0;
  ssize_t count;
  do count = ::read(error_pipe.get(), &error, sizeof error);
  while (count < 0 && errno == EINTR);
  if (count != ssize_t(sizeof error)) return {};
  reap(0);
  return sys_error("run " + program_, error);
}

TracedChild::~TracedChild() {
  if (pid_ <= 0 || exited_ || !held_) return;
  ::kill(pid_, SIGKILL);
  reap(0);
}

bool TracedChild::reap(int flags) {
  pid_t result;
  siginfo_t info{};
  const int how = WEXITED | WNOWAIT | (flags & WNOHANG);
  if (!exited_ && ::waitid(P_PID, id_t(pid_), &info, how) == 0 && info.si_pid == pid_)
    last_name_ = comm_of(pid_);
  do result = ::waitpid(pid_, &status_, flags);
  while (result < 0 && errno == EINTR);
  if (result == pid_) exited_ = true;
  return exited_;
}

Result<std::unique_ptr<serve::Client>> TracedChild::wait_for_agent(
    const std::string& process_directory) {
  std::string socket = process_directory + "/" + serve::kSocketName;
  for (int64_t end = monotonic_ms() + kAgentSeconds * 1000; monotonic_ms() < end;) {
    Event event = wait(kAgentPollMs);
    if (event == Event::kExited) {
      return user_error(ECHILD, "The program " + how_it_ended() + " before the agent was ready.");
    }
    if (event == Event::kStopRequested)
      return user_error(EINTR, "A signal has ended the recording before the program ran.");
    if (::access(socket.c_str(), F_OK) != 0) continue;
    Result<std::unique_ptr<serve::Client>> client =
        serve::Client::connect_directory(process_directory);
    // Between bind() and listen() a connection is refused.
    if (client.ok()) attach::hold_files_of(pid_);
    if (client.ok() || client.error().errno_value != ECONNREFUSED) return client;
  }
  return user_error(ETIMEDOUT, "The agent did not answer within " + std::to_string(kAgentSeconds) +
                                   " seconds; the program has been killed.");
}

Status TracedChild::release(serve::Client& client) {
  first_name_ = comm_of(pid_);
  Status status = client.resume();
  // A short program may have ended before the agent's answer was sent.
  bool gone = !status.ok() &&
              (status.error().errno_value == EPIPE || status.error().errno_value == ECONNRESET);
  if (!status.ok() && !gone) return status;
  held_ = false;
  return {};
}

void TracedChild::note_program() { first_name_ = exited_ ? last_name_ : comm_of(pid_); }

bool TracedChild::ended_as_another() const {
  return !first_name_.empty() && !last_name_.empty() && first_name_ != last_name_;
}

TracedChild::Event TracedChild::wait(int timeout_ms, int until, int or_until) {
  // Who still shows what a program left is to be ended by a signal like any other.
  const bool has_exited = reap(WNOHANG);
  pollfd polled[] = {{signals_.get(), POLLIN, 0}, {until, POLLIN, 0}, {or_until, POLLIN, 0}};
  if (::poll(polled, 3, has_exited ? 0 : timeout_ms) <= 0)
    return has_exited ? Event::kExited : Event::kNothing;
  Event event = Event::kNothing;
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof info) == ssize_t(sizeof info)) {
    if (info.ssi_signo == SIGCHLD) continue;
    if (info.ssi_code == SI_TIMER && before_timed_end_) before_timed_end_();
    pass_on(int(info.ssi_signo), info.ssi_code == SI_KERNEL);
    event = Event::kStopRequested;
  }
  if (event == Event::kStopRequested) return event;
  return reap(WNOHANG) ? Event::kExited : event;
}

// The program has got the terminal's signals by itself: it is in the same process group.
void TracedChild::pass_on(int signal, bool from_terminal) {
  if (from_terminal && signal != SIGTERM) return;
  if (!exited_) ::kill(pid_, signal);
}

int TracedChild::exit_status() const {
  return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
}

std::string TracedChild::how_it_ended() const {
  if (!WIFSIGNALED(status_)) return "exited with status " + std::to_string(WEXITSTATUS(status_));
  int signal = WTERMSIG(status_);
  return "was killed by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

}  // namespace patchbay::cmd
