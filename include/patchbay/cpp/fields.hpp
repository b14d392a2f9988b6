/* SPDX-License-Identifier: MIT
 *
 * Fields of events in patchbay.hpp: their types and names, the values that are recorded in them,
 * and the checks of an event that is said to have them.
 *
 *   trace(values…) ── argument<T> ── value<T> ──> the words of synth_event_trace_array()
 *                     (converts)     (copies what has to be)
 */
#ifndef PATCHBAY_CPP_FIELDS_HPP
#define PATCHBAY_CPP_FIELDS_HPP

#include <patchbay/subscribe.h>
#include <patchbay/cpp/result.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace patchbay {

/* A text as a template argument. */
template <size_t N>
struct fixed_string {
  char text[N];
  constexpr fixed_string(const char (&from)[N]) { std::copy_n(from, N, text); }
  constexpr const char* c_str() const { return text; }
  constexpr std::string_view view() const { return {text, N - 1}; }
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
concept integer = std::integral<T> && sizeof(T) <= 8;
template <class T>
concept real = std::same_as<T, float> || std::same_as<T, double>;
template <class T>
concept pointer = std::is_pointer_v<T> && !text<T>;
template <class T>
concept number = integer<T> || std::is_enum_v<T> || is_duration<T>::value || pointer<T>;
template <class T>
concept stack = std::same_as<T, std::span<const unsigned long>>;
template <class T>
concept bytes = std::same_as<T, std::span<const std::byte>>;
template <class T>
concept recorded = number<T> || real<T> || text<T> || is_text_array<T> || stack<T>;

constexpr bool is_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !is_letter(name[0])) return false;
  for (char c : name)
    if (!is_letter(c) && !(c >= '0' && c <= '9')) return false;
  return true;
}

}  // namespace detail

/* A field of T and its name. T:
 *   integers, bool, enumerations   as they are
 *   float, double                  as they are
 *   a pointer                      u64
 *   std::chrono::duration          s64, in its own unit
 *   std::string_view               a text of any length (char[])
 *   char[N]                        a text of which lines show N bytes, at most 256
 *   std::span<const unsigned long> a stack of at most 31 (long[])
 * To subscribe with there is std::span<const std::byte> as well: the bytes of any field. */
template <class T, fixed_string Name>
struct field {
  static_assert(detail::recorded<T> || detail::bytes<T>,
                "the type of a field is an integer of at most 8 bytes, bool, float, double, an "
                "enumeration, a pointer, a duration of integers, a text (std::string_view, "
                "char[N]) or a stack (std::span<const unsigned long>)");
  static_assert(detail::is_name(Name.view()),
                "the name of a field has letters, digits and _, and begins with no digit");
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

template <class... Fields>
constexpr bool all_names_differ() {
  const std::string_view names[] = {Fields::name()..., ""};
  for (size_t i = 0; i < sizeof...(Fields); i++)
    for (size_t k = 0; k < i; k++)
      if (names[i] == names[k]) return false;
  return true;
}
/* The number of the field of that name; sizeof...(Fields): there is none. */
template <class... Fields>
constexpr size_t index_of(std::string_view name) {
  const std::string_view names[] = {Fields::name()..., ""};
  size_t i = 0;
  while (i < sizeof...(Fields) && names[i] != name) i++;
  return i;
}

template <class T>
constexpr const char* integer_type() {
  constexpr const char* names[2][4] = {{"u8", "u16", "u32", "u64"}, {"s8", "s16", "s32", "s64"}};
  constexpr int size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  return names[std::is_signed_v<T>][size];
}

/* The name of T in a definition. */
template <class T>
std::string type_name() {
  static_assert(recorded<T>, "a field of bytes can be listened to, and not recorded");
  if constexpr (std::same_as<T, bool>)
    return "bool";
  else if constexpr (std::is_enum_v<T>)
    return type_name<std::underlying_type_t<T>>();
  else if constexpr (integer<T>)
    return integer_type<T>();
  else if constexpr (real<T>)
    return sizeof(T) == 4 ? "float" : "double";
  else if constexpr (is_duration<T>::value)
    return "s64";
  else if constexpr (is_text_array<T>)
    return "char[" + std::to_string(sizeof(T)) + "]";
  else if constexpr (stack<T>)
    return "long[]";
  else if constexpr (pointer<T>)
    return "u64";
  else
    return "char[]";
}

/* --- from an argument of trace() to T */

/* Every value of V becomes a T without a loss. */
template <class T, class V>
concept keeps = requires(V&& from) {
  std::type_identity_t<T[]>{static_cast<V&&>(from)};
}
|| (real<T> && std::integral<std::remove_cvref_t<V>> &&
    std::numeric_limits<std::remove_cvref_t<V>>::digits <= std::numeric_limits<T>::digits);
/* Some values of V become a T without a loss. */
template <class T, class V>
concept narrows = std::is_arithmetic_v<T> && std::is_arithmetic_v<V> && !keeps<T, V> &&
                  (real<T> || !std::floating_point<V>);

void the_value_may_not_fit_into_the_field_convert_it_with_static_cast();

template <class T, class V>
constexpr bool has_same_value(const V& from) {
  if constexpr (real<T> && std::floating_point<V>)
    return true; /* the nearest one */
  else
    return static_cast<V>(static_cast<T>(from)) == from &&
           (static_cast<T>(from) < T{}) == (from < V{});
}

/* A parameter of trace(). It takes a constant if the value fits, anything else if the type fits. */
template <class T>
struct argument {
  T value;

