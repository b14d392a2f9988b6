// SPDX-License-Identifier: MIT
// The C++ API (patchbay/patchbay.hpp), answer by answer: results, instances, typed synthetic
// events, spans, probes and function events, subscriptions, callbacks. Prints one line for each
// thing that is not as it should be, and "ok"; without an agent "no agent". With the argument
// `no_value` or `ended` it uses a result that has no value, or one whose object is gone.
#include <patchbay/trace_event.h>

#include <cstdio>
#include <cstdlib>
#include <patchbay/patchbay.hpp>
#include <thread>
#include <vector>

// The names of the kernel are the program's own: patchbay.hpp has none of them.
#if defined(trace_printk) || defined(trace_puts) || defined(trace_dump_stack) || \
    defined(kprobe_event_gen_cmd_start) || defined(_THIS_IP_) || defined(trace_array_for_each)
#error "patchbay.hpp defines a macro of the kernel's name"
#endif
namespace own {
struct module {
  int tracing_on, trace_puts;
};
}  // namespace own
enum module { kOwnModule };
struct ftrace_ops {
  char not_the_kernels;
};
int tracing_on(int value) { return value + 1; }

using namespace patchbay;

PB_TRACE_EVENT(net, link_change, PB_FIELDS(PB_FIELD(int, state), PB_STRING(name)));

extern "C" {
[[gnu::noinline]] long watched(long number, const char* text) {
  asm volatile("" : "+r"(number) : "r"(text) : "memory");
  return number + text[0];
}
[[gnu::noinline]] long other_watched(long number) {
  asm volatile("" : "+r"(number));
  return number + 1;
}
}

namespace own {
[[gnu::noinline]] long inner(long number) {
  asm volatile("" : "+r"(number));
  return number + 1;
}
[[gnu::noinline]] long a_function_whose_name_is_longer_than_what_stands_before_an_equals_sign(
    long number) {
  asm volatile("" : "+r"(number));
  return number + 1;
}
}  // namespace own

