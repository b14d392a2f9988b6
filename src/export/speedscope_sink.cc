// SPDX-License-Identifier: MIT
//
// speedscope's file format. The calls of function_graph: an evented profile a thread, whose events
// speedscope wants together, though they come mixed. So each thread has a small block in memory,
// and full blocks go into an unlinked file, chained backwards by thread. A recording without calls
// is one sampled profile: its stacks with their numbers.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <unordered_map>
#include <vector>

#include "export/call_sums.h"
#include "export/export_formats.h"
#include "export/export_text.h"
#include "output/text_put.h"

namespace patchbay {
namespace {

struct CallMark {
  uint64_t ns = 0;
  uint32_t frame = 0;
  uint32_t opens = 0;
};

struct Block {
  static constexpr uint32_t kMarks = 31;
  uint64_t before = 0;  // the thread's block before this one: its number + 1
  uint64_t count = 0;
  std::array<CallMark, kMarks> marks;
};
static_assert(sizeof(Block) == 512);

class BlockFile {
 public:
  // The number of the block; an error when the disk is full.
  Result<uint64_t> append(const Block& block) {
    if (!fd_.valid()) PB_TRY(open());
    const char* at = reinterpret_cast<const char*>(&block);
    if (::pwrite(fd_.get(), at, sizeof block, off_t(count_ * sizeof block)) != sizeof block)
      return sys_error("write a temporary file in " + directory(), errno ? errno : ENOSPC);
    return count_++;
  }
  bool read(uint64_t number, Block* out) const {
    return ::pread(fd_.get(), out, sizeof *out, off_t(number * sizeof *out)) == sizeof *out;
  }

