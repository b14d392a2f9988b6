// SPDX-License-Identifier: MIT
#include "cmd/mount/mount_all.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <set>
#include <unordered_set>

#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/mount/all_reader.h"
#include "cmd/mount/merged_text.h"

namespace patchbay::cmd {
namespace {

constexpr uint32_t kForwardedFlags = O_ACCMODE | O_TRUNC | O_APPEND;
constexpr std::string_view kLogName = "error_log";
constexpr int kFirstLookMs = 5, kLongestLookMs = 1000;
constexpr int kMostSaid = 100;  // lines on stderr
constexpr size_t kMostNamed = 8;

// Files that are there before the first process is: what is written to them waits for it.
constexpr std::array<std::string_view, 20> kAlwaysThere = {
    "set_event",      "set_event_pid",      "set_ftrace_filter", "set_ftrace_notrace",
    "set_ftrace_pid", "set_graph_function", "current_tracer",    "tracing_on",
    "trace_clock",    "trace_options",      "buffer_size_kb",    "kprobe_events",
    "uprobe_events",  "dynamic_events",     "function_events",   "synthetic_events",
    "trace",          "trace_pipe",         "error_log",         "max_graph_depth"};
bool is_always_there(std::string_view path) {
  return std::find(kAlwaysThere.begin(), kAlwaysThere.end(), path) != kAlwaysThere.end();
}

// A file of raw pages, or in a directory that has such.
bool is_left_out(std::string_view path) { return is_pages_file(path); }

bool is_gone(const Error& error) { return serve::is_gone(error) || mount_errno(error) == ENODEV; }

// Whether EINVAL may mean that a process has nothing of the name that was written there. Not so for
// the filters of function tracers: without its filter a process would trace all functions.
bool lacks_name(std::string_view path, const Error& error) {
  constexpr std::array<std::string_view, 5> kNames = {"set_event", "kprobe_events", "uprobe_events",
                                                      "function_events", "dynamic_events"};
  return error.errno_value == EINVAL &&
         std::find(kNames.begin(), kNames.end(), base_name(path)) != kNames.end();
}
bool is_tracer_filter(std::string_view path) {
  return base_name(path).starts_with("set_ftrace_") || base_name(path).starts_with("set_graph_");
}
// "instances/a/trace" -> "instances/a/".
std::string_view directory_of(std::string_view path) {
  return path.substr(0, path.size() - base_name(path).size());
}

template <typename T>
std::vector<AllLog::Answer> without_values(const ProcessAnswers<T>& answers) {
  std::vector<AllLog::Answer> list;
  for (const ProcessAnswer<T>& answer : answers) {
    list.push_back({answer.process.pid, answer.process.name,
                    answer.result.ok() ? Status() : Status(answer.result.error()), false});
  }
  return list;
}

Result<int> as_answer(const Status& status) {
  if (!status.ok()) return status.error();
  return 0;
}

Status replay(serve::Client* client, const KeptWrites::Entry& entry) {
  if (entry.does == KeptWrites::Does::kWrite)
    return client->write_all(entry.path, entry.text, entry.truncates);
  Status made = client->make_directory(entry.path);
  if (!made.ok() && made.error().errno_value == EEXIST) return {};
  return made;
}

std::string shell_form(const KeptWrites::Entry& entry) {
  if (entry.does == KeptWrites::Does::kMakeDirectory) return "mkdir " + entry.path;
  return entry.path + (entry.truncates ? " > " : " >> ") + std::string(trim_back(entry.text));
}

}  // namespace

MountAll::MountAll(MountProcesses* processes, bool says) : processes_(processes), says_(says) {
  processes_->set_greeting([this](const MountedProcess& newcomer) { greet(newcomer); });
}

MountAll::~MountAll() { shut_down(); }

// --- who comes

void MountAll::start() {
  stop_fd_.reset(::eventfd(0, EFD_CLOEXEC));
  watcher_ = std::thread([this] { watch(); });
}

void MountAll::watch() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  int wait_ms = kFirstLookMs;
  for (;;) {
    (void)processes();
    const bool expects = processes_->expects_somebody();
    pollfd polled[] = {{stop_fd_.get(), POLLIN, 0}, {processes_->descriptor(), POLLIN, 0}};
    const int ready = ::poll(polled, 2, expects ? wait_ms : -1);
    if (polled[0].revents) return;
    wait_ms = ready > 0 ? kFirstLookMs : std::min(wait_ms * 2, kLongestLookMs);
  }
}

