// SPDX-License-Identifier: MIT
//
// The language of `patchbay sql`, which is that of libtracefs' sqlhist: one SELECT about one event,
// a histogram, or about two, a synthetic event.
//
//   SELECT ITEM[, ITEM]… FROM EVENT [[AS] LABEL]
//       [JOIN EVENT [[AS] LABEL] ON FIELD = FIELD[, FIELD = FIELD]…] [WHERE FILTER]
//   ITEM    FIELD | NUMBER and fields with + - * / | CAST(FIELD AS TYPE), each with [[AS] NAME]
//   FIELD   [LABEL.|EVENT.|SYSTEM.EVENT.]NAME      \NAME: not the keyword
//   FILTER  FIELD OP VALUE with AND OR NOT (or && || !) and parentheses
//
// Keywords in any case. Nothing is looked up here: sql_build.h knows the events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay::cmd {

struct SqlError {
  std::string text;
  size_t position = 0;  // in the statement
  // The line it is in, a caret below it, the text.
  std::string show(std::string_view statement) const;
};

struct SqlField {
  std::vector<std::string> words;  // "start", "pid"
  size_t position = 0;
  std::string text() const;
};

struct SqlExpression {
  enum class Kind : uint8_t { kField, kNumber, kOperation };
  Kind kind = Kind::kField;
  SqlField field;
  std::string number;
  char operation = 0;  // + - * /
  std::unique_ptr<SqlExpression> left, right;
  bool in_parentheses = false;
  size_t position = 0;
};

struct SqlItem {
  std::unique_ptr<SqlExpression> value;
  std::string cast;  // lower case: "hex", "sym-offset", "buckets=10"; empty: none
  std::string name;  // AS
  size_t position = 0;
};

struct SqlEvent {
  std::vector<std::string> words;  // [system,] event
  std::string label;
  size_t position = 0;
};

struct SqlFilter {
  enum class Kind : uint8_t { kAnd, kOr, kNot, kComparison };
  Kind kind = Kind::kComparison;
  std::unique_ptr<SqlFilter> left, right;  // kNot: left
  SqlField field;
  std::string operation, value;  // as a filter of an event has them
  size_t position = 0;
};

struct SqlMatch {
  SqlField left, right;
};

struct SqlQuery {
  std::vector<SqlItem> items;
  SqlEvent from;
  std::optional<SqlEvent> join;
  std::vector<SqlMatch> matches;
  std::unique_ptr<SqlFilter> filter;
};

struct SqlParse {  // exactly one of the two
  std::optional<SqlQuery> query;
  std::optional<SqlError> error;
};

SqlParse parse_sql(std::string_view statement);

}  // namespace patchbay::cmd