 private:
  static std::string directory() {
    const char* named = std::getenv("TMPDIR");
    return named && *named ? named : "/tmp";
  }
  Status open() {
    fd_ = UniqueFd(::open(directory().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    return fd_.valid() ? Status{} : sys_error("make a temporary file in " + directory(), errno);
  }
  UniqueFd fd_;
  uint64_t count_ = 0;
};

class SpeedscopeSink : public ExportSink {
 public:
  explicit SpeedscopeSink(std::unique_ptr<ExportWriter> writer) : writer_(std::move(writer)) {}
  Status begin(const ExportMeta& meta, ExportSource* source) override {
    meta_ = &meta;
    source_ = source;
    builder_.begin(&meta, source);
    return {};
  }
  Status schema(const ExportSchema&) override { return {}; }
  Status event(const ExportEvent& event) override {
    if (event.kind == ExportEvent::Kind::kEvent) {
      builder_.take(event);
      return {};
    }
    // Of a call without an entry the begin would stand in front of what is written already.
    if (event.call.how == ExportCallEnd::kNoEntry) return {};
    Profile* profile = profile_of(event);
    const bool opens = event.kind == ExportEvent::Kind::kCallBegin;
    const uint64_t ns = std::max(opens ? event.ns : event.call.end_ns, profile->last_ns);
    if (profile->blocks == 0 && profile->block.count == 0) profile->first_ns = ns;
    profile->last_ns = ns;
    return put_mark(profile, {ns, frame_of(event), opens});
  }
  Status loss(const ExportEvent&) override { return {}; }
  Status end(const ExportStats&) override;

 private:
  struct Profile {
    std::string name;
    uint64_t first_ns = 0, last_ns = 0, blocks = 0;
    Block block;
  };
  Status put_mark(Profile* profile, const CallMark& mark);
  Profile* profile_of(const ExportEvent& event);
  uint32_t frame_of(const ExportEvent& event);
  uint32_t frame(const std::string& name);
  Status put_frames(const std::vector<std::string>& names);
  Status put_profile(const Profile& profile);
  Status put_marks(const Block& block, bool* any);
  Status put_samples();

  std::unique_ptr<ExportWriter> writer_;
  const ExportMeta* meta_ = nullptr;
  ExportSource* source_ = nullptr;
  CallSumsBuilder builder_;  // of stacks
  BlockFile file_;
  std::vector<std::unique_ptr<Profile>> profiles_;
  std::unordered_map<uint64_t, Profile*> by_thread_;
  std::vector<std::string> frames_;
  std::unordered_map<std::string, uint32_t> frame_ids_;
  std::vector<std::pair<uint64_t, uint32_t>> cache_ =  // address, frame + 1
      std::vector<std::pair<uint64_t, uint32_t>>(4096);
};

uint32_t SpeedscopeSink::frame(const std::string& name) {
  auto [found, is_new] = frame_ids_.try_emplace(name, uint32_t(frames_.size()));
  if (is_new) frames_.push_back(name);
  return found->second;
}

uint32_t SpeedscopeSink::frame_of(const ExportEvent& event) {
  const uint64_t key = event.call.function + event.input;
  auto& [address, id] = cache_[(key * 0x9e3779b97f4a7c15u) >> 52];
  if (id == 0 || address != key) {
    address = key;
    id = frame(source_->addresses(event).of(event.call.function).plain) + 1;
  }
  return id - 1;
}

SpeedscopeSink::Profile* SpeedscopeSink::profile_of(const ExportEvent& event) {
  const uint64_t key =
      uint64_t(event.input) << 48 ^ uint64_t(event.buffer) << 32 ^ event.thread->index;
  Profile*& found = by_thread_[key];
  if (found) return found;
  profiles_.push_back(std::make_unique<Profile>());
  found = profiles_.back().get();
  found->name = event.thread->comm + "-" + std::to_string(event.thread->tid);
  const std::string label = buffer_label(*meta_, event.input, event.buffer);
  if (!label.empty()) found->name += " (" + label + ")";
  return found;
}

Status SpeedscopeSink::put_mark(Profile* profile, const CallMark& mark) {
  Block& block = profile->block;
  block.marks[block.count++] = mark;
  if (block.count < Block::kMarks) return {};
  PB_ASSIGN(const uint64_t number, file_.append(block));
  block.before = number + 1;
  block.count = 0;
  profile->blocks++;
  return {};
}

Status SpeedscopeSink::put_frames(const std::vector<std::string>& names) {
  std::string* out = writer_->out();
  *out +=
      "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
      "\"exporter\":\"patchbay\",\"shared\":{\"frames\":[";
  for (size_t i = 0; i < names.size(); i++) {
    *out += i ? ",\n{\"name\":" : "\n{\"name\":";
    append_json_text(out, names[i]);
    *out += '}';
    PB_TRY(writer_->flush());
  }
  *out += "]},\"profiles\":[";
  return {};
}

Status SpeedscopeSink::put_marks(const Block& block, bool* any) {
  std::string* out = writer_->out();
  for (size_t i = 0; i < std::min<size_t>(block.count, Block::kMarks); i++) {
    const CallMark& mark = block.marks[i];
    *out += std::exchange(*any, true) ? ",\n{\"type\":\"" : "\n{\"type\":\"";
    *out += mark.opens ? 'O' : 'C';
    *out += "\",\"frame\":";
    put_number(out, mark.frame);
    *out += ",\"at\":";
    put_number(out, mark.ns);
    *out += '}';
  }
  return writer_->flush();
}

Status SpeedscopeSink::put_profile(const Profile& profile) {
  std::string* out = writer_->out();
  *out += "{\"type\":\"evented\",\"unit\":\"nanoseconds\",\"name\":";
  append_json_text(out, profile.name);
  *out += ",\"startValue\":";
  put_number(out, profile.first_ns);
  *out += ",\"endValue\":";
  put_number(out, profile.last_ns);
  *out += ",\"events\":[";
  std::vector<uint64_t> chain;  // the last one first
  Block block;
  for (uint64_t at = profile.block.before; at != 0; at = block.before) {
    if (!file_.read(at - 1, &block)) return sys_error("read the temporary file again", EIO);
    chain.push_back(at - 1);
  }
  bool any = false;
  for (size_t i = chain.size(); i-- > 0;) {
    if (!file_.read(chain[i], &block)) return sys_error("read the temporary file again", EIO);
    PB_TRY(put_marks(block, &any));
  }
  PB_TRY(put_marks(profile.block, &any));
  *out += "]}";
  return {};
}

// Stacks as samples: an array of frames each, the outermost first, and their numbers.
Status SpeedscopeSink::put_samples() {
  const CallSums& sums = *builder_.chosen();
  std::vector<uint32_t> frames(sums.nodes().size());
  for (uint32_t node = 1; node < sums.nodes().size(); node++) frames[node] = frame(sums.name(node));
  PB_TRY(put_frames(frames_));
  std::string *out = writer_->out(), weights;
  std::vector<uint32_t> path;
  uint64_t total = 0;
  *out += "{\"type\":\"sampled\",\"name\":\"stacks\",\"unit\":\"none\",\"samples\":[";
  for (uint32_t node = 1; node < sums.nodes().size(); node++) {
    if (sums.nodes()[node].self == 0) continue;
    path.clear();
    for (uint32_t at = node; at; at = sums.nodes()[at].parent) path.push_back(frames[at]);
    *out += total ? ",\n" : "\n";
    for (size_t i = path.size(); i-- > 0;) {
      *out += i + 1 == path.size() ? '[' : ',';
      put_number(out, path[i]);
    }
    *out += ']';
    if (total) weights += ',';
    put_number(&weights, sums.nodes()[node].self);
    total += sums.nodes()[node].self;
    PB_TRY(writer_->flush());
  }
  *out += "],\"weights\":[" + weights + "],\"startValue\":0,\"endValue\":";
  put_number(out, total);
  *out += '}';
  return {};
}

Status SpeedscopeSink::end(const ExportStats& stats) {
  if (profiles_.empty()) {
    if (builder_.is_empty() && stats.events > 0) return has_no_stacks("speedscope");
    PB_TRY(put_samples());
  } else {
    PB_TRY(put_frames(frames_));
    for (size_t i = 0; i < profiles_.size(); i++) {
      if (i) *writer_->out() += ",\n";
      PB_TRY(put_profile(*profiles_[i]));
    }
  }
  PB_TRY(writer_->put("]}\n"));
  return writer_->finish();
}

}  // namespace

Result<std::unique_ptr<ExportSink>> make_speedscope_sink(const ExportSettings& settings) {
  PB_ASSIGN(auto writer, ExportWriter::open(settings.path, settings.compression));
  return std::unique_ptr<ExportSink>(new SpeedscopeSink(std::move(writer)));
}

}  // namespace patchbay
