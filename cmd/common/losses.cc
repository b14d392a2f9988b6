// SPDX-License-Identifier: MIT
#include "cmd/common/losses.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace patchbay::cmd {
namespace {

// The number behind "\nNAME: " in the statistics of a CPU; false: it is not there.
bool statistic(const std::string& text, const std::string& name, uint64_t* value) {
  const std::string label = name + ": ";
  size_t at = text.starts_with(label) ? 0 : text.find("\n" + label);
  if (at == text.npos) return false;
  at = text.find(": ", at) + 2;
  *value = std::strtoull(text.c_str() + at, nullptr, 10);
  return true;
}

}  // namespace

uint64_t Losses::lost() const {
  uint64_t sum = 0;
  for (const auto& [cpu, count] : by_cpu) sum += count;
  return sum;
}

void LossCounter::take(const MergedEvent& event) {
  if (event.lost_before == 0) return;
  Cpu& cpu = cpus_[event.cpu];
  cpu.unknown |= event.lost_before == kLostUnknown;
  cpu.lost += event.lost_before == kLostUnknown ? 1 : event.lost_before;  // one at least
}

Losses LossCounter::finish(const TraceInput& input) const {
  std::map<uint32_t, Cpu> cpus = cpus_;
  std::map<uint32_t, uint64_t> dropped;
  for (const BufferPart& part : input.source.parts) {
    auto file = input.buffer ? BufferFile::open(part.path, false) : sys_error("open", EINVAL);
    for (uint32_t ring = 0; file.ok() && ring < (*file)->nr_rings(); ring++)
      dropped[ring] += (*file)->stats(ring).dropped;
  }
  if (input.dat) {
    for (const std::string& text : input.dat->cpu_stats()) {
      uint64_t number = 0, overrun = 0, drops = 0;
      if (!statistic(text, "CPU", &number)) continue;
      if (statistic(text, "dropped events", &drops)) dropped[uint32_t(number)] += drops;
      Cpu& cpu = cpus[uint32_t(number)];
      if (statistic(text, "overrun", &overrun) && overrun >= cpu.lost) cpu = {overrun, false};
    }
  }
  Losses losses;
  for (const auto& [number, cpu] : cpus) {
    losses.at_least |= cpu.unknown;
    if (cpu.lost) losses.by_cpu[number] += cpu.lost;
  }
  for (const auto& [number, count] : dropped)
    if (count) losses.by_cpu[number] += count;
  return losses;
}

void print_losses(std::string_view command, const Losses& losses) {
  const uint64_t sum = losses.lost();
  if (sum == 0) return;
  std::string cpus;
  for (const auto& [cpu, count] : losses.by_cpu)
    cpus += (cpus.empty() ? "cpu" : ", cpu") + std::to_string(cpu) + " " + std::to_string(count);
  std::fprintf(stderr, "patchbay %.*s: lost %s%llu event%s (%s)\n", int(command.size()),
               command.data(), losses.at_least ? "at least " : "",
               static_cast<unsigned long long>(sum), sum == 1 ? "" : "s", cpus.c_str());
}

}  // namespace patchbay::cmd
