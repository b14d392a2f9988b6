// SPDX-License-Identifier: MIT
#include "debug_info/functions.h"

#include <dwarf.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "output/trace_line.h"
#include "symbol/demangled_name.h"
#include "symbol/structors.h"
#include "symbol/symbol.h"

namespace patchbay {
namespace {

constexpr size_t kMaxBytesForNames = 96 << 20;  // of .debug_info, read for near matches

// The name behind the last "::" that is outside of brackets.
std::string last_component(std::string_view name) {
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i + 1 < name.size(); i++) {
    if (name.substr(i).starts_with("operator")) break;
    depth += (name[i] == '<' || name[i] == '(') - (name[i] == '>' || name[i] == ')');
    if (depth == 0 && name[i] == ':' && name[i + 1] == ':') begin = i + 2;
  }
  return std::string(name.substr(begin));
}

bool ends_as(const std::string& whole, const std::string& end) {
  return whole == end || whole.ends_with("::" + end);
}

std::string scope_name(Dwarf_Die die) {
  std::string name = name_of(die);
  return name.empty() && ::dwarf_tag(&die) == DW_TAG_namespace ? "(anonymous namespace)" : name;
}

bool is_scope(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
         tag == DW_TAG_union_type || tag == DW_TAG_module;
}

bool has_code(Dwarf_Die die) { return entry_of(die).has_value(); }

std::string linkage_name(Dwarf_Die die) {
  std::string name = text_of(die, DW_AT_linkage_name);
  return name.empty() ? text_of(die, DW_AT_MIPS_linkage_name) : name;
}

// `.part.` is the rest of a function that was inlined in part. Its entry is not the function's.
bool is_remainder(const DebugInfo& info, uint64_t entry) {
  const ObjectSymbol* symbol = info.symbol_at(entry, true);
  return symbol && symbol->address == entry && symbol->name.find(".part.") != std::string::npos;
}

// NAME means its default version. The default one may be defined in another object.
void drop_old_versions(const DebugInfo& info, std::vector<FunctionInstance>* found) {
  const auto is_old = [&](const FunctionInstance& one) {
    const ObjectSymbol* symbol = one.is_inlined ? nullptr : info.symbol_at(one.entry, true);
    return symbol && symbol->address == one.entry && info.is_old_version(one.entry, symbol->name);
  };
  if (!std::all_of(found->begin(), found->end(), is_old)) std::erase_if(*found, is_old);
}

// One construction is one call.
void drop_ways_to_structors(const DebugInfo& info, std::vector<FunctionInstance>* found) {
  std::vector<StructorCode> functions;
  for (const FunctionInstance& one : *found) {
    const ObjectSymbol* symbol = one.is_inlined ? nullptr : info.symbol_at(one.entry, true);
    const bool is_it = symbol && symbol->address == one.entry;
    functions.push_back({is_it ? std::string_view(symbol->name) : "", one.entry,
                         is_it ? info.code(one.entry, symbol->size) : ""});
  }
  const std::vector<size_t> ways = ways_to_structors(functions, [&] { return info.plt(); });
  for (auto way = ways.rbegin(); way != ways.rend(); ++way)
    found->erase(found->begin() + long(*way));
}

}  // namespace

bool is_file(std::string_view path, std::string_view asked) {
  return path == asked || (path.ends_with(asked) && path.size() > asked.size() &&
                           path[path.size() - asked.size() - 1] == '/');
}

bool FunctionFinder::is_in_file(Dwarf_Die die) const {
  if (file_.empty()) return true;
  return is_file(declaration_file(die), file_);
}

