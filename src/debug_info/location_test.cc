// SPDX-License-Identifier: MIT
// Expressions of DWARF that are written by hand, and what a probe fetches for them.
#include "debug_info/location.h"

#include <gtest/gtest.h>

#include "debug_info/dwarf_testing.h"

namespace patchbay {
namespace {

using test::expression;
using test::name_is;
using test::number;
using test::op;
using test::sleb;
using test::uleb;
using test::word;

constexpr char kDamaged[] = "described by a damaged expression";
constexpr char kComputed[] = "computed here, so that it is in no register and not in memory";

std::optional<std::string> hex_address(uint64_t address) {
  char text[32];
  std::snprintf(text, sizeof text, "@0x%llx", static_cast<unsigned long long>(address));
  return text;
}

// A function `f` from 0x1000 to 0x1100, whose frame base is rbp, with the variable `v`.
class Location : public ::testing::Test {
 protected:
  void open(const test::HandMadeAttribute& location, const std::string& lists = "") {
    const test::HandMadeEntry unit = {
        DW_TAG_compile_unit,
        "",
        {{DW_AT_low_pc, DW_FORM_addr, word(uint64_t{0x1000}), ""}},
        {{DW_TAG_base_type,
          "u16",
          {name_is("u16"), number(DW_AT_byte_size, 2), number(DW_AT_encoding, DW_ATE_unsigned)},
          {}},
         {DW_TAG_subprogram,
          "",
          {name_is("f"),
           {DW_AT_low_pc, DW_FORM_addr, word(uint64_t{0x1000}), ""},
           {DW_AT_high_pc, DW_FORM_data4, word(uint32_t{0x100}), ""},
           expression(DW_AT_frame_base, op(DW_OP_reg6))},
          {{DW_TAG_variable, "", {name_is("v"), location}, {}},
           {DW_TAG_variable,
            "target",
            {name_is("t"), expression(DW_AT_location, op(DW_OP_fbreg, sleb(-8)))},
            {}}}}}};
    const test::HandMadeUnit made(unit);
    file_.write(test::elf_file({{".debug_info", made.info},
                                {".debug_abbrev", made.abbreviations},
                                {".debug_loclists", lists}}));
    info_ = test::open_info(file_.path());
    ASSERT_TRUE(info_);
    point_ = {};
    point_.pc = 0x1010;
    point_.function = point_.concrete = test::die_named(*info_, "f");
  }
  Where read() { return read_variable(*info_, point_, test::die_named(*info_, "v")); }
  static std::string shown(const Where& where) {
    Result<std::string> text = fetch_text(where, hex_address);
    return text.ok() ? *text : text.error().message();
  }
  std::string of(const std::string& ops) {
    open(expression(DW_AT_location, ops));
    return shown(read());
  }
  // Of two constants.
  std::string computed(unsigned atom, int64_t a, int64_t b) {
    return of(op(DW_OP_consts, sleb(a)) + op(DW_OP_consts, sleb(b)) + op(atom) +
              op(DW_OP_stack_value));
  }

