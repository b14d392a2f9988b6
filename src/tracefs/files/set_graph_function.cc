// SPDX-License-Identifier: MIT
// set_graph_function, set_graph_notrace: function_graph follows only these functions and what they
// call, or leaves them and what they call out; in all instances. O_TRUNC starts with an empty list.
// What was written takes effect when the file is closed.
#include <fcntl.h>

#include <optional>

#include "tracefs/files/filter_words.h"
#include "tracer/graph_control.h"

namespace patchbay::tracefs {
namespace {

using Set = GraphControl::Set;

class GraphSetFile : public ArrayFile {
 public:
  GraphSetFile(const Place& place, Set which) : ArrayFile(place), which_(which) {}
  // A word that does not match is dropped here, as in the kernel: close(2) has no error to give.
  ~GraphSetFile() override {
    if (!held() || !written_) return;
    const std::string word = words_.take_rest();
    if (!word.empty()) (void)graph().write_line(which_, word, &*written_);
    graph().close(which_, std::move(*written_));
  }
  uint32_t mode() const override { return kWritable; }
  Result<std::string> read() override { return graph().show(which_); }

  Result<size_t> write(std::string_view bytes) override {
    if (!written_) return user_error(EBADF, "The file is not open for writing.");
    PB_ASSIGN(FilterWords::Taken taken, words_.take(bytes));
    if (!taken.word.empty()) PB_TRY(graph().write_line(which_, taken.word, &*written_));
    return taken.consumed;
  }

 protected:
  Status opened(TraceArray&, uint32_t flags) override {
    if ((flags & O_ACCMODE) != O_RDONLY) written_ = graph().open(which_, (flags & O_TRUNC) != 0);
    return {};
  }

 private:
  GraphControl& graph() const { return place_.tree->context.tracers.graph(); }
  const Set which_;
  FilterWords words_;
  std::optional<FtraceHash> written_;
};

}  // namespace

FilePtr make_set_graph_function(const Place& place) {
  return std::make_unique<GraphSetFile>(place, Set::kFunctions);
}

FilePtr make_set_graph_notrace(const Place& place) {
  return std::make_unique<GraphSetFile>(place, Set::kNotrace);
}

}  // namespace patchbay::tracefs
