// SPDX-License-Identifier: MIT
//
// The open calls of a thread: function_graph's, and entries whose returns may come as events of
// their own. The rules for calls without a return or an entry are those of graph
// (cmd/report/call_pairing.h has the drawing). All sizes are bounded, whatever the records say.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "export/export_event.h"

namespace patchbay {

struct ExportOpenCall {
  uint64_t function = 0, begin_ns = 0;
  uint32_t depth = 0;
};

// Of one thread in one buffer: another buffer's calls have their own depths.
struct ExportThreadCalls {
  static constexpr size_t kMostOpen = 4096;  // deeper ones are events without begin and end

  const ExportThread* thread = nullptr;
  uint64_t last_ns = 0;
  std::vector<ExportOpenCall> open;  // the outermost first

  // Whether the innermost call has this depth at least: it must have ended.
  bool has_from(uint64_t depth) const { return !open.empty() && open.back().depth >= depth; }
};

class ExportPairs {
 public:
  // An entry that may return. Copies the start of the record.
  void enter(const ExportThread* thread, uint64_t function, uint64_t ns, const ExportSchema* schema,
             std::span<const uint8_t> record);
  // The entry of this return; null: not seen. Entries above it have not returned, and are dropped.
  // Valid until the next call of either.
  const ExportPair* leave(const ExportThread* thread, uint64_t function);

 private:
  struct Entry {
    uint64_t function, ns;
    const ExportSchema* schema;
    std::string record;
  };
  std::unordered_map<const ExportThread*, std::vector<Entry>> threads_;
  size_t entries_ = 0;
  std::string record_;
  ExportPair pair_;
};

}  // namespace patchbay
