// SPDX-License-Identifier: MIT
#include "uprobes/uprobe_event.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "abi/buffer_abi.h"
#include "base/text.h"
#include "event/function_event.h"
#include "event/function_event_atom.h"

namespace patchbay {
namespace {

constexpr uint32_t kMaxRecord = 4000;
constexpr size_t kMaxLine = 4000;  // a write of uprobe_events has 4096 bytes

// --- what a probe's line is checked against

class ProgramWorld final : public ProbeWorld {
 public:
  explicit ProgramWorld(UprobeProgram& program) : program_(program) {}
  Function find_function(std::string_view symbol) override {
    auto found = program_.symbols().resolve(symbol);
    Function function;
    if (!found.ok()) return function;
    function.matches = uint32_t(found->size());
    if (!found->empty()) function.size = found->front().symbol.size;
    return function;
  }
  bool is_text(uint64_t address, bool* entry) override {
    SymbolizedAddress symbol;
    const bool known = program_.symbols().symbolize(address, &symbol);
    *entry = known && symbol.offset == 0;
    return known || program_.at(address, false).ok();
  }
  uint64_t address_of(std::string_view symbol) override {
    return program_.symbols().address_of(symbol);
  }
  uint64_t data_at(std::string_view path, uint64_t file_offset) override {
    return program_.address_of(path, file_offset);
  }
  const EventCall* find_event(std::string_view, std::string_view) override { return nullptr; }
  const EventCall* find_tracepoint(std::string_view) override { return nullptr; }
  FileKind file_kind(std::string_view path) override {
    struct stat found = {};
    if (::stat(std::string(path).c_str(), &found) != 0) return FileKind::kNone;
    return S_ISREG(found.st_mode) ? FileKind::kRegular : FileKind::kOther;
  }

