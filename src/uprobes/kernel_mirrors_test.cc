// SPDX-License-Identifier: MIT
#include "uprobes/kernel_mirrors.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

KernelMirrorLine parsed(const char* text) {
  KernelMirrorLine line;
  EXPECT_TRUE(KernelMirrorLine::parse(text, &line)) << text;
  return line;
}

TEST(KernelMirrorLine, IsTheSameHoweverTheKernelShowsIt) {
  const KernelMirrorLine ours =
      parsed("p:shop/sold /run/7/mirror/shop.sold:0x400(0x1000) n=+8(%di):s32");
  EXPECT_EQ(ours.event, "shop/sold");
  EXPECT_EQ(ours.place, "/run/7/mirror/shop.sold:0x400(0x1000)");
  EXPECT_TRUE(
      ours.is_same(parsed("p:shop/sold /run/7/mirror/shop.sold:0x0000000000000400(0x1000)")));
  EXPECT_FALSE(
      ours.is_same(parsed("p:shop/sold /run/7/mirror/shop.sold:0x0000000000004000(0x1000)")));
  EXPECT_FALSE(ours.is_same(parsed("p:shop/sold /run/8/mirror/shop.sold:0x400(0x1000)")));
  EXPECT_FALSE(ours.is_same(parsed("p:own/sold /run/7/mirror/shop.sold:0x400(0x1000)")));
  EXPECT_TRUE(parsed("p:a/b /0x00:0x0(0x0)").is_same(parsed("p:a/b /0x0:0x000(0x00)")));
}

TEST(KernelMirrorLine, WhatIsNone) {
  KernelMirrorLine line;
  for (const char* text :
       {"", " ", "p", "p:", "p:a/b", "r:a/b /f:0x1", "p:ab /f:0x1", "p:a/b /f", "# p:a/b /f:0x1"})
    EXPECT_FALSE(KernelMirrorLine::parse(text, &line)) << text;
}

}  // namespace
}  // namespace patchbay