namespace {

int failures;
#define EXPECT(...)                                                 \
  do {                                                              \
    if (!(__VA_ARGS__)) {                                           \
      std::printf("line %d: not so: %s\n", __LINE__, #__VA_ARGS__); \
      failures++;                                                   \
    }                                                               \
  } while (0)

// The text of the one line of a trace that has `wanted`, from there on; "": there is none, or more.
std::string line_of(const instance& array, const std::string& wanted) {
  auto text = array.read("trace");
  if (!text) return "";
  const size_t at = text->find(wanted);
  if (at == text->npos || text->find(wanted, at + 1) != text->npos) return "";
  return text->substr(at, text->find('\n', at) - at);
}

void results() {
  result<int> good = 5, bad = error_number(-EBUSY);
  EXPECT(good && *good == 5 && good.error().code() == 0);
  EXPECT(!bad && bad.error().code() == EBUSY && bad.error() == error_number(EBUSY));
  EXPECT(std::string_view(bad.error().message()) == std::strerror(EBUSY));
  EXPECT(std::move(bad).value_or(7) == 7);
  EXPECT(std::move(good).and_then([](int x) { return result<long>(x * 2L); }).value() == 10);
  EXPECT(result<void>::of(0) && !result<void>::of(-EINVAL));
  result<int> six = 6;
  EXPECT(six.transform([](int x) { return x + 0.5; }).value() == 6.5);
  EXPECT(six.transform([](int) {}).has_value());
  EXPECT(result<int>(failure(EBUSY)).or_else([](failure) { return result<int>(8); }).value() == 8);
  EXPECT(result<int>(failure(EBUSY)).transform([](int x) { return x; }).error().code() == EBUSY);
  EXPECT(result<int>(failure(EBUSY))
             .transform_error([](failure) { return failure(EPERM, "not today"); })
             .error()
             .message() == std::string("not today"));
  EXPECT(result<void>().and_then([] { return result<int>(1); }).value() == 1);
  EXPECT(tracing_on(1) == 2 && sizeof(::ftrace_ops) == 1 && sizeof(own::module) == 8);
  auto text = read("tracing_on");
  EXPECT(text && *text == "1\n");
  EXPECT(read("no_such_file").error().code() == ENOENT);
  EXPECT(read("README", 5)->size() == 5);
  EXPECT(write("trace_clock", "sundial").error().code() == EINVAL);
}

bool says(const failure& why, std::string_view part) {
  const bool found = std::string_view(why.message()).find(part) != std::string_view::npos;
  if (!found) std::printf("the message: %s\n", why.message());
  return found;
}

// What was wrong stands in the result, whatever other threads do meanwhile.
void sentences() {
  EXPECT(says(instance::top().set_filter("net:link_change", "stat > 1").error(), "stat"));
  EXPECT(says(instance::top().enable("net:no_such").error(), "net:no_such"));
  EXPECT(says(instance::top().enable("net").error(), "SYSTEM:EVENT"));
  EXPECT(says(subscribe<field<int, "sate">>("net:link_change", [](int) {}).error(),
              "\"sate\"; its fields are: state, name"));
  EXPECT(says(
      subscribe<field<int, "state">>("net:link_change", [](int) {}, {.instance = "none"}).error(),
      "no instance \"none\""));
  EXPECT(says(probe::at("x", "no_such_function").create().error(), "no_such_function"));
  EXPECT(says(synthetic_event<field<int, "a">>::create("no name").error(), "name"));
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++)
    threads.emplace_back([i] {
      const std::string name = "missing_" + std::to_string(i);
      for (int k = 0; k < 100; k++)
        EXPECT(says(find_field("net:" + name, "x").error(), name + "."));
    });
  for (std::thread& thread : threads) thread.join();
}

// A refusal that has no sentence of its own is not given an earlier call's.
void no_earlier_sentences() {
  using event = synthetic_event<field<int, "a">>;
  const auto refuse = [] { EXPECT(says(instance::top().enable("no:such").error(), "no:such")); };
  const auto is_plain = [](const auto& refused, int code) {
    return !refused && refused.error().code() == code &&
           std::string_view(refused.error().message()) == std::strerror(code);
  };
  refuse();
  EXPECT(is_plain(event::create("!x"), EINVAL));
  refuse();
  EXPECT(is_plain(event::create(std::string(5000, 'x')), E2BIG));
  refuse();
  EXPECT(is_plain(instance().enable("net:"), ENOENT));
  refuse();
  EXPECT(is_plain(instance().allocate_snapshot(), ENODEV));
  auto array = instance::create("silent");
  int plain = 0;
  auto callback = function_callback::on({"watched"}, [&](const function_call&) {
    plain += is_plain(array->enable("net:"), EDEADLK);
  });
  EXPECT(callback.has_value());
  refuse();
  watched(1, "\1");
  EXPECT(plain == 1);
}

void instances_made() {
  auto made = instance::create("made");
  EXPECT(made && made->name() == "made" && made->is_tracing());
  EXPECT(instance::create("made").error().code() == EEXIST);
  EXPECT(!instance::create("a/b"));
  EXPECT(made->write("buffer_size_kb", "64") && std::stoi(*made->read("buffer_size_kb")) < 80);
  EXPECT(made->enable("net:link_change"));
  EXPECT(made->enable("net:no_such").error().code() == EINVAL);
  PB_TRACE(link_change, 1, "eth0");
  EXPECT(made->disable("net:"));
  PB_TRACE(link_change, 2, "eth0");
  EXPECT(line_of(*made, "link_change: ") == "link_change: state=1 name=eth0");
  EXPECT(line_of(instance::top(), "link_change: ").empty());
  EXPECT(made->printk("%d and %s", 7, "text") > 0);
  EXPECT(line_of(*made, "7 and text") == "7 and text");
  EXPECT(made->allocate_snapshot() && made->clear_snapshot());
  EXPECT(made->printk("kept") > 0 && made->snapshot());
  EXPECT(line_of(*made, "kept").empty() &&
         made->read("snapshot")->find("kept") != std::string::npos);
  made->tracing_off();
  EXPECT(!made->is_tracing() && instance::top().is_tracing());
  made->tracing_on();
  EXPECT(made->is_tracing());
  instance moved = std::move(*made);
  EXPECT(moved.name() == "made" && made->name().empty());
  EXPECT(made->write("tracing_on", "0").error().code() == EINVAL && made->printk("x") == -ENOENT);
  moved = instance();
  EXPECT(!read("instances/made/trace"));
  { auto kept = instance::get("kept"); }
  EXPECT(read("instances/kept/trace"));
  EXPECT(instance::get("kept"));
  instance top = instance::top();
  EXPECT(top.printk("of the top: %#x", 255) > 0);
  EXPECT(line_of(top, "of the top") == "of the top: 0xff");
}

// An instance that somebody uses at the end of its object goes with its last user.
void instances_end() {
  auto event = synthetic_event<field<int, "x">>::create("used");
  EXPECT(event.has_value());
  synthetic_event<field<int, "x">>::file file;
  {
    auto short_lived = instance::create("short_lived");
    EXPECT(short_lived && short_lived->enable("synthetic:used"));
    file = *event->in(*short_lived);
    EXPECT(file.is_wanted());
  }
  EXPECT(!file.is_wanted() && read("instances/short_lived/trace"));
  EXPECT(says(instance::create("short_lived").error(), "still used"));
  EXPECT(instance::get("short_lived")->is_tracing());  // which stays then
  file = {};
  EXPECT(read("instances/short_lived/trace"));
  {
    auto again = instance::create("ended");
    file = *event->in(*again);
  }
  file = {};
  EXPECT(!read("instances/ended/trace") && instance::create("ended"));
}

void all_instances() {
  auto one = instance::create("one_of_all");
  std::string names;
  for (const instance& array : instances()) names += "/" + array.name();
  EXPECT(names.starts_with("/") && names.find("/one_of_all") != names.npos);
  EXPECT(one->enable("net:link_change"));
  EXPECT(*one->wait(std::chrono::milliseconds(1)) == false);
  std::thread later([] { PB_TRACE(link_change, 7, "later"); });
  EXPECT(*one->wait(std::chrono::milliseconds(1LL << 32)) == true);  // no int
  later.join();
  EXPECT(!line_of(*one, "state=7 name=later").empty());
  EXPECT(one->clear() && line_of(*one, "state=7").empty());
  EXPECT(one->set_filter("net:link_change", "state > 10"));
  PB_TRACE(link_change, 8, "filtered");
  EXPECT(one->clear_filter("net:link_change"));
  EXPECT(one->add_trigger("net:link_change", "traceoff if state == 9"));
  PB_TRACE(link_change, 9, "last");
  EXPECT(!one->is_tracing());
  EXPECT(line_of(*one, "filtered").empty() && !line_of(*one, "name=last").empty());
  one->tracing_on();
  EXPECT(one->remove_trigger("net:link_change", "traceoff if state == 9"));
  EXPECT(one->add_trigger("net:link_change", "hist:keys=name,state:vals=state"));
  for (int state : {3, 3, 4}) PB_TRACE(link_change, state, "eth0, x: {a}");
  auto hists = one->hists("net:link_change");
  EXPECT(hists && hists->size() == 1);
  const hist_table& table = hists->at(0);
  EXPECT(table.hits == 3 && table.entries == 2 && table.dropped == 0 && table.rows.size() == 2);
  EXPECT(table.definition.starts_with("hist:keys=name,state:") && table.is_active);
  EXPECT(table.rows[1].key_of("name") == "eth0, x: {a}" && table.rows[1].key_of("state") == "3");
  EXPECT(table.rows[1].value_of("hitcount") == 2 && table.rows[1].value_of("state") == 6);
  EXPECT(one->add_trigger("net:link_change", "hist:keys=stacktrace:vals=state"));
  PB_TRACE(link_change, 5, "eth0");
  hists = one->hists("net:link_change");
  EXPECT(hists && hists->size() == 2 && hists->at(1).rows.size() == 1);
  EXPECT(hists->at(1).rows[0].value_of("state") == 5 && hists->at(0).hits == 4);
  EXPECT(hists->at(1).rows[0].key[0].second.find("all_instances") != std::string::npos);
  EXPECT(one->clear_triggers("net:link_change"));
  EXPECT(one->hists("net:link_change")->empty());
}

struct Order {
  int id;
  char item[8];
  const char* note;
};
enum class Colour : unsigned char { kRed = 3 };

void synthetic_events() {
  using Mixed =
      synthetic_event<field<int, "fd">, field<std::string_view, "path">, field<char[8], "comm">,
                      field<std::chrono::microseconds, "us">, field<bool, "yes">,
                      field<Colour, "colour">, field<unsigned short, "port">>;
  auto event = Mixed::create("mixed");
  EXPECT(event && event->name() == "mixed");
  if (!event) return;
  EXPECT(Mixed::create("mixed").error().code() == EEXIST);
  EXPECT(!Mixed::create("not a name"));
  EXPECT(!event->is_wanted());
  using namespace std::chrono_literals;
  const std::string path = "/a/path";
  EXPECT(event->trace(1, path, "comm", 5us, true, Colour::kRed, 80) == 0);
  EXPECT(event->enable() && event->is_wanted());
  EXPECT(event->trace(-2, path, "too long a name", 5ms, true, Colour::kRed, 4464) == 0);
  const std::string line = line_of(instance::top(), "mixed: ");
  EXPECT(line == "mixed: fd=-2 path=/a/path comm=too long us=5000 yes=1 colour=3 port=4464");
  const char not_ended[4] = {'a', 'b', 'c', 'd'};
  EXPECT(event->trace(3, std::string_view("viewed", 4), not_ended, 0s, false, Colour(), 1) == 0);
  EXPECT(line_of(instance::top(), "mixed: fd=3") ==
         "mixed: fd=3 path=view comm=abcd us=0 yes=0 colour=0 port=1");
  auto array = instance::create("elsewhere");
  auto there = event->in(*array);
  EXPECT(there && there->trace(4, "", "", 0us, false, Colour(), 1) == 0 && !there->is_wanted());
  EXPECT(array->enable("synthetic:mixed") && there->is_wanted());
  EXPECT(there->trace(5, "x", "y", 0us, false, Colour(), 1) == 0);
  EXPECT(!line_of(*array, "mixed: fd=5").empty() && line_of(instance::top(), "fd=5").empty());
  EXPECT(event->remove().error().code() == EBUSY);
  EXPECT(array->disable("synthetic:mixed"));
  there = Mixed::file();
  EXPECT(event->remove() && event->remove());
  EXPECT(event->trace(1, "", "", 0us, false, Colour(), 1) == -EINVAL);
  EXPECT(instance::top().enable("synthetic:mixed").error().code() == EINVAL);
}

// An event goes with its object, whoever has it enabled, and may be made again at once.
void events_end() {
  using Event = synthetic_event<field<short, "x">>;
  auto other = instance::create("other");
  auto fetched = probe::at("probe_mine", "watched").argument("n", 1, "s64").create();
  Event::file held;
  std::optional<subscription> listening;
  int heard = 0;
  for (short i = 0; i < 3; i++) {
    auto mine = Event::create("mine");
    auto probe_mine = probe::at("mine", "watched").argument("n", 1, "s64").create();
    auto function_mine = function_event("watched").argument("long", "n").create();
    if (!function_mine) std::printf("round %d: %s\n", i, function_mine.error().message());
    EXPECT(mine && probe_mine && function_mine);
    if (!mine || !probe_mine || !function_mine) return;
    for (const char* event : {"synthetic:mine", "kprobes:mine", "functions:watched"})
      EXPECT(other->enable(event));
    EXPECT(other->add_trigger("synthetic:mine", "hist:keys=x"));
    listening = *subscribe<field<short, "x">>("synthetic:mine", [&](short x) { heard += x; });
    held = *mine->in(*other);
    EXPECT(held.trace(short(-2 - i)) == 0);
    watched(1, "\1");
    EXPECT(mine->remove().error().code() == EBUSY);
  }
  EXPECT(heard == 0);  // not in the top instance
  EXPECT(held.trace(1) == -ENODEV && !held.is_wanted());
  EXPECT(!line_of(*other, "mine: x=-2").empty() && !line_of(*other, "mine: x=-4").empty());
  EXPECT(!read("events/synthetic/mine/format") && !read("events/kprobes/mine/format"));
  EXPECT(!read("events/functions/watched/format") && read("events/kprobes/probe_mine/format"));
  // One of the name that somebody else has made stays.
  auto first = Event::create("mine");
  EXPECT(write("synthetic_events", "!mine").error().code() == EBUSY && first->remove());
  auto second = Event::create("mine");
  first = Event();
  EXPECT(read("events/synthetic/mine/format"));
}

void reals() {
  auto reals = synthetic_event<field<double, "load">, field<float, "part">>::create("reals");
  EXPECT(reals && reals->enable());
  int heard = 0;
  auto listening = subscribe<field<double, "load">, field<float, "part">>(
      "synthetic:reals", [&](double load, float part) { heard += load == 2.5 && part == -0.25f; });
  EXPECT(listening.has_value());
  EXPECT(reals->trace(2.5, -0.25f) == 0 && reals->trace(3, 1.5) == 0);
  EXPECT(line_of(instance::top(), "reals: load=2") == "reals: load=2.5 part=-0.25" && heard == 1);
  EXPECT(!line_of(instance::top(), "reals: load=3 part=1.5").empty());
  EXPECT(says(subscribe<field<long, "load">>("synthetic:reals", [](long) {}).error(),
              "\"load\" of synthetic:reals is a floating-point number of 8 bytes"));
  EXPECT(instance::top().set_filter("synthetic:reals", "load > 2.5"));
  EXPECT(says(instance::top().set_filter("synthetic:reals", "load & 2").error(), "Illegal"));
  for (const char* hist : {"hist:keys=load", "hist:keys=common_pid:vals=part"})
    EXPECT(says(instance::top().add_trigger("synthetic:reals", hist).error(), "floating-point"));
  EXPECT(!write("synthetic_events", "no_reals double x"));
}

// What an event is believed to have is compared with its format.
void types_of_fields() {
  const auto none = [](auto) {};
  EXPECT(says(subscribe<field<int, "name">>("net:link_change", none).error(),
              "\"name\" of net:link_change is a text or an array of any length, not a signed"));
  EXPECT(says(subscribe<field<std::string_view, "state">>("net:link_change", none).error(),
              "is a signed number of 4 bytes, not a text"));
  EXPECT(says(subscribe<field<short, "state">>("net:link_change", none).error(), "4 bytes, not"));
  EXPECT(!subscribe<field<unsigned, "state">>("net:link_change", none));
  EXPECT(!subscribe<field<double, "state">>("net:link_change", none));
  EXPECT(subscribe<field<long, "state">>("net:link_change", none));
  EXPECT(says(event_file<field<int, "state">>::open("net:link_change").error(), "no synthetic"));
  auto two = synthetic_event<field<int, "a">, field<char[8], "b">>::create("two");
  EXPECT(two.has_value());
  EXPECT((event_file<field<short, "a">, field<std::string_view, "b">>::open("synthetic:two")));
  EXPECT(says((event_file<field<long, "a">, field<char[8], "b">>::open("synthetic:two").error()),
              "\"a\" of synthetic:two is a signed number of 4 bytes"));
  EXPECT(says((event_file<field<int, "a">, field<int, "b">>::open("synthetic:two").error()),
              "\"b\" of synthetic:two is a text of 8 bytes"));
  EXPECT(says((event_file<field<char[8], "b">, field<int, "a">>::open("synthetic:two").error()),
              "stands before"));
  EXPECT(says((event_file<field<int, "a">>::open("synthetic:two").error()), "2 fields, not 1"));
}

void events_of_members() {
  using Orders = synthetic_event<member<&Order::id, "id">, member<&Order::item, "item">,
                                 member<&Order::note, "note">>;
  auto orders = Orders::create("orders");
  using Ids = synthetic_event<member<&Order::id, "id">>;
  auto ids = Ids::create("ids");
  EXPECT(orders && ids && orders->enable() && ids->enable());
  const Order order = {17, {'f', 'u', 'l', 'l', 't', 'e', 'x', 't'}, "a note"};
  EXPECT(orders->trace(order) == 0 && ids->trace(order) == 0 && ids->trace(18) == 0);
  EXPECT(line_of(instance::top(), "orders: ") == "orders: id=17 item=fulltext note=a note");
  EXPECT(!line_of(instance::top(), "ids: id=17").empty());
  EXPECT(!line_of(instance::top(), "ids: id=18").empty());
  synthetic_event<field<std::span<const unsigned long>, "stack">> stacks;
  EXPECT(stacks.trace(std::span<const unsigned long>()) == -EINVAL);  // no event
  stacks = *synthetic_event<field<std::span<const unsigned long>, "stack">>::create("stacks");
  EXPECT(stacks.enable());
  const unsigned long addresses[] = {reinterpret_cast<unsigned long>(&watched), 17};
  EXPECT(stacks.trace(std::span<const unsigned long>(addresses)) == 0);
  EXPECT(instance::top().read("trace")->find("=> watched") != std::string::npos);
}

void spans() {
  using Parse = span_event<field<int, "size">, field<std::string, "what">>;
  auto parse = Parse::create("parse");
  EXPECT(parse.has_value());
  { auto off = parse->begin(1, "off"); }
  EXPECT(parse->enable());
  {
    auto span = parse->begin(1, "first");
    span.value<0>() = 10;
    span.value<"size">() += 1;
    auto inner = parse->begin(2, "second");
  }
  auto ended = parse->begin(3, "third");
  EXPECT(ended.end() == 0 && ended.end() == 0);
  {
    auto cancelled = parse->begin(4, "fourth");
    cancelled.cancel();
  }
  const std::string trace = *instance::top().read("trace");
  unsigned long long begin[2], duration[2];
  const size_t first = trace.find("parse: "), second = trace.find("parse: ", first + 1);
  EXPECT(second != trace.npos);
  if (second == trace.npos) return;
  EXPECT(std::sscanf(&trace[first], "parse: begin_ns=%llu duration_ns=%llu size=2 what=second",
                     &begin[1], &duration[1]) == 2);
  EXPECT(std::sscanf(&trace[second], "parse: begin_ns=%llu duration_ns=%llu size=11 what=first",
                     &begin[0], &duration[0]) == 2);
  EXPECT(begin[0] <= begin[1] && begin[1] + duration[1] <= begin[0] + duration[0]);
  EXPECT(trace.find("what=third") != trace.npos && trace.find("fourth") == trace.npos);
  EXPECT(trace.find("what=off") == trace.npos);
  *parse = *Parse::create("parse_again");
  EXPECT(!read("events/synthetic/parse/format") && read("events/synthetic/parse_again/format"));
}

void probes() {
  const probe wanted = probe::at("cpp/entered", "watched")
                           .argument("number", 1, "s64")
                           .field("text", "+0(%si)", "string");
  EXPECT(wanted.text() == "p:cpp/entered watched number=$arg1:s64 text=+0(%si):string");
  auto entered = wanted.create();
  auto left = probe::at_return_of("left", "watched").returned("sum", "s64").create();
  EXPECT(entered && left && left->system() == "kprobes");
  EXPECT(wanted.create().error().code() == EEXIST);
  EXPECT(probe::at("x", "no_such_function").create().error().code() == EINVAL);
  EXPECT(entered->enable() && left->enable());
  EXPECT(watched(17, "A text") == 82);
  EXPECT(line_of(instance::top(), "number=") == "number=17 text=\"A text\"");
  EXPECT(line_of(instance::top(), "sum=") == "sum=82");
  EXPECT(entered->remove() && !read("events/cpp/entered/format"));
  EXPECT(watched(18, "B") == 84);
  auto made = function_event("watched").argument("long", "number").argument("string", "text");
  EXPECT(made.text() == "watched(long number, string text)");
  auto event = made.create();
  EXPECT(event && event->enable());
  EXPECT(watched(19, "C") == 86);
  EXPECT(!line_of(instance::top(), "number=19").empty());
  EXPECT(function_event("open").skip().argument("int", "x", "[2]").also("u32", "y").text() ==
         "open(NULL, int x[2] | u32 y)");
  EXPECT(function_event("watched").argument("blob", "b").create().error().code() == EINVAL);
}

// Whatever the function is called: the object is the event's, which goes with it.
void names_of_function_events() {
  const std::string longest =
      "own::a_function_whose_name_is_longer_than_what_stands_before_an_equals_sign";
  const std::pair<std::string, std::string> names[] = {{"own::inner", "own_inner"},
                                                       {"api_cpp:watched", "watched"},
                                                       {"named=watched", "named"},
                                                       {"named = own::inner", "named"},
                                                       {longest, ""}};
  for (const auto& [function, name] : names) {
    std::string made;
    {
      auto event = function_event(function).argument("long", "number").create();
      if (!event) std::printf("%s: %s\n", function.c_str(), event.error().message());
      EXPECT(event && event->enable());
      if (!event) continue;
      made = event->name();
      EXPECT((name.empty() || made == name) && read("events/functions/" + made + "/format"));
      (void)instance::top().clear();
      watched(171, "C"), own::inner(171);
      own::a_function_whose_name_is_longer_than_what_stands_before_an_equals_sign(171);
      EXPECT(!line_of(instance::top(), "number=171").empty());
      if (function == "named=watched") EXPECT(event->remove());
    }
    EXPECT(!read("events/functions/" + made + "/format"));
  }
}

void subscriptions() {
  long sum = 0, viewed = 0;
  std::string names;
  auto typed = subscribe<field<int, "state">, field<std::string_view, "name">>(
      "net:link_change", [&](int state, std::string_view name) {
        sum += state;
        names += name;
      });
  auto filtered = subscribe<field<int, "state">>(
      "net:link_change",
      [&](record_view record, int state) { viewed += state * (record.pid() != 0); },
      {.filter = "state > 5"});
  auto plain = subscribe("net:link_change", [](record_view) { PB_TRACE(link_change, 99, ""); });
  EXPECT(typed && filtered && plain);
  if (!typed || !filtered || !plain) return;
  PB_TRACE(link_change, 3, "eth0");
  PB_TRACE(link_change, 6, "wlan");
  EXPECT(sum == 9 && names == "eth0wlan" && viewed == 6 && plain->missed() == 2);
  subscription moved = std::move(*typed);
  EXPECT(moved.is_active() && !typed->is_active() && typed->missed() == 0);
  EXPECT(filtered->end() && filtered->end());
  PB_TRACE(link_change, 7, "x");
  EXPECT(sum == 16 && viewed == 6);
  moved = subscription();
  PB_TRACE(link_change, 8, "y");
  EXPECT(sum == 16);
  auto none = [](int) {};
  EXPECT(subscribe<field<int, "no">>("net:link_change", none).error().code() == ENOENT);
  EXPECT(subscribe<field<int, "state">>("net:no", none).error().code() == EINVAL);
  EXPECT(
      subscribe<field<int, "state">>("net:link_change", none, {.filter = "a b"}).error().code() ==
      EINVAL);
  auto array = instance::create("heard");
  EXPECT(subscribe<field<int, "state">>("net:link_change", none, {.instance = *array}));
  EXPECT(find_field("net:link_change", "common_pid").has_value());
}

void function_callbacks() {
  long calls = 0, sum = 0;
  auto callback = function_callback::on({"watched", "other_*"}, [&](const function_call& call) {
    calls++;
    sum += call.argument<long>(0);
    if (call.ip() == reinterpret_cast<unsigned long>(&watched))
      sum += *call.argument<const char*>(1);
    EXPECT(call.parent_ip() != 0);
  });
  EXPECT(callback.has_value());
  if (!callback) return;
  watched(1, "\2");
  other_watched(10);
  EXPECT(calls == 2 && sum == 13 && callback->missed() == 0);
  EXPECT(function_callback::on({"no_such_function"}, [](const function_call&) {}).error().code() ==
         EINVAL);
  function_callback moved = std::move(*callback);
  EXPECT(moved.end() && moved.end());
  watched(1, "\2");
  EXPECT(calls == 2);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++)
    threads.emplace_back([] {
      for (int j = 0; j < 20000; j++) other_watched(j);
    });
  for (int i = 0; i < 50; i++) {
    long inside = 0;
    auto passing = function_callback::on(
        {"other_watched"}, [&](const function_call&) { __atomic_add_fetch(&inside, 1, 0); });
    EXPECT(passing && passing->end());
    const long at_end = inside;
    other_watched(1);
    EXPECT(inside == at_end);
  }
  for (std::thread& thread : threads) thread.join();
}

