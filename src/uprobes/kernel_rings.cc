// SPDX-License-Identifier: MIT
#include "uprobes/kernel_rings.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "abi/buffer_abi.h"
#include "base/text.h"

namespace patchbay {
namespace {

constexpr uint32_t kKernelPage = 4096;
constexpr uint32_t kPagesATurn = 512;
constexpr uint32_t kMostPagesAtEnd = 1u << 16;  // a forked process may go on
constexpr int kThreadTries = 100;
constexpr size_t kMaxThreads = 100000;

std::vector<pid_t> threads_of(pid_t pid, std::string_view except) {
  std::vector<pid_t> threads;
  const std::string path = "/proc/" + std::to_string(pid) + "/task";
  DIR* tasks = ::opendir(path.c_str());
  while (const dirent* entry = tasks ? ::readdir(tasks) : nullptr) {
    if (entry->d_name[0] == '.') continue;
    const pid_t thread = std::atoi(entry->d_name);
    if (!except.empty() && thread != pid) {
      Result<std::string> comm = read_file(path + "/" + entry->d_name + "/comm");
      if (comm.ok() && std::string_view(*comm).substr(0, comm->find('\n')) == except) continue;
    }
    threads.push_back(thread);
  }
  if (tasks) ::closedir(tasks);
  return threads;
}

}  // namespace

uint64_t stats_number(std::string_view stats, std::string_view name) {
  for (const std::string& line : split_lines(stats)) {
    uint64_t value = 0;
    if (!line.starts_with(name) || line.substr(name.size(), 2) != ": ") continue;
    return to_number(std::string_view(line).substr(name.size() + 2), &value) ? value : 0;
  }
  return 0;
}

bool is_first_pid_namespace() {
  char name[64];  // PROC_PID_INIT_INO
  const ssize_t size = ::readlink("/proc/self/ns/pid", name, sizeof name);
  return size < 0 || std::string_view(name, size_t(size)) == "pid:[4026531836]";
}

Result<std::unique_ptr<KernelRings>> KernelRings::open(const KernelInstance& instance,
                                                       const Options& options, Sink sink) {
  std::unique_ptr<KernelRings> rings(new KernelRings(instance, options, std::move(sink)));
  PB_TRY(rings->set_up());
  return rings;
}

Status KernelRings::set_up() {
  const TracefsDirectory& files = instance_.files();
  PB_TRY(files.write("trace_clock", options_.clock));
  PB_TRY(files.write("options/overwrite", options_.overwrite ? "1" : "0"));
  if (options_.buffer_kb) PB_TRY(files.write("buffer_size_kb", std::to_string(options_.buffer_kb)));
  for (const std::string& name : files.list("per_cpu")) {
    Cpu cpu;
    if (!name.starts_with("cpu") || !to_number(std::string_view(name).substr(3), &cpu.number))
      continue;
    PB_ASSIGN(cpu.pipe, files.open("per_cpu/" + name + "/trace_pipe_raw", O_RDONLY | O_NONBLOCK));
    nr_cpus_ = std::max(nr_cpus_, cpu.number + 1);
    cpus_.push_back(std::move(cpu));
  }
  std::sort(cpus_.begin(), cpus_.end(),
            [](const Cpu& a, const Cpu& b) { return a.number < b.number; });
  return {};
}

// --- whose events

Status KernelRings::follow(const std::vector<pid_t>& threads, bool children) {
  const TracefsDirectory& files = instance_.files();
  PB_TRY(files.write("options/event-fork", children ? "1" : "0"));
  for (pid_t thread : threads)
    PB_TRY(files.write("set_event_pid", std::to_string(thread) + "\n", O_APPEND));
  return {};
}

// A thread that is started by one that is in the list is in it, too. So it is enough to ask again
// until no new one was there.
Status KernelRings::follow_process(pid_t pid, std::string_view except) {
  std::set<pid_t> known;
  for (int i = 0; i < kThreadTries; i++) {
    std::vector<pid_t> added;
    for (pid_t thread : threads_of(pid, except))
      if (known.insert(thread).second) added.push_back(thread);
    if (known.empty()) return user_error(ESRCH, "process " + std::to_string(pid) + " has ended");
    if (added.empty()) return {};
    PB_TRY(follow(added, true));
  }
  return {};
}

// --- reading

unsigned KernelRings::drain() {
  uint32_t most = 0;
  for (const Cpu& cpu : cpus_) most = std::max(most, drain_cpu(cpu, kPagesATurn));
  const uint64_t total = std::max<uint64_t>(options_.buffer_kb * 1024 / kKernelPage, 1);
  return most ? unsigned(std::clamp<uint64_t>(most * 100 / total, 1, 100)) : 0;
}

void KernelRings::drain_rest() {
  const uint64_t most = options_.buffer_kb * 1024 / kKernelPage + 2;
  for (Cpu& cpu : cpus_) {
    drain_cpu(cpu,
              uint32_t(std::min<uint64_t>(std::max<uint64_t>(most, kMostPagesAtEnd), UINT32_MAX)));
    cpu.pipe.reset();
  }
}

uint32_t KernelRings::drain_cpu(const Cpu& cpu, uint32_t limit) {
  uint32_t pages = 0;
  page_.bytes.resize(kKernelPage);
  while (pages < limit) {
    const ssize_t count = ::read(cpu.pipe.get(), page_.bytes.data(), kKernelPage);
    if (count < 0 && errno == EINTR) continue;
    if (count <= ssize_t(abi::kPageHeaderSize)) break;
    std::fill(page_.bytes.begin() + count, page_.bytes.end(), uint8_t{0});
    read_commit(&page_);
    if (page_.lost_before) sink_.lost(cpu.number, page_.lost_before);
    EventIterator events(page_.bytes, page_.used);
    for (EventView event; events.next(&event);) sink_.record(cpu.number, event);
    pages++;
  }
  return pages;
}

std::vector<uint64_t> KernelRings::losses() const {
  std::vector<uint64_t> lost(nr_cpus_);
  for (const Cpu& cpu : cpus_) {
    Result<std::string> stats =
        instance_.files().read("per_cpu/cpu" + std::to_string(cpu.number) + "/stats");
    if (!stats.ok()) continue;
    lost[cpu.number] = stats_number(*stats, "overrun") + stats_number(*stats, "commit overrun") +
                       stats_number(*stats, "dropped events");
  }
  return lost;
}

// --- names

// The name of a thread that has ended meanwhile is the kernel's to say, at the end.
void KernelThreads::note(uint32_t tid) {
  if (comms_.size() > kMaxThreads || comms_.contains(tid)) return;
  const std::string proc = "/proc/" + std::to_string(tid);
  Result<std::string> comm = read_file(proc + "/comm"), status = read_file(proc + "/status");
  std::string& name = comms_[tid];
  if (comm.ok()) name = comm->substr(0, comm->find('\n'));
  const size_t tgid = status.ok() ? status->find("\nTgid:") : std::string::npos;
  uint32_t process = 0;
  if (tgid != std::string::npos)
    process = uint32_t(std::strtoul(status->c_str() + tgid + 6, nullptr, 10));
  if (process) processes_.insert(process);
}

std::string KernelThreads::command_lines(const TracefsDirectory& top) const {
  std::map<uint32_t, std::string> comms = comms_;
  Result<std::string> saved = top.read("saved_cmdlines");
  for (const std::string& line : saved.ok() ? split_lines(*saved) : std::vector<std::string>()) {
    const size_t blank = line.find(' ');
    uint32_t tid = 0;
    if (blank == line.npos || !to_number(std::string_view(line).substr(0, blank), &tid)) continue;
    const auto known = comms.find(tid);
    if (known != comms.end() && known->second.empty()) known->second = line.substr(blank + 1);
  }
  std::string text;
  for (auto& [tid, comm] : comms) {
    std::replace_if(
        comm.begin(), comm.end(), [](char c) { return uint8_t(c) < ' '; }, '?');
    text += std::to_string(tid) + " " + (comm.empty() ? "<...>" : comm) + "\n";
  }
  return text;
}

}  // namespace patchbay
