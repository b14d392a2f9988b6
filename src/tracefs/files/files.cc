// SPDX-License-Identifier: MIT
#include "tracefs/files/files.h"

#include "registry/snapshots.h"

#include <cerrno>

namespace patchbay::tracefs {
namespace {

class TextFile : public ArrayFile {
 public:
  TextFile(const Place& place, ShowArray show) : ArrayFile(place), show_(show) {}
  uint32_t mode() const override { return kReadable; }
  Result<std::string> read() override {
    PB_ASSIGN(auto found, array());
    return show_(*found, place_);
  }

 private:
  const ShowArray show_;
};

class ValueFile : public TextFile {
 public:
  ValueFile(const Place& place, ShowArray show, WriteArray write)
      : TextFile(place, show), write_(write) {}
  uint32_t mode() const override { return kWritable; }
  Result<size_t> write(std::string_view bytes) override {
    PB_ASSIGN(auto found, array());
    PB_TRY(write_(*found, place_, bytes));
    return bytes.size();
  }

 private:
  const WriteArray write_;
};

class EventTextFile : public File {
 public:
  EventTextFile(const Place& place, ShowEvent show) : place_(place), show_(show) {}
  uint32_t mode() const override { return kReadable; }
  Result<std::string> read() override {
    PB_ASSIGN(auto array, place_.find_array());
    PB_ASSIGN(auto event, place_.find_event(*array));
    return show_(*array, *event, place_);
  }

 private:
  const Place place_;
  const ShowEvent show_;
};

class EventValueFile : public ArrayFile {
 public:
  EventValueFile(const Place& place, ShowEvent show, WriteEvent write)
      : ArrayFile(place), show_(show), write_(write) {}
  uint32_t mode() const override { return kWritable; }
  Result<std::string> read() override {
    PB_ASSIGN(auto found, array());
    PB_ASSIGN(auto event, place_.find_event(*found));
    return show_(*found, *event, place_);
  }
  Result<size_t> write(std::string_view bytes) override {
    PB_ASSIGN(auto found, array());
    PB_ASSIGN(auto event, place_.find_event(*found));
    PB_TRY(write_(*found, *event, place_, bytes));
    return bytes.size();
  }

 private:
  const ShowEvent show_;
  const WriteEvent write_;
};

}  // namespace

ArrayFile::~ArrayFile() {
  if (held_) drop_user(&held_->references);
}

Status ArrayFile::open(uint32_t flags) {
  PB_ASSIGN(auto found, place_.find_array());
  registry().snapshots().take_cut(*found);
  PB_TRY(opened(*found, flags));
  held_ = found;
  held_->references++;
  return {};
}

Status ArrayFile::opened(TraceArray&, uint32_t) { return {}; }

Result<TraceArray*> ArrayFile::array() const {
  if (held_) return held_;
  return place_.find_array();
}

FilePtr make_text_file(const Place& place, ShowArray show) {
  return std::make_unique<TextFile>(place, show);
}

FilePtr make_value_file(const Place& place, ShowArray show, WriteArray write) {
  return std::make_unique<ValueFile>(place, show, write);
}

FilePtr make_event_text_file(const Place& place, ShowEvent show) {
  return std::make_unique<EventTextFile>(place, show);
}

FilePtr make_event_value_file(const Place& place, ShowEvent show, WriteEvent write) {
  return std::make_unique<EventValueFile>(place, show, write);
}

}  // namespace patchbay::tracefs
