// SPDX-License-Identifier: MIT
#include "cmd/measure/hist_entries.h"

#include <algorithm>

#include "cmd/common/commands.h"
#include "output/trace_line.h"

namespace patchbay::cmd {
namespace {

constexpr std::string_view kStart = "{ ", kCount = "} hitcount:";

// Where the next entry begins: at "{ " that begins a line; npos: there is none.
size_t next_start(std::string_view text, size_t from) {
  if (from == 0 && text.starts_with(kStart)) return 0;
  const size_t at = text.find("\n{ ", from == 0 ? 0 : from - 1);
  return at == text.npos ? at : at + 1;
}

// Behind the key of the entry that begins at `start`: where its "}" is.
size_t key_end(std::string_view text, size_t start, size_t end) {
  std::string_view entry = text.substr(start, end - start);
  size_t at = entry.find(kCount);
  if (at != entry.npos) {  // a key may hold the mark: its line's last one is meant
    const size_t line_end = std::min(entry.find('\n', at), entry.size());
    return start + entry.substr(0, line_end).rfind(kCount);
  }
  at = entry.rfind('}');
  return at == entry.npos ? start : start + at;
}

bool has_stacks(std::string_view text) {
  const std::string_view head = text.substr(0, std::min(text.find("\n{ "), text.size()));
  return head.find("stacktrace") != head.npos;
}

}  // namespace

std::vector<HistEntry> hist_entries(std::string_view text) {
  std::vector<HistEntry> entries;
  for (size_t start = next_start(text, 0); start != text.npos;) {
    const size_t mark = text.find(kCount, start);
    if (mark == text.npos) break;
    const size_t line_end = std::min(text.find('\n', mark), text.size());
    const size_t end = text.substr(0, line_end).rfind(kCount);
    entries.push_back({text.substr(start + kStart.size(), end - start - kStart.size()),
                       text.substr(end, line_end - end)});
    start = next_start(text, line_end);
  }
  return entries;
}

std::string printable_hist(std::string_view text) {
  const bool stacks = has_stacks(text);
  std::string safe;
  size_t at = 0;
  for (size_t start = next_start(text, 0); start != text.npos;) {
    size_t next = next_start(text, start + kStart.size());
    const size_t end = key_end(text, start, std::min(next, text.size()));
    safe += printable(text.substr(at, start - at));
    if (stacks)
      safe += printable(text.substr(start, end - start));
    else
      append_escaped(&safe, text.substr(start, end - start));
    at = end;
    start = next;
  }
  return safe + printable(text.substr(at));
}

}  // namespace patchbay::cmd
