// SPDX-License-Identifier: MIT
//
//   SymbolTable: objects, their functions   -->  Patcher::plan  -->  DynFtrace, if it can be traced
//                                                                    (one for each patch address)
//
// What costs time is done once for each object: planning its entries (a few microseconds each), and
// its returns (ten) only when some ops asks for them. What costs memory is kept once: a name that
// is not mangled is the module's own, the others stand in one arena. An object that comes back to
// where it was gets its old DynFtraces as they were: the patcher compares the bytes.
//
// An object is `all` when each of its functions is known. Else only some names were asked for:
//
//   new object --+--> nothing known --look_up()--> some known --functions()--> all
//                +--> all: the list was asked for once, or :mod: lines wait, or an object of this
//                     path went of which some were known: they are looked for by name
//
// A function that becomes known later is put in between. The order of the others stays, so indices
// can be compared.
#include "tracer/function_table.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <set>
#include <unordered_map>

#include "base/memory_room.h"
#include "base/paged_list.h"
#include "symbol/function_count.h"

namespace patchbay {

namespace {

constexpr size_t kNameBlock = 32 * 1024;

bool address_before(const DynFtrace* function, uint64_t entry) {
  return function->place.plan.entry < entry;
}

// A stand-in's patch address is in another object.
bool begins_with(const SitePlan& plan, uint64_t address) {
  constexpr uint64_t kEndbr64 = 4;
  return address == plan.entry ||
         (plan.patch_address == plan.entry + kEndbr64 && address - plan.entry <= kEndbr64);
}

// Texts that are never given back.
class NameArena {
 public:
  std::string_view keep(std::string_view text) {
    if (text.size() > room_) {
      room_ = std::max(kNameBlock, text.size());
      blocks_.push_back(std::make_unique<char[]>(room_));
      next_ = blocks_.back().get();
    }
    std::memcpy(next_, text.data(), text.size());
    const std::string_view kept(next_, text.size());
    next_ += text.size();
    room_ -= text.size();
    return kept;
  }

 private:
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  size_t room_ = 0;
};

}  // namespace

constexpr uint32_t kMostLookups = 64;

struct FunctionTable::Impl {
  Impl(SymbolTable& s, Patcher& p) : symbols(s), patcher(p) {}

  // The known functions of one loaded object: functions[first, last).
  struct Range {
    Module* module;
    uint64_t start, end;  // as they were when it was loaded
    size_t first, last;
    bool complete;  // it did not go while it was planned
    bool all;       // none of its functions is unknown
  };
  struct Gone {
    std::vector<DynFtrace*> functions;
    bool all = false;
  };
  using Added = std::vector<std::vector<DynFtrace*>>;  // by range

  SymbolTable& symbols;
  Patcher& patcher;
  bool made = false;
  PagedList<DynFtrace> storage;
  PagedList<ProbePlace> return_places;
  NameArena names;
  std::vector<Range> ranges;  // in load order
  std::vector<DynFtrace*> functions;
  std::unordered_map<const Module*, Gone> gone;
  std::set<std::string, std::less<>> gone_paths;  // of objects that had known functions
  bool wants_all = false;
  uint32_t lookups = 0;       // by names, since the table was made
  uint64_t seen_changes = 0;  // of the symbol table
  Module* main = nullptr;

