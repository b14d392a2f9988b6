// SPDX-License-Identifier: MIT
// What a ClickHouse server says: foreign bytes, of a server that may be none.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ship/ship_table.h"

namespace patchbay {

// Rows of the format TabSeparated with `columns` fields each, unescaped. EPROTO: it is none.
Result<std::vector<std::vector<std::string>>> parse_tab_separated(std::string_view body,
                                                                  size_t columns);
// Of name and type.
Result<ServerColumns> parse_server_columns(std::string_view body);
// Of a block's number and its rows.
Result<std::map<uint32_t, uint64_t>> parse_block_counts(std::string_view body);
// "18.16.1": the version of SELECT version(). EPROTO: no ClickHouse server would say this.
Result<std::string> parse_server_version(std::string_view body);

// "Code: 60, e.displayText() = …": what went wrong.
struct ServerError {
  int code = 0;      // 0: it does not say
  std::string text;  // one line, of no more than 300 bytes, with nothing that a terminal obeys
};
ServerError parse_server_error(std::string_view body);

enum class ServerAdvice : uint8_t {
  kTryAgain,  // it has no room, or no time: later it may
  kPrepare,   // the table or a column has gone: make it again
  kRefused,   // it will say the same to this table again
  kNoEntry,   // the user or the password is wrong
};
ServerAdvice advice_of(long status, const ServerError& error);

}  // namespace patchbay
