// SPDX-License-Identifier: MIT
// The bytes of a histogram: what is read is what was written, whatever stands in its texts; and of
// bytes that somebody has changed nothing is read, or something that fits together.
#include "hist/image/hist_image.h"

#include <gtest/gtest.h>

#include <random>

#include "hist/image/hist_image_testing.h"
#include "hist/text/hist_text.h"

namespace patchbay {
namespace {

using testing::add_row;
using testing::hist_column;
using testing::hist_image;
using testing::hostile_texts;
using testing::name_key;
using testing::number_key;
using testing::ranges_of;
using testing::text_key;

// Of everything that there is.
HistImage full_image() {
  HistImage image =
      hist_image({hist_column("s", HistForm::kText), hist_column("p", HistForm::kSymbolOffset),
                  hist_column("common_stacktrace", HistForm::kStack)},
                 {hist_column("lat", HistForm::kQuantiles, true)});
  image.definition = "hist:keys=s,p.sym-offset,common_stacktrace:vals=lat.quantiles";
  image.tracks = {{"$lat", true, false}, {"$lat", false, true}};
  image.saved = {hist_column("n"), hist_column("t", HistForm::kText)};
  image.orders = {{1, true}, {2, false}};
  uint64_t value = 1;
  for (const std::string& text : hostile_texts()) {
    const std::string name =
        name_key(&image, {value << 50, 8, 40, 4096 * value, "f", "libshop.so", true, false});
    std::string stack;
    abi::put_table_number(&stack, 2);
    stack += number_key(0) + name;
    HistRow& row = add_row(&image, text_key(text, value % 2) + name + stack,
                           {value * 3, ~value << 7}, ranges_of({value, 0 - value, 1 << 20}, true));
    row.reached = {{0, value, {{value, ""}, {0, text}}}};
    value++;
  }
  image.shots = {{1, 7, image.rows[0].key}};
  image.dropped = 9;
  return image;
}

std::string all_of(const HistImage& image) {
  return hist_text(image) + hist_text(image, HistStyle::kTerminal);
}

TEST(HistImage, WhatIsReadIsWhatWasWritten) {
  const HistImage image = full_image();
  HistImage paused = hist_image({hist_column("n")});
  paused.is_paused = true;
  auto read = parse_hist_images(hist_image_bytes(image) + hist_image_bytes(paused));
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->size(), 2u);
  const HistImage& own = read->front();
  EXPECT_EQ(own.definition, image.definition);
  EXPECT_EQ(own.hits, image.hits);
  EXPECT_EQ(own.dropped, 9u);
  ASSERT_EQ(own.rows.size(), hostile_texts().size());
  for (size_t i = 0; i < own.rows.size(); i++) {
    EXPECT_EQ(own.parts_of(own.rows[i].key)[0].text, hostile_texts()[i]);
    EXPECT_EQ(own.rows[i].values, image.rows[i].values);
    EXPECT_EQ(own.rows[i].ranges, image.rows[i].ranges);
    EXPECT_EQ(own.rows[i].reached[0].saved[1].text, hostile_texts()[i]);
  }
  EXPECT_EQ(all_of(own), all_of(image));
  EXPECT_TRUE(read->back().is_paused);
  EXPECT_TRUE(parse_hist_images("")->empty());
}

// Cut anywhere, it is refused; changed anywhere, it can be shown, if it is taken at all.
TEST(HistImage, ForeignBytes) {
  const std::string bytes = hist_image_bytes(full_image());
  for (size_t size = 1; size < bytes.size(); size++)
    EXPECT_FALSE(parse_hist_images(std::string_view(bytes).substr(0, size)).ok()) << size;
  std::mt19937 random(1);
  for (int round = 0; round < 3000; round++) {
    std::string changed = bytes;
    for (unsigned i = 0; i <= random() % 3; i++)
      changed[random() % changed.size()] = char(random());
    if (auto read = parse_hist_images(changed); read.ok())
      for (const HistImage& image : *read) (void)all_of(image);
  }
}

// Whoever answers says what columns are called, too.
TEST(HistImage, NothingCommandsATerminal) {
  HistImage image = full_image();
  for (std::vector<HistColumn>* columns : {&image.keys, &image.values, &image.saved})
    for (HistColumn& column : *columns) column.name += "\x1b[2J";
  image.definition += "\x1b";
  image.tracks[1].variable += "\x1b";
  for (HistName& name : image.names) name.name += "\x1b";
  EXPECT_EQ(hist_text(image, HistStyle::kTerminal).find('\x1b'), std::string::npos);
}

// A few bytes do not make much memory.
TEST(HistImage, ManyOfThem) {
  const std::string one = hist_image_bytes(hist_image({hist_column("n")}));
  std::string many;
  for (size_t i = 0; i <= abi::kMostTables; i++) many += one;
  EXPECT_FALSE(parse_hist_images(many).ok());
  EXPECT_TRUE(parse_hist_images(many.substr(one.size())).ok());
}

TEST(HistImage, NumbersAndBounds) {
  for (const uint64_t value : {uint64_t{0}, uint64_t{127}, uint64_t{128}, ~uint64_t{0}}) {
    std::string bytes;
    abi::put_table_number(&bytes, value);
    abi::TableReader reader(bytes);
    EXPECT_EQ(reader.number(), value);
    EXPECT_TRUE(reader.ok() && reader.at_end());
  }
  for (const std::string_view bytes : {"", "\x80", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"}) {
    abi::TableReader reader(bytes);
    EXPECT_EQ(reader.number(), 0u);
    EXPECT_FALSE(reader.ok());
  }
}

}  // namespace
}  // namespace patchbay
