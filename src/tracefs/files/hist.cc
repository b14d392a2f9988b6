// SPDX-License-Identifier: MIT
// events/SYSTEM/EVENT/hist: the histograms of the event, the oldest first. poll() says POLLIN when
// there were hits since the file was read, POLLPRI when there were since it said so.
// hist_image: the same as bytes, for the tool (abi/table_abi.h). It is not listed.
// hist_debug: what their definitions were understood as.
#include <unordered_map>

#include "hist/hist_table.h"
#include "hist/image/hist_image_of.h"
#include "hist/text/hist_text.h"
#include "tracefs/files/files.h"
#include "trigger/hist_triggers.h"

namespace patchbay::tracefs {
namespace {

constexpr char kBetween[] = "\n\n";

uint64_t hits_of(const std::vector<HistData*>& hists) {
  uint64_t hits = 0;
  for (const HistData* hist : hists) {
    HistTotals totals;
    read_hist_table(hist->table, &totals);
    hits += totals.hits;
  }
  return hits;
}

std::vector<HistData*> hists_of(const Place& place, const TraceArray& array, LiveEvent& event) {
  return place.tree->context.triggers.hists().of(array, &event);
}

// Names by thread id; looked up when the first key asks.
class CommsById {
 public:
  explicit CommsById(const TreeState& tree) : tree_(tree) {}
  std::string of(uint32_t tid) {
    if (comms_.empty())
      for (const abi::CommEntry& entry : tree_.comms()) comms_[entry.tid] = comm_of(entry);
    auto found = comms_.find(tid);
    return found == comms_.end() ? "<...>" : found->second;
  }

 private:
  static std::string comm_of(const abi::CommEntry& entry) {
    return {entry.comm, ::strnlen(entry.comm, sizeof entry.comm)};
  }
  const TreeState& tree_;
  std::unordered_map<uint32_t, std::string> comms_;
};

enum class HistFormat : uint8_t { kText, kImage };

class HistFile : public File {
 public:
  HistFile(const Place& place, HistFormat format) : place_(place), format_(format) {}
  uint32_t mode() const override { return kReadable; }

  Status open(uint32_t) override {
    PB_ASSIGN(std::vector<HistData*> found, find());
    hits_told_ = hits_of(found);
    return {};
  }

  Result<std::string> read() override {
    PB_ASSIGN(std::vector<HistData*> found, find());
    hits_read_ = hits_of(found);
    CommsById comms(*place_.tree);
    HistNameSources sources;
    sources.names = place_.tree->text_sources().names;
    sources.comm = [&comms](uint32_t tid) { return comms.of(tid); };
    std::string bytes;
    for (const HistData* hist : found) {
      const auto contents = contents_of_table(*hist);
      const HistImage image =
          hist_image_of(*hist, HistTriggers::definition_text(*hist), *contents, sources);
      if (format_ == HistFormat::kText && !bytes.empty()) bytes += kBetween;
      bytes += format_ == HistFormat::kText ? hist_text(image) : hist_image_bytes(image);
    }
    return bytes;
  }

  bool readable() override {
    Result<std::vector<HistData*>> found = find();
    return !found.ok() || hits_of(*found) != hits_read_;
  }

  bool changed(bool tell) override {
    Result<std::vector<HistData*>> found = find();
    const uint64_t hits = found.ok() ? hits_of(*found) : hits_told_;
    const bool is_new = hits != hits_told_;
    if (tell) hits_told_ = hits;
    return is_new;
  }

 private:
  Result<std::vector<HistData*>> find() const {
    PB_ASSIGN(auto array, place_.find_array());
    PB_ASSIGN(auto event, place_.find_event(*array));
    return hists_of(place_, *array, *event);
  }

  const Place place_;
  const HistFormat format_;
  uint64_t hits_read_ = 0, hits_told_ = 0;
};

Result<std::string> show_debug(const TraceArray& array, LiveEvent& event, const Place& place) {
  std::string text;
  for (const HistData* hist : hists_of(place, array, event)) {
    if (!text.empty()) text += kBetween;
    text += hist_debug_text(*hist, HistTriggers::definition_text(*hist));
  }
  return text;
}

}  // namespace

FilePtr make_event_hist(const Place& place) {
  return std::make_unique<HistFile>(place, HistFormat::kText);
}

FilePtr make_event_hist_image(const Place& place) {
  return std::make_unique<HistFile>(place, HistFormat::kImage);
}

FilePtr make_event_hist_debug(const Place& place) {
  return make_event_text_file(place, show_debug);
}

}  // namespace patchbay::tracefs
