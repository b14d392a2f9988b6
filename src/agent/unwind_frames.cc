// SPDX-License-Identifier: MIT
//
// Tells unwinders of this process about code that is in no ELF file: stubs, and the code of
// filters and static events. libgcc asks _dl_find_object() for the unwind tables of each address.
// For an address in such code the answer is a table for this address alone, made at that moment:
//
//   .eh_frame_hdr -> CIE   mostly of signal frames: the frame above begins with its instruction
//                    FDE   from this address to the next one:
//                          CFA = the program's stack pointer
//                          rip = where the program believes to be    (stub_place())
//                          rax rcx rdx r9 r10 r11 where they are saved, if they are
//
// So a stub is a frame that seems to have been interrupted in the traced function, which the
// unwinder then leaves by the function's own table: whatever the displaced instructions do to the
// stack is in there. Nothing is allocated and no lock is taken: a handler may unwind at any time,
// and a table is used up before the unwinder, and a handler that interrupts it, ask for three more.
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "agent/next_function.h"
#include "filter/filter_code.h"
#include "patch/stub_views.h"
#include "probe/thread_blocks.h"

#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 35)
#define PB_HAS_FIND_OBJECT 1
#endif
#endif

#ifdef PB_HAS_FIND_OBJECT
namespace patchbay {
namespace {

constexpr uint8_t kAbsolute = 0x00, kOmitted = 0xff;  // DW_EH_PE_…
constexpr uint8_t kRip = 16, kRsp = 7;                // DWARF's numbers

static_assert(kUnwindTableSize >= 116);  // with all rules

// Of threads that have no block, in turn: so many of them would have to unwind at the same moment
// that one takes another's table.
constexpr uint32_t kSharedTables = 256;
alignas(8) uint8_t g_shared_tables[kSharedTables][kUnwindTableSize];
std::atomic<uint32_t> g_next_shared;

class TableWriter {
 public:
  explicit TableWriter(uint8_t* out) : out_(out) {}

  void byte(uint8_t value) { out_[size_++] = value; }
  void bytes(std::initializer_list<uint8_t> values) {
    for (uint8_t value : values) byte(value);
  }
  void word32(uint32_t value) { put(&value, 4); }
  void word64(uint64_t value) { put(&value, 8); }
  // A length in front of what follows, up to end_record().
  void begin_record() {
    record_ = size_;
    word32(0);
  }
  void end_record() {
    while (size_ % 8) byte(0);  // DW_CFA_nop
    const auto length = uint32_t(size_ - record_ - 4);
    std::memcpy(out_ + record_, &length, 4);
  }
  size_t size() const { return size_; }

 private:
  void put(const void* from, size_t size) {
    std::memcpy(out_ + size_, from, size);
    size_ += size;
  }
  uint8_t* out_;
  size_t size_ = 0, record_ = 0;
};

void write_signed(TableWriter* w, int64_t value) {
  for (;;) {
    const auto low = uint8_t(value & 0x7f);
    value >>= 7;
    const bool last = (value == 0 && !(low & 0x40)) || (value == -1 && (low & 0x40));
    w->byte(last ? low : uint8_t(low | 0x80));
    if (last) return;
  }
}

void write_unsigned(TableWriter* w, uint32_t value) {
  for (; value >= 0x80; value >>= 7) w->byte(uint8_t(value | 0x80));
  w->byte(uint8_t(value));
}

// libgcc tells frames apart by their CFA, less one below a frame of signals. What leads to a stub
// is such a frame. So where the stub has moved nothing it must not be one, too; what it leads to is
// then as if called from there.
bool is_as_interrupted(const StubPlace& place) { return place.moved != 0; }

// def_cfa rsp + moved, then rip as a value.
void write_rules(TableWriter* w, const StubPlace& place) {
  static constexpr uint8_t kSaved[] = {0, 2, 1, 9, 10, 11};  // rax rcx rdx r9 r10 r11, downwards
  w->bytes({0x0c, kRsp});
  write_unsigned(w, place.moved);
  w->bytes({0x16, kRip, 9, 0x0e});  // val_expression: const8u
  w->word64(place.original + (is_as_interrupted(place) ? 0 : 1));
  if (!place.is_saved) return;
  int64_t below = 0;
  for (uint8_t reg : kSaved) {
    below -= 8;
    w->bytes({0x10, reg, uint8_t(below >= -64 ? 2 : 3), 0x77});  // expression: breg7
    write_signed(w, below);
  }
}

// A function that has `moved` bytes of its own on the stack.
void write_function_rules(TableWriter* w, uint16_t moved) {
  w->bytes({0x0c, kRsp});
  write_unsigned(w, moved + 8u);
  w->bytes({0x80 | kRip, 1});
}

// `place` null: a function.
void* write_table(uint8_t* table, uint64_t address, const StubPlace* place, uint16_t moved) {
  TableWriter w(table);
  constexpr size_t kHeader = 16;
  w.bytes({1, kAbsolute, kOmitted, kOmitted});
  w.word64(reinterpret_cast<uint64_t>(table) + kHeader);
  w.word32(0);
  w.begin_record();  // CIE
  w.word32(0);
  w.byte(1);
  w.bytes({'z', 'R'});
  if (place && is_as_interrupted(*place)) w.byte('S');
  w.bytes({0, 1, 0x78, kRip, 1, kAbsolute});  // factors 1 and -8, return address, encoding
  w.end_record();
  w.begin_record();  // FDE
  w.word32(uint32_t(w.size() - kHeader));
  w.word64(address);
  w.word64(1);
  w.byte(0);
  place ? write_rules(&w, *place) : write_function_rules(&w, moved);
  w.end_record();
  w.word32(0);
  return table;
}

void* table_for(uint64_t address, const StubPlace* place, uint16_t moved) {
  uint8_t* table;
  if (ThreadBlock* block = thread_block()) {
    table = block->tables.table[block->tables.next++ % BriefTables::kTables];
  } else {
    table = g_shared_tables[g_next_shared.fetch_add(1) % kSharedTables];
  }
  return write_table(table, address, place, moved);
}

using FindObject = int (*)(void*, dl_find_object*);

// Before a handler may need it.
__attribute__((constructor)) void find_early() { next_address(Next::kDlFindObject); }

}  // namespace
}  // namespace patchbay

extern "C" __attribute__((visibility("default"))) int _dl_find_object(
    void* pc, dl_find_object* result) noexcept {
  using namespace patchbay;
  const auto address = reinterpret_cast<uint64_t>(pc);
  StubPlace place;
  uint16_t moved = 0;
  const bool in_stub = stub_place(address, &place) || padding_place(address, &place);
  if (!in_stub && !generated_code_at(address, &moved)) {
    const auto next = next_function<FindObject>(Next::kDlFindObject);
    return next ? next(pc, result) : -1;
  }
  std::memset(static_cast<void*>(result), 0, sizeof *result);
  result->dlfo_map_start = pc;
  result->dlfo_map_end = static_cast<uint8_t*>(pc) + 1;
  result->dlfo_eh_frame = table_for(address, in_stub ? &place : nullptr, moved);
  return 0;
}
#endif
