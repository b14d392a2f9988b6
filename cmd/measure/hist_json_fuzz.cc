// SPDX-License-Identifier: MIT
// Any bytes as the images of files of two processes: a sum comes out with all hits of both, in
// which the sum of that alone changes nothing, and one line of JSON of it.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cmd/common/common.cc"      // the tool is no library
#include "cmd/measure/hist_json.cc"  // NOLINT
#include "cmd/measure/hist_sum.cc"   // NOLINT

namespace {

// Braces and brackets outside texts are closed in order.
bool is_nested(std::string_view json) {
  std::string open;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); i++) {
    const char c = json[i];
    if (in_text) {
      if (c == '\\') i++;
      if (uint8_t(c) < 0x20) return false;
      in_text = c != '"';
      continue;
    }
    in_text = c == '"';
    if (c == '{' || c == '[') open += c == '{' ? '}' : ']';
    if (c != '}' && c != ']') continue;
    if (open.empty() || open.back() != c) return false;
    open.pop_back();
  }
  return open.empty() && !in_text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace patchbay;
  auto read = parse_hist_images({reinterpret_cast<const char*>(data), size});
  if (!read.ok() || read->empty()) return 0;
  std::vector<cmd::HistImagePtr> images;
  for (const HistImage& image : *read) images.push_back(std::make_shared<const HistImage>(image));
  const cmd::HistImagePtr sum = cmd::hist_sum(images);
  uint64_t hits = 0;
  for (const cmd::HistImagePtr& image : images)
    if (cmd::same_columns(*images[0], *image)) hits += image->hits;
  if (!sum || sum->hits != hits) std::abort();
  const std::string json = cmd::hist_json(*sum);
  if (json.find('\n') != json.size() - 1 || !is_nested(json)) std::abort();
  if (cmd::hist_json(*cmd::hist_sum({nullptr, sum})) != json) std::abort();
  return 0;
}
