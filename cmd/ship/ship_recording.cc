// SPDX-License-Identifier: MIT
#include "cmd/ship/ship_recording.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "abi/trace_dat_abi.h"
#include "base/foreign_file.h"
#include "base/text.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kHashedBytes = 64 << 10;  // at either end of a file

uint64_t add_to_hash(uint64_t hash, const void* bytes, size_t size) {
  const auto* at = static_cast<const uint8_t*>(bytes);
  for (size_t i = 0; i < size; i++) hash = (hash ^ at[i]) * 0x100000001b3;
  return hash;
}

// The same file has the same number wherever it lies: its head has the formats, its end events.
Result<uint64_t> source_of_file(const std::string& path) {
  uint64_t size = 0;
  PB_ASSIGN(const UniqueFd fd, open_foreign_file(path, INT64_MAX, &size));
  std::vector<uint8_t> bytes(std::min<uint64_t>(kHashedBytes, size));
  uint64_t hash = add_to_hash(0xcbf29ce484222325, &size, sizeof size);
  for (const uint64_t offset : {uint64_t{0}, size - bytes.size()}) {
    if (!read_exactly(fd.get(), offset, bytes.data(), bytes.size()))
      return sys_error("read " + path, EIO);
    hash = add_to_hash(hash, bytes.data(), bytes.size());
  }
  return hash;
}

std::string this_boot() {
  Result<std::string> id = read_file("/proc/sys/kernel/random/boot_id");
  return id.ok() ? std::string(trim(*id)) : "";
}

// "BOOT-ID NS"
void take_boot(std::string_view text, ShipOrigin* origin) {
  text = text.substr(0, text.find('\0'));
  const std::vector<std::string_view> words = split_words(text);
  if (words.size() != 2) return;
  (void)parse_boot_id(words[0], &origin->boot_id);
  origin->has_wall = to_number(words[1], &origin->wall_offset);
}

}  // namespace

Result<ShipOrigin> origin_of(const ExportInput& input, const ShipRequest& request) {
  ShipOrigin origin;
  origin.source = request.source;
  if (input.dat) {
    for (const TraceDatReader::Part& option : input.dat->options())
      if (option.id == abi::kDatBoot) take_boot(option.body, &origin);
  } else {
    const std::vector<abi::ClockPair> pairs = input.buffer->clock_pairs();
    if (!pairs.empty())
      take_boot(
          this_boot() + " " + std::to_string(int64_t(pairs.back().real_ns - pairs.back().mono_ns)),
          &origin);
  }
  if (origin.source != 0) return origin;
  PB_ASSIGN(origin.source, source_of_file(trace_input_of(input).path));
  return origin;
}

std::vector<ShipLoss> dropped_of(const ExportInput& input) {
  std::vector<ShipLoss> losses;
  if (!input.dat) return losses;
  for (const std::string& text : input.dat->cpu_stats()) {
    ShipLoss loss;
    loss.reason = "dropped";
    for (const std::string& line : split_lines(text)) {
      if (line.starts_with("CPU: ")) (void)to_number(line.substr(5), &loss.cpu);
      if (line.starts_with("dropped events: ")) (void)to_number(line.substr(16), &loss.lost);
    }
    if (loss.lost) losses.push_back(loss);
  }
  return losses;
}

Status ship_recordings(const ShipRequest& request, const ShipInto& into) {
  PB_ASSIGN(std::vector<ExportInput> inputs, open_export_inputs({request.path}));
  for (ExportInput& input : inputs) {
    PB_ASSIGN(ShipOrigin origin, origin_of(input, request));
    const std::vector<ShipLoss> losses = dropped_of(input);
    std::vector<ExportInput> one;
    one.push_back(std::move(input));
    PB_ASSIGN(auto source, ExportSource::open(std::move(one), request.choice));
    const ExportMeta& meta = source->meta();
    origin.host = !request.host.empty() ? request.host : meta.hosts[meta.inputs[0].host];
    PB_TRY(into(source.get(), origin, losses));
  }
  return {};
}

}  // namespace patchbay::cmd
