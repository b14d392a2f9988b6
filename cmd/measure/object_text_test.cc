// SPDX-License-Identifier: MIT
#include "cmd/measure/object_text.h"

#include <gtest/gtest.h>

#include <cstring>

namespace patchbay::cmd {
namespace {

using Kind = ObjectForm::Kind;
using Show = ObjectForm::Show;

// A record with words of 8 bytes, and texts or elements behind them.
class Fields {
 public:
  Fields& word(const std::string& name, uint64_t value) {
    add({"u64", name, 0, 8}, value);
    return *this;
  }
  // Nothing: the word is 0.
  Fields& dynamic(const std::string& name, std::optional<std::string> bytes) {
    add({"__data_loc u8[]", name, 0, 4},
        bytes ? kBehind + behind_.size() + (bytes->size() << 16) : 0);
    behind_ += bytes.value_or("");
    return *this;
  }
  Fields& text(const std::string& name, const std::string& bytes) {
    return dynamic(name, bytes + std::string(1, '\0'));
  }
  Fields& numbers(const std::string& name, const std::vector<int32_t>& values) {
    return dynamic(name, std::string(reinterpret_cast<const char*>(values.data()),
                                     values.size() * sizeof(int32_t)));
  }
  std::string shown(const ObjectForm& form) {
    std::vector<uint8_t> record = fixed_;
    record.resize(kBehind);
    record.insert(record.end(), behind_.begin(), behind_.end());
    const std::optional<ObjectText> text = ObjectText::make(form, call_);
    if (!text) return "none";
    std::string out, cut;
    text->append(&out, record);
    for (size_t size = 0; size < record.size(); size++)
      text->append(&cut, std::span(record).first(size));
    return out;
  }

