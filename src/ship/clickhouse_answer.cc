// SPDX-License-Identifier: MIT
#include "ship/clickhouse_answer.h"

#include <cerrno>

#include "base/text.h"

namespace patchbay {
namespace {

constexpr size_t kMostRows = 1 << 20;

Error no_answer(std::string_view why) {
  return user_error(EPROTO, "this is not the answer of a ClickHouse server: " + std::string(why));
}

std::string unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    out += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c == '0' ? '\0' : c;
  }
  return out;
}

}  // namespace

Result<std::vector<std::vector<std::string>>> parse_tab_separated(std::string_view body,
                                                                  size_t columns) {
  std::vector<std::vector<std::string>> rows;
  if (!body.empty() && !body.ends_with('\n')) return no_answer("its last line has no end");
  while (!body.empty()) {
    std::string_view line = cut_at(&body, '\n');
    std::vector<std::string> row;
    for (;;) {
      const size_t tab = line.find('\t');
      row.push_back(unescape(line.substr(0, tab)));
      if (tab == line.npos) break;
      line.remove_prefix(tab + 1);
      if (row.size() > columns) break;
    }
    if (row.size() != columns) return no_answer("a line has another number of fields");
    if (rows.size() >= kMostRows) return no_answer("it has too many lines");
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<ServerColumns> parse_server_columns(std::string_view body) {
  PB_ASSIGN(auto rows, parse_tab_separated(body, 2));
  ServerColumns columns;
  for (auto& row : rows) {
    if (row[0].empty() || row[1].empty()) return no_answer("a column has no name or no type");
    columns[row[0]] = row[1];
  }
  return columns;
}

Result<std::map<uint32_t, uint64_t>> parse_block_counts(std::string_view body) {
  PB_ASSIGN(auto rows, parse_tab_separated(body, 2));
  std::map<uint32_t, uint64_t> counts;
  for (const auto& row : rows) {
    uint32_t block = 0;
    uint64_t count = 0;
    if (!to_number(row[0], &block) || !to_number(row[1], &count))
      return no_answer("a number is expected");
    counts[block] = count;
  }
  return counts;
}

Result<std::string> parse_server_version(std::string_view body) {
  PB_ASSIGN(auto rows, parse_tab_separated(body, 1));
  if (rows.size() != 1 || rows[0][0].size() > 40 || rows[0][0].empty() || !is_digit(rows[0][0][0]))
    return no_answer("a version is expected");
  for (const char c : rows[0][0])
    if (!is_name_char(c) && c != '.' && c != '-') return no_answer("a version is expected");
  return rows[0][0];
}

ServerError parse_server_error(std::string_view body) {
  ServerError error;
  const std::string_view line = trim(body.substr(0, body.find('\n')));
  if (line.starts_with("Code: ")) {
    std::string_view rest = line.substr(6);
    const size_t end = rest.find_first_not_of("0123456789");
    (void)to_number(rest.substr(0, end), &error.code);
  }
  for (const char c : line.substr(0, 300)) {
    const bool is_plain = uint8_t(c) >= 0x20 && uint8_t(c) < 0x7f;
    error.text += is_plain ? c : '?';
  }
  return error;
}

// The numbers are ClickHouse's, which never gives one a new meaning.
ServerAdvice advice_of(long status, const ServerError& error) {
  switch (error.code) {
    case 60:  // UNKNOWN_TABLE
    case 81:  // UNKNOWN_DATABASE
    case 16:  // NO_SUCH_COLUMN_IN_TABLE
      return ServerAdvice::kPrepare;
    case 6:    // CANNOT_PARSE_TEXT
    case 44:   // ILLEGAL_COLUMN
    case 50:   // UNKNOWN_TYPE
    case 53:   // TYPE_MISMATCH
    case 57:   // TABLE_ALREADY_EXISTS, as another thing
    case 62:   // SYNTAX_ERROR
    case 48:   // NOT_IMPLEMENTED
    case 164:  // READONLY
    case 497:  // ACCESS_DENIED
      return ServerAdvice::kRefused;
    case 192:  // UNKNOWN_USER
    case 193:  // WRONG_PASSWORD
    case 194:  // REQUIRED_PASSWORD
    case 516:  // AUTHENTICATION_FAILED
      return ServerAdvice::kNoEntry;
    default:
      return status == 401 || status == 403 ? ServerAdvice::kNoEntry : ServerAdvice::kTryAgain;
  }
}

}  // namespace patchbay
