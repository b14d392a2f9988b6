// SPDX-License-Identifier: MIT
#include "cmd/measure/hist_json.h"

#include <cstdint>
#include <cstdlib>
#include <set>
#include <vector>

#include "cmd/common/commands.h"
#include "hist/quantile_buckets.h"
#include "hist/text/hist_values.h"

namespace patchbay::cmd {
namespace {

std::string number(uint64_t value, bool is_signed) {
  return is_signed ? std::to_string(int64_t(value)) : std::to_string(value);
}

// Both ends belong to it.
std::string range(uint64_t from, uint64_t to) {
  return "{\"from\": " + std::to_string(from) + ", \"to\": " + std::to_string(to) + "}";
}

std::string log2_range(uint64_t power) {
  const uint64_t low = power == 0 ? 0 : power > 64 ? ~uint64_t{0} : uint64_t{1} << (power - 1);
  const uint64_t high = power < 64 ? uint64_t{1} << power : ~uint64_t{0};
  return range(power == 0 ? 0 : low + 1, high);
}

// One object of keys in their order. One that is there again has its modifier in its name.
class JsonObject {
 public:
  void add(const HistColumn& column, const std::string& shown, const std::string& value) {
    const bool is_new = names_.insert(shown).second;
    add(is_new || column.modifier.empty() ? shown : shown + "." + column.modifier, value);
  }
  void add(const std::string& name, const std::string& value) {
    json_ += (json_.empty() ? "" : ", ") + json_quote(name) + ": " + value;
  }
  std::string text() const { return "{" + json_ + "}"; }

 private:
  std::string json_;
  std::set<std::string> names_;
};

std::string named(const char* label, const std::string& text, const char* of, uint64_t value,
                  bool is_several = false) {
  JsonObject object;
  object.add(label, json_quote(text));
  if (!is_several) object.add(of, std::to_string(value));
  return object.text();
}

std::string stack_json(const HistImage& image, const std::vector<uint32_t>& frames) {
  std::string list;
  for (const uint32_t frame : frames)
    list += (list.empty() ? "" : ", ") + json_quote(hist_address_text(image.names[frame], true));
  return "[" + list + "]";
}

std::string key_json(const HistImage& image, const HistColumn& column, const HistKeyPart& part) {
  switch (column.form) {
    case HistForm::kText:
      return json_quote(std::string(part.text) + (part.is_cut ? "..." : ""));
    case HistForm::kStack:
      return stack_json(image, part.frames);
    case HistForm::kSymbol:
    case HistForm::kSymbolOffset: {
      const HistName& name = image.names[part.number];
      return named("symbol", hist_address_text(name, column.form == HistForm::kSymbolOffset),
                   "address", name.number, name.is_several);
    }
    case HistForm::kExecname:
      return named("comm", image.names[part.number].name, "pid", image.names[part.number].number);
    case HistForm::kSyscall:
      return named("syscall", hist_syscall_text(part.number), "number", part.number);
    case HistForm::kLog2:
      return log2_range(part.number);
    case HistForm::kBucket:
      return range(part.number, part.number + column.buckets - 1);
    default:
      return number(part.number, column.is_signed && column.form == HistForm::kNumber);
  }
}

std::string keys_json(const HistImage& image, const std::string& key) {
  JsonObject object;
  const auto parts = image.parts_of(key);
  for (size_t i = 0; i < image.keys.size(); i++)
    object.add(image.keys[i], image.keys[i].name, key_json(image, image.keys[i], parts[i]));
  return object.text();
}

std::string counters_json(uint64_t sum, const HistRanges& ranges, bool is_signed) {
  std::string list;
  for (const auto& [bucket, hits] : ranges) {
    const QuantileRange one = quantile_range(uint32_t(std::abs(bucket)));
    std::string from = std::to_string(one.low), to = std::to_string(one.high);
    if (bucket < 0) from.swap(to), from.insert(0, "-"), to.insert(0, "-");
    list += (list.empty() ? "{\"from\": " : ", {\"from\": ") + from + ", \"to\": " + to +
            ", \"hits\": " + std::to_string(hits) + "}";
  }
  return "{\"sum\": " + number(sum, is_signed) + ", \"ranges\": [" + list + "]}";
}

std::string share_json(uint64_t value, uint64_t total) {
  const std::string share = hist_share(value, total);
  return share.empty() ? "null" : share;
}

std::string values_json(const HistImage& image, const HistRow& row,
                        const std::vector<HistValueSums>& sums) {
  JsonObject object;
  for (size_t i = 0; i < image.values.size(); i++) {
    const HistColumn& column = image.values[i];
    const uint64_t value = row.values[i];
    if (column.is_hidden) continue;
    switch (column.form) {
      case HistForm::kQuantiles:
        for (const HistQuantile& one : kHistQuantilesShown)
          object.add(column, column.name + "." + one.name,
                     number(quantile_of(row.ranges[i], hits_in(row.ranges[i]), one.per_mille),
                            column.is_signed));
        break;
      case HistForm::kCounters:
        object.add(column, column.name + ".counters",
                   counters_json(value, row.ranges[i], column.is_signed));
        break;
      case HistForm::kPercent:
        object.add(column, column.name + " (%)", share_json(value, sums[i].total));
        break;
      case HistForm::kGraph:
        object.add(column, column.name, json_quote(hist_bar(value, sums[i].most)));
        break;
      default:
        object.add(column, column.name,
                   number(value, column.is_signed && column.form == HistForm::kNumber));
    }
  }
  return object.text();
}

std::string actions_json(const HistImage& image, const HistRow& row) {
  std::string list;
  for (const HistReached& reached : row.reached) {
    JsonObject object;
    object.add(image.tracks[reached.track].is_max ? "max" : "changed",
               std::to_string(reached.value));
    for (size_t i = 0; i < reached.saved.size(); i++) {
      const HistColumn& column = image.saved[i];
      const HistSavedValue& kept = reached.saved[i];
      object.add(column, column.name,
                 column.form == HistForm::kText ? json_quote(kept.text)
                                                : number(kept.number, column.is_signed));
    }
    list += (list.empty() ? "" : ", ") + object.text();
  }
  return list;
}

}  // namespace

std::string hist_json(const HistImage& image) {
  const std::vector<HistValueSums> sums = sums_of_values(image);
  std::string json = "{\"definition\": " + json_quote(image.definition) + ", \"entries\": [";
  bool is_first = true;
  for (const uint32_t index : sort_hist_rows(image)) {
    const HistRow& row = image.rows[index];
    json += std::string(is_first ? "" : ", ") + "{\"keys\": " + keys_json(image, row.key) +
            ", \"values\": " + values_json(image, row, sums);
    const std::string actions = actions_json(image, row);
    if (!actions.empty()) json += ", \"actions\": [" + actions + "]";
    json += "}";
    is_first = false;
  }
  return json + "], \"hits\": " + std::to_string(image.hits) +
         ", \"nr_entries\": " + std::to_string(image.rows.size()) +
         ", \"dropped\": " + std::to_string(image.dropped) + "}\n";
}

}  // namespace patchbay::cmd
