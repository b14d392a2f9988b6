// SPDX-License-Identifier: MIT
#include "symbol/eh_frame.h"

#include <algorithm>

#include "symbol/eh_records.h"

namespace patchbay {
namespace {

// At a function's entry the frame is the return address and nothing else: CFA = rsp + 8 and no
// register saved. Instructions before the first "advance" that say otherwise give a part away.
bool begins_inside_a_frame(ByteReader reader) {
  while (reader.remaining() > 0) {
    uint8_t opcode = reader.read<uint8_t>();
    if ((opcode & 0xc0) == 0x80) return true;  // DW_CFA_offset: a register is saved
    uint64_t first = 0;
    switch (opcode) {
      case 0x00:  // DW_CFA_nop
      case 0x0a:  // DW_CFA_remember_state
        break;
      case 0x07:  // DW_CFA_undefined
      case 0x08:  // DW_CFA_same_value
      case 0x2e:  // DW_CFA_GNU_args_size
        reader.uleb();
        break;
      case 0x0c:  // DW_CFA_def_cfa register, offset
        first = reader.uleb();
        if (first != 7 || reader.uleb() != 8) return true;
        break;
      case 0x0d:  // DW_CFA_def_cfa_register
      case 0x0f:  // DW_CFA_def_cfa_expression
        return true;
      case 0x0e:  // DW_CFA_def_cfa_offset
        if (reader.uleb() != 8) return true;
        break;
      default:
        return false;  // an advance, or something that says nothing about the entry
    }
  }
  return false;
}

class EhFrameReader {
 public:
  EhFrameReader(const ElfImage& image, uint64_t header) : image_(image), records_(image, header) {}
  std::vector<FrameRange> read();
  // After read().
  std::vector<HandlerTable> take_tables() { return std::move(tables_); }
  bool complete() const { return complete_; }

 private:
  void read_record(uint64_t address);
  void read_handlers(EhFde& fde);

  const ElfImage& image_;
  EhRecords records_;
  std::vector<FrameRange> ranges_;
  std::vector<HandlerTable> tables_;
  bool complete_ = true;  // nothing was passed over
};

void EhFrameReader::read_handlers(EhFde& fde) {
  ByteReader& reader = fde.rest;
  if (!fde.cie->has_augmentation_data) return;
  const uint64_t size = reader.uleb();
  if (fde.cie->table_encoding != kOmittedPointer && size > 0) {
    ByteReader pointer = reader;
    uint64_t table = 0;
    complete_ &= read_encoded_pointer(pointer, fde.cie->table_encoding,
                                      fde.body + reader.position(), &table);
    if (table) tables_.push_back({fde.start, table});
  }
  reader.skip(size);
}

void EhFrameReader::read_record(uint64_t address) {
  EhFde fde;
  const EhRecords::Kind kind = records_.read_fde(address, &fde);
  complete_ &= kind != EhRecords::Kind::kBad;
  if (kind != EhRecords::Kind::kFde) return;
  if (fde.size == 0 || fde.size > UINT32_MAX || !image_.is_executable(fde.start)) return;
  read_handlers(fde);
  complete_ &= fde.rest.ok();
  bool is_part = fde.rest.ok() && begins_inside_a_frame(fde.rest);
  ranges_.push_back({fde.start, uint32_t(fde.size), fde.cie->is_signal_frame, is_part});
}

std::vector<FrameRange> EhFrameReader::read() {
  complete_ &= records_.for_each([this](uint64_t address) { read_record(address); });
  auto by_start = [](const FrameRange& a, const FrameRange& b) { return a.start < b.start; };
  if (!std::is_sorted(ranges_.begin(), ranges_.end(), by_start)) {
    std::stable_sort(ranges_.begin(), ranges_.end(), by_start);
  }
  auto same_start = [](const FrameRange& a, const FrameRange& b) { return a.start == b.start; };
  ranges_.erase(std::unique(ranges_.begin(), ranges_.end(), same_start), ranges_.end());
  return std::move(ranges_);
}

}  // namespace

std::vector<FrameRange> read_eh_frame(const ElfImage& image) {
  const uint64_t header = eh_frame_header(image);
  return header ? EhFrameReader(image, header).read() : std::vector<FrameRange>();
}

bool read_handler_tables(const ElfImage& image, std::vector<HandlerTable>* tables) {
  const uint64_t header = eh_frame_header(image);
  if (!header) return false;
  EhFrameReader reader(image, header);
  (void)reader.read();
  *tables = reader.take_tables();
  return reader.complete();
}

}  // namespace patchbay
