// SPDX-License-Identifier: MIT
//
// How the fields of an event's record are told to the kernel's tools. The stub is called with the
// record in rdi, in rsi a table of pointers to texts and arrays, in rdx the record's size:
//
//   field            argument of the USDT probe     of the kernel's uprobe_events
//   int n            -4@16(%rdi)                    n=+16(%di):s32
//   string name      8@0(%rsi): a pointer           name=+0(+0(%si)):string
//   u16 v[3]         8@8(%rsi): a pointer           v=+24(%di):u16[3]
//   float f          4@28(%rdi): its bits           f=+28(%di):x32
#pragma once

#include <string>
#include <vector>

#include "event/event_call.h"
#include "probe/triggers/mirror_hot.h"

namespace patchbay {

struct MirrorField {
  std::string name;    // for the kernel, which has names of its own (__probe_ip)
  std::string usdt;    // "" when it is not among the probe's arguments
  std::string kernel;  // "+16(%di):s32"; "" when the kernel's types have no form for it
  std::string type;    // "s32", "text", "pointer to u16": for people
};

struct MirrorLayout {
  std::vector<MirrorField> fields;  // in the order of the record
  std::vector<MirrorText> texts;
  uint32_t nr_copied = 0;  // MirrorStub.nr_copied

  // The note's arguments: the first kMostUsdtArguments of those that the event itself has, so that
  // arg0 is its first one.
  std::string usdt_arguments() const;
};
inline constexpr size_t kMostUsdtArguments = 12;  // what BPF programs can get (usdt.bpf.h)

MirrorLayout mirror_layout(const EventCall& call);

// What the kernel says to a line of uprobe_events, before it is asked.
inline constexpr size_t kMostKernelFields = 128, kMostKernelName = 63, kMostKernelFieldName = 31;
inline constexpr size_t kMostKernelArray = 64, kMostKernelLine = 4094;

// "p:GROUP/EVENT FILE:0x400(0x1000) n=+16(%di):s32 …". E2BIG, EINVAL: a sentence with what the
// kernel does not take. `left_out`: names of fields that it has no form for.
Result<std::string> mirror_kernel_line(const EventCall& call, std::string_view group,
                                       std::string_view file, std::vector<std::string>* left_out);

}  // namespace patchbay
