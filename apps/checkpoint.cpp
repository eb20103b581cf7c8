#include "apps/checkpoint.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <vector>

#include "apps/io/atomic_file.hpp"
#include "host/error.hpp"
#include "host/thread_pool.hpp"
#include "scheduling/plan_text.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t format = 1;
constexpr char magic[] = {'h', 'a', 'l', 'o', 's', 't', 'a', 't'};
constexpr std::size_t part_bytes = std::size_t{4} << 20;  // that have a checksum

struct Head {
  char magic[8] = {};
  std::uint32_t format = 0, crc = 0;  // crc: of the text
  std::uint64_t begin = 0, bytes = 0;
};
static_assert(sizeof(Head) == 32);

std::uint32_t crc_of(const void* data, std::size_t bytes) {
  return static_cast<std::uint32_t>(::crc32_z(0, static_cast<const Bytef*>(data), bytes));
}

// Bytes at any place of a file, by any thread.
class File {
 public:
  explicit File(const std::string& path) : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) fail("open");
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) fail("stat");
    bytes_ = static_cast<std::uint64_t>(status.st_size);
  }
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::uint64_t bytes() const { return bytes_; }
  void read(std::uint64_t at, std::size_t count, void* to) const {
    auto* next = static_cast<char*>(to);
    while (count > 0) {
      const ssize_t done = ::pread(descriptor_, next, std::min(count, std::size_t{1} << 26), static_cast<off_t>(at));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) fail("read");
      if (done == 0) throw FileError(fmt::format("--checkpoint '{}' became shorter while it was read", path_));
      next += done;
      at += static_cast<std::uint64_t>(done);
      count -= static_cast<std::size_t>(done);
    }
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw FileError(
        fmt::format("cannot read --checkpoint '{}': {}: {}", path_, what, std::generic_category().message(errno)));
  }
  std::string path_;
  int descriptor_;
  std::uint64_t bytes_ = 0;
};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw InputError(fmt::format("--checkpoint '{}' {}; to start anew, remove it or give another name", path, why));
}

nlohmann::json read_text(const File& file, const std::string& path) {
  Head head;
  if (file.bytes() >= sizeof head) file.read(0, sizeof head, &head);
  if (std::memcmp(head.magic, magic, sizeof magic) != 0)
    refuse(path, "holds no state of a run; expected the file that an interrupted run has left");
  if (head.format != format)
    refuse(path, fmt::format("has format {}, and this version of halocline reads format {}", head.format, format));
  if (head.begin > file.bytes() || head.bytes != file.bytes() - head.begin)
    refuse(path, fmt::format("is cut short or damaged: it has {} bytes, and {} were written", file.bytes(),
                             head.begin + head.bytes));
  std::string text(head.bytes, ' ');
  file.read(head.begin, text.size(), text.data());
  if (crc_of(text.data(), text.size()) != head.crc)
    refuse(path, "is damaged: the checksum of its description is wrong");
  return nlohmann::json::parse(text);
}

struct Place {
  std::uint64_t at = 0;
  std::size_t bytes = 0;
};

// Where the arrays lie. Every part is as it was written.
std::map<std::string, Place> checked_arrays(const File& file, const nlohmann::json& text, const std::string& path) {
  std::map<std::string, Place> places;
  for (const auto& array : text.at("arrays")) {
    const std::string name = array.at("name");
    const Place place = places[name] = {array.at("at"), array.at("bytes")};
    const std::vector<std::uint32_t> sums = array.at("crc32");
    parallel_ranges(place.bytes, part_bytes, [&](std::size_t first, std::size_t count) {
      std::vector<std::byte> part(count);
      file.read(place.at + first, count, part.data());
      if (crc_of(part.data(), count) != sums.at(first / part_bytes))
        refuse(path, fmt::format("is damaged: the checksum of array {} is wrong", name));
    });
  }
  return places;
}

std::string shown(const nlohmann::json& object, const std::string& name) {
  return object.contains(name) ? object[name].dump() : "nothing";
}

void require_same_job(const nlohmann::json& there, const nlohmann::json& here, const std::string& path) {
  std::set<std::string> names;
  for (const auto* job : {&there, &here})
    for (const auto& [name, value] : job->items()) names.insert(name);
  std::vector<std::string> differences;
  for (const auto& name : names)
    if (!there.contains(name) || !here.contains(name) || there[name] != here[name])
      differences.push_back(fmt::format("{} {} there, {} here", name, shown(there, name), shown(here, name)));
  if (!differences.empty()) refuse(path, fmt::format("is of another job: {}", fmt::join(differences, "; ")));
}

nlohmann::json strength_json(const StrengthChoice& choice) {
  return {{"lambda", choice.lambda},
          {"sigma", choice.sigma},
          {"how", choice.how},
          {"met", choice.met},
          {"warnings", choice.warnings}};
}

StrengthChoice strength_of(const nlohmann::json& kept) {
  StrengthChoice choice;
  choice.lambda = kept.at("lambda");
  if (kept.at("sigma").is_number()) choice.sigma = kept.at("sigma");
  choice.how = kept.at("how");
  choice.met = kept.at("met");
  choice.warnings = kept.at("warnings").get<std::vector<std::string>>();
  return choice;
}

// Bits, for sums may be infinite.
nlohmann::json reductions_json(const std::vector<RunState::Reduction>& reductions) {
  auto result = nlohmann::json::array();
  for (const auto& reduction : reductions) {
    auto entry = nlohmann::json::array({reduction.done});
    for (const double sum : reduction.sums) entry.push_back(std::bit_cast<std::uint64_t>(sum));
    result.push_back(std::move(entry));
  }
  return result;
}

