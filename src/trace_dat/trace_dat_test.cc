// SPDX-License-Identifier: MIT
// Our writer, read by our reader and by Debian's trace-cmd, which is the judge of the format.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <regex>
#include <sstream>

#include "output/trace_line.h"
#include "ring_buffer/ring_model.h"
#include "trace_dat/metadata.h"
#include "trace_dat/trace_dat_read.h"
#include "trace_dat/trace_dat_write.h"

namespace patchbay {
namespace {

constexpr char kFormat[] =
    "name: foo\nID: 600\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:unsigned long __parent_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:unsigned long __ip;\toffset:16;\tsize:8;\tsigned:0;\n"
    "\tfield:int n;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:__data_loc char[] s;\toffset:28;\tsize:4;\tsigned:0;\n"
    "\tfield:x64 a[2];\toffset:32;\tsize:16;\tsigned:0;\n\n"
    "print fmt: \"%pS->%pS(n=%d, s=%s, a=%llx:%llx)\", REC->__parent_ip, REC->__ip, REC->n, "
    "__get_str(s), "
    "REC->a[0], REC->a[1]\n";
constexpr char kKallsyms[] =
    "0000000000401000 t main\n0000000000401100 t foo\t[libx.so]\n0000000000401200 t 0x401200\n";

std::string record(int32_t pid, int32_t n, const std::string& text) {
  std::string bytes(48, '\0');
  uint16_t id = 600;
  uint64_t caller = 0x401020, function = 0x401100, a[2] = {0xabc, uint64_t(n)};
  uint32_t where = uint32_t((text.size() + 1) << 16 | 48);
  std::memcpy(&bytes[0], &id, 2);
  std::memcpy(&bytes[4], &pid, 4);
  std::memcpy(&bytes[8], &caller, 8);
  std::memcpy(&bytes[16], &function, 8);
  std::memcpy(&bytes[24], &n, 4);
  std::memcpy(&bytes[28], &where, 4);
  std::memcpy(&bytes[32], a, 16);
  bytes += text;
  bytes.resize((bytes.size() + 1 + 3) & ~size_t{3});
  return bytes;
}

// A recording of two CPUs with losses, time extends and events above 112 bytes.
test::RingModel make_model(uint32_t clock = abi::kClockTsc, uint32_t events = 700) {
  test::RingModel model(2, 4, true, clock);
  uint64_t tsc = clock == abi::kClockTsc ? uint64_t{7} << 50 : 5000000000;
  for (uint32_t i = 0; i < events; i++) {
    tsc += i % 100 == 0 ? uint64_t{3} << 28 : 4200 + i;
    model.write(i % 3 == 0, tsc,
                record(77, int32_t(i) - 5, i % 50 == 0 ? std::string(300, 'x') : "text"));
  }
  model.add_format(600, "functions", kFormat);
  model.add_comm(77, "my prog");
  model.add_clock_pair(uint64_t{7} << 50, 1234567890123);
  model.add_clock_pair((uint64_t{7} << 50) + 21000000000, 1234567890123 + 10000000000);
  return model;
}

class TraceDat : public ::testing::Test {
 protected:
  TraceDat() {
    EXPECT_NE(::mkdtemp(directory_), nullptr);
    path_ = std::string(directory_) + "/trace.dat";
  }
  ~TraceDat() override {
    for (const char* name : {"/trace.dat", "/buffer"})
      ::unlink((std::string(directory_) + name).c_str());
    ::rmdir(directory_);
  }

  void write_dat(const test::RingModel& model, int version, TraceDatResult* result = nullptr) {
    std::string buffer = std::string(directory_) + "/buffer";
    ASSERT_TRUE(model.save(buffer));
    auto file = BufferFile::open(buffer, false);
    ASSERT_TRUE(file.ok());
    auto writer = TraceDatWriter::open(path_, {version, 4096, (*file)->nr_rings(), instances_});
    ASSERT_TRUE(writer.ok()) << writer.error().message();
    auto meta = read_recorded_meta(**file);
    ASSERT_TRUE(meta.ok());
    AddressCollector addresses(meta->events);
    PageImage page;
    for (uint32_t ring = 0; ring < (*file)->nr_rings(); ring++) {
      while ((*file)->next_page(ring, true, &page)) {
        addresses.add_page(page);
        for (uint32_t buffer = 0; buffer <= instances_.size(); buffer++)
          ASSERT_TRUE((*writer)->append_page(buffer, ring, page).ok());
      }
    }
    // A caller with the byte before it.
    EXPECT_EQ(addresses.sorted(), (std::vector<uint64_t>{0x40101f, 0x401020, 0x401100}));
    auto metadata = collect_metadata(**file, addresses);
    ASSERT_TRUE(metadata.ok());
    metadata->kallsyms = kKallsyms;
    auto finished = (*writer)->finish(*metadata);
    ASSERT_TRUE(finished.ok()) << finished.error().message();
    if (result) *result = *finished;
  }

