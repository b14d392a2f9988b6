// SPDX-License-Identifier: MIT
//
// What the parsers of probe events read lines with: words, numbers as the kernel's kstrto…()
// reads them, names, and the table of errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "event/probe_event.h"

namespace patchbay {

// Where the caret stands for a fault at `offset` in this word, in the words joined by one blank.
// A word behind the last one: one past the blank that would follow it, whatever the offset.
size_t caret_position(const std::vector<std::string_view>& words, size_t word, size_t offset);

// 0, EINVAL or ERANGE. Base 0: "0x…", "0…" and decimal. A leading '+' is fine.
int read_unsigned(std::string_view text, int base, uint64_t* value);
int read_signed(std::string_view text, int base, int64_t* value);
// The number at the head of `text`, which is cut off; saturates. False: there is none.
bool take_unsigned(std::string_view* text, uint64_t* value);

bool is_good_name(std::string_view name);   // a C identifier
bool is_good_group(std::string_view name);  // also with '-'

inline constexpr size_t kMaxProbeName = 63;

// The texts of the kernel (ERRORS in kernel/trace/trace_probe.h) that the parsers can answer.
enum class ProbeFault : uint8_t {
  kFileNotFound,
  kNoRegularFile,
  kBadRefcnt,
  kRefcntOpenBrace,
  kBadRefcntSuffix,
  kBadUprobeOffs,
  kBadMaxactType,
  kBadMaxact,
  kMaxactTooBig,
  kBadProbeAddr,
  kNonUniqSymbol,
  kBadRetprobe,
  kBadTpName,
  kBadAddrSuffix,
  kNoGroupName,
  kGroupTooLong,
  kBadGroupName,
  kNoEventName,
  kEventTooLong,
  kBadEventName,
  kRetvalOnProbe,
  kBadStackNum,
  kBadArgNum,
  kBadVar,
  kBadRegName,
  kBadMemAddr,
  kBadImm,
  kImmstrNoClose,
  kFileOnKprobe,
  kBadFileOffs,
  kSymOnUprobe,
  kTooManyOps,
  kDerefNeedBrace,
  kBadDerefOffs,
  kDerefOpenBrace,
  kCommCantDeref,
  kBadFetchArg,
  kArrayNoClose,
  kBadArraySuffix,
  kBadArrayNum,
  kArrayTooBig,
  kBadType,
  kBadString,
  kBadSymstring,
  kBadBitfield,
  kArgNameTooLong,
  kNoArgName,
  kBadArgName,
  kUsedArgName,
  kArgTooLong,
  kNoArgBody,
  kFailRegProbe,
  kNoEventInfo,
  kBadAttachEvent,
  kNoEpFilter,
  kNosupBtfarg,
  kNoBtfarg,
  kNofentryArgs,
  kDoubleArgs,
  kNeedStringType,
  kEventTooBig,
};
std::string_view fault_text(ProbeFault fault);

// Collects what goes wrong with one line. Parsers return false once something did.
class ProbeFaults {
 public:
  ProbeFaults(std::string_view location, const std::vector<std::string_view>& words)
      : words_(words) {
    error_.location = location;
  }

  // The word that offsets count in from now on.
  void set_word(size_t word) { word_ = word; }
  // An entry of the log; at most two are kept. Always false.
  bool fail(ProbeFault fault, size_t offset, int error, std::string help = "");
  // No entry, only the errno.
  bool fail_silently(int error, std::string help = "");

  std::optional<ProbeError> take();  // null: nothing went wrong

 private:
  const std::vector<std::string_view>& words_;
  size_t word_ = 0;
  int entries_ = 0;
  ProbeError error_;
};

}  // namespace patchbay
