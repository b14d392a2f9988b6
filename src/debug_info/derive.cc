// SPDX-License-Identifier: MIT
#include "debug_info/derive.h"

#include <dwarf.h>
#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <sstream>

#include "base/foreign_file.h"
#include "base/text.h"
#include "debug_info/entry_parameters.h"
#include "debug_info/object_fields.h"
#include "debug_info/struct_fields.h"
#include "event/function_event.h"
#include "event/function_event_atom.h"
#include "symbol/demangled_name.h"
#include "symbol/structors.h"
#include "symbol/symbol.h"

namespace patchbay {
namespace {

constexpr size_t kMaxName = 63;  // of a group or an event
constexpr size_t kMaxArgumentName = 31;
constexpr size_t kMaxArgumentText = 63;  // of what is fetched, with its type
constexpr size_t kMaxPlaces = 1024;

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string identifier(std::string_view text) {
  std::string name = make_identifier(text).substr(0, kMaxName - 8);
  return name.empty() || is_digit(name[0]) ? "_" + name : name;
}

// The words that are reserved in a definition.
bool is_reserved(std::string_view name) {
  constexpr std::string_view kReserved[] = {"common_type",    "common_flags",         "common_pid",
                                            "common_tgid",    "common_preempt_count", "__probe_ip",
                                            "__probe_ret_ip", "__probe_func"};
  return std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved);
}

// a->b.c -> c; a[2] -> a_2; *p -> p.
std::string name_of_expression(std::string_view expression) {
  size_t arrow = expression.rfind("->"), dot = expression.rfind('.');
  size_t begin = 0;
  if (arrow != expression.npos) begin = arrow + 2;
  if (dot != expression.npos) begin = std::max(begin, dot + 1);
  return make_identifier(expression.substr(begin));
}

// A name that no other argument has.
std::string unique_name(std::string name, const std::vector<FetchArgument>& others) {
  if (name.empty() || is_reserved(name) || is_digit(name[0])) name = "_" + name;
  name = name.substr(0, kMaxArgumentName);
  std::string candidate = name;
  auto taken = [&] {
    return std::any_of(others.begin(), others.end(),
                       [&](const FetchArgument& other) { return other.name == candidate; });
  };
  for (int i = 1; taken(); i++) {
    std::string suffix = "_" + std::to_string(i);
    candidate = name.substr(0, kMaxArgumentName - suffix.size()) + suffix;
  }
  return candidate;
}

// What a symbol's name may consist of in a definition.
bool can_be_written(std::string_view name) {
  return !name.empty() && name.find_first_of("+-:@% \t") == name.npos;
}

// perf's lazy matching: blanks do not count.
std::string without_any_blanks(std::string_view text) {
  std::string squeezed;
  for (char c : text)
    if (c != ' ' && c != '\t' && c != '\r') squeezed += c;
  return squeezed;
}

std::vector<int> keys_of(const SourceLines::Addresses& lines) {
  std::vector<int> keys;
  for (const auto& [line, addresses] : lines) keys.push_back(line);
  return keys;
}

}  // namespace

std::vector<std::string> DerivedProbe::definitions(const std::string& as_event) const {
  std::vector<std::string> lines;
  for (const std::string& place : places)
    lines.push_back((on_return ? "r:" : "p:") + group + "/" + as_event + " " + place);
  return lines;
}

SourceProbes::SourceProbes(std::unique_ptr<DebugInfo> info)
    : info_(std::move(info)),
      index_(*info_),
      finder_(*info_, index_),
      result_uses_(*info_, index_) {}

Result<std::unique_ptr<SourceProbes>> SourceProbes::open(const std::string& path) {
  PB_ASSIGN(std::unique_ptr<DebugInfo> info, DebugInfo::open(path));
  return std::unique_ptr<SourceProbes>(new SourceProbes(std::move(info)));
}

// --- places

Result<std::vector<SourceProbes::Site>> SourceProbes::sites_in_file(const ProbeRequest& request) {
  std::vector<int> all;
  std::vector<Site> sites;
  int line = request.line.value_or(0);
  for (const auto& place : lines_.places_of(index_, finder_, request.file, line, &all))
    sites.push_back({place.instance, place.address});
  if (!sites.empty()) return sites;
  if (all.empty())
    return user_error(ENOENT,
                      "There is no code of a file " + request.file + " in " + info_->name() + ".");
  return user_error(ENOENT, "There is no line " + std::to_string(line) + " with code in " +
                                request.file + nearest_lines(all, line) + ".");
}

Result<std::vector<SourceProbes::Site>> SourceProbes::sites_of_line(const ProbeRequest& request) {
  PB_ASSIGN(std::vector<FunctionInstance> found, finder_.find(request.function, request.file));
  std::vector<Site> sites;
  std::vector<int> all;
  int first = 0;
  for (const FunctionInstance& instance : found) {
    first = SourceLines::first_line_of(instance);
    const SourceLines::Addresses lines = lines_.lines_of(instance);
    auto line = lines.find(first + *request.line);
    for (int one : keys_of(lines)) all.push_back(one - first);
    if (line == lines.end()) continue;
    for (uint64_t address : line->second) sites.push_back({instance, address});
  }
  if (!sites.empty()) return sites;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::string sentence = "There is no line " + std::to_string(*request.line) + " with code in " +
                         found.front().name + "()" + nearest_lines(all, *request.line) +
                         "; its line 0 is line " + std::to_string(first) + " of " +
                         SourceLines::file_of(found.front());
  return user_error(ENOENT, sentence + ".");
}