  // "pid cpu time n s a" of each event, and the losses, in the order of the merge.
  std::vector<std::string> our_report(std::string* whole = nullptr, size_t buffer = 0) {
    auto reader = TraceDatReader::open(path_);
    EXPECT_TRUE(reader.ok()) << (reader.ok() ? "" : reader.error().message());
    if (!reader.ok()) return {};
    AddressNames names = AddressNames::from_kallsyms((*reader)->kallsyms());
    TraceLineWriter lines((*reader)->events(), &names);
    lines.set_comms((*reader)->cmdlines());
    TraceDatPages pages(reader->get(), &(*reader)->buffers().at(buffer));
    EventMerger merger(&pages);
    MergedEvent event;
    std::string out;
    while (merger.next(&event)) {
      if (event.lost_before) TraceLineWriter::append_lost(&out, event.cpu, event.lost_before);
      lines.append_line(&out, event.cpu, event.ns, event.record);
    }
    if (whole) *whole = out;
    return normalise(out);
  }

  static std::vector<std::string> normalise(const std::string& text) {
    static const std::regex line(R"(^\s*(.*)-(\d+)\s+\[(\d+)\](?: \S{5})?\s+(\d+\.\d+):)"
                                 R"(.*\(n=(-?\d+), s=(\w*), a=(\w+)[:,](\w+)\))");
    static const std::regex lost(R"(^CPU:(\d+) \[(?:LOST )?(\d+) EVENTS)");
    std::vector<std::string> out;
    std::smatch m;
    size_t at = 0;
    while (at < text.size()) {
      size_t end = std::min(text.find('\n', at), text.size());
      std::string one = text.substr(at, end - at);
      at = end + 1;
      if (std::regex_search(one, m, line))
        out.push_back(m.format("$1 $2 $3 $4 $5 $6 $7 $8"));
      else if (std::regex_search(one, m, lost))
        out.push_back(m.format("lost $1 $2"));
    }
    return out;
  }

  // False (and a loud skip) where trace-cmd is not installed.
  bool trace_cmd_report(std::string* out) {
    if (std::system("command -v trace-cmd >/dev/null") != 0) return false;
    std::FILE* pipe = ::popen(("trace-cmd report -i " + path_ + " 2>&1").c_str(), "r");
    char buffer[65536];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out->append(buffer, n);
    return ::pclose(pipe) == 0;
  }

