// SPDX-License-Identifier: MIT
#include "cmd/mount/all_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "cmd/mount/merged_text.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kPiece = 128 * 1024, kPipePiece = 64 * 1024;
constexpr std::chrono::milliseconds kFirstWait{1}, kLongestWait{50}, kRoundLimit{100};

bool is_trace_file(std::string_view path) {
  return base_name(path) == "trace" || base_name(path) == "snapshot";
}

// Signals are for the main thread.
void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

AllReader::AllReader(MountAll* all, std::string path, bool is_log)
    : all_(all),
      path_(std::move(path)),
      is_log_(is_log),
      is_pipe_(base_name(path_) == "trace_pipe"),
      is_trace_(is_trace_file(path_)) {
  if (is_pipe_) merge_ = std::make_unique<TraceMerge>(TraceMerge::Of::kPipe);
  thread_ = std::thread([this] { thread_main(); });
}

AllReader::~AllReader() {
  stop();
  join();
}

void AllReader::read(const ReadRequest& request) {
  std::lock_guard held(mutex_);
  reads_.push_back(request);
  changed_.notify_all();
}

void AllReader::poll(fuse_req_t request, PollRequest polled) {
  std::lock_guard held(mutex_);
  new_polls_.emplace_back(request, polled);
  changed_.notify_all();
}

void AllReader::stop() {
  std::lock_guard held(mutex_);
  stop_ = true;
  for (const std::shared_ptr<Member>& member : members_) close(member);
  changed_.notify_all();
}

bool AllReader::over() {
  std::lock_guard held(mutex_);
  return over_;
}

void AllReader::join() {
  if (thread_.joinable()) thread_.join();
}

void AllReader::thread_main() {
  block_signals();
  std::chrono::milliseconds wait = kFirstWait;
  std::unique_lock held(mutex_);
  while (!stop_) {
    if (reads_.empty() && new_polls_.empty() && polls_.empty()) {
      changed_.wait(held);
      wait = kFirstWait;
      continue;
    }
    held.unlock();
    const bool moved = serve_once();
    held.lock();
    if (moved || stop_) {
      wait = kFirstWait;
      continue;
    }
    if (changed_.wait_for(held, wait) == std::cv_status::no_timeout) continue;
    wait = std::min(wait * 2, kLongestWait);
  }
  for (const ReadRequest& request : reads_) fuse_reply_err(request.request, ENODEV);
  for (const auto& [request, polled] : new_polls_) {
    if (polled.handle) fuse_pollhandle_destroy(polled.handle);
    fuse_reply_err(request, ENODEV);
  }
  for (const PollRequest& polled : polls_) fuse_pollhandle_destroy(polled.handle);
  held.unlock();
  close_members();
  held.lock();
  over_ = true;
}

// True: something was answered, or there is more to do at once.
bool AllReader::serve_once() {
  if (is_pipe_ && output_.empty()) {
    round();
    if (output_.empty() && merge_->holds_something()) round();
  }
  std::vector<ReadRequest> reads;
  {
    std::lock_guard held(mutex_);
    reads.swap(reads_);
  }
  bool moved = false;
  for (const ReadRequest& request : reads) {
    if (answer(request)) {
      moved = true;
      continue;
    }
    std::lock_guard held(mutex_);
    reads_.push_back(request);
  }
  answer_polls();
  return moved;
}

bool AllReader::answer(const ReadRequest& request) {
  if (fuse_req_interrupted(request.request)) {
    fuse_reply_err(request.request, EINTR);
    return true;
  }
  if (!is_pipe_) {
    const Result<std::string> bytes = text_at(request.offset, request.size);
    if (bytes.ok())
      fuse_reply_buf(request.request, bytes.value().data(), bytes.value().size());
    else
      fuse_reply_err(request.request, mount_errno(bytes.error()));
    return true;
  }
  if (output_.empty()) {
    if (const std::optional<Error> error = refusal()) {
      fuse_reply_err(request.request, mount_errno(*error));
      return true;
    }
    // As in one process: who does not want to wait is not told of the end of what stands still.
    if (!request.nonblocking && !pipe_has_ended()) return false;
    if (request.nonblocking)
      fuse_reply_err(request.request, EAGAIN);
    else
      fuse_reply_buf(request.request, nullptr, 0);
    return true;
  }
  const size_t size = std::min(request.size, output_.size());
  fuse_reply_buf(request.request, output_.data(), size);
  output_.erase(0, size);
  return true;
}

