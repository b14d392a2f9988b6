// SPDX-License-Identifier: MIT
//
// Who is in a recording of several programs. An image is a process between two execs, with the
// children that it has forked: they share its program, its rings and its names. A merged trace.dat
// lists them in the option kDatImages (abi/trace_dat_abi.h has its lines).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace patchbay {

struct ImageCounts {  // of one CPU
  uint64_t entries = 0, overrun = 0, dropped = 0;
};

struct ImageThread {
  int32_t tid = 0, process = 0;        // the process that it belongs to: the image or a child
  uint64_t first_ns = 0, last_ns = 0;  // of its events, on the recording's clock
  uint64_t events = 0;                 // without those of the kernel
  std::string comm;                    // "": not known
};

// What is at these addresses in one image; an empty name: no function is known there.
struct ImageName {
  uint64_t start = 0, end = 0;
  std::string name;
  bool operator==(const ImageName&) const = default;
};

struct ProcessImage {
  int32_t pid = 0, parent = 0;        // 0: not known
  int32_t inside = 0;                 // its number in a pid namespace of its own; 0: it has none
  uint64_t begin_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC; 0: not known
  std::string exe;
  std::vector<std::string> words;  // the command line
  std::string note;
  std::vector<ImageCounts> cpus;  // by CPU
  std::string process_maps;       // lines as in option PROCMAPS
  std::vector<ImageThread> threads;
  std::vector<ImageName> names;  // where kallsyms has another name; ascending

  uint64_t events() const;
  ImageCounts counts() const;   // of all CPUs
  std::string command() const;  // the words, or the program, or "pid 12"
};

struct NotFollowed {
  int32_t pid = 0;
  uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  std::string path, reason;
  // Of an exec in a recording that is being made; a file has it as an event.
  int32_t cpu = -1;   // -1: no event is made of it
  std::string comm;   // "": not known
  uint32_t part = 0;  // which of the parts the process belonged to
};

struct ProcessImages {
  std::vector<ProcessImage> images;
  std::vector<NotFollowed> not_followed;

  bool empty() const { return images.empty() && not_followed.empty(); }
  std::string text() const;
  // Lines that are not such are skipped.
  static ProcessImages parse(std::string_view untrusted_text);
};

// The image that a thread was in at a time. A thread id may be in several: after an exec, or when
// it was given out again.
class ImageFinder {
 public:
  ImageFinder() = default;
  explicit ImageFinder(const std::vector<ProcessImage>& images);
  static constexpr uint32_t kNone = ~uint32_t{0};
  // Index of the image; kNone where nothing is known of the thread.
  uint32_t find(int32_t tid, uint64_t ns);
  // And the thread in it; null: none. It lives as long as the images.
  const ImageThread* thread(int32_t tid, uint64_t ns);

 private:
  struct Span {
    uint64_t from_ns;
    uint32_t image;
    const ImageThread* thread;
  };
  const Span* span(int32_t tid, uint64_t ns);
  std::unordered_map<int32_t, std::vector<Span>> spans_;
  // The last answer and when it holds.
  const Span* last_ = nullptr;
  int32_t last_tid_ = -1;
  uint64_t last_from_ = 1, last_until_ = 0;
};

}  // namespace patchbay