// ;PATTERN: all lines of the function that have the text (a glob without blanks).
Result<std::vector<SourceProbes::Site>> SourceProbes::sites_of_pattern(
    const ProbeRequest& request) {
  if (request.function.empty())
    return user_error(EINVAL, "A pattern is looked for in a function: FUNC;PATTERN.");
  PB_ASSIGN(std::vector<FunctionInstance> found, finder_.find(request.function, request.file));
  std::string file = SourceLines::file_of(found.front()), text;
  const Result<std::string> read = read_foreign_file(file, kMostForeignText);
  if (!read.ok())
    return user_error(ENOENT, "The source file cannot be read: " + read.error().message() + ".");
  std::istringstream source(read.value());
  std::string pattern = "*" + without_any_blanks(request.pattern) + "*";
  std::set<int> matching;
  for (int number = 1; std::getline(source, text); number++) {
    if (::fnmatch(pattern.c_str(), without_any_blanks(text).c_str(), 0) == 0)
      matching.insert(number);
  }
  std::vector<Site> sites;
  for (const FunctionInstance& instance : found) {
    for (const auto& [line, addresses] : lines_.lines_of(instance)) {
      if (!matching.contains(line)) continue;
      for (uint64_t address : addresses) sites.push_back({instance, address});
    }
  }
  if (!sites.empty()) return sites;
  return user_error(ENOENT, "No line with code in " + found.front().name + "() has " +
                                quoted(request.pattern) + ".");
}

Result<std::vector<SourceProbes::Site>> SourceProbes::sites_of(const ProbeRequest& request) {
  if (!request.pattern.empty()) return sites_of_pattern(request);
  if (request.function.empty()) return sites_in_file(request);
  if (request.line && *request.line > 0) return sites_of_line(request);
  PB_ASSIGN(std::vector<FunctionInstance> found, finder_.find(request.function, request.file));
  std::vector<Site> sites;
  bool is_plain = request.offset == 0 && !request.on_return;
  for (const FunctionInstance& instance : found) {
    if (is_plain || !instance.is_inlined)
      sites.push_back({instance, instance.entry + request.offset});
  }
  if (sites.empty())
    return user_error(EINVAL, "The function " + found.front().name +
                                  "() is inlined everywhere: it has no " +
                                  (request.on_return ? "return." : "offsets."));
  bool is_inside = holds(sites.front().instance.die, sites.front().address);
  if (request.offset != 0 && !is_inside)
    return user_error(
        EINVAL, hex_number(request.offset) + " is beyond the end of " + found.front().name + "().");
  return sites;
}

ProbePoint SourceProbes::point_of(const Site& site, bool on_return) const {
  ProbePoint point;
  point.pc = site.address;
  point.function = site.instance.die;
  point.concrete = site.instance.concrete;
  point.is_inlined = site.instance.is_inlined;
  point.at_return = on_return;
  point.at_entry = !on_return && !site.instance.is_inlined && site.address == site.instance.entry;
  return point;
}

// --- texts of places and addresses

// By a symbol that contains the place, is the only one of its name, and is a function that the
// agent lists (not a cold part).
bool SourceProbes::can_name(const Site& site, bool on_return) const {
  const ObjectSymbol* symbol = info_->symbol_at(site.address, true);
  return symbol && can_be_written(symbol->name) && !is_cold_name(symbol->name) &&
         info_->count_symbols(symbol->name) == 1 && can_be_written(info_->name()) &&
         (!on_return || symbol->address == site.address);
}

std::string SourceProbes::place_text(const Site& site, bool by_file) const {
  const ObjectSymbol* symbol = info_->symbol_at(site.address, true);
  if (!by_file && symbol) {
    uint64_t offset = site.address - symbol->address;
    return info_->name() + ":" + symbol->name + (offset ? "+" + std::to_string(offset) : "");
  }
  uint64_t offset = site.address;
  (void)info_->file_offset(site.address, &offset);
  return info_->path() + ":" + hex_number(offset);
}

// "work+18" for people.
std::string SourceProbes::shown_place(uint64_t address) const {
  const ObjectSymbol* symbol = info_->symbol_at(address, true);
  if (!symbol) return hex_number(address);
  uint64_t offset = address - symbol->address;
  return demangle(symbol->name, false) + (offset ? "+" + std::to_string(offset) : "");
}

// The program is searched for @SYM first. So a library's own variable is found only by its place in
// the file.
TextOfAddress SourceProbes::address_text(bool by_file) const {
  return [this, by_file](uint64_t address) -> std::optional<std::string> {
    uint64_t offset = 0;
    if (by_file) {
      if (!info_->file_offset(address, &offset)) return std::nullopt;
      return "@+" + hex_number(offset);
    }
    const ObjectSymbol* symbol = info_->symbol_at(address, false);
    bool is_only_one = symbol && info_->count_symbols(symbol->name) == 1 &&
                       (info_->is_program() || !symbol->is_local) && can_be_written(symbol->name);
    if (!is_only_one) return std::nullopt;
    offset = address - symbol->address;
    return "@" + symbol->name + (offset ? "+" + std::to_string(offset) : "");
  };
}

// --- arguments

void SourceProbes::add_all(const ProbeRequestArgument& argument, VariableReader& reader,
                           Arguments* arguments, DerivedProbe* probe) {
  for (const Variable& variable : reader.visible()) {
    if (argument.expression == "$params" && !variable.is_parameter) continue;
    std::string name = unique_name(variable.name, *arguments);
    Result<Value> value = reader.evaluate(variable.name);
    Result<Arguments> fetched =
        value.ok() ? reader.arguments_of(*value, name, argument.type) : value.error();
    if (fetched.ok())
      arguments->insert(arguments->end(), fetched->begin(), fetched->end());
    else
      probe->notes.push_back(quoted(variable.name) + " is left out: " + fetched.error().message());
  }
}

