// SPDX-License-Identifier: MIT
#include "registry/settings.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "base/agreed.h"
#include "registry/registry_impl.h"

namespace patchbay {

namespace {

constexpr uint64_t kMaxSubbufKb = abi::kMaxSubbufSize / 1024;
constexpr uint64_t kMaxSavedCmdlines = 32768;

bool has_option(const TraceArray& array, TraceOption option) {
  return array.is_top() || !kTraceOptions[size_t(option)].top_only;
}

}  // namespace

// --- recording

Status Settings::set_tracing_on(TraceArray& array, bool on) {
  if (is_forked_child()) return {};  // the parent has done it, for all
  // Memory is reserved when something is to be recorded, not here.
  array.buffer->switch_recording(on);
  if (!on) array.buffer->quiesce();
  return {};
}

Status Settings::set_paused(TraceArray& array, bool paused) {
  if (array.paused == paused) return {};
  array.paused = paused;
  if (is_forked_child()) return {};
  if (!paused) return array.buffer->expanded() ? array.buffer->enable() : Status();
  array.buffer->disable();
  array.buffer->quiesce();
  return {};
}

Status Settings::set_cpumask(TraceArray& array, const std::vector<bool>& cpus) {
  array.cpumask = cpus;
  array.cpumask.resize(core_.options.buffer.nr_cpus, false);
  array.buffer->set_cpus(array.cpumask);
  array.buffer->quiesce();
  return {};
}

Status Settings::set_clock(TraceArray& array, TraceClock clock) {
  core_.snapshots.take_cut(array);
  array.clock = clock;
  array.buffer->clear();
  if (array.snapshot) array.snapshot->clear();
  return {};
}

void Settings::clear(TraceArray& array, std::optional<uint32_t> cpu) {
  core_.snapshots.take_cut(array);
  array.buffer->clear(cpu);
}

// --- options

// One instance always is where trace_printk goes; the top one unless another asks for it.
Status Settings::move_printk_dest(TraceArray& array, bool on) {
  if (!on && array.is_top())
    return user_error(EINVAL, "trace_printk_dest is moved by setting it in another instance.");
  for (TraceArray* other : core_.all_arrays())
    other->options.set(TraceOption::kTracePrintkDest, false);
  (on ? array : core_.top).options.set(TraceOption::kTracePrintkDest, true);
  return core_.printk.started() ? core_.printk.start(core_.printk.dest()) : Status();
}

Status Settings::set_option(TraceArray& array, TraceOption option, bool on) {
  if (!has_option(array, option))
    return user_error(EINVAL, "Only the top instance has this option.");
  if (array.options[option] == on) return {};
  if (option == TraceOption::kTracePrintkDest) return move_printk_dest(array, on);
  array.options.set(option, on);
  Status status = apply_option(array, option, on);
  if (!status.ok()) array.options.set(option, !on);
  return status;
}

// What has to happen at once; everybody else asks array.options.
Status Settings::apply_option(TraceArray& array, TraceOption option, bool on) {
  if (option == TraceOption::kOverwrite) array.buffer->set_overwrite(on);
  if (option == TraceOption::kRecordCmd) core_.top.buffer->set_record_comms(on);
  if (option == TraceOption::kEventFork || option == TraceOption::kFunctionFork)
    core_.pid_lists.follow_forks(on);
  Status status;
  if (option == TraceOption::kStackTrace || option == TraceOption::kUserStackTrace) {
    status = core_.publish_enabled(array);
    core_.printk.set_stacks(array);
  }
  if (option == TraceOption::kTracePrintk) core_.printk.set_on(array, on);
  if (status.ok() && core_.tracer_hooks.option_set)
    status = core_.tracer_hooks.option_set(array, option);
  return status;
}

Status Settings::set_saved_cmdlines_size(uint64_t slots) {
  if (slots == 0 || slots > kMaxSavedCmdlines)
    return user_error(EINVAL, "saved_cmdlines_size is 1 to 32768.");
  saved_cmdlines_size_ = uint32_t(slots);
  return {};
}

// --- size

Status Settings::resize(TraceArray& array, std::optional<uint32_t> cpu, uint64_t kb) {
  if (kb == 0) return user_error(EINVAL, "A buffer has at least 1 KB.");
  PB_TRY(check_unread(array));
  if (kb > UINT64_MAX / 1024)
    return user_error(ENOMEM, "The size in KB is larger than any memory.");
  core_.snapshots.take_cut(array);
  const bool was_expanded = array.buffer->expanded();
  Status status = array.buffer->resize(cpu, kb * 1024);
  core_.point_to_rings(array);
  if (status.ok() && !was_expanded) status = array.buffer->expand();
  return status;
}

Status Settings::set_subbuf_size(TraceArray& array, uint64_t kb) {
  if (kb == 0 || kb > kMaxSubbufKb)
    return user_error(EINVAL, "A sub-buffer has 1 to " + std::to_string(kMaxSubbufKb) + " KB.");
  PB_TRY(check_unread(array));
  const uint32_t bytes = std::max(abi::kMinSubbufSize, uint32_t(std::bit_ceil(kb) * 1024));
  for (const auto& [event, file] : array.files)
    if (file.program && file.program->max_size > max_record(bytes))
      return user_error(EBUSY, event->call.name + " is enabled and its records are larger.");
  core_.snapshots.take_cut(array);
  PB_TRY(array.buffer->set_subbuf_size(bytes));
  core_.point_to_rings(array);
  if (is_forked_child()) return {};  // its snapshot is its parent's
  return array.snapshot ? array.snapshot->set_subbuf_size(bytes) : Status();
}

void Settings::free_buffer(TraceArray& array) {
  if (array.options[TraceOption::kDisableOnFree]) {
    [[maybe_unused]] Status off_never_fails = set_tracing_on(array, false);
  }
  // EBUSY while there is a reader is not reported, as in the kernel.
  [[maybe_unused]] Status ignored = resize(array, {}, 1);
}

}  // namespace patchbay
