/* SPDX-License-Identifier: MIT
 *
 * The in-process API for C++20, over the headers for C (trace_events.h, trace.h, ftrace.h,
 * subscribe.h), which say what each call may do and where: objects that undo in their destructor
 * what they did, events whose fields have types, spans, callbacks that are lambdas.
 *
 *   using opened = patchbay::synthetic_event<patchbay::field<int, "fd">,
 *                                            patchbay::field<std::string_view, "path">>;
 *   auto event = opened::create("opened");          // result<opened>
 *   if (!event) return complain(event.error().message());
 *   event->enable();
 *   event->trace(fd, path);
 *
 * Results are values: nothing here throws but std::bad_alloc, and that only where something is
 * made, never where something is recorded. The trace path - trace(), printk(), spans, what a
 * callback is given - takes no memory and no lock, and may be used in signal handlers.
 *
 * Without an agent in the process everything that is made is refused with ESRCH, and objects that
 * were default-constructed or moved from record nothing.
 */
#ifndef PATCHBAY_PATCHBAY_HPP
#define PATCHBAY_PATCHBAY_HPP

#include <patchbay/ftrace.h>
#include <patchbay/patchbay.h>
#include <patchbay/subscribe.h>
#include <patchbay/trace.h>
#include <patchbay/trace_events.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <concepts>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
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

namespace patchbay {

/* --- results ---------------------------------------------------------------------------------- */

/* Why something was refused: an errno, positive. */
class error_number {
 public:
  constexpr explicit error_number(int errno_value)
      : errno_(errno_value < 0 ? -errno_value : errno_value) {}
  constexpr int code() const { return errno_; }
  const char* message() const { return std::strerror(errno_); }
  friend constexpr bool operator==(error_number, error_number) = default;

 private:
  int errno_;
};

/* A value, or why there is none: the part of std::expected<T, error_number> that is used here.
 * Asking for the value that is not there ends the program. */
template <class T>
class [[nodiscard]] result {
 public:
  using value_type = T;
  result(T value) : value_(std::move(value)) {}
  result(error_number why) : why_(why) {}

  bool has_value() const { return value_.has_value(); }
  explicit operator bool() const { return has_value(); }
  T& value() & { return checked(); }
  T&& value() && { return std::move(checked()); }
  const T& value() const& { return const_cast<result*>(this)->checked(); }
  T& operator*() & { return checked(); }
  T&& operator*() && { return std::move(checked()); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &checked(); }
  const T* operator->() const { return &value(); }
  /* 0 when there is a value. */
  error_number error() const { return why_; }
  template <class U>
  T value_or(U&& other) && {
    return has_value() ? std::move(*value_) : static_cast<T>(std::forward<U>(other));
  }
  template <class Then>
  auto and_then(Then&& then) && -> std::invoke_result_t<Then, T&&> {
    if (!has_value()) return why_;
    return std::forward<Then>(then)(std::move(*value_));
  }

 private:
  T& checked() {
    if (!value_) __builtin_trap();
    return *value_;
  }
  std::optional<T> value_;
  error_number why_{0};
};

/* Of what may be tried: it need not be looked at. */
template <>
class result<void> {
 public:
  using value_type = void;
  result() = default;
  result(error_number why) : why_(why) {}
  /* 0 or a negative errno, as the functions for C answer. */
  static result of(int answer) { return answer < 0 ? result(error_number(answer)) : result(); }

  bool has_value() const { return why_.code() == 0; }
  explicit operator bool() const { return has_value(); }
  error_number error() const { return why_; }

