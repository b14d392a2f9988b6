// SPDX-License-Identifier: MIT
// Any text as the list of processes; a file with patches laid over it merged with a good one: no
// crash, no hang, no read beyond its end, and what comes out can be read.
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "output/trace_line.h"
#include "trace_dat/merge.h"
#include "trace_dat/record_pages.h"
#include "trace_dat/recorded_names.h"
#include "trace_dat/trace_dat_read.h"

using namespace patchbay;

namespace {

std::string directory() {
  static const std::string made = [] {
    char name[] = "/tmp/patchbay-merge-fuzz-XXXXXX";
    return std::string(::mkdtemp(name));
  }();
  return made;
}

void write_good(const std::string& path, int version, bool is_merged) {
  TraceDatOptions options{version, 4096, 2, {}, true};
  auto writer = TraceDatWriter::open(path, options);
  for (uint32_t cpu = 0; cpu < 2; cpu++) {
    RecordPages pages(4096,
                      [&](const PageImage& page) { (void)(*writer)->append_page(0, cpu, page); });
    for (uint64_t i = 0; i < 50; i++) {
      if (i == 20) pages.lose(3);
      uint8_t record[16] = {0x58, 2, 0, 0, 100, 0, 0, 0, uint8_t(i)};
      pages.add(1000 + i * i * 100000, record);
    }
    pages.flush();
  }
  TraceDatMetadata metadata;
  metadata.formats.push_back({"ftrace", "bputs",
                              "name: bputs\nID: 600\nformat:\n\tfield:unsigned short "
                              "common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
                              "\tfield:const char * str;\toffset:8;\tsize:8;\tsigned:0;\n\n"
                              "print fmt: \"%s\", REC->str\n"});
  metadata.kallsyms = "0000000000001000 t main\n0000000000002000 t f\t[m]\n";
  metadata.printk_formats = "0x10 : \"a\"\n0x11 : \"b\"\n";
  metadata.cmdlines = "100 comm\n";
  metadata.process_maps = "64 1 /bin/x\n1000 2000 /bin/x\t- 0\n65 0 ?\t64\n";
  metadata.cpu_stats = {"entries: 50\noverrun: 3\ndropped events: 0\n"};
  metadata.tsc = true;
  ProcessImages images;
  images.images.resize(2);
  images.images[0].pid = 100;
  images.images[0].threads = {{100, 100, 1000, 2000, 7, "x"}};
  images.images[1].pid = 101;
  images.images[1].names = {{0x1000, 0x1010, "other"}};
  images.images[1].threads = {{100, 101, 5000, 6000, 7, "y"}};
  if (is_merged) metadata.images = images.text();
  (void)(*writer)->finish(metadata);
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void read_everything(const std::string& path) {
  auto reader = TraceDatReader::open(path);
  if (!reader.ok()) abort();
  AddressNames names = recorded_names(**reader);
  TraceLineWriter lines((*reader)->events(), &names);
  lines.set_comms((*reader)->cmdlines());
  std::string out;
  for (const auto& buffer : (*reader)->buffers()) {
    TraceDatPages pages(reader->get(), &buffer);
    EventMerger merger(&pages);
    MergedEvent event;
    for (int i = 0; i < 2000 && merger.next(&event); i++) {
      lines.stand_at(event.ns, event.record);
      lines.append_line(&out, event.cpu, event.ns, event.record);
      if (out.size() > 1 << 20) out.clear();
    }
  }
}

void fuzz_text(std::string_view text) {
  const ProcessImages images = ProcessImages::parse(text);
  const std::string again = images.text();
  if (ProcessImages::parse(again).text() != again) abort();
  ImageFinder finder(images.images);
  for (const ProcessImage& image : images.images) {
    for (const ImageThread& thread : image.threads) {
      const uint32_t found = finder.find(thread.tid, thread.last_ns);
      if (found >= images.images.size()) abort();
      (void)finder.thread(thread.tid, thread.first_ns);
    }
    (void)image.command();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string good[4] = {
      (write_good(directory() + "/0", 6, false), bytes_of(directory() + "/0")),
      (write_good(directory() + "/1", 7, false), bytes_of(directory() + "/1")),
      (write_good(directory() + "/2", 6, true), bytes_of(directory() + "/2")),
      (write_good(directory() + "/3", 7, true), bytes_of(directory() + "/3"))};
  if (size == 0) return 0;
  if (data[0] & 0x80) {
    fuzz_text({reinterpret_cast<const char*>(data + 1), size - 1});
    return 0;
  }
  std::string bytes = good[data[0] & 3];
  for (size_t i = 1; i + 7 <= size; i += 7) {
    uint16_t place;
    std::memcpy(&place, data + i, 2);
    std::memcpy(&bytes[place % (bytes.size() - 4)], data + i + 2, 1 + data[i + 6] % 4);
  }
  if (data[0] & 4) bytes.resize(bytes.size() - data[0] * 13 % 4000);
  const std::string path = directory() + "/part", output = directory() + "/out";
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), long(bytes.size()));
  std::vector<MergedPart> parts(2);
  parts[0].path = directory() + "/1";
  parts[1].path = path;
  auto merged = merge_trace_dats(parts, {}, output, data[0] & 8 ? 6 : 7);
  if (merged.ok()) read_everything(output);
  return 0;
}
