// SPDX-License-Identifier: MIT
#include "agent/apply_conf.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "agent/agent.h"
#include "agent/start_up.h"
#include "base/raw_syscall.h"
#include "event/error_log.h"
#include "registry/event_requests.h"

namespace patchbay {

using tracefs::ConfItem;
using tracefs::ConfKind;

Status write_file(Agent* agent, const std::string& path, std::optional<std::string_view> text,
                  int flags) {
  PB_ASSIGN(auto node, tracefs::lookup(*agent->root, path));
  if (!node.file) return sys_error(path, EISDIR);
  PB_TRY(node.file->open(uint32_t(flags)));
  const tracefs::Caller caller{uint32_t(raw_syscall(SYS_gettid))};
  while (text) {
    PB_ASSIGN(auto taken, node.file->write_as(*text, caller));
    text->remove_prefix(std::min(taken, text->size()));
    if (taken == 0 || text->empty()) break;
  }
  return node.file->flush();
}

namespace {

// A file with a filter of functions that fits none says what an empty one does.
bool names_all_functions(Agent* agent, const std::string& path) {
  auto node = tracefs::lookup(*agent->root, path);
  if (!node.ok() || !node->file || !node->file->open(O_RDONLY).ok()) return false;
  auto text = node->file->read_next(4096, tracefs::ReadMode::kAny);
  return text.ok() && text->starts_with("#### all functions enabled");
}

}  // namespace

Status write_setting(Agent* agent, const std::string& instance, const std::string& file,
                     std::optional<std::string_view> text, int flags) {
  const std::string path = instance.empty() ? file : "instances/" + instance + "/" + file;
  if (file == "current_tracer" && agent->unfit_filters.contains(instance) && text &&
      !text->starts_with("nop"))
    return user_error(EINVAL,
                      "The tracer is not started: no function fits its filter, and without "
                      "one it would trace all.");
  Status status = write_file(agent, path, text, flags);
  if (file != "set_ftrace_filter" && file != "set_graph_function") return status;
  if (!status.ok() && names_all_functions(agent, path))
    agent->unfit_filters.insert(instance);
  else if (status.ok())
    agent->unfit_filters.erase(instance);
  return status;
}

namespace {

Status carry_out(Agent* agent, const ConfItem& item, const std::string& where) {
  const ErrorOrigin origin(where);
  std::optional<std::string> text;  // none: = only clears, where echo would write a newline
  if (!item.text.empty()) text = item.text + "\n";
  Status status = write_setting(agent, item.instance, item.name, text,
                                O_WRONLY | (item.append ? O_APPEND : O_TRUNC));
  if (!status.ok() && origin.has_entries()) {
    tell_mistake(agent, where + ": " + status.error().message());
    return {};
  }
  return status;
}

bool may_come(const ConfItem& item, const Status& status) {
  return !status.ok() && status.error().errno_value == ENOENT && item.name.starts_with("events/");
}

// set_event, word by word: each may have to wait.
void set_events(Agent* agent, TraceArray& array, const ConfItem& item, const std::string& where) {
  if (!item.append) report(agent, where, item.name, agent->registry->requests().clear(array));
  std::string_view rest = item.text;
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    if (rest.empty()) return;
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
    rest.remove_prefix(word.size());
    set_event(agent, array, where, std::string(word));
  }
}

void take_item(Agent* agent, const ConfSource& source, const ConfItem& item) {
  Registry& registry = *agent->registry;
  const std::string where = source.name + ":" + std::to_string(item.line);
  TraceArray* array = item.instance.empty() ? &registry.top() : registry.find_array(item.instance);
  if (item.kind == ConfKind::kInstance && !array) {
    auto made = registry.create_array(item.instance);
    if (!made.ok()) report(agent, where, item.instance, made.error());
  } else if (item.kind == ConfKind::kWrite && array && item.name == "set_event") {
    set_events(agent, *array, item, where);
  } else if (item.kind == ConfKind::kWrite && array) {
    const Status status = carry_out(agent, item, where);
    if (may_come(item, status))
      agent->waiting_writes.push_back({item, where});
    else
      report(agent, where, item.name + " = " + item.text, status);
  }
}

}  // namespace

[[gnu::cold]] void apply_conf(Agent* agent) {
  for (const ConfSource& source : agent->settings.sources) {
    if (!source.failure.empty())
      report(agent, "PATCHBAY_CONFIG", source.name, user_error(EINVAL, source.failure));
    for (const tracefs::ConfMistake& mistake : source.conf.mistakes)
      report(agent, source.name + ":" + std::to_string(mistake.line), mistake.text,
             user_error(EINVAL, mistake.sentence), mistake.column);
    for (const ConfItem& item : source.conf.items) take_item(agent, source, item);
  }
}

void retry_waiting_writes(Agent* agent) {
  std::erase_if(agent->waiting_writes, [agent](const WaitingWrite& waiting) {
    const ConfItem& item = waiting.item;
    TraceArray* array = item.instance.empty() ? &agent->registry->top()
                                              : agent->registry->find_array(item.instance);
    if (!array) return true;
    const Status status = carry_out(agent, item, waiting.where);
    if (may_come(item, status)) return false;
    report(agent, waiting.where, item.name + " = " + item.text, status);
    return true;
  });
}

void report_waiting_writes(Agent* agent) {
  for (const WaitingWrite& waiting : agent->waiting_writes)
    report(agent, waiting.where, waiting.item.name, user_error(ENOENT, "there is no such event"));
}

}  // namespace patchbay
