// SPDX-License-Identifier: MIT
//
//   .eh_frame_hdr                        .eh_frame
//   +---------------------------+        +-----------------------------------------+
//   | version, three encodings  |   +--> | CIE: how addresses are encoded, ...     |
//   | start of .eh_frame -------+---+    +-----------------------------------------+
//   | number of entries         |        | FDE: distance to its CIE, start, size,  |
//   | start, FDE  (sorted) -----+------> |      instructions that describe frames  |
//   | ...                       |        +-----------------------------------------+
//
// (Linux Standard Base, Core, chapter 10.6.) The size of a function stands in the FDE only, so each
// is visited.
#include "symbol/eh_frame.h"

#include <algorithm>

#include "symbol/byte_reader.h"

namespace patchbay {
namespace {

constexpr uint8_t kOmitted = kOmittedPointer;
constexpr size_t kMaxAugmentation = 16;

struct Cie {
  uint64_t address = 0;
  uint8_t pointer_encoding = 0;
  uint8_t table_encoding = kOmitted;  // of the pointer to a function's table of handlers
  bool has_augmentation_data = false;
  bool is_signal_frame = false;
  bool valid = false;
};

bool read_value(ByteReader& reader, uint8_t format, uint64_t* out) {
  switch (format) {
    case 0x00:
      *out = reader.read<uint64_t>();
      break;
    case 0x01:
      *out = reader.uleb();
      break;
    case 0x02:
      *out = reader.read<uint16_t>();
      break;
    case 0x03:
      *out = reader.read<uint32_t>();
      break;
    case 0x04:
      *out = reader.read<uint64_t>();
      break;
    case 0x09:
      *out = uint64_t(reader.sleb());
      break;
    case 0x0a:
      *out = uint64_t(int64_t(reader.read<int16_t>()));
      break;
    case 0x0b:
      *out = uint64_t(int64_t(reader.read<int32_t>()));
      break;
    case 0x0c:
      *out = reader.read<uint64_t>();
      break;
    default:
      return false;
  }
  return reader.ok();
}

class EhFrameReader {
 public:
  EhFrameReader(const ElfImage& image, uint64_t header) : image_(image), header_(header) {}
  std::vector<FrameRange> read();
  // After read().
  std::vector<HandlerTable> take_tables() { return std::move(tables_); }
  bool complete() const { return complete_; }

 private:
  bool read_pointer(ByteReader& reader, uint8_t encoding, uint64_t base, uint64_t* out) const;
  Bytes record_at(uint64_t address, uint64_t* body, uint64_t* next) const;
  void read_fde(uint64_t address);
  void read_handlers(ByteReader& reader, const Cie& cie, uint64_t body, uint64_t start);
  void read_all_from(uint64_t address);
  const Cie& cie_at(uint64_t address);
  void parse_cie(uint64_t address);
  void parse_augmentation(ByteReader& reader, uint64_t body, const char* letters);

