// SPDX-License-Identifier: MIT
#include "trace_dat/merge.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstring>
#include <map>
#include <set>

#include "abi/match_abi.h"
#include "abi/trace_dat_abi.h"
#include "base/text.h"
#include "trace_dat/merge_streams.h"
#include "trace_dat/merge_tables.h"
#include "trace_dat/metadata.h"
#include "trace_dat/not_followed_event.h"
#include "trace_dat/record_pages.h"
#include "trace_dat/trace_dat_append.h"
#include "trace_dat/trace_dat_read.h"

namespace patchbay {
namespace {

constexpr size_t kMostOpen = 512;           // files at a time
constexpr uint32_t kMaxCpus = 65536;        // of a file
constexpr size_t kMaxNotedNames = 8;        // in one sentence
constexpr uint64_t kMaxApart = 50'000'000;  // ns between two clock lines of one boot …
constexpr uint64_t kSlope = 50'000;         // … and one in so many of the distance

struct PartBuffer {
  std::string name;
  bool is_kernel = false;
  uint32_t page_size = 4096;
  std::vector<TraceDatReader::CpuData> cpus;
};

// What is kept of a file while its records are read.
struct Part {
  std::string path;
  uint32_t file = 0;  // in MergedFiles
  std::vector<PartBuffer> buffers;
  std::shared_ptr<const MergedIds> ids;
  std::unordered_map<uint64_t, uint64_t> texts;  // printk addresses that are others now
  uint32_t first_image = 0;
  std::unique_ptr<std::vector<ProcessImage>> merged;  // of a file that was merged before
  std::unique_ptr<ImageFinder> finder;                // … of those
  std::map<int32_t, int32_t> outside;                 // MergedPart has it
  bool is_tsc = false;
  ClockLine line;
  uint64_t first_time = 0, last_time = 0;  // of its pages; both 0: it has none
  std::string uname, boot;
  uint64_t trace_id = 0;
};

uint64_t statistic(const std::string& text, const std::string& label) {
  const size_t at = text.find("\n" + label + ": ");
  return at == text.npos ? 0 : std::strtoull(text.c_str() + at + label.size() + 3, nullptr, 10);
}

// A process as option PROCMAPS has it: "PID LINES PROGRAM[\tPROCESS]", numbers hexadecimal.
struct MapsHead {
  int32_t thread = 0, process = 0;
  std::string exe;
};
std::vector<MapsHead> heads_of_maps(std::string_view text) {
  std::vector<MapsHead> heads;
  while (!text.empty()) {
    const std::string line(cut_at(&text, '\n'));
    unsigned pid = 0, process = 0;
    uint64_t lines = 0;
    int path = 0;
    if (std::sscanf(line.c_str(), "%x %" SCNx64 " %n", &pid, &lines, &path) != 2 || path == 0)
      continue;
    MapsHead head{int32_t(pid), int32_t(pid), line.substr(size_t(path))};
    const size_t tab = head.exe.find('\t');
    if (tab != head.exe.npos && std::sscanf(head.exe.c_str() + tab, " %x", &process) == 1) {
      head.process = int32_t(process);
      head.exe.resize(tab);
    }
    heads.push_back(std::move(head));
    for (; lines > 0 && !text.empty(); lines--) cut_at(&text, '\n');
  }
  return heads;
}

struct ThreadSpan {
  uint64_t first = 0, last = 0, events = 0;
};

// The number of a thread here, of its number in its own namespace.
int32_t outside_of(const std::map<int32_t, int32_t>& numbers, int32_t tid) {
  const auto found = numbers.find(tid);
  return found == numbers.end() ? tid : found->second;
}

class Merge {
 public:
  explicit Merge(int version) : files_(most_open()) { options_.version = version; }
  Status add(const MergedPart& part);
  void add_without_file(const MergedPart& part);
  // What the parts do not have themselves. After the parts.
  Status add_not_followed(const std::vector<NotFollowed>& what);
  Status check() const;
  Result<MergeResult> write(OutputFile* output);

