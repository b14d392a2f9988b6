// SPDX-License-Identifier: MIT
//
// How the line of a probe event begins (docs/files.md, "Probes"). The print fmt says "(%lx)" and
// "(%lx <- %lx)"; the kernel's own printer shows more, and the other way round:
//
//   kByFields  (vfs_read+0x4/0x370)    (ksys_read+0x6b/0xf0 <- vfs_read)
//   kNumbers   (0x401000)              (0x401005 <- 0x401000)
//   kSource    (group.event)
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "event/event_call.h"
#include "output/print_fmt.h"

namespace patchbay {

class ProbeHeadText {
 public:
  // `escape`: the event comes out of a foreign file, its names must not command a terminal.
  ProbeHeadText(const EventCall& call, bool escape);

  bool is_probe() const { return kind_ != Kind::kNone; }
  // Fields in front of the arguments: 0, 1 or 2.
  size_t nr_fields() const { return kind_ == Kind::kEntry ? 1 : kind_ == Kind::kReturn ? 2 : 0; }
  // The print fmt of the arguments alone: `" n=%Lu", REC->n`, or as it is if it begins otherwise.
  std::string arguments_fmt(const EventCall& call) const;
  // A record that is too short for its addresses shows "(cut)".
  void append(std::string* out, std::span<const uint8_t> record, TextContext* context) const;
  // ,"function":"vfs_read+0x4/0x370" and, of returns, ,"caller":… in front of it.
  void append_json(std::string* out, std::span<const uint8_t> record, TextContext* context) const;

 private:
  enum class Kind : uint8_t { kNone, kEntry, kReturn, kSource };
  bool has_addresses(std::span<const uint8_t> record) const;

  Kind kind_ = Kind::kNone;
  bool numbers_ = false;
  uint32_t first_ = 0, second_ = 0;  // offsets of the address fields
  std::string source_;
};

}  // namespace patchbay