  const ElfImage& image_;
  uint64_t header_;
  Cie cie_;  // the last one: neighbours share it
  std::vector<FrameRange> ranges_;
  std::vector<HandlerTable> tables_;
  bool complete_ = true;  // nothing was passed over
};

// `base` is the address of the reader's first byte, for pointers that are relative to themselves.
bool EhFrameReader::read_pointer(ByteReader& reader, uint8_t encoding, uint64_t base,
                                 uint64_t* out) const {
  uint64_t self = base + reader.position();
  if (!read_value(reader, encoding & 0x0f, out)) return false;
  switch (encoding & 0x70) {
    case 0x00:
      return true;
    case 0x10:
      *out += self;
      return true;
    case 0x30:
      *out += header_;
      return true;
    default:
      return false;
  }
}

// The bytes behind the length of the CIE or FDE at `address`; empty at the end of the records.
Bytes EhFrameReader::record_at(uint64_t address, uint64_t* body, uint64_t* next) const {
  Bytes bytes = image_.at(address);
  ByteReader reader(bytes);
  uint64_t length = reader.read<uint32_t>();
  if (length == 0xffffffff) length = reader.read<uint64_t>();
  if (!reader.ok() || length == 0 || length > reader.remaining()) return {};
  *body = address + reader.position();
  *next = *body + length;
  return bytes.subspan(reader.position(), length);
}

void EhFrameReader::parse_augmentation(ByteReader& reader, uint64_t body, const char* letters) {
  if (*letters == 'z') {
    cie_.has_augmentation_data = true;
    reader.uleb();
    ++letters;
  }
  for (; *letters; ++letters) {
    uint64_t ignored = 0;
    uint8_t encoding = 0;
    switch (*letters) {
      case 'R':
        cie_.pointer_encoding = reader.read<uint8_t>();
        break;
      case 'L':
        cie_.table_encoding = reader.read<uint8_t>();
        break;
      case 'S':
        cie_.is_signal_frame = true;
        break;
      case 'B':
        break;
      case 'P':
        encoding = reader.read<uint8_t>();
        if (!read_pointer(reader, encoding & 0x7f, body, &ignored)) return;
        break;
      default:
        return;
    }
  }
  cie_.valid = reader.ok();
}

void EhFrameReader::parse_cie(uint64_t address) {
  uint64_t body = 0, next = 0;
  Bytes record = record_at(address, &body, &next);
  ByteReader reader(record);
  if (reader.read<uint32_t>() != 0 || record.empty()) return;  // an FDE
  uint8_t version = reader.read<uint8_t>();
  if (version != 1 && version != 3) return;
  char letters[kMaxAugmentation] = {};
  for (size_t i = 0; (letters[i] = char(reader.read<uint8_t>())) != 0;) {
    if (++i == kMaxAugmentation) return;
  }
  reader.uleb();                                          // code alignment
  reader.sleb();                                          // data alignment
  version == 1 ? reader.read<uint8_t>() : reader.uleb();  // the return address's register
  if (reader.ok()) parse_augmentation(reader, body, letters);
}

const Cie& EhFrameReader::cie_at(uint64_t address) {
  if (cie_.address != address) {
    cie_ = Cie{};
    cie_.address = address;
    parse_cie(address);
  }
  return cie_;
}

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

void EhFrameReader::read_handlers(ByteReader& reader, const Cie& cie, uint64_t body,
                                  uint64_t start) {
  if (!cie.has_augmentation_data) return;
  const uint64_t size = reader.uleb();
  if (cie.table_encoding != kOmitted && size > 0) {
    ByteReader pointer = reader;
    uint64_t table = 0;
    complete_ &=
        read_encoded_pointer(pointer, cie.table_encoding, body + reader.position(), &table);
    if (table) tables_.push_back({start, table});
  }
  reader.skip(size);
}

void EhFrameReader::read_fde(uint64_t address) {
  uint64_t body = 0, next = 0;
  Bytes record = record_at(address, &body, &next);
  ByteReader reader(record);
  uint32_t distance = reader.read<uint32_t>();
  complete_ &= !record.empty();
  if (record.empty() || distance == 0) return;  // a CIE
  const Cie& cie = cie_at(body - distance);
  uint64_t start = 0, size = 0;
  if (!cie.valid || !read_pointer(reader, cie.pointer_encoding, body, &start) ||
      !read_value(reader, cie.pointer_encoding & 0x0f, &size)) {
    complete_ = false;
    return;
  }
  if (size == 0 || size > UINT32_MAX || !image_.is_executable(start)) return;
  read_handlers(reader, cie, body, start);
  complete_ &= reader.ok();
  bool is_part = reader.ok() && begins_inside_a_frame(reader);
  ranges_.push_back({start, uint32_t(size), cie.is_signal_frame, is_part});
}

void EhFrameReader::read_all_from(uint64_t address) {
  uint64_t body = 0, next = 0;
  while (!record_at(address, &body, &next).empty()) {
    read_fde(address);
    if (next <= address) return;  // wrapped around the address space
    address = next;
  }
}

std::vector<FrameRange> EhFrameReader::read() {
  ByteReader reader(image_.at(header_));
  complete_ = reader.read<uint8_t>() == 1;
  if (!complete_) return {};
  uint8_t frame_encoding = reader.read<uint8_t>();
  uint8_t count_encoding = reader.read<uint8_t>();
  uint8_t table_encoding = reader.read<uint8_t>();
  uint64_t frames = 0, count = 0;
  complete_ = read_pointer(reader, frame_encoding, header_, &frames);
  if (!complete_) return {};
  bool has_table = count_encoding != kOmitted && table_encoding != kOmitted &&
                   read_pointer(reader, count_encoding, header_, &count) && count > 0;
  if (!has_table) read_all_from(frames);
  if (has_table) ranges_.reserve(std::min<uint64_t>(count, reader.remaining() / 4));
  for (uint64_t i = 0; i < count && has_table; ++i) {
    uint64_t start = 0, fde = 0;
    if (!read_pointer(reader, table_encoding, header_, &start) ||
        !read_pointer(reader, table_encoding, header_, &fde)) {
      complete_ = false;
      break;
    }
    read_fde(fde);
  }
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
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type == PT_GNU_EH_FRAME) return EhFrameReader(image, segment.p_vaddr).read();
  }
  return {};
}

bool read_handler_tables(const ElfImage& image, std::vector<HandlerTable>* tables) {
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type != PT_GNU_EH_FRAME) continue;
    EhFrameReader reader(image, segment.p_vaddr);
    (void)reader.read();
    *tables = reader.take_tables();
    return reader.complete();
  }
  return false;
}

bool read_encoded_pointer(ByteReader& reader, uint8_t encoding, uint64_t self, uint64_t* out) {
  const bool relative = (encoding & 0xf0) == 0x10;
  if (!relative && (encoding & 0xf0) != 0) return false;
  if (!read_value(reader, encoding & 0x0f, out)) return false;
  if (relative && *out != 0) *out += self;
  return true;
}

}  // namespace patchbay
