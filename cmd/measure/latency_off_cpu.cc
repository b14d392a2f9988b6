// SPDX-License-Identifier: MIT
#include "cmd/measure/latency_off_cpu.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <map>
#include <set>
#include <unordered_map>

#include "cmd/common/commands.h"
#include "cmd/measure/latency_plan.h"
#include "cmd/report/call_pairing.h"
#include "cmd/report/graph_source.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kBarWidth = 24;

// Above 2^(power-1), up to 2^power.
unsigned power_of(uint64_t ns) { return ns <= 1 ? 0 : unsigned(std::bit_width(ns - 1)); }
uint64_t power_of_two(unsigned power) { return power > 63 ? ~uint64_t{0} : uint64_t{1} << power; }

// "12.3 % off the CPU", with a ? where it is not sure.
std::string share_text(const OffCpuBand& band) {
  const double share = band.sum_ns ? 100 * double(band.off_ns) / double(band.sum_ns) : 0;
  char text[48];
  std::snprintf(text, sizeof text, "%5.1f %%%s off the CPU", share, band.unsure ? "?" : "");
  return text;
}

std::string columns(const std::string& left, size_t width, const std::string& right) {
  return left + std::string(left.size() < width ? width - left.size() : 0, ' ') + right;
}

void put_json(const OffCpuBand& band, std::string* json) {
  const auto figure = [json](const char* name, uint64_t value) {
    *json += std::string(", \"") + name + "\": " + std::to_string(value);
  };
  figure("hits", band.hits);
  figure("sum_ns", band.sum_ns);
  figure("off_cpu_ns", band.off_ns);
  figure("off_cpu_unsure", band.unsure);
}

// The calls of functions, as they return.
class FunctionCalls : public CallSink {
 public:
  FunctionCalls(GraphSource* source, const std::string& glob, std::vector<OffCpuCall>* calls)
      : source_(source), glob_(glob), calls_(calls) {}
  void enter(const ThreadCalls&, OpenCall*) override {}
  void leave(const ThreadCalls&, const OpenCall& call, CallEnd how, uint64_t duration_ns,
             const GraphRecord*) override {
    const auto [known, is_new] = meant_.try_emplace(call.func, false);
    if (is_new) known->second = function_fits(glob_, source_->function_name(call.func));
    if (known->second && how == CallEnd::kReturned)
      calls_->push_back({duration_ns, call.off.off_ns, call.off.is_sure});
  }

 private:
  GraphSource* source_;
  const std::string glob_;
  std::vector<OffCpuCall>* calls_;
  std::unordered_map<uint64_t, bool> meant_;
};

// The ids of events of a name.
std::set<uint16_t> ids_of(const GraphSource& source, const std::string& name) {
  std::set<uint16_t> ids;
  for (const EventCall& event : source.events())
    if (name == event.name || name == event.system + ":" + event.name) ids.insert(event.id);
  return ids;
}

// From one event to the next other one of the same thread.
class EventPairs {
 public:
  EventPairs(const GraphSource& source, const std::string& start, const std::string& end)
      : off_cpu_(source.off_cpu()), start_(ids_of(source, start)), end_(ids_of(source, end)) {}
  bool has_start() const { return !start_.empty(); }
  bool has_end() const { return !end_.empty(); }
  void take(const MergedEvent& event, int32_t tid, std::vector<OffCpuCall>* calls) {
    if (event.record.size() < 2) return;
    const uint16_t id = uint16_t(event.record[0] | event.record[1] << 8);
    if (end_.contains(id)) {
      const auto begun = begun_.find(tid);
      if (begun != begun_.end()) {
        const OffCpuShare share = off_cpu_->within(tid, begun->second, event.ns);
        calls->push_back({event.ns - begun->second, share.off_ns, share.is_sure});
        begun_.erase(begun);
      }
    }
    if (start_.contains(id)) begun_[tid] = event.ns;
  }

 private:
  const OffCpuTimes* off_cpu_;
  const std::set<uint16_t> start_, end_;
  std::unordered_map<int32_t, uint64_t> begun_;
};

}  // namespace

void OffCpuBand::add(const OffCpuCall& call) {
  hits++;
  sum_ns += call.ns;
  off_ns += std::min(call.off_ns, call.ns);
  unsure += !call.is_sure;
}

