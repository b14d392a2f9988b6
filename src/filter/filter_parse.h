// SPDX-License-Identifier: MIT
// The stages of compile_filter() before machine code: text to predicates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "filter/filter.h"
#include "filter/filter_insn.h"

namespace patchbay {

// A predicate with what its instruction points to.
struct FilterPred {
  FilterInsn insn;
  std::string data;
  // Of a floating-point field. True when both are; of `==`, when one is. Its targets are not set.
  std::optional<FilterInsn> second = std::nullopt;
  // Of a field that not every record has: stands before the others, and has to be true.
  std::optional<FilterInsn> guard = std::nullopt;
};

// The texts of the kernel (ERRORS in kernel/trace/trace_events_filter.c). The nameless error has
// no text and its caret at 0.
namespace filter_errors {
inline constexpr char kInvalidOperator[] = "Invalid operator";
inline constexpr char kTooManyOpen[] = "Too many '('";
inline constexpr char kTooFewOpen[] = "Too few '('";
inline constexpr char kMissingQuote[] = "Missing matching quote";
inline constexpr char kMissingBraceOpen[] = "Missing '{'";
inline constexpr char kMissingBraceClose[] = "Missing '}'";
inline constexpr char kInvalidCpulist[] = "Invalid cpulist";
inline constexpr char kOperandTooLong[] = "Operand too long";
inline constexpr char kExpectString[] = "Expecting string field";
inline constexpr char kExpectNumber[] = "Expecting numeric field";
inline constexpr char kIllegalOperation[] = "Illegal operation for field type";
inline constexpr char kFieldNotFound[] = "Field not found";
inline constexpr char kIllegalInteger[] = "Illegal integer value";
inline constexpr char kTooManyTerms[] = "Too many terms in predicate expression";
inline constexpr char kMeaningless[] = "Meaningless filter expression";
inline constexpr char kInvalidValue[] = "Invalid value (did you forget quotes)?";
inline constexpr char kNoFunction[] = "Function not found";
inline constexpr char kNoFilter[] = "No filter found";
}  // namespace filter_errors

// One predicate that starts at text[start]. Its end, or an error.
std::variant<size_t, FilterError> parse_filter_pred(std::string_view text, size_t start,
                                                    const FilterContext& context, FilterPred* out);

// The whole expression: predicates in the order of the text, on_true and on_false set.
std::variant<std::vector<FilterPred>, FilterError> parse_filter(std::string_view text,
                                                                const FilterContext& context);

// "0-3,5", "all", "N" (the last CPU), "0-15:2/4": bit n % 8 of byte n / 8 for each CPU n. Nothing
// when it is malformed or names a CPU >= nr_cpus.
std::optional<std::string> parse_cpulist(std::string_view list, uint32_t nr_cpus);

// Fills match, invert and data of a text predicate from the pattern of `~`.
void compile_glob(std::string_view pattern, FilterPred* pred);

}  // namespace patchbay
