// SPDX-License-Identifier: MIT
#include "tracefs/files/files.h"

#include <cerrno>

namespace patchbay::tracefs {
namespace {

class TextFile : public File {
 public:
  explicit TextFile(std::function<Result<std::string>()> text) : text_(std::move(text)) {}
  uint32_t mode() const override { return kReadable; }
  Result<std::string> read() override { return text_(); }

 private:
  std::function<Result<std::string>()> text_;
};

class ValueFile : public TextFile {
 public:
  ValueFile(std::function<Result<std::string>()> text,
            std::function<Status(std::string_view)> write)
      : TextFile(std::move(text)), write_(std::move(write)) {}
  uint32_t mode() const override { return kWritable; }
  Result<size_t> write(std::string_view bytes) override {
    PB_TRY(write_(bytes));
    return bytes.size();
  }

 private:
  std::function<Status(std::string_view)> write_;
};

}  // namespace

FilePtr make_text_file(std::function<Result<std::string>()> text) {
  return std::make_unique<TextFile>(std::move(text));
}

FilePtr make_value_file(std::function<Result<std::string>()> text,
                        std::function<Status(std::string_view)> write) {
  return std::make_unique<ValueFile>(std::move(text), std::move(write));
}

Error event_is_gone(std::string_view event) {
  return user_error(ENODEV, "The event functions:" + std::string(event) + " has been removed.");
}

}  // namespace patchbay::tracefs
