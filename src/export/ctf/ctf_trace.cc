// SPDX-License-Identifier: MIT
#include "export/ctf/ctf_trace.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "base/unique_names.h"

namespace patchbay {
namespace {

constexpr uint32_t kMagic = 0xc1fc1fc1;
constexpr size_t kPacketBytes = 256 << 10;
// Where the parts of a packet stand: magic, uuid, stream, then the context.
constexpr size_t kBegin = 24, kEnd = 32, kContentSize = 40, kPacketSize = 48, kDiscarded = 56,
                 kHeadSize = 68;

template <typename T>
void put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <typename T>
void put_at(std::string* out, size_t at, T value) {
  std::memcpy(out->data() + at, &value, sizeof value);
}

// A new file, or the one that was made before.
Status write_file(const std::string& path, std::string_view bytes,
                  std::optional<OutputFile::Id>* id) {
  auto file = *id ? OutputFile::open_again(path, O_WRONLY | O_APPEND, **id)
                  : OutputFile::open(path, O_WRONLY, 0644);
  if (!file.ok()) return file.error();
  if (!*id && !file->is_made()) return sys_error("create " + path, EEXIST);
  *id = file->id();
  return file->write(bytes);
}

// As between quotes in C. Bytes that a text of TSDL may not hold become a question mark.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += uint8_t(c) < ' ' || c == 0x7f ? '?' : c;
  }
  return out + '"';
}

// An identifier of TSDL. The underscore in front keeps it from being one of its keywords; readers
// take it away.
std::string identifier(std::string_view name) {
  std::string out = "_";
  for (const char c : name) out += is_name_char(c) ? c : '_';
  return out;
}

std::string type_text(const TypedColumn& column) {
  if (column.type == ColumnType::kText) return "string { encoding = UTF8; }";
  if (column.type == ColumnType::kFloat)
    return "floating_point { exp_dig = 8; mant_dig = 24; align = 8; }";
  if (column.type == ColumnType::kDouble)
    return "floating_point { exp_dig = 11; mant_dig = 53; align = 8; }";
  return "integer { size = " + std::to_string(8 * size_of(column.type)) +
         "; align = 8; signed = " + (is_unsigned(column.type) ? "false" : "true") + ";" +
         (column.is_hex ? " base = 16;" : "") + " }";
}

