// SPDX-License-Identifier: MIT
//
// Records that the control side writes itself: those of trace_marker (ftrace:print, id 5) and
// trace_marker_raw (ftrace:raw_data, id 19), under the writer's thread id, and those of `inject`.
// Registry::markers() hands it out. Under the agent's lock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "registry/registry.h"

namespace patchbay {

class Markers {
 public:
  explicit Markers(Registry::Impl& core) : core_(core) {}

  struct Writer {
    uint32_t tid = 0;
    uint32_t tgid = 0;
    std::string comm;
    int cpu = -1;  // that it runs on; -1: not known
  };
  // Both return the bytes taken.
  Result<size_t> write(TraceArray& array, std::string_view text, const Writer& writer);
  Result<size_t> write_raw(TraceArray& array, std::string_view bytes, const Writer& writer);
  // `inject`: "field=value …" makes one record of the event in this instance.
  Status inject(TraceArray& array, LiveEvent* event, std::string_view text, const Writer& writer);
  // The comm of a task that the probes do not meet themselves (option record-cmd).
  void learn_comm(const Writer& writer);

 private:
  Status publish_record(TraceArray& array, const std::string& record, int cpu);
  Status publish_marker(TraceArray& array, std::string record, bool ends_line,
                        const Writer& writer);
  std::vector<TraceArray*> targets(TraceArray& array);

  Registry::Impl& core_;
  std::unordered_map<uint32_t, std::string> comms_;  // by thread: those that the buffer has from us
  // Texts that fields of injected records point to: for good, as the records may be read later.
  std::vector<std::unique_ptr<std::string>> injected_texts_;
};

}  // namespace patchbay
