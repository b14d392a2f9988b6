// SPDX-License-Identifier: MIT
// Filters of events and systems, lists of tasks (docs/files.md, "Filters", "Lists of threads").
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <iterator>

#include "registry/registry_impl.h"

namespace patchbay {

namespace {

constexpr std::string_view kBlanks = " \t\n\v\f\r";
constexpr std::string_view kLocation = "event filter parse error";
constexpr std::string_view kSystemError =
    "Couldn't find or set field in one of a subsystem's events";
constexpr uint64_t kPidLimit = 1u << 30;  // as the kernel's pid lists have it
constexpr size_t kMaxToken = 127;

// Trailing blanks of an expression are dropped, leading ones stay.
std::string_view without_tail(std::string_view text) {
  size_t last = text.find_last_not_of(kBlanks);
  return text.substr(0, last == text.npos ? 0 : last + 1);
}

bool clears(std::string_view expression) {
  size_t first = expression.find_first_not_of(kBlanks);
  return first != expression.npos && expression.substr(first) == "0";
}

bool is_char_pointer(std::string_view type) { return type == "char *" || type == "const char *"; }

// What a field is to a filter, from its type as the format file shows it.
FilterField filter_field(const EventField& field) {
  using Kind = FilterField::Kind;
  FilterField out{Kind::kNumber, field.offset, field.size, field.is_signed};
  const std::string& type = field.type;
  const bool is_text = type.find("char") != type.npos;
  const bool is_array = field.array_len || !field.brackets.empty() || type.find('[') != type.npos;
  const bool is_mask =
      type.find("cpumask") != type.npos || type.find("unsigned long[]") != type.npos;
  if (type.starts_with("__data_loc"))
    out.kind = is_text ? Kind::kDataLoc : is_mask ? Kind::kCpumask : Kind::kOther;
  else if (type.starts_with("__rel_loc"))
    out.kind = is_text ? Kind::kRelLoc : Kind::kOther;
  else if (is_array && is_text)
    out.kind = field.size ? Kind::kChars : Kind::kRestText;
  else if (is_char_pointer(type))
    out.kind = Kind::kPointer;
  else if (is_array)
    out.kind = Kind::kOther;
  else if ((type == "float" && field.size == 4) || (type == "double" && field.size == 8))
    out.kind = Kind::kReal;
  else if (field.size != 1 && field.size != 2 && field.size != 4 && field.size != 8)
    out.kind = Kind::kOther;
  return out;
}

// A number in any base; the errors of set_event_pid.
Result<uint32_t> parse_pid(std::string_view token) {
  const std::string text(token);
  char* end = nullptr;
  errno = 0;
  const uint64_t pid = std::strtoull(text.c_str(), &end, 0);
  const char first = text[0] == '+' ? text[1] : text[0];
  const bool starts_well = first >= '0' && first <= '9';
  if (!starts_well || *end || errno || text.size() > kMaxToken)
    return user_error(EINVAL, "\"" + text + "\" is no task id.");
  if (pid >= kPidLimit) return user_error(EPERM, text + " is more than a task id can be.");
  return uint32_t(pid);
}

Result<std::vector<uint32_t>> parse_pids(std::string_view text) {
  std::vector<uint32_t> pids;
  size_t at = 0;
  while ((at = text.find_first_not_of(kBlanks, at)) != text.npos) {
    size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    auto pid = parse_pid(text.substr(at, end - at));
    if (!pid.ok()) return pid.error();
    pids.push_back(*pid);
    at = end;
  }
  return pids;
}

void sort_unique(std::vector<uint32_t>* pids) {
  std::sort(pids->begin(), pids->end());
  pids->erase(std::unique(pids->begin(), pids->end()), pids->end());
}

}  // namespace

// --- filters

bool Registry::Impl::find_function(std::string_view name, uint64_t address, uint64_t* start,
                                   uint64_t* end) {
  symbols.refresh();
  if (!name.empty()) {
    auto functions = symbols.resolve(name);
    if (!functions.ok() || functions->empty()) return false;
    address = functions->front().symbol.address;
  }
  SymbolizedAddress found;
  if (!symbols.symbolize(address, &found)) return false;
  *start = found.start;
  *end = found.start + std::max<uint64_t>(found.size, 1);
  return true;
}

FilterContext Registry::Impl::filter_context(const LiveEvent& event) {
  FilterContext context;
  context.field = [&event](std::string_view name) -> std::optional<FilterField> {
    const EventField* field = event.call.find(name);
    if (!field) return std::nullopt;
    return filter_field(*field);
  };
  context.function = [this](std::string_view name, uint64_t address, uint64_t* start,
                            uint64_t* end) { return find_function(name, address, start, end); };
  context.nr_cpus = top.buffer->rings()->nr_cpus;
  return context;
}

namespace {

FilterResult compile(std::string_view expression, const FilterContext& context) {
  if (!expression.empty()) return compile_filter(expression, context);
  FilterResult empty;
  empty.error.emplace();
  return empty;
}

// What a filter file shows, and the program; put() puts one in and gives the other back, so that a
// failed transaction is undone by the same call.
struct NewFilter {
  EventFile* file = nullptr;
  std::string text = {}, error = {};
  FilterProgramPtr program = nullptr;
  bool ran = false;