bool FunctionFinder::matches(Dwarf_Die die, const std::string& qualified) const {
  if (asked_.starts_with("_Z")) return linkage_name(die) == asked_;
  std::string whole = squeeze(qualified);
  bool is_it = ends_as(whole, name_) || ends_as(squeeze(without_template_arguments(whole)), name_);
  std::string linkage = linkage_name(die);
  // The demangler spells template arguments otherwise than compilers do: long, long int.
  bool has_arguments = last_.size() < last_component(name_).size() || name_.find('<') != name_.npos;
  // With -g1 no namespace and no class stands around a function.
  const bool is_bare = whole.find("::") == whole.npos && name_.find("::") != name_.npos;
  if (!is_it && (has_arguments || is_bare)) {
    const std::string shown = demangle(linkage, false);
    is_it = ends_as(squeeze(shown), name_) || ends_as(without_blanks(shown), listed_);
  }
  if (!is_it || parameters_.empty()) return is_it;
  std::string text = demangle(linkage, true);
  return canonical_parameters(split_demangled(text).parameters) == parameters_;
}

void FunctionFinder::visit_function(Dwarf_Die die, const Scope& scope) {
  bool is_inlined = ::dwarf_tag(&die) == DW_TAG_inlined_subroutine;
  if (into_bodies_ && (is_inlined || has_code(die)))
    codes_.push_back({die, is_inlined ? scope.concrete : die});
  bool is_declaration = !is_inlined && !::dwarf_hasattr(&die, DW_AT_abstract_origin) &&
                        !::dwarf_hasattr(&die, DW_AT_specification);
  if (reads_heads_) return add_head(die, scope, is_declaration);
  if (!is_declaration && !is_inlined && !has_code(die) && bodies_.size() < kMaxChildren)
    bodies_.push_back(die);
  if (!is_declaration) return;
  std::string name = name_of(die);
  bool may_be = name.starts_with(last_) || name == last_;
  if (!may_be) return;
  std::string qualified = scope.name.empty() ? name : scope.name + "::" + name;
  if (matches(die, qualified)) declarations_.emplace(die.addr, qualified);
}

void FunctionFinder::add_head(Dwarf_Die die, const Scope& scope, bool is_declaration) {
  if (is_declaration) {
    std::string name = name_of(die);
    std::string qualified = scope.name.empty() ? name : scope.name + "::" + name;
    heads_->declarations.push_back({std::move(name), std::move(qualified), die});
  }
  const std::optional<uint64_t> entry = entry_of(die);
  if (!entry || !is_code(*entry)) return;
  heads_->codes.emplace_back(declaration_of(die).addr, die);
  heads_->entries.emplace(*entry, die);
}

void FunctionFinder::read_heads() {
  heads_ = std::make_unique<Heads>();
  reads_heads_ = true;
  into_bodies_ = false;
  for (const Dwarf_Die& unit : index_.all()) walk(unit, {});
  reads_heads_ = false;
  const auto by_name = [](const Head& a, const Head& b) { return a.name < b.name; };
  std::stable_sort(heads_->declarations.begin(), heads_->declarations.end(), by_name);
  const auto by_declaration = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(heads_->codes.begin(), heads_->codes.end(), by_declaration);
}

// Empty: there is none outside of other functions' bodies.
std::vector<FunctionInstance> FunctionFinder::find_in_heads() {
  if (!heads_) read_heads();
  const auto& all = heads_->declarations;
  auto head = std::lower_bound(all.begin(), all.end(), last_,
                               [](const Head& one, const auto& name) { return one.name < name; });
  for (; head != all.end() && head->name.starts_with(last_); ++head) {
    if (!matches(head->die, head->qualified)) continue;
    declarations_.emplace(head->die.addr, head->qualified);
    auto code = std::lower_bound(heads_->codes.begin(), heads_->codes.end(), head->die.addr,
                                 [](const auto& one, void* at) { return one.first < at; });
    for (; code != heads_->codes.end() && code->first == head->die.addr; ++code)
      codes_.push_back({code->second, code->second});
  }
  std::vector<FunctionInstance> found;
  collect(&found);
  if (!found.empty()) return found;
  for (const ObjectSymbol& symbol : info_.symbols()) {
    if (!symbol.is_function || symbol.name != asked_) continue;
    const auto at = heads_->entries.find(symbol.address);
    const bool is_known = !found.empty() && found.back().entry == symbol.address;
    if (at == heads_->entries.end() || is_known) continue;
    found.push_back({at->second, at->second, false, symbol.address, asked_});
  }
  return found;
}

