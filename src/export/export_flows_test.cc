// SPDX-License-Identifier: MIT
#include "export/export_flows.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "export/export_testing.h"

namespace patchbay {
namespace {

// begin(int id), end(int id), other(int id), and the synthetic event lat(int id).
class Flows {
 public:
  explicit Flows(const char* lines = "lat\ts:end\ts:begin\tid=id\n") {
    for (const char* name : {"begin", "end", "other", "lat"}) {
      EventCall call;
      const std::string format =
          test::format_text(name, int(calls_.size() + 1), test::field_line("int id", 8, 4, true));
      auto parsed = parse_format(name == std::string("lat") ? "synthetic" : "s", format);
      EXPECT_TRUE(parsed.ok());
      calls_.push_back(std::make_unique<EventCall>(std::move(*parsed)));
      schemas_.push_back(std::make_unique<ExportSchema>(*calls_.back(), uint32_t(schemas_.size())));
    }
    flows_.define(0, lines);
    flows_.resolve(schemas_);
  }
  // The names of the events that this one comes from: "end begin"; "-" for none.
  std::string see(const std::string& name, int32_t tid, int id, bool is_wanted = true) {
    ExportEvent event;
    for (const auto& schema : schemas_)
      if (schema->name == name) event.schema = schema.get();
    const std::string record = test::Record(1, tid).put(id);
    event.record = {reinterpret_cast<const uint8_t*>(record.data()), record.size()};
    const ExportEvent::Flows found = flows_.see(event, tid, is_wanted);
    std::string words;
    for (size_t i = 1; i < found.size(); i++)
      if (found[i]) words += (words.empty() ? "" : " ") + names_[found[i]];
    if (found[0]) names_[found[0]] = name + std::to_string(++seen_[name]);
    return words.empty() ? "-" : words;
  }
  ExportFlows& flows() { return flows_; }

 private:
  std::vector<std::unique_ptr<EventCall>> calls_;
  std::vector<std::unique_ptr<ExportSchema>> schemas_;
  ExportFlows flows_;
  std::map<uint64_t, std::string> names_;
  std::map<std::string, int> seen_;
};

TEST(ExportFlows, LinksEqualKeysOfTwoThreads) {
  Flows flows;
  EXPECT_EQ(flows.see("begin", 1, 7), "-");
  EXPECT_EQ(flows.see("begin", 1, 8), "-");
  EXPECT_EQ(flows.see("begin", 2, 7), "-");  // the latest counts
  EXPECT_EQ(flows.see("end", 3, 7), "-");
  EXPECT_EQ(flows.see("other", 4, 7), "-");  // of another thread: between them in time only
  EXPECT_EQ(flows.see("lat", 3, 7), "end1 begin3");
  EXPECT_EQ(flows.see("end", 3, 8), "-");
  EXPECT_EQ(flows.see("lat", 3, 8), "end2 begin2");
}

TEST(ExportFlows, LinksNothingThatIsNotKnown) {
  Flows flows;
  EXPECT_EQ(flows.see("lat", 1, 7), "-");  // nothing before it
  flows.see("begin", 1, 7);
  EXPECT_EQ(flows.see("lat", 1, 7), "-");  // of the program's own
  flows.see("end", 1, 7);
  flows.see("other", 1, 7);
  EXPECT_EQ(flows.see("lat", 1, 7), "-");  // its end is not recorded: another event is between
  flows.see("end", 1, 9);
  EXPECT_EQ(flows.see("lat", 1, 9), "end2");  // no start has this key
  flows.see("end", 1, 7);
  EXPECT_EQ(flows.see("lat", 1, 7), "end3 begin1");
  EXPECT_EQ(flows.see("lat", 1, 7), "end3 begin1");  // a second one of the same hit
  flows.see("end", 1, 7);
  EXPECT_EQ(flows.see("lat", 1, 7), "end4");  // the start has gone to what end3 made
  flows.see("begin", 1, 7);
  flows.flows().lose(0);
  flows.see("end", 1, 7);
  EXPECT_EQ(flows.see("lat", 1, 7), "end5");  // a later start may be lost
  flows.see("end", 1, 7);
  flows.flows().lose(0);
  EXPECT_EQ(flows.see("lat", 1, 7), "-");
}

TEST(ExportFlows, LeavesOutWhatIsNotExported) {
  Flows flows;
  flows.see("begin", 1, 7, false);
  flows.see("end", 1, 7);
  EXPECT_EQ(flows.see("lat", 1, 7), "end1");
  flows.see("begin", 1, 7);
  flows.see("begin", 1, 7, false);  // this one is meant
  flows.see("end", 1, 7, false);
  EXPECT_EQ(flows.see("lat", 1, 7), "-");
}

TEST(ExportFlows, TakesThreadsAsKeysAndBadLines) {
  Flows threads("lat\ts:end\ts:begin\tcommon_pid=common_pid");
  threads.see("begin", 1, 7);
  threads.see("begin", 2, 7);
  threads.see("end", 1, 8);
  EXPECT_EQ(threads.see("lat", 1, 8), "end1 begin1");
  Flows no_start("lat\ts:end");
  no_start.see("begin", 1, 7);
  no_start.see("end", 1, 7);
  EXPECT_EQ(no_start.see("lat", 1, 7), "end1");
  Flows two("lat\ts:end\ts:begin\tid=id\nlat\ts:end\ts:other\tid=id\nlat\ts:end\ts:begin\tid=id\n");
  two.see("begin", 1, 7);
  two.see("other", 2, 7);
  two.see("end", 1, 7);
  EXPECT_EQ(two.see("lat", 1, 7), "end1");  // either start may be meant
  for (const char* lines :
       {"", "lat", "lat\t\n", "lat\ts:end\ts:begin\t", "lat\ts:end\ts:begin\tid",
        "lat\ts:end\ts:begin\tno=no\n", "\n\t\t\t=\n"}) {
    Flows bad(lines);
    bad.see("begin", 1, 7);
    bad.see("end", 1, 7);
    EXPECT_EQ(bad.see("lat", 1, 7).find("begin"), std::string::npos) << lines;
  }
}

}  // namespace
}  // namespace patchbay
