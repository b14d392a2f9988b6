// SPDX-License-Identifier: MIT
//
// From a statement of `patchbay sql` to what is written to a tracefs.
//
//   SELECT start.pid, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS lat
//       FROM sched_waking AS start JOIN sched_switch AS end ON start.pid = end.next_pid
//
//   dynamic_events         s:lat pid_t pid; u64 lat
//   sched_waking/trigger   hist:keys=pid:__lat_1=pid,__lat_2=common_timestamp.usecs
//   sched_switch/trigger   hist:keys=next_pid:__lat_3=common_timestamp.usecs-$__lat_2:
//                              onmatch(sched.sched_waking).lat($__lat_1,$__lat_3)
//
// A statement without JOIN is one histogram: its items are the keys, those that are CAST AS
// _COUNTER_ the values.
#pragma once

#include <optional>
#include <string>

#include "cmd/measure/hist_plan.h"
#include "cmd/measure/sql_parse.h"

namespace patchbay::cmd {

struct SqlBuild {  // exactly one of the two
  std::optional<HistPlan> plan;
  std::optional<SqlError> error;
};

// `name`: of the synthetic event.
SqlBuild build_sql(const SqlQuery& query, EventFormats& events, const std::string& name);

}  // namespace patchbay::cmd
