// SPDX-License-Identifier: MIT
//
// A recording becomes the data of a page: the sink of ExportSource that `patchbay view` uses.
// Rows are kept until a limit; what comes behind it is counted, so that the page can say how much
// of the recording it has.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cmd/common/losses.h"
#include "cmd/view/page_pack.h"
#include "export/export_sink.h"
#include "export/export_source.h"

namespace patchbay::cmd {

struct PageOptions {
  std::string title;
  size_t most_rows = 1000000;
  // Facts for the page's list: name and value, of any bytes.
  std::vector<std::pair<std::string, std::string>> facts;
  // More than what is missing in the pages: of a CPU's statistics. May be empty.
  std::function<Losses(const LossCounter& counter)> losses_of;
  uint32_t malformed_formats = 0;
  std::vector<std::string> damages;  // sentences
  bool is_part = false;              // --from or --until cut it
};

class PageSink : public ExportSink {
 public:
  // What a call's `how` says beside ExportCallEnd: it goes on behind the part that the page has.
  static constexpr uint8_t kCutEnd = 4;

  explicit PageSink(PageOptions options) : options_(std::move(options)) {}
  Status begin(const ExportMeta& meta, ExportSource* source) override;
  Status schema(const ExportSchema& schema) override;
  Status event(const ExportEvent& event) override;
  Status loss(const ExportEvent& event) override;
  Status end(const ExportStats& stats) override;

  // When all was given: the header and the data.
  const std::string& header() const { return header_; }
  const PageData& data() const { return data_; }
  uint64_t records() const { return records_; }
  size_t rows() const { return rows_.size(); }
  bool is_cut() const { return cut_ns_ != 0; }

 private:
  struct EventKind {
    uint32_t kind = 0;
    std::vector<const ExportField*> fields;  // empty, and is_text: one field, the event's text
    bool is_text = false;
  };
  struct CallKind {
    uint32_t kind = 0;
    const CallArguments* arguments = nullptr;  // null: the words are arg1, arg2, …
    std::vector<int> shown;                    // indexes of arguments that have a value
    size_t words = 0;
    bool has_result = false;  // as the last field
  };
  struct Open {
    uint32_t row = 0, depth = 0;
    uint64_t function = 0;
    bool has_result = false;
  };
  struct Loss {
    uint64_t time, count;
    uint32_t cpu;
  };

  std::string safe(std::string_view untrusted_text) const;
  uint32_t text(std::string_view untrusted_text) { return strings_.of(safe(untrusted_text)); }
  uint32_t thread_of(const ExportEvent& event);
  uint32_t cpu_of(uint32_t number);
  uint32_t stack_of(const ExportEvent& event);
  uint16_t instance_of(const ExportEvent& event);
  bool has_room(const ExportEvent& event);
  PageRow row_of(const ExportEvent& event);
  void count(const ExportEvent& event);

  EventKind& event_kind(const ExportEvent& event);
  CallKind& call_kind(const ExportEvent& event, uint64_t function, size_t words, bool is_call);
  void add_event(const ExportEvent& event);
  void add_function(const ExportEvent& event);
  void add_pair(const ExportEvent& event);
  void add_off_cpu(const ExportEvent& event);
  void begin_call(const ExportEvent& event);
  void end_call(const ExportEvent& event);
  void set_arguments(uint32_t row, const CallKind& kind, std::span<const uint8_t> words);
  void set_field(uint32_t row, size_t index, const ExportField& field,
                 std::span<const uint8_t> record, const ExportEvent& event);
  std::string array_text(const ExportField& field, const ExportValue& value,
                         std::span<const uint8_t> record) const;
  std::string value_text(const ExportField& field, const ExportValue& value) const;

  void cut_calls();
  uint64_t start_at_zero();
  std::vector<uint32_t> order_cpus(const Losses& losses);
  std::string records_json();
  std::string losses_json(const std::vector<uint32_t>& cpu_order);
  std::string threads_json();
  std::string instances_json();
  std::string cpus_json(const Losses& losses, const std::vector<uint32_t>& order);
  std::string notices_json(const ExportStats& stats, const Losses& losses) const;
  std::string facts_json(const ExportStats& stats);
  std::string cut_sentence(const ExportStats& stats) const;

  PageOptions options_;
  const ExportMeta* meta_ = nullptr;
  ExportSource* source_ = nullptr;
  PageStrings strings_;
  PageStacks stacks_;
  PageRows rows_;
  PageData data_;
  std::string header_;
  LossCounter loss_counter_;
  std::vector<Loss> losses_;
  std::vector<const ExportThread*> threads_;
  std::unordered_map<const ExportThread*, uint32_t> thread_numbers_;
  std::map<uint32_t, uint32_t> cpu_numbers_;  // by CPU
  std::vector<uint64_t> cpu_records_;
  std::map<std::string, uint16_t> instance_numbers_;  // by name
  std::unordered_map<const ExportSchema*, EventKind> event_kinds_;
  std::map<std::pair<uint32_t, const ExportSchema*>, uint32_t> pair_kinds_;
  std::optional<uint32_t> off_cpu_kind_;
  std::map<std::pair<uint64_t, size_t>, CallKind> call_kinds_;  // by function and words
  std::unordered_map<std::string, uint32_t> kinds_by_signature_;
  std::map<std::pair<const ExportThread*, uint32_t>, std::vector<Open>> open_;  // and buffer
  std::unordered_map<const ExportSchema*, uint64_t> by_schema_;
  uint64_t records_ = 0, unknown_ = 0, kernel_stacks_ = 0, user_stacks_ = 0;
  uint64_t first_ns_ = 0, last_ns_ = 0, cut_ns_ = 0, shown_records_ = 0;
};

}  // namespace patchbay::cmd
