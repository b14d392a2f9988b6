// SPDX-License-Identifier: MIT
#include "export/pprof/pprof_profile.h"

#include "base/check.h"

namespace patchbay {
namespace {

// The wire format of protocol buffers: varints, and bytes with their length.
void put_varint(std::string* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *out += char(value | 0x80);
  *out += char(value);
}
void put_number(std::string* out, int field, uint64_t value) {
  if (!value) return;  // as if it were not there
  put_varint(out, uint64_t(field) << 3);
  put_varint(out, value);
}
void put_bytes(std::string* out, int field, std::string_view bytes) {
  put_varint(out, uint64_t(field) << 3 | 2);
  put_varint(out, bytes.size());
  *out += bytes;
}

// profile.proto
enum Profile {
  kSampleType = 1,
  kSample,
  kMapping,
  kLocation,
  kFunction,
  kStringTable,
  kTimeNanos = 9,
  kDurationNanos,
  kPeriodType,
  kPeriod,
  kComment,
  kDefaultSampleType
};

}  // namespace

PprofProfile::PprofProfile(std::vector<ValueType> types, size_t most_nodes)
    : types_(std::move(types)), most_nodes_(most_nodes), nodes_(1) {
  PB_CHECK(types_.size() <= kMostValues);
  text("");  // the first one must be
}

uint32_t PprofProfile::text(std::string_view text) {
  auto [found, is_new] = text_numbers_.try_emplace(std::string(text), uint32_t(texts_.size()));
  if (is_new) texts_.push_back(&found->first);
  return found->second;
}

uint32_t PprofProfile::child(uint32_t node, uint32_t frame) {
  const uint64_t key = uint64_t{node} << 32 | frame;
  const auto found = children_.find(key);
  if (found != children_.end()) return found->second;
  if (nodes_.size() >= most_nodes_) {
    cut_stacks_++;
    return node;
  }
  const auto made = uint32_t(nodes_.size());
  nodes_.push_back({node, frame});
  children_.emplace(key, made);
  return made;
}

uint32_t PprofProfile::root(std::string_view label) { return child(kRoot, kLabel | text(label)); }

std::vector<size_t> PprofProfile::used_values() const {
  uint64_t sums[kMostValues] = {};
  for (const Node& node : nodes_)
    for (size_t value = 0; value < types_.size(); value++) sums[value] |= node.values[value];
  std::vector<size_t> used;
  for (size_t value = 0; value < types_.size(); value++)
    if (sums[value]) used.push_back(value);
  return used;
}

std::string PprofProfile::sample(const Node& node, const std::vector<size_t>& values,
                                 uint32_t key) const {
  std::string sample, packed, label;
  for (const Node* at = &node; at != &nodes_[kRoot]; at = &nodes_[at->parent]) {
    if (at->frame & kLabel) {
      put_number(&label, 1, key);
      put_number(&label, 2, at->frame & ~kLabel);
    } else {
      put_varint(&packed, at->frame + 1);  // the innermost first
    }
  }
  put_bytes(&sample, 1, packed);
  packed.clear();
  for (const size_t value : values) put_varint(&packed, node.values[value]);
  put_bytes(&sample, 2, packed);
  if (!label.empty()) put_bytes(&sample, 3, label);
  return sample;
}

void PprofProfile::put_mappings(std::string* out) {
  for (size_t i = 0; i < mappings_.size(); i++) {
    const Mapping& mapping = mappings_[i];
    std::string body;
    put_number(&body, 1, i + 1);
    put_number(&body, 2, mapping.start);
    put_number(&body, 3, mapping.end);
    put_number(&body, 5, text(mapping.path));
    put_number(&body, 6, text(mapping.build_id));
    put_number(&body, 7, 1);  // has functions: pprof need not look for the file
    put_bytes(out, kMapping, body);
  }
}

// Locations and functions have the same numbers: one function a place.
void PprofProfile::put_locations(std::string* out) const {
  for (size_t i = 0; i < locations_.size(); i++) {
    const Location& location = locations_[i];
    std::string body, line;
    put_number(&body, 1, i + 1);
    for (size_t m = 0; m < mappings_.size(); m++)
      if (location.address >= mappings_[m].start && location.address < mappings_[m].end)
        put_number(&body, 2, m + 1);
    put_number(&body, 3, location.address);
    put_number(&line, 1, i + 1);
    put_bytes(&body, 4, line);
    put_bytes(out, kLocation, body);
    body.clear();
    put_number(&body, 1, i + 1);
    put_number(&body, 2, location.name);
    put_number(&body, 3, location.name);
    put_bytes(out, kFunction, body);
  }
}

std::string PprofProfile::encode() {
  std::string out, body;
  const std::vector<size_t> values = used_values();
  for (const size_t value : values) {
    body.clear();
    put_number(&body, 1, text(types_[value].type));
    put_number(&body, 2, text(types_[value].unit));
    put_bytes(&out, kSampleType, body);
  }
  const uint32_t key = text("event");
  for (const Node& node : nodes_) {
    uint64_t any = 0;
    for (const uint64_t value : node.values) any |= value;
    if (any) put_bytes(&out, kSample, sample(node, values, key));
  }
  put_mappings(&out);
  put_locations(&out);
  put_number(&out, kTimeNanos, start_ns_);
  put_number(&out, kDurationNanos, duration_ns_);
  if (!values.empty()) {
    put_bytes(&out, kPeriodType, body);  // the last type's
    put_number(&out, kPeriod, 1);
    put_number(&out, kDefaultSampleType, text(types_[values.back()].type));
  }
  for (const std::string& comment : comments_) put_number(&out, kComment, text(comment));
  for (const std::string* text : texts_) put_bytes(&out, kStringTable, *text);
  return out;
}

}  // namespace patchbay
