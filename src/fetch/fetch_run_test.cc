// SPDX-License-Identifier: MIT
//
// fetch_run over hand-made programs and over every kind of bad address (FE-25). The test's signal
// handler does what the agent's does: it asks fetch_fault_fixup() where to continue.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "fetch/fetch_abi.h"

namespace patchbay {
namespace {

constexpr size_t kPage = 4096;
constexpr uint64_t kNonCanonical = 0x8000000000000000;
int faults_seen;

void on_fault(int, siginfo_t*, void* context) {
  auto& ip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  uint64_t fixup = fetch_fault_fixup(uint64_t(ip));
  if (!fixup) std::abort();
  ip = greg_t(fixup);
  faults_seen++;
}

struct Program {
  std::vector<FetchInsn> insns;
  uint32_t fixed_size = 24;
  bool has_gaps = false;
};

class FetchRun : public ::testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &old_segv_);
    sigaction(SIGBUS, &action, &old_bus_);
    faults_seen = 0;
    // Two pages, then one that cannot be read.
    pages_ = static_cast<uint8_t*>(
        mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(pages_, MAP_FAILED);
    mprotect(pages_ + 2 * kPage, kPage, PROT_NONE);
    end_ = pages_ + 2 * kPage;
  }
  void TearDown() override {
    munmap(pages_, 3 * kPage);
    sigaction(SIGSEGV, &old_segv_, nullptr);
    sigaction(SIGBUS, &old_bus_, nullptr);
  }

  // Runs it over a record full of 0xee, so that a byte that is not written shows; checks the canary
  // behind it.
  std::string run(const Program& program) {
    size_t bytes = sizeof(FetchProgram) + program.insns.size() * sizeof(FetchInsn);
    std::unique_ptr<FetchProgram, void (*)(void*)> made(
        static_cast<FetchProgram*>(std::calloc(1, bytes)), std::free);
    made->fixed_size = program.fixed_size;
    made->nr_insns = uint16_t(program.insns.size());
    made->has_gaps = program.has_gaps;
    uint32_t max = program.fixed_size;
    for (size_t i = 0; i < program.insns.size(); i++) {
      made->insn[i] = program.insns[i];
      if (program.insns[i].op == FetchOp::kString) max += uint32_t(program.insns[i].imm);
    }
    max = (max + 3) / 4 * 4;
    std::vector<uint8_t> record(max + 16, 0xee);
    uint32_t size = fetch_run(made.get(), &registers_, record.data());
    EXPECT_LE(size, max);
    EXPECT_EQ(size % 4, 0u);
    for (uint32_t i = 0; i < 24; i++) EXPECT_EQ(record[i], 0xee) << "the caller's byte " << i;
    for (uint32_t i = max; i < record.size(); i++)
      EXPECT_EQ(record[i], 0xee) << "behind the record " << i;
    return std::string(record.begin() + 24, record.begin() + size);
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
    EXPECT_EQ(record.size(), (4 + length + 3) / 4 * 4) << "FE-12: only the payload is recorded";
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
  uint8_t* pages_ = nullptr;
  uint8_t* end_ = nullptr;  // the first byte that cannot be read
  struct sigaction old_segv_, old_bus_;
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

TEST_F(FetchRun, FE12_StringsAreCutAtTheLimit) {
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

TEST_F(FetchRun, FE25_StringThatEndsWithItsPage) {
  for (size_t length = 0; length < 600; length++) {
    std::memset(end_ - length - 1, 'x', length);
    end_[-1] = 0;
    EXPECT_EQ(run_string(end_ - length - 1).size(), std::min<size_t>(length, 511));
  }
  EXPECT_EQ(faults_seen, 0) << "a good string never touches the page behind it";
}

TEST_F(FetchRun, FE25_StringThatRunsIntoABadPageIsEmpty) {
  std::memset(pages_, 'x', 2 * kPage);
  for (size_t length = 1; length < 500; length++)
    EXPECT_EQ(run_string(end_ - length), "") << length;
  EXPECT_EQ(run_string(end_ - 511).size(), 511u) << "all that is recorded could be read";
}

TEST_F(FetchRun, FE25_StringAcrossTwoGoodPages) {
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

TEST_F(FetchRun, FE25_BadAddressesGiveZero) {
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

TEST_F(FetchRun, FE25_ArrayElementsThatCannotBeReadAreZero) {
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

TEST_F(FetchRun, FE25_ScalarAcrossTheBorderOfABadPage) {
  std::memset(end_ - 8, 0x11, 8);
  EXPECT_EQ(load(uint64_t(end_ - 8), 8), 0x1111111111111111u);
  EXPECT_EQ(load(uint64_t(end_ - 4), 8), 0u);
}

TEST_F(FetchRun, FE25_FileThatWasTruncatedRaisesSigbus) {
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

TEST_F(FetchRun, FixupKnowsOnlyItsOwnLoads) {
  EXPECT_EQ(fetch_fault_fixup(0), 0u);
  EXPECT_EQ(fetch_fault_fixup(uint64_t(&fetch_run)), 0u);
  EXPECT_EQ(fetch_fault_fixup(uint64_t(&on_fault)), 0u);
}

}  // namespace
}  // namespace patchbay