 private:
  static size_t most_open();
  void add_images(const MergedPart& from, const TraceDatReader& file, Part* part);
  void add_comms(const TraceDatReader& file, Part* part);
  ProcessImage image_of(const MergedPart& from, const TraceDatReader& file) const;
  void add_buffers(const TraceDatReader& file, Part* part);
  void find_times(Part* part);
  const Part& clock_part() const;
  Status lay_out();
  uint32_t output_of(const PartBuffer& buffer) const;
  Status merge_cpu(uint32_t output, uint32_t cpu, TraceDatAppender* writer);
  void take_own_events(uint32_t cpu, uint64_t until, RecordPages* pages);
  void name_outside(const Part& part, abi::RecordHeader* header, uint8_t* record);
  void take_record(const MergedRecord& record, bool is_kernel, uint32_t owner, RecordPages* pages);
  ThreadSpan* span_of(const Part& part, int32_t tid, uint64_t time);
  void finish_threads();
  TraceDatMetadata metadata();
  uint64_t room_for_threads() const;
  void add_notes();

  TraceDatOptions options_;
  std::vector<std::string> outputs_{""};  // names of the buffers
  bool has_kernel_ = false;
  MergedFiles files_;
  std::vector<Part> parts_;
  std::set<std::pair<uint64_t, uint64_t>> inodes_;
  MergedFormats formats_;
  MergedNames names_;
  MergedTexts texts_;
  std::vector<ProcessImage> images_;
  std::vector<uint32_t> image_of_part_;    // the first one of each
  std::vector<NotFollowed> not_followed_;  // of files that were merged before, and new
  // Events of the merged file itself, by CPU in order of time, and how many of them are written.
  struct OwnEvents {
    std::multimap<uint64_t, std::vector<uint8_t>> by_time;
    decltype(by_time)::const_iterator next;
  };
  std::map<uint32_t, OwnEvents> own_events_;
  std::map<int32_t, std::string> comms_;                  // the last one of each thread
  std::vector<std::map<int32_t, std::string>> comms_of_;  // by image
  std::string process_maps_;
  std::vector<std::string> matches_;
  std::vector<ImageCounts> cpus_;
  std::unordered_map<uint64_t, ThreadSpan> spans_;  // by image and thread
  MergeResult result_;
  uint64_t too_large_ = 0, moved_texts_ = 0;
  uint32_t damaged_pages_ = 0, damaged_formats_ = 0;
  std::set<std::pair<uint32_t, int32_t>> unseen_;  // threads of pid namespaces, by image
  // The thread of the last record of a file.
  struct Last {
    int32_t tid = 0;
    ThreadSpan* span = nullptr;
  };
  std::vector<Last> last_;  // by part
};

// Descriptors are for others too: the spools of the output, what the caller has.
size_t Merge::most_open() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMostOpen;
  return std::clamp<size_t>(size_t(limit.rlim_cur) / 2, 4, kMostOpen);
}

// --- what is known of a file

// What the caller says.
ProcessImage said_of(const MergedPart& from) {
  ProcessImage image;
  image.pid = from.pid;
  image.parent = from.parent;
  image.inside = from.inside;
  image.begin_ns = from.begin_ns;
  image.end_ns = from.end_ns;
  image.exe = from.exe;
  image.words = from.words;
  image.note = from.note;
  return image;
}

// It has recorded nothing, and is in the list of programs.
void Merge::add_without_file(const MergedPart& from) {
  images_.push_back(said_of(from));
  names_.add("");
  comms_of_.emplace_back();
}

Status Merge::add(const MergedPart& from) {
  image_of_part_.push_back(uint32_t(images_.size()));
  if (from.path.empty()) return add_without_file(from), Status();
  struct stat status {};
  if (::stat(from.path.c_str(), &status) != 0) return sys_error("open " + from.path, errno);
  if (!inodes_.insert({status.st_dev, status.st_ino}).second)
    return user_error(EINVAL, from.path + " is named twice, or under two names.");
  PB_ASSIGN(auto file, TraceDatReader::open(from.path));
  Part part;
  part.path = from.path;
  part.file = files_.add(from.path, status.st_dev, status.st_ino);
  part.outside = from.outside;
  part.is_tsc = file->is_tsc();
  part.line = file->clock_line();
  PB_ASSIGN(part.ids, formats_.add(*file));
  damaged_formats_ += file->malformed_formats();
  part.texts = texts_.add(file->printk_formats());
  moved_texts_ += part.texts.size();
  for (const TraceDatReader::Part& option : file->options()) {
    const std::string body = option.body.substr(0, option.body.find('\0'));
    if (option.id == abi::kDatUname) part.uname = body;
    if (option.id == abi::kDatBoot) part.boot = body;
    if (option.id == abi::kDatProcMaps) process_maps_ += body;
    if (option.id == abi::kDatTraceId && option.body.size() >= 8)
      std::memcpy(&part.trace_id, option.body.data(), 8);
    if (option.id != abi::kDatMatches) continue;
    for (std::string& line : split_lines(body))
      if (std::find(matches_.begin(), matches_.end(), line) == matches_.end())
        matches_.push_back(std::move(line));
  }
  if (!process_maps_.empty() && process_maps_.back() != '\n') process_maps_ += '\n';
  add_buffers(*file, &part);
  if (part.first_time == 0 && part.last_time == 0) part.is_tsc = true;  // nothing to convert
  add_images(from, *file, &part);
  add_comms(*file, &part);
  parts_.push_back(std::move(part));
  return {};
}

void Merge::add_buffers(const TraceDatReader& file, Part* part) {
  const bool has_kernel = lowest_kernel_id(file) < 65536 && file.buffers().size() > 1;
  has_kernel_ |= has_kernel;
  for (const TraceDatReader::Buffer& buffer : file.buffers()) {
    const bool is_kernel = has_kernel && &buffer == &file.buffers().back();
    part->buffers.push_back({buffer.name, is_kernel, buffer.page_size, buffer.cpus});
    for (const TraceDatReader::CpuData& cpu : buffer.cpus) {
      uint64_t first = 0, last = 0;
      if (cpu.cpu >= kMaxCpus || cpu.size < buffer.page_size) continue;
      if (!files_.read(part->file, cpu.offset, &first, 8) ||
          !files_.read(part->file, cpu.offset + cpu.size - buffer.page_size, &last, 8))
        continue;
      part->first_time = part->first_time ? std::min(part->first_time, first) : first;
      part->last_time = std::max(part->last_time, last);
    }
  }
}

ProcessImage Merge::image_of(const MergedPart& from, const TraceDatReader& file) const {
  ProcessImage image = said_of(from);
  for (const TraceDatReader::Part& option : file.options())
    if (option.id == abi::kDatProcMaps)
      image.process_maps += option.body.substr(0, option.body.find('\0'));
  const std::vector<MapsHead> heads = heads_of_maps(image.process_maps);
  for (const MapsHead& head : heads) {
    if (image.pid == 0) image.pid = head.process;
    if (image.exe.empty() && outside_of(from.outside, head.process) == image.pid && head.exe != "?")
      image.exe = head.exe;
    ImageThread thread;
    thread.tid = outside_of(from.outside, head.thread);
    thread.process = outside_of(from.outside, head.process);
    image.threads.push_back(std::move(thread));
  }
  for (const std::string& text : file.cpu_stats()) {
    if (!text.starts_with("CPU: ")) continue;
    const unsigned long cpu = std::strtoul(text.c_str() + 5, nullptr, 10);
    if (cpu >= kMaxCpus) continue;
    if (image.cpus.size() <= cpu) image.cpus.resize(cpu + 1);
    image.cpus[cpu] = {statistic(text, "entries"), statistic(text, "overrun"),
                       statistic(text, "dropped events")};
  }
  return image;
}

void Merge::add_images(const MergedPart& from, const TraceDatReader& file, Part* part) {
  part->first_image = uint32_t(images_.size());
  if (file.images().images.empty()) {
    images_.push_back(image_of(from, file));
    names_.add(file.kallsyms());
  } else {
    part->merged = std::make_unique<std::vector<ProcessImage>>(file.images().images);
    part->finder = std::make_unique<ImageFinder>(*part->merged);
    for (const ProcessImage& image : *part->merged) {
      images_.push_back(image);
      names_.add(file.kallsyms(), image.names);
    }
  }
  const auto& skipped = file.images().not_followed;
  not_followed_.insert(not_followed_.end(), skipped.begin(), skipped.end());
  for (size_t i = part->first_image; i < images_.size(); i++) {
    const std::vector<ImageCounts>& cpus = images_[i].cpus;
    if (cpus_.size() < cpus.size()) cpus_.resize(cpus.size());
    for (size_t cpu = 0; cpu < cpus.size(); cpu++) {
      cpus_[cpu].entries += cpus[cpu].entries;
      cpus_[cpu].overrun += cpus[cpu].overrun;
      cpus_[cpu].dropped += cpus[cpu].dropped;
    }
  }
}

void Merge::add_comms(const TraceDatReader& file, Part* part) {
  std::map<int32_t, std::string> names;
  std::string_view lines = file.cmdlines();
  while (!lines.empty()) {
    const std::string_view line = cut_at(&lines, '\n');
    const size_t blank = line.find(' ');
    int32_t tid = 0;
    if (blank == line.npos || !to_number(line.substr(0, blank), &tid)) continue;
    names[outside_of(part->outside, tid)] = line.substr(blank + 1);
  }
  for (const auto& [tid, name] : names) comms_[tid] = name;
  if (!part->finder) {
    comms_of_.push_back(std::move(names));
    return;
  }
  for (size_t i = part->first_image; i < images_.size(); i++) {
    std::map<int32_t, std::string>& own = comms_of_.emplace_back();
    for (const ImageThread& thread : images_[i].threads)
      if (!thread.comm.empty()) own[thread.tid] = thread.comm;
  }
}

// The thread is one of the program that executed it, so that it is found there, and has its name.
Status Merge::add_not_followed(const std::vector<NotFollowed>& what) {
  not_followed_.insert(not_followed_.end(), what.begin(), what.end());
  const ClockLine line = clock_part().line;
  const bool is_tsc = clock_part().is_tsc;
  for (const NotFollowed& one : what) {
    if (one.cpu < 0 || uint32_t(one.cpu) >= kMaxCpus || one.part >= image_of_part_.size()) continue;
    PB_ASSIGN(const uint16_t id, formats_.add(not_followed_event()));
    const uint64_t time = is_tsc ? line.to_tsc(one.time_ns) : one.time_ns;
    own_events_[uint32_t(one.cpu)].by_time.emplace(time, not_followed_record(one, id));
    const uint32_t image = image_of_part_[one.part];
    ThreadSpan& span = spans_[uint64_t(image) << 32 | uint32_t(one.pid)];
    span.first = span.first ? std::min(span.first, time) : time;
    span.last = std::max(span.last, time);
    if (one.comm.empty()) continue;
    comms_.try_emplace(one.pid, one.comm);
    comms_of_[image].try_emplace(one.pid, one.comm);
  }
  for (auto& [cpu, events] : own_events_) events.next = events.by_time.begin();
  return {};
}

// --- whether they belong together

// Its line holds for all: the file that recorded for the longest time knows the clock best.
const Part& Merge::clock_part() const {
  return *std::max_element(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
    return a.last_time - a.first_time < b.last_time - b.first_time;
  });
}

