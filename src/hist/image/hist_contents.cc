// SPDX-License-Identifier: MIT
#include <cstring>

#include "hist/definition/hist_compile.h"
#include "hist/hist_program.h"
#include "hist/hist_table_hot.h"
#include "hist/image/hist_image_of.h"

namespace patchbay {

namespace {

class TableContents : public HistContents {
 public:
  explicit TableContents(const HistData& hist) : hist_(hist) {}

  std::vector<HistEntry> entries(HistTotals* totals) override {
    return read_hist_table(hist_.table, totals);
  }

  void hold_saved(uint32_t entry) override {
    held_entry_ = read_hist_saved(*hist_.program, entry, &held_) ? entry : kHistNone;
  }

  uint64_t variable(uint32_t entry, uint32_t index) override {
    uint64_t value = 0;
    uint32_t at = 0;
    if (is_held(entry, index, &at)) {
      if (at == kHistSavedValue) return held_.value;
      return held_.is_set ? held_.bytes[at / 8] : 0;
    }
    return read_hist_variable(hist_.table, entry, index, &value) ? value : 0;
  }

  // What is not set is shown as the kernel's printf shows a null pointer.
  std::string_view variable_text(uint32_t entry, uint32_t index) override {
    const uint32_t offset = hist_variable_text(*hist_.program, index);
    uint64_t value = 0;
    uint32_t at = 0;
    if (is_held(entry, index, &at)) {
      if (!held_.is_set || at == kHistSavedValue) return "(null)";
      const auto* text = reinterpret_cast<const char*>(held_.bytes.data() + at / 8);
      return {text, ::strnlen(text, held_.bytes.size() * 8 - at)};
    }
    if (offset == ~0u || !read_hist_variable(hist_.table, entry, index, &value)) return "(null)";
    const auto* text = reinterpret_cast<const char*>(hist_text_at(hist_.table, entry, offset));
    return {text, ::strnlen(text, kMaxHistText)};
  }

  std::vector<uint64_t> quantiles(uint32_t entry) override {
    return read_hist_quantiles(hist_.table, entry);
  }

  std::optional<HistSnapshotTaken> snapshot(const HistActionData& action) override {
    for (uint32_t i = 0; i < hist_.actions.size(); i++) {
      if (hist_.actions[i].get() != &action) continue;
      HistSnapshotTaken taken;
      uint32_t entry = 0;
      if (!read_hist_tracked(*hist_.program, i, &taken.value, &entry)) return std::nullopt;
      const auto* key = reinterpret_cast<const uint8_t*>(hist_key_of(hist_.table, entry));
      taken.key.assign(key, key + hist_.program->key_words * 8);
      return taken;
    }
    return std::nullopt;
  }

 private:
  bool is_held(uint32_t entry, uint32_t index, uint32_t* at) const {
    return entry == held_entry_ && find_hist_saved(*hist_.program, index, at);
  }

  const HistData& hist_;
  HistSavedFields held_;
  uint32_t held_entry_ = kHistNone;
};

}  // namespace

std::unique_ptr<HistContents> contents_of_table(const HistData& hist) {
  return std::make_unique<TableContents>(hist);
}

}  // namespace patchbay
