// SPDX-License-Identifier: MIT
#include "probe/triggers/mirror_hot.h"

namespace patchbay {
namespace {

constexpr uint8_t kNothing[8] = {};  // an empty text

struct Record {
  const uint8_t* bytes;
  uint32_t size;
};

// The kernel's and our own form alike: where in the lower half, how much in the upper one.
const uint8_t* dynamic_text(const Record& record, const MirrorText& text, uint32_t from) {
  if (text.offset + sizeof(uint32_t) > record.size) return kNothing;
  uint32_t word;
  __builtin_memcpy(&word, record.bytes + text.offset, sizeof word);
  const uint32_t at = from + (word & 0xffff), length = word >> 16;
  return length && at + length <= record.size ? record.bytes + at : kNothing;
}

// A text that fills its field has no NUL behind it: it gets one in a copy.
const uint8_t* fixed_text(const Record& record, const MirrorText& text, uint8_t** copies) {
  if (text.offset + text.size > record.size) return kNothing;
  const uint8_t* from = record.bytes + text.offset;
  for (uint32_t i = 0; i < text.size; i++)
    if (!from[i]) return from;
  uint8_t* to = *copies;
  for (uint32_t i = 0; i < text.size; i++) to[i] = from[i];
  to[text.size] = 0;
  *copies += text.size + 1;
  return to;
}

const uint8_t* text_at(const Record& record, const MirrorText& text, uint8_t** copies) {
  switch (text.kind) {
    case MirrorText::Kind::kDataLoc:
      return dynamic_text(record, text, 0);
    case MirrorText::Kind::kRelLoc:
      return dynamic_text(record, text, text.offset + uint32_t(sizeof(uint32_t)));
    case MirrorText::Kind::kInPlace:
      return text.offset <= record.size ? record.bytes + text.offset : kNothing;
    case MirrorText::Kind::kFixed:
      return fixed_text(record, text, copies);
  }
  return kNothing;
}

}  // namespace

__attribute__((noinline)) void mirror_show(const MirrorStub* stub, const uint8_t* record,
                                           uint32_t size) {
  uint64_t texts[stub->nr_texts + 1];
  uint8_t copied[stub->nr_copied + 1];
  uint8_t* copies = copied;
  for (uint32_t i = 0; i < stub->nr_texts; i++)
    texts[i] = reinterpret_cast<uint64_t>(text_at({record, size}, stub->texts[i], &copies));
  stub->call(record, texts, size);
}

}  // namespace patchbay