  char directory_[32] = "/tmp/pb-dat-XXXXXX";
  std::string path_;
  std::vector<TraceDatOptions::Instance> instances_;  // that get the same pages
};

TEST_F(TraceDat, BuffersOfInstancesAreReadByUsAndByTraceCmd) {
  instances_ = {{"blue", 4096}, {"red", 4096}};
  for (int version : {7, 6}) {
    SCOPED_TRACE(version);
    write_dat(make_model(abi::kClockTsc), version);
    std::vector<std::string> top = our_report();
    ASSERT_GT(top.size(), 200u);
    auto reader = TraceDatReader::open(path_);
    ASSERT_TRUE(reader.ok());
    ASSERT_EQ((*reader)->buffers().size(), 3u);
    EXPECT_EQ((*reader)->buffers()[2].name, "red");
    EXPECT_EQ(our_report(nullptr, 1), top);
    EXPECT_EQ(our_report(nullptr, 2), top);
    size_t lost =
        std::erase_if(top, [](const std::string& line) { return line.starts_with("lost"); });
    std::string text;
    if (!trace_cmd_report(&text))
      GTEST_SKIP() << "trace-cmd is not installed: NOT compared with it";
    std::map<std::string, std::vector<std::string>> by_buffer;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      size_t start = std::min(line.find_first_not_of(' '), line.size());
      std::string name = "";
      for (const char* one : {"blue: ", "red: "})
        if (line.compare(start, std::strlen(one), one) == 0) name = one, start += name.size();
      for (const std::string& event : normalise(line.substr(start)))
        if (!event.starts_with("lost")) by_buffer[name].push_back(event);
    }
    // The name of an event behind a loss stands before the words about the loss.
    EXPECT_EQ(by_buffer[""].size(), top.size() + 2 * lost);
    EXPECT_EQ(by_buffer["blue: "].size(), top.size() - lost);
    EXPECT_EQ(by_buffer["red: "].size(), top.size() - lost);
  }
}

TEST_F(TraceDat, TraceCmdReportsTheSameEventsValuesAndOrder) {
  for (int version : {7, 6}) {
    for (uint32_t clock : {uint32_t(abi::kClockTsc), uint32_t(abi::kClockMonotonic)}) {
      SCOPED_TRACE(version * 10 + int(clock));
      TraceDatResult result;
      write_dat(make_model(clock), version, &result);
      EXPECT_EQ(result.error, 0);
      std::vector<std::string> ours = our_report();
      ASSERT_GT(ours.size(), 200u);
      std::string text;
      if (!trace_cmd_report(&text))
        GTEST_SKIP() << "trace-cmd is not installed: NOT compared with it";
      EXPECT_EQ(normalise(text), ours);
      EXPECT_NE(text.find("main+0x20->foo+0x0("), std::string::npos);
    }
  }
}

TEST_F(TraceDat, EveryEventIsThereOrCounted) {
  for (int version : {7, 6}) {
    write_dat(make_model(abi::kClockTsc, 3000), version);
    uint64_t events = 0, lost = 0;
    for (const std::string& line : our_report()) {
      if (line.starts_with("lost"))
        lost += std::stoull(line.substr(7));
      else
        events++;
    }
    EXPECT_EQ(events + lost, 3000u);
    EXPECT_GT(lost, 0u);
  }
}

TEST_F(TraceDat, TimesAreClockMonotonic) {
  test::RingModel model(1, 4, true, abi::kClockTsc);
  model.add_clock_pair(uint64_t{7} << 50, 1234567890123);
  model.add_clock_pair((uint64_t{7} << 50) + 21000000000, 1234567890123 + 10000000000);
  model.add_format(600, "functions", kFormat);
  model.add_comm(77, "prog");
  model.write(0, (uint64_t{7} << 50) + 4200000000, record(77, 1, "a"));
  write_dat(model, 7);
  std::string text;
  our_report(&text);
  EXPECT_EQ(text,
            "            prog-77      [000] .....  1236.567890: main->foo(n=1, s=a, a=abc,1)\n");
}

TEST_F(TraceDat, RefusesOtherFilesWithASentence) {
  auto refuse = [&](std::string_view bytes) {
    std::FILE* file = std::fopen(path_.c_str(), "w");
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fclose(file);
    auto reader = TraceDatReader::open(path_);
    return reader.ok() ? std::string() : reader.error().message();
  };
  EXPECT_EQ(
      refuse("\x7f"
             "ELF\x02\x01\x01"),
      path_ + ": not a trace.dat or buffer file (starts with 7f 45 4c 46 02 01 01: an ELF file)");
  EXPECT_EQ(refuse(""), path_ + ": not a trace.dat or buffer file: it is empty");
  EXPECT_NE(
      refuse(std::string_view("\x17\x08\x44tracing5\0\0\x08\0\x10\0\0", 19)).find("version 5"),
      std::string::npos);
  EXPECT_NE(
      refuse(std::string_view("\x17\x08\x44tracing7\0\1\x08\0\x10\0\0", 19)).find("big-endian"),
      std::string::npos);
  EXPECT_NE(refuse(std::string_view("\x17\x08\x44tracing7\0", 12)).find("ends within its header"),
            std::string::npos);
  EXPECT_FALSE(TraceDatReader::open(directory_).ok());
}

// Damaged bytes one by one in the metadata, and every length of the file: an error or fewer events,
// nothing worse.
TEST_F(TraceDat, SurvivesEveryDamagedByte) {
  for (int version : {7, 6}) {
    write_dat(make_model(abi::kClockTsc, 30), version);
    auto whole = read_file(path_);
    ASSERT_TRUE(whole.ok());
    size_t head = whole->size() - std::min<size_t>(whole->size(), 8192);
    for (size_t i = 0; i < head + 200; i++) {
      if (version == 7 && i > 64 && i % 3 && i + 700 < head) continue;
      std::FILE* file = std::fopen(path_.c_str(), "r+");
      std::fseek(file, long(i), SEEK_SET);
      std::fputc((*whole)[i] ^ char(1 << (i % 8)), file);
      std::fclose(file);
      auto reader = TraceDatReader::open(path_);
      if (reader.ok() && !(*reader)->buffers().empty()) {
        TraceDatPages pages(reader->get(), &(*reader)->buffers()[0]);
        EventMerger merger(&pages);
        MergedEvent event;
        size_t events = 0;
        while (merger.next(&event)) ASSERT_LT(++events, 100000u) << i;
      }
      file = std::fopen(path_.c_str(), "r+");
      std::fseek(file, long(i), SEEK_SET);
      std::fputc((*whole)[i], file);
      std::fclose(file);
    }
    for (size_t size = whole->size(); size > 0; size -= std::min<size_t>(size, 97)) {
      ASSERT_EQ(::truncate(path_.c_str(), off_t(size)), 0);
      auto reader = TraceDatReader::open(path_);
      if (!reader.ok()) {
        EXPECT_TRUE(reader.error().sentence) << reader.error().message();
      }
    }
  }
}

TEST_F(TraceDat, UnwritablePlaceIsAnErrorAtOnce) {
  auto writer = TraceDatWriter::open("/nonexistent/trace.dat", {7, 4096, 1});
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.error().errno_value, ENOENT);
  EXPECT_FALSE(TraceDatWriter::open(path_, {5, 4096, 1}).ok());
  EXPECT_FALSE(TraceDatWriter::open("/dev/null", {7, 4096, 1}).ok());
}

