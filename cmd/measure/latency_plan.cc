// SPDX-License-Identifier: MIT
#include "cmd/measure/latency_plan.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <map>
#include <set>

#include "base/text.h"
#include "cmd/common/commands.h"
#include "hist/quantile_buckets.h"
#include "hist/text/hist_values.h"
#include "output/trace_line.h"

namespace patchbay::cmd {
namespace {

constexpr char kValue[] = "lat";
constexpr char kFunction[] = "__ip";
constexpr size_t kBarWidth = 40;

// "db:start has id sql": as the sentence about a filter says it.
std::string fields_text(const EventCall& call) {
  std::string text = call.system + ":" + call.name + " has";
  for (const EventField& field : call.fields) text += " " + field.name;
  return text + (call.fields.empty() ? " no fields" : "");
}

Result<const EventField*> field_of(const EventCall& call, const std::string& name) {
  const EventField* field = call.find(name);
  if (field) return field;
  return user_error(ENOENT, call.system + ":" + call.name + " has no field '" + name + "'; " +
                                fields_text(call) + " and the common_ fields.");
}

struct Keys {
  std::string start = "common_pid", end = "common_pid";
};

Result<Keys> keys_of(const std::string& key, const EventCall& start, const EventCall& end) {
  Keys keys;
  if (key.empty()) return keys;
  const size_t equal = key.find('=');
  keys.start = key.substr(0, equal);
  keys.end = equal == key.npos ? key : key.substr(equal + 1);
  PB_ASSIGN(const EventField* first, field_of(start, keys.start));
  PB_ASSIGN(const EventField* second, field_of(end, keys.end));
  if (is_text_field(*first) == is_text_field(*second)) return keys;
  return user_error(EINVAL, "'" + keys.start + "' and '" + keys.end + "' are a text and a number.");
}

// What the distributions are told apart by.
struct By {
  bool at_start = false;
  std::string field, name;  // of the event, of the synthetic event
  std::string modifier;     // ".hex", ".sym"
  SyntheticSlot slot;
};

// How the event's own text shows a number: "%p=%llx %pS", REC->p, REC->q.
std::string modifier_of(std::string_view print_fmt, const std::string& field) {
  const size_t quote = print_fmt.rfind("\", ");
  if (field.ends_with("_ip")) return ".sym";
  if (quote == print_fmt.npos) return "";
  std::string_view text = print_fmt.substr(0, quote), arguments = print_fmt.substr(quote + 2);
  for (size_t at = 0; (at = text.find('%', at)) != text.npos;) {
    if (text.substr(at + 1).starts_with('%')) {
      at += 2;
      continue;
    }
    const size_t letter = std::min(text.find_first_of("diouxXcspfge", at), text.size() - 1);
    const bool is_symbol = text[letter] == 'p' && letter + 1 < text.size() &&
                           std::string_view("SsFfB").find(text[letter + 1]) != text.npos;
    const std::string_view argument = arguments.substr(0, arguments.find(", "));
    if (argument.ends_with("REC->" + field)) {
      if (is_symbol) return ".sym";
      return std::string_view("xXp").find(text[letter]) != text.npos ? ".hex" : "";
    }
    arguments.remove_prefix(std::min(argument.size() + 2, arguments.size()));
    at = letter + 1;
  }
  return "";
}

Result<By> by_of(const std::string& text, const EventCall& start, const EventCall& end) {
  By by;
  const bool says_start = text.starts_with("start."), says_end = text.starts_with("end.");
  by.field = text.substr(says_start ? 6 : says_end ? 4 : 0);
  by.at_start = says_start || (!says_end && start.find(by.field));
  if (!says_start && !says_end && !by.at_start && !end.find(by.field)) {
    // The return of a function, which has no fields of its own, was not asked about.
    const bool is_asked = end.system != "latency" && &end != &start;
    return user_error(ENOENT, start.system + ":" + start.name + " has no field '" + by.field +
                                  "'; " + fields_text(start) +
                                  (is_asked ? "; " + fields_text(end) + "; both have" : " and") +
                                  " the common_ fields.");
  }
  PB_ASSIGN(const EventField* field, field_of(by.at_start ? start : end, by.field));
  by.slot = synthetic_slot(*field);
  by.name = by.field == kValue ? by.field + "_of" : by.field;
  if (!is_text_field(*field))
    by.modifier = modifier_of((by.at_start ? start : end).print_fmt, by.field);
  // A word in hexadecimal may be the address of a variable: a lock has its name.
  if (by.modifier == ".hex" && field->size == 8) by.modifier = ".sym-offset";
  return by;
}

std::string free_name(const EventFormats& events) {
  std::string name = "latency";
  for (int i = 2; events.has("synthetic", name); i++) name = "latency" + std::to_string(i);
  return name;
}

void add_pair(const Keys& keys, const By& by, const EventCall& start, const EventCall& end,
              const std::string& name, HistPlan* plan) {
  const bool has_by = !by.field.empty();
  const std::string own = "__" + name + "_";
  std::string first = "hist:keys=" + keys.start + ":" + own + "1=common_timestamp";
  if (has_by && by.at_start) first += "," + own + "2=" + by.field;
  // The kernel refuses parameters of one letter, so a field goes by a variable.
  const std::string parameter = has_by ? ",$" + own + "2" : "";
  const std::string second = has_by && !by.at_start ? "," + own + "2=" + by.field : "";
  plan->synthetic = name;
  plan->writes.push_back({"dynamic_events", "s:" + name + " u64 " + kValue +
                                                (has_by ? "; " + by.slot.with(by.name) : "")});
  plan->writes.push_back({trigger_path(start), first});
  plan->writes.push_back({trigger_path(end), "hist:keys=" + keys.end + ":" + own +
                                                 "3=common_timestamp-$" + own + "1" + second +
                                                 ":onmatch(" + start.system + "." + start.name +
                                                 ")." + name + "($" + own + "3" + parameter + ")"});
}

// The name of a key stays what it was until it is named again.
void add_named(const Keys& keys, const By& by, const EventCall& named, const EventCall& call,
               const std::string& name, HistPlan* plan) {
  const std::string own = "__" + name + "_";
  plan->synthetic = name;
  plan->writes.push_back(
      {"dynamic_events", "s:" + name + " u64 " + kValue + "; " + by.slot.with(by.name)});
  plan->writes.push_back(
      {trigger_path(named), "hist:keys=" + keys.start + ":" + own + "2=" + by.field});
  plan->writes.push_back({trigger_path(call), "hist:keys=" + keys.end + ":" + own + "3=duration" +
                                                  ":onmatch(" + named.system + "." + named.name +
                                                  ")." + name + "($" + own + "3,$" + own + "2)"});
}

// Without anything to tell them apart by, all have the key 0.
void add_histogram(const std::string& directory, LatencyPlan* made) {
  const std::string& value = made->value;
  const std::string key = made->by.empty() ? value + "*0" : made->by + made->modifier;
  made->plan.writes.push_back(
      {directory + "/trigger", "hist:keys=" + key + ":vals=" + value + "," + value + ".counters"});
  made->plan.histograms = {directory};
}

Result<LatencyPlan> plan_call(const EventCall& call, const By& by, LatencyPlan made) {
  made.value = "duration";
  PB_TRY(field_of(call, made.value));
  made.by = by.field;
  made.is_by_function = by.field.empty() && call.find(kFunction);
  if (made.is_by_function) {
    made.by = kFunction;
    made.modifier = ".sym-offset";
  }
  std::string directory = trigger_path(call);
  directory.resize(directory.rfind('/'));
  add_histogram(directory, &made);
  return made;
}

// --- the distributions

void read_ranges(const HistRanges& ranges, Distribution* one) {
  for (const auto& [range, hits] : ranges) {
    if (range < 0) continue;  // no time is below 0
    const auto power = unsigned(std::bit_width(quantile_range(uint32_t(range)).low));
    if (one->bars.empty() || one->bars.back().power != power) one->bars.push_back({power, 0});
    one->bars.back().hits += hits;
  }
  const uint64_t total = hits_in(ranges);
  if (total == 0) return;
  const auto quantile = [&](uint64_t per_mille) { return quantile_of(ranges, total, per_mille); };
  one->p50 = quantile(500);
  one->p90 = quantile(900);
  one->p99 = quantile(990);
  one->p999 = quantile(999);
  one->max = quantile(1000);
}

// Of a variable the name alone, at its beginning.
std::string symbol_text(const HistName& name, bool with_offset) {
  std::string text = name.is_known ? name.name : hex_number(name.number);
  if (name.is_known && with_offset && name.offset) text += "+" + hex_number(name.offset);
  return text;
}

// What the distributions are called. Two variables may have one name, as `lock` of two files: these
// have their addresses behind it.
class ByValues {
 public:
  ByValues(const HistImage& image, const LatencyPlan& plan) : image_(image), plan_(plan) {
    if (plan.by.empty() || image.keys.empty()) return;
    if (image.keys[0].form != HistForm::kSymbolOffset) return;
    for (const HistRow& row : image.rows) {
      const auto number = uint32_t(image.parts_of(row.key)[0].number);
      numbers_[symbol_text(image.names[number], true)].insert(number);
    }
  }