Status Merge::check() const {
  const Part& clock = clock_part();
  const Part* named = nullptr;
  for (const Part& part : parts_) {
    if (part.first_time == 0 && part.last_time == 0) continue;
    if (!named && !part.uname.empty()) named = &part;
    if (part.is_tsc != clock.is_tsc) {
      const Part& ticks = part.is_tsc ? part : clock;
      const Part& others = part.is_tsc ? clock : part;
      return user_error(EINVAL, ticks.path + " has ticks of the processor as its clock, " +
                                    others.path +
                                    " has not: there is no order between their events.");
    }
    if (named && !part.uname.empty() && part.uname != named->uname)
      return user_error(EINVAL, named->path + " was recorded on '" + named->uname + "', " +
                                    part.path + " on '" + part.uname +
                                    "': there is no order between the events of two machines.");
    if (!part.is_tsc) continue;
    const uint64_t here = part.line.to_ns(part.first_time);
    const uint64_t there = clock.line.to_ns(part.first_time);
    const uint64_t apart = std::min(here - there, there - here);
    const uint64_t from = clock.line.to_ns(clock.first_time);
    const uint64_t distance = std::min(there - from, from - there);
    if (apart > kMaxApart + distance / kSlope)
      return user_error(EINVAL, part.path + " and " + clock.path +
                                    " were not recorded since one boot of one " +
                                    "machine: their clocks are " +
                                    std::to_string(apart / 1'000'000) + " ms apart.");
  }
  return {};
}