void AllReader::answer_polls() {
  constexpr unsigned kIn = POLLIN | POLLRDNORM;
  const bool readable = !is_pipe_ || !output_.empty() || pipe_has_ended();
  std::lock_guard held(mutex_);
  for (const auto& [request, polled] : new_polls_) {
    const bool now = readable && (polled.wanted & kIn);
    if (polled.handle && now) fuse_pollhandle_destroy(polled.handle);
    if (polled.handle && !now) polls_.push_back(polled);
    fuse_reply_poll(request, readable ? kIn : 0);
  }
  new_polls_.clear();
  std::erase_if(polls_, [&](const PollRequest& polled) {
    if (!readable || !(polled.wanted & kIn)) return false;
    fuse_lowlevel_notify_poll(polled.handle);
    fuse_pollhandle_destroy(polled.handle);
    return true;
  });
  // Who waits for something else (POLLPRI) waits for ever.
  std::erase_if(polls_, [&](const PollRequest& polled) {
    if (polled.wanted & kIn) return false;
    fuse_pollhandle_destroy(polled.handle);
    return true;
  });
}

// --- texts

Result<std::string> AllReader::text_at(uint64_t offset, size_t size) {
  return window_.bytes_at(
      offset, size, [this] { return restart(); }, [this] { return next_piece(); });
}

Status AllReader::restart() {
  is_done_ = false;
  close_members();
  merge_.reset();
  return {};
}

Result<std::string> AllReader::next_piece() {
  if (is_trace_) return next_of_trace();
  if (is_done_) return std::string();
  is_done_ = true;
  return is_log_ ? all_->log_text() : merged_text();
}

void AllReader::left_out(const MountedProcess& process, const std::string& why) {
  if (named_.insert(process.pid).second)
    all_->log().add(path_,
                    std::to_string(process.pid) + " " + process.name + " is left out: " + why);
}

Result<std::string> AllReader::merged_text() {
  std::vector<ProcessText> texts;
  std::optional<Error> first;
  for (ProcessAnswer<std::string>&answer : answers_of_each<std::string>(
           all_->processes(), [path = path_](serve::Client*client, const MountedProcess&) {
             return client->read_all(path, serve::kMostFunctions);
           })) {
    const MountedProcess& process = answer.process;
    if (answer.result.ok()) {
      texts.push_back({process.pid, process.name, std::move(*answer.result)});
      continue;
    }
    const Error& error = answer.result.error();
    if (serve::is_silent(error)) left_out(process, error.message());
    if (!first || lacks_it(*first)) first = error;
  }
  if (texts.empty() && first) return *first;
  return merge_texts(path_, std::move(texts));
}

// --- trace

Status AllReader::open_members() {
  merge_ = std::make_unique<TraceMerge>(TraceMerge::Of::kTrace);
  std::optional<Error> first;
  for (const ProcessAnswer<uint32_t>&answer : answers_of_each<uint32_t>(
           all_->processes(), [path = path_](serve::Client*client, const MountedProcess&) {
             return client->open(path, O_RDONLY);
           })) {
    if (!answer.result.ok()) {
      const Error& error = answer.result.error();
      if (serve::is_silent(error)) left_out(answer.process, error.message());
      if (!first || lacks_it(*first)) first = error;
      continue;
    }
    auto member = std::make_shared<Member>();
    member->process = answer.process;
    member->source = merge_->add_source(answer.process.pid, answer.process.name);
    member->handle = answer.result.value();
    member->has_handle = true;
    add_member(std::move(member));
  }
  if (members_.empty() && first) return *first;
  return {};
}

Result<std::string> AllReader::next_of_trace() {
  if (!merge_) PB_TRY(open_members());
  for (;;) {
    std::string piece = merge_->take();
    if (!piece.empty() || merge_->all_ended()) return piece;
    for (const std::shared_ptr<Member>& member : members_)
      if (merge_->wants_more(member->source)) ask(member, kPiece);
    await(Clock::time_point::max());
    take_answers();
  }
}

// --- what both have

// One read, in the process's thread; of a trace_pipe as many as there is something, up to `most`.
void AllReader::ask(const std::shared_ptr<Member>& member, size_t most) {
  {
    std::lock_guard held(mutex_);
    if (member->asked || member->gone) return;
    member->asked = true;
  }
  // Whoever asks waits for the answer before it ends (close_members).
  member->process.target->run([this, member, most](serve::Client* client) {
    Status status = client ? Status() : sys_error("read", member->process.target->absence());
    std::string bytes;
    bool more = true, ended = false;
    if (member->closed) status = sys_error("read", ENODEV);
    if (status.ok() && !member->has_handle) {
      const Result<uint32_t> opened = client->open(path_, O_RDONLY);
      if (opened.ok()) member->handle = opened.value();
      member->has_handle = opened.ok();
      if (!opened.ok()) status = opened.error();
    }
    while (status.ok() && more && !ended && (bytes.empty() || (is_pipe_ && bytes.size() < most))) {
      Result<std::string> piece = client->read(member->handle, most - bytes.size());
      if (!piece.ok() && piece.error().errno_value == EAGAIN)
        more = false;
      else if (!piece.ok())
        status = piece.error();
      else if (piece->empty())
        ended = true;
      else
        bytes += *piece;
    }
    std::lock_guard held(mutex_);
    member->bytes = std::move(bytes);
    member->more = more && status.ok() && !ended;
    member->ended = ended;
    member->silent = !status.ok() && serve::is_silent(status.error());
    member->gone = !status.ok() && !member->silent;
    member->error.reset();
    if (!status.ok()) member->error = status.error();
    member->asked = false;
    changed_.notify_all();
  });
}