 private:
  static constexpr uint64_t kBehind = 128;
  void add(EventField field, uint64_t value) {
    field.offset = uint32_t(fixed_.size());
    fixed_.resize(fixed_.size() + field.size);
    std::memcpy(fixed_.data() + field.offset, &value, field.size);
    call_.fields.push_back(std::move(field));
  }
  EventCall call_;
  std::vector<uint8_t> fixed_;
  std::string behind_;
};

ObjectForm text_form() {
  ObjectForm form{.kind = Kind::kText};
  form.field = "s";
  form.length = "n";
  return form;
}

TEST(ObjectText, WideTexts) {
  ObjectForm form;
  form.kind = Kind::kWideText;
  form.field = "s";
  form.length = "s_len";
  const auto shown = [&](std::u16string_view text, uint64_t length) {
    form.size = 2;
    Fields fields;
    fields.dynamic("s", std::string(reinterpret_cast<const char*>(text.data()), 2 * text.size()));
    return fields.word("s_len", length).shown(form);
  };
  EXPECT_EQ(shown(u"", 0), "\"\"");
  EXPECT_EQ(shown(u"h\u00e9 \u20ac\U0001f600\"", 6), "\"h\u00e9 \u20ac\U0001f600\\\"\"");
  EXPECT_EQ(shown(std::u16string_view(u"a\0b", 3), 3), "\"a\\x00b\"");
  EXPECT_EQ(shown(u"ab", 70), "\"ab\"...");
  const char16_t half[] = {'a', 0xd83d, 'b'};
  EXPECT_EQ(shown({half, 3}, 3), "\"a\\xed\\xa0\\xbdb\"");
  EXPECT_EQ(Fields().dynamic("s", std::nullopt).word("s_len", 3).shown(form), "(unreadable)");
  form.size = 4;
  EXPECT_EQ(Fields().numbers("s", {'x', 0x1f600, 0x110000}).word("s_len", 3).shown(form),
            "\"x\U0001f600\\xff\"");
}

TEST(ObjectText, TypesByTheirNames) {
  ObjectForm form;
  form.kind = Kind::kTypeName;
  form.field = "type";
  const auto shown = [&](const std::string& name) {
    return Fields().text("type", name).shown(form);
  };
  EXPECT_EQ(shown("St13runtime_error"), "std::runtime_error");
  EXPECT_EQ(shown("*7TooLate"), "TooLate");
  EXPECT_EQ(shown("i"), "int");
  EXPECT_EQ(shown("no name"), "no name");
  EXPECT_EQ(shown(""), "(unreadable)");
}

TEST(ObjectText, Texts) {
  const auto shown = [](const std::string& bytes, uint64_t length) {
    return Fields().text("s", bytes).word("n", length).shown(text_form());
  };
  EXPECT_EQ(shown("hello", 5), "\"hello\"");
  EXPECT_EQ(shown("", 0), "\"\"");
  EXPECT_EQ(shown(std::string("a\0\n\"", 4), 4), "\"a\\x00\\n\\\"\"");
  EXPECT_EQ(shown("hello", 300), "\"hello\"...");
  EXPECT_EQ(shown("hello", ~uint64_t{0}), "(corrupt: 18446744073709551615 bytes)");
  EXPECT_EQ(Fields().dynamic("s", "").word("n", 5).shown(text_form()), "(unreadable)");
  EXPECT_EQ(Fields().dynamic("s", std::nullopt).word("n", 5).shown(text_form()), "(unreadable)");
  EXPECT_EQ(Fields().text("s", "x").shown(text_form()), "none");
}

ObjectForm list_form() {
  ObjectForm form{.kind = Kind::kList, .show = Show::kSigned, .size = 4};
  form.field = "v";
  form.begin = "begin";
  form.end = "end";
  return form;
}

TEST(ObjectText, Lists) {
  const auto shown = [](const std::vector<int32_t>& values, uint64_t begin, uint64_t end) {
    return Fields().numbers("v", values).word("begin", begin).word("end", end).shown(list_form());
  };
  EXPECT_EQ(shown({}, 0, 0), "[]");
  EXPECT_EQ(shown({1, -2}, 64, 72), "[1, -2]");
  EXPECT_EQ(shown({1, 2}, 64, 128), "[1, 2, … 14 more]");
  EXPECT_EQ(shown({1}, 64, 32), "(corrupt: from 0x40 to 0x20)");
  EXPECT_EQ(shown({1}, 64, 67), "(corrupt: from 0x40 to 0x43)");
  EXPECT_EQ(shown({1}, 0, ~uint64_t{3}), "(corrupt: 4611686018427387903 elements)");
  const auto none = [](uint64_t begin, uint64_t end) {
    return Fields()
        .dynamic("v", std::nullopt)
        .word("begin", begin)
        .word("end", end)
        .shown(list_form());
  };
  EXPECT_EQ(none(64, 72), "(unreadable)");
  EXPECT_EQ(none(0, 0), "(unreadable)");
  ObjectForm fixed = list_form();
  fixed.begin = fixed.end = "";
  fixed.count = 3;
  EXPECT_EQ(Fields().numbers("v", {1, 2}).shown(fixed), "[1, 2, … 1 more]");
  fixed.count = 0;
  EXPECT_EQ(Fields().numbers("v", {1, 2}).shown(fixed), "[1, 2, …]") << "nobody knows";
}

TEST(ObjectText, Numbers) {
  const auto shown = [](Show show, uint32_t size, uint64_t value) {
    ObjectForm form{.kind = Kind::kList, .show = show, .size = size};
    form.field = "v";
    form.count = 1;
    const std::string bytes(reinterpret_cast<const char*>(&value), size);
    const std::string list = Fields().dynamic("v", bytes).shown(form);
    return list.substr(1, list.size() - 2);
  };
  EXPECT_EQ(shown(Show::kSigned, 1, 0xff), "-1");
  EXPECT_EQ(shown(Show::kUnsigned, 2, 0xffff), "65535");
  EXPECT_EQ(shown(Show::kBool, 1, 1), "true");
  EXPECT_EQ(shown(Show::kBool, 1, 0), "false");
  EXPECT_EQ(shown(Show::kBool, 1, 7), "7");
  EXPECT_EQ(shown(Show::kChar, 1, '\''), "'\\''");
  EXPECT_EQ(shown(Show::kFloat, 4, 0x3f800000), "1");
  EXPECT_EQ(shown(Show::kFloat, 8, 0x3ff8000000000000), "1.5");
  EXPECT_EQ(shown(Show::kPointer, 8, 0), "nullptr");
  EXPECT_EQ(shown(Show::kPointer, 8, 0x12), "0x12");
  ObjectForm duration{.kind = Kind::kScalar, .show = Show::kSigned, .size = 8};
  duration.field = "v";
  duration.unit = "ms";
  EXPECT_EQ(Fields().word("v", 250).shown(duration), "250ms");
  duration.there = "ok";
  EXPECT_EQ(Fields().word("v", 250).dynamic("ok", "x").shown(duration), "250ms");
  EXPECT_EQ(Fields().word("v", 0).dynamic("ok", std::nullopt).shown(duration), "(unreadable)");
}

TEST(ObjectText, WhatMayBeThere) {
  ObjectForm form{.kind = Kind::kOptional};
  form.flag = "flag";
  form.flag_bit = 32;
  form.parts = {text_form()};
  const auto optional = [&form](uint64_t flag) {
    return Fields().text("s", "in").word("n", 2).word("flag", flag).shown(form);
  };
  EXPECT_EQ(optional(0x6600000100000007), "\"in\"") << "only one byte is the flag";
  EXPECT_EQ(optional(0x6600000000000007), "nullopt");
  EXPECT_EQ(optional(0x7f00000001), "(corrupt)");
}

TEST(ObjectText, Pointers) {
  ObjectForm form{.kind = Kind::kPointer};
  form.field = "p";
  EXPECT_EQ(Fields().word("p", 0x10).shown(form), "0x10");
  EXPECT_EQ(Fields().word("p", 0).shown(form), "nullptr");
  form.parts = {text_form()};
  EXPECT_EQ(Fields().word("p", 0x10).text("s", "in").word("n", 2).shown(form), "&\"in\"");
  EXPECT_EQ(Fields().word("p", 0x10).dynamic("s", "").word("n", 2).shown(form),
            "0x10 (unreadable)");
}

TEST(ObjectText, Sizes) {
  ObjectForm form{.kind = Kind::kSize};
  form.field = "n";
  EXPECT_EQ(Fields().word("n", 0).shown(form), "{}");
  EXPECT_EQ(Fields().word("n", 1).shown(form), "{1 entry}");
  EXPECT_EQ(Fields().word("n", 2).shown(form), "{2 entries}");
  EXPECT_EQ(Fields().word("n", ~uint64_t{0}).shown(form),
            "(corrupt: 18446744073709551615 entries)");
}

// A number of a record, as a member.
ObjectForm member(const std::string& name, const std::string& field) {
  ObjectForm form;
  form.name = name;
  form.field = field;
  form.size = 8;
  return form;
}

TEST(ObjectText, Members) {
  ObjectForm form{.kind = Kind::kMembers};
  form.parts = {member("x", "a"), member("y", "b")};
  EXPECT_EQ(Fields().word("a", 1).word("b", 2).shown(form), "{x=1, y=2}");
  EXPECT_EQ(Fields().word("a", 1).shown(form), "none");
  form.kind = Kind::kElements;
  EXPECT_EQ(Fields().word("a", 1).word("b", 2).shown(form), "[1, 2]");
  form.kind = Kind::kCharacters;
  EXPECT_EQ(Fields().word("a", 'a').word("b", '"').shown(form), "\"a\\\"\"");
  EXPECT_EQ(Fields().word("a", 0).word("b", 'b').shown(form), "\"\"");
  ObjectForm mark{.kind = Kind::kMark};
  mark.unit = "?";
  EXPECT_EQ(Fields().shown(mark), "?");
}

TEST(ObjectText, TextsWithTheirAddresses) {
  ObjectForm form{.kind = Kind::kCText};
  form.field = "s";
  form.address = "at";
  EXPECT_EQ(Fields().dynamic("s", std::string("who\0", 4)).word("at", 16).shown(form), "\"who\"");
  EXPECT_EQ(Fields().dynamic("s", std::string("\0", 1)).word("at", 0).shown(form), "NULL");
  EXPECT_EQ(Fields().dynamic("s", std::string("\0", 1)).word("at", 16).shown(form), "0x10");
}

TEST(ObjectText, TextsThatMayBeInTheObject) {
  ObjectForm form = text_form();
  form.kind = Kind::kEitherText;
  form.there = "in";
  const auto shown = [&](const std::string& in) {
    return Fields().text("s", "elsewhere").word("n", 9).dynamic("in", in).shown(form);
  };
  EXPECT_EQ(shown(std::string("\x04hi\0...", 7)), "\"hi\"");
  EXPECT_EQ(shown(std::string("\0\0", 2)), "\"\"");
  EXPECT_EQ(shown(std::string("\x31\0", 2)), "\"elsewhere\"");
  EXPECT_EQ(shown(std::string("\x70hi", 3)), "(corrupt: 56 bytes)");
  EXPECT_EQ(shown(""), "(unreadable)");
}

TEST(ObjectText, Alternatives) {
  ObjectForm form{.kind = Kind::kVariant};
  form.flag = "i";
  form.parts = {member("", "a"), member("", "b")};
  const auto shown = [&](uint64_t index) {
    return Fields().word("i", index).word("a", 7).word("b", 8).shown(form);
  };
  EXPECT_EQ(shown(0), "7");
  EXPECT_EQ(shown(1), "8");
  EXPECT_EQ(shown(2), "{…}");
  EXPECT_EQ(shown(~uint64_t{0}), "valueless");
}

}  // namespace
}  // namespace patchbay::cmd
