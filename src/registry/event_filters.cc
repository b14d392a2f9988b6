// SPDX-License-Identifier: MIT
#include "registry/event_filters.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "event/function_event_atom.h"
#include "event/sdt_event.h"
#include "registry/registry_impl.h"

namespace patchbay {

namespace {

constexpr std::string_view kLocation = "event filter parse error";
constexpr std::string_view kSystemError =
    "Couldn't find or set field in one of a subsystem's events";

bool clears(std::string_view expression) { return trim_front(expression) == "0"; }

bool is_char_pointer(std::string_view type) { return type == "char *" || type == "const char *"; }

// What a field is to a filter, from its type as the format file shows it.
FilterField filter_field(const EventField& field, bool of_function_event) {
  using Kind = FilterField::Kind;
  FilterField out{Kind::kNumber, field.offset, field.size, field.is_signed};
  out.is_counted = of_function_event;
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
  // The word that says where an array is, is no value of it; and no number of a filter is
  // one of 16 bytes. Such a test is an error, where it would never be true.
  const bool is_located = type.starts_with("__data_loc") || type.starts_with("__rel_loc");
  const FunctionEventAtom* atom = find_atom(type);
  if ((is_located || (atom && atom->size == 16)) && out.kind == Kind::kOther) out.size = 0;
  return out;
}

}  // namespace

bool EventFilters::find_function(std::string_view name, uint64_t address, uint64_t* start,
                                 uint64_t* end) {
  core_.symbols.refresh();
  if (!name.empty()) {
    auto functions = core_.symbols.resolve(name);
    if (!functions.ok() || functions->empty()) return false;
    address = functions->front().symbol.address;
  }
  SymbolizedAddress found;
  if (!core_.symbols.symbolize(address, &found) || found.is_variable) return false;
  *start = found.start;
  *end = found.start + std::max<uint64_t>(found.size, 1);
  return true;
}

FilterContext EventFilters::context(const LiveEvent& event) {
  FilterContext made;
  made.field = [&event](std::string_view name) -> std::optional<FilterField> {
    const EventField* field = event.call.find(name);
    if (!field) return std::nullopt;
    FilterField made = filter_field(*field, is_function_event(event.call));
    if (const auto known = sdt_known(event.call, name)) {
      made.known_offset = known->offset;
      made.known_bit = known->bit;
    }
    return made;
  };
  made.function = [this](std::string_view name, uint64_t address, uint64_t* start, uint64_t* end) {
    return find_function(name, address, start, end);
  };
  made.nr_cpus = core_.top.buffer->rings()->nr_cpus;
  return made;
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

Status EventFilters::set(TraceArray& array, LiveEvent* event, std::string_view text) {
  const std::string_view expression = trim_back(text);
  NewFilter filter{&core_.file_of(array, event)};
  std::optional<FilterError> error;
  if (!clears(expression)) {
    FilterResult result = compile(expression, context(*event));
    filter.text = expression;
    filter.program = std::move(result.program);
    error = std::move(result.error);
    if (error) filter.error = filter_error_text(expression, *error);
  }
  filter.put();
  Status status = core_.publish(Registry::Impl::Files{{&array, filter.file}});
  if (!status.ok()) filter.put();
  filter.park(&parked_);
  if (!error) return status;
  array.errors.add(kLocation, error->text, expression, error->position);
  return user_error(EINVAL, filter_sentence(expression, *error, event->call));
}

Result<FilterProgramPtr> EventFilters::make(TraceArray& array, LiveEvent* event,
                                            std::string_view text) {
  const std::string_view expression = trim_back(text);
  FilterResult result = compile(expression, context(*event));
  if (!result.error) return std::move(result.program);
  array.errors.add(kLocation, result.error->text, expression, result.error->position);
  return user_error(EINVAL, filter_sentence(expression, *result.error, event->call));
}

std::string EventFilters::show(const TraceArray& array, const LiveEvent* event) const {
  const EventFile* file = core_.find_file(array, event);
  if (!file) return "none\n";
  if (!file->filter_error.empty()) return file->filter_error;
  return file->filter ? file->filter_text + "\n" : "none\n";
}

Status EventFilters::set_system(TraceArray& array, std::string_view system, std::string_view text) {
  const std::string_view expression = trim_back(text);
  std::vector<NewFilter> filters;
  Registry::Impl::Files files;
  for (LiveEvent* event : core_.events_of(array, system)) {
    if (!event->can_enable) continue;
    NewFilter filter;
    if (!clears(expression)) {
      filter.text = expression;
      filter.program = compile(expression, context(*event)).program;
      // It keeps the filter it has (docs/decisions.md, D5).
      if (!filter.program) {
        array.errors.add(kLocation, kSystemError, expression, 0);
        continue;
      }
    } else if (!core_.find_file(array, event)) {
      continue;
    }
    filter.file = &core_.file_of(array, event);
    files.emplace_back(&array, filter.file);
    filters.push_back(std::move(filter));
  }
  for (NewFilter& filter : filters) filter.put();
  Status status = core_.publish(files);
  for (NewFilter& filter : filters) {
    if (!status.ok()) filter.put();
    filter.park(&parked_);
  }
  return status;
}

void EventFilters::park(EventFile* file) {
  if (file->filter_ran) parked_.push_back(std::move(file->filter));
}

}  // namespace patchbay
