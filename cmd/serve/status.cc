// SPDX-License-Identifier: MIT
//
// patchbay status: what runs on this host: the daemon, the rules of [attach], and each process with
// an agent, with what is on there and what was lost.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/monotonic_clock.h"
#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/daemon_conf.h"
#include "cmd/common/side_by_side.h"
#include "cmd/serve/attach_rules.h"
#include "cmd/serve/daemon_state.h"
#include "ring_buffer/buffer_file.h"
#include "serve/client.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

constexpr int kJson = kFirstOptionId;
constexpr Option kOptions[] = {
    {.name = "json", .help = "prints one JSON object on a line", .id = kJson},
    kConfOption,
};

struct Row {
  int pid = 0;
  std::string exe, state, arrival;
  std::string why;                  // it does not answer
  std::vector<std::string> events;  // that are enabled
  size_t nr_histograms = 0, nr_instances = 0;
  uint64_t recorded = 0, lost = 0;
};

// A file that is not there has nothing; one that is not told is the process's fault.
Result<std::vector<std::string>> lines_of(serve::Client& client, const std::string& path) {
  const Result<std::string> text = client.read_all(path);
  const bool is_refused = !text.ok() && !serve::is_silent(text.error()) &&
                          text.error().errno_value != EFBIG && text.error().errno_value != EPERM;
  if (!text.ok() && !is_refused) return text.error();
  return split_lines(text.ok() ? text.value() : "");
}

Status add_histograms(serve::Client& client, const std::string& place, Row* row) {
  PB_ASSIGN(const auto lines, lines_of(client, place + "show_event_triggers"));
  for (const std::string& line : lines) row->nr_histograms += line.find(" hist:") != line.npos;
  return {};
}

Status add_events(serve::Client& client, const std::string& place, Row* row) {
  PB_ASSIGN(auto lines, lines_of(client, place + "set_event"));
  for (std::string& line : lines)
    if (!line.starts_with('#')) row->events.push_back(std::move(line));
  return {};
}

void add_buffer(const serve::ProcessEntry& entry, Row* row) {
  if (auto file = entry.has_buffer
                      ? BufferFile::open(entry.directory + "/" + serve::kBufferName, false)
                      : user_error(ENOENT, "");
      file.ok()) {
    for (uint32_t ring = 0; ring < (*file)->nr_rings(); ring++) {
      const RingStats stats = (*file)->stats(ring);
      row->recorded += stats.entries;
      row->lost += stats.dropped_ever;
    }
    row->lost += (*file)->missed();
  }
}

Status add_answers(const serve::ProcessEntry& entry, int64_t until_ms, Row* row) {
  PB_ASSIGN(const auto client, serve::Client::connect_directory(entry.directory, until_ms));
  row->exe = client->exe();
  row->arrival = client->arrival();
  std::vector<std::string> places = {""};
  PB_ASSIGN(const std::vector<std::string> names, client->list("instances"));
  for (const std::string& name : names)
    places.push_back("instances/" + name + (name.ends_with('/') ? "" : "/"));
  row->nr_instances = names.size();
  for (const std::string& place : places) {
    PB_TRY(add_events(*client, place, row));
    PB_TRY(add_histograms(*client, place, row));
  }
  return {};
}

Row row_of(const serve::ProcessEntry& entry, int64_t until_ms) {
  Row row;
  row.pid = entry.pid;
  row.state = serve::process_state_name(entry.state);
  const Status done = guarded([&]() -> Status {
    add_buffer(entry, &row);
    if (entry.state != serve::ProcessState::kAlive) return {};
    return add_answers(entry, until_ms, &row);
  });
  if (done.ok() || serve::is_gone(done.error())) return row;
  row.state = "silent";
  row.why = done.error().message();
  return row;
}

// Whoever does not answer is waited for together with the others.
std::vector<Row> rows_of(std::vector<serve::ProcessEntry> entries) {
  std::erase_if(entries,
                [](const auto& entry) { return entry.state == serve::ProcessState::kDead; });
  std::vector<Row> rows(entries.size());
  const int64_t until_ms = monotonic_ms() + kMostWaitMs;
  side_by_side(entries.size(), [&](size_t i) { rows[i] = row_of(entries[i], until_ms); });
  return rows;
}

