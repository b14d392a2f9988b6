// SPDX-License-Identifier: MIT
#include "trace_dat/trace_dat_read.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "abi/match_abi.h"
#include "abi/trace_dat_abi.h"

namespace patchbay {

namespace {

constexpr uint64_t kMaxText = uint64_t{256} << 20;  // one section or part
constexpr int kMaxOptionSections = 64;
constexpr uint32_t kMaxCpus = 65536;
constexpr size_t kMaxBuffers = 4096;
constexpr uint32_t kMaxPage = 16 << 20;

const char* part_name(uint16_t id) {
  switch (id) {
    case abi::kDatOptionDone:
      return "options";
    case abi::kDatDate:
      return "date";
    case abi::kDatCpuStat:
      return "cpu stat";
    case abi::kDatBuffer:
      return "buffer";
    case abi::kDatTraceClock:
      return "trace clock";
    case abi::kDatMatches:
      return "matches";
    case abi::kDatBoot:
      return "boot";
    case abi::kDatImages:
      return "processes";
    case abi::kDatUname:
      return "uname";
    case abi::kDatOffset:
      return "time offset";
    case abi::kDatCpuCount:
      return "cpu count";
    case abi::kDatVersion:
      return "version";
    case abi::kDatProcMaps:
      return "process maps";
    case abi::kDatTraceId:
      return "trace id";
    case abi::kDatTsc2Nsec:
      return "tsc to ns";
    case abi::kDatStrings:
      return "strings";
    case abi::kDatHeaderInfo:
      return "header info";
    case abi::kDatFtraceFormats:
      return "ftrace formats";
    case abi::kDatEventFormats:
      return "event formats";
    case abi::kDatKallsyms:
      return "kallsyms";
    case abi::kDatPrintk:
      return "printk formats";
    case abi::kDatCmdlines:
      return "command lines";
    case abi::kDatBufferText:
      return "text buffer";
    default:
      return "unknown";
  }
}

std::string trim_nul(std::string text) {
  text.resize(std::min(text.size(), text.find('\0')));
  return text;
}

}  // namespace

std::string describe_format(const uint8_t* start, size_t size) {
  struct Known {
    const char* magic;
    size_t size;
    const char* what;
  };
  static const Known known[] = {
      {"\x7f"
       "ELF",
       4, "an ELF file"},
      {"\x28\xb5\x2f\xfd", 4, "a file compressed with zstd"},
      {"\x1f\x8b", 2, "a file compressed with gzip"},
      {"PERFILE2", 8, "a perf.data file"},
      {"# tracer", 8, "the text of a trace file"},
      {"\xfd"
       "7zXZ",
       5, "a file compressed with xz"},
      {"PK\x03\x04", 4, "a zip archive"},
      {"SQLite format 3", 15, "an SQLite database"},
  };
  for (const Known& k : known)
    if (size >= k.size && std::memcmp(start, k.magic, k.size) == 0) return k.what;
  return "";
}

// Reads forward through a range of the file; every read says whether it fitted.
class TraceDatReader::Cursor {
 public:
  Cursor(const TraceDatReader* file, uint64_t at, uint64_t end) : file_(file), at_(at), end_(end) {}
  uint64_t at() const { return at_; }
  uint64_t left() const { return end_ > at_ ? end_ - at_ : 0; }
  bool skip(uint64_t size) {
    if (size > left()) return false;
    at_ += size;
    return true;
  }
  template <typename T>
  bool number(T* out) {
    if (left() < sizeof *out || !file_->read_at(at_, out, sizeof *out)) return false;
    at_ += sizeof *out;
    return true;
  }
  bool bytes(uint64_t size, std::string* out) {
    if (size > left() || size > kMaxText) return false;
    out->resize(size);
    if (size && !file_->read_at(at_, out->data(), size)) return false;
    at_ += size;
    return true;
  }
  bool text(std::string* out) {  // up to a NUL, at most 1000 bytes
    char buffer[1000];
    size_t size = size_t(std::min<uint64_t>(sizeof buffer, left()));
    if (!file_->read_at(at_, buffer, size)) return false;
    const void* end = std::memchr(buffer, 0, size);
    if (!end) return false;
    *out = buffer;
    at_ += out->size() + 1;
    return true;
  }
  bool expect(const char* word, size_t size) {
    std::string found;
    return bytes(size, &found) && std::memcmp(found.data(), word, size) == 0;
  }

