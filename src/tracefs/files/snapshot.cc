// SPDX-License-Identifier: MIT
// snapshot, per_cpu/cpuN/snapshot: the events of the spare buffer as text, or how to use the file.
// 0 frees it (one CPU: EINVAL), 1 takes a snapshot (one CPU: EINVAL), any other number clears it.
// The texts are the kernel's: tools and tests look for "Snapshot is allocated".
#include <fcntl.h>

#include "registry/snapshots.h"
#include "tracefs/files/files.h"
#include "tracefs/files/line_stream.h"

namespace patchbay::tracefs {
namespace {

constexpr const char kHelp[] =
    "# echo 0 > snapshot : Clears and frees snapshot buffer\n"
    "# echo 1 > snapshot : Allocates snapshot buffer, if not already allocated.\n"
    "#                      Takes a snapshot of the main buffer.\n"
    "# echo 2 > snapshot : Clears snapshot buffer (but does not allocate or free)\n";
constexpr const char kCpuHelp[] =
    "# echo 0 > snapshot : Invalid for per_cpu snapshot file.\n"
    "# echo 1 > snapshot : Not supported with this kernel.\n"
    "#                     Must use main snapshot file to allocate.\n"
    "# echo 2 > snapshot : Clears this cpu's snapshot buffer (but does not allocate)\n";
constexpr const char kHelpEnd[] =
    "#                      (Doesn't have to be '2' works with any number that\n"
    "#                       is not a '0' or '1')\n";

class SnapshotFile : public ArrayFile {
 public:
  using ArrayFile::ArrayFile;
  ~SnapshotFile() override {
    // The reader goes first: the buffer that it reads may have been freed by name, and goes then.
    lines_.set(nullptr);
    if (held() && reading_) drop_user(&held()->snapshot_readers);
  }
  uint32_t mode() const override { return kWritable; }

  Result<std::string> read() override {
    PB_ASSIGN(auto found, array());
    return help(*found);
  }
  Result<std::string> read_next(size_t size, ReadMode mode) override {
    if (!held() || !reading_) return user_error(EBADF, "The file is not open for reading.");
    if (size == 0) return std::string();
    if (!began_) registry().snapshots().take_cut(*held());
    RingBuffer* buffer = held()->snapshot.get();
    if (!began_ && buffer && has_data(*buffer)) {
      lines_.set(std::make_unique<TraceText>(place_.tree->text_sources(), *held(), buffer,
                                             TraceText::Mode::kTrace, place_.one_cpu()));
    }
    began_ = true;
    return lines_.is_set() ? lines_.next(size) : ArrayFile::read_next(size, mode);
  }

  Result<size_t> write(std::string_view bytes) override {
    PB_ASSIGN(auto found, array());
    PB_ASSIGN(uint64_t value, parse_number(bytes));
    PB_TRY(registry().snapshots().write(*found, place_.one_cpu(), value));
    return bytes.size();
  }

 protected:
  Status opened(TraceArray& array, uint32_t flags) override {
    reading_ = (flags & O_ACCMODE) != O_WRONLY;
    if (reading_) array.snapshot_readers++;
    return {};
  }

 private:
  bool has_data(const RingBuffer& buffer) const {
    if (place_.cpu >= 0) return buffer.has_data(uint32_t(place_.cpu));
    for (uint32_t ring = 0; ring <= buffer.rings()->nr_cpus; ring++) {
      if (buffer.has_data(ring)) return true;
    }
    return false;
  }
  std::string help(const TraceArray& array) const {
    return "# tracer: " + std::string(kTracerNames[size_t(array.tracer)]) +
           "\n#\n#\n# * Snapshot is " + (array.snapshot ? "allocated" : "freed") +
           " *\n#\n# Snapshot commands:\n" + (place_.cpu < 0 ? kHelp : kCpuHelp) + kHelpEnd;
  }

  LineStream lines_;
  bool reading_ = false, began_ = false;
};

}  // namespace

FilePtr make_snapshot(const Place& place) { return std::make_unique<SnapshotFile>(place); }

}  // namespace patchbay::tracefs
