// SPDX-License-Identifier: MIT
// What the files of probe events show.
#include <cstdio>

#include "probe/hit_counter.h"
#include "registry/probes/probe_events_impl.h"

namespace patchbay {

namespace {

constexpr int kNameColumn = 44, kCountColumn = 15;

std::string column(const std::string& text, int width) {
  std::string shown = text;
  if (shown.size() < size_t(width)) shown.append(size_t(width) - shown.size(), ' ');
  return shown;
}

std::string count_column(uint64_t count) {
  char text[24];
  std::snprintf(text, sizeof text, " %*llu", kCountColumn, static_cast<unsigned long long>(count));
  return text;
}

uint64_t hits_of(const Probe& probe) {
  return read_hit_counter(probe.counts.hits) - probe.hits_before;
}

bool is_jump(SiteKind kind) {
  return kind == SiteKind::kSled || kind == SiteKind::kJump || kind == SiteKind::kShortJump ||
         kind == SiteKind::kProbeJump;
}

}  // namespace

std::vector<ProbeEvents::Line> ProbeEvents::lines(ProbeFile file) const {
  std::vector<Line> all;
  for (const Probe* probe : impl_->probes)
    if (impl_->is_of(file, *probe)) all.push_back({probe->rank, probe->definition.show()});
  return all;
}

std::string ProbeEvents::show(ProbeFile file) const {
  std::string text;
  for (const Line& line : lines(file)) text += line.text + "\n";
  return text;
}

std::string ProbeEvents::kprobe_profile() const {
  std::string text;
  for (const Probe* probe : impl_->probes) {
    if (probe->definition.kind != ProbeKind::kKprobe) continue;
    text += "  " + column(probe->definition.event, kNameColumn) + count_column(hits_of(*probe)) +
            count_column(__atomic_load_n(&probe->counts.missed, __ATOMIC_RELAXED)) + "\n";
  }
  return text;
}

std::string ProbeEvents::uprobe_profile() const {
  std::string text;
  for (const Probe* probe : impl_->probes) {
    if (probe->definition.kind != ProbeKind::kUprobe) continue;
    text += "  " + probe->definition.symbol + " " + column(probe->definition.event, kNameColumn) +
            count_column(hits_of(*probe)) + "\n";
  }
  return text;
}

std::string ProbeEvents::list() const {
  std::string text;
  for (const Probe* probe : impl_->probes) {
    for (const auto& spot : probe->spots) {
      char address[24];
      std::snprintf(address, sizeof address, "%016llx",
                    static_cast<unsigned long long>(spot->place.ip));
      const bool on = !probe->event->live->programs.empty();
      text += std::string(address) + (spot->place.on_return ? "  r  " : "  k  ") + spot->name;
      text += "  " + (spot->module->identity().is_executable ? " " : spot->module->name()) + " ";
      if (!on) text += "[DISABLED]";
      if (on && !spot->place.disarmed && is_jump(impl_->sites.active_kind(spot->place)))
        text += "[OPTIMIZED]";
      text += '\n';
    }
  }
  return text;
}

}  // namespace patchbay
