// SPDX-License-Identifier: MIT
#include "uprobes/uprobe_fetch.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/text.h"

namespace patchbay {
namespace {

constexpr uint32_t kMaxElements = 64;       // MAX_ARRAY_LEN of the kernel
constexpr size_t kMaxArguments = 128;       // MAX_TRACE_ARGS
constexpr size_t kMaxFetch = 63;            // MAX_ARGSTR_LEN
constexpr uint32_t kMaxKernelBytes = 3584;  // of one record, which has a page
constexpr const char* kRegisters[] = {"ax",  "cx",  "dx",  "bx",  "sp",    "bp",
                                      "si",  "di",  "r8",  "r9",  "r10",   "r11",
                                      "r12", "r13", "r14", "r15", "flags", "ip"};
constexpr uint8_t kFirstWideRegister = 8, kLastWideRegister = 15;  // not there in 32 bits
constexpr const char* kSysVArguments[] = {"%di", "%si", "%dx", "%cx", "%r8", "%r9"};
constexpr const char* kGoArguments[] = {"%ax", "%bx", "%cx",  "%di", "%si",
                                        "%r8", "%r9", "%r10", "%r11"};

std::string hop(int64_t distance, const std::string& inner) {
  return (distance < 0 ? "-" + std::to_string(-distance) : "+" + std::to_string(distance)) + "(" +
         inner + ")";
}

std::string unsigned_type(uint8_t size) { return ":u" + std::to_string(size * 8); }

class Splitter {
 public:
  Splitter(const UprobeSite& site, const std::vector<std::string>& names)
      : site_(site), names_(names) {}
  std::variant<UprobeFetch, NoUprobeForm> run(const FetchProgram& program);

 private:
  // What the walk has come to: a register, memory, or a number that is known.
  struct Place {
    enum class Kind : uint8_t { kRegister, kMemory, kConstant };
    Kind kind = Kind::kConstant;
    std::string text;   // "%di" "+8(%di)" "@+0x10"
    std::string inner;  // of memory: what the address is computed from, and the distance
    int64_t distance = 0;
    uint8_t size = 8;  // of memory
    uint64_t constant = 0;
    int go_register = -1;
  };

  bool refuse(std::string why) {
    if (!refusal_) refusal_ = NoUprobeForm{field_, std::move(why)};
    return false;
  }
  bool start_argument(uint8_t index);
  bool start_register(uint8_t index);
  bool follow(uint8_t size);
  std::string at_address() const;
  bool is_followable();
  bool compute(const FetchInsn& insn);
  bool step(const FetchInsn& insn);
  bool end_number(const FetchInsn& insn);
  bool end_array(const FetchInsn& insn);
  bool end_text(const FetchInsn& insn);
  bool go_length(std::string* length);
  bool put_text(const FetchInsn& insn, uint32_t offset);
  bool end_comm(const FetchInsn& insn);
  void flush_add();
  size_t add(std::string fetch, uint8_t size, uint32_t count = 0, bool is_text = false);
  void guard(const std::string& pointer);
  std::string name_of(bool is_first) const;
  bool push(FieldRecipe recipe, const FetchInsn& insn);
  bool end_field();

