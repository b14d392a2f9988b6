/* SPDX-License-Identifier: MIT
 *
 * The in-process API for C++20: objects that remove at their end what they made, events whose
 * fields have types, spans, callbacks that are lambdas. It stands on the headers for C
 * (trace_events.h, trace.h, ftrace.h, subscribe.h), which say what each call may do and where.
 * docs/api.md begins with the tasks of a program.
 *
 *   using opened = patchbay::synthetic_event<patchbay::field<int, "fd">,
 *                                            patchbay::field<std::string_view, "path">>;
 *   auto event = opened::create("opened");          // result<opened>
 *   if (!event) return complain(event.error().message());
 *   event->enable();
 *   event->trace(fd, path);
 *
 * Results are values. The only exception that is thrown is std::bad_alloc, and only by functions
 * that make, change or read something, never by those that record. The trace path takes no memory
 * and no lock: trace(), printk(), spans, and the views that a callback gets.
 *
 * Threads and signal handlers: each class says which of its functions several threads may call at
 * once ("Threads"), and which may be called in signal handlers. Signal handlers must not call any
 * other function. An object must not be moved or destroyed while another thread calls it.
 *
 * Events are named by one text, "SYSTEM:EVENT"; where several events are possible, "SYSTEM:" means
 * all of a system. All names are in the namespace patchbay, and all macros begin with PATCHBAY_.
 * The kernel's names come with the headers for C.
 *
 * Without an agent in the process every attempt to make something is refused with ESRCH. Objects
 * that were default-constructed or moved from record nothing.
 */
#ifndef PATCHBAY_PATCHBAY_HPP
#define PATCHBAY_PATCHBAY_HPP

#if __cplusplus <= 201703L
#error "patchbay.hpp needs C++20 (-std=c++20); the headers for C work with any C++"
#else

#include <patchbay/patchbay.h>
#include <patchbay/subscribe.h>
#include <time.h>
#include <patchbay/cpp/calls.hpp>
#include <patchbay/cpp/fields.hpp>
#include <patchbay/cpp/result.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <concepts>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace patchbay {

/* --- files of the tree ------------------------------------------------------------------------
 * Threads: yes. Signal handlers: no. */

/* Writes `text` to a file of the program's own tracefs, as echo TEXT >> FILE does. */
inline result<void> write(std::string_view path, std::string_view text) {
  const std::string line = std::string(text) + "\n";
  return result<void>::of(patchbay_write(std::string(path).c_str(), line.c_str()));
}

/* Replaces the content of a file, as echo TEXT > FILE does. With "" it removes the content. */
inline result<void> replace(std::string_view path, std::string_view text) {
  const std::string line = text.empty() ? std::string() : std::string(text) + "\n";
  return result<void>::of(patchbay_replace(std::string(path).c_str(), line.c_str()));
}

/* Reads a file once, and returns at most its first `most` bytes. */
inline result<std::string> read(std::string_view path, size_t most = size_t{256} << 20) {
  struct copied {
    char* text = nullptr;
    ~copied() { std::free(text); }
  } copy;
  /* It must not throw. */
  const auto take = [](const char* from, size_t size, void* to) {
    auto* into = static_cast<copied*>(to);
    into->text = static_cast<char*>(std::malloc(size + 1));
    if (into->text) std::memcpy(into->text, from, size);
  };
  const ssize_t length = patchbay_read_to(std::string(path).c_str(), most, take, &copy);
  if (length < 0) return detail::failed(int(length));
  if (!copy.text) return failure(ENOMEM);
  return std::string(copy.text, size_t(length));
}

namespace detail {

/* The two parts of "SYSTEM:EVENT". */
struct event_words {
  std::string system, event;
  bool has_colon;
  explicit event_words(std::string_view name) : has_colon(name.find(':') != name.npos) {
    const size_t colon = std::min(name.find(':'), name.size());
    system = name.substr(0, colon);
    event = name.substr(std::min(colon + 1, name.size()));
  }
  bool is_one() const { return has_colon && !system.empty() && !event.empty(); }
  std::string path() const { return "events/" + system + "/" + event + "/"; }
};
inline failure not_one_event(std::string_view name) {
  return failure(EINVAL, "\"" + std::string(name) +
                             "\" does not name one event: it is written as \"SYSTEM:EVENT\".");
}

}  // namespace detail

/* --- histograms as data ------------------------------------------------------------------------
 */

/* A row of a histogram, with texts as in the file hist. */
struct hist_row {
  std::vector<std::pair<std::string, std::string>> key;  /* field and value, in their order */
  std::vector<std::pair<std::string, long long>> values; /* "hitcount" first */

  /* Return "" or 0 when the row has no such field or value. */
  std::string_view key_of(std::string_view field) const {
    for (const auto& [name, text] : key)
      if (name == field) return text;
    return {};
  }
  long long value_of(std::string_view name) const {
    for (const auto& [other, number] : values)
      if (other == name) return number;
    return 0;
  }
};

/* One histogram. */
struct hist_table {
  std::string definition; /* "hist:keys=path:vals=hitcount:…" */
  bool is_active = true;  /* false: paused */
  std::vector<hist_row> rows = {};
  unsigned long long hits = 0, entries = 0, dropped = 0;
};

namespace detail {

inline bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n'))
    text.remove_suffix(1);
  return text;
}

/* "path: /index, status: 200", whose names stand in the definition. */
inline void parse_hist_key(std::string_view text, std::string_view definition, hist_row* row) {
  const size_t keys = definition.find("keys=");
  std::string_view names = keys == definition.npos ? "" : definition.substr(keys + 5);
  names = names.substr(0, names.find(':'));
  while (!text.empty()) {
    std::string_view word = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), word.size() + 1));
    const std::string_view next =
        names.substr(0, std::min(names.find_first_of(",."), names.size()));
    const size_t colon = std::min(text.find(':'), text.size());
    const size_t end = next.empty() ? text.npos : text.find(", " + std::string(next) + ":", colon);
    const std::string_view value =
        text.substr(std::min(colon + 1, text.size()), end == text.npos ? end : end - colon - 1);
    row->key.emplace_back(trimmed(text.substr(0, colon)), trimmed(value));
    if (end == text.npos) return;
    text.remove_prefix(end + 2);
  }
}