void MountAll::shut_down() {
  if (watcher_.joinable()) {
    (void)::eventfd_write(stop_fd_.get(), 1);
    watcher_.join();
  }
  std::list<std::shared_ptr<AllReader>> readers;
  {
    std::lock_guard held(readers_mutex_);
    readers.swap(readers_);
  }
  for (const std::shared_ptr<AllReader>& reader : readers) reader->stop();
  for (const std::shared_ptr<AllReader>& reader : readers) reader->join();
}

std::vector<MountedProcess> MountAll::processes() {
  std::vector<MountedProcess> list;
  processes_->look([&](const std::vector<MountedProcess>& processes) { list = processes; });
  return list;
}

// Called with the lock of the processes: its first job.
void MountAll::greet(const MountedProcess& newcomer) {
  std::vector<KeptWrites::Entry> entries;
  {
    std::lock_guard held(kept_mutex_);
    entries = kept_.entries();
  }
  newcomer.target->run([this, newcomer, entries](serve::Client* client) {
    const std::vector<std::string> refusals = repeat(client, newcomer, entries);
    if (refusals.empty()) return;
    std::string sentence = std::to_string(newcomer.pid) + " " + newcomer.name +
                           " has come and has not taken " + std::to_string(refusals.size()) +
                           " of " + std::to_string(entries.size()) + " writes made before:";
    for (size_t i = 0; i < std::min(refusals.size(), kMostNamed); i++)
      sentence += "\n" + refusals[i];
    log_.add(std::string(kAllName), sentence);
    static std::atomic<int> said = 0;
    if (says_ && said++ < kMostSaid) remark(printable(sentence));
  });
}

// What it has refused. Nothing where the process has ended meanwhile.
std::vector<std::string> MountAll::repeat(serve::Client* client, const MountedProcess& newcomer,
                                          const std::vector<KeptWrites::Entry>& entries) {
  std::vector<std::string> refusals;
  std::set<std::string, std::less<>> without_filter;  // instances
  const Error absence = sys_error("reach it", newcomer.target->absence());
  for (const KeptWrites::Entry& entry : entries) {
    const std::string_view instance = directory_of(entry.path);
    const bool is_tracer = base_name(entry.path) == "current_tracer";
    Status status = client ? Status() : absence;
    if (client && is_tracer && without_filter.contains(instance))
      status = user_error(EINVAL, "It is left as it was: it would trace all functions.");
    else if (client)
      status = replay(client, entry);
    if (status.ok()) {
      std::lock_guard held(kept_mutex_);
      kept_.prove(entry.id);
      continue;
    }
    if (is_gone(status.error())) return {};
    if (is_tracer_filter(entry.path)) without_filter.emplace(instance);
    if (lacks_it(status.error()) || (entry.proven && lacks_name(entry.path, status.error())))
      continue;
    refusals.push_back(shell_form(entry) + ": " + status.error().message());
  }
  return refusals;
}

// --- writes

uint64_t MountAll::keep(KeptWrites::Entry entry) {
  bool full = false;
  uint64_t id = 0;
  const std::string path = entry.path;
  {
    std::lock_guard held(kept_mutex_);
    id = kept_.add(std::move(entry), &full);
  }
  if (full)
    log_.add(path, "This write is not kept for processes that come later: " +
                       std::to_string(KeptWrites::kMostEntries) + " writes, or " +
                       size_text(KeptWrites::kMostBytes) +
                       ", are kept already. `>` to a file that has a list begins its part anew.");
  return id;
}

