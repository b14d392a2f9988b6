// SPDX-License-Identifier: MIT
//
// fetch_run over hand-made programs, over every kind of bad address, and over the record of
// another event. The test's signal
// handler does what the agent's does: it asks fault_fixup() where to continue.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "fetch/fetch_abi.h"
#include "hot/fixup_testing.h"

namespace patchbay {
namespace {

constexpr size_t kPage = 4096;
constexpr uint64_t kNonCanonical = 0x8000000000000000;
int& faults_seen = test::FaultFixups::seen;

struct Program {
  std::vector<FetchInsn> insns;
  uint32_t fixed_size = 24;
  bool has_gaps = false;
  RecordHead head = RecordHead::kFunction;
};

uint32_t dynamic_bytes(const FetchInsn& insn) {
  switch (insn.op) {
    case FetchOp::kString:
    case FetchOp::kText:
      return uint32_t(insn.imm);
    case FetchOp::kElements:
      return uint32_t(insn.imm) * insn.size + insn.size - 1;
    case FetchOp::kStringArray:
      return uint32_t(insn.imm) * insn.size;
    case FetchOp::kComm:
      return kCommTextSize;
    case FetchOp::kSymbol:
      return kSymbolTextSize;
    default:
      return 0;
  }
}

class FetchRun : public ::testing::Test {
 protected:
  void SetUp() override {
    faults_seen = 0;
    // Two pages, then one that cannot be read.
    pages_ = static_cast<uint8_t*>(
        mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(pages_, MAP_FAILED);
    mprotect(pages_ + 2 * kPage, kPage, PROT_NONE);
    end_ = pages_ + 2 * kPage;
  }
  void TearDown() override { munmap(pages_, 3 * kPage); }

  // Runs it over a record full of 0xee, so that a byte that is not written shows; checks the canary
  // behind it.
  std::string run(const Program& program) {
    size_t bytes = sizeof(FetchProgram) + program.insns.size() * sizeof(FetchInsn);
    std::unique_ptr<FetchProgram, void (*)(void*)> made(
        static_cast<FetchProgram*>(std::calloc(1, bytes)), std::free);
    made->fixed_size = program.fixed_size;
    made->nr_insns = uint16_t(program.insns.size());
    made->has_gaps = program.has_gaps;
    made->head = program.head;
    uint32_t head = record_head_size(program.head);
    uint32_t max = program.fixed_size;
    for (size_t i = 0; i < program.insns.size(); i++) {
      made->insn[i] = program.insns[i];
      max += dynamic_bytes(program.insns[i]);
    }
    max = (max + 3) / 4 * 4;
    std::vector<uint8_t> record(max + 16, 0xee);
    uint32_t size = fetch_run(made.get(), &registers_, source_.data(), record.data());
    EXPECT_LE(size, max);
    EXPECT_EQ(size % 4, 0u);
    for (uint32_t i = 0; i < head; i++) EXPECT_EQ(record[i], 0xee) << "the caller's byte " << i;
    for (uint32_t i = max; i < record.size(); i++)
      EXPECT_EQ(record[i], 0xee) << "behind the record " << i;
    return std::string(record.begin() + head, record.begin() + size);
  }

  // The one dynamic text of a record whose only field it is; "(fault)" for length 0.
  std::string run_text(std::vector<FetchInsn> chain) {
    std::string record = run({std::move(chain), 28});
    uint32_t data_loc;
    std::memcpy(&data_loc, record.data(), 4);
    EXPECT_EQ(data_loc & 0xffff, 28u);
    uint32_t length = data_loc >> 16;
    EXPECT_EQ(record.size(), (4 + length + 3) / 4 * 4);
    if (!length) return "(fault)";
    for (size_t i = 4 + length - 1; i < record.size(); i++) EXPECT_EQ(record[i], 0) << i;
    return record.substr(4, length - 1);
  }

  std::string run_string(const void* address, uint64_t limit = 512) {
    registers_.arg[0] = uint64_t(address);
    std::string record =
        run({{{FetchOp::kArg, 0, 0, 0, 0, 0}, {FetchOp::kString, 0, 4, 0, 24, limit}}, 28});
    uint32_t data_loc;
    std::memcpy(&data_loc, record.data(), 4);
    EXPECT_EQ(data_loc & 0xffff, 28u);
    uint32_t length = data_loc >> 16;
    EXPECT_GE(length, 1u);
    EXPECT_EQ(record.size(), (4 + length + 3) / 4 * 4) << "only the payload is recorded";
    for (size_t i = 4 + length - 1; i < record.size(); i++)
      EXPECT_EQ(record[i], 0) << "NUL and padding at " << i;
    return record.substr(4, length - 1);
  }

  uint64_t load(uint64_t address, uint8_t size) {
    registers_.arg[0] = address;
    std::string record =
        run({{{FetchOp::kArg, 0, 0, 0, 0, 0}, {FetchOp::kLoad, 0, size, 0, 24, 0}}, 24u + size});
    uint64_t value = 0;
    std::memcpy(&value, record.data(), size);
    return value;
  }

  std::string load_array(uint64_t address, uint8_t size, uint64_t count) {
    registers_.arg[0] = address;
    return run({{{FetchOp::kArg, 0, 0, 0, 0, 0}, {FetchOp::kArray, 0, size, 0, 24, count}},
                uint32_t(24 + size * count)})
        .substr(0, size * count);
  }

  FetchRegisters registers_ = {};
  std::vector<uint8_t> source_;  // the record that an event probe reads
  uint8_t* pages_ = nullptr;
  uint8_t* end_ = nullptr;  // the first byte that cannot be read
  test::FaultFixups fixups_;
};

std::string bytes(uint64_t value, size_t size) {
  return std::string(reinterpret_cast<char*>(&value), size);
}

TEST_F(FetchRun, RegistersAreStoredInEachSize) {
  for (int i = 0; i < 6; i++) registers_.arg[i] = 0x1122334455667788 + uint64_t(i);
  registers_.xmm[7][0] = 0x3ff8000000000000;
  for (uint8_t size : {1, 2, 4, 8}) {
    for (uint8_t i = 0; i < 6; i++) {
      std::string got =
          run({{{FetchOp::kArg, i, 0, 0, 0, 0}, {FetchOp::kStore, 0, size, 0, 24, 0}}, 24u + size});
      std::string want = bytes(registers_.arg[i], size);
      want.resize((size + 3) / 4 * 4, '\0');
      EXPECT_EQ(got, want) << int(size) << " " << int(i);
    }
  }
  EXPECT_EQ(run({{{FetchOp::kXmm, 7, 0, 0, 0, 0}, {FetchOp::kStore, 0, 8, 0, 24, 0}}, 32}),
            bytes(registers_.xmm[7][0], 8));
}

TEST_F(FetchRun, StepsChain) {
  uint64_t words[4] = {0, 0, 77, 0};
  uint64_t pointer[2] = {0, uint64_t(words)};
  registers_.arg[1] = uint64_t(pointer);
  Program program = {{{FetchOp::kArg, 1, 0, 0, 0, 0},
                      {FetchOp::kAdd, 0, 0, 0, 0, 8},
                      {FetchOp::kDeref, 0, 0, 0, 0, 0},
                      {FetchOp::kAdd, 0, 0, 0, 0, 16},
                      {FetchOp::kLoad, 0, 8, 0, 24, 0},
                      {FetchOp::kImm, 0, 0, 0, 0, uint64_t(words) + 16},
                      {FetchOp::kLoad, 0, 8, 0, 32, 0}},
                     40};
  EXPECT_EQ(run(program), bytes(77, 8) + bytes(77, 8));
}

TEST_F(FetchRun, GapsAndEndAreZero) {
  registers_.arg[0] = ~uint64_t{0};
  Program program = {{{FetchOp::kArg, 0, 0, 0, 0, 0},
                      {FetchOp::kStore, 0, 1, 0, 24, 0},
                      {FetchOp::kStore, 0, 8, 0, 32, 0},
                      {FetchOp::kStore, 0, 1, 0, 40, 0}},
                     41,
                     true};
  EXPECT_EQ(run(program),
            std::string("\xff\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0", 20));
}

TEST_F(FetchRun, StringsOfEveryLengthAtEveryAlignment) {
  for (size_t shift = 0; shift < 9; shift++) {
    for (size_t length = 0; length < 40; length++) {
      std::memset(pages_, 'y', 128);
      std::memset(pages_ + shift, 'x', length);
      pages_[shift + length] = 0;
      EXPECT_EQ(run_string(pages_ + shift), std::string(length, 'x')) << shift;
    }
  }
  EXPECT_EQ(faults_seen, 0);
}

TEST_F(FetchRun, StringsAreCutAtTheLimit) {
  for (size_t limit : {1, 2, 7, 8, 9, 15, 16, 17, 512}) {
    for (size_t length = limit > 20 ? limit - 12 : 0; length < limit + 12; length++) {
      for (size_t shift = 0; shift < 8; shift++) {
        std::memset(pages_, 'x', kPage);
        pages_[shift + length] = 0;
        EXPECT_EQ(run_string(pages_ + shift, limit).size(), std::min(length, limit - 1))
            << limit << " " << shift;
      }
    }
  }
}

TEST_F(FetchRun, StringThatEndsWithItsPage) {
  for (size_t length = 0; length < 600; length++) {
    std::memset(end_ - length - 1, 'x', length);
    end_[-1] = 0;
    EXPECT_EQ(run_string(end_ - length - 1).size(), std::min<size_t>(length, 511));
  }
  EXPECT_EQ(faults_seen, 0) << "a good string never touches the page behind it";
}

TEST_F(FetchRun, StringThatRunsIntoABadPageIsEmpty) {
  std::memset(pages_, 'x', 2 * kPage);
  for (size_t length = 1; length < 500; length++)
    EXPECT_EQ(run_string(end_ - length), "") << length;
  EXPECT_EQ(run_string(end_ - 511).size(), 511u) << "all that is recorded could be read";
}

TEST_F(FetchRun, StringAcrossTwoGoodPages) {
  std::strcpy(reinterpret_cast<char*>(pages_ + kPage - 5), "across the border");
  EXPECT_EQ(run_string(pages_ + kPage - 5), "across the border");
}

TEST_F(FetchRun, TwoStringsStandBehindEachOther) {
  registers_.arg[0] = uint64_t("select 1");
  registers_.arg[1] = 0;
  registers_.arg[2] = uint64_t("end");
  Program program = {{{FetchOp::kArg, 0, 0, 0, 0, 0},
                      {FetchOp::kString, 0, 4, 0, 24, 512},
                      {FetchOp::kArg, 1, 0, 0, 0, 0},
                      {FetchOp::kString, 0, 4, 0, 28, 512},
                      {FetchOp::kArg, 2, 0, 0, 0, 0},
                      {FetchOp::kString, 0, 4, 0, 32, 512}},
                     36};
  EXPECT_EQ(run(program), bytes(36 | 9 << 16, 4) + bytes(45 | 1 << 16, 4) + bytes(46 | 4 << 16, 4) +
                              std::string("select 1\0\0end\0\0\0", 16));
}

TEST_F(FetchRun, BadAddressesGiveZero) {
  void* unmapped = mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(unmapped, kPage);
  for (uint64_t address :
       {uint64_t{0}, uint64_t{8}, uint64_t(unmapped), uint64_t(end_), kNonCanonical,
        uint64_t{0x0000800000000000}, ~uint64_t{0}, ~uint64_t{7}}) {
    faults_seen = 0;
    for (uint8_t size : {1, 2, 4, 8}) EXPECT_EQ(load(address, size), 0u) << std::hex << address;
    EXPECT_EQ(faults_seen, 4);
    EXPECT_EQ(run_string(reinterpret_cast<void*>(address)), "") << std::hex << address;
    EXPECT_EQ(load_array(address, 4, 6), std::string(24, '\0')) << std::hex << address;
    // A bad pointer in the middle of a chain: 0 is followed, which is bad again.
    registers_.arg[0] = address;
    Program chain = {{{FetchOp::kArg, 0, 0, 0, 0, 0},
                      {FetchOp::kDeref, 0, 0, 0, 0, 0},
                      {FetchOp::kAdd, 0, 0, 0, 0, 16},
                      {FetchOp::kLoad, 0, 8, 0, 24, 0}},
                     32};
    EXPECT_EQ(run(chain), std::string(8, '\0'));
  }
}

TEST_F(FetchRun, ArrayElementsThatCannotBeReadAreZero) {
  for (uint8_t size : {1, 2, 4, 8}) {
    for (size_t readable = 0; readable <= 24; readable += size) {
      std::memset(end_ - readable, 'a', readable);
      std::string want = std::string(readable, 'a') + std::string(24 - readable, '\0');
      EXPECT_EQ(load_array(uint64_t(end_ - readable), size, 24 / size), want)
          << int(size) << " " << readable;
    }
  }
  for (uint64_t count : {1, 3, 7, 9}) {
    std::memset(pages_, 'b', 16);
    EXPECT_EQ(load_array(uint64_t(pages_), 1, count), std::string(count, 'b'));
  }
}

// A fault costs a thousand times a load: an array costs one for each page, not for each element.
TEST_F(FetchRun, ABadPageIsAskedOnce) {
  for (uint64_t address : {uint64_t{0}, uint64_t{8}, uint64_t(end_), kNonCanonical}) {
    for (uint8_t size : {1, 2, 4, 8}) {
      for (uint64_t bytes : {8, 16, 64, 512}) {
        faults_seen = 0;
        EXPECT_EQ(load_array(address, size, bytes / size), std::string(bytes, '\0'));
        EXPECT_EQ(faults_seen, 1) << std::hex << address << " " << int(size) << " " << bytes;
      }
    }
    for (uint64_t bytes : {1, 3, 7, 9, 13}) {
      faults_seen = 0;
      EXPECT_EQ(load_array(address, 1, bytes), std::string(bytes, '\0'));
      EXPECT_LE(faults_seen, 2) << std::hex << address << " " << bytes;
    }
  }
}

// Wherever the border is: as if each element were read alone.
TEST_F(FetchRun, ArraysAcrossTheBordersOfBadPages) {
  mprotect(pages_, kPage, PROT_NONE);  // bad, good, bad
  for (size_t i = 0; i < kPage; i++) pages_[kPage + i] = uint8_t('A' + i % 50);
  for (uint8_t size : {1, 2, 4, 8}) {
    for (uint8_t* border : {pages_ + kPage, end_}) {
      for (int shift = -40; shift <= 8; shift++) {
        for (uint64_t count : {1, 2, 3, 5, 7, 9}) {
          std::string want(count * size, '\0');
          for (uint64_t i = 0; i < count; i++) {
            uint8_t* element = border + shift + i * size;
            if (element < pages_ + kPage || element + size > end_) continue;
            std::memcpy(&want[i * size], element, size);
          }
          faults_seen = 0;
          EXPECT_EQ(load_array(uint64_t(border + shift), size, count), want)
              << int(size) << " " << shift << " " << count;
          EXPECT_LE(faults_seen, 4);
        }
      }
    }
  }
}

TEST_F(FetchRun, ScalarAcrossTheBorderOfABadPage) {
  std::memset(end_ - 8, 0x11, 8);
  EXPECT_EQ(load(uint64_t(end_ - 8), 8), 0x1111111111111111u);
  EXPECT_EQ(load(uint64_t(end_ - 4), 8), 0u);
}

TEST_F(FetchRun, FileThatWasTruncatedRaisesSigbus) {
  char path[] = "/tmp/pb_fetch_XXXXXX";
  int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  unlink(path);
  ASSERT_EQ(ftruncate(fd, kPage), 0);
  auto* map = static_cast<uint8_t*>(mmap(nullptr, kPage, PROT_READ, MAP_SHARED, fd, 0));
  ASSERT_EQ(ftruncate(fd, 0), 0);
  EXPECT_EQ(load(uint64_t(map), 8), 0u);
  EXPECT_EQ(run_string(map), "");
  EXPECT_EQ(faults_seen, 2);
  munmap(map, kPage);
  close(fd);
}

// --- registers of every kind

TEST_F(FetchRun, EveryRegisterIsRead) {
  for (uint8_t i = 0; i < kNrRegisters; i++)
    registers_.reg[i] = 0x0102030405060708 * (uint64_t{i} + 1);
  for (uint8_t i = 0; i < 16; i++) registers_.xmm[i][0] = 0x1111 * (uint64_t{i} + 1);
  Program program = {{}, 24};
  std::string want;
  for (uint8_t i = 0; i < kNrRegisters; i++) {
    program.insns.push_back({FetchOp::kReg, i, 0, 0, 0, 0});
    program.insns.push_back({FetchOp::kStore, 0, 8, 0, program.fixed_size, 0});
    program.fixed_size += 8;
    want += bytes(registers_.reg[i], 8);
  }
  for (uint8_t i = 0; i < 16; i++) {
    program.insns.push_back({FetchOp::kXmm, i, 0, 0, 0, 0});
    program.insns.push_back({FetchOp::kStore, 0, 8, 0, program.fixed_size, 0});
    program.fixed_size += 8;
    want += bytes(registers_.xmm[i][0], 8);
  }
  EXPECT_EQ(run(program), want);
  static_assert(kFlagsRegister == 16 && kIpRegister == 17);
}

TEST_F(FetchRun, AddressesOfInstructionsAreComputed) {
  uint32_t table[4] = {1, 2, 33, 4};
  registers_.reg[3] = uint64_t(table);
  registers_.reg[9] = 2;
  EXPECT_EQ(run({{{FetchOp::kReg, 3, 0, 0, 0, 0},
                  {FetchOp::kAddReg, 9, 4, 0, 0, 0},
                  {FetchOp::kPeek, 0, 4, 0, 0, 0},
                  {FetchOp::kStore, 0, 8, 0, 24, 0}},
                 32}),
            bytes(33, 8));
}

// --- how records begin

TEST_F(FetchRun, FieldsStandBehindEachHead) {
  registers_.arg[0] = 0x4142434445464748;
  struct {
    RecordHead head;
    uint32_t size;
  } cases[] = {{RecordHead::kEvent, 8},
               {RecordHead::kProbe, 16},
               {RecordHead::kReturn, 24},
               {RecordHead::kFunction, 24}};
  for (const auto& c : cases) {
    EXPECT_EQ(record_head_size(c.head), c.size);
    // A gap of a byte between, and one of two at the end.
    Program program = {{{FetchOp::kArg, 0, 0, 0, 0, 0},
                        {FetchOp::kStore, 0, 1, 0, c.size, 0},
                        {FetchOp::kStore, 0, 8, 0, c.size + 2, 0}},
                       c.size + 12,
                       true,
                       c.head};
    EXPECT_EQ(run(program), std::string("H\0HGFEDCBA\0\0", 12)) << c.size;
  }
}

// --- bit fields

TEST_F(FetchRun, BitFieldsAreTakenOut) {
  struct {
    uint64_t value;
    uint8_t first, size;
    bool is_signed;
    uint64_t want;
  } cases[] = {
      {0xabcd, 0, 4, false, 0xd},
      {0xabcd, 4, 8, false, 0xbc},
      {0xabcd, 12, 4, true, 0xfffffffffffffffa},
      {0xabcd, 12, 4, false, 0xa},
      {0x2, 1, 1, true, ~uint64_t{0}},
      {0x2, 1, 1, false, 1},
      {0x8000000000000001, 63, 1, false, 1},
      {0x8000000000000001, 0, 64, false, 0x8000000000000001},
      {0x8000000000000001, 0, 64, true, 0x8000000000000001},
      {0x7fffffffffffffff, 1, 63, true, 0x3fffffffffffffff},
  };
  for (const auto& c : cases) {
    registers_.arg[0] = c.value;
    EXPECT_EQ(run({{{FetchOp::kArg, 0, 0, 0, 0, 0},
                    {FetchOp::kBits, c.first, c.size, 0, 0, c.is_signed},
                    {FetchOp::kStore, 0, 8, 0, 24, 0}},
                   32}),
              bytes(c.want, 8))
        << std::hex << c.value << " " << int(c.first) << " " << int(c.size);
  }
}

// --- strings whose fault is told apart from an empty one

TEST_F(FetchRun, FaultingStringHasLengthZeroWhereAsked) {
  auto text_at = [&](const void* address, uint8_t index) {
    registers_.arg[0] = uint64_t(address);
    return run_text({{FetchOp::kArg, 0, 0, 0, 0, 0}, {FetchOp::kString, index, 4, 0, 24, 64}});
  };
  EXPECT_EQ(text_at("text", 1), "text");
  EXPECT_EQ(text_at("", 1), "") << "an empty text has its NUL";
  EXPECT_EQ(text_at(nullptr, 1), "(fault)");
  EXPECT_EQ(text_at(nullptr, 0), "");
  EXPECT_EQ(text_at(reinterpret_cast<void*>(kNonCanonical), 1), "(fault)");
  std::memset(pages_, 'x', 2 * kPage);
  EXPECT_EQ(text_at(end_ - 20, 1), "(fault)") << "begins well, and runs into a bad page";
  EXPECT_EQ(text_at(end_ - 63, 1), std::string(63, 'x')) << "all that is recorded could be read";
}

TEST_F(FetchRun, FaultingStringTakesNoRoom) {
  registers_.arg[1] = uint64_t("end");
  Program program = {{{FetchOp::kArg, 0, 0, 0, 0, 0},
                      {FetchOp::kString, 1, 4, 0, 24, 64},
                      {FetchOp::kArg, 1, 0, 0, 0, 0},
                      {FetchOp::kString, 1, 4, 0, 28, 64}},
                     32};
  EXPECT_EQ(run(program), bytes(32, 4) + bytes(32 | 4 << 16, 4) + std::string("end\0", 4));
}

TEST_F(FetchRun, StringArraysFollowEachPointer) {
  const char* texts[4] = {"one", nullptr, "", "four"};
  registers_.arg[0] = uint64_t(texts);
  Program program = {{{FetchOp::kArg, 0, 0, 0, 0, 0}, {FetchOp::kStringArray, 1, 4, 0, 24, 16}},
                     40};
  EXPECT_EQ(run(program), bytes(40 | 4 << 16, 4) + bytes(44, 4) + bytes(44 | 1 << 16, 4) +
                              bytes(45 | 5 << 16, 4) + std::string("one\0\0four\0\0\0", 12));
  program.insns[1].index = 0;  // a fault is an empty text
  EXPECT_EQ(run(program), bytes(40 | 4 << 16, 4) + bytes(44 | 1 << 16, 4) + bytes(45 | 1 << 16, 4) +
                              bytes(46 | 5 << 16, 4) + std::string("one\0\0\0four\0\0", 12));
}

TEST_F(FetchRun, StringArrayThatCannotBeReadIsAllFaults) {
  for (uint64_t address : {uint64_t{0}, uint64_t(end_), kNonCanonical}) {
    registers_.arg[0] = address;
    Program program = {{{FetchOp::kArg, 0, 0, 0, 0, 0}, {FetchOp::kStringArray, 1, 64, 0, 24, 16}},
                       24 + 256};
    faults_seen = 0;
    std::string record = run(program);
    EXPECT_LE(faults_seen, 2);
    ASSERT_EQ(record.size(), 256u);
    for (size_t i = 0; i < 64; i++) EXPECT_EQ(record.substr(i * 4, 4), bytes(280, 4)) << i;
  }
  // The last pointer that can be read is the second one.
  const char* text = "x";
  for (int i = 1; i <= 2; i++) std::memcpy(end_ - i * 8, &text, 8);
  registers_.arg[0] = uint64_t(end_ - 16);
  Program program = {{{FetchOp::kArg, 0, 0, 0, 0, 0}, {FetchOp::kStringArray, 1, 3, 0, 24, 16}},
                     36};
  EXPECT_EQ(run(program), bytes(36 | 2 << 16, 4) + bytes(38 | 2 << 16, 4) + bytes(40, 4) +
                              std::string("x\0x\0", 4));
}

// --- the thread's name

// --- texts and arrays whose length the program says

// What kText takes: from `address`, as long as `length` says.
struct TextCase {
  uint64_t address, length;
  uint8_t bits;
  uint64_t limit;
  std::string want;
};

TEST_F(FetchRun, TextsAreAsLongAsIsSaid) {
  static const char kBytes[] = "ab\0cdefghijklmnopqrstuvwxyz";
  const auto at = reinterpret_cast<uint64_t>(kBytes);
  std::memset(pages_, 'x', 2 * kPage);
  const auto end = reinterpret_cast<uint64_t>(end_);
  const std::string all(kBytes, 26);
  const TextCase rows[] = {
      {at, 5, 0, 512, std::string("ab\0cd", 5)},
      {at, 0, 0, 512, ""},
      {0, 0, 0, 512, ""},
      {at, 26, 0, 512, all},
      {at, 26, 0, 8, all.substr(0, 7)},
      {at, 26, 0, 1, ""},
      {at, at + 3, kLengthIsEnd, 512, std::string("ab\0", 3)},
      {at, at, kLengthIsEnd, 512, ""},
      {at, at - 1, kLengthIsEnd, 512, "(fault)"},
      {at, ~uint64_t{0}, 0, 12, all.substr(0, 11)},
      {at, ~uint64_t{0}, kLengthIsSigned, 12, "(fault)"},
      {8, 5, 0, 512, "(fault)"},
      {kNonCanonical, 5, 0, 512, "(fault)"},
      {~uint64_t{0}, 5, 0, 512, "(fault)"},
      {end - 5, 5, 0, 512, "xxxxx"},
      {end - 5, 6, 0, 512, "(fault)"},
      {end - 17, 17, 0, 512, std::string(17, 'x')},
      {end - 17, 18, 0, 512, "(fault)"},
  };
  for (const TextCase& row : rows) {
    registers_.arg[0] = row.address;
    EXPECT_EQ(run_text({{FetchOp::kImm, 0, 0, 0, 0, row.length},
                        {FetchOp::kLength, row.bits, 0, 0, 0, 0},
                        {FetchOp::kArg, 0, 0, 0, 0, 0},
                        {FetchOp::kText, 0, 4, 0, 24, row.limit}}),
              row.want)
        << row.length << " of " << std::hex << row.address;
  }
}

TEST_F(FetchRun, LengthsAreLoaded) {
  const struct {
    uint8_t byte = 0xff;
    uint16_t two = 3;
    int32_t four = -1;
    uint64_t eight = 2;
  } lengths;
  registers_.arg[0] = reinterpret_cast<uint64_t>("abcdef");
  const auto text = [&](const void* from, uint8_t size, uint8_t bits) {
    return run_text({{FetchOp::kImm, 0, 0, 0, 0, reinterpret_cast<uint64_t>(from)},
                     {FetchOp::kLength, bits, size, 0, 0, 0},
                     {FetchOp::kArg, 0, 0, 0, 0, 0},
                     {FetchOp::kText, 0, 4, 0, 24, 6}});
  };
  EXPECT_EQ(text(&lengths.byte, 1, 0), "abcde") << "255, cut";
  EXPECT_EQ(text(&lengths.byte, 1, kLengthIsSigned), "(fault)") << "-1";
  EXPECT_EQ(text(&lengths.two, 2, 0), "abc");
  EXPECT_EQ(text(&lengths.four, 4, kLengthIsSigned), "(fault)");
  EXPECT_EQ(text(&lengths.eight, 8, 0), "ab");
  EXPECT_EQ(text(end_, 8, 0), "(fault)") << "a length that cannot be read";
}

TEST_F(FetchRun, NothingLeadsToAnEmptyText) {
  registers_.arg[0] = reinterpret_cast<uint64_t>(end_);
  for (uint64_t length : {0, 1}) {
    faults_seen = 0;
    EXPECT_EQ(run_text({{FetchOp::kImm, 0, 0, 0, 0, length},
                        {FetchOp::kLength, 0, 0, 0, 0, 2},
                        {FetchOp::kArg, 0, 0, 0, 0, 0},
                        {FetchOp::kDeref, 0, 0, 0, 0, 0},
                        {FetchOp::kText, 0, 4, 0, 24, 8}}),
              length ? "(fault)" : "");
    EXPECT_EQ(faults_seen > 0, length > 0);
  }
}

TEST_F(FetchRun, NothingIsLoadedBehindAnEnd) {
  uint64_t words[2] = {7, 8};
  const auto at = reinterpret_cast<uint64_t>(words);
  const auto load_below = [&](uint64_t address, uint64_t end) {
    registers_.arg[0] = address;
    return run({{{FetchOp::kImm, 0, 0, 0, 0, end},
                 {FetchOp::kLength, kLengthIsEnd, 0, 0, 0, 0},
                 {FetchOp::kArg, 0, 0, 0, 0, 0},
                 {FetchOp::kBelow, 0, 0, 0, 0, 0},
                 {FetchOp::kLoad, 0, 8, 0, 24, 0}},
                32});
  };
  EXPECT_EQ(load_below(at, at + 16), bytes(7, 8));
  EXPECT_EQ(load_below(at + 8, at + 9), bytes(8, 8));
  EXPECT_EQ(load_below(at + 8, at + 8), bytes(0, 8));
  EXPECT_EQ(load_below(reinterpret_cast<uint64_t>(end_), 0), bytes(0, 8));
  EXPECT_EQ(faults_seen, 0);
}

// The elements, "none" where the word is 0.
std::string elements_of(const std::string& record) {
  uint32_t where = 0;
  std::memcpy(&where, record.data(), 4);
  if (!where) return "none";
  EXPECT_EQ((where & 0xffff) % 4, 0u);
  return record.substr((where & 0xffff) - 24, where >> 16);
}

TEST_F(FetchRun, ElementsAreAsManyAsIsSaid) {
  const uint32_t words[] = {1, 2, 3, 4};
  const auto at = reinterpret_cast<uint64_t>(words), bad = reinterpret_cast<uint64_t>(end_);
  const std::string all(reinterpret_cast<const char*>(words), sizeof words);
  std::memcpy(end_ - 6, &words[1], 4);
  const auto run_elements = [&](uint64_t address, uint64_t length, uint8_t bits, uint64_t most) {
    registers_.arg[0] = address;
    return elements_of(run({{{FetchOp::kImm, 0, 0, 0, 0, length},
                             {FetchOp::kLength, bits, 0, 0, 0, 0},
                             {FetchOp::kArg, 0, 0, 0, 0, 0},
                             {FetchOp::kElements, 0, 4, 0, 24, most}},
                            28}));
  };
  EXPECT_EQ(run_elements(at, 3, 0, 8), all.substr(0, 12));
  EXPECT_EQ(run_elements(at, 4, 0, 2), all.substr(0, 8));
  EXPECT_EQ(run_elements(at, 0, 0, 8), "") << "none, and that is known";
  EXPECT_EQ(run_elements(8, 0, 0, 8), "");
  EXPECT_EQ(run_elements(at, at + 15, kLengthIsEnd, 8), all.substr(0, 12)) << "whole ones";
  EXPECT_EQ(run_elements(at, at - 4, kLengthIsEnd, 8), "none");
  EXPECT_EQ(run_elements(at, ~uint64_t{0}, kLengthIsSigned, 8), "none");
  EXPECT_EQ(run_elements(bad, 1, 0, 8), "none");
  EXPECT_EQ(run_elements(bad - 6, 3, 0, 8), all.substr(4, 4)) << "those before a bad page";
  EXPECT_EQ(run_elements(bad - 2, 3, 0, 8), "none");
}

TEST_F(FetchRun, CommIsTheNameOfNow) {
  char before[16];
  pthread_getname_np(pthread_self(), before, sizeof before);
  for (const char* name : {"a", "", "fifteen letters", "with blank"}) {
    pthread_setname_np(pthread_self(), name);
    EXPECT_EQ(run_text({{FetchOp::kComm, 0, 4, 0, 24, 0}}), name);
  }
  pthread_setname_np(pthread_self(), before);
}

// --- symbols

TEST_F(FetchRun, SymbolsAreFoundByAddress) {
  std::string text = std::string("first\0second\0", 13) + std::string(300, 'l') + '\0';
  const SymbolNames::Entry entries[] = {
      {0x1000, 0x10, 0}, {0x1010, 0, 6}, {0x2000, 0x100, 6}, {0xffffffff80000000, 0xffffffff, 13}};
  SymbolNames names = {entries, 4, text.c_str()};
  std::string long_name(kSymbolTextSize - 31, 'l');
  struct {
    uint64_t address;
    std::string want;
  } cases[] = {
      {0, "0x0"},
      {0xfff, "0xfff"},
      {0x1000, "first+0x0/0x10"},
      {0x100f, "first+0xf/0x10"},
      {0x1010, "second+0x0/0x0"},
      {0x1011, "0x1011"},
      {0x20ff, "second+0xff/0x100"},
      {0x2100, "0x2100"},
      {0xdeadbeefdeadbeef, "0xdeadbeefdeadbeef"},
      {0xfffffffffffffffe, long_name + "+0x7ffffffe/0xffffffff"},
  };
  for (const auto& c : cases) {
    registers_.arg[0] = c.address;
    EXPECT_EQ(run_text({{FetchOp::kArg, 0, 0, 0, 0, 0},
                        {FetchOp::kSymbol, 0, 4, 0, 24, uint64_t(&names)}}),
              c.want);
  }
  registers_.arg[0] = 0x1000;
  names.nr_entries = 0;
  for (uint64_t none : {uint64_t(&names), uint64_t{0}})
    EXPECT_EQ(run_text({{FetchOp::kArg, 0, 0, 0, 0, 0}, {FetchOp::kSymbol, 0, 4, 0, 24, none}}),
              "0x1000");
}

// --- another event's record

TEST_F(FetchRun, FieldsOfTheSourceRecordAreRead) {
  source_.assign(32, 0);
  for (uint8_t i = 0; i < 32; i++) source_[i] = uint8_t(0x81 + i);
  struct {
    uint8_t size, is_signed;
    uint32_t offset;
    uint64_t want;
  } cases[] = {
      {1, 0, 8, 0x89},
      {1, 1, 8, 0xffffffffffffff89},
      {2, 0, 9, 0x8b8a},
      {2, 1, 9, 0xffffffffffff8b8a},
      {4, 0, 13, 0x91908f8e},
      {4, 1, 13, 0xffffffff91908f8e},
      {8, 0, 24, 0xa09f9e9d9c9b9a99},
      {8, 1, 24, 0xa09f9e9d9c9b9a99},
  };
  for (const auto& c : cases) {
    Program program = {
        {{FetchOp::kField, c.is_signed, c.size, 0, 0, c.offset}, {FetchOp::kStore, 0, 8, 0, 8, 0}},
        16,
        false,
        RecordHead::kEvent};
    EXPECT_EQ(run(program), bytes(c.want, 8)) << int(c.size) << " " << int(c.is_signed);
  }
}

TEST_F(FetchRun, FieldsOfTheSourceRecordCanPoint) {
  uint64_t target = 42;
  source_.assign(16, 0);
  uint64_t pointer = uint64_t(&target) - 8;
  std::memcpy(source_.data() + 8, &pointer, 8);
  EXPECT_EQ(run({{{FetchOp::kField, 0, 8, 0, 0, 8},
                  {FetchOp::kAdd, 0, 0, 0, 0, 8},
                  {FetchOp::kLoad, 0, 8, 0, 24, 0}},
                 32}),
            bytes(42, 8));
}

TEST_F(FetchRun, TextsOfTheSourceRecordEndWithTheirField) {
  // char name[6] at 8 without a NUL; behind it something that must not be taken. At 16 the words of
  // texts at 24: with its NUL, without one, of length 0, all of the rest.
  std::string record = std::string(8, '\0') + "abcdefSECRET" + std::string(12, 's') + "text";
  record += '\0';
  record += "moreSECRET";
  record.resize(64, 's');
  source_.assign(record.begin(), record.end());
  auto word = [&](uint32_t at, uint32_t where, uint32_t length) {
    uint32_t data_loc = where | length << 16;
    std::memcpy(source_.data() + at, &data_loc, 4);
  };
  word(16, 32, 5);
  word(20, 37, 4);
  word(24, 37, 0);
  struct {
    uint8_t is_fixed;
    uint32_t bytes;
    uint64_t offset;
    uint64_t add, limit;
    std::string want;
  } cases[] = {
      {1, 6, 8, 0, 64, "abcdef"}, {1, 6, 8, 2, 64, "cdef"},     {1, 6, 8, 5, 64, "f"},
      {1, 6, 8, 0, 4, "abc"},     {0, 0, 16, 0, 64, "text"},    {0, 0, 20, 0, 64, "more"},
      {0, 0, 20, 3, 64, "e"},     {0, 0, 24, 0, 64, "(fault)"}, {1, 0, 32, 0, 64, "text"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(run_text({{FetchOp::kFieldText, c.is_fixed, 0, 0, c.bytes, c.offset},
                        {FetchOp::kAdd, 0, 0, 0, 0, c.add},
                        {FetchOp::kString, 1, 4, 0, 24, c.limit}}),
              c.want)
        << c.offset << "+" << c.add;
  }
}

TEST_F(FetchRun, TextsElsewhereAreNotCutByAField) {
  source_.assign(16, 'a');
  registers_.arg[0] = uint64_t("far away");
  EXPECT_EQ(run_text({{FetchOp::kFieldText, 1, 0, 0, 3, 8},
                      {FetchOp::kArg, 0, 0, 0, 0, 0},
                      {FetchOp::kString, 1, 4, 0, 24, 64}}),
            "far away");
}

TEST_F(FetchRun, FixupKnowsOnlyItsOwnLoads) {
  EXPECT_EQ(fault_fixup(0), 0u);
  EXPECT_EQ(fault_fixup(uint64_t(&fetch_run)), 0u);
  EXPECT_EQ(fault_fixup(uint64_t(&std::abort)), 0u);
}

}  // namespace
}  // namespace patchbay
