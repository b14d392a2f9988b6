// SPDX-License-Identifier: MIT
#include "cmd/mount/trace_merge.h"

#include <algorithm>

#include "base/text.h"
#include "cmd/mount/merged_text.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kRoom = 64 * 1024;  // of what one process of a trace_pipe has given
constexpr size_t kTaskWidth = 16;    // a line's first column: the name of a thread, right-aligned
constexpr int kDigitsBehindPoint = 6;
constexpr std::string_view kEntries = "# entries-in-buffer/entries-written: ";
constexpr std::string_view kTracer = "# tracer: ";

void skip_blanks(std::string_view* text) { *text = trim_front(*text, " "); }
bool skip(std::string_view* text, char c) {
  if (!text->starts_with(c)) return false;
  text->remove_prefix(1);
  return true;
}
bool skip_digits(std::string_view* text) {
  const size_t end = std::min(text->find_first_not_of("0123456789"), text->size());
  text->remove_prefix(end);
  return end > 0;
}

// "1234.567890" as 1234567890; a clock that counts has no point.
std::optional<uint64_t> parse_time(std::string_view word) {
  const std::string_view whole = cut_at(&word, '.');
  uint64_t time = 0, behind = 0;
  if (!to_number(whole, &time)) return std::nullopt;
  if (word.empty()) return time;
  if (word.size() != kDigitsBehindPoint || !to_number(word, &behind)) return std::nullopt;
  if (__builtin_mul_overflow(time, uint64_t{1'000'000}, &time)) return std::nullopt;
  if (__builtin_add_overflow(time, behind, &time)) return std::nullopt;
  return time;
}

// Behind the name: "-4711    (4711) [001] ..... 12.345678: …".
std::optional<uint64_t> time_behind_name(std::string_view text) {
  if (!skip(&text, '-') || !skip_digits(&text)) return std::nullopt;
  skip_blanks(&text);
  if (skip(&text, '(')) {  // the process, with record-tgid
    (void)cut_at(&text, ')');
    skip_blanks(&text);
  }
  if (!skip(&text, '[') || !skip_digits(&text) || !skip(&text, ']')) return std::nullopt;
  skip_blanks(&text);
  const size_t end = text.find(": ");
  if (end == text.npos) return std::nullopt;
  text = text.substr(0, end);
  return parse_time(text.substr(text.rfind(' ') + 1));
}

bool tells_of_loss(std::string_view line) {
  return line.starts_with("CPU:") && line.find(" [LOST ") != line.npos;
}
bool goes_before(std::string_view line) {
  return line.starts_with("##### CPU ") || tells_of_loss(line);
}
bool is_comment(std::string_view line) { return line == "#" || line.starts_with("# "); }

// A comment without what differs between processes that show the same columns.
std::string columns_of(std::string_view comment) {
  std::string columns;
  for (const std::string& line : split_lines(comment)) {
    if (!line.starts_with(kEntries) && !line.starts_with(kTracer)) columns += line + "\n";
  }
  return columns;
}

struct Entries {
  uint64_t kept = 0, written = 0;
  std::string behind;  // "   #P:4"
};
Entries parse_entries(std::string_view line) {
  Entries entries;
  line.remove_prefix(kEntries.size());
  (void)to_number(cut_at(&line, '/'), &entries.kept);
  const size_t end = std::min(line.find(' '), line.size());
  (void)to_number(line.substr(0, end), &entries.written);
  entries.behind = line.substr(end);
  return entries;
}

}  // namespace

std::optional<uint64_t> line_time(std::string_view line) {
  // A name may have any character; it is hardly ever longer than its column.
  for (size_t at = line.find('-', kTaskWidth); at != line.npos && at < 4 * kTaskWidth;
       at = line.find('-', at + 1)) {
    if (const std::optional<uint64_t> time = time_behind_name(line.substr(at))) return time;
  }
  return std::nullopt;
}

