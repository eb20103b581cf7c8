#include "host/system/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/text_encoding.hpp"

namespace halocline {
namespace {

[[noreturn]] void refuse(const std::string& what, int code) {
  if (code == ENOENT || code == ENOTDIR)
    throw InputError(fmt::format("{} does not exist; give the path of a file", what));
  if (code == EACCES || code == EPERM)
    throw InputError(fmt::format(
        "{} cannot be read: permission denied; allow it (chmod +r, for folders on the way chmod +x), or give another",
        what));
  throw InputError(fmt::format("{} cannot be read: {}; check the path and the disk", what, std::strerror(code)));
}

void require_kind(mode_t mode, const std::string& what, bool folder_too) {
  if (S_ISREG(mode) || (folder_too && S_ISDIR(mode))) return;
  const char* kind = S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
  throw InputError(fmt::format("{} is not a regular file but {}; {}", what, kind,
                               S_ISDIR(mode) ? "name a file in it" : "copy what it gives to a file, and name that"));
}

// Opens for reading. The type is checked before the file is opened, because a pipe would block, and again afterwards.
class OpenFile {
 public:
  OpenFile(const std::string& path, const std::string& what, bool folder_too) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) refuse(what, errno);
    require_kind(status.st_mode, what, folder_too);
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (descriptor_ < 0) refuse(what, errno);
    const bool known = ::fstat(descriptor_, &status) == 0;
    const int code = errno;
    try {
      if (!known) refuse(what, code);
      require_kind(status.st_mode, what, folder_too);
    } catch (...) {
      ::close(descriptor_);
      throw;
    }
    bytes_ = static_cast<std::uint64_t>(status.st_size);
  }
  ~OpenFile() { ::close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  std::uint64_t bytes() const { return bytes_; }
  /// The next bytes, 0 at the end.
  std::size_t read(std::vector<char>& to, const std::string& what) const {
    while (true) {
      const ssize_t got = ::read(descriptor_, to.data(), to.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) refuse(what, errno);
    }
  }

 private:
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
};

}  // namespace

void check_input_file(const std::string& path, const std::string& what) {
  const OpenFile file(path, what, false);
}

void check_input(const std::string& path, const std::string& what) {
  const OpenFile file(path, what, true);
}

std::string read_text_file(const std::string& path, const std::string& what, std::uint64_t most) {
  const OpenFile file(path, what, false);
  const auto require_size = [&](std::uint64_t bytes) {
    if (bytes > most)
      throw InputError(fmt::format("{} has {} bytes, where a text of at most {} is expected; is it the right file?",
                                   what, bytes, most));
  };
  require_size(file.bytes());
  std::string text;
  std::vector<char> piece(std::size_t{1} << 20);
  while (const std::size_t got = file.read(piece, what)) {
    check_interrupt();
    const std::size_t before = text.size();
    if (before == piece.size()) text.reserve(file.bytes());
    text.append(piece.data(), got);
    require_size(text.size());
    if (const auto zero = text.find('\0', before); zero != std::string::npos && !begins_as_utf16(text))
      throw InputError(
          fmt::format("{} is not a text but binary data (byte {} is 0); is it the right file?", what, zero));
  }
  return decoded_text(std::move(text), what);
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t most = 100;
  std::string shown(text.substr(0, most));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < ' ' || c == 127; }, '?');
  return text.size() > most ? shown + "..." : shown;
}

}  // namespace halocline
