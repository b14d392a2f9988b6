// SPDX-License-Identifier: MIT
//
// dynamic_events: probe events, synthetic events and function events in the order in which they
// were defined. A line of any kind defines one; a removal takes whatever has the name
// (docs/files.md, "Probes", "Synthetic events", "Function events", of which the kernel has none).
#include <fcntl.h>

#include "event/function_event.h"
#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

constexpr std::string_view kSynthetic = "synthetic";
constexpr std::string_view kFunctions = "functions";
constexpr ProbeFile kFile = ProbeFile::kDynamicEvents;

// "s:synthetic/NAME\tFIELDS" -> NAME
std::string_view name_of(std::string_view line) {
  line.remove_prefix(std::min(line.find('/'), line.size() - 1) + 1);
  return line.substr(0, line.find_first_of(" \t;"));
}

class DynamicEventsFile : public File {
 public:
  explicit DynamicEventsFile(const TreeContext& context) : context_(context) {}
  uint32_t mode() const override { return kWritable; }

  Status open(uint32_t flags) override {
    const bool clears = (flags & O_ACCMODE) != O_RDONLY && flags & O_TRUNC;
    return clears ? clear() : Status();
  }
  Result<std::string> read() override;
  Result<size_t> write(std::string_view bytes) override {
    return for_each_line(bytes, [this](std::string_view line) { return execute(line); });
  }

 private:
  Status clear();
  Status check_disabled(std::string_view system) const;
  Status execute(std::string_view line);
  Status remove(const ProbeRemoval& removal);
  Status remove_function(const ProbeRemoval& removal, bool* found);

  const TreeContext& context_;
};

Status DynamicEventsFile::check_disabled(std::string_view system) const {
  Registry& registry = context_.registry;
  std::vector<TraceArray*> arrays = registry.arrays();
  arrays.push_back(&registry.top());
  for (const LiveEvent* live : registry.events_of(registry.top(), system))
    for (const TraceArray* array : arrays)
      if (registry.is_enabled(*array, live))
        return user_error(EBUSY, "The event " + live->call.name + " is enabled.");
  return {};
}

// All or none, though they are three kinds: probes first, because they may stand on the others.
Status DynamicEventsFile::clear() {
  PB_TRY(context_.probes.check_clear(kFile));
  PB_TRY(check_disabled(kSynthetic));
  if (!context_.functions.lines().empty()) PB_TRY(check_disabled(kFunctions));
  PB_TRY(context_.probes.clear(kFile));
  PB_TRY(context_.functions.clear());
  return context_.synthetic.clear();
}

Result<std::string> DynamicEventsFile::read() {
  std::vector<ProbeEvents::Line> lines;
  for (auto& [id, text] : context_.functions.lines()) lines.push_back({id, std::move(text)});
  const std::string synthetic = context_.synthetic.show_dynamic();
  for (std::string_view rest = synthetic; !rest.empty();) {
    const size_t size = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view line = rest.substr(0, size);
    rest.remove_prefix(size);
    const LiveEvent* live = context_.registry.find_event(kSynthetic, name_of(line));
    lines.push_back({live ? live->call.id : 0u, std::string(line.substr(0, line.find('\n')))});
  }
  // Another place of a probe event has the rank of what was newest then, and stands behind it.
  for (ProbeEvents::Line& line : context_.probes.lines(kFile)) lines.push_back(std::move(line));
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.rank < b.rank; });
  std::string text;
  for (const ProbeEvents::Line& line : lines) text += line.text + "\n";
  return text;
}

Status DynamicEventsFile::execute(std::string_view line) {
  if (line.starts_with('!') && context_.functions.has(line.substr(1)))
    return context_.functions.write_line(line);
  if (is_probe_removal(line)) {
    ProbeRemovalParse parsed = parse_probe_removal(line, kFile);
    // For its error.
    if (!parsed.removal) return context_.probes.write_line(kFile, line);
    return remove(*parsed.removal);
  }
  if (line.starts_with("s:")) return context_.synthetic.write_dynamic_line(line);
  if (is_function_event_line(line)) return context_.functions.write_line(line);
  return context_.probes.write_line(kFile, line);
}

// `-:functions/` is all of them.
Status DynamicEventsFile::remove_function(const ProbeRemoval& removal, bool* found) {
  *found = false;
  const bool is_meant = removal.group.empty() || removal.group == kFunctions;
  if (!is_meant || !removal.place.empty()) return {};
  if (removal.event.empty()) {
    *found = !context_.functions.lines().empty();
    return context_.functions.clear();
  }
  *found = context_.registry.find_event(kFunctions, removal.event) &&
           context_.functions.has(removal.event);
  return *found ? context_.functions.write_line("!" + removal.event) : Status();
}

Status DynamicEventsFile::remove(const ProbeRemoval& removal) {
  bool is_function = false;
  PB_TRY(remove_function(removal, &is_function));
  const bool is_synthetic = (removal.group.empty() || removal.group == kSynthetic) &&
                            context_.synthetic.has(removal.event);
  if (is_synthetic) PB_TRY(context_.synthetic.remove(removal.event));
  Status status = context_.probes.remove(removal, kFile);
  if ((is_synthetic || is_function) && !status.ok() && status.error().errno_value == ENOENT)
    return {};
  return status;
}

}  // namespace

FilePtr make_dynamic_events(const Place& place) {
  return std::make_unique<DynamicEventsFile>(place.tree->context);
}

}  // namespace patchbay::tracefs