 private:
  error_number why_{0};
};

namespace detail {

/* Of a pointer that may be an errno; 0: it is none. */
inline int errno_of(const void* pointer) {
  constexpr intptr_t most_errno = 4095;
  const auto answer = reinterpret_cast<intptr_t>(pointer);
  return answer < 0 && answer >= -most_errno ? int(answer) : 0;
}

}  // namespace detail

/* --- files of the tree ------------------------------------------------------------------------ */

/* `text` to a file of the program's own tracefs, as echo TEXT >> FILE does. */
inline result<void> write(const std::string& path, const std::string& text) {
  return result<void>::of(patchbay_write(path.c_str(), (text + "\n").c_str()));
}

inline result<std::string> read(const std::string& path) {
  std::string text(4096, '\0');
  for (;;) {
    const ssize_t length = patchbay_read(path.c_str(), text.data(), text.size());
    if (length < 0) return error_number(int(length));
    const bool whole = size_t(length) < text.size();
    text.resize(size_t(length) + (whole ? 0 : 4096));
    if (whole) return text;
  }
}

/* --- instances -------------------------------------------------------------------------------- */

/* A ring buffer of the program's own with its events, beside all others (instances/NAME).
 *   create()  a new one, which goes with the object
 *   get()     the one of that name, made if need be, which stays
 *   top()     the one of the root */
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
    patchbay_trace_array_put(handle_);
    if (owned_) patchbay_trace_array_destroy(handle_);
  }

  /* EEXIST: there is one. EINVAL, ENAMETOOLONG: the name. */
  static result<instance> create(std::string name) {
    ::trace_array* made = patchbay_trace_array_create(name.c_str());
    if (const int answer = detail::errno_of(made)) return error_number(answer);
    return open(std::move(name), nullptr, true);
  }
  /* `systems`: of one that is made only the events of these, separated by commas; null: all. */
  static result<instance> get(std::string name, const char* systems = nullptr) {
    return open(std::move(name), systems, false);
  }
  static instance top() {
    instance array;
    array.handle_ = patchbay_trace_array_next(nullptr);
    return array;
  }

  /* "": the top one, or none. */
  const std::string& name() const { return name_; }
  /* Null: none. */
  ::trace_array* handle() const { return handle_; }

  /* Events of SYSTEM:EVENT; a null pointer is all of them. EINVAL: there is none. */
  result<void> enable(const char* system, const char* event = nullptr) {
    return result<void>::of(patchbay_trace_array_set_clr_event(handle_, system, event, true));
  }
  result<void> disable(const char* system, const char* event = nullptr) {
    return result<void>::of(patchbay_trace_array_set_clr_event(handle_, system, event, false));
  }

  /* A message into this buffer, formatted when somebody reads it. The bytes that it took; 0: it was
   * not wanted; or a negative errno. */
  __attribute__((format(printf, 2, 3))) int printk(const char* format, ...) const {
    patchbay_printk_is_used();
    va_list values;
    va_start(values, format);
    const auto ip = reinterpret_cast<unsigned long>(__builtin_return_address(0));
    const int answer = patchbay_trace_array_vprintk(handle_, ip, format, values);
    va_end(values);
    return answer;
  }

  void tracing_on() { patchbay_tracer_tracing_on(handle_); }
  void tracing_off() { patchbay_tracer_tracing_off(handle_); }
  bool is_tracing() const { return patchbay_tracer_tracing_is_on(handle_) != 0; }

  /* Memory for a snapshot, so that it is there when one is taken. */
  result<void> allocate_snapshot() {
    return result<void>::of(patchbay_tracing_alloc_snapshot_instance(handle_));
  }
  /* What is in the buffer is in the file snapshot from now on, and recording begins anew. */
  result<void> snapshot() { return write("snapshot", "1"); }
  result<void> clear_snapshot() { return write("snapshot", "2"); }

  /* A file of this instance: "trace", "snapshot", "buffer_size_kb" … */
  result<void> write(const std::string& file, const std::string& text) {
    if (!handle_) return nothing();
    return patchbay::write(path(file), text);
  }
  result<std::string> read(const std::string& file) const {
    if (!handle_) return nothing();
    return patchbay::read(path(file));
  }

 private:
  static error_number nothing() { return error_number(*patchbay_directory() ? EINVAL : ESRCH); }
  static result<instance> open(std::string name, const char* systems, bool owned) {
    instance array;
    array.handle_ = patchbay_trace_array_get_by_name(name.c_str(), systems);
    if (!array.handle_) return nothing();
    array.name_ = std::move(name);
    array.owned_ = owned;
    if (const int answer = patchbay_trace_array_init_printk(array.handle_))
      return error_number(answer);
    return array;
  }
  void swap(instance& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(name_, other.name_);
    std::swap(owned_, other.owned_);
  }
  std::string path(const std::string& file) const {
    return name_.empty() ? file : "instances/" + name_ + "/" + file;
  }

  ::trace_array* handle_ = nullptr;
  std::string name_;
  bool owned_ = false;
};

/* --- fields of events ------------------------------------------------------------------------- */

/* A text as a template argument. */
template <size_t N>
struct fixed_string {
  char text[N];
  constexpr fixed_string(const char (&from)[N]) { std::copy_n(from, N, text); }
  constexpr const char* c_str() const { return text; }
};

