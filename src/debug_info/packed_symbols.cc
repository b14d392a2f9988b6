// SPDX-License-Identifier: MIT
#include "debug_info/packed_symbols.h"

#include <lzma.h>
#include <sys/mman.h>

#include <utility>

#include "base/unpacked_bytes.h"

namespace patchbay {
namespace {

constexpr uint64_t kMostMemory = uint64_t{64} << 20;  // of the decoder
constexpr size_t kMostBytes = size_t{32} << 20;       // of one file
constexpr uint64_t kMostOfAll = uint64_t{256} << 20;
constexpr size_t kPage = 4096;

// To `to`, where there is room for kMostBytes; how many they are, or nothing.
std::optional<size_t> unpack(Bytes packed, uint8_t* to) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (::lzma_stream_decoder(&stream, kMostMemory, LZMA_CONCATENATED) != LZMA_OK)
    return std::nullopt;
  stream.next_in = packed.data();
  stream.avail_in = packed.size();
  stream.next_out = to;
  stream.avail_out = kMostBytes;
  lzma_ret state = LZMA_OK;
  while (state == LZMA_OK && stream.avail_out > 0) state = ::lzma_code(&stream, LZMA_FINISH);
  ::lzma_end(&stream);
  if (state != LZMA_STREAM_END) return std::nullopt;
  return kMostBytes - stream.avail_out;
}

}  // namespace

std::optional<FileMapping> unpacked_symbols(Bytes packed) {
  constexpr size_t kRoom = kMostBytes + kPage;
  std::optional<UnpackedBytes> held = UnpackedBytes::take(kRoom, kMostOfAll);
  if (packed.empty() || !held) return std::nullopt;
  // Pages that nothing is written to take no memory.
  void* const room = ::mmap(nullptr, kRoom, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return std::nullopt;
  const std::optional<size_t> size = unpack(packed, static_cast<uint8_t*>(room));
  // A page of zeros stands behind it, as behind every file.
  const size_t used = size ? (*size + 2 * kPage - 1) & ~(kPage - 1) : 0;
  const Mapping rest(static_cast<uint8_t*>(room) + used, kRoom - used);  // ends here
  if (!size) return std::nullopt;
  held->keep(used);
  return FileMapping(Mapping(room, used), std::move(*held));
}

}  // namespace patchbay
