// SPDX-License-Identifier: MIT
#include "cmd/mount/mount_target.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"

namespace patchbay::cmd {
namespace {

constexpr std::chrono::milliseconds kLongestWait{50};
constexpr size_t kPiece = 128 * 1024;

// Signals are for the main thread.
void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

// The answer of poll(2). `tell`: poll says it now; otherwise somebody waits for it.
unsigned poll_events(serve::Client* client, uint32_t handle, bool tell) {
  constexpr unsigned kIn = POLLIN | POLLRDNORM;
  if (!client) return kIn | POLLHUP;
  Result<uint64_t> state = client->poll(handle, tell);
  if (!state.ok()) {
    if (serve::is_silent(state.error())) return 0;
    return serve::is_gone(state.error()) ? kIn | POLLHUP : kIn;
  }
  return (*state & serve::kPollReadable ? kIn : 0) | (*state & serve::kPollChanged ? POLLPRI : 0);
}

}  // namespace

bool is_pages_file(std::string_view path) {
  return base_name(path) == "trace_pipe_raw" || base_name(path) == "snapshot_raw";
}
bool is_stream_file(std::string_view path) {
  return is_pages_file(path) || base_name(path) == "trace_pipe";
}

int mount_errno(const Error& error) {
  return serve::is_gone(error) || error.errno_value == ESRCH ? ENODEV : error.errno_value;
}

std::shared_ptr<MountTarget> MountTarget::of_client(std::unique_ptr<serve::Client> client) {
  std::shared_ptr<MountTarget> target(new MountTarget());
  target->pid_ = client->pid();
  target->client_ = std::move(client);
  return target;
}

std::shared_ptr<MountTarget> MountTarget::of_directory(int pid, const std::string& directory) {
  std::shared_ptr<MountTarget> target(new MountTarget());
  target->pid_ = pid;
  target->directory_ = directory;
  target->own_thread_ = true;
  return target;
}

MountTarget::~MountTarget() { shut_down(); }

bool MountTarget::gone() {
  // A job that takes long has the client. Then the process is not gone, as far as we know.
  std::unique_lock held(client_mutex_, std::try_to_lock);
  if (!held.owns_lock()) return false;
  if (!client_ && !gone_) return ::kill(pid_, 0) != 0 && errno == ESRCH;  // not connected yet
  return gone_ || client_->gone();
}

void MountTarget::run(std::function<void(serve::Client*)> job) {
  if (!own_thread_) return run_now(job);
  std::unique_lock held(queue_mutex_);
  if (stop_) {  // nobody would do it any more
    held.unlock();
    return job(nullptr);
  }
  jobs_.push_back(std::move(job));
  start_thread();
  changed_.notify_one();
}

void MountTarget::run_now(const std::function<void(serve::Client*)>& job) {
  std::lock_guard held(client_mutex_);
  // One that was stopped when we came is not waited for again while it is.
  const bool stays_stopped = silent_ && serve::PeerWatch(pid_).is_held();
  if (!client_ && !gone_ && !stays_stopped) {
    Result<std::unique_ptr<serve::Client>> client = serve::Client::connect_directory(directory_);
    gone_ = !client.ok() && !serve::is_silent(client.error());
    if (client.ok()) client_ = std::move(*client);
  }
  silent_ = !client_ && !gone_;
  job(client_.get());
}

// Called with queue_mutex_ held. The thread begins with the first job or the first request that
// waits, which is after the daemon's fork.
void MountTarget::start_thread() {
  if (!thread_.joinable() && !stop_) thread_ = std::thread([this] { thread_main(); });
}

void MountTarget::thread_main() {
  block_signals();
  std::unique_lock held(queue_mutex_);
  while (!stop_) {
    if (run_one_job(held)) continue;
    auto first = std::min_element(waiters_.begin(), waiters_.end(),
                                  [](const Waiter& a, const Waiter& b) { return a.due < b.due; });
    if (first == waiters_.end())
      changed_.wait(held);
    else if (Clock::time_point due = first->due; due > Clock::now())
      changed_.wait_until(held, due);
    else
      ask_again(held);
  }
}

bool MountTarget::run_one_job(std::unique_lock<std::mutex>& held) {
  if (jobs_.empty()) return false;
  std::function<void(serve::Client*)> job = std::move(jobs_.front());
  jobs_.pop_front();
  held.unlock();
  run_now(job);
  held.lock();
  return true;
}

// Asks for everything that is due.
void MountTarget::ask_again(std::unique_lock<std::mutex>& held) {
  std::vector<Waiter> due;
  Clock::time_point now = Clock::now();
  auto later = std::partition(waiters_.begin(), waiters_.end(),
                              [now](const Waiter& waiter) { return waiter.due > now; });
  std::move(later, waiters_.end(), std::back_inserter(due));
  waiters_.erase(later, waiters_.end());
  held.unlock();
  for (Waiter& waiter : due) {
    bool answered = false;
    run_now([&](serve::Client* client) { answered = attempt(client, waiter); });
    if (answered) continue;
    waiter.wait = std::min(waiter.wait * 2, kLongestWait);
    park(std::move(waiter));
  }
  held.lock();
}

void MountTarget::park(Waiter waiter) {
  std::lock_guard held(queue_mutex_);
  waiter.due = Clock::now() + waiter.wait;
  waiters_.push_back(std::move(waiter));
  start_thread();
  changed_.notify_one();
}

bool MountTarget::attempt(serve::Client* client, Waiter& waiter) {
  if (!waiter.poll.handle) {
    if (!fuse_req_interrupted(waiter.read.request)) return answer_read(client, waiter.read, false);
    fuse_reply_err(waiter.read.request, EINTR);
    return true;
  }
  const unsigned events = poll_events(client, waiter.poll_file->handle, false);
  if (!(events & (waiter.poll.wanted | POLLHUP))) return false;
  fuse_lowlevel_notify_poll(waiter.poll.handle);
  fuse_pollhandle_destroy(waiter.poll.handle);
  return true;
}

void MountTarget::read(serve::Client* client, ReadRequest request) {
  if (answer_read(client, request, true)) return;
  Waiter waiter;
  waiter.read = std::move(request);
  park(std::move(waiter));
}

// The rules of splice: it gets a whole page or EAGAIN, never a short answer while the process
// lives, as the kernel would take that for the end of the file. It fills a pipe until a page is
// refused, so only the request of the next splice(2) may wait. A wake-up without data (ioctl,
// tracing_on 0) ends the wait.
bool MountTarget::answer_read(serve::Client* client, const ReadRequest& request, bool first) {
  OpenFile& file = *request.file;
  Result<std::string> bytes = next_bytes(client, request);
  // A reader that does not want to wait gets EAGAIN before the end of what a stopped instance has.
  bool no_end = request.is_splice || (request.nonblocking && file.is_stream);
  bool woken = no_end && bytes.ok() && bytes->empty() && client && !client->gone();
  bool nothing_yet = !bytes.ok() && bytes.error().errno_value == EAGAIN;
  if (file.is_stream && !bytes.ok() && serve::is_silent(bytes.error())) nothing_yet = woken = true;
  bool may_wait = !first || !request.is_splice || file.refusals >= kRefusals;
  if (nothing_yet && may_wait && !request.nonblocking) return false;
  if (woken) bytes = sys_error("read", EAGAIN);
  if (request.is_splice) file.refusals = bytes.ok() ? 0 : file.refusals + 1;
  if (bytes.ok())
    fuse_reply_buf(request.request, bytes->data(), bytes->size());
  else
    fuse_reply_err(request.request, mount_errno(bytes.error()));
  return true;
}

// The text is also empty when the process is gone.
Result<std::string> MountTarget::next_bytes(serve::Client* client, const ReadRequest& request) {
  if (!client) return std::string();
  OpenFile& file = *request.file;
  tracefs::ReadMode mode =
      request.is_splice ? tracefs::ReadMode::kWholePage : tracefs::ReadMode::kAny;
  Result<std::string> bytes = file.is_stream ? client->read(file.handle, request.size, mode)
                                             : text_at(client, file, request.size, request.offset);
  if (!bytes.ok() && serve::is_gone(bytes.error())) return std::string();
  return bytes;
}

// The agent cannot seek: going back opens the file again.
Result<std::string> MountTarget::text_at(serve::Client* client, OpenFile& file, size_t size,
                                         uint64_t offset) {
  const auto restart = [&]() -> Status {
    PB_ASSIGN(uint32_t again, client->open(file.path, file.flags & O_ACCMODE));
    (void)client->close(file.handle);
    file.handle = again;
    return {};
  };
  const auto more = [&] { return client->read(file.handle, std::max(size, kPiece)); };
  return file.window.bytes_at(offset, size, restart, more);
}

void MountTarget::poll(serve::Client* client, fuse_req_t request, std::shared_ptr<OpenFile> file,
                       PollRequest polled) {
  unsigned events = poll_events(client, file->handle, true);
  if ((file->flags & O_ACCMODE) != O_RDONLY) events |= POLLOUT | POLLWRNORM;
  if (polled.handle) {
    forget_polls(file.get());
    if (events & (polled.wanted | POLLHUP)) {
      fuse_pollhandle_destroy(polled.handle);
    } else {
      Waiter waiter;
      waiter.poll_file = std::move(file);
      waiter.poll = polled;
      park(std::move(waiter));
    }
  }
  fuse_reply_poll(request, events);
}

void MountTarget::forget_polls(const OpenFile* file) {
  std::lock_guard held(queue_mutex_);
  std::erase_if(waiters_, [file](const Waiter& waiter) {
    if (waiter.poll_file.get() != file) return false;
    fuse_pollhandle_destroy(waiter.poll.handle);
    return true;
  });
}

void MountTarget::shut_down() {
  {
    std::lock_guard held(queue_mutex_);
    stop_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  for (Waiter& waiter : waiters_) {
    if (waiter.poll.handle)
      fuse_pollhandle_destroy(waiter.poll.handle);
    else
      fuse_reply_err(waiter.read.request, ENODEV);
  }
  waiters_.clear();
  for (const auto& job : jobs_) job(nullptr);
  jobs_.clear();
}

}  // namespace patchbay::cmd
