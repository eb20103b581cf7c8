#include "apps/images/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <mutex>
#include <set>
#include <streambuf>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "host/system/error.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_bytes_a_call = std::size_t{1} << 26;  // Linux writes at most 2 GiB
constexpr std::uint64_t worth_writing_back = std::uint64_t{64} << 20;

std::string remedy(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
      return "free some space, or choose an output on another disk";
    case EFBIG:
      return "the file system or a limit (ulimit -f) does not allow so large a file; choose an output on another disk";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a folder that you may write to";
    case ENAMETOOLONG:
      return "choose a shorter name";
    default:
      return "choose another output folder, or check the disk";
  }
}

[[noreturn]] void fail(const std::string& path, const std::string& what, int code) {
  throw FileError(fmt::format("cannot write '{}': {}: {}; {}. No partial file was left.", path, what,
                              std::generic_category().message(code), remedy(code)));
}

std::string folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? std::string(".") : folder.string();
}

// The beginning of a message about it.
std::string output_text(const std::string& path, const std::string& target) {
  return target == path ? fmt::format("output '{}': ", path)
                        : fmt::format("output '{}' is a symbolic link to '{}', and ", path, target);
}

// The last two extensions at most (.nii.gz), the part that libraries look at; no more than the temporary name may take.
std::string kept_extension(const std::string& path) {
  constexpr std::size_t longest = 16;
  const fs::path name = fs::path(path).filename();
  const std::string last = name.extension().string(), before = name.stem().extension().string();
  if (last.size() > longest) return {};
  return before.size() <= 5 ? before + last : last;
}

// Temporary files are called PREFIX PID - NUMBER .tmp EXTENSION. The host belongs to it: on a network's disk another
// host's processes are at work.
std::string temporary_prefix() {
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  std::string name = host;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return ".halocline-" + name.substr(0, 64) + "-";
}

// The process that began a temporary file of this host; 0: it is no such file.
pid_t owner_of(const std::string& name, const std::string& prefix) {
  if (name.rfind(prefix, 0) != 0) return 0;
  const char* const end = name.data() + name.size();
  pid_t owner = 0;
  unsigned number = 0;
  const auto pid = std::from_chars(name.data() + prefix.size(), end, owner);
  if (pid.ec != std::errc() || owner <= 0 || pid.ptr == end || *pid.ptr != '-') return 0;
  const auto rest = std::from_chars(pid.ptr + 1, end, number);
  return rest.ec == std::errc() && std::string_view(rest.ptr, end).starts_with(".tmp") ? owner : 0;
}

// Removes files that killed processes of this host have left in the folder. That there is no such process is not
// enough: it may belong to a container with its own processes. A writer holds a lock, which ends with the process.
void remove_abandoned(const fs::path& folder) {
  static std::mutex mutex;
  static std::set<fs::path> seen;  // once is enough for a process
  std::error_code code;
  const fs::path whole = fs::absolute(folder.empty() ? "." : folder, code);
  {
    const std::lock_guard lock(mutex);
    if (!seen.insert(whole).second) return;
  }
  const std::string prefix = temporary_prefix();
  for (fs::directory_iterator entry(whole, code), end; !code && entry != end; entry.increment(code)) {
    const pid_t owner = owner_of(entry->path().filename().string(), prefix);
    if (owner == 0 || ::kill(owner, 0) == 0 || errno != ESRCH) continue;
    const int file = ::open(entry->path().c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) continue;
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) ::unlink(entry->path().c_str());
    ::close(file);
  }
}

// The system knows how long a name may be there, and looks it up before anything is written.
void check_length(const std::string& path, const std::string& target) {
  struct stat status {};
  if (::lstat(target.c_str(), &status) == 0 || errno != ENAMETOOLONG) return;
  const std::string folder = folder_of(target);
  const long most = ::pathconf(folder.c_str(), _PC_NAME_MAX);
  const std::size_t name = fs::path(target).filename().string().size();
  throw InputError(fmt::format("{}the name is too long: {}; choose a shorter one", output_text(path, target),
                               most > 0 && name > static_cast<std::size_t>(most)
                                   ? fmt::format("it has {} bytes, {} are possible in '{}'", name, most, folder)
                                   : "the system does not take it"));
}

void check_folder(const std::string& path, const std::string& target) {
  if (fs::path(path).filename().empty())
    throw InputError(fmt::format("output '{}' ends with a slash; give the name of a file", path));
  const std::string folder = folder_of(target);
  std::error_code code;
  const fs::file_status folder_status = fs::status(folder, code);
  if (!fs::exists(folder_status))
    throw InputError(fmt::format("{}the folder '{}' does not exist; create it (mkdir -p) or choose another",
                                 output_text(path, target), folder));
  check_length(path, target);
  if (!fs::is_directory(folder_status))
    throw InputError(fmt::format("output '{}': '{}' is not a folder; choose another place", path, folder));
  const fs::file_status status = fs::status(target, code);
  if (fs::is_directory(status))
    throw InputError(fmt::format("output '{}' is a folder; give the name of a file in it", path));
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw InputError(
        fmt::format("output '{}' is not a regular file and will not be replaced; give another name", path));
}

}  // namespace

