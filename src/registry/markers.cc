// SPDX-License-Identifier: MIT
#include "registry/markers.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "probe/triggers/trigger_hot.h"
#include "registry/inject.h"
#include "registry/registry_impl.h"
#include "ring_buffer/ring_write_hot.h"

namespace patchbay {

namespace {

constexpr size_t kMaxRawMarker = 4096;
constexpr size_t kMaxMarker = 4054;  // whatever the size of a sub-buffer, as in the kernel
constexpr size_t kPrintFixed = 16;   // common header, ip
constexpr size_t kRawFixed = 12;     // common header, id

std::string start_record(uint16_t id, const Markers::Writer& writer) {
  abi::RecordHeader header = {};
  header.common_type = id;
  header.common_pid = int32_t(writer.tid);
  return std::string(reinterpret_cast<const char*>(&header), sizeof header);
}

void pad(std::string* record) { record->resize((record->size() + 3) & ~size_t{3}, '\0'); }

Status markers_allowed(const TraceArray& array) {
  if (array.options[TraceOption::kMarkers]) return {};
  return user_error(EINVAL, "The option markers is off.");
}

// A marker belongs to the CPU of its writer, and a CPU's ring is written on that CPU only: this
// thread goes there for as long as the object lives. -1, or a CPU that it may not use: anywhere.
class OnCpu {
 public:
  explicit OnCpu(int cpu) {
    if (cpu < 0 || cpu >= CPU_SETSIZE || cpu == ::sched_getcpu()) return;
    if (::sched_getaffinity(0, sizeof before_, &before_) != 0 || !CPU_ISSET(cpu, &before_)) return;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    moved_ = ::sched_setaffinity(0, sizeof only, &only) == 0;
  }
  ~OnCpu() {
    if (moved_) ::sched_setaffinity(0, sizeof before_, &before_);
  }
  OnCpu(const OnCpu&) = delete;
  OnCpu& operator=(const OnCpu&) = delete;

 private:
  cpu_set_t before_;
  bool moved_ = false;
};

// An event that is off takes what is injected, unless only soft mode keeps it from recording.
bool wants_injected(const EventFile& file, const std::string& record) {
  if (file.soft_users && !file.is_on()) return false;
  return !file.filter ||
         filter_match(file.filter.get(), reinterpret_cast<const uint8_t*>(record.data()),
                      uint32_t(record.size()));
}

// The triggers of an event whose record we write ourselves: begin() before the record is published,
// end() behind it. The stack has one frame, since the writer has none here.
class RecordTriggers {
 public:
  RecordTriggers(const EventProgram* program, uint32_t tid, uint64_t ip)
      : start_{ip, reinterpret_cast<uint64_t>(&kNoCaller), 0, true}, hit_{program, &start_, tid} {}
  bool any() const { return hit_.event && hit_.event->triggers; }
  void begin(std::string record) {
    record_ = std::move(record);
    if (any()) matched_ = trigger_before(hit_, bytes(), uint32_t(record_.size()));
  }
  void begin_early() {
    if (any()) trigger_early(hit_);
  }
  void end() {
    if (any()) trigger_after(hit_, bytes(), uint32_t(record_.size()), matched_);
  }

 private:
  static constexpr uint64_t kNoCaller = 0;
  const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(record_.data()); }
  const StackStart start_;
  const TriggerHit hit_;
  std::string record_;  // as triggers see it
  uint64_t matched_ = 0;
};

}  // namespace

void Markers::learn_comm(const Writer& writer) {
  if (!core_.top.options[TraceOption::kRecordCmd] || !writer.tid || writer.comm.empty()) return;
  std::string& known = comms_[writer.tid];
  if (known == writer.comm) return;
  known = writer.comm;
  core_.top.buffer->add_comm(writer.tid, writer.tgid, writer.comm);
}

Status Markers::publish_record(TraceArray& array, const std::string& record, int cpu) {
  if (array.tracing_on() && !array.paused) PB_TRY(core_.start_recording(array));
  OnCpu there(cpu);
  const int status = array.buffer->publish(reinterpret_cast<const uint8_t*>(record.data()),
                                           uint32_t(record.size()));
  if (status == kRingPublished) return {};
  return user_error(EBADF, status == kRingOff ? "Recording is off." : "The buffer is full.");
}

