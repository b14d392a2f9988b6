// SPDX-License-Identifier: MIT
#include "uprobes/uprobe_recording.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "abi/buffer_abi.h"
#include "base/text.h"
#include "event/event_call.h"

namespace patchbay {
namespace {

constexpr uint32_t kPageSize =
    8192;  // of the file: a record of ours may need more than the kernel's
constexpr uint32_t kKernelPage = 4096;
constexpr uint32_t kPagesATurn = 512;
constexpr uint16_t kFirstId = 2000;
constexpr int kThreadTries = 100;
constexpr size_t kMaxEventName = 60;
constexpr size_t kMaxThreads = 100000;

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads;
  DIR* tasks = ::opendir(("/proc/" + std::to_string(pid) + "/task").c_str());
  while (const dirent* entry = tasks ? ::readdir(tasks) : nullptr)
    if (entry->d_name[0] != '.') threads.push_back(std::atoi(entry->d_name));
  if (tasks) ::closedir(tasks);
  return threads;
}

// A name that the kernel takes for an event, and no other event has.
std::string kernel_event_name(const std::string& wanted, size_t number) {
  const bool is_good =
      wanted.size() <= kMaxEventName && !wanted.empty() && is_name_start(wanted[0]) &&
      std::all_of(wanted.begin(), wanted.end(), [](char c) { return is_name_char(c); });
  return is_good ? wanted : "event_" + std::to_string(number);
}

bool is_plain_path(const std::string& path) {
  return path.starts_with('/') && path.find_first_of(" \t\n:%()\"'\\") == path.npos;
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

Result<std::unique_ptr<UprobeRecording>> UprobeRecording::open(const UprobeOptions& options,
                                                               UprobeProgram& program) {
  std::unique_ptr<UprobeRecording> recording(new UprobeRecording(options, program));
  PB_TRY(recording->set_up());
  return recording;
}

UprobeRecording::~UprobeRecording() = default;

Status UprobeRecording::set_up() {
  PB_ASSIGN(instance_, UprobeInstance::make());
  const TracefsDirectory& files = instance_->files();
  PB_TRY(files.write("tracing_on", "0"));
  // Our page reader, and the time of all other recordings.
  PB_TRY(files.write("trace_clock", "mono"));
  PB_TRY(files.write("options/overwrite", options_.overwrite ? "1" : "0"));
  if (options_.buffer_kb) PB_TRY(files.write("buffer_size_kb", std::to_string(options_.buffer_kb)));
  return open_cpus();
}

Status UprobeRecording::open_cpus() {
  uint32_t nr_cpus = 0;
  for (const std::string& name : instance_->files().list("per_cpu")) {
    uint32_t number = 0;
    if (!name.starts_with("cpu") || !to_number(std::string_view(name).substr(3), &number)) continue;
    Cpu cpu;
    cpu.number = number;
    PB_ASSIGN(cpu.pipe, instance_->files().open("per_cpu/" + name + "/trace_pipe_raw",
                                                O_RDONLY | O_NONBLOCK));
    nr_cpus = std::max(nr_cpus, number + 1);
    cpus_.push_back(std::move(cpu));
  }
  std::sort(cpus_.begin(), cpus_.end(),
            [](const Cpu& a, const Cpu& b) { return a.number < b.number; });
  counts_.resize(nr_cpus);
  TraceDatOptions dat;
  dat.version = options_.version;
  dat.page_size = kPageSize;
  dat.nr_cpus = nr_cpus + 1;  // the last one is that of threads without a CPU's
  PB_ASSIGN(writer_, TraceDatWriter::open(options_.output, dat));
  for (Cpu& cpu : cpus_) {
    const uint32_t number = cpu.number;
    cpu.pages = std::make_unique<RecordPages>(kPageSize, [this, number](const PageImage& page) {
      addresses_.add_page(page);
      (void)writer_->append_page(number, page);  // finish() says what the disk did not take
    });
  }
  return {};
}

// --- events

Status UprobeRecording::define(std::unique_ptr<UprobeEvent> event) {
  const auto same = std::find_if(events_.begin(), events_.end(), [&](const auto& other) {
    return other->call.name == event->call.name && other->call.system == event->call.system;
  });
  // Several places of one event: copies of an inlined function.
  const bool is_shared = same != events_.end() &&
                         (*same)->call.fields.size() == event->call.fields.size() &&
                         (*same)->call.print_fmt == event->call.print_fmt;
  if (same != events_.end() && !is_shared)
    return user_error(EEXIST, "Two events are called " + event->call.name +
                                  ": give one a name, NAME=FUNC(...) or p:NAME PLACE.");
  const std::string& file = event->place.object->path;
  UniqueFd held;
  char real[PATH_MAX];
  std::string path = ::realpath(file.c_str(), real) ? std::string(real) : file;
  if (!is_plain_path(path)) {
    held.reset(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    path = "/proc/self/fd/" + std::to_string(held.get());
  }
  event->kernel_name =
      kernel_event_name(is_shared ? std::string() : event->call.name, events_.size());
  event->call.id = is_shared ? (*same)->call.id : uint16_t(kFirstId + events_.size());
  const std::string& group = instance_->group();
  PB_TRY(instance_->define(event->definition(group, path)));
  const std::string directory = "events/" + group + "/" + event->kernel_name + "/";
  PB_ASSIGN(const std::string format, instance_->files().read(directory + "format"));
  PB_ASSIGN(const EventCall kernel_call, parse_format(group, format));
  PB_TRY(event->bind(kernel_call));
  by_kernel_id_[event->kernel_id()] = event.get();
  events_.push_back(std::move(event));
  std::vector<EventCall> calls;
  for (const auto& one : events_) calls.push_back(one->call);
  addresses_.set_events(calls);
  return {};
}

Status UprobeRecording::follow(const std::vector<pid_t>& threads, bool children) {
  const TracefsDirectory& files = instance_->files();
  PB_TRY(files.write("options/event-fork", children ? "1" : "0"));
  for (pid_t thread : threads)
    PB_TRY(files.write("set_event_pid", std::to_string(thread) + "\n", O_APPEND));
  return {};
}

// A thread that is started by one that is in the list is in it, too. So it is enough to ask again
// until no new one was there.
Status UprobeRecording::follow_process(pid_t pid) {
  std::set<pid_t> known;
  for (int i = 0; i < kThreadTries; i++) {
    std::vector<pid_t> added;
    for (pid_t thread : threads_of(pid))
      if (known.insert(thread).second) added.push_back(thread);
    if (known.empty()) return user_error(ESRCH, "process " + std::to_string(pid) + " has ended");
    if (added.empty()) return {};
    PB_TRY(follow(added, true));
  }
  return {};
}

Status UprobeRecording::start() {
  const TracefsDirectory& files = instance_->files();
  // Of several at one place the kernel calls the one that came last first.
  for (size_t i = events_.size(); i-- > 0;) {
    const auto& event = events_[i];
    const std::string enable =
        "events/" + instance_->group() + "/" + event->kernel_name + "/enable";
    if (Status on = files.write(enable, "1"); !on.ok())
      return user_error(on.error().errno_value, "the kernel sets no uprobe for " +
                                                    event->call.name + ": " +
                                                    std::strerror(on.error().errno_value));
  }
  return files.write("tracing_on", "1");
}

// Breakpoints go, and with them what they cost; the rings stay.
void UprobeRecording::stop() {
  if (!instance_ || instance_->group().empty()) return;
  (void)instance_->files().write("tracing_on", "0");
  (void)instance_->files().write("events/" + instance_->group() + "/enable", "0");
}

// --- reading

unsigned UprobeRecording::drain() {
  uint32_t most = 0;
  for (Cpu& cpu : cpus_) most = std::max(most, drain_cpu(&cpu, kPagesATurn));
  const uint64_t total = std::max<uint64_t>(options_.buffer_kb * 1024 / kKernelPage, 1);
  return most ? unsigned(std::clamp<uint64_t>(most * 100 / total, 1, 100)) : 0;
}

uint32_t UprobeRecording::drain_cpu(Cpu* cpu, uint32_t limit) {
  uint32_t pages = 0;
  page_.bytes.resize(kKernelPage);
  while (pages < limit) {
    const ssize_t count = ::read(cpu->pipe.get(), page_.bytes.data(), kKernelPage);
    if (count < 0 && errno == EINTR) continue;
    if (count <= ssize_t(abi::kPageHeaderSize)) break;
    std::fill(page_.bytes.begin() + count, page_.bytes.end(), uint8_t{0});
    take_page(cpu, &page_);
    pages++;
  }
  return pages;
}

void UprobeRecording::take_page(Cpu* cpu, PageImage* page) {
  read_commit(page);
  if (page->lost_before) cpu->pages->lose(page->lost_before);
  EventIterator events(page->bytes, page->used);
  for (EventView event; events.next(&event);) take_record(cpu, event);
}

void UprobeRecording::take_record(Cpu* cpu, const EventView& view) {
  abi::RecordHeader header;
  Counts& counts = counts_[cpu->number];
  if (view.record.size() < sizeof header) return;
  std::memcpy(&header, view.record.data(), sizeof header);
  const auto known = by_kernel_id_.find(header.common_type);
  if (known == by_kernel_id_.end()) return;
  UprobeEvent* event = known->second;
  const uint32_t tid = uint32_t(header.common_pid);
  note_thread(tid);
  if (!bases_.contains(event->place.object)) note_base(event, view.record, tid);
  const bool wanted = event->convert(view.record, bases_[event->place.object], &record_);
  if (wanted && cpu->pages->add(view.time, record_))
    counts.events++;
  else
    counts.filtered++;
}

// The name of a thread that has ended meanwhile is the kernel's to say, at the end.
void UprobeRecording::note_thread(uint32_t tid) {
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

// Where a file lies that was not loaded when its symbols were read. All that is recorded of other
// processes that have it elsewhere is told as if it lay here.
void UprobeRecording::note_base(UprobeEvent* event, std::span<const uint8_t> record, uint32_t tid) {
  bases_[event->place.object] = event->moved(record).value_or(0);
  if (bases_.size() > 1 || bases_.begin()->second == 0) return;
  Result<std::unique_ptr<UprobeProgram>> now = UprobeProgram::of_process(pid_t(tid));
  if (!now.ok()) return;
  for (const auto& object : (*now)->objects()) seen_modules_.push_back(object->module);
}

// --- the end

uint64_t UprobeRecording::nr_events() const {
  uint64_t sum = 0;
  for (const Counts& counts : counts_) sum += counts.events;
  return sum;
}

uint64_t UprobeRecording::nr_lost() const {
  uint64_t sum = 0;
  for (const Counts& counts : counts_) sum += counts.lost;
  return sum;
}

void UprobeRecording::note_losses() {
  for (const Cpu& cpu : cpus_) {
    Result<std::string> stats =
        instance_->files().read("per_cpu/cpu" + std::to_string(cpu.number) + "/stats");
    if (!stats.ok()) continue;
    counts_[cpu.number].lost = stats_number(*stats, "overrun") +
                               stats_number(*stats, "commit overrun") +
                               stats_number(*stats, "dropped events");
  }
}

// As they lay in the process.
std::vector<RecordedModule> UprobeRecording::modules() {
  for (const auto& [object, base] : bases_) program_.move(object, base);
  bases_.clear();
  std::vector<RecordedModule> list;
  for (const auto& object : program_.objects()) list.push_back(object->module);
  for (const RecordedModule& seen : seen_modules_) {
    const bool is_new = std::none_of(list.begin(), list.end(), [&](const RecordedModule& one) {
      return one.start < seen.end && seen.start < one.end;
    });
    if (is_new) list.push_back(seen);
  }
  return list;
}

TraceDatMetadata UprobeRecording::metadata(pid_t pid) {
  TraceDatMetadata out;
  std::set<uint16_t> ids;
  for (const auto& event : events_)
    if (ids.insert(event->call.id).second)
      out.formats.push_back({event->call.system, event->call.name, event->call.format_text()});
  const std::vector<uint64_t> used = addresses_.sorted();
  std::vector<RecordedModule> list = modules();
  std::vector<RecordedModule> named = list;
  for (RecordedModule& module : named)
    for (const auto& object : program_.objects())
      if (object->path == module.path) module.path = object->name;
  out.process_maps = modules_text(pid, program_.main_object().name, named, used);
  const bool is_32 = program_.main_object().file.is_32_bit;
  std::unique_ptr<SymbolTable> symbols;
  if (!is_32) symbols = make_recorded_symbol_table(std::move(list));
  out.kallsyms = kallsyms_text(is_32 ? &program_.symbols() : symbols.get(), used);
  // The kernel's list, for those that have ended before we could ask.
  Result<std::string> saved = instance_->top().read("saved_cmdlines");
  for (const std::string& line : saved.ok() ? split_lines(*saved) : std::vector<std::string>()) {
    const size_t blank = line.find(' ');
    uint32_t tid = 0;
    if (blank == line.npos || !to_number(std::string_view(line).substr(0, blank), &tid)) continue;
    const auto known = comms_.find(tid);
    if (known != comms_.end() && known->second.empty()) known->second = line.substr(blank + 1);
  }
  for (auto& [tid, comm] : comms_) {
    std::replace_if(
        comm.begin(), comm.end(), [](char c) { return uint8_t(c) < ' '; }, '?');
    out.cmdlines += std::to_string(tid) + " " + (comm.empty() ? "<...>" : comm) + "\n";
  }
  for (const Counts& counts : counts_)
    out.cpu_stats.push_back("entries: " + std::to_string(counts.events) +
                            "\noverrun: " + std::to_string(counts.lost) + "\ndropped events: 0\n");
  utsname system;
  if (::uname(&system) == 0)
    out.uname = std::string(system.sysname) + " " + system.nodename + " " + system.release + " " +
                system.machine;
  return out;
}

Result<TraceDatResult> UprobeRecording::finish(pid_t pid) {
  stop();
  for (Cpu& cpu : cpus_) {
    const uint64_t most = options_.buffer_kb * 1024 / kKernelPage + 2;
    drain_cpu(&cpu, uint32_t(std::min<uint64_t>(std::max<uint64_t>(most, 1u << 16), UINT32_MAX)));
    cpu.pages->flush();
  }
  note_losses();
  const TraceDatMetadata about = metadata(pid);
  for (Cpu& cpu : cpus_) cpu.pipe.reset();
  PB_TRY(instance_->remove());
  return writer_->finish(about);
}

}  // namespace patchbay
