// SPDX-License-Identifier: MIT
// stack_trace_filter: the functions at which the stack tracer measures. O_TRUNC starts with an
// empty list, which means all. What was written takes effect when the file is closed.
#include <fcntl.h>

#include <optional>

#include "tracefs/files/filter_words.h"
#include "tracer/stack_tracer.h"

namespace patchbay::tracefs {
namespace {

class StackFilterFile : public ArrayFile {
 public:
  explicit StackFilterFile(const Place& place) : ArrayFile(place) {}
  // A word that does not match is dropped here, as in the kernel: close(2) has no error to give.
  ~StackFilterFile() override {
    if (!held() || !written_) return;
    const std::string word = words_.take_rest();
    if (!word.empty()) (void)tracer().write_filter_line(word, &*written_);
    (void)tracer().close_filter(std::move(*written_));
  }
  uint32_t mode() const override { return kWritable; }
  Result<std::string> read() override { return tracer().show_filter(); }

  Result<size_t> write(std::string_view bytes) override {
    if (!written_) return user_error(EBADF, "The file is not open for writing.");
    PB_ASSIGN(FilterWords::Taken taken, words_.take(bytes));
    if (!taken.word.empty()) PB_TRY(tracer().write_filter_line(taken.word, &*written_));
    return taken.consumed;
  }

 protected:
  Status opened(TraceArray&, uint32_t flags) override {
    if ((flags & O_ACCMODE) != O_RDONLY) written_ = tracer().open_filter((flags & O_TRUNC) != 0);
    return {};
  }

 private:
  StackTracer& tracer() const { return place_.tree->context.tracers.stack_tracer(); }
  FilterWords words_;
  std::optional<FtraceHash> written_;
};

}  // namespace

FilePtr make_stack_trace_filter(const Place& place) {
  return std::make_unique<StackFilterFile>(place);
}

}  // namespace patchbay::tracefs