Status SourceProbes::add_argument(const ProbeRequestArgument& argument, VariableReader& reader,
                                  Arguments* arguments, DerivedProbe* probe) {
  if (argument.is_plain()) {
    // The argument's own colon and type stay where they are.
    std::string name = argument.name.empty() ? "" : argument.name;
    FetchArgument plain{name, argument.expression, "", ""};
    if (name.empty())
      plain.name = unique_name("arg" + std::to_string(arguments->size() + 1), *arguments);
    arguments->push_back(plain);
    return {};
  }
  if (argument.expression == "$vars" || argument.expression == "$params") {
    add_all(argument, reader, arguments, probe);
    return {};
  }
  PB_ASSIGN(Value value, reader.evaluate(argument.expression));
  std::string wish =
      argument.name.empty() ? name_of_expression(argument.expression) : argument.name;
  if (argument.name.empty() && argument.expression == "$retval") wish = "ret";
  Result<Arguments> fetched =
      reader.arguments_of(value, unique_name(wish, *arguments), argument.type);
  if (!fetched.ok())
    return user_error(fetched.error().errno_value,
                      quoted(argument.expression) + " is " + fetched.error().message());
  arguments->insert(arguments->end(), fetched->begin(), fetched->end());
  return {};
}

Result<SourceProbes::Arguments> SourceProbes::arguments_of(const ProbeRequest& request,
                                                           const Site& site, bool by_file,
                                                           DerivedProbe* probe) {
  Arguments arguments;
  VariableReader reader(*info_, index_, point_of(site, request.on_return), address_text(by_file));
  for (const ProbeRequestArgument& argument : request.arguments)
    PB_TRY(add_argument(argument, reader, &arguments, probe));
  for (const FetchArgument& argument : arguments) {
    size_t length = argument.fetch.size() + argument.type.size() + 1;
    if (length > kMaxArgumentText)
      return user_error(E2BIG, quoted(argument.name) + " would be fetched by '" + argument.fetch +
                                   "', which is longer than a definition takes");
  }
  return arguments;
}

// The place and its arguments. `kinds`: names and types, which all places of an event share.
Result<std::string> SourceProbes::arguments_text(const ProbeRequest& request, const Site& site,
                                                 bool* by_file, std::string* kinds,
                                                 DerivedProbe* probe) {
  std::vector<std::string> notes = probe->notes;
  Result<Arguments> arguments = arguments_of(request, site, *by_file, probe);
  if (!arguments.ok() && !*by_file) {  // perhaps a variable that has no name of its own
    probe->notes = notes;
    Error first = arguments.error();
    *by_file = true;
    arguments = arguments_of(request, site, true, probe);
    if (!arguments.ok()) return first;
  }
  if (!arguments.ok()) return arguments.error();
  std::string text = place_text(site, *by_file);
  kinds->clear();
  for (const FetchArgument& argument : *arguments) {
    text += " " + argument.text();
    *kinds += argument.name + ":" + argument.type + " ";
    if (!argument.note.empty()) probe->notes.push_back(argument.name + ": " + argument.note);
  }
  return text;
}

void SourceProbes::name_probe(const ProbeRequest& request, const Site& site,
                              DerivedProbe* probe) const {
  std::string base = info_->name().substr(0, info_->name().find('.'));
  std::string function = site.instance.name;
  constexpr std::string_view kNameless = "(anonymous namespace)::";
  for (size_t at; (at = function.find(kNameless)) != function.npos;)
    function.erase(at, kNameless.size());
  std::string event = identifier(without_template_arguments(function));
  if (function.empty()) event = "_";
  if (request.function.empty()) event = identifier(base_name(request.file));
  if (request.line && *request.line > 0) event += "_L" + std::to_string(*request.line);
  if (request.offset) event += "_" + hex_number(request.offset);
  if (request.on_return) event += "__return";
  probe->group = request.group.empty() ? "probe_" + identifier(base) : request.group;
  probe->group.resize(std::min(probe->group.size(), kMaxName));
  probe->event = request.event.empty() ? event : request.event;
}

Result<DerivedProbe> SourceProbes::derive(const ProbeRequest& request) {
  PB_ASSIGN(std::vector<Site> sites, sites_of(request));
  DerivedProbe probe;
  probe.on_return = request.on_return;
  name_probe(request, sites.front(), &probe);
  std::string kinds, first_kinds;
  std::optional<Error> failed;
  std::vector<std::string> left_out;
  if (sites.size() > kMaxPlaces) sites.resize(kMaxPlaces);
  // The places of one event are all named by their symbols, or all by the file.
  const bool any_by_file = std::any_of(sites.begin(), sites.end(), [&](const Site& site) {
    return !can_name(site, request.on_return);
  });
  for (const Site& site : sites) {
    bool by_file = any_by_file;
    Result<std::string> text = arguments_text(request, site, &by_file, &kinds, &probe);
    if (!text.ok()) {
      if (!failed) failed = text.error();
      left_out.push_back("the copy at " + shown_place(site.address) +
                         " is left out: " + text.error().message());
      continue;
    }
    if (probe.places.empty()) first_kinds = kinds;
    if (kinds != first_kinds)
      left_out.push_back("the copy at " + shown_place(site.address) +
                         " is left out: its values would be shown otherwise");
    else
      probe.places.push_back(*text);
  }
  if (probe.places.empty())
    return user_error(failed->errno_value,
                      failed->message() + " (" + shown_place(sites.front().address) + ").");
  probe.notes.insert(probe.notes.end(), left_out.begin(), left_out.end());
  std::sort(probe.notes.begin(), probe.notes.end());
  probe.notes.erase(std::unique(probe.notes.begin(), probe.notes.end()), probe.notes.end());
  return probe;
}

