// SPDX-License-Identifier: MIT
//
// The grammar of `hist:` (docs/files.md), checked in the kernel's order, so that of several
// faults the same one is reported. Nothing here knows fields or variables: hist_build.h.
//
//   "keys=a,b:vals=c:x=a+1:onmax($x).save(c) if a > 1"
//     parse_hist ──> HistDefinition   parts by name, texts as written
//     parse_hist_action               "onmax($x).save(c)" -> HistActionData, nothing resolved
//     parse_hist_variables            "x=a+1,y=b" -> names and expressions
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hist/definition/hist_data.h"
#include "registry/trace_array.h"

namespace patchbay {

// The texts of the kernel (ERRORS in kernel/trace/trace_events_hist.c); kNoNumber is ours.
namespace hist_errors {
inline constexpr char kDuplicateVariable[] = "Variable already defined";
inline constexpr char kNotUnique[] =
    "Variable name not unique, need to use fully qualified name (subsys.event.var) for variable";
inline constexpr char kTooManyVariables[] = "Too many variables defined";
inline constexpr char kMalformedAssignment[] = "Malformed assignment";
inline constexpr char kNamedMismatch[] =
    "Named hist trigger doesn't match existing named trigger (includes variables)";
inline constexpr char kExists[] = "Hist trigger already exists";
inline constexpr char kNothingToClear[] = "Can't clear or continue a nonexistent hist trigger";
inline constexpr char kBadClock[] = "Couldn't set trace_clock";
inline constexpr char kNoNumber[] = "Field is neither a number nor a text";
inline constexpr char kBadModifier[] = "Invalid field modifier";
inline constexpr char kTooManySubexpressions[] = "Too many subexpressions (3 max)";
inline constexpr char kTimestampMismatch[] = "Timestamp units in expression don't match";
inline constexpr char kTooManyFieldVariables[] = "Too many field variables defined";
inline constexpr char kNoEventFile[] = "Event file not found";
inline constexpr char kNoMatchingHist[] = "Matching event histogram not found";
inline constexpr char kHistNotCreated[] = "Couldn't create histogram for field";
inline constexpr char kNoSyntheticVariable[] = "Couldn't find synthetic variable";
inline constexpr char kNoSyntheticEvent[] = "Couldn't find synthetic event";
inline constexpr char kParamType[] = "Param type doesn't match synthetic event field type";
inline constexpr char kParamCount[] = "Param count doesn't match synthetic event field count";
inline constexpr char kFieldVariableParse[] = "Couldn't parse field variable";
inline constexpr char kVariableNotMade[] = "Couldn't create or find variable";
inline constexpr char kTrackNoVariable[] = "For onmax(x) or onchange(x), x must be a variable";
inline constexpr char kTrackNotFound[] = "Couldn't find onmax or onchange variable";
inline constexpr char kTrackNotMade[] = "Couldn't create onmax or onchange variable";
inline constexpr char kFieldVariableNotMade[] = "Couldn't create field variable";
inline constexpr char kTooManyParams[] = "Too many action params";
inline constexpr char kNoParam[] = "Couldn't find param";
inline constexpr char kInvalidParam[] = "Invalid action param";
inline constexpr char kNoAction[] = "No action found";
inline constexpr char kSecondSave[] = "Can't have more than one save() action per hist";
inline constexpr char kActionMismatch[] = "Handler doesn't support action";
inline constexpr char kNoClosingParen[] = "No closing paren found";
inline constexpr char kMissingSubsystem[] = "Missing subsystem";
inline constexpr char kInvalidEvent[] = "Invalid subsystem or event name";
inline constexpr char kReferenceInKey[] = "Using variable references in keys not supported";
inline constexpr char kNoVariable[] = "Couldn't find variable";
inline constexpr char kNoField[] = "Couldn't find field";
inline constexpr char kEmptyAssignment[] = "Empty assignment";
inline constexpr char kBadSortModifier[] = "Invalid sort modifier";
inline constexpr char kEmptySortField[] = "Empty sort field";
inline constexpr char kTooManySortFields[] = "Too many sort fields (Max = 2)";
inline constexpr char kInvalidSortField[] = "Sort field must be a key or a val";
inline constexpr char kTextOperand[] = "String type can not be an operand in expression";
inline constexpr char kExpectNumber[] = "Expecting numeric literal";
inline constexpr char kUnaryMinus[] = "Unary minus not supported in sub-expressions";
inline constexpr char kDivisionByZero[] = "Division by zero";
inline constexpr char kOnlyHitcount[] = "Non-hitcount value is required for 'nohitcount'";
// Ours: the kernel has no such fields.
inline constexpr char kReal[] = "Field is a floating-point number, which no histogram takes";
inline constexpr char kNotEverywhere[] =
    "Not every place of this USDT probe has the argument: no histogram takes it";

}  // namespace hist_errors

// The entries that one command leaves in error_log: one failure may leave several.
class HistErrors {
 public:
  // `command` as the kernel shows it: "hist:" and what follows it.
  HistErrors(ErrorLog* log, std::string_view system, std::string_view event, std::string command);

  // The caret stands where `word` is first found in the command, whichever of its places is meant;
  // at its begin when it is not there (kernel).
  void add(const char* text, std::string_view word);
  void add(const char* text) { add(text, {}); }
  // For the user: the newest entry as a sentence with a caret; without one `plain`.
  Error refusal(int errno_value, std::string_view plain) const;

 private:
  ErrorLog* log_;
  std::string location_, command_;
  std::string sentence_;
};

struct HistDefinition {
  std::string keys, values, sort, name;
  std::string clock = "global";
  bool has_values = false, has_sort = false, has_name = false;
  bool pause = false, cont = false, clear = false, no_hitcount = false;
  uint32_t map_bits = kDefaultHistBits;
  std::vector<std::string> assignments;  // "x=a,y=b"
  std::vector<std::string> actions;      // "onmax($x).save(c)"
  std::optional<std::string> filter;     // what follows `if`
};

// What follows "hist:" or "hist ". EINVAL, ERANGE; not every error leaves an entry.
Result<HistDefinition> parse_hist(std::string_view text, HistErrors* errors);

// `event_exists` is asked for the event of onmatch().
Result<std::unique_ptr<HistActionData>> parse_hist_action(
    std::string_view text,
    const std::function<bool(std::string_view system, std::string_view event)>& event_exists,
    HistErrors* errors);

struct HistVariableText {
  std::string name, expression;
};
Result<std::vector<HistVariableText>> parse_hist_variables(const HistDefinition& definition,
                                                           HistErrors* errors);

// As the kernel's kstrtoull() with base 0; EINVAL, ERANGE.
Result<uint64_t> parse_hist_number(std::string_view text);

// Cuts off what stands before `separator`; none: all of it, and *text has no data() any more (the
// kernel's strsep).
std::string_view take_until(std::string_view* text, char separator);

}  // namespace patchbay