  std::string of(const HistRow& row) const {
    if (plan_.by.empty() || image_.keys.empty()) return "";
    const HistColumn& column = image_.keys[0];
    const HistKeyPart part = image_.parts_of(row.key)[0];
    switch (column.form) {
      case HistForm::kText:
        return std::string(part.text) + (part.is_cut ? "..." : "");
      case HistForm::kSymbol:
        return symbol_text(image_.names[part.number], false);
      case HistForm::kSymbolOffset:
        return of_variable(image_.names[part.number]);
      case HistForm::kHex:
        return hex_number(part.number);
      default:
        return column.is_signed ? std::to_string(int64_t(part.number))
                                : std::to_string(part.number);
    }
  }

 private:
  std::string of_variable(const HistName& name) const {
    const std::string text = symbol_text(name, true);
    const auto found = numbers_.find(text);
    if (!name.is_known || found == numbers_.end() || found->second.size() < 2) return text;
    for (const auto& [address, namesake] : plan_.namesakes)
      if ((address ^ name.number) % kPageSize == 0) return namesake;
    return text + " (" + hex_number(name.number) + ")";
  }

  static constexpr uint64_t kPageSize = 4096;  // addresses of several processes are pages apart
  const HistImage& image_;
  const LatencyPlan& plan_;
  std::map<std::string, std::set<uint32_t>> numbers_;  // of the names that are shown so
};

// A bar has the values from its start to below its end.
uint64_t bar_start(unsigned power) { return power == 0 ? 0 : uint64_t{1} << (power - 1); }
uint64_t bar_end(unsigned power) { return power < 64 ? uint64_t{1} << power : ~uint64_t{0}; }

void put_bars(const Distribution& one, std::string* out) {
  uint64_t most = 1;
  for (const LatencyBar& bar : one.bars) most = std::max(most, bar.hits);
  unsigned expected = one.bars.empty() ? 0 : one.bars.front().power;
  for (const LatencyBar& bar : one.bars) {
    for (; expected <= bar.power; expected++) {
      const uint64_t hits = expected == bar.power ? bar.hits : 0;
      const uint64_t low = bar_start(expected), high = bar_end(expected);
      const size_t length = (hits * kBarWidth + most - 1) / most;
      char head[80];
      std::snprintf(head, sizeof head, "  %10s .. %-10s %10llu |", duration_text(low).c_str(),
                    duration_text(high).c_str(), static_cast<unsigned long long>(hits));
      *out += head + std::string(length, '#') + "\n";
    }
  }
}

}  // namespace

Result<LatencyPlan> plan_latency(const LatencyRequest& request, EventFormats& events) {
  const bool is_named = !request.named.empty();
  PB_ASSIGN(const EventCall* start, events.find(is_named ? request.named : request.start));
  PB_ASSIGN(const EventCall* end, events.find(request.end));
  PB_ASSIGN(Keys keys, keys_of(request.key, *start, *end));
  if (is_named && !start->find(request.by))
    return user_error(ENOENT, "--by is a field of --named's event; " + fields_text(*start) +
                                  ", not '" + request.by + "'.");
  PB_ASSIGN(By by, request.by.empty() ? Result<By>(By()) : by_of(request.by, *start, *end));
  LatencyPlan made;
  made.by = by.name;
  made.modifier = by.modifier;
  if (request.is_call()) return plan_call(*start, by, std::move(made));
  const std::string name = free_name(events);
  if (is_named)
    add_named(keys, by, *start, *end, name, &made.plan);
  else
    add_pair(keys, by, *start, *end, name, &made.plan);
  made.value = kValue;
  add_histogram("events/synthetic/" + name, &made);
  return made;
}

std::vector<Distribution> read_latency(const HistImage& image, const LatencyPlan& plan) {
  struct Read {
    uint64_t hits = 0, sum = 0;
    HistRanges ranges;
  };
  std::map<std::string, Read> found;  // what has one name is one
  const ByValues names(image, plan);
  for (const HistRow& row : image.rows) {
    Read& read = found[names.of(row)];
    read.hits += row.values[0];
    for (size_t i = 1; i < image.values.size(); i++) {
      if (image.values[i].form == HistForm::kNumber) read.sum += row.values[i];
      if (image.values[i].has_ranges()) add_ranges(&read.ranges, row.ranges[i]);
    }
  }
  std::vector<Distribution> sorted;
  for (const auto& [name, read] : found) {
    Distribution& one = sorted.emplace_back();
    one.by = name;
    one.hits = read.hits;
    one.sum = read.sum;
    read_ranges(read.ranges, &one);
  }
  if (plan.is_by_function && sorted.size() == 1) sorted[0].by.clear();
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Distribution& a, const Distribution& b) { return a.sum > b.sum; });
  return sorted;
}

