// SPDX-License-Identifier: MIT
//
// The events of one instance of a running process, in order of time, while they come:
//
//   the time now, less what a record needs to become visible      = until where all CPUs are known
//   read the rings                                                  (an event of another CPU may be
//   events up to that time, merged                                   older, but not that old)
//
// What is newer waits for the next look.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "output/clock_curve.h"
#include "output/merge.h"
#include "ring_buffer/buffer_file.h"
#include "serve/client.h"

namespace patchbay::cmd {

class CallRings : public PageSource {
 public:
  // `path`: the buffer file of the instance; the client's top one has the clock.
  static Result<std::unique_ptr<CallRings>> open(serve::Client& client, const std::string& path);

  // Looks anew. `is_end`: nothing more comes, so that all that is there is known.
  void look(bool is_end);
  // The next event that is known.
  bool next(MergedEvent* event);
  // Whether the last look was a look at anything new.
  bool was_busy() const { return was_busy_; }

  const BufferFile& top() const { return *top_; }
  const BufferFile& rings() const { return *rings_; }

  // PageSource:
  size_t nr_cpus() const override { return rings_->nr_rings(); }
  bool next_page(size_t index, PageImage* out) override;
  uint64_t to_ns(uint64_t time) const override { return clock_.to_ns(time); }

 private:
  CallRings() = default;
  void follow();

  std::string path_;
  std::unique_ptr<BufferFile> top_, rings_;
  mutable ClockCurve clock_;
  std::unique_ptr<EventMerger> merger_;
  uint64_t until_ns_ = 0;
  int64_t clock_read_ms_ = 0;
  bool was_busy_ = false;
};

}  // namespace patchbay::cmd