  template <class V>
  requires keeps<T, const V&>
  constexpr argument(const V& from) : value(static_cast<T>(from)) {}
  template <class V>
  requires(narrows<T, V>) consteval argument(const V& from) : value(static_cast<T>(from)) {
    if (!has_same_value<T>(from))
      the_value_may_not_fit_into_the_field_convert_it_with_static_cast();
  }
  template <class V>
  requires(narrows<T, V> && !std::is_const_v<V>) argument(V&) : value() {
    static_assert(!narrows<T, V>,
                  "the value may not fit into the field, whose type is narrower or has another "
                  "sign: convert it with static_cast");
  }
  template <class V>
  requires(!keeps<T, const V&> && !narrows<T, V>) argument(const V&) : value() {
    static_assert(!(std::is_arithmetic_v<T> && std::floating_point<V>),
                  "a floating-point value is given to a field of integers: convert it with "
                  "static_cast");
    static_assert(std::is_arithmetic_v<T> && std::floating_point<V>,
                  "the value has not the type of the field");
  }
};

/* A text: its address, its length, and whether a NUL stands behind it. */
template <class T>
requires(text<T> || is_text_array<T>) struct argument<T> {
  const char* text = nullptr;
  size_t length = 0;
  bool has_end = true;

  argument() = default;
  argument(std::nullptr_t) {}
  template <class V>
  argument(const V& from) {
    if constexpr (std::is_array_v<V> && std::is_convertible_v<const V&, const char*>) {
      text = from;
      length = strnlen(from, sizeof(V));
      has_end = length < sizeof(V);
    } else if constexpr (std::is_convertible_v<const V&, const char*>) {
      text = from;
    } else if constexpr (std::is_same_v<V, std::string>) {
      text = from.c_str();
    } else if constexpr (std::is_convertible_v<const V&, std::string_view>) {
      const std::string_view view = from;
      text = view.data();
      length = view.size();
      has_end = false;
    } else {
      static_assert(std::is_convertible_v<const V&, std::string_view>,
                    "a field of text takes a std::string_view, a std::string or a const char*");
    }
  }
};

template <stack T>
struct argument<T> {
  T value;
  template <class V>
  argument(const V& from) : value(from) {
    static_assert(std::is_convertible_v<const V&, T>,
                  "a field of stacks takes a std::span<const unsigned long>");
  }
};

/* The part of a value that is kept until the record is written. */
template <class T>
using kept = typename std::conditional_t<number<T> || real<T> || stack<T>, std::type_identity<T>,
                                         std::type_identity<argument<T>>>::type;
template <class T>
const auto& keep(const argument<T>& from) {
  if constexpr (text<T> || is_text_array<T>)
    return from;
  else
    return from.value;
}

/* --- from T to the record: the 64 bits that synth_event_trace_array() takes, and what they point
 * to */

template <class T>
struct value {
  uint64_t word;
  value(const argument<T>& from) : word(convert(from.value)) {}
  static uint64_t convert(T from) {
    if constexpr (std::same_as<T, float>)
      return std::bit_cast<uint32_t>(from);
    else if constexpr (std::same_as<T, double>)
      return std::bit_cast<uint64_t>(from);
    else if constexpr (is_duration<T>::value)
      return static_cast<uint64_t>(from.count());
    else if constexpr (std::is_pointer_v<T>)
      return reinterpret_cast<uintptr_t>(from);
    else
      return static_cast<uint64_t>(from);
  }
};

/* A text that does not end with a NUL has to be copied; at most 1023 bytes of it are taken. */
template <class T>
requires(text<T> || is_text_array<T>) struct value<T> {
  static constexpr size_t most = is_text_array<T> ? 256 : 1024;
  uint64_t word;
  char copy[most];

  value(const argument<T>& from) : word(reinterpret_cast<uintptr_t>(from.text)) {
    if (from.has_end) return;
    copy[std::string_view(from.text, from.length).copy(copy, most - 1)] = '\0';
    word = reinterpret_cast<uintptr_t>(&copy);
  }
  value(const value&) = delete;
};

template <stack T>
struct value<T> {
  static constexpr size_t most = 31;
  uint64_t word;
  unsigned long copy[1 + most];
  value(const argument<T>& from) : word(reinterpret_cast<uintptr_t>(&copy)) {
    copy[0] = std::min(from.value.size(), most);
    std::copy_n(from.value.begin(), copy[0], copy + 1);
  }
  value(const value&) = delete;
};

template <class Field>
concept is_member = requires {
  typename Field::object;
};
template <class Field, class Object>
concept is_member_of = is_member<Field> && std::same_as<typename Field::object, Object>;

/* --- T compared with the field of an event's format */

inline std::string described(const patchbay_field_place& place) {
  const std::string size = std::to_string(place.size) + (place.size == 1 ? " byte" : " bytes");
  if (place.kind == PATCHBAY_FIELD_TEXT) return "a text of " + size;
  if (place.kind == PATCHBAY_FIELD_DYNAMIC) return "a text or an array of any length";
  if (place.kind == PATCHBAY_FIELD_BYTES) return "an array or a structure of " + size;
  if (place.is_float) return "a floating-point number of " + size;
  return (place.is_signed ? "a signed number of " : "an unsigned number of ") + size;
}
template <class T>
std::string described() {
  const std::string size = std::to_string(sizeof(T)) + (sizeof(T) == 1 ? " byte" : " bytes");
  if constexpr (std::same_as<T, bool>)
    return "a bool";
  else if constexpr (text<T> || is_text_array<T>)
    return "a text";
  else if constexpr (stack<T>)
    return "a stack";
  else if constexpr (bytes<T>)
    return "bytes";
  else if constexpr (real<T>)
    return "a floating-point number of " + size;
  else if constexpr (pointer<T>)
    return "a pointer";
  else if constexpr (std::is_enum_v<T>)
    return described<std::underlying_type_t<T>>();
  else if constexpr (is_duration<T>::value)
    return "a signed number of 8 bytes";
  else
    return (std::is_signed_v<T> ? "a signed number of " : "an unsigned number of ") + size;
}

/* Tells whether each number of `from_size` bytes is one of `to_size` bytes as well. */
constexpr bool number_fits(size_t from_size, bool from_signed, size_t to_size, bool to_signed) {
  if (from_signed == to_signed) return from_size <= to_size;
  return !from_signed && from_size < to_size;
}

/* Tells whether every value of the field is a T. */
template <class T>
bool can_be_read(const patchbay_field_place& place) {
  if constexpr (bytes<T>)
    return true;
  else if constexpr (text<T> || is_text_array<T>)
    return place.kind == PATCHBAY_FIELD_TEXT || place.kind == PATCHBAY_FIELD_DYNAMIC;
  else if constexpr (stack<T>)
    return place.kind == PATCHBAY_FIELD_DYNAMIC;
  else if constexpr (real<T>)
    return place.kind == PATCHBAY_FIELD_NUMBER && place.is_float && place.size <= sizeof(T);
  else if constexpr (std::is_enum_v<T>)
    return can_be_read<std::underlying_type_t<T>>(place);
  else if (place.kind != PATCHBAY_FIELD_NUMBER || place.is_float)
    return false;
  else if constexpr (std::same_as<T, bool>)
    return place.size == 1;
  else if constexpr (pointer<T>)
    return place.size == sizeof(T);
  else if constexpr (is_duration<T>::value)
    return place.is_signed && place.size <= sizeof(T);
  else
    return number_fits(place.size, place.is_signed, sizeof(T), std::is_signed_v<T>);
}

/* Tells whether every T is a value of the field. */
template <class T>
bool can_be_recorded(const patchbay_field_place& place) {
  if constexpr (is_text_array<T> || text<T>)
    return place.kind == PATCHBAY_FIELD_TEXT || place.kind == PATCHBAY_FIELD_DYNAMIC;
  else if constexpr (stack<T>)
    return place.kind == PATCHBAY_FIELD_DYNAMIC;
  else if constexpr (real<T>)
    return place.kind == PATCHBAY_FIELD_NUMBER && place.is_float && place.size == sizeof(T);
  else if constexpr (std::is_enum_v<T>)
    return can_be_recorded<std::underlying_type_t<T>>(place);
  else if (place.kind != PATCHBAY_FIELD_NUMBER || place.is_float)
    return false;
  else if constexpr (std::same_as<T, bool>)
    return true;
  else if constexpr (pointer<T>)
    return place.size == sizeof(T);
  else if constexpr (is_duration<T>::value)
    return place.is_signed && place.size == 8;
  else
    return number_fits(sizeof(T), std::is_signed_v<T>, place.size, place.is_signed);
}

inline failure other_type(std::string_view system, std::string_view event, const char* field,
                          const patchbay_field_place& place, const std::string& wanted) {
  return failure(EINVAL, "The field \"" + std::string(field) + "\" of " + std::string(system) +
                             ":" + std::string(event) + " is " + described(place) + ", not " +
                             wanted + ".");
}

}  // namespace detail
}  // namespace patchbay

#endif
