// SPDX-License-Identifier: MIT
// The types of probe arguments (docs/files.md): what the format file and the print fmt say.
// Of float and double, which are ours, libtraceevent shows the bits (function_event_atom.h).
#include "event/probe_event_argument.h"

namespace patchbay {

namespace {

constexpr std::string_view kText = "__data_loc char[]";
constexpr std::string_view kTextFormat = "\\\"%s\\\"";

constexpr ProbeType kTypes[] = {
    {"string", 4, true, kText, kTextFormat}, {"ustring", 4, true, kText, kTextFormat},
    {"symstr", 4, true, kText, kTextFormat}, {"u8", 1, false, "u8", "%u"},
    {"u16", 2, false, "u16", "%u"},          {"u32", 4, false, "u32", "%u"},
    {"u64", 8, false, "u64", "%Lu"},         {"s8", 1, true, "s8", "%d"},
    {"s16", 2, true, "s16", "%d"},           {"s32", 4, true, "s32", "%d"},
    {"s64", 8, true, "s64", "%Ld"},          {"x8", 1, false, "u8", "0x%x"},
    {"x16", 2, false, "u16", "0x%x"},        {"x32", 4, false, "u32", "0x%x"},
    {"x64", 8, false, "u64", "0x%Lx"},       {"char", 1, false, "u8", "'%c'"},
    {"symbol", 8, false, "u64", "%pS"},      {"float", 4, true, "float", "%x"},
    {"double", 8, true, "double", "%Lx"},
};

// No type of a number: what a function returns in st(0).
constexpr ProbeType kLongDouble = {"float80", 16, true, "float80", "%s"};

}  // namespace

const ProbeType* long_double_type() { return &kLongDouble; }

const ProbeType* find_probe_type(std::string_view name) {
  for (const ProbeType& type : kTypes)
    if (type.name == name) return &type;
  return nullptr;
}

std::vector<std::string> probe_type_names() {
  std::vector<std::string> names;
  for (const ProbeType& type : kTypes) names.emplace_back(type.name);
  return names;
}

}  // namespace patchbay
