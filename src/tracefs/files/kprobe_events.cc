// SPDX-License-Identifier: MIT
// kprobe_events: probes on symbols and addresses (docs/files.md, "Probes").
#include "tracefs/files/probe_files.h"

namespace patchbay::tracefs {

FilePtr make_kprobe_events(const Place& place) {
  return std::make_unique<ProbeEventsFile>(place.tree->context.probes, ProbeFile::kKprobeEvents);
}

}  // namespace patchbay::tracefs