 private:
  UprobeProgram& program_;
};

// --- positions in a line, for carets

bool is_word_at(std::string_view line, size_t at, std::string_view word) {
  return line.substr(at, word.size()) == word && (at == 0 || !is_name_char(line[at - 1])) &&
         (at + word.size() >= line.size() || !is_name_char(line[at + word.size()]));
}

// Where the fields of a function event are named, one after the other.
std::vector<size_t> field_positions(std::string_view line, const FunctionEventDef& def) {
  std::vector<size_t> positions;
  const size_t list = line.find(def.function);
  size_t at = list == line.npos ? 0 : list + def.function.size();
  for (const FunctionEventArg& arg : def.args)
    for (const FunctionEventField& field : arg.fields) {
      if (is_missing(field)) continue;
      size_t found = at;
      while (found < line.size() && !is_word_at(line, found, field.name)) found++;
      if (found < line.size()) at = found;
      positions.push_back(at);
      at += found < line.size() ? field.name.size() : 0;
    }
  return positions;
}

std::vector<size_t> argument_positions(std::string_view line, size_t nr_arguments) {
  const std::vector<std::string_view> words = split_words(line);
  std::vector<size_t> positions;
  for (size_t i = 0; i < nr_arguments; i++) {
    const size_t word = words.size() - nr_arguments + i;
    positions.push_back(word < words.size() ? size_t(words[word].data() - line.data()) : 0);
  }
  return positions;
}

// --- Go

// Texts take two registers.
std::vector<uint8_t> go_registers(const FunctionEventDef& def) {
  std::vector<uint8_t> registers;
  uint8_t next = 0;
  for (const FunctionEventArg& arg : def.args) {
    if (arg.passed() != FunctionEventArg::Passed::kInteger) continue;
    registers.push_back(next++);
    next += std::any_of(arg.fields.begin(), arg.fields.end(), [](const auto& field) {
      return is_string(field) && field.suffixes.empty();
    });
  }
  if (registers.empty()) registers.push_back(0);
  return registers;
}

// In Go $arg7 and what follows are in registers, too.
std::string with_go_registers(std::string_view line) {
  static constexpr const char* kLater[] = {"%r9", "%r10", "%r11"};
  std::string out;
  for (size_t i = 0; i < line.size(); i++) {
    const bool is_later = line.substr(i, 4) == "$arg" && i + 4 < line.size() &&
                          line[i + 4] >= '7' && line[i + 4] <= '9' &&
                          (i + 5 == line.size() || !is_digit(line[i + 5]));
    if (!is_later) {
      out += line[i];
      continue;
    }
    out += kLater[line[i + 4] - '7'];
    i += 4;
  }
  return out;
}

Error about(std::string_view line, size_t position, const Error& error) {
  return user_error(error.errno_value, with_caret(line, position, error.message()));
}

// What a field is to a filter.
FilterField filter_field(const EventField& field) {
  using Kind = FilterField::Kind;
  FilterField out{Kind::kNumber, field.offset, field.size, field.is_signed};
  const bool is_array = field.array_len || field.type.find('[') != field.type.npos;
  if (field.type.starts_with("__data_loc"))
    out.kind = field.type.ends_with("char[]") ? Kind::kDataLoc : Kind::kOther;
  else if (is_array)
    out.kind = field.type.find("char") != field.type.npos ? Kind::kChars : Kind::kOther;
  else if (field.type == "float" || field.type == "double")
    out.kind = Kind::kReal;
  return out;
}

// These would be those of the thread that asks, which is ours.
bool is_of_thread(std::string_view name) {
  return name == "CPU" || name == "cpu" || name == "COMM" || name == "comm";
}

}  // namespace

std::string with_caret(std::string_view line, size_t position, const std::string& sentence) {
  return std::string(line) + "\n" + std::string(position, ' ') + "^\n" + sentence;
}

Status UprobeEvent::split(const FetchProgram& program, std::string_view line,
                          const std::vector<size_t>& positions) {
  std::vector<std::string> names;
  for (const EventField& field : call.fields)
    if (!field.name.starts_with("__")) names.push_back(field.name);
  place.site.on_return = on_return;
  auto made = split_fetch(program, place.site, names);
  if (const auto* none = std::get_if<NoUprobeForm>(&made)) {
    const size_t at = none->field < positions.size() ? positions[none->field] : 0;
    return user_error(EOPNOTSUPP, with_caret(line, at, none->why));
  }
  fetch = std::move(std::get<UprobeFetch>(made));
  // Numbers of a 32-bit program that are stored in 8 bytes.
  for (FieldRecipe& recipe : fetch.fields)
    for (const EventField& field : call.fields)
      if (field.offset == recipe.offset && !field.is_signed) recipe.sign_from = 0;
  if (definition("patchbay_1234567890", place.object->path).size() > kMaxLine)
    return user_error(E2BIG, with_caret(line, 0,
                                        "the event has too many fields for a line of the "
                                        "kernel's uprobe_events"));
  return {};
}

Result<std::unique_ptr<UprobeEvent>> UprobeEvent::of_function(std::string_view line,
                                                              UprobeProgram& program) {
  const auto address_of = [&](std::string_view name) { return program.symbols().address_of(name); };
  const FunctionEventParse parsed = parse_function_event(line, address_of);
  if (!parsed.def)
    return user_error(
        EINVAL, parsed.error->text + (parsed.error->help.empty() ? "" : "\n") + parsed.error->help);
  const FunctionEventDef& def = *parsed.def;
  for (const FunctionEventArg& arg : def.args)
    if (arg.struct_size || (!arg.fields.empty() && is_wide(arg.fields[0])))
      return about(line, line.find(arg.struct_size ? "struct" : arg.fields[0].name),
                   user_error(EINVAL, "A kernel uprobe has no values of several words"));
  if (def.is_call)
    return user_error(
        EOPNOTSUPP, with_caret(line, 0,
                               "A call with its result needs the agent, which this program cannot "
                               "take; a uprobe has the result alone: r:NAME " +
                                   def.function + " ret=$retval"));
  auto event = std::make_unique<UprobeEvent>();
  event->call = make_function_event_call(def, 0);
  event->kernel_name = event->call.name;
  Result<UprobePlace> place = program.find(def.function, 0, false);
  const size_t at = line.find(def.function);
  if (!place.ok()) return about(line, at == line.npos ? 0 : at, place.error());
  event->place = std::move(*place);
  if (def.uses_stack && event->place.site.abi != UprobeAbi::kSysV)
    return user_error(EOPNOTSUPP, with_caret(line, 0,
                                             "more than six arguments are known of programs for "
                                             "x86-64 that Go has not compiled"));
  if (event->place.site.abi == UprobeAbi::kGo) event->place.site.go_registers = go_registers(def);
  Result<FetchProgramPtr> compiled = compile_function_event(def, event->call, kMaxRecord);
  if (!compiled.ok()) return about(line, 0, compiled.error());
  PB_TRY(event->split(**compiled, line, field_positions(line, def)));
  return event;
}

namespace {

Result<UprobePlace> find_place(const ProbeDefinition& definition, UprobeProgram& program) {
  switch (definition.kind) {
    case ProbeKind::kTracepoint:
    case ProbeKind::kEprobe:
      return user_error(EOPNOTSUPP,
                        "t and e lines are about events of the program, which the agent knows; "
                        "uprobes have p, r and f lines");
    case ProbeKind::kUprobe:
      return program.in_file(definition.symbol, definition.offset, definition.on_return);
    case ProbeKind::kFprobe:
      if (definition.symbol.find_first_of("*?[") != std::string::npos)
        return user_error(EOPNOTSUPP,
                          "a uprobe stands at one function: globs are for the agent; name it");
      break;
    case ProbeKind::kKprobe:
      break;
  }
  if (definition.symbol.empty()) return program.at(definition.address, definition.on_return);
  return program.find(definition.symbol, definition.offset, definition.on_return);
}

Error error_of(std::string_view line, const ProbeError& error, UprobeProgram& program) {
  std::string sentence = error.text.empty() ? std::strerror(error.error) : error.text;
  if (!error.help.empty()) sentence += ": " + error.help;
  // What the resolver says of a name is more.
  const std::vector<std::string_view> words = split_words(line);
  if (error.text.find("symbol") != error.text.npos && words.size() > 1) {
    const std::string_view name = words[1].substr(0, words[1].find_first_of("+%"));
    auto found = program.symbols().resolve(name);
    if (!found.ok()) sentence += ". " + found.error().message();
  }
  return user_error(error.error, with_caret(line, error.position, sentence));
}

size_t position_of_place(std::string_view line) {
  const std::vector<std::string_view> words = split_words(line);
  return words.size() > 1 ? size_t(words[1].data() - line.data()) : 0;
}

}  // namespace

Result<std::unique_ptr<UprobeEvent>> UprobeEvent::of_probe(std::string_view given,
                                                           UprobeProgram& program) {
  const std::string line =
      program.main_object().is_go ? with_go_registers(given) : std::string(given);
  ProgramWorld world(program);
  ProbeParse parsed = parse_probe_event(line, ProbeFile::kDynamicEvents, world);
  if (!parsed.definition) return error_of(line, *parsed.error, program);
  ProbeDefinition& definition = *parsed.definition;
  auto event = std::make_unique<UprobeEvent>();
  Result<UprobePlace> place = find_place(definition, program);
  if (!place.ok()) return about(line, position_of_place(line), place.error());
  event->place = std::move(*place);
  event->on_return = definition.on_return;
  event->call = make_probe_event_call(&definition);
  event->kernel_name = event->call.name;
  const std::vector<size_t> positions = argument_positions(line, definition.arguments.size());
  for (size_t i = 0; i < definition.arguments.size(); i++)
    if (definition.arguments[i].start == ProbeStart::kText)
      return user_error(EOPNOTSUPP, with_caret(line, positions[i],
                                               "uprobes have no texts of the "
                                               "definition's own"));
  event->reference_counter_ = definition.reference_counter;
  // Registers stay registers, also at an entry: which of them are arguments is not ours to say.
  if (definition.kind == ProbeKind::kKprobe && definition.offset == 0) definition.offset = 1;
  ProbeCompileContext context;
  context.max_record = kMaxRecord;
  Result<FetchProgramPtr> compiled = compile_probe_event(definition, event->call, context);
  if (!compiled.ok()) return about(line, 0, compiled.error());
  PB_TRY(event->split(**compiled, line, positions));
  return event;
}

std::string UprobeEvent::definition(const std::string& group, const std::string& path) const {
  std::string line = (on_return ? "r:" : "p:") + group + "/" + kernel_name + " " + path + ":" +
                     hex_number(place.site.file_offset);
  if (reference_counter_) line += "(" + hex_number(*reference_counter_) + ")";
  for (const KernelArgument& argument : fetch.arguments)
    line += " " + argument.name + "=" + argument.fetch;
  return line;
}

Status UprobeEvent::set_filter(const std::string& text, SymbolTable& symbols) {
  bool asks_thread = false;
  FilterContext context;
  context.field = [&](std::string_view name) -> std::optional<FilterField> {
    asks_thread |= is_of_thread(name);
    const EventField* field = call.find(name);
    if (!field) return std::nullopt;
    return filter_field(*field);
  };
  context.function = [&](std::string_view name, uint64_t address, uint64_t* start, uint64_t* end) {
    if (!name.empty()) address = symbols.address_of(name);
    SymbolizedAddress found;
    if (!address || !symbols.symbolize(address, &found)) return false;
    *start = found.start;
    *end = found.start + std::max<uint64_t>(found.size, 1);
    return true;
  };
  context.nr_cpus = uint32_t(std::max(::sysconf(_SC_NPROCESSORS_CONF), 1L));
  FilterResult made =
      text.empty() ? FilterResult{nullptr, FilterError{}} : compile_filter(text, context);
  if (made.error)
    return user_error(EINVAL, "-f:\n" + filter_caret(text, *made.error) +
                                  (made.error->text.empty() ? "Error: (0)" : made.error->text));
  if (asks_thread)
    return user_error(EOPNOTSUPP,
                      "-f '" + text +
                          "': CPU and COMM are known to the agent alone; with uprobes a "
                          "filter is about fields");
  filter = std::move(made.program);
  return {};
}

Status UprobeEvent::bind(const EventCall& kernel_call) {
  kernel_id_ = kernel_call.id;
  const Error wrong =
      user_error(EINVAL, "the kernel's format of " + kernel_name + " is not as it was defined.");
  for (KernelArgument& argument : fetch.arguments) {
    const EventField* field = kernel_call.find(argument.name);
    if (!field) return wrong;
    argument.offset = field->offset;
  }
  const EventField* at = kernel_call.find(on_return ? "__probe_func" : "__probe_ip");
  const EventField* caller = on_return ? kernel_call.find("__probe_ret_ip") : at;
  if (!at || !caller || at->size != 8 || caller->size != 8) return wrong;
  place_offset_ = at->offset;
  caller_offset_ = caller->offset;
  return {};
}

namespace {

uint64_t load8(std::span<const uint8_t> record, uint32_t offset) {
  uint64_t value = 0;
  if (uint64_t{offset} + 8 <= record.size()) std::memcpy(&value, record.data() + offset, 8);
  return value;
}

void put8(std::vector<uint8_t>* record, size_t offset, uint64_t value) {
  std::memcpy(record->data() + offset, &value, sizeof value);
}

}  // namespace

std::optional<uint64_t> UprobeEvent::moved(std::span<const uint8_t> kernel_record) const {
  if (uint64_t{place_offset_} + 8 > kernel_record.size()) return std::nullopt;
  return load8(kernel_record, place_offset_) - place.site.address;
}

// An address in the program's file, which lies `away` from where it lies in the process whose
// symbols are known.
uint64_t UprobeEvent::at_home(uint64_t address, uint64_t away) const {
  if (away == 0) return address;
  const uint64_t home = address - away;
  return home >= place.site.module_start && home < place.site.module_end ? home : address;
}

bool UprobeEvent::convert(std::span<const uint8_t> kernel_record, uint64_t base,
                          std::vector<uint8_t>* out) {
  const auto shift = moved(kernel_record);
  if (!shift || kernel_record.size() < sizeof(abi::RecordHeader)) return false;
  abi::RecordHeader header;
  std::memcpy(&header, kernel_record.data(), sizeof header);
  header = {call.id, 0, 0, header.common_pid};
  out->assign(fetch.head_size, 0);
  std::memcpy(out->data(), &header, sizeof header);
  const uint64_t away = *shift - base;
  const auto home = [&](uint64_t address) { return at_home(address - base, away) + base; };
  const uint64_t ip = place.ip + base;
  if (fetch.caller != FieldRecipe::kNone) {
    put8(out, 8, home(fetch.number(kernel_record, fetch.caller)));
    put8(out, 16, ip);
  } else {
    put8(out, 8, ip);
    if (on_return) put8(out, 16, home(load8(kernel_record, caller_offset_)));
  }
  if (!fetch.append_fields(kernel_record, out)) return false;
  return !filter || filter_match(filter.get(), out->data(), uint32_t(out->size()));
}

}  // namespace patchbay
