// SPDX-License-Identifier: MIT
// The order of the parts is docs/trace_dat.md's. Offsets of the pages stand in front of them, so
// the layout is made twice: once for its length, once with the right numbers.
#include "trace_dat/trace_dat_layout.h"

#include <algorithm>
#include <map>

#include "abi/match_abi.h"
#include "abi/trace_dat_abi.h"
#include "base/check.h"

namespace patchbay {

namespace {

template <typename T>
void put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}
void put_text(std::string* out, std::string_view text) {  // with its NUL
  out->append(text);
  out->push_back('\0');
}
template <typename Length>
void put_sized(std::string* out, std::string_view text) {
  put(out, Length(text.size()));
  out->append(text);
}

std::string header_info(uint32_t page_size) {
  std::string out;
  put_text(&out, "header_page");
  put_sized<uint64_t>(&out, header_page_text(page_size));
  put_text(&out, "header_event");
  put_sized<uint64_t>(&out, header_event_text());
  return out;
}

std::string event_formats(const TraceDatMetadata& metadata) {
  std::map<std::string, std::vector<const TraceDatMetadata::Format*>> systems;
  for (const auto& format : metadata.formats) systems[format.system].push_back(&format);
  std::string out;
  put(&out, uint32_t(systems.size()));
  for (const auto& [system, formats] : systems) {
    put_text(&out, system);
    put(&out, uint32_t(formats.size()));
    for (const auto* format : formats) put_sized<uint64_t>(&out, format->text);
  }
  return out;
}

std::string clock_list(const TraceDatMetadata& metadata) {
  return metadata.tsc ? "[x86-tsc]" : "[mono]";
}

void put_option(std::string* out, uint16_t id, std::string_view body) {
  put(out, id);
  put_sized<uint32_t>(out, body);
}

// The options that mean the same in both versions.
std::string common_options(const TraceDatMetadata& metadata, size_t cpus) {
  std::string out, body;
  if (metadata.tsc) {
    put(&body, metadata.clock_line.mult);
    put(&body, metadata.clock_line.shift);
    put(&body, uint64_t{0});
    put_option(&out, abi::kDatTsc2Nsec, body);
    std::string offset = std::to_string(int64_t(metadata.clock_line.ns0));
    put_option(&out, abi::kDatOffset, std::string_view(offset.c_str(), offset.size() + 1));
  }
  std::string clock = clock_list(metadata);
  put_option(&out, abi::kDatTraceClock, std::string_view(clock.c_str(), clock.size() + 1));
  if (!metadata.uname.empty())
    put_option(&out, abi::kDatUname,
               std::string_view(metadata.uname.c_str(), metadata.uname.size() + 1));
  if (!metadata.matches.empty())
    put_option(&out, abi::kDatMatches,
               std::string_view(metadata.matches.c_str(), metadata.matches.size() + 1));
  if (!metadata.boot.empty())
    put_option(&out, abi::kDatBoot,
               std::string_view(metadata.boot.c_str(), metadata.boot.size() + 1));
  if (!metadata.images.empty())
    put_option(&out, abi::kDatImages,
               std::string_view(metadata.images.c_str(), metadata.images.size() + 1));
  if (!metadata.process_maps.empty())
    put_option(&out, abi::kDatProcMaps,
               std::string_view(metadata.process_maps.c_str(), metadata.process_maps.size() + 1));
  for (size_t cpu = 0; cpu < std::min(cpus, metadata.cpu_stats.size()); cpu++) {
    std::string stats = "CPU: " + std::to_string(cpu) + "\n" + metadata.cpu_stats[cpu];
    put_option(&out, abi::kDatCpuStat, std::string_view(stats.c_str(), stats.size() + 1));
  }
  if (metadata.trace_id) {
    body.clear();
    put(&body, metadata.trace_id);
    put_option(&out, abi::kDatTraceId, body);
  }
  body.clear();
  put(&body, uint32_t(cpus));
  put_option(&out, abi::kDatCpuCount, body);
  return out;
}

void put_start(std::string* out, const TraceDatOptions& options) {
  out->append(abi::kTraceDatMagic, abi::kTraceDatMagicSize);
  put_text(out, std::to_string(options.version));
  put(out, uint8_t{0});
  put(out, uint8_t{8});
  put(out, options.page_size);
}

// Version 6: the table of a buffer's CPUs, in front of its pages.
std::string cpu_table_v6(const TraceDatMetadata& metadata, const TraceDatArea& area) {
  std::string out("flyrecord\0", 10);
  for (size_t cpu = 0; cpu < area.present.size(); cpu++) {
    put(&out, area.offsets[cpu]);
    put(&out, area.present[cpu] * area.page_size);
  }
  put_sized<uint64_t>(&out, clock_list(metadata));
  return out;
}

std::string layout_v6(const TraceDatOptions& options, const TraceDatMetadata& metadata,
                      const std::vector<TraceDatArea>& areas) {
  size_t cpus = areas[0].present.size();
  std::string out;
  put_start(&out, options);
  out += header_info(options.page_size);
  put(&out, uint32_t{0});  // ftrace formats
  out += event_formats(metadata);
  put_sized<uint32_t>(&out, metadata.kallsyms);
  put_sized<uint32_t>(&out, metadata.printk_formats);
  put_sized<uint64_t>(&out, metadata.cmdlines);
  put(&out, uint32_t(cpus));
  out.append("options  \0", 10);
  out += common_options(metadata, cpus);
  for (size_t i = 1; i < areas.size(); i++) {
    std::string body;
    put(&body, areas[i].section);
    put_text(&body, areas[i].name);
    put_option(&out, abi::kDatBuffer, body);
  }
  put(&out, uint16_t{abi::kDatOptionDone});
  return out + cpu_table_v6(metadata, areas[0]);
}

// Sections of version 7, each with an option that points to it.
class SectionList {
 public:
  explicit SectionList(std::string* out) : out_(out) {}
  void add(uint16_t id, std::string_view description, std::string_view body) {
    put(&options_, id);
    put(&options_, uint32_t{8});
    put(&options_, uint64_t(out_->size()));
    put_header(id, description, body.size());
    out_->append(body);
  }
  void put_header(uint16_t id, std::string_view description, uint64_t size) {
    put(out_, abi::DatSectionHeader{id, 0, uint32_t(strings_.size()), size});
    put_text(&strings_, description);
  }
  void add_strings() {  // last: its own description is in it
    put(&options_, uint16_t{abi::kDatStrings});
    put(&options_, uint32_t{8});
    put(&options_, uint64_t(out_->size()));
    abi::DatSectionHeader header{abi::kDatStrings, 0, uint32_t(strings_.size()), 0};
    put_text(&strings_, "strings");
    header.size = strings_.size();
    put(out_, header);
    *out_ += strings_;
  }
  const std::string& options() const { return options_; }

