// SPDX-License-Identifier: MIT
//
//   set_enabled(1)   a table of counts, all 0  -->  pb_profile_table
//                    ops "trace_profile" joins; each function gets an index
//   traced threads   profile_add: the function's counts on this CPU
//   set_enabled(0)   the ops goes; the counts stay to be read
//
// The table is a mapping whose pages take memory only once something is counted in them. It is
// shared with forked children, as the rings are. A thread may be late with an old table, so none is
// ever unmapped. An old table that is large enough is used again, under another session number
// (GraphCall.session).
#include "tracer/profiler.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "base/agreed.h"
#include "base/check.h"
#include "base/release.h"
#include "base/shared_memory.h"
#include "base/text.h"
#include "probe/returns/graph_hot.h"
#include "registry/settings.h"
#include "ring_buffer/tick_rate.h"

namespace patchbay {

namespace {

constexpr uint64_t kRoomForMore = 4096;  // functions of objects that come while it runs
constexpr std::string_view kTitle =
    "  Function                               Hit    Time            Avg             s^2\n"
    "  --------                               ---    ----            ---             ---\n";

// The kernel's trace_print_graph_duration(): microseconds, at most 7 digits.
std::string duration_text(uint64_t ns) {
  std::string text = std::to_string(ns / 1000);
  if (text.size() < 7) {
    std::string fraction = std::to_string(ns % 1000);
    fraction.insert(0, 3 - fraction.size(), '0');
    text += "." + fraction.substr(0, 7 - text.size());
  }
  const size_t width = text.size();
  text += " us ";
  if (width < 8) text.append(8 - width, ' ');
  return text;
}

struct Sums {
  uint64_t hits = 0, ticks = 0;
  long double square = 0;
};

// `locked`: of the table that is added to word by word. Else the sums that hits names are valid; a
// writer changes them when it has counted twice more.
Sums read_count(const ProfileCount& count, bool locked) {
  Sums sums;
  for (int i = 0; i < 100; i++) {
    const uint64_t hits = __atomic_load_n(&count.hits, __ATOMIC_ACQUIRE);
    const auto& from = count.sum[locked ? 0 : hits & 1];
    sums.hits = hits;
    sums.ticks = __atomic_load_n(&from.ticks, __ATOMIC_RELAXED);
    sums.square = static_cast<long double>(__atomic_load_n(&from.square_hi, __ATOMIC_RELAXED)) *
                      18446744073709551616.0L +
                  static_cast<long double>(__atomic_load_n(&from.square_lo, __ATOMIC_RELAXED));
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (locked || __atomic_load_n(&count.hits, __ATOMIC_RELAXED) == hits) break;
  }
  return sums;
}

Sums sum_of(const ProfileTable& table, size_t function, uint32_t first_cpu, uint32_t last_cpu) {
  Sums sums;
  for (uint32_t cpu = first_cpu; cpu <= last_cpu; cpu++) {
    const Sums one =
        read_count(table.counts[cpu * table.functions + function], cpu == table.nr_cpus);
    sums.hits += one.hits;
    sums.ticks += one.ticks;
    sums.square += one.square;
  }
  return sums;
}

// s^2 = (n * sum of squares - square of sum) / (n * (n - 1))
double variance(const Sums& sums) {
  if (sums.hits < 2) return 0;
  const auto n = static_cast<long double>(sums.hits);
  const auto ticks = static_cast<long double>(sums.ticks);
  return double(std::max(0.0L, (n * sums.square - ticks * ticks) / (n * (n - 1))));
}

// Indexes are given in this order. A forked child counts by those of its parent, or not at all.
bool agree_on_order(std::span<DynFtrace* const> joining) {
  const uint64_t key = note_key("profile order");
  uint64_t order = joining.size();
  for (const DynFtrace* function : joining)
    order = (order ^ function->place.plan.entry) * 0x100000001b3;
  if (is_forked_child()) return noted(key) == order;
  note(key, order);
  return true;
}

}  // namespace

struct Profiler::Impl {
  Impl(Registry& r, FtraceOpsTable& o) : registry(r), table(o) {}

  Registry& registry;
  FtraceOpsTable& table;
  FtraceOps ops;
  bool enabled = false;
  TickRate last_rate;  // while it is off: what is read then does not change any more
  std::vector<std::unique_ptr<ProfileTable>> tables;  // the last one is current
  std::vector<DynFtrace*> functions;                  // by index
  uint32_t sessions = 0;

