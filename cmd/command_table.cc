// SPDX-License-Identifier: MIT
#include "cmd/command_table.h"

namespace patchbay::cmd {

std::span<const Command> all_commands() {
  static const Command kCommands[] = {
      {&kRecordLine, run_record},
      {&kReportLine, run_report},
      {&kGraphLine, run_graph},
      {&kReplayLine, run_replay},
      {&kExportLine, run_export},
      {&kShipLine, run_ship},
      {&kViewLine, run_view},
      {&kDumpLine, run_dump},
      {&kRecoverLine, run_recover},
      {&kMergeLine, run_merge},
      {&kCleanLine, run_clean},
      {&kListLine, run_list},
      {&kAttachLine, run_attach},
      {&kDetachLine, run_detach},
      {&kCatLine, run_cat},
      {&kWriteLine, run_write},
      {&kLsLine, run_ls},
      {&kProbeLine, run_probe},
      {&kLiveLines[0], run_live},
      {&kLiveLines[1], run_live},
      {&kLiveLines[2], run_live},
      {&kLiveLines[3], run_live},
      {&kLiveLines[4], run_live},
      {&kLiveLines[5], run_live},
      {&kLiveLines[6], run_live},
      {&kLiveLines[7], run_live},
      {&kStacksLine, run_stacks},
      {&kLocksLine, run_locks},
      {&kTopLine, run_top},
      {&kHistLine, run_hist},
      {&kLatencyLine, run_latency},
      {&kCallsLine, run_calls},
      {&kSqlLine, run_sql},
      {&kMountLine, run_mount},
      {&kWithTracefsLine, run_with_tracefs},
      {&kMirrorLine, run_mirror},
      {&kServeLine, run_serve},
      {&kStatusLine, run_status},
  };
  return kCommands;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : all_commands())
    if (name == command.line->name) return &command;
  return nullptr;
}

}  // namespace patchbay::cmd
