// SPDX-License-Identifier: MIT
//
// Names and stacks of a perfetto trace: each has a number for the whole trace, and is defined once
// in each packet sequence that uses it (InternedData).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "export/export_event.h"
#include "export/export_source.h"

namespace patchbay {

enum class PerfettoName : uint8_t { kCategory, kEvent, kAnnotation, kFunction, kStack };
inline constexpr size_t kPerfettoNames = 5;

// What a sequence has defined since its state was cleared.
struct PerfettoDefined {
  std::array<std::vector<bool>, kPerfettoNames> names;
  bool has_mapping = false;
};

class PerfettoInterner {
 public:
  // Of a text of any bytes; what could harm is escaped.
  uint32_t name(std::string_view raw);
  uint32_t function(ExportSource* source, const ExportEvent& event, uint64_t address);
  uint32_t stack(ExportSource* source, const ExportEvent& event);
  // Appends fields of InternedData that `defined` does not have yet.
  void define(PerfettoName kind, uint32_t id, PerfettoDefined* defined, std::string* interned);
  // There is so much that all sequences should begin anew, with clear() before.
  bool is_full() const { return names_.size() > 400'000 || stacks_.size() > 50'000; }
  void clear();

 private:
  struct Cached {
    uint64_t address = 0;
    uint32_t input = 0, table = 0, id = 0;
  };
  static bool mark(std::vector<bool>* defined, uint32_t id);
  void define_frames(uint32_t stack, PerfettoDefined* defined, std::string* interned);

  std::deque<std::string> names_;  // number - 1
  std::unordered_map<std::string_view, uint32_t> name_ids_;
  std::vector<Cached> cache_ = std::vector<Cached>(8192);
  std::vector<std::vector<uint32_t>> stacks_;  // number - 1: functions, the outermost first
  std::unordered_map<std::string, uint32_t> stack_ids_;
  std::string clean_, key_;
};

}  // namespace patchbay
