// SPDX-License-Identifier: MIT
//
//   SymbolTable: objects, their functions   -->  Patcher::plan  -->  DynFtrace, if it can be traced
//                                                                    (one for each patch address)
//
// What costs time is done once for each object: planning its entries (a few microseconds each), and
// its returns (ten) only when some ops asks for them. What costs memory is kept once: a name that
// is not mangled is the module's own, the others stand in one arena. An object that comes back to
// where it was gets its old DynFtraces as they were: whoever patches them compares the bytes.
#include "tracer/function_table.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <unordered_map>

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

struct FunctionTable::Impl {
  Impl(SymbolTable& s, Patcher& p) : symbols(s), patcher(p) {}

  // The functions of one loaded object: functions[first, last).
  struct Range {
    Module* module;
    uint64_t start, end;  // as they were when it was loaded
    size_t first, last;
    bool complete;  // it did not go while it was planned
  };

  SymbolTable& symbols;
  Patcher& patcher;
  bool made = false;
  std::deque<DynFtrace> storage;
  NameArena names;
  std::vector<Range> ranges;  // in load order
  std::vector<DynFtrace*> functions;
  std::unordered_map<const Module*, std::vector<DynFtrace*>> gone;
  uint64_t seen_changes = 0;  // of the symbol table
  Module* main = nullptr;

  const Range* range_of(const Module* module) const;
  std::vector<DynFtrace*> take_back(const Module* module);
  std::vector<DynFtrace*> plan_module(Module* module, bool* complete);
  DynFtrace* make(Module* module, const FunctionSymbol& symbol, SitePlan plan);
  std::string_view name_of(const Module& module, const FunctionSymbol& symbol);
  void take_away(const Range& range, std::vector<DynFtrace*>* went);
};

FunctionTable::FunctionTable(SymbolTable& symbols, Patcher& patcher)
    : impl_(new Impl(symbols, patcher)) {}
FunctionTable::~FunctionTable() = default;

bool FunctionTable::is_made() const { return impl_->made; }
std::span<DynFtrace* const> FunctionTable::functions() const { return impl_->functions; }

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

// The functions of an object that was there before; empty: it was not.
std::vector<DynFtrace*> FunctionTable::Impl::take_back(const Module* module) {
  auto known = gone.find(module);
  if (known == gone.end()) return {};
  std::vector<DynFtrace*> functions = std::move(known->second);
  gone.erase(known);
  for (DynFtrace* function : functions) function->gone = false;
  return functions;
}

std::vector<DynFtrace*> FunctionTable::Impl::plan_module(Module* module, bool* complete) {
  std::vector<DynFtrace*> result;
  for (const FunctionSymbol& symbol : module->functions()) {
    // Sorted by address: an alias, or an entry whose endbr64 is another one's, comes behind.
    if (!result.empty() && begins_with(result.back()->place.plan, symbol.address)) continue;
    SitePlan plan = patcher.plan(*module, symbol);
    *complete &= !plan.not_mapped;
    if (plan.kind == SiteKind::kRefused) continue;
    result.push_back(make(module, symbol, std::move(plan)));
  }
  return result;
}

void FunctionTable::Impl::take_away(const Range& range, std::vector<DynFtrace*>* went) {
  for (size_t i = range.first; i < range.last; i++) {
    functions[i]->gone = true;
    went->push_back(functions[i]);
  }
  if (!range.complete || range.first == range.last) return;
  gone[range.module] = {functions.begin() + long(range.first),
                        functions.begin() + long(range.last)};
}

void FunctionTable::refresh(std::vector<DynFtrace*>* came, std::vector<DynFtrace*>* went) {
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
    bool complete = true;
    if (const Impl::Range* known = impl.range_of(module)) {
      complete = known->complete;
      functions.insert(functions.end(), impl.functions.begin() + long(known->first),
                       impl.functions.begin() + long(known->last));
    } else {
      std::vector<DynFtrace*> added = impl.take_back(module);
      if (added.empty()) {
        added = impl.plan_module(module, &complete);
        any_planned = true;
      }
      functions.insert(functions.end(), added.begin(), added.end());
      if (came) came->insert(came->end(), added.begin(), added.end());
    }
    ranges.push_back({module, module->start(), module->end(), first, functions.size(), complete});
  }
  impl.ranges = std::move(ranges);
  impl.functions = std::move(functions);
  for (size_t i = 0; i < impl.functions.size(); i++) impl.functions[i]->index = uint32_t(i);
  if (went) *went = std::move(taken);
  if (any_planned) impl.symbols.drop_caches();  // lists are not worth a large program's memory
}

DynFtrace* FunctionTable::find(uint64_t entry) const {
  for (const Impl::Range& range : impl_->ranges) {
    if (entry < range.start || entry >= range.end) continue;
    const auto first = impl_->functions.begin() + long(range.first);
    const auto last = impl_->functions.begin() + long(range.last);
    const auto found = std::lower_bound(first, last, entry, address_before);
    if (found != last && (*found)->place.plan.entry == entry) return *found;
  }
  return nullptr;
}

std::string_view FunctionTable::module_name(const DynFtrace& function) {
  return function.in_program ? std::string_view() : function.module->name();
}

const ProbePlace& FunctionTable::plan_return(DynFtrace* function) {
  if (function->return_place) return *function->return_place;
  function->return_place = std::make_unique<ProbePlace>();
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
