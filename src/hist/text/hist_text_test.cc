// SPDX-License-Identifier: MIT
// The lines of `hist`: what stands here was printed by a 6.12 kernel for the hits of a shell's
// umask; quantiles are ours.
#include "hist/text/hist_text.h"

#include <gtest/gtest.h>

#include "hist/quantile_buckets.h"
#include "hist/text/hist_text_testing.h"

namespace patchbay {
namespace {

using testing::add_hitcount;
using testing::HandMadeContents;
using testing::hist_event_field;
using testing::hist_field;
using testing::text_of_hist;

const EventField kMask = hist_event_field("umode_t", "mask", 8, false);
const EventField kPid = hist_event_field("int", "common_pid", 4, true);
const EventField kComm = hist_event_field("char[16]", "comm", 16, false);

// keys=mask, and what else a test adds.
struct MaskHist {
  HistData hist;
  HandMadeContents contents{8};
  HistNameSources sources;

  explicit MaskHist(uint32_t key_flags = 0, const EventField* key = &kMask) {
    add_hitcount(&hist);
    hist.keys.push_back(hist_field(key, kHistKey | key_flags));
  }
  void value(const EventField* field, uint32_t flags) {
    hist.values.push_back(hist_field(field, flags));
  }
  // The hits of the kernel's session.
  void fill() {
    for (auto [mask, hits] : std::vector<std::pair<uint64_t, uint64_t>>{
             {1, 2}, {3, 2}, {511, 2}, {2, 4}, {18, 6}, {0, 8}}) {
      std::vector<uint64_t> values(hist.values.size(), mask * hits);
      for (size_t i = 0; i < values.size(); i++)
        if (hist.values[i]->flags & kHistHitcount) values[i] = hits;
      contents.add({mask}, values);
    }
  }
  std::string text() { return text_of_hist(hist, "hist:x", contents, sources); }
  // Only the entries.
  std::string lines() {
    std::string all = text();
    const size_t start = all.find("\n#\n\n") + 4;
    return all.substr(start, all.find("\nTotals:") - start);
  }
};

TEST(HistText, WholeFile) {
  MaskHist mask;
  mask.fill();
  mask.contents.totals.dropped = 7;
  EXPECT_EQ(mask.text(),
            "# event histogram\n#\n# trigger info: hist:x [active]\n#\n\n"
            "{ mask:          1 } hitcount:          2\n"
            "{ mask:          3 } hitcount:          2\n"
            "{ mask:        511 } hitcount:          2\n"
            "{ mask:          2 } hitcount:          4\n"
            "{ mask:         18 } hitcount:          6\n"
            "{ mask:          0 } hitcount:          8\n"
            "\nTotals:\n    Hits: 24\n    Entries: 6\n    Dropped: 7\n");
}

TEST(HistText, EmptyAndPaused) {
  MaskHist mask;
  mask.hist.paused = true;
  EXPECT_EQ(mask.text(),
            "# event histogram\n#\n# trigger info: hist:x [paused]\n#\n\n"
            "\nTotals:\n    Hits: 0\n    Entries: 0\n    Dropped: 0\n");
}

std::string first_key(uint32_t flags, uint64_t key, const EventField* field = &kMask) {
  MaskHist mask(flags, field);
  mask.hist.keys[0]->buckets = 10;
  mask.contents.add({key}, {1});
  std::string lines = mask.lines();
  return lines.substr(0, lines.find(" hitcount"));
}

TEST(HistText, KeyForms) {
  EXPECT_EQ(first_key(0, 511), "{ mask:        511 }");
  EXPECT_EQ(first_key(kHistHex, 511), "{ mask: 1ff }");
  EXPECT_EQ(first_key(kHistLog2, 9), "{ mask: ~ 2^9  }");
  EXPECT_EQ(first_key(kHistBucket, 510), "{ mask: ~ 510-519 }");
  EXPECT_EQ(first_key(kHistSyscall, 18), "{ mask: sys_pwrite64                  [ 18] }");
  EXPECT_EQ(first_key(kHistSyscall, 511), "{ mask: unknown_syscall               [511] }");
  EXPECT_EQ(first_key(kHistSyscall, 95), "{ mask: sys_umask                     [ 95] }");
  EXPECT_EQ(first_key(kHistSym, 511),
            "{ mask: [1ff] 0x1ff                                         }");
  EXPECT_EQ(first_key(kHistSymOffset, 0),
            "{ mask: [0] 0x0                                                     }");
  EXPECT_EQ(first_key(kHistExecname, 145, &kPid), "{ common_pid: <...>           [       145] }");
  EXPECT_EQ(first_key(kHistCpu, 1, nullptr), "{ common_cpu:          1 }");
  EXPECT_EQ(first_key(kHistTimestamp, 10985808, nullptr), "{ common_timestamp:   10985808 }");
}

TEST(HistText, NegativeNumbersAreShownAsTheKernelDoes) {
  EXPECT_EQ(first_key(0, ~uint64_t{0}, &kPid), "{ common_pid: 18446744073709551615 }");
}

TEST(HistText, NamesOfThreadsAreAskedOnce) {
  MaskHist mask(kHistExecname, &kPid);
  int asked = 0;
  mask.sources.comm = [&](uint32_t pid) { return asked++, pid == 145 ? "sh" : "<...>"; };
  mask.contents.add({145}, {24});
  mask.contents.add({145}, {25});
  EXPECT_EQ(mask.lines(),
            "{ common_pid: sh              [       145] } hitcount:         24\n"
            "{ common_pid: sh              [       145] } hitcount:         25\n");
  EXPECT_EQ(asked, 1);
}

TEST(HistText, KeysOfTextAndSeveral) {
  HistData hist;
  add_hitcount(&hist);
  hist.keys.push_back(hist_field(&kComm, kHistKey | kHistString));
  hist.keys[0]->size = 16;
  hist.keys.push_back(hist_field(&kMask, kHistKey));
  hist.keys[1]->key_offset = 16;
  HandMadeContents contents(24);
  std::vector<uint8_t> key(24);
  std::memcpy(key.data(), "bash", 4);
  key[16] = 9;
  contents.add_bytes(key, {3});
  std::string text = text_of_hist(hist, "", contents, {});
  EXPECT_NE(
      text.find("{ comm: bash                                              , mask:          9 } "
                "hitcount:          3\n"),
      std::string::npos)
      << text;
}

// The last byte of a text says what else there is of it.
TEST(HistText, KeysWithNulsAndOfCutTexts) {
  const struct {
    std::string text;
    uint8_t mark;
    std::string shown;
  } rows[] = {{"ab", 0, "ab"},
              {std::string("ab\0cd", 5), 0, "ab\\x00cd"},
              {"ab", 2, "ab\\x00\\x00"},
              {"", 1, "\\x00"},
              {std::string(255, 'y'), 0, std::string(255, 'y')},
              {std::string(255, 'y'), 0xff, std::string(255, 'y') + "..."}};
  const EventField text = hist_event_field("__data_loc char[]", "s", 4, false);
  for (const auto& row : rows) {
    HistData hist;
    add_hitcount(&hist);
    hist.keys.push_back(hist_field(&text, kHistKey | kHistString));
    hist.keys[0]->size = kMaxHistText;
    hist.sorts.push_back({1, false});
    HandMadeContents contents(kMaxHistText);
    std::vector<uint8_t> key(kMaxHistText);
    std::memcpy(key.data(), row.text.data(), row.text.size());
    key.back() = row.mark;
    contents.add_bytes(key, {1});
    contents.add_bytes(std::vector<uint8_t>(kMaxHistText, 'z'), {1});
    const std::string shown = text_of_hist(hist, "", contents, {});
    EXPECT_NE(shown.find("{ s: " + row.shown + std::string(row.shown.size() < 50 ? 1 : 0, ' ')),
              std::string::npos)
        << shown;
  }
}

TEST(HistText, Stack) {
  HistData hist;
  add_hitcount(&hist);
  hist.keys.push_back(hist_field(nullptr, kHistKey | kHistStacktrace));
  hist.keys[0]->size = 31 * 8;
  AddressNames names =
      AddressNames::from_kallsyms("1000 T do_syscall_64\n11b0 T entry_SYSCALL\n1200 T end\n");
  HandMadeContents contents(31 * 8);
  contents.add({0x114a, 0x11b4, 0, 0x1000}, {24});
  HistNameSources sources;
  sources.names = &names;
  std::string text = text_of_hist(hist, "", contents, sources);
  EXPECT_NE(text.find("{ common_stacktrace:\n         do_syscall_64+0x14a/0x1b0\n"
                      "         entry_SYSCALL+0x4/0x50\n} hitcount:         24\n"),
            std::string::npos)
      << text;
}

TEST(HistText, ValueForms) {
  MaskHist mask;
  mask.value(&kMask, kHistHex);
  mask.value(nullptr, kHistHitcount | kHistPercent);
  mask.fill();
  EXPECT_EQ(mask.lines(),
            "{ mask:          1 } hitcount:          2  mask:          2  hitcount (%):   8.33\n"
            "{ mask:          3 } hitcount:          2  mask:          6  hitcount (%):   8.33\n"
            "{ mask:        511 } hitcount:          2  mask:        3fe  hitcount (%):   8.33\n"
            "{ mask:          2 } hitcount:          4  mask:          8  hitcount (%):  16.66\n"
            "{ mask:         18 } hitcount:          6  mask:         6c  hitcount (%):  25.00\n"
            "{ mask:          0 } hitcount:          8  mask:          0  hitcount (%):  33.33\n");
}

TEST(HistText, ShareAndBarWithoutHitcount) {
  MaskHist mask;
  mask.hist.no_hitcount = true;
  mask.value(&kMask, kHistPercent);
  mask.value(&kMask, kHistGraph);
  mask.fill();
  EXPECT_EQ(mask.lines(),
            "{ mask:          1 }  mask (%):   0.17  mask:                     \n"
            "{ mask:          3 }  mask (%):   0.52  mask:                     \n"
            "{ mask:        511 }  mask (%):  89.17  mask: ####################\n"
            "{ mask:          2 }  mask (%):   0.69  mask:                     \n"
            "{ mask:         18 }  mask (%):   9.42  mask: ##                  \n"
            "{ mask:          0 }  mask (%):   0.00  mask:                     \n");
}

TEST(HistText, ShareOfNothingAndOfTheLargest) {
  MaskHist mask;
  mask.value(&kMask, kHistPercent);
  mask.contents.add({1}, {1, ~uint64_t{0}});
  EXPECT_EQ(mask.lines(), "{ mask:          1 } hitcount:          1  mask (%): 100.00\n");
  MaskHist none;
  none.value(&kMask, kHistPercent);
  none.value(&kMask, kHistGraph);
  none.contents.add({1}, {1, 0, 0});
  EXPECT_EQ(
      none.lines(),
      "{ mask:          1 } hitcount:          1  mask (%):   0.00  mask:                     \n");
}

TEST(HistText, ExpressionsAreNoValues) {
  MaskHist mask;
  mask.value(nullptr, kHistExpr);
  mask.contents.add({1}, {2, 4});
  EXPECT_EQ(mask.lines(), "{ mask:          1 } hitcount:          2\n");
}

// Sort order as a list of keys.
std::string order(std::vector<HistSort> sorts, uint32_t flags = 0) {
  MaskHist mask(flags);
  mask.value(&kMask, 0);
  mask.hist.keys[0]->is_signed = flags & kHistHex;  // a way to ask for both
  mask.hist.sorts = std::move(sorts);
  for (auto [key, hits, value] : std::vector<std::array<uint64_t, 3>>{
           {5, 2, 1}, {~uint64_t{0}, 2, 9}, {7, 1, 9}, {6, 2, 9}, {4, 3, 0}})
    mask.contents.add({key}, {hits, value});
  std::string keys;
  for (const std::string& text : {mask.lines()}) {
    for (size_t at = 0; (at = text.find("mask: ", at)) != std::string::npos; at++) {
      if (at < 2 || text[at - 2] != '{') continue;
      const size_t digits = text.find_first_not_of(' ', at + 6);
      keys += keys.empty() ? "" : " ";
      keys += text.substr(digits, text.find(' ', digits) - digits);
    }
  }
  return keys;
}

TEST(HistText, Sorts) {
  const std::string max = "18446744073709551615";
  EXPECT_EQ(order({}), "7 5 " + max + " 6 4") << "hitcount, what is equal as it was";
  EXPECT_EQ(order({{0, true}}), "4 5 " + max + " 6 7");
  EXPECT_EQ(order({{2, false}}), "4 5 6 7 " + max);
  EXPECT_EQ(order({{2, true}}), max + " 7 6 5 4");
  EXPECT_EQ(order({{0, false}, {2, false}}), "7 5 6 " + max + " 4");
  EXPECT_EQ(order({{0, false}, {2, true}}), "7 " + max + " 6 5 4");
  EXPECT_EQ(order({{1, true}, {0, false}}), "7 " + max + " 6 5 4");
  EXPECT_EQ(order({{2, false}}, kHistHex), "ffffffffffffffff 4 5 6 7") << "a signed key";
}

TEST(HistText, SortsTexts) {
  HistData hist;
  add_hitcount(&hist);
  hist.keys.push_back(hist_field(&kComm, kHistKey | kHistString));
  hist.keys[0]->size = 16;
  for (bool descending : {false, true}) {
    hist.sorts = {{1, descending}};
    HandMadeContents contents(16);
    for (std::string_view name : {"postgres: two", "b", "postgres: one", "", "\xc3\xa4"})
      contents.add_bytes(std::vector<uint8_t>(name.begin(), name.end()), {1});
    const std::string text = text_of_hist(hist, "", contents, {});
    std::string seen;
    for (size_t at = 0; (at = text.find("{ comm: ", at)) != std::string::npos; at++) {
      std::string name = text.substr(at + 8, 50);
      seen += name.substr(0, name.find_last_not_of(' ') + 1) + "|";
    }
    EXPECT_EQ(seen, descending ? "\xc3\xa4|postgres: two|postgres: one|b||"
                               : "|b|postgres: one|postgres: two|\xc3\xa4|");
  }
}

// --- actions

std::unique_ptr<HistField> variable(std::string name, uint32_t index) {
  auto made = hist_field(nullptr, kHistVar);
  made->name = std::move(name);
  made->var_index = index;
  return made;
}

void track(HistData* hist, HistHandler handler, HistActionKind kind) {
  auto action = std::make_unique<HistActionData>();
  action->handler = handler;
  action->kind = kind;
  action->track_text = "$x";
  hist->variables.push_back(variable("__max", uint32_t(hist->variables.size())));
  action->track_var = hist->variables.back().get();
  hist->actions.push_back(std::move(action));
}

void save(HistData* hist, const EventField* field, uint32_t flags) {
  hist->variables.push_back(variable(field->name, uint32_t(hist->variables.size())));
  hist->actions[0]->saved.push_back({hist->variables.back().get(), hist_field(field, flags)});
}

TEST(HistText, MaximumAndWhatWasSaved) {
  MaskHist mask;
  track(&mask.hist, HistHandler::kMax, HistActionKind::kSave);
  save(&mask.hist, &kMask, 0);
  save(&mask.hist, &kComm, kHistString);
  mask.contents.add({511}, {2});
  mask.contents.variables = {{{0, 0}, 511}, {{0, 1}, 510}};
  mask.contents.texts = {{{0, 2}, "sh"}};
  EXPECT_EQ(mask.lines(),
            "{ mask:        511 } hitcount:          2\n"
            "\tmax:        511  mask:        510  comm: sh                              \n");
  mask.hist.actions[0]->handler = HistHandler::kChange;
  EXPECT_EQ(mask.lines(),
            "{ mask:        511 } hitcount:          2\n"
            "\tchanged:        511  mask:        510  comm: sh                              \n");
}

TEST(HistText, SnapshotTaken) {
  MaskHist mask(0, &kPid);
  track(&mask.hist, HistHandler::kMax, HistActionKind::kSnapshot);
  mask.contents.add({5}, {24});
  EXPECT_EQ(mask.lines(), "{ common_pid:          5 } hitcount:         24\n");
  mask.contents.taken = {511, {5, 0, 0, 0, 0, 0, 0, 0}};
  EXPECT_EQ(mask.lines(),
            "{ common_pid:          5 } hitcount:         24\n"
            "\nSnapshot taken (see tracing/snapshot).  Details:\n"
            "\ttriggering value { onmax($x) }:        511\ttriggered by event with key: "
            "{ common_pid:          5 }\n");
}

TEST(HistText, MatchedActionsShowNothing) {
  MaskHist mask;
  track(&mask.hist, HistHandler::kMatch, HistActionKind::kTrace);
  mask.contents.add({1}, {1});
  EXPECT_EQ(mask.lines(), "{ mask:          1 } hitcount:          1\n");
}

// --- ours

TEST(HistText, Quantiles) {
  MaskHist mask;
  mask.value(&kMask, kHistQuantiles);
  std::vector<uint64_t> counters(kQuantileBuckets);
  for (uint64_t value = 1; value <= 1000; value++) counters[quantile_bucket(value)]++;
  mask.contents.add({1}, {1000, 500500});
  mask.contents.counters[0] = counters;
  const std::string text = mask.text();
  EXPECT_NE(text.find("#\n# quantiles of mask: nearest rank, not more than 1.6 % off\n#\n\n{"),
            std::string::npos);
  EXPECT_NE(text.find("hitcount:       1000  mask.p50:        499  mask.p90:        903  "
                      "mask.p99:        983  mask.p99.9:        999  mask.max:        999\n"),
            std::string::npos)
      << text;
}

TEST(HistText, CountersAreASumAndTheirRanges) {
  MaskHist mask;
  mask.value(&kMask, kHistCounters);
  std::vector<uint64_t> counters(kQuantileBuckets);
  counters[3] = 9;
  counters[quantile_bucket(1000)] = 1;
  mask.contents.add({1}, {10, 1027});
  mask.contents.counters[0] = counters;
  const std::string text = mask.text();
  EXPECT_NE(
      text.find("#\n# counters of mask: its sum, and RANGE=HITS for each range of .quantiles\n"
                "#\n\n{"),
      std::string::npos)
      << text;
  EXPECT_EQ(mask.lines(),
            "{ mask:          1 } hitcount:         10  mask.counters: sum=1027,3=9,190=1\n");
}

TEST(HistText, QuantilesAndCountersStandBesideEachOther) {
  MaskHist mask;
  mask.value(&kMask, kHistQuantiles);
  mask.value(&kMask, kHistCounters);
  std::vector<uint64_t> counters(2 * kQuantileBuckets);
  counters[7] = 2;
  counters[kQuantileBuckets + 8] = 3;
  mask.contents.add({1}, {3, 14, 24});
  mask.contents.counters[0] = counters;
  EXPECT_EQ(
      mask.lines(),
      "{ mask:          1 } hitcount:          3  mask.p50:          7  mask.p90:          7  "
      "mask.p99:          7  mask.p99.9:          7  mask.max:          7  "
      "mask.counters: sum=24,8=3\n");
}

TEST(HistText, QuantilesOfNumbersWithASign) {
  const EventField result = hist_event_field("int", "r", 4, true);
  MaskHist mask;
  mask.value(&result, kHistQuantiles);
  mask.value(&kMask, kHistCounters);
  std::vector<uint64_t> counters(3 * kQuantileBuckets);
  counters[signed_quantile_bucket(uint64_t(-11))] = 9;
  counters[7] = 1;
  counters[2 * kQuantileBuckets + 8] = 3;
  mask.contents.add({1}, {10, uint64_t(-92), 24});
  mask.contents.counters[0] = counters;
  EXPECT_EQ(mask.lines(),
            "{ mask:          1 } hitcount:         10  r.p50:        -11  r.p90:        -11  "
            "r.p99:          7  r.p99.9:          7  r.max:          7  "
            "mask.counters: sum=24,8=3\n");
}

TEST(HistText, QuantilesOfSmallNumbersAreExact) {
  MaskHist mask;
  mask.value(&kMask, 0);
  mask.value(&kMask, kHistQuantiles);
  std::vector<uint64_t> counters(kQuantileBuckets);
  counters[3] = 9;
  counters[60] = 1;
  mask.contents.add({1}, {10, 87, 87});
  mask.contents.counters[0] = counters;
  EXPECT_EQ(mask.lines(),
            "{ mask:          1 } hitcount:         10  mask:         87  mask.p50:          3  "
            "mask.p90:          3  mask.p99:         60  mask.p99.9:         60  mask.max:         "
            "60\n");
}

}  // namespace
}  // namespace patchbay
