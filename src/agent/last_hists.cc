// SPDX-License-Identifier: MIT
//
// The histograms of a program that ends by exit() or returns from main(): nobody can ask it any
// more, so it leaves them beside its buffer, where `patchbay hist` looks for them.
//
//   DIR/PID/hist/[INSTANCE/]SYSTEM:EVENT      what events/SYSTEM/EVENT/hist_image said
//
// A program that is killed, or calls _exit() or exec, leaves nothing here.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

#include "agent/agent.h"
#include "agent/last_texts.h"
#include "trigger/hist_triggers.h"

namespace patchbay {
namespace {

std::string text_of(Agent* agent, const std::string& path) {
  Result<tracefs::Node> node = tracefs::lookup(*agent->root, path);
  if (!node.ok() || !node->file || !node->file->open(O_RDONLY).ok()) return "";
  Result<std::string> text = node->file->read();
  return text.ok() ? *text : "";
}

void keep_hists_of(Agent* agent, const TraceArray& array) {
  const std::string own = array.is_top() ? "" : array.name + "/";
  const std::string directory = agent->directory + "/hist/";
  for (LiveEvent* event : agent->registry->events_of(array, "")) {
    if (agent->triggers->hists().of(array, event).empty()) continue;
    ::mkdir(directory.c_str(), 0700);
    if (!own.empty()) ::mkdir((directory + own).c_str(), 0700);
    const std::string name = event->call.system + "/" + event->call.name;
    const std::string below = own.empty() ? "" : "instances/" + own;
    const std::string path = directory + own + event->call.system + ":" + event->call.name;
    // A part of a table would be taken for all of it.
    if (!keep_text(path, text_of(agent, below + "events/" + name + "/hist_image")))
      ::unlink(path.c_str());
  }
}

__attribute__((destructor)) void keep_last_hists() try {
  Agent* agent = own_agent();
  if (!agent || !agent->triggers || agent->directory.empty()) return;
  AgentScope scope;
  std::unique_lock guard(agent->lock(), std::defer_lock);
  if (!take_lock_at_end(&guard)) return;
  keep_hists_of(agent, agent->registry->top());
  for (TraceArray* array : agent->registry->arrays()) keep_hists_of(agent, *array);
} catch (const std::bad_alloc&) {
  say("out of memory; the histograms are not kept");
}

}  // namespace
}  // namespace patchbay