/* "hitcount:   2  size:   30" */
inline void parse_hist_values(std::string_view text, hist_row* row) {
  for (size_t colon; (colon = text.find(':')) != text.npos;) {
    const std::string_view name = trimmed(text.substr(0, colon));
    text = trimmed(text.substr(colon + 1));
    const std::string number(text.substr(0, text.find(' ')));
    row->values.emplace_back(name, std::strtoll(number.c_str(), nullptr, 0));
    text.remove_prefix(number.size());
  }
}

inline void parse_hist_total(std::string_view line, hist_table* table) {
  const auto number = [&](std::string_view name, unsigned long long* to) {
    if (line.starts_with(name))
      *to = std::strtoull(std::string(line.substr(name.size())).c_str(), nullptr, 10);
  };
  number("Hits: ", &table->hits);
  number("Entries: ", &table->entries);
  number("Dropped: ", &table->dropped);
}

/* The first line; a row whose key has newlines (a stack) is one. */
inline std::string_view first_hist_line(std::string_view text) {
  size_t end = text.find('\n');
  if (text.starts_with("{ "))
    end = text.find('\n', std::min(text.find("} hitcount:"), text.size()));
  return text.substr(0, end);
}

/* The text of a file hist. */
inline std::vector<hist_table> parse_hists(std::string_view text) {
  constexpr std::string_view info = "# trigger info: ";
  std::vector<hist_table> tables;
  while (!text.empty()) {
    const std::string_view line = first_hist_line(text);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with(info)) {
      const size_t state = std::min(line.rfind(" ["), line.size());
      tables.push_back({std::string(line.substr(0, state).substr(info.size())),
                        line.substr(state).find("active") != line.npos});
    }
    if (tables.empty()) continue;
    const size_t key_end = line.rfind("} hitcount:");
    if (line.starts_with("{ ") && key_end != line.npos) {
      hist_row& row = tables.back().rows.emplace_back();
      parse_hist_key(trimmed(line.substr(2, key_end - 2)), tables.back().definition, &row);
      parse_hist_values(line.substr(key_end + 2), &row);
    } else {
      parse_hist_total(trimmed(line), &tables.back());
    }
  }
  return tables;
}

}  // namespace detail

/* --- instances -------------------------------------------------------------------------------- */

/* A ring buffer of the program's own with its events, beside all others (instances/NAME).
 *   create()  makes an instance that ends with the object
 *   get()     finds the instance of that name, or makes it; it stays
 *   top()     is the instance of the root
 * Others may still use a created instance at the end of its object: a file of it is open, or there
 * is an event_file. Then the instance records nothing any more, and goes with its last user.
 * Threads: yes. Signal handlers: printk(), tracing_on(), tracing_off(), is_tracing(), name(). */
class instance {
 public:
  instance() = default;
  instance(instance&& other) noexcept { swap(other); }
  instance& operator=(instance&& other) noexcept {
    instance(std::move(other)).swap(*this);
    return *this;
  }
  ~instance() {
    if (name_.empty() || !handle_) return;
    c::trace_array_put(handle_);
    if (owned_) c::trace_array_end(handle_);
  }

  /* EEXIST: an instance has this name. EINVAL, ENAMETOOLONG: the name is bad. */
  static result<instance> create(std::string_view name) {
    ::trace_array* made = c::trace_array_create(std::string(name).c_str());
    if (const int answer = c::errno_of(made)) return detail::failed(answer);
    return open(name, nullptr, true);
  }
  /* `systems` restricts an instance that is made to the events of these systems, separated by
   * commas; "" means all. */
  static result<instance> get(std::string_view name, std::string_view systems = "") {
    const std::string only(systems);
    return open(name, only.empty() ? nullptr : only.c_str(), false);
  }
  static instance top() {
    instance array;
    array.handle_ = c::trace_array_next(nullptr);
    return array;
  }

  /* The name is "" for the top instance, and for an object without an instance. */
  const std::string& name() const { return name_; }
  /* The instance for the functions for C, or null. */
  ::trace_array* handle() const { return handle_; }

  /* `event` is "SYSTEM:EVENT", "SYSTEM:" for all of a system, or "" for all. EINVAL: there is no
   * such event. */
  result<void> enable(std::string_view event) { return switch_events(event, true); }
  result<void> disable(std::string_view event) { return switch_events(event, false); }
  template <class... Words>
  requires(sizeof...(Words) > 1) result<void> enable(const Words&...) {
    static_assert(sizeof...(Words) == 1, "events are named by one text, SYSTEM:EVENT");
    return {};
  }
  template <class... Words>
  requires(sizeof...(Words) > 1) result<void> disable(const Words&...) {
    static_assert(sizeof...(Words) == 1, "events are named by one text, SYSTEM:EVENT");
    return {};
  }

  /* Sets which records of "SYSTEM:EVENT" are taken: "fd > 2 && path ~ \"/etc/…\"". EINVAL: the
   * failure's sentence says where the filter is wrong. */
  result<void> set_filter(std::string_view event, std::string_view filter) {
    return to_event(event, "filter", filter, false);
  }
  result<void> clear_filter(std::string_view event) {
    return to_event(event, "filter", "0", false);
  }
  /* Adds an action for each record: "traceoff if fd > 100", "stacktrace:5", "hist:keys=path". */
  result<void> add_trigger(std::string_view event, std::string_view trigger) {
    return to_event(event, "trigger", trigger, false);
  }
  result<void> remove_trigger(std::string_view event, std::string_view trigger) {
    return to_event(event, "trigger", "!" + std::string(trigger), false);
  }
  /* Removes the histograms of the event. As in the kernel, its other triggers stay. */
  result<void> clear_triggers(std::string_view event) {
    return to_event(event, "trigger", "", true);
  }
  /* Returns the histograms of an event, in the order in which they were added. */
  result<std::vector<hist_table>> hists(std::string_view event) const {
    const detail::event_words words(event);
    if (!words.is_one()) return detail::not_one_event(event);
    return read(words.path() + "hist").transform([](const std::string& text) {
      return detail::parse_hists(text);
    });
  }

