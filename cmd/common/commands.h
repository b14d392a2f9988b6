// SPDX-License-Identifier: MIT
//
// The tool's sub-commands, and what they share: messages, exit statuses, colour.
//
// cmd/ROOM/NAME.cc holds run_NAME and, beside it, kNAMELine, the table of its options
// (cmd/common/options.h). Every run_NAME gets the words after `patchbay`, argv[0] being the
// sub-command's own name, and returns the exit status. optind is 1 on entry.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "cmd/common/options.h"

namespace patchbay::cmd {

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;  // the system or a file refused
inline constexpr int kUsage = 2;   // the command line is wrong

int run_record(int argc, char** argv);
int run_report(int argc, char** argv);
int run_graph(int argc, char** argv);
int run_replay(int argc, char** argv);
int run_top(int argc, char** argv);
int run_export(int argc, char** argv);
int run_ship(int argc, char** argv);
int run_view(int argc, char** argv);
int run_dump(int argc, char** argv);
int run_recover(int argc, char** argv);
int run_merge(int argc, char** argv);
int run_list(int argc, char** argv);
int run_clean(int argc, char** argv);
int run_attach(int argc, char** argv);
int run_detach(int argc, char** argv);
int run_cat(int argc, char** argv);
int run_write(int argc, char** argv);
int run_ls(int argc, char** argv);
int run_probe(int argc, char** argv);
int run_live(int argc, char** argv);  // start, stop, show, clear, reset, stat, snapshot, extract
int run_mirror(int argc, char** argv);
int run_hist(int argc, char** argv);
int run_latency(int argc, char** argv);
int run_calls(int argc, char** argv);
int run_stacks(int argc, char** argv);
int run_locks(int argc, char** argv);
int run_sql(int argc, char** argv);
int run_mount(int argc, char** argv);
int run_with_tracefs(int argc, char** argv);
int run_serve(int argc, char** argv);
int run_status(int argc, char** argv);

extern const CommandLine kRecordLine;
extern const CommandLine kReportLine;
extern const CommandLine kGraphLine;
extern const CommandLine kReplayLine;
extern const CommandLine kTopLine;
extern const CommandLine kExportLine;
extern const CommandLine kShipLine;
extern const CommandLine kViewLine;
extern const CommandLine kDumpLine;
extern const CommandLine kRecoverLine;
extern const CommandLine kMergeLine;
extern const CommandLine kListLine;
extern const CommandLine kCleanLine;
extern const CommandLine kAttachLine;
extern const CommandLine kDetachLine;
extern const CommandLine kCatLine;
extern const CommandLine kWriteLine;
extern const CommandLine kLsLine;
extern const CommandLine kProbeLine;
extern const CommandLine kMirrorLine;
extern const CommandLine kHistLine;
extern const CommandLine kLatencyLine;
extern const CommandLine kCallsLine;
extern const CommandLine kStacksLine;
extern const CommandLine kLocksLine;
extern const CommandLine kSqlLine;
extern const CommandLine kMountLine;
extern const CommandLine kWithTracefsLine;
extern const CommandLine kServeLine;
extern const CommandLine kStatusLine;
extern const std::array<CommandLine, 8> kLiveLines;  // start … extract, of run_live

// "patchbay COMMAND: SENTENCE" on stderr; returns kFailed, so that a command can end with it.
int fail(std::string_view command, std::string_view sentence);
int fail(std::string_view command, const Error& error);
// The same for a wrong command line, with a line that points to -h; returns kUsage.
int usage_error(std::string_view command, std::string_view sentence);

// " Did you mean 'report' or 'record'?", of the names that are near a wrong one; or nothing.
std::string did_you_mean(std::string_view wrong, const std::vector<std::string_view>& names);

// "patchbay: SENTENCE" on stderr: a remark; the command goes on.
void remark(std::string_view sentence);
// No remark is printed while there is one: what is done again for each of many programs has been
// said for the first.
class RemarksOff {
 public:
  RemarksOff();
  ~RemarksOff();
  RemarksOff(const RemarksOff&) = delete;
  RemarksOff& operator=(const RemarksOff&) = delete;
};

// Text of a traced process or of a file, made harmless for a terminal: lines stay lines, other
// control characters become \xNN.
std::string printable(std::string_view text);
// The same of a name or a path, which is to stay on its line: a newline becomes \n, a tab \t.
std::string one_line(std::string_view name);

// --color=auto|always|never, before the sub-command or as an option of it; auto means: a terminal,
// and neither NO_COLOR nor TERM=dumb. Returns false when `value` is none of the three.
bool set_color(std::string_view value);
bool use_color(std::FILE* stream);

// A decimal number above 0. False for anything else; `number` is as it was then.
template <typename Number>
bool parse_positive(std::string_view text, Number* number) {
  Number read{};
  if (!to_number(text, &read) || !(read > 0)) return false;
  *number = read;
  return true;
}
// A decimal process id, 1 … 2^22. False for anything else; `pid` is as it was then.
bool parse_pid(std::string_view text, int* pid);
// Text between quotes in JSON, with its escapes; bytes that are not UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);
std::string size_text(uint64_t bytes);  // "3.3 MB"

}  // namespace patchbay::cmd
