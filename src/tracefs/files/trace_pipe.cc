// SPDX-License-Identifier: MIT
// trace_pipe, per_cpu/cpuN/trace_pipe: the events as text, consumed as they are read, at most
// 124 KiB a read. One reader of all CPUs, or one for each, at a time (EBUSY). With nothing to read
// the carrier waits (EAGAIN); the end comes when recording is off and something has been read.
#include <algorithm>

#include "tracefs/files/files.h"
#include "tracefs/files/line_stream.h"

namespace patchbay::tracefs {
namespace {

class TracePipeFile : public ArrayFile {
 public:
  using ArrayFile::ArrayFile;
  ~TracePipeFile() override {
    if (held()) set_open(*held(), false);
  }
  uint32_t mode() const override { return kReadable; }

  Result<std::string> read_next(size_t size, ReadMode) override {
    if (!held()) return user_error(EBADF, "The file is not open.");
    if (size == 0) return std::string();
    const TraceTextSources& sources = place_.tree->text_sources();
    if (!lines_.is_set()) {
      lines_.set(std::make_unique<TraceText>(sources, *held(), held()->buffer.get(),
                                             TraceText::Mode::kPipe, place_.one_cpu()));
    }
    std::string text = lines_.next(size);
    if (!text.empty()) {
      has_read_ = true;
      return text;
    }
    if (at_end()) return std::string();
    return sys_error("read trace_pipe", EAGAIN);
  }

  bool readable() override { return held() && (lines_.has_rest() || has_data() || at_end()); }

 protected:
  Status opened(TraceArray& array, uint32_t) override {
    array.cpu_pipe_open.resize(std::max<size_t>(array.cpu_pipe_open.size(), nr_cpus(array)));
    const std::vector<bool>& open = array.cpu_pipe_open;
    bool busy = array.pipe_open;
    busy |= place_.cpu < 0 ? std::find(open.begin(), open.end(), true) != open.end()
                           : bool(open[size_t(place_.cpu)]);
    if (busy) return user_error(EBUSY, "Another reader has trace_pipe open.");
    set_open(array, true);
    return {};
  }

 private:
  static uint32_t nr_cpus(const TraceArray& array) { return array.buffer->rings()->nr_cpus; }
  void set_open(TraceArray& array, bool open) const {
    if (place_.cpu < 0) {
      array.pipe_open = open;
    } else {
      array.cpu_pipe_open[size_t(place_.cpu)] = open;
    }
  }
  bool at_end() const { return has_read_ && !held()->tracing_on(); }
  bool has_data() const {
    const RingBuffer& buffer = *held()->buffer;
    if (place_.cpu >= 0) return buffer.has_data(uint32_t(place_.cpu));
    for (uint32_t ring = 0; ring <= nr_cpus(*held()); ring++) {
      if (buffer.has_data(ring)) return true;
    }
    return false;
  }

  LineStream lines_;
  bool has_read_ = false;
};

}  // namespace

FilePtr make_trace_pipe(const Place& place) { return std::make_unique<TracePipeFile>(place); }

}  // namespace patchbay::tracefs