std::string json_of(const Row& row) {
  std::string events;
  for (const std::string& event : row.events)
    events += (events.empty() ? "" : ", ") + json_quote(event);
  return "{\"pid\": " + std::to_string(row.pid) + ", \"exe\": " + json_quote(row.exe) +
         ", \"state\": " + json_quote(row.state) + ", \"arrival\": " + json_quote(row.arrival) +
         ", \"events\": [" + events + "], \"histograms\": " + std::to_string(row.nr_histograms) +
         ", \"instances\": " + std::to_string(row.nr_instances) +
         ", \"recorded\": " + std::to_string(row.recorded) +
         ", \"lost\": " + std::to_string(row.lost) +
         (row.why.empty() ? "" : ", \"why\": " + json_quote(row.why)) + "}";
}

void print_json(const std::vector<Row>& rows, const std::string& runtime, const std::string& daemon,
                const std::vector<AttachRule>& rules) {
  std::string text;
  for (const Row& row : rows) text += (text.empty() ? "" : ", ") + json_of(row);
  std::printf("{\"directory\": %s, \"daemon\": %s, \"rules\": %zu, \"processes\": [%s]}\n",
              json_quote(runtime).c_str(), daemon.empty() ? "null" : daemon.c_str(), rules.size(),
              text.c_str());
}

std::string words_of(const AttachRule& rule) {
  std::vector<std::string> who;
  for (const std::string& one : rule.services) who.push_back("service " + one);
  for (const std::string& one : rule.cgroups) who.push_back("cgroup " + one);
  for (const std::string& one : rule.exes) who.push_back("exe " + one);
  std::vector<std::string> what;
  for (const EventRequest& event : rule.request.instances().front().events)
    what.push_back("event " + event.text);
  for (const std::string& one : rule.histograms) what.push_back("histogram " + one);
  return join(who, ", ") + ": " + join(what, "; ");
}

void print_rows(const std::vector<Row>& rows, const std::string& runtime, const std::string& daemon,
                const std::vector<AttachRule>& rules) {
  std::printf("daemon: %s\n",
              daemon.empty() ? "none runs (patchbay serve)" : printable(daemon).c_str());
  for (const AttachRule& rule : rules) std::printf("rule: %s\n", printable(words_of(rule)).c_str());
  if (rows.empty()) return void(std::printf("no process has an agent in %s\n", runtime.c_str()));
  std::printf("%9s %-9s %-10s %6s %6s %12s %10s  %s\n", "PID", "STATE", "AGENT", "EVENTS", "HISTS",
              "RECORDED", "LOST", "PROGRAM");
  for (const Row& row : rows)
    std::printf("%9d %-9s %-10s %6zu %6zu %12llu %10llu  %s\n", row.pid, row.state.c_str(),
                row.arrival.c_str(), row.events.size(), row.nr_histograms,
                static_cast<unsigned long long>(row.recorded),
                static_cast<unsigned long long>(row.lost),
                one_line(std::string(base_name(row.exe)) + (row.exe.empty() ? "" : "  ") + row.why)
                    .c_str());
}

int status(const DaemonConf& conf, bool json) {
  Result<std::string> runtime = serve::runtime_directory(false);
  if (!runtime.ok()) return fail("status", runtime.error());
  Result<std::vector<AttachRule>> rules = attach_rules(conf);
  if (!rules.ok()) return fail("status", rules.error());
  Result<std::vector<serve::ProcessEntry>> entries = serve::list_processes(*runtime);
  if (!entries.ok()) return fail("status", entries.error());
  const std::vector<Row> rows = rows_of(std::move(*entries));
  (json ? print_json : print_rows)(rows, *runtime, daemon_state(*runtime), *rules);
  return kOk;
}

}  // namespace

constexpr CommandLine kStatusLine = {
    .name = "status",
    .summary = "show what runs on this host: processes, events, losses, the daemon",
    .synopsis = "status [--json] [--conf FILE]",
    .about = R"(Shows the daemon (`patchbay serve`), if it runs; the rules of [attach] of
patchbay.conf(5); and each process with an agent: whether it was preloaded or
attached, how many events and histograms are on, what its buffer has recorded,
and what it has lost.

)",
    .options = {kOptions},
};

int run_status(int argc, char** argv) {
  bool json = false;
  DaemonConf conf;
  std::optional<std::string> path;
  const auto take = [&](int id, const char* value) -> const char* {
    if (id == kConfId)
      path = value;
    else
      json = true;
    return nullptr;
  };
  if (const std::optional<int> ended = parse_options(kStatusLine, argc, argv, take)) return *ended;
  if (::optind < argc) return too_much(kStatusLine, argv);
  Result<DaemonConf> read = read_daemon_conf(path);
  if (!read.ok()) return fail("status", read.error());
  return status(*read, json);
}

}  // namespace patchbay::cmd
