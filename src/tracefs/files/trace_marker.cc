// SPDX-License-Identifier: MIT
// trace_marker: each write is a record of ftrace:print; trace_marker_raw: of ftrace:raw_data, under
// the writer's thread id. How much is taken, and when it is refused: docs/files.md, "Markers".
#include "registry/markers.h"
#include "tracefs/files/files.h"
#include "tracefs/writer.h"

namespace patchbay::tracefs {
namespace {

using WriteMarker = Result<size_t> (Markers::*)(TraceArray&, std::string_view,
                                                const Markers::Writer&);

class MarkerFile : public ArrayFile {
 public:
  MarkerFile(const Place& place, WriteMarker write) : ArrayFile(place), write_(write) {}
  uint32_t mode() const override { return 0220; }
  Result<size_t> write(std::string_view bytes) override { return write_as(bytes, Caller{}); }
  Result<size_t> write_as(std::string_view bytes, const Caller& caller) override {
    PB_ASSIGN(auto found, array());
    return (registry().markers().*write_)(*found, bytes, writer_.of(caller));
  }

 private:
  const WriteMarker write_;
  FileWriter writer_{place_.tree->writer_names};
};

}  // namespace

FilePtr make_trace_marker(const Place& place) {
  return std::make_unique<MarkerFile>(place, &Markers::write);
}

FilePtr make_trace_marker_raw(const Place& place) {
  return std::make_unique<MarkerFile>(place, &Markers::write_raw);
}

}  // namespace patchbay::tracefs
