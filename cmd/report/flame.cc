// SPDX-License-Identifier: MIT
#include "cmd/report/flame.h"

#include <algorithm>
#include <cstdio>

#include "cmd/report/flame_script.h"
#include "cmd/report/graph_source.h"

namespace patchbay::cmd {
namespace {

constexpr uint32_t kRowHeight = 17, kHead = 52, kFoot = 30, kMargin = 10;
constexpr double kLeastPixels = 0.1;     // narrower frames are left out
constexpr double kCharacterWidth = 7.0;  // of the 12 px font, about

std::string escape_xml(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// The first characters that fit into `pixels`, with ".." for the rest; "" when none do.
std::string fitted(const std::string& name, double pixels) {
  size_t room = size_t(std::max(0.0, (pixels - 6) / kCharacterWidth));
  if (name.size() <= room) return name;
  if (room < 4) return "";
  size_t end = room - 2;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) end--;
  return name.substr(0, end) + "..";
}

// Warm and always the same for a name.
std::string color_of(std::string_view name) {
  uint32_t hash = 2166136261u;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  char text[32];
  std::snprintf(text, sizeof text, "rgb(%u,%u,%u)", 205 + hash % 50, 90 + (hash >> 8) % 130,
                30 + (hash >> 20) % 50);
  return text;
}

std::string with_commas(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string amount(const FlameStacks& stacks, uint64_t weight) {
  if (!stacks.in_ns) return with_commas(weight) + (weight == 1 ? " sample" : " samples");
  std::string text = time_text(weight);
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string title_of(const FlameStacks& stacks, const FlameFrame& frame) {
  char percent[24];
  std::snprintf(percent, sizeof percent, "%.2f%%",
                100.0 * double(frame.weight) / double(stacks.frames[0].weight));
  std::string calls = frame.calls != 0 && stacks.in_ns
                          ? with_commas(frame.calls) + (frame.calls == 1 ? " call, " : " calls, ")
                          : "";
  return frame.name + " (" + calls + amount(stacks, frame.weight) + ", " + percent + ")";
}

struct PlacedFrame {
  uint32_t index, level;
  uint64_t start;  // weight to the left of it
};

// Frames that are wide enough to be seen, parents first, children by name as folded stacks are.
std::vector<PlacedFrame> place_frames(const FlameStacks& stacks, double pixels_of_one) {
  std::vector<PlacedFrame> placed, left{{0, 0, 0}};
  while (!left.empty()) {
    PlacedFrame frame = left.back();
    left.pop_back();
    placed.push_back(frame);
    std::vector<uint32_t> children = stacks.frames[frame.index].children;
    std::sort(children.begin(), children.end(), [&](uint32_t a, uint32_t b) {
      return stacks.frames[a].name < stacks.frames[b].name;
    });
    uint64_t start = frame.start;
    for (uint32_t child : children) {
      uint64_t weight = stacks.frames[child].weight;
      if (double(weight) * pixels_of_one >= kLeastPixels)
        left.push_back({child, frame.level + 1, start});
      start += weight;
    }
  }
  return placed;
}

// print() of a format, appended.
template <typename... Args>
void add(std::string* out, const char* format, Args... args) {
  char text[512];
  int length = std::snprintf(text, sizeof text, format, args...);
  out->append(text, std::min(size_t(std::max(length, 0)), sizeof text - 1));
}

void add_frame(std::string* svg, const FlameStacks& stacks, const PlacedFrame& placed,
               double pixels_of_one, uint32_t bottom) {
  const FlameFrame& frame = stacks.frames[placed.index];
  double x = kMargin + double(placed.start) * pixels_of_one;
  double width = double(frame.weight) * pixels_of_one;
  uint32_t y = bottom - placed.level * kRowHeight;
  *svg += "<g class=\"f\"><title>" + escape_xml(title_of(stacks, frame)) + "</title>";
  add(svg,
      "<rect x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%u\" data-x=\"%llu\" data-w=\"%llu\" ", x,
      y, width, kRowHeight - 1, static_cast<unsigned long long>(placed.start),
      static_cast<unsigned long long>(frame.weight));
  *svg += "fill=\"" + color_of(frame.name) + "\"/>";
  add(svg, "<text x=\"%.1f\" y=\"%u\">", x + 3, y + 12);
  *svg += escape_xml(fitted(frame.name, width)) + "</text></g>\n";
}

void add_head(std::string* svg, const FlameOptions& options, uint32_t height, uint64_t total) {
  uint32_t width = options.width;
  *svg += "<?xml version=\"1.0\" standalone=\"no\"?>\n";
  add(svg,
      "<svg version=\"1.1\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" "
      "xmlns=\"http://www.w3.org/2000/svg\" data-total=\"%llu\" data-margin=\"%u\">\n",
      width, height, width, height, static_cast<unsigned long long>(total), kMargin);
  *svg += kFlameStyle;
  add(svg, "<rect class=\"back\" x=\"0\" y=\"0\" width=\"%u\" height=\"%u\"/>\n", width, height);
  add(svg, "<text class=\"title\" x=\"%u\" y=\"22\">", width / 2);
  *svg += escape_xml(options.title) + "</text>\n";
  add(svg, "<text class=\"subtitle\" x=\"%u\" y=\"40\">", width / 2);
  *svg += escape_xml(options.subtitle) + "</text>\n";
  add(svg, "<text id=\"reset\" class=\"button hidden\" x=\"%u\" y=\"22\">Reset zoom</text>\n",
      kMargin);
  add(svg, "<text id=\"search\" class=\"button\" x=\"%u\" y=\"22\">Search</text>\n", width - 60);
  add(svg, "<text id=\"details\" x=\"%u\" y=\"%u\"> </text>\n", kMargin, height - 10);
  add(svg, "<text id=\"matched\" x=\"%u\" y=\"%u\"> </text>\n", width - 150, height - 10);
}

}  // namespace

std::string flame_svg(const FlameStacks& stacks, const FlameOptions& options) {
  uint64_t total = stacks.frames[0].weight;
  double pixels_of_one = double(options.width - 2 * kMargin) / double(std::max<uint64_t>(total, 1));
  std::vector<PlacedFrame> placed = place_frames(stacks, pixels_of_one);
  uint32_t levels = 1;
  for (const PlacedFrame& frame : placed) levels = std::max(levels, frame.level + 1);
  uint32_t height = kHead + levels * kRowHeight + kFoot;
  std::string svg;
  add_head(&svg, options, height, total);
  svg += "<g id=\"frames\">\n";
  for (const PlacedFrame& frame : placed)
    add_frame(&svg, stacks, frame, pixels_of_one, height - kFoot - kRowHeight);
  return svg + "</g>\n" + kFlameZoom + kFlameSearch + "</svg>\n";
}

}  // namespace patchbay::cmd
