// SPDX-License-Identifier: MIT
#include "trace_dat/merge_tables.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cinttypes>

#include "abi/trace_dat_abi.h"
#include "base/text.h"
#include "trace_dat/metadata.h"

namespace patchbay {
namespace {

constexpr uint32_t kFirstFreeId = 512;  // the agent's own are below; the kernel's are the last ones
constexpr uint64_t kLastAddress = ~uint64_t{0};

uint16_t text_offset_of(const EventCall& event) {
  if (event.system != "ftrace") return 0;
  const char* name = event.name == "bprint" ? "fmt" : event.name == "bputs" ? "str" : nullptr;
  const EventField* field = name ? event.find(name) : nullptr;
  return field && field->size == 8 && field->offset <= 0xffff ? uint16_t(field->offset) : 0;
}

std::string hex_line(uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "%016" PRIx64 " ", address);
  return text;
}

}  // namespace

uint32_t lowest_kernel_id(const TraceDatReader& file) {
  std::vector<bool> has(65536, false);
  bool is_kernels = false;
  for (const EventCall& event : file.events()) {
    has[event.id] = true;
    is_kernels |= event.id == abi::kDatKernelPrintId && event.system == "ftrace";
  }
  uint32_t lowest = 65536;
  while (is_kernels && lowest > 0 && has[lowest - 1]) lowest--;
  return lowest;
}

// --- formats

Result<uint16_t> MergedFormats::id_of(const EventCall& event, const std::string& text,
                                      bool is_kernel) {
  const std::string plain = format_with_id(text, 0);
  const std::string key = (is_kernel ? "k" : "u") + event.system + '\0' + plain;
  const auto [known, is_new] = by_text_.try_emplace(key, uint16_t{0});
  if (!is_new) return known->second;
  uint32_t id = event.id;
  if (used_[id] || id == 0) {
    // Ours are counted up, the kernel's down.
    id = is_kernel ? 65535 : kFirstFreeId;
    while (id > 0 && id < 65536 && used_[id]) is_kernel ? id-- : id++;
    if (id == 0 || id > 65535)
      return user_error(E2BIG, "The recordings have more than 65000 kinds of events together.");
  }
  used_[id] = true;
  known->second = uint16_t(id);
  std::string numbered = format_with_id(text, uint16_t(id));
  formats_.push_back({event.system, event.name, numbered.empty() ? text : std::move(numbered)});
  if (!is_kernel) definitions_[event.system + ":" + event.name]++;
  return uint16_t(id);
}

Result<std::shared_ptr<const MergedIds>> MergedFormats::add(const TraceDatReader& file) {
  const uint32_t kernel = lowest_kernel_id(file);
  MergedIds made;
  for (size_t i = 0; i < file.events().size(); i++) {
    const EventCall& event = file.events()[i];
    if (event.id >= made.ids.size()) {
      made.ids.resize(size_t(event.id) + 1, 0);
      made.text_offset.resize(size_t(event.id) + 1, 0);
    }
    PB_ASSIGN(made.ids[event.id], id_of(event, file.format_text(i), event.id >= kernel));
    made.text_offset[event.id] = event.id >= kernel ? uint16_t{0} : text_offset_of(event);
  }
  // The last ones first: files of one tree follow each other.
  for (auto known = known_.rbegin(); known != known_.rend() && known - known_.rbegin() < 16;
       ++known)
    if (**known == made) return *known;
  known_.push_back(std::make_shared<const MergedIds>(std::move(made)));
  return known_.back();
}

std::vector<std::string> MergedFormats::several() const {
  std::vector<std::string> names;
  for (const auto& [name, count] : definitions_)
    if (count > 1) names.push_back(name);
  return names;
}

// --- names

uint32_t MergedNames::line_of(std::string_view text) {
  const auto [at, is_new] = line_numbers_.try_emplace(std::string(text), uint32_t(lines_.size()));
  if (is_new) lines_.push_back(&at->first);
  return at->second;
}

// "t name\t[module]" -> "name"; empty for a line that only ends the function before it.
std::string_view MergedNames::name_of(uint32_t line) const {
  std::string_view text = *lines_[line];
  text.remove_prefix(std::min<size_t>(2, text.size()));
  text = text.substr(0, text.find_first_of(" \t"));
  return text.starts_with("0x") ? std::string_view() : text;
}