std::vector<RunState::Reduction> reductions_of(const nlohmann::json& kept) {
  std::vector<RunState::Reduction> result;
  for (const auto& entry : kept) {
    result.push_back({entry.at(0), {}});
    for (std::size_t n = 1; n < entry.size(); ++n)
      result.back().sums.push_back(std::bit_cast<double>(entry[n].get<std::uint64_t>()));
  }
  return result;
}

void write_state(const RunState& state, nlohmann::json text, const std::string& path) {
  TemporaryFile file(path, path + ".tmp");
  Head head;
  head.begin = sizeof head;
  std::uint64_t all = head.begin;  // and then the text
  for (const auto& array : state.arrays) all += array.bytes;
  file.reserve(all);
  std::vector<std::byte> chunk;  // in memory, whatever --scratch says of whole volumes
  for (const auto& [name, bytes] : state.arrays) {
    std::vector<std::uint32_t> sums((bytes + part_bytes - 1) / part_bytes);
    for (std::size_t begin = 0; begin < bytes; begin += checkpoint_buffer) {
      chunk.resize(std::min(bytes - begin, checkpoint_buffer));
      state.read(name, begin, chunk.size(), chunk.data());
      parallel_ranges(chunk.size(), part_bytes, [&](std::size_t first, std::size_t count) {
        sums[(begin + first) / part_bytes] = crc_of(chunk.data() + first, count);
        file.write_at(head.begin + begin + first, reinterpret_cast<const char*>(chunk.data()) + first, count);
      });
    }
    text["arrays"].push_back({{"name", name}, {"at", head.begin}, {"bytes", bytes}, {"crc32", std::move(sums)}});
    head.begin += bytes;
  }
  const std::string written = text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::copy(std::begin(magic), std::end(magic), head.magic);
  head.format = format;
  head.crc = crc_of(written.data(), written.size());
  head.bytes = written.size();
  file.write_at(head.begin, written.data(), written.size());
  file.write_at(0, reinterpret_cast<const char*>(&head), sizeof head);
  file.commit();
}

}  // namespace

std::uint32_t voxel_checksum(const VolumeSource& source) {
  const std::size_t voxels = source.grid().count();
  std::vector<std::uint32_t> sums((voxels + voxels_in_a_piece - 1) / voxels_in_a_piece);
  parallel_ranges(voxels, voxels_in_a_piece, [&](std::size_t first, std::size_t count) {
    UninitialisedVector<float> values(count);
    source.read(first, count, values.data());
    sums[first / voxels_in_a_piece] = crc_of(values.data(), count * sizeof(float));
  });
  return crc_of(sums.data(), sums.size() * sizeof(std::uint32_t));
}

void Checkpoint::check(std::size_t state_bytes, bool resume) const {
  std::error_code code;
  const bool there = fs::exists(path_, code);
  if (there && !resume)
    throw InputError(fmt::format(
        "--checkpoint '{}' is there already: give --resume to go on from it; to start anew, remove it", path_));
  const fs::path folder = fs::path(path_).parent_path();
  const auto space = fs::space(folder.empty() ? fs::path(".") : folder, code);
  if (code) return;  // not every file system tells
  const double wanted = 2 * static_cast<double>(state_bytes),
               has =
                   static_cast<double>(space.available) + (there ? static_cast<double>(fs::file_size(path_, code)) : 0);
  if (has < wanted)
    throw InputError(fmt::format(
        "--checkpoint '{}': the state of this run takes {}, twice while one replaces the other, and the disk "
        "has {} free; free some space, or choose another disk",
        path_, bytes_text(static_cast<double>(state_bytes)), bytes_text(static_cast<double>(space.available))));
}

bool Checkpoint::resume() {
  std::error_code code;
  if (!fs::exists(path_, code)) return false;
  const File file(path_);
  const auto text = read_text(file, path_);
  require_same_job(text.at("job"), job_, path_);
  if (text.contains("strength")) strength = strength_of(text["strength"]);
  iterations_ = text.at("iterations").get<int>();
  return true;
}

void Checkpoint::keep(const RunState& state) {
  nlohmann::json text{{"job", job_},
                      {"iterations", state.iterations},
                      {"reductions", reductions_json(state.reductions)},
                      {"arrays", nlohmann::json::array()}};
  if (strength) text["strength"] = strength_json(*strength);
  try {
    write_state(state, std::move(text), path_);
    iterations_ = state.iterations;
    told_ = false;
  } catch (const FileError& error) {
    if (!told_)
      spdlog::warn(
          "{} The run goes on without a checkpoint after {} iterations, and tries again when the next is due{}",
          error.what(), state.iterations,
          iterations_ ? fmt::format("; the one after {} stays until then", *iterations_) : "");
    told_ = true;
  }
}

std::optional<RunState> Checkpoint::kept() {
  if (!iterations_) return std::nullopt;
  const auto file = std::make_shared<const File>(path_);
  const auto text = read_text(*file, path_);
  RunState state;
  state.iterations = text.at("iterations");
  state.reductions = reductions_of(text.at("reductions"));
  for (const auto& array : text.at("arrays")) state.arrays.push_back({array.at("name"), array.at("bytes")});
  state.read = [file, places = checked_arrays(*file, text, path_)](const std::string& name, std::size_t first,
                                                                   std::size_t count, std::byte* to) {
    file->read(places.at(name).at + first, count, to);
  };
  return state;
}

std::string Checkpoint::how_to_resume() const {
  if (!iterations_) return {};
  return fmt::format("the state after {} iterations is in '{}': the same command with --resume goes on from there",
                     *iterations_, path_);
}

void Checkpoint::remove() {
  std::error_code code;
  fs::remove(path_, code);
  fs::remove(path_ + ".tmp", code);  // of a process that was killed
}

}  // namespace halocline
