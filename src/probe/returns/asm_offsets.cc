// SPDX-License-Identifier: MIT
// probe/returns/asm_offsets.h: slots of returns, function_graph, the profiler.
#include "abi/ftrace_records.h"
#include "hot/asm_offset.h"
#include "probe/returns/graph_hot.h"
#include "probe/returns/return_hook.h"
#include "probe/returns/return_trampolines.h"

namespace patchbay {

// Of a record with the event's first word.
constexpr size_t in_ring(size_t record) { return record + 4; }

[[gnu::used]] static void returns() {
  ASM_CONSTANT(RETURN_FRAME_SIZE, sizeof(ReturnFrame));
  ASM_CONSTANT(RETURN_SLOTS, kReturnSlots);
  ASM_CONSTANT(RETURN_CALL_SIZE, kReturnCallSize);
  ASM_CONSTANT(RETURN_TRAMPOLINES, kReturnTrampolines);
  ASM_CONSTANT(RETURN_LONG_TRAMPOLINES, kLongTrampolines);
  ASM_CONSTANT(QUICK_HASH_SHIFT, 32 - kQuickHashBits);
  ASM_CONSTANT(QUICK_NUMBER_BITS, kQuickNumberBits);
  ASM_CONSTANT(QUICK_HASH_FACTOR, int32_t(kQuickHashFactor));
  ASM_CONSTANT(RETURN_CODE_SIZE, kReturnCodeSize);
  ASM_CONSTANT(TAKE_CODE_SIZE, kTakeCodeSize);
  ASM_SHIFT(RETURN_CODE_SHIFT, kReturnCodeUnit);
  ASM_SHIFT(TRAMPOLINE_SHIFT, kReturnTrampolineSize);
  ASM_OFFSET(RETURN_THREAD_AT, ReturnThread, at);
  ASM_OFFSET(RETURN_THREAD_SPARE, ReturnThread, spare);
  static_assert(offsetof(ReturnThread, none) == offsetof(ReturnThread, spare) - 2);

  ASM_SHIFT(SLOT_SHIFT, sizeof(ReturnSlot));
  ASM_OFFSET(SLOT_STATE, ReturnSlot, state);
  static_assert(offsetof(ReturnSlot, state) == 0);
  ASM_CONSTANT(SLOT_OWNED, kSlotOwned);
  ASM_CONSTANT(SLOT_SPARE_TAG, kSlotSpare);
  static_assert(kSlotSpare == kSlotOwned && sizeof ReturnThread{}.spare[0] == 2);  // as the code is
  static_assert(kSlotGenerationShift == 48);
  ASM_OFFSET(SLOT_RETURN_ADDRESS, ReturnSlot, return_address);
  ASM_OFFSET(SLOT_PROGRAM, ReturnSlot, program);
  ASM_OFFSET(SLOT_SITE, ReturnSlot, site);
  ASM_OFFSET(SLOT_WANTED, ReturnSlot, wanted);
  ASM_OFFSET(SLOT_TRAMPOLINE, ReturnSlot, trampoline);
  ASM_OFFSET(SLOT_ARG, ReturnSlot, arg);
  ASM_OFFSET(SLOT_CHAIN_LENGTH, ReturnSlot, chain_length);
  ASM_OFFSET(SLOT_HOME, ReturnSlot, home);
  ASM_OFFSET(SLOT_NUMBER, ReturnSlot, number);
  ASM_OFFSET(SLOT_TOKEN, ReturnSlot, number);
  ASM_OFFSET(SLOT_GENERATION, ReturnSlot, generation);
  ASM_OFFSET(SLOT_CALL_TIME, ReturnSlot, graph.call_time);
  ASM_OFFSET(SLOT_CHILD_TIME, ReturnSlot, graph.child_time);
  ASM_OFFSET(SLOT_PARENT, ReturnSlot, graph.parent);
  ASM_OFFSET(SLOT_DEPTH, ReturnSlot, graph.depth);
  ASM_OFFSET(SLOT_GRAPH_FLAGS, ReturnSlot, graph.flags);
  ASM_OFFSET(SLOT_SESSION, ReturnSlot, graph.session);
  constexpr size_t depth = offsetof(GraphCall, depth);  // one word from there on, or from parent
  static_assert(offsetof(GraphCall, parent) == depth - 4 && (depth - 4) % 8 == 0);
  static_assert(offsetof(GraphCall, flags) == depth + 2 && depth % 4 == 0);
  static_assert(offsetof(GraphCall, session) == depth + 3);
}

[[gnu::used]] static void graphs() {
  ASM_OFFSET(GRAPH_THRESH, GraphSettings, thresh_ticks);
  ASM_OFFSET(GRAPH_MAX_DEPTH, GraphSettings, max_depth);
  ASM_OFFSET(GRAPH_UNUSUAL, GraphSettings, has_roots);
  constexpr size_t first = offsetof(GraphSettings, has_roots);
  static_assert(offsetof(GraphSettings, nothing) == first + 6 && first % 8 == 0);
  ASM_OFFSET(GRAPH_WITHOUT_CHILDREN, GraphSettings, without_children);
  ASM_OFFSET(GRAPH_MONOTONIC, GraphSettings, monotonic);
  ASM_OFFSET(GRAPH_CURRENT, ReturnThread, graph.current);
  ASM_OFFSET(GRAPH_LEFT, ReturnThread, graph.left);
  ASM_OFFSET(GRAPH_LOST, ReturnThread, graph.lost);
  ASM_CONSTANT(GRAPH_INSIDE, kGraphInside);
  ASM_CONSTANT(GRAPH_NOTRACED, kGraphNotraced);
  ASM_SHIFT(GRAPH_COUNTS_BIT, kGraphCounts);
  ASM_CONSTANT(GRAPH_ENTERED, kGraphFollowed | kGraphCounts | kGraphEntered);
  ASM_CONSTANT(GRAPH_PROFILED, kGraphFollowed | kGraphProfiled);
  ASM_CONSTANT(GRAPH_QUICK, kGraphQuick);
  ASM_CONSTANT(GRAPH_ROOT, kGraphRoot);
  constexpr int flags_shift = 16;
  ASM_CONSTANT(GRAPH_FLAGS_SHIFT, flags_shift);
  static_assert(uint32_t{kGraphRoot} == uint32_t{kGraphInside} << flags_shift);
  ASM_CONSTANT(GRAPH_FAR_BYTES, kGraphFarBytes);
  ASM_CONSTANT(FUNCTION_RECORD, in_ring(sizeof(abi::FunctionRecord)));
  static_assert(sizeof(abi::FunctionRecord) == sizeof(abi::GraphEntryRecord));
  ASM_CONSTANT(FUNCTION_ID, abi::kFunctionId);
  ASM_CONSTANT(GRAPH_ENTRY_ID, abi::kGraphEntryId);
  ASM_CONSTANT(GRAPH_EXIT_ID, abi::kGraphExitId);
  ASM_CONSTANT(GRAPH_EXIT_RECORD, in_ring(sizeof(abi::GraphExitRecord)));

  static_assert(offsetof(ProfileTable, counts) == 0 && offsetof(ProfileCount, hits) == 0);
  ASM_OFFSET(PROFILE_COUNTS, ProfileTable, counts);
  ASM_OFFSET(PROFILE_FUNCTIONS, ProfileTable, functions);
  ASM_OFFSET(PROFILE_NR_CPUS, ProfileTable, nr_cpus);
  ASM_OFFSET(PROFILE_SESSION, ProfileTable, session);
  ASM_SHIFT(PROFILE_COUNT_SHIFT, sizeof(ProfileCount));
  ASM_OFFSET(PROFILE_SUMS, ProfileCount, sum);
  ASM_CONSTANT(PROFILE_SUM_SIZE, sizeof ProfileCount{}.sum[0]);
}

}  // namespace patchbay
