// SPDX-License-Identifier: MIT
//
// An object as a person writes it, from the fields of a record that are its parts:
//
//   "hello"  ["a", "b", … 14 more]  [1, 2]  nullopt  &5  nullptr  {3 entries}  250ms  {x=1, y=2.5}
//
// What is no object any more, or could not be read, has a mark in its place: (unreadable),
// (corrupt: 18446744073709551615 bytes). The bytes are foreign, as all of a record.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "event/event_call.h"
#include "event/object_form.h"
#include "output/address_text.h"

namespace patchbay::cmd {

// What else is known of the process.
struct ObjectContext {
  AddressText* addresses = nullptr;  // null: no name is known
  // Whether its memory can be read there; empty: it is not known.
  std::function<bool(uint64_t address)> can_read = {};
};

// A function's name; of an address inside it with how far that is.
void append_function(std::string* out, uint64_t address, AddressText* addresses);

class ObjectText {
 public:
  // Nothing: the event does not have all of the fields.
  static std::optional<ObjectText> make(const ObjectForm& form, const EventCall& call);
  void append(std::string* out, std::span<const uint8_t> record,
              const ObjectContext& context = {}) const;

 private:
  // Of the record; size 0: the form has no such field.
  struct Field {
    uint32_t offset = 0, size = 0;
    bool is_there() const { return size != 0; }
  };
  using Record = std::span<const uint8_t>;
  bool find(const EventCall& call, const std::string& name, Field* field);
  bool find_all(const EventCall& call, int depth);
  static uint64_t number(Record record, Field field);
  static std::optional<std::span<const uint8_t>> dynamic(Record record, Field field);
  bool can_be_read(Record record) const;
  std::optional<uint64_t> total(Record record, std::string* out) const;
  using Context = ObjectContext;
  void append_number(std::string* out, std::span<const uint8_t> bytes,
                     const Context& context) const;
  void append_scalar(std::string* out, Record record, const Context& context) const;
  void append_text(std::string* out, Record record) const;
  void append_wide_text(std::string* out, Record record) const;
  void append_c_text(std::string* out, Record record, const Context& context) const;
  void append_list(std::string* out, Record record, const Context& context) const;
  void append_parts(std::string* out, Record record, const Context& context) const;
  void append_optional(std::string* out, Record record, const Context& context) const;
  void append_pointer(std::string* out, Record record, const Context& context) const;
  void append_size(std::string* out, Record record) const;
  void append_type_name(std::string* out, Record record) const;
  void append_members(std::string* out, Record record, const Context& context) const;
  void append_characters(std::string* out, Record record) const;
  void append_either_text(std::string* out, Record record) const;
  void append_variant(std::string* out, Record record, const Context& context) const;
  void append_target(std::string* out, Record record, const Context& context) const;

  ObjectForm form_;  // without its parts
  Field field_, length_, begin_, end_, address_, flag_, there_;
  std::vector<ObjectText> parts_;
};

}  // namespace patchbay::cmd