  /* Records a message in this buffer; it is formatted when it is read. Returns the bytes that it
   * took, 0 when it was not wanted, or a negative errno. */
  __attribute__((format(printf, 2, 3))) int printk(const char* format, ...) const {
    c::printk_is_used();
    va_list values;
    va_start(values, format);
    const auto ip = reinterpret_cast<unsigned long>(__builtin_return_address(0));
    const int answer = c::trace_array_vprintk(handle_, ip, format, values);
    va_end(values);
    return answer;
  }

  void tracing_on() { c::tracer_tracing_on(handle_); }
  void tracing_off() { c::tracer_tracing_off(handle_); }
  bool is_tracing() const { return c::tracer_tracing_is_on(handle_) != 0; }

  /* Empties the buffer. */
  result<void> clear() { return replace("trace", ""); }
  /* Waits until the buffer has something that trace_pipe has not given yet. A negative time has no
   * limit. Returns false when the time is over. EBUSY: another reader has trace_pipe open. */
  result<bool> wait(std::chrono::milliseconds longest) const {
    if (!handle_) return nothing();
    constexpr std::chrono::milliseconds for_ever(-1), most(INT_MAX);
    const auto time = std::clamp(longest, for_ever, most);
    const int answer = patchbay_wait(path("trace_pipe").c_str(), int(time.count()));
    if (answer < 0) return detail::failed(answer);
    return answer == 1;
  }

  /* Reserves memory for a snapshot, so that it is there when one is taken. */
  result<void> allocate_snapshot() {
    return result<void>::of(c::tracing_alloc_snapshot_instance(handle_));
  }
  /* Moves the content of the buffer to the file snapshot; recording begins anew. */
  result<void> snapshot() { return write("snapshot", "1"); }
  result<void> clear_snapshot() { return write("snapshot", "2"); }

  /* Write and read a file of this instance, such as "trace", "snapshot" or "buffer_size_kb". They
   * do what the functions of the same names above do. */
  result<void> write(std::string_view file, std::string_view text) {
    if (!handle_) return nothing();
    return patchbay::write(path(file), text);
  }
  result<void> replace(std::string_view file, std::string_view text) {
    if (!handle_) return nothing();
    return patchbay::replace(path(file), text);
  }
  result<std::string> read(std::string_view file, size_t most = size_t{256} << 20) const {
    if (!handle_) return nothing();
    return patchbay::read(path(file), most);
  }

 private:
  friend std::vector<instance> instances();

  static failure nothing() {
    return *patchbay_directory() ? failure(EINVAL, "The object has no instance.") : failure(ESRCH);
  }
  static result<instance> open(std::string_view name, const char* systems, bool owned) {
    instance array;
    array.handle_ = c::trace_array_get_by_name(std::string(name).c_str(), systems);
    if (!array.handle_) {
      failure why = detail::failed(EINVAL);
      return *patchbay_directory() ? why : failure(ESRCH);
    }
    array.name_ = name;
    array.owned_ = owned;
    if (const int answer = c::trace_array_init_printk(array.handle_)) return detail::failed(answer);
    return array;
  }
  result<void> switch_events(std::string_view event, bool on) {
    const detail::event_words words(event);
    if (!words.has_colon && !event.empty()) return detail::not_one_event(event);
    const auto word = [](const std::string& text) {
      return text.empty() || text == "*" ? nullptr : text.c_str();
    };
    return result<void>::of(
        c::trace_array_set_clr_event(handle_, word(words.system), word(words.event), on));
  }
  result<void> to_event(std::string_view event, const char* file, std::string_view text,
                        bool instead) {
    const detail::event_words words(event);
    if (!words.is_one()) return detail::not_one_event(event);
    return instead ? replace(words.path() + file, text) : write(words.path() + file, text);
  }
  void swap(instance& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(name_, other.name_);
    std::swap(owned_, other.owned_);
  }
  std::string path(std::string_view file) const {
    return (name_.empty() ? std::string() : "instances/" + name_ + "/") + std::string(file);
  }

  ::trace_array* handle_ = nullptr;
  std::string name_;
  bool owned_ = false;
};

/* Returns all instances, the top one first. An instance is not removed while an object of it lives.
 * Threads: yes. Signal handlers: no. */
inline std::vector<instance> instances() {
  std::vector<instance> all;
  for (::trace_array* one = c::trace_array_next(nullptr); one; one = c::trace_array_next(one)) {
    instance array;
    array.name_ = c::trace_array_name(one);
    if (!array.name_.empty() && c::trace_array_hold(one) != 0) continue; /* just removed */
    array.handle_ = one;
    all.push_back(std::move(array));
  }
  return all;
}

/* --- synthetic events ------------------------------------------------------------------------- */

namespace detail {

/* Adds trace() to a class that has put(values…). */
template <class Self, class... Fields>
class recorder {
 public:
  /* Writes one record; the values stand in the order of the fields. The compiler refuses a number
   * that its field may not be able to hold, unless it is a constant that fits. Returns 0 or a
   * negative errno (synth_event_trace() in trace_events.h). */
  int trace(argument<typename Fields::type>... values) const {
    return self().put(value<typename Fields::type>(values)...);
  }
  /* Writes a record of an event of members from an object that has them. */
  template <class Object>
  requires(is_member_of<Fields, Object>&&...) int trace(const Object& object) const {
    return self().put(
        value<typename Fields::type>(argument<typename Fields::type>(Fields::of(object)))...);
  }
  template <class... Values>
  requires(sizeof...(Values) != sizeof...(Fields) &&
           !(sizeof...(Values) == 1 &&
             (is_member_of<Fields, std::tuple_element_t<0, std::tuple<Values..., void>>> &&
              ...))) int trace(const Values&...) const {
    static_assert(sizeof...(Values) == sizeof...(Fields),
                  "trace() takes one value for each field of the event, in their order");
    return -EINVAL;
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

}  // namespace detail

/* An event of these fields in one instance, for recording. The file holds the instance. If the
 * event goes before the file, trace() returns -ENODEV. Threads: yes. Signal handlers: trace(),
 * is_wanted(). */
template <class... Fields>
class event_file : public detail::recorder<event_file<Fields...>, Fields...> {
  static_assert(detail::all_names_differ<Fields...>(), "two fields of the event have one name");

