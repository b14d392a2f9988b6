// SPDX-License-Identifier: MIT
#include "debug_info/variable.h"

#include <dwarf.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/text.h"
#include "debug_info/entry_parameters.h"
#include "symbol/symbol.h"

namespace patchbay {
namespace {

constexpr size_t kMaxVariables = 1000;
constexpr uint64_t kMaxArray = 64;  // elements of one argument
constexpr uint64_t kMaxText = 511;  // bytes of one

bool starts_word(char c) { return is_word_start(c) || c == '$' || c == '~'; }
bool is_word(char c) { return starts_word(c) || is_digit(c); }

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string near_text(std::string_view wrong, const std::vector<std::string>& names) {
  std::vector<std::string_view> candidates(names.begin(), names.end());
  std::vector<std::string> near = near_matches(wrong, candidates);
  if (near.empty() && names.size() <= 12) near = names;
  std::string text;
  for (size_t i = 0; i < near.size(); i++) text += (i ? ", " : "; there is: ") + near[i];
  return text;
}

bool is_char(std::optional<Dwarf_Die> type) {
  TypeFacts facts = facts_of(type);
  return facts.is_character && facts.size == 1;
}

// A class of the C++ library, whatever inline namespace it lies in.
bool is_template(const TypeFacts& facts, std::string_view start) {
  return facts.kind == TypeKind::kAggregate && facts.die && name_of(*facts.die).starts_with(start);
}

Where as_constant(const Where& where, const TypeFacts& facts) {
  if (where.kind != Where::Kind::kBytes || facts.size > 8 || where.bytes.size() < facts.size)
    return where;
  uint64_t number = 0;
  std::memcpy(&number, where.bytes.data(), facts.size);
  unsigned unused = unsigned(64 - facts.size * 8);
  if (facts.is_signed && unused < 64) number = uint64_t(int64_t(number << unused) >> unused);
  return Where::value({LoadChain::Start::kConstant, number, {}, 0, 64});
}

const Where& only_piece(const Where& where, uint64_t size, Where* storage) {
  if (where.kind != Where::Kind::kPieces || size == 0) return where;
  return *storage = part_of(where, 0, size);
}

}  // namespace

// --- names

void VariableReader::collect(Dwarf_Die scope, int depth, std::vector<Variable>* found) const {
  if (depth > kMaxDepth || found->size() > kMaxVariables) return;
  std::vector<Dwarf_Die> children = children_of(scope);
  for (Dwarf_Die child : children) {
    if (::dwarf_tag(&child) == DW_TAG_lexical_block && holds(child, point_.pc))
      collect(child, depth + 1, found);
  }
  for (Dwarf_Die child : children) {
    int tag = ::dwarf_tag(&child);
    bool is_parameter = tag == DW_TAG_formal_parameter;
    std::string name = name_of(child);
    if ((!is_parameter && tag != DW_TAG_variable) || name.empty()) continue;
    auto same = [&](const Variable& other) { return other.name == name; };
    if (std::none_of(found->begin(), found->end(), same))
      found->push_back({name, child, is_parameter});
  }
}

std::vector<Variable> VariableReader::visible() const {
  std::vector<Variable> found, ordered;
  collect(point_.function, 0, &found);
  // The compiler leaves attributes out of an instance. They stand in the entry of which it is an
  // instance.
  if (std::optional<Dwarf_Die> origin = reference_of(point_.function, DW_AT_abstract_origin))
    collect(*origin, 0, &found);
  for (const Variable& one : found)
    if (one.is_parameter) ordered.push_back(one);
  for (const Variable& one : found)
    if (!one.is_parameter) ordered.push_back(one);
  return ordered;
}

bool VariableReader::is_optimised_clone() const {
  const ObjectSymbol* symbol = info_.symbol_at(point_.pc, true);
  return !flag_of(point_.concrete, DW_AT_external) ||
         (symbol && symbol->name.find('.') != std::string::npos);
}

// A register of an argument at the entry is $argN at the return.
Where at_return(const Where& at_entry) {
  const LoadChain& chain = at_entry.chain;
  const auto* found =
      std::find(std::begin(kArgumentRegisters), std::end(kArgumentRegisters), chain.number);
  const bool is_whole = at_entry.kind == Where::Kind::kValue && chain.loads.empty() && !chain.add &&
                        chain.start == LoadChain::Start::kRegister && !at_entry.first_bit;
  if (!is_whole || found == std::end(kArgumentRegisters))
    return Where::nowhere("not known when the function has returned");
  LoadChain argument = chain;
  argument.start = LoadChain::Start::kArgument;
  argument.number = uint64_t(found - std::begin(kArgumentRegisters)) + 1;
  return Where::value(argument);
}

// A location for the whole function speaks of a frame. At the first byte that frame is not made
// yet. At the return only the registers of the entry are known.
Where VariableReader::parameter_place(const Variable& variable) {
  std::optional<PassedParameter> passed;
  const uint64_t function_entry = entry_of(point_.concrete).value_or(point_.pc);
  for (PassedParameter& one : entry_parameters(info_, point_.concrete, function_entry).parameters)
    if (one.name == variable.name && !passed) passed = std::move(one);
  // Its location speaks of a float, which the function makes of what it is passed.
  if (passed && passed->is_promoted) return place_of(*passed, point_.at_return);
  std::optional<Dwarf_Attribute> location = attribute_of(variable.die, DW_AT_location);
  const bool is_list = location && is_location_list(*location);
  ProbePoint entry = point_;
  entry.at_entry = true;
  entry.at_return = false;
  Where described = read_variable(info_, entry, variable.die);
  bool is_known = described.kind != Where::Kind::kNowhere;
  const bool is_of_entry = is_known && (is_list || described.kind != Where::Kind::kMemory);
  if (is_of_entry && point_.at_entry) return described;
  if (is_of_entry && is_optimised_clone()) return at_return(described);
  if (location && !is_known && is_optimised_clone()) return described;
  return passed ? place_of(*passed, point_.at_return) : described;
}

Value VariableReader::value_of(const Variable& variable) {
  bool by_convention =
      variable.is_parameter && !point_.is_inlined && (point_.at_entry || point_.at_return);
  Value value;
  value.type = type_of(variable.die);
  value.where =
      by_convention ? parameter_place(variable) : read_variable(info_, point_, variable.die);
  return value;
}

Result<Value> VariableReader::returned() {
  if (!point_.at_return)
    return user_error(EINVAL, "$retval is only there at the return: FUNC%return");
  Value value;
  value.type = type_of(point_.concrete);
  value.where = returned_value(point_.concrete);
  if (value.where.kind == Where::Kind::kNowhere)
    return user_error(EINVAL, "$retval is " + value.where.why);
  return value;
}

std::optional<Value> VariableReader::global(std::string_view name) {
  size_t colons = name.rfind("::");
  std::string_view last = colons == name.npos ? name : name.substr(colons + 2);
  Dwarf_Die own;
  if (!::dwarf_diecu(&point_.concrete, &own, nullptr, nullptr)) return std::nullopt;
  std::vector<Dwarf_Die> units{own};
  for (const Dwarf_Die& unit : index_.naming(last))
    if (!same_entry(unit, own)) units.push_back(unit);
  for (const Dwarf_Die& unit : units) {
    std::vector<std::pair<Dwarf_Die, int>> scopes{{unit, 0}};
    while (!scopes.empty()) {
      auto [scope, depth] = scopes.back();
      scopes.pop_back();
      for (Dwarf_Die child : children_of(scope)) {
        int tag = ::dwarf_tag(&child);
        if (tag == DW_TAG_namespace && depth < kMaxDepth) scopes.emplace_back(child, depth + 1);
        bool is_it = tag == DW_TAG_variable && name_of(child) == last &&
                     (::dwarf_hasattr(&child, DW_AT_location) ||
                      ::dwarf_hasattr(&child, DW_AT_const_value)) &&
                     (same_entry(unit, own) || flag_of(child, DW_AT_external));
        if (is_it) return Value{read_variable(info_, point_, child), type_of(child)};
      }
    }
  }
  return std::nullopt;
}

Result<Value> VariableReader::member_of_this(std::string_view name, bool* is_there) {
  for (const Variable& variable : visible()) {
    if (variable.name != "this") continue;
    Result<Value> object = pointee(value_of(variable));
    Value self{Where(), type_of(variable.die)};
    TypeFacts facts = facts_of(element_of(facts_of(self.type)));
    *is_there = find_member(facts, name, nullptr).has_value();
    if (!*is_there) break;
    if (!object.ok()) return object;
    return member(*object, name);
  }
  return Value();
}

Error VariableReader::unknown(std::string_view name) const {
  std::vector<std::string> names;
  for (const Variable& variable : visible()) {
    names.push_back(variable.name);
    if (variable.name != "this") continue;
    TypeFacts facts = facts_of(element_of(facts_of(type_of(variable.die))));
    (void)find_member(facts, "", &names);
  }
  return user_error(
      ENOENT, "there is no variable " + quoted(name) + " at this place" + near_text(name, names));
}

Result<Value> VariableReader::named(std::string_view name) {
  if (name == "$retval") return returned();
  for (const Variable& variable : visible()) {
    if (variable.name == name) return follow_reference(value_of(variable));
  }
  bool is_member = false;
  Result<Value> member = member_of_this(name, &is_member);
  if (is_member) return member;
  if (std::optional<Value> found = global(name)) return follow_reference(*found);
  return unknown(name);
}

// --- steps

Value VariableReader::follow_reference(Value value) {
  TypeFacts facts = facts_of(value.type);
  if (!facts.is_reference) return value;
  value.where = pointee_of(info_, point_, value.where);
  value.type = element_of(facts);
  return value;
}

Result<Value> VariableReader::pointee(Value value) {
  TypeFacts facts = facts_of(value.type);
  if (facts.kind == TypeKind::kArray) return element(value, 0);
  if (facts.kind != TypeKind::kPointer)
    return user_error(EINVAL, "a value of type " + type_name(value.type) + " is no pointer");
  return Value{pointee_of(info_, point_, value.where), element_of(facts)};
}

Result<Value> VariableReader::member(Value value, std::string_view name) {
  TypeFacts facts = facts_of(value.type);
  if (facts.kind == TypeKind::kPointer) {
    Result<Value> object = pointee(value);
    if (!object.ok()) return object;
    value = *object;
    facts = facts_of(value.type);
  }
  std::vector<std::string> names;
  std::optional<Member> found = find_member(facts, name, &names);
  if (facts.kind != TypeKind::kAggregate)
    return user_error(EINVAL, "a value of type " + type_name(value.type) + " has no members");
  if (names.empty())
    return user_error(EINVAL, "the members of " + type_name(value.type) +
                                  " are not in the debug information (clang leaves them out "
                                  "without -fstandalone-debug)");
  if (!found)
    return user_error(
        ENOENT, type_name(value.type) + " has no member " + quoted(name) + near_text(name, names));
  if (!found->has_offset)
    return user_error(EINVAL, quoted(name) + " of " + type_name(value.type) +
                                  " is static, or of a virtual base: it has no fixed place");
  Value result{value.where, found->type};
  result.bit_size = found->bit_size;
  result.first_bit = found->first_bit;
  if (result.bit_size) return result;
  if (result.where.kind != Where::Kind::kNowhere)
    result.where = part_of(value.where, found->offset, facts_of(found->type).size);
  return follow_reference(result);
}

Result<Value> VariableReader::element(Value value, uint64_t index) {
  TypeFacts facts = facts_of(value.type);
  if (facts.kind == TypeKind::kPointer) {
    Result<Value> first = pointee(value);
    uint64_t size = first.ok() ? facts_of(first->type).size : 0;
    if (!first.ok() || size == 0)
      return user_error(EINVAL, type_name(value.type) + " has no elements of a known size");
    first->where = part_of(first->where, index * size, size);
    return first;
  }
  std::vector<std::optional<uint64_t>> lengths = lengths_of(facts);
  if (facts.kind != TypeKind::kArray || value.dimension >= lengths.size())
    return user_error(EINVAL, "a value of type " + type_name(value.type) + " has no elements");
  std::optional<uint64_t> length = lengths[value.dimension];
  if (length && index >= *length)
    return user_error(EINVAL, "element " + std::to_string(index) + " of " + type_name(value.type) +
                                  ": there are " + std::to_string(*length));
  uint64_t size = facts_of(element_of(facts)).size;
  for (size_t i = value.dimension + 1; i < lengths.size(); i++) size *= lengths[i].value_or(0);
  bool is_last = value.dimension + 1 == lengths.size();
  value.where = part_of(value.where, index * size, size);
  value.dimension = is_last ? 0 : value.dimension + 1;
  if (is_last) value.type = element_of(facts);
  return follow_reference(value);
}

// --- expressions

class ExpressionParser {
 public:
  ExpressionParser(VariableReader& reader, std::string_view text) : reader_(reader), text_(text) {}
  Result<Value> whole() {
    Result<Value> value = prefixed(0);
    if (value.ok() && position_ < text_.size())
      return user_error(EINVAL, "cannot be read from " + quoted(text_.substr(position_)) + " on");
    return value;
  }

