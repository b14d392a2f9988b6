// SPDX-License-Identifier: MIT
//
// Function tracers of the program itself: its callbacks (register_ftrace_function) as consumers of
// the same call sites as every other tracer, each with a filter of its own. Under the registry's
// lock, but for what waits.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probe/callbacks/callbacks.h"
#include "tracer/ftrace_ops.h"

namespace patchbay {

class CallbackOps {
 public:
  CallbackOps(Registry& registry, FtraceOpsTable& table);
  ~CallbackOps();

  using Id = uint64_t;  // 0: none; never given out twice
  Id make();
  bool knows(Id id) const;
  bool is_registered(Id id) const;

  enum class Filter : uint8_t { kFilter, kNotrace };
  // `text`: PATTERN[:mod:MODULE], as a line of set_ftrace_filter; with `reset` instead of what is
  // there. EINVAL: no function is meant. An empty text with `reset`: no filter.
  Status set_filter(Id id, Filter which, std::string_view text, bool reset);
  // The functions whose entries these are. ENOENT: one is none, or cannot be traced; then nothing
  // is changed.
  Status set_filter_addresses(Id id, std::span<const uint64_t> addresses, bool remove, bool reset);
  void clear_filters(Id id);

  // Its hits call function(ip, parent_ip, argument, CallbackRegisters*). EBUSY: it is registered.
  Status add(Id id, uint64_t function, uint64_t argument, LiveVectors vectors);
  // No call begins any more; the callback that may still be running, for wait_until_left().
  HitCallback* remove(Id id);
  void forget(Id id);  // that is not registered
  // Registered ones whose function or argument lies in there, which an object leaves.
  std::vector<Id> inside(uint64_t start, uint64_t end) const;
  uint64_t missed(Id id) const;  // hits of threads that were in a callback

 private:
  struct Entry;
  Registry& registry_;
  FtraceOpsTable& table_;
  std::map<Id, std::unique_ptr<Entry>> entries_;
  Id last_ = 0;
  Entry* find(Id id) const;
  Status set_hash(Entry* entry, Filter which, FtraceHash hash);
  std::string free_name(const std::string& wanted) const;
};

}  // namespace patchbay