OffCpuLatency off_cpu_latency(std::vector<OffCpuCall> calls) {
  constexpr struct {
    const char* name;
    uint64_t permille;
  } kQuantiles[] = {{"p50", 500}, {"p90", 900}, {"p99", 990}, {"p99.9", 999}, {"max", 1000}};
  OffCpuLatency latency;
  std::sort(calls.begin(), calls.end(),
            [](const OffCpuCall& a, const OffCpuCall& b) { return a.ns < b.ns; });
  std::map<unsigned, OffCpuBand> ranges;
  for (const OffCpuCall& call : calls) {
    const unsigned power = power_of(call.ns);
    OffCpuBand& range = ranges[power];
    range.above_ns = power == 0 ? 0 : power_of_two(power - 1);
    range.to_ns = power_of_two(power);
    range.add(call);
    latency.all.add(call);
  }
  for (const auto& [power, range] : ranges) latency.ranges.push_back(range);
  size_t next = 0;
  for (const auto& quantile : kQuantiles) {
    if (calls.empty()) break;
    // As many calls as are not slower.
    const size_t count = (calls.size() * quantile.permille + 999) / 1000;
    OffCpuBand band;
    band.name = quantile.name;
    band.above_ns = next ? calls[next - 1].ns : 0;
    band.to_ns = calls[count - 1].ns;
    for (; next < count; next++) band.add(calls[next]);
    latency.quantiles.push_back(band);
  }
  return latency;
}

Result<std::vector<OffCpuCall>> recorded_off_cpu_calls(const std::string& path,
                                                       const std::string& start,
                                                       const std::string& end) {
  PB_ASSIGN(auto source, GraphSource::open(path));
  if (!source->off_cpu())
    return user_error(ENOENT, source->path() +
                                  " has no sched:sched_switch; patchbay record -k "
                                  "sched:sched_switch records it.");
  std::vector<OffCpuCall> calls;
  EventPairs pairs(*source, start, end);
  if (!end.empty() && (!pairs.has_start() || !pairs.has_end()))
    return user_error(ENOENT, "'" + (pairs.has_start() ? end : start) + "' is no event of " +
                                  source->path() + ".");
  for (size_t buffer = 0; buffer < source->nr_buffers(); buffer++) {
    FunctionCalls functions(source.get(), start, &calls);
    CallPairing pairing(&functions, source->off_cpu());
    PB_TRY(source->walk(buffer, [&](const MergedEvent& event, const GraphRecord& record) {
      if (end.empty())
        pairing.take(record);
      else
        pairs.take(event, record.tid, &calls);
    }));
    pairing.finish();
  }
  print_losses("latency", source->losses().events);
  if (!calls.empty()) return calls;
  return user_error(ENOENT, end.empty()
                                ? "There is no call of '" + start + "' that returned in " +
                                      source->path() + " (record -t function_graph)."
                                : "There was no pair of the two events in " + source->path() + ".");
}

std::string off_cpu_text(const OffCpuLatency& latency) {
  const OffCpuBand& all = latency.all;
  std::string text = std::to_string(all.hits) + " times, " + duration_text(all.sum_ns) +
                     ", average " + duration_text(all.hits ? all.sum_ns / all.hits : 0) + ", " +
                     std::string(share_text(all)) + "\n";
  uint64_t most = 1;
  for (const OffCpuBand& range : latency.ranges) most = std::max(most, range.hits);
  for (const OffCpuBand& range : latency.ranges) {
    const size_t width = size_t((range.hits * kBarWidth + most - 1) / most);
    const std::string left =
        "  up to " + columns(duration_text(range.to_ns), 9, std::to_string(range.hits));
    text += columns(left, 26, "|" + std::string(width, '#')) + std::string(kBarWidth - width, ' ') +
            "| " + share_text(range) + "\n";
  }
  for (size_t i = 0; i < latency.quantiles.size(); i++) {
    const OffCpuBand& band = latency.quantiles[i];
    const std::string left = columns("  " + band.name, 10, duration_text(band.to_ns));
    text += columns(left, 26, band.hits ? share_text(band) : "no call of its own");
    text += i == 0 ? "" : ", from " + latency.quantiles[i - 1].name + " on";
    text += "\n";
  }
  if (all.unsure)
    text += "?: for " + std::to_string(all.unsure) + " of them switches are missing\n";
  return text;
}

std::string off_cpu_json(const std::string& start, const std::string& end,
                         const OffCpuLatency& latency) {
  std::string json =
      "{\"start\": " + json_quote(start) + ", \"end\": " + json_quote(end.empty() ? "return" : end);
  put_json(latency.all, &json);
  json += ", \"quantiles\": [";
  for (const OffCpuBand& band : latency.quantiles) {
    json += std::string(json.back() == '[' ? "" : ", ") +
            "{\"quantile\": " + json_quote(band.name) + ", \"ns\": " + std::to_string(band.to_ns);
    put_json(band, &json);
    json += "}";
  }
  json += "], \"bars\": [";
  for (const OffCpuBand& band : latency.ranges) {
    json += std::string(json.back() == '[' ? "" : ", ") +
            "{\"from_ns\": " + std::to_string(band.above_ns + (band.above_ns != 0)) +
            ", \"to_ns\": " + std::to_string(band.to_ns);
    put_json(band, &json);
    json += "}";
  }
  return json + "]}\n";
}

}  // namespace patchbay::cmd
