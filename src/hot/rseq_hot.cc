// SPDX-License-Identifier: MIT
#include "hot/rseq.h"

#include <sys/rseq.h>

#include <cerrno>

namespace patchbay {

extern "C" {
int64_t pb_rseq_offset = 0;
uint32_t pb_rseq_size = 0;
int64_t pb_libc_tid_offset = 0;
}

namespace {

constexpr uint32_t kUsualSize = 32, kMostSize = 512;

// Asks to unregister an area with a signature that nobody uses. Nothing changes: the kernel
// answers EPERM where this area is this thread's, and EINVAL where it is not (kernel/rseq.c).
long try_to_unregister(uint64_t area, uint32_t size) {
  constexpr uint32_t kNobodys = ~uint32_t{RSEQ_SIG};
  return raw_syscall(SYS_rseq, long(area), size, RSEQ_FLAG_UNREGISTER, kNobodys);
}

// A filter that refuses the call itself answers the same to both.
bool is_registered(uint64_t area, uint32_t size) {
  return try_to_unregister(area, size) == -EPERM &&
         try_to_unregister(area + kMostSize, size) == -EINVAL;
}

uint64_t area_of_this_thread() { return thread_pointer() + uint64_t(pb_rseq_offset); }

}  // namespace

namespace {

// As the kernel's struct rseq. Nobody reads `cpu_id` of a thread that is not registered for more
// than its sign.
struct alignas(kOwnRseqSize) OwnRseq {
  uint32_t cpu_id_start;
  int32_t cpu_id;
  uint64_t rseq_cs;
  uint32_t flags, node_id, mm_cid, padding;
};
static_assert(sizeof(OwnRseq) == kOwnRseqSize);
__thread OwnRseq t_own_rseq
    __attribute__((tls_model("initial-exec"))) = {0, RSEQ_CPU_ID_UNINITIALIZED, 0, 0, 0, 0, 0};

}  // namespace

extern "C" int64_t own_rseq_offset() {
  return int64_t(reinterpret_cast<uint64_t>(&t_own_rseq) - thread_pointer());
}
extern "C" bool rseq_is_own() { return pb_rseq_offset && pb_rseq_offset == own_rseq_offset(); }

extern "C" bool is_libcs_thread() {
  if (!pb_libc_tid_offset) return false;
  const uint64_t tid = thread_pointer() + uint64_t(pb_libc_tid_offset);
  return *reinterpret_cast<const volatile int32_t*>(tid) == raw_syscall(SYS_gettid);
}

extern "C" bool register_own_rseq() {
  return raw_syscall(SYS_rseq, raw_pointer(&t_own_rseq), kOwnRseqSize, 0, RSEQ_SIG) == 0;
}
extern "C" void unregister_own_rseq() {
  raw_syscall(SYS_rseq, raw_pointer(&t_own_rseq), kOwnRseqSize, RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
  t_own_rseq.cpu_id_start = 0;
  t_own_rseq.cpu_id = RSEQ_CPU_ID_UNINITIALIZED;
}

uint32_t find_rseq_size(int64_t offset) {
  const uint64_t area = thread_pointer() + uint64_t(offset);
  if (is_registered(area, kUsualSize)) return kUsualSize;
  for (uint32_t size = 4; size <= kMostSize; size += 4)
    if (is_registered(area, size)) return size;
  return 0;
}

extern "C" bool rseq_is_registered() {
  if (!pb_rseq_offset || !pb_rseq_size || rseq_cpu_id() < 0) return false;
  return is_registered(area_of_this_thread(), pb_rseq_size);
}

// The kernel has the last word: it refuses a second registration.
extern "C" bool borrow_rseq(BorrowedRseq* was) {
  if (!pb_rseq_offset || !pb_rseq_size || rseq_cpu_id() < 0 || !is_libcs_thread()) return false;
  const uint64_t area = area_of_this_thread();
  const auto* words = reinterpret_cast<const volatile uint32_t*>(area);
  for (uint32_t i = 0; i < 8; i++) was->words[i] = words[i];
  return raw_syscall(SYS_rseq, long(area), pb_rseq_size, 0, RSEQ_SIG) == 0;
}

extern "C" void return_rseq(const BorrowedRseq* was) {
  const uint64_t area = area_of_this_thread();
  raw_syscall(SYS_rseq, long(area), pb_rseq_size, RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
  auto* words = reinterpret_cast<volatile uint32_t*>(area);
  for (uint32_t i = 0; i < 8; i++) words[i] = was->words[i];
}

}  // namespace patchbay
