#include "apps/checkpoint/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <vector>

#include "apps/checkpoint/checkpoint_file.hpp"
#include "apps/images/atomic_file.hpp"
#include "host/system/error.hpp"
#include "host/system/log.hpp"
#include "host/system/thread_pool.hpp"
#include "scheduling/planning/plan_text.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

constexpr char state_magic[] = {'h', 'a', 'l', 'o', 's', 't', 'a', 't'};
constexpr std::size_t part_bytes = std::size_t{4} << 20;  // bytes that have a checksum

nlohmann::json text_of(const CheckpointReader& file, const std::string& path) {
  return read_checkpoint_text(file, read_checkpoint_head(file, state_magic, path, true), path);
}

struct Place {
  std::uint64_t at = 0;
  std::size_t bytes = 0;
};

// The place of an array that lies in the file, and the checksums of its parts.
std::pair<Place, std::vector<std::uint32_t>> place_of(const nlohmann::json& array, const CheckpointReader& file,
                                                      const std::string& path) {
  const Place place{whole_of<std::uint64_t>(array.at("at"), "at", path),
                    whole_of<std::size_t>(array.at("bytes"), "bytes", path)};
  std::vector<std::uint32_t> sums;
  for (const auto& sum : array.at("crc32")) sums.push_back(whole_of<std::uint32_t>(sum, "crc32", path));
  if (place.at > file.bytes() || place.bytes > file.bytes() - place.at ||
      sums.size() != (place.bytes + part_bytes - 1) / part_bytes)
    refuse_checkpoint(path, fmt::format("is damaged: array {} does not lie in it", array.at("name").dump()));
  return {place, std::move(sums)};
}

// Places of the arrays. Refuses the file unless every part is as it was written.
std::map<std::string, Place> checked_arrays(const CheckpointReader& file, const nlohmann::json& text,
                                            const std::string& path) {
  std::map<std::string, Place> places;
  for (const auto& array : text.at("arrays")) {
    const std::string name = array.at("name");
    const auto [place, sums] = place_of(array, file, path);
    if (!places.emplace(name, place).second)
      refuse_checkpoint(path, fmt::format("is damaged: it has array {} twice", name));
    parallel_ranges(place.bytes, part_bytes,
                    [&, at = place.at, &expected = sums](std::size_t first, std::size_t count) {
                      std::vector<std::byte> part(count);
                      file.read(at + first, count, part.data());
                      if (crc_of(part.data(), count) != expected[first / part_bytes])
                        refuse_checkpoint(path, fmt::format("is damaged: the checksum of array {} is wrong", name));
                    });
  }
  return places;
}

nlohmann::json strength_json(const ParameterChoice& choice) {
  return {{"lambda", choice.lambda},
          {"sigma", choice.sigma},
          {"how", choice.how},
          {"met", choice.met},
          {"warnings", choice.warnings}};
}

ParameterChoice strength_of(const nlohmann::json& kept) {
  ParameterChoice choice;
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

std::vector<RunState::Reduction> reductions_of(const nlohmann::json& kept, const std::string& path) {
  std::vector<RunState::Reduction> result;
  for (const auto& entry : kept) {
    result.push_back({whole_of<int>(entry.at(0), "reductions", path), {}});
    for (std::size_t n = 1; n < entry.size(); ++n)
      result.back().sums.push_back(std::bit_cast<double>(whole_of<std::uint64_t>(entry[n], "reductions", path)));
  }
  return result;
}

void write_state(const RunState& state, nlohmann::json text, const std::string& path) {
  TemporaryFile file(path, ".tmp");
  std::uint64_t at = sizeof(CheckpointHead), all = at;  // and then the text
  for (const auto& array : state.arrays) all += array.bytes;
  file.reserve(all);
  std::vector<std::byte> chunk;  // in memory, even where whole volumes lie in a scratch folder
  for (const auto& [name, bytes] : state.arrays) {
    std::vector<std::uint32_t> sums((bytes + part_bytes - 1) / part_bytes);
    for (std::size_t begin = 0; begin < bytes; begin += checkpoint_buffer) {
      chunk.resize(std::min(bytes - begin, checkpoint_buffer));
      state.read(name, begin, chunk.size(), chunk.data());
      parallel_ranges(chunk.size(), part_bytes, [&](std::size_t first, std::size_t count) {
        sums[(begin + first) / part_bytes] = crc_of(chunk.data() + first, count);
        file.write_at(at + begin + first, reinterpret_cast<const char*>(chunk.data()) + first, count);
      });
    }
    text["arrays"].push_back({{"name", name}, {"at", at}, {"bytes", bytes}, {"crc32", std::move(sums)}});
    at += bytes;
  }
  const std::string written = checkpoint_text(text);
  const CheckpointHead head = checkpoint_head(state_magic, written, at);
  file.write_at(at, written.data(), written.size());
  file.write_at(0, reinterpret_cast<const char*>(&head), sizeof head);
  file.commit();
}

}  // namespace

void Checkpoint::check(std::size_t state_bytes, bool resume) const {
  const auto bytes = static_cast<double>(state_bytes);
  check_checkpoint(path_, 2 * bytes,
                   fmt::format("the state of this run takes {}, twice while one replaces the other", bytes_text(bytes)),
                   resume);
}

bool Checkpoint::resume() {
  std::error_code code;
  if (!fs::exists(path_, code)) return false;
  const CheckpointReader file(path_);
  const auto text = text_of(file, path_);
  take_description(path_, [&] {
    require_same_job(text.at("job"), job_, path_);
    if (text.contains("strength")) strength = strength_of(text["strength"]);
    iterations_ = whole_of<int>(text.at("iterations"), "iterations", path_);
  });
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
    warned_ = false;
  } catch (const FileError& error) {
    if (!warned_)
      library_log()->warn(
          "{} The run goes on without a checkpoint after {} iterations, and tries again when the next is due{}",
          error.what(), state.iterations,
          iterations_ ? fmt::format("; the one after {} stays until then", *iterations_) : "");
    warned_ = true;
  }
}

std::optional<RunState> Checkpoint::kept() {
  if (!iterations_) return std::nullopt;
  const auto file = std::make_shared<const CheckpointReader>(path_);
  const auto text = text_of(*file, path_);
  return take_description(path_, [&] {
    RunState state;
    state.iterations = whole_of<int>(text.at("iterations"), "iterations", path_);
    state.reductions = reductions_of(text.at("reductions"), path_);
    auto places = checked_arrays(*file, text, path_);
    for (const auto& array : text.at("arrays")) {
      const std::string name = array.at("name");
      state.arrays.push_back({name, places.at(name).bytes});
    }
    state.read = [file, places = std::move(places)](const std::string& name, std::size_t first, std::size_t count,
                                                    std::byte* to) {
      file->read(places.at(name).at + first, count, to);
    };
    return std::optional(std::move(state));
  });
}

std::string Checkpoint::how_to_resume() const {
  if (!iterations_) return {};
  return fmt::format("the state after {} iterations is in '{}': the same command with `resume` goes on from there",
                     *iterations_, path_);
}

void Checkpoint::remove() {
  remove_checkpoint(path_);
}

}  // namespace halocline
