// SPDX-License-Identifier: MIT
#include "symbol/eh_records.h"

namespace patchbay {
namespace {

constexpr size_t kMaxAugmentation = 16;

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

}  // namespace

// `base` is the address of the reader's first byte, for pointers that are relative to themselves.
bool EhRecords::read_pointer(ByteReader& reader, uint8_t encoding, uint64_t base,
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
Bytes EhRecords::record_at(uint64_t address, uint64_t* body, uint64_t* next) const {
  Bytes bytes = image_.at(address);
  ByteReader reader(bytes);
  uint64_t length = reader.read<uint32_t>();
  if (length == 0xffffffff) length = reader.read<uint64_t>();
  if (!reader.ok() || length == 0 || length > reader.remaining()) return {};
  *body = address + reader.position();
  *next = *body + length;
  return bytes.subspan(reader.position(), length);
}

// False: a letter whose data nobody knows the size of.
bool EhRecords::parse_augmentation(ByteReader& reader, uint64_t body, const char* letters) {
  size_t end = 0;
  if (*letters == 'z') {
    cie_.has_augmentation_data = true;
    const uint64_t size = reader.uleb();
    if (size > reader.remaining()) return false;
    end = reader.position() + size;
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
        if (!read_pointer(reader, encoding & 0x7f, body, &ignored)) return false;
        break;
      default:
        return false;
    }
  }
  if (end > reader.position()) reader.skip(end - reader.position());
  return reader.ok();
}

void EhRecords::parse_cie(uint64_t address) {
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
  cie_.code_alignment = reader.uleb();
  cie_.data_alignment = reader.sleb();
  cie_.return_register = version == 1 ? reader.read<uint8_t>() : reader.uleb();
  if (!reader.ok() || !parse_augmentation(reader, body, letters)) return;
  cie_.instructions = record.subspan(reader.position());
  cie_.valid = true;
}

const EhCie& EhRecords::cie_at(uint64_t address) {
  if (cie_.address != address) {
    cie_ = EhCie{};
    cie_.address = address;
    parse_cie(address);
  }
  return cie_;
}

EhRecords::Kind EhRecords::read_fde(uint64_t address, EhFde* fde) {
  uint64_t next = 0;
  Bytes record = record_at(address, &fde->body, &next);
  ByteReader reader(record);
  uint32_t distance = reader.read<uint32_t>();
  if (record.empty()) return Kind::kBad;
  if (distance == 0) return Kind::kCie;
  fde->cie = &cie_at(fde->body - distance);
  if (!fde->cie->valid ||
      !read_pointer(reader, fde->cie->pointer_encoding, fde->body, &fde->start) ||
      !read_value(reader, fde->cie->pointer_encoding & 0x0f, &fde->size))
    return Kind::kBad;
  fde->rest = reader;
  return Kind::kFde;
}

bool EhRecords::for_each(const std::function<void(uint64_t)>& visit) {
  ByteReader reader(image_.at(header_));
  if (reader.read<uint8_t>() != 1) return false;
  uint8_t frame_encoding = reader.read<uint8_t>();
  uint8_t count_encoding = reader.read<uint8_t>();
  uint8_t table_encoding = reader.read<uint8_t>();
  uint64_t frames = 0, count = 0;
  if (!read_pointer(reader, frame_encoding, header_, &frames)) return false;
  if (count_encoding == kOmittedPointer || table_encoding == kOmittedPointer ||
      !read_pointer(reader, count_encoding, header_, &count) || count == 0) {
    uint64_t body = 0, next = 0;
    for (uint64_t at = frames; !record_at(at, &body, &next).empty(); at = next) {
      visit(at);
      if (next <= at) break;  // wrapped around the address space
    }
    return true;
  }
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t start = 0, fde = 0;
    if (!read_pointer(reader, table_encoding, header_, &start) ||
        !read_pointer(reader, table_encoding, header_, &fde))
      return false;
    visit(fde);
  }
  return true;
}

uint64_t eh_frame_header(const ElfImage& image) {
  for (const Elf64_Phdr& segment : image.segments())
    if (segment.p_type == PT_GNU_EH_FRAME) return segment.p_vaddr;
  return 0;
}

bool read_encoded_pointer(ByteReader& reader, uint8_t encoding, uint64_t self, uint64_t* out) {
  const bool relative = (encoding & 0xf0) == 0x10;
  if (!relative && (encoding & 0xf0) != 0) return false;
  if (!read_value(reader, encoding & 0x0f, out)) return false;
  if (relative && *out != 0) *out += self;
  return true;
}

}  // namespace patchbay
