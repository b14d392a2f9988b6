// SPDX-License-Identifier: MIT
#include "debug_info/packed_symbols.h"

#include <lzma.h>
#include <sys/mman.h>

#include <cstring>
#include <string>

namespace patchbay {
namespace {

constexpr uint64_t kMostMemory = uint64_t{256} << 20;  // of the decoder
constexpr size_t kMostBytes = size_t{128} << 20;
constexpr size_t kPage = 4096;

bool unpack(Bytes packed, std::string* unpacked) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (::lzma_stream_decoder(&stream, kMostMemory, LZMA_CONCATENATED) != LZMA_OK) return false;
  stream.next_in = packed.data();
  stream.avail_in = packed.size();
  lzma_ret state = LZMA_OK;
  char part[64 << 10];
  while (state == LZMA_OK && unpacked->size() < kMostBytes) {
    stream.next_out = reinterpret_cast<uint8_t*>(part);
    stream.avail_out = sizeof part;
    state = ::lzma_code(&stream, LZMA_FINISH);
    unpacked->append(part, sizeof part - stream.avail_out);
  }
  ::lzma_end(&stream);
  return state == LZMA_STREAM_END;
}

}  // namespace

std::optional<FileMapping> unpacked_symbols(Bytes packed) {
  std::string unpacked;
  if (packed.empty() || !unpack(packed, &unpacked)) return std::nullopt;
  // A page of zeros stands behind it, as behind every file.
  const size_t size = unpacked.size() + kPage;
  void* pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return std::nullopt;
  Mapping memory(pages, size);
  std::memcpy(memory.data(), unpacked.data(), unpacked.size());
  return FileMapping(std::move(memory));
}

}  // namespace patchbay
