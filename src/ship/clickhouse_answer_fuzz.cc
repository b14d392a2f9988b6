// SPDX-License-Identifier: MIT
// What a server may say: read, or refused, and never more than it is.
#include <cstdint>
#include <cstdlib>

#include "ship/clickhouse_answer.h"

using namespace patchbay;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  if (auto columns = parse_server_columns(body); columns.ok())
    for (const auto& [name, type] : *columns)
      if (name.empty() || type.empty()) std::abort();
  (void)parse_block_counts(body);
  if (auto version = parse_server_version(body); version.ok() && version->size() > 40) std::abort();
  const ServerError error = parse_server_error(body);
  for (const char c : error.text)
    if (uint8_t(c) < 0x20 || uint8_t(c) >= 0x7f) std::abort();
  (void)advice_of(500, error);
  return 0;
}