 public:
  event_file() = default;
  event_file(event_file&& other) noexcept : file_(std::exchange(other.file_, nullptr)) {}
  event_file& operator=(event_file&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~event_file() {
    if (file_) c::trace_put_event_file(std::exchange(file_, nullptr));
  }

  /* Opens a synthetic event that exists, "synthetic:NAME". EINVAL: there is none, or its fields are
   * not these; the sentence says which one differs. ENOENT: the event has no field of a name. */
  static result<event_file> open(std::string_view name, const instance& array = instance::top()) {
    const detail::event_words words(name);
    if (!words.is_one()) return detail::not_one_event(name);
    const char* in = array.name().empty() ? nullptr : array.name().c_str();
    event_file opened;
    opened.file_ = c::trace_get_event_file(in, words.system.c_str(), words.event.c_str());
    if (const int answer = c::errno_of(opened.file_)) {
      opened.file_ = nullptr;
      return detail::failed(answer);
    }
    if (auto checked = opened.check(words); !checked) return checked.error();
    return opened;
  }

  /* Tells whether a record would be used now. */
  bool is_wanted() const { return c::synth_event_is_wanted(file_) != 0; }
  /* The file for the functions for C, or null. */
  ::trace_event_file* handle() const { return file_; }

 private:
  friend class detail::recorder<event_file<Fields...>, Fields...>;
  template <class... Values>
  int put(const Values&... values) const {
    const uint64_t words[] = {values.word..., 0};
    return c::synth_event_trace_array(file_, words, sizeof...(Values));
  }

  result<void> check(const detail::event_words& words) const {
    const int there = c::synth_event_nr_fields(file_);
    if (there < 0) return detail::failed(there);
    if (there != int(sizeof...(Fields)))
      return failure(EINVAL, "The event " + words.system + ":" + words.event + " has " +
                                 std::to_string(there) + " fields, not " +
                                 std::to_string(sizeof...(Fields)) + ".");
    uint32_t behind = 0;
    result<void> checked;
    ((checked = checked ? check_field<Fields>(words, &behind) : std::move(checked)), ...);
    return checked;
  }
  template <class Field>
  static result<void> check_field(const detail::event_words& words, uint32_t* behind) {
    patchbay_field_place place;
    if (const int answer =
            patchbay_find_field(words.system.c_str(), words.event.c_str(), Field::name(), &place))
      return detail::failed(answer);
    using T = typename Field::type;
    if (!detail::can_be_recorded<T>(place))
      return detail::other_type(words.system, words.event, Field::name(), place,
                                detail::described<T>());
    if (place.offset < *behind)
      return failure(EINVAL, "The field \"" + std::string(Field::name()) + "\" of " + words.system +
                                 ":" + words.event + " stands before the one named before it.");
    *behind = place.offset;
    return {};
  }

  ::trace_event_file* file_ = nullptr;
};

/* An event of the program's own, synthetic:NAME. It begins switched off in each instance, and ends
 * with the object, whoever uses it: it is disabled in all instances, its triggers and subscriptions
 * end, an event_file answers -ENODEV, and another event of the name may be created at once. Its
 * records stay readable.
 * Threads: yes. Signal handlers: trace(), is_wanted(), name(). */
template <class... Fields>
class synthetic_event : public detail::recorder<synthetic_event<Fields...>, Fields...> {
  static_assert(sizeof...(Fields) >= 1 && sizeof...(Fields) <= 64,
                "a synthetic event has 1 to 64 fields");
  static_assert(detail::all_names_differ<Fields...>(), "two fields of the event have one name");

 public:
  using file = event_file<Fields...>;

  synthetic_event() = default;
  synthetic_event(synthetic_event&& other) noexcept { swap(other); }
  synthetic_event& operator=(synthetic_event&& other) noexcept {
    synthetic_event(std::move(other)).swap(*this);
    return *this;
  }
  ~synthetic_event() {
    if (name_.empty()) return;
    c::event_end("synthetic", name_.c_str(), id_);
    top_ = file();
  }

  /* EEXIST: an event has this name. EINVAL: the name is bad. */
  static result<synthetic_event> create(std::string_view name) {
    const std::string types[] = {detail::type_name<typename Fields::type>()...};
    const char* names[] = {Fields::name()...};
    c::synth_field_desc fields[sizeof...(Fields)];
    for (size_t i = 0; i < sizeof...(Fields); i++) fields[i] = {types[i].c_str(), names[i]};
    synthetic_event event;
    const std::string own(name);
    if (const int answer = c::synth_event_create(own.c_str(), fields, sizeof...(Fields),
                                                 &patchbay_this_module_marker))
      return detail::failed(answer);
    event.name_ = own;
    event.id_ = std::max(c::event_id("synthetic", own.c_str()), 0);
    auto top = file::open("synthetic:" + own);
    if (!top) return top.error();
    event.top_ = std::move(*top);
    return event;
  }

  const std::string& name() const { return name_; }

  /* Opens the event in another instance. */
  result<file> in(const instance& array) const { return file::open("synthetic:" + name_, array); }

  /* These are about the top instance. */
  result<void> enable() { return instance::top().enable("synthetic:" + name_); }
  result<void> disable() { return instance::top().disable("synthetic:" + name_); }
  bool is_wanted() const { return top_.is_wanted(); }

  /* Removes the event if nothing else uses it. EBUSY: it is enabled in another instance, there is a
   * file of it or a subscription to it, or a trigger or probe uses it. */
  result<void> remove() {
    if (name_.empty()) return {};
    (void)disable();
    top_ = file();
    const auto removed = result<void>::of(c::synth_event_delete(name_.c_str()));
    if (removed) name_.clear();
    return removed;
  }

