// SPDX-License-Identifier: MIT
// Addresses as text, with a cache in front of AddressNames: traces name the same few functions over
// and over.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "output/address_names.h"

namespace patchbay {

class AddressText {
 public:
  struct Entry {  // what most look at stands first
    uint64_t address = 0;
    uint32_t table = 0;  // of the names
    bool known = false, is_caller = false, is_variable = false;
    std::string plain;   // "name", or "0x1234" when nothing is known there
    std::string offset;  // "name+0x10", or as plain
    std::string full;    // "name+0x10/0x80", or as plain; "(null)" for 0
  };
  // `names` may be null, and may be replaced (drop() then): it must outlive this.
  // `escape`: names come from a foreign file and must not command a terminal.
  AddressText(AddressNames* names, bool escape);
  // Valid until the next call.
  const Entry& of(uint64_t address) { return look_up(address, false); }
  // Of an address that a call returns to: the function is the one that the call stands in. That
  // call may be the function's last instruction; the address is then behind it ("f+0x20/0x20").
  const Entry& caller(uint64_t address) { return look_up(address, true); }
  // Texts of one number and address are the same (AddressNames::table()).
  uint32_t table() const { return names_ ? names_->table() : 0; }
  void drop();  // the program's modules have changed
  // "/lib/libc.so.6[+0x1234]": the object at this address; "" when it is not known.
  std::string object_of(uint64_t address) const;

 private:
  const Entry& look_up(uint64_t address, bool is_caller);
  bool find(uint64_t address, bool is_caller, AddressNames::Name* name);
  AddressNames* names_;
  bool escape_;
  std::vector<Entry> cache_;
};

}  // namespace patchbay
