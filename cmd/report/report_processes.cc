// SPDX-License-Identifier: MIT
#include "cmd/report/report_processes.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>

#include "cmd/common/commands.h"
#include "cmd/common/losses.h"
#include "cmd/report/report_print.h"
#include "export/export_people.h"

namespace patchbay::cmd {
namespace {

struct Row {
  int32_t pid = 0, parent = 0;         // 0: not known
  uint64_t begin_ns = 0, end_ns = 0;   // 0: not known
  uint64_t first_ns = 0, last_ns = 0;  // of its events
  uint64_t events = 0;
  std::optional<uint64_t> lost;
  std::string command;
};

void take_events(const ImageThread& thread, Row* row) {
  if (thread.events == 0) return;
  row->events += thread.events;
  row->first_ns = row->first_ns ? std::min(row->first_ns, thread.first_ns) : thread.first_ns;
  row->last_ns = std::max(row->last_ns, thread.last_ns);
}

// The image's own process first, then its forked children that have events.
void add_image(const ProcessImage& image, std::vector<Row>* rows) {
  Row own;
  own.pid = image.pid;
  own.parent = image.parent;
  own.begin_ns = image.begin_ns;
  own.end_ns = image.end_ns;
  own.lost = image.counts().overrun + image.counts().dropped;
  own.command = image.command();
  if (image.inside) own.command += "  (inside " + std::to_string(image.inside) + ")";
  if (!image.note.empty()) own.command += "  # " + image.note;
  std::map<int32_t, Row> children;
  for (const ImageThread& thread : image.threads) {
    const bool is_own = thread.process == 0 || thread.process == image.pid;
    if (is_own) {
      take_events(thread, &own);
    } else if (thread.events) {
      Row& child = children[thread.process];
      take_events(thread, &child);
      if (child.command.empty() || thread.tid == thread.process)
        child.command = (thread.comm.empty() ? image.command() : thread.comm) + "  (forked)";
    }
  }
  rows->push_back(std::move(own));
  for (auto& [pid, child] : children) {
    child.pid = pid;
    child.parent = image.pid;
    rows->push_back(std::move(child));
  }
}

// A file that does not list its processes: from its events, and what it says of its threads.
Result<std::vector<Row>> rows_of_events(TraceInput& input) {
  ExportInput opened;
  opened.dat = input.dat.get();
  opened.buffer = input.buffer.get();
  ExportPeople people;
  people.add(opened);
  people.name_processes();
  std::map<int32_t, Row> rows;
  LossCounter counter;
  for (size_t i = 0; i < input.nr_buffers(); i++) {
    PB_ASSIGN(auto pages, input.pages(i));
    EventMerger merger(pages.get());
    MergedEvent event;
    while (merger.next(&event)) {
      counter.take(event);
      int32_t tid = 0;
      if (event.record.size() >= 8) std::memcpy(&tid, event.record.data() + 4, sizeof tid);
      const ExportThread& thread = *people.thread(0, tid, tid ? 0 : event.cpu);
      Row& row = rows[thread.process->pid];
      if (row.events++ == 0) {
        const ExportProcess& process = *thread.process;
        row.pid = process.pid;
        row.command = !process.name.empty()  ? process.name
                      : !process.exe.empty() ? process.exe
                                             : thread.comm;
        row.first_ns = event.ns;
      }
      row.last_ns = event.ns;
    }
  }
  std::vector<Row> list;
  for (auto& [pid, row] : rows) list.push_back(std::move(row));
  if (list.size() == 1) list.front().lost = counter.finish(input).lost();
  return list;
}

uint64_t began(const Row& row) { return row.begin_ns ? row.begin_ns : row.first_ns; }

std::string seconds(uint64_t ns, bool is_known) {
  if (ns == 0) return "-";
  char text[40];
  std::snprintf(text, sizeof text, "%s%" PRIu64 ".%06" PRIu64, is_known ? "" : "~",
                ns / 1'000'000'000, ns / 1000 % 1'000'000);
  return text;
}

std::string lasted(const Row& row) {
  const bool is_known = row.begin_ns && row.end_ns;
  const uint64_t from = began(row), to = row.end_ns ? row.end_ns : row.last_ns;
  if (to == 0 || from == 0) return "-";
  const uint64_t ns = to > from ? to - from : 0;
  return ns ? seconds(ns, is_known) : is_known ? "0.000000" : "~0.000000";
}

std::string number(int32_t pid) { return pid ? std::to_string(pid) : "-"; }

std::string table_of(const std::vector<Row>& rows) {
  std::string text =
      "    pid  parent           began        lasted      events      lost  command\n";
  for (const Row& row : rows) {
    char line[160];
    std::snprintf(line, sizeof line, "%7s %7s %15s %13s %11" PRIu64 " %9s  ",
                  number(row.pid).c_str(), number(row.parent).c_str(),
                  seconds(began(row), row.begin_ns != 0).c_str(), lasted(row).c_str(), row.events,
                  row.lost ? std::to_string(*row.lost).c_str() : "-");
    text += line;
    append_escaped(&text, row.command);
    text += '\n';
  }
  return text;
}

std::string not_followed_text(const std::vector<NotFollowed>& list) {
  std::string text;
  for (const NotFollowed& one : list) {
    if (text.empty()) text = "\nnot followed:\n";
    char line[80];
    std::snprintf(line, sizeof line, "%7s         %15s  ", number(one.pid).c_str(),
                  seconds(one.time_ns, true).c_str());
    text += line;
    append_escaped(&text, one.path + ": " + one.reason);
    text += '\n';
  }
  return text;
}

}  // namespace

int report_processes(TraceInput& input, const Pager& pager) {
  std::vector<Row> rows;
  std::string below;
  if (input.dat && !input.dat->images().empty()) {
    for (const ProcessImage& image : input.dat->images().images) add_image(image, &rows);
    below = not_followed_text(input.dat->images().not_followed);
  } else {
    auto found = rows_of_events(input);
    if (!found.ok()) return fail("report", found.error());
    rows = std::move(*found);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return began(a) < began(b); });
  std::string text = table_of(rows) + below;
  if (!write_out(&text) && !pager.running())
    return fail("report", sys_error("write to standard output", errno));
  return kOk;
}

}  // namespace patchbay::cmd
