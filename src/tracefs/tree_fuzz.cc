// SPDX-License-Identifier: MIT
// Walks the tree and writes foreign bytes to whatever can be written, reads what can be read, makes
// and removes instances, in the order that the input says. Nothing may crash or hang, and no answer
// may take more than was given.
#include <cstdint>
#include <cstdlib>

#include "tracefs/control_tree_fixture.h"

namespace patchbay::tracefs {
namespace {

constexpr size_t kMostOperations = 24;
constexpr size_t kMostRead = 1 << 18;

// The input as a stream of choices.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  uint32_t below(uint32_t limit) {
    uint32_t value = 0;
    for (int i = 0; i < 2 && size_ > 0; i++, size_--) value = value << 8 | *data_++;
    return limit == 0 ? 0 : value % limit;
  }
  std::string bytes(size_t most) {
    size_t wanted = below(4097);  // takes from the input itself
    size_t count = std::min({size_, most, wanted});
    std::string taken(reinterpret_cast<const char*>(data_), count);
    data_ += count;
    size_ -= count;
    return taken;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

void collect(Directory& directory, const std::string& prefix, std::vector<std::string>* files) {
  for (const std::string& name : directory.list()) {
    if (!name.ends_with("/")) {
      files->push_back(prefix + name);
      continue;
    }
    std::unique_ptr<Directory> below = directory.directory(name.substr(0, name.size() - 1));
    if (!below) std::abort();
    collect(*below, prefix + name, files);
  }
}

std::string junk(Choices& choices) {
  static constexpr size_t kSizes[] = {0, 1, 63, 64, 4095, 4096, 1 << 20};
  switch (choices.below(4)) {
    case 0:
      return std::string(kSizes[choices.below(std::size(kSizes))], char(choices.below(256)));
    case 1:
      return std::to_string(int(choices.below(300)) - 2) + (choices.below(2) ? "\n" : "");
    default:
      return choices.bytes(4096);
  }
}

void read_some(File& file, Choices& choices) {
  ReadMode mode = choices.below(4) == 0 ? ReadMode::kWholePage : ReadMode::kAny;
  for (size_t total = 0; total < kMostRead;) {
    size_t size = choices.below(2) ? 4096 : 1 + choices.below(5000);
    Result<std::string> part = file.read_next(size, mode);
    if (!part.ok() || part->empty()) return;
    if (part->size() > size) std::abort();
    total += part->size();
  }
}

void use_file(File& file, uint32_t flags, Choices& choices) {
  if ((flags & O_ACCMODE) != O_RDONLY) {
    std::string bytes = junk(choices);
    Result<size_t> taken = file.write_as(bytes, Caller{choices.below(3)});
    if (taken.ok() && *taken > bytes.size()) std::abort();
  }
  if ((flags & O_ACCMODE) != O_WRONLY) read_some(file, choices);
  (void)file.readable();
  (void)file.ioctl(choices.below(3));
  (void)file.flush();
}

void run(ControlTree& tree, Choices& choices) {
  std::vector<std::unique_ptr<File>> open;
  std::vector<std::string> files;
  collect(*tree.root, "", &files);
  for (size_t i = 0; i < kMostOperations && !choices.empty(); i++) {
    uint32_t what = choices.below(16);
    std::string name = "instances/" + std::to_string(choices.below(3));
    if (what == 0) (void)tree.mkdir(name);
    if (what == 1) (void)tree.rmdir(name);
    if (what == 2) {
      files.clear();
      collect(*tree.root, "", &files);
    }
    if (what == 3 && !open.empty()) open.erase(open.begin() + choices.below(uint32_t(open.size())));
    if (what < 4) continue;
    const std::string& path = files[choices.below(uint32_t(files.size()))];
    uint32_t flags = choices.below(3) | (choices.below(2) ? O_TRUNC : 0);
    std::unique_ptr<File> file = tree.open(path, flags);
    if (!file) continue;
    use_file(*file, flags, choices);
    if (choices.below(2)) open.push_back(std::move(file));
  }
}

}  // namespace
}  // namespace patchbay::tracefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace patchbay::tracefs;
  ControlTree tree(true);
  tree.add_event("sched", "sched_switch");
  tree.add_event("irq", "irq_handler_entry");
  Choices choices(data, size);
  run(tree, choices);
  return 0;
}
