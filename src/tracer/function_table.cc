// SPDX-License-Identifier: MIT
//
//   SymbolTable: objects, their functions   -->  Patcher::plan  -->  DynFtrace, if it can be traced
//                                                                    (one for each patch address)
//
// What costs time is done once for each object: planning its entries (a few microseconds each), and
// its returns (ten) only when some ops asks for them. What costs memory is kept once: a name that
// is not mangled is the module's own, the others stand in one arena. An object that comes back to
// where it was gets its old DynFtraces.
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
  };

  SymbolTable& symbols;
  Patcher& patcher;
  bool made = false;
  std::deque<DynFtrace> storage;
  NameArena names;
  std::vector<Range> ranges;  // in load order
  std::vector<DynFtrace*> functions;
  std::unordered_map<uint64_t, DynFtrace*> gone;         // by entry
  std::vector<std::unique_ptr<ProbePlace>> old_returns;  // of functions that came back
  Module* main = nullptr;

  const Range* range_of(const Module* module) const;
  std::vector<DynFtrace*> plan_module(Module* module);
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
  auto old = gone.find(plan.entry);
  DynFtrace* function = old == gone.end() ? &storage.emplace_back() : old->second;
  if (old != gone.end()) gone.erase(old);
  function->place.plan = std::move(plan);
  function->place.stays = true;
  if (function->return_place) old_returns.push_back(std::move(function->return_place));
  function->name = name_of(*module, symbol);
  function->module = module;
  function->in_program = module == main;
  function->gone = false;
  return function;
}

std::vector<DynFtrace*> FunctionTable::Impl::plan_module(Module* module) {
  std::vector<DynFtrace*> result;
  for (const FunctionSymbol& symbol : module->functions()) {
    // Sorted by address: an alias, or an entry whose endbr64 is another one's, comes behind.
    if (!result.empty() && result.back()->place.plan.patch_address >= symbol.address) continue;
    SitePlan plan = patcher.plan(*module, symbol);
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
}

void FunctionTable::refresh(std::vector<DynFtrace*>* came, std::vector<DynFtrace*>* went) {
  Impl& impl = *impl_;
  impl.symbols.refresh();
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
  std::vector<Impl::Range> ranges;
  std::vector<DynFtrace*> functions;
  for (Module* module : modules) {
    const size_t first = functions.size();
    if (const Impl::Range* known = impl.range_of(module)) {
      functions.insert(functions.end(), impl.functions.begin() + long(known->first),
                       impl.functions.begin() + long(known->last));
    } else {
      const std::vector<DynFtrace*> added = impl.plan_module(module);
      functions.insert(functions.end(), added.begin(), added.end());
      if (came) came->insert(came->end(), added.begin(), added.end());
    }
    ranges.push_back({module, module->start(), module->end(), first, functions.size()});
  }
  impl.ranges = std::move(ranges);
  impl.functions = std::move(functions);
  for (size_t i = 0; i < impl.functions.size(); i++) impl.functions[i]->index = uint32_t(i);
  // From the next time on, when nobody stands on them any more.
  for (DynFtrace* function : taken) impl.gone[function->place.plan.entry] = function;
  if (went) *went = std::move(taken);
  impl.symbols.drop_caches();  // a large program's lists are not worth their memory
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
