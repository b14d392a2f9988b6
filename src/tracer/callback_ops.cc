// SPDX-License-Identifier: MIT
#include "tracer/callback_ops.h"

#include <cerrno>

namespace patchbay {

struct CallbackOps::Entry {
  FtraceOps ops;
  HitCallback* callback = nullptr;
};

CallbackOps::CallbackOps(Registry& registry, FtraceOpsTable& table)
    : registry_(registry), table_(table) {}
CallbackOps::~CallbackOps() {
  for (auto& [id, entry] : entries_) table_.unfollow(&entry->ops);
}

CallbackOps::Entry* CallbackOps::find(Id id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second.get();
}

CallbackOps::Id CallbackOps::make() {
  auto entry = std::make_unique<Entry>();
  FtraceOps& ops = entry->ops;
  ops.array = &registry_.top();
  ops.of_program = true;
  ops.own_filter = true;
  ops.live.call.system = "ftrace";
  ops.live.call.name = "callback";
  ops.live.kind = ConsumerKind::kCallback;
  ops.live.max_size = sizeof(abi::RecordHeader);
  table_.follow(&ops);
  entries_[++last_] = std::move(entry);
  return last_;
}

bool CallbackOps::knows(Id id) const { return find(id) != nullptr; }
bool CallbackOps::is_registered(Id id) const {
  const Entry* entry = find(id);
  return entry && entry->ops.registered;
}

// --- which functions

Status CallbackOps::set_hash(Entry* entry, Filter which, FtraceHash hash) {
  FtraceHash filter = entry->ops.filter, notrace = entry->ops.notrace;
  (which == Filter::kFilter ? filter : notrace) = std::move(hash);
  return table_.set_hashes(&entry->ops, std::move(filter), std::move(notrace));
}

Status CallbackOps::set_filter(Id id, Filter which, std::string_view text, bool reset) {
  Entry* entry = find(id);
  if (!entry) return user_error(EINVAL, "There is no such tracer.");
  table_.refresh();
  FtraceHash hash;
  if (!reset) hash = which == Filter::kFilter ? entry->ops.filter : entry->ops.notrace;
  if (!text.empty()) {
    PB_ASSIGN(auto line, parse_filter_line(text));
    if (!line.command.empty())
      return user_error(EINVAL, "Commands stand in set_ftrace_filter, not here.");
    PB_TRY(apply_filter_line(table_.table(), line, &hash));
  }
  return set_hash(entry, which, std::move(hash));
}

Status CallbackOps::set_filter_addresses(Id id, std::span<const uint64_t> addresses, bool remove,
                                         bool reset) {
  Entry* entry = find(id);
  if (!entry) return user_error(EINVAL, "There is no such tracer.");
  table_.refresh();
  FtraceHash hash;
  if (!reset) hash = entry->ops.filter;
  for (uint64_t address : addresses) {
    DynFtrace* function = table_.table().find(address);
    if (!function) return user_error(ENOENT, "No function that can be traced begins there.");
    if (remove)
      hash.functions.erase(function);
    else
      hash.functions.insert(function);
  }
  return set_hash(entry, Filter::kFilter, std::move(hash));
}

void CallbackOps::clear_filters(Id id) {
  Entry* entry = find(id);
  if (entry) (void)table_.set_hashes(&entry->ops, {}, {});
}

// --- names

// By which function_tracers chooses it: several may have one function.
std::string CallbackOps::free_name(const std::string& wanted) const {
  const auto is_taken = [&](const std::string& name) {
    for (const FtraceOps* ops : table_.listed(registry_.top()))
      if (ops->name == name) return true;
    return false;
  };
  std::string name = wanted;
  for (int i = 2; is_taken(name); i++) name = wanted + "-" + std::to_string(i);
  return name;
}

Status CallbackOps::add(Id id, uint64_t function, uint64_t argument, LiveVectors vectors) {
  Entry* entry = find(id);
  if (!entry) return user_error(EINVAL, "There is no such tracer.");
  FtraceOps& ops = entry->ops;
  if (ops.registered) return user_error(EBUSY, "The tracer is registered already.");
  entry->callback = make_callback(function, argument, vectors);
  if (!entry->callback) return user_error(ENOMEM, "There is no memory for a callback.");
  ops.live.callback = entry->callback;
  SymbolizedAddress found;
  ops.name = free_name(registry_.symbols().symbolize(function, &found) ? found.name : "callback");
  Status status = table_.add(&ops);
  if (!status.ok()) switch_off(entry->callback);
  return status;
}

HitCallback* CallbackOps::remove(Id id) {
  Entry* entry = find(id);
  if (!entry || !entry->ops.registered) return nullptr;
  switch_off(entry->callback);
  table_.remove(&entry->ops);
  return entry->callback;
}

void CallbackOps::forget(Id id) {
  Entry* entry = find(id);
  if (!entry || entry->ops.registered) return;
  table_.unfollow(&entry->ops);
  entries_.erase(id);
}

std::vector<CallbackOps::Id> CallbackOps::inside(uint64_t start, uint64_t end) const {
  std::vector<Id> found;
  for (const auto& [id, entry] : entries_) {
    if (!entry->ops.registered) continue;
    for (const uint64_t word : {entry->callback->function, entry->callback->argument})
      if (start <= word && word < end && (found.empty() || found.back() != id)) found.push_back(id);
  }
  return found;
}

uint64_t CallbackOps::missed(Id id) const {
  const Entry* entry = find(id);
  return entry && entry->callback ? __atomic_load_n(&entry->callback->missed, __ATOMIC_RELAXED) : 0;
}

}  // namespace patchbay
