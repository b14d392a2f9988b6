// SPDX-License-Identifier: MIT
//
// Fetch programs: from registers (or from another event's record) to the fields of a record.
//
// A program is a list of instructions in field order. Each field is a chain: a start (ARG, REG,
// XMM, IMM, FIELD …), any number of steps (ADD, ADDREG, DEREF, PEEK, EXTEND, BITS), and one end
// that stores into the record (STORE, LOAD, ARRAY, STRING, STRING_ARRAY, TEXT, ELEMENTS, COMM,
// SYMBOL, X87, FORMAT_ARGS). A faulting load gives 0, per array element 0; a faulting string is
// empty, or has length 0 where that is asked for. A chain that ends with LENGTH stores nothing: the
// next TEXT or ELEMENTS takes as much as it says.
#pragma once

#include <cstdint>

namespace patchbay {

enum class FetchOp : uint8_t {
  kArg,     // value = integer argument `index` (0..5), as it was at the function's entry
  kReg,     // value = register `index`: 0..15 as in machine code, kFlagsRegister, kIpRegister
  kAddReg,  // value += general register `index` * size (1 2 4 8)
  kXmm,     // value = low 8 bytes of xmm`index` (0..15)
  kImm,     // value = imm
  kField,   // value = the `size` bytes at offset imm of the source record; index 1: with their sign
  kFieldText,  // value = address of a text in the source record, of which a kString that follows
               // takes nothing behind its end. index 0: of the __data_loc word at offset imm
               // (length 0 there: a fault); index 1: at offset imm itself, `offset` bytes at most
               // (0: the rest of the record, whose text ends with a NUL)
  kThread,  // value = the address imm bytes from where the thread's own variables are counted (TLS)
  kAdd,     // value += imm
  kDeref,   // value = *(uint64_t*)value
  kPeek,    // value = the `size` bytes at address value
  kExtend,  // value = its low `size` bytes, with their sign if index is 1
  kBits,    // value = `size` bits (1..64) of it from bit `index` on; imm 1: with their sign
  kStore,   // record[offset .. offset+size) = low `size` bytes of value
  kLoad,    // record[offset .. offset+size) = size bytes at address value
  kArray,   // record[offset ..] = `imm` elements of `size` bytes at address value
  kString,  // dynamic: u32 __data_loc at record[offset]; at most imm (>= 1) bytes including NUL
            // from address value, stored behind the fixed part. index 1: a fault is length 0
  kStringArray,  // the same for `size` pointers at address value, `size` words at record[offset ..]
  kComm,    // dynamic: the thread's name, kCommTextSize bytes at most (a system call: names change
            // without notice)
  kLength,  // how much the next kText or kElements takes: value, or, if `size` is not 0, the `size`
            // bytes at address value, which are not known when they cannot be read. index has
            // LengthBits. When it is 0, imm instructions are left out: nothing of what leads to
            // the text is loaded then
  kBelow,   // value, if it is below the address that kLength has said (kLengthIsEnd); else the
            // address of 8 bytes that are 0
  kText,    // dynamic: u32 __data_loc at record[offset]; so many bytes from address value as
            // kLength says, imm - 1 (imm >= 1) at most, and a NUL. Length 0: it is not known how
            // many, or some cannot be read
  kElements,  // dynamic: so many elements of `size` bytes from address value as kLength says, imm
              // at most, in front of the first one that cannot be read; aligned to `size`. The word
              // is 0: it is not known how many, or none can be read
  kSymbol,  // dynamic: address value as "name+0x4/0x10", or "0x…", kSymbolTextSize bytes at most;
            // imm: SymbolNames*
  kX87,     // record[offset .. offset+16) = st(0), which is where a function returns a long double;
            // 0 where that is empty
  kFormatArgs,  // dynamic: what is passed behind the format at address value, as a text
                // (fetch/format_args.h); index, size and imm: the general registers, the vector
                // registers and the words of the stack that are passed before it
  kTaken,       // the first instruction of a call's program: the source record, which at_entry has
                // made at the entry, is the beginning of this one (probe/returns/call_data.h)
};

enum LengthBits : uint8_t {
  kLengthIsEnd = 1,     // it is the address behind the last byte
  kLengthIsSigned = 2,  // where it is below 0, it is not known
};

inline constexpr uint32_t kCommTextSize = 16;  // with the NUL, as is
inline constexpr uint32_t kSymbolTextSize = 256;

// What one event may take at the entry of a call, in bytes.
inline constexpr uint32_t kMostTaken = 2040;

inline constexpr uint8_t kFlagsRegister = 16;
inline constexpr uint8_t kIpRegister = 17;
inline constexpr uint8_t kNrRegisters = 18;

struct FetchInsn {
  FetchOp op;
  uint8_t index;
  uint8_t size;  // 1 2 4 8, but for kBits, kStringArray and kLength
  uint8_t reserved;
  uint32_t offset;  // from the start of the record (the common header is at 0)
  uint64_t imm;
};
static_assert(sizeof(FetchInsn) == 16);

// What stands in front of the fields; the caller of fetch_run writes it.
enum class RecordHead : uint8_t {
  kFunction,  // common header, __parent_ip, __ip
  kProbe,     // common header, __probe_ip
  kReturn,    // common header, __probe_func, __probe_ret_ip
  kEvent,     // common header
  kCall,      // common header, ip, parent_ip (ftrace:function)
};
inline constexpr uint32_t record_head_size(RecordHead head) {
  return head == RecordHead::kProbe ? 16 : head == RecordHead::kEvent ? 8 : 24;
}

struct FetchProgram {
  uint32_t fixed_size;  // bytes of header and fixed fields; dynamic data starts here
  uint32_t max_size;    // upper bound of a whole record, a multiple of 4
  uint16_t nr_insns;
  uint8_t uses_xmm;  // some instruction is kXmm or kFormatArgs
  uint8_t uses_reg;  // some instruction is kReg or kAddReg: all general registers are needed
  uint8_t
      scalar_only;   // only kArg or kReg, kStore, and kAdd between: the fast path can be generated
  uint8_t has_gaps;  // some byte between head and fixed_size belongs to no field: fetch_run
                     // zeroes it
  RecordHead head;
  uint8_t reserved;
  // Of an event that is a whole call, and recorded at its return: what is fetched at the entry.
  // Null: nothing is.
  const FetchProgram* at_entry;
  FetchInsn insn[];
};
static_assert(sizeof(FetchProgram) == 24);

// The registers that a program reads; ProbeFrame (probe/probe_abi.h) begins with them. Which ones
// are there depends on the way in (probe_entry.S). Where no program reads xmm registers these have
// no memory: they come first, so that they are below the stack then.
struct FetchRegisters {
  uint64_t xmm[16][2];
  uint64_t reg[kNrRegisters];  // rax rcx rdx rbx rsp rbp rsi rdi r8 … r15 flags ip
  uint64_t arg[6];             // rdi rsi rdx rcx r8 r9 at the function's entry
};

// Names for kSymbol: made outside the probe path, immutable, sorted by address.
struct SymbolNames {
  struct Entry {
    uint64_t address;
    uint32_t size;
    uint32_t name;  // offset in `text`, NUL-terminated
  };
  const Entry* entry;
  uint64_t nr_entries;
  const char* text;
};

extern "C" {
// Runs the program over a frame. `record` has room for max_size bytes; the first
// record_head_size(head) ones are the caller's. `source`: the record that kField and kFieldText
// read (event probes), else null. Returns the record's size, a multiple of 4. Async-signal-safe, no
// calls, no allocation; follows bad pointers through the fault table.
uint32_t fetch_run(const FetchProgram* program, const FetchRegisters* registers,
                   const uint8_t* source, uint8_t* record);

// A text as programs hand it over, in whole words: at most `limit` bytes with its NUL (a multiple
// of 8; what is longer is cut), zeros up to the next multiple of 8. Returns its bytes with the NUL;
// 0: it cannot be read.
uint32_t fetch_text(uint8_t* at, uint64_t address, uint32_t limit);
uint32_t fetch_text_size(uint64_t address, uint32_t limit);  // what fetch_text() would return

// `count` words of 8 bytes; what cannot be read is 0.
void fetch_words(uint8_t* at, uint64_t address, uint32_t count);
}

}  // namespace patchbay
