// The bytes of a file, and a hash of bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace halocline {

/// All bytes of a file; none if it cannot be read.
inline std::optional<std::string> file_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  return in.bad() ? std::nullopt : std::optional(std::move(bytes));
}

/// Fowler, Noll & Vo's FNV-1a with 64 bits.
template <class Bytes>
std::uint64_t fnv1a(const Bytes& bytes, std::uint64_t hash = 0xcbf29ce484222325u) {
  for (const auto each : bytes) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3u;
  return hash;
}

}  // namespace halocline
