// SPDX-License-Identifier: MIT
// Whole lines in, as many bytes out as a reader asks for: what is left of a line longer than the
// read is given by the next one.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "output/trace_text.h"

namespace patchbay::tracefs {

class LineStream {
 public:
  void set(std::unique_ptr<TraceText> text) { text_ = std::move(text); }
  bool is_set() const { return text_ != nullptr; }
  bool has_rest() const { return position_ < lines_.size(); }
  std::string next(size_t size) {
    if (!has_rest()) {
      lines_ = text_->next(size);
      position_ = 0;
      if (lines_.size() <= size) return std::exchange(lines_, {});
    }
    std::string part = lines_.substr(position_, size);
    position_ += part.size();
    return part;
  }

 private:
  std::unique_ptr<TraceText> text_;
  std::string lines_;
  size_t position_ = 0;
};

}  // namespace patchbay::tracefs
