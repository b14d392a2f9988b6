// SPDX-License-Identifier: MIT
//
// dynamic_events: probe events and synthetic events in the order in which they were defined. A line
// of any kind defines one; a removal takes whatever has the name (spec: ftrace.md 6.1, 5.1).
#include <fcntl.h>

#include "tracefs/files/files.h"

namespace patchbay::tracefs {
namespace {

constexpr std::string_view kSynthetic = "synthetic";
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
  Status execute(std::string_view line);
  Status remove(const ProbeRemoval& removal);

  const TreeContext& context_;
};

// All or none, though they are two kinds: probes first, because they may stand on the others.
Status DynamicEventsFile::clear() {
  PB_TRY(context_.probes.check_clear(kFile));
  Registry& registry = context_.registry;
  std::vector<TraceArray*> arrays = registry.arrays();
  arrays.push_back(&registry.top());
  for (const LiveEvent* live : registry.events_of(registry.top(), kSynthetic))
    for (const TraceArray* array : arrays)
      if (registry.is_enabled(*array, live))
        return user_error(EBUSY, "The event " + live->call.name + " is enabled.");
  PB_TRY(context_.probes.clear(kFile));
  return context_.synthetic.clear();
}

Result<std::string> DynamicEventsFile::read() {
  std::string text;
  const std::vector<ProbeEvents::Line> probes = context_.probes.lines(kFile);
  auto next = probes.begin();
  const std::string synthetic = context_.synthetic.show_dynamic();
  for (std::string_view rest = synthetic; !rest.empty();) {
    const size_t size = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view line = rest.substr(0, size);
    rest.remove_prefix(size);
    const LiveEvent* live = context_.registry.find_event(kSynthetic, name_of(line));
    const uint32_t id = live ? live->call.id : 0;
    for (; next != probes.end() && next->rank < id; ++next) text += next->text + "\n";
    text += line;
  }
  for (; next != probes.end(); ++next) text += next->text + "\n";
  return text;
}

Status DynamicEventsFile::execute(std::string_view line) {
  if (is_probe_removal(line)) {
    ProbeRemovalParse parsed = parse_probe_removal(line, kFile);
    // For its error.
    if (!parsed.removal) return context_.probes.write_line(kFile, line);
    return remove(*parsed.removal);
  }
  if (line.starts_with("s:")) return context_.synthetic.write_dynamic_line(line);
  return context_.probes.write_line(kFile, line);
}

Status DynamicEventsFile::remove(const ProbeRemoval& removal) {
  const bool is_synthetic = (removal.group.empty() || removal.group == kSynthetic) &&
                            context_.synthetic.has(removal.event);
  if (is_synthetic) PB_TRY(context_.synthetic.remove(removal.event));
  Status status = context_.probes.remove(removal, kFile);
  if (is_synthetic && !status.ok() && status.error().errno_value == ENOENT) return {};
  return status;
}

}  // namespace

FilePtr make_dynamic_events(const Place& place) {
  return std::make_unique<DynamicEventsFile>(place.tree->context);
}

}  // namespace patchbay::tracefs
