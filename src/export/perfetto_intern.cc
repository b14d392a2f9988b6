// SPDX-License-Identifier: MIT
#include "export/perfetto_intern.h"

#include "export/proto_write.h"
#include "output/trace_line.h"

namespace patchbay {

using proto::put_bytes;
using proto::put_uint;

uint32_t PerfettoInterner::name(std::string_view raw) {
  clean_.clear();
  append_escaped(&clean_, raw);
  auto found = name_ids_.find(clean_);
  if (found != name_ids_.end()) return found->second;
  names_.push_back(clean_);
  const uint32_t id = uint32_t(names_.size());
  name_ids_.emplace(names_.back(), id);
  return id;
}

uint32_t PerfettoInterner::function(ExportSource* source, const ExportEvent& event,
                                    uint64_t address) {
  AddressText& names = source->addresses(event);
  const uint32_t table = names.table();
  Cached& cached = cache_[((address + event.input + table) * 0x9e3779b97f4a7c15u) >> 51];
  if (cached.id && cached.address == address && cached.input == event.input &&
      cached.table == table)
    return cached.id;
  cached = {address, event.input, table, name(names.of(address).plain)};
  return cached.id;
}

uint32_t PerfettoInterner::stack(ExportSource* source, const ExportEvent& event) {
  key_.assign(reinterpret_cast<const char*>(event.stack.data()), event.stack.size_bytes());
  key_.append(reinterpret_cast<const char*>(&event.kernel_frames), sizeof event.kernel_frames);
  key_.append(reinterpret_cast<const char*>(&event.input), sizeof event.input);
  const uint32_t table = source->addresses(event).table();
  key_.append(reinterpret_cast<const char*>(&table), sizeof table);
  auto [found, is_new] = stack_ids_.try_emplace(key_, uint32_t(stacks_.size() + 1));
  if (!is_new) return found->second;
  std::vector<uint32_t> frames;
  for (size_t i = event.stack.size(); i-- > 0;)
    frames.push_back(name(source->frame_name(event, i)));
  stacks_.push_back(std::move(frames));
  return found->second;
}

// True when it was not there.
bool PerfettoInterner::mark(std::vector<bool>* defined, uint32_t id) {
  if (defined->size() <= id) defined->resize(size_t(id) * 2 + 64);
  if ((*defined)[id]) return false;
  return (*defined)[id] = true;
}

void PerfettoInterner::define_frames(uint32_t stack, PerfettoDefined* defined,
                                     std::string* interned) {
  std::string message;
  if (!defined->has_mapping) {  // a frame needs one: everything
    defined->has_mapping = true;
    put_uint(&message, 1, 1);
    put_bytes(&message, 2, "-");
    put_bytes(interned, 17, message);
    message.clear();
    put_uint(&message, 1, 1);
    put_uint(&message, 5, ~uint64_t{0} >> 1);
    put_uint(&message, 7, 1);
    put_bytes(interned, 19, message);
  }
  std::string frames;
  put_uint(&frames, 1, stack);
  for (uint32_t id : stacks_[stack - 1]) {
    put_uint(&frames, 2, id);
    if (!mark(&defined->names[size_t(PerfettoName::kFunction)], id)) continue;
    message.clear();
    put_uint(&message, 1, id);
    put_bytes(&message, 2, names_[id - 1]);
    put_bytes(interned, 5, message);
    message.clear();
    put_uint(&message, 1, id);  // the frame has its function's number
    put_uint(&message, 2, id);
    put_uint(&message, 3, 1);
    put_bytes(interned, 6, message);
  }
  put_bytes(interned, 7, frames);
}

void PerfettoInterner::define(PerfettoName kind, uint32_t id, PerfettoDefined* defined,
                              std::string* interned) {
  if (!mark(&defined->names[size_t(kind)], id)) return;
  if (kind == PerfettoName::kStack) return define_frames(id, defined, interned);
  constexpr uint32_t kFields[] = {1, 2, 3, 5};  // of InternedData, by PerfettoName
  std::string message;
  put_uint(&message, 1, id);
  put_bytes(&message, 2, names_[id - 1]);
  put_bytes(interned, kFields[size_t(kind)], message);
}

void PerfettoInterner::clear() {
  name_ids_.clear();
  names_.clear();
  stack_ids_.clear();
  stacks_.clear();
  cache_.assign(cache_.size(), {});
}

}  // namespace patchbay
