// SPDX-License-Identifier: MIT
// What `patchbay report` costs at least, on one CPU: a trace.dat is read and merged as report does
// it, an entry of function_graph and its exit become one line, and each line is so many bytes of
// the same text.
//
//   report_limit FILE LINES BYTES   bytes of all lines to standard output; 0: none is written
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "output/merge.h"
#include "trace_dat/trace_dat_read.h"

using namespace patchbay;

namespace {

constexpr size_t kBatch = 1 << 20;

// Of one thread, function and depth, where the formats are ours; else of any kind.
bool is_one_line(const MergedEvent& entry, const MergedEvent& exit) {
  constexpr size_t kFrom = 4, kSize = 16;
  return entry.record.size() >= kFrom + kSize && exit.record.size() >= kFrom + kSize &&
         std::memcmp(entry.record.data(), exit.record.data(), 2) != 0 &&
         std::memcmp(entry.record.data() + kFrom, exit.record.data() + kFrom, kSize) == 0;
}

bool write_all(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t size = ::write(STDOUT_FILENO, text.data() + at, text.size() - at);
    if (size <= 0) return false;
    at += size_t(size);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "usage: report_limit FILE LINES BYTES\n"), 2;
  auto opened = TraceDatReader::open(argv[1]);
  if (!opened.ok()) return std::fprintf(stderr, "%s\n", opened.error().message().c_str()), 1;
  TraceDatReader& reader = **opened;
  TraceDatPages pages(&reader, &reader.buffers()[0]);
  EventMerger merger(&pages);
  const std::string line(std::strtoull(argv[3], nullptr, 10) / std::strtoull(argv[2], nullptr, 10),
                         '.');
  std::string text;
  text.reserve(kBatch + line.size());
  size_t lines = 0;
  MergedEvent event, behind;
  while (merger.next(&event)) {
    if (merger.peek_behind(&behind) && is_one_line(event, behind)) merger.take_behind();
    lines++;
    text += line;
    if (text.size() < kBatch) continue;
    if (!write_all(text)) return 1;
    text.clear();
  }
  if (!write_all(text)) return 1;
  std::fprintf(stderr, "%zu lines\n", lines);
  return 0;
}
