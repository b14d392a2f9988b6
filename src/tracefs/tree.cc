// SPDX-License-Identifier: MIT
#include "tracefs/tree.h"

#include <algorithm>
#include <cerrno>

namespace patchbay::tracefs {
namespace {

// The next component of `path`, which loses it and the slashes around it.
std::string_view take_component(std::string_view& path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  std::string_view component = path.substr(0, path.find('/'));
  path.remove_prefix(component.size());
  return component;
}

// The root as an object that a caller may own.
class RootView : public Directory {
 public:
  explicit RootView(Directory& root) : root_(root) {}
  uint32_t mode() const override { return root_.mode(); }
  std::vector<std::string> list() override { return root_.list(); }
  std::unique_ptr<File> file(std::string_view name) override { return root_.file(name); }
  std::unique_ptr<Directory> directory(std::string_view name) override {
    return root_.directory(name);
  }
  Status make_directory(std::string_view name) override { return root_.make_directory(name); }
  Status remove_directory(std::string_view name) override { return root_.remove_directory(name); }

 private:
  Directory& root_;
};

Error not_there(std::string_view path) {
  return user_error(ENOENT,
                    "There is no file '" + std::string(path) + "' in the tracefs of this process.");
}

}  // namespace

Result<std::string> File::read_next(size_t size, ReadMode) {
  if (!text_) {
    PB_ASSIGN(std::string text, read());
    text_ = std::move(text);
  }
  std::string part = text_->substr(position_, size);
  position_ += part.size();
  return part;
}

Result<Node> lookup(Directory& root, std::string_view path) {
  Node node;
  Directory* here = &root;
  bool at_root = true;
  for (std::string_view rest = path;;) {
    std::string_view name = take_component(rest);
    if (name.empty()) break;
    if (name == ".") continue;
    if (name == "..")
      return user_error(EINVAL, "A path below the tracefs root cannot contain '..'.");
    // An event may be called as a file beside it: enable.
    if (node.file && !node.directory)
      return user_error(ENOTDIR, "'" + std::string(path) + "' goes through a file.");
    Node next{here->file(name), here->directory(name)};
    if (!next.file && !next.directory) return not_there(path);
    node = std::move(next);
    here = node.directory.get();
    at_root = false;
  }
  if (node.file && !path.empty() && path.back() == '/') {
    node.file.reset();
    if (!node.directory)
      return user_error(ENOTDIR, "'" + std::string(path) + "' is a file, not a directory.");
  }
  // The caller owns what it gets; the root itself it has already.
  if (at_root) node.directory = std::make_unique<RootView>(root);
  return node;
}

}  // namespace patchbay::tracefs
