// SPDX-License-Identifier: MIT
//
// The words of set_event (docs/files.md, "set_event"), and what waits for a library: `:mod:`
// requests, and events that were on when their library went. Registry::requests() hands it out.
// Under the agent's lock.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "registry/event_spec.h"
#include "registry/registry.h"

namespace patchbay {

class EventRequests {
 public:
  explicit EventRequests(Registry::Impl& core) : core_(core) {}

  // One word of set_event, with `!` and `:mod:`.
  Status set(TraceArray& array, std::string_view word);
  std::string show(const TraceArray& array) const;
  Status clear(TraceArray& array);  // O_TRUNC

  // A library that brought events is loaded, with all of them added: what waited for it is done.
  void module_loaded(std::string_view module);
  // Something waits for a library to come.
  bool waiting() const;

  // The event is on in this instance and its library goes.
  void remember(const TraceArray& array, const LiveEvent& event);
  void forget(const TraceArray& array);  // what remember() has of the instance

 private:
  struct Remembered {
    std::string array, system, name, module, filter;
  };
  Status set(TraceArray& array, const EventSpec& spec);
  Status cache(TraceArray& array, const EventSpec& spec);
  bool is_loaded(std::string_view module);
  std::vector<Remembered> take_remembered(std::string_view module);
  void switch_on_again(std::string_view module);

  Registry::Impl& core_;
  std::vector<Remembered> remembered_;
};

}  // namespace patchbay