void MergedNames::add(std::string_view kallsyms, const std::vector<ImageName>& own) {
  std::vector<Range>& ranges = images_.emplace_back();
  for (const ImageName& name : own)
    ranges.push_back({name.start, name.end,
                      line_of("t " + (name.name.empty() ? hex_number(name.start) : name.name))});
  const size_t nr_own = ranges.size();
  while (!kallsyms.empty()) {
    const std::string_view line = cut_at(&kallsyms, '\n');
    uint64_t address = 0;
    auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
    const size_t at = size_t(end - line.data());
    if (error != std::errc() || line.size() < at + 4 || line[at] != ' ' || line[at + 2] != ' ')
      continue;
    ranges.push_back({address, kLastAddress, line_of(line.substr(at + 1))});
  }
  const auto by_start = [](const Range& a, const Range& b) { return a.start < b.start; };
  std::stable_sort(ranges.begin() + ptrdiff_t(nr_own), ranges.end(), by_start);
  for (size_t i = nr_own; i < ranges.size(); i++) {
    if (i + 1 < ranges.size()) ranges[i].end = ranges[i + 1].start;
    if (name_of(ranges[i].line).empty()) ranges[i].end = ranges[i].start + 1;
  }
  // What the image names by itself hides what kallsyms has there.
  const auto is_hidden = [&](const Range& range) {
    if (range.end <= range.start) return true;
    const auto next = std::partition_point(
        own.begin(), own.end(), [&](const ImageName& name) { return name.end <= range.start; });
    return next != own.end() && next->start < range.end;
  };
  ranges.erase(std::remove_if(ranges.begin() + ptrdiff_t(nr_own), ranges.end(), is_hidden),
               ranges.end());
  for (const Range& range : ranges)
    if (!name_of(range.line).empty()) insert(range);
}

const std::pair<const uint64_t, MergedNames::Common>* MergedNames::common_at(
    uint64_t address) const {
  auto next = common_.upper_bound(address);
  if (next == common_.begin()) return nullptr;
  --next;
  return next->second.end > address ? &*next : nullptr;
}

// Where there is nothing yet.
void MergedNames::insert(const Range& range) {
  auto next = common_.lower_bound(range.start);
  const bool is_free = (next == common_.end() || next->first >= range.end) &&
                       (next == common_.begin() || std::prev(next)->second.end <= range.start);
  if (is_free) common_.emplace_hint(next, range.start, Common{range.end, range.line});
}

bool MergedNames::agrees(const Range& range) const {
  const auto* there = common_at(range.start);
  const std::string_view name = name_of(range.line);
  if (name.empty()) return !there || name_of(there->second.line).empty();
  return there && there->first == range.start && there->second.end >= range.end &&
         name_of(there->second.line) == name;
}

std::vector<std::vector<ImageName>> MergedNames::differences() {
  std::vector<std::vector<ImageName>> all;
  for (std::vector<Range>& ranges : images_) {
    std::vector<ImageName>& own = all.emplace_back();
    for (const Range& range : ranges)
      if (!agrees(range)) own.push_back({range.start, range.end, std::string(name_of(range.line))});
    std::sort(own.begin(), own.end(),
              [](const ImageName& a, const ImageName& b) { return a.start < b.start; });
  }
  for (const std::vector<Range>& ranges : images_)
    for (const Range& range : ranges)
      if (name_of(range.line).empty()) insert(range);
  images_.clear();
  return all;
}

std::string MergedNames::text() const {
  std::string text;
  for (auto at = common_.begin(); at != common_.end(); ++at) {
    text += hex_line(at->first) + *lines_[at->second.line] + "\n";
    const auto next = std::next(at);
    const uint64_t end = at->second.end;
    // A line without a function needs none that ends it.
    const bool is_last = end == kLastAddress || name_of(at->second.line).empty();
    if (is_last || (next != common_.end() && next->first <= end)) continue;
    text += hex_line(end) + "t " + hex_number(end) + "\n";
  }
  return text;
}

// --- texts

namespace {

constexpr uint64_t kOriginal = uint64_t{1} << 63;  // as in output/printk_text.cc

}  // namespace

std::unordered_map<uint64_t, uint64_t> MergedTexts::add(std::string_view printk_formats) {
  std::map<uint64_t, std::pair<std::string, std::string>> texts;  // by address: text, original
  while (!printk_formats.empty()) {
    std::string_view line = cut_at(&printk_formats, '\n');
    uint64_t address = 0;
    if (!line.starts_with("0x")) continue;
    const auto [end, error] =
        std::from_chars(line.data() + 2, line.data() + line.size(), address, 16);
    if (error != std::errc()) continue;
    line.remove_prefix(size_t(end - line.data()));
    const bool original = address & kOriginal && address < (kOriginal | uint64_t{1} << 47);
    auto& text = texts[original ? address & ~kOriginal : address];
    (original ? text.second : text.first) = line;
  }
  std::unordered_map<uint64_t, uint64_t> changed;
  for (const auto& [address, text] : texts) {
    const std::string both = text.first + '\0' + text.second;
    uint64_t to = address;
    if (auto there = texts_.find(address); there != texts_.end() && there->second != both) {
      const auto [moved, is_new] = moved_.try_emplace(both, uint64_t{0});
      while (is_new && (texts_.contains(next_) || texts.contains(next_))) next_ += 8;
      if (is_new) moved->second = next_;
      to = moved->second;
      changed[address] = to;
    }
    if (!texts_.try_emplace(to, both).second) continue;
    text_ += hex_number(to) + text.first + "\n";
    if (!text.second.empty()) text_ += hex_number(to | kOriginal) + text.second + "\n";
  }
  return changed;
}

}  // namespace patchbay
