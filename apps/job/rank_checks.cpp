#include "apps/job/rank_checks.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "apps/job/file_claims.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

// Their number and size, and the checksum of their names and of blocks that lie evenly in them: of all bytes where they
// are few.
std::string seen_files(const std::string& path) {
  constexpr std::uintmax_t block = 1 << 16, most_blocks = 64;
  const std::vector<fs::path> files = files_of_input(path);
  if (files.empty()) return "no file";
  std::uintmax_t size = 0;
  uLong sum = crc32(0, nullptr, 0);
  std::vector<std::uintmax_t> ends;  // of the files, one after the other
  for (const auto& file : files) {
    const std::string name = file.filename().string();
    sum = crc32(sum, reinterpret_cast<const Bytef*>(name.data()), static_cast<uInt>(name.size()));
    ends.push_back(size += fs::file_size(file));
  }
  const std::uintmax_t blocks = std::min(most_blocks, (size + block - 1) / block);
  std::string bytes(block, '\0');
  for (std::uintmax_t n = 0; n < blocks; ++n) {
    std::uintmax_t at = blocks == 1 ? 0 : n * (size - std::min(size, block)) / (blocks - 1);
    const std::uintmax_t end = std::min(size, at + block);
    while (at < end) {
      const auto number = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), at) - ends.begin());
      const std::uintmax_t begin = number == 0 ? 0 : ends[number - 1], now = std::min(end, ends[number]) - at;
      std::ifstream in(files[number], std::ios::binary);
      in.seekg(static_cast<std::streamoff>(at - begin));
      in.read(bytes.data(), static_cast<std::streamsize>(now));
      sum = crc32(sum, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(in.gcount()));
      at += now;
    }
  }
  return fmt::format("{}{} bytes with the checksum {:08x} of blocks in them",
                     files.size() > 1 ? fmt::format("{} files of ", files.size()) : "", size, sum);
}

// The option that differs, and its values.
std::string differing_option(const nlohmann::json& own, const nlohmann::json& other) {
  for (const auto& [name, value] : own.items())
    if (!other.contains(name) || other[name] != value)
      return fmt::format("{} {} where rank 0 has {}", name, other.contains(name) ? other[name].dump() : "is not there",
                         value.dump());
  for (const auto& [name, value] : other.items())
    if (!own.contains(name)) return fmt::format("{} {} where rank 0 has none", name, value.dump());
  return "other options than rank 0";
}

}  // namespace

void require_same_command(Ranks& all, const std::string& version, const std::string& command,
                          const nlohmann::json& options) {
  if (!all.several()) return;
  const nlohmann::json own{{"version", version}, {"command", command}, {"options", options}};
  // bytes of paths that are not UTF-8 differ in the options of no rank: their files are compared
  const auto texts = all.gather("the command", own.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
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
  const auto seen = all.gather("the file of " + option, seen_files(path));
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
