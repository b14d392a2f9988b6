// SPDX-License-Identifier: MIT
#include "tracefs/place.h"

#include <algorithm>
#include <cerrno>

namespace patchbay::tracefs {
namespace {

constexpr const char kFunctionsSystem[] = "functions", kOwnSystem[] = "ftrace";

// Pairs of the file's table; its writer is this process, under the lock that we hold.
std::vector<abi::ClockPair> stored_pairs(const abi::BufferHeader* header) {
  auto* table = reinterpret_cast<const abi::ClockTable*>(reinterpret_cast<const uint8_t*>(header) +
                                                         header->clock_offset);
  uint64_t count = __atomic_load_n(&table->count, __ATOMIC_ACQUIRE);
  size_t stored = size_t(std::min<uint64_t>(count, abi::kClockPairs));
  std::vector<abi::ClockPair> pairs(table->pair, table->pair + stored);
  std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.tsc < b.tsc; });
  return pairs;
}

}  // namespace

TreeState::TreeState(const TreeContext& tree_context)
    : context(tree_context),
      registry(tree_context.registry),
      names_(AddressNames::from_symbols(tree_context.symbols)),
      printk_([this] { return printk_texts(); }) {
  sources_.events = [this] { return all_calls(); };
  sources_.names = &names_;
  sources_.arguments_of = [this](uint64_t function) {
    return context.functions.arguments_of(function);
  };
  sources_.printk = &printk_;
  sources_.comms = [this] { return comms(); };
  sources_.clock = [this](TraceClock of) { return clock(of); };
}

const TraceTextSources& TreeState::text_sources() {
  sources_.generation = registry.generation();
  return sources_;
}

std::vector<const EventCall*> TreeState::all_calls() const {
  std::vector<const EventCall*> calls = registry.gone_calls();
  for (const LiveEvent* event : registry.events_of(registry.top(), "")) {
    calls.push_back(&event->call);
  }
  return calls;
}

std::vector<BufferFile::Text> TreeState::printk_texts() const {
  auto buffer = BufferFile::over_memory(registry.top().buffer->bytes());
  return buffer.ok() ? (*buffer)->printk_texts() : std::vector<BufferFile::Text>();
}

std::vector<abi::CommEntry> TreeState::comms() const {
  const abi::CommTable& table = *registry.top().buffer->rings()->comms;
  uint32_t used = std::min(__atomic_load_n(&table.used, __ATOMIC_RELAXED), abi::kCommEntries);
  std::vector<abi::CommEntry> entries;
  entries.reserve(used);
  for (uint32_t i = 0; i < used; i++) {
    // Pairs with the release by which a thread completes its entry.
    if (__atomic_load_n(&table.entry[i].tid, __ATOMIC_ACQUIRE) == 0) continue;
    entries.push_back(table.entry[i]);
  }
  return entries;
}

std::vector<abi::ClockPair> TreeState::clock_pairs() const {
  return stored_pairs(registry.top().buffer->header());
}

// A line through two pairs that are close together leads away from the truth, so it is drawn anew
// as the process grows older: twice as old while it is young, and later as often as pairs come.
void TreeState::fit_curve() {
  constexpr uint64_t kSecond = 1'000'000'000;
  const uint64_t now = raw_clock_now(abi::kClockMonotonic);
  if (now < fit_again_ns_) return;
  const uint32_t raw_clock = registry.top().buffer->rings()->clock;
  const std::vector<abi::ClockPair> pairs = clock_pairs();
  curve_->bend(raw_clock_now(raw_clock), fit_clock(raw_clock, pairs));
  const uint64_t age = pairs.empty() ? 0 : now - std::min(now, pairs.front().mono_ns);
  fit_again_ns_ = now + (age < kSecond ? age : std::max(kSecond, age / 64));
}

TraceClockConvert TreeState::clock(TraceClock clock) {
  fit_curve();
  uint64_t& offset = clock_offsets_[size_t(clock)];
  offset = TraceClockConvert::offset_of(clock, offset);
  return TraceClockConvert(clock, curve_, offset);
}

void TreeState::index_events() {
  if (indexed_ == registry.generation()) return;
  by_system_.clear();
  for (LiveEvent* event : registry.events_of(registry.top(), "")) {
    by_system_[event->call.system].push_back(event);
  }
  if (by_system_.size() == by_system_.count(kOwnSystem)) by_system_[kFunctionsSystem];
  indexed_ = registry.generation();
}

bool shows_system(const TraceArray& array, std::string_view system) {
  return array.systems.empty() ||
         std::find(array.systems.begin(), array.systems.end(), system) != array.systems.end();
}

bool TreeState::has_system(const TraceArray& array, std::string_view system) {
  index_events();
  return by_system_.contains(system) && shows_system(array, system);
}

std::vector<std::string> TreeState::systems(const TraceArray& array) {
  index_events();
  std::vector<std::string> names;
  for (const auto& [system, events] : by_system_) {
    if (shows_system(array, system)) names.push_back(system);
  }
  std::sort(names.begin(), names.end());
  return names;
}

const std::vector<LiveEvent*>& TreeState::events_of(std::string_view system) {
  static const auto& none = *new std::vector<LiveEvent*>;  // never freed
  index_events();
  auto found = by_system_.find(system);
  return found == by_system_.end() ? none : found->second;
}

Result<TraceArray*> Place::find_array() const {
  if (is_top()) return &registry().top();
  TraceArray* found = registry().find_array(array);
  if (!found) return user_error(ENODEV, "The instance " + array + " has been removed.");
  return found;
}

Result<LiveEvent*> Place::find_event(const TraceArray& instance) const {
  LiveEvent* found = registry().find_event_by_id(event_id);
  if (found && found == event && shows_system(instance, found->call.system)) return found;
  return user_error(ENODEV, "The event has been removed.");
}

}  // namespace patchbay::tracefs