void FunctionFinder::walk(Dwarf_Die die, const Scope& scope) {
  if (scope.depth > kMaxDepth) return;
  Dwarf_Die child;
  if (::dwarf_child(&die, &child) != 0) return;
  size_t count = 0;
  do {
    int tag = ::dwarf_tag(&child);
    bool is_function = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
    if (is_function) visit_function(child, scope);
    if (is_scope(tag)) {
      std::string name = scope_name(child);
      walk(child,
           {scope.name.empty() || name.empty() ? scope.name + name : scope.name + "::" + name,
            scope.concrete, scope.depth + 1});
    } else if (into_bodies_ && (is_function || tag == DW_TAG_lexical_block)) {
      Dwarf_Die concrete = tag == DW_TAG_subprogram ? child : scope.concrete;
      std::string name = tag == DW_TAG_subprogram ? name_of(child) : "";
      walk(child, {name.empty() ? scope.name : name, concrete, scope.depth + 1});
    }
  } while (++count < kMaxChildren && ::dwarf_siblingof(&child, &child) == 0);
}

void FunctionFinder::collect(std::vector<FunctionInstance>* found) const {
  for (const Code& code : codes_) {
    Dwarf_Die declaration = declaration_of(code.die);
    auto match = declarations_.find(declaration.addr);
    if (match == declarations_.end()) continue;
    std::optional<uint64_t> entry = entry_of(code.die);
    if (!entry || !is_code(*entry)) continue;
    bool is_there = is_in_file(code.die) || is_in_file(declaration);
    if (!is_there) continue;
    bool is_inlined = !same_entry(code.die, code.concrete);
    if (is_inlined && !code.concrete.addr) continue;
    found->push_back({code.die, code.concrete, is_inlined, *entry, match->second});
  }
  std::sort(found->begin(), found->end(), [](const auto& a, const auto& b) {
    return a.entry != b.entry ? a.entry < b.entry : a.is_inlined < b.is_inlined;
  });
  auto same = [](const auto& a, const auto& b) {
    return a.entry == b.entry && a.is_inlined == b.is_inlined;
  };
  found->erase(std::unique(found->begin(), found->end(), same), found->end());
}

// The name is a symbol's only: an alias (malloc of __libc_malloc), a clone, or a function in
// assembly. Several functions may have it.
void FunctionFinder::find_by_symbol(std::vector<FunctionInstance>* found) {
  for (const ObjectSymbol& symbol : info_.symbols()) {
    if (!symbol.is_function || symbol.name != asked_) continue;
    if (!found->empty() && found->back().entry == symbol.address) continue;
    for (Dwarf_Die unit : index_.all()) {
      if (!holds(unit, symbol.address)) continue;
      std::string asked = last_;
      std::optional<FunctionInstance> instance = innermost(unit, symbol.address);
      last_ = asked;
      if (!instance || instance->is_inlined || instance->entry != symbol.address) break;
      instance->name = asked_;
      found->push_back(*instance);
      break;
    }
  }
}

// A whole name is preferred to one that only ends with the text. Several different names are a
// mistake.
Status FunctionFinder::check_one_name(std::vector<FunctionInstance>* found) const {
  auto bare = [](const std::string& name) { return squeeze(without_template_arguments(name)); };
  auto is_whole = [&](const FunctionInstance& one) {
    return squeeze(one.name) == name_ || bare(one.name) == name_;
  };
  if (asked_.starts_with("_Z")) return {};
  if (std::any_of(found->begin(), found->end(), is_whole))
    std::erase_if(*found, [&](const FunctionInstance& one) { return !is_whole(one); });
  std::set<std::string> names;
  for (const FunctionInstance& one : *found) names.insert(bare(one.name));
  if (names.size() < 2) return {};
  std::string sentence =
      "'" + asked_ + "' can mean " + std::to_string(names.size()) + " functions:";
  size_t shown = 0;
  for (const std::string& name : names) {
    if (shown++ < 5) sentence += (shown == 1 ? " " : ", ") + name;
  }
  return user_error(EINVAL,
                    sentence + (names.size() > 5 ? ", ..." : "") + "; write the whole name.");
}