  void put() {
    std::swap(file->filter_text, text);
    std::swap(file->filter_error, error);
    std::swap(file->filter, program);
    std::swap(file->filter_ran, ran);
  }
  void park(std::vector<FilterProgramPtr>* old) {
    if (program && ran) old->push_back(std::move(program));
  }
};

}  // namespace

namespace {

// The expression with its caret, what is wrong, and what there is instead.
std::string filter_sentence(std::string_view expression, const FilterError& error,
                            const EventCall& call) {
  std::string text = filter_caret(expression, error);
  text += error.text.empty() ? "This is no filter." : error.text;
  if (error.text != "Field not found") return text;
  text += "; " + call.system + ":" + call.name + " has";
  for (const EventField& field : call.fields) text += " " + field.name;
  return text + (call.fields.empty() ? " no fields" : "") + " and the common_ fields";
}

}  // namespace

Status Registry::set_filter(TraceArray& array, LiveEvent* event, std::string_view text) {
  const std::string_view expression = without_tail(text);
  NewFilter filter{&impl_->file_of(array, event)};
  std::optional<FilterError> error;
  if (!clears(expression)) {
    FilterResult result = compile(expression, impl_->filter_context(*event));
    filter.text = expression;
    filter.program = std::move(result.program);
    error = std::move(result.error);
    if (error) filter.error = filter_error_text(expression, *error);
  }
  filter.put();
  Status status = impl_->publish(Impl::Files{{&array, filter.file}});
  if (!status.ok()) filter.put();
  filter.park(&impl_->old_filters);
  if (!error) return status;
  array.errors.add(kLocation, error->text, expression, error->position);
  return user_error(EINVAL, filter_sentence(expression, *error, event->call));
}

Result<FilterProgramPtr> Registry::make_filter(LiveEvent* event, std::string_view text) {
  return make_filter(top(), event, text);
}

Result<FilterProgramPtr> Registry::make_filter(TraceArray& array, LiveEvent* event,
                                               std::string_view text) {
  const std::string_view expression = without_tail(text);
  FilterResult result = compile(expression, impl_->filter_context(*event));
  if (!result.error) return std::move(result.program);
  array.errors.add(kLocation, result.error->text, expression, result.error->position);
  return user_error(EINVAL, filter_sentence(expression, *result.error, event->call));
}

std::string Registry::show_filter(const TraceArray& array, const LiveEvent* event) const {
  const EventFile* file = impl_->find_file(array, event);
  if (!file) return "none\n";
  if (!file->filter_error.empty()) return file->filter_error;
  return file->filter ? file->filter_text + "\n" : "none\n";
}

Status Registry::set_system_filter(TraceArray& array, std::string_view system,
                                   std::string_view text) {
  const std::string_view expression = without_tail(text);
  std::vector<NewFilter> filters;
  Impl::Files files;
  for (LiveEvent* event : events_of(array, system)) {
    if (!event->can_enable) continue;
    NewFilter filter;
    if (!clears(expression)) {
      filter.text = expression;
      filter.program = compile(expression, impl_->filter_context(*event)).program;
      // It keeps the filter it has (docs/decisions.md, D5).
      if (!filter.program) {
        array.errors.add(kLocation, kSystemError, expression, 0);
        continue;
      }
    } else if (!impl_->find_file(array, event)) {
      continue;
    }
    filter.file = &impl_->file_of(array, event);
    files.emplace_back(&array, filter.file);
    filters.push_back(std::move(filter));
  }
  for (NewFilter& filter : filters) filter.put();
  Status status = impl_->publish(files);
  for (NewFilter& filter : filters) {
    if (!status.ok()) filter.put();
    filter.park(&impl_->old_filters);
  }
  return status;
}

// --- tasks

namespace {

using PidList = Registry::PidList;

// What an instance has of a list: as it is shown, and as programs see it (null: not in force).
struct PidWords {
  std::vector<uint32_t>& shown;
  PidSet*& set;
  TraceOption follows;  // forks, when this option is on
};

PidWords pid_words(TraceArray& array, PidList which) {
  switch (which) {
    case PidList::kTrace:
      return {array.pids, array.pid_set, TraceOption::kEventFork};
    case PidList::kNotrace:
      return {array.notrace_pids, array.notrace_pid_set, TraceOption::kEventFork};
    case PidList::kFtrace:
      return {array.ftrace_pids, array.ftrace_pid_set, TraceOption::kFunctionFork};
    case PidList::kFtraceNotrace:
      break;
  }
  return {array.ftrace_notrace_pids, array.ftrace_notrace_pid_set, TraceOption::kFunctionFork};
}

constexpr PidList kPidLists[] = {PidList::kTrace, PidList::kNotrace, PidList::kFtrace,
                                 PidList::kFtraceNotrace};

}  // namespace

Status Registry::Impl::use_pids(TraceArray& array, PidList which, std::vector<uint32_t> pids,
                                bool in_force) {
  PidWords words = pid_words(array, which);
  PidSet* const previous = words.set;
  words.set = nullptr;
  if (in_force) {
    PidSetPtr made = make_pid_set(pids);
    if (!made) return sys_error("make a list of tasks", ENOMEM);
    words.set = made.get();
    pid_sets.push_back(std::move(made));
  }
  Status status = publish_enabled(array);
  if (status.ok())
    words.shown = std::move(pids);
  else
    words.set = previous;
  return status;
}

Status Registry::add_pids(TraceArray& array, PidList which, std::string_view text) {
  auto added = parse_pids(text);
  if (!added.ok()) return added.error();
  if (added->empty()) return {};
  const std::vector<uint32_t>& shown = pid_words(array, which).shown;
  added->insert(added->end(), shown.begin(), shown.end());
  sort_unique(&*added);
  return impl_->use_pids(array, which, std::move(*added), true);
}

Status Registry::clear_pids(TraceArray& array, PidList which) {
  return impl_->use_pids(array, which, {}, false);
}

void Registry::Impl::follow_fork(TraceArray& array, PidList which, uint32_t parent,
                                 uint32_t child) {
  const PidWords words = pid_words(array, which);
  std::vector<uint32_t>& pids = words.shown;
  if (!array.options[words.follows] || !words.set) return;
  if (!std::binary_search(pids.begin(), pids.end(), parent)) return;
  auto place = std::lower_bound(pids.begin(), pids.end(), child);
  if (place != pids.end() && *place == child) return;
  pids.insert(place, child);
  if (pid_set_insert(words.set, child)) return;
  [[maybe_unused]] Status ignored = use_pids(array, which, pids, true);
}

void Registry::task_forked(uint32_t parent, uint32_t child) {
  if (!impl_->fork_followers.load(std::memory_order_relaxed)) return;
  std::lock_guard guard(impl_->lock);
  for (TraceArray* array : impl_->all_arrays())
    for (PidList which : kPidLists) impl_->follow_fork(*array, which, parent, child);
}

void Registry::task_exited(uint32_t pid) {
  if (!impl_->fork_followers.load(std::memory_order_relaxed)) return;
  std::lock_guard guard(impl_->lock);
  for (TraceArray* array : impl_->all_arrays()) {
    for (PidList which : kPidLists) {
      const PidWords words = pid_words(*array, which);
      if (!array->options[words.follows] || !words.set) continue;
      if (std::erase(words.shown, pid)) pid_set_erase(words.set, pid);
    }
  }
}

}  // namespace patchbay
