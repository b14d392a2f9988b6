// SPDX-License-Identifier: MIT
//
// Requests of a hostile client: the decoder, the rules of each call, handles, and directories that
// come and go under open files. The tree is a small one that keeps what it is told, so that a run
// costs little and a finding is about the protocol; the whole tree has a fuzzer of its own.
//
// Input: messages, each behind a byte that says how long it is (in units of 2) or, when it is 255,
// that a new client begins.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "serve/session.h"

namespace patchbay {
namespace {

struct World {
  std::string text;
  std::set<std::string> instances;
  int open_files = 0;
};

class File : public tracefs::File {
 public:
  explicit File(World& world) : world_(world) { world_.open_files++; }
  ~File() override { world_.open_files--; }
  uint32_t mode() const override { return 0640; }
  Status open(uint32_t flags) override {
    if (flags & O_TRUNC) world_.text.clear();
    return {};
  }
  Result<std::string> read_next(size_t size, tracefs::ReadMode mode) override {
    if (mode == tracefs::ReadMode::kWholePage && world_.text.size() < size)
      return sys_error("read", EAGAIN);
    std::string part = world_.text.substr(0, size);
    world_.text.erase(0, part.size());
    return part;
  }
  Result<size_t> write_as(std::string_view bytes, const tracefs::Caller& caller) override {
    if (bytes.find('!') != bytes.npos) return user_error(EINVAL, "An exclamation mark.");
    size_t taken = std::min(bytes.size(), bytes.find(' ') + 1 ? bytes.find(' ') + 1 : bytes.size());
    if (world_.text.size() < 4096) world_.text += bytes.substr(0, taken);
    return caller.tid == 77 ? 0 : taken;
  }
  Status flush() override {
    return world_.text == "bad" ? Status(user_error(EIO, "Flushed badly.")) : Status();
  }
  bool readable() override { return !world_.text.empty(); }
  Status ioctl(uint32_t command) override {
    return command == 0 ? Status() : tracefs::File::ioctl(command);
  }

 private:
  World& world_;
};

class Directory : public tracefs::Directory {
 public:
  Directory(World& world, int depth) : world_(world), depth_(depth) {}
  std::vector<std::string> list() override {
    std::vector<std::string> names{"t"};
    if (depth_ == 0) names.push_back("i/");
    if (depth_ == 1)
      for (const std::string& name : world_.instances) names.push_back(name + "/");
    return names;
  }
  std::unique_ptr<tracefs::File> file(std::string_view name) override {
    return name == "t" ? std::make_unique<File>(world_) : nullptr;
  }
  std::unique_ptr<tracefs::Directory> directory(std::string_view name) override {
    bool is_there =
        (depth_ == 0 && name == "i") || (depth_ == 1 && world_.instances.count(std::string(name)));
    return is_there ? std::make_unique<Directory>(world_, depth_ + 1) : nullptr;
  }
  Status make_directory(std::string_view name) override {
    if (depth_ != 1) return tracefs::Directory::make_directory(name);
    PB_CHECK(!name.empty() && name.find('/') == name.npos && name.find('\0') == name.npos);
    if (world_.instances.size() > 16) return user_error(ENOMEM, "Too many.");
    return world_.instances.insert(std::string(name)).second
               ? Status()
               : Status(user_error(EEXIST, "It is there."));
  }
  Status remove_directory(std::string_view name) override {
    if (depth_ != 1) return tracefs::Directory::remove_directory(name);
    return world_.instances.erase(std::string(name)) ? Status()
                                                     : Status(user_error(ENOENT, "It is not."));
  }

 private:
  World& world_;
  int depth_;
};

void run(std::string_view input) {
  World world;
  Directory root(world, 0);
  serve::SessionHooks hooks;
  hooks.exe = "/bin/fuzz";
  auto session = std::make_unique<serve::Session>(root, hooks);
  while (!input.empty()) {
    size_t length = static_cast<unsigned char>(input[0]);
    input.remove_prefix(1);
    if (length == 255) {
      session = std::make_unique<serve::Session>(root, hooks);
      PB_CHECK(world.open_files == 0);
      continue;
    }
    std::string_view message = input.substr(0, length * 2);
    input.remove_prefix(message.size());
    serve::SessionReply reply = session->handle(message);
    PB_CHECK(reply.message.size() <= serve::kMaxMessage);
    PB_CHECK(reply.message.empty() || reply.message.size() >= sizeof(serve::Reply));
    PB_CHECK(size_t(world.open_files) <= serve::kMaxHandles);
  }
  session.reset();
  PB_CHECK(world.open_files == 0);
}

}  // namespace
}  // namespace patchbay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  patchbay::run(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