 private:
  const TraceDatReader* file_;
  uint64_t at_, end_;
};

Error TraceDatReader::damaged(const std::string& what) const {
  return user_error(EINVAL, name_ + ": damaged trace.dat: " + what);
}

Result<std::unique_ptr<TraceDatReader>> TraceDatReader::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return sys_error("open " + path, errno);
  return from_fd(std::move(fd), path);
}

Result<std::unique_ptr<TraceDatReader>> TraceDatReader::from_fd(UniqueFd fd,
                                                                const std::string& name) {
  std::unique_ptr<TraceDatReader> reader(new TraceDatReader());
  reader->name_ = name;
  reader->fd_ = std::move(fd);
  PB_TRY(reader->load());
  return reader;
}

bool TraceDatReader::read_at(uint64_t offset, void* to, size_t size) const {
  return read_exactly(fd_.get(), offset, to, size);
}

Status TraceDatReader::load() {
  struct stat status;
  if (::fstat(fd_.get(), &status) != 0) return sys_error("stat " + name_, errno);
  if (!S_ISREG(status.st_mode)) return user_error(EINVAL, name_ + ": not a regular file");
  file_size_ = uint64_t(status.st_size);
  Cursor cursor(this, 0, file_size_);
  uint8_t start[abi::kTraceDatMagicSize] = {};
  size_t size = size_t(std::min<uint64_t>(sizeof start, file_size_));
  read_at(0, start, size);
  if (std::memcmp(start, abi::kTraceDatMagic, sizeof start) != 0) {
    if (file_size_ == 0)
      return user_error(EINVAL, name_ + ": not a trace.dat or buffer file: it is empty");
    std::string hex, what = describe_format(start, size);
    char byte[4];
    for (size_t i = 0; i < std::min<size_t>(size, 8); i++) {
      snprintf(byte, sizeof byte, i ? " %02x" : "%02x", start[i]);
      hex += byte;
    }
    return user_error(EINVAL, name_ + ": not a trace.dat or buffer file (starts with " + hex +
                                  (what.empty() ? ")" : ": " + what + ")"));
  }
  cursor.skip(sizeof start);
  std::string version;
  uint8_t endian = 0, long_size = 0;
  if (!cursor.text(&version) || !cursor.number(&endian) || !cursor.number(&long_size) ||
      !cursor.number(&page_size_))
    return damaged("it ends within its header");
  if (version != "6" && version != "7")
    return user_error(EINVAL, name_ + ": a trace.dat of version " + version.substr(0, 8) +
                                  "; versions 6 and 7 can be read");
  if (endian != 0)
    return user_error(EINVAL, name_ + ": recorded on a big-endian machine, which is not supported");
  if (long_size != 8)
    return user_error(EINVAL, name_ + ": recorded on a 32-bit machine, which is not supported");
  if (page_size_ < 64 || page_size_ > kMaxPage)
    return damaged("its page size is " + std::to_string(page_size_));
  version_ = version[0] - '0';
  return version_ == 6 ? load_v6(&cursor) : load_v7(&cursor);
}

Status TraceDatReader::load_event_formats(Cursor* cursor) {
  uint32_t systems = 0;
  if (!cursor->number(&systems)) return damaged("the event formats are cut short");
  for (uint32_t i = 0; i < systems; i++) {
    std::string system;
    if (!cursor->text(&system)) return damaged("the event formats are cut short");
    PB_TRY(load_formats(cursor, system));
  }
  return {};
}

