// SPDX-License-Identifier: MIT
#include "cmd/common/trace_input.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "attach/process_files.h"
#include "base/text.h"
#include "uprobes/kernel_events.h"

namespace patchbay::cmd {

BufferPages::BufferPages(std::unique_ptr<BufferFile> file, const ClockLine& line)
    : file_(std::move(file)), line_(line), done_(file_->nr_rings(), false) {
  for (uint32_t ring = 0; ring < file_->nr_rings(); ring++)
    last_seq_.push_back(file_->stats(ring).current_seq);
}

bool BufferPages::next_page(size_t index, PageImage* out) {
  if (done_[index] || !file_->next_page(uint32_t(index), true, out)) return false;
  done_[index] = out->seq >= last_seq_[index];
  return true;
}

Result<std::unique_ptr<PageSource>> TraceInput::pages(size_t buffer_index) const {
  if (dat)
    return std::unique_ptr<PageSource>(new TraceDatPages(dat.get(), &dat->buffers()[buffer_index]));
  PB_ASSIGN(auto again, BufferFile::open(source.parts[buffer_index].path, false));
  ClockLine line = fit_clock(buffer->header().clock, buffer->clock_pairs());
  return std::unique_ptr<PageSource>(new BufferPages(std::move(again), line));
}

std::string TraceInput::buffer_name(size_t index) const {
  return dat ? dat->buffers()[index].name : source.parts[index].name;
}

JoinedPages::JoinedPages(std::vector<std::unique_ptr<PageSource>> sources)
    : sources_(std::move(sources)) {
  for (const auto& source : sources_)
    for (size_t i = 0; i < source->nr_cpus(); i++) rings_.push_back({source.get(), i});
}

std::optional<size_t> TraceInput::kernel_buffer() const {
  if (!dat || dat->buffers().size() < 2) return std::nullopt;
  const bool has_kernel =
      std::any_of(dat->events().begin(), dat->events().end(), [](const EventCall& event) {
        return event.id == kKernelPrintId && event.system == "ftrace";
      });
  return has_kernel ? std::optional(dat->buffers().size() - 1) : std::nullopt;
}

Result<std::unique_ptr<PageSource>> TraceInput::top_and_kernel_pages() const {
  const std::optional<size_t> kernel = kernel_buffer();
  std::vector<std::unique_ptr<PageSource>> sources(1);
  PB_ASSIGN(sources[0], pages(0));
  if (!kernel) return std::move(sources[0]);
  PB_ASSIGN(std::unique_ptr<PageSource> its, pages(*kernel));
  sources.push_back(std::move(its));
  return std::unique_ptr<PageSource>(new JoinedPages(std::move(sources)));
}

Result<TraceInput> open_trace_input(const std::string& name) {
  auto files = find_buffer_sources(name);
  if (!files.ok()) return files.error();
  if (files->size() > 1) {
    std::string list;
    for (const BufferSource& source : *files) list += "\n  " + source.top;
    return user_error(EINVAL, name + ": holds several buffer files; name one of them:" + list);
  }
  TraceInput input;
  input.source = std::move(files->front());
  input.path = input.source.parts.front().path;
  UniqueFd fd(::open(input.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return sys_error("open " + input.path, errno);
  uint64_t magic = 0;
  if (::pread(fd.get(), &magic, sizeof magic, 0) == ssize_t(sizeof magic) &&
      magic == abi::kBufferMagic) {
    PB_ASSIGN(auto buffer, BufferFile::open(input.source.top, false));
    input.buffer = std::move(buffer);
    // What an earlier process of this number has left is called otherwise.
    int pid = 0;
    if (to_number(input.source.process(), &pid)) attach::hold_files_of(pid);
    return input;
  }
  PB_ASSIGN(auto dat, TraceDatReader::from_fd(std::move(fd), input.path));
  input.dat = std::move(dat);
  return input;
}

}  // namespace patchbay::cmd