Error FunctionFinder::no_function() {
  std::string object;
  append_escaped(&object, info_.name());
  if (!declarations_.empty() && !file_.empty() && has_other_file_)
    return user_error(ENOENT, "The function '" + asked_ + "' of " + object +
                                  " does not stand in a file " + file_ + ".");
  if (!declarations_.empty()) {
    return user_error(ENOENT, "The function '" + asked_ + "' is declared in " + object +
                                  ", but has no code there: it is defined in another object, or "
                                  "the compiler has left it out.");
  }
  std::string sentence =
      "There is no function '" + asked_ + "' in the debug information of " + object;
  if (nr_answers_with_near_++ >= kMostAnswersWithNear) return user_error(ENOENT, sentence + ".");
  const std::vector<std::string>& all = names();
  std::vector<std::string_view> candidates;
  bool is_qualified = name_.find("::") != std::string::npos;
  for (const std::string& name : all) {
    size_t last = is_qualified ? std::string::npos : name.rfind("::");
    candidates.push_back(last == std::string::npos ? std::string_view(name)
                                                   : std::string_view(name).substr(last + 2));
  }
  std::vector<std::string> near = near_matches(name_, candidates);
  for (size_t i = 0; i < near.size(); i++) sentence += (i ? ", " : "; near: ") + near[i];
  if (const std::string& missing = info_.split_units().missing(); !missing.empty()) {
    sentence += ". A part of that is in .dwo files (-gsplit-dwarf), and ";
    append_escaped(&sentence, missing);
    return user_error(
        ENODATA, sentence + " is not there, or is of another build. (A .dwp file is not read.)");
  }
  return user_error(ENOENT, sentence + ".");
}

void FunctionFinder::ask(std::string_view name, std::string_view file) {
  asked_ = name;
  file_ = file;
  declarations_.clear();
  codes_.clear();
  bodies_.clear();
  std::string text = demangle(asked_, true);
  DemangledName parts = split_demangled(text);
  name_ = squeeze(parts.name.empty() ? text : parts.name);
  parameters_ = parts.parameters.empty() ? "" : canonical_parameters(parts.parameters);
  if (name_.starts_with("::")) name_.erase(0, 2);
  listed_ = without_blanks(parts.name.empty() ? text : parts.name);
  last_ = last_component(name_);
  // "operator_bool" may be operator bool, as lists show it.
  constexpr std::string_view kListed = "operator_";
  if (last_.starts_with(kListed)) last_.resize(kListed.size() - 1);
  if (!last_.starts_with("operator")) last_.resize(std::min(last_.find('<'), last_.size()));
}

Result<std::vector<FunctionInstance>> FunctionFinder::checked(
    std::vector<FunctionInstance> found) const {
  PB_TRY(check_one_name(&found));
  if (found.size() < 2) return found;
  std::erase_if(found, [&](const FunctionInstance& one) {
    return !one.is_inlined && is_remainder(info_, one.entry);
  });
  drop_old_versions(info_, &found);
  drop_ways_to_structors(info_, &found);
  return found;
}

// What stands behind "operator" is not known of a name in a list's form.
std::vector<Dwarf_Die> FunctionFinder::units_to_search() const {
  return last_ == "operator" ? index_.all() : index_.naming(last_);
}

