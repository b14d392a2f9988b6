// SPDX-License-Identifier: MIT
// Foreign bytes made harmless, for a terminal and for JSON.
#include "output/trace_line.h"

#include <algorithm>
#include <cstring>

namespace patchbay {

namespace {

constexpr char kHex[] = "0123456789abcdef";

// Bytes of the well-formed UTF-8 character that starts here and is no C1 control; 0: there is none.
size_t utf8_length(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : 0; };
  auto more = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  uint8_t first = byte(0);
  if (first >= 0xc2 && first <= 0xdf && more(1)) return first == 0xc2 && byte(1) < 0xa0 ? 0 : 2;
  if (first >= 0xe0 && first <= 0xef && more(1) && more(2)) {
    bool too_long = first == 0xe0 && byte(1) < 0xa0;
    bool surrogate = first == 0xed && byte(1) >= 0xa0;
    return too_long || surrogate ? 0 : 3;
  }
  if (first >= 0xf0 && first <= 0xf4 && more(1) && more(2) && more(3)) {
    bool bad = (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90);
    return bad ? 0 : 4;
  }
  return 0;
}

void append_hex_escape(std::string* out, uint8_t c) {
  if (c == '\n') {
    *out += "\\n";
  } else if (c == '\t') {
    *out += "\\t";
  } else if (c == '\r') {
    *out += "\\r";
  } else {
    *out += "\\x";
    *out += kHex[c >> 4];
    *out += kHex[c & 15];
  }
}

bool plain(uint8_t c) { return c >= 0x20 && c < 0x7f; }

}  // namespace

bool is_plain(std::string_view text) {
  constexpr uint64_t kOnes = 0x0101010101010101, kTops = kOnes << 7;
  const char* at = text.data();
  size_t left = text.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    const uint64_t deletes = word ^ kOnes * 0x7f;
    // A byte below ' ' borrows; so does a DEL, which is 0 here.
    if ((word | (word - kOnes * ' ') | (deletes - kOnes)) & kTops) return false;
  }
  return std::all_of(at, at + left, [](char c) { return plain(uint8_t(c)); });
}

void append_escaped(std::string* out, std::string_view text) {
  while (!text.empty()) {
    size_t run = 0;
    while (run < text.size() && plain(uint8_t(text[run]))) run++;
    out->append(text.substr(0, run));
    text.remove_prefix(run);
    if (text.empty()) return;
    size_t length = utf8_length(text);
    if (length) {
      out->append(text.substr(0, length));
    } else {
      append_hex_escape(out, uint8_t(text[0]));
    }
    text.remove_prefix(length ? length : 1);
  }
}

void append_json_string(std::string* out, std::string_view text) {
  *out += '"';
  while (!text.empty()) {
    uint8_t c = uint8_t(text[0]);
    size_t length = 1;
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += char(c);
    } else if (plain(c)) {
      *out += char(c);
    } else if (c < 0x80) {
      *out += "\\u00";
      *out += kHex[c >> 4];
      *out += kHex[c & 15];
    } else if ((length = utf8_length(text)) != 0) {
      out->append(text.substr(0, length));
    } else {
      length = 1;
      *out += "\xef\xbf\xbd";
    }
    text.remove_prefix(length);
  }
  *out += '"';
}

}  // namespace patchbay
