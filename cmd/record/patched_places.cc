// SPDX-License-Identifier: MIT
#include "cmd/record/patched_places.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <span>

#include "arch/x86_64/decoder.h"
#include "attach/process_maps.h"
#include "attach/tracing.h"
#include "base/unique_fd.h"
#include "cmd/common/commands.h"
#include "cmd/target/running_process.h"
#include "cmd/target/target_program.h"

namespace patchbay::cmd {
namespace {

constexpr uint8_t kBreakpoint = 0xcc;

// The kernel's own breakpoint of another uprobe, which takes several consumers: one byte, or since
// Linux 6.18 a call in place of a nop of five bytes. Of a 32-bit program several instructions are
// looked at, and each may have one.
bool is_uprobe(std::span<const uint8_t> found, const uint8_t* wanted, bool is_32_bit) {
  constexpr uint8_t kNop5[] = {0x0f, 0x1f, 0x44, 0, 0}, kCall = 0xe8;
  if (found.size() == sizeof kNop5 && found[0] == kCall && std::equal(kNop5, kNop5 + 5, wanted))
    return true;
  for (size_t i = 0; i < found.size(); i++) {
    const bool is_breakpoint = found[i] == kBreakpoint && (i == 0 || is_32_bit);
    if (found[i] != wanted[i] && !is_breakpoint) return false;
  }
  return true;
}

// Bytes of the instruction that the kernel would run elsewhere.
size_t length_of(const uint8_t* code, size_t size, bool is_32_bit) {
  constexpr size_t kJump = 5;
  Insn insn;
  if (!is_32_bit && decode_insn(code, size, 0, &insn)) return std::min<size_t>(insn.length, size);
  return std::min(kJump, size);
}

}  // namespace

const std::vector<PatchedPlaces::User>& PatchedPlaces::users(const std::string& file) {
  static const std::vector<User> kNobody;
  struct stat status;
  if (::stat(file.c_str(), &status) != 0) return kNobody;
  const auto [found, is_new] =
      users_.try_emplace({uint64_t(status.st_dev), uint64_t(status.st_ino)});
  if (!is_new) return found->second;
  const uint64_t device = uint64_t{major(status.st_dev)} << 32 | minor(status.st_dev);
  std::error_code error;
  const std::string path = std::filesystem::canonical(file, error).string();
  for (const int pid : running_pids()) {
    const std::vector<attach::MapLine> lines = attach::read_maps(pid);
    const bool has_agent = std::any_of(lines.begin(), lines.end(),
                                       [](const auto& line) { return is_agent_file(line.name); });
    for (const attach::MapLine& line : lines)
      if (line.is_code && line.inode == status.st_ino &&
          (line.device == device || line.name == path))  // some file systems have two numbers
        found->second.push_back({pid, has_agent, line.range.start, line.range.end, line.offset});
  }
  return found->second;
}

Status PatchedPlaces::check(const std::string& file, uint64_t offset, bool is_32_bit,
                            const std::string& what) {
  uint8_t wanted[kMaxInsnLength], found[kMaxInsnLength];
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  const ssize_t got = fd.valid() ? ::pread(fd.get(), wanted, sizeof wanted, off_t(offset)) : -1;
  if (got <= 0) return {};  // the kernel says what is wrong with it
  const size_t length = length_of(wanted, size_t(got), is_32_bit);
  for (const User& user : users(file)) {
    if (offset < user.offset || offset - user.offset >= user.end - user.start) continue;
    const uint64_t address = user.start + (offset - user.offset);
    if (!attach::read_memory(user.pid, address, found, length).ok()) continue;
    if (std::equal(found, found + length, wanted)) continue;
    if (!user.has_agent && is_uprobe({found, length}, wanted, is_32_bit)) continue;
    const std::string pid = std::to_string(user.pid);
    return user_error(
        EBUSY, what + ": process " + pid + " (" + one_line(exe_of(user.pid)) +
                   ") has other code there than its file. A tracer has patched it, and a uprobe "
                   "would break it. " +
                   (user.has_agent ? "The process carries Patchbay's agent: record it with -p " +
                                         pid + ", or take the agent out with patchbay detach."
                                   : "End that tracer first."));
  }
  return {};
}

}  // namespace patchbay::cmd
