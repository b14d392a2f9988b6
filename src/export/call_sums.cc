// SPDX-License-Identifier: MIT
#include "export/call_sums.h"

#include <algorithm>

namespace patchbay {

uint32_t CallSums::child(uint32_t parent, std::string_view name) {
  auto [id, is_new_name] = name_ids_.try_emplace(std::string(name), uint32_t(names_.size()));
  if (is_new_name) names_.emplace_back(name);
  const uint64_t key = uint64_t(parent) << 32 | id->second;
  auto found = children_.find(key);
  if (found != children_.end()) return found->second;
  if (is_full() || levels_[parent] >= kMostLevels) return parent;
  children_.emplace(key, uint32_t(nodes_.size()));
  nodes_.push_back({parent, id->second, 0});
  levels_.push_back(levels_[parent] + 1);
  return uint32_t(nodes_.size() - 1);
}

// Several buffers are kept apart.
uint32_t CallSumsBuilder::root(CallSums* sums, const ExportEvent& event) const {
  const bool several = meta_->inputs.size() > 1 || meta_->inputs[0].buffers.size() > 1;
  if (!several) return 0;
  const ExportInputInfo& info = meta_->inputs[event.input];
  uint32_t at = 0;
  if (meta_->inputs.size() > 1) at = sums->child(0, info.path.substr(info.path.rfind('/') + 1));
  if (info.buffers.size() <= 1) return at;
  const std::string& name = info.buffers[event.buffer];
  return sums->child(at, name.empty() ? "top" : name);
}

namespace {

uint64_t key_of(const ExportEvent& event) {
  return uint64_t(event.input) << 48 ^ uint64_t(event.buffer) << 32 ^ event.thread->index;
}

}  // namespace

void CallSumsBuilder::begin_call(const ExportEvent& event) {
  std::vector<Open>& open = open_[key_of(event)];
  const uint32_t parent = open.empty() ? root(&calls_, event) : open.back().node;
  const std::string& name = source_->addresses(event).of(event.call.function).plain;
  open.push_back({calls_.child(parent, name), 0});
}

void CallSumsBuilder::end_call(const ExportEvent& event) {
  if (event.call.how == ExportCallEnd::kNoEntry) begin_call(event);
  std::vector<Open>& open = open_[key_of(event)];
  if (open.empty()) return;
  const uint64_t took = event.call.duration_ns;
  calls_.add(open.back().node, took - std::min(took, open.back().child_ns));
  open.pop_back();
  if (!open.empty()) open.back().child_ns += took;
}

void CallSumsBuilder::count_stack(const ExportEvent& event) {
  has_stacks_ = true;
  uint32_t at = root(&stacks_, event);
  for (size_t i = event.stack.size(); i-- > 0;)
    at = stacks_.child(at, source_->frame_name(event, i));
  stacks_.add(at, 1);
}

void CallSumsBuilder::count_function(const ExportEvent& event) {
  uint32_t at = root(&functions_, event);
  for (const char* part : {"parent_ip", "ip"}) {
    const ExportField* field = event.schema->find(part);
    if (!field) continue;
    const uint64_t address = field->value(event.record).bits;
    AddressText& names = source_->addresses(event);
    at = functions_.child(at,
                          field->is_caller ? names.caller(address).plain : names.of(address).plain);
  }
  functions_.add(at, 1);
}

void CallSumsBuilder::take(const ExportEvent& event) {
  if (!event.stack.empty()) count_stack(event);
  if (event.kind == ExportEvent::Kind::kEvent) {
    if (event.schema && event.schema->role == ExportSchema::Role::kFunction) count_function(event);
    return;
  }
  has_calls_ = true;
  event.kind == ExportEvent::Kind::kCallBegin ? begin_call(event) : end_call(event);
}

}  // namespace patchbay