 private:
  friend class detail::recorder<synthetic_event<Fields...>, Fields...>;
  template <class... Values>
  int put(const Values&... values) const {
    const uint64_t words[] = {values.word...};
    return c::synth_event_trace_array(top_.handle(), words, sizeof...(Values));
  }
  void swap(synthetic_event& other) noexcept {
    std::swap(name_, other.name_);
    std::swap(id_, other.id_);
    std::swap(top_, other.top_);
  }

  std::string name_;
  int id_ = 0;
  file top_;
};

/* --- spans ------------------------------------------------------------------------------------ */

/* An event with a beginning, a duration and these fields. It is synthetic:NAME; before the fields
 * it has begin_ns and duration_ns, nanoseconds of CLOCK_MONOTONIC.
 *
 *   auto parse = patchbay::span_event<patchbay::field<int, "size">>::create("parse");
 *   …
 *   auto span = parse->begin(size);    // recorded when it goes out of scope
 *
 * A span needs its span_event, and the texts that it was given, until it has ended. Threads: yes;
 * each span belongs to one thread. Signal handlers: begin() and all of a span. */
template <class... Fields>
class span_event {
  static_assert(detail::index_of<Fields...>("begin_ns") == sizeof...(Fields) &&
                    detail::index_of<Fields...>("duration_ns") == sizeof...(Fields),
                "begin_ns and duration_ns are fields of every span_event");
  using event =
      synthetic_event<field<uint64_t, "begin_ns">, field<uint64_t, "duration_ns">, Fields...>;

 public:
  using file = typename event::file;

  /* A span records itself at its end. If the event is not wanted when the span begins, the span
   * does nothing at all, and reads no clock. Texts that it was given have to last until its end. */
  class span {
   public:
    explicit span(const file& into, detail::argument<typename Fields::type>... values)
        : file_(into.is_wanted() ? &into : nullptr),
          values_(detail::keep<typename Fields::type>(values)...) {
      if (file_) begin_ns_ = now();
    }
    span(const span&) = delete;
    span& operator=(const span&) = delete;
    ~span() { end(); }

    /* Ends the span before its scope ends. A second call does nothing. */
    int end() {
      if (!file_) return 0;
      const uint64_t duration_ns = now() - begin_ns_;
      const file* into = std::exchange(file_, nullptr);
      return std::apply(
          [&](const auto&... values) { return into->trace(begin_ns_, duration_ns, values...); },
          values_);
    }
    /* Ends the span without a record. */
    void cancel() { file_ = nullptr; }
    /* Returns the value of field N, or of that name, so that it can be set when it is known. */
    template <size_t N>
    auto& value() {
      static_assert(N < sizeof...(Fields), "the span has not so many fields");
      return std::get<N>(values_);
    }
    template <fixed_string Name>
    auto& value() {
      constexpr size_t at = detail::index_of<Fields...>(Name.view());
      static_assert(at < sizeof...(Fields), "the span has no field of this name");
      return std::get < at < sizeof...(Fields) ? at : 0 > (values_);
    }

   private:
    static uint64_t now() {
      timespec time;
      clock_gettime(CLOCK_MONOTONIC, &time);
      return uint64_t(time.tv_sec) * 1000000000 + uint64_t(time.tv_nsec);
    }

    const file* file_;
    uint64_t begin_ns_ = 0;
    std::tuple<detail::kept<typename Fields::type>...> values_;
  };

  span_event() = default;
  span_event(span_event&&) noexcept = default;
  span_event& operator=(span_event&& other) noexcept {
    span_event moved(std::move(other));
    std::swap(event_, moved.event_);
    std::swap(top_, moved.top_);
    return *this;
  }
  static result<span_event> create(std::string_view name) {
    auto made = event::create(name);
    if (!made) return made.error();
    auto top = made->in(instance::top());
    if (!top) return top.error();
    span_event spans;
    spans.event_ = std::move(*made);
    spans.top_ = std::move(*top);
    return spans;
  }

  const std::string& name() const { return event_.name(); }
  result<file> in(const instance& array) const { return event_.in(array); }
  result<void> enable() { return event_.enable(); }
  result<void> disable() { return event_.disable(); }

  /* Begins a span in the top instance. span(file, values…) begins one in the instance of a file. */
  [[nodiscard]] span begin(detail::argument<typename Fields::type>... values) const {
    return span(top_, values...);
  }
  template <class... Values>
  requires(sizeof...(Values) != sizeof...(Fields)) span begin(const Values&...)
  const {
    static_assert(sizeof...(Values) == sizeof...(Fields),
                  "begin() takes one value for each field of the span, in their order");
    return span(top_);
  }

 private:
  event event_;
  file top_;  // goes first
};

/* --- probes and function events --------------------------------------------------------------- */

/* A probe or function event that exists as long as the object, as a synthetic_event does.
 * instance::enable() switches it on in other instances.
 * Threads: yes. Signal handlers: no. */
class probe_event {
 public:
  probe_event() = default;
  probe_event(probe_event&& other) noexcept { swap(other); }
  probe_event& operator=(probe_event&& other) noexcept {
    probe_event(std::move(other)).swap(*this);
    return *this;
  }
  ~probe_event() {
    if (!name_.empty()) c::event_end(system_.c_str(), name_.c_str(), id_);
  }

  const std::string& system() const { return system_; }
  const std::string& name() const { return name_; }
  /* These are about the top instance. */
  result<void> enable() { return instance::top().enable(system_ + ":" + name_); }
  result<void> disable() { return instance::top().disable(system_ + ":" + name_); }
  /* Removes the event if nothing else uses it. EBUSY: it is enabled in an instance, or there is a
   * file of it. */
  result<void> remove() {
    if (name_.empty()) return {};
    (void)disable();
    auto removed = write(file_, removal_);
    if (removed) name_.clear();
    return removed;
  }

 private:
  friend class probe;
  friend class function_event;
  probe_event(std::string file, std::string removal, std::string system, std::string name)
      : file_(std::move(file)),
        removal_(std::move(removal)),
        system_(std::move(system)),
        name_(std::move(name)),
        id_(std::max(c::event_id(system_.c_str(), name_.c_str()), 0)) {}
  void swap(probe_event& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(removal_, other.removal_);
    std::swap(system_, other.system_);
    std::swap(name_, other.name_);
    std::swap(id_, other.id_);
  }