size_t TraceMerge::add_source(int pid, std::string_view name) {
  Source source;
  source.pid = pid;
  source.name = name;
  source.has_comment = of_ == Of::kPipe;
  // Of those that come and go for a long time only the places of those that are there are kept.
  for (size_t i = 0; i < sources_.size() && of_ == Of::kPipe; i++) {
    if (!sources_[i].ended || !rest(sources_[i]).empty()) continue;
    sources_[i] = std::move(source);
    if (last_source_ == i) last_source_ = SIZE_MAX;
    return i;
  }
  sources_.push_back(std::move(source));
  return sources_.size() - 1;
}

std::string_view TraceMerge::rest(const Source& source) const {
  return std::string_view(source.buffer).substr(source.at);
}

void TraceMerge::feed(size_t index, std::string_view bytes, bool more) {
  Source& source = sources_[index];
  if (source.at > 0 && source.at >= source.buffer.size() / 2) {
    source.buffer.erase(0, source.at);
    source.old_until -= std::min(source.old_until, source.at);
    source.at = 0;
  }
  source.buffer += bytes;
  source.more = more;
  find_comment(source);
  find_head(source);
}

void TraceMerge::end(size_t index) {
  Source& source = sources_[index];
  if (source.ended) return;
  source.ended = true;
  if (source.buffer.size() > source.at && !source.buffer.ends_with('\n')) source.buffer += '\n';
  find_comment(source);
  find_head(source);
}

// The comment ends with the first line that is none.
void TraceMerge::find_comment(Source& source) {
  if (source.has_comment) return;
  std::string_view text = rest(source);
  size_t end = 0;
  for (size_t newline; (newline = text.find('\n', end)) != text.npos; end = newline + 1) {
    if (is_comment(text.substr(end, newline - end))) continue;
    source.has_comment = true;
    break;
  }
  if (!source.has_comment && !source.ended) return;
  source.has_comment = true;
  source.comment = text.substr(0, end);
  source.at += end;
}

void TraceMerge::find_head(Source& source) {
  if (source.has_head || !source.has_comment) return;
  const std::string_view text = rest(source);
  bool timed = false;
  size_t end = 0;
  for (size_t newline; (newline = text.find('\n', end)) != text.npos; end = newline + 1) {
    const std::string_view line = text.substr(end, newline - end);
    const bool before = goes_before(line);
    const std::optional<uint64_t> time = before ? std::nullopt : line_time(line);
    if (timed && (before || time)) {
      source.has_head = true;
      break;
    }
    if (before) continue;
    if (time) source.time = *time;
    if (!time && !timed) {  // has no time at all
      source.has_head = true;
      end = newline + 1;
      break;
    }
    timed = true;
  }
  if (!source.has_head && end > 0 && (source.ended || !source.more)) source.has_head = true;
  source.length = end;
  source.timed = timed;
}

bool TraceMerge::is_dry(const Source& source) const {
  return !source.has_head && !source.ended && (of_ == Of::kTrace || source.more);
}

bool TraceMerge::wants_more(size_t index) const {
  const Source& source = sources_[index];
  if (source.ended) return false;
  if (of_ == Of::kPipe) return rest(source).size() < kRoom || !source.has_head;
  if (in_sections_) return index == section_ && rest(source).empty();
  return is_dry(source);
}

bool TraceMerge::holds_something() const {
  return std::any_of(sources_.begin(), sources_.end(),
                     [](const Source& source) { return source.has_head; });
}

bool TraceMerge::all_ended() const {
  return std::all_of(sources_.begin(), sources_.end(),
                     [](const Source& source) { return source.ended; });
}

std::optional<size_t> TraceMerge::earliest() const {
  std::optional<size_t> first;
  for (size_t i = 0; i < sources_.size(); i++) {
    if (sources_[i].has_head && (!first || sources_[i].time < sources_[*first].time)) first = i;
  }
  return first;
}