 private:
  std::string* out_;
  std::string options_, strings_;
};

std::string buffer_option(const TraceDatMetadata& metadata, const TraceDatArea& area) {
  std::string body;
  put(&body, area.section);
  put_text(&body, area.name);
  put_text(&body, metadata.tsc ? "x86-tsc" : "mono");
  put(&body, area.page_size);
  put(&body, uint32_t(area.present.size()));
  for (size_t cpu = 0; cpu < area.present.size(); cpu++) {
    put(&body, uint32_t(cpu));
    put(&body, area.offsets[cpu]);
    put(&body, area.present[cpu] * area.page_size);
  }
  return body;
}

// Version 7: the section whose body ends with the buffer's last page.
std::string buffer_section(const TraceDatArea& area) {
  uint64_t body = area.section + sizeof(abi::DatSectionHeader), end = body;
  for (size_t cpu = 0; cpu < area.present.size(); cpu++) {
    if (area.present[cpu])
      end = std::max(end, area.offsets[cpu] + area.present[cpu] * area.page_size);
  }
  std::string out;
  put(&out, abi::DatSectionHeader{abi::kDatBuffer, 0, 0, end - body});
  return out;
}

std::string layout_v7(const TraceDatOptions& options, const TraceDatMetadata& metadata,
                      const std::vector<TraceDatArea>& areas) {
  std::string out;
  put_start(&out, options);
  put_text(&out, "none");
  put_text(&out, "");
  size_t options_at = out.size();
  put(&out, uint64_t{0});
  SectionList sections(&out);
  sections.add(abi::kDatHeaderInfo, "headers", header_info(options.page_size));
  sections.add(abi::kDatFtraceFormats, "ftrace events", std::string(4, '\0'));
  sections.add(abi::kDatEventFormats, "events", event_formats(metadata));
  std::string body;
  put_sized<uint32_t>(&body, metadata.kallsyms);
  sections.add(abi::kDatKallsyms, "functions by address", body);
  body.clear();
  put_sized<uint32_t>(&body, metadata.printk_formats);
  sections.add(abi::kDatPrintk, "printk formats", body);
  body.clear();
  put_sized<uint64_t>(&body, metadata.cmdlines);
  sections.add(abi::kDatCmdlines, "command lines", body);
  sections.add_strings();
  // The options section, then the first buffer section.
  std::string list = sections.options() + common_options(metadata, areas[0].present.size());
  for (const TraceDatArea& area : areas)
    put_option(&list, abi::kDatBuffer, buffer_option(metadata, area));
  put_option(&list, abi::kDatOptionDone, std::string(8, '\0'));
  uint64_t options_section = out.size();
  out.replace(options_at, 8, reinterpret_cast<const char*>(&options_section), 8);
  put(&out, abi::DatSectionHeader{abi::kDatOptionDone, 0, 0, list.size()});
  return out + list + buffer_section(areas[0]);
}

uint64_t round_up(uint64_t at, uint64_t unit) { return (at + unit - 1) / unit * unit; }

// Gives the area's pages their places behind a part of `part_size` bytes at `section`; returns
// where they end.
uint64_t place_area(uint64_t section, uint64_t part_size, TraceDatArea* area) {
  area->section = section;
  uint64_t at = round_up(section + part_size, area->page_size);
  for (size_t cpu = 0; cpu < area->reserved.size(); cpu++) {
    area->offsets[cpu] = at;
    at += area->reserved[cpu] * area->page_size;
  }
  return at;
}

}  // namespace

