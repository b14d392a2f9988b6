// SPDX-License-Identifier: MIT
#include "uprobes/uprobe_recording.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "abi/buffer_abi.h"
#include "base/file_stamp.h"
#include "base/foreign_file.h"
#include "base/text.h"
#include "event/event_call.h"

namespace patchbay {
namespace {

constexpr uint32_t kPageSize =
    8192;  // of the file: a record of ours may need more than the kernel's
constexpr uint16_t kFirstId = 2000;
constexpr size_t kMaxEventName = 60;

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

Result<std::unique_ptr<UprobeRecording>> UprobeRecording::open(const UprobeOptions& options,
                                                               UprobeProgram& program) {
  std::unique_ptr<UprobeRecording> recording(new UprobeRecording(options, program));
  PB_TRY(recording->set_up());
  return recording;
}

UprobeRecording::~UprobeRecording() = default;

Status UprobeRecording::set_up() {
  PB_ASSIGN(instance_, KernelInstance::make(KernelUse::kUprobes));
  // The clock is the time of all other recordings.
  const KernelRings::Options rings{"mono", options_.buffer_kb, options_.overwrite};
  PB_ASSIGN(rings_, KernelRings::open(
                        *instance_, rings,
                        {[this](uint32_t cpu, const EventView& event) { take_record(cpu, event); },
                         [this](uint32_t cpu, uint64_t lost) { pages_[cpu]->lose(lost); }}));
  const uint32_t nr_cpus = rings_->nr_cpus();
  counts_.resize(nr_cpus);
  TraceDatOptions dat;
  dat.version = options_.version;
  dat.page_size = kPageSize;
  dat.nr_cpus = nr_cpus + 1;  // the last one is that of threads without a CPU's
  PB_ASSIGN(writer_, TraceDatWriter::open(options_.output, dat));
  for (uint32_t cpu = 0; cpu < nr_cpus; cpu++)
    pages_.push_back(std::make_unique<RecordPages>(kPageSize, [this, cpu](const PageImage& page) {
      addresses_.add_page(page);
      (void)writer_->append_page(cpu, page);  // finish() says what the disk did not take
    }));
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
  // What a descriptor is called may be another file here.
  if (!is_plain_path(path) || stamp_of(path) != stamp_of(file)) {
    PB_ASSIGN(held, open_foreign_file(file, kMostMappedFile));
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
  return rings_->start();
}

// Breakpoints go, and with them what they cost; the rings stay.
void UprobeRecording::stop() {
  if (!instance_ || instance_->group().empty()) return;
  rings_->stop();
  (void)instance_->files().write("events/" + instance_->group() + "/enable", "0");
}

// --- reading

void UprobeRecording::take_record(uint32_t cpu, const EventView& view) {
  abi::RecordHeader header;
  Counts& counts = counts_[cpu];
  if (view.record.size() < sizeof header) return;
  std::memcpy(&header, view.record.data(), sizeof header);
  const auto known = by_kernel_id_.find(header.common_type);
  if (known == by_kernel_id_.end()) return;
  UprobeEvent* event = known->second;
  const uint32_t tid = uint32_t(header.common_pid);
  threads_.note(tid);
  if (!bases_.contains(event->place.object)) note_base(event, view.record, tid);
  const bool wanted = event->convert(view.record, bases_[event->place.object], &record_);
  if (wanted && pages_[cpu]->add(view.time, record_))
    counts.events++;
  else
    counts.filtered++;
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
  out.cmdlines = threads_.command_lines(instance_->top());
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
  rings_->drain_rest();
  for (const auto& pages : pages_) pages->flush();
  const std::vector<uint64_t> losses = rings_->losses();
  for (size_t cpu = 0; cpu < losses.size(); cpu++) counts_[cpu].lost = losses[cpu];
  const TraceDatMetadata about = metadata(pid);
  PB_TRY(instance_->remove());
  return writer_->finish(about);
}

}  // namespace patchbay
