// SPDX-License-Identifier: MIT
//
// patchbay dump: the structure of a trace.dat or buffer file, for people who doubt a reader or a
// writer.
#include <unistd.h>

#include <cinttypes>
#include <cstring>

#include "cmd/common/commands.h"
#include "cmd/common/trace_input.h"
#include "output/graph_times.h"
#include "output/trace_line.h"

namespace patchbay::cmd {
namespace {

constexpr int kPages = kFirstOptionId, kEvents = kPages + 1, kFormats = kPages + 2;
constexpr Option kOptions[] = {
    {.name = "pages",
     .help = "also prints each page: number, time, bytes, events, losses",
     .id = kPages},
    {.name = "events",
     .help = "also prints each raw event: time, id, pid, bytes in hex",
     .more = "calltime and rettime of function_graph are in nanoseconds, also of a buffer file, "
             "whose times are ticks.",
     .id = kEvents},
    {.name = "formats", .help = "also prints the format of each event", .id = kFormats},
    {.letter = 'p', .id = kPages, .kind = Option::Kind::kOldSpelling},
    {.letter = 'e', .id = kEvents, .kind = Option::Kind::kOldSpelling},
    {.letter = 'f', .id = kFormats, .kind = Option::Kind::kOldSpelling},
};

struct DumpOptions {
  std::string input;
  bool pages = false, events = false, formats = false;
};

std::string safe(std::string_view text) {
  std::string out;
  append_escaped(&out, text);
  return out;
}

void print_hex(std::span<const uint8_t> bytes) {
  for (size_t i = 0; i < bytes.size(); i++)
    std::printf(i % 4 == 0 && i ? " %02x" : "%02x", bytes[i]);
}

// `to_ns`: of the rings of a buffer file; empty: the records have nanoseconds already.
void dump_events(PageImage& page, const TicksToNs& to_ns) {
  if (to_ns) convert_graph_times_of_page(page.bytes, to_ns);
  EventIterator events(page.bytes, page.used);
  EventView event;
  while (events.next(&event)) {
    abi::RecordHeader header{};
    if (!event.record.empty())
      std::memcpy(&header, event.record.data(), std::min(sizeof header, event.record.size()));
    std::printf("    time %" PRIu64 " id %u pid %d size %zu: ", event.time, header.common_type,
                header.common_pid, event.record.size());
    print_hex(event.record);
    std::printf("\n");
  }
}

void dump_cpu(const DumpOptions& options, PageSource* pages, size_t index, bool of_rings) {
  TicksToNs to_ns;
  if (of_rings) to_ns = [pages](uint64_t ticks) { return pages->to_ns(ticks); };
  PageImage page;
  uint64_t count = 0, events = 0, lost = 0;
  bool unknown = false;
  while (pages->next_page(index, &page)) {
    uint64_t time = 0;
    std::memcpy(&time, page.bytes.data(), 8);
    count++;
    events += page.entries;
    if (page.lost_before == kLostUnknown)
      unknown = true, lost++;  // one at least
    else
      lost += page.lost_before;
    if (options.pages || options.events)
      std::printf(
          "  page %" PRIu64 ": time %" PRIu64 " bytes %u events %" PRIu64 " lost before %s\n",
          page.seq, time, page.used, page.entries,
          page.lost_before == kLostUnknown ? "some" : std::to_string(page.lost_before).c_str());
    if (options.events) dump_events(page, to_ns);
  }
  if (count == 0) return;
  std::printf("  CPU %u: %" PRIu64 " pages, %" PRIu64 " events, %s%" PRIu64 " lost\n",
              pages->cpu_number(index), count, events, unknown ? "at least " : "", lost);
}

int dump_pages(const DumpOptions& options, const TraceInput& input, size_t buffer) {
  auto pages = input.pages(buffer);
  if (!pages.ok()) return fail("dump", pages.error());
  for (size_t cpu = 0; cpu < (*pages)->nr_cpus(); cpu++)
    dump_cpu(options, pages->get(), cpu, input.buffer != nullptr);
  return kOk;
}

void dump_format_list(const DumpOptions& options, const std::vector<EventCall>& events) {
  std::printf("events: %zu\n", events.size());
  for (const EventCall& event : events) {
    std::printf("  %u %s:%s, %zu fields\n", event.id, safe(event.system).c_str(),
                safe(event.name).c_str(), event.fields.size());
    if (!options.formats) continue;
    for (const EventField& f : event.fields)
      std::printf("      %s %s  offset %u size %u%s\n", safe(f.type).c_str(), safe(f.name).c_str(),
                  f.offset, f.size, f.is_signed ? " signed" : "");
    std::printf("      print %s\n", safe(event.print_fmt).c_str());
  }
}

void dump_option(const TraceDatReader::Part& option) {
  std::printf("  %3u %-14s at %" PRIu64 ", %zu bytes: ", option.id, option.what.c_str(),
              option.offset, option.body.size());
  bool text = !option.body.empty();
  for (char c : option.body)
    text = text && (c == '\0' || c == '\n' || c == '\t' || (c >= ' ' && c < 0x7f));
  if (text && option.body.find_first_not_of('\0') != std::string::npos &&
      option.body.find('\0') >= 2) {
    std::printf("\"%s\"\n", safe(std::string_view(option.body.c_str())).c_str());
    return;
  }
  size_t shown = std::min<size_t>(option.body.size(), 64);
  print_hex({reinterpret_cast<const uint8_t*>(option.body.data()), shown});
  std::printf(shown < option.body.size() ? " ...\n" : "\n");
}

int dump_dat(const DumpOptions& options, const TraceInput& input) {
  const TraceDatReader& dat = *input.dat;
  std::printf("%s: trace.dat version %d, pages of %u bytes\n", input.path.c_str(), dat.version(),
              dat.page_size());
  std::printf(dat.version() == 7 ? "sections:\n" : "parts:\n");
  for (const auto& part : dat.sections())
    std::printf("  %3u %-14s at %" PRIu64 ", %" PRIu64 " bytes\n", part.id, part.what.c_str(),
                part.offset, part.size);
  std::printf("options:\n");
  for (const auto& option : dat.options()) dump_option(option);
  dump_format_list(options, dat.events());
  for (size_t i = 0; i < dat.buffers().size(); i++) {
    const auto& buffer = dat.buffers()[i];
    std::printf("buffer '%s', clock %s, pages of %u bytes\n", safe(buffer.name).c_str(),
                safe(buffer.clock).c_str(), buffer.page_size);
    for (const auto& cpu : buffer.cpus)
      std::printf("  CPU %u: at %" PRIu64 ", %" PRIu64 " bytes%s\n", cpu.cpu, cpu.offset, cpu.size,
                  cpu.cut ? ", cut short" : "");
    if (int status = dump_pages(options, input, i)) return status;
  }
  return kOk;
}

Status dump_rings(const std::string& path) {
  PB_ASSIGN(auto opened, BufferFile::open(path, false));
  const BufferFile& file = *opened;
  const abi::BufferHeader& h = file.header();
  std::printf("  %u CPUs, %u rings of %u sub-buffers of %u bytes, %s mode\n", h.nr_cpus, h.nr_rings,
              h.nr_subbufs, h.subbuf_size, h.flags & abi::kBufferOverwrite ? "overwrite" : "drop");
  std::printf("  recursion %" PRIu64 ", missed %" PRIu64 "\n", file.recursion(), file.missed());

  for (uint32_t ring = 0; ring < file.nr_rings(); ring++) {
    RingStats stats = file.stats(ring);
    if (stats.entries + stats.dropped == 0) continue;
    std::printf("  ring %u%s: %" PRIu64 " events published, %" PRIu64
                " dropped, sub-buffers %" PRIu64 " to %" PRIu64 "\n",
                ring, ring == file.header().nr_cpus ? " (threads without rseq)" : "", stats.entries,
                stats.dropped, stats.oldest_seq, stats.current_seq);
  }
  return {};
}

int dump_buffer(const DumpOptions& options, const TraceInput& input) {
  const BufferFile& file = *input.buffer;
  const abi::BufferHeader& h = file.header();
  auto meta = read_recorded_meta(file);
  if (!meta.ok()) return fail("dump", meta.error());
  std::printf("%s: buffer file version %u of process %d, %s, clock %s\n", input.source.top.c_str(),
              h.version, h.pid, h.state == abi::kStateClosed ? "closed" : "not closed",
              h.clock == abi::kClockTsc ? "TSC" : "monotonic");
  std::printf("program: %s\ncommand: %s\n", safe(meta->exe).c_str(),
              safe(meta->command_line).c_str());
  auto pairs = file.clock_pairs();
  ClockLine line = fit_clock(h.clock, pairs);
  std::printf("clock pairs: %zu, ns = (ticks * %u >> %u) %+" PRId64 "\n", pairs.size(), line.mult,
              line.shift, int64_t(line.ns0));
  if (options.pages)
    for (const auto& pair : pairs)
      std::printf("  tsc %" PRIu64 " mono %" PRIu64 " real %" PRIu64 "\n", pair.tsc, pair.mono_ns,
                  pair.real_ns);
  std::printf("modules: %zu\n", meta->modules.size());
  for (const auto& m : meta->modules)
    std::printf("  %" PRIx64 "-%" PRIx64 " bias %" PRIx64 " %s %s\n", m.start, m.end, m.bias,
                safe(m.build_id).c_str(), safe(m.path).c_str());
  std::printf("threads: %zu\n", file.comms().size());
  for (const auto& entry : file.comms())
    std::printf("  %u of %u: %s\n", entry.tid, entry.tgid, safe(entry.comm).c_str());
  dump_format_list(options, meta->events);
  int status = kOk;
  for (size_t i = 0; i < input.source.parts.size(); i++) {
    const BufferPart& part = input.source.parts[i];
    std::printf("buffer '%s' in %s\n", safe(part.name).c_str(), part.path.c_str());
    Status rings = dump_rings(part.path);
    if (!rings.ok())
      status = fail("dump", rings.error());
    else if (int bad = dump_pages(options, input, i))
      status = bad;
  }
  return status;
}

}  // namespace

constexpr CommandLine kDumpLine = {
    .name = "dump",
    .summary = "print the structure of a trace.dat or buffer file",
    .synopsis = "dump FILE|DIR/PID [--pages] [--events] [--formats]",
    .about = R"(Prints the parts of a trace.dat, of a buffer file, or of all buffer files of a
process.

)",
    .options = {kOptions},
    .words = "FILE",
};

int run_dump(int argc, char** argv) {
  DumpOptions options;
  const auto take = [&options](int id, const char*) -> const char* {
    options.pages |= id == kPages;
    options.events |= id == kEvents;
    options.formats |= id == kFormats;
    return nullptr;
  };
  if (const std::optional<int> ended = parse_options(kDumpLine, argc, argv, take)) return *ended;
  if (::optind >= argc) return usage_error("dump", "A file is needed.");
  options.input = argv[::optind++];
  if (::optind < argc) return too_much(kDumpLine, argv);
  auto input = open_trace_input(options.input);
  if (!input.ok()) return fail("dump", input.error());
  int status = input->dat ? dump_dat(options, *input) : dump_buffer(options, *input);
  if (std::fflush(stdout) != 0) return fail("dump", "Standard output could not be written.");
  return status;
}

}  // namespace patchbay::cmd
