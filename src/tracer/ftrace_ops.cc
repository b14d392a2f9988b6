// SPDX-License-Identifier: MIT
//
//   hashes ── wanted_functions ── against `functions`, what it has joined ─┬─ leaving
//                                                                          └─ joining
//     ProbeSites: leave, join, then one update() of these places alone: nothing else is touched
//
// The program of an ops (rings, threads, stack) is the registry's, as that of any event; it comes
// back here by update(), for all places that the ops has joined.
#include "tracer/ftrace_ops.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>
#include <unordered_map>

#include "base/release.h"

namespace patchbay {

namespace {

using Functions = std::vector<DynFtrace*>;
using Places = std::vector<const ProbePlace*>;

bool in_order(const DynFtrace* a, const DynFtrace* b) { return a->index < b->index; }

Functions difference(const Functions& from, const Functions& what) {
  Functions result;
  std::set_difference(from.begin(), from.end(), what.begin(), what.end(),
                      std::back_inserter(result), in_order);
  return result;
}

FtraceOps* ops_of(const LiveEvent* live) { return static_cast<FtraceOps*>(live->data); }

}  // namespace

struct FtraceOpsTable::Impl {
  Impl(Registry& r, ProbeSites& s, FunctionTable& t) : registry(r), sites(s), table(t) {}

  Registry& registry;
  ProbeSites& sites;
  FunctionTable& table;
  uint32_t last_id = 0;
  std::vector<FtraceOps*> registered;  // in order
  std::vector<FtraceOps*> followed;
  std::unordered_map<const TraceArray*, FtraceOps*> defaults;
  std::unordered_map<const TraceArray*, FtraceOps*> shared;  // whose filters are everyone's
  std::vector<ProbeSites::Refusal> refused;                  // of the last update()

