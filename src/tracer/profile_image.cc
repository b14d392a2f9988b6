// SPDX-License-Identifier: MIT
#include "tracer/profile_image.h"

#include <cerrno>

#include "abi/table_abi.h"
#include "base/text.h"

namespace patchbay {

std::string ProfiledFunction::place_text() const { return object + "@" + hex_number(place); }

std::string profile_bytes(const std::vector<ProfiledFunction>& functions) {
  std::string body;
  abi::put_table_number(&body, functions.size());
  for (const ProfiledFunction& one : functions) {
    for (const uint64_t number : {one.calls, one.time_ns, one.place})
      abi::put_table_number(&body, number);
    abi::put_table_text(&body, std::string_view(one.name).substr(0, abi::kMostTableText));
    abi::put_table_text(&body, std::string_view(one.object).substr(0, abi::kMostTableText));
  }
  return abi::table_image(abi::kProfileMagic, body);
}

Result<std::vector<ProfiledFunction>> parse_profile(std::string_view untrusted) {
  std::vector<ProfiledFunction> functions;
  std::string_view body;
  const bool is_one = abi::take_table_image(abi::kProfileMagic, &untrusted, &body);
  abi::TableReader in(is_one ? body : "");
  for (size_t left = in.count(abi::kMostTableNames); in.ok() && left-- > 0;) {
    ProfiledFunction& one = functions.emplace_back();
    for (uint64_t* const number : {&one.calls, &one.time_ns, &one.place}) *number = in.number();
    one.name = in.text();
    one.object = in.text();
  }
  if (!in.ok() || !in.at_end() || !untrusted.empty())
    return user_error(EBADMSG, "The bytes of a profile are not those that this version reads.");
  return functions;
}

}  // namespace patchbay