// Those of the system ftrace, a kernel's tracers, stand in a part of their own.
Status TraceDatReader::load_formats(Cursor* cursor, const std::string& system) {
  uint32_t count = 0;
  if (!cursor->number(&count)) return damaged("the event formats are cut short");
  for (uint32_t i = 0; i < count; i++) {
    uint64_t size = 0;
    std::string text;
    if (!cursor->number(&size) || !cursor->bytes(size, &text))
      return damaged("an event format of system " + system.substr(0, 64) + " is cut short");
    Result<EventCall> event = parse_format(system, text);
    if (event.ok()) {
      events_.push_back(std::move(*event));
      format_texts_.push_back(std::move(text));
    } else {
      malformed_formats_++;
    }
  }
  return {};
}

void TraceDatReader::clip(CpuData* cpu, uint32_t page_size) const {
  uint64_t there = cpu->offset < file_size_ ? file_size_ - cpu->offset : 0;
  cpu->cut = cpu->size > there;
  cpu->size = std::min(cpu->size, there) / page_size * page_size;
}

// --- version 6: parts one behind the other
// --------------------------------------------------------

Status TraceDatReader::load_v6(Cursor* c) {
  uint64_t start = c->at();
  auto part = [&](uint16_t id) {
    sections_.push_back({part_name(id), id, start, c->at() - start, ""});
    start = c->at();
  };
  uint64_t size = 0;
  uint32_t small = 0;
  if (!c->expect("header_page", 12) || !c->number(&size) || !c->skip(size) ||
      !c->expect("header_event", 13) || !c->number(&size) || !c->skip(size))
    return damaged("no header_page and header_event behind the file header");
  part(abi::kDatHeaderInfo);
  PB_TRY(load_formats(c, "ftrace"));
  part(abi::kDatFtraceFormats);
  PB_TRY(load_event_formats(c));
  part(abi::kDatEventFormats);
  if (!c->number(&small) || !c->bytes(small, &kallsyms_)) return damaged("kallsyms is cut short");
  part(abi::kDatKallsyms);
  if (!c->number(&small) || !c->bytes(small, &printk_formats_))
    return damaged("the printk formats are cut short");
  part(abi::kDatPrintk);
  if (!c->number(&size) || !c->bytes(size, &cmdlines_))
    return damaged("the command lines are cut short");
  part(abi::kDatCmdlines);
  if (!c->number(&cpu_count_) || cpu_count_ > kMaxCpus)
    return damaged("its number of CPUs is wrong");
  std::string word;
  if (!c->bytes(10, &word)) return damaged("it ends before its data");
  std::vector<std::string> instances;
  if (word.starts_with("options")) {
    for (;;) {
      uint16_t id = 0;
      if (!c->number(&id)) return damaged("the options are cut short");
      if (id == abi::kDatOptionDone) break;
      std::string body;
      uint64_t at = c->at();
      if (!c->number(&small) || !c->bytes(small, &body))
        return damaged("option " + std::to_string(id) + " is cut short");
      options_.push_back({part_name(id), id, at - 2, body.size() + 6, body});
      if (id == abi::kDatBuffer)
        instances.push_back(body);
      else
        take_option(id, body);
    }
    part(abi::kDatOptionDone);
    if (!c->bytes(10, &word)) return damaged("it ends before its data");
  }
  if (word.starts_with("latency"))
    return user_error(EINVAL, name_ + ": holds the text of a latency tracer, not events");
  if (!word.starts_with("flyrecord")) return damaged("no data behind the options");
  PB_TRY(load_v6_buffer(c, ""));
  for (const std::string& body : instances) {
    if (body.size() < 9 || buffers_.size() >= kMaxBuffers) continue;
    uint64_t offset = 0;
    std::memcpy(&offset, body.data(), 8);
    Cursor at(this, offset, file_size_);
    if (!at.expect("flyrecord", 10)) return damaged("a buffer option points to no buffer");
    PB_TRY(load_v6_buffer(&at, trim_nul(body.substr(8))));
  }
  return {};
}