// `record` is that of ftrace:print but for the end of its text, which triggers see without the
// newline that is added.
Status Markers::publish_marker(TraceArray& array, std::string record, bool ends_line,
                               const Writer& writer) {
  const EventFile* file = core_.find_file(array, core_.by_id[kPrintId]);
  RecordTriggers triggers(file ? file->program : nullptr, writer.tid, core_.options.marker_ip);
  const bool triggered = triggers.any() && array.tracing_on() && !array.paused;
  if (triggered) {
    std::string text = record + '\0';
    pad(&text);
    triggers.begin_early();
    triggers.begin(std::move(text));
  }
  if (!ends_line) record += '\n';
  record += '\0';
  pad(&record);
  PB_TRY(publish_record(array, record, writer.cpu));
  if (!triggered) return {};
  triggers.end();
  if (core_.trigger_hooks.marker_written) core_.trigger_hooks.marker_written();
  return {};
}

// A marker of the top instance goes to every instance that takes copies, itself among them.
std::vector<TraceArray*> Markers::targets(TraceArray& array) {
  if (!array.is_top()) return {&array};
  std::vector<TraceArray*> targets = core_.all_arrays();
  std::erase_if(targets, [](const TraceArray* target) {
    return !target->options[TraceOption::kCopyTraceMarker];
  });
  return targets;
}

Result<size_t> Markers::write(TraceArray& array, std::string_view text, const Writer& writer) {
  PB_TRY(markers_allowed(array));
  std::vector<TraceArray*> targets = this->targets(array);
  if (targets.empty()) return user_error(ENODEV, "No instance takes markers.");
  learn_comm(writer);
  size_t written = 0;
  for (TraceArray* target : targets) {
    // What does not fit is not taken; a newline and a NUL always are.
    const size_t room = max_record(*target->buffer) - kPrintFixed - 2;
    written = std::min({text.size(), kMaxMarker, room});
    std::string record = start_record(kPrintId, writer);
    record.append(reinterpret_cast<const char*>(&core_.options.marker_ip), sizeof(uint64_t));
    record.append(text.substr(0, written));
    const bool ends_line = written && text[written - 1] == '\n';
    PB_TRY(publish_marker(*target, std::move(record), ends_line, writer));
  }
  return written;
}

Result<size_t> Markers::write_raw(TraceArray& array, std::string_view bytes, const Writer& writer) {
  PB_TRY(markers_allowed(array));
  if (bytes.size() < sizeof(uint32_t) || bytes.size() > kMaxRawMarker)
    return user_error(EINVAL, "A raw marker has 4 to 4096 bytes.");
  std::vector<TraceArray*> targets = this->targets(array);
  if (targets.empty()) return user_error(ENODEV, "No instance takes markers.");
  for (TraceArray* target : targets)
    if (kRawFixed + bytes.size() > max_record(*target->buffer))  // the kernel counts the id twice
      return user_error(EINVAL, "A raw marker is never cut: it must fit into a sub-buffer.");
  learn_comm(writer);
  std::string record = start_record(kRawDataId, writer);
  record.append(bytes);
  pad(&record);
  for (TraceArray* target : targets) PB_TRY(publish_record(*target, record, writer.cpu));
  return bytes.size();
}

Status Markers::inject(TraceArray& array, LiveEvent* event, std::string_view text,
                       const Writer& writer) {
  auto keep = [this](std::string_view kept) {
    injected_texts_.push_back(std::make_unique<std::string>(kept));
    return injected_texts_.back()->c_str();
  };
  PB_ASSIGN(auto record, make_injected_record(event->call, text, max_record(*array.buffer), keep));
  const int32_t pid = int32_t(writer.tid);
  std::memcpy(record.data() + offsetof(abi::RecordHeader, common_pid), &pid, sizeof pid);
  learn_comm(writer);
  const EventFile* file = core_.find_file(array, event);
  RecordTriggers triggers(file ? file->program : nullptr, writer.tid, 0);
  triggers.begin(record);
  Status status;
  if (!file || wants_injected(*file, record)) status = publish_record(array, record, writer.cpu);
  triggers.end();
  // Recording is off: nothing is wrong with the command.
  return !status.ok() && status.error().errno_value == EBADF ? Status() : status;
}

}  // namespace patchbay
