// SPDX-License-Identifier: MIT
//
// Writing a trace in the Common Trace Format 1.8 (diamon.org/ctf/v1.8.3), as LTTng does:
//
//   DIR/metadata      TSDL: the clock, the packets, each event with the types of its fields
//   DIR/channel0_CPU  packets of this CPU: header, context, events
//
// All numbers are aligned to bytes, little endian. What a CPU has lost before an event ends the
// packet: the next one's count of discarded events has grown by it, so that readers show the loss
// where it was. A text that could not be read is empty, and its bit is set in `unreadable`, which
// events with texts have as their last field.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/output_file.h"
#include "base/result.h"
#include "export/typed_column.h"

namespace patchbay {

class CtfTrace {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;
  // Makes the directory `path`, or uses it when it is empty.
  static Result<std::unique_ptr<CtfTrace>> create(const std::string& path);
  ~CtfTrace();

  // The number of a kind of events. Columns are the fields alone.
  uint32_t add_event(std::string_view name, const std::vector<TypedColumn>& columns);

  // An event: begin_event(), each field in its order, end_event(). Between begin_list() and
  // end_list() any number of numbers and texts.
  Status begin_event(uint32_t cpu, uint64_t ns, uint32_t event, int32_t tid, int32_t pid,
                     std::string_view comm);
  void put_number(uint64_t bits);
  void put_text(std::string_view text);
  void put_null();  // a text that could not be read, an absent list, a number that is cut off: 0
  void begin_list();
  void end_list();
  Status end_event();

  Status lost(uint32_t cpu, uint64_t ns, uint64_t events);
  Status finish(const Environment& environment);

 private:
  struct Stream {
    std::string path, packet;
    uint64_t begin_ns = 0, end_ns = 0, discarded = 0;
    bool begun = false;
    std::optional<OutputFile::Id> file;  // once it is made
  };
  struct Event {
    std::string name, text;  // its TSDL
    std::vector<TypedColumn> columns;
    bool has_texts = false;
  };
  CtfTrace() = default;
  Stream* stream_of(uint32_t cpu);
  void begin_packet(Stream* stream, uint64_t ns) const;
  Status end_packet(Stream* stream);
  std::string metadata(const Environment& environment) const;

  std::string path_;
  bool made_directory_ = false, finished_ = false;
  std::map<uint32_t, Stream> streams_;
  std::vector<Event> events_;
  uint8_t uuid_[16] = {};
  // The event that is being written.
  Stream* stream_ = nullptr;
  const Event* event_ = nullptr;
  size_t column_ = 0, list_ = 0;
  uint32_t elements_ = 0;
  bool in_list_ = false;
  uint64_t unreadable_ = 0;
};

}  // namespace patchbay
