// SPDX-License-Identifier: MIT
// What no kernel at hand prints: return values, callers, arguments, repeated calls, and calls whose
// entry or exit is missing. Forms: docs/decisions.md, D9.
#include "output/tracer_text.h"

#include <gtest/gtest.h>

#include "abi/ftrace_records.h"
#include "event/ftrace_events.h"
#include "output/page_feed.h"
#include "output/trace_text.h"

namespace patchbay {
namespace {

using test::make_page;
using test::PageFeed;
using enum TraceOption;
using Events = std::vector<std::pair<uint64_t, std::string>>;

constexpr uint64_t kF = 0x1000, kG = 0x2000, kCaller = 0x3010;
constexpr char kKallsyms[] =
    "0000000000001000 t f\n0000000000002000 t g\n0000000000003000 t caller\n"
    "0000000000004000 t 0x4000\n";

std::string bytes_of(const auto& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
std::string args(const std::vector<uint64_t>& values) {
  std::string bytes;
  for (uint64_t value : values) bytes += bytes_of(value);
  return bytes;
}
std::string enter(uint64_t func, uint32_t depth, int32_t pid = 7,
                  const std::vector<uint64_t>& values = {}) {
  return bytes_of(abi::GraphEntryRecord{{abi::kGraphEntryId, 0, 0, pid}, func, depth, 0}) +
         args(values);
}
std::string enter_from(uint64_t func, uint32_t depth) {
  return bytes_of(
      abi::GraphRetaddrEntryRecord{{abi::kGraphRetaddrEntryId, 0, 0, 7}, func, depth, 0, kCaller});
}
std::string leave(uint64_t func, uint32_t depth, uint64_t retval, uint64_t ns, int32_t pid = 7) {
  return bytes_of(abi::GraphExitRecord{
      {abi::kGraphExitId, 0, 0, pid}, func, retval, depth, 0, 1000, 1000 + ns});
}
std::string function(uint64_t ip, int32_t pid = 7, const std::vector<uint64_t>& values = {}) {
  return bytes_of(abi::FunctionRecord{{abi::kFunctionId, 0, 0, pid}, ip, kCaller}) + args(values);
}

std::string print(Tracer tracer, const std::vector<TraceOption>& options, const Events& events,
                  TraceText::Mode mode = TraceText::Mode::kPipe, const ArgumentsOf& known = {}) {
  std::vector<EventCall> calls = ftrace_events();
  AddressNames names = AddressNames::from_kallsyms(kKallsyms);
  TraceTextSources sources;
  sources.arguments_of = known;
  sources.names = &names;
  sources.events = [&calls] {
    std::vector<const EventCall*> all;
    for (const EventCall& event : calls) all.push_back(&event);
    return all;
  };
  sources.comms = [] { return std::vector<abi::CommEntry>(); };
  sources.clock = [](TraceClock clock) {
    return TraceClockConvert(clock, abi::kClockMonotonic, {});
  };
  TraceArray array;
  array.tracer = tracer;
  for (TraceOption option : options) array.options.set(option, !array.options[option]);
  auto feed = std::make_unique<PageFeed>(2);
  feed->add(0, make_page(events));
  TraceText text(sources, array, std::move(feed), mode, {});
  std::string out;
  for (std::string part; !(part = text.next(65536)).empty();) out += part;
  return out;
}

struct GraphCase {
  const char* what;
  std::vector<TraceOption> options;
  Events events;
  const char* text;
};
void expect_graph(std::initializer_list<GraphCase> cases, const ArgumentsOf& known = {}) {
  for (const GraphCase& c : cases)
    EXPECT_EQ(print(Tracer::kFunctionGraph, c.options, c.events, TraceText::Mode::kPipe, known),
              c.text)
        << c.what;
}

// What function events say of the results of f() and g(); nothing of others.
ArgumentsOf results(const char* of_f, const char* of_g) {
  const auto arguments = [](const char* event) {
    return call_arguments(
        *parse_function_event(event, [](std::string_view) { return uint64_t{0}; }).def);
  };
  return [f = arguments(of_f), g = arguments(of_g)](uint64_t at) {
    return at == kF ? &f : at == kG ? &g : nullptr;
  };
}

TEST(TracerText, GraphValues) {
  expect_graph(
      {
          {"a leaf's value",
           {kFuncgraphRetval},
           {{1, enter(kF, 0)}, {2, leave(kF, 0, 0x1f, 500)}},
           " 0)   0.500 us    |  f(); /* = 0x1f */\n"},
          {"an error",
           {kFuncgraphRetval},
           {{1, enter(kF, 0)}, {2, leave(kF, 0, uint64_t(-22), 500)}},
           " 0)   0.500 us    |  f(); /* = -22 */\n"},
          {"an error as int",
           {kFuncgraphRetval},
           {{1, enter(kF, 0)}, {2, leave(kF, 0, 0xffffffea, 500)}},
           " 0)   0.500 us    |  f(); /* = -22 */\n"},
          {"hexadecimal on demand",
           {kFuncgraphRetval, kFuncgraphRetvalHex},
           {{1, enter(kF, 0)}, {2, leave(kF, 0, 0xffffffea, 500)}},
           " 0)   0.500 us    |  f(); /* = 0xffffffea */\n"},
          {"a negative number that is no error",
           {kFuncgraphRetval},
           {{1, enter(kF, 0)}, {2, leave(kF, 0, uint64_t(-5000), 500)}},
           " 0)   0.500 us    |  f(); /* = 0xffffffffffffec78 */\n"},
          {"a closing brace's value",
           {kFuncgraphRetval},
           {{1, enter(kF, 0)},
            {2, enter(kG, 1)},
            {3, leave(kG, 1, 0, 10)},
            {4, leave(kF, 0, 7, 20)}},
           " 0)               |  f() {\n"
           " 0)   0.010 us    |    g(); /* = 0x0 */\n"
           " 0)   0.020 us    |  } /* f = 0x7 */\n"},
          {"callers",
           {kFuncgraphRetaddr, kFuncgraphRetval},
           {{1, enter_from(kF, 0)},
            {2, enter_from(kG, 1)},
            {3, leave(kG, 1, 1, 10)},
            {4, leave(kF, 0, 7, 20)}},
           " 0)               |  f() { /* <-caller+0x10/0x1000 */\n"
           " 0)   0.010 us    |    g(); /* <-caller+0x10/0x1000 = 0x1 */\n"
           " 0)   0.020 us    |  } /* f = 0x7 */\n"},
      },
      results("int r = f()", "long r = g()"));
  expect_graph({
      {"arguments",
       {kFuncgraphArgs},
       {{1, enter(kF, 0, 7, {1, 0xff})}, {2, enter(kG, 1, 7, {3})}, {3, leave(kG, 1, 0, 10)}},
       " 0)               |  f(arg1=0x1, arg2=0xff) {\n"
       " 0)   0.010 us    |    g(arg1=0x3);\n"},
  });
}

// The register of a function that returns nothing, or something else, has no result. Where nobody
// says so it is marked.
TEST(TracerText, GraphValuesThatAreNone) {
  const Events events = {{1, enter(kF, 0)},
                         {2, enter_from(kG, 1)},
                         {3, leave(kG, 1, uint64_t(-2), 10)},
                         {4, leave(kF, 0, 7, 20)}};
  const std::vector<TraceOption> options = {kFuncgraphRetaddr, kFuncgraphRetval};
  const std::string f = " 0)               |  f() {\n",
                    g = " 0)   0.010 us    |    g(); /* <-caller", end = " 0)   0.020 us    |  }";
  struct Case {
    const char *of_f, *of_g, *shown_g, *shown_f;
  };
  for (const Case& c : {Case{"int r = f()", "x64 r = g()", " = -2 */\n", " /* f = 0x7 */\n"},
                        {"f()", "void = g()", " = -2? */\n", " /* f = 0x7? */\n"},
                        {"double r = f()", "float80 r = g()", " */\n", "\n"},
                        {"struct {long a} r = f()", "string r = g()", " = -2 */\n", "\n"}})
    EXPECT_EQ(print(Tracer::kFunctionGraph, options, events, TraceText::Mode::kPipe,
                    results(c.of_f, c.of_g)),
              f + g + "+0x10/0x1000" + c.shown_g + end + c.shown_f)
        << c.of_f << " " << c.of_g;
}

TEST(TracerText, GraphLines) {
  expect_graph({
      {"an exit without its entry",
       {},
       {{1, leave(kG, 1, 0, 10)}, {2, leave(kF, 0, 0, 20000)}},
       " 0)   0.010 us    |    } /* g */\n 0) + 20.000 us   |  } /* f */\n"},
      {"another thread's exit is no leaf's",
       {},
       {{1, enter(kF, 0, 7)}, {2, leave(kF, 0, 0, 10, 8)}},
       " 0)               |  f() {\n"
       " ------------------------------------------\n"
       " 0)    <...>-7     =>    <...>-8    \n"
       " ------------------------------------------\n\n"
       " 0)   0.010 us    |  }\n"},
      {"marks",
       {},
       {{1, enter(kF, 0)},
        {2, leave(kF, 0, 0, 10000)},
        {3, enter(kF, 0)},
        {4, leave(kF, 0, 0, 10001)},
        {5, enter(kF, 0)},
        {6, leave(kF, 0, 0, 1234567890)}},
       " 0)   10.000 us   |  f();\n 0) + 10.001 us   |  f();\n"
       " 0) $ 1234567 us  |  f();\n"},
  });
}

std::string without_columns(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at), colon = text.find(": ", at);
    out += text.substr(colon + 2, end - colon - 1);
    at = end + 1;
  }
  return out;
}

TEST(TracerText, Arguments) {
  EXPECT_EQ(without_columns(print(Tracer::kFunction, {}, {{1, function(kF, 7, {1, 2})}})),
            "f(arg1=0x1, arg2=0x2) <-caller\n");
}

// Names and types of a function event's prototype, over the words 1, 2, … but where said.
TEST(TracerText, ArgumentsByPrototype) {
  constexpr uint64_t kMinus3 = 0xfffffffd, kLarge = 0x1234567890abcdef;
  struct Case {
    const char* prototype;
    std::vector<uint64_t> words;
    const char* text;
  };
  const Case cases[] = {
      {"f(int n, unsigned int u)", {kMinus3, kMinus3}, "(n=-3, u=4294967293)"},
      {"f(s8 a, u8 b, x8 c, char d)",
       {kLarge, kLarge, kLarge, 'a'},
       "(a=-17, b=239, c=0xef, d=97)"},
      {"f(long a, u64 b, x64 c, size_t d)",
       {uint64_t(-4), 5, kLarge, 6},
       "(a=-4, b=5, c=0x1234567890abcdef, d=6)"},
      {"f(string s, symbol g, int a[2], int b[1])",
       {kLarge, 1, 2, 3},
       "(s=0x1234567890abcdef, g=0x1, a=0x2, b=0x3)"},
      {"f(int n | string text)", {7}, "(n=7)"},
      {"f(NULL, double d, int n)", {9, 8}, "(arg1=0x9, d=?, n=8)"},
      {"f(int a, int b, int c, int d, int e, int f)",
       {1, 2, 3, 4, 5, 6},
       "(a=1, b=2, c=3, d=4, e=5, f=6)"},
      {"f(int n, int m)", {1}, "(n=1, m=?)"},
      {"f()", {1, 2}, "()"},
      {"f(int n)", {}, "()"},
  };
  for (const Case& c : cases) {
    auto parsed = parse_function_event(c.prototype, [](std::string_view) { return uint64_t{0}; });
    ASSERT_TRUE(parsed.def) << c.prototype;
    const CallArguments arguments = call_arguments(*parsed.def);
    const ArgumentsOf of = [&](uint64_t at) { return at == kF ? &arguments : nullptr; };
    TextContext context;
    context.arguments_of = &of;
    const std::string words = args(c.words);
    std::string text;
    append_arguments(&text, {reinterpret_cast<const uint8_t*>(words.data()), words.size()}, kF,
                     &context);
    EXPECT_EQ(text, c.text) << c.prototype;
  }
}

// What no prototype of a function event says: forms of debug information.
TEST(TracerText, ArgumentsByType) {
  using Show = CallArgument::Show;
  const CallArguments arguments = {{"yes", Show::kBool, 1, {0, -1}},
                                   {"pair", Show::kAggregate, 16, {1, 2}},
                                   {"short", Show::kAggregate, 12, {3, 4}},
                                   {"mixed", Show::kAggregate, 16, {-1, 5}},
                                   {"", Show::kMore, 8, {-1, -1}}};
  const ArgumentsOf of = [&](uint64_t) { return &arguments; };
  TextContext context;
  context.arguments_of = &of;
  const std::string words = args({0xff00, 1, 2, 3, 0x1122334455667788, 6});
  std::string text;
  append_arguments(&text, {reinterpret_cast<const uint8_t*>(words.data()), words.size()}, kF,
                   &context);
  EXPECT_EQ(text, "(yes=false, pair=[0x1:0x2], short=[0x3:0x55667788], mixed=[?:0x6], ...)");
}

TEST(TracerText, RepeatsAreCounted) {
  const Events events = {{1000, function(kF)}, {2000, function(kF)},    {3000, function(kF)},
                         {4000, function(kG)}, {5000, function(kG, 8)}, {6000000, function(kG, 8)}};
  const char* merged =
      "f <-caller\nf <-caller (repeats: 2, last_ts:     0.000003)\ng <-caller\ng <-caller\n"
      "g <-caller (repeats: 1, last_ts:     0.006000)\n";
  EXPECT_EQ(without_columns(print(Tracer::kFunction, {kFuncNoRepeats}, events)), merged);
  EXPECT_EQ(without_columns(print(Tracer::kFunction, {}, events)),
            "f <-caller\nf <-caller\nf <-caller\ng <-caller\ng <-caller\ng <-caller\n");
}

// A kernel's own record of them.
TEST(TracerText, RecordsOfRepeats) {
  const std::string repeats =
      bytes_of(abi::FuncRepeatsRecord{{abi::kFuncRepeatsId, 0, 0, 7}, kF, kCaller, 5, 0, 1000000});
  EXPECT_EQ(without_columns(print(Tracer::kFunction, {}, {{3000000, repeats}})),
            "f <-caller (repeats: 5, last_ts:     0.002000)\n");
}

}  // namespace
}  // namespace patchbay