// --- questions

Result<FunctionLines> SourceProbes::lines(const ProbeRequest& request) {
  Result<std::vector<FunctionInstance>> found(std::vector<FunctionInstance>{});
  if (request.function.empty()) {
    PB_ASSIGN(std::vector<Site> sites, sites_in_file(request));
    found->push_back(sites.front().instance);
  } else {
    found = finder_.find(request.function, request.file);
  }
  if (!found.ok()) return found.error();
  FunctionLines result;
  result.function = found->front().name;
  result.file = SourceLines::file_of(found->front());
  result.first = SourceLines::first_line_of(found->front());
  std::set<int> lines;
  for (const FunctionInstance& instance : *found) {
    if (SourceLines::file_of(instance) != result.file) continue;
    for (int line : keys_of(lines_.lines_of(instance)))
      if (line >= result.first) lines.insert(line);
  }
  result.lines.assign(lines.begin(), lines.end());
  result.last = lines.empty() ? result.first : *lines.rbegin();
  return result;
}

Result<std::vector<VisibleVariables>> SourceProbes::variables(const ProbeRequest& request) {
  PB_ASSIGN(std::vector<Site> sites, sites_of(request));
  std::vector<VisibleVariables> result;
  for (const Site& site : sites) {
    VisibleVariables one;
    one.place = shown_place(site.address);
    bool by_file = !can_name(site, request.on_return);
    VariableReader reader(*info_, index_, point_of(site, request.on_return), address_text(by_file));
    for (const Variable& variable : reader.visible()) {
      VisibleVariables::Row row{type_name(type_of(variable.die)), variable.name, "", ""};
      Result<Value> value = reader.evaluate(variable.name);
      Result<Arguments> fetched =
          value.ok() ? reader.arguments_of(*value, variable.name, "") : value.error();
      if (fetched.ok())
        row.fetch = fetched->front().fetch + ":" + fetched->front().type;
      else
        row.why = fetched.error().message();
      one.rows.push_back(std::move(row));
    }
    result.push_back(std::move(one));
  }
  return result;
}

// --- function events

namespace {

// The offset of the pointer to its text in a std::string that is passed by its address.
std::optional<uint64_t> text_pointer_in(const TypeFacts& facts) {
  bool is_it = facts.kind == TypeKind::kAggregate && facts.die &&
               name_of(*facts.die).starts_with("basic_string<char,");
  std::optional<Member> holder = find_member(facts, "_M_dataplus", nullptr);
  if (!is_it || !holder) return std::nullopt;
  std::optional<Member> pointer = find_member(facts_of(holder->type), "_M_p", nullptr);
  if (!pointer) return std::nullopt;
  return holder->offset + pointer->offset;
}

// A parameter's part of the list; empty: it has no part (on the stack, behind or as something that
// function_events does not know). `on_stack`: how many words there the list has so far.
std::string number_text(const PassedParameter& parameter, const std::string& name) {
  const TypeFacts facts = facts_of(parameter.type);
  const TypeFacts object = facts.is_reference ? facts_of(element_of(facts)) : facts;
  std::optional<uint64_t> text = text_pointer_in(object);
  // Its caller may not have stored it.
  if (text && parameter.read && !parameter.read->all_of(int64_t(*text), int64_t(*text) + 8))
    text.reset();
  if (text && (parameter.by_reference || facts.is_reference))
    return "string " + name + "+" + std::to_string(*text) + "[0]+0";
  const std::string word = parameter.is_promoted ? "double" : number_word(facts);
  if (parameter.by_reference) {
    const bool is_stored =
        !parameter.read || parameter.read->all_of(0, std::max<int64_t>(int64_t(facts.size), 1));
    const bool is_number =
        parameter.is_behind_pointer && is_stored && facts.size <= 8 && !word.empty();
    if (is_number && is_text_pointer(facts)) return "string " + name + "[0]+0";
    return is_number ? word + " " + name + "[0]" : "x64 " + name;
  }
  if (is_text_pointer(facts)) return "string " + name;
  return word.empty() ? "" : word + " " + name;
}

// The positions of a list, as function_events counts them: what nobody asks for is skipped.
class PositionList {
 public:
  explicit PositionList(bool has_hidden_result) {
    if (has_hidden_result) skip(false);
  }
  // Whether what is passed in these registers can still stand behind what the list has.
  bool reaches(const PassedParameter& parameter) const {
    unsigned taken[2] = {nr_[0], nr_[1]};
    for (const PassedParameter::Register& one : parameter.registers) {
      if (one.index < taken[one.is_vector]) return false;
      taken[one.is_vector] = one.index + 1;
    }
    return true;
  }
  // Skips what is passed in front of it.
  void go_to(const PassedParameter& parameter, uint32_t* on_stack) {
    bool has_begun[2] = {false, false};
    for (const PassedParameter::Register& one : parameter.registers) {
      while (!has_begun[one.is_vector] && nr_[one.is_vector] < one.index) skip(one.is_vector);
      has_begun[one.is_vector] = true;
    }
    const bool is_passed = parameter.fate == PassedParameter::Fate::kPassed;
    if (parameter.registers.empty() && is_passed && parameter.is_known)
      go_to_stack(parameter, on_stack);
  }
  void skip(const PassedParameter& parameter) {
    if (parameter.registers.empty() || !reaches(parameter)) return;
    uint32_t unused = 0;
    go_to(parameter, &unused);
    for (const PassedParameter::Register& one : parameter.registers) skip(one.is_vector);
  }
  void add(const PassedParameter& parameter, std::string part) {
    for (const PassedParameter::Register& one : parameter.registers) nr_[one.is_vector]++;
    parts_.push_back(std::move(part));
  }
  // What is passed nowhere.
  void add(std::string part) { parts_.push_back(std::move(part)); }
  const std::vector<std::string>& parts() const { return parts_; }

