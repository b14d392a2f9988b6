// SPDX-License-Identifier: MIT
#include "export/perf/perf_data_file.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "trace_dat/trace_dat_write.h"

namespace patchbay {
namespace {

constexpr size_t kFlushAt = 1 << 20;
constexpr uint64_t kRoundRecords = 8192;  // perf holds two rounds in memory to sort them
constexpr size_t kMostRecord = 65528;     // a multiple of eight below 2^16
constexpr size_t kMostStack = 1024;

// tools/perf/util/header.h, event.h
constexpr uint32_t kTracingData = 1, kBuildId = 2, kHostname = 3, kOsRelease = 4, kVersion = 5,
                   kArch = 6, kNrCpus = 7, kCmdline = 11;
constexpr uint32_t kFinishedRound = 68;
constexpr uint16_t kBuildIdHasSize = 1 << 15, kUser = PERF_RECORD_MISC_USER;
constexpr uint64_t kSampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
                                 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW;

struct Section {
  uint64_t offset = 0, size = 0;
};
struct FileHeader {
  char magic[8];
  uint64_t size, attr_size;
  Section attrs, data, event_types;
  uint64_t features[4];
};
static_assert(sizeof(FileHeader) == 104);
struct FileAttr {
  uint8_t attr[PERF_ATTR_SIZE_VER5];
  Section ids;
};
static_assert(sizeof(FileAttr) == 128);

bool is_kernel(uint64_t address) { return address >> 63; }

template <typename T>
void put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}
void put_zeros(std::string* out, size_t until_multiple_of, size_t begin) {
  while ((out->size() - begin) % until_multiple_of) *out += '\0';
}
// A text with its zero, filled up. What would end it sooner is left away.
void put_text(std::string* out, std::string_view text, size_t fill) {
  const size_t begin = out->size();
  *out += text.substr(0, text.find('\0'));
  *out += '\0';
  put_zeros(out, fill, begin);
}
template <typename Size>
void put_sized(std::string* out, std::string_view bytes) {
  put(out, Size(bytes.size()));
  *out += bytes;
}

std::vector<uint8_t> build_id_bytes(std::string_view hex) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < hex.size() && bytes.size() < 20; i += 2)
    bytes.push_back(uint8_t(digit_value(hex[i]) << 4 | digit_value(hex[i + 1])));
  return bytes;
}

// What trace-cmd's files of version 6 begin with, up to the list of threads.
std::string tracing_data(const std::vector<PerfDataFile::Format>& formats) {
  std::string out("\x17\x08\x44tracing0.6", 13);
  out += '\0';
  out += '\0';  // little endian
  out += char(sizeof(long));
  put(&out, uint32_t{4096});  // of a page of a ring, which nobody asks for here
  out += std::string("header_page") + '\0';
  put_sized<uint64_t>(&out, header_page_text(4096));
  out += std::string("header_event") + '\0';
  put_sized<uint64_t>(&out, header_event_text());
  std::map<std::string, std::vector<const PerfDataFile::Format*>> systems;
  std::vector<const PerfDataFile::Format*> ftrace;
  for (const auto& format : formats)
    (format.system == "ftrace" ? ftrace : systems[format.system]).push_back(&format);
  put(&out, uint32_t(ftrace.size()));
  for (const auto* format : ftrace) put_sized<uint64_t>(&out, format->text);
  put(&out, uint32_t(systems.size()));
  for (const auto& [system, members] : systems) {
    out += system + '\0';
    put(&out, uint32_t(members.size()));
    for (const auto* format : members) put_sized<uint64_t>(&out, format->text);
  }
  put(&out, uint32_t{0});           // kallsyms: perf resolves by the mappings
  put(&out, uint32_t{0});           // texts of printk
  put_sized<uint64_t>(&out, "\n");  // threads: perf has them from COMM records
  return out;
}

FileAttr attribute(uint16_t event_id, Section ids) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.size = PERF_ATTR_SIZE_VER5;
  attr.config = event_id;
  attr.sample_period = 1;
  attr.sample_type = kSampleType;
  attr.read_format = PERF_FORMAT_ID;
  attr.sample_id_all = attr.comm = attr.mmap = attr.mmap2 = attr.exclude_guest = 1;
  FileAttr file{};
  std::memcpy(file.attr, &attr, sizeof file.attr);
  file.ids = ids;
  return file;
}

