// SPDX-License-Identifier: MIT
//
// trace.dat, the file of trace-cmd and KernelShark, versions 6 and 7 (docs/trace_dat.md has the
// drawing and what each option means to the readers). All numbers little endian.
//
//   both  17 08 44 "tracing" VERSION NUL | u8 endian (0) | u8 size of long (8) | u32 page size
//   v6    then fixed parts in a fixed order, options, per-CPU table, pages
//   v7    then compression name NUL, its version NUL | u64 offset of the first options section;
//         everything else is in sections that options point to:
//         SectionHeader | body
#pragma once

#include <cstddef>
#include <cstdint>

namespace patchbay::abi {

inline constexpr char kTraceDatMagic[] = "\x17\x08\x44tracing";
inline constexpr size_t kTraceDatMagicSize = 10;

// Section ids and option ids share one number space; options 15..21 hold the offset of the section.
enum : uint16_t {
  kDatOptionDone = 0,  // v6: the end. v7: u64 offset of the next options section, 0 = last
  kDatDate = 1,
  kDatCpuStat = 2,  // text of per_cpu/cpuN/stats after a line "CPU: N"
  kDatBuffer = 3,
  kDatTraceClock = 4,
  kDatUname = 5,
  kDatOffset = 7,  // decimal text: added to every time stamp after TSC2NSEC
  kDatCpuCount = 8,
  kDatVersion = 9,
  kDatProcMaps = 10,  // text: what files the process had loaded, and where
  kDatTraceId = 11,
  kDatTsc2Nsec = 14,  // u32 mult, u32 shift, u64 offset (which trace-cmd ignores)
  kDatStrings = 15,
  kDatHeaderInfo = 16,
  kDatFtraceFormats = 17,
  kDatEventFormats = 18,
  kDatKallsyms = 19,
  kDatPrintk = 20,
  kDatCmdlines = 21,
  kDatBufferText = 22,
};

inline constexpr uint16_t kDatCompressed = 1;  // SectionHeader.flags

struct __attribute__((packed)) DatSectionHeader {
  uint16_t id;
  uint16_t flags;
  uint32_t description;  // index in the strings section
  uint64_t size;         // of the body
};
static_assert(sizeof(DatSectionHeader) == 16);

}  // namespace patchbay::abi