/* A field of T and its name. T:
 *   integers, bool, enumerations   as they are
 *   a pointer                      u64
 *   std::chrono::duration          s64, in its own unit
 *   std::string_view               a text of any length (char[])
 *   char[N]                        a text, N at most 256; as in the kernel 255 bytes of it are
 * taken std::span<const unsigned long> a stack of at most 31 (long[])
 */
template <class T, fixed_string Name>
struct field {
  using type = T;
  static constexpr const char* name() { return Name.c_str(); }
};

/* A member of a structure, whose type the field has: member<&connection::id, "id">. */
template <auto Member, fixed_string Name>
struct member;
template <class Object, class T, T Object::*Member, fixed_string Name>
struct member<Member, Name> : field<T, Name> {
  using object = Object;
  static const T& of(const Object& from) { return from.*Member; }
};

namespace detail {

template <class T>
struct is_duration : std::false_type {};
template <class Rep, class Period>
struct is_duration<std::chrono::duration<Rep, Period>> : std::is_integral<Rep> {};

template <class T>
inline constexpr bool is_text_array = false;
template <size_t N>
inline constexpr bool is_text_array<char[N]> = true;

template <class T>
concept text = std::same_as<T, std::string_view> || std::same_as<T, std::string> ||
    std::same_as<T, const char*> || std::same_as<T, char*>;
template <class T>
concept number = std::integral<T> || std::is_enum_v<T> || is_duration<T>::value ||
    (std::is_pointer_v<T> && !text<T>);
template <class T>
concept stack = std::same_as<T, std::span<const unsigned long>>;

template <class T>
constexpr const char* integer_type() {
  constexpr const char* names[2][4] = {{"u8", "u16", "u32", "u64"}, {"s8", "s16", "s32", "s64"}};
  constexpr int size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  return names[std::is_signed_v<T>][size];
}

/* What a definition calls T. */
template <class T>
std::string type_name() {
  if constexpr (std::same_as<T, bool>)
    return "bool";
  else if constexpr (std::is_enum_v<T>)
    return type_name<std::underlying_type_t<T>>();
  else if constexpr (std::integral<T>)
    return integer_type<T>();
  else if constexpr (is_duration<T>::value)
    return "s64";
  else if constexpr (text<T>)
    return "char[]";
  else if constexpr (is_text_array<T>)
    return "char[" + std::to_string(sizeof(T)) + "]";
  else if constexpr (stack<T>)
    return "long[]";
  else if constexpr (std::is_pointer_v<T>)
    return "u64";
  else
    static_assert(!sizeof(T*), "a field is an integer, bool, enum, pointer, duration, text, stack");
}

/* A value on its way into a record: the 64 bits that synth_event_trace_array() takes, and what
 * they point to. */
template <class T>
struct value;

template <number T>
struct value<T> {
  uint64_t word;
  value(T from) : word(convert(from)) {}
  static uint64_t convert(T from) {
    if constexpr (is_duration<T>::value)
      return static_cast<uint64_t>(from.count());
    else if constexpr (std::is_pointer_v<T>)
      return reinterpret_cast<uintptr_t>(from);
    else
      return static_cast<uint64_t>(from);
  }
};

/* A text that does not end with a NUL has to be copied: of such 1023 bytes are taken. */
template <class T>
requires(text<T> || is_text_array<T>) struct value<T> {
  static constexpr size_t most = is_text_array<T> ? 256 : 1024;
  uint64_t word;
  char copy[most];

  template <class Pointer>
  requires(std::same_as<Pointer, const char*> || std::same_as<Pointer, char*>)
      value(const Pointer& from)
      : word(reinterpret_cast<uintptr_t>(from)) {}
  value(const std::string& from) : word(reinterpret_cast<uintptr_t>(from.c_str())) {}
  value(const std::string_view& from) { take(from); }
  template <size_t N>
  value(const char (&from)[N]) {
    const size_t length = strnlen(from, N);
    if (length < N)
      word = reinterpret_cast<uintptr_t>(&from);
    else
      take({from, N});
  }
  value(const value&) = delete;

 private:
  void take(std::string_view from) {
    copy[from.copy(copy, most - 1)] = '\0';
    word = reinterpret_cast<uintptr_t>(&copy);
  }
};

template <stack T>
struct value<T> {
  static constexpr size_t most = 31;
  uint64_t word;
  unsigned long copy[1 + most];
  value(T from) : word(reinterpret_cast<uintptr_t>(&copy)) {
    copy[0] = std::min(from.size(), most);
    std::copy_n(from.begin(), copy[0], copy + 1);
  }
  value(const value&) = delete;
};

template <class Field>
concept is_member = requires {
  typename Field::object;
};
template <class Field, class Object>
concept is_member_of = is_member<Field> && std::same_as<typename Field::object, Object>;

/* What is kept of a value until it is recorded. */
template <class T>
using kept =
    typename std::conditional_t<is_text_array<T> || std::same_as<T, std::string>,
                                std::type_identity<std::string_view>, std::type_identity<T>>::type;

}  // namespace detail

