// SPDX-License-Identifier: MIT
// Any bytes as a buffer file (G6): no crash, no hang, no read beyond its end. Input: pairs of a
// place and a value, laid over a good file, so that the fuzzer gets behind the checks of the
// header; then the size.
#include <sys/mman.h>

#include "ring_buffer/buffer_file.h"
#include "ring_buffer/ring_model.h"

using namespace patchbay;

namespace {

test::RingModel make_model() {
  test::RingModel model(1, 4, true, abi::kClockTsc);
  std::string record(40, 'x');
  for (uint64_t i = 0; i < 500; i++) model.write(0, i << (i % 30), record);
  model.add_format(300, "functions", "name: f\nID: 300\nformat:\n\nprint fmt: \"\"\n");
  model.add_comm(7, "x");
  model.add_clock_pair(5, 6);
  return model;
}

void read_everything(BufferFile* file) {
  PageImage image;
  for (uint32_t ring = 0; ring < file->nr_rings(); ring++) {
    for (int i = 0; i < 64 && file->next_page(ring, true, &image); i++) {
      EventIterator events(image.bytes, image.used);
      EventView event;
      uint64_t sum = 0;
      while (events.next(&event))
        for (uint8_t byte : event.record) sum += byte;
      volatile uint64_t sink = sum;
      (void)sink;
      read_commit(&image);
    }
    file->stats(ring);
  }
  auto pairs = file->clock_pairs();
  fit_clock(file->header().clock, pairs).to_ns(12345);
  file->comms();
  (void)file->meta().ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const test::RingModel good = make_model();
  static std::vector<uint8_t> bytes;
  bytes = good.bytes;
  for (size_t i = 0; i + 12 <= size; i += 12) {
    uint32_t place;
    std::memcpy(&place, data + i, 4);
    // The header is worth as many tries as all the rest, and so are what readers wrote and the
    // rings.
    const auto* header = reinterpret_cast<const abi::BufferHeader*>(good.bytes.data());
    const uint64_t parts[4][2] = {{0, sizeof(abi::BufferHeader)},
                                  {header->reader_offset, 2 * sizeof(abi::ReaderState)},
                                  {header->ring_offset, 2 * sizeof(abi::RingControl)},
                                  {0, bytes.size() - 8}};
    const uint64_t* part = parts[place & 3];
    place = uint32_t(part[0] + (place >> 2) % part[1]);
    std::memcpy(bytes.data() + place, data + i + 4, 8);
  }
  UniqueFd fd(::memfd_create("fuzz", MFD_CLOEXEC));
  size_t length = size % 12 == 5 ? size * 977 % bytes.size() : bytes.size();
  if (::write(fd.get(), bytes.data(), length) != ssize_t(length)) return 0;
  auto file = BufferFile::from_fd(std::move(fd), size % 3 == 0);
  if (file.ok()) read_everything(file->get());
  auto memory = BufferFile::over_memory(std::span(bytes).first(length));
  if (memory.ok()) read_everything(memory->get());
  return 0;
}
