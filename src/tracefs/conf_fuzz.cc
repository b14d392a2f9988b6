// SPDX-License-Identifier: MIT
// Any text is a configuration file: what is understood of it lies on its lines, in their order, and
// says the same when it is written down again.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tracefs/conf_parse.h"

using namespace patchbay::tracefs;

namespace {

void expect(bool holds) {
  if (!holds) std::abort();
}

std::string written_down(const Conf& conf) {
  std::string text, instance;
  for (const ConfItem& item : conf.items) {
    if (item.instance != instance && item.instance.empty()) text += "[top]\n";
    instance = item.instance;
    if (item.kind == ConfKind::kInstance)
      text += "[instance " + item.instance + "]\n";
    else
      text += item.name + (item.append ? " += " : " = ") + item.text + "\n";
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Conf conf = parse_conf(text);
  uint32_t lines = 1, before = 0;
  for (char c : text) lines += c == '\n';
  for (const ConfItem& item : conf.items) {
    expect(item.line > before && item.line <= lines);
    before = item.line;
    expect(item.text.find('\n') == item.text.npos && item.text.find('\0') == item.text.npos);
    expect((item.kind == ConfKind::kInstance) == item.name.empty());
  }
  for (const ConfMistake& mistake : conf.mistakes) {
    expect(mistake.line >= 1 && mistake.line <= lines);
    expect(mistake.column <= mistake.text.size() && !mistake.sentence.empty());
  }
  for (const ConfSection& section : conf.sections)
    for (const ConfSetting& setting : section.settings) {
      expect(setting.line > section.line && setting.line <= lines);
      expect(setting.column <= setting.source.size() && !setting.name.empty());
      expect(setting.source.compare(setting.column, setting.text.size(), setting.text) == 0);
    }
  for (const ConfItem& item : conf.items)
    if (item.text.ends_with('\\')) return 0;  // would be continued
  const Conf again = parse_conf(written_down(conf));
  expect(again.mistakes.empty() && again.items.size() == conf.items.size());
  for (size_t i = 0; i < conf.items.size(); i++) {
    const ConfItem &a = conf.items[i], &b = again.items[i];
    expect(a.kind == b.kind && a.append == b.append && a.instance == b.instance &&
           a.name == b.name && a.text == b.text);
  }
  return 0;
}
