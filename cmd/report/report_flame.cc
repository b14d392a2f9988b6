// SPDX-License-Identifier: MIT
#include "cmd/report/report_flame.h"

#include <cstdio>
#include <filesystem>

#include "base/output_file.h"
#include "cmd/common/commands.h"
#include "cmd/report/flame.h"
#include "output/trace_line.h"

namespace patchbay::cmd {
namespace {

FlameOptions head_of(const std::string& input, const FlameStacks& stacks) {
  FlameOptions options;
  append_escaped(&options.title, std::filesystem::path(input).filename().string());
  if (!stacks.in_ns) {
    options.subtitle = std::to_string(stacks.frames[0].weight) + " samples";
    return options;
  }
  std::string time = time_text(stacks.frames[0].weight);
  options.subtitle =
      std::to_string(stacks.totals.calls) + " calls, " + time.substr(time.find_first_not_of(' '));
  return options;
}

}  // namespace

int report_flame(const std::string& input, const FlameRequest& request) {
  auto source = GraphSource::open(input);
  if (!source.ok()) return fail("report", source.error());
  (*source)->show_progress("report");
  (*source)->choose(request.who);
  auto stacks = read_stacks(**source, request.group);
  if (!stacks.ok()) return fail("report", stacks.error());
  if (request.folded) {
    std::string text = folded_text(*stacks);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  if (!request.output.empty()) {
    const Status written =
        write_output(request.output, flame_svg(*stacks, head_of(input, *stacks)));
    if (!written.ok()) return fail("report", written.error());
  }
  print_graph_notes("report", (*source)->losses(), stacks->totals);
  return kOk;
}

}  // namespace patchbay::cmd
