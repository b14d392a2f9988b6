// SPDX-License-Identifier: MIT
#include "cmd/report/report_select.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstring>

#include "abi/buffer_abi.h"
#include "base/text.h"

namespace patchbay::cmd {
namespace {

bool has(const std::vector<uint64_t>& list, uint64_t number) {
  return list.empty() || std::find(list.begin(), list.end(), number) != list.end();
}

bool fits_any(const std::vector<std::string>& globs, const std::string& name) {
  return globs.empty() || std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
           return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
         });
}

// "1,5,7-9": whole numbers up to 32 bits. The list grows by at most 65536 of them.
bool add_numbers(std::string_view text, std::vector<uint64_t>* list) {
  constexpr uint64_t kMost = 65536;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const size_t dash = word.find('-');
    uint64_t first = 0, last = 0;
    if (!to_number(word.substr(0, dash), &first)) return false;
    last = first;
    if (dash != word.npos && !to_number(word.substr(dash + 1), &last)) return false;
    if (last < first || last > UINT32_MAX || last - first >= kMost) return false;
    for (uint64_t number = first; number <= last; number++) list->push_back(number);
    at = end + 1;
  }
  return true;
}

const char* take_numbers(const char* value, std::vector<uint64_t>* list) {
  return add_numbers(value, list) ? nullptr
                                  : "--tid, --pid, --tree and --cpu take numbers: 12, 12,15, 4-7.";
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
    case kTid:
      return take_numbers(value, &choice->tids);
    case kPid:
      return take_numbers(value, &choice->pids);
    case kExe:
      choice->exes.push_back(value);
      return nullptr;
    case kTree:
      return take_numbers(value, &choice->trees);
    case kCpu:
      return take_numbers(value, &choice->cpus);
    case kComm:
      choice->comms.push_back(value);
      return nullptr;
    default:
      return nullptr;
  }
}

Result<std::unique_ptr<ReportSelection>> ReportSelection::make(const ReportChoice& choice,
                                                               const TraceInput& input,
                                                               const std::vector<EventCall>& events,
                                                               TraceLineWriter* lines,
                                                               uint64_t first_ns) {
  std::unique_ptr<ReportSelection> made(new ReportSelection(choice, lines));
  const ExportChoice& wanted = choice.events;
  made->from_ns_ = wanted.from_ns + (wanted.from_is_relative ? first_ns : 0);
  made->until_ns_ = wanted.until_ns + (wanted.until_is_relative ? first_ns : 0);
  for (const EventCall& event : events) {
    made->schemas_.push_back(
        std::make_unique<ExportSchema>(event, uint32_t(made->schemas_.size())));
    made->by_id_[event.id] = made->schemas_.back().get();
  }
  PB_TRY(made->selection_.set(wanted, made->schemas_));
  if (input.dat && !input.dat->images().images.empty()) {
    made->images_ = &input.dat->images().images;
    made->finder_ = ImageFinder(*made->images_);
  }
  if (choice.pids.empty() && choice.exes.empty() && choice.trees.empty()) return made;
  ExportInput people;
  people.dat = input.dat.get();
  people.buffer = input.buffer.get();
  made->people_.add(people);
  made->find_trees();
  return made;
}

// A process is of a tree if one that has started it is.
void ReportSelection::find_trees() {
  for (uint64_t pid : choice_.trees) tree_.insert(int32_t(pid));
  if (tree_.empty() || !images_) return;
  std::unordered_multimap<int32_t, int32_t> children;
  for (const ProcessImage& image : *images_) {
    if (image.parent != image.pid) children.emplace(image.parent, image.pid);
    for (const ImageThread& thread : image.threads)
      if (thread.process && thread.process != image.pid)
        children.emplace(image.pid, thread.process);
  }
  std::vector<int32_t> left(tree_.begin(), tree_.end());
  while (!left.empty()) {
    const int32_t parent = left.back();
    left.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto child = first; child != last; ++child)
      if (tree_.insert(child->second).second) left.push_back(child->second);
  }
}

bool ReportSelection::wants_process(int32_t tid, uint32_t cpu, uint64_t ns) {
  if (choice_.pids.empty() && choice_.exes.empty() && choice_.trees.empty()) return true;
  const uint32_t image = images_ ? finder_.find(tid, ns) : ImageFinder::kNone;
  int32_t pid = 0;
  std::string exe;
  if (image != ImageFinder::kNone) {
    const ImageThread* thread = finder_.thread(tid, ns);
    pid = thread && thread->process ? thread->process : (*images_)[image].pid;
    exe = (*images_)[image].exe;
  } else {
    const ExportProcess& process = *people_.thread(0, tid, cpu)->process;
    pid = process.pid;
    exe = process.exe;
  }
  if (!has(choice_.pids, uint64_t(pid))) return false;
  if (!tree_.empty() && !tree_.contains(pid)) return false;
  return fits_any(choice_.exes, exe) || fits_any(choice_.exes, std::string(base_name(exe)));
}

bool ReportSelection::wants_thread(int32_t tid, uint32_t cpu, uint64_t ns) {
  const uint32_t image = images_ ? finder_.find(tid, ns) : 0;
  const auto [found, is_new] = threads_.try_emplace(uint64_t{image} << 32 | uint32_t(tid), true);
  if (!is_new) return found->second;
  bool wanted = has(choice_.tids, uint64_t(tid)) && wants_process(tid, cpu, ns);
  if (wanted && !choice_.comms.empty()) {
    const ImageThread* thread = images_ ? finder_.thread(tid, ns) : nullptr;
    const bool has_comm = thread && !thread->comm.empty();
    wanted = fits_any(choice_.comms, has_comm ? thread->comm : lines_->comm_of(tid));
  }
  return found->second = wanted;
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
  if (!wants_thread(header.common_pid, event.cpu, event.ns)) return false;
  // Asked of every event of the thread: a stack behind --from may belong to one before it, and one
  // on another CPU, which the thread has come to in between, to one on this CPU.
  const bool wanted = wants_record(event, header.common_type, header.common_pid);
  return wanted && event.ns >= from_ns_ && event.ns <= until_ns_;
}

}  // namespace patchbay::cmd
