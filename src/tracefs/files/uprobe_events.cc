// SPDX-License-Identifier: MIT
// uprobe_events: probes on places of files (docs/files.md, "Probes").
#include "tracefs/files/probe_files.h"

namespace patchbay::tracefs {

FilePtr make_uprobe_events(const Place& place) {
  return std::make_unique<ProbeEventsFile>(place.tree->context.probes, ProbeFile::kUprobeEvents);
}

}  // namespace patchbay::tracefs