// Words of one open file stay together: the last one may go on in the next write.
uint64_t MountAll::keep_text(const std::shared_ptr<AllFile>& file, const std::string& text) {
  const bool words = KeptWrites::kind_of(file->path) == KeptWrites::Kind::kWords;
  if (words && file->kept) {
    std::lock_guard held(kept_mutex_);
    if (kept_.append(file->kept, text)) return file->kept;
  }
  const uint64_t id = keep({0, KeptWrites::Does::kWrite, file->path, false, text, false});
  if (words) file->kept = id;
  return id;
}

void MountAll::settle(uint64_t kept, size_t bytes, const Verdict& verdict) {
  if (!kept) return;
  std::lock_guard held(kept_mutex_);
  if (verdict.taken)
    kept_.taken(kept, verdict.proven);
  else if (bytes > 0)
    kept_.refused(kept, bytes);
  else
    kept_.refused(kept);
}

MountAll::Verdict MountAll::judge(const AllLog::Command& command,
                                  std::vector<AllLog::Answer> answers) {
  std::erase_if(answers, [](const AllLog::Answer& answer) {
    return !answer.status.ok() && is_gone(answer.status.error());
  });
  Verdict verdict;
  verdict.proven = std::any_of(answers.begin(), answers.end(),
                               [](const AllLog::Answer& answer) { return answer.status.ok(); });
  verdict.taken = verdict.proven || answers.empty();  // it waits for the first one
  const Error *refusal = nullptr, *lack = nullptr;
  for (AllLog::Answer& answer : answers) {
    if (answer.status.ok()) continue;
    const Error& error = answer.status.error();
    answer.passed_over = lacks_it(error) || (verdict.proven && lacks_name(command.path, error));
    if (answer.passed_over)
      lack = &error;
    else if (!refusal)
      refusal = &error;
  }
  if (verdict.taken && !refusal) return verdict;
  log_.add(command, answers);
  verdict.status = refusal ? *refusal : *lack;
  return verdict;
}

void MountAll::open(const std::string& path, uint32_t flags,
                    std::function<void(Result<std::shared_ptr<AllFile>>)> done) {
  auto file = std::make_shared<AllFile>();
  file->path = path;
  file->flags = flags;
  file->writes = (flags & O_ACCMODE) != O_RDONLY;
  file->is_log = path == kLogName;
  if (!file->writes) return done(file);
  const bool truncates = flags & O_TRUNC;
  if (file->is_log && truncates) log_.clear();
  const KeptWrites::Kind kind = KeptWrites::kind_of(path);
  const bool is_list = kind == KeptWrites::Kind::kWords || kind == KeptWrites::Kind::kLines;
  processes_->look([&](const std::vector<MountedProcess>& processes) {
    uint64_t kept = 0;
    if (truncates && is_list) kept = keep({0, KeptWrites::Does::kWrite, path, true, "", false});
    if (kind == KeptWrites::Kind::kWords) file->kept = kept;
    ask_each<int>(
        processes,
        [file](serve::Client* client, const MountedProcess& process) -> Result<int> {
          PB_ASSIGN(const uint32_t handle, client->open(file->path, file->flags & kForwardedFlags));
          std::lock_guard held(file->mutex);
          file->handles.push_back({process, handle});
          return 0;
        },
        [this, file, kept, done](ProcessAnswers<int> answers) {
          // Who does not answer is asked again by the write, which says so.
          std::erase_if(answers, [](const ProcessAnswer<int>& answer) {
            return !answer.result.ok() && serve::is_silent(answer.result.error());
          });
          Verdict verdict =
              judge({file->path, file->flags & O_TRUNC ? "(opened with >)" : "(opened)"},
                    without_values(answers));
          // Nothing will be written, so nothing is kept.
          if (!verdict.status.ok()) verdict.taken = false;
          settle(kept, 0, verdict);
          if (verdict.status.ok()) return done(file);
          release(file);
          done(verdict.status.error());
        });
  });
}