// --- buffers

uint32_t Merge::output_of(const PartBuffer& buffer) const {
  if (buffer.is_kernel) return uint32_t(outputs_.size() - 1);
  return uint32_t(std::find(outputs_.begin(), outputs_.end(), buffer.name) - outputs_.begin());
}

Status Merge::lay_out() {
  std::string kernel = "kernel";
  for (const Part& part : parts_) {
    for (const PartBuffer& buffer : part.buffers) {
      const bool is_new =
          std::find(outputs_.begin(), outputs_.end(), buffer.name) == outputs_.end();
      if (is_new && !buffer.is_kernel) outputs_.push_back(buffer.name);
    }
  }
  while (std::find(outputs_.begin(), outputs_.end(), kernel) != outputs_.end()) kernel += '_';
  if (has_kernel_) outputs_.push_back(kernel);
  std::vector<uint32_t> sizes(outputs_.size(), 0);
  uint32_t cpus = 1, largest = 0;
  for (const Part& part : parts_) {
    for (const PartBuffer& buffer : part.buffers) {
      uint32_t& size = sizes[output_of(buffer)];
      size = std::max(size, buffer.page_size);
      largest = std::max(largest, size);
      for (const TraceDatReader::CpuData& cpu : buffer.cpus)
        if (cpu.cpu < kMaxCpus) cpus = std::max(cpus, cpu.cpu + 1);
    }
  }
  for (uint32_t& size : sizes)
    if (size == 0 || options_.version == 6) size = std::max(largest, 4096u);
  if (!own_events_.empty()) cpus = std::max(cpus, own_events_.rbegin()->first + 1);
  options_.nr_cpus = std::max(cpus, uint32_t(cpus_.size()));
  options_.merged = true;
  options_.page_size = sizes[0];
  for (size_t i = 1; i < outputs_.size(); i++)
    options_.instances.push_back({outputs_[i], sizes[i]});
  cpus_.resize(options_.nr_cpus);
  return {};
}