  uint32_t nr_cpus() const { return registry.top().buffer->rings()->nr_cpus; }
  Status make_table(uint64_t nr_functions);
  void give_indexes(std::span<DynFtrace* const> joining);
  void describe();
};

Profiler::Profiler(Registry& registry, FtraceOpsTable& ops) : impl_(new Impl(registry, ops)) {
  impl_->describe();
  ops.follow(&impl_->ops);
}

Profiler::~Profiler() {
  impl_->table.unfollow(&impl_->ops);
  __atomic_store_n(&pb_profile_table, nullptr, __ATOMIC_RELEASE);
}

bool Profiler::enabled() const { return impl_->enabled; }

// At 0, for so many functions.
Status Profiler::Impl::make_table(uint64_t nr_functions) {
  const uint64_t rows = uint64_t{nr_cpus()} + 1, key = note_key("profile");
  ProfileCount* counts = nullptr;
  if (is_forked_child()) {
    // The parent's, as it has made it.
    const auto address = noted(key), size = noted(key), session = noted(key);
    if (!address || !size || !session) return sys_error("the profile of the parent", ENOMEM);
    counts = reinterpret_cast<ProfileCount*>(*address);
    nr_functions = *size;
    sessions = uint32_t(*session) - 1;
  } else if (!tables.empty() && tables.back()->functions >= nr_functions) {
    nr_functions = tables.back()->functions;
    counts = tables.back()->counts;
    // Shared memory that is given back reads as 0.
    const size_t size = rows * nr_functions * sizeof(ProfileCount);
    if (::madvise(counts, size, MADV_REMOVE) != 0)
      std::fill_n(counts, rows * nr_functions, ProfileCount{});
  } else {
    nr_functions += kRoomForMore;
    counts = static_cast<ProfileCount*>(shared_pages(rows * nr_functions * sizeof(ProfileCount)));
    if (!counts) return sys_error("map the profiler's counts", ENOMEM);
  }
  if (is_shared_with_running(counts))
    for (uint64_t value :
         {reinterpret_cast<uint64_t>(counts), nr_functions, uint64_t{sessions} + 1})
      note(key, value);
  tables.push_back(std::make_unique<ProfileTable>(
      ProfileTable{counts, nr_functions, nr_cpus(), ++sessions & 0xff}));
  return {};
}

// Those that find no room any more are not counted.
void Profiler::Impl::give_indexes(std::span<DynFtrace* const> joining) {
  if (!agree_on_order(joining)) return;
  for (DynFtrace* function : joining) {
    if (function->profile || functions.size() >= tables.back()->functions) continue;
    functions.push_back(function);
    function->profile = uint32_t(functions.size());
  }
}

void Profiler::Impl::describe() {
  ops.name = "trace_profile";
  ops.array = &registry.top();
  ops.on_return = true;
  ops.joining = [this](std::span<DynFtrace* const> joining) { give_indexes(joining); };
  ops.live.call.system = "ftrace";
  ops.live.call.name = "function_profile";
  ops.live.kind = ConsumerKind::kProfile;
}

Profiler::Functions Profiler::functions() const { return {impl_->ops.filter, impl_->ops.notrace}; }

Status Profiler::set_enabled(bool on, std::optional<Functions> functions) {
  Impl& impl = *impl_;
  if (on == impl.enabled) return {};
  if (!on) {
    impl.table.remove(&impl.ops);
    impl.enabled = false;
    impl.last_rate = tick_rate(*impl.registry.top().buffer);
    __atomic_store_n(&pb_profile_table, nullptr, __ATOMIC_RELEASE);
    return {};
  }
  impl.table.refresh();
  forget_rows();
  PB_TRY(impl.make_table(impl.table.table().functions().size()));
  if (functions) {
    impl.ops.filter = std::move(functions->filter);
    impl.ops.notrace = std::move(functions->notrace);
  }
  __atomic_store_n(&pb_profile_table, impl.tables.back().get(), __ATOMIC_RELEASE);
  PB_TRY(impl.table.add(&impl.ops));
  impl.enabled = true;
  return {};
}

void Profiler::forget_rows() {
  for (DynFtrace* function : impl_->functions) function->profile = 0;
  release(&impl_->functions);
}

std::vector<Profiler::Row> Profiler::rows(uint32_t cpu) const { return rows_of(cpu, cpu); }

std::vector<Profiler::Row> Profiler::rows_of(uint32_t first_cpu, uint32_t last_cpu) const {
  std::vector<Row> rows;
  if (impl_->tables.empty()) return rows;
  const ProfileTable& table = *impl_->tables.back();
  if (last_cpu > table.nr_cpus) return rows;
  const TickRate rate =
      impl_->enabled ? tick_rate(*impl_->registry.top().buffer) : impl_->last_rate;
  const uint64_t thresh_ns = impl_->registry.settings().tracing_thresh() * 1000;
  for (size_t i = 0; i < impl_->functions.size(); i++) {
    const DynFtrace* function = impl_->functions[i];
    const Sums sums = sum_of(table, i, first_cpu, last_cpu);
    if (!sums.hits || function->gone) continue;
    const auto ns = uint64_t(rate.to_ns(double(sums.ticks)));
    if (ns / sums.hits < thresh_ns) continue;
    const double us_per_tick = rate.ns_per_tick / 1000;
    rows.push_back({function, sums.hits, ns, variance(sums) * us_per_tick * us_per_tick});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.total_ns > b.total_ns; });
  return rows;
}

[[gnu::cold]] std::string Profiler::show(uint32_t cpu) const {
  std::string text(kTitle);
  for (const Row& row : rows(cpu)) {
    std::string name(row.function->name.substr(0, 30));
    name.append(30 - name.size(), ' ');
    std::string hits = std::to_string(row.hits);
    if (hits.size() < 10) hits.insert(0, 10 - hits.size(), ' ');
    text += "  " + name + "  " + hits + "    " + duration_text(row.total_ns) + "    " +
            duration_text(row.total_ns / row.hits) + "    " +
            duration_text(uint64_t(row.variance_us2 * 1000)) + "\n";
  }
  return text;
}

[[gnu::cold]] std::vector<ProfiledFunction> Profiler::all() const {
  std::vector<ProfiledFunction> functions;
  if (impl_->tables.empty()) return functions;
  for (const Row& row : rows_of(0, impl_->tables.back()->nr_cpus)) {
    const Module& module = *row.function->module;
    functions.push_back({row.hits, row.total_ns, row.function->place.plan.entry - module.bias(),
                         std::string(row.function->name), module.name()});
  }
  return functions;
}

[[gnu::cold]] std::string Profiler::show_all() const {
  std::string text;
  for (const ProfiledFunction& one : all())
    text += std::to_string(one.calls) + " " + std::to_string(one.time_ns) + " " + one.name + " " +
            one.place_text() + "\n";
  return text;
}

}  // namespace patchbay