namespace {

// One process's part of a write: all of it, as a shell writes on where a file has taken a word.
Result<int> write_to(serve::Client* client, const MountedProcess& process, AllFile& file,
                     std::string_view text, uint32_t caller) {
  std::optional<uint32_t> handle;
  {
    std::lock_guard held(file.mutex);
    for (const AllFile::Handle& one : file.handles)
      if (one.process.target == process.target) handle = one.handle;
  }
  if (!handle) {  // it has come meanwhile, or had not answered
    PB_ASSIGN(handle, client->open(file.path, O_WRONLY | O_APPEND));
    std::lock_guard held(file.mutex);
    file.handles.push_back({process, *handle});
  }
  do {
    PB_ASSIGN(const size_t taken, client->write(*handle, text, caller));
    if (taken == 0 && !text.empty()) return user_error(EIO, "The file takes no more of the text.");
    text.remove_prefix(taken);
  } while (!text.empty());
  return 0;
}

}  // namespace

void MountAll::write(const std::shared_ptr<AllFile>& file, std::string text, uint32_t caller,
                     std::function<void(Result<size_t>)> done) {
  processes_->look([&](const std::vector<MountedProcess>& processes) {
    const uint64_t kept = keep_text(file, text);
    ask_each<int>(
        processes,
        [file, text, caller](serve::Client* client, const MountedProcess& process) {
          return write_to(client, process, *file, text, caller);
        },
        [this, file, text, kept, done](ProcessAnswers<int> answers) {
          const Verdict verdict = judge({file->path, text}, without_values(answers));
          settle(kept, text.size(), verdict);
          if (!verdict.status.ok()) return done(verdict.status.error());
          done(text.size());
        });
  });
}

void MountAll::flush(const std::shared_ptr<AllFile>& file, std::function<void(Status)> done) {
  std::vector<AllFile::Handle> handles;
  {
    std::lock_guard held(file->mutex);
    handles = file->handles;
  }
  std::vector<MountedProcess> processes;
  for (const AllFile::Handle& one : handles) processes.push_back(one.process);
  ask_each<int>(
      processes,
      [handles](serve::Client* client, const MountedProcess& process) {
        for (const AllFile::Handle& one : handles)
          if (one.process.target == process.target) return as_answer(client->flush(one.handle));
        return Result<int>(0);
      },
      [this, file, done](ProcessAnswers<int> answers) {
        done(judge({file->path, "(closed)"}, without_values(answers)).status);
      });
}

void MountAll::release(const std::shared_ptr<AllFile>& file) {
  {
    std::lock_guard held(readers_mutex_);
    if (file->reader) file->reader->stop();
    readers_.remove_if([](const std::shared_ptr<AllReader>& reader) { return reader->over(); });
  }
  std::lock_guard held(file->mutex);
  for (const AllFile::Handle& one : file->handles) {
    one.process.target->run([handle = one.handle](serve::Client* client) {
      if (client) (void)client->close(handle);
    });
  }
  file->handles.clear();
}

void MountAll::make_directory(const std::string& path, std::function<void(Status)> done) {
  processes_->look([&](const std::vector<MountedProcess>& processes) {
    const uint64_t kept = keep({0, KeptWrites::Does::kMakeDirectory, path, false, "", false});
    ask_each<int>(
        processes,
        [path](serve::Client* client, const MountedProcess&) {
          return as_answer(client->make_directory(path));
        },
        [this, path, kept, done](ProcessAnswers<int> answers) {
          // Who has it already is where it should be, unless all have.
          const bool some_made = std::any_of(answers.begin(), answers.end(),
                                             [](const auto& answer) { return answer.result.ok(); });
          for (ProcessAnswer<int>& answer : answers) {
            if (some_made && !answer.result.ok() && answer.result.error().errno_value == EEXIST)
              answer.result = 0;
          }
          const Verdict verdict = judge({path, "mkdir"}, without_values(answers));
          settle(kept, 0, verdict);
          done(verdict.status);
        });
  });
}

void MountAll::remove_directory(const std::string& path, std::function<void(Status)> done) {
  processes_->look([&](const std::vector<MountedProcess>& processes) {
    ask_each<int>(
        processes,
        [path](serve::Client* client, const MountedProcess&) {
          return as_answer(client->remove_directory(path));
        },
        [this, path, done](ProcessAnswers<int> answers) {
          const Verdict verdict = judge({path, "rmdir"}, without_values(answers));
          if (verdict.taken) {
            std::lock_guard held(kept_mutex_);
            kept_.removed(path);
          }
          done(verdict.status);
        });
  });
}

