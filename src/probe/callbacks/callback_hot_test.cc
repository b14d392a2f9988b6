// SPDX-License-Identifier: MIT
//
// The program's functions called at hits: what they are given, who is not called twice, who waits,
// and that the vector registers of the code that was hit are as they were.
#include <gtest/gtest.h>
#include <immintrin.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "probe/callbacks/callbacks.h"
#include "ring_buffer/ring_set.h"

namespace patchbay {
namespace {

using Word = uint64_t;

struct Seen {
  int calls = 0;
  Word ip = 0, parent = 0, argument = 0;
};
Seen g_seen;
HitCallback* g_again;

void note_entry(Word ip, Word parent, Word argument, const CallbackRegisters* registers) {
  g_seen = {g_seen.calls + 1, ip, parent, argument};
  EXPECT_EQ(registers->ip, ip);
  if (g_again) callback_at_entry(g_again, *registers);
}

template <typename F>
Word address_of(F* function) {
  return reinterpret_cast<Word>(function);
}

TEST(Callback, IsGivenWhereItIs) {
  HitCallback* callback = make_callback(address_of(&note_entry), 77, LiveVectors::kNone);
  ASSERT_NE(callback, nullptr);
  g_seen = {};
  callback_at_entry(callback, {nullptr, nullptr, 1, 2});
  EXPECT_EQ(g_seen.calls, 1);
  EXPECT_EQ(g_seen.ip, 1u);
  EXPECT_EQ(g_seen.parent, 2u);
  EXPECT_EQ(g_seen.argument, 77u);
  switch_off(callback);
  callback_at_entry(callback, {nullptr, nullptr, 3, 4});
  EXPECT_EQ(g_seen.calls, 1) << "it is off";
  EXPECT_TRUE(wait_until_left(callback, 0).ok());
  EXPECT_EQ(make_callback(address_of(&note_entry), 77, LiveVectors::kNone), callback)
      << "the same is taken again";
  callback_at_entry(callback, {nullptr, nullptr, 3, 4});
  EXPECT_EQ(g_seen.calls, 2);
  switch_off(callback);
}

TEST(Callback, IsNotCalledInsideOfACallback) {
  HitCallback* outer = make_callback(address_of(&note_entry), 1, LiveVectors::kNone);
  HitCallback* inner = make_callback(address_of(&note_entry), 2, LiveVectors::kNone);
  for (HitCallback* hit_within : {outer, inner}) {
    g_seen = {};
    g_again = hit_within;
    const uint64_t before = hit_within->missed;
    callback_at_entry(outer, {nullptr, nullptr, 1, 2});
    EXPECT_EQ(g_seen.calls, 1);
    EXPECT_EQ(hit_within->missed, before + 1);
  }
  g_again = nullptr;
  EXPECT_EQ(pb_thread.callback_slot->running, nullptr);
  switch_off(outer);
  switch_off(inner);
}

std::atomic<int> g_inside{0};
std::atomic<bool> g_go_on{false};
void stay(const CallbackRecord*, Word) {
  g_inside++;
  while (!g_go_on) std::this_thread::yield();
  g_inside--;
}

TEST(Callback, WhoTakesItAwayWaits) {
  HitCallback* callback = make_callback(address_of(&stay), 0, LiveVectors::kAll);
  std::thread thread([&] { callback_with_record(callback, {nullptr, 0, 1}, false); });
  while (!g_inside) std::this_thread::yield();
  switch_off(callback);
  const Status busy = wait_until_left(callback, 3);
  ASSERT_FALSE(busy.ok());
  EXPECT_EQ(busy.error().errno_value, EBUSY);
  g_go_on = true;
  EXPECT_TRUE(wait_until_left(callback, 60'000).ok());
  EXPECT_EQ(g_inside, 0);
  thread.join();
}

HitCallback* g_self;
bool g_was_busy;
void end_myself(const CallbackRecord*, Word) {
  switch_off(g_self);
  g_was_busy = !wait_until_left(g_self, 60'000).ok();
}

TEST(Callback, DoesNotWaitForItself) {
  g_self = make_callback(address_of(&end_myself), 0, LiveVectors::kNone);
  callback_with_record(g_self, {nullptr, 0, 1}, true);
  EXPECT_TRUE(g_was_busy);
  EXPECT_TRUE(wait_until_left(g_self, 0).ok());
}

TEST(Callback, AForkedChildCallsNone) {
  HitCallback* callback = make_callback(address_of(&note_entry), 5, LiveVectors::kNone);
  g_seen = {};
  CallbackSlot* const slot = pb_thread.callback_slot;
  callbacks_after_fork();
  callback_at_entry(callback, {nullptr, nullptr, 1, 2});
  EXPECT_EQ(g_seen.calls, 0);
  pb_callbacks_alive = 1;
  pb_thread.callback_slot = slot;
  switch_off(callback);
}

// --- vector registers

using Keep = void (*)(Word, Word, Word, Word, Word);

void spoil_sse(Word, Word, Word, Word) {
  __asm__ volatile(
      "pcmpeqd %%xmm0, %%xmm0\n pcmpeqd %%xmm1, %%xmm1\n pcmpeqd %%xmm7, %%xmm7\n"
      "pcmpeqd %%xmm15, %%xmm15\n fldz\n fstp %%st(0)" ::
          : "xmm0", "xmm1", "xmm7", "xmm15", "st", "memory");
}
__attribute__((target("avx"))) void spoil_avx(Word, Word, Word, Word) {
  __asm__ volatile(
      "vxorps %%ymm0, %%ymm0, %%ymm0\n vxorps %%ymm5, %%ymm5, %%ymm5\n"
      "vxorps %%ymm7, %%ymm7, %%ymm7\n vzeroupper" ::
          : "xmm0", "xmm5", "xmm7", "memory");
}

// Puts `in` into xmm0-15, calls, and gives back what is there.
void through_xmm(Keep keep, Word function, const uint8_t (&in)[16][16], uint8_t (&out)[16][16]) {
  __asm__ volatile(
      "movups 0(%[in]), %%xmm0\n"
      "movups 16(%[in]), %%xmm1\n"
      "movups 32(%[in]), %%xmm2\n"
      "movups 48(%[in]), %%xmm3\n"
      "movups 64(%[in]), %%xmm4\n"
      "movups 80(%[in]), %%xmm5\n"
      "movups 96(%[in]), %%xmm6\n"
      "movups 112(%[in]), %%xmm7\n"
      "movups 128(%[in]), %%xmm8\n"
      "movups 144(%[in]), %%xmm9\n"
      "movups 160(%[in]), %%xmm10\n"
      "movups 176(%[in]), %%xmm11\n"
      "movups 192(%[in]), %%xmm12\n"
      "movups 208(%[in]), %%xmm13\n"
      "movups 224(%[in]), %%xmm14\n"
      "movups 240(%[in]), %%xmm15\n"
      "mov %[function], %%r8\n lea -128(%%rsp), %%rsp\n call *%[keep]\n lea 128(%%rsp), %%rsp\n"
      "movups %%xmm0, 0(%[out])\n"
      "movups %%xmm1, 16(%[out])\n"
      "movups %%xmm2, 32(%[out])\n"
      "movups %%xmm3, 48(%[out])\n"
      "movups %%xmm4, 64(%[out])\n"
      "movups %%xmm5, 80(%[out])\n"
      "movups %%xmm6, 96(%[out])\n"
      "movups %%xmm7, 112(%[out])\n"
      "movups %%xmm8, 128(%[out])\n"
      "movups %%xmm9, 144(%[out])\n"
      "movups %%xmm10, 160(%[out])\n"
      "movups %%xmm11, 176(%[out])\n"
      "movups %%xmm12, 192(%[out])\n"
      "movups %%xmm13, 208(%[out])\n"
      "movups %%xmm14, 224(%[out])\n"
      "movups %%xmm15, 240(%[out])\n"
      :
      : [in] "b"(in), [out] "r"(out), [keep] "r"(keep), [function] "r"(function)
      : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "xmm0", "xmm1",
        "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15");
}

__attribute__((target("avx"))) void through_ymm(Keep keep, Word function,
                                                const uint8_t (&in)[8][32], uint8_t (&out)[8][32]) {
  __asm__ volatile(
      "vmovups (%[in]), %%ymm0\n vmovups 32(%[in]), %%ymm1\n vmovups 64(%[in]), %%ymm2\n"
      "vmovups 96(%[in]), %%ymm3\n vmovups 128(%[in]), %%ymm4\n vmovups 160(%[in]), %%ymm5\n"
      "vmovups 192(%[in]), %%ymm6\n vmovups 224(%[in]), %%ymm7\n"
      "mov %[function], %%r8\n lea -128(%%rsp), %%rsp\n call *%[keep]\n lea 128(%%rsp), %%rsp\n"
      "vmovups %%ymm0, (%[out])\n vmovups %%ymm1, 32(%[out])\n vmovups %%ymm2, 64(%[out])\n"
      "vmovups %%ymm3, 96(%[out])\n vmovups %%ymm4, 128(%[out])\n vmovups %%ymm5, 160(%[out])\n"
      "vmovups %%ymm6, 192(%[out])\n vmovups %%ymm7, 224(%[out])\n vzeroupper\n"
      :
      : [in] "b"(in), [out] "r"(out), [keep] "r"(keep), [function] "r"(function)
      : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "xmm0", "xmm1",
        "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15");
}

template <size_t count, size_t width>
void fill(uint8_t (&bytes)[count][width]) {
  for (size_t i = 0; i < sizeof bytes; i++) (&bytes[0][0])[i] = uint8_t(i * 7 + 1);
}

TEST(Callback, KeepsTheVectorRegisters) {
  (void)make_callback(address_of(&note_entry), 6, LiveVectors::kNone);  // asks the processor
  for (Keep keep : {&callback_call_entry, &callback_call_all}) {
    if (keep == &callback_call_entry && !pb_callback_xinuse) continue;
    uint8_t in[16][16], out[16][16] = {};
    fill(in);
    through_xmm(keep, address_of(&spoil_sse), in, out);
    EXPECT_EQ(std::memcmp(in, out, sizeof in), 0);
    if (!__builtin_cpu_supports("avx")) continue;
    uint8_t wide_in[8][32], wide_out[8][32] = {};
    fill(wide_in);
    through_ymm(keep, address_of(&spoil_avx), wide_in, wide_out);
    EXPECT_EQ(std::memcmp(wide_in, wide_out, sizeof wide_in), 0);
  }
}

// Upper registers and masks: what an AVX-512 libc leaves in use.
__attribute__((target("avx512f,avx512bw"))) void spoil_high(Word, Word, Word, Word) {
  __asm__ volatile(
      "vpxorq %%zmm16, %%zmm16, %%zmm16\n vpxorq %%zmm31, %%zmm31, %%zmm31\n"
      "vpxorq %%zmm3, %%zmm3, %%zmm3\n kxorq %%k1, %%k1, %%k1\n kxorq %%k7, %%k7, %%k7\n"
      "vzeroupper" ::
          : "xmm16", "xmm31", "xmm3", "k1", "k7", "memory");
}
struct High {
  alignas(64) uint8_t zmm[3][64];
  uint64_t mask[2];
};
__attribute__((target("avx512f,avx512bw"))) void through_high(Keep keep, Word function,
                                                              const High& in, High* out) {
  __asm__ volatile(
      "vmovaps (%[in]), %%zmm16\n vmovaps 64(%[in]), %%zmm31\n vmovaps 128(%[in]), %%zmm3\n"
      "kmovq 192(%[in]), %%k1\n kmovq 200(%[in]), %%k7\n"
      "mov %[function], %%r8\n lea -128(%%rsp), %%rsp\n call *%[keep]\n lea 128(%%rsp), %%rsp\n"
      "vmovaps %%zmm16, (%[out])\n vmovaps %%zmm31, 64(%[out])\n vmovaps %%zmm3, 128(%[out])\n"
      "kmovq %%k1, 192(%[out])\n kmovq %%k7, 200(%[out])\n vzeroupper"
      :
      : [in] "b"(&in), [out] "r"(out), [keep] "r"(keep), [function] "r"(function)
      : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "xmm3", "xmm16",
        "xmm31", "k1", "k7");
}

TEST(Callback, KeepsUpperRegistersAndMasks) {
  (void)make_callback(address_of(&note_entry), 6, LiveVectors::kNone);  // asks the processor
  if (!__builtin_cpu_supports("avx512bw")) GTEST_SKIP() << "no AVX-512 here";
  for (Keep keep : {&callback_call_entry, &callback_call_all}) {
    High in, out = {};
    for (size_t i = 0; i < sizeof in; i++) reinterpret_cast<uint8_t*>(&in)[i] = uint8_t(i * 5 + 1);
    through_high(keep, address_of(&spoil_high), in, &out);
    EXPECT_EQ(std::memcmp(&in, &out, offsetof(High, mask) + sizeof in.mask), 0);
  }
}

// A function that returns its result in st(0).
TEST(Callback, KeepsTheX87Stack) {
  (void)make_callback(address_of(&note_entry), 6, LiveVectors::kNone);
  long double value = 1.0L / 3, after = 0;
  const Word function = address_of(&spoil_sse);
  __asm__ volatile(
      "fldt %[value]\n mov %[function], %%r8\n lea -128(%%rsp), %%rsp\n call callback_call_all\n"
      "lea 128(%%rsp), %%rsp\n fstpt %[after]"
      : [after] "=m"(after)
      : [value] "m"(value), [function] "r"(function)
      : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "xmm0", "xmm1",
        "xmm7", "xmm15");
  EXPECT_EQ(value, after);
}

}  // namespace
}  // namespace patchbay
