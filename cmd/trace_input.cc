// SPDX-License-Identifier: MIT
#include "trace_input.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace patchbay::cmd {

BufferPages::BufferPages(std::unique_ptr<BufferFile> file)
    : file_(std::move(file)), done_(file_->nr_rings(), false) {
  line_ = fit_clock(file_->header().clock, file_->clock_pairs());
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
  auto again = BufferFile::open(path, false);
  if (!again.ok()) return again.error();
  return std::unique_ptr<PageSource>(new BufferPages(std::move(*again)));
}

Result<std::vector<std::string>> find_buffer_files(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return sys_error("open " + path, errno);
  if (!S_ISDIR(status.st_mode)) return std::vector<std::string>{path};
  std::string inside = path + "/buffer";
  if (::stat(inside.c_str(), &status) == 0) return std::vector<std::string>{inside};
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(path, error), end; !error && at != end;
       at.increment(error)) {
    std::string file = at->path().string() + "/buffer";
    if (::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode)) found.push_back(file);
  }
  if (error) return sys_error("read " + path, error.value());
  std::sort(found.begin(), found.end());
  if (found.empty())
    return user_error(
        ENOENT, path + ": no buffer file in this directory (looked for buffer and PID/buffer).");
  return found;
}

Result<TraceInput> open_trace_input(const std::string& name) {
  auto files = find_buffer_files(name);
  if (!files.ok()) return files.error();
  if (files->size() > 1) {
    std::string list;
    for (const std::string& file : *files) list += "\n  " + file;
    return user_error(EINVAL, name + ": holds several buffer files; name one of them:" + list);
  }
  TraceInput input;
  input.path = files->front();
  UniqueFd fd(::open(input.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return sys_error("open " + input.path, errno);
  uint64_t magic = 0;
  if (::pread(fd.get(), &magic, sizeof magic, 0) == ssize_t(sizeof magic) &&
      magic == abi::kBufferMagic) {
    auto buffer = BufferFile::open(input.path, false);
    if (!buffer.ok()) return buffer.error();
    input.buffer = std::move(*buffer);
    return input;
  }
  auto dat = TraceDatReader::from_fd(std::move(fd), input.path);
  if (!dat.ok()) return dat.error();
  input.dat = std::move(*dat);
  return input;
}

}  // namespace patchbay::cmd
