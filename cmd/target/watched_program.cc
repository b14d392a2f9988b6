// SPDX-License-Identifier: MIT
#include "cmd/target/watched_program.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "base/monotonic_clock.h"
#include "cmd/common/commands.h"
#include "cmd/target/leftovers.h"
#include "cmd/target/preload.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

constexpr int kEndingMs = 2000;  // that a program gets to end

// Standard streams of the tool while a program is started that is not to disturb the screen.
class QuietStreams {
 public:
  explicit QuietStreams(bool wanted) {
    UniqueFd null(wanted ? ::open("/dev/null", O_RDWR | O_CLOEXEC) : -1);
    for (int fd = 0; null.valid() && fd < 3; fd++) {
      saved_[fd] = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
      if (::isatty(fd)) ::dup2(null.get(), fd);
    }
  }
  ~QuietStreams() {
    for (int fd = 0; fd < 3; fd++) {
      if (saved_[fd] < 0) continue;
      ::dup2(saved_[fd], fd);
      ::close(saved_[fd]);
    }
  }

 private:
  int saved_[3] = {-1, -1, -1};
};

}  // namespace

Status WatchedProgram::attach(int pid, const AttachOptions& options) {
  PB_ASSIGN(std::unique_ptr<serve::Client> found, attach_if_needed(pid, &attachment, options));
  client = std::move(found);
  PB_ASSIGN(std::string runtime, serve::runtime_directory(false));
  directory = runtime + "/" + std::to_string(client->pid());
  return {};
}

Status WatchedProgram::start(const std::vector<std::string>& given, uint64_t buffer_kb, bool quiet,
                             const std::optional<FollowWishes>& wishes) {
  PB_ASSIGN(std::vector<std::string> words, words_to_run(given));
  PB_ASSIGN(std::string runtime, serve::runtime_directory(true));
  remove_empty_leftovers(runtime);
  if (wishes) {
    FollowWishes of_buffer = *wishes;
    of_buffer.buffer_size_kb = buffer_kb;
    PB_ASSIGN(executed, ExecutedPrograms::make(runtime, std::move(of_buffer)));
  }
  PB_ASSIGN(EnvironmentList environment, agent_environment(words[0], runtime, buffer_kb, true,
                                                           executed ? executed->directory() : ""));
  {
    QuietStreams streams(quiet);
    PB_ASSIGN(std::unique_ptr<TracedChild> started, TracedChild::start(words, environment));
    child = std::move(started);
  }
  directory = runtime + "/" + std::to_string(child->pid());
  PB_ASSIGN(std::unique_ptr<serve::Client> found, child->wait_for_agent(directory));
  client = std::move(found);
  if (executed) executed->first_waits(child->pid());
  return {};
}

void WatchedProgram::adopt(ExecutedProgram& program) {
  client = std::move(program.client);
  directory = program.directory;
}

TracedChild::Event WatchedProgram::wait(int timeout_ms, ExecListener& listener) {
  const TracedChild::Event event = child->wait(timeout_ms, executed ? executed->descriptor() : -1);
  was_told_to_end |= event == TracedChild::Event::kStopRequested;
  if (executed) executed->look(listener, child->exited());
  return event;
}

int WatchedProgram::exit_status() {
  if (!child) return kOk;
  if (executed) executed->close();
  const int64_t end_ms = monotonic_ms() + (was_told_to_end ? kEndingMs : 0);
  while (!child->exited() && monotonic_ms() < end_ms) (void)child->wait(10);
  return child->exited() ? child->exit_status() : kOk;
}

void WatchedProgram::stop_following(ExecListener& listener) {
  if (!executed) return;
  executed->look(listener, child->exited());
  executed->close();
  executed->look(listener, child->exited());
}

Status WatchedProgram::release() {
  Status done = child ? child->release(*client) : Status();
  released = done.ok();
  return done;
}

WatchedProgram::~WatchedProgram() {
  client.reset();
  if (!child) return;
  if (executed) executed->close();
  if (!released) child.reset();
  if (child && !child->exited()) ::kill(child->pid(), SIGTERM);
  for (int64_t end = monotonic_ms() + kEndingMs; child && !child->exited() && monotonic_ms() < end;)
    (void)child->wait(10);
  if (child && !child->exited()) ::kill(child->pid(), SIGKILL);
  while (child && !child->exited()) (void)child->wait(-1);
  executed.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
}

}  // namespace patchbay::cmd
