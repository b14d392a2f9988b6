// SPDX-License-Identifier: MIT
//
// A histogram as its definition says, resolved: what keys, values, variables and actions it has and
// which fields, variables and events they mean (docs/files.md, "Histograms"). The control side's
// model, as close to the kernel's (hist_field, hist_trigger_data, action_data) as hist_debug shows
// it. What a hit runs is compiled from it: hist/hist_program.h.
//
//   text of a trigger ── hist_parse, hist_build ──> HistData ── hist_compile ──> HistProgram
//   + HistTable      a hit: probe/triggers/hist_hot.cc      a read: hist/text/hist_text.cc
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "registry/live_event.h"
#include "registry/trace_array.h"

namespace patchbay {

struct HistProgram;
struct HistTable;
struct HistData;

inline constexpr uint32_t kMaxHistKeys = 3, kMaxHistValues = 3, kMaxHistSortKeys = 2;
inline constexpr uint32_t kMaxHistVariables = 16, kMaxHistActions = 8, kMaxHistParams = 64;
inline constexpr uint32_t kMinHistBits = 7, kMaxHistBits = 17, kDefaultHistBits = 11;
inline constexpr uint32_t kMaxHistText = 256;  // bytes of a text in a key or variable, with its NUL
inline constexpr uint32_t kMaxHistStackDepth = 31;  // frames of a stack in a key or variable

// What a value is, and how it is shown. The kernel's HIST_FIELD_FL_*.
enum HistFlags : uint32_t {
  kHistHitcount = 1 << 0,
  kHistKey = 1 << 1,
  kHistString = 1 << 2,  // a text
  kHistHex = 1 << 3,
  kHistSym = 1 << 4,
  kHistSymOffset = 1 << 5,
  kHistExecname = 1 << 6,
  kHistSyscall = 1 << 7,
  kHistStacktrace = 1 << 8,  // a stack: common_stacktrace, or a long[] field with .stacktrace
  kHistLog2 = 1 << 9,
  kHistTimestamp = 1 << 10,
  kHistTimestampUsecs = 1 << 11,
  kHistVar = 1 << 12,  // a variable that this histogram defines
  kHistExpr = 1 << 13,
  kHistVarRef = 1 << 14,  // the value of a variable, of this or another histogram
  kHistCpu = 1 << 15,
  kHistAlias = 1 << 16,
  kHistBucket = 1 << 17,
  kHistConst = 1 << 18,
  kHistPercent = 1 << 19,
  kHistGraph = 1 << 20,
  kHistQuantiles = 1 << 21,  // .quantiles: ours
  kHistCounters = 1 << 22,   // .counters: ours, too
  // What is counted by ranges (quantile_buckets.h).
  kHistRanges = kHistQuantiles | kHistCounters,
};

enum class HistOperator : uint8_t { kNone, kPlus, kMinus, kTimes, kDivide, kUnaryMinus };

// A key, a value, a variable, or a part of an expression.
struct HistField {
  uint32_t flags = 0;
  // Of the event's record, in HistData::event_fields; null: generic, constant, expression.
  const EventField* field = nullptr;
  std::string type;   // "u64", "char[16]", "pid_t": what a synthetic field is compared with
  uint32_t size = 0;  // bytes of the value, not rounded up in keys; of texts at most kMaxHistText
  bool is_signed = false;
  uint64_t constant = 0;  // of kHistConst
  uint64_t buckets = 0;   // of kHistBucket
  HistOperator op = HistOperator::kNone;
  std::unique_ptr<HistField> operands[2];
  std::string name;                // of an expression, a variable: as it is listed
  std::string system, event_name;  // of a reference: when it was written out
  // Of kHistVar: its index among this histogram's. Of kHistVarRef: whose variable, and which.
  HistData* var_data = nullptr;
  uint32_t var_index = 0;
  uint32_t ref_index = 0;   // of kHistVarRef: its place in HistData::var_refs
  bool read_once = false;   // of kHistVarRef in an expression: unset after use
  uint32_t key_offset = 0;  // of a key: in the compound key (hist_compile sets it)
};

enum class HistHandler : uint8_t { kMatch, kMax, kChange };
enum class HistActionKind : uint8_t { kTrace, kSave, kSnapshot };

// A variable made for an action: a field of this event that save() or a parameter keeps.
struct HistFieldVar {
  HistField* var = nullptr;  // in HistData::variables
  std::unique_ptr<HistField> value;
};

struct HistActionData {
  HistHandler handler = HistHandler::kMatch;
  HistActionKind kind = HistActionKind::kTrace;
  std::string text;                       // as listed: "onmax($wakeup_lat).save(next_comm)"
  std::string action_name;                // "save", "trace", "wakeup_latency"
  std::string synthetic_name;             // of kTrace: of the event
  std::vector<std::string> param_texts;   // as written
  std::string match_system, match_event;  // of onmatch(system.event)
  std::string track_text;                 // of onmax($x): "$x"
  HistField* track_ref = nullptr;         // the reference to the variable that is tracked
  HistField* track_var = nullptr;         // where the maximum, or the last value, is kept
  // Of kTrace.
  LiveEvent* synthetic = nullptr;   // references: counted while this histogram lives
  std::vector<HistField*> params;   // kHistVarRef each, in var_refs; one a field of it
  bool uses_trace_keyword = false;  // trace(NAME, …) and not NAME(…)
  // Of kSave.
  std::vector<HistFieldVar> saved;
  HitAction* snapshot = nullptr;  // of kSnapshot: what is asked of the control thread
};

struct HistSort {
  uint32_t field = 0;  // index: values first (0 is hitcount), then keys
  bool descending = false;
};

struct HistData {
  TraceArray* array = nullptr;
  LiveEvent* event = nullptr;
  std::string name;  // of a named histogram
  uint32_t map_bits = kDefaultHistBits;
  std::vector<std::unique_ptr<EventField>> event_fields;  // copies: the event may go first
  std::vector<std::unique_ptr<HistField>> values;         // [0] is hitcount
  std::vector<std::unique_ptr<HistField>> keys;
  std::vector<std::unique_ptr<HistField>> variables;  // kHistVar; operands[0] is the value of one
                                                      // that each hit sets; null: set by an action
  std::vector<std::unique_ptr<HistField>> var_refs;   // each reference once
  std::vector<HistFieldVar> field_vars;               // set before the actions run
  std::vector<std::unique_ptr<HistActionData>> actions;
  std::vector<HistSort> sorts;
  std::string sort_text;  // as listed; empty: hitcount
  bool no_hitcount = false;
  bool uses_timestamps = false;
  bool timestamps_in_usecs = false;  // all of them, if one is
  std::string clock;                 // that the instance is set to, with timestamps
  std::string filter_text;
  FilterProgramPtr filter;
  bool paused = false;
  bool is_auxiliary = false;  // made for an action of another, goes with it

  // Compiled; never freed once published. Named histograms share one table.
  HistProgram* program = nullptr;
  HistTable* table = nullptr;
  HistData* owner = nullptr;    // of a named one: the first, whose table it is
  uint32_t var_references = 0;  // references to variables of this histogram by others
};

}  // namespace patchbay
