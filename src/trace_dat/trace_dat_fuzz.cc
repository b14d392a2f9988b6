// SPDX-License-Identifier: MIT
// Any bytes as a trace.dat: no crash, no hang, no read beyond its end. The input is laid as patches
// (place, value) over a good file of version 6 or 7, or taken as the whole file.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "output/trace_line.h"
#include "ring_buffer/ring_model.h"
#include "trace_dat/metadata.h"
#include "trace_dat/recorded_names.h"
#include "trace_dat/trace_dat_layout.h"
#include "trace_dat/trace_dat_read.h"

using namespace patchbay;

namespace {

std::string make_file(int version) {
  test::RingModel model(1, 4);
  for (uint64_t i = 0; i < 20; i++)
    model.write(0, i << i, std::string("\x58\x02\0\0\1\0\0\0", 8) + std::string(40, 'x'));
  TraceDatMetadata metadata;
  metadata.formats.push_back(
      {"functions", "f",
       "name: f\nID: 600\nformat:\n\tfield:unsigned short "
       "common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
       "\tfield:unsigned long __parent_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
       "\tfield:unsigned long __ip;\toffset:16;\tsize:8;\tsigned:0;\n"
       "\tfield:__data_loc char[] s;\toffset:24;\tsize:4;\tsigned:0;\n"
       "\tfield:x8 a[9];\toffset:28;\tsize:9;\tsigned:0;\n\nprint fmt: \"\"\n"});
  metadata.kallsyms = "0000000000001000 t main\n0000000000002000 t f\t[m]\n";
  metadata.cmdlines = "1 comm\n";
  metadata.cpu_stats = {"entries: 1\n"};
  metadata.tsc = true;
  TraceDatArea top{"", 4096, {1}, {1}, {}, 0}, instance{"i", 4096, {1}, {1}, {}, 0};
  std::vector<TraceDatArea> areas{top, instance};
  uint64_t commit = uint32_t(model.ring(0).publish) - abi::kPageHeaderSize;
  std::memcpy(model.page(0, 0) + 8, &commit, 8);
  std::string file;
  for (const TraceDatPart& part : trace_dat_layout({version, 4096, 1, {}}, metadata, &areas)) {
    file.resize(part.offset);
    file += part.bytes;
    file.resize((file.size() + 4095) / 4096 * 4096);
    file.append(reinterpret_cast<char*>(model.page(0, 0)), 4096);
  }
  return file;
}

void read_everything(const TraceDatReader& reader) {
  AddressNames names = recorded_names(reader);
  TraceLineWriter lines(reader.events(), &names);
  lines.set_comms(reader.cmdlines());
  for (const auto& option : reader.options()) (void)modules_of_text(option.body);
  for (const auto& buffer : reader.buffers()) {
    TraceDatPages pages(&reader, &buffer);
    EventMerger merger(&pages);
    MergedEvent event;
    std::string out;
    for (int i = 0; i < 2000 && merger.next(&event); i++) {
      lines.append_line(&out, event.cpu, event.ns, event.record);
      lines.append_json(&out, event.cpu, event.ns, event.record);
      if (out.size() > 1 << 20) out.clear();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string good[2] = {make_file(6), make_file(7)};
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] < 224) {
    bytes = good[data[0] & 1];
    for (size_t i = 1; i + 7 <= size; i += 7) {
      uint16_t place;
      std::memcpy(&place, data + i, 2);
      std::memcpy(&bytes[place % (bytes.size() - 4)], data + i + 2, 1 + data[i + 6] % 4);
    }
    if (data[0] & 2) bytes.resize(bytes.size() - data[0] * 13 % 4000);
  }
  UniqueFd fd(::memfd_create("fuzz", MFD_CLOEXEC));
  if (::write(fd.get(), bytes.data(), bytes.size()) != ssize_t(bytes.size())) return 0;
  auto reader = TraceDatReader::from_fd(std::move(fd), "fuzz");
  if (reader.ok()) read_everything(**reader);
  return 0;
}
