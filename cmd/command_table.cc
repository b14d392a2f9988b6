// SPDX-License-Identifier: MIT
#include "cmd/command_table.h"

namespace patchbay::cmd {

std::span<const Command> all_commands() {
  static const Command kCommands[] = {
      {&kCallsLine, run_calls, "Look at a program", true},
      {&kTopLine, run_top, nullptr, true},
      {&kHistLine, run_hist, nullptr, true},
      {&kLatencyLine, run_latency, nullptr, true},
      {&kStacksLine, run_stacks, nullptr, true},
      {&kLocksLine, run_locks, nullptr, true},
      {&kViewLine, run_view, nullptr, true},
      {&kSqlLine, run_sql},
      {&kProbeLine, run_probe},
      {&kListLine, run_list},
      {&kRecordLine, run_record, "Record it, and read the recording", true},
      {&kReportLine, run_report, nullptr, true},
      {&kGraphLine, run_graph, nullptr, true},
      {&kReplayLine, run_replay},
      {&kExportLine, run_export, nullptr, true},
      {&kShipLine, run_ship},
      {&kMergeLine, run_merge},
      {&kRecoverLine, run_recover},
      {&kDumpLine, run_dump},
      {&kCleanLine, run_clean},
      {&kAttachLine, run_attach, "Work with a running process, as with the kernel's tracefs", true},
      {&kDetachLine, run_detach},
      {&kLiveLines[0], run_live},
      {&kLiveLines[1], run_live},
      {&kLiveLines[2], run_live},
      {&kLiveLines[3], run_live},
      {&kLiveLines[4], run_live},
      {&kLiveLines[5], run_live},
      {&kLiveLines[6], run_live},
      {&kLiveLines[7], run_live},
      {&kCatLine, run_cat},
      {&kWriteLine, run_write},
      {&kLsLine, run_ls},
      {&kMountLine, run_mount, nullptr, true},
      {&kWithTracefsLine, run_with_tracefs},
      {&kMirrorLine, run_mirror},
      {&kStatusLine, run_status, "A whole host", true},
      {&kServeLine, run_serve, nullptr, true},
  };
  return kCommands;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : all_commands())
    if (name == command.line->name) return &command;
  return nullptr;
}

}  // namespace patchbay::cmd