// --- records

ThreadSpan* Merge::span_of(const Part& part, int32_t tid, uint64_t time) {
  uint32_t image = 0;
  if (part.finder) {
    image = part.finder->find(tid, part.is_tsc ? part.line.to_ns(time) : time);
    if (image == ImageFinder::kNone) image = 0;
  }
  return &spans_[uint64_t(part.first_image + image) << 32 | uint32_t(tid)];
}

// A thread that had ended before it was seen keeps the number that it had inside.
void Merge::name_outside(const Part& part, abi::RecordHeader* header, uint8_t* record) {
  const auto found = part.outside.find(header->common_pid);
  if (found == part.outside.end()) {
    unseen_.emplace(part.first_image, header->common_pid);
    return;
  }
  header->common_pid = found->second;
  std::memcpy(record + offsetof(abi::RecordHeader, common_pid), &found->second,
              sizeof found->second);
}

void Merge::take_record(const MergedRecord& from, bool is_kernel, uint32_t owner,
                        RecordPages* pages) {
  const Part& part = parts_[owner];
  abi::RecordHeader header{};
  std::memcpy(&header, from.record.data(), std::min(sizeof header, from.record.size()));
  if (from.lost_before) pages->lose(from.lost_before);
  if (from.record.size() < 4 || !pages->add(from.time, from.record)) {
    too_large_++;
    return pages->lose(1);
  }
  result_.events++;
  const MergedIds& ids = *part.ids;
  const uint16_t id = header.common_type < ids.ids.size() ? ids.ids[header.common_type] : 0;
  if (id != header.common_type) std::memcpy(pages->last(), &id, sizeof id);
  if (is_kernel) return;  // of any process, and counted nowhere
  if (!part.outside.empty()) name_outside(part, &header, pages->last());
  if (!part.texts.empty() && id != 0) {
    const uint16_t at = ids.text_offset[header.common_type];
    uint64_t address = 0;
    if (at != 0 && at + sizeof address <= from.record.size()) {
      std::memcpy(&address, from.record.data() + at, sizeof address);
      if (auto moved = part.texts.find(address); moved != part.texts.end())
        std::memcpy(pages->last() + at, &moved->second, sizeof address);
    }
  }
  Last& last = last_[owner];
  if (!last.span || last.tid != header.common_pid || part.finder)
    last = {header.common_pid, span_of(part, header.common_pid, from.time)};
  if (last.span->events++ == 0 && last.span->first == 0) last.span->first = from.time;
  last.span->first = std::min(last.span->first, from.time);
  last.span->last = std::max(last.span->last, from.time);
}

// Those before `until`. They are counted nowhere: no program has recorded them.
void Merge::take_own_events(uint32_t cpu, uint64_t until, RecordPages* pages) {
  const auto own = own_events_.find(cpu);
  if (own == own_events_.end()) return;
  OwnEvents& events = own->second;
  for (; events.next != events.by_time.end() && events.next->first < until; ++events.next)
    pages->add(events.next->first, events.next->second);
}