 private:
  // What is left free is skipped: function_events would see it there. `needed`: of each kind.
  void go_to_stack(const PassedParameter& parameter, uint32_t* on_stack) {
    unsigned needed[2] = {parameter.by_reference, 0};
    const PassedClass passed = passed_class(parameter.type);
    const uint64_t size = parameter.by_reference ? 0 : facts_of(parameter.type).size;
    for (uint64_t i = 0; i < 2 && 8 * i < size && !passed.in_memory; i++)
      needed[passed.is_vector[i]]++;
    const auto fits = [&] {
      return nr_[0] + needed[0] <= kMaxIntegerArgs && nr_[1] + needed[1] <= kMaxVectorArgs;
    };
    for (const bool is_vector : {false, true})
      while (needed[is_vector] > 0 && fits()) skip(is_vector);
    // What is aligned skips a word by itself.
    const auto is_behind = [&] {
      const uint64_t next = passed.is_aligned && size ? (*on_stack + 1) & ~1u : *on_stack;
      return 8 * next < parameter.stack_offset && *on_stack < kMaxStackArgs;
    };
    while (is_behind() && nr_[0] < kMaxIntegerArgs) skip(false);
    for (; is_behind(); ++*on_stack) parts_.emplace_back("NULL");
  }
  void skip(bool is_vector) {
    parts_.emplace_back(is_vector ? "double NULL" : "NULL");
    nr_[is_vector]++;
  }
  std::vector<std::string> parts_;
  unsigned nr_[2] = {0, 0};  // integers, vectors
};

std::string parameter_text(const PassedParameter& parameter, const std::string& name,
                           uint32_t* on_stack, std::vector<std::string>* beyond) {
  std::string shown = quoted(name) + " (" + type_name(parameter.type) + ") ";
  const std::string text = number_text(parameter, name);
  if (!text.empty() && is_passed_alike(text, parameter, on_stack)) return text;
  beyond->push_back(shown + (parameter.registers.empty() ? "is passed on the stack and left out"
                                                         : "is passed in pieces and left out"));
  return "";
}

// A value of 16 bytes, or a structure by value; empty: it is neither.
std::string value_text(const PassedParameter& parameter, const std::string& name,
                       const std::string& scope, const FieldName& field_name, uint32_t* on_stack,
                       ObjectArguments* objects) {
  if (parameter.by_reference) return "";
  const TypeFacts facts = facts_of(parameter.type);
  const std::string wide = wide_word(facts);
  if (!wide.empty()) {
    if (!is_passed_alike(wide + " " + name, parameter, on_stack)) return "";
    ObjectForm form;
    form.show = show_of(facts);
    form.size = uint32_t(facts.size);
    form.field = name;
    objects->push_back({name, {name}, std::move(form)});
    return wide + " " + name;
  }
  std::optional<StructFields> fields = struct_fields(facts, name, scope, field_name);
  if (!fields || !is_passed_alike(fields->position, parameter, on_stack)) return "";
  objects->push_back(std::move(fields->argument));
  return fields->position;
}

std::string scope_of(const FunctionInstance& instance) {
  const size_t end = instance.name.rfind("::");
  return end == std::string::npos ? "" : instance.name.substr(0, end);
}

// Parameters without a name have one here, and none has the name of another.
std::vector<FetchArgument> parameter_names(const PassedParameters& passed) {
  std::vector<FetchArgument> names;
  for (const PassedParameter& parameter : passed.parameters) {
    const std::string wish = parameter.name.empty() ? "arg" : ascii_name(parameter.name);
    std::string name = unique_name(wish, names);
    names.push_back({std::move(name), "", "", ""});
  }
  return names;
}

// DWARF has no attribute that says how `...` is read: the names say it.
bool has_format(const FunctionInstance& instance, const PassedParameters& passed,
                const std::vector<std::string>& parts) {
  if (!passed.is_variadic || passed.parameters.empty() || parts.empty()) return false;
  const std::string& last = passed.parameters.back().name;
  return parts.back() == "string " + last && is_printf_like(instance.name, last);
}

// What is known of a structure of which parts are passed. False: it has no part that can be shown.
bool add_parts(const PassedParameter& parameter, const std::string& name, const std::string& scope,
               const FieldName& field_name, PositionList* list, ObjectArguments* objects) {
  const auto as_passed = [](PassedParameter::Register reg) {
    PassedParameter one;
    one.registers = {reg};
    return one;
  };
  std::optional<PartialFields> parts =
      partial_fields(parameter, name, scope, field_name,
                     [&](PassedParameter::Register reg) { return list->reaches(as_passed(reg)); });
  if (!parts) return false;
  uint32_t unused = 0;
  for (PartialFields::Position& position : parts->positions) {
    const PassedParameter one = as_passed(position.reg);
    list->go_to(one, &unused);
    list->add(one, std::move(position.text));
  }
  for (const std::string& field : parts->unknown) list->add("x64 " + field_name(field) + "=?");
  objects->push_back(std::move(parts->argument));
  return true;
}

// The list of a function event, without its brackets.
std::string parameters_text(DebugInfo& info, const FunctionInstance& instance, bool has_objects,
                            std::vector<std::string>* beyond, ObjectArguments* objects) {
  const PassedParameters passed = entry_parameters(info, instance.concrete, instance.entry);
  PositionList list(passed.has_hidden_result);
  const std::vector<FetchArgument> names = parameter_names(passed);
  std::vector<FetchArgument> taken = names;
  const FieldName field_name = [&taken](const std::string& wish) {
    std::string name = unique_name(wish, taken);
    taken.push_back({name, "", "", ""});
    return name;
  };
  const size_t nr_before = beyond->size();
  uint32_t on_stack = 0;
  size_t nr_shown = 0;
  for (size_t i = 0; i < names.size(); i++) {
    const PassedParameter& parameter = passed.parameters[i];
    const std::string& name = names[i].name;
    const bool is_passed = parameter.fate == PassedParameter::Fate::kPassed;
    const bool is_in_parts = has_objects && parameter.fate == PassedParameter::Fate::kParts;
    if (is_in_parts && add_parts(parameter, name, scope_of(instance), field_name, &list, objects)) {
      nr_shown++;
      continue;
    }
    if (!is_passed || !list.reaches(parameter)) {
      const bool is_constant = parameter.fate == PassedParameter::Fate::kConstant;
      // The compiler's own, __in_chrg or vtt: nobody has written it.
      if (!is_constant && name != "this" && flag_of(parameter.die, DW_AT_artificial)) {
        list.skip(parameter);
        continue;
      }
      const std::string constant =
          is_constant ? constant_text(facts_of(parameter.type), parameter.constant, name) : "";
      // It takes its registers all the same, or what is behind it would not be on the stack.
      if (!is_passed) list.skip(parameter);
      list.add(constant.empty() ? "x64 " + name + "=?" : constant);
      if (has_objects && constant.empty()) objects->push_back(left_out_argument(name, nr_shown));
      nr_shown++;
      continue;
    }
    list.go_to(parameter, &on_stack);
    std::optional<ObjectFields> object =
        has_objects ? object_fields(parameter, name, field_name) : std::nullopt;
    if (object) {
      list.add(parameter, join(object->positions, ", "));
      objects->push_back(std::move(object->argument));
      nr_shown++;
      continue;
    }
    std::string part = has_objects ? value_text(parameter, name, scope_of(instance), field_name,
                                                &on_stack, objects)
                                   : "";
    const size_t nr_beyond = beyond->size();
    if (part.empty()) part = parameter_text(parameter, name, &on_stack, beyond);
    if (!part.empty()) {
      list.add(parameter, std::move(part));
    } else {
      list.skip(parameter);
      list.add("x64 " + name + "=?");
    }
    if (has_objects && beyond->size() > nr_beyond)
      objects->push_back(left_out_argument(name, nr_shown));
    nr_shown++;
  }
  std::vector<std::string> parts = list.parts();
  // The kernel's uprobes have no form for it.
  if (has_objects && beyond->size() == nr_before && has_format(instance, passed, parts))
    parts.emplace_back("...");
  return join(parts, ", ");
}

// Not the other type of 16 bytes, __float128.
bool is_x87(const std::optional<Dwarf_Die>& type) {
  return type && name_of(*type) == "long double";
}

std::string result_word(const FunctionInstance& instance) {
  const std::optional<Dwarf_Die> type = type_of(instance.concrete);
  const TypeFacts facts = facts_of(type);
  if (!type || facts.kind == TypeKind::kVoid) return "void";
  if (facts.kind == TypeKind::kFloat)
    return facts.size == 4     ? "float"
           : facts.size == 8   ? "double"
           : is_x87(facts.die) ? "float80"
                               : "";
  const bool is_text =
      facts.kind == TypeKind::kPointer && facts_of(element_of(facts)).is_plain_char;
  return is_text && !facts.is_reference ? "string" : number_word(facts);
}

// Of several words, or an object.
std::optional<WholeResult> result_of(const FunctionInstance& instance) {
  std::vector<FetchArgument> taken = parameter_names(listed_parameters(instance.concrete));
  const FieldName field_name = [&taken](const std::string& wish) {
    std::string name = unique_name(wish, taken);
    taken.push_back({name, "", "", ""});
    return name;
  };
  const std::optional<Dwarf_Die> type = type_of(instance.concrete);
  std::optional<WholeResult> object = object_result(type, field_name);
  return object ? object : whole_result(type, scope_of(instance));
}

// The values' names of parameters_text(), whose names the parameters have there, too.
FunctionValueNames value_names(const FunctionInstance& instance, ValueNamesCache* cache) {
  const std::string scope = scope_of(instance);
  FunctionValueNames found;
  const PassedParameters passed = listed_parameters(instance.concrete);
  const std::vector<FetchArgument> names = parameter_names(passed);
  for (size_t i = 0; i < names.size(); i++) {
    const TypeFacts facts = facts_of(passed.parameters[i].type);
    if (SharedValueNames values = value_names_of(facts, scope, cache))
      found.arguments.emplace_back(names[i].name, std::move(values));
  }
  found.result = value_names_of(facts_of(type_of(instance.concrete)), scope, cache);
  return found;
}

// function_events takes 4095. A name of its own, and a library's, may come in front.
constexpr size_t kMostLineBytes = 3500;

// What an assembler says of a function has no parameters, whatever they are.
bool is_assembler(FunctionInstance instance) {
  Dwarf_Die unit;
  if (!dwarf_diecu(&instance.concrete, &unit, nullptr, nullptr)) return false;
  return dwarf_srclang(&unit) == DW_LANG_Mips_Assembler;
}

bool is_type_entry(int tag) {
  return tag == DW_TAG_base_type || tag == DW_TAG_pointer_type || tag == DW_TAG_structure_type ||
         tag == DW_TAG_class_type || tag == DW_TAG_typedef || tag == DW_TAG_enumeration_type;
}

// With -g1 there are functions without their parameters: none is listed, whatever there are. The
// name of a function of C++ says whether it has any, and a prototype of C whether it is told.
bool has_lines_alone(const FunctionInstance& instance) {
  if (!listed_parameters(instance.concrete).parameters.empty()) return false;
  Dwarf_Die function = instance.concrete, unit;
  if (flag_of(function, DW_AT_prototyped) || type_of(function)) return false;
  // Names of Rust have no list.
  const std::string name = demangle(text_of(function, DW_AT_linkage_name), true);
  const std::string_view parameters = split_demangled(name).parameters;
  if (!parameters.empty()) return parameters != "()";
  // Of link time optimization the types are where the function was compiled.
  for (int depth = 0; depth < 8; depth++) {
    const std::optional<Dwarf_Die> origin = reference_of(function, DW_AT_abstract_origin);
    if (!origin) break;
    function = *origin;
  }
  if (!::dwarf_diecu(&function, &unit, nullptr, nullptr)) return false;
  const std::vector<Dwarf_Die> children = children_of(unit);
  return std::none_of(children.begin(), children.end(),
                      [](Dwarf_Die child) { return is_type_entry(::dwarf_tag(&child)); });
}

// Whether they are different functions, and not copies of one.
bool are_different(const FunctionInstance& a, const FunctionInstance& b) {
  return !same_entry(declaration_of(a.concrete), declaration_of(b.concrete));
}

constexpr size_t kMostNamesakes = 64;  // more of them have one line, if their lists are alike

// What each of several functions is called, so that it means no other of them: `f(int)` among
// overloads, `f@a.c` among local functions of several files, `f.constprop.0`; else its place in the
// object, `name=prog@0x1234`.
class NamesOfInstances {
 public:
  NamesOfInstances(const DebugInfo& info, const std::vector<FunctionInstance>& found,
                   const std::string& asked)
      : info_(info), found_(found), asked_(asked) {
    for (const FunctionInstance& one : found) {
      const ObjectSymbol* symbol = info.symbol_at(one.entry, true);
      symbols_.push_back(symbol && symbol->address == one.entry ? symbol->name : "");
      // A template's has its result in front.
      const std::string text = demangle(symbols_.back(), true);
      const DemangledName parts = split_demangled(text);
      const bool is_cut = !parts.name.empty() && !parts.parameters.empty();
      // Of Rust's the hash is left out, which people do not write.
      whole_.push_back(is_cut ? std::string(parts.name) + std::string(parts.parameters) +
                                    std::string(parts.trailing)
                              : demangle(symbols_.back(), false));
    }
  }
  // C4: for those who do not know the symbol its name means C1 and C2, which take less.
  bool has_unified() const {
    return std::any_of(symbols_.begin(), symbols_.end(), is_unified_structor);
  }
  // A name means clones where nothing else has it: f, but no f.constprop.0 beside it.
  bool has_clones_beside() const {
    const auto nr_clones =
        std::count_if(symbols_.begin(), symbols_.end(),
                      [](const std::string& symbol) { return !clone_suffix(symbol).empty(); });
    return nr_clones > 0 && size_t(nr_clones) < symbols_.size();
  }
  // Local functions that nothing but their files tells apart.
  bool has_namesakes() const {
    for (size_t i = 0; i < found_.size(); i++)
      for (size_t k = 0; k < i; k++)
        if (whole_[i] == whole_[k] && are_different(found_[i], found_[k])) return true;
    return false;
  }
  std::string of(size_t i) const {
    const bool is_clone = !clone_suffix(symbols_[i]).empty() || is_unified_structor(symbols_[i]);
    if (count(whole_, whole_[i]) == 1 && (!is_clone || !symbols_[i].starts_with("_Z")))
      return whole_[i];
    // Each has an event of its own, also where the name is the same.
    constexpr size_t kMostOfName = 50;  // an event's name has 63 characters
    const std::string event = make_identifier(demangle(asked_, false)).substr(0, kMostOfName) +
                              (i == 0 ? "" : "_" + std::to_string(i + 1)) + "=";
    if (count(symbols_, symbols_[i]) == 1 && info_.count_symbols(symbols_[i]) == 1)
      return event + symbols_[i];
    if (!symbols_[i].starts_with("_Z") && !is_clone && is_alone_in_file(i))
      return symbols_[i] + "@" + file_of(i);
    return event + info_.name() + "@" + hex_number(found_[i].entry);
  }

