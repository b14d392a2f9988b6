// SPDX-License-Identifier: MIT
#include "cmd/measure/call_rings.h"

#include <algorithm>

#include "base/monotonic_clock.h"
#include "output/trace_clock_convert.h"

namespace patchbay::cmd {
namespace {

// From its time to its place in the ring a record needs some nanoseconds. On a machine whose CPUs
// are others' too (a virtual one) it may be stopped between them.
constexpr uint64_t kVisibleNs = 2'000'000;
constexpr int64_t kClockMs = 1000;  // between two looks at the pairs of clocks

}  // namespace

Result<std::unique_ptr<CallRings>> CallRings::open(serve::Client& client, const std::string& path) {
  std::unique_ptr<CallRings> rings(new CallRings());
  PB_ASSIGN(UniqueFd fd, client.open_buffer());
  PB_ASSIGN(std::unique_ptr<BufferFile> top, BufferFile::from_fd(std::move(fd), false));
  PB_ASSIGN(std::unique_ptr<BufferFile> own, BufferFile::open(path, true));
  rings->path_ = path;
  rings->top_ = std::move(top);
  rings->rings_ = std::move(own);
  rings->clock_ = ClockCurve(fit_clock(rings->top_->header().clock, rings->top_->clock_pairs()));
  rings->clock_read_ms_ = monotonic_ms();
  rings->merger_ = std::make_unique<EventMerger>(rings.get());
  return rings;
}

// A buffer that somebody gives another size is another file, which goes on where it ends.
void CallRings::follow() {
  if (!rings_->replaced()) return;
  Result<std::unique_ptr<BufferFile>> next = BufferFile::open(path_, true);
  if (!next.ok() || (*next)->nr_rings() != rings_->nr_rings()) return;
  for (uint32_t ring = 0; ring < rings_->nr_rings(); ring++)
    (*next)->skip_to(ring, rings_->position(ring).entries);
  rings_ = std::move(*next);
}

bool CallRings::next_page(size_t index, PageImage* out) {
  const bool is_there = rings_->next_page(uint32_t(index), true, out);
  was_busy_ |= is_there;
  return is_there;
}

void CallRings::look(bool is_end) {
  const uint64_t now = raw_clock_now(top_->header().clock);
  if (monotonic_ms() - clock_read_ms_ >= kClockMs) {
    clock_read_ms_ = monotonic_ms();
    clock_.bend(now, fit_clock(top_->header().clock, top_->clock_pairs()));
  }
  const uint64_t now_ns = clock_.to_ns(now);
  until_ns_ = is_end ? ~uint64_t{0} : now_ns - std::min(now_ns, kVisibleNs);
  was_busy_ = false;
  merger_->refill();
  if (!was_busy_) follow();
}

bool CallRings::next(MergedEvent* event) {
  uint64_t ns = 0;
  return merger_->peek(&ns) && ns <= until_ns_ && merger_->next(event);
}

}  // namespace patchbay::cmd
