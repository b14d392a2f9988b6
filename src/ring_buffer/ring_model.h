// SPDX-License-Identifier: MIT
//
// For tests: the writer's rules of abi/buffer_abi.h once more, in the plainest way, into a file
// image in memory. It is the model that the real writer and the readers are held against.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "abi/buffer_abi.h"

namespace patchbay::test {

class RingModel {
 public:
  explicit RingModel(uint32_t nr_cpus = 2, uint32_t nr_subbufs = 4, bool overwrite = true,
                     uint32_t clock = abi::kClockMonotonic) {
    abi::BufferHeader h{};
    h.magic = abi::kBufferMagic;
    h.version = abi::kBufferVersion;
    h.header_size = sizeof h;
    h.subbuf_size = 4096;
    h.nr_subbufs = nr_subbufs;
    h.nr_cpus = nr_cpus;
    h.nr_rings = nr_cpus + 1;
    h.clock = clock;
    if (overwrite) h.flags = abi::kBufferOverwrite;
    h.pid = 77;
    uint64_t at = 4096;
    auto part = [&at](uint64_t size) {
      uint64_t o = at;
      at += (size + 4095) & ~uint64_t{4095};
      return o;
    };
    h.clock_offset = part(sizeof(abi::ClockTable));
    h.comm_offset = part(sizeof(abi::CommTable));
    h.printk_offset = part(sizeof(abi::PrintkTable));
    h.reader_offset = part(h.nr_rings * sizeof(abi::ReaderState));
    h.ring_offset = part(h.nr_rings * abi::kRingControlStride);
    h.page_meta_offset = part(uint64_t(h.nr_rings) * nr_subbufs * sizeof(abi::PageMeta));
    h.data_offset = part(uint64_t(h.nr_rings) * nr_subbufs * 4096);
    h.meta_offset = at;
    bytes.resize(at);
    std::memcpy(bytes.data(), &h, sizeof h);
    for (uint32_t r = 0; r < h.nr_rings; r++) {
      uint64_t control_at = h.ring_offset + r * abi::kRingControlStride;
      ring(r).publish = abi::kPageHeaderSize;
      ring(r).nr_subbufs = nr_subbufs;
      ring(r).overwrite = overwrite;
      ring(r).page_meta_delta =
          h.page_meta_offset + uint64_t{r} * nr_subbufs * sizeof(abi::PageMeta) - control_at;
      ring(r).data_delta = h.data_offset + uint64_t{r} * nr_subbufs * 4096 - control_at;
    }
  }

  abi::BufferHeader& header() { return *reinterpret_cast<abi::BufferHeader*>(bytes.data()); }
  abi::RingControl& ring(uint32_t r) {
    return *reinterpret_cast<abi::RingControl*>(bytes.data() + header().ring_offset +
                                                r * abi::kRingControlStride);
  }
  abi::ReaderState& reader(uint32_t r) {
    return reinterpret_cast<abi::ReaderState*>(bytes.data() + header().reader_offset)[r];
  }
  abi::PageMeta& meta(uint32_t r, uint64_t seq) {
    uint64_t slot = uint64_t(r) * header().nr_subbufs + seq % header().nr_subbufs;
    return reinterpret_cast<abi::PageMeta*>(bytes.data() + header().page_meta_offset)[slot];
  }
  uint8_t* page(uint32_t r, uint64_t seq) {
    uint64_t slot = uint64_t(r) * header().nr_subbufs + seq % header().nr_subbufs;
    return bytes.data() + header().data_offset + slot * 4096;
  }