 private:
  static size_t count(const std::vector<std::string>& all, const std::string& one) {
    return one.empty() ? 0 : size_t(std::count(all.begin(), all.end(), one));
  }
  std::string file_of(size_t i) const {
    return std::string(base_name(declaration_file(found_[i].concrete)));
  }
  // The agent knows local functions by the file's name in the table of symbols, with their clones.
  bool is_alone_in_file(size_t i) const {
    const std::string file = file_of(i);
    Dwarf_Die unit;
    Dwarf_Die die = found_[i].concrete;
    if (file.empty() || !::dwarf_diecu(&die, &unit, nullptr, nullptr)) return false;
    if (base_name(name_of(unit)) != file) return false;  // in a header
    for (size_t k = 0; k < found_.size(); k++)
      if (k != i && file_of(k) == file && symbols_[k].starts_with(symbols_[i])) return false;
    return file.find_first_of("@(): ") == file.npos;
  }

  const DebugInfo& info_;
  const std::vector<FunctionInstance>& found_;
  const std::string asked_;
  std::vector<std::string> symbols_, whole_;
};

}  // namespace

namespace {

// "inlined into main() (a.c:7)", of copies that stand in several functions of several.
std::string places_of_copies(const std::vector<FunctionInstance>& copies) {
  constexpr size_t kMostPlaces = 3;
  std::vector<std::string> places;
  for (const FunctionInstance& one : copies) {
    const std::string file(base_name(call_file(one.die)));
    const std::optional<uint64_t> line = number_of(one.die, DW_AT_call_line);
    std::string place = name_of(declaration_of(one.concrete)) + "()";
    if (!file.empty() && line) place += " (" + file + ":" + std::to_string(*line) + ")";
    if (std::find(places.begin(), places.end(), place) == places.end())
      places.push_back(std::move(place));
  }
  const size_t count = places.size();
  places.resize(std::min(count, kMostPlaces));
  return "inlined into " + join(places, ", ") +
         (count > kMostPlaces ? " and " + std::to_string(count - kMostPlaces) + " more places"
                              : "");
}

}  // namespace

