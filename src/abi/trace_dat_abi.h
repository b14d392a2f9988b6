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

// Of a recording of several programs (trace_dat/process_images.h): which process had which program
// when, and what was not followed. Text, lines of words with a tab between them; backslash, tab and
// newline in a word are \\, \t, \n. No number that trace-cmd has given out: it passes over it.
//
//   image PID PARENT BEGIN END            a process between two execs, with its forked children;
//                                         times in ns of CLOCK_MONOTONIC, 0: not known
//   exe PATH | word WORD | note TEXT      of the image above
//   inside PID                            its number in a pid namespace of its own
//   cpu CPU ENTRIES OVERRUN DROPPED       what option CPUSTAT has summed
//   thread TID PROCESS FIRST LAST EVENTS COMM
//   map LINE                              of option PROCMAPS
//   name START END [NAME]                 hexadecimal; what kallsyms names otherwise for this image
//   skipped PID TIME PATH REASON          an executed program that was not followed
inline constexpr uint16_t kDatImages = 0x5043;

// Of which boot of the machine a recording is, and how far its CLOCK_REALTIME was ahead of
// CLOCK_MONOTONIC when it was made, in nanoseconds: "BOOT-ID NS". trace-cmd passes over it.
inline constexpr uint16_t kDatBoot = 0x5044;

// The id of the kernel's ftrace:print in a recording with events of the kernel (record -k). They
// are numbered down from here, and the file's last buffer is theirs.
inline constexpr uint16_t kDatKernelPrintId = 65535;

struct __attribute__((packed)) DatSectionHeader {
  uint16_t id;
  uint16_t flags;
  uint32_t description;  // index in the strings section
  uint64_t size;         // of the body
};
static_assert(sizeof(DatSectionHeader) == 16);

}  // namespace patchbay::abi
