// SPDX-License-Identifier: MIT
//
// Files that the tool writes, in directories where others may write as well. For the tool.
//
//   what the user named    OutputFile::open: the file that is there, or a new one
//   what is made aside     OutputFile::beside: a new file of a random name in the directory of the
//                          output; take_place() makes it the output
//
// R1  A directory is walked to once, and held; what is made, renamed or removed is a name in it.
// R2  A link on the way counts if it is root's or the user's, or if nobody else may write to the
//     directory that it stands in: fs.protected_symlinks for every directory, whatever is set. A
//     link of /proc (/dev/stdout) is the kernel's and counts.
// R3  A file that is there is not taken in a directory of all if it belongs to another one who does
//     not own the directory, nor where others may write if it has a second name: these are
//     fs.protected_regular, protected_fifos and protected_hardlinks.
// R4  A name that the user has not given is new (O_EXCL), so that nothing planted is followed.
// R5  Mode and owner of an output stay what they are. They are set on the descriptor.
// R6  An output that nobody finds any more, since it was removed, is noticed.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace patchbay {

// A name in a directory that is held (R1).
class OutputPlace {
 public:
  // Where `path` leads (R2). `make_parents`: directories that are missing are made.
  static Result<OutputPlace> of(const std::string& path, bool make_parents = false);
  // A directory of that name. False: it was there.
  static Result<bool> make_directory(const std::string& path);
  // As it was named; where a link of that name was followed, what it leads to.
  const std::string& path() const { return path_; }
  // A link of /proc, as /dev/stdout is one. Nothing can be made beside it.
  bool is_kernels() const { return is_kernels_; }

 private:
  friend class OutputFile;
  friend class PathWalk;
  std::shared_ptr<const UniqueFd> directory_;
  std::string path_, name_;
  bool is_kernels_ = false;  // only the kernel can follow it
};

class OutputFile {
 public:
  struct Id {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const Id&) const = default;
  };

  OutputFile() = default;
  OutputFile(OutputFile&&) = default;
  OutputFile& operator=(OutputFile&&) = default;
  ~OutputFile();  // one that was made aside, and has not taken its place, goes

  // `flags`: how it is opened, as of open(2), O_TRUNC too. A device or a pipe is taken as it is.
  static Result<OutputFile> open(const std::string& path, int flags, mode_t mode = 0666);
  static Result<OutputFile> open(OutputPlace place, int flags, mode_t mode = 0666);
  // The one that was opened before. An error: it is there no more.
  static Result<OutputFile> open_again(const std::string& path, int flags, Id id);
  // A new file NAME ABOUT.RANDOM SUFFIX. It stays when it is kept, or takes its place. `mode`:
  // where there is no output yet; else nobody but us may read it before.
  static Result<OutputFile> beside(const OutputPlace& place, const std::string& suffix,
                                   mode_t mode = 0666, const std::string& about = "");
  // Where that directory has been removed: here, or in the directory of temporary files.
  static Result<OutputFile> elsewhere(const OutputPlace& place);
  static OutputFile of_stdout();
  // What is to stand at `path` when it is whole: beside it, or a device or pipe itself.
  static Result<OutputFile> replacement(const std::string& path, const std::string& suffix);

  int fd() const { return fd_.get(); }
  const std::string& path() const { return place_.path_; }
  bool is_made() const { return is_made_; }  // was not there before
  bool is_regular() const { return is_regular_; }
  Id id() const { return id_; }

  Status write(std::string_view bytes) const;
  // Says what a disk over the network says only at a close().
  Status finish() const;
  // Has the name of the output from now on, with mode and owner of the one that was there.
  Status take_place();
  void keep() { is_aside_ = false; }
  // Removes the name, if it is still that of this file.
  void remove() const;
  // It had a name, and has none any more.
  bool is_gone() const;
  // A new one instead of one that is gone: of the same name if nobody has taken it, else of another
  // one, beside it, here or in the directory of temporary files. False: path() says which.
  Result<bool> renew();
  // A file without a name in the directory of the output.
  Result<UniqueFd> make_spool() const;
  // Its path without links, for a library that opens by name: it must not follow one then.
  std::string real_path() const;
  // The descriptor, for whoever owns it from here on.
  int release() { return fd_.release(); }

 private:
  static Result<OutputFile> make_new(const OutputPlace& place, const std::string& name,
                                     mode_t mode);
  static Result<OutputFile> make_random(const OutputPlace& place, const std::string& about,
                                        const std::string& suffix, mode_t mode);
  static OutputFile of(UniqueFd fd, OutputPlace place);
  int directory() const { return place_.directory_->get(); }
  Status check_existing() const;
  bool has_its_name() const;
  void take_attributes(const struct stat& from) const;

  UniqueFd fd_;
  OutputPlace place_;
  std::string target_;  // the name that it is to have
  Id id_;
  bool is_made_ = false, is_regular_ = false, is_aside_ = false;
};

// A whole text, to a file or (an empty name) to standard output.
Status write_output(const std::string& path, std::string_view text);
// The same as a stream, for what is written piece by piece.
Result<std::FILE*> open_output_stream(const std::string& path);
// All is written, and is found under a name. Leaves it open.
Status finish_output_stream(std::FILE* stream, const std::string& path);

}  // namespace patchbay
