#include "host/opencl/program_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "host/system/cache_folder.hpp"
#include "host/system/file_bytes.hpp"
#include "host/system/log.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

constexpr char magic[8] = {'H', 'A', 'L', 'O', 'C', 'L', 'B', '1'};

fs::path default_folder() {
  if (const char* folder = std::getenv("HALOCLINE_CACHE_DIR"); folder != nullptr && *folder != '\0') return folder;
  if (const auto folder = user_cache_folder(); !folder.empty()) return folder / "halocline";
  return temporary_cache_folder();
}

void append(std::string& to, std::uint64_t number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  to.append(bytes, sizeof bytes);
}

// Takes the entry of a file apart; every length is checked before it is used.
class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}
  bool bytes(std::uint64_t count, std::string& to) {
    if (count > text_.size() - at_) return false;
    to = text_.substr(at_, count);
    at_ += count;
    return true;
  }
  bool number(std::uint64_t& to) {
    std::string raw;
    if (!bytes(sizeof to, raw)) return false;
    std::memcpy(&to, raw.data(), sizeof to);
    return true;
  }
  bool at_end() const { return at_ == text_.size(); }

 private:
  const std::string& text_;
  std::size_t at_ = 0;
};

struct Entry {
  std::string key, binary;
};

// magic, length of the key, key, length of the binary, checksum of the binary, binary
std::optional<Entry> parse(const std::string& text) {
  Reader reader(text);
  Entry entry;
  std::string found_magic;
  std::uint64_t length = 0, checksum = 0;
  const bool whole = reader.bytes(sizeof magic, found_magic) && found_magic == std::string(magic, sizeof magic) &&
                     reader.number(length) && reader.bytes(length, entry.key) && reader.number(length) &&
                     reader.number(checksum) && reader.bytes(length, entry.binary) && reader.at_end();
  if (!whole || fnv1a(entry.binary) != checksum) return std::nullopt;
  return entry;
}

// Compiled kernels run with the rights of this user: none are taken from where another one may have put them. Warns
// once a path.
bool is_own(const fs::path& path) {
  const std::string why = changeable_by_others(path);
  if (why.empty()) return true;
  static std::mutex mutex;
  static std::set<fs::path> warned;
  const std::lock_guard lock(mutex);
  if (warned.insert(path).second)
    library_log()->warn(
        "the cache of kernels and tuning '{}' is not used: {}; remove it, take the right from others (chmod -R go-w) "
        "or let HALOCLINE_CACHE_DIR name a folder of your own",
        path.string(), why);
  return false;
}

// Writes a file that is not there yet, for this user alone; no link is followed. Leaves nothing if that fails.
bool write_new_file(const fs::path& path, const std::string& bytes) {
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) return false;
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t now = ::write(file, bytes.data() + done, bytes.size() - done);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) break;
    done += static_cast<std::size_t>(now);
  }
  const bool good = ::close(file) == 0 && done == bytes.size();
  if (!good) ::unlink(path.c_str());
  return good;
}

}  // namespace

ProgramCache::ProgramCache(std::filesystem::path folder)
    : folder_(folder.empty() ? default_folder() : std::move(folder)) {}

std::filesystem::path ProgramCache::path_of(const std::string& key) const {
  // The second hash also takes the length, so that the two are not the same function from two starts.
  return folder_ /
         fmt::format("{:016x}{:016x}.bin", fnv1a(key), fnv1a(std::to_string(key.size()) + key, 0x9ae16a3b2f90404fu));
}

std::optional<std::vector<unsigned char>> ProgramCache::load(const std::string& key) const {
  if (folder_.empty() || !is_own(folder_)) return std::nullopt;
  const auto path = path_of(key);
  if (!is_own(path)) return std::nullopt;
  const auto text = file_bytes(path);
  if (!text) return std::nullopt;
  const auto entry = parse(*text);
  if (!entry) {
    std::error_code ignored;
    fs::remove(path, ignored);
    return std::nullopt;
  }
  if (entry->key != key) return std::nullopt;  // another program with the same hash
  return std::vector<unsigned char>(entry->binary.begin(), entry->binary.end());
}

void ProgramCache::store(const std::string& key, const std::vector<unsigned char>& binary) const {
  if (folder_.empty()) return;
  std::error_code error;
  if (fs::create_directories(folder_, error)) fs::permissions(folder_, fs::perms::owner_all, error);
  if (error || !is_own(folder_)) return;
  const auto path = path_of(key);
  static std::atomic<unsigned> counter{0};
  const fs::path temporary = fmt::format("{}.{}.{}.tmp", path.string(), ::getpid(), counter++);
  std::string entry(magic, sizeof magic);
  append(entry, key.size());
  entry += key;
  append(entry, binary.size());
  append(entry, fnv1a(binary));
  entry.append(binary.begin(), binary.end());
  if (!write_new_file(temporary, entry)) return;
  fs::rename(temporary, path, error);
  if (error) fs::remove(temporary, error);
}

}  // namespace halocline
