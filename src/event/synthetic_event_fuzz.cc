// SPDX-License-Identifier: MIT
// libFuzzer: any bytes as a line of synthetic_events or dynamic_events. What is taken can be listed
// and is taken again, with the same event; an error's caret stands in the line.
#include <cstdint>
#include <cstdlib>

#include "event/synthetic_event.h"

using namespace patchbay;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const bool dynamic = data[0] & 1;
  std::string line = dynamic ? "s:" : "";
  line.append(reinterpret_cast<const char*>(data + 1), size - 1);
  auto exists = [](std::string_view name) { return name == "old"; };
  const SyntheticForm form = dynamic ? SyntheticForm::kDynamic : SyntheticForm::kOwn;
  SyntheticParse parsed = parse_synthetic_event(line, form, exists);
  if (parsed.error.has_value() == parsed.definition.has_value()) std::abort();
  if (parsed.error) {
    if (parsed.error->position > line.size() || parsed.error->text.empty()) std::abort();
    return 0;
  }
  const std::string shown = parsed.definition->show();
  SyntheticParse again = parse_synthetic_event(shown, SyntheticForm::kOwn, exists);
  if (!again.definition || again.definition->show() != shown) std::abort();
  if (make_synthetic_event_call(*parsed.definition).format_text() !=
      make_synthetic_event_call(*again.definition).format_text())
    std::abort();
  return 0;
}
