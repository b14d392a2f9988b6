// SPDX-License-Identifier: MIT
#include "output/printk_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/text.h"
#include "event/printk_field.h"

namespace patchbay {

namespace {

constexpr uint64_t kOriginal = uint64_t{1} << 63;  // of an address in printk_formats
constexpr size_t kMaxFloat = 1100;                 // 1e308 with 512 digits behind the point

// --- floats

// "%#g" keeps its zeros, and `#` its point: to_chars has neither.
uint32_t add_alternate(char* text, uint32_t length, char type, int precision) {
  uint32_t exponent = 0;
  while (exponent < length && (text[exponent] | 0x20) != 'e' && (text[exponent] | 0x20) != 'p')
    exponent++;
  const bool has_point = std::memchr(text, '.', exponent) != nullptr;
  uint32_t digits = 0;
  bool counts = false;
  for (uint32_t i = 0; i < exponent; i++) {
    if (text[i] >= '1' && text[i] <= '9') counts = true;
    if (counts && text[i] != '.') digits++;
  }
  uint32_t missing = 0;
  if (type == 'g') {
    const uint32_t wanted = uint32_t(std::max(precision, 1));
    if (!counts) digits = 1;
    missing = wanted > digits ? wanted - digits : 0;
  }
  const uint32_t more = (has_point ? 0 : 1) + missing;
  if (!more || length + more > kMaxFloat) return length;
  std::memmove(text + exponent + more, text + exponent, length - exponent);
  if (!has_point) text[exponent] = '.';
  std::memset(text + exponent + (has_point ? 0 : 1), '0', missing);
  return length + more;
}

// Without its sign. Returns the length.
uint32_t float_digits(double value, const PrintkSpec& spec, char (&text)[kMaxFloat + 8]) {
  const char type = char(spec.type | 0x20);
  std::to_chars_result made;
  if (type == 'a') {
    made =
        spec.precision == kPrintkNone
            ? std::to_chars(text, text + kMaxFloat, value, std::chars_format::hex)
            : std::to_chars(text, text + kMaxFloat, value, std::chars_format::hex, spec.precision);
  } else {
    const auto form = type == 'f'   ? std::chars_format::fixed
                      : type == 'e' ? std::chars_format::scientific
                                    : std::chars_format::general;
    made = std::to_chars(text, text + kMaxFloat, value, form,
                         spec.precision == kPrintkNone ? 6 : spec.precision);
  }
  if (made.ec != std::errc()) return 0;
  auto length = uint32_t(made.ptr - text);
  if (spec.flags & kPrintkHash)
    length = add_alternate(text, length, type, spec.precision == kPrintkNone ? 6 : spec.precision);
  return length;
}

void put_float(PrintkOut* out, PrintkSpec spec, double value) {
  char text[kMaxFloat + 8], prefix[3];
  uint32_t prefix_length = 0, length = 0;
  const bool upper = spec.type < 'a';
  if (std::signbit(value))
    prefix[prefix_length++] = '-';
  else if (spec.flags & (kPrintkPlus | kPrintkBlank))
    prefix[prefix_length++] = spec.flags & kPrintkPlus ? '+' : ' ';
  if (!std::isfinite(value)) {
    std::memcpy(text, std::isnan(value) ? "nan" : "inf", length = 3);
    spec.flags &= uint8_t(~kPrintkZero);
  } else {
    if ((spec.type | 0x20) == 'a') {
      prefix[prefix_length++] = '0';
      prefix[prefix_length++] = upper ? 'X' : 'x';
    }
    length = float_digits(std::fabs(value), spec, text);
  }
  for (uint32_t i = 0; upper && i < length; i++)
    if (text[i] >= 'a' && text[i] <= 'z') text[i] = char(text[i] - 0x20);
  spec.precision = kPrintkNone;  // it has had its effect
  put_printk_digits(out, spec, prefix, prefix_length, text, length);
}

// --- packed arguments

// Takes what comes next, aligned. False: cut short.
bool take(PrintkArguments* from, size_t alignment, size_t size, uint64_t* value) {
  const size_t at = (from->at + alignment - 1) & ~(alignment - 1);
  if (from->bytes.size() < at || from->bytes.size() - at < size) return false;
  *value = 0;
  std::memcpy(value, from->bytes.data() + at, size);
  from->at = at + size;
  return true;
}

bool take_text(PrintkArguments* from, std::string_view* text) {
  if (from->at >= from->bytes.size()) return false;
  const std::string_view rest(reinterpret_cast<const char*>(from->bytes.data()) + from->at,
                              from->bytes.size() - from->at);
  *text = rest.substr(0, rest.find('\0'));
  from->at += std::min(text->size() + 1, rest.size());
  return true;
}

void put_cut(PrintkOut* out, PrintkArguments* arguments) {
  out->text("(cut)", 5);
  arguments->at = arguments->bytes.size();
}

bool take_star(PrintkArguments* arguments, PrintkSpec* spec) {
  uint64_t value = 0;
  if (spec->width == kPrintkArgument) {
    if (!take(arguments, 4, 4, &value)) return false;
    resolve_printk_width(spec, int32_t(value));
  }
  if (spec->precision == kPrintkArgument) {
    if (!take(arguments, 4, 4, &value)) return false;
    resolve_printk_precision(spec, int32_t(value));
  }
  return true;
}

void put_double(PrintkOut* out, PrintkSpec spec, PrintkArguments* arguments) {
  uint64_t bits = 0;
  if (!take_star(arguments, &spec) || !take(arguments, 4, 8, &bits)) return put_cut(out, arguments);
  double value;
  std::memcpy(&value, &bits, sizeof value);
  put_float(out, spec, value);
}

void put_text(PrintkOut* out, const PrintkSpec& spec, PrintkArguments* arguments) {
  std::string_view text;
  if (!take_text(arguments, &text)) return put_cut(out, arguments);
  if (spec.precision >= 0) text = text.substr(0, size_t(spec.precision));
  put_printk_padded(out, spec, text.data(), uint32_t(text.size()));
}

// --- as the kernel packs them

// vbin_printf() aligns smaller integers and characters to their own size, and records widths.
void put_kernels(PrintkOut* out, PrintkSpec spec, PrintkArguments* arguments) {
  if (!take_star(arguments, &spec)) return put_cut(out, arguments);
  if (spec.type == 's') return put_text(out, spec, arguments);
  const size_t size = spec.type == 'c' ? 1 : spec.size;
  uint64_t value = 0;
  if (!take(arguments, std::min<size_t>(size, 4), size, &value)) return put_cut(out, arguments);
  if (spec.type == 'c') {
    const char c = char(value);
    put_printk_padded(out, spec, &c, 1);
  } else if (spec.type == 'p') {
    put_printk_pointer(out, spec, value);
  } else {
    put_printk_integer(out, spec, printk_value(spec, value));
  }
}

// What follows a kernel's %p: S s B … name the address; others were made text when recorded.
bool put_special_pointer(std::string* out, char kind, PrintkArguments* arguments,
                         const PrintkSymbol& symbol) {
  std::string_view text;
  uint64_t value = 0;
  if (std::strchr("sSBfF", kind)) {
    if (!take(arguments, 4, 8, &value)) return false;
    *out += symbol ? symbol(value) : hex_number(value);
  } else if (kind == 'x' || kind == 'K') {
    if (!take(arguments, 4, 8, &value)) return false;
    *out += hex_number(value);
  } else {
    if (!take_text(arguments, &text)) return false;
    *out += text;
  }
  return true;
}

bool is_special(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

void put_printk_argument(PrintkOut* out, PrintkSpec spec, PrintkArguments* arguments) {
  uint64_t value = 0;
  switch (spec.pack) {
    case PrintkPack::kWord:
    case PrintkPack::kLong: {
      const size_t size = spec.pack == PrintkPack::kLong ? 8 : 4;
      if (!take(arguments, 4, size, &value)) return put_cut(out, arguments);
      if (spec.type == 'p') return put_printk_pointer(out, spec, value);
      return put_printk_integer(out, spec, printk_value(spec, value));
    }
    case PrintkPack::kDouble:
      return put_double(out, spec, arguments);
    case PrintkPack::kMade:
      spec = PrintkSpec{PrintkPack::kString};
      return put_text(out, spec, arguments);
    default:
      return put_text(out, spec, arguments);
  }
}

void append_printk(std::string* out, std::string_view untrusted_format,
                   std::span<const uint8_t> bytes, PrintkLayout layout,
                   const PrintkSymbol& symbol) {
  PrintkArguments arguments{bytes};
  const std::string format(untrusted_format.substr(0, untrusted_format.find('\0')));
  char text[kMaxFloat + 2 * kPrintkMaxWidth];
  std::string longer;
  PrintkPiece piece;
  for (uint32_t at = 0; next_printk_piece(format.c_str(), at, &piece); at = piece.end) {
    if (piece.pack == PrintkPack::kPercent) {
      *out += '%';
      continue;
    }
    if (piece.pack == PrintkPack::kText) {
      out->append(format, piece.begin, piece.end - piece.begin);
      continue;
    }
    const bool kernels = layout == PrintkLayout::kKernels && piece.pack != PrintkPack::kDouble;
    if (kernels && piece.type == 'p' && is_special(format[piece.end])) {
      if (!put_special_pointer(out, format[piece.end], &arguments, symbol)) *out += "(cut)";
      while (is_special(format[piece.end])) piece.end++;
      continue;
    }
    // A string may be as long as the record; anything else fits the text.
    longer.resize(piece.type == 's' ? bytes.size() + 2 * kPrintkMaxWidth : 0);
    char* begin = longer.empty() ? text : longer.data();
    PrintkOut piece_out = {begin, begin + (longer.empty() ? sizeof text : longer.size())};
    kernels ? put_kernels(&piece_out, piece, &arguments)
            : put_printk_argument(&piece_out, piece, &arguments);
    out->append(begin, size_t(piece_out.at - begin));
  }
}

// --- printk_formats

namespace {

// The conversion as other programs are to read it.
void append_foreign(std::string* out, const std::string& format, const PrintkPiece& piece) {
  if (piece.pack == PrintkPack::kDouble) {
    if (piece.width == kPrintkArgument) *out += "%d,";
    if (piece.precision == kPrintkArgument) *out += "%d,";
    *out += "0x%llx";
    return;
  }
  if (piece.pack == PrintkPack::kMade) {
    *out += "%s";
    return;
  }
  *out += '%';
  uint32_t at = piece.begin + 1;
  for (; format[at] && !std::strchr("hljztLduixXops", format[at]); at++)
    if (format[at] != '\'') *out += format[at];
  if (piece.pack == PrintkPack::kLong && piece.type != 'p') *out += piece.size == 8 ? "l" : "";
  *out += piece.type;
}

void append_quoted(std::string* out, std::string_view text) {
  for (char c : text) {
    switch (c) {
      case '\n':
        *out += "\\n";
        break;
      case '\t':
        *out += "\\t";
        break;
      case '\r':
        *out += "\\r";
        break;
      case '\\':
        *out += "\\\\";
        break;
      case '"':
        *out += "\\\"";
        break;
      default:
        *out += c;
    }
  }
}

void append_format_line(std::string* out, uint64_t address, std::string_view text) {
  *out += hex_number(address) + " : \"";
  append_quoted(out, text);
  *out += "\"\n";
}

std::string unquoted(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      plain += text[i];
      continue;
    }
    const char c = text[++i];
    plain += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
  }
  return plain;
}

}  // namespace

std::string foreign_printk_format(std::string_view text) {
  const std::string format(text.substr(0, text.find('\0')));
  std::string foreign;
  PrintkPiece piece;
  for (uint32_t at = 0; next_printk_piece(format.c_str(), at, &piece); at = piece.end) {
    const std::string_view own(format.c_str() + piece.begin, piece.end - piece.begin);
    if (piece.pack == PrintkPack::kPercent) {
      foreign += own;
    } else if (piece.pack == PrintkPack::kText) {
      for (char c : own) foreign += c == '%' ? "%%" : std::string(1, c);
    } else {
      append_foreign(&foreign, format, piece);
    }
  }
  return foreign;
}

bool has_float(std::string_view text) {
  const std::string format(text.substr(0, text.find('\0')));
  PrintkPiece piece;
  for (uint32_t at = 0; next_printk_piece(format.c_str(), at, &piece); at = piece.end)
    if (piece.pack == PrintkPack::kDouble) return true;
  return false;
}

std::string printk_formats_text(const std::vector<BufferFile::Text>& texts) {
  std::string out;
  for (const BufferFile::Text& text : texts) {
    append_format_line(&out, text.address, foreign_printk_format(text.text));
    if (has_float(text.text)) append_format_line(&out, text.address | kOriginal, text.text);
  }
  return out;
}

PrintkTexts PrintkTexts::from_formats(std::string_view text) {
  PrintkTexts made;
  while (!text.empty()) {
    std::string_view line = cut_at(&text, '\n');
    uint64_t address = 0;
    if (!line.starts_with("0x")) continue;
    const auto [end, error] =
        std::from_chars(line.data() + 2, line.data() + line.size(), address, 16);
    line.remove_prefix(size_t(end - line.data()));
    if (error != std::errc() || !line.starts_with(" : \"") || !line.ends_with('"') ||
        line.size() < 5)
      continue;
    const bool original = address & kOriginal && address < (kOriginal | uint64_t{1} << 47);
    if (original) address &= ~kOriginal;
    made.texts_[address] = {unquoted(line.substr(4, line.size() - 5)),
                            original ? PrintkLayout::kOurs : PrintkLayout::kKernels};
  }
  return made;
}

void PrintkTexts::add(const std::vector<BufferFile::Text>& texts) {
  for (const BufferFile::Text& text : texts)
    texts_.insert_or_assign(text.address, Text{text.text, PrintkLayout::kOurs});
}

const PrintkTexts::Text* PrintkTexts::find(uint64_t address) {
  auto found = texts_.find(address);
  if (found == texts_.end() && load_ && address != missing_) {
    add(load_());
    found = texts_.find(address);
    if (found == texts_.end()) missing_ = address;
  }
  return found == texts_.end() ? nullptr : &found->second;
}

}  // namespace patchbay