// A disk that is full while pages arrive: here a limit on the size of files.
TEST_F(TraceDat, FullDiskLeavesAReadableFileAndCountsTheRest) {
  rlimit old;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  auto writer = TraceDatWriter::open(path_, {7, 4096, 1});
  ASSERT_TRUE(writer.ok());
  test::RingModel model(1, 16);
  for (uint32_t i = 0; i < 500; i++) model.write(0, i * 10, record(77, int32_t(i), "text"));
  std::string buffer = std::string(directory_) + "/buffer";
  ASSERT_TRUE(model.save(buffer));
  auto file = BufferFile::open(buffer, false);
  ASSERT_TRUE(file.ok());
  rlimit limit{5 * 4096, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  PageImage page;
  while ((*file)->next_page(0, true, &page)) (void)(*writer)->append_page(0, page);
  TraceDatMetadata metadata;
  metadata.formats.push_back({"functions", "foo", kFormat});
  auto result = (*writer)->finish(metadata);
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, old_handler);
  ASSERT_TRUE(result.ok());
  EXPECT_GT(result->pages_lost, 0u);
  EXPECT_EQ(result->error, EFBIG);
  EXPECT_EQ(result->pages, 4u);  // five pages fit: one of metadata, four of events
  size_t events = our_report().size();
  EXPECT_GT(events, 0u);
  EXPECT_EQ(events + result->events_lost, 500u);
}

TEST(ProcessMaps, FilesWithAnAddressAreListedAndReadBack) {
  const std::vector<RecordedModule> modules = {{0x1000, 0x3000, 0x1000, "abcd", "/bin/a program"},
                                               {0x5000, 0x6000, 0, "", "/lib/x\ny.so"},
                                               {0x8000, 0x9000, 0x8000, "ef", "/lib/unused.so"}};
  const std::string text = modules_text(18, "/bin/a program", modules, {0x1000, 0x2fff, 0x5800});
  EXPECT_EQ(text,
            "12 2 /bin/a program\n1000 3000 /bin/a program\tabcd 1000\n"
            "5000 6000 /lib/x?y.so\t- 0\n");
  EXPECT_EQ(modules_text(18, "", modules, {0x3000, 0x7000}), "");
  auto back = modules_of_text(text + "5000 4000 /bad\t- 0\nx\n7000 8000 /bad\n7000 8000 /b\t-\n");
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].path, modules[0].path);
  EXPECT_EQ(back[0].build_id, "abcd");
  EXPECT_EQ(back[0].bias, 0x1000u);
  EXPECT_EQ(back[1].start, 0x5000u);
  EXPECT_EQ(back[1].end, 0x6000u);
  EXPECT_EQ(back[1].build_id, "");
}

TEST(Kallsyms, ListsFunctionsOnceAndUnknownAddressesByNumber) {
  struct OneFunction : SymbolTable {
    bool refresh() override { return false; }
    std::vector<Module*> modules() override { return {}; }
    Result<std::vector<ResolvedFunction>> resolve(std::string_view) override {
      return std::vector<ResolvedFunction>{};
    }
    bool symbolize(uint64_t address, SymbolizedAddress* out) override {
      if (address < 0x1000 || address >= 0x1080) return false;
      *out = {"my func", 0x1000, address - 0x1000, 0x80, false, nullptr};
      return true;
    }
    uint64_t address_of(std::string_view) override { return 0; }
    void drop_caches() override {}
  } symbols;
  std::string text = kallsyms_text(&symbols, {0x1000, 0x1010, 0x5000});
  EXPECT_EQ(text,
            "0000000000001000 t my_func\n0000000000001080 t 0x1080\n"
            "0000000000005000 t 0x5000\n0000000000005001 t 0x5001\n");
  AddressNames names = AddressNames::from_kallsyms(text);
  AddressNames::Name name;
  ASSERT_TRUE(names.lookup(0x1010, &name));
  EXPECT_EQ(name.name, "my_func");
  EXPECT_EQ(name.offset, 0x10u);
  EXPECT_EQ(name.size, 0x80u);
  EXPECT_FALSE(names.lookup(0x5000, &name));
  EXPECT_FALSE(names.lookup(0x10, &name));
}

}  // namespace
}  // namespace patchbay