void AllReader::await(Clock::time_point until) {
  std::unique_lock held(mutex_);
  const auto nobody_is_asked = [this] {
    return std::none_of(members_.begin(), members_.end(),
                        [](const std::shared_ptr<Member>& member) { return member->asked; });
  };
  if (until == Clock::time_point::max())
    changed_.wait(held, nobody_is_asked);
  else
    changed_.wait_until(held, until, nobody_is_asked);
}

void AllReader::take_answers() {
  for (const std::shared_ptr<Member>& member : members_) {
    std::unique_lock held(mutex_);
    if (member->asked) {  // later; nobody waits for it
      held.unlock();
      merge_->feed(member->source, "", false);
      continue;
    }
    const std::string bytes = std::move(member->bytes);
    member->bytes.clear();
    const bool more = member->more, silent = member->silent;
    const bool end = member->gone || (!is_pipe_ && (member->ended || silent));
    const std::optional<Error> error = member->error;
    held.unlock();
    const bool left = error && mount_errno(*error) == ENODEV;
    if (error && !left) left_out(member->process, error->message());
    if (!error) named_.erase(member->process.pid);
    if (!bytes.empty() || is_pipe_) merge_->feed(member->source, bytes, more);
    if (end) merge_->end(member->source);
  }
}

// In the process's thread, behind what it was asked for before.
void AllReader::close(const std::shared_ptr<Member>& member) {
  member->process.target->run([member](serve::Client* client) {
    if (client && member->has_handle) (void)client->close(member->handle);
    member->has_handle = false;
    member->closed = true;
  });
}

void AllReader::close_members() {
  await(Clock::time_point::max());
  std::lock_guard held(mutex_);
  for (const std::shared_ptr<Member>& member : members_) close(member);
  members_.clear();
}

// One that comes when we are to stop is closed at once.
void AllReader::add_member(std::shared_ptr<Member> member) {
  std::lock_guard held(mutex_);
  if (stop_) close(member);
  members_.push_back(std::move(member));
}

// --- trace_pipe

void AllReader::look_for_members() {
  const std::vector<MountedProcess> processes = all_->processes();
  {
    std::lock_guard held(mutex_);
    std::erase_if(members_, [&](const std::shared_ptr<Member>& member) {
      return member->gone && !member->asked &&
             std::none_of(processes.begin(), processes.end(), [&](const MountedProcess& process) {
               return process.target == member->process.target;
             });
    });
  }
  for (const MountedProcess& process : processes) {
    const bool known = std::any_of(members_.begin(), members_.end(), [&](const auto& member) {
      return member->process.target == process.target;
    });
    if (known) continue;
    auto member = std::make_shared<Member>();
    member->process = process;
    member->source = merge_->add_source(process.pid, process.name);
    add_member(std::move(member));
  }
}

void AllReader::round() {
  look_for_members();
  for (const std::shared_ptr<Member>& member : members_)
    if (merge_->wants_more(member->source)) ask(member, kPipePiece);
  await(Clock::now() + kRoundLimit);
  take_answers();
  output_ += merge_->end_round();
}

// Why nobody can be read: somebody else reads all trace_pipes (EBUSY).
std::optional<Error> AllReader::refusal() {
  std::lock_guard held(mutex_);
  std::optional<Error> error;
  for (const std::shared_ptr<Member>& member : members_) {
    if (!member->gone || member->asked || !member->error) return std::nullopt;
    if (mount_errno(*member->error) != ENODEV) error = member->error;
  }
  return error;
}

// The end of what a stopped tracer has, when all have come to it: recording is off, and what was
// there was read.
bool AllReader::pipe_has_ended() {
  if (merge_->holds_something()) return false;
  std::vector<MountedProcess> others;
  bool some_have = false;
  {
    std::lock_guard held(mutex_);
    for (const std::shared_ptr<Member>& member : members_) {
      if (member->gone) continue;
      if (member->asked) return false;
      if (member->ended) some_have = true;
      if (!member->ended) others.push_back(member->process);
    }
  }
  if (!some_have) return false;
  std::string switch_path = path_.substr(0, path_.size() - base_name(path_).size());
  if (const size_t cpu = switch_path.find("per_cpu/"); cpu != switch_path.npos)
    switch_path.resize(cpu);
  switch_path += "tracing_on";
  const ProcessAnswers<std::string> switches = answers_of_each<std::string>(
      others, [switch_path](serve::Client* client, const MountedProcess&) {
        return client->read_all(switch_path);
      });
  return std::all_of(switches.begin(), switches.end(), [](const auto& answer) {
    return answer.result.ok() && answer.result.value() == "0\n";
  });
}

}  // namespace patchbay::cmd
