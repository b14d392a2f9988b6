// SPDX-License-Identifier: MIT
#include "registry/printk.h"

#include "base/agreed.h"
#include "base/check.h"
#include "base/shared_memory.h"
#include "probe/records/printk_hot.h"
#include "registry/registry_impl.h"

namespace patchbay {

EventProgram* Printk::program(TraceArray& array) {
  if (array.printk) return array.printk;
  EventProgram made = {};
  made.rings = array.buffer->rings();
  made.id = kPrintId;
  made.stack = stacks_of(array);
  bool fresh = false;
  auto* on = agreed_shared<uint32_t>("printk", array.name, &fresh);
  if (fresh) *on = array.options[TraceOption::kTracePrintk];
  made.soft = on;
  made.has_soft = 1;
  core_.programs.push_back(std::make_unique<EventProgram>(made));
  array.printk = core_.programs.back().get();
  return array.printk;
}

Status Printk::start(TraceArray& array) {
  RingBuffer& tables = *core_.top.buffer;
  PB_TRY(tables.reserve_printk_table());
  PB_TRY(core_.start_recording(array));
  program(array);
  TraceArray& target = dest();
  PB_TRY(core_.start_recording(target));
  __atomic_store_n(&pb_printk_table, tables.printk_table(), __ATOMIC_RELEASE);
  __atomic_store_n(&pb_printk_dest, program(target), __ATOMIC_RELEASE);
  started_ = true;
  return {};
}

TraceArray& Printk::dest() {
  for (auto& [name, array] : core_.arrays)
    if (array->options[TraceOption::kTracePrintkDest]) return *array;
  PB_CHECK(core_.top.options[TraceOption::kTracePrintkDest]);
  return core_.top;
}

void Printk::set_on(TraceArray& array, bool on) {
  if (array.printk && !is_forked_child())
    __atomic_store_n(const_cast<uint32_t*>(array.printk->soft), on ? 1 : 0, __ATOMIC_RELEASE);
}

void Printk::set_stacks(TraceArray& array) {
  if (!array.printk) return;
  const uint8_t stacks = stacks_of(array);
  if (stacks) core_.objects.want_stacks();
  __atomic_store_n(&array.printk->stack, stacks, __ATOMIC_RELEASE);
}

void Printk::retire(TraceArray& array) {
  if (!array.printk) return;
  set_rings(array.printk, RingBuffer::dead_rings());
  array.buffer->quiesce();
}

}  // namespace patchbay