std::string string_feature(std::string_view text) {
  std::string out, body;
  put_text(&body, text, 64);
  put_sized<uint32_t>(&out, body);
  return out;
}

}  // namespace

Result<std::unique_ptr<PerfDataFile>> PerfDataFile::create(const std::string& path) {
  std::unique_ptr<PerfDataFile> file(new PerfDataFile);
  file->path_ = path;
  PB_ASSIGN(file->file_, OutputFile::open(path, O_RDWR | O_TRUNC, 0644));
  if (!file->file_.is_regular())
    return user_error(EINVAL, path +
                                  " is not a regular file, and the head of a perf.data file is "
                                  "written last: give -o FILE.");
  file->out_.assign(sizeof(FileHeader), '\0');
  return file;
}

PerfDataFile::~PerfDataFile() {
  if (!finished_ && file_.is_regular()) file_.remove();
}

Status PerfDataFile::write_out() {
  PB_TRY(file_.write(out_));
  written_ += out_.size();
  out_.clear();
  return {};
}

void PerfDataFile::begin_record(uint32_t type, uint16_t misc) {
  record_ = out_.size();
  put(&out_, type);
  put(&out_, misc);
  put(&out_, uint16_t{0});
}

Status PerfDataFile::end_record() {
  const auto size = uint16_t(out_.size() - record_);
  std::memcpy(out_.data() + record_ + 6, &size, 2);
  if (++records_ % kRoundRecords == 0) {
    begin_record(kFinishedRound, 0);
    out_[record_ + 6] = 8;
  }
  if (out_.size() < kFlushAt) return {};
  return write_out();
}

// What sample_id_all puts behind all records but samples.
void PerfDataFile::put_sample_id(uint64_t ns, uint32_t cpu, int32_t pid, int32_t tid) {
  put(&out_, pid);
  put(&out_, tid);
  put(&out_, ns);
  put(&out_, cpu);
  put(&out_, uint32_t{0});
  put(&out_, uint64_t{0});
}

Status PerfDataFile::comm(int32_t pid, int32_t tid, std::string_view name, uint64_t ns) {
  begin_record(PERF_RECORD_COMM, 0);
  put(&out_, pid);
  put(&out_, tid);
  put_text(&out_, name.substr(0, 4096), 8);
  put_sample_id(ns, 0, pid, tid);
  return end_record();
}

Status PerfDataFile::mapping(const PerfMapping& mapping) {
  const std::vector<uint8_t> id = build_id_bytes(mapping.build_id);
  begin_record(PERF_RECORD_MMAP2, kUser | (id.empty() ? 0 : PERF_RECORD_MISC_MMAP_BUILD_ID));
  put(&out_, mapping.pid);
  put(&out_, mapping.pid);
  put(&out_, mapping.start);
  put(&out_, mapping.size);
  put(&out_, mapping.file_offset);
  const size_t inode = out_.size();  // or the build-id
  out_.append(24, '\0');
  if (!id.empty()) {
    out_[inode] = char(id.size());
    std::memcpy(out_.data() + inode + 4, id.data(), id.size());
  }
  put(&out_, uint32_t{5});  // PROT_READ | PROT_EXEC
  put(&out_, uint32_t{2});  // MAP_PRIVATE
  put_text(&out_, std::string_view(mapping.path).substr(0, 4096), 8);
  put_sample_id(0, 0, mapping.pid, mapping.pid);
  if (!id.empty()) builds_.emplace(mapping.path + '\n' + mapping.build_id, mapping);
  return end_record();
}

