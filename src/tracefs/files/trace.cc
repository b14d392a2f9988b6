// SPDX-License-Identifier: MIT
// trace, per_cpu/cpuN/trace: the events as text, oldest first, not consumed. Opening with O_TRUNC
// clears the buffer (or that CPU's); what is written is ignored. While it is open for reading the
// buffer keeps its size and no snapshot is taken.
#include <fcntl.h>

#include "registry/settings.h"
#include "tracefs/files/files.h"
#include "tracefs/files/line_stream.h"

namespace patchbay::tracefs {
namespace {

class TraceFile : public ArrayFile {
 public:
  using ArrayFile::ArrayFile;
  ~TraceFile() override {
    if (!held() || !reading_) return;
    drop_user(&held()->trace_readers);
    if (pausing_) resume(*held());
  }
  uint32_t mode() const override { return kWritable; }

  Result<std::string> read_next(size_t size, ReadMode) override {
    if (!held() || !reading_) return user_error(EBADF, "The file is not open for reading.");
    if (size == 0) return std::string();
    const TraceTextSources& sources = place_.tree->text_sources();
    if (!lines_.is_set()) {
      lines_.set(std::make_unique<TraceText>(sources, *held(), held()->buffer.get(),
                                             TraceText::Mode::kTrace, place_.one_cpu()));
    }
    return lines_.next(size);
  }

  Result<size_t> write(std::string_view bytes) override { return bytes.size(); }

 protected:
  Status opened(TraceArray& array, uint32_t flags) override {
    if ((flags & O_ACCMODE) != O_RDONLY && (flags & O_TRUNC)) {
      registry().settings().clear(array, place_.one_cpu());
    }
    if ((flags & O_ACCMODE) == O_WRONLY) return {};
    if (array.options[TraceOption::kPauseOnTrace]) PB_TRY(pause(array));
    reading_ = true;
    array.trace_readers++;
    return {};
  }

 private:
  Status pause(TraceArray& array) {
    PB_TRY(registry().settings().set_paused(array, true));
    place_.tree->pausing[&array]++;
    pausing_ = true;
    return {};
  }
  void resume(TraceArray& array) {
    auto& pausing = place_.tree->pausing;
    auto count = pausing.find(&array);
    if (--count->second > 0) return;
    pausing.erase(count);
    (void)registry().settings().set_paused(array, false);  // close(2) has nobody to tell
  }

  LineStream lines_;
  bool reading_ = false, pausing_ = false;
};

}  // namespace

FilePtr make_trace(const Place& place) { return std::make_unique<TraceFile>(place); }

}  // namespace patchbay::tracefs