std::string uuid_text(const uint8_t* uuid) {
  std::string out;
  for (int i = 0; i < 16; i++) {
    static constexpr char kDigits[] = "0123456789abcdef";
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += {kDigits[uuid[i] >> 4], kDigits[uuid[i] & 15]};
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<CtfTrace>> CtfTrace::create(const std::string& path) {
  std::unique_ptr<CtfTrace> trace(new CtfTrace);
  trace->path_ = path;
  PB_ASSIGN(trace->made_directory_, OutputPlace::make_directory(path));
  if (!trace->made_directory_) {
    std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
    if (!directory) return sys_error("open the directory " + path, errno);
    while (const dirent* entry = ::readdir(directory.get()))
      if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
        return user_error(EEXIST, path +
                                      " is not empty, and a CTF trace is all of its directory: "
                                      "name another one with -o.");
  }
  if (::getrandom(trace->uuid_, sizeof trace->uuid_, 0) != sizeof trace->uuid_)
    return sys_error("make a UUID", errno);
  trace->uuid_[6] = (trace->uuid_[6] & 0x0f) | 0x40;
  trace->uuid_[8] = (trace->uuid_[8] & 0x3f) | 0x80;
  return trace;
}

CtfTrace::~CtfTrace() {
  if (finished_) return;
  for (const auto& [cpu, stream] : streams_)
    if (stream.file) ::unlink(stream.path.c_str());
  if (made_directory_) ::rmdir(path_.c_str());
}

uint32_t CtfTrace::add_event(std::string_view name, const std::vector<TypedColumn>& columns) {
  const auto id = uint32_t(events_.size());
  Event event{std::string(name), "", columns, false};
  UniqueNames names({"unreadable"});
  std::string fields;
  for (const TypedColumn& column : columns) {
    const std::string field = identifier(names.unique(column.name));
    if (column.is_list) {
      const std::string length = identifier(names.unique(column.name + "_length"));
      fields += "\t\tuint32_t " + length + ";\n";
      fields += "\t\t" + type_text(column) + " " + field + "[" + length + "];\n";
    } else {
      fields += "\t\t" + type_text(column) + " " + field + ";\n";
    }
    event.has_texts |= column.type == ColumnType::kText;
  }
  if (event.has_texts)
    fields += "\t\tinteger { size = 64; align = 8; signed = false; base = 16; } _unreadable;\n";
  event.text = "event {\n\tname = " + quoted(name) + ";\n\tid = " + std::to_string(id) +
               ";\n\tstream_id = 0;\n\tfields := struct {\n" + fields + "\t};\n};\n\n";
  events_.push_back(std::move(event));
  return id;
}

CtfTrace::Stream* CtfTrace::stream_of(uint32_t cpu) {
  auto [found, is_new] = streams_.try_emplace(cpu);
  if (is_new) found->second.path = path_ + "/channel0_" + std::to_string(cpu);
  return &found->second;
}

void CtfTrace::begin_packet(Stream* stream, uint64_t ns) const {
  stream->packet.clear();
  put(&stream->packet, kMagic);
  stream->packet.append(reinterpret_cast<const char*>(uuid_), sizeof uuid_);
  put(&stream->packet, uint32_t{0});  // the stream's class
  stream->packet.resize(kHeadSize);
  stream->begin_ns = stream->end_ns = ns;
  stream->begun = true;
}

Status CtfTrace::end_packet(Stream* stream) {
  if (!stream->begun) return {};
  std::string& packet = stream->packet;
  put_at(&packet, kBegin, stream->begin_ns);
  put_at(&packet, kEnd, stream->end_ns);
  put_at(&packet, kContentSize, uint64_t(packet.size()) * 8);
  put_at(&packet, kPacketSize, uint64_t(packet.size()) * 8);
  put_at(&packet, kDiscarded, stream->discarded);
  uint32_t cpu = 0;
  to_number(std::string_view(stream->path).substr(stream->path.rfind('_') + 1), &cpu);
  put_at(&packet, kHeadSize - 4, cpu);
  stream->begun = false;
  return write_file(stream->path, packet, &stream->file);  // removed if it fails
}

Status CtfTrace::begin_event(uint32_t cpu, uint64_t ns, uint32_t event, int32_t tid, int32_t pid,
                             std::string_view comm) {
  stream_ = stream_of(cpu);
  event_ = &events_[event];
  column_ = 0;
  unreadable_ = 0;
  if (stream_->begun && stream_->packet.size() >= kPacketBytes) PB_TRY(end_packet(stream_));
  if (!stream_->begun) begin_packet(stream_, ns);
  stream_->end_ns = ns;
  put(&stream_->packet, event);
  put(&stream_->packet, ns);
  put(&stream_->packet, tid);
  put(&stream_->packet, pid);
  stream_->packet += comm.substr(0, comm.find('\0'));
  stream_->packet += '\0';
  return {};
}

void CtfTrace::put_number(uint64_t bits) {
  const char* bytes = reinterpret_cast<const char*>(&bits);
  stream_->packet.append(bytes, size_of(event_->columns[column_].type));
  in_list_ ? ++elements_ : ++column_;
}

// A string of CTF ends at its first NUL.
void CtfTrace::put_text(std::string_view text) {
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\0', at), text.size());
    stream_->packet += text.substr(at, end - at);
    if (end < text.size()) stream_->packet += "\\x00";
  }
  stream_->packet += '\0';
  in_list_ ? ++elements_ : ++column_;
}

void CtfTrace::put_null() {
  const TypedColumn& column = event_->columns[column_];
  if (column.is_list && !in_list_) {
    begin_list();
    return end_list();
  }
  if (column.type == ColumnType::kText && column_ < 64) unreadable_ |= uint64_t{1} << column_;
  column.type == ColumnType::kText ? put_text("") : put_number(0);
}

void CtfTrace::begin_list() {
  list_ = stream_->packet.size();
  put(&stream_->packet, uint32_t{0});
  in_list_ = true;
  elements_ = 0;
}

void CtfTrace::end_list() {
  put_at(&stream_->packet, list_, elements_);
  in_list_ = false;
  column_++;
}

Status CtfTrace::end_event() {
  if (event_->has_texts) put(&stream_->packet, unreadable_);
  return {};
}

// Readers take the growth of the count from one packet to the next, so that the first packet of a
// CPU has none: it is an empty one where the recording begins with a loss.
Status CtfTrace::lost(uint32_t cpu, uint64_t ns, uint64_t events) {
  Stream* stream = stream_of(cpu);
  if (!stream->file && !stream->begun) begin_packet(stream, ns);
  PB_TRY(end_packet(stream));
  stream->discarded += events;
  begin_packet(stream, ns);
  return {};
}

std::string CtfTrace::metadata(const Environment& environment) const {
  std::string out =
      "/* CTF 1.8 */\n\n"
      "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
      "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
      "typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
      "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n\n"
      "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"" +
      uuid_text(uuid_) +
      "\";\n\tbyte_order = le;\n"
      "\tpacket.header := struct {\n"
      "\t\tuint32_t magic;\n\t\tuint8_t uuid[16];\n\t\tuint32_t stream_id;\n\t};\n};\n\n"
      "env {\n";
  for (const auto& [name, value] : environment) out += "\t" + name + " = " + quoted(value) + ";\n";
  out +=
      "};\n\n"
      "clock {\n\tname = \"monotonic\";\n\tfreq = 1000000000;\n};\n\n"
      "typealias integer {\n\tsize = 64; align = 8; signed = false;\n"
      "\tmap = clock.monotonic.value;\n} := time_t;\n\n"
      "stream {\n\tid = 0;\n"
      "\tpacket.context := struct {\n"
      "\t\ttime_t timestamp_begin;\n\t\ttime_t timestamp_end;\n"
      "\t\tuint64_t content_size;\n\t\tuint64_t packet_size;\n"
      "\t\tuint64_t events_discarded;\n\t\tuint32_t cpu_id;\n\t};\n"
      "\tevent.header := struct {\n\t\tuint32_t id;\n\t\ttime_t timestamp;\n\t};\n"
      "\tevent.context := struct {\n"
      "\t\tint32_t _tid;\n\t\tint32_t _pid;\n\t\tstring { encoding = UTF8; } _comm;\n\t};\n};\n\n";
  for (const Event& event : events_) out += event.text;
  return out;
}

Status CtfTrace::finish(const Environment& environment) {
  for (auto& [cpu, stream] : streams_) PB_TRY(end_packet(&stream));
  const std::string path = path_ + "/metadata";
  std::optional<OutputFile::Id> made;
  if (Status status = write_file(path, metadata(environment), &made); !status.ok()) {
    if (made) ::unlink(path.c_str());
    return status;
  }
  finished_ = true;
  return {};
}

}  // namespace patchbay
