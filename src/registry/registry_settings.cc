// SPDX-License-Identifier: MIT
// The switches, sizes and the snapshot of an instance (docs/files.md, "Buffers", "Options").
#include <algorithm>
#include <bit>
#include <cerrno>

#include "base/agreed.h"
#include "registry/registry_impl.h"

namespace patchbay {

namespace {

constexpr uint64_t kMaxSubbufKb = abi::kMaxSubbufSize / 1024;
constexpr uint64_t kMaxSavedCmdlines = 32768;

Status busy(const TraceArray& array) {
  if (!array.trace_readers && !array.snapshot_readers) return {};
  return user_error(EBUSY, "`trace` or `snapshot` is open for reading.");
}

// Who reads the main buffer does not hold the size of the spare one.
Status snapshot_busy(const TraceArray& array) {
  if (!array.snapshot_readers) return {};
  return user_error(EBUSY, "`snapshot` is open for reading.");
}

// Otherwise taking a snapshot makes another spare buffer.
bool same_size(const RingBuffer& a, const RingBuffer& b) {
  if (a.rings()->subbuf_size != b.rings()->subbuf_size) return false;
  for (uint32_t cpu = 0; cpu < a.rings()->nr_cpus; cpu++)
    if (a.bytes_of(cpu) != b.bytes_of(cpu)) return false;
  return true;
}

}  // namespace

// --- recording

Status Registry::set_tracing_on(TraceArray& array, bool on) {
  if (is_forked_child()) return {};  // the parent has done it, for all
  // Memory is reserved when something is to be recorded, not here.
  array.buffer->switch_recording(on);
  if (!on) array.buffer->quiesce();
  return {};
}

Status Registry::set_paused(TraceArray& array, bool paused) {
  if (array.paused == paused) return {};
  array.paused = paused;
  if (is_forked_child()) return {};
  if (!paused) return array.buffer->expanded() ? array.buffer->enable() : Status();
  array.buffer->disable();
  array.buffer->quiesce();
  return {};
}

Status Registry::set_cpumask(TraceArray& array, const std::vector<bool>& cpus) {
  array.cpumask = cpus;
  array.cpumask.resize(impl_->options.buffer.nr_cpus, false);
  array.buffer->set_cpus(array.cpumask);
  array.buffer->quiesce();
  return {};
}

Status Registry::set_clock(TraceArray& array, TraceClock clock) {
  take_cut(array);
  array.clock = clock;
  array.buffer->clear();
  if (array.snapshot) array.snapshot->clear();
  return {};
}

void Registry::clear(TraceArray& array, std::optional<uint32_t> cpu) {
  take_cut(array);
  array.buffer->clear(cpu);
}

// --- options

bool Registry::Impl::has_option(const TraceArray& array, TraceOption option) const {
  return array.is_top() || !kTraceOptions[size_t(option)].top_only;
}

// One instance always is where trace_printk goes; the top one unless another asks for it.
Status Registry::Impl::move_printk_dest(TraceArray& array, bool on) {
  if (!on && array.is_top())
    return user_error(EINVAL, "trace_printk_dest is moved by setting it in another instance.");
  for (TraceArray* other : all_arrays()) other->options.set(TraceOption::kTracePrintkDest, false);
  (on ? array : top).options.set(TraceOption::kTracePrintkDest, true);
  return {};
}

Status Registry::set_option(TraceArray& array, TraceOption option, bool on) {
  if (!impl_->has_option(array, option))
    return user_error(EINVAL, "Only the top instance has this option.");
  if (array.options[option] == on) return {};
  if (option == TraceOption::kTracePrintkDest) {
    PB_TRY(impl_->move_printk_dest(array, on));
    return impl_->printk_started ? start_printk(printk_dest()) : Status();
  }
  array.options.set(option, on);
  if (option == TraceOption::kOverwrite) array.buffer->set_overwrite(on);
  if (option == TraceOption::kRecordCmd) top().buffer->set_record_comms(on);
  if (option == TraceOption::kEventFork || option == TraceOption::kFunctionFork)
    impl_->fork_followers.fetch_add(on ? 1 : uint32_t(-1), std::memory_order_relaxed);
  Status status;
  if (option == TraceOption::kStackTrace || option == TraceOption::kUserStackTrace) {
    status = impl_->publish_enabled(array);
    impl_->set_printk_stacks(array);
  }
  if (option == TraceOption::kTracePrintk && array.printk && !is_forked_child())
    __atomic_store_n(const_cast<uint32_t*>(array.printk->soft), on ? 1 : 0, __ATOMIC_RELEASE);
  if (status.ok() && impl_->tracer_hooks.option_set)
    status = impl_->tracer_hooks.option_set(array, option);
  if (!status.ok()) array.options.set(option, !on);
  return status;
}

void Registry::set_tracer_hooks(TracerHooks hooks) { impl_->tracer_hooks = std::move(hooks); }

uint64_t Registry::tracing_thresh() const { return impl_->tracing_thresh_us; }
void Registry::set_tracing_thresh(uint64_t us) { impl_->tracing_thresh_us = us; }

uint32_t Registry::saved_cmdlines_size() const { return impl_->saved_cmdlines_size; }

Status Registry::set_saved_cmdlines_size(uint64_t slots) {
  if (slots == 0 || slots > kMaxSavedCmdlines)
    return user_error(EINVAL, "saved_cmdlines_size is 1 to 32768.");
  impl_->saved_cmdlines_size = uint32_t(slots);
  return {};
}

// --- size

Status Registry::resize(TraceArray& array, std::optional<uint32_t> cpu, uint64_t kb) {
  if (kb == 0) return user_error(EINVAL, "A buffer has at least 1 KB.");
  PB_TRY(busy(array));
  if (kb > UINT64_MAX / 1024) return user_error(ENOMEM, "There is not so much memory.");
  take_cut(array);
  const bool was_expanded = array.buffer->expanded();
  Status status = array.buffer->resize(cpu, kb * 1024);
  impl_->point_to_rings(array);
  if (status.ok() && !was_expanded) status = array.buffer->expand();
  return status;
}

Status Registry::set_subbuf_size(TraceArray& array, uint64_t kb) {
  if (kb == 0 || kb > kMaxSubbufKb)
    return user_error(EINVAL, "A sub-buffer has 1 to " + std::to_string(kMaxSubbufKb) + " KB.");
  PB_TRY(busy(array));
  const uint32_t bytes = std::max(abi::kMinSubbufSize, uint32_t(std::bit_ceil(kb) * 1024));
  for (const auto& [event, file] : array.files)
    if (file.program && file.program->max_size > bytes - abi::kPageHeaderSize - 8)
      return user_error(EBUSY, event->call.name + " is enabled and its records are larger.");
  take_cut(array);
  PB_TRY(array.buffer->set_subbuf_size(bytes));
  impl_->point_to_rings(array);
  if (is_forked_child()) return {};  // its snapshot is its parent's
  return array.snapshot ? array.snapshot->set_subbuf_size(bytes) : Status();
}

void Registry::free_buffer(TraceArray& array) {
  if (array.options[TraceOption::kDisableOnFree]) {
    [[maybe_unused]] Status off_never_fails = set_tracing_on(array, false);
  }
  // A reader keeps the buffer as it is; nobody is told, as in the kernel.
  [[maybe_unused]] Status ignored = resize(array, {}, 1);
}

// --- snapshot

void Registry::Impl::free_old_snapshots() {
  std::erase_if(gone_snapshots, [](const auto& gone) { return gone.first->snapshot_readers == 0; });
}

// A snapshot is the parent's, not a forked child's.
Status Registry::allocate_snapshot(TraceArray& array) {
  if (is_forked_child()) return {};
  if (!array.snapshot) PB_TRY(busy(array));
  return array.buffer->allocate_spare(&array.snapshot);
}

void Registry::take_cut(TraceArray& array) {
  if (is_forked_child() || !array.buffer->has_pending_cut()) return;
  Status status = user_error(ENOMEM, "The spare buffer was freed.");
  if (array.snapshot) {
    status = same_size(*array.buffer, *array.snapshot) ? Status() : snapshot_busy(array);
    if (status.ok()) status = array.buffer->take_cut(&array.snapshot);
  }
  if (status.ok()) return;
  array.buffer->forget_cuts();
  refuse_snapshot(array);
}

void Registry::take_cuts() {
  for (TraceArray* array : impl_->all_arrays()) take_cut(*array);
}

void Registry::refuse_snapshot(TraceArray& array) {
  for (std::string_view text :
       {"*** SNAPSHOT NOT ALLOCATED ***\n", "*** stopping trace here!   ***\n"})
    (void)write_marker(array, text, {});
  (void)set_tracing_on(array, false);
}

Status Registry::take_snapshot(TraceArray& array) {
  if (is_forked_child()) return {};
  take_cut(array);
  return array.buffer->take_snapshot(&array.snapshot, {});
}

// The kernel's table: 1 into a file that is open is EBUSY only while the memory is still to be had.
Status Registry::write_snapshot(TraceArray& array, std::optional<uint32_t> cpu, uint64_t value) {
  take_cut(array);
  impl_->free_old_snapshots();
  if (value <= 1 && !cpu && array.has_conditional_snapshot)
    return user_error(EBUSY, "A histogram's snapshot() has the snapshot of this instance.");
  if (value == 0) {
    if (cpu) return user_error(EINVAL, "The snapshot is freed for all CPUs at once.");
    if (!array.snapshot) return {};
    array.buffer->forget_cuts();
    array.snapshot->remove_file();
    impl_->gone_snapshots.emplace_back(&array, std::move(array.snapshot));
    impl_->free_old_snapshots();
    return {};
  }
  if (value == 1) {
    if (cpu) return user_error(EINVAL, "A snapshot is taken of all CPUs at once.");
    if (!array.snapshot || !same_size(*array.buffer, *array.snapshot)) PB_TRY(snapshot_busy(array));
    if (!array.buffer->expanded()) PB_TRY(busy(array));  // its size would change too
    return take_snapshot(array);
  }
  if (array.snapshot) array.snapshot->clear(cpu);
  return {};
}

}  // namespace patchbay
