// SPDX-License-Identifier: MIT
#include "mirror/mirror_layout.h"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/text.h"
#include "mirror/mirror_elf.h"

namespace patchbay {
namespace {

using Kind = MirrorText::Kind;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}
// Characters, not small numbers: u8 and uint8_t are none.
bool is_char(std::string_view type) {
  return is_one_of(type, {"char", "const char", "signed char", "unsigned char"});
}
bool is_scalar_size(uint32_t size) { return size == 1 || size == 2 || size == 4 || size == 8; }

// The word of uprobe_events. Addresses are shown in hex, and so are the bits of a real number.
std::string number_type(std::string_view type, uint32_t size, bool is_signed) {
  const bool in_hex = type.find('*') != type.npos || type.starts_with('x') ||
                      is_one_of(type, {"float", "double", "symbol"});
  return (in_hex ? "x" : is_signed ? "s" : "u") + std::to_string(size * 8);
}

std::string plus(uint32_t offset) { return "+" + std::to_string(offset); }

class LayoutMaker {
 public:
  explicit LayoutMaker(const EventCall& call) {
    for (const EventField& field : call.fields) add(field);
  }
  MirrorLayout take() { return std::move(out_); }

 private:
  void add(const EventField& field) {
    MirrorField made;
    made.name = field.name;
    // Names that the kernel keeps for itself.
    is_own_ = !field.name.starts_with("__");
    if (field.name.starts_with("__probe_")) made.name = field.name.substr(2);
    const std::string_view type = field.type;
    for (const auto& [word, kind] : {std::pair{std::string_view("__data_loc "), Kind::kDataLoc},
                                     std::pair{std::string_view("__rel_loc "), Kind::kRelLoc}})
      if (type.starts_with(word)) {
        const std::string_view element = type.substr(word.size(), type.find('[') - word.size());
        add_dynamic(field, element, kind, &made);
        return keep(std::move(made));
      }
    if (field.array_len > 0 || field.size == 0 || !field.brackets.empty())
      add_array(field, &made);
    else if (is_scalar_size(field.size))
      add_number(field, &made);
    keep(std::move(made));
  }

  void add_dynamic(const EventField& field, std::string_view element, Kind kind,
                   MirrorField* made) {
    const size_t number = add_text({field.offset, 4, kind, {}});
    made->usdt = pointer(number);
    made->type = is_char(element) ? "text" : "pointer to " + std::string(element);
    if (is_char(element)) made->kernel = text_argument(number);
  }

  void add_array(const EventField& field, MirrorField* made) {
    const bool is_text = is_char(field.type);
    const Kind kind = is_text && field.size ? Kind::kFixed : Kind::kInPlace;
    const size_t number = add_text({field.offset, field.size, kind, {}});
    if (kind == Kind::kFixed) out_.nr_copied += field.size + 1;
    made->usdt = pointer(number);
    made->type = is_text ? "text" : "pointer to " + field.type;
    if (is_text) made->kernel = text_argument(number);
    const uint32_t size = field.array_len ? field.size / field.array_len : 0;
    if (is_text || !is_scalar_size(size) || field.array_len > kMostKernelArray) return;
    made->kernel = plus(field.offset) + "(%di):" + number_type(field.type, size, field.is_signed) +
                   "[" + std::to_string(field.array_len) + "]";
  }

  void add_number(const EventField& field, MirrorField* made) {
    // The fields that Patchbay itself has put there are addresses.
    const std::string_view type = is_own_ ? std::string_view(field.type) : "x";
    made->type = number_type(type, field.size, field.is_signed);
    const std::string size = std::to_string(field.size);
    made->usdt = (field.is_signed && made->type[0] == 's' ? "-" : "") + size + "@" +
                 std::to_string(field.offset) + "(%rdi)";
    made->kernel = plus(field.offset) + "(%di):" + made->type;
  }

  size_t add_text(const MirrorText& text) {
    out_.texts.push_back(text);
    return out_.texts.size() - 1;
  }
  static std::string pointer(size_t number) { return "8@" + std::to_string(8 * number) + "(%rsi)"; }
  static std::string text_argument(size_t number) {
    return "+0(" + plus(uint32_t(8 * number)) + "(%si)):string";
  }
  void keep(MirrorField made) {
    if (!is_own_) made.usdt.clear();
    out_.fields.push_back(std::move(made));
  }

  MirrorLayout out_;
  bool is_own_ = true;
};

}  // namespace

MirrorLayout mirror_layout(const EventCall& call) { return LayoutMaker(call).take(); }

std::string MirrorLayout::usdt_arguments() const {
  std::string text;
  size_t count = 0;
  for (const MirrorField& field : fields) {
    if (field.usdt.empty() || count == kMostUsdtArguments) continue;
    text += (count++ ? " " : "") + field.usdt;
  }
  return text;
}

}  // namespace patchbay
