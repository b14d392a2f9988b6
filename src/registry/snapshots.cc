// SPDX-License-Identifier: MIT
#include "registry/snapshots.h"

#include <cerrno>

#include "base/agreed.h"
#include "registry/registry_impl.h"

namespace patchbay {

namespace {

// An open `trace` does not hold the size of the spare buffer.
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

void Snapshots::free_unread() {
  std::erase_if(freed_, [](const auto& freed) { return freed.first->snapshot_readers == 0; });
}

// A snapshot is the parent's, not a forked child's.
Status Snapshots::allocate(TraceArray& array) {
  if (is_forked_child()) return {};
  if (!array.snapshot) PB_TRY(check_unread(array));
  return array.buffer->allocate_spare(&array.snapshot);
}

void Snapshots::take_cut(TraceArray& array) {
  if (is_forked_child() || !array.buffer->has_pending_cut()) return;
  Status status = user_error(ENOMEM, "The spare buffer was freed.");
  if (array.snapshot) {
    status = same_size(*array.buffer, *array.snapshot) ? Status() : snapshot_busy(array);
    if (status.ok()) status = array.buffer->take_cut(&array.snapshot);
  }
  if (status.ok()) return;
  array.buffer->forget_cuts();
  refuse(array);
}

void Snapshots::take_cuts() {
  for (TraceArray* array : core_.all_arrays()) take_cut(*array);
}

void Snapshots::refuse(TraceArray& array) {
  for (std::string_view text :
       {"*** SNAPSHOT NOT ALLOCATED ***\n", "*** stopping trace here!   ***\n"})
    (void)core_.markers.write(array, text, {});
  (void)core_.settings.set_tracing_on(array, false);
}

Status Snapshots::take(TraceArray& array) {
  if (is_forked_child()) return {};
  take_cut(array);
  return array.buffer->take_snapshot(&array.snapshot, {});
}

// The kernel's table: 1 into a file that is open is EBUSY only while the memory is still to be had.
Status Snapshots::write(TraceArray& array, std::optional<uint32_t> cpu, uint64_t value) {
  take_cut(array);
  free_unread();
  if (value <= 1 && !cpu && array.has_conditional_snapshot)
    return user_error(EBUSY, "A histogram's snapshot() has the snapshot of this instance.");
  if (value == 0) {
    if (cpu) return user_error(EINVAL, "The snapshot is freed for all CPUs at once.");
    if (!array.snapshot) return {};
    array.buffer->forget_cuts();
    array.snapshot->remove_file();
    freed_.emplace_back(&array, std::move(array.snapshot));
    free_unread();
    return {};
  }
  if (value == 1) {
    if (cpu) return user_error(EINVAL, "A snapshot is taken of all CPUs at once.");
    if (!array.snapshot || !same_size(*array.buffer, *array.snapshot)) PB_TRY(snapshot_busy(array));
    if (!array.buffer->expanded()) PB_TRY(check_unread(array));  // its size would change too
    return take(array);
  }
  if (array.snapshot) array.snapshot->clear(cpu);
  return {};
}

void Snapshots::forget(const TraceArray& array) {
  std::erase_if(freed_, [&](const auto& freed) { return freed.first == &array; });
}

}  // namespace patchbay
