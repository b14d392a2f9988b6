// SPDX-License-Identifier: MIT
//
// Runs a fetch program inside a traced thread: registers in, fields of a record out.
//
// The program is ours and trusted (the compiler of it checked every offset), and so is the record
// that an event probe reads: we wrote it. The addresses it follows are the traced program's and are
// not: they are read by the loads of hot/safe_load.h.
//
// What follows from a fault: a scalar and each array element becomes 0; a string becomes empty, or
// gets length 0, also when its first bytes were readable. Every byte of a record is written, gaps
// between fields and the end as 0: the record is built on a traced thread's stack, and nothing of
// that may be published.
#include "fetch/fetch_abi.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include "fetch/format_args.h"
#include "hot/safe_load.h"

namespace patchbay {

namespace {

constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kHighs = 0x8080808080808080;

inline bool can_load(uint64_t address) {
  uint64_t ignored;
  return try_load1(address, &ignored);
}

template <typename T>
struct __attribute__((packed, may_alias)) Unaligned {
  T value;
};
template <typename T>
inline void put(uint8_t* at, uint64_t value) {
  reinterpret_cast<Unaligned<T>*>(at)->value = static_cast<T>(value);
}

inline void store(uint8_t* at, uint32_t size, uint64_t value) {
  switch (size) {
    case 8:
      return put<uint64_t>(at, value);
    case 4:
      return put<uint32_t>(at, value);
    case 2:
      return put<uint16_t>(at, value);
    default:
      return put<uint8_t>(at, value);
  }
}

// `size` bytes (1 2 4 8) of memory that is ours.
inline uint64_t get(const uint8_t* at, uint32_t size) {
  switch (size) {
    case 8:
      return reinterpret_cast<const Unaligned<uint64_t>*>(at)->value;
    case 4:
      return reinterpret_cast<const Unaligned<uint32_t>*>(at)->value;
    case 2:
      return reinterpret_cast<const Unaligned<uint16_t>*>(at)->value;
    default:
      return *at;
  }
}

inline uint64_t extend(uint64_t value, uint32_t size, bool is_signed) {
  const uint32_t unused = 64 - size * 8;
  return is_signed ? uint64_t(int64_t(value << unused) >> unused) : value << unused >> unused;
}

// The kernel takes a bit field out of its container in the same way: two shifts.
inline uint64_t bits(uint64_t value, uint32_t first, uint32_t size, bool is_signed) {
  value <<= 64 - first - size;
  return is_signed ? uint64_t(int64_t(value) >> (64 - size)) : value >> (64 - size);
}

inline uint64_t load(uint64_t address, uint32_t size) {
  switch (size) {
    case 8:
      return load8(address);
    case 4:
      return load4(address);
    case 2:
      return load2(address);
    default:
      return load1(address);
  }
}

// --- arrays. A fault costs more than a thousand loads, so that a page that could not be read is
// not asked again: its other elements are 0, too.

constexpr uint64_t kPage = 4096;
inline uint64_t to_page_end(uint64_t address) { return kPage - (address & (kPage - 1)); }

// Fewer bytes than a page. Each page is asked by its first byte, or its last.
__attribute__((noinline, cold)) void copy_elements(uint8_t* at, uint64_t address, uint32_t size,
                                                   uint64_t bytes) {
  const uint64_t first_page = to_page_end(address);
  const bool first = can_load(address);
  const bool second = first_page < bytes ? can_load(address + bytes - 1) : first;
  for (uint64_t i = 0; i < bytes; i += size) {
    const bool good = (i < first_page ? first : second) && (i + size > first_page ? second : first);
    store(at + i, size, good ? load(address + i, size) : 0);
  }
}

// The word at `done` could not be read. Deals with all elements that begin in its page (of one
// across two pages: with those of the word); returns how much of the array is done then.
__attribute__((noinline, cold)) uint64_t copy_behind_fault(uint8_t* at, uint64_t address,
                                                           uint32_t size, uint64_t bytes,
                                                           uint64_t done) {
  const uint64_t rest = to_page_end(address + done);
  if (rest < 8) {
    copy_elements(at + done, address + done, size, 8);
    return done + 8;
  }
  const uint64_t begin_there = (rest + size - 1) & ~uint64_t{size - 1};
  const uint64_t end = begin_there < bytes - done ? done + begin_there : bytes;
  for (; done < end; done++) at[done] = 0;
  return end;
}

// 1 to 7 bytes. False: some could not be read.
inline bool copy_few(uint8_t* at, uint64_t address, uint64_t bytes) {
  uint64_t value;
  if (bytes & 4) {
    if (!try_load4(address, &value)) return false;
    put<uint32_t>(at, value);
  }
  if (bytes & 2) {
    if (!try_load2(address + (bytes & 4), &value)) return false;
    put<uint16_t>(at + (bytes & 4), value);
  }
  if (bytes & 1) {
    if (!try_load1(address + (bytes & 6), &value)) return false;
    put<uint8_t>(at + (bytes & 6), value);
  }
  return true;
}

// Whole words while they are readable, so that only the elements that cannot be read are 0. What is
// left at the end is part of a last whole word, unless something could not be read.
void copy_array(uint8_t* at, uint64_t address, uint32_t size, uint64_t bytes) {
  uint64_t done = 0, word;
  bool good = true;
  while (done + 8 <= bytes) {
    if (__builtin_expect(try_load8(address + done, &word), 1)) {
      put<uint64_t>(at + done, word);
      done += 8;
    } else {
      done = copy_behind_fault(at, address, size, bytes, done);
      good = false;
    }
  }
  if (done >= bytes) return;
  if (good && bytes < 8 && copy_few(at, address, bytes)) return;
  if (good && bytes >= 8 && try_load8(address + bytes - 8, &word))
    put<uint64_t>(at + bytes - 8, word);
  else
    copy_elements(at + done, address + done, size, bytes - done);
}

// The bytes of `word` before its first NUL, or 8.
inline uint32_t length_in_word(uint64_t word) {
  uint64_t zeros = (word - kOnes) & ~word & kHighs;
  return zeros ? uint32_t(__builtin_ctzll(zeros)) / 8 : 8;
}

// Near the limit there is no room for a store of 8 bytes: only the bytes that fit.
inline uint32_t copy_bytes(uint8_t* at, uint32_t length, uint32_t limit, uint64_t word,
                           uint32_t bytes) {
  for (uint32_t i = 0; i < bytes && length < limit - 1; i++, word >>= 8)
    at[length++] = uint8_t(word);
  return length;
}

// Copies at most limit - 1 bytes and a NUL; returns the bytes written with the NUL, 0 for a fault.
// Only aligned words are loaded, and an aligned word never spans two pages: the byte after the NUL
// is touched only if it lies in the same page. The first word may begin before the string; those
// bytes are shifted out.
uint32_t copy_string(uint8_t* at, uint64_t address, uint32_t limit) {
  uint32_t length = 0;
  uint32_t skip = address & 7;
  uint32_t bytes = 8 - skip;
  address -= skip;
  while (length < limit - 1) {
    uint64_t word;
    if (__builtin_expect(!try_load8(address, &word), 0)) return 0;
    word >>= skip * 8;
    uint32_t before_nul = length_in_word(word);
    // Shifting brought in zero bytes: a NUL there is the end of the word, not of the string.
    bool ended = before_nul < bytes;
    if (!ended) before_nul = bytes;
    // Room for 8 bytes is room for the word, whatever it holds behind the NUL.
    if (__builtin_expect(length + 8 > limit, 0)) {
      length = copy_bytes(at, length, limit, word, before_nul);
    } else {
      put<uint64_t>(at + length, word);
      length += before_nul;
    }
    if (ended) break;
    address += 8;
    skip = 0;
    bytes = 8;
  }
  if (length > limit - 1) length = limit - 1;  // a whole word was stored up to the limit
  at[length] = 0;
  return length + 1;
}

// The next eight bytes of a text, what stands behind its end being whatever is there. A word that
// spans two pages is read in two parts, the second one only if the text goes on there.
inline bool text_word(uint64_t address, uint64_t* word) {
  if (__builtin_expect((address & (kPage - 1)) <= kPage - 8, 1)) return try_load8(address, word);
  const uint32_t skip = address & 7;
  uint64_t rest = 0;
  if (!try_load8(address - skip, word)) return false;
  *word >>= skip * 8;
  if (length_in_word(*word) < 8 - skip) return true;
  if (!try_load8(address - skip + 8, &rest)) return false;
  *word |= rest << (64 - skip * 8);
  return true;
}

// __data_loc: where the bytes stand in the record, and how many they are, in one word.
inline uint32_t put_data_loc(uint8_t* record, uint32_t offset, uint32_t end, uint32_t size) {
  put<uint32_t>(record + offset, end | size << 16);
  return end + size;
}

inline uint32_t append_fault(uint8_t* record, uint32_t offset, bool fault_is_nothing,
                             uint32_t end) {
  if (fault_is_nothing) return put_data_loc(record, offset, end, 0);
  record[end] = 0;
  return put_data_loc(record, offset, end, 1);
}

inline uint32_t append_string(uint8_t* record, uint32_t offset, uint64_t address, uint32_t limit,
                              bool fault_is_nothing, uint32_t end) {
  const uint32_t size = copy_string(record + end, address, limit);
  if (__builtin_expect(!size, 0)) return append_fault(record, offset, fault_is_nothing, end);
  return put_data_loc(record, offset, end, size);
}

// A page that could not be read is not asked again, neither for a pointer nor for a text.
uint32_t append_strings(uint8_t* record, const FetchInsn* insn, uint64_t address, uint32_t end) {
  constexpr uint64_t kNone = ~uint64_t{0};
  uint64_t bad_pointers = kNone, bad_texts = kNone;
  for (uint32_t i = 0; i < insn->size; i++) {
    const uint64_t at = address + i * 8;
    const uint32_t offset = insn->offset + i * 4;
    uint64_t pointer = 0;
    bool good = at / kPage != bad_pointers;
    if (good && !try_load8(at, &pointer)) {
      good = false;
      if (to_page_end(at) >= 8) bad_pointers = at / kPage;
    }
    if (!good || pointer / kPage == bad_texts) {
      end = append_fault(record, offset, insn->index, end);
      continue;
    }
    const uint32_t text_size = copy_string(record + end, pointer, uint32_t(insn->imm));
    if (!text_size && !can_load(pointer)) bad_texts = pointer / kPage;
    end = text_size ? put_data_loc(record, offset, end, text_size)
                    : append_fault(record, offset, insn->index, end);
  }
  return end;
}

// --- texts and arrays whose length the program says

// Of what is read, in bytes or elements; or the address behind it.
struct Length {
  uint64_t value = 0;
  bool is_known = false;
  bool is_end = false;
};

constexpr uint64_t kNothing = 0;

inline bool try_load(uint64_t address, uint32_t size, uint64_t* value) {
  switch (size) {
    case 8:
      return try_load8(address, value);
    case 4:
      return try_load4(address, value);
    case 2:
      return try_load2(address, value);
    default:
      return try_load1(address, value);
  }
}

Length length_of(const FetchInsn* insn, uint64_t value) {
  Length length;
  length.value = value;
  length.is_known = !insn->size || try_load(value, insn->size, &length.value);
  length.is_end = insn->index & kLengthIsEnd;
  if (insn->index & kLengthIsSigned)
    length.is_known &= int64_t(extend(length.value, insn->size ? insn->size : 8, true)) >= 0;
  return length;
}

// How many units of `size` bytes there are from `address` on. False: nobody knows.
inline bool count_from(const Length& length, uint64_t address, uint32_t size, uint64_t* count) {
  if (!length.is_known || (length.is_end && length.value < address)) return false;
  *count = length.is_end ? (length.value - address) / size : length.value;
  return true;
}

// The bytes up to the first one that cannot be read; how many these are. No byte behind the last
// one is touched.
uint64_t copy_readable(uint8_t* at, uint64_t address, uint64_t bytes) {
  uint64_t done = 0, word;
  while (done + 8 <= bytes && try_load8(address + done, &word)) {
    put<uint64_t>(at + done, word);
    done += 8;
  }
  if (done < bytes && bytes - done < 8 && copy_few(at + done, address + done, bytes - done))
    return bytes;
  // The last bytes of a page that can be read, 7 at most.
  while (done < bytes && try_load1(address + done, &word)) at[done++] = uint8_t(word);
  return done;
}

uint32_t append_text(uint8_t* record, const FetchInsn* insn, uint64_t address, const Length& length,
                     uint32_t end) {
  uint64_t count;
  if (!count_from(length, address, 1, &count)) return put_data_loc(record, insn->offset, end, 0);
  if (count > insn->imm - 1) count = insn->imm - 1;
  if (copy_readable(record + end, address, count) < count)
    return put_data_loc(record, insn->offset, end, 0);
  record[end + count] = 0;
  return put_data_loc(record, insn->offset, end, uint32_t(count) + 1);
}

uint32_t append_elements(uint8_t* record, const FetchInsn* insn, uint64_t address,
                         const Length& length, uint32_t end) {
  const uint32_t size = insn->size;
  uint64_t count;
  put<uint32_t>(record + insn->offset, 0);
  if (!count_from(length, address, size, &count)) return end;
  if (count > insn->imm) count = insn->imm;
  for (; end % size; end++) record[end] = 0;
  const uint64_t read = copy_readable(record + end, address, count * size) / size;
  if (!read && count) return end;
  return put_data_loc(record, insn->offset, end, uint32_t(read) * size);
}

// --- the source record

// Where a text of the source record ends; a string that begins in it is not read behind that.
struct SourceText {
  uint64_t begin = 0;
  uint32_t size = 0;
};
constexpr uint32_t kRestOfRecord = 0xffff;  // more than any record has

inline SourceText source_text(const FetchInsn* insn, const uint8_t* source) {
  if (insn->index) {
    uint32_t size = insn->offset ? insn->offset : kRestOfRecord;
    return {reinterpret_cast<uint64_t>(source + insn->imm), size};
  }
  uint32_t where = uint32_t(get(source + insn->imm, 4));
  if (!(where >> 16)) return {};
  return {reinterpret_cast<uint64_t>(source + (where & 0xffff)), where >> 16};
}

inline uint32_t string_limit(const FetchInsn* insn, uint64_t address, const SourceText& text) {
  uint64_t limit = insn->imm;
  uint64_t at = address - text.begin;
  if (__builtin_expect(at < text.size, 0) && text.size - at + 1 < limit) limit = text.size - at + 1;
  return uint32_t(limit);
}

// --- names

uint32_t append_comm(uint8_t* record, const FetchInsn* insn, uint32_t end) {
  uint8_t* name = record + end;
  int64_t result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(int64_t{SYS_prctl}), "D"(int64_t{PR_GET_NAME}), "S"(name)
               : "rcx", "r11", "memory");
  uint32_t length = 0;
  while (result == 0 && length < kCommTextSize - 1 && name[length]) length++;
  name[length] = 0;
  return put_data_loc(record, insn->offset, end, length + 1);
}

// The symbol that `address` lies in; null: none.
const SymbolNames::Entry* find_symbol(const SymbolNames* names, uint64_t address) {
  uint64_t first = 0, behind = names ? names->nr_entries : 0;  // the first one above `address`
  while (first < behind) {
    uint64_t middle = first + (behind - first) / 2;
    if (names->entry[middle].address <= address) {
      first = middle + 1;
    } else {
      behind = middle;
    }
  }
  if (!first) return nullptr;
  const SymbolNames::Entry* entry = &names->entry[first - 1];
  uint64_t offset = address - entry->address;
  return offset == 0 || offset < entry->size ? entry : nullptr;
}

inline uint8_t* put_hex(uint8_t* at, uint64_t value) {
  *at++ = '0';
  *at++ = 'x';
  int shift = value ? (63 - __builtin_clzll(value)) / 4 * 4 : 0;
  for (; shift >= 0; shift -= 4) {
    uint32_t digit = value >> shift & 15;
    *at++ = uint8_t(digit < 10 ? '0' + digit : 'a' + digit - 10);
  }
  return at;
}

// As the kernel's %pS, but that a long name is cut: "+0x…/0x…" is always there.
uint32_t append_symbol(uint8_t* record, const FetchInsn* insn, uint64_t address, uint32_t end) {
  constexpr uint32_t kNumbers = 1 + 18 + 1 + 10 + 1;  // +0x(16 digits)/0x(8 digits) NUL
  auto names = reinterpret_cast<const SymbolNames*>(insn->imm);
  const SymbolNames::Entry* entry = find_symbol(names, address);
  uint8_t* at = record + end;
  if (entry) {
    const char* name = names->text + entry->name;
    for (uint32_t i = 0; i < kSymbolTextSize - kNumbers && name[i]; i++) *at++ = uint8_t(name[i]);
    *at++ = '+';
    at = put_hex(at, address - entry->address);
    *at++ = '/';
    at = put_hex(at, entry->size);
  } else {
    at = put_hex(at, address);
  }
  *at++ = 0;
  return put_data_loc(record, insn->offset, end, uint32_t(at - (record + end)));
}

// Its places stand in no other fetch's frame.
__attribute__((noinline)) uint32_t append_format_args(uint8_t* record, const FetchInsn* insn,
                                                      uint64_t format,
                                                      const FetchRegisters* registers,
                                                      uint32_t end) {
  const FormatPlaces places = {insn->index, insn->size, uint32_t(insn->imm)};
  const uint32_t size = fetch_format_args(record + end, format, registers, places);
  return put_data_loc(record, insn->offset, end, size);
}

// Alignment leaves gaps only in few programs, and then it is cheaper to zero the whole fixed part.
void zero_fixed_part(uint8_t* record, uint32_t head, uint32_t fixed_size) {
  uint32_t at = head;
  for (; at + 8 <= fixed_size; at += 8) put<uint64_t>(record + at, 0);
  for (; at < fixed_size; at++) put<uint8_t>(record + at, 0);
}

inline uint32_t pad_to_4(uint8_t* record, uint32_t end) {
  for (; end % 4; end++) record[end] = 0;
  return end;
}

// fxsave changes nothing of the x87's state, and raises no exception that waits there, as loads and
// stores of its own would. The image is aligned by hand: programs may return with any stack.
__attribute__((noinline, cold)) void store_st0(uint8_t* at) {
  struct Image {
    uint16_t control, status;
    uint8_t tags;  // a bit for each register that is not empty
    uint8_t rest[27];
    uint64_t st[8][2];
    uint8_t others[352];
  };
  static_assert(sizeof(Image) == 512);
  uint8_t room[sizeof(Image) + 16];
  auto* const image =
      reinterpret_cast<Image*>((reinterpret_cast<uint64_t>(room) + 15) & ~uint64_t{15});
  asm volatile("fxsave64 %0" : "=m"(*image));
  const bool is_there = image->tags >> (image->status >> 11 & 7) & 1;
  put<uint64_t>(at, is_there ? image->st[0][0] : 0);
  put<uint64_t>(at + 8, is_there ? image->st[0][1] & 0xffff : 0);
}

// What was taken at the entry of a call, behind the head. Its first word has its size.
uint32_t copy_taken(uint8_t* record, const uint8_t* source, uint32_t head) {
  const uint32_t size = uint32_t(get(source, 4));
  for (uint32_t at = head; at < size; at += 4)
    put<uint32_t>(record + at, uint32_t(get(source + at, 4)));
  return size;
}

// What only some kinds of events have: a switch of its own keeps fetch_run's short.
inline uint64_t rare_value(const FetchInsn* insn, const FetchRegisters* registers,
                           const uint8_t* source, uint64_t value) {
  switch (insn->op) {
    case FetchOp::kReg:
      return registers->reg[insn->index];
    case FetchOp::kAddReg:
      return value + registers->reg[insn->index] * insn->size;
    case FetchOp::kXmm:
      return registers->xmm[insn->index][0];
    case FetchOp::kField:
      return extend(get(source + insn->imm, insn->size), insn->size, insn->index);
    case FetchOp::kThread:
      return reinterpret_cast<uint64_t>(__builtin_thread_pointer()) + insn->imm;
    case FetchOp::kPeek:
      return load(value, insn->size);
    case FetchOp::kExtend:
      return extend(value, insn->size, insn->index);
    case FetchOp::kBits:
      return bits(value, insn->index, insn->size, insn->imm);
    default:
      return value;
  }
}

}  // namespace

