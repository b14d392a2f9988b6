// SPDX-License-Identifier: MIT
//
// A histogram as values: what its columns are, and what was counted. All that shows one is made of
// it: the file `hist` in the agent; tables, JSON, latencies and series in the tool.
//
//   agent   HistData + table ── hist_image_of() ──> HistImage ── hist_text() ──> file `hist`
//                                                       │ hist_image_bytes()     abi/table_abi.h
//   tool                                                └──> parse_hist_images() ──> HistImage
//
//   { pid:       1234, comm: sh         } hitcount:   7  bytes:  99 <tracks>
//     keys[0]          keys[1]            values[0]      values[1]
//
// A key is compared by its bytes. Where an address or a thread stands in it, these are the number
// of a name: one name is there once.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "abi/table_abi.h"
#include "base/result.h"

namespace patchbay {

enum class HistForm : uint8_t {
  kNumber,
  kHex,
  kText,
  kStack,
  kSymbol,
  kSymbolOffset,
  kExecname,
  kSyscall,
  kLog2,
  kBucket,
  kPercent,  // from here on of values
  kGraph,
  kQuantiles,
  kCounters,
};
inline constexpr uint64_t kNrHistForms = uint64_t(HistForm::kCounters) + 1;

struct HistColumn {
  std::string name, modifier;  // "lat", "log2"; empty: none
  HistForm form = HistForm::kNumber;
  bool is_signed = false;   // its numbers are int64_t
  bool is_hidden = false;   // hitcount with nohitcount; what the kernel does not show
  bool is_generic = false;  // of no field of the event
  uint32_t size = 0;        // bytes of the event's field
  uint64_t buckets = 0;     // of kBucket

  bool has_names() const {
    return form == HistForm::kStack || form == HistForm::kSymbol ||
           form == HistForm::kSymbolOffset || form == HistForm::kExecname;
  }
  bool has_ranges() const { return form == HistForm::kQuantiles || form == HistForm::kCounters; }
};

// What is known of an address, or of a thread id.
struct HistName {
  uint64_t number = 0;
  uint64_t offset = 0, size = 0;  // behind the beginning of its symbol, and of that
  uint64_t place = 0;             // in `object`
  std::string name;               // a symbol's, a thread's
  std::string object;             // the base name of its file; empty: it is in none
  bool is_known = false;          // there is a symbol
  bool is_several = false;        // of a sum: the number is another one in each process
};

struct HistOrder {
  uint32_t column = 0;  // values first (0 is hitcount), then keys
  bool descending = false;
};

// A variable that onmax() or onchange() tracks.
struct HistTrack {
  std::string variable;  // "$lat"
  bool is_max = false, is_snapshot = false;
};
struct HistSavedValue {  // what save() keeps
  uint64_t number = 0;
  std::string text;
};
struct HistReached {
  uint32_t track = 0;
  uint64_t value = 0;
  std::vector<HistSavedValue> saved;  // one for each column of HistImage::saved
};
struct HistShot {  // what set off a snapshot
  uint32_t track = 0;
  uint64_t value = 0;
  std::string key;
};

// How often a value was in each range of quantile_buckets.h, by its number, ascending; -5 is the
// range of -5. Empty ones are left out.
using HistRanges = std::vector<std::pair<int32_t, uint64_t>>;

struct HistRow {
  std::string key;  // table_abi.h
  std::array<uint64_t, abi::kMostTableColumns> values{};
  std::vector<HistRanges> ranges;  // by value; empty when none has any
  std::vector<HistReached> reached;
};

// One value of a key.
struct HistKeyPart {
  uint64_t number = 0;                // of a name, where the column has those
  std::string_view text;              // of kText; points into the row
  bool is_cut = false;                // there was more of it
  std::vector<uint32_t> frames = {};  // of kStack: numbers of names
};

struct HistImage {
  std::string definition;  // as the file `trigger` lists it, without its state
  bool is_paused = false;
  std::vector<HistColumn> keys, values, saved;  // values[0] is hitcount
  std::vector<HistTrack> tracks;
  std::vector<HistOrder> orders;
  std::vector<HistName> names;
  std::vector<HistRow> rows;  // in the order in which their keys came
  std::vector<HistShot> shots;
  uint64_t hits = 0, dropped = 0;

  bool has_ranges() const;
  std::array<HistKeyPart, abi::kMostTableColumns> parts_of(std::string_view key) const;
};

// Puts one value of a key.
void put_hist_key_text(std::string* key, std::string_view text, bool is_cut);

std::string hist_image_bytes(const HistImage& image);
// Those of a file, one after the other. EBADMSG.
Result<std::vector<HistImage>> parse_hist_images(std::string_view untrusted);

// Indexes of the rows, sorted as the histogram says; equal ones stand in the order in which their
// keys came.
std::vector<uint32_t> sort_hist_rows(const HistImage& image);

}  // namespace patchbay
