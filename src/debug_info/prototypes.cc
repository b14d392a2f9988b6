// SPDX-License-Identifier: MIT
#include "debug_info/prototypes.h"

#include <dwarf.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "debug_info/entry_parameters.h"
#include "symbol/held_files.h"

namespace patchbay {

namespace {

constexpr int kMaxRanges = 65536;

using Show = CallArgument::Show;

Show call_show_of(const TypeFacts& facts) {
  switch (facts.kind) {
    case TypeKind::kInteger:
    case TypeKind::kEnum:
      if (facts.size > 8) return Show::kAggregate;
      if (facts.is_bool) return Show::kBool;
      return facts.is_signed ? Show::kSigned : Show::kUnsigned;
    case TypeKind::kAggregate:
    case TypeKind::kArray:
      return Show::kAggregate;
    default:
      return Show::kHex;
  }
}

CallArgument argument_of(const PassedParameter& parameter, size_t number) {
  CallArgument argument;
  argument.name = ascii_name(parameter.name);
  if (argument.name.empty()) argument.name = "arg" + std::to_string(number);
  const TypeFacts facts = facts_of(parameter.type);
  if (parameter.fate != PassedParameter::Fate::kPassed || parameter.is_behind_pointer ||
      parameter.is_promoted) {
    argument.show = Show::kElsewhere;
    return argument;
  }
  if (parameter.registers.empty()) {
    // A class without members is passed nowhere. The same holds for a type of which nothing is
    // known.
    argument.show = parameter.is_known ? Show::kMore : Show::kElsewhere;
    return argument;
  }
  for (size_t i = 0; i < std::min<size_t>(parameter.registers.size(), 2); i++) {
    const PassedParameter::Register& one = parameter.registers[i];
    if (!one.is_vector) argument.word[i] = int8_t(one.index);
  }
  if (parameter.by_reference) return argument;
  argument.show = facts.kind == TypeKind::kFloat ? Show::kElsewhere : call_show_of(facts);
  argument.size = uint8_t(std::min<uint64_t>(facts.size ? facts.size : 8, 16));
  return argument;
}

bool is_result_word(const TypeFacts& facts) {
  const bool is_number = facts.kind == TypeKind::kInteger || facts.kind == TypeKind::kEnum;
  return (is_number && facts.size <= 8) || facts.kind == TypeKind::kPointer;
}

}  // namespace

Result<std::unique_ptr<FunctionPrototypes>> FunctionPrototypes::open(const std::string& path,
                                                                     const std::string& build_id) {
  PB_ASSIGN(auto info, DebugInfo::open(place_of_file(path, build_id)));
  if (!build_id.empty() && info->build_id() != build_id)
    return user_error(ENOENT, path + " is another file than the one that was loaded.");
  return std::unique_ptr<FunctionPrototypes>(new FunctionPrototypes(std::move(info)));
}

FunctionPrototypes::FunctionPrototypes(std::unique_ptr<DebugInfo> info)
    : info_(std::move(info)), index_(*info_), result_uses_(*info_, index_) {
  for (const Dwarf_Die& die : index_.all()) {
    units_.push_back({die});
    add_ranges(units_.size() - 1);
  }
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

void FunctionPrototypes::add_ranges(size_t unit) {
  Dwarf_Addr base = 0, begin = 0, end = 0;
  ptrdiff_t next = 0;
  for (int i = 0; i < kMaxRanges; i++) {
    next = ::dwarf_ranges(&units_[unit].die, next, &base, &begin, &end);
    if (next <= 0) return;
    if (begin < end) ranges_.push_back({begin, end, unit});
  }
}

// Functions stand in namespaces and classes, and those of local classes in functions.
void FunctionPrototypes::read_functions(Dwarf_Die scope, int depth) {
  if (depth > kMaxDepth) return;
  Dwarf_Die child;
  if (::dwarf_child(&scope, &child) != 0) return;
  size_t count = 0;
  do {
    const int tag = ::dwarf_tag(&child);
    if (tag == DW_TAG_subprogram) {
      if (std::optional<uint64_t> entry = entry_of(child)) functions_.try_emplace(*entry, child);
    }
    const bool is_scope = tag == DW_TAG_subprogram || tag == DW_TAG_namespace ||
                          tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
                          tag == DW_TAG_union_type || tag == DW_TAG_lexical_block;
    if (is_scope) read_functions(child, depth + 1);
  } while (++count < kMaxChildren && ::dwarf_siblingof(&child, &child) == 0);
}

std::optional<CallArguments> FunctionPrototypes::at(uint64_t address) {
  auto behind =
      std::upper_bound(ranges_.begin(), ranges_.end(), address,
                       [](uint64_t wanted, const Range& range) { return wanted < range.begin; });
  if (behind == ranges_.begin() || (behind - 1)->end <= address) return std::nullopt;
  Unit& unit = units_[(behind - 1)->unit];
  if (!unit.is_read) read_functions(unit.die, 0);
  unit.is_read = true;
  auto found = functions_.find(address);
  if (found == functions_.end()) return std::nullopt;
  CallArguments arguments;
  const bool has_result = is_result_word(facts_of(type_of(found->second))) &&
                          !result_uses_.is_lost(found->second, address);
  arguments.result = has_result ? ResultWord::kResult : ResultWord::kNone;
  for (const PassedParameter& parameter :
       entry_parameters(*info_, found->second, address).parameters) {
    arguments.push_back(argument_of(parameter, arguments.size() + 1));
    if (arguments.back().show == Show::kMore) break;
  }
  return arguments;
}

}  // namespace patchbay
