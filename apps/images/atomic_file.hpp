// Output files that appear whole or not at all: written under a temporary name in the same folder, checked, then
// renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

namespace halocline {

/// Throws InputError if the folder of `path` does not exist, its name is too long or it is not something that a file
/// may replace (a folder, a device, a link round in a circle), FileError if the folder cannot be written. Leaves
/// nothing behind. For a check before a long computation.
void check_output_path(const std::string& path);

/// The target of the symbolic links of `path`, which need not exist; `path` itself if it is none. Throws
/// InputError for a link round in a circle.
std::string file_behind(const std::string& path);

/// Throws FileError if the disk reports less than `bytes` bytes free where `path` is to be. For a check
/// before a long computation.
void require_room(const std::string& path, std::uint64_t bytes);

/// Throws FileError if a limit (ulimit -f) does not allow a file of so many bytes. For a check before a long
/// computation.
void require_allowed_size(const std::string& path, std::uint64_t bytes);

/// Throws the FileError of a file of `bytes` bytes that a library could not write, with the reason as far as the checks
/// above find it. What the library says is logged at level debug.
[[noreturn]] void fail_unwritten(const std::string& path, std::uint64_t bytes, const std::string& said);

/// A file under a temporary name beside its final place, removed by the destructor unless commit() was reached.
///
/// The first one in a folder removes files that killed processes of this host have left there.
///
/// If `path` is a symbolic link, the link remains, and the file that it points to is replaced, or made if it is not
/// there; an existing file's permissions are kept.
/// All members throw FileError with the final path, the system's reason and what to do.
class TemporaryFile {
 public:
  /// Opens the temporary file; the end of its name is that of `path`, so that libraries which go by extension can write
  /// it.
  explicit TemporaryFile(const std::string& path) : TemporaryFile(path, std::string()) {}
  /// Begins the file under its name with this ending, in place of one that a killed process may have left.
  TemporaryFile(const std::string& path, const std::string& ending);
  /// Opens the temporary file of another process, which renames it.
  struct Begun {
    std::string temporary;
  };
  TemporaryFile(const std::string& path, const Begun& begun);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  /// The temporary name, for libraries that open files themselves (see reopen).
  const std::string& temporary_path() const { return temporary_; }
  /// A binary, seekable stream into the file. Every failed write throws FileError at once.
  std::ostream& stream();
  /// The file will have `bytes` bytes, all by write_at(): a disk without so much room is an error now instead of
  /// halfway, and the disk writes while the rest is still to come. Before the first write; file
  /// systems that cannot reserve go without.
  void reserve(std::uint64_t bytes);
  /// Bytes at any place of the file, past the stream; several threads may do so at a time.
  void write_at(std::uint64_t offset, const char* from, std::size_t bytes);
  /// Takes over temporary_path() after a library wrote it, possibly as a new file.
  void reopen();
  /// Flushes and forces the bytes to the disk, so that delayed errors show before anything is renamed.
  void sync();
  /// sync(), and lets go of the file, so that any number of them can wait for their names. Then only rename() is left.
  void close();
  /// The steps of commit() after that: many files of one folder need the second once.
  void rename();
  void sync_folder() const;
  /// All of these.
  void commit();
  /// In place of these for the temporary file of another process, which has renamed it.
  void leave() { committed_ = true; }

 private:
  class Buffer;
  class Writeback;
  std::string path_, target_, temporary_;
  int descriptor_ = -1;
  bool synced_ = false, committed_ = false;
  std::unique_ptr<Buffer> buffer_;
  std::unique_ptr<std::ostream> stream_;
  std::unique_ptr<Writeback> writeback_;
};

/// Calls `fill` with a stream, then puts the file in place at once. On any exception nothing is left and an older file
/// of that name is untouched. Throws FileError (disk full, folder unwritable) with path and remedy.
void write_file_atomically(const std::string& path, const std::function<void(std::ostream&)>& fill);

}  // namespace halocline