// A stream buffer over the descriptor which throws FileError where the standard one would set a flag that nobody reads.
class TemporaryFile::Buffer : public std::streambuf {
 public:
  Buffer(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)), bytes_(1 << 18) {
    setp(bytes_.data(), bytes_.data() + bytes_.size());
  }
  void flush() {
    write(pbase(), static_cast<std::size_t>(pptr() - pbase()));
    setp(bytes_.data(), bytes_.data() + bytes_.size());
  }

 protected:
  int_type overflow(int_type c) override {
    flush();
    if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
  }
  std::streamsize xsputn(const char* from, std::streamsize count) override {
    if (count <= epptr() - pptr()) {
      std::memcpy(pptr(), from, static_cast<std::size_t>(count));
      pbump(static_cast<int>(count));
    } else {  // large pieces go to the file without a copy
      flush();
      write(from, static_cast<std::size_t>(count));
    }
    return count;
  }
  int sync() override {
    flush();
    return 0;
  }
  pos_type seekoff(off_type offset, std::ios_base::seekdir from, std::ios_base::openmode) override {
    flush();
    const int whence = from == std::ios_base::beg ? SEEK_SET : from == std::ios_base::cur ? SEEK_CUR : SEEK_END;
    const off_t at = ::lseek(descriptor_, offset, whence);
    if (at < 0) fail(path_, "seek", errno);
    return at;
  }
  pos_type seekpos(pos_type position, std::ios_base::openmode which) override {
    return seekoff(position, std::ios_base::beg, which);
  }

 private:
  void write(const char* from, std::size_t count) {
    while (count > 0) {
      const ssize_t done = ::write(descriptor_, from, std::min(count, most_bytes_a_call));
      if (done < 0) {
        if (errno == EINTR) continue;
        const int code = errno;
        setp(bytes_.data(), bytes_.data() + bytes_.size());  // nothing must be tried again
        fail(path_, "write", code);
      }
      from += done;
      count -= static_cast<std::size_t>(done);
    }
  }

  int descriptor_;
  std::string path_;
  std::vector<char> bytes_;
};

// Sets the disk to work at what has been written, from a thread of its own because that waits where the disk is busy.
// Otherwise all of a file would lie in memory until fsync(), and the disk idle: writing into the page cache is no
// faster than many disks, for it takes one lock per file. Errors remain in the file until fsync() reports them.
class TemporaryFile::Writeback {
 public:
  explicit Writeback(int descriptor) : descriptor_(descriptor), thread_([this] { serve(); }) {}
  /// Ends the work; fsync() writes the rest.
  ~Writeback() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  void add(std::uint64_t offset, std::size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      written_.emplace_back(offset, bytes);
    }
    wake_.notify_one();
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return ended_ || !written_.empty(); });
      if (ended_) return;
      const auto [offset, bytes] = written_.front();
      written_.pop_front();
      lock.unlock();
      begin(offset, bytes);
      lock.lock();
    }
  }
  void begin([[maybe_unused]] std::uint64_t offset, [[maybe_unused]] std::size_t bytes) const {
#ifdef __linux__
    ::sync_file_range(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(bytes), SYNC_FILE_RANGE_WRITE);
#endif
  }

  int descriptor_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::pair<std::uint64_t, std::size_t>> written_;
  bool ended_ = false;
  std::thread thread_;  // after what it uses
};

std::string file_behind(const std::string& path) {
  constexpr int most_links = 40;  // as Linux follows
  fs::path at = path;
  std::error_code code;
  for (int links = 0; fs::is_symlink(fs::symlink_status(at, code)); ++links) {
    const fs::path next = fs::read_symlink(at, code);
    if (code || links == most_links)
      throw InputError(fmt::format(
          "output '{}' is a symbolic link that leads nowhere (to itself, or it cannot be read); remove it", path));
    at = at.parent_path() / next;  // `next` alone if it is absolute
  }
  return at.string();
}

void check_output_path(const std::string& path) {
  // Asking the permissions would miss read-only mounts, quotas and access lists: make a file.
  TemporaryFile probe(path);
}

void require_room(const std::string& path, std::uint64_t bytes) {
  std::error_code code;
  const auto space = fs::space(folder_of(file_behind(path)), code);
  if (code || space.capacity == 0) return;  // not every file system reports it
  if (space.available < bytes)
    fail(path, fmt::format("{} bytes are wanted, {} are free", bytes, space.available), ENOSPC);
}

