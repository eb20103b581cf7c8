#include "apps/checkpoint/checkpoint_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <vector>

#include "apps/images/atomic_file.hpp"
#include "host/system/input_file.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/thread_pool.hpp"
#include "scheduling/planning/plan_text.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t format_version = 3;

std::string shown(const nlohmann::json& object, const std::string& name) {
  return object.contains(name) ? object[name].dump() : "nothing";
}

}  // namespace

std::uint32_t crc_of(const void* data, std::size_t bytes) {
  return static_cast<std::uint32_t>(::crc32_z(0, static_cast<const Bytef*>(data), bytes));
}

std::uint32_t file_checksum(const std::string& path) {
  check_input_file(path, fmt::format("'{}'", path));
  std::ifstream file(path, std::ios::binary);
  std::vector<char> piece(std::size_t{1} << 20);
  uLong sum = 0;
  while (file) {
    check_interrupt();
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    sum = ::crc32_z(sum, reinterpret_cast<const Bytef*>(piece.data()), static_cast<std::size_t>(file.gcount()));
  }
  return static_cast<std::uint32_t>(sum);
}

std::uint32_t voxel_checksum(const VolumeSource& source, Ranks& readers) {
  const std::size_t voxels = source.grid().count(), pieces = (voxels + voxels_in_a_piece - 1) / voxels_in_a_piece;
  const auto share = [&](int rank) {
    return pieces * static_cast<std::size_t>(rank) / static_cast<std::size_t>(readers.size());
  };
  const std::size_t begin = share(readers.rank());
  std::vector<std::uint32_t> sums(share(readers.rank() + 1) - begin);
  parallel_parts(sums.size(), [&](std::size_t n) {
    const std::size_t first = (begin + n) * voxels_in_a_piece;
    UninitialisedVector<float> values(std::min(voxels_in_a_piece, voxels - first));
    source.read(first, values.size(), values.data());
    sums[n] = crc_of(values.data(), values.size() * sizeof(float));
  });
  std::string all;
  for (const std::string& part :
       readers.gather("checksums", {reinterpret_cast<const char*>(sums.data()), sums.size() * sizeof(std::uint32_t)}))
    all += part;
  return crc_of(all.data(), all.size());
}

std::string checksum_text(std::uint32_t checksum) {
  return fmt::format("{:08x}", checksum);
}

CheckpointReader::CheckpointReader(const std::string& path) : path_(path), descriptor_(-1) {
  check_input_file(path, fmt::format("`checkpoint` '{}'", path));
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail("open");
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail("stat");
  bytes_ = static_cast<std::uint64_t>(status.st_size);
}

CheckpointReader::~CheckpointReader() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void CheckpointReader::read(std::uint64_t at, std::size_t count, void* to) const {
  auto* next = static_cast<char*>(to);
  while (count > 0) {
    const ssize_t done = ::pread(descriptor_, next, std::min(count, std::size_t{1} << 26), static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("read");
    if (done == 0) throw FileError(fmt::format("`checkpoint` '{}' became shorter while it was read", path_));
    next += done;
    at += static_cast<std::uint64_t>(done);
    count -= static_cast<std::size_t>(done);
  }
}

void CheckpointReader::fail(const char* what) const {
  throw FileError(
      fmt::format("cannot read `checkpoint` '{}': {}: {}", path_, what, std::generic_category().message(errno)));
}

void refuse_checkpoint(const std::string& path, const std::string& why) {
  throw InputError(fmt::format("`checkpoint` '{}' {}; to start again, remove it or give another name", path, why));
}

std::string checkpoint_text(const nlohmann::json& text) {
  return text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

CheckpointHead checkpoint_head(const char* magic, const std::string& text, std::uint64_t begin) {
  CheckpointHead head;
  std::copy(magic, magic + sizeof head.magic, head.magic);
  head.format = format_version;
  head.crc = crc_of(text.data(), text.size());
  head.begin = begin;
  head.bytes = text.size();
  return head;
}

CheckpointHead read_checkpoint_head(const CheckpointReader& file, const char* magic, const std::string& path,
                                    bool ends_with_text) {
  CheckpointHead head;
  if (file.bytes() >= sizeof head) file.read(0, sizeof head, &head);
  if (std::memcmp(head.magic, magic, sizeof head.magic) != 0)
    refuse_checkpoint(path, "holds no state of a run; expected the file that an interrupted run has left");
  if (head.format != format_version)
    refuse_checkpoint(
        path, fmt::format("has format {}, and this version of halocline reads format {}", head.format, format_version));
  const std::uint64_t left = file.bytes() - std::min(file.bytes(), head.begin);
  if (head.begin > file.bytes() || head.bytes > left || (ends_with_text && head.bytes != left))
    refuse_checkpoint(path, fmt::format("is cut short or damaged: it has {} bytes, and {} were written", file.bytes(),
                                        head.begin + head.bytes));
  return head;
}

nlohmann::json read_checkpoint_text(const CheckpointReader& file, const CheckpointHead& head, const std::string& path) {
  std::string text(head.bytes, ' ');
  file.read(head.begin, text.size(), text.data());
  if (crc_of(text.data(), text.size()) != head.crc)
    refuse_checkpoint(path, "is damaged: the checksum of its description is wrong");
  return take_description(path, [&] { return nlohmann::json::parse(text); });
}

void require_same_job(const nlohmann::json& there, const nlohmann::json& here, const std::string& path) {
  std::set<std::string> names;
  for (const auto* job : {&there, &here})
    for (const auto& [name, value] : job->items()) names.insert(name);
  std::vector<std::string> differences;
  for (const auto& name : names)
    if (!there.contains(name) || !here.contains(name) || there[name] != here[name])
      differences.push_back(fmt::format("{} {} there, {} here", name, shown(there, name), shown(here, name)));
  if (!differences.empty()) refuse_checkpoint(path, fmt::format("is of another job: {}", fmt::join(differences, "; ")));
}

void check_checkpoint(const std::string& path, double bytes, const std::string& what, bool resume) {
  std::error_code code;
  const bool there = fs::exists(path, code);
  if (there && !resume)
    throw InputError(fmt::format(
        "`checkpoint` '{}' is there already: give `resume` to go on from it; to start again, remove it", path));
  check_output_path(path + ".tmp");  // which comes before it
  const fs::path folder = fs::path(path).parent_path();
  const auto space = fs::space(folder.empty() ? fs::path(".") : folder, code);
  if (code) return;  // not every file system reports it
  const double has =
      static_cast<double>(space.available) + (there ? static_cast<double>(fs::file_size(path, code)) : 0);
  if (has < bytes)
    throw InputError(
        fmt::format("`checkpoint` '{}': {}, and the disk has {} free; free some space, or choose another disk", path,
                    what, bytes_text(static_cast<double>(space.available))));
}

void remove_checkpoint(const std::string& path) {
  std::error_code code;
  fs::remove(file_behind(path), code);
  fs::remove(file_behind(path) + ".tmp", code);
}

}  // namespace halocline