std::string latency_text(const std::vector<Distribution>& distributions) {
  std::string text;
  for (const Distribution& one : distributions) {
    if (!text.empty()) text += "\n";
    append_escaped(&text, one.by);
    text += one.by.empty() ? "" : ": ";
    text += std::to_string(one.hits) + " times, " + duration_text(one.sum) + ", average " +
            duration_text(one.hits ? one.sum / one.hits : 0) + "\n";
    put_bars(one, &text);
    text += "  p50 " + duration_text(one.p50) + "  p90 " + duration_text(one.p90) + "  p99 " +
            duration_text(one.p99) + "  p99.9 " + duration_text(one.p999) + "  max " +
            duration_text(one.max) + "  (within 1.6 %)\n";
  }
  return text.empty() ? "There was no call, or no pair of the two events.\n" : text;
}

std::string latency_json(const LatencyRequest& request,
                         const std::vector<Distribution>& distributions) {
  std::string json = "{\"start\": " + json_quote(request.start) +
                     ", \"end\": " + json_quote(request.is_call() ? "return" : request.end) +
                     ", \"distributions\": [";
  const auto figure = [&](const char* name, uint64_t value) {
    json += std::string(json.back() == '{' ? "\"" : ", \"") + name + "\": " + std::to_string(value);
  };
  for (const Distribution& one : distributions) {
    json += &one == &distributions.front() ? "{" : ", {";
    if (!one.by.empty() || !request.by.empty()) json += "\"by\": " + json_quote(one.by);
    figure("hits", one.hits);
    figure("sum_ns", one.sum);
    figure("average_ns", one.hits ? one.sum / one.hits : 0);
    figure("p50_ns", one.p50);
    figure("p90_ns", one.p90);
    figure("p99_ns", one.p99);
    figure("p99.9_ns", one.p999);
    figure("max_ns", one.max);
    json += ", \"bars\": [";
    for (const LatencyBar& bar : one.bars) {
      json += &bar == &one.bars.front() ? "{" : ", {";
      figure("from_ns", bar_start(bar.power));
      figure("to_ns", bar_end(bar.power) - (bar.power < 64));
      figure("hits", bar.hits);
      json += "}";
    }
    json += "]}";
  }
  return json + "]}\n";
}

std::string duration_text(uint64_t ns) {
  struct Unit {
    uint64_t size;
    const char* name;
  };
  constexpr Unit kUnits[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}};
  for (const Unit& unit : kUnits) {
    if (ns < unit.size) continue;
    const double value = double(ns) / double(unit.size);
    char text[40];
    std::snprintf(text, sizeof text, "%.*f %s",
                  value < 10    ? 2
                  : value < 100 ? 1
                                : 0,
                  value, unit.name);
    return text;
  }
  return std::to_string(ns) + " ns";
}

}  // namespace patchbay::cmd
