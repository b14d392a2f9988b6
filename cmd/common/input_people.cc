// SPDX-License-Identifier: MIT
#include "cmd/common/input_people.h"

namespace patchbay::cmd {

void InputPeople::add(const TraceInput& input) {
  ExportInput opened;
  opened.dat = input.dat.get();
  opened.buffer = input.buffer.get();
  people.add(opened);
  people.name_processes();
  finder.add(images_of(opened.dat));
}

}  // namespace patchbay::cmd