// --- what is there

// The first process that answers has it, as a rule. Otherwise all are asked.
void MountAll::stat(const std::string& path, std::function<void(Result<FileStatus>)> done) {
  if (is_left_out(path)) return done(sys_error("stat", ENOENT));
  if (path.empty()) return done(FileStatus{S_IFDIR | 0700, 0});
  const std::vector<MountedProcess> all = processes();
  if (path == kLogName || (all.empty() && is_always_there(path)))
    return done(FileStatus{S_IFREG | 0640, 0});
  if (all.empty()) return done(sys_error("stat", ENOENT));
  const auto ask = [path](serve::Client* client, const MountedProcess&) {
    return client->stat(path);
  };
  ask_each<FileStatus>({all[0]}, ask, [all, ask, done](ProcessAnswers<FileStatus> first) {
    if (first[0].result.ok() || all.size() == 1) return done(first[0].result);
    const std::vector<MountedProcess> others(all.begin() + 1, all.end());
    ask_each<FileStatus>(others, ask, [first, done](ProcessAnswers<FileStatus> answers) {
      Result<FileStatus> result = first[0].result;
      for (const ProcessAnswer<FileStatus>& answer : answers) {
        if (answer.result.ok()) return done(answer.result);
        if (is_gone(result.error())) result = answer.result.error();
      }
      done(is_gone(result.error()) ? sys_error("stat", ENOENT) : result);
    });
  });
}

void MountAll::list(const std::string& path,
                    std::function<void(Result<std::vector<std::string>>)> done) {
  const std::vector<MountedProcess> all = processes();
  if (all.empty() && path.empty())
    return done(std::vector<std::string>(kAlwaysThere.begin(), kAlwaysThere.end()));
  ask_each<std::vector<std::string>>(
      all, [path](serve::Client* client, const MountedProcess&) { return client->list(path); },
      [path, done](ProcessAnswers<std::vector<std::string>> answers) {
        std::vector<std::string> names;
        std::unordered_set<std::string> seen;
        std::optional<Error> error;
        bool some_have = false;
        for (const ProcessAnswer<std::vector<std::string>>& answer : answers) {
          if (!answer.result.ok()) {
            error = answer.result.error();
            continue;
          }
          some_have = true;
          for (const std::string& name : answer.result.value())
            if (!is_left_out(name) && seen.insert(name).second) names.push_back(name);
        }
        if (!some_have && !path.empty()) return done(error ? *error : sys_error("list", ENOENT));
        done(std::move(names));
      });
}

// --- reads

std::string MountAll::log_text() {
  std::string text = log_.text();
  for (const ProcessAnswer<std::string>&answer :
       answers_of_each<std::string>(processes(), [](serve::Client*client, const MountedProcess&) {
         return client->read_all(kLogName);
       })) {
    if (!answer.result.ok() || answer.result.value().empty()) continue;
    text += std::to_string(answer.process.pid) + " " + answer.process.name + ":\n" +
            answer.result.value();
  }
  return text;
}

std::shared_ptr<AllReader> MountAll::reader_of(const std::shared_ptr<AllFile>& file) {
  std::lock_guard held(readers_mutex_);
  if (!file->reader) {
    file->reader = std::make_shared<AllReader>(this, file->path, file->is_log);
    readers_.push_back(file->reader);
  }
  return file->reader;
}

void MountAll::read(const std::shared_ptr<AllFile>& file, const ReadRequest& request) {
  reader_of(file)->read(request);
}

void MountAll::poll(const std::shared_ptr<AllFile>& file, fuse_req_t request, PollRequest polled) {
  if (base_name(file->path) == "trace_pipe") return reader_of(file)->poll(request, polled);
  if (polled.handle) fuse_pollhandle_destroy(polled.handle);
  fuse_reply_poll(request, POLLIN | POLLRDNORM | (file->writes ? POLLOUT | POLLWRNORM : 0u));
}

}  // namespace patchbay::cmd