std::string header_page_text(uint32_t page_size) {
  return "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
         "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
         "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
         "\tfield: char data;\toffset:16;\tsize:" +
         std::to_string(page_size - abi::kPageHeaderSize) + ";\tsigned:0;\n";
}

std::string header_event_text() {
  return "# compressed entry header\n"
         "\ttype_len    :    5 bits\n"
         "\ttime_delta  :   27 bits\n"
         "\tarray       :   32 bits\n\n"
         "\tpadding     : type == 29\n"
         "\ttime_extend : type == 30\n"
         "\ttime_stamp : type == 31\n"
         "\tdata max type_len  == 28\n";
}

std::string trace_dat_lead(const TraceDatOptions& options, const TraceDatMetadata& metadata,
                           const TraceDatArea& area) {
  return options.version == 6 ? cpu_table_v6(metadata, area) : buffer_section(area);
}

std::string trace_dat_head(const TraceDatOptions& options, const TraceDatMetadata& metadata,
                           std::vector<TraceDatArea>* areas) {
  const auto head = [&] {
    return options.version == 6 ? layout_v6(options, metadata, *areas)
                                : layout_v7(options, metadata, *areas);
  };
  // The section of the first buffer is its end. Its place does not change its length.
  areas->front().section =
      head().size() - (options.version == 6 ? 0 : sizeof(abi::DatSectionHeader));
  return head();
}

std::vector<TraceDatPart> trace_dat_layout(const TraceDatOptions& options,
                                           const TraceDatMetadata& metadata,
                                           std::vector<TraceDatArea>* areas) {
  bool is_v6 = options.version == 6;
  auto head = [&] {
    return is_v6 ? layout_v6(options, metadata, *areas) : layout_v7(options, metadata, *areas);
  };
  auto lead = [&](const TraceDatArea& area) {
    return is_v6 ? cpu_table_v6(metadata, area) : buffer_section(area);
  };
  for (TraceDatArea& area : *areas) area.offsets.assign(area.reserved.size(), 0);
  uint64_t first_lead = is_v6 ? 0 : sizeof(abi::DatSectionHeader);
  uint64_t at = place_area(head().size() - first_lead, first_lead, &areas->front());
  for (size_t i = 1; i < areas->size(); i++)
    at = place_area(at, lead((*areas)[i]).size(), &(*areas)[i]);
  std::vector<TraceDatPart> parts{{0, head()}};
  for (size_t i = 1; i < areas->size(); i++)
    parts.push_back({(*areas)[i].section, lead((*areas)[i])});
  // The places were computed before the parts were written with them in.
  for (size_t i = 0; i < parts.size(); i++)
    if (!(*areas)[i].offsets.empty())
      PB_CHECK_VALUES(parts[i].offset + parts[i].bytes.size() <= (*areas)[i].offsets.front(),
                      parts[i].bytes.size(), (*areas)[i].offsets.front());
  return parts;
}

}  // namespace patchbay