  std::string file_, removal_, system_, name_;
  int id_ = 0;
};

/* A line of dynamic_events, word by word:
 *   probe::at("net/accepted", "accept").argument("fd", 1, "s32").create()
 *     -> p:net/accepted accept fd=$arg1:s32
 * create() answers mistakes with EINVAL, ENOENT or EEXIST; the failure's sentence says where.
 * Threads: an object belongs to one at a time. Signal handlers: no. */
class probe {
 public:
  /* `name` is EVENT or GROUP/EVENT. `place` is FUNCTION[+OFFSET], LIBRARY:FUNCTION or
   * FILE:0xOFFSET. */
  static probe at(std::string_view name, std::string_view place) {
    return probe("p", name, place, "kprobes");
  }
  static probe at_return_of(std::string_view name, std::string_view function) {
    return probe("r", name, function, "kprobes");
  }
  /* Probes each record of another event, "SYSTEM:EVENT". */
  static probe on_event(std::string_view name, std::string_view other) {
    const detail::event_words words(other);
    return probe("e", name, words.system + "." + words.event, "eprobes");
  }

  /* Adds NAME=FETCH:TYPE. The fetch is written as in dynamic_events: "%di", "$stack2", "+8(%si)",
   * "@symbol". */
  probe& field(std::string_view name, std::string_view fetch, std::string_view type = "") {
    text_.append(" ").append(name).append("=").append(fetch);
    if (!type.empty()) text_.append(":").append(type);
    return *this;
  }
  /* Adds an argument of the function by its number, from 1. */
  probe& argument(std::string_view name, int number, std::string_view type = "") {
    return field(name, "$arg" + std::to_string(number), type);
  }
  probe& returned(std::string_view name, std::string_view type = "") {
    return field(name, "$retval", type);
  }

  const std::string& text() const { return text_; }
  result<probe_event> create() const {
    if (auto written = write("dynamic_events", text_); !written) return written.error();
    return probe_event("dynamic_events", "-:" + group_ + "/" + name_, group_, name_);
  }

 private:
  probe(const char* kind, std::string_view name, std::string_view place, std::string_view group) {
    const size_t slash = name.find('/');
    group_ = slash == name.npos ? group : name.substr(0, slash);
    name_ = slash == name.npos ? name : name.substr(slash + 1);
    text_.append(kind).append(":").append(group_).append("/").append(name_);
    text_.append(" ").append(place);
  }

  std::string text_, group_, name_;
};

namespace detail {

/* Returns the EVENT of "EVENT=FUNCTION", or "". `operator=` is a function. */
inline std::string_view given_event_name(std::string_view function) {
  function = trimmed(function);
  size_t end = 0;
  while (end < function.size() && is_word(function[end])) end++;
  const std::string_view rest = trimmed(function.substr(end));
  const std::string_view word = function.substr(0, end);
  return rest.starts_with("=") && word != "operator" ? word : std::string_view();
}
/* Returns the function without "LIBRARY:". */
inline std::string_view without_library(std::string_view function) {
  const size_t colon = function.find_first_of(":(<[");
  if (colon == function.npos || function[colon] != ':') return function;
  return function.substr(colon).starts_with("::") ? function : function.substr(colon + 1);
}
/* Returns the event's name. A character that a name cannot have becomes '_'. function_events takes
 * a name of 63 bytes in front of '='; the end of a longer name is a hash. */
inline std::string event_name_of(std::string_view function) {
  constexpr size_t longest = 63, longest_function = 200;
  std::string name;
  bool gap = false;
  for (const char c : without_library(trimmed(function))) {
    if (is_word(c) && gap && !name.empty()) name += '_';
    gap = !is_word(c);
    if (!gap) name += c;
  }
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name.insert(0, "_");
  if (name.size() <= (name == function ? longest_function : longest)) return name;
  unsigned int hash = 2166136261; /* FNV-1a */
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  name.resize(longest - 9);
  for (name += '_'; name.size() < longest; hash >>= 4) name += "0123456789abcdef"[hash & 15];
  return name;
}

}  // namespace detail

/* A line of function_events, argument by argument:
 *   function_event("open").argument("string", "path").argument("int", "flags").create()
 *     -> open(string path, int flags), the event functions:open
 * The event of "EVENT=FUNCTION" is functions:EVENT, that of "lib:ns::f" functions:ns_f.
 * Threads: an object belongs to one at a time. Signal handlers: no. */
class function_event {
 public:
  explicit function_event(std::string_view function) : function_(function) {}

  /* Adds an argument. `where` follows the name, as in function_events: "[2]", "+8", "[0]+4[1]" … */
  function_event& argument(std::string_view type, std::string_view name,
                           std::string_view where = "") {
    return comma().append_words(type, name, where);
  }
  function_event& skip() { return comma().append_words("NULL", "", ""); }
  /* Adds a further field of the same argument. */
  function_event& also(std::string_view type, std::string_view name, std::string_view where = "") {
    arguments_.append(" | ");
    return append_words(type, name, where);
  }

  std::string text() const { return function_ + "(" + arguments_ + ")"; }
  result<probe_event> create() const {
    const std::string given(detail::given_event_name(function_));
    const std::string name = given.empty() ? detail::event_name_of(function_) : given;
    const bool says_name = !given.empty() || name == function_;
    const std::string line = says_name ? text() : name + "=" + text();
    if (auto written = write("function_events", line); !written) return written.error();
    return probe_event("function_events", "!" + name, "functions", name);
  }

 private:
  function_event& comma() {
    if (!arguments_.empty()) arguments_.append(", ");
    return *this;
  }
  function_event& append_words(std::string_view type, std::string_view name,
                               std::string_view where) {
    arguments_.append(type);
    if (!name.empty()) arguments_.append(" ").append(name);
    arguments_.append(where);
    return *this;
  }

  std::string function_, arguments_;
};

/* --- subscriptions ---------------------------------------------------------------------------- */

/* A record in a callback. It is valid as long as the callback runs.
 * Threads: that of the callback. Signal handlers: yes. */
class record_view {
 public:
  explicit record_view(const patchbay_record& record) : record_(&record) {}