bool SourceProbes::have_one_result(const std::vector<FunctionInstance>& functions) {
  const auto text_of_result = [this](const FunctionInstance& one) -> std::string {
    if (result_uses_.is_lost(one.concrete, one.entry)) return "?";
    const std::string word = result_word(one);
    if (!word.empty()) return word;
    const std::optional<WholeResult> whole = result_of(one);
    return whole ? whole->text + whole->hidden : "";
  };
  if (functions.size() < 2) return true;
  const std::string first = text_of_result(functions[0]);
  return std::all_of(functions.begin() + 1, functions.end(),
                     [&](const FunctionInstance& one) { return text_of_result(one) == first; });
}

Result<FunctionEventLines> SourceProbes::function_events(std::string_view function,
                                                         bool has_objects) {
  const size_t at = std::min(function.rfind('@'), function.size());
  const std::string_view file = function.substr(std::min(at + 1, function.size()));
  PB_ASSIGN(std::vector<FunctionInstance> found,
            finder_.find(without_abi_tags(function.substr(0, at)), file));
  size_t copies = found.size();
  const std::vector<FunctionInstance> all = found;
  std::erase_if(found, [](const FunctionInstance& one) { return one.is_inlined; });
  if (found.empty())
    return user_error(ENOEXEC, "Only copies of " + std::string(function) + "() are left, " +
                                   places_of_copies(all) +
                                   ": it is never called. Probes reach the copies: `patchbay "
                                   "probe`, or record -e '" +
                                   std::string(function) + " $params'.");
  const size_t called = found.size();
  std::erase_if(found, is_assembler);
  if (found.empty())
    return user_error(ENODATA, "The function " + std::string(function) +
                                   "() is written in assembler: nothing says what its arguments "
                                   "are.");
  std::erase_if(found, has_lines_alone);
  if (found.empty())
    return user_error(ENODATA, "The debug information of " + info_->name() +
                                   " has the lines of its code alone (-g1): nothing says what the "
                                   "arguments of " +
                                   std::string(function) + "() are.");
  FunctionEventLines result;
  copies -= called;
  if (copies > 0)
    result.notes.push_back("calls of " + found.front().name + "() that were inlined (" +
                           std::to_string(copies) + ") are not seen");
  std::vector<std::string> lists;
  std::vector<ObjectArguments> objects(found.size());
  for (size_t i = 0; i < found.size(); i++)
    lists.push_back(parameters_text(*info_, found[i], has_objects, &result.beyond, &objects[i]));
  std::sort(result.beyond.begin(), result.beyond.end());
  result.beyond.erase(std::unique(result.beyond.begin(), result.beyond.end()), result.beyond.end());
  const NamesOfInstances instances(*info_, found, std::string(function));
  const bool are_alike =
      std::all_of(lists.begin(), lists.end(), [&](const auto& list) { return list == lists[0]; });
  const bool is_one =
      are_alike && !instances.has_unified() && !instances.has_clones_beside() &&
      (found.size() > kMostNamesakes || (!instances.has_namesakes() && have_one_result(found)));
  for (size_t i = 0; i < (is_one ? 1 : lists.size()); i++) {
    const std::string name = is_one ? std::string(function) : instances.of(i);
    std::string line = name + "(" + lists[i] + ")";
    if (std::find(result.lines.begin(), result.lines.end(), line) != result.lines.end()) continue;
    result.lines.push_back(std::move(line));
    const bool is_lost = result_uses_.is_lost(found[i].concrete, found[i].entry);
    result.results.push_back(is_lost ? "" : result_word(found[i]));
    std::optional<WholeResult> whole;
    if (has_objects && !is_lost && result.results.back().empty()) whole = result_of(found[i]);
    result.wholes.push_back(std::move(whole).value_or(WholeResult()));
    result.names.push_back(value_names(found[i], &value_names_));
    result.objects.push_back(std::move(objects[i]));
    const size_t size = result.lines.back().size() + result.wholes.back().text.size() +
                        result.wholes.back().hidden.size();
    if (has_objects && size > kMostLineBytes) return function_events(function, false);
  }
  return result;
}

}  // namespace patchbay
