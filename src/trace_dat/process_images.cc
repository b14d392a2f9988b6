// SPDX-License-Identifier: MIT
#include "trace_dat/process_images.h"

#include <algorithm>

#include "base/text.h"

namespace patchbay {
namespace {

constexpr uint32_t kMaxCpus = 65536;

void add_word(std::string* line, std::string_view word) {
  for (char c : word) {
    if (c == '\\' || c == '\t' || c == '\n') *line += '\\';
    if (c != '\0') *line += c == '\t' ? 't' : c == '\n' ? 'n' : c;
  }
}

template <typename... Words>
void add_line(std::string* out, std::string_view kind, const Words&... words) {
  *out += kind;
  const auto add = [out](const auto& word) {
    *out += '\t';
    if constexpr (std::is_integral_v<std::decay_t<decltype(word)>>)
      *out += std::to_string(word);
    else
      add_word(out, word);
  };
  (add(words), ...);
  *out += '\n';
}

std::string plain_word(std::string_view word) {
  std::string plain;
  for (size_t i = 0; i < word.size(); i++) {
    const bool escaped = word[i] == '\\' && i + 1 < word.size();
    const char c = escaped ? word[++i] : word[i];
    plain += !escaped ? c : c == 't' ? '\t' : c == 'n' ? '\n' : c;
  }
  return plain;
}

// The words of a line one after the other.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) {}
  std::string_view raw() { return cut_at(&rest_, '\t'); }
  std::string word() { return plain_word(raw()); }
  template <typename Number>
  bool number(Number* out, int base = 10) {
    return to_number(raw(), out, base);
  }

 private:
  std::string_view rest_;
};

bool parse_image(Line line, ProcessImage* out) {
  return line.number(&out->pid) && line.number(&out->parent) && line.number(&out->begin_ns) &&
         line.number(&out->end_ns);
}

void parse_cpu(Line line, ProcessImage* image) {
  uint32_t cpu = 0;
  ImageCounts counts;
  if (!line.number(&cpu) || !line.number(&counts.entries) || !line.number(&counts.overrun) ||
      !line.number(&counts.dropped) || cpu >= kMaxCpus)
    return;
  if (image->cpus.size() <= cpu) image->cpus.resize(cpu + 1);
  image->cpus[cpu] = counts;
}

void parse_thread(Line line, ProcessImage* image) {
  ImageThread thread;
  if (!line.number(&thread.tid) || !line.number(&thread.process) ||
      !line.number(&thread.first_ns) || !line.number(&thread.last_ns) ||
      !line.number(&thread.events))
    return;
  thread.comm = line.word();
  image->threads.push_back(std::move(thread));
}

void parse_name(Line line, ProcessImage* image) {
  ImageName name;
  if (!line.number(&name.start, 16) || !line.number(&name.end, 16) || name.end <= name.start)
    return;
  name.name = line.word();
  image->names.push_back(std::move(name));
}

void parse_line_of_image(std::string_view kind, Line line, ProcessImage* image) {
  if (kind == "exe") image->exe = line.word();
  if (kind == "word") image->words.push_back(line.word());
  if (kind == "note") image->note = line.word();
  if (kind == "inside") line.number(&image->inside);
  if (kind == "cpu") parse_cpu(line, image);
  if (kind == "thread") parse_thread(line, image);
  if (kind == "map") image->process_maps += line.word() + "\n";
  if (kind == "name") parse_name(line, image);
}

std::string hex(uint64_t value) { return hex_number(value).substr(2); }

void add_image(std::string* out, const ProcessImage& image) {
  add_line(out, "image", image.pid, image.parent, image.begin_ns, image.end_ns);
  if (!image.exe.empty()) add_line(out, "exe", image.exe);
  for (const std::string& word : image.words) add_line(out, "word", word);
  if (!image.note.empty()) add_line(out, "note", image.note);
  if (image.inside) add_line(out, "inside", image.inside);
  for (size_t cpu = 0; cpu < image.cpus.size(); cpu++) {
    const ImageCounts& counts = image.cpus[cpu];
    if (counts.entries || counts.overrun || counts.dropped)
      add_line(out, "cpu", cpu, counts.entries, counts.overrun, counts.dropped);
  }
  for (const ImageThread& thread : image.threads)
    add_line(out, "thread", thread.tid, thread.process, thread.first_ns, thread.last_ns,
             thread.events, thread.comm);
  for (const std::string& line : split_lines(image.process_maps)) add_line(out, "map", line);
  for (const ImageName& name : image.names)
    add_line(out, "name", hex(name.start), hex(name.end), name.name);
}

}  // namespace

