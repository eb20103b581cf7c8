#include "host/system/scratch_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/vfs.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

#include "host/system/error.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

// An open file that has no name.
class File {
 public:
  File() = default;
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

struct Arrays {
  std::mutex mutex;
  std::string folder;  // empty: there is none
  File reservation;    // holds the room that was reserved and not yet taken
  std::size_t reserved = 0, in_use = 0, peak = 0;
  std::map<std::uintptr_t, std::size_t> blocks;  // bytes, by where they begin
};

// Never destroyed: the last volumes may go after all else.
Arrays& arrays() {
  static Arrays& all = *new Arrays;
  return all;
}

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

std::string text_of(std::uintmax_t bytes) {
  return fmt::format("{} bytes ({:.2f} GiB)", bytes, static_cast<double>(bytes) / (1 << 30));
}

File open_file(const std::string& folder) {
  int descriptor = -1;
#ifdef O_TMPFILE
  descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#endif
  if (descriptor < 0) {  // not every file system has files that never had a name
    std::string name = folder + "/.halocline-XXXXXX";
    descriptor = ::mkstemp(name.data());
    if (descriptor >= 0) ::unlink(name.c_str());
  }
  if (descriptor < 0)
    throw InputError(fmt::format("`scratch` '{}' cannot be written: {}; give a folder that you may write to", folder,
                                 std::generic_category().message(errno)));
  return File(descriptor);
}

// Room for all of the file, `more` bytes more than it has: a mapped file that grows on a full disk would end the
// process by a signal.
void take_room(const std::string& folder, const File& file, std::size_t bytes, std::size_t more) {
  struct statvfs disk {};
  const bool known = ::fstatvfs(file.get(), &disk) == 0;
  const auto has = std::uintmax_t{disk.f_bavail} * disk.f_frsize;
  int code = EFBIG;
  if (known && has < more) {
    code = ENOSPC;  // no other disk is filled to find out
  } else if (bytes <= static_cast<std::size_t>(std::numeric_limits<off_t>::max())) {
    do {
      code = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
    } while (code == EINTR);
  }
  if (code == 0) return;
  if (code == ENOSPC || code == EDQUOT)
    throw InputError(
        fmt::format("`scratch` '{}': {} are needed there, and the disk has {} free; free some space, or give a folder "
                    "on another disk",
                    folder, text_of(more), text_of(has)));
  throw InputError(fmt::format("`scratch` '{}': a file of {} cannot be made there: {}; {}", folder, text_of(bytes),
                               std::generic_category().message(code),
                               code == EFBIG
                                   ? "the file system or a limit (ulimit -f) does not allow so large a file: raise the "
                                     "limit, or give a folder on another disk"
                                   : "give a folder on another disk, or check this one"));
}

}  // namespace

ScratchFolder::ScratchFolder(const std::string& folder) {
  std::error_code code;
  const auto status = fs::status(folder, code);
  if (!fs::exists(status))
    throw InputError(
        fmt::format("`scratch` '{}' does not exist; create the folder (mkdir -p) or give another", folder));
  if (!fs::is_directory(status))
    throw InputError(fmt::format("`scratch` '{}' is not a folder; give the folder for the files", folder));
  File reservation = open_file(folder);
  Arrays& all = arrays();
  const std::lock_guard lock(all.mutex);
  all.folder = folder;
  all.reservation = std::move(reservation);
  all.reserved = 0;
  all.peak = all.in_use;
}

ScratchFolder::~ScratchFolder() {
  Arrays& all = arrays();
  const std::lock_guard lock(all.mutex);
  all.folder.clear();
  all.reservation = File();
  all.reserved = 0;
}

void ScratchFolder::reserve(std::size_t bytes) {
  Arrays& all = arrays();
  const std::lock_guard lock(all.mutex);
  if (bytes <= all.reserved) return;
  take_room(all.folder, all.reservation, bytes, bytes - all.reserved);
  all.reserved = bytes;
}

std::size_t ScratchFolder::peak() const {
  Arrays& all = arrays();
  const std::lock_guard lock(all.mutex);
  return all.peak;
}

bool ScratchFolder::in_memory() const {
#ifdef __linux__
  constexpr long tmpfs = 0x01021994, ramfs = 0x858458f6;  // statfs(2)
  struct statfs disk {};
  Arrays& all = arrays();
  const std::lock_guard lock(all.mutex);
  return ::fstatfs(all.reservation.get(), &disk) == 0 && (disk.f_type == tmpfs || disk.f_type == ramfs);
#else
  return false;
#endif
}

void* allocate_in_scratch(std::size_t bytes) {
  Arrays& all = arrays();
  const std::lock_guard lock(all.mutex);
  if (all.folder.empty()) return nullptr;
  const std::size_t page = page_bytes();
  if (bytes > std::numeric_limits<std::size_t>::max() - page) throw std::bad_alloc();
  const std::size_t rounded = (bytes + page - 1) / page * page, left = all.reserved - std::min(all.reserved, rounded);
  if (::ftruncate(all.reservation.get(), static_cast<off_t>(left)) == 0) all.reserved = left;
  const File file = open_file(all.folder);
  take_room(all.folder, file, rounded, rounded);
  void* memory = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);  // keeps the file
  if (memory == MAP_FAILED) throw std::bad_alloc();
  all.blocks.emplace(reinterpret_cast<std::uintptr_t>(memory), rounded);
  all.in_use += rounded;
  all.peak = std::max(all.peak, all.in_use);
  return memory;
}

bool free_in_scratch(void* memory) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  if (begin % page_bytes() != 0) return false;
  Arrays& all = arrays();
  const std::lock_guard lock(all.mutex);
  const auto found = all.blocks.find(begin);
  if (found == all.blocks.end()) return false;
  ::munmap(memory, found->second);
  all.in_use -= found->second;
  all.blocks.erase(found);
  return true;
}

namespace {

// True if all of these bytes are of one array.
bool holds(std::uintptr_t from, std::size_t bytes) noexcept {
  Arrays& all = arrays();
  const std::lock_guard lock(all.mutex);
  const auto next = all.blocks.upper_bound(from);
  if (next == all.blocks.begin()) return false;
  const auto& [start, size] = *std::prev(next);
  return from - start < size && bytes <= size - (from - start);
}

}  // namespace

bool lies_in_scratch(const void* address) noexcept {
  return holds(reinterpret_cast<std::uintptr_t>(address), 1);
}

void give_back(const void* begin, std::size_t bytes) noexcept {
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  if (!holds(from, bytes)) return;
  const std::size_t page = page_bytes(), first = from / page * page, end = (from + bytes + page - 1) / page * page;
  // Drops pages of a mapped file, whose contents remain in the system's cache until they are on the disk.
  ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

}  // namespace halocline