/* --- synthetic events ------------------------------------------------------------------------- */

/* An event of these fields in one instance, to be recorded and switched. Holds the instance and the
 * event; goes before them. */
template <class... Fields>
class event_file {
 public:
  event_file() = default;
  event_file(event_file&& other) noexcept : file_(std::exchange(other.file_, nullptr)) {}
  event_file& operator=(event_file&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~event_file() {
    if (file_) patchbay_trace_put_event_file(file_);
  }

  /* An event that is there; its fields are believed. */
  static result<event_file> open(const char* system, const char* event,
                                 const instance& array = instance::top()) {
    const char* in = array.name().empty() ? nullptr : array.name().c_str();
    ::trace_event_file* file = patchbay_trace_get_event_file(in, system, event);
    if (const int answer = detail::errno_of(file)) return error_number(answer);
    event_file opened;
    opened.file_ = file;
    return opened;
  }

  /* A record would be looked at now. */
  bool is_wanted() const { return patchbay_synth_event_is_wanted(file_) != 0; }

  /* One record; the values in the order of the fields, or, of an event of members, an object of
   * theirs. 0 or a negative errno (trace_events.h). */
  template <class... Values>
  requires(sizeof...(Values) == sizeof...(Fields)) int trace(const Values&... values) const {
    if constexpr ((detail::is_member_of<Fields, Values> && ...))
      return trace_members(values...);
    else
      return put(detail::value<typename Fields::type>(values)...);
  }
  template <class Object>
  requires(sizeof...(Fields) > 1 &&
           (detail::is_member_of<Fields, Object> && ...)) int trace(const Object& object) const {
    return trace_members(object);
  }

  ::trace_event_file* handle() const { return file_; }

 private:
  template <class Object>
  int trace_members(const Object& object) const {
    return put(detail::value<typename Fields::type>(Fields::of(object))...);
  }
  template <class... Values>
  int put(const Values&... values) const {
    const uint64_t words[] = {values.word...};
    return patchbay_synth_event_trace_array(file_, words, sizeof...(Values));
  }

  ::trace_event_file* file_ = nullptr;
};

/* An event of the program's own, synthetic:NAME, which goes with the object. It begins switched
 * off, in each instance. */
template <class... Fields>
class synthetic_event {
  static_assert(sizeof...(Fields) >= 1 && sizeof...(Fields) <= PATCHBAY_SYNTH_FIELDS_MAX);

 public:
  using file = event_file<Fields...>;

  synthetic_event() = default;
  synthetic_event(synthetic_event&& other) noexcept { swap(other); }
  synthetic_event& operator=(synthetic_event&& other) noexcept {
    synthetic_event(std::move(other)).swap(*this);
    return *this;
  }
  ~synthetic_event() { (void)remove(); }

  /* EEXIST: there is an event of that name. EINVAL: a bad name (error_log). */
  static result<synthetic_event> create(std::string name) {
    const std::string types[] = {detail::type_name<typename Fields::type>()...};
    const char* names[] = {Fields::name()...};
    synth_field_desc fields[sizeof...(Fields)];
    for (size_t i = 0; i < sizeof...(Fields); i++) fields[i] = {types[i].c_str(), names[i]};
    if (const int answer = patchbay_synth_event_create(name.c_str(), fields, sizeof...(Fields),
                                                       PATCHBAY_THIS_MODULE))
      return error_number(answer);
    synthetic_event event;
    event.name_ = std::move(name);
    auto top = file::open("synthetic", event.name_.c_str());
    if (!top) return top.error();
    event.top_ = std::move(*top);
    return event;
  }

  const std::string& name() const { return name_; }

  /* In another instance. */
  result<file> in(const instance& array) const {
    return file::open("synthetic", name_.c_str(), array);
  }

