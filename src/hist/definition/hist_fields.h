// SPDX-License-Identifier: MIT
//
// The fields and expressions of one definition (part of hist_build.h). Of several faults the first
// in the kernel's order is reported.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hist/definition/hist_build.h"

namespace patchbay {

class HistFields {
 public:
  HistFields(HistWorld& world, HistData* hist, HistErrors* errors, bool remove)
      : world_(world), hist_(hist), errors_(errors), remove_(remove) {}

  using FieldPtr = std::unique_ptr<HistField>;

  // hitcount and those of vals=.
  Status make_values(const HistDefinition& definition);
  // The variables that it defines; until forget_variables() `$x` stands for what x is set to.
  Status make_variables(std::vector<HistVariableText> texts);
  Status make_keys(const HistDefinition& definition);
  void use_variables(std::vector<HistVariableText> texts) { variable_texts_ = std::move(texts); }
  void forget_variables() { variable_texts_.clear(); }

  // A single field, variable or constant. `flags`: kHistKey, kHistVar or 0. Null: error() says why.
  FieldPtr parse_atom(std::string_view text, uint32_t flags);
  // One without a value of each hit: set by an action. Null: too many, or the name is taken.
  HistField* add_variable(std::string_view name, uint32_t size, std::string_view type);
  bool is_variable_here(std::string_view name) const;  // of this histogram or event
  // A variable of the event, in any of its histograms; names without `system` have to be unique
  // in the instance, unless an onmatch() says whose they are.
  HistField* find_event_variable(std::string_view system, std::string_view event,
                                 std::string_view name);
  // A variable of this histogram, if `system` and `event` are its own or empty.
  HistField* find_own_variable(std::string_view system, std::string_view event,
                               std::string_view name) const;
  // The reference in hist->var_refs, made if need be. Null: too many.
  HistField* refer_to(HistField* variable, std::string_view system, std::string_view event);
  bool is_own_event(std::string_view system, std::string_view event) const;
  Error error() const { return errors_->refusal(errno_, "That cannot be counted."); }

 private:
  FieldPtr fail(int errno_value) {
    errno_ = errno_value;
    return nullptr;
  }
  FieldPtr fail(const char* text, std::string_view word = {}, int errno_value = EINVAL) {
    errors_->add(text, word);
    return fail(errno_value);
  }
  Status make_value(std::string_view text);
  Status make_variable(const HistVariableText& text);
  Status make_key(std::string_view text);
  FieldPtr parse_expression(std::string_view text, uint32_t flags, int* subexpressions);
  FieldPtr parse_unary(std::string_view text, uint32_t flags, int* subexpressions);
  FieldPtr parse_binary(std::string_view text, size_t at, uint32_t flags, int* subexpressions);
  FieldPtr parse_operand(std::string_view text, int* subexpressions);
  FieldPtr combine(HistOperator op, FieldPtr left, FieldPtr right, std::string_view right_text,
                   uint32_t flags);
  FieldPtr parse_constant(std::string_view text, uint32_t flags);
  FieldPtr parse_reference(std::string_view system, std::string_view event, std::string_view name);
  FieldPtr parse_field(std::string_view text, uint32_t flags);
  FieldPtr make_field(const EventField* field, uint32_t flags);
  bool parse_modifier(std::string_view field, std::string_view modifier, uint32_t* flags,
                      uint64_t* buckets);
  bool find_field(std::string_view name, uint32_t* flags, const EventField** field);
  const HistField* meaning_of(const HistField& operand) const;
  std::string_view text_of_variable(std::string_view system, std::string_view event,
                                    std::string_view name) const;
  LiveEvent* find_variable_event(std::string_view system, std::string_view event,
                                 std::string_view name);
  HistField* find_matched_variable(std::string_view name, bool* ambiguous);
  HistField* find_in_event(const LiveEvent* event, std::string_view name);

  HistWorld& world_;
  HistData* hist_;
  HistErrors* errors_;
  bool remove_;
  std::vector<HistVariableText> variable_texts_;
  int errno_ = EINVAL;
};

// What in-place parsing leaves of a text (kernel): up to its first operator and, if two dots
// follow, its first dot. Carets stand where that is first found.
std::string_view first_atom(std::string_view text);

}  // namespace patchbay
