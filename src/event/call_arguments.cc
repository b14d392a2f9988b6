// SPDX-License-Identifier: MIT
#include "event/call_arguments.h"

#include "event/function_event_atom.h"

namespace patchbay {

namespace {

using Show = CallArgument::Show;

// A value in an integer register, as the field itself would show it.
void describe_value(const FunctionEventField& field, CallArgument* argument) {
  const FunctionEventAtom* atom = find_atom(field.atom);
  const bool is_value = atom && field.suffixes.empty() && !field.is_array() && !is_string(field) &&
                        !is_float(field) && field.atom != "symbol";
  if (!is_value) return;
  argument->size = uint8_t(atom->size);
  if (field.atom.starts_with('x')) return;
  const bool is_signed = atom->is_signed && !field.is_unsigned_word;
  argument->show = is_signed ? Show::kSigned : Show::kUnsigned;
}

// A definition without a result says nothing: it may not be wanted.
ResultWord result_of(const FunctionEventDef& def) {
  if (!def.result) return ResultWord::kUnknown;
  const FunctionEventField& field = def.result->fields[0];
  const FunctionEventAtom* const atom = find_atom(field.atom);
  const bool is_number = atom && !is_float(field) && !is_long_double(field) && atom->size <= 8;
  return is_number && !def.result->struct_size ? ResultWord::kResult : ResultWord::kNone;
}

}  // namespace

CallArguments call_arguments(const FunctionEventDef& def) {
  CallArguments arguments;
  arguments.result = result_of(def);
  uint32_t integers = first_place(def).integer;
  for (const FunctionEventArg& position : def.args) {
    using Source = FunctionEventField::Source;
    const bool is_taken_away =
        !position.fields.empty() && (position.fields[0].source == Source::kMissing ||
                                     position.fields[0].source == Source::kConstant);
    if (is_taken_away) {
      arguments.emplace_back().name = position.fields[0].name;
      arguments.back().show = Show::kElsewhere;
    }
    if (position.passed() == FunctionEventArg::Passed::kNowhere) continue;
    CallArgument& argument = arguments.emplace_back();
    const bool is_integer = position.passed() == FunctionEventArg::Passed::kInteger;
    if (position.struct_size || (!position.fields.empty() && is_wide(position.fields[0])) ||
        (is_integer && integers == kMaxIntegerArgs)) {
      argument.show = Show::kMore;
      return arguments;
    }
    argument.name = "arg" + std::to_string(arguments.size());
    if (!position.is_null && !position.fields.empty()) argument.name = position.fields[0].name;
    if (!is_integer) {
      argument.show = Show::kElsewhere;
      continue;
    }
    argument.word[0] = int8_t(integers++);
    if (!position.is_null && !position.fields.empty())
      describe_value(position.fields[0], &argument);
  }
  return arguments;
}

}  // namespace patchbay
