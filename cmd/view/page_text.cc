// SPDX-License-Identifier: MIT
#include "cmd/view/page_text.h"

#include <span>

// page_files.S
#define PAGE_FILE(name)                        \
  extern "C" const char page_##name##_begin[]; \
  extern "C" const char page_##name##_end[]
PAGE_FILE(html);
PAGE_FILE(style);
PAGE_FILE(columns);
PAGE_FILE(model);
PAGE_FILE(worker);
PAGE_FILE(text);
PAGE_FILE(recording);
PAGE_FILE(query);
PAGE_FILE(tracks);
PAGE_FILE(timeline);
PAGE_FILE(pointing);
PAGE_FILE(grid);
PAGE_FILE(calls_view);
PAGE_FILE(flame_view);
PAGE_FILE(charts);
PAGE_FILE(spread_view);
PAGE_FILE(events_view);
PAGE_FILE(details);
PAGE_FILE(about_view);
PAGE_FILE(live_view);
PAGE_FILE(app);
#undef PAGE_FILE

namespace patchbay::cmd {
namespace {

struct File {
  const char *begin, *end;
  std::string_view text() const { return {begin, size_t(end - begin)}; }
};
#define FILE_OF(name) \
  File { page_##name##_begin, page_##name##_end }

// What the page may do: run what is in it, and ask nobody.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'unsafe-inline' blob:; worker-src blob:; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

constexpr std::string_view kLivePolicy = "; connect-src 'self'";

// Scripts of one name are one text; each uses those before it.
const File kWorkerFiles[] = {FILE_OF(columns), FILE_OF(model), FILE_OF(worker)};
const File kScriptFiles[] = {FILE_OF(columns),     FILE_OF(text),    FILE_OF(recording),
                             FILE_OF(query),       FILE_OF(tracks),  FILE_OF(timeline),
                             FILE_OF(pointing),    FILE_OF(grid),    FILE_OF(calls_view),
                             FILE_OF(flame_view),  FILE_OF(charts),  FILE_OF(spread_view),
                             FILE_OF(events_view), FILE_OF(details), FILE_OF(about_view),
                             FILE_OF(live_view),   FILE_OF(app)};

bool write_files(std::span<const File> files, const std::function<bool(std::string_view)>& write) {
  for (const File& file : files)
    if (!write(file.text()) || !write("\n")) return false;
  return true;
}

}  // namespace

bool write_page(std::string_view payload, const std::function<bool(std::string_view)>& write,
                PageKind kind) {
  const bool is_live = kind == PageKind::kLive;
  std::string_view left = FILE_OF(html).text();
  while (!left.empty()) {
    const size_t at = left.find('@'), end = left.find('@', at + 1);
    if (at == left.npos || end == left.npos) return write(left);
    const std::string_view word = left.substr(at + 1, end - at - 1);
    const bool is_word = word.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == word.npos;
    if (!write(left.substr(0, is_word ? at : end))) return false;
    left.remove_prefix(is_word ? end + 1 : end);
    if (!is_word) continue;
    bool ok = true;
    if (word == "policy") ok = write(kPolicy) && (!is_live || write(kLivePolicy));
    if (word == "live") ok = write(is_live ? "yes" : "no");
    if (word == "style") ok = write(FILE_OF(style).text());
    if (word == "worker") ok = write_files(kWorkerFiles, write);
    if (word == "script") ok = write_files(kScriptFiles, write);
    if (word == "recording") ok = write(payload);
    if (!ok) return false;
  }
  return true;
}

}  // namespace patchbay::cmd