void require_allowed_size(const std::string& path, std::uint64_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes)
    throw FileError(fmt::format(
        "cannot write '{}': {} bytes are wanted, a limit (ulimit -f) allows files of {}; raise the limit (another disk "
        "does not help), or make the output smaller. No partial file was left.",
        path, bytes, limit.rlim_cur));
}

void fail_unwritten(const std::string& path, std::uint64_t bytes, const std::string& said) {
  spdlog::debug("'{}': {}", path, said);
  require_allowed_size(path, bytes);
  require_room(path, bytes);
  throw FileError(
      fmt::format("cannot write '{}': the disk, or a limit on it, did not take its {} bytes; free some space, "
                  "or choose an output on another disk. No partial file was left.",
                  path, bytes));
}

TemporaryFile::TemporaryFile(const std::string& path, const std::string& ending)
    : path_(path), target_(file_behind(path)) {
  check_folder(path_, target_);
  if (!ending.empty()) {
    temporary_ = target_ + ending;
    ::unlink(temporary_.c_str());  // of a process that was killed; a link there is not followed
    descriptor_ = ::open(temporary_.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail(path_, "create", errno);
    return;
  }
  static std::atomic<unsigned> number{0};
  const fs::path folder = fs::path(target_).parent_path();
  remove_abandoned(folder);
  const std::string prefix = temporary_prefix();
  do {
    temporary_ =
        (folder / fmt::format("{}{}-{}.tmp{}", prefix, ::getpid(), number++, kept_extension(target_))).string();
    descriptor_ = ::open(temporary_.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) fail(path_, "create", errno);
  ::flock(descriptor_, LOCK_EX | LOCK_NB);  // see remove_abandoned()
}

TemporaryFile::TemporaryFile(const std::string& path, const Begun& begun)
    : path_(path), target_(file_behind(path)), temporary_(begun.temporary) {
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor_ < 0)
    throw FileError(
        fmt::format("'{}', which another process began, cannot be opened: {}; the folder of '{}' has to be "
                    "on a file system that all nodes share",
                    temporary_, std::generic_category().message(errno), path));
}

TemporaryFile::~TemporaryFile() {
  writeback_.reset();
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!committed_) ::unlink(temporary_.c_str());
}

std::ostream& TemporaryFile::stream() {
  if (!stream_) {
    buffer_ = std::make_unique<Buffer>(descriptor_, path_);
    stream_ = std::make_unique<std::ostream>(buffer_.get());
    stream_->exceptions(std::ios::badbit);  // lets the buffer's FileError through
  }
  return *stream_;
}

void TemporaryFile::reserve([[maybe_unused]] std::uint64_t bytes) {
#ifdef __linux__  // posix_fallocate() writes to every block where the file system cannot do it
  int code = 0;
  do {
    code = ::fallocate(descriptor_, 0, 0, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  } while (code == EINTR);
  if (code == ENOSPC || code == EDQUOT || code == EFBIG) fail(path_, fmt::format("reserve {} bytes", bytes), code);
  if (bytes >= worth_writing_back) writeback_ = std::make_unique<Writeback>(descriptor_);
#endif
}

void TemporaryFile::write_at(std::uint64_t offset, const char* from, std::size_t bytes) {
  const std::uint64_t first = offset;
  const std::size_t all = bytes;
  while (bytes > 0) {
    const ssize_t done = ::pwrite(descriptor_, from, std::min(bytes, most_bytes_a_call), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail(path_, "write", errno);
    from += done;
    offset += static_cast<std::uint64_t>(done);
    bytes -= static_cast<std::size_t>(done);
  }
  if (writeback_) writeback_->add(first, all);
}

void TemporaryFile::reopen() {
  ::close(descriptor_);
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor_ < 0) fail(path_, "open", errno);
  ::flock(descriptor_, LOCK_EX | LOCK_NB);
}

void TemporaryFile::sync() {
  if (buffer_) buffer_->flush();
  writeback_.reset();
  struct stat old {};
  if (::stat(target_.c_str(), &old) == 0) ::fchmod(descriptor_, old.st_mode & 07777);
  // Some file systems cannot sync (EINVAL); all others report delayed errors here.
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOTSUP) fail(path_, "fsync", errno);
  synced_ = true;
}

void TemporaryFile::close() {
  if (!synced_) sync();
  stream_.reset();
  buffer_.reset();
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail(path_, "close", errno);
}

void TemporaryFile::rename() {
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(path_, "rename", errno);
  committed_ = true;
}

// The rename itself lasts through a power cut once the folder is on disk; where that is not offered, nothing is lost.
void TemporaryFile::sync_folder() const {
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

void TemporaryFile::commit() {
  close();
  rename();
  sync_folder();
}

void write_file_atomically(const std::string& path, const std::function<void(std::ostream&)>& fill) {
  TemporaryFile file(path);
  fill(file.stream());
  file.commit();
}

}  // namespace halocline