Status TraceDatReader::load_v6_buffer(Cursor* c, const std::string& name) {
  Buffer buffer;
  buffer.name = name;
  buffer.page_size = page_size_;
  for (uint32_t cpu = 0; cpu < cpu_count_; cpu++) {
    CpuData data{cpu};
    if (!c->number(&data.offset) || !c->number(&data.size))
      return damaged("the table of CPUs is cut short");
    clip(&data, page_size_);
    buffer.cpus.push_back(data);
  }
  uint64_t size = 0;
  std::string clocks;
  if (trace_clock_option_ && c->number(&size) && size < 4096 && c->bytes(size, &clocks)) {
    size_t open = clocks.find('['), close = clocks.find(']');
    if (open < close && close != std::string::npos)
      buffer.clock = clocks.substr(open + 1, close - open - 1);
  }
  buffers_.push_back(std::move(buffer));
  return {};
}

// --- version 7: sections and options
// --------------------------------------------------------------

Status TraceDatReader::load_v7(Cursor* c) {
  std::string version;
  uint64_t next = 0;
  if (!c->text(&compression_) || !c->text(&version) || !c->number(&next))
    return damaged("it ends within its header");
  for (int i = 0; next != 0; i++) {
    if (i == kMaxOptionSections) return damaged("its options sections have no end");
    PB_TRY(load_v7_options(next, &next));
  }
  return {};
}

Status TraceDatReader::load_v7_options(uint64_t offset, uint64_t* next) {
  Cursor c(this, offset, file_size_);
  abi::DatSectionHeader header;
  if (!c.number(&header) || header.id != abi::kDatOptionDone || header.size > c.left())
    return damaged("no options section at offset " + std::to_string(offset));
  if (header.flags & abi::kDatCompressed)
    return user_error(EINVAL,
                      name_ + ": its sections are compressed with " + compression_.substr(0, 32) +
                          ", which is not supported; record with trace-cmd --compression none");
  sections_.push_back({"options", 0, offset, header.size + sizeof header, ""});
  c = Cursor(this, c.at(), c.at() + header.size);
  *next = 0;
  while (c.left() >= 6) {
    uint16_t id = 0;
    uint32_t size = 0;
    std::string body;
    uint64_t at = c.at();
    if (!c.number(&id) || !c.number(&size) || !c.bytes(size, &body))
      return damaged("option " + std::to_string(id) + " is cut short");
    if (id == abi::kDatOptionDone) {
      if (body.size() >= 8) std::memcpy(next, body.data(), 8);
      return {};
    }
    options_.push_back({part_name(id), id, at, body.size() + 6, body});
    if (id == abi::kDatBuffer) PB_TRY(load_buffer_option(body));
    if (id >= abi::kDatStrings && id <= abi::kDatCmdlines && body.size() >= 8) {
      uint64_t where = 0;
      std::memcpy(&where, body.data(), 8);
      PB_TRY(load_v7_section(id, where));
    }
    take_option(id, body);
  }
  return {};
}

Status TraceDatReader::load_v7_section(uint16_t id, uint64_t offset) {
  Cursor c(this, offset, file_size_);
  abi::DatSectionHeader header;
  std::string what = std::string("section ") + part_name(id);
  if (!c.number(&header) || header.id != id || header.size > c.left())
    return damaged(what + " is not where its option says");
  for (const Part& known : sections_)
    if (known.offset == offset) return {};  // listed twice: once is enough
  sections_.push_back({part_name(id), id, offset, header.size + sizeof header, ""});
  bool needed = id == abi::kDatFtraceFormats || id == abi::kDatEventFormats ||
                id == abi::kDatKallsyms || id == abi::kDatCmdlines;
  if (needed && (header.flags & abi::kDatCompressed))
    return user_error(EINVAL,
                      name_ + ": its sections are compressed with " + compression_.substr(0, 32) +
                          ", which is not supported; record with trace-cmd --compression none");
  c = Cursor(this, c.at(), c.at() + header.size);
  uint32_t small = 0;
  uint64_t size = 0;
  if (id == abi::kDatFtraceFormats) return load_formats(&c, "ftrace");
  if (id == abi::kDatEventFormats) return load_event_formats(&c);
  if (id == abi::kDatKallsyms && (!c.number(&small) || !c.bytes(small, &kallsyms_)))
    return damaged("kallsyms is cut short");
  if (id == abi::kDatPrintk && !(header.flags & abi::kDatCompressed) &&
      (!c.number(&small) || !c.bytes(small, &printk_formats_)))
    return damaged("the printk formats are cut short");
  if (id == abi::kDatCmdlines && (!c.number(&size) || !c.bytes(size, &cmdlines_)))
    return damaged("the command lines are cut short");
  return {};
}