Result<std::vector<FunctionInstance>> FunctionFinder::find(std::string_view name,
                                                           std::string_view file) {
  ask(name, file);
  if (expects_many_ && file_.empty()) {
    std::vector<FunctionInstance> found = find_in_heads();
    if (!found.empty()) return checked(std::move(found));
    declarations_.clear();
    codes_.clear();
  }
  std::set<void*> walked;
  std::vector<Dwarf_Die> units = units_to_search();
  // Most units only use the name for something else, or hold the bytes by chance. The heads of
  // functions tell. Functions inside of functions (lambdas) are looked for when there is no other.
  into_bodies_ = false;
  std::erase_if(units, [&](const Dwarf_Die& unit) {
    size_t before = declarations_.size();
    walk(unit, {});
    return declarations_.size() == before;
  });
  into_bodies_ = true;
  if (units.empty()) units = units_to_search();
  for (const Dwarf_Die& unit : units) {
    walked.insert(unit.addr);
    walk(unit, {});
  }
  std::unordered_set<uint64_t> offsets;
  for (const auto& [address, qualified] : declarations_) {
    Dwarf_Die die;
    if (::dwarf_die_addr_die(info_.dwarf(), address, &die)) offsets.insert(::dwarf_dieoffset(&die));
  }
  // With link time optimization the code is in another unit than the body, and the declaration, of
  // a method, is in a class.
  for (Dwarf_Die body : bodies_)
    if (declarations_.contains(declaration_of(body).addr)) offsets.insert(::dwarf_dieoffset(&body));
  for (const Dwarf_Die& unit : index_.referring(offsets)) {
    if (walked.insert(unit.addr).second) walk(unit, {});
  }
  std::vector<FunctionInstance> found;
  collect(&found);
  has_other_file_ = found.empty() && !file_.empty();
  if (found.empty() && file_.empty()) {
    auto declared = declarations_;
    find_by_symbol(&found);
    declarations_ = std::move(declared);
  }
  if (found.empty()) return no_function();
  return checked(std::move(found));
}

std::optional<FunctionInstance> FunctionFinder::innermost(Dwarf_Die unit, uint64_t pc) {
  codes_.clear();
  bodies_.clear();
  declarations_.clear();
  last_ = std::string(1, '\0');
  into_bodies_ = true;
  walk(unit, {});
  std::optional<FunctionInstance> best;
  for (const Code& code : codes_) {  // outer ones come first
    if (!holds(code.die, pc)) continue;
    if (code.concrete.addr && !is_code(entry_of(code.concrete).value_or(pc))) continue;
    bool is_inlined = !same_entry(code.die, code.concrete);
    best = FunctionInstance{code.die, code.concrete, is_inlined, entry_of(code.die).value_or(pc),
                            name_of(code.die)};
  }
  return best;
}

void FunctionFinder::walk_names(Dwarf_Die die, const std::string& scope, int depth,
                                std::vector<std::string>* names) {
  if (depth > kMaxDepth) return;
  for (Dwarf_Die child : children_of(die)) {
    int tag = ::dwarf_tag(&child);
    if (is_scope(tag)) {
      std::string name = scope_name(child);
      walk_names(child, scope.empty() ? name : scope + "::" + name, depth + 1, names);
    } else if (tag == DW_TAG_subprogram && (has_code(child) || number_of(child, DW_AT_inline))) {
      std::string linkage = linkage_name(child), name = name_of(child);
      if (linkage.starts_with("_Z"))
        name = demangle(linkage, false);
      else if (!scope.empty() && !name.empty())
        name = scope + "::" + name;
      if (!name.empty()) names->push_back(name);
    }
  }
}

const std::vector<std::string>& FunctionFinder::names() {
  std::vector<std::string>& names = names_;
  if (!names.empty()) return names;
  if (info_.section(".debug_info").size() <= kMaxBytesForNames) {
    for (const Dwarf_Die& unit : index_.all()) walk_names(unit, "", 0, &names);
  } else {
    for (const ObjectSymbol& symbol : info_.symbols())
      if (symbol.is_function) names.push_back(demangle(symbol.name, false));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace patchbay
