#include "apps/images/meta_compressed.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <new>
#include <vector>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

constexpr std::size_t piece_bytes = std::size_t{4} << 20;

class Inflater {
 public:
  Inflater(std::istream& in, std::uint64_t compressed_bytes, std::string name, std::uint64_t expected)
      : in_(in), left_(compressed_bytes), name_(std::move(name)), expected_(expected), input_(std::size_t{1} << 20) {
    if (inflateInit2(&z_, 15 + 32) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&z_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void read(char* to, std::size_t bytes) {
    if (inflate_into(to, bytes) != bytes)
      throw InputError(
          fmt::format("'{}' is truncated: its compressed data hold {} bytes, expected {}", name_, done_, expected_));
  }
  // The stream must end here, with a good checksum.
  void finish() {
    char extra = 0;
    if (inflate_into(&extra, 1) != 0)
      throw InputError(
          fmt::format("'{}': the compressed data hold more than the {} bytes that the header states; one of the "
                      "two is wrong",
                      name_, expected_));
    if (!ended_)
      throw InputError(
          fmt::format("'{}' is truncated: the end of its compressed data is missing (found {} bytes of "
                      "voxels, expected {})",
                      name_, done_, expected_));
  }

 private:
  std::size_t inflate_into(char* to, std::size_t bytes) {
    std::size_t got = 0;
    while (got < bytes && !ended_) {
      if (z_.avail_in == 0) {
        const auto ask = static_cast<std::streamsize>(std::min<std::uint64_t>(left_, input_.size()));
        in_.read(input_.data(), ask);
        const auto found = static_cast<std::uint64_t>(in_.gcount());
        if (found == 0) break;
        left_ -= found;
        z_.next_in = reinterpret_cast<Bytef*>(input_.data());
        z_.avail_in = static_cast<uInt>(found);
      }
      const auto room = static_cast<uInt>(std::min<std::size_t>(bytes - got, std::size_t{1} << 30));
      z_.next_out = reinterpret_cast<Bytef*>(to + got);
      z_.avail_out = room;
      const int code = inflate(&z_, Z_NO_FLUSH);
      got += room - z_.avail_out;
      done_ += room - z_.avail_out;
      if (code == Z_STREAM_END) ended_ = true;
      if (code == Z_MEM_ERROR) throw std::bad_alloc();
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        throw InputError(fmt::format("'{}': the compressed data are damaged after {} of {} bytes ({})", name_, done_,
                                     expected_, z_.msg != nullptr ? z_.msg : "zlib error"));
    }
    return got;
  }

  std::istream& in_;
  std::uint64_t left_;
  std::string name_;
  std::uint64_t expected_, done_ = 0;
  std::vector<char> input_;
  z_stream z_{};
  bool ended_ = false;
};

}  // namespace

void read_inflated(std::istream& in, std::uint64_t compressed_bytes, const std::string& name, char* to,
                   std::size_t bytes) {
  Inflater inflater(in, compressed_bytes, name, bytes);
  for (std::size_t at = 0; at < bytes; at += piece_bytes) {
    check_interrupt();
    inflater.read(to + at, std::min(piece_bytes, bytes - at));
  }
  inflater.finish();
}

}  // namespace halocline
