// SPDX-License-Identifier: MIT
#pragma once

#include "cmd/common/trace_input.h"
#include "export/export_who.h"

namespace patchbay::cmd {

// Who is in one recording.
struct InputPeople {
  ExportPeople people;
  WhoFinder finder{&people};
  InputPeople() = default;
  InputPeople(const InputPeople&) = delete;
  InputPeople& operator=(const InputPeople&) = delete;
  void add(const TraceInput& input);
};

}  // namespace patchbay::cmd
