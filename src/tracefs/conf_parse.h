// SPDX-License-Identifier: MIT
//
// The configuration file that a program starts with (man/patchbay.conf.5.scd), as text to a list of
// what it asks for, in its order:
//
//   # comment
//   trace_clock = mono                        FILE = TEXT     as echo TEXT > FILE
//   dynamic_events += p:mine/open open \      FILE += TEXT    as echo TEXT >> FILE
//       path=$arg1:ustring
//   PATCHBAY_TRACE_EVENT = mine               a variable of the environment
//   [instance net]                            files of instances/net, which is made; [top]: of the
//   events/mine/enable = 1                    root again
//   [serve]                                   settings of a command of the tool, which reads the
//   listen = 127.0.0.1:9797                   same file (cmd/common/daemon_conf.h)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay::tracefs {

enum class ConfKind : uint8_t {
  kInstance,  // [instance NAME]: to be made unless it is there
  kWrite,
  kVariable,
};

struct ConfItem {
  ConfKind kind = ConfKind::kWrite;
  bool append = false;   // +=
  uint32_t line = 0;     // where it begins, from 1
  std::string instance;  // "": the top one
  std::string name;      // a file below the instance, or a variable
  std::string text;      // without a newline, continued lines joined; may be empty
};

// A section of the tool's: [serve], [ship], [attach]. It may stand there several times.
struct ConfSetting {
  uint32_t line = 0, column = 0;  // where it begins, and where its text does
  std::string name, text;
  std::string source;  // the line
};
struct ConfSection {
  uint32_t line = 0;
  std::string name;
  std::vector<ConfSetting> settings;
};

struct ConfMistake {
  uint32_t line = 0;
  uint32_t column = 0;  // characters before the caret
  std::string text;     // the line
  std::string sentence;
};

struct Conf {
  std::vector<ConfItem> items;        // the agent's
  std::vector<ConfSection> sections;  // the tool's
  std::vector<ConfMistake> mistakes;  // their lines are left out, the others hold
};

inline constexpr std::string_view kConfVariablePrefix = "PATCHBAY_";

Conf parse_conf(std::string_view text);

}  // namespace patchbay::tracefs