Status PerfDataFile::sample(const PerfSample& sample) {
  begin_record(PERF_RECORD_SAMPLE, is_kernel(sample.ip) ? PERF_RECORD_MISC_KERNEL : kUser);
  put(&out_, uint64_t{sample.event_id} + 1);  // ids begin at 1
  put(&out_, sample.ip);
  put(&out_, sample.pid);
  put(&out_, sample.tid);
  put(&out_, sample.ns);
  put(&out_, sample.cpu);
  put(&out_, uint32_t{0});
  put(&out_, uint64_t{1});  // period
  const std::span<const uint64_t> stack =
      sample.stack.first(std::min(sample.stack.size(), kMostStack));
  // Each part of the chain says whether it is of the kernel or of the program.
  const size_t length = out_.size();
  put(&out_, uint64_t{0});
  for (size_t i = 0; i < stack.size(); i++) {
    if (i == 0 || is_kernel(stack[i]) != is_kernel(stack[i - 1]))
      put(&out_, uint64_t(is_kernel(stack[i]) ? PERF_CONTEXT_KERNEL : PERF_CONTEXT_USER));
    put(&out_, stack[i]);
  }
  const uint64_t entries = (out_.size() - length) / 8 - 1;
  std::memcpy(out_.data() + length, &entries, 8);
  // The size and the bytes fill a multiple of eight together.
  const size_t room = kMostRecord - (out_.size() - record_) - 4;
  const size_t bytes = std::min(sample.record.size(), room);
  if (bytes < sample.record.size()) cut_records_++;
  const size_t padded = ((bytes + 4 + 7) & ~size_t{7}) - 4;
  put(&out_, uint32_t(padded));
  out_.append(reinterpret_cast<const char*>(sample.record.data()), bytes);
  out_.append(padded - bytes, '\0');
  return end_record();
}

Status PerfDataFile::lost(uint64_t ns, uint32_t cpu, uint64_t events) {
  begin_record(PERF_RECORD_LOST, 0);
  put(&out_, uint64_t{0});
  put(&out_, events);
  put_sample_id(ns, cpu, 0, 0);
  return end_record();
}

std::string PerfDataFile::build_ids() const {
  std::string out;
  for (const auto& [key, mapping] : builds_) {
    const std::vector<uint8_t> id = build_id_bytes(mapping.build_id);
    std::string name;
    put_text(&name, mapping.path, 64);
    put(&out, uint32_t{0});
    put(&out, uint16_t(kUser | kBuildIdHasSize));
    put(&out, uint16_t(36 + name.size()));
    put(&out, mapping.pid);
    const size_t begin = out.size();
    out.append(24, '\0');
    std::memcpy(out.data() + begin, id.data(), id.size());
    out[begin + 20] = char(id.size());
    out += name;
  }
  return out;
}

Status PerfDataFile::finish(const std::vector<Format>& formats, const About& about) {
  PB_TRY(write_out());
  FileHeader header{};
  std::memcpy(header.magic, "PERFILE2", 8);
  header.size = sizeof header;
  header.attr_size = sizeof(FileAttr);
  header.data = {sizeof header, written_ - sizeof header};

  std::vector<std::pair<uint32_t, std::string>> features;  // in the order of their numbers
  features.emplace_back(kTracingData, tracing_data(formats));
  if (!builds_.empty()) features.emplace_back(kBuildId, build_ids());
  features.emplace_back(kHostname, string_feature(about.hostname));
  features.emplace_back(kOsRelease, string_feature(about.release));
  features.emplace_back(kVersion, string_feature("patchbay " PATCHBAY_VERSION));
  features.emplace_back(kArch, string_feature("x86_64"));
  std::string cpus;
  put(&cpus, about.cpus);  // available, online
  put(&cpus, about.cpus);
  features.emplace_back(kNrCpus, cpus);
  std::string words;
  put(&words, uint32_t{1});
  features.emplace_back(kCmdline, words + string_feature(about.command_line));

  uint64_t at = written_ + features.size() * sizeof(Section);
  for (const auto& [number, body] : features) {
    header.features[number / 64] |= uint64_t{1} << (number % 64);
    put(&out_, Section{at, body.size()});
    at += body.size();
  }
  for (const auto& [number, body] : features) out_ += body;
  header.attrs = {at, formats.size() * sizeof(FileAttr)};
  const uint64_t ids = at + header.attrs.size;
  for (size_t i = 0; i < formats.size(); i++)
    put(&out_, attribute(formats[i].id, {ids + i * 8, 8}));
  for (const Format& format : formats) put(&out_, uint64_t{format.id} + 1);
  PB_TRY(write_out());
  if (::pwrite(file_.fd(), &header, sizeof header, 0) != sizeof header)
    return sys_error("write " + path_, errno);
  PB_TRY(file_.finish());
  finished_ = true;
  return {};
}

}  // namespace patchbay
