// SPDX-License-Identifier: MIT
// For tests: a small trace.dat made by hand, with every kind of event that exporters tell apart.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "export/export_source.h"
#include "output/page_feed.h"
#include "trace_dat/trace_dat_layout.h"
#include "trace_dat/trace_dat_read.h"

namespace patchbay::test {

inline std::string format_text(const std::string& name, int id, const std::string& fields) {
  return "name: " + name + "\nID: " + std::to_string(id) +
         "\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
         "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" +
         fields + "\nprint fmt: \"\"\n";
}
inline std::string field_line(const std::string& declared, int offset, int size, bool is_signed) {
  return "\tfield:" + declared + ";\toffset:" + std::to_string(offset) +
         ";\tsize:" + std::to_string(size) + (is_signed ? ";\tsigned:1;\n" : ";\tsigned:0;\n");
}

enum : uint16_t { kPlain = 600, kEntry, kExit, kStack, kProbe, kReturn, kTexts };

inline std::vector<TraceDatMetadata::Format> export_formats_of_test() {
  const std::string depth = field_line("unsigned long func", 8, 8, false) +
                            field_line("unsigned int depth", 16, 4, false);
  return {
      {"shop", "sold",
       format_text("sold", kPlain,
                   field_line("int price", 8, 4, true) + field_line("u8 kind", 12, 1, false) +
                       field_line("double rate", 16, 8, true) +
                       field_line("u16 list[3]", 24, 6, false))},
      {"ftrace", "funcgraph_entry",
       format_text("funcgraph_entry", kEntry,
                   depth + field_line("unsigned long args[]", 20, 0, false))},
      {"ftrace", "funcgraph_exit",
       format_text("funcgraph_exit", kExit,
                   depth + field_line("unsigned int overrun", 20, 4, false) +
                       field_line("unsigned long long calltime", 24, 8, false) +
                       field_line("unsigned long long rettime", 32, 8, false) +
                       field_line("unsigned long retval", 40, 8, false))},
      {"ftrace", "kernel_stack",
       format_text("kernel_stack", kStack,
                   field_line("int size", 8, 4, true) +
                       field_line("unsigned long caller[8]", 16, 64, false))},
      {"kp", "in",
       format_text(
           "in", kProbe,
           field_line("unsigned long __probe_ip", 8, 8, false) + field_line("s32 n", 16, 4, true))},
      {"kp", "out",
       format_text("out", kReturn,
                   field_line("unsigned long __probe_func", 8, 8, false) +
                       field_line("unsigned long __probe_ret_ip", 16, 8, false))},
      {"functions", "f",
       format_text("f", kTexts,
                   field_line("unsigned long __parent_ip", 8, 8, false) +
                       field_line("unsigned long __ip", 16, 8, false) +
                       field_line("__data_loc char[] s", 24, 4, false) +
                       field_line("char name[4]", 28, 4, false))},
  };
}

// A record: the common header, then bytes.
class Record {
 public:
  Record(uint16_t id, int32_t tid) {
    put(id);
    put(uint16_t{0});
    put(tid);
  }
  template <typename T>
  Record& put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Record& text(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  operator std::string() const { return bytes_; }

 private:
  std::string bytes_;
};

using Events = std::vector<std::pair<uint64_t, std::string>>;  // time, record

// The bytes of a file with one CPU in each of its buffers ("", "i1", …), a page each.
inline std::string make_trace_dat(int version, const std::vector<Events>& buffers,
                                  uint64_t lost = 0,
                                  const std::string& uname = "Linux host 6.12 x86_64") {
  TraceDatMetadata metadata;
  metadata.formats = export_formats_of_test();
  metadata.kallsyms = "0000000000001000 t main\n0000000000002000 t f<g>\n0000000000003000 t leaf\n";
  metadata.cmdlines = "7 shop\n8 \x1b[31m\"\n";
  metadata.process_maps = "7 1 /bin/shop\n1000 4000 /bin/shop\tabcd 1000\n9 0 /bin/shop\t9\n";
  metadata.uname = uname;
  metadata.matches = "lat\tfunctions:f\tshop:sold\tname=price\nlat\tkp:out\n";
  std::vector<TraceDatArea> areas;
  for (size_t i = 0; i < buffers.size(); i++)
    areas.push_back({i ? "i" + std::to_string(i) : "", 4096, {1}, {1}, {}, 0});
  std::string file;
  const auto parts = trace_dat_layout({version, 4096, 1, {}}, metadata, &areas);
  for (size_t i = 0; i < parts.size(); i++) {
    file.resize(parts[i].offset);
    file += parts[i].bytes;
    file.resize((file.size() + 4095) / 4096 * 4096);
    const PageImage page = make_page(buffers[i], lost);
    file.append(reinterpret_cast<const char*>(page.bytes.data()), page.bytes.size());
  }
  return file;
}

// The bytes as an input. False: they are no trace.dat.
inline bool export_input_of(const std::string& bytes, ExportInput* input) {
  UniqueFd fd(::memfd_create("export", MFD_CLOEXEC));
  if (::write(fd.get(), bytes.data(), bytes.size()) != ssize_t(bytes.size())) return false;
  auto reader = TraceDatReader::from_fd(std::move(fd), "memory");
  if (!reader.ok()) return false;
  std::shared_ptr<TraceDatReader> owner = std::move(*reader);
  input->path = "memory";
  input->dat = owner.get();
  for (const TraceDatReader::Buffer& buffer : owner->buffers()) {
    input->names.push_back(buffer.name);
    input->pages.push_back(std::make_unique<TraceDatPages>(owner.get(), &buffer));
  }
  input->owner = std::move(owner);
  return true;
}

// One of each kind, on the threads 7, 8 and 9.
inline Events some_of_each() {
  const auto entry = [](int32_t tid, uint64_t func, uint32_t depth) {
    return Record(kEntry, tid).put(func).put(depth).put(uint64_t{5});
  };
  const auto exit = [](int32_t tid, uint64_t func, uint32_t depth, uint64_t from, uint64_t to) {
    return Record(kExit, tid).put(func).put(depth).put(0u).put(from).put(to).put(uint64_t{3});
  };
  return {
      {1000, Record(kPlain, 7).put(-3).put(2).put(1.5).put(0x20001).put(3)},
      {1001, Record(kStack, 7).put(2).put(0).put(uint64_t{0x2000}).put(uint64_t{0x1010})},
      {1010, entry(7, 0x1000, 0)},
      {1020, entry(7, 0x2000, 1)},
      {1030, exit(7, 0x2000, 1, 1020, 1030)},
      {1040, entry(7, 0x2000, 1)},
      {1050, entry(7, 0x3000, 2)},
      {1060, exit(7, 0x1000, 0, 1010, 1060)},
      {1070, exit(8, 0x3000, 0, 1065, 1070)},
      {1080, entry(8, 0x3000, 0)},
      {1090, Record(kProbe, 9).put(uint64_t{0x2000}).put(11)},
      {1100, Record(kReturn, 9).put(uint64_t{0x2000}).put(uint64_t{0x1010})},
      {1110, Record(kTexts, 8)
                 .put(uint64_t{0x1010})
                 .put(uint64_t{0x2000})
                 .put(uint32_t{32 | 9u << 16})
                 .put(0x6261)
                 .text("<s>\xff\1\"\\\n")
                 .put(0)},
      {1120, Record(kTexts, 8).put(uint64_t{0x1010}).put(uint64_t{0x2000}).put(32u).text("abcd")},
      {1130, Record(999, 8).put(uint64_t{1})},
      {1140, Record(kPlain, 8)},
  };
}

}  // namespace patchbay::test
