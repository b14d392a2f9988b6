// SPDX-License-Identifier: MIT
// Records of entries and returns as a damaged buffer has them: each has a text, nothing is read
// beyond its end, and no byte of it could command a terminal.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "cmd/measure/call_text.cc"  // the tool is no library
#include "cmd/measure/object_text.cc"

using patchbay::EventCall;
using patchbay::EventField;

namespace {

// The first byte chooses the fields, the rest is the record.
EventCall event_of(uint8_t choice, bool is_return) {
  static const EventField kFields[] = {{"__data_loc char[]", "s", 0, 4},
                                       {"x64", "s_at", 0, 8},
                                       {"int", "n", 0, 4, true},
                                       {"char", "c", 0, 1, true},
                                       {"double", "d", 0, 8},
                                       {"float", "f", 0, 4},
                                       {"symbol", "p", 0, 8},
                                       {"x64[3]", "a", 0, 24, false, 3}};
  EventCall call;
  uint32_t offset = 8;
  const auto add = [&](EventField field) {
    field.offset = offset;
    offset += field.size;
    call.fields.push_back(field);
  };
  add({"unsigned long", is_return ? "__probe_func" : "__parent_ip", 0, 8});
  add({"unsigned long", is_return ? "__probe_ret_ip" : "__ip", 0, 8});
  if (is_return) {
    add({"u64", "ret", 0, 8});
    add({"__data_loc char[]", "text", 0, 4});
    add({"s32", "errno", 0, 4, true});
    return call;
  }
  for (size_t i = 0; i < 8; i++)
    if (choice >> i & 1) add(kFields[i]);
  if (choice % 3 == 0) add({"__data_loc char[]", "varargs", 0, 4});
  return call;
}

// Every kind of object, from the fields that there are.
patchbay::ObjectForm form_of(uint8_t choice, int depth) {
  using Form = patchbay::ObjectForm;
  Form form{.kind = Form::Kind(choice % 7), .show = Form::Show(choice / 7 % 7)};
  form.size = uint32_t{1} << (choice & 3);
  form.field = form.kind == Form::Kind::kScalar ? "n" : "s";
  form.flag = "n";
  form.flag_bit = choice;
  if (choice & 0x80) form.length = "s_at";
  if (choice & 0x40) form.begin = "s_at";
  if (choice & 0x20) form.end = "p";
  if (choice & 0x10) form.there = "s";
  form.unit = "s\x1b";
  for (int i = 0; i < 2 && depth < 2; i++)
    form.parts.push_back(form_of(choice + 31 * i, depth + 1));
  return form;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size < 2) return 0;
  static constexpr const char* kResults[] = {"int", "u64", "x64", "string", "void", "", "double"};
  const EventCall entry = event_of(bytes[0], false), returned = event_of(0, true);
  static const auto kNames = std::make_shared<const patchbay::ValueNames>(
      std::vector<patchbay::NamedValue>{{"a\x1b", 0}, {"b", 1}, {"c", 3}, {"MASK", 3}, {"d", -1}},
      patchbay::ValueNames::Kind::kFlags);
  const patchbay::FunctionValueNames names{{{"n", kNames}, {"c", kNames}, {"a", kNames}}, kNames};
  const patchbay::cmd::CallText text(
      "f\x1b", entry, &returned, kResults[bytes[1] % std::size(kResults)], bytes[1] & 0x80,
      bytes[1] & 0x40 ? names : patchbay::FunctionValueNames{},
      patchbay::cmd::FailureSign((bytes[0] + bytes[1]) % 3),
      {{"s", {"s", "s_at", "n"}, form_of(bytes[1], 0)}, {"f", {"f"}, form_of(bytes[0], 0)}});
  const std::vector<uint8_t> record(bytes + 2, bytes + size);  // of this size and no more
  patchbay::cmd::CallTextContext context;
  context.can_read = [](int32_t, uint64_t address) { return (address & 1) != 0; };
  std::string out;
  text.append_call(&out, record, 1, context);
  text.append_result(&out, record, 1, context);
  (void)text.is_failure(record);
  (void)text.caller_of_entry(record);
  (void)text.caller_of_return(record);
  for (const char c : out)
    if (uint8_t(c) < ' ' || c == 0x7f) std::abort();
  return 0;
}