  /* Of the top instance. */
  result<void> enable() { return instance::top().enable("synthetic", name_.c_str()); }
  result<void> disable() { return instance::top().disable("synthetic", name_.c_str()); }
  bool is_wanted() const { return top_.is_wanted(); }
  template <class... Values>
  int trace(const Values&... values) const {
    return top_.trace(values...);
  }

  /* EBUSY: it is enabled in an instance, or there are files of it. */
  result<void> remove() {
    if (name_.empty()) return {};
    (void)disable();
    top_ = file();
    const int answer = patchbay_synth_event_delete(name_.c_str());
    if (answer == 0) name_.clear();
    return result<void>::of(answer);
  }

 private:
  void swap(synthetic_event& other) noexcept {
    std::swap(name_, other.name_);
    std::swap(top_, other.top_);
  }

  std::string name_;
  file top_;
};

/* --- spans ------------------------------------------------------------------------------------ */

/* An event with a beginning and a duration, and these fields: synthetic:NAME with begin_ns (of
 * CLOCK_MONOTONIC) and duration_ns before them.
 *
 *   auto parse = patchbay::span_event<patchbay::field<int, "size">>::create("parse");
 *   …
 *   auto span = parse->begin(size);    // recorded when it goes out of scope
 */
template <class... Fields>
class span_event {
  using event =
      synthetic_event<field<uint64_t, "begin_ns">, field<uint64_t, "duration_ns">, Fields...>;

 public:
  using file = typename event::file;

  /* Records itself at its end. While the event is not wanted at the beginning, nothing happens at
   * either: no clock is read. What texts point to has to last. */
  class span {
   public:
    template <class... Values>
    explicit span(const file& into, const Values&... values)
        : file_(into.is_wanted() ? &into : nullptr), values_(values...) {
      if (file_) begin_ns_ = now();
    }
    span(const span&) = delete;
    span& operator=(const span&) = delete;
    ~span() { end(); }

