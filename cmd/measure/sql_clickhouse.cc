// SPDX-License-Identifier: MIT
#include "cmd/measure/sql_clickhouse.h"

#include <algorithm>

#include "base/text.h"
#include "ship/ship_table.h"

namespace patchbay::cmd {
namespace {

using Kind = SqlExpression::Kind;

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = char(c - 'a' + 'A');
  return text;
}

// A glob as the pattern of LIKE. False: it has brackets, which LIKE has not.
bool like_of(std::string_view glob, std::string* pattern) {
  for (const char c : glob) {
    if (c == '[' || c == ']') return false;
    if (c == '%' || c == '_' || c == '\\') *pattern += '\\';
    *pattern += c == '*' ? '%' : c == '?' ? '_' : c;
  }
  return true;
}

class Translator {
 public:
  Translator(const SqlQuery& query, const std::string& place, const ServerColumns& columns)
      : query_(query), place_(place), columns_(columns) {}

  SqlAt run() {
    SqlAt made;
    std::string text;
    if (translate(&text))
      made.statement = std::move(text);
    else
      made.error = std::move(error_);
    return made;
  }

 private:
  bool fail(std::string text, size_t position) {
    if (!error_) error_ = SqlError{std::move(text), position};
    return false;
  }
  std::string type_of(const std::string& column) const {
    const auto found = columns_.find(column);
    return found == columns_.end() ? "" : found->second;
  }
  bool is_text(const std::string& column) const {
    return type_of(column).find("String") != std::string::npos;
  }

  // The column that a field is in, or an expression of one.
  bool column(const SqlField& field, std::string* out) {
    const std::string& name = field.words.back();
    const std::string word = upper(name);
    if (word == "TIMESTAMP") return *out = "`ts`", true;
    if (word == "TIMESTAMP_USECS") return *out = "intDiv(`ts`, 1000)", true;
    if (word == "STACKTRACE" || name == "common_stacktrace") return *out = "`stack`", true;
    if (name == "common_cpu") return *out = "`cpu`", true;
    if (name == "common_pid") return *out = "`tid`", true;
    if (name == "common_comm") return *out = "`comm`", true;
    // A field that is named like a column of ours has another name there.
    for (const std::string& one : {"field_" + name, name})
      if (columns_.count(one)) return *out = quote_identifier(one), true;
    return fail("'" + name + "' is no column of " + place_, field.position);
  }

  bool render(const SqlExpression& one, std::string* out) {
    if (one.kind == Kind::kNumber) return *out += one.number, true;
    if (one.kind == Kind::kField) {
      std::string name;
      if (!column(one.field, &name)) return false;
      *out += name;
      return true;
    }
    // The numbers of a histogram are whole ones.
    const bool is_division = one.operation == '/';
    *out += is_division ? "intDiv(" : "(";
    if (!render(*one.left, out)) return false;
    *out += is_division ? std::string(", ") : std::string(" ") + one.operation + " ";
    if (!render(*one.right, out)) return false;
    *out += ")";
    return true;
  }

  bool cast(const SqlItem& item, const std::string& of, std::string* out, bool* is_value) {
    const std::string& type = item.cast;
    *is_value =
        type == "_counter_" || type == "__counter__" || type == "counter" || type == "quantiles";
    if (type.empty()) return *out = of, true;
    if (type == "quantiles") return *out = "quantiles(0.5, 0.9, 0.99)(" + of + ")", true;
    if (*is_value) return *out = "sum(" + of + ")", true;
    if (type == "hex") return *out = "concat('0x', lower(hex(" + of + ")))", true;
    if (type == "log2" || type == "log")
      return *out = "if(" + of + " = 0, 0, toUInt64(exp2(floor(log2(" + of + ")))))", true;
    if (type.starts_with("buckets=")) {
      const std::string size = type.substr(8);
      return *out = "intDiv(" + of + ", " + size + ") * " + size, true;
    }
    if (type == "execname" || type == "comm") return *out = "`comm`", true;
    if ((type == "sym" || type == "sym-offset") && of.size() > 2 &&
        is_text(of.substr(1, of.size() - 2)))
      return *out = of, true;  // it was named when it was shipped
    return fail("the server has no names for CAST AS " + upper(type), item.position);
  }

