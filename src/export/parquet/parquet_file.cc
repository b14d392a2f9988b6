// SPDX-License-Identifier: MIT
#include "export/parquet/parquet_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace patchbay {
namespace {

constexpr const char* kMagic = "PAR1";
constexpr uint64_t kRowsBetweenPages = 16;    // at which full pages are looked for
constexpr uint64_t kRowsBetweenLooks = 1024;  // at the memory of the row group

// parquet.thrift: what a column's numbers mean, in the old way and in the new one.
struct TypeNames {
  int converted = -1;  // ConvertedType; -1: has none
  int bits = 0;        // of LogicalType INTEGER
  bool is_signed = false;
};
TypeNames names_of(ColumnType type) {
  switch (type) {
    case ColumnType::kInt8:
      return {15, 8, true};
    case ColumnType::kInt16:
      return {16, 16, true};
    case ColumnType::kInt32:
      return {17, 32, true};
    case ColumnType::kInt64:
      return {18, 64, true};
    case ColumnType::kUint8:
      return {11, 8, false};
    case ColumnType::kUint16:
      return {12, 16, false};
    case ColumnType::kUint32:
      return {13, 32, false};
    case ColumnType::kUint64:
      return {14, 64, false};
    case ColumnType::kText:
      return {0, 0, false};  // UTF8
    default:
      return {};
  }
}

void put_logical_type(ThriftCompact* element, ColumnType type) {
  const TypeNames names = names_of(type);
  if (names.converted >= 0) element->i32(6, names.converted);
  if (type == ColumnType::kFloat || type == ColumnType::kDouble) return;
  element->begin_struct(10);
  if (type == ColumnType::kText) {
    element->begin_struct(1);
    element->end_struct();
  } else if (type == ColumnType::kTimestamp) {
    element->begin_struct(8);
    element->flag(1, false);  // of no time zone
    element->begin_struct(2);
    element->begin_struct(3);  // NANOS
    element->end_struct();
    element->end_struct();
    element->end_struct();
  } else {
    element->begin_struct(10);
    element->i8(1, int8_t(names.bits));
    element->flag(2, names.is_signed);
    element->end_struct();
  }
  element->end_struct();
}

constexpr int kRequired = 0, kOptional = 1, kRepeated = 2;

void put_leaf(ThriftCompact* footer, std::string_view name, ColumnType type, int repetition) {
  footer->begin_element();
  footer->i32(1, ParquetColumnWriter::physical_type(type));
  footer->i32(3, repetition);
  footer->binary(4, name);
  put_logical_type(footer, type);
  footer->end_struct();
}

void put_list(ThriftCompact* footer, const TypedColumn& column) {
  footer->begin_element();
  footer->i32(3, kOptional);
  footer->binary(4, column.name);
  footer->i32(5, 1);
  footer->i32(6, 3);  // LIST
  footer->begin_struct(10);
  footer->begin_struct(3);
  footer->end_struct();
  footer->end_struct();
  footer->end_struct();
  footer->begin_element();
  footer->i32(3, kRepeated);
  footer->binary(4, "list");
  footer->i32(5, 1);
  footer->end_struct();
  put_leaf(footer, "element", column.type, kOptional);
}

}  // namespace

Result<std::unique_ptr<ParquetFile>> ParquetFile::create(const std::string& path,
                                                         std::vector<TypedColumn> columns,
                                                         Metadata metadata,
                                                         ParquetCompressor* compressor,
                                                         const ParquetLimits& limits) {
  PB_ASSIGN(const OutputFile made, OutputFile::open(path, O_WRONLY | O_TRUNC, 0644));
  std::unique_ptr<ParquetFile> file(new ParquetFile);
  file->path_ = path;
  file->is_regular_ = made.is_regular();
  file->id_ = made.id();
  file->metadata_ = std::move(metadata);
  file->limits_ = limits;
  for (TypedColumn& column : columns) file->columns_.emplace_back(std::move(column), compressor);
  PB_TRY(file->append(kMagic));
  return file;
}

