// SPDX-License-Identifier: MIT
//
// A note has no types: an argument of eight bytes is a number, an address or a text. Which ones are
// texts that end with a NUL is known of these providers, by their own definitions:
//
//   python       CPython, Include/pydtrace.d
//   postgresql   PostgreSQL, src/backend/utils/probes.d
//
// A provider whose texts have a length beside them, without a NUL (hotspot), is none of them.
#include <algorithm>

#include "event/sdt_event.h"

namespace patchbay {
namespace {

struct Texts {
  std::string_view provider, name;
  uint32_t count;  // the first ones
};

constexpr Texts kTexts[] = {
    {"python", "audit", 1},
    {"python", "cfunction__entry", 2},
    {"python", "cfunction__return", 2},
    {"python", "function__entry", 2},
    {"python", "function__return", 2},
    {"python", "import__find__load__done", 1},
    {"python", "import__find__load__start", 1},
    {"python", "instance__delete__done", 2},
    {"python", "instance__delete__start", 2},
    {"python", "instance__new__done", 2},
    {"python", "instance__new__start", 2},
    {"python", "line", 2},
    {"postgresql", "query__done", 1},
    {"postgresql", "query__parse__done", 1},
    {"postgresql", "query__parse__start", 1},
    {"postgresql", "query__rewrite__done", 1},
    {"postgresql", "query__rewrite__start", 1},
    {"postgresql", "query__start", 1},
    {"postgresql", "statement__status", 1},
};

}  // namespace

bool is_sdt_text(std::string_view provider, std::string_view name, size_t argument) {
  return std::any_of(std::begin(kTexts), std::end(kTexts), [&](const Texts& one) {
    return one.provider == provider && one.name == name && argument < one.count;
  });
}

}  // namespace patchbay
