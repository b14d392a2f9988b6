// SPDX-License-Identifier: MIT
//
// Names that are there once: the columns of a table, whatever their case, because SQL does not look
// at it; the keys of a JSON object, where it counts. `v` that comes again is `v_2`.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace patchbay {

class UniqueNames {
 public:
  enum class Case : uint8_t { kIgnored, kDiffers };
  // `reserved` are taken: a name that is one of them gets `prefix`, one that was given already a
  // number.
  explicit UniqueNames(std::set<std::string> reserved, std::string prefix = "field_",
                       Case letters = Case::kIgnored)
      : reserved_(std::move(reserved)),
        taken_(reserved_),
        prefix_(std::move(prefix)),
        letters_(letters) {}
  std::string unique(std::string_view name) {
    std::string made(name.empty() ? "unnamed" : name);
    if (reserved_.count(folded(made))) made = prefix_ + made;
    const std::string first = made;
    for (int i = 2; !taken_.insert(folded(made)).second; i++)
      made = first + "_" + std::to_string(i);
    return made;
  }
  static std::string lower(std::string_view name) {
    std::string text(name);
    for (char& c : text)
      if (c >= 'A' && c <= 'Z') c = char(c + 'a' - 'A');
    return text;
  }

 private:
  std::string folded(const std::string& name) const {
    return letters_ == Case::kIgnored ? lower(name) : name;
  }

  std::set<std::string> reserved_, taken_;
  std::string prefix_;
  const Case letters_;
};

}  // namespace patchbay
