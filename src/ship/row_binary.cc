// SPDX-License-Identifier: MIT
#include "ship/row_binary.h"

namespace patchbay {

void RowBinaryRow::text(std::string_view text) {
  if (in_list_) {
    uint64_t length = text.size();
    for (; length >= 0x80; length >>= 7) *list_ += char(length | 0x80);
    *list_ += char(length);
    *list_ += text;
    return next();
  }
  if ((*columns_)[at_].kind == ShipKind::kNullable) out_->put(uint8_t{0});
  out_->put_text(text);
  next();
}

void RowBinaryRow::null() {
  const ShipColumn& column = (*columns_)[at_];
  if (in_list_) return column.type == ColumnType::kText ? text({}) : number(0);
  switch (column.kind) {
    case ShipKind::kNullable:
      out_->put(uint8_t{1});
      break;
    case ShipKind::kArray:
      out_->put(uint8_t{0});
      break;
    case ShipKind::kPlain:
      if (column.type == ColumnType::kText)
        out_->put(uint8_t{0});
      else
        put_number(out_, column.type, 0);
      break;
    case ShipKind::kUuid:
    case ShipKind::kDate:
      break;  // of the head, which is never null
  }
  next();
}

}  // namespace patchbay
