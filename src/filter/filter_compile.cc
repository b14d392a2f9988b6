// SPDX-License-Identifier: MIT
//
// compile_filter(): a program is one block of memory with its instructions, what they point to, and
// machine code for them where executable memory can be had.
#include <algorithm>

#include "filter/filter_jit.h"
#include "filter/filter_parse.h"

namespace patchbay {
namespace {

struct OwnedProgram : FilterProgram {
  std::vector<FilterPred> preds;  // keep the data
  std::vector<FilterInsn> own_insns;
  FilterCode machine_code;
};

constexpr uint32_t kMaxAnyInsns = 4096;

void finish(OwnedProgram* program) {
  program->insns = program->own_insns.data();
  program->nr_insns = uint32_t(program->own_insns.size());
  program->machine_code = generate_filter_code(*program);
  program->code = program->machine_code.entry();
}

// A predicate's second instruction stands behind its first one, which leads there where it does not
// decide by itself.
void add_second(FilterInsn second, std::vector<FilterInsn>* insns) {
  FilterInsn& first = insns->back();
  second.on_true = first.on_true;
  second.on_false = first.on_false;
  (first.op == FilterOp::kEqual ? first.on_false : first.on_true) = uint16_t(insns->size());
  insns->push_back(second);
}

// Bytes of the record up to the end of the field's fixed part.
uint32_t fixed_end(const FilterInsn& insn) {
  switch (insn.test) {
    case FilterTest::kNumber:
    case FilterTest::kMember:
    case FilterTest::kRange:
      return insn.offset + insn.size;
    case FilterTest::kCpumask:
      return insn.offset + 4;
    case FilterTest::kText:
      break;
    default:
      return 0;
  }
  switch (insn.place) {
    case TextPlace::kChars:
      return insn.offset + insn.field_size;
    case TextPlace::kDataLoc:
    case TextPlace::kCounted:
    case TextPlace::kRelLoc:
      return insn.offset + 4;
    case TextPlace::kPointer:
      return insn.offset + 8;
    case TextPlace::kRest:
      return insn.offset;
    case TextPlace::kComm:
      break;
  }
  return 0;
}

void add_guard(FilterInsn guard, uint16_t on_false, OwnedProgram* program) {
  guard.on_true = uint16_t(program->own_insns.size() + 1);
  guard.on_false = on_false;
  program->min_size = std::max(program->min_size, fixed_end(guard));
  program->own_insns.push_back(guard);
}

void add_insns(OwnedProgram* program) {
  const std::vector<FilterPred>& preds = program->preds;
  std::vector<uint16_t> places;  // of each predicate, then match and reject
  uint32_t next = 0;
  for (const FilterPred& pred : preds) {
    places.push_back(uint16_t(next));
    next += 1 + pred.guard.has_value() + pred.second.has_value();
  }
  places.push_back(uint16_t(next));
  places.push_back(uint16_t(next + 1));
  for (const FilterPred& pred : preds) {
    FilterInsn insn = pred.insn;
    insn.on_true = places[insn.on_true];
    insn.on_false = places[insn.on_false];
    insn.data = reinterpret_cast<const uint8_t*>(pred.data.data());
    insn.data_size = uint32_t(pred.data.size());
    program->min_size = std::max(program->min_size, fixed_end(insn));
    if (pred.guard) add_guard(*pred.guard, insn.on_false, program);
    program->own_insns.push_back(insn);
    if (pred.second) add_second(*pred.second, &program->own_insns);
  }
}

}  // namespace

void FilterDeleter::operator()(FilterProgram* program) const {
  delete static_cast<OwnedProgram*>(program);
}

FilterResult compile_filter(std::string_view text, const FilterContext& context) {
  FilterResult result;
  auto parsed = parse_filter(text, context);
  if (auto* error = std::get_if<FilterError>(&parsed)) {
    result.error = std::move(*error);
    return result;
  }
  auto* program = new OwnedProgram{};
  result.program.reset(program);
  program->preds = std::move(std::get<std::vector<FilterPred>>(parsed));
  add_insns(program);
  finish(program);
  return result;
}

FilterProgramPtr any_filter(std::span<const FilterProgram* const> filters) {
  auto* program = new OwnedProgram{};
  FilterProgramPtr made(program);
  uint32_t total = 0;
  for (const FilterProgram* filter : filters) total += filter->nr_insns;
  if (total > kMaxAnyInsns) return nullptr;
  for (const FilterProgram* filter : filters) {
    const auto first = uint32_t(program->own_insns.size()), next = first + filter->nr_insns;
    const auto moved = [&](uint16_t target) {
      if (target == filter->nr_insns) return uint16_t(total);
      if (target > filter->nr_insns) return uint16_t(next == total ? total + 1 : next);
      return uint16_t(first + target);
    };
    for (uint32_t i = 0; i < filter->nr_insns; i++) {
      FilterInsn insn = filter->insns[i];
      insn.on_true = moved(insn.on_true);
      insn.on_false = moved(insn.on_false);
      program->own_insns.push_back(insn);
    }
    program->min_size = std::max(program->min_size, filter->min_size);
  }
  finish(program);
  return made;
}

std::string filter_caret(std::string_view expression, const FilterError& error) {
  const size_t column = std::min<size_t>(error.position, expression.size());
  return std::string(expression) + "\n" + std::string(column, ' ') + "^\n";
}

std::string filter_error_text(std::string_view expression, const FilterError& error) {
  if (error.text.empty()) return std::string(expression) + "\nError: (0)\n\n";
  return filter_caret(expression, error) + "parse_error: " + error.text + "\n\n";
}

}  // namespace patchbay