Status Merge::merge_cpu(uint32_t output, uint32_t cpu, TraceDatAppender* writer) {
  std::vector<MergedArea> areas;
  bool is_kernel = false;
  for (uint32_t i = 0; i < parts_.size(); i++) {
    for (const PartBuffer& buffer : parts_[i].buffers) {
      if (output_of(buffer) != output) continue;
      is_kernel |= buffer.is_kernel;
      for (const TraceDatReader::CpuData& data : buffer.cpus)
        if (data.cpu == cpu && data.size > 0)
          areas.push_back({parts_[i].file, i, data.offset, data.size, buffer.page_size});
    }
  }
  const bool has_own = output == 0 && own_events_.contains(cpu);
  if (areas.empty() && !has_own) return {};
  const uint32_t page_size =
      output == 0 ? options_.page_size : options_.instances[output - 1].page_size;
  RecordPages pages(page_size,
                    [&](const PageImage& page) { writer->append_page(output, cpu, page); });
  MergedStreams streams(&files_, areas);
  MergedRecord record;
  while (streams.next(&record)) {
    if (has_own) take_own_events(cpu, record.time, &pages);
    take_record(record, is_kernel, areas[record.area].owner, &pages);
  }
  if (has_own) take_own_events(cpu, ~uint64_t{0}, &pages);
  pages.flush();
  damaged_pages_ += streams.damaged_pages();
  for (uint32_t area : streams.unread())
    result_.notes.push_back(parts_[areas[area].owner].path +
                            " could not be read to the end of CPU " + std::to_string(cpu) + ".");
  return {};
}

// --- what decodes them

void Merge::finish_threads() {
  const ClockLine& line = clock_part().line;
  const bool is_tsc = clock_part().is_tsc;
  std::vector<std::map<int32_t, ImageThread>> threads(images_.size());
  for (size_t i = 0; i < images_.size(); i++) {
    for (ImageThread& thread : images_[i].threads) {
      thread.first_ns = thread.last_ns = thread.events = 0;
      threads[i][thread.tid] = std::move(thread);
    }
    images_[i].threads.clear();
  }
  for (const auto& [key, span] : spans_) {
    ImageThread& thread = threads[key >> 32][int32_t(uint32_t(key))];
    thread.first_ns = is_tsc ? line.to_ns(span.first) : span.first;
    thread.last_ns = is_tsc ? line.to_ns(span.last) : span.last;
    thread.events = span.events;
  }
  for (size_t i = 0; i < images_.size(); i++) {
    for (auto& [tid, thread] : threads[i]) {
      thread.tid = tid;
      if (thread.process == 0) thread.process = images_[i].pid;
      if (auto comm = comms_of_[i].find(tid); comm != comms_of_[i].end())
        thread.comm = comm->second;
      images_[i].threads.push_back(std::move(thread));
    }
  }
}

TraceDatMetadata Merge::metadata() {
  const Part& clock = clock_part();
  TraceDatMetadata out;
  out.formats = formats_.take_formats();
  out.printk_formats = texts_.text();
  std::vector<std::vector<ImageName>> differences = names_.differences();
  size_t renamed = 0;
  for (size_t i = 0; i < images_.size(); i++) {
    renamed += !differences[i].empty();
    images_[i].names = std::move(differences[i]);
  }
  if (renamed)
    result_.notes.push_back(
        "Some addresses are of different functions in different processes: trace-cmd and "
        "KernelShark show those of the process that was named first, patchbay each its own.");
  out.kallsyms = names_.text();
  for (const auto& [tid, comm] : comms_) out.cmdlines += std::to_string(tid) + " " + comm + "\n";
  out.process_maps = process_maps_;
  for (const ImageCounts& counts : cpus_)
    out.cpu_stats.push_back("entries: " + std::to_string(counts.entries) +
                            "\noverrun: " + std::to_string(counts.overrun) +
                            "\ndropped events: " + std::to_string(counts.dropped) + "\n");
  out.tsc = clock.is_tsc;
  out.clock_line = clock.line;
  out.uname = clock.uname;
  for (const std::string& line : matches_) out.matches += line + "\n";
  for (const Part& part : parts_) {
    if (out.uname.empty()) out.uname = part.uname;
    if (out.boot.empty()) out.boot = part.boot;
    out.trace_id = (out.trace_id << 7 | out.trace_id >> 57) ^ part.trace_id;
  }
  return out;
}

