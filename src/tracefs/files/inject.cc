// SPDX-License-Identifier: MIT
// events/SYSTEM/EVENT/inject: "field=value …" makes one record of the event in this instance,
// if its filter keeps it (docs/files.md, "Files of events").
#include "base/text.h"
#include "registry/markers.h"
#include "tracefs/files/files.h"
#include "tracefs/writer.h"

namespace patchbay::tracefs {
namespace {

class InjectFile : public ArrayFile {
 public:
  using ArrayFile::ArrayFile;
  uint32_t mode() const override { return kOnlyWritable; }
  Result<size_t> write(std::string_view bytes) override { return write_as(bytes, Caller{}); }
  Result<size_t> write_as(std::string_view bytes, const Caller& caller) override {
    PB_ASSIGN(auto found, array());
    PB_ASSIGN(auto event, place_.find_event(*found));
    PB_ASSIGN(std::string_view text, take_whole(bytes, kFilterLimit));
    PB_TRY(registry().markers().inject(*found, event, trim(text), writer_.of(caller)));
    return bytes.size();
  }

 private:
  FileWriter writer_{place_.tree->writer_names};
};

}  // namespace

FilePtr make_event_inject(const Place& place) { return std::make_unique<InjectFile>(place); }

}  // namespace patchbay::tracefs
