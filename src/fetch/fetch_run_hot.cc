// SPDX-License-Identifier: MIT
//
// Runs a fetch program inside a traced thread: registers in, fields of a record out.
//
// The program is ours and trusted (compile_function_event checked every offset); the addresses it
// follows are the traced program's and are not. So each load of foreign memory is one instruction
// that is entered into a fault table, section pb_fetch_faults:
//
//     { address of the load - here, address to continue at - here }      32 bits each, relative
//
// When such a load faults, the agent's SIGSEGV/SIGBUS handler asks fetch_fault_fixup() and
// continues at the second address. A good load costs nothing extra. The table lies between two
// labels of this very object (subsections 0, 1, 2 keep the order), so that it needs no symbol from
// the linker.
//
// What follows from a fault: a scalar and each array element becomes 0, a string becomes empty also
// when its first bytes were readable. Every byte of a record is written, gaps between fields and
// the end as 0: the record is built on a traced thread's stack, and nothing of that may be
// published.
#include "fetch/fetch_abi.h"

namespace patchbay {

namespace {

struct FaultEntry {
  int32_t ip;     // of the load, relative to this word
  int32_t fixup;  // where to continue, relative to this word
};

}  // namespace

extern "C" {
extern const FaultEntry pb_fetch_faults_begin[] __attribute__((visibility("hidden")));
extern const FaultEntry pb_fetch_faults_end[] __attribute__((visibility("hidden")));
}

asm(".pushsection pb_fetch_faults, 0, \"a\", @progbits\n"
    ".balign 4\n"
    ".hidden pb_fetch_faults_begin\n"
    "pb_fetch_faults_begin:\n"
    ".popsection\n"
    ".pushsection pb_fetch_faults, 2, \"a\", @progbits\n"
    ".hidden pb_fetch_faults_end\n"
    "pb_fetch_faults_end:\n"
    ".popsection\n");

#define PB_FAULT_ENTRY(ip, fixup)                       \
  ".pushsection pb_fetch_faults, 1, \"a\", @progbits\n" \
  ".long " ip " - ., " fixup                            \
  " - .\n"                                              \
  ".popsection\n"

namespace {

constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kHighs = 0x8080808080808080;

// The result is set to 0 before the load, and a fault continues just behind the load.
#define PB_LOAD(name, mov, operand)        \
  inline uint64_t name(uint64_t address) { \
    uint64_t value;                        \
    asm volatile(                          \
        "xorl %k0, %k0\n"                  \
        "1: " mov " (%1), " operand        \
        "\n"                               \
        "2:\n" PB_FAULT_ENTRY("1b", "2b")  \
        : "=&r"(value)                     \
        : "r"(address)                     \
        : "cc");                           \
    return value;                          \
  }
PB_LOAD(load1, "movzbl", "%k0")
PB_LOAD(load2, "movzwl", "%k0")
PB_LOAD(load4, "movl", "%k0")
PB_LOAD(load8, "movq", "%0")
#undef PB_LOAD

// Eight bytes, and whether they could be read (a value of 0 alone does not tell).
inline bool try_load8(uint64_t address, uint64_t* value) {
  uint64_t loaded;
  uint32_t faulted = 1;
  asm volatile(
      "1: movq (%2), %0\n"
      "xorl %1, %1\n"
      "2:\n" PB_FAULT_ENTRY("1b", "2b")
      : "=&r"(loaded), "+&r"(faulted)
      : "r"(address)
      : "cc");
  *value = loaded;
  return !faulted;
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

inline uint64_t extend(uint64_t value, uint32_t size, bool is_signed) {
  const uint32_t unused = 64 - size * 8;
  return is_signed ? uint64_t(int64_t(value << unused) >> unused) : value << unused >> unused;
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

void copy_elements(uint8_t* at, uint64_t address, uint32_t size, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; i += size) store(at + i, size, load(address + i, size));
}

// Whole words while they are readable; a word with a fault in it again element by element, so that
// only the elements that cannot be read are 0.
void copy_array(uint8_t* at, uint64_t address, uint32_t size, uint64_t bytes) {
  uint64_t done = 0;
  for (; done + 8 <= bytes; done += 8) {
    uint64_t word;
    if (__builtin_expect(try_load8(address + done, &word), 1)) {
      put<uint64_t>(at + done, word);
    } else {
      copy_elements(at + done, address + done, size, 8);
    }
  }
  copy_elements(at + done, address + done, size, bytes - done);
}

// The bytes of `word` before its first NUL, or 8.
inline uint32_t length_in_word(uint64_t word) {
  uint64_t zeros = (word - kOnes) & ~word & kHighs;
  return zeros ? uint32_t(__builtin_ctzll(zeros)) / 8 : 8;
}

inline uint32_t empty_string(uint8_t* at) {
  *at = 0;
  return 1;
}

// Near the limit there is no room for a store of 8 bytes: only the bytes that fit.
inline uint32_t copy_bytes(uint8_t* at, uint32_t length, uint32_t limit, uint64_t word,
                           uint32_t bytes) {
  for (uint32_t i = 0; i < bytes && length < limit - 1; i++, word >>= 8)
    at[length++] = uint8_t(word);
  return length;
}

// Copies at most limit - 1 bytes and a NUL; returns the bytes written with the NUL. Only aligned
// words are loaded, and an aligned word never spans two pages: the byte after the NUL is touched
// only if it lies in the same page. The first word may begin before the string; those bytes are
// shifted out.
uint32_t copy_string(uint8_t* at, uint64_t address, uint32_t limit) {
  uint32_t length = 0;
  uint32_t skip = address & 7;
  uint32_t bytes = 8 - skip;
  address -= skip;
  while (length < limit - 1) {
    uint64_t word;
    if (__builtin_expect(!try_load8(address, &word), 0)) return empty_string(at);
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

// __data_loc: where the bytes stand in the record, and how many they are, in one word.
inline uint32_t append_string(uint8_t* record, const FetchInsn* insn, uint64_t address,
                              uint32_t end) {
  uint32_t size = copy_string(record + end, address, uint32_t(insn->imm));
  put<uint32_t>(record + insn->offset, end | size << 16);
  return end + size;
}

// Alignment leaves gaps only in few programs, and then it is cheaper to zero the whole fixed part.
void zero_fixed_part(uint8_t* record, uint32_t head, uint32_t fixed_size) {
  uint32_t at = head ? head : uint32_t{kFunctionHead};
  for (; at + 8 <= fixed_size; at += 8) put<uint64_t>(record + at, 0);
  for (; at < fixed_size; at++) put<uint8_t>(record + at, 0);
}

inline uint32_t pad_to_4(uint8_t* record, uint32_t end) {
  for (; end % 4; end++) record[end] = 0;
  return end;
}

}  // namespace

extern "C" uint32_t fetch_run(const FetchProgram* program, const FetchRegisters* registers,
                              uint8_t* record) {
  uint64_t value = 0;
  uint32_t end = program->fixed_size;
  if (__builtin_expect(program->has_gaps, 0)) zero_fixed_part(record, program->head, end);
  const FetchInsn* stop = program->insn + program->nr_insns;
  for (const FetchInsn* insn = program->insn; insn != stop; insn++) {
    switch (insn->op) {
      case FetchOp::kArg:
        value = registers->arg[insn->index];
        break;
      case FetchOp::kReg:
        value = registers->reg[insn->index];
        break;
      case FetchOp::kAddReg:
        value += registers->reg[insn->index] * insn->size;
        break;
      case FetchOp::kXmm:
        value = registers->xmm[insn->index][0];
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
      case FetchOp::kPeek:
        value = load(value, insn->size);
        break;
      case FetchOp::kExtend:
        value = extend(value, insn->size, insn->index);
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
        end = append_string(record, insn, value, end);
        break;
    }
  }
  return pad_to_4(record, end);
}

extern "C" uint64_t fetch_fault_fixup(uint64_t ip) {
  for (const FaultEntry* entry = pb_fetch_faults_begin; entry != pb_fetch_faults_end; entry++) {
    if (uint64_t(&entry->ip) + int64_t{entry->ip} == ip)
      return uint64_t(&entry->fixup) + int64_t{entry->fixup};
  }
  return 0;
}

}  // namespace patchbay