ParquetFile::~ParquetFile() {
  if (!finished_ && is_regular_) ::unlink(path_.c_str());  // never a device or a pipe
}

Status ParquetFile::append(const std::string& bytes) {
  PB_ASSIGN(const OutputFile file, OutputFile::open_again(path_, O_WRONLY | O_APPEND, id_));
  PB_TRY(file.write(bytes));
  offset_ += bytes.size();
  return {};
}

Status ParquetFile::end_row() {
  if (++group_rows_ % kRowsBetweenPages) return {};
  for (ParquetColumnWriter& column : columns_) column.end_row();
  if (group_rows_ % kRowsBetweenLooks) return {};
  if (group_rows_ < limits_.row_group_rows && memory() < limits_.row_group_bytes) return {};
  return end_row_group();
}

size_t ParquetFile::memory() const {
  size_t bytes = 0;
  for (const ParquetColumnWriter& column : columns_) bytes += column.memory();
  return bytes;
}

Status ParquetFile::end_row_group() {
  if (!group_rows_) return {};
  ThriftCompact group(&groups_);
  group.begin_list(1, ThriftCompact::kStruct, columns_.size());
  std::string chunk;
  uint64_t unpacked = 0;
  const uint64_t begin = offset_;
  for (ParquetColumnWriter& column : columns_) {
    chunk.clear();
    column.end_chunk(&chunk, offset_, &group, &unpacked);
    PB_TRY(append(chunk));
  }
  group.i64(2, int64_t(unpacked));
  group.i64(3, int64_t(group_rows_));
  group.i64(5, int64_t(begin));
  group.i64(6, int64_t(offset_ - begin));
  group.end_struct();
  group_count_++;
  rows_ += group_rows_;
  group_rows_ = 0;
  return {};
}

void ParquetFile::put_schema(ThriftCompact* footer) const {
  size_t elements = 1 + columns_.size();
  for (const ParquetColumnWriter& column : columns_)
    if (column.column().is_list) elements += 2;
  footer->begin_list(2, ThriftCompact::kStruct, elements);
  footer->begin_element();
  footer->binary(4, "schema");
  footer->i32(5, int32_t(columns_.size()));
  footer->end_struct();
  for (const ParquetColumnWriter& writer : columns_) {
    const TypedColumn& column = writer.column();
    if (column.is_list) {
      put_list(footer, column);
    } else {
      put_leaf(footer, column.name, column.type, column.is_required ? kRequired : kOptional);
    }
  }
}

std::string ParquetFile::footer() const {
  std::string bytes;
  ThriftCompact footer(&bytes);
  footer.i32(1, 2);
  put_schema(&footer);
  footer.i64(3, int64_t(rows_));
  footer.begin_list(4, ThriftCompact::kStruct, group_count_);
  bytes += groups_;
  if (!metadata_.empty()) {
    footer.begin_list(5, ThriftCompact::kStruct, metadata_.size());
    for (const auto& [key, value] : metadata_) {
      footer.begin_element();
      footer.binary(1, key);
      footer.binary(2, value);
      footer.end_struct();
    }
  }
  footer.binary(6, "patchbay version " PATCHBAY_VERSION);
  footer.begin_list(7, ThriftCompact::kStruct, columns_.size());  // bounds are by each type's order
  for (size_t i = 0; i < columns_.size(); i++) {
    footer.begin_element();
    footer.begin_struct(1);
    footer.end_struct();
    footer.end_struct();
  }
  footer.end_struct();
  return bytes;
}

Status ParquetFile::finish() {
  PB_TRY(end_row_group());
  std::string bytes = footer();
  const auto size = uint32_t(bytes.size());
  bytes.append(reinterpret_cast<const char*>(&size), 4);
  bytes += kMagic;
  PB_TRY(append(bytes));
  finished_ = true;
  return {};
}

}  // namespace patchbay
