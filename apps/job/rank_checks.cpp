#include "apps/job/rank_checks.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "host/system/error.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

// Its size, and the checksum of both of its ends.
std::string seen_file(const std::string& path) {
  constexpr std::uintmax_t end_bytes = 1 << 16;
  std::error_code code;
  if (!fs::is_regular_file(path, code)) return fs::exists(path, code) ? "no plain file" : "no file";
  const std::uintmax_t size = fs::file_size(path, code);
  std::ifstream in(path, std::ios::binary);
  uLong sum = crc32(0, nullptr, 0);
  std::string bytes(static_cast<std::size_t>(std::min(size, end_bytes)), '\0');
  for (const std::uintmax_t at : {std::uintmax_t{0}, size - bytes.size()}) {
    in.seekg(static_cast<std::streamoff>(at));
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    sum = crc32(sum, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(in.gcount()));
  }
  return fmt::format("{} bytes with the checksum {:08x} of their ends", size, sum);
}

// The option that differs, and its values.
std::string differing_option(const nlohmann::json& own, const nlohmann::json& other) {
  for (const auto& [name, value] : own.items())
    if (!other.contains(name) || other[name] != value)
      return fmt::format("{} {} where rank 0 has {}", name, other.contains(name) ? other[name].dump() : "is not there",
                         value.dump());
  return "other options than rank 0";
}

}  // namespace

void require_same_command(Ranks& all, const std::string& version, const std::string& command,
                          const nlohmann::json& options) {
  if (!all.several()) return;
  const nlohmann::json own{{"version", version}, {"command", command}, {"options", options}};
  const auto texts = all.gather("the command", own.dump());
  const auto first = nlohmann::json::parse(texts.front());
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    const auto other = nlohmann::json::parse(texts[rank]);
    if (other == first) continue;
    for (const char* name : {"version", "command"})
      if (other[name] != first[name])
        throw InputError(
            fmt::format("rank {} has another {} than rank 0: {} instead of {}; start the same on all nodes", rank, name,
                        other[name].dump(), first[name].dump()));
    throw InputError(fmt::format("rank {} has {}; start the same command on all nodes", rank,
                                 differing_option(first["options"], other["options"])));
  }
}

void require_same_file(Ranks& all, const std::string& option, const std::string& path) {
  if (!all.several()) return;
  const auto seen = all.gather("the file of " + option, seen_file(path));
  for (std::size_t rank = 1; rank < seen.size(); ++rank)
    if (seen[rank] != seen.front())
      throw InputError(fmt::format("{} '{}': rank {} sees {}, and rank 0 {}; put it where all nodes see the same file",
                                   option, path, rank, seen[rank], seen.front()));
}

void refuse_several_ranks(const std::string& what, const std::string& remedy) {
  if (ranks().several())
    throw InputError(
        fmt::format("{} does not run on several ranks, and there are {}; {}", what, ranks().size(), remedy));
}

}  // namespace halocline
