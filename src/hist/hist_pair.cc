// SPDX-License-Identifier: MIT
#include "hist/hist_pair.h"

#include "base/shared_memory.h"
#include "hist/hist_quick.h"

namespace patchbay {
namespace {

HistPairTable pair_table(HistTable* table) {
  return {table->slots, table->entries - table->entry_size, table->entry_size, table->slot_mask,
          table};
}

bool is_start(const HistProgram& program, const HistQuick& quick) {
  return quick.shape == HistQuickShape::kRemembers && quick.nr_variables == 1 &&
         quick.variables[0].value.kind == HistQuickKind::kTime && program.table->nr_values == 1;
}

bool is_end(const HistProgram& program, const HistQuick& quick) {
  return quick.shape == HistQuickShape::kMatches && quick.nr_variables == 1 &&
         quick.variables[0].value.kind == HistQuickKind::kTimeSince && quick.others[0].read_once &&
         quick.acts[0].nr_params == 1 && quick.acts[0].params[0].slot == kQuickOwn &&
         program.table->nr_values == 1;
}

HistPairWay* way_of_start(HistOp load) {
  if (load == HistOp::kU32) return hist_pair_start_u32;
  if (load == HistOp::kS32) return hist_pair_start_s32;
  return load == HistOp::k64 ? hist_pair_start_64 : nullptr;
}

HistPairWay* way_of_end(HistOp load) {
  if (load == HistOp::kU32) return hist_pair_end_u32;
  if (load == HistOp::kS32) return hist_pair_end_s32;
  return load == HistOp::k64 ? hist_pair_end_64 : nullptr;
}

void set_end(const HistQuick& quick, HistPairHalf* made) {
  made->other = pair_table(quick.others[0].table);
  made->other_at = quick.others[0].at;
  made->mask = quick.acts[0].params[0].mask;
  made->target = quick.acts[0].target;
}

}  // namespace

const HistPairHalf* make_hist_pair_half(const HistProgram& program, const HistProgram* published) {
  const HistQuick* quick = program.quick;
  if (!quick || !quick->is_word) return nullptr;
  const bool ends = is_end(program, *quick);
  if (!ends && !is_start(program, *quick)) return nullptr;
  const HistQuickNumber& key = quick->keys[0];
  HistPairWay* way = ends ? way_of_end(key.load) : way_of_start(key.load);
  if (!way) return nullptr;
  auto* made = make_shared_forever<HistPairHalf>();
  const HistTable& table = *program.table;
  made->way = way;
  made->hist = published;
  made->key_at = key.offset;
  made->own = pair_table(program.table);
  made->clock = program.clock;
  made->sums = table.sums;
  made->row_size = table.row_size;
  made->nr_cpus = table.nr_cpus;
  made->in_usecs = quick->variables[0].value.in_usecs;
  made->variable_at = quick->variables[0].at;
  if (ends) set_end(*quick, made);
  return made;
}

}  // namespace patchbay