  const Range* range_of(const Module* module) const;
  std::span<DynFtrace* const> known_of(const Range& range) const;
  Gone take_back(const Module* module);
  std::vector<DynFtrace*> plan_module(Module* module, std::span<DynFtrace* const> known,
                                      bool* complete);
  DynFtrace* plan_symbol(Module* module, size_t index, bool* complete);
  void look_up(const Names& names, Range* range, std::vector<DynFtrace*>* added);
  void insert(Added added);
  uint64_t unknown() const;
  void check_room_to_plan(uint64_t functions) const;
  void complete();
  void number();
  DynFtrace* make(Module* module, const FunctionSymbol& symbol, SitePlan plan);
  std::string_view name_of(const Module& module, const FunctionSymbol& symbol);
  void take_away(const Range& range, std::vector<DynFtrace*>* went);
};

FunctionTable::FunctionTable(SymbolTable& symbols, Patcher& patcher)
    : impl_(new Impl(symbols, patcher)) {}
FunctionTable::~FunctionTable() = default;

bool FunctionTable::is_made() const { return impl_->made; }
std::span<DynFtrace* const> FunctionTable::known() const { return impl_->functions; }
std::span<DynFtrace* const> FunctionTable::functions() const {
  impl_->complete();
  return impl_->functions;
}

const FunctionTable::Impl::Range* FunctionTable::Impl::range_of(const Module* module) const {
  for (const Range& range : ranges)
    if (range.module == module && range.start == module->start()) return &range;
  return nullptr;
}

std::string_view FunctionTable::Impl::name_of(const Module& module, const FunctionSymbol& symbol) {
  const std::string shown = without_blanks(display_name(module, symbol));
  return shown == symbol.name ? symbol.name : names.keep(shown);
}

DynFtrace* FunctionTable::Impl::make(Module* module, const FunctionSymbol& symbol, SitePlan plan) {
  DynFtrace* function = &storage.emplace_back();
  function->place.plan = std::move(plan);
  function->place.stays = true;
  function->name = name_of(*module, symbol);
  function->module = module;
  function->in_program = module == main;
  return function;
}

// Of an object that was there before.
FunctionTable::Impl::Gone FunctionTable::Impl::take_back(const Module* module) {
  auto known = gone.find(module);
  if (known == gone.end()) return {};
  Gone back = std::move(known->second);
  gone.erase(known);
  for (DynFtrace* function : back.functions) function->gone = false;
  return back;
}

std::span<DynFtrace* const> FunctionTable::Impl::known_of(const Range& range) const {
  return std::span(functions).subspan(range.first, range.last - range.first);
}

DynFtrace* find_entry(std::span<DynFtrace* const> functions, uint64_t entry) {
  const auto found = std::lower_bound(functions.begin(), functions.end(), entry, address_before);
  return found != functions.end() && (*found)->place.plan.entry == entry ? *found : nullptr;
}

// Symbols are sorted by address: an alias, or an entry whose endbr64 is another one's, comes behind
// that one (begins_with()).
std::vector<DynFtrace*> FunctionTable::Impl::plan_module(Module* module,
                                                         std::span<DynFtrace* const> known,
                                                         bool* complete) {
  std::vector<DynFtrace*> result;
  for (const FunctionSymbol& symbol : module->functions()) {
    if (!result.empty() && begins_with(result.back()->place.plan, symbol.address)) continue;
    if (DynFtrace* function = find_entry(known, symbol.address)) {
      result.push_back(function);
      continue;
    }
    SitePlan plan = patcher.plan(*module, symbol);
    *complete &= !plan.not_mapped;
    if (plan.kind == SiteKind::kRefused) continue;
    result.push_back(make(module, symbol, std::move(plan)));
  }
  return result;
}

// As plan_module() would have it; null: it is not in the list.
DynFtrace* FunctionTable::Impl::plan_symbol(Module* module, size_t index, bool* complete) {
  constexpr uint64_t kEndbr64 = 4;
  const std::vector<FunctionSymbol>& all = module->functions();
  for (size_t i = index; i-- > 0 && all[i].address + kEndbr64 >= all[index].address;) {
    const SitePlan plan = patcher.plan(*module, all[i]);
    if (plan.kind != SiteKind::kRefused && begins_with(plan, all[index].address)) return nullptr;
  }
  SitePlan plan = patcher.plan(*module, all[index]);
  *complete &= !plan.not_mapped;
  if (plan.kind == SiteKind::kRefused) return nullptr;
  return make(module, all[index], std::move(plan));
}

// Whether a function that has no name of its own may fit: "libx.so@0x12ab".
bool may_be_nameless(std::string_view fragment, const Module& module) {
  return fragment.find_first_not_of("0123456789abcdefx") == fragment.npos ||
         module.name().find(fragment) != std::string::npos;
}

void FunctionTable::Impl::look_up(const Names& names, Range* range,
                                  std::vector<DynFtrace*>* added) {
  Module* module = range->module;
  const std::vector<FunctionSymbol>& all = module->functions();
  const bool nameless = may_be_nameless(names.fragment, *module);
  if (names.fragment.empty()) check_room_to_plan(count_own_functions(range->start, range->end));
  for (size_t i = 0; i < all.size(); i++) {
    const std::string_view symbol = all[i].name;
    if (symbol.empty() ? !nameless : symbol.find(names.fragment) == symbol.npos) continue;
    if (!names.name(without_blanks(display_name(*module, all[i])))) continue;
    if (find_entry(known_of(*range), all[i].address)) continue;
    DynFtrace* function = plan_symbol(module, i, &range->complete);
    if (function) added->push_back(function);
  }
}

void FunctionTable::look_up(const Names& names) const {
  // A list of many names is quicker in the whole table.
  if (++impl_->lookups > kMostLookups) impl_->complete();
  Impl::Added added(impl_->ranges.size());
  for (size_t i = 0; i < added.size(); i++) {
    Impl::Range& range = impl_->ranges[i];
    if (!range.all && names.module(*range.module, range.module == impl_->main))
      impl_->look_up(names, &range, &added[i]);
  }
  impl_->insert(std::move(added));
}

void FunctionTable::Impl::insert(Added added) {
  const auto is_nothing = [](const auto& of_range) { return of_range.empty(); };
  if (std::all_of(added.begin(), added.end(), is_nothing)) return;
  std::vector<DynFtrace*> merged;
  for (size_t i = 0; i < ranges.size(); i++) {
    const auto known = known_of(ranges[i]);
    const size_t first = merged.size();
    std::merge(known.begin(), known.end(), added[i].begin(), added[i].end(),
               std::back_inserter(merged), [](const DynFtrace* a, const DynFtrace* b) {
                 return a->place.plan.entry < b->place.plan.entry;
               });
    ranges[i].first = first;
    ranges[i].last = merged.size();
  }
  functions = std::move(merged);
  number();
}

void FunctionTable::Impl::number() {
  for (size_t i = 0; i < functions.size(); i++) functions[i]->index = uint32_t(i);
}

// About how many functions are not known yet.
uint64_t FunctionTable::Impl::unknown() const {
  uint64_t count = 0;
  for (const Range& range : ranges) {
    const uint64_t all = range.all ? 0 : count_own_functions(range.start, range.end);
    count += all - std::min<uint64_t>(all, range.last - range.first);
  }
  return count;
}

Status FunctionTable::check_room(std::string_view what, std::optional<size_t> traced,
                                 bool on_return) const {
  constexpr size_t kFew = 256;
  if (traced && *traced < kFew) return {};
  const std::optional<MemoryRoom> room = memory_room_of(0);
  if (!room) return {};
  const uint64_t planned = traced ? 0 : impl_->unknown();
  const uint64_t count = traced.value_or(impl_->functions.size() + planned);
  const uint64_t bytes =
      planned * kPlannedBytes + count * (on_return ? kTracedReturnBytes : kTracedBytes);
  return check_memory_room(room, bytes,
                           std::string(what) + " of about " + std::to_string(count) + " functions",
                           "Name fewer functions: -l, set_ftrace_filter.");
}

void FunctionTable::Impl::check_room_to_plan(uint64_t functions) const {
  if (!check_memory_room(memory_room_of(0), functions * kPlannedBytes, "", "").ok())
    throw std::bad_alloc();
}

void FunctionTable::Impl::complete() {
  wants_all = true;
  const auto is_all = [](const Range& range) { return range.all; };
  if (std::all_of(ranges.begin(), ranges.end(), is_all)) return;
  check_room_to_plan(unknown());
  std::vector<DynFtrace*> merged;
  for (Range& range : ranges) {
    const auto known = known_of(range);
    std::vector<DynFtrace*> planned(known.begin(), known.end());
    if (!range.all) planned = plan_module(range.module, known, &range.complete);
    range.all = true;
    range.first = merged.size();
    merged.insert(merged.end(), planned.begin(), planned.end());
    range.last = merged.size();
  }
  functions = std::move(merged);
  number();
  symbols.drop_caches();  // lists are not worth a large program's memory
}

void FunctionTable::forget_all() { impl_ = std::make_unique<Impl>(impl_->symbols, impl_->patcher); }

void FunctionTable::drop_caches() const { impl_->symbols.drop_caches(); }

void FunctionTable::Impl::take_away(const Range& range, std::vector<DynFtrace*>* went) {
  for (size_t i = range.first; i < range.last; i++) {
    functions[i]->gone = true;
    went->push_back(functions[i]);
  }
  if (range.first == range.last) return;
  gone_paths.insert(range.module->path());
  if (!range.complete) return;
  gone[range.module] = {
      {functions.begin() + long(range.first), functions.begin() + long(range.last)}, range.all};
}

void FunctionTable::refresh(std::vector<DynFtrace*>* came, std::vector<DynFtrace*>* went,
                            bool plan_new) {
  Impl& impl = *impl_;
  impl.symbols.refresh();
  const uint64_t changes = impl.symbols.changes();
  if (impl.made && changes && changes == impl.seen_changes) return;
  impl.seen_changes = changes;
  const std::vector<Module*> modules = impl.symbols.modules();
  const auto is_known = [&](Module* module) { return impl.range_of(module) != nullptr; };
  if (impl.made && modules.size() == impl.ranges.size() &&
      std::all_of(modules.begin(), modules.end(), is_known))
    return;
  impl.made = true;
  if (!modules.empty()) impl.main = modules.front();
  std::vector<DynFtrace*> taken;
  for (const Impl::Range& range : impl.ranges) {
    const auto same = std::find(modules.begin(), modules.end(), range.module);
    if (same == modules.end() || range.start != (*same)->start()) impl.take_away(range, &taken);
  }
  bool any_planned = false;
  std::vector<Impl::Range> ranges;
  std::vector<DynFtrace*> functions;
  for (Module* module : modules) {
    const size_t first = functions.size();
    bool complete = true, all = true;
    if (const Impl::Range* known = impl.range_of(module)) {
      complete = known->complete;
      all = known->all;
      functions.insert(functions.end(), impl.functions.begin() + long(known->first),
                       impl.functions.begin() + long(known->last));
    } else {
      auto [added, is_whole] = impl.take_back(module);
      const bool is_wanted = plan_new || impl.wants_all || impl.gone_paths.contains(module->path());
      all = is_whole || is_wanted;
      if (all && !is_whole) {
        added = impl.plan_module(module, added, &complete);
        any_planned = true;
      }
      functions.insert(functions.end(), added.begin(), added.end());
      if (came) came->insert(came->end(), added.begin(), added.end());
    }
    ranges.push_back(
        {module, module->start(), module->end(), first, functions.size(), complete, all});
  }
  impl.ranges = std::move(ranges);
  impl.functions = std::move(functions);
  impl.number();
  if (went) *went = std::move(taken);
  if (any_planned) impl.symbols.drop_caches();  // lists are not worth a large program's memory
}

DynFtrace* FunctionTable::find(uint64_t entry) const {
  for (size_t i = 0; i < impl_->ranges.size(); i++) {
    Impl::Range& range = impl_->ranges[i];
    if (entry < range.start || entry >= range.end) continue;
    if (DynFtrace* function = find_entry(impl_->known_of(range), entry)) return function;
    if (range.all) continue;
    const std::vector<FunctionSymbol>& all = range.module->functions();
    const auto found = std::lower_bound(
        all.begin(), all.end(), entry,
        [](const FunctionSymbol& one, uint64_t address) { return one.address < address; });
    if (found == all.end() || found->address != entry) continue;
    const auto at = size_t(found - all.begin());
    Impl::Added added(impl_->ranges.size());
    DynFtrace* function = impl_->plan_symbol(range.module, at, &range.complete);
    if (!function) continue;
    added[i].push_back(function);
    impl_->insert(std::move(added));
    return function;
  }
  return nullptr;
}

std::vector<DynFtrace*> FunctionTable::find_by_symbol(std::string_view name) const {
  std::vector<DynFtrace*> found;
  Result<std::vector<ResolvedFunction>> functions = impl_->symbols.resolve(name);
  if (!functions.ok()) return found;
  const bool has_file = name.find('@') != name.npos;
  for (const ResolvedFunction& function : *functions) {
    if (!has_file && function.display_name != name) continue;  // a clone, or in some namespace
    if (DynFtrace* known = find(function.symbol.address)) found.push_back(known);
  }
  return found;
}

std::string_view FunctionTable::module_name(const DynFtrace& function) {
  return function.in_program ? std::string_view() : function.module->name();
}

std::string FunctionTable::listed_name(const DynFtrace& function) {
  std::string name(function.name);
  const std::string_view module = module_name(function);
  if (!module.empty()) name.append(" [").append(module).append("]");
  return name;
}

const ProbePlace& FunctionTable::plan_return(DynFtrace* function) {
  if (function->return_place) return *function->return_place;
  function->return_place = &impl_->return_places.emplace_back();
  ProbePlace& place = *function->return_place;
  place.on_return = place.stays = true;
  place.plan = function->place.plan;
  const uint64_t entry = place.plan.entry;
  const auto& symbols = function->module->functions();
  const auto symbol = std::lower_bound(
      symbols.begin(), symbols.end(), entry,
      [](const FunctionSymbol& one, uint64_t address) { return one.address < address; });
  const char* refusal = "its object is not what it was";
  if (symbol != symbols.end() && symbol->address == entry)
    refusal = impl_->patcher.return_refusal(*function->module, *symbol);
  if (refusal) {
    place.plan.kind = SiteKind::kRefused;
    place.plan.reason = refusal;
  }
  return place;
}

}  // namespace patchbay