  // Publishes one record (a multiple of 4 bytes). False: dropped.
  bool write(uint32_t r, uint64_t time, std::string_view record) {
    abi::RingControl& rc = ring(r);
    abi::RingSlot last = rc.slot[rc.publish >> 32 & 1];
    uint64_t offset = uint32_t(rc.publish), lap = rc.publish >> abi::kLapShift,
             index = (offset - 1) / 4096;
    uint64_t within = offset - index * 4096, delta = time - last.time;
    bool big = record.size() > abi::kMaxSmallData, first = within == abi::kPageHeaderSize;
    bool extend = !first && delta >> abi::kDeltaBits;
    uint64_t need = record.size() + (big ? 8 : 4);
    uint64_t seq = lap * header().nr_subbufs + index;
    if (within + need + (extend ? 8 : 0) > 4096) {
      if (!rc.overwrite &&
          int64_t(seq + 1 - reader(r).read_seq) > int64_t(header().nr_subbufs) - 2) {
        rc.dropped++;
        return false;
      }
      store64(page(r, seq) + 8, within - abi::kPageHeaderSize);
      seq++;
      meta(r, seq) = {seq, last.entries};
      within = abi::kPageHeaderSize;
      first = true;
      extend = false;
    }
    uint8_t* base = page(r, seq);
    if (first) {
      store64(base, time);
      delta = 0;
    }
    if (extend) {
      store32(base + within, abi::kTypeTimeExtend | uint32_t(delta << 5));
      store32(base + within + 4, uint32_t(delta >> abi::kDeltaBits));
      within += 8;
      delta = 0;
    }
    uint32_t size = uint32_t(record.size());
    store32(base + within, uint32_t(delta << 5) | (big ? 0 : size / 4));
    if (big) store32(base + within + 4, size + 4);
    std::memcpy(base + within + need - size, record.data(), size);
    within += need;
    uint64_t parity = ~(rc.publish >> 32) & 1;
    rc.slot[parity] = {time, last.entries + 1};
    uint64_t slot = seq % header().nr_subbufs;
    rc.publish =
        (seq / header().nr_subbufs) << abi::kLapShift | parity << 32 | (slot * 4096 + within);
    return true;
  }

  void add_meta(uint32_t type, std::string_view payload) {
    abi::MetaRecord record{type, uint32_t(payload.size())};
    bytes.insert(bytes.end(), reinterpret_cast<uint8_t*>(&record),
                 reinterpret_cast<uint8_t*>(&record + 1));
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    bytes.resize((bytes.size() + 7) & ~size_t{7});
    header().meta_used = bytes.size() - header().meta_offset;
  }
  void add_format(uint32_t id, std::string_view system, std::string_view text) {
    std::string payload(reinterpret_cast<char*>(&id), 4);
    payload += system;
    payload += '\0';
    payload += text;
    add_meta(abi::kMetaEventFormat, payload);
  }
  void add_comm(uint32_t tid, const char* comm) {
    auto* table = reinterpret_cast<abi::CommTable*>(bytes.data() + header().comm_offset);
    abi::CommEntry& entry = table->entry[table->used++];
    entry.tid = entry.tgid = tid;
    std::strncpy(entry.comm, comm, sizeof entry.comm - 1);
  }
  void add_clock_pair(uint64_t tsc, uint64_t ns) {
    auto* table = reinterpret_cast<abi::ClockTable*>(bytes.data() + header().clock_offset);
    table->pair[table->count] = {tsc, ns, ns};
    table->count++;
  }
  bool save(const std::string& path) const {
    int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC,
                    0600);  // not truncated: readers keep it open
    bool good = fd >= 0 && ::pwrite(fd, bytes.data(), bytes.size(), 0) == ssize_t(bytes.size());
    if (fd >= 0) ::close(fd);
    return good;
  }

  // What readers have written into the saved file.
  void take_readers(const std::string& path) {
    int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    size_t size = header().nr_rings * sizeof(abi::ReaderState);
    std::vector<uint8_t> states(size);
    if (::pread(fd, states.data(), size, off_t(header().reader_offset)) == ssize_t(size))
      std::memcpy(&reader(0), states.data(), size);
    ::close(fd);
  }

  std::vector<uint8_t> bytes;

 private:
  static void store64(uint8_t* to, uint64_t value) { std::memcpy(to, &value, 8); }
  static void store32(uint8_t* to, uint32_t value) { std::memcpy(to, &value, 4); }
};

}  // namespace patchbay::test