  Status check_room(const FtraceOps& ops) const;
  void take_out_half_done(FtraceOps* ops);
  Functions wanted_functions(const FtraceOps& ops) const;
  Places places_of(const FtraceOps& ops, const Functions& functions) const;
  void join(FtraceOps* ops, const Functions& functions);
  void leave(FtraceOps* ops, const Functions& functions);
  void count(const Functions& joined, const Functions& left);
  void drop_refused(FtraceOps* ops);
  FtraceOps* owner_of_filters(const FtraceOps& ops) const;  // null, but where they are shared
  Status follow_hashes(FtraceOps* ops);
  // Exchanges them; on failure not.
  Status set_hashes_of_one(FtraceOps* ops, FtraceHash* filter, FtraceHash* notrace);
  void forget(FtraceOps* ops, const Functions& went);
  std::vector<FtraceOps*> all_followed() const;
  bool waits_for_modules() const;  // with `:mod:` lines
};

FtraceOpsTable::FtraceOpsTable(Registry& registry, Patcher&, ProbeSites& sites,
                               FunctionTable& table)
    : impl_(new Impl(registry, sites, table)) {}
FtraceOpsTable::~FtraceOpsTable() = default;

FunctionTable& FtraceOpsTable::table() { return impl_->table; }

// What is traced already counts again: a little too much is asked for, never too little.
Status FtraceOpsTable::Impl::check_room(const FtraceOps& ops) const {
  const bool is_all = ops.filter.empty() && !ops.none_if_empty;
  std::optional<size_t> named;
  if (!is_all) named = ops.filter.functions.size();
  return table.check_room(ops.live.call.name, named, ops.on_return);
}

// In the table's order. An ops at returns gets only functions whose return can be hooked.
Functions FtraceOpsTable::Impl::wanted_functions(const FtraceOps& ops) const {
  Functions result;
  const auto consider = [&](DynFtrace* function) {
    if (function->gone || ops.notrace.functions.contains(function)) return;
    if (ops.on_return && table.plan_return(function).plan.kind == SiteKind::kRefused) return;
    result.push_back(function);
  };
  if (ops.filter.empty() && !ops.none_if_empty) {
    result.reserve(table.functions().size());
    for (DynFtrace* function : table.functions()) consider(function);
  } else {
    for (DynFtrace* function : ops.filter.functions) consider(function);
    std::sort(result.begin(), result.end(), in_order);
  }
  if (ops.on_return) registry.symbols().drop_caches();
  return result;
}

Places FtraceOpsTable::Impl::places_of(const FtraceOps& ops, const Functions& functions) const {
  Places places;
  places.reserve(functions.size());
  for (DynFtrace* function : functions)
    places.push_back(ops.on_return ? function->return_place : &function->place);
  return places;
}

void FtraceOpsTable::Impl::join(FtraceOps* ops, const Functions& functions) {
  if (ops->joining) ops->joining(functions);
  const Places places = places_of(*ops, functions);
  sites.join(&ops->live, places);
  if (!ops->on_return) return;
  for (size_t i = 0; i < places.size(); i++)
    sites.mark(*places[i], functions[i]->graph, functions[i]->profile);
}

void FtraceOpsTable::Impl::leave(FtraceOps* ops, const Functions& functions) {
  sites.leave(&ops->live, places_of(*ops, functions));
}

void FtraceOpsTable::Impl::count(const Functions& joined, const Functions& left) {
  for (DynFtrace* function : joined) {
    function->users++;
    function->touched = true;
  }
  for (DynFtrace* function : left) drop_user(&function->users);
}

// They are tried again when the hashes change.
void FtraceOpsTable::Impl::drop_refused(FtraceOps* ops) {
  if (refused.empty()) return;
  std::vector<const ProbePlace*> places;
  for (const ProbeSites::Refusal& one : refused) places.push_back(one.place);
  std::sort(places.begin(), places.end());
  Functions out;
  std::erase_if(ops->functions, [&](DynFtrace* function) {
    const ProbePlace* place = ops->on_return ? function->return_place : &function->place;
    if (!std::binary_search(places.begin(), places.end(), place)) return false;
    out.push_back(function);
    return true;
  });
  leave(ops, out);
  count({}, out);
  refused.clear();
}

Status FtraceOpsTable::add(FtraceOps* ops) {
  if (ops->registered)
    return user_error(EBUSY, "The tracer " + ops->name + " is registered already.");
  refresh();
  Impl& impl = *impl_;
  ops->id = ++impl.last_id;
  ops->live.source = this;
  ops->live.data = ops;
  ops->live.is_tracer = true;
  ops->live.order = ops->id;
  ops->live.consumer = ops->array->is_top() ? ops->name : ops->array->name + ":" + ops->name;
  if (const FtraceOps* owner = impl.owner_of_filters(*ops)) {
    ops->filter = owner->filter;
    ops->notrace = owner->notrace;
  }
  PB_TRY(impl.check_room(*ops));
  impl.take_out_half_done(ops);
  ops->functions = impl.wanted_functions(*ops);
  ops->in_doubt = true;
  impl.join(ops, ops->functions);
  Status status = impl.registry.set_tracing(*ops->array, &ops->live, true);
  ops->in_doubt = false;
  if (!status.ok()) {
    impl.leave(ops, ops->functions);
    ops->functions.clear();
    return status;
  }
  impl.count(ops->functions, {});
  impl.drop_refused(ops);
  ops->registered = true;
  impl.registered.push_back(ops);
  if (!ops->hidden && !ops->of_program) impl.defaults[ops->array] = ops;
  return {};
}

// After a std::bad_alloc in add(): the next one to use it, or to take it away, has memory.
void FtraceOpsTable::Impl::take_out_half_done(FtraceOps* ops) {
  if (!ops->in_doubt) return;
  [[maybe_unused]] Status ignored = registry.set_tracing(*ops->array, &ops->live, false);
  refused.clear();
  leave(ops, ops->functions);
  ops->functions.clear();
  ops->in_doubt = false;
}

void FtraceOpsTable::remove(FtraceOps* ops) {
  Impl& impl = *impl_;
  if (!ops->registered) return impl.take_out_half_done(ops);
  // What cannot be restored, because its text is gone, records into no ring.
  [[maybe_unused]] Status ignored = impl.registry.set_tracing(*ops->array, &ops->live, false);
  impl.refused.clear();
  impl.leave(ops, ops->functions);
  impl.count({}, ops->functions);
  ops->functions.clear();
  ops->functions.shrink_to_fit();
  ops->registered = false;
  std::erase(impl.registered, ops);
  auto found = impl.defaults.find(ops->array);
  if (found == impl.defaults.end() || found->second != ops) return;
  const std::vector<FtraceOps*> rest = of(*ops->array);
  if (rest.empty())
    impl.defaults.erase(found);
  else
    found->second = rest.front();
}

FtraceOps* FtraceOpsTable::Impl::owner_of_filters(const FtraceOps& ops) const {
  auto found = shared.find(ops.array);
  return found == shared.end() || ops.hidden || ops.own_filter ? nullptr : found->second;
}

// What it traces becomes what its hashes say.
Status FtraceOpsTable::Impl::follow_hashes(FtraceOps* ops) {
  PB_TRY(check_room(*ops));
  Functions wanted = wanted_functions(*ops);
  const Functions joining = difference(wanted, ops->functions);
  const Functions leaving = difference(ops->functions, wanted);
  if (joining.empty() && leaving.empty()) return {};
  leave(ops, leaving);
  join(ops, joining);
  Places places = places_of(*ops, leaving);
  const Places joined = places_of(*ops, joining);
  places.insert(places.end(), joined.begin(), joined.end());
  refused.clear();
  const auto take_back = [&] {
    leave(ops, joining);
    join(ops, leaving);
  };
  try {
    Status status = sites.update(places, registry.single_threaded(), &refused);
    if (!status.ok()) return take_back(), status;
  } catch (const std::bad_alloc&) {
    take_back();
    throw;
  }
  count(joining, leaving);
  ops->functions = std::move(wanted);
  drop_refused(ops);
  return {};
}

Status FtraceOpsTable::Impl::set_hashes_of_one(FtraceOps* ops, FtraceHash* filter,
                                               FtraceHash* notrace) {
  std::swap(ops->filter, *filter);
  std::swap(ops->notrace, *notrace);
  if (!ops->registered) return {};
  Status status = follow_hashes(ops);
  if (status.ok()) return status;
  std::swap(ops->filter, *filter);
  std::swap(ops->notrace, *notrace);
  return status;
}

Status FtraceOpsTable::set_hashes(FtraceOps* ops, FtraceHash filter, FtraceHash notrace) {
  Impl& impl = *impl_;
  std::vector<FtraceOps*> all{ops};
  if (FtraceOps* owner = impl.owner_of_filters(*ops)) {
    all = of(*ops->array);
    std::erase_if(all, [](const FtraceOps* one) { return one->own_filter; });
    if (!owner->registered) all.push_back(owner);
  }
  std::vector<std::pair<FtraceHash, FtraceHash>> hashes(all.size(), {filter, notrace});
  for (size_t i = 0; i < all.size(); i++) {
    Status status = impl.set_hashes_of_one(all[i], &hashes[i].first, &hashes[i].second);
    if (status.ok()) continue;
    // hashes[] of those before hold what they had.
    while (i--) {
      [[maybe_unused]] Status ignored =
          impl.set_hashes_of_one(all[i], &hashes[i].first, &hashes[i].second);
    }
    return status;
  }
  return {};
}

void FtraceOpsTable::follow(FtraceOps* ops) { impl_->followed.push_back(ops); }
void FtraceOpsTable::unfollow(FtraceOps* ops) { std::erase(impl_->followed, ops); }

bool FtraceOpsTable::can_forget_all() {
  const std::vector<FtraceOps*> all = impl_->all_followed();
  const auto is_used = [](const FtraceOps* ops) {
    return ops->registered || ops->in_doubt ||
           (ops->of_program && !(ops->filter.empty() && ops->notrace.empty()));
  };
  return std::none_of(all.begin(), all.end(), is_used) && impl_->sites.forget_plans();
}

void FtraceOpsTable::forget_all() {
  for (FtraceOps* ops : impl_->all_followed()) ops->filter = ops->notrace = FtraceHash();
  release(&impl_->refused);
  impl_->table.forget_all();
}

bool FtraceOpsTable::any_registered() const { return !impl_->registered.empty(); }

bool FtraceOpsTable::wants_objects() const {
  return any_registered() ||
         std::any_of(impl_->followed.begin(), impl_->followed.end(), [](const FtraceOps* ops) {
           return !ops->filter.empty() || !ops->notrace.empty();
         });
}

std::vector<FtraceOps*> FtraceOpsTable::of(const TraceArray& array) const {
  std::vector<FtraceOps*> result = listed(array);
  std::erase_if(result, [](const FtraceOps* ops) { return ops->of_program; });
  return result;
}

std::vector<FtraceOps*> FtraceOpsTable::listed(const TraceArray& array) const {
  std::vector<FtraceOps*> result;
  for (FtraceOps* ops : impl_->registered)
    if (ops->array == &array && !ops->hidden) result.push_back(ops);
  return result;
}

FtraceOps* FtraceOpsTable::default_of(const TraceArray& array) const {
  auto shared = impl_->shared.find(&array);
  if (shared != impl_->shared.end()) return shared->second;
  auto found = impl_->defaults.find(&array);
  return found == impl_->defaults.end() ? nullptr : found->second;
}

void FtraceOpsTable::share_filters(FtraceOps* ops) { impl_->shared[ops->array] = ops; }
bool FtraceOpsTable::shares_filters(const TraceArray& array) const {
  return impl_->shared.contains(&array);
}
void FtraceOpsTable::forget(const TraceArray& array) {
  impl_->defaults.erase(&array);
  impl_->shared.erase(&array);
}

Status FtraceOpsTable::set_default(TraceArray& array, std::string_view name) {
  for (FtraceOps* ops : listed(array)) {
    if (ops->name != name) continue;
    impl_->defaults[&array] = ops;
    impl_->shared.erase(&array);
    return {};
  }
  return user_error(EINVAL, "No function tracer of the name " + std::string(name) +
                                " is registered: see function_tracers.");
}

std::vector<const FtraceOps*> FtraceOpsTable::users(const DynFtrace& function) const {
  std::vector<const FtraceOps*> result;
  if (!function.users) return result;
  for (const FtraceOps* ops : impl_->registered)
    if (std::binary_search(ops->functions.begin(), ops->functions.end(), &function, in_order))
      result.push_back(ops);
  return result;
}

// The text of these is gone.
void FtraceOpsTable::Impl::forget(FtraceOps* ops, const Functions& went) {
  ops->filter.forget(went);
  ops->notrace.forget(went);
  Functions gone;
  std::erase_if(ops->functions, [&](DynFtrace* function) {
    if (!std::binary_search(went.begin(), went.end(), function)) return false;
    gone.push_back(function);
    return true;
  });
  if (gone.empty()) return;
  sites.forget(places_of(*ops, gone), registry.single_threaded());
  leave(ops, gone);
  count({}, gone);
}

std::vector<FtraceOps*> FtraceOpsTable::Impl::all_followed() const {
  std::vector<FtraceOps*> all = registered;
  for (FtraceOps* ops : followed)
    if (!ops->registered) all.push_back(ops);
  return all;
}

bool FtraceOpsTable::Impl::waits_for_modules() const {
  const std::vector<FtraceOps*> all = all_followed();
  return std::any_of(all.begin(), all.end(), [](const FtraceOps* ops) {
    return !ops->filter.modules.empty() || !ops->notrace.modules.empty();
  });
}

void FtraceOpsTable::refresh() {
  Impl& impl = *impl_;
  Functions came, went;
  impl.table.refresh(&came, &went, impl.waits_for_modules());
  if (came.empty() && went.empty()) return;
  std::sort(went.begin(), went.end());
  for (FtraceOps* ops : impl.all_followed()) {
    if (!went.empty()) impl.forget(ops, went);
    apply_module_lines(impl.table, came, &ops->filter);
    apply_module_lines(impl.table, came, &ops->notrace);
    // Nobody waits for an answer; the next change of its hashes tries again.
    if (ops->registered) (void)impl.follow_hashes(ops);
  }
}

Status FtraceOpsTable::update(std::span<LiveEvent* const> changed) {
  Places places;
  for (const LiveEvent* live : changed) {
    const FtraceOps* ops = ops_of(live);
    const Places own = impl_->places_of(*ops, ops->functions);
    places.insert(places.end(), own.begin(), own.end());
  }
  impl_->refused.clear();
  return impl_->sites.update(places, impl_->registry.single_threaded(), &impl_->refused);
}

}  // namespace patchbay