  bool filter(const SqlFilter& one, std::string* out) {
    switch (one.kind) {
      case SqlFilter::Kind::kNot:
        *out += "NOT (";
        if (!filter(*one.left, out)) return false;
        return *out += ")", true;
      case SqlFilter::Kind::kAnd:
      case SqlFilter::Kind::kOr:
        *out += "(";
        if (!filter(*one.left, out)) return false;
        *out += one.kind == SqlFilter::Kind::kAnd ? " AND " : " OR ";
        if (!filter(*one.right, out)) return false;
        return *out += ")", true;
      case SqlFilter::Kind::kComparison:
        break;
    }
    return comparison(one, out);
  }

  bool comparison(const SqlFilter& one, std::string* out) {
    std::string name;
    if (!column(one.field, &name)) return false;
    std::string text = one.value;
    const bool is_quoted = text.size() >= 2 && text[0] == '"';
    if (is_quoted) text = text.substr(1, text.size() - 2);
    const bool is_number = !is_quoted && !text.empty() && (is_digit(text[0]) || text[0] == '-');
    if (one.operation == "~") {
      std::string pattern;
      if (!like_of(text, &pattern))
        return fail("the server has no patterns with brackets", one.position);
      return *out += name + " LIKE " + quote_sql_text(pattern), true;
    }
    const std::string value = is_number ? number(text) : quote_sql_text(text);
    if (one.operation == "&") return *out += "bitAnd(" + name + ", " + value + ") != 0", true;
    *out += name + " " + (one.operation == "==" ? "=" : one.operation) + " " + value;
    return true;
  }

  // "0x1f" is no number of the server's.
  static std::string number(const std::string& text) {
    uint64_t value = 0;
    const bool is_hex = text.starts_with("0x") && to_number(text.substr(2), &value, 16);
    return is_hex ? std::to_string(value) : text;
  }

  bool translate(std::string* out) {
    if (query_.join)
      return fail(
          "JOIN pairs events as they happen, in the process: the server cannot do that; "
          "ship the synthetic event instead",
          query_.join->position);
    std::string items, keys;
    for (const SqlItem& item : query_.items) {
      std::string of, text;
      bool is_value = false;
      if (!render(*item.value, &of) || !cast(item, of, &text, &is_value)) return false;
      std::string name = item.name;
      if (name.empty())
        name = (item.value->kind == Kind::kField ? item.value->field.words.back() : of) +
               (item.cast.empty() ? "" : "." + item.cast);
      // Another name than the column's: within the statement it would stand for the column.
      while (columns_.count(name) && text != quote_identifier(name)) name += "_";
      items += (items.empty() ? "" : ", ") + text + " AS " + quote_identifier(name);
      if (!is_value) keys += (keys.empty() ? "" : ", ") + quote_identifier(name);
    }
    if (keys.empty())
      return fail("one item at least must not be a value", query_.items[0].position);
    *out = "SELECT " + items + ", count() AS `hitcount` FROM " + place_;
    if (query_.filter) {
      *out += " WHERE ";
      if (!filter(*query_.filter, out)) return false;
    }
    *out += " GROUP BY " + keys + " ORDER BY `hitcount` DESC, " + keys;
    return true;
  }

  const SqlQuery& query_;
  const std::string place_;
  const ServerColumns& columns_;
  std::optional<SqlError> error_;
};

}  // namespace

SqlAtTable sql_at_table(const SqlEvent& event, const std::vector<std::string>& tables) {
  const auto has = [&](const std::string& name) {
    return std::find(tables.begin(), tables.end(), name) != tables.end();
  };
  const auto whole = [&](const std::string& name) {
    return has(name + "_all") ? name + "_all" : name;
  };
  std::vector<std::string> found;
  if (event.words.size() > 1) {
    const std::string name = ship_table_name(event.words[0], event.words[1]);
    if (has(name)) found.push_back(name);
  } else {
    for (const std::string& table : tables) {
      const size_t at = table.find("__");
      if (at == table.npos) continue;
      const std::string name = ship_table_name(table.substr(0, at), event.words[0]);
      if (table == name) found.push_back(table);
    }
  }
  SqlAtTable made;
  if (found.size() == 1) return made.name = whole(found[0]), made;
  const std::string text = join(event.words, ":");
  made.error = SqlError{found.empty() ? "the server has no table of the event '" + text + "'"
                                      : "'" + text + "' is an event of several systems: " +
                                            join(found, ", ") + "; write SYSTEM.EVENT",
                        event.position};
  return made;
}

SqlAt sql_at(const SqlQuery& query, const std::string& database, const std::string& table,
             const ServerColumns& columns) {
  const std::string place = quote_identifier(database) + "." + quote_identifier(table);
  return Translator(query, place, columns).run();
}

}  // namespace patchbay::cmd