  uint32_t pid() const { return record_->pid; } /* of the thread */
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(record_->data), record_->size};
  }

  uint64_t u64(const patchbay_field_place& at) const { return patchbay_field_u64(record_, &at); }
  int64_t s64(const patchbay_field_place& at) const { return patchbay_field_s64(record_, &at); }
  std::string_view text(const patchbay_field_place& at) const {
    size_t length;
    const char* text = patchbay_field_text(record_, &at, &length);
    return text ? std::string_view(text, length) : std::string_view();
  }
  std::span<const std::byte> bytes(const patchbay_field_place& at) const {
    size_t size;
    const void* bytes = patchbay_field_bytes(record_, &at, &size);
    return {static_cast<const std::byte*>(bytes), size};
  }

  /* Returns the field as T: a number is widened or cut, a text is a view of the record. */
  template <class T>
  T get(const patchbay_field_place& at) const {
    if constexpr (std::same_as<T, std::string_view>)
      return text(at);
    else if constexpr (detail::is_duration<T>::value)
      return T(static_cast<typename T::rep>(u64(at)));
    else if constexpr (std::is_pointer_v<T>)
      return reinterpret_cast<T>(static_cast<uintptr_t>(u64(at)));
    else if constexpr (std::same_as<T, std::span<const std::byte>>)
      return bytes(at);
    else if constexpr (detail::real<T>)
      return static_cast<T>(patchbay_field_f64(record_, &at));
    else
      return static_cast<T>(u64(at));
  }

 private:
  const patchbay_record* record_;
};

/* Returns the place of a field of "SYSTEM:EVENT". ENOENT: there is no such field. EINVAL: there is
 * no such event. Threads: yes. Signal handlers: no. */
inline result<patchbay_field_place> find_field(std::string_view event, std::string_view name) {
  const detail::event_words words(event);
  if (!words.is_one()) return detail::not_one_event(event);
  patchbay_field_place place;
  if (const int answer = patchbay_find_field(words.system.c_str(), words.event.c_str(),
                                             std::string(name).c_str(), &place))
    return detail::failed(answer);
  return place;
}

/* Calls a function object with each record of an event, as long as this object lives. The
 * destructor waits until no thread is in the function object. subscribe.h says what the function
 * object may do; it must not throw. Threads: yes; any thread calls the function object, several at
 * once. Signal handlers: no; the function object may run in one. */
class subscription {
 public:
  subscription() = default;
  subscription(subscription&& other) noexcept { swap(other); }
  subscription& operator=(subscription&& other) noexcept {
    subscription(std::move(other)).swap(*this);
    return *this;
  }
  /* In a callback, where end() is refused, the function object is kept for ever. */
  ~subscription() {
    if (!end() && subscription_) (void)callback_.release();
  }

  bool is_active() const { return subscription_ != nullptr; }
  /* Returns the number of records that did not call it: their thread was in a callback. */
  uint64_t missed() const {
    return subscription_ ? patchbay_subscription_missed(subscription_) : 0;
  }
  /* Ends the calls. EDEADLK: it was called in a callback of an event that is not static; the calls
   * go on. EBUSY: it was called in its own callback, or that does not come back; the calls end, and
   * the function object is kept for ever. */
  result<void> end() {
    if (!subscription_) return {};
    const int answer = patchbay_unsubscribe(subscription_);
    if (answer == -EDEADLK) return failure(answer);
    subscription_ = nullptr;
    if (answer == -EBUSY)
      (void)callback_.release();
    else
      callback_.reset();
    return result<void>::of(answer);
  }

 private:
  template <class... Fields>
  friend class subscriber;

  struct callback {
    virtual ~callback() = default;
  };
  void swap(subscription& other) noexcept {
    std::swap(subscription_, other.subscription_);
    std::swap(callback_, other.callback_);
  }

  patchbay_subscription* subscription_ = nullptr;
  std::unique_ptr<callback> callback_;
};

/* Names an instance by its name or by an object; {} is the top instance. */
class instance_name {
 public:
  instance_name() = default;
  instance_name(const char* name) : name_(name ? name : "") {}
  instance_name(std::string_view name) : name_(name) {}
  instance_name(const std::string& name) : name_(name) {}
  instance_name(const instance& array) : name_(array.name()) {}
  const char* c_str_or_null() const { return name_.empty() ? nullptr : name_.c_str(); }

 private:
  std::string name_;
};

/* The place to listen. */
struct listen_options {
  instance_name instance = {};
  std::string_view filter = {}; /* an expression as for the event's file `filter` */
};

template <class... Fields>
class subscriber {
 public:
  template <class Function>
  static result<subscription> subscribe(std::string_view event, Function&& function,
                                        const listen_options& options) {
    using call = called<std::decay_t<Function>>;
    const detail::event_words words(event);
    if (!words.is_one()) return detail::not_one_event(event);
    auto made = std::make_unique<call>(std::forward<Function>(function));
    if (auto found = find_fields(words, made->places); !found) return found.error();
    const std::string filter(options.filter);
    subscription listening;
    const int answer =
        patchbay_subscribe(options.instance.c_str_or_null(), words.system.c_str(),
                           words.event.c_str(), filter.empty() ? nullptr : filter.c_str(),
                           &call::run, made.get(), &listening.subscription_);
    listening.callback_ = std::move(made);
    if (answer) return detail::failed(answer);
    return listening;
  }

 private:
  static constexpr size_t count = sizeof...(Fields);
  using places_type = patchbay_field_place[count ? count : 1];

  static result<void> find_fields([[maybe_unused]] const detail::event_words& words,
                                  [[maybe_unused]] places_type& places) {
    result<void> found;
    [[maybe_unused]] size_t i = 0;
    ((found = found ? find_field<Fields>(words, &places[i++]) : std::move(found)), ...);
    return found;
  }
  template <class Field>
  static result<void> find_field(const detail::event_words& words, patchbay_field_place* place) {
    if (const int answer =
            patchbay_find_field(words.system.c_str(), words.event.c_str(), Field::name(), place))
      return detail::failed(answer);
    using T = typename Field::type;
    if (detail::can_be_read<T>(*place)) return {};
    return detail::other_type(words.system, words.event, Field::name(), *place,
                              detail::described<T>());
  }