  test::TemporaryFile file_;
  std::unique_ptr<DebugInfo> info_;
  ProbePoint point_;
};

TEST_F(Location, RegistersAndMemory) {
  const std::string value = op(DW_OP_stack_value), deref = op(DW_OP_deref);
  const std::pair<std::string, const char*> rows[] = {
      {op(DW_OP_fbreg, sleb(-20)), "-20(%bp)"},
      {op(DW_OP_fbreg, sleb(16)), "+16(%bp)"},
      {op(DW_OP_breg7, sleb(8)), "+8(%sp)"},
      {op(DW_OP_breg0 + 15, sleb(0)), "+0(%r15)"},
      {op(DW_OP_bregx, uleb(3) + sleb(-1)), "-1(%bx)"},
      {op(DW_OP_reg0), "%ax"},
      {op(DW_OP_reg1), "%dx"},
      {op(DW_OP_reg2), "%cx"},
      {op(DW_OP_reg3), "%bx"},
      {op(DW_OP_reg4), "%si"},
      {op(DW_OP_reg5), "%di"},
      {op(DW_OP_reg6), "%bp"},
      {op(DW_OP_reg7), "%sp"},
      {op(DW_OP_reg8), "%r8"},
      {op(DW_OP_reg16), "%ip"},
      {op(DW_OP_reg17), "%xmm0"},
      {op(DW_OP_regx, uleb(32)), "%xmm15"},
      {op(DW_OP_regx, uleb(33)), "in a register that probes cannot read"},
      {op(DW_OP_breg17, sleb(0)), "in a register that probes cannot read"},
      {op(DW_OP_addr, word(uint64_t{0x4010})), "@0x4010"},
      {op(DW_OP_addr, word(uint64_t{0x4010})) + op(DW_OP_plus_uconst, uleb(8)), "@0x4018"},
      {op(DW_OP_addr, word(uint64_t{0x4010})) + deref, "+0(@0x4010)"},
      {op(DW_OP_addr, word(uint64_t{0x4010})) + value, kComputed},
      {op(DW_OP_fbreg, sleb(-24)) + deref, "+0(-24(%bp))"},
      {op(DW_OP_fbreg, sleb(-24)) + deref + op(DW_OP_plus_uconst, uleb(8)), "+8(-24(%bp))"},
      {op(DW_OP_breg5, sleb(8)) + deref + op(DW_OP_plus_uconst, uleb(4)) + deref,
       "+0(+4(+8(%di)))"},
      {op(DW_OP_breg5, sleb(0)) + op(DW_OP_lit8) + op(DW_OP_minus), "-8(%di)"},
      {op(DW_OP_lit8) + op(DW_OP_breg5, sleb(0)) + op(DW_OP_plus), "+8(%di)"},
      {op(DW_OP_breg5, sleb(0)) + op(DW_OP_deref_size, "\x08"), "+0(+0(%di))"},
      {op(DW_OP_breg5, sleb(0)) + op(DW_OP_deref_size, "\x04"), kComputed},
      {op(DW_OP_breg5, sleb(0)) + value, "%di"},
      {op(DW_OP_breg5, sleb(4)) + value, kComputed},
      {op(DW_OP_breg5, sleb(4)) + deref + value, "+4(%di)"},
      {op(DW_OP_breg5, sleb(0)) + op(DW_OP_breg4, sleb(0)) + op(DW_OP_plus), kComputed},
      {op(DW_OP_breg5, sleb(0)) + op(DW_OP_lit2) + op(DW_OP_mul) + value, kComputed},
      {op(DW_OP_breg5, sleb(0)) + op(DW_OP_neg) + value, kComputed},
      {op(DW_OP_nop) + op(DW_OP_reg5), "%di"},
      {op(DW_OP_call_frame_cfa),
       "in a frame whose address is not known (no call frame information)"},
      {op(DW_OP_lit0) + op(DW_OP_form_tls_address), "thread-local, which probes cannot follow"},
      {"", kOptimizedOut},
  };
  for (size_t i = 0; i < std::size(rows); i++)
    EXPECT_EQ(of(rows[i].first), rows[i].second) << "row " << i;
}

TEST_F(Location, Arithmetic) {
  EXPECT_EQ(of(op(DW_OP_lit5) + op(DW_OP_stack_value)), "\\5");
  EXPECT_EQ(of(op(DW_OP_const1s, "\xfd") + op(DW_OP_stack_value)), "\\-3");
  EXPECT_EQ(of(op(DW_OP_const8u, word(UINT64_MAX)) + op(DW_OP_stack_value)), "\\-1");
  EXPECT_EQ(of(op(DW_OP_const8u, word(uint64_t{0x4010}))), "@0x4010");
  EXPECT_EQ(computed(DW_OP_plus, 40, 2), "\\42");
  EXPECT_EQ(computed(DW_OP_minus, 40, 42), "\\-2");
  EXPECT_EQ(computed(DW_OP_mul, -3, 5), "\\-15");
  EXPECT_EQ(computed(DW_OP_and, 12, 10), "\\8");
  EXPECT_EQ(computed(DW_OP_or, 12, 10), "\\14");
  EXPECT_EQ(computed(DW_OP_xor, 12, 10), "\\6");
  EXPECT_EQ(computed(DW_OP_shl, 3, 4), "\\48");
  EXPECT_EQ(computed(DW_OP_shl, 3, 64), "\\0");
  EXPECT_EQ(computed(DW_OP_shr, 48, 4), "\\3");
  EXPECT_EQ(computed(DW_OP_shr, -1, 64), "\\0");
  EXPECT_EQ(computed(DW_OP_shra, -48, 4), "\\-3");
  EXPECT_EQ(computed(DW_OP_shra, -48, 200), "\\-1");
  EXPECT_EQ(computed(DW_OP_div, 6, 0), kComputed);
  EXPECT_EQ(computed(DW_OP_minus, 0, INT64_MIN), "\\-9223372036854775808");
  EXPECT_EQ(computed(DW_OP_plus, INT64_MAX, 1), "\\-9223372036854775808");
}

TEST_F(Location, TheStack) {
  const std::string one = op(DW_OP_lit1), two = op(DW_OP_lit2), three = op(DW_OP_lit3);
  const std::string minus = op(DW_OP_minus), end = op(DW_OP_stack_value);
  EXPECT_EQ(of(one + two + minus + end), "\\-1");
  EXPECT_EQ(of(one + two + op(DW_OP_swap) + minus + end), "\\1");
  EXPECT_EQ(of(one + two + op(DW_OP_drop) + end), "\\1");
  EXPECT_EQ(of(one + two + op(DW_OP_dup) + minus + end), "\\0");
  EXPECT_EQ(of(one + two + op(DW_OP_over) + minus + end), "\\1");
  EXPECT_EQ(of(one + two + three + op(DW_OP_pick, std::string(1, '\2')) + end), "\\1");
  EXPECT_EQ(of(one + two + three + op(DW_OP_rot) + end), "\\2");
  EXPECT_EQ(of(one + two + three + op(DW_OP_rot) + op(DW_OP_drop) + end), "\\1");
  EXPECT_EQ(of(one + two + three + op(DW_OP_rot) + op(DW_OP_drop) + op(DW_OP_drop) + end), "\\3");
  for (const std::string& bad :
       {op(DW_OP_deref), op(DW_OP_drop), op(DW_OP_dup), one + op(DW_OP_swap), one + op(DW_OP_over),
        one + two + op(DW_OP_rot), one + op(DW_OP_pick, "\1"), one + minus,
        op(DW_OP_plus_uconst, uleb(1))})
    EXPECT_EQ(of(bad), kDamaged);
}

TEST_F(Location, HasBounds) {
  std::string many, loads = op(DW_OP_breg5, sleb(0)), pieces;
  for (int i = 0; i < 65; i++) many += op(DW_OP_lit1);
  for (int i = 0; i < 15; i++) loads += op(DW_OP_deref);
  for (int i = 0; i < 300; i++) pieces += op(DW_OP_reg0) + op(DW_OP_piece, uleb(8));
  EXPECT_EQ(of(many), "described by an expression that is too long");
  EXPECT_EQ(of(loads), "behind too many pointers");
  EXPECT_EQ(of(pieces), kDamaged);
  open(expression(DW_AT_location, op(DW_OP_fbreg, sleb(0))));
  // A frame whose base is described by itself.
  point_.concrete = test::die_named(*info_, "v");
  EXPECT_EQ(shown(read()), "in a frame whose address is not known at this place");
}

TEST_F(Location, ValuesOfTheEntry) {
  const std::string value = op(DW_OP_entry_value, uleb(1) + op(DW_OP_reg4)) + op(DW_OP_stack_value);
  EXPECT_EQ(of(value), "only known at the function's entry, not here");
  point_.at_entry = true;
  EXPECT_EQ(shown(read()), "%si");
  point_.at_entry = false;
  point_.at_return = true;
  EXPECT_EQ(shown(read()), "$arg2");
  EXPECT_EQ(of(op(DW_OP_entry_value, uleb(1) + op(DW_OP_reg3)) + op(DW_OP_stack_value)),
            "only known at the function's entry, not here");
  open(expression(DW_AT_location, op(DW_OP_reg5)));
  point_.at_return = true;
  EXPECT_EQ(shown(read()), "not known when the function has returned");
}

TEST_F(Location, LowBitsOnly) {
  const std::string di = op(DW_OP_breg5, sleb(0)), end = op(DW_OP_stack_value);
  open(expression(DW_AT_location, di + op(DW_OP_const1u, "\xff") + op(DW_OP_and) + end));
  EXPECT_EQ(read().chain.width, 8u);
  open(expression(DW_AT_location, op(DW_OP_const2u, "\xff\xff") + di + op(DW_OP_and) + end));
  EXPECT_EQ(read().chain.width, 16u);
  EXPECT_EQ(of(di + op(DW_OP_const1u, "\xfe") + op(DW_OP_and) + end), kComputed);
  EXPECT_EQ(of(di + op(DW_OP_const1u, "\xff") + op(DW_OP_and) + op(DW_OP_deref)), kComputed);
  EXPECT_EQ(of(di + op(DW_OP_const1u, "\xff") + op(DW_OP_and)), kComputed) << "as an address";
}

TEST_F(Location, ListsHoldForRanges) {
  const auto entry = [](uint64_t begin, uint64_t end, const std::string& ops) {
    return char(DW_LLE_start_end) + word(begin) + word(end) + uleb(ops.size()) + ops;
  };
  std::string list = entry(0x1000, 0x1010, op(DW_OP_reg5)) +
                     entry(0x1010, 0x1020, op(DW_OP_fbreg, sleb(-8))) + char(DW_LLE_end_of_list);
  const std::string head = word(uint16_t{5}) + char(8) + char(0) + word(uint32_t{0});
  list = word(uint32_t(head.size() + list.size())) + head + list;
  open({DW_AT_location, DW_FORM_sec_offset, word(uint32_t(4 + head.size())), ""}, list);
  const std::pair<uint64_t, const char*> rows[] = {{0x1000, "%di"},         {0x100f, "%di"},
                                                   {0x1010, "-8(%bp)"},     {0x101f, "-8(%bp)"},
                                                   {0x1020, kOptimizedOut}, {0xfff, kOptimizedOut}};
  for (const auto& [pc, expected] : rows) {
    point_.pc = pc;
    EXPECT_EQ(shown(read()), expected) << std::hex << pc;
  }
  open({DW_AT_location, DW_FORM_sec_offset, word(uint32_t{0x7000}), ""}, list);
  EXPECT_TRUE(shown(read()).starts_with("not readable from the debug information: "))
      << shown(read());
}

TEST_F(Location, ConstantsOfTheirOwn) {
  open({DW_AT_const_value, DW_FORM_sdata, sleb(-7), ""});
  EXPECT_EQ(shown(read()), "\\-7");
  open({DW_AT_const_value, DW_FORM_block1, "\4abcd", ""});
  EXPECT_EQ(read().bytes, "abcd");
  open({DW_AT_const_value, DW_FORM_string, std::string("text") + '\0', ""});
  EXPECT_EQ(read().bytes, "text");
  open(expression(DW_AT_location, op(DW_OP_implicit_value, uleb(3) + "xyz")));
  EXPECT_EQ(read().bytes, "xyz");
  EXPECT_EQ(read().kind, Where::Kind::kBytes);
  open(name_is("without a location"));
  EXPECT_EQ(read().why, kOptimizedOut);
}

TEST_F(Location, Parts) {
  const std::string eight = op(DW_OP_piece, uleb(8));
  open(expression(DW_AT_location, op(DW_OP_reg0) + eight + op(DW_OP_piece, uleb(4)) +
                                      op(DW_OP_fbreg, sleb(-8)) + op(DW_OP_piece, uleb(4))));
  const Where whole = read();
  ASSERT_EQ(whole.kind, Where::Kind::kPieces);
  EXPECT_EQ(shown(part_of(whole, 0, 8)), "%ax");
  EXPECT_EQ(part_of(whole, 4, 4).first_bit, 32u);
  EXPECT_EQ(shown(part_of(whole, 8, 4)), kOptimizedOut);
  EXPECT_EQ(shown(part_of(whole, 12, 4)), "-8(%bp)");
  EXPECT_EQ(shown(part_of(whole, 14, 2)), "-6(%bp)");
  EXPECT_EQ(shown(part_of(whole, 4, 8)), "spread over several places");
  EXPECT_EQ(shown(part_of(whole, 16, 1)), kOptimizedOut);
  Where bytes;
  bytes.kind = Where::Kind::kBytes;
  bytes.bytes = "0123456789";
  EXPECT_EQ(part_of(bytes, 8, 2).bytes, "89");
  EXPECT_EQ(shown(part_of(bytes, 8, 3)), kOptimizedOut);
  EXPECT_EQ(shown(part_of(bytes, UINT64_MAX, 2)), kOptimizedOut);
  const Where value = Where::value({LoadChain::Start::kRegister, 5, {}, 0, 64});
  EXPECT_EQ(part_of(value, 6, 2).first_bit, 48u);
  EXPECT_EQ(part_of(value, 7, 2).kind, Where::Kind::kNowhere);
  EXPECT_EQ(part_of(value, 8, 1).kind, Where::Kind::kNowhere);
  EXPECT_EQ(part_of(value, UINT64_MAX / 8 + 1, 1).kind, Where::Kind::kNowhere);
}

TEST_F(Location, WhatAPointerPointsTo) {
  open(expression(DW_AT_location, op(DW_OP_fbreg, sleb(-24))));
  EXPECT_EQ(shown(pointee_of(*info_, point_, read())), "+0(-24(%bp))");
  open(expression(DW_AT_location, op(DW_OP_reg5)));
  EXPECT_EQ(shown(pointee_of(*info_, point_, read())), "+0(%di)");
  open(expression(DW_AT_location, op(DW_OP_reg5) + op(DW_OP_piece, uleb(8)) + op(DW_OP_reg4) +
                                      op(DW_OP_piece, uleb(8))));
  EXPECT_EQ(shown(pointee_of(*info_, point_, read())), "+0(%di)");
  open(expression(DW_AT_location, op(DW_OP_reg17)));
  EXPECT_EQ(shown(pointee_of(*info_, point_, read())), kComputed);
  open({DW_AT_const_value, DW_FORM_block1, '\10' + word(uint64_t{0x4010}), ""});
  EXPECT_EQ(shown(pointee_of(*info_, point_, read())), "@0x4010");
  open(name_is("without a location"));
  EXPECT_EQ(shown(pointee_of(*info_, point_, read())), kOptimizedOut);
}

}  // namespace
}  // namespace patchbay
