#include "host/opencl/program_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include "cl/sources.hpp"
#include "host/system/cache_folder.hpp"
#include "host/system/error.hpp"
#include "host/system/log.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

constexpr char magic[8] = {'H', 'A', 'L', 'O', 'C', 'L', 'B', '1'};

// Fowler, Noll & Vo's FNV-1a with 64 bits.
template <class Bytes>
std::uint64_t fnv1a(const Bytes& bytes, std::uint64_t hash = 0xcbf29ce484222325u) {
  for (const auto each : bytes) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3u;
  return hash;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

fs::path default_folder() {
  if (const auto folder = environment("HALOCLINE_CACHE_DIR"); !folder.empty()) return folder;
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

// Compiled kernels run with the rights of this user: none are taken from where another one may have put them. Warns once
// a path.
bool is_own(const fs::path& path) {
  const std::string why = changeable_by_others(path);
  if (why.empty()) return true;
  static std::mutex mutex;
  static std::set<fs::path> warned;
  const std::lock_guard lock(mutex);
  if (warned.insert(path).second)
    library_log()->warn(
        "the cache of kernels and tuning '{}' is not used: {}; remove it, take the right from others (chmod -R go-w), or "
        "let HALOCLINE_CACHE_DIR name a folder of your own",
        path.string(), why);
  return false;
}

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) return std::nullopt;
  return text;
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

// Texts of this process, by the names that they got.
struct KeptTexts {
  std::mutex mutex;
  std::map<std::string, std::string> texts;
};
KeptTexts& kept_texts() {
  static KeptTexts kept;
  return kept;
}

std::optional<std::string> kept_text(const std::string& name) {
  auto& kept = kept_texts();
  const std::lock_guard lock(kept.mutex);
  const auto found = kept.texts.find(name);
  return found == kept.texts.end() ? std::nullopt : std::optional(found->second);
}

// Value of `#define KERNELS_VERSION value`.
std::optional<std::string> version_in(const std::string& text) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string directive, name, value;
    if (words >> directive >> name >> value && directive == "#define" && name == "KERNELS_VERSION") return value;
  }
  return std::nullopt;
}

// The text of a file in HALOCLINE_CL_PATH, which has to be of this version where it replaces one of the library.
std::optional<std::string> own_source(const std::string& file) {
  const fs::path folder = environment("HALOCLINE_CL_PATH");
  if (folder.empty()) return std::nullopt;
  auto text = read_file(folder / file);
  if (!text || !embedded_sources().contains(file)) return text;
  if (const auto version = version_in(*text); version != std::to_string(kernels_version))
    throw InputError(
        {.what = fmt::format("the kernel file {} of HALOCLINE_CL_PATH", (folder / file).string()),
         .found = version ? "one with KERNELS_VERSION " + *version : "one without KERNELS_VERSION",
         .expected = fmt::format("\"#define KERNELS_VERSION {}\"", kernels_version),
         .remedy = fmt::format("compare its kernels' arguments and macros with the library's {}, listed in "
                               "docs/kernels.md, and then write that line",
                               file)});
  return text;
}

std::string raw_source(const std::string& file) {
  if (auto text = kept_text(file)) return *std::move(text);
  if (auto text = own_source(file)) return *std::move(text);
  const auto folder = environment("HALOCLINE_CL_PATH");
  const auto& embedded = embedded_sources();
  if (const auto found = embedded.find(file); found != embedded.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, text] : embedded) names.push_back(name);
  throw InputError(
      fmt::format("there is no kernel file {}: {}, and the library holds {}", file,
                  folder.empty() ? "HALOCLINE_CL_PATH is not set" : "it is not in HALOCLINE_CL_PATH=" + folder,
                  fmt::join(names, ", ")));
}

std::string stripped(const std::string& line) {
  const auto begin = line.find_first_not_of(" \t"), end = line.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : line.substr(begin, end - begin + 1);
}

// The file that an `#include "..."` line names, else "".
std::string included_file(const std::string& line) {
  if (!line.starts_with('#')) return {};
  const auto directive = stripped(line.substr(1));
  if (!directive.starts_with("include")) return {};
  const auto open = directive.find('"');
  const auto close = open == std::string::npos ? open : directive.find('"', open + 1);
  if (close == std::string::npos || !stripped(directive.substr(7, open - 7)).empty()) return {};
  auto name = directive.substr(open + 1, close - open - 1);
  if (name.starts_with("cl/")) name.erase(0, 3);  // as C++ has to write it
  return name;
}

void resolve(const std::string& file, std::vector<std::string>& open, std::set<std::string>& once,
             std::string& result) {
  if (once.contains(file)) return;
  if (std::find(open.begin(), open.end(), file) != open.end())
    throw InputError(fmt::format("kernel file {} includes itself: {} -> {}", file, fmt::join(open, " -> "), file));
  open.push_back(file);
  std::istringstream in(raw_source(file));
  std::string line;
  while (std::getline(in, line)) {
    const auto bare = stripped(line);
    const auto included = included_file(bare);
    if (!included.empty())
      resolve(included, open, once, result);
    else if (bare == "#pragma once")  // means nothing in the text that the compiler sees
      once.insert(file);
    else
      result += line + '\n';
  }
  open.pop_back();
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
  const auto text = read_file(path);
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

std::string kernel_source(const std::string& file) {
  std::string result;
  std::vector<std::string> open;
  std::set<std::string> once;
  resolve(file, open, once, result);
  return result;
}

std::map<std::string, fs::path> replaced_kernel_files() {
  std::map<std::string, fs::path> result;
  for (const auto& [file, text] : embedded_sources())
    if (own_source(file)) result[file] = fs::path(environment("HALOCLINE_CL_PATH")) / file;
  return result;
}

std::string keep_kernel_text(const std::string& name, const std::string& text) {
  auto& kept = kept_texts();
  std::string file = fmt::format("{} ({:016x})", name, fnv1a(text));
  const std::lock_guard lock(kept.mutex);
  kept.texts.emplace(file, text);
  return file;
}

}  // namespace halocline
