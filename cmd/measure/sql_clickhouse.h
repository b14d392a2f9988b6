// SPDX-License-Identifier: MIT
//
// A statement of `patchbay sql` for the tables that `patchbay ship` has made (ship/ship_table.h):
//
//   SELECT CAST(size AS LOG2), CAST(size AS _COUNTER_) FROM malloc WHERE size > 100
//
//   SELECT …(`size`) AS `size`, sum(`size`) AS …, count() AS `hitcount`
//       FROM `patchbay`.`functions__malloc` WHERE `size` > 100 GROUP BY … ORDER BY `hitcount` DESC
//
// What a process alone can do is refused with its place: pairs of events (JOIN), and keys whose
// names the server does not know.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/measure/sql_parse.h"
#include "ship/clickhouse_answer.h"

namespace patchbay::cmd {

struct SqlAt {  // exactly one of the two
  std::optional<std::string> statement;
  std::optional<SqlError> error;
};

// Which of the tables an event of the statement means; an error where it is none, or several. A
// Distributed one (`…_all`) comes first.
struct SqlAtTable {
  std::string name;  // empty: see error
  std::optional<SqlError> error;
};
SqlAtTable sql_at_table(const SqlEvent& event, const std::vector<std::string>& tables);

// `columns`: of the table.
SqlAt sql_at(const SqlQuery& query, const std::string& database, const std::string& table,
             const ServerColumns& columns);

}  // namespace patchbay::cmd
