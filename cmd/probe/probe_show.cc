// SPDX-License-Identifier: MIT
#include "cmd/probe/probe_show.h"

#include <fnmatch.h>

#include <algorithm>
#include <sstream>

#include "base/foreign_file.h"
#include "cmd/common/commands.h"
#include "cmd/target/prototypes.h"

namespace patchbay::cmd {
namespace {

void print_without_source(const FunctionLines& lines) {
  for (int line : lines.lines) std::printf("%7d\n", line - lines.first);
}

void print_with_source(const FunctionLines& lines, std::istream& source) {
  std::string text;
  for (int number = 1; number <= lines.last && std::getline(source, text); number++) {
    if (number < lines.first) continue;
    bool can_probe = std::binary_search(lines.lines.begin(), lines.lines.end(), number);
    if (can_probe)
      std::printf("%7d  %s\n", number - lines.first, printable(text).c_str());
    else
      std::printf("         %s\n", printable(text).c_str());
  }
}

}  // namespace

int show_lines(SourceProbes& source, const ProbeRequest& request) {
  Result<FunctionLines> lines = source.lines(request);
  if (!lines.ok()) return fail("probe", lines.error());
  std::printf("<%s@%s:0>\n", one_line(lines->function).c_str(), one_line(lines->file).c_str());
  const Result<std::string> text = read_foreign_file(lines->file, kMostForeignText);
  std::istringstream file(text.ok() ? text.value() : "");
  if (text.ok())
    print_with_source(*lines, file);
  else
    print_without_source(*lines);
  return kOk;
}

int show_variables(SourceProbes& source, const ProbeRequest& request) {
  Result<std::vector<VisibleVariables>> places = source.variables(request);
  if (!places.ok()) return fail("probe", places.error());
  for (const VisibleVariables& place : *places) {
    std::printf("@<%s>\n", one_line(place.place).c_str());
    for (const auto& row : place.rows) {
      std::printf("        %-23s %-15s %s\n", one_line(row.type).c_str(),
                  one_line(row.name).c_str(),
                  one_line(row.fetch.empty() ? "(" + row.why + ")" : row.fetch).c_str());
    }
    if (place.rows.empty()) std::printf("        (no variables)\n");
  }
  return kOk;
}

int show_functions(SourceProbes& source, const std::string& glob) {
  for (const std::string& name : source.functions()) {
    if (glob.empty() || ::fnmatch(glob.c_str(), name.c_str(), 0) == 0)
      std::printf("%s\n", one_line(name).c_str());
  }
  return kOk;
}

int show_prototype(const std::vector<std::string>& objects, const std::string& function) {
  Prototypes prototypes(objects);
  const Prototype found = prototypes.of(function, "");
  switch (found.source) {
    case Prototype::Source::kDebugInfo:
      std::printf("# debug information of %s\n", one_line(found.where).c_str());
      break;
    case Prototype::Source::kFile:
      std::printf("# %s\n# %s\n", one_line(found.where).c_str(),
                  printable(found.declaration).c_str());
      break;
    case Prototype::Source::kNone:
      std::printf("# nothing says what its arguments are: six words\n");
  }
  for (const std::string& line : found.lines) std::printf("%s\n", one_line(line).c_str());
  for (const std::string& note : found.notes) std::printf("# %s\n", printable(note).c_str());
  return kOk;
}

}  // namespace patchbay::cmd