  template <class Function>
  struct called : subscription::callback {
    Function function;
    places_type places = {};
    explicit called(Function&& from) : function(std::move(from)) {}
    explicit called(const Function& from) : function(from) {}

    static void run(const patchbay_record* record, void* data) noexcept {
      static_cast<called*>(data)->call(record_view(*record), std::index_sequence_for<Fields...>());
    }
    template <size_t... I>
    void call(record_view record, std::index_sequence<I...>) {
      constexpr bool with_record = std::invocable<Function&, record_view, typename Fields::type...>;
      static_assert(with_record || std::invocable<Function&, typename Fields::type...>,
                    "the function takes the values of the fields, in their order, or a "
                    "record_view and these");
      if constexpr (with_record)
        function(record, record.get<typename Fields::type>(places[I])...);
      else if constexpr (std::invocable<Function&, typename Fields::type...>)
        function(record.get<typename Fields::type>(places[I])...);
    }
  };
};

/* subscribe<field<int, "state">, field<std::string_view, "name">>("net:link_change",
 *     [&](int state, std::string_view name) { … }, {.filter = "state != 1"})
 * The function may take a record_view before the fields; without fields it takes only that. ENOENT:
 * there is no such field or instance. EINVAL: there is no such event, a field is not of this type
 * (a number must fit, with its sign), or the filter is wrong. The failure's sentence says which.
 * Threads: yes. Signal handlers: no. */
template <class... Fields, class Function>
result<subscription> subscribe(std::string_view event, Function&& function,
                               const listen_options& options = {}) {
  return subscriber<Fields...>::subscribe(event, std::forward<Function>(function), options);
}
template <class... Fields, class Function>
result<subscription> subscribe(const char*, const char*, Function&&, const listen_options& = {}) {
  static_assert(!sizeof(Function*), "events are named by one text, SYSTEM:EVENT");
  return failure(EINVAL);
}

/* --- callbacks of functions ------------------------------------------------------------------- */

/* A call of a traced function. It is valid as long as the callback runs.
 * Threads: that of the callback. Signal handlers: yes. */
class function_call {
 public:
  function_call(unsigned long ip, unsigned long parent_ip, c::ftrace_regs* regs)
      : ip_(ip), parent_ip_(parent_ip), regs_(regs) {}
  unsigned long ip() const { return ip_; }               /* the function's entry */
  unsigned long parent_ip() const { return parent_ip_; } /* the return address */
  /* Returns an integer or a pointer by its number, from 0. */
  template <class T = unsigned long>
  T argument(unsigned int n) const {
    const unsigned long word = c::ftrace_regs_get_argument(regs_, n);
    if constexpr (std::is_pointer_v<T>)
      return reinterpret_cast<T>(word);
    else
      return static_cast<T>(word);
  }

 private:
  unsigned long ip_, parent_ip_;
  c::ftrace_regs* regs_;
};

/* Calls a function object at the entry of functions, as long as this object lives. The destructor
 * waits until no thread is in the function object. ftrace.h says what the function object may do;
 * it must not throw. Threads: yes; any thread calls the function object, several at once. Signal
 * handlers: no; the function object may run in one. */
class function_callback {
 public:
  function_callback() = default;
  function_callback(function_callback&&) noexcept = default;
  function_callback& operator=(function_callback&& other) noexcept {
    function_callback moved(std::move(other));
    std::swap(state_, moved.state_);
    return *this;
  }
  /* In a callback, where end() is refused, the function object is kept for ever. */
  ~function_callback() {
    if (!end()) (void)state_.release();
  }

  /* Takes patterns as for set_ftrace_filter. EINVAL: a pattern means no function. */
  template <class Function>
  requires std::invocable<Function&, const function_call&>
  static result<function_callback> on(std::initializer_list<std::string_view> patterns,
                                      Function&& function) {
    using call = called<std::decay_t<Function>>;
    function_callback made;
    made.state_ = std::make_unique<call>(std::forward<Function>(function));
    c::ftrace_ops* ops = &made.state_->ops;
    ops->func = &call::run;
    ops->private_data = made.state_.get();
    for (std::string_view pattern : patterns)
      if (const int answer = filter(ops, pattern)) return detail::failed(answer);
    if (const int answer = c::register_ftrace_function(ops)) return detail::failed(answer);
    return made;
  }

  uint64_t missed() const { return state_ ? c::ftrace_missed(&state_->ops) : 0; }
  /* Ends the calls. EDEADLK: it was called in a callback; the calls go on. EBUSY: the function
   * object does not come back; the calls end, and it is kept for ever. */
  result<void> end() {
    if (!state_) return {};
    int answer = 0;
    if (state_->ops.flags & c::ftrace_ops_is_enabled)
      answer = c::unregister_ftrace_function(&state_->ops);
    if (answer == -EDEADLK) return detail::failed(answer);
    c::ftrace_free_filter(&state_->ops);
    if (answer == -EBUSY)
      (void)state_.release();
    else
      state_.reset();
    return result<void>::of(answer);
  }

 private:
  struct state {
    c::ftrace_ops ops = {};
    virtual ~state() = default;
  };
  template <class Function>
  struct called : state {
    Function function;
    explicit called(Function&& from) : function(std::move(from)) {}
    explicit called(const Function& from) : function(from) {}
    static void run(unsigned long ip, unsigned long parent_ip, c::ftrace_ops* ops,
                    c::ftrace_regs* regs) noexcept {
      auto* self = static_cast<called*>(static_cast<state*>(ops->private_data));
      self->function(function_call(ip, parent_ip, regs));
    }
  };
  static int filter(c::ftrace_ops* ops, std::string_view pattern) {
    std::string line(pattern);
    return c::ftrace_set_filter(ops, reinterpret_cast<unsigned char*>(line.data()),
                                int(line.size()), 0);
  }

  std::unique_ptr<state> state_;
};

}  // namespace patchbay

#endif /* C++20 */
#endif
