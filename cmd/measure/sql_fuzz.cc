// SPDX-License-Identifier: MIT
// Statements of `patchbay sql`: whatever they are, they are parsed and built, or refused with a
// place inside them.
#include <cstdlib>

#include "cmd/measure/hist_plan.cc"  // the tool is no library
#include "cmd/measure/sql_build.cc"  // NOLINT
#include "cmd/measure/sql_parse.cc"  // NOLINT

using namespace patchbay;
using namespace patchbay::cmd;

namespace {

constexpr char kFormat[] =
    "name: e\nID: 1\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n"
    "\tfield:__data_loc char[] t;\toffset:12;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view statement(reinterpret_cast<const char*>(data), size);
  SqlParse parse = parse_sql(statement);
  if (parse.query.has_value() == parse.error.has_value()) std::abort();
  std::optional<SqlError> error = parse.error;
  if (parse.query) {
    EventFormats events({"s:e", "s:f"}, [](const std::string&) -> Result<std::string> {
      return std::string(kFormat);
    });
    SqlBuild made = build_sql(*parse.query, events, "ev");
    if (made.plan.has_value() == made.error.has_value()) std::abort();
    if (made.plan && made.plan->commands().find("hist:keys=") == std::string::npos) std::abort();
    error = made.error;
  }
  if (error && (error->position > size || error->text.empty())) std::abort();
  if (error) (void)error->show(statement);
  return 0;
}