extern "C" uint32_t fetch_run(const FetchProgram* program, const FetchRegisters* registers,
                              const uint8_t* source, uint8_t* record) {
  uint64_t value = 0;
  SourceText text;
  Length length;
  uint32_t end = program->fixed_size;
  if (__builtin_expect(program->has_gaps, 0))
    zero_fixed_part(record, record_head_size(program->head), end);
  const FetchInsn* stop = program->insn + program->nr_insns;
  for (const FetchInsn* insn = program->insn; insn != stop; insn++) {
    switch (insn->op) {
      case FetchOp::kArg:
        value = registers->arg[insn->index];
        break;
      case FetchOp::kImm:
        value = insn->imm;
        break;
      case FetchOp::kAdd:
        value += insn->imm;
        break;
      case FetchOp::kDeref:
        value = load8(value);
        break;
      case FetchOp::kFieldText:
        text = source_text(insn, source);
        value = text.begin;
        break;
      case FetchOp::kStore:
        store(record + insn->offset, insn->size, value);
        break;
      case FetchOp::kLoad:
        store(record + insn->offset, insn->size, load(value, insn->size));
        break;
      case FetchOp::kArray:
        copy_array(record + insn->offset, value, insn->size, insn->imm * insn->size);
        break;
      case FetchOp::kString:
        end = append_string(record, insn->offset, value, string_limit(insn, value, text),
                            insn->index, end);
        break;
      case FetchOp::kStringArray:
        end = append_strings(record, insn, value, end);
        break;
      case FetchOp::kLength:
        length = length_of(insn, value);
        if (length.is_known && !length.is_end && !length.value) {
          insn += insn->imm;
          value = 0;
        }
        break;
      case FetchOp::kBelow:
        if (!length.is_known || value >= length.value)
          value = reinterpret_cast<uint64_t>(&kNothing);
        break;
      case FetchOp::kText:
        end = append_text(record, insn, value, length, end);
        break;
      case FetchOp::kElements:
        end = append_elements(record, insn, value, length, end);
        break;
      case FetchOp::kComm:
        end = append_comm(record, insn, end);
        break;
      case FetchOp::kSymbol:
        end = append_symbol(record, insn, value, end);
        break;
      case FetchOp::kFormatArgs:
        end = append_format_args(record, insn, value, registers, end);
        break;
      case FetchOp::kX87:
        store_st0(record + insn->offset);
        break;
      case FetchOp::kTaken:
        end = copy_taken(record, source, record_head_size(program->head));
        break;
      default:
        value = rare_value(insn, registers, source, value);
    }
  }
  return pad_to_4(record, end);
}

extern "C" uint32_t fetch_text(uint8_t* at, uint64_t address, uint32_t limit) {
  for (uint32_t done = 0; done < limit; done += 8) {
    uint64_t word;
    if (__builtin_expect(!text_word(address + done, &word), 0)) return 0;
    const uint64_t zeros = (word - kOnes) & ~word & kHighs;
    if (zeros) {
      const uint64_t first = zeros & -zeros;  // the top bit of the NUL
      put<uint64_t>(at + done, word & ((first >> 7) - 1));
      return done + uint32_t(__builtin_ctzll(first)) / 8 + 1;
    }
    put<uint64_t>(at + done, word);
  }
  at[limit - 1] = 0;
  return limit;
}

extern "C" uint32_t fetch_text_size(uint64_t address, uint32_t limit) {
  for (uint32_t done = 0; done < limit; done += 8) {
    uint64_t word;
    if (!text_word(address + done, &word)) return 0;
    const uint32_t length = length_in_word(word);
    if (length < 8 && done + length < limit) return done + length + 1;
  }
  return limit;
}

extern "C" void fetch_words(uint8_t* at, uint64_t address, uint32_t count) {
  copy_array(at, address, 8, uint64_t{count} * 8);
}

}  // namespace patchbay