  const UprobeSite& site_;
  const std::vector<std::string>& names_;
  UprobeFetch out_;
  std::optional<NoUprobeForm> refusal_;
  Place place_;
  uint64_t add_ = 0;  // what is added to it
  FieldRecipe recipe_;
  size_t field_ = 0;
  bool is_guard_ = false;  // what is added is no field's value
};

// --- arguments of the kernel

std::string Splitter::name_of(bool is_first) const {
  const std::string own = is_first && field_ < names_.size() ? names_[field_] : "";
  const bool is_taken =
      std::any_of(out_.arguments.begin(), out_.arguments.end(),
                  [&](const KernelArgument& argument) { return argument.name == own; });
  const bool is_good = !own.empty() && own.size() < 32 && is_name_start(own[0]) && !is_taken &&
                       !own.starts_with("__") && !own.starts_with("common_");
  return is_good ? own : "__v" + std::to_string(out_.arguments.size());
}

size_t Splitter::add(std::string fetch, uint8_t size, uint32_t count, bool is_text) {
  for (size_t i = 0; i < out_.arguments.size(); i++)
    if (out_.arguments[i].fetch == fetch) return i;
  const bool is_first = recipe_.value == FieldRecipe::kNone && !is_guard_;
  if (fetch.size() > kMaxFetch) refuse("the kernel takes an argument of 63 characters at most");
  out_.arguments.push_back({name_of(is_first), std::move(fetch), size, count, is_text, 0});
  uint64_t bytes = 0;
  for (const KernelArgument& argument : out_.arguments)
    bytes += uint64_t{argument.size} * std::max(argument.count, 1u);
  if (out_.arguments.size() > kMaxArguments || bytes > kMaxKernelBytes)
    refuse("an event of the kernel's uprobes is not so large");
  return out_.arguments.size() - 1;
}

void Splitter::guard(const std::string& pointer) {
  is_guard_ = true;
  recipe_.guards.push_back(add(pointer + ":u64", 8));
  is_guard_ = false;
}

// --- starts

bool Splitter::start_argument(uint8_t index) {
  if (site_.on_return) return refuse("the kernel keeps no arguments until the function returns");
  if (site_.abi == UprobeAbi::kGoOnStack)
    return refuse(
        "an assembly function of Go has its arguments on the stack, packed by their sizes: write "
        "+8($stack) and so on in a p: line");
  place_ = {};
  if (site_.abi == UprobeAbi::kI386) {
    place_.kind = Place::Kind::kMemory;
    place_.inner = "$stack";
    place_.distance = 4 * (int64_t{index} + 1);
    place_.text = hop(place_.distance, place_.inner);
    place_.size = 4;
    return true;
  }
  place_.kind = Place::Kind::kRegister;
  if (site_.abi == UprobeAbi::kSysV) {
    place_.text = kSysVArguments[index];
    return true;
  }
  const size_t number = index < site_.go_registers.size() ? site_.go_registers[index] : index;
  if (number >= std::size(kGoArguments))
    return refuse("Go passes nine words in registers, and this one on the stack");
  place_.go_register = int(number);
  place_.text = kGoArguments[number];
  return true;
}

bool Splitter::start_register(uint8_t index) {
  if (site_.abi == UprobeAbi::kI386 && index >= kFirstWideRegister && index <= kLastWideRegister)
    return refuse("a 32-bit program has no register %" + std::string(kRegisters[index]));
  place_ = {};
  place_.kind = Place::Kind::kRegister;
  place_.text = "%" + std::string(kRegisters[index]);
  return true;
}

// --- steps

// An address of the module moves with it: "@+OFF" is counted from the breakpoint.
std::string Splitter::at_address() const {
  const uint64_t address = place_.constant + add_;
  if (address < site_.module_start || address >= site_.module_end) return "@" + hex_number(address);
  const int64_t offset = int64_t(site_.file_offset + (address - site_.address));
  return "@+" + std::to_string(offset);
}

bool Splitter::is_followable() {
  if (!recipe_.steps.empty() || recipe_.sign_from)
    return refuse("the kernel computes nothing, and cannot follow what was computed");
  if (place_.kind == Place::Kind::kMemory && place_.size != 8)
    return refuse("the kernel follows pointers of 64 bits, and this one has " +
                  std::to_string(place_.size * 8));
  return true;
}

// The place becomes the memory that it points to.
bool Splitter::follow(uint8_t size) {
  if (!is_followable()) return false;
  Place next;
  next.kind = Place::Kind::kMemory;
  next.size = size;
  if (place_.kind == Place::Kind::kConstant) {
    next.text = at_address();
  } else {
    // A bad pointer before the last one is seen by its guard.
    if (place_.kind == Place::Kind::kMemory) guard(place_.text);
    next.inner = place_.text;
    next.distance = int64_t(add_);
    next.text = hop(next.distance, next.inner);
  }
  place_ = std::move(next);
  add_ = 0;
  return true;
}

void Splitter::flush_add() {
  if (add_) recipe_.steps.push_back({FetchOp::kAdd, 0, 8, 0, 0, add_});
  add_ = 0;
}

bool Splitter::compute(const FetchInsn& insn) {
  flush_add();
  recipe_.steps.push_back(insn);
  return true;
}

bool Splitter::push(FieldRecipe recipe, const FetchInsn& insn) {
  recipe.offset = insn.offset;
  out_.fields.push_back(std::move(recipe));
  return end_field();
}

bool Splitter::end_field() {
  recipe_ = {};
  place_ = {};
  add_ = 0;
  field_++;
  return !refusal_;
}

// --- ends

bool Splitter::end_number(const FetchInsn& insn) {
  if (insn.op == FetchOp::kLoad && !follow(insn.size)) return false;
  flush_add();
  recipe_.size = insn.size;
  if (place_.kind == Place::Kind::kConstant) {
    recipe_.constant = place_.constant;
  } else {
    const uint8_t size = place_.kind == Place::Kind::kMemory ? place_.size : 8;
    recipe_.value = add(place_.text + unsigned_type(size), size);
    if (site_.abi == UprobeAbi::kI386 && insn.op == FetchOp::kStore && insn.size == 8)
      recipe_.sign_from = 4;  // the field's type decides (see UprobeEvent)
  }
  return push(std::move(recipe_), insn);
}

bool Splitter::end_array(const FetchInsn& insn) {
  if (!follow(insn.size)) return false;
  recipe_.kind = FieldRecipe::Kind::kArray;
  recipe_.size = insn.size;
  recipe_.count = uint32_t(insn.imm);
  if (uint64_t{recipe_.count} * insn.size > kMaxKernelBytes)
    return refuse("an event of the kernel's uprobes has at most " +
                  std::to_string(kMaxKernelBytes) + " bytes of numbers");
  recipe_.nr_values = 0;
  for (uint32_t done = 0; done < recipe_.count && !refusal_; done += kMaxElements) {
    const uint32_t count = std::min(recipe_.count - done, kMaxElements);
    const int64_t distance = int64_t{done} * insn.size;
    const bool is_constant = place_.inner.empty();
    if (is_constant && done) return refuse("the kernel reads 64 elements at most");
    const std::string from =
        is_constant ? place_.text : hop(place_.distance + distance, place_.inner);
    const size_t index =
        add(from + unsigned_type(insn.size) + "[" + std::to_string(count) + "]", insn.size, count);
    if (done == 0) recipe_.value = index;
    if (index != recipe_.value + recipe_.nr_values)
      return refuse("two long arrays begin at one place");
    recipe_.nr_values++;
  }
  return push(std::move(recipe_), insn);
}

// What says how long the text is that begins at the place: in Go the word behind the pointer.
bool Splitter::go_length(std::string* length) {
  if (add_) return refuse("a text of Go is pointer and length, and begins where it begins");
  if (place_.kind == Place::Kind::kMemory && !place_.inner.empty()) {
    *length = hop(place_.distance + 8, place_.inner) + ":u64";
    return true;
  }
  if (place_.kind != Place::Kind::kRegister || place_.go_register < 0)
    return refuse("a text of Go is in a register or behind a pointer");
  if (size_t(place_.go_register) + 1 >= std::size(kGoArguments))
    return refuse("Go passes nine words in registers, and the length of this text on the stack");
  *length = std::string(kGoArguments[place_.go_register + 1]) + ":u64";
  return true;
}

// The text that begins at the place.
bool Splitter::put_text(const FetchInsn& insn, uint32_t offset) {
  const bool is_go = site_.abi == UprobeAbi::kGo && !site_.go_registers.empty();
  std::string length;
  if (is_go && !go_length(&length)) return false;
  recipe_.fault_is_no_text = insn.index == 1;
  if (recipe_.fault_is_no_text && place_.kind == Place::Kind::kRegister && !add_)
    guard(place_.text);
  if (!follow(8)) return false;
  recipe_.kind = FieldRecipe::Kind::kText;
  recipe_.limit = uint32_t(insn.imm);
  recipe_.count = std::min<uint32_t>((recipe_.limit + 7) / 8, kMaxElements);
  recipe_.value =
      add(place_.text + ":u64[" + std::to_string(recipe_.count) + "]", 8, recipe_.count);
  if (is_go) recipe_.length = add(length, 8);
  recipe_.offset = offset;
  out_.fields.push_back(std::exchange(recipe_, {}));
  return !refusal_;
}

bool Splitter::end_text(const FetchInsn& insn) {
  if (place_.kind == Place::Kind::kConstant && place_.constant + add_ == 0)
    return refuse("there is no text at address 0");
  if (insn.op == FetchOp::kString) return put_text(insn, insn.offset) && end_field();
  // Pointers one behind the other.
  const Place first = place_;
  const uint64_t distance = add_;
  const FieldRecipe before = recipe_;
  for (uint32_t i = 0; i < insn.size; i++) {
    place_ = first;
    recipe_ = before;
    add_ = distance + uint64_t{i} * 8;
    if (!follow(8) || !put_text(insn, insn.offset + i * 4)) return false;
  }
  return end_field();
}

bool Splitter::end_comm(const FetchInsn& insn) {
  recipe_.kind = FieldRecipe::Kind::kComm;
  recipe_.limit = kCommTextSize;
  recipe_.value = add("$comm:string", 4, 0, true);
  return push(std::move(recipe_), insn);
}

bool Splitter::step(const FetchInsn& insn) {
  switch (insn.op) {
    case FetchOp::kArg:
      return start_argument(insn.index);
    case FetchOp::kReg:
      return start_register(insn.index);
    case FetchOp::kImm:
      place_ = {};
      place_.constant = insn.imm;
      return true;
    case FetchOp::kXmm:
      return refuse("the kernel's uprobes do not read vector registers (float, double, %xmm)");
    case FetchOp::kAdd:
      add_ += insn.imm;
      return true;
    case FetchOp::kDeref:
      return follow(8);
    case FetchOp::kPeek:
      return follow(insn.size);
    case FetchOp::kExtend:
    case FetchOp::kBits:
      return compute(insn);
    case FetchOp::kStore:
    case FetchOp::kLoad:
      return end_number(insn);
    case FetchOp::kArray:
      return end_array(insn);
    case FetchOp::kString:
    case FetchOp::kStringArray:
      return end_text(insn);
    case FetchOp::kComm:
      return end_comm(insn);
    case FetchOp::kSymbol:
      return refuse(
          "a name is not made in the kernel: write :symbol, and patchbay report names it");
    case FetchOp::kThread:
      return refuse("the kernel's uprobes do not read a thread's own variables ($errno)");
    case FetchOp::kAddReg:
      return refuse("the kernel's uprobes do not add registers");
    default:
      return refuse("the kernel's uprobes have no form for it");
  }
}

std::variant<UprobeFetch, NoUprobeForm> Splitter::run(const FetchProgram& program) {
  out_.fixed_size = program.fixed_size;
  out_.head_size = record_head_size(program.head);
  if (program.head == RecordHead::kFunction) {
    recipe_.value = 0;  // it is no field's
    const bool is_32 = site_.abi == UprobeAbi::kI386;
    out_.caller = add(is_32 ? "+0($stack):u32" : "$stack0:u64", is_32 ? 4 : 8);
    recipe_ = {};
  }
  for (uint32_t i = 0; i < program.nr_insns && !refusal_; i++) (void)step(program.insn[i]);
  if (refusal_) return *refusal_;
  return std::move(out_);
}

// --- the record that is read

uint64_t load_number(const uint8_t* from, uint8_t size) {
  uint64_t value = 0;
  std::memcpy(&value, from, std::min<size_t>(size, sizeof value));
  return value;
}

uint64_t extend(uint64_t value, uint8_t size, bool is_signed) {
  if (size >= 8) return value;
  const int shift = 64 - size * 8;
  return is_signed ? uint64_t(int64_t(value << shift) >> shift) : value << shift >> shift;
}

uint64_t take_bits(uint64_t value, uint8_t first, uint8_t width, bool is_signed) {
  if (width == 0 || width > 64 || first > 63) return value;
  const int left = std::max(64 - first - width, 0), right = 64 - width;
  return is_signed ? uint64_t(int64_t(value << left) >> right) : value << left >> right;
}

uint64_t compute(uint64_t value, const std::vector<FetchInsn>& steps) {
  for (const FetchInsn& step : steps) {
    if (step.op == FetchOp::kAdd) value += step.imm;
    if (step.op == FetchOp::kExtend) value = extend(value, step.size, step.index);
    if (step.op == FetchOp::kBits) value = take_bits(value, step.index, step.size, step.imm);
  }
  return value;
}

// A record that is being made: fields at their offsets, texts behind them.
class RecordMaker {
 public:
  RecordMaker(const UprobeFetch& fetch, std::span<const uint8_t> from, std::vector<uint8_t>* record)
      : fetch_(fetch), from_(from), record_(*record) {}
  void put(const FieldRecipe& field);