 private:
  bool take(std::string_view token) {
    if (!text_.substr(position_).starts_with(token)) return false;
    position_ += token.size();
    return true;
  }
  std::string_view word() {
    size_t begin = position_;
    while (position_ < text_.size() && is_word(text_[position_])) position_++;
    return text_.substr(begin, position_ - begin);
  }
  Result<Value> prefixed(int depth);
  Result<Value> steps(Result<Value> value);
  Result<Value> index_step(const Value& value);

  VariableReader& reader_;
  std::string_view text_;
  size_t position_ = 0;
};

Result<Value> ExpressionParser::prefixed(int depth) {
  if (depth > 16) return user_error(EINVAL, "is nested too deep");
  if (take("&"))
    return user_error(EINVAL, "is an address; a probe fetches what is stored somewhere");
  if (take("*")) {
    Result<Value> value = prefixed(depth + 1);
    return value.ok() ? reader_.pointee(*value) : value;
  }
  if (take("(")) {
    Result<Value> value = prefixed(depth + 1);
    if (!value.ok()) return value;
    if (!take(")")) return user_error(EINVAL, "misses a ')'");
    return steps(value);
  }
  size_t begin = position_;
  bool has_word = !word().empty();
  while (has_word && text_.substr(position_).starts_with("::")) {
    position_ += 2;
    has_word = !word().empty();
  }
  if (!has_word) return user_error(EINVAL, "misses the name of a variable");
  return steps(reader_.named(text_.substr(begin, position_ - begin)));
}

Result<Value> ExpressionParser::index_step(const Value& value) {
  uint64_t index = 0;
  const char* end = text_.data() + text_.size();
  auto [stop, error] = std::from_chars(text_.data() + position_, end, index);
  position_ = size_t(stop - text_.data());
  if (error != std::errc() || index > INT32_MAX || !take("]"))
    return user_error(EINVAL, "takes a number between '[' and ']'");
  return reader_.element(value, index);
}

Result<Value> ExpressionParser::steps(Result<Value> value) {
  while (value.ok() && position_ < text_.size()) {
    if (take("->") || take(".")) {
      std::string_view name = word();
      if (name.empty()) return user_error(EINVAL, "misses the name of a member");
      value = reader_.member(*value, name);
    } else if (take("[")) {
      value = index_step(*value);
    } else {
      break;
    }
  }
  return value;
}

Result<Value> VariableReader::evaluate(std::string_view expression) {
  Result<Value> value = ExpressionParser(*this, expression).whole();
  if (value.ok()) return value;
  return user_error(value.error().errno_value, quoted(expression) + ": " + value.error().message());
}

// --- what a probe fetches

Result<std::string> VariableReader::text_of(const Where& where) const {
  return fetch_text(where, address_text_);
}

Result<FetchArgument> VariableReader::bitfield(const Value& value, const std::string& name) {
  FetchArgument argument;
  argument.name = name;
  for (uint64_t container = 8; container <= 64; container *= 2) {
    uint64_t start = value.first_bit / container * container, bit = value.first_bit - start;
    if (bit + value.bit_size > container) continue;
    Where part = part_of(value.where, start / 8, container / 8);
    if (part.kind == Where::Kind::kValue) {
      bit += part.first_bit;
      container = 64;
      part.first_bit = 0;
    }
    PB_ASSIGN(std::string text, text_of(part));
    argument.fetch = text;
    argument.type = std::string(facts_of(value.type).is_signed ? "sb" : "b") +
                    std::to_string(value.bit_size) + "@" + std::to_string(bit) + "/" +
                    std::to_string(container);
    return argument;
  }
  return user_error(EINVAL, "a bitfield that lies across two words");
}

Result<FetchArgument> VariableReader::scalar(const Value& value, const TypeFacts& facts,
                                             const std::string& name, const std::string& wanted) {
  FetchArgument argument;
  argument.name = name;
  argument.type = scalar_type(facts);
  if (argument.type.empty())
    return user_error(EINVAL, "of type " + type_name(value.type) + ", which a probe cannot show");
  bool is_short = wanted == "s" || wanted == "u" || wanted == "x";
  if (is_short) argument.type = wanted + std::to_string(facts.size * 8);
  if (!is_short && !wanted.empty()) argument.type = wanted;
  Where storage;
  Where where = as_constant(only_piece(value.where, facts.size, &storage), facts);
  bool is_part = where.kind == Where::Kind::kValue && where.first_bit > 0;
  if (where.kind == Where::Kind::kValue && where.chain.width < where.first_bit + facts.size * 8)
    return user_error(EINVAL, "computed here, so that it is in no register and not in memory");
  if (is_part)
    argument.type = std::string(facts.is_signed ? "sb" : "b") + std::to_string(facts.size * 8) +
                    "@" + std::to_string(where.first_bit) + "/64";
  PB_ASSIGN(std::string text, text_of(where));
  argument.fetch = text;
  if (facts.kind == TypeKind::kEnum) argument.note = enumerators_of(facts);
  return argument;
}

Result<std::vector<FetchArgument>> VariableReader::aggregate(const Value& value,
                                                             const TypeFacts& facts,
                                                             const std::string& name) {
  auto pointer_to_text = [&](const Value& object, std::string_view member_name) {
    Result<Value> pointer = member(object, member_name);
    if (!pointer.ok()) return Result<std::string>(pointer.error());
    return text_of(pointee_of(info_, point_, pointer->where));
  };
  if (is_template(facts, "basic_string_view<char,")) {
    Result<std::string> text = pointer_to_text(value, "_M_str");
    Result<Value> length = member(value, "_M_len");
    if (!text.ok()) return text.error();
    if (!length.ok()) return length.error();
    PB_ASSIGN(FetchArgument number, scalar(*length, facts_of(length->type), name + "_len", ""));
    FetchArgument string{name, *text, "string", "goes on to the next NUL: " + name + "_len counts"};
    return std::vector<FetchArgument>{string, number};
  }
  if (is_template(facts, "basic_string<char,")) {
    Result<Value> holder = member(value, "_M_dataplus");
    PB_ASSIGN(std::string text, holder.ok() ? pointer_to_text(*holder, "_M_p") : holder.error());
    return std::vector<FetchArgument>{{name, text, "string", ""}};
  }
  std::vector<std::string> names;
  (void)find_member(facts, "", &names);
  std::erase(names, "");
  std::string sentence = "of type " + type_name(value.type) + ": name a member of it";
  for (size_t i = 0; i < names.size() && i < 8; i++) sentence += (i ? ", " : ", ") + names[i];
  return user_error(EINVAL, sentence);
}

Result<std::vector<FetchArgument>> VariableReader::array(const Value& value, const TypeFacts& facts,
                                                         const std::string& name,
                                                         const std::string& wanted) {
  std::optional<Dwarf_Die> element = element_of(facts);
  PB_ASSIGN(std::string text, text_of(value.where));
  if (value.where.kind != Where::Kind::kMemory)
    return user_error(EINVAL, "an array that is not in memory here; name an element of it");
  TypeFacts element_facts = facts_of(element);
  std::string type = wanted.empty() ? scalar_type(element_facts) : wanted;
  if (wanted == "s" || wanted == "u" || wanted == "x")
    type += std::to_string(element_facts.size * 8);
  uint64_t length = element_facts.size ? facts.size / element_facts.size : 0;
  for (size_t i = 0; i < value.dimension; i++) {
    uint64_t taken = lengths_of(facts)[i].value_or(0);
    length = taken ? length / taken : 0;
  }
  // A text need not end inside of its array. `unsigned char` are bytes, unless a text is wanted.
  const bool is_text = wanted.empty() ? element_facts.is_plain_char : wanted == "string";
  if (is_text && is_char(element)) {
    const std::string bound = length ? "/" + std::to_string(std::min(length, kMaxText)) : "";
    return std::vector<FetchArgument>{{name, text, "string" + bound, ""}};
  }
  if (type.empty() || length == 0)
    return user_error(EINVAL, "an array of " + type_name(element) + "; name an element of it");
  FetchArgument argument{name, text, type, ""};
  if (length > kMaxArray) argument.note = "the first 64 of " + std::to_string(length) + " elements";
  argument.type += "[" + std::to_string(std::min(length, kMaxArray)) + "]";
  return std::vector<FetchArgument>{argument};
}

Result<std::vector<FetchArgument>> VariableReader::arguments_of(const Value& value,
                                                                const std::string& name,
                                                                const std::string& type) {
  TypeFacts facts = facts_of(value.type);
  auto one = [](Result<FetchArgument> argument) -> Result<std::vector<FetchArgument>> {
    if (!argument.ok()) return argument.error();
    return std::vector<FetchArgument>{*argument};
  };
  if (value.where.kind == Where::Kind::kNowhere) return user_error(EINVAL, value.where.why);
  if (value.bit_size) return one(bitfield(value, name));
  if (facts.kind == TypeKind::kAggregate) return aggregate(value, facts, name);
  if (facts.kind == TypeKind::kArray) return array(value, facts, name, type);
  bool is_text = facts.kind == TypeKind::kPointer && is_char(element_of(facts));
  if ((is_text && type.empty()) || (facts.kind == TypeKind::kPointer && type == "string")) {
    PB_ASSIGN(std::string text, text_of(pointee_of(info_, point_, value.where)));
    return std::vector<FetchArgument>{{name, text, "string", ""}};
  }
  return one(scalar(value, facts, name, type));
}

}  // namespace patchbay