// What the lines of threads will need, which are known when all records were read.
uint64_t Merge::room_for_threads() const {
  constexpr uint64_t kLine = 120, kUnknown = 64 << 10;
  uint64_t lines = 0;
  for (const auto& comms : comms_of_) lines += comms.size();
  return lines * kLine + kUnknown;
}

void Merge::add_notes() {
  std::vector<std::string> several = formats_.several();
  const size_t count = several.size();
  if (count > kMaxNotedNames) several.resize(kMaxNotedNames);
  if (count)
    result_.notes.push_back(join(several, ", ") + (count > several.size() ? " and others" : "") +
                            (count == 1 ? " has" : " have") +
                            " several definitions: each has an id of its own.");
  std::map<int32_t, std::vector<std::pair<uint64_t, uint64_t>>> times;
  for (const ProcessImage& image : images_)
    for (const ImageThread& thread : image.threads)
      if (thread.events) times[thread.tid].push_back({thread.first_ns, thread.last_ns});
  uint64_t at_once = 0;
  for (auto& [tid, spans] : times) {
    std::sort(spans.begin(), spans.end());
    for (size_t i = 1; i < spans.size(); i++)
      if (spans[i].first < spans[i - 1].second && tid != 0) {
        at_once++;
        break;
      }
  }
  const auto say = [this](uint64_t number, const char* one, const char* many) {
    if (number) result_.notes.push_back(std::to_string(number) + (number == 1 ? one : many));
  };
  say(at_once, " thread id is in two of them at one time",
      " thread ids are in two of them at one time");
  if (at_once)
    result_.notes.back() +=
        " (a process that was recorded twice, or containers): names are those of the later one.";
  say(unseen_.size(), " thread of a pid namespace ended unseen: it has its number inside.",
      " threads of pid namespaces ended unseen: they have their numbers inside.");
  say(damaged_pages_, " damaged page was merged up to the damage.",
      " damaged pages were merged up to the damage.");
  say(damaged_formats_, " event format could not be understood.",
      " event formats could not be understood.");
  say(too_large_, " event was larger than a page: it counts as lost.",
      " events were larger than a page: they count as lost.");
}

Result<MergeResult> Merge::write(OutputFile* output) {
  if (inodes_.contains({output->id().device, output->id().inode}))
    return user_error(
        EINVAL, output->path() + " is one of the recordings to be merged: name another output.");
  PB_TRY(lay_out());
  TraceDatMetadata made = metadata();
  made.images = ProcessImages{images_, not_followed_}.text();
  PB_ASSIGN(auto writer, TraceDatAppender::open(output, options_, made, room_for_threads()));
  last_.resize(parts_.size());
  for (uint32_t output = 0; output < outputs_.size(); output++)
    for (uint32_t cpu = 0; cpu < options_.nr_cpus; cpu++)
      PB_TRY(merge_cpu(output, cpu, writer.get()));
  finish_threads();
  add_notes();
  made.images = ProcessImages{images_, not_followed_}.text();
  PB_ASSIGN(result_.file, writer->finish(made));
  result_.events -= std::min(result_.events, result_.file.events_lost);
  return std::move(result_);
}

}  // namespace

Result<MergeResult> merge_trace_dats(const std::vector<MergedPart>& parts,
                                     const std::vector<NotFollowed>& not_followed,
                                     OutputFile* output, int version) {
  const bool has_file = std::any_of(parts.begin(), parts.end(),
                                    [](const MergedPart& part) { return !part.path.empty(); });
  if (!has_file) return user_error(EINVAL, "There are no recordings to merge.");
  Merge merge(version);
  for (const MergedPart& part : parts) PB_TRY(merge.add(part));
  PB_TRY(merge.check());
  PB_TRY(merge.add_not_followed(not_followed));
  return merge.write(output);
}

Result<MergeResult> merge_trace_dats(const std::vector<MergedPart>& parts,
                                     const std::vector<NotFollowed>& not_followed,
                                     const std::string& path, int version) {
  PB_ASSIGN(OutputFile output, OutputFile::open(path, O_RDWR, 0644));
  Result<MergeResult> merged = merge_trace_dats(parts, not_followed, &output, version);
  if (!merged.ok() && output.is_made()) output.remove();
  return merged;
}

}  // namespace patchbay