    /* Before the scope ends; once. */
    int end() {
      if (!file_) return 0;
      const uint64_t duration_ns = now() - begin_ns_;
      const file* into = std::exchange(file_, nullptr);
      return std::apply(
          [&](const auto&... values) { return into->trace(begin_ns_, duration_ns, values...); },
          values_);
    }
    /* Records nothing. */
    void cancel() { file_ = nullptr; }
    /* The value of field N, to be set when it is known. */
    template <size_t N>
    auto& value() {
      return std::get<N>(values_);
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
  static result<span_event> create(std::string name) {
    auto made = event::create(std::move(name));
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

  /* In the top instance; span(file, values…) in that of the file. */
  template <class... Values>
  requires(sizeof...(Values) == sizeof...(Fields)) [[nodiscard]] span
      begin(const Values&... values) const {
    return span(top_, values...);
  }

 private:
  event event_;
  file top_;  // goes first
};

/* --- probes and function events --------------------------------------------------------------- */

/* A probe or function event that exists as long as the object. Switched with
 * instance::enable(). */
class probe_event {
 public:
  probe_event() = default;
  probe_event(probe_event&& other) noexcept { swap(other); }
  probe_event& operator=(probe_event&& other) noexcept {
    probe_event(std::move(other)).swap(*this);
    return *this;
  }
  ~probe_event() { (void)remove(); }

  const std::string& system() const { return system_; }
  const std::string& name() const { return name_; }
  result<void> enable() { return instance::top().enable(system_.c_str(), name_.c_str()); }
  result<void> disable() { return instance::top().disable(system_.c_str(), name_.c_str()); }
  /* EBUSY: it is enabled in an instance, or somebody has a file of it. */
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
        name_(std::move(name)) {}
  void swap(probe_event& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(removal_, other.removal_);
    std::swap(system_, other.system_);
    std::swap(name_, other.name_);
  }

  std::string file_, removal_, system_, name_;
};

/* A line of dynamic_events, word by word:
 *   probe::at("net/accepted", "accept").argument("fd", 1, "s32").create()
 *     -> p:net/accepted accept fd=$arg1:s32
 * Mistakes are EINVAL, ENOENT or EEXIST, and error_log says where. */
class probe {
 public:
  /* `name`: EVENT or GROUP/EVENT. `place`: FUNCTION[+OFFSET], LIBRARY:FUNCTION, FILE:0xOFFSET. */
  static probe at(std::string_view name, std::string_view place) {
    return probe("p", name, place, "kprobes");
  }
  static probe at_return_of(std::string_view name, std::string_view function) {
    return probe("r", name, function, "kprobes");
  }
  /* On each record of another event. */
  static probe on_event(std::string_view name, std::string_view system, std::string_view event) {
    return probe("e", name, std::string(system) + "." + std::string(event), "eprobes");
  }

  /* NAME=FETCH:TYPE; the fetch as in dynamic_events: "%di", "$stack2", "+8(%si)", "@symbol". */
  probe& field(std::string_view name, std::string_view fetch, std::string_view type = "") {
    text_.append(" ").append(name).append("=").append(fetch);
    if (!type.empty()) text_.append(":").append(type);
    return *this;
  }
  /* The function's argument, from 1. */
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

/* A line of function_events, argument by argument:
 *   function_event("open").argument("string", "path").argument("int", "flags").create()
 *     -> open(string path, int flags), the event functions:open */
class function_event {
 public:
  explicit function_event(std::string_view function) : function_(function) {}

  /* `where`: what follows the name, as in function_events: "[2]", "+8", "[0]+4[1]" … */
  function_event& argument(std::string_view type, std::string_view name,
                           std::string_view where = "") {
    return comma().append_words(type, name, where);
  }
  function_event& skip() { return comma().append_words("NULL", "", ""); }
  /* A further field of the same argument. */
  function_event& also(std::string_view type, std::string_view name, std::string_view where = "") {
    arguments_.append(" | ");
    return append_words(type, name, where);
  }

  std::string text() const { return function_ + "(" + arguments_ + ")"; }
  result<probe_event> create() const {
    if (auto written = write("function_events", text()); !written) return written.error();
    return probe_event("function_events", "!" + function_, "functions", function_);
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

/* A record in a callback, as long as that runs. */
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

  /* As T: a number is widened or cut, a text a view of the record. */
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
    else
      return static_cast<T>(u64(at));
  }

 private:
  const patchbay_record* record_;
};

/* Where a field stands. ENOENT: no such field; EINVAL: no such event. */
inline result<patchbay_field_place> find_field(const char* system, const char* event,
                                               const char* name) {
  patchbay_field_place place;
  if (const int answer = patchbay_find_field(system, event, name, &place))
    return error_number(answer);
  return place;
}

/* A function object that is called with each record of an event, until this object goes: then no
 * thread is in it any more. subscribe.h says what it may do; it must not throw. */
class subscription {
 public:
  subscription() = default;
  subscription(subscription&& other) noexcept { swap(other); }
  subscription& operator=(subscription&& other) noexcept {
    subscription(std::move(other)).swap(*this);
    return *this;
  }
  /* In a callback where end() is refused the function object is kept for ever. */
  ~subscription() {
    if (!end() && subscription_) (void)callback_.release();
  }

  bool is_active() const { return subscription_ != nullptr; }
  /* Records that did not call it, because their thread was in a callback. */
  uint64_t missed() const {
    return subscription_ ? patchbay_subscription_missed(subscription_) : 0;
  }
  /* EDEADLK: called in a callback, but of a static event: it goes on. EBUSY: called in its own
   * callback, or that does not come back: it ends, and the function object is kept for ever. */
  result<void> end() {
    if (!subscription_) return {};
    const int answer = patchbay_unsubscribe(subscription_);
    if (answer == -EDEADLK) return error_number(answer);
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

/* Where to listen. */
struct listen_options {
  const char* instance = nullptr; /* null: the top one */
  const char* filter = nullptr;   /* as for the event's `filter` file */
};

template <class... Fields>
class subscriber {
 public:
  template <class Function>
  static result<subscription> subscribe(const char* system, const char* event, Function&& function,
                                        listen_options options) {
    using call = called<std::decay_t<Function>>;
    auto made = std::make_unique<call>(std::forward<Function>(function));
    int answer = find_fields(system, event, made->places);
    if (answer == 0) {
      subscription listening;
      answer = patchbay_subscribe(options.instance, system, event, options.filter, &call::run,
                                  made.get(), &listening.subscription_);
      listening.callback_ = std::move(made);
      if (answer == 0) return listening;
    }
    return error_number(answer);
  }

 private:
  static constexpr size_t count = sizeof...(Fields);
  using places_type = patchbay_field_place[count ? count : 1];

  static int find_fields([[maybe_unused]] const char* system, [[maybe_unused]] const char* event,
                         [[maybe_unused]] places_type& places) {
    int answer = 0;
    [[maybe_unused]] size_t i = 0;
    ((answer = answer ? answer : patchbay_find_field(system, event, Fields::name(), &places[i++])),
     ...);
    return answer;
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
      if constexpr (std::invocable<Function&, record_view, typename Fields::type...>)
        function(record, record.get<typename Fields::type>(places[I])...);
      else
        function(record.get<typename Fields::type>(places[I])...);
    }
  };
};

/* subscribe<field<int, "state">, field<std::string_view, "name">>("net", "link_change",
 *     [&](int state, std::string_view name) { … }, {.filter = "state != 1"})
 * The function may take a record_view before the fields; without fields it takes only that.
 * ENOENT: no such field or instance. EINVAL: no such event, or the filter (error_log). */
template <class... Fields, class Function>
result<subscription> subscribe(const char* system, const char* event, Function&& function,
                               listen_options options = {}) {
  return subscriber<Fields...>::subscribe(system, event, std::forward<Function>(function), options);
}

/* --- callbacks of functions ------------------------------------------------------------------- */

/* A call of a traced function, as long as the callback runs. */
class function_call {
 public:
  function_call(unsigned long ip, unsigned long parent_ip, ftrace_regs* regs)
      : ip_(ip), parent_ip_(parent_ip), regs_(regs) {}
  unsigned long ip() const { return ip_; }               /* the function's entry */
  unsigned long parent_ip() const { return parent_ip_; } /* where it returns to */
  /* Integers and pointers, from 0. */
  template <class T = unsigned long>
  T argument(unsigned int n) const {
    const unsigned long word = patchbay_ftrace_regs_get_argument(regs_, n);
    if constexpr (std::is_pointer_v<T>)
      return reinterpret_cast<T>(word);
    else
      return static_cast<T>(word);
  }

 private:
  unsigned long ip_, parent_ip_;
  ftrace_regs* regs_;
};

/* A function object that is called at the entry of functions, until this object goes: then no
 * thread is in it any more. ftrace.h says what it may do; it must not throw. */
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

  /* Patterns as for set_ftrace_filter. EINVAL: one means no function. */
  template <class Function>
  requires std::invocable<Function&, const function_call&>
  static result<function_callback> on(std::initializer_list<std::string_view> patterns,
                                      Function&& function) {
    using call = called<std::decay_t<Function>>;
    function_callback made;
    made.state_ = std::make_unique<call>(std::forward<Function>(function));
    ftrace_ops* ops = &made.state_->ops;
    ops->func = &call::run;
    ops->private_data = made.state_.get();
    for (std::string_view pattern : patterns)
      if (const int answer = filter(ops, pattern)) return error_number(answer);
    if (const int answer = patchbay_register_ftrace_function(ops)) return error_number(answer);
    return made;
  }

  uint64_t missed() const { return state_ ? patchbay_ftrace_missed(&state_->ops) : 0; }
  /* EDEADLK: called in a callback: it goes on. EBUSY: it does not come back: the function object is
   * kept for ever. */
  result<void> end() {
    if (!state_) return {};
    int answer = 0;
    if (state_->ops.flags & FTRACE_OPS_FL_ENABLED)
      answer = patchbay_unregister_ftrace_function(&state_->ops);
    if (answer == -EDEADLK) return error_number(answer);
    patchbay_ftrace_free_filter(&state_->ops);
    if (answer == -EBUSY)
      (void)state_.release();
    else
      state_.reset();
    return result<void>::of(answer);
  }

 private:
  struct state {
    ftrace_ops ops = {};
    virtual ~state() = default;
  };
  template <class Function>
  struct called : state {
    Function function;
    explicit called(Function&& from) : function(std::move(from)) {}
    explicit called(const Function& from) : function(from) {}
    static void run(unsigned long ip, unsigned long parent_ip, ftrace_ops* ops,
                    ftrace_regs* regs) noexcept {
      auto* self = static_cast<called*>(static_cast<state*>(ops->private_data));
      self->function(function_call(ip, parent_ip, regs));
    }
  };
  static int filter(ftrace_ops* ops, std::string_view pattern) {
    std::string line(pattern);
    return patchbay_ftrace_set_filter(ops, reinterpret_cast<unsigned char*>(line.data()),
                                      int(line.size()), 0);
  }

  std::unique_ptr<state> state_;
};

}  // namespace patchbay

#endif
