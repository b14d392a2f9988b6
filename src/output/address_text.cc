// SPDX-License-Identifier: MIT
#include "output/address_text.h"

#include "output/text_put.h"
#include "output/trace_line.h"

namespace patchbay {

namespace {
constexpr size_t kCacheSize = 4096;
}

AddressText::AddressText(AddressNames* names, bool escape) : names_(names), escape_(escape) {}

void AddressText::drop() {
  for (Entry& entry : cache_) entry.plain.clear();
}

std::string AddressText::object_of(uint64_t address) const {
  SymbolTable* symbols = names_ ? names_->symbols() : nullptr;
  SymbolizedAddress found;
  if (!symbols || !symbols->symbolize(address, &found) || !found.module) return "";
  std::string text;
  if (escape_) {
    append_escaped(&text, found.module->path());
  } else {
    text = found.module->path();
  }
  text += "[+0x";
  put_hex(&text, address - found.module->start());
  return text + "]";
}

bool AddressText::find(uint64_t address, bool is_caller, AddressNames::Name* name) {
  if (!address || !names_) return false;
  if (is_caller && names_->lookup(address - 1, name)) return ++name->offset, true;
  return names_->lookup(address, name);
}

const AddressText::Entry& AddressText::look_up(uint64_t address, bool is_caller) {
  if (cache_.empty()) cache_.resize(kCacheSize);
  const uint32_t table = this->table();
  Entry& entry = cache_[((address ^ table ^ uint64_t{is_caller}) * 0x9e3779b97f4a7c15u) >> 52];
  if (entry.address == address && entry.table == table && entry.is_caller == is_caller &&
      !entry.plain.empty())
    return entry;
  AddressNames::Name name;
  entry.address = address;
  entry.table = table;
  entry.plain.clear();
  entry.is_caller = is_caller;
  entry.known = find(address, is_caller, &name);
  entry.is_variable = name.is_variable;
  if (!entry.known) {
    entry.plain = "0x";
    put_hex(&entry.plain, address);
    entry.offset = entry.plain;
    entry.full = address ? entry.plain : "(null)";
    return entry;
  }
  if (escape_) {
    append_escaped(&entry.plain, name.name);
  } else {
    entry.plain = name.name;
  }
  entry.offset = entry.plain + "+0x";
  put_hex(&entry.offset, name.offset);
  entry.full = entry.offset;
  if (name.size) {
    entry.full += "/0x";
    put_hex(&entry.full, name.size);
  }
  return entry;
}

}  // namespace patchbay
