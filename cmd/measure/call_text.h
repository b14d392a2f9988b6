// SPDX-License-Identifier: MIT
//
// A call as a person writes it, from the records of its entry and its return:
//
//   entry   path_at=0x5581…, path="/etc/passwd", oflag=0     open("/etc/passwd", 0)
//   return  ret=3                                            3
//
// What an enumeration or a word of flags has names for has those (value_names.h): the prototype
// knows them. A call that has failed says why: "-1 ENOENT" of a function that sets errno,
// "16 EBUSY" of one that returns the number of an error.
//
// Objects are made of several fields (object_text.h).
//
// A text whose address is 0 is NULL, one that could not be read is its address, one that was cut
// ends with "...". The bytes of both records are foreign: nothing is read beyond their ends, and
// no byte of them commands a terminal.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/measure/object_text.h"
#include "cmd/target/c_declaration.h"
#include "event/event_call.h"
#include "event/value_names.h"
#include "output/address_text.h"

namespace patchbay::cmd {

struct CallTextContext {
  AddressText* addresses = nullptr;  // null: no name is known
  // Whether a thread's memory can be read there; empty: it is not known.
  std::function<bool(int32_t tid, uint64_t address)> can_read;
};

// The event of a whole call as that of an entry, and that of a return with "ret" or "text", "errno"
// and "duration".
std::pair<EventCall, EventCall> split_whole_call(const EventCall& whole);
// The event of a whole call, whose arguments are parts of its result, as that of a return.
EventCall return_of_whole_call(const EventCall& whole);

class CallText {
 public:
  // `entry`: a function event; `returned`: a probe with "ret" and perhaps "text", null where there
  // is none. `result`: as FunctionEventLines has it. `has_types`: an x64 is a pointer.
  CallText(std::string name, const EventCall& entry, const EventCall* returned,
           const std::string& result, bool has_types, const FunctionValueNames& names = {},
           FailureSign failure = FailureSign::kUnknown, const ObjectArguments& objects = {});

  const std::string& name() const { return name_; }
  // In a list of functions, where helper@a.c and helper@b.c are two.
  void set_listed_name(std::string name) { listed_name_ = std::move(name); }
  const std::string& listed_name() const { return listed_name_.empty() ? name_ : listed_name_; }
  // Where the call returns to, by the record of its entry or of its return; 0: the record is short.
  uint64_t caller_of_entry(std::span<const uint8_t> record) const;
  // Where its return address stands; 0: that is not recorded.
  uint64_t stack_of_entry(std::span<const uint8_t> record) const;
  // The function's own address.
  uint64_t place_of_entry(std::span<const uint8_t> record) const;
  uint64_t caller_of_return(std::span<const uint8_t> record) const;
  uint64_t duration_of_whole(std::span<const uint8_t> record) const;

  // "open("/etc/passwd", 0)".
  void append_call(std::string* out, std::span<const uint8_t> entry, int32_t tid,
                   const CallTextContext& context) const;
  // " = 3"; nothing of void.
  void append_result(std::string* out, std::span<const uint8_t> returned, int32_t tid,
                     const CallTextContext& context) const;
  // A number that is -1, a pointer that is NULL or -1; the number of an error.
  bool is_failure(std::span<const uint8_t> returned) const;
  bool has_return() const { return has_return_; }

 private:
  enum class Kind : uint8_t {
    kNone,  // nothing can be shown
    kVoid,
    kSigned,
    kUnsigned,
    kHex,
    kOctal,
    kPointer,
    kSymbol,
    kChar,
    kFloat,
    kDouble,
    kLongDouble,
    kWide,  // 16 bytes
    kText,
    kObject,
    kFormatArgs,  // what is passed for `...`
  };
  struct Value {
    Kind kind = Kind::kNone;
    uint32_t offset = 0, size = 0, count = 0;  // count 0: no array
    std::optional<uint32_t> address = {};      // of a text: where its address is
    bool may_be_fault = false;                 // of a text: empty may mean that it was not read
    SharedValueNames names = nullptr;          // null: its values have none
    size_t object = 0;                         // of kObject: of objects_
    // Where it is not always passed: the field that says whether it is, and what that has to be.
    std::shared_ptr<const ArgumentCondition> condition = nullptr;
    uint32_t condition_offset = 0, condition_size = 0;
  };
  void append_error(std::string* out, std::span<const uint8_t> returned) const;
  bool take_result(const EventCall& entry, const EventCall& returned,
                   const ObjectArguments& objects);
  void add_marks(const EventCall& entry, const ObjectArguments& objects);
  bool take_object(const EventField& field, const EventCall& entry, const ObjectArguments& objects);
  static Kind kind_of(const EventField& field, bool has_types);
  static bool is_integer(Kind kind);
  static void add_condition(const EventField& field, const EventCall& entry,
                            const FunctionValueNames& names, Value* value);
  static bool is_empty(const Value& value, std::span<const uint8_t> record);
  static bool is_passed(const Value& value, std::span<const uint8_t> record);
  static void append(std::string* out, const Value& value, std::span<const uint8_t> record,
                     int32_t tid, const CallTextContext& context);
  static void append_scalar(std::string* out, Kind kind, const uint8_t* at, uint32_t size,
                            const CallTextContext& context);
  static void append_text(std::string* out, const Value& value, std::span<const uint8_t> record,
                          int32_t tid, const CallTextContext& context);

  std::string name_, listed_name_, shown_name_;
  std::vector<Value> arguments_;
  std::vector<ObjectText> objects_;
  bool has_return_ = false;
  Kind result_kind_ = Kind::kNone;
  Value result_;
  FailureSign failure_ = FailureSign::kUnknown;
  uint32_t errno_ = ~0u;  // where it is in the record of a return
  uint32_t entry_caller_ = 0, entry_place_ = 0, entry_stack_ = 0, return_caller_ = 0;
  uint32_t duration_ = ~0u;
};

// "text" in quotes, as C writes it; what is no text of UTF-8 as \xNN.
void append_quoted(std::string* out, std::string_view text);
// "0.012 ms"; below 10 us with nanoseconds.
void put_milliseconds(std::string* out, uint64_t ns);

}  // namespace patchbay::cmd
