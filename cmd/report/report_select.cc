// SPDX-License-Identifier: MIT
#include "cmd/report/report_select.h"

#include <algorithm>
#include <cstring>

#include "abi/buffer_abi.h"
#include "base/text.h"

namespace patchbay::cmd {
namespace {

bool has(const std::vector<uint64_t>& list, uint64_t number) {
  return list.empty() || std::find(list.begin(), list.end(), number) != list.end();
}

}  // namespace

bool parse_when(std::string_view text, uint64_t* ns, bool* is_relative) {
  struct Unit {
    std::string_view name;
    uint64_t ns;
  };
  constexpr Unit kUnits[] = {
      {"", 1'000'000'000}, {"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}};
  *is_relative = text.starts_with('+');
  if (*is_relative) text.remove_prefix(1);
  const size_t digits = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, digits);
  const std::string_view unit = digits == text.npos ? "" : text.substr(digits);
  uint64_t scale = 0, whole = 0;
  for (const Unit& row : kUnits)
    if (row.name == unit) scale = row.ns;
  const std::string_view before = number.substr(0, number.find('.'));
  std::string_view behind = number.substr(std::min(before.size() + 1, number.size()));
  if (scale == 0 || !to_number(before, &whole) || whole > 1'000'000'000'000 ||
      behind.find('.') != behind.npos)
    return false;
  *ns = whole * scale;
  for (uint64_t digit = scale / 10; !behind.empty(); behind.remove_prefix(1), digit /= 10)
    *ns += digit * uint64_t(behind[0] - '0');
  return true;
}

const char* take_time(const char* value, uint64_t* ns, bool* is_relative) {
  return parse_when(value, ns, is_relative) ? nullptr
                                            : "--from and --until take a time: 1234.567890, "
                                              "+1.5s, +20ms.";
}

const char* report_choice::take_option(int id, const char* value, ReportChoice* choice) {
  ExportChoice& events = choice->events;
  switch (id) {
    case 'e':
      events.events.push_back(value);
      return nullptr;
    case 'f':
      events.filter = value;
      return *value ? nullptr : "-f takes a filter.";
    case kFrom:
      return take_time(value, &events.from_ns, &events.from_is_relative);
    case kUntil:
      return take_time(value, &events.until_ns, &events.until_is_relative);
    case kCpu:
      return take_number_list(value, &choice->cpus) ? nullptr : "--cpu takes numbers: 0, 0,2, 4-7.";
    default:
      return take_who_option(id, value, &events.who);
  }
}

Result<std::unique_ptr<ReportSelection>> ReportSelection::make(const ReportChoice& choice,
                                                               const TraceInput& input,
                                                               const std::vector<EventCall>& events,
                                                               uint64_t first_ns) {
  std::unique_ptr<ReportSelection> made(new ReportSelection(choice));
  const ExportChoice& wanted = choice.events;
  made->from_ns_ = wanted.from_ns + (wanted.from_is_relative ? first_ns : 0);
  made->until_ns_ = wanted.until_ns + (wanted.until_is_relative ? first_ns : 0);
  for (const EventCall& event : events) {
    made->schemas_.push_back(
        std::make_unique<ExportSchema>(event, uint32_t(made->schemas_.size())));
    made->by_id_[event.id] = made->schemas_.back().get();
  }
  PB_TRY(made->selection_.set(wanted, made->schemas_));
  made->people_.add(input);
  return made;
}

bool ReportSelection::wants_record(const MergedEvent& event, uint16_t id, int32_t tid) {
  const ExportSchema* schema = by_id_[id];
  const bool is_stack = schema && schema->role == ExportSchema::Role::kStack;
  bool wanted = selection_.wants(schema, event.record);
  if (is_stack) {
    const auto before = was_wanted_.find(tid);
    const bool is_named = wanted && !choice_.events.events.empty();
    return is_named || (before != was_wanted_.end() && before->second);
  }
  wanted = wanted && has(choice_.cpus, event.cpu);
  was_wanted_[tid] = wanted;
  return wanted;
}

bool ReportSelection::wants(const MergedEvent& event) {
  abi::RecordHeader header{};
  if (!event.record.empty())
    std::memcpy(&header, event.record.data(), std::min(sizeof header, event.record.size()));
  if (!who_.wants(0, header.common_pid, event.cpu, event.ns)) return false;
  // Asked of every event of the thread: a stack behind --from may belong to one before it, and one
  // on another CPU, which the thread has come to in between, to one on this CPU.
  const bool wanted = wants_record(event, header.common_type, header.common_pid);
  return wanted && event.ns >= from_ns_ && event.ns <= until_ns_;
}

}  // namespace patchbay::cmd