uint64_t ProcessImage::events() const {
  uint64_t sum = 0;
  for (const ImageThread& thread : threads) sum += thread.events;
  return sum;
}

ImageCounts ProcessImage::counts() const {
  ImageCounts sum;
  for (const ImageCounts& cpu : cpus) {
    sum.entries += cpu.entries;
    sum.overrun += cpu.overrun;
    sum.dropped += cpu.dropped;
  }
  return sum;
}

std::string ProcessImage::command() const {
  if (!words.empty()) return join(words, " ");
  return exe.empty() ? "pid " + std::to_string(pid) : exe;
}

std::string ProcessImages::text() const {
  std::string out;
  for (const ProcessImage& image : images) add_image(&out, image);
  for (const NotFollowed& skipped : not_followed)
    add_line(&out, "skipped", skipped.pid, skipped.time_ns, skipped.path, skipped.reason);
  return out;
}

ProcessImages ProcessImages::parse(std::string_view text) {
  ProcessImages out;
  text = text.substr(0, text.find('\0'));
  while (!text.empty()) {
    Line line(cut_at(&text, '\n'));
    const std::string_view kind = line.raw();
    if (kind == "image") {
      ProcessImage image;
      if (parse_image(line, &image)) out.images.push_back(std::move(image));
    } else if (kind == "skipped") {
      NotFollowed skipped;
      if (!line.number(&skipped.pid) || !line.number(&skipped.time_ns)) continue;
      skipped.path = line.word();
      skipped.reason = line.word();
      out.not_followed.push_back(std::move(skipped));
    } else if (!out.images.empty()) {
      parse_line_of_image(kind, line, &out.images.back());
    }
  }
  for (ProcessImage& image : out.images)
    std::stable_sort(image.names.begin(), image.names.end(),
                     [](const ImageName& a, const ImageName& b) { return a.start < b.start; });
  return out;
}

ImageFinder::ImageFinder(const std::vector<ProcessImage>& images) {
  for (uint32_t i = 0; i < images.size(); i++) {
    bool has_main = false;
    for (const ImageThread& thread : images[i].threads) {
      uint64_t from = thread.first_ns;
      const bool is_main = thread.tid == images[i].pid;
      has_main |= is_main;
      // It was in the image before its first event, and where it has none.
      if (is_main && images[i].begin_ns && (from == 0 || images[i].begin_ns < from))
        from = images[i].begin_ns;
      spans_[thread.tid].push_back({from, i, &thread});
    }
    if (!has_main) spans_[images[i].pid].push_back({images[i].begin_ns, i, nullptr});
  }
  for (auto& [tid, spans] : spans_)
    std::stable_sort(spans.begin(), spans.end(),
                     [](const Span& a, const Span& b) { return a.from_ns < b.from_ns; });
}

const ImageFinder::Span* ImageFinder::span(int32_t tid, uint64_t ns) {
  if (tid == last_tid_ && ns >= last_from_ && ns < last_until_) return last_;
  last_tid_ = tid;
  last_ = nullptr;
  last_from_ = 0;
  last_until_ = ~uint64_t{0};
  const auto found = spans_.find(tid);
  if (found == spans_.end()) return last_;
  const std::vector<Span>& spans = found->second;
  auto next = std::upper_bound(spans.begin(), spans.end(), ns,
                               [](uint64_t time, const Span& span) { return time < span.from_ns; });
  if (next != spans.end()) last_until_ = next->from_ns;
  if (next != spans.begin()) last_from_ = (--next)->from_ns;  // before all: the first
  return last_ = &*next;
}

uint32_t ImageFinder::find(int32_t tid, uint64_t ns) {
  const Span* found = span(tid, ns);
  return found ? found->image : kNone;
}

const ImageThread* ImageFinder::thread(int32_t tid, uint64_t ns) {
  const Span* found = span(tid, ns);
  return found ? found->thread : nullptr;
}

}  // namespace patchbay
