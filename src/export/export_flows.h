// SPDX-License-Identifier: MIT
//
// Which events a synthetic event comes from. A recording of ours has the definitions
// (abi/match_abi.h), and the records say the rest:
//
//   START   of the same keys as END, the latest before it, on whatever thread
//   END     the hit that made it: what its thread recorded in front of it, with no other event
//           but synthetic ones between them
//
// Nothing else is linked. Where records are missing nothing from before is. A START goes to what
// one END made, and not to that of a later END, whose own START may not have been recorded.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "export/export_event.h"

namespace patchbay {

class ExportFlows {
 public:
  // The definitions of an input, of any bytes.
  void define(uint32_t input, std::string_view untrusted_lines);
  // When all is defined: which kinds of events they mean.
  void resolve(const std::vector<std::unique_ptr<ExportSchema>>& schemas);
  // Of each event with a schema, in order; `is_wanted`: it is exported.
  ExportEvent::Flows see(const ExportEvent& event, int32_t tid, bool is_wanted);
  // Records of this input are missing here.
  void lose(uint32_t input);

 private:
  using Numbers = std::vector<uint32_t>;  // of matches
  struct Match {
    std::string synthetic, end, start;
    std::vector<std::pair<std::string, std::string>> keys;  // of END, of START
  };
  struct Roles {  // of a kind of events
    Numbers makes, starts, made_by;
    bool any() const { return !makes.empty() || !starts.empty() || !made_by.empty(); }
  };
  struct Start {
    uint64_t flow = 0;
    bool is_used = false;
  };
  struct Link {
    uint32_t match = 0;
    uint64_t start = 0;  // the flow of the START; 0: none
    std::string key;
  };
  struct Hit {
    uint64_t flow = 0;
    std::vector<Link> links;
  };
  struct Input {
    std::vector<Match> matches;
    std::vector<Roles> roles;                            // by the schema's index
    std::unordered_map<std::string, Start> starts;       // by match and key
    std::unordered_map<int64_t, std::vector<Hit>> hits;  // by thread: of the last hit, in order
  };
  static bool parse(std::string_view line, Match* out);
  static bool key_of(const Match& match, uint32_t number, bool of_start, const ExportEvent& event,
                     std::string* out);
  static void take_makers(const Roles& roles, const std::vector<Hit>& hits, Input* input,
                          ExportEvent::Flows* out);
  static void take_start(const Link& link, Input* input, ExportEvent::Flows* out);

  std::deque<Input> inputs_;
  uint64_t last_flow_ = 0;
};

}  // namespace patchbay
