// SPDX-License-Identifier: MIT
//
// The texts that a command writes to a process's tracefs, so that something is counted there. And
// the events that it is about, as the process describes them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "event/event_call.h"
#include "serve/client.h"

namespace patchbay::cmd {

struct HistPlan {
  struct Write {
    std::string path, text;  // below the tracefs root; appended
  };
  std::vector<Write> writes;
  std::string synthetic;                // name of the synthetic event that it makes; empty: none
  std::vector<std::string> histograms;  // "events/SYSTEM/EVENT" whose hist is to be read, in order

  // As a shell in a tracefs directory would do it: echo 'TEXT' >> PATH, a line each.
  std::string commands() const;
};

// "events/SYSTEM/EVENT/trigger".
std::string trigger_path(const EventCall& event);

// The events of a tracefs.
class EventFormats {
 public:
  using ReadFormat = std::function<Result<std::string>(const std::string& path)>;
  // `names`: SYSTEM:EVENT. `read` gives the text of events/SYSTEM/EVENT/format.
  EventFormats(std::vector<std::string> names, ReadFormat read)
      : names_(std::move(names)), read_(std::move(read)) {}
  static Result<EventFormats> of_process(serve::Client& client);
  // A directory that has events/SYSTEM/EVENT/format: a mount, or a copy of one.
  static Result<EventFormats> of_directory(const std::string& directory);

  // Finds an event by "SYSTEM:EVENT", "SYSTEM.EVENT" or "EVENT". ENOENT, with near ones, when there
  // is none; EINVAL when several have this name.
  Result<const EventCall*> find(std::string_view name);
  bool has(std::string_view system, std::string_view name) const;

 private:
  std::vector<std::string> names_;
  ReadFormat read_;
  std::map<std::string, EventCall, std::less<>> calls_;
};

// The type of a field of a synthetic event that a field of this event goes into, and its name as it
// is written behind it: {"char", "comm[16]"} of char[16], {"u64", "fd"} of unsigned long fd.
struct SyntheticSlot {
  std::string type, brackets;  // "u64"; "[16]", "[]" of texts and stacks
  std::string with(std::string_view name) const {
    return type + " " + std::string(name) + brackets;
  }
};
SyntheticSlot synthetic_slot(const EventField& field);
bool is_text_field(const EventField& field);

}  // namespace patchbay::cmd
