// SPDX-License-Identifier: MIT
#include "cmd/measure/hist_signs.h"

#include <algorithm>

#include "cmd/measure/hist_columns.h"
#include "cmd/measure/hist_entries.h"
#include "hist/text/hist_values.h"

namespace patchbay::cmd {
namespace {

class SignedText {
 public:
  SignedText(std::string_view text, const std::set<std::string>& fields)
      : text_(text), fields_(fields) {}

  // `column`: of the number that stands at `word`, a part of the text, behind its blanks.
  void take(const HistColumn* column, std::string_view word) {
    if (!column || !column->modifier.empty() || !fields_.contains(column->name)) return;
    const auto value = hist_number(word);
    if (!value || int64_t(*value) >= 0 || word.find('-') != word.npos) return;
    const size_t start = word.find_first_not_of(' ');
    made_ += text_.substr(taken_, size_t(word.data() - text_.data()) + start - taken_);
    put_hist_number(&made_, *value, true);
    taken_ = size_t(word.data() - text_.data()) + word.size();
  }
  std::string finish() { return made_ += text_.substr(taken_); }

 private:
  const std::string_view text_;
  const std::set<std::string>& fields_;
  std::string made_;
  size_t taken_ = 0;  // of the text
};

}  // namespace

std::string with_hist_signs(std::string_view text, const std::set<std::string>& signed_fields) {
  const std::string definition = hist_definition(text);
  const std::vector<HistColumn> keys = hist_columns(definition, "keys=");
  const std::vector<HistColumn> values = hist_columns(definition, "vals=");
  SignedText made(text, signed_fields);
  for (const HistEntry& entry : hist_entries(text)) {
    const std::vector<HistKeyPart> parts = hist_key_parts(entry.key, keys);
    for (size_t i = 0; i < parts.size(); i++)
      if (!parts[i].is_stack) made.take(&keys[i], parts[i].text);
    for (const HistWord& one : hist_words(entry.values, values)) made.take(one.column, one.word);
  }
  return made.finish();
}

}  // namespace patchbay::cmd