 private:
  bool is_fault(const FieldRecipe& field) const;
  void put_array(const FieldRecipe& field);
  void put_text(const FieldRecipe& field, std::string_view text);
  void put_no_text(const FieldRecipe& field);
  void put_comm(const FieldRecipe& field);
  void put_words(const FieldRecipe& field);

  const UprobeFetch& fetch_;
  std::span<const uint8_t> from_;
  std::vector<uint8_t>& record_;
};

bool RecordMaker::is_fault(const FieldRecipe& field) const {
  return std::any_of(field.guards.begin(), field.guards.end(),
                     [&](size_t guard) { return fetch_.number(from_, guard) == 0; });
}

void RecordMaker::put_array(const FieldRecipe& field) {
  uint32_t done = 0;
  for (size_t i = 0; i < field.nr_values; i++) {
    const KernelArgument& argument = fetch_.arguments[field.value + i];
    const uint32_t bytes = argument.count * argument.size;
    std::memcpy(record_.data() + field.offset + done, from_.data() + argument.offset, bytes);
    done += bytes;
  }
}

void RecordMaker::put_text(const FieldRecipe& field, std::string_view text) {
  text = text.substr(0, text.find('\0'));
  if (field.limit) text = text.substr(0, field.limit - 1);
  const uint32_t word = uint32_t(record_.size()) | uint32_t(text.size() + 1) << 16;
  std::memcpy(record_.data() + field.offset, &word, sizeof word);
  record_.insert(record_.end(), text.begin(), text.end());
  record_.push_back(0);
}

void RecordMaker::put_no_text(const FieldRecipe& field) {
  if (!field.fault_is_no_text) return put_text(field, "");
  const uint32_t word = uint32_t(record_.size());
  std::memcpy(record_.data() + field.offset, &word, sizeof word);
}

// What the kernel has as a text.
void RecordMaker::put_comm(const FieldRecipe& field) {
  uint32_t word = 0;
  std::memcpy(&word, from_.data() + fetch_.arguments[field.value].offset, sizeof word);
  const uint32_t offset = word & 0xffff, length = word >> 16;
  const bool is_bad = length == 0 || offset >= from_.size() || length > from_.size() - offset;
  if (is_bad) return put_no_text(field);
  put_text(field, {reinterpret_cast<const char*>(from_.data()) + offset, length});
}

void RecordMaker::put_words(const FieldRecipe& field) {
  if (is_fault(field)) return put_no_text(field);
  const uint8_t* text = from_.data() + fetch_.arguments[field.value].offset;
  uint64_t bytes = uint64_t{field.count} * 8;
  if (field.length != FieldRecipe::kNone)
    bytes = std::min(bytes, fetch_.number(from_, field.length));
  put_text(field, {reinterpret_cast<const char*>(text), size_t(bytes)});
}

void RecordMaker::put(const FieldRecipe& field) {
  switch (field.kind) {
    case FieldRecipe::Kind::kText:
      return put_words(field);
    case FieldRecipe::Kind::kComm:
      return put_comm(field);
    case FieldRecipe::Kind::kArray:
      return is_fault(field) ? void() : put_array(field);
    case FieldRecipe::Kind::kNumber:
      break;
  }
  uint64_t value = field.value == FieldRecipe::kNone ? field.constant
                   : is_fault(field)                 ? 0
                                                     : fetch_.number(from_, field.value);
  if (field.sign_from) value = extend(value, field.sign_from, true);
  value = compute(value, field.steps);
  std::memcpy(record_.data() + field.offset, &value, std::min<size_t>(field.size, 8));
}

}  // namespace

uint64_t UprobeFetch::number(std::span<const uint8_t> kernel_record, size_t index) const {
  const KernelArgument& argument = arguments[index];
  if (uint64_t{argument.offset} + argument.size > kernel_record.size()) return 0;
  return load_number(kernel_record.data() + argument.offset, argument.size);
}

bool UprobeFetch::append_fields(std::span<const uint8_t> kernel_record,
                                std::vector<uint8_t>* record) const {
  for (const KernelArgument& argument : arguments) {
    const uint64_t bytes = uint64_t{argument.size} * std::max(argument.count, 1u);
    if (argument.offset + bytes > kernel_record.size()) return false;
  }
  record->resize(fixed_size);
  RecordMaker maker(*this, kernel_record, record);
  for (const FieldRecipe& field : fields) maker.put(field);
  record->resize((record->size() + 3) / 4 * 4);
  return true;
}

std::variant<UprobeFetch, NoUprobeForm> split_fetch(const FetchProgram& program,
                                                    const UprobeSite& site,
                                                    const std::vector<std::string>& names) {
  return Splitter(site, names).run(program);
}

}  // namespace patchbay