/* A function object that ends itself: refused where the function was hit, and still there then. */
void end_inside() {
  std::optional<function_callback> callback;
  std::optional<subscription> hits;
  int refused = 0, listened = 0;
  std::string owned(100, 'x');
  auto made = function_callback::on({"watched"}, [&, owned](const function_call&) {
    refused += callback->end().error().code() == EDEADLK && owned == std::string(100, 'x');
  });
  EXPECT(made.has_value());
  callback.emplace(std::move(*made));
  watched(1, "\1");
  watched(1, "\1");
  EXPECT(refused == 2 && callback->end());
  auto event = function_event("watched").argument("long", "n").create();
  EXPECT(event.has_value());
  auto heard = subscribe("functions:watched", [&, owned](record_view) {
    listened += hits->end().error().code() == EDEADLK && hits->is_active() && owned.back() == 'x';
    if (listened == 2) hits.reset();
  });
  EXPECT(heard.has_value());
  hits.emplace(std::move(*heard));
  for (int i = 0; i < 2; i++) watched(1, "\1");
  EXPECT(listened == 2 && !hits);
}

void no_agent() {
  EXPECT(instance::create("x").error().code() == ESRCH);
  EXPECT(synthetic_event<field<int, "x">>::create("x").error().code() == ESRCH);
  EXPECT(span_event<>::create("x").error().code() == ESRCH);
  EXPECT(probe::at("x", "watched").create().error().code() == ESRCH);
  EXPECT(subscribe("net:link_change", [](record_view) {}).error().code() == ESRCH);
  EXPECT(function_callback::on({"watched"}, [](const function_call&) {}).error().code() == ESRCH);
  EXPECT(synthetic_event<field<int, "x">>().trace(1) < 0);
  { auto span = span_event<>().begin(); }
}

// A result that is used though it has no value, or though its object is gone: the program is told
// before it ends.
int misuse(std::string_view how) {
  if (how == "no_value") return instance::create("a/b")->is_tracing();
  alignas(result<int>) static char place[sizeof(result<int>)];
  auto* ended = new (place) result<int>(5);
  ended->~result<int>();
  return **ended;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return misuse(argv[1]);
  if (!*patchbay_directory()) {
    no_agent();
    std::puts(failures ? "failed" : "no agent");
    return failures != 0;
  }
  results();
  sentences();
  no_earlier_sentences();
  instances_made();
  instances_end();
  all_instances();
  synthetic_events();
  events_end();
  reals();
  types_of_fields();
  events_of_members();
  spans();
  probes();
  names_of_function_events();
  subscriptions();
  function_callbacks();
  end_inside();
  std::puts(failures ? "failed" : "ok");
  return failures != 0;
}
