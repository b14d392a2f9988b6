// SPDX-License-Identifier: MIT
// set_ftrace_filter, set_ftrace_notrace: which functions the default tracer of the instance traces,
// or leaves out, and commands at functions (docs/files.md). O_TRUNC starts with an
// empty list. What was written takes effect when the file is closed; commands do at once.
#include <fcntl.h>

#include <optional>

#include "tracefs/files/filter_words.h"

namespace patchbay::tracefs {
namespace {

class FilterFile : public ArrayFile {
 public:
  FilterFile(const Place& place, Tracers::Filter which) : ArrayFile(place), which_(which) {}
  // A word that does not match is dropped here, as in the kernel: close(2) has no error to give.
  ~FilterFile() override {
    if (!held() || !session_) return;
    const std::string word = words_.take_rest();
    if (!word.empty()) (void)tracers().write_filter_line(&*session_, word);
    (void)tracers().close_filter(&*session_);
  }
  uint32_t mode() const override { return kWritable; }

  Result<std::string> read() override {
    PB_ASSIGN(auto found, array());
    return tracers().show_filter(*found, which_);
  }

  Result<size_t> write(std::string_view bytes) override {
    if (!session_) return user_error(EBADF, "The file is not open for writing.");
    PB_ASSIGN(FilterWords::Taken taken, words_.take(bytes));
    if (!taken.word.empty()) PB_TRY(tracers().write_filter_line(&*session_, taken.word));
    return taken.consumed;
  }

 protected:
  Status opened(TraceArray& array, uint32_t flags) override {
    if ((flags & O_ACCMODE) == O_RDONLY) return {};
    PB_ASSIGN(auto session, tracers().open_filter(array, which_, (flags & O_TRUNC) != 0));
    session_ = std::move(session);
    return {};
  }

 private:
  Tracers& tracers() const { return place_.tree->context.tracers; }
  const Tracers::Filter which_;
  FilterWords words_;
  std::optional<Tracers::FilterSession> session_;
};

}  // namespace

FilePtr make_set_ftrace_filter(const Place& place) {
  return std::make_unique<FilterFile>(place, Tracers::Filter::kFilter);
}

FilePtr make_set_ftrace_notrace(const Place& place) {
  return std::make_unique<FilterFile>(place, Tracers::Filter::kNotrace);
}

}  // namespace patchbay::tracefs