Status TraceDatReader::load_buffer_option(const std::string& body) {
  auto number = [&body](size_t at, auto* out) {
    if (at > body.size() || body.size() - at < sizeof *out) return false;
    std::memcpy(out, body.data() + at, sizeof *out);
    return true;
  };
  Buffer buffer;
  uint64_t section = 0;
  uint32_t count = 0;
  size_t name_end = body.find('\0', 8);
  size_t clock_end = name_end == std::string::npos ? name_end : body.find('\0', name_end + 1);
  if (clock_end == std::string::npos || !number(0, &section))
    return damaged("a buffer option is cut short");
  buffer.name = body.substr(8, name_end - 8);
  buffer.clock = body.substr(name_end + 1, clock_end - name_end - 1);
  size_t at = clock_end + 1;
  if (!number(at, &buffer.page_size) || !number(at + 4, &count))
    return damaged("a buffer option is cut short");
  if (buffer.page_size < 64 || buffer.page_size > kMaxPage)
    return damaged("the page size of a buffer is wrong");
  at += 8;
  abi::DatSectionHeader header;
  if (!read_at(section, &header, sizeof header) || header.id != abi::kDatBuffer)
    return damaged("a buffer is not where its option says");
  if (header.flags & abi::kDatCompressed)
    return user_error(EINVAL,
                      name_ + ": its events are compressed with " + compression_.substr(0, 32) +
                          ", which is not supported; record with trace-cmd --compression none");
  sections_.push_back({"buffer", abi::kDatBuffer, section, header.size + sizeof header, ""});
  for (uint32_t i = 0; i < count; i++, at += 20) {
    CpuData cpu;
    if (!number(at, &cpu.cpu) || !number(at + 4, &cpu.offset) || !number(at + 12, &cpu.size))
      return damaged("a buffer option is cut short");
    clip(&cpu, buffer.page_size);
    buffer.cpus.push_back(cpu);
  }
  if (buffers_.size() >= kMaxBuffers) return damaged("it has too many buffers");
  buffers_.push_back(std::move(buffer));
  return {};
}

void TraceDatReader::take_option(uint16_t id, const std::string& body) {
  if (id == abi::kDatTsc2Nsec && body.size() >= 8) {
    std::memcpy(&mult_, body.data(), 4);
    std::memcpy(&shift_, body.data() + 4, 4);
    if (shift_ > 63) mult_ = shift_ = 0;
  }
  if (id == abi::kDatOffset)
    time_offset_ = int64_t(std::strtoll(trim_nul(body).c_str(), nullptr, 0));
  if (id == abi::kDatCpuStat) cpu_stats_.push_back(trim_nul(body));
  if (id == abi::kDatImages) images_ = ProcessImages::parse(body);
  if (id == abi::kDatTraceClock) trace_clock_option_ = true;
}

uint64_t TraceDatReader::to_ns(uint64_t time) const {
  if (mult_) time = uint64_t((static_cast<unsigned __int128>(time) * mult_) >> shift_);
  return time + uint64_t(time_offset_);
}

bool TraceDatReader::read_page(const Buffer& buffer, const CpuData& cpu, uint64_t number,
                               PageImage* out) const {
  if (number >= cpu.size / buffer.page_size) return false;
  out->bytes.resize(buffer.page_size);
  if (!read_at(cpu.offset + number * buffer.page_size, out->bytes.data(), buffer.page_size))
    return false;
  out->seq = number;
  read_commit(out);
  return true;
}

}  // namespace patchbay
