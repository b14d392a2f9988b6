// SPDX-License-Identifier: MIT
#include "export/export_writer.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>

namespace patchbay {

// One of the two, or neither.
struct ExportWriter::Compressor {
  z_stream gzip{};
  bool has_gzip = false;
  ZSTD_CStream* zstd = nullptr;

  explicit Compressor(ExportCompression kind) {
    // 15 + 16: a gzip header.
    if (kind == ExportCompression::kGzip)
      has_gzip = ::deflateInit2(&gzip, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    if (kind == ExportCompression::kZstd) zstd = ::ZSTD_createCStream();
  }
  ~Compressor() {
    if (has_gzip) ::deflateEnd(&gzip);
    ::ZSTD_freeCStream(zstd);
  }
  // Appends to `out`. False: out of memory.
  bool pack_gzip(const std::string& in, bool is_last, std::string* out) {
    gzip.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    gzip.avail_in = uInt(in.size());
    do {
      const size_t at = out->size();
      out->resize(at + 65536);
      gzip.next_out = reinterpret_cast<Bytef*>(out->data() + at);
      gzip.avail_out = 65536;
      if (::deflate(&gzip, is_last ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR) return false;
      out->resize(at + 65536 - gzip.avail_out);
    } while (gzip.avail_out == 0);
    return true;
  }
  bool pack_zstd(const std::string& in, bool is_last, std::string* out) {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    size_t left = 1;
    while (is_last ? left != 0 : from.pos < from.size) {
      const size_t at = out->size();
      out->resize(at + 65536);
      ZSTD_outBuffer to{out->data() + at, 65536, 0};
      left = ::ZSTD_compressStream2(zstd, &to, &from, is_last ? ZSTD_e_end : ZSTD_e_continue);
      out->resize(at + to.pos);
      if (::ZSTD_isError(left)) return false;
    }
    return true;
  }
};

Result<std::unique_ptr<ExportWriter>> ExportWriter::open(const std::string& path,
                                                         ExportCompression compression) {
  std::unique_ptr<ExportWriter> writer(new ExportWriter);
  writer->path_ = path == "-" ? "standard output" : path;
  if (path == "-") {
    writer->fd_ = STDOUT_FILENO;
  } else {
    PB_ASSIGN(writer->file_, OutputFile::open(path, O_WRONLY | O_TRUNC));
    writer->fd_ = writer->file_.fd();
    writer->is_file_ = writer->file_.is_regular();
  }
  if (compression != ExportCompression::kNone) {
    writer->compressor_ = std::make_unique<Compressor>(compression);
    if (!writer->compressor_->has_gzip && !writer->compressor_->zstd)
      return sys_error("begin to compress " + writer->path_, ENOMEM);
  }
  writer->out_.reserve(kPiece + 65536);
  return writer;
}

ExportWriter::~ExportWriter() {
  if (is_file_ && !finished_) file_.remove();
}

Status ExportWriter::write_all(const char* at, size_t size) {
  while (size > 0) {
    const ssize_t count = ::write(fd_, at, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      return sys_error("write " + path_ + (is_file_ ? " (what was written of it is removed)" : ""),
                       count < 0 ? errno : EIO);
    at += count;
    size -= size_t(count);
    bytes_ += uint64_t(count);
  }
  return {};
}

Status ExportWriter::compress(bool is_last) {
  if (!compressor_) {
    PB_TRY(write_all(out_.data(), out_.size()));
    out_.clear();
    return {};
  }
  packed_.clear();
  const bool fine = compressor_->zstd ? compressor_->pack_zstd(out_, is_last, &packed_)
                                      : compressor_->pack_gzip(out_, is_last, &packed_);
  if (!fine) return sys_error("compress " + path_, ENOMEM);
  out_.clear();
  return write_all(packed_.data(), packed_.size());
}

Status ExportWriter::finish() {
  PB_TRY(compress(true));
  if (fd_ == file_.fd()) PB_TRY(file_.finish());
  finished_ = true;
  return {};
}

}  // namespace patchbay
