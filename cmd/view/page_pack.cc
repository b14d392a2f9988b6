// SPDX-License-Identifier: MIT
#include "cmd/view/page_pack.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cmd/common/commands.h"

namespace patchbay::cmd {
namespace {

constexpr char kMagic[] = "PBPAGE1\n";

std::string member(const char* name, uint64_t value) {
  return std::string("\"") + name + "\":" + std::to_string(value);
}

std::string base64(std::string_view bytes) {
  static const char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t left = std::min<size_t>(3, bytes.size() - at);
    uint32_t word = 0;
    for (size_t i = 0; i < 3; i++) word = word << 8 | (i < left ? uint8_t(bytes[at + i]) : 0);
    for (size_t i = 0; i < 4; i++) out += i <= left ? kLetters[word >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

}  // namespace

// --- columns

size_t PageData::begin() {
  data_.resize((data_.size() + 7) / 8 * 8);
  return data_.size();
}

std::string PageData::fixed(const std::vector<uint64_t>& values, bool is_signed) {
  const auto less = [is_signed](uint64_t a, uint64_t b) {
    return is_signed ? int64_t(a) < int64_t(b) : a < b;
  };
  uint64_t least = 0, most = 0;
  if (!values.empty()) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end(), less);
    least = *low, most = *high;
  }
  const uint64_t range = most - least;
  const size_t width = range < 1u << 8 ? 1 : range < 1u << 16 ? 2 : range <= ~uint32_t{0} ? 4 : 8;
  const size_t offset = begin();
  data_.resize(offset + width * values.size());
  for (size_t i = 0; i < values.size(); i++) {
    const uint64_t value = values[i] - least;
    std::memcpy(&data_[offset + i * width], &value, width);
  }
  const std::string base = is_signed ? std::to_string(int64_t(least)) : std::to_string(least);
  return "{" + member("o", offset) + "," + member("n", values.size()) + "," + member("e", width) +
         ",\"b\":\"" + base + "\"}";
}

std::string PageData::doubles(const std::vector<uint64_t>& bits) {
  const size_t offset = begin();
  data_.append(reinterpret_cast<const char*>(bits.data()), bits.size() * sizeof bits[0]);
  return "{" + member("o", offset) + "," + member("n", bits.size()) + ",\"e\":\"f\"}";
}

std::string PageData::varints(const std::vector<uint64_t>& values, bool sum) {
  const size_t offset = begin();
  uint64_t before = 0;
  for (const uint64_t value : values) {
    uint64_t left = sum ? value - before : value;
    before = value;
    for (; left >= 128; left >>= 7) data_ += char(left | 128);
    data_ += char(left);
  }
  return "{" + member("o", offset) + "," + member("n", values.size()) + "," +
         member("s", data_.size() - offset) + ",\"e\":\"v\"}";
}

std::string PageData::bytes(std::string_view text) {
  const size_t offset = begin();
  data_ += text;
  return "{" + member("o", offset) + "," + member("n", text.size()) + ",\"e\":1}";
}

// --- strings and stacks

uint32_t PageStrings::of(std::string_view text) {
  if (auto found = numbers_.find(text); found != numbers_.end()) return found->second;
  const uint32_t number = uint32_t(ends_.size());
  numbers_.emplace(std::string(text), number);
  text_ += text;
  ends_.push_back(text_.size());
  return number;
}

std::string PageStrings::pack(PageData* data) const {
  const std::string ends = data->fixed(ends_);
  return "{\"bytes\":" + data->bytes(text_) + ",\"ends\":" + ends + "}";
}

uint32_t PageStacks::child(uint32_t parent, uint32_t string) {
  const auto [found, is_new] =
      index_.try_emplace(uint64_t{parent} << 32 | string, uint32_t(frames_.size()));
  if (is_new) {
    frames_.push_back(string);
    parents_.push_back(parent);
  }
  return found->second;
}

std::string PageStacks::pack(PageData* data) const {
  const std::string frames = data->fixed(frames_);
  return "{\"frame\":" + frames + ",\"parent\":" + data->fixed(parents_) + "}";
}

// --- rows

uint32_t PageRows::add_kind(uint32_t name, uint32_t system, bool is_call,
                            const std::vector<PageField>& fields) {
  Kind& kind = kinds_.emplace_back(Kind{name, system, is_call, 0, {}, {}});
  for (const PageField& field : fields) kind.fields.push_back({field, {}, {}});
  return uint32_t(kinds_.size() - 1);
}

uint32_t PageRows::add(PageRow row) {
  Kind& kind = kinds_[row.kind];
  row.in_kind = kind.rows++;
  for (Field& field : kind.fields) {
    field.values.push_back(0);
    field.present.push_back(false);
  }
  calls_ += kind.is_call;
  rows_.push_back(row);
  return uint32_t(rows_.size() - 1);
}

void PageRows::set(uint32_t number, size_t index, uint64_t value) {
  const PageRow& row = rows_[number];
  Field& field = kinds_[row.kind].fields[index];
  field.values[row.in_kind] = value;
  field.present[row.in_kind] = true;
}

std::string PageRows::pack_kind(const Kind& kind, PageData* data, PageStrings* strings) {
  std::string text = "{" + member("name", kind.name) + "," + member("system", kind.system) +
                     ",\"call\":" + (kind.is_call ? "true" : "false") + ",\"fields\":[";
  for (const Field& field : kind.fields) {
    if (&field != &kind.fields[0]) text += ',';
    // An absent value becomes one that is there: a 0 would cost its column's width.
    uint64_t some = 0;
    for (const uint32_t at : kind.order)
      if (field.present[at]) some = field.values[at];
    std::vector<uint64_t> values, absent;
    bool any_absent = false;
    for (const uint32_t at : kind.order) {
      values.push_back(field.present[at] ? field.values[at] : some);
      absent.push_back(!field.present[at]);
      any_absent |= !field.present[at];
    }
    const char type = field.what.type;
    text +=
        "{" + member("name", strings->of(field.what.name)) + ",\"type\":\"" + type +
        "\",\"column\":" + (type == 'f' ? data->doubles(values) : data->fixed(values, type == 'i'));
    if (any_absent) text += ",\"absent\":" + data->fixed(absent);
    text += "}";
  }
  return text + "]}";
}

std::string PageRows::pack_columns(PageData* data, const std::vector<uint32_t>& cpu_order,
                                   Choice choice) {
  const auto column = [&](auto value_of, bool calls_only = false) {
    std::vector<uint64_t> values;
    values.reserve(calls_only ? calls_ : rows_.size());
    for (const PageRow& row : rows_)
      if (!calls_only || kinds_[row.kind].is_call) values.push_back(value_of(row));
    return values;
  };
  using Row = const PageRow&;
  std::string text = "{\"time\":" + data->varints(column([](Row row) { return row.time; }), true);
  text += ",\"kind\":" + data->fixed(column([](Row row) { return row.kind; }));
  text += ",\"thread\":" + data->fixed(column([](Row row) { return row.thread; }));
  text += ",\"cpu\":" + data->fixed(column([&](Row row) { return cpu_order[row.cpu]; }));
  if (choice.stacks) text += ",\"stack\":" + data->fixed(column([](Row row) { return row.stack; }));
  if (choice.instances)
    text += ",\"instance\":" + data->fixed(column([](Row row) { return row.instance; }));
  text +=
      ",\"duration\":" + data->varints(column([](Row row) { return row.duration; }, true), false);
  text += ",\"depth\":" + data->fixed(column([](Row row) { return row.depth; }, true));
  return text + ",\"how\":" + data->fixed(column([](Row row) { return row.how; }, true)) + "}";
}

PageRows::Packed PageRows::pack(PageData* data, PageStrings* strings,
                                const std::vector<uint32_t>& cpu_order, Choice choice) {
  std::stable_sort(rows_.begin(), rows_.end(),
                   [](const PageRow& a, const PageRow& b) { return a.time < b.time; });
  for (const PageRow& row : rows_) kinds_[row.kind].order.push_back(row.in_kind);
  Packed packed{"[", pack_columns(data, cpu_order, choice)};
  for (Kind& kind : kinds_) {
    if (&kind != &kinds_[0]) packed.kinds += ",\n";
    packed.kinds += pack_kind(kind, data, strings);
    kind.fields.clear();
  }
  packed.kinds += "]";
  return packed;
}

Result<std::string> page_payload(const std::string& header, const PageData& data) {
  std::string all(kMagic, 8);
  const uint32_t length = uint32_t(header.size());
  all.append(reinterpret_cast<const char*>(&length), 4);
  all += header;
  all.resize((all.size() + 7) / 8 * 8);
  all += data.data();
  uLongf size = ::compressBound(all.size());
  std::string packed(size, '\0');
  const int done = ::compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                               reinterpret_cast<const Bytef*>(all.data()), all.size(), 6);
  if (done != Z_OK) return user_error(ENOMEM, "There is not enough memory to compress the page.");
  packed.resize(size);
  return base64(packed);
}

}  // namespace patchbay::cmd