void TraceMerge::put_record(std::string* out, size_t index) {
  Source& source = sources_[index];
  const bool is_alone = sources_.size() == 1;
  if (!source.timed && !is_alone && last_source_ != index)
    *out += process_head(source.pid, source.name);
  last_source_ = source.timed ? SIZE_MAX : index;
  std::string_view record = rest(source).substr(0, source.length);
  while (!is_alone && tells_of_loss(record.substr(0, record.find('\n')))) {
    out->append(cut_at(&record, '\n'));
    *out += " (" + std::to_string(source.pid) + " " + source.name + ")\n";
  }
  out->append(record);
  source.at += source.length;
  source.has_head = false;
  find_head(source);
}

std::string TraceMerge::merged_comment() {
  const Source* model = nullptr;
  Entries sum;
  std::vector<std::string> tracers;
  for (const Source& source : sources_) {
    if (source.comment.empty()) continue;
    if (!model) model = &source;
    for (const std::string& line : split_lines(source.comment)) {
      if (line.starts_with(kEntries)) {
        const Entries entries = parse_entries(line);
        sum.kept += entries.kept;
        sum.written += entries.written;
        sum.behind = entries.behind;
      }
      const std::string tracer = line.starts_with(kTracer) ? line.substr(kTracer.size()) : "";
      if (!tracer.empty() && std::find(tracers.begin(), tracers.end(), tracer) == tracers.end())
        tracers.push_back(tracer);
    }
  }
  std::string comment;
  for (const std::string& line : split_lines(model ? model->comment : "")) {
    if (line.starts_with(kEntries))
      comment.append(kEntries)
          .append(std::to_string(sum.kept) + "/" + std::to_string(sum.written))
          .append(sum.behind);
    else if (line.starts_with(kTracer))
      comment.append(kTracer).append(join(tracers, " "));
    else
      comment += line;
    comment += '\n';
  }
  return comment;
}

std::string TraceMerge::take() {
  std::string out;
  const auto dry = [this](const Source& source) { return is_dry(source) || !source.has_comment; };
  if (!begun_) {
    if (std::any_of(sources_.begin(), sources_.end(), dry)) return out;
    begun_ = true;
    std::vector<std::string> columns;
    for (const Source& source : sources_)
      if (!source.comment.empty()) columns.push_back(columns_of(source.comment));
    const bool same = std::all_of(columns.begin(), columns.end(),
                                  [&](const std::string& one) { return one == columns[0]; });
    const bool has_times = !columns.empty() && columns[0].find("TIMESTAMP") != std::string::npos;
    const bool is_one = sources_.size() == 1;
    in_sections_ = !is_one && (!same || (!has_times && holds_something()));
    if (!in_sections_) out = merged_comment();
  }
  if (in_sections_) return take_sections();
  while (std::none_of(sources_.begin(), sources_.end(), dry)) {
    const std::optional<size_t> first = earliest();
    if (!first) break;
    put_record(&out, *first);
  }
  return out;
}

// One process after the other.
std::string TraceMerge::take_sections() {
  std::string out;
  for (; section_ < sources_.size(); section_++, section_named_ = false) {
    Source& source = sources_[section_];
    if (!section_named_ && !(source.comment.empty() && source.ended && rest(source).empty()))
      out += process_head(source.pid, source.name) + source.comment;
    section_named_ = true;
    out += rest(source);
    source.buffer.clear();
    source.at = 0;
    source.has_head = false;
    if (!source.ended) break;
  }
  return out;
}

// Goes on while there is a record of an earlier round: whatever is earlier than that one is here.
std::string TraceMerge::end_round() {
  std::string out;
  const auto dry = [this](const Source& source) { return is_dry(source); };
  const auto is_old = [](const Source& source) {
    return source.has_head && source.at < source.old_until;
  };
  while (std::none_of(sources_.begin(), sources_.end(), dry)) {
    const std::optional<size_t> first = earliest();
    if (!first) break;
    const bool waits = sources_.size() > 1 && sources_[*first].timed;
    if (waits && std::none_of(sources_.begin(), sources_.end(), is_old)) break;
    put_record(&out, *first);
  }
  for (Source& source : sources_) source.old_until = source.buffer.size();
  return out;
}

}  // namespace patchbay::cmd
