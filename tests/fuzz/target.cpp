#include "tests/fuzz/target.hpp"

#include <spdlog/spdlog.h>

#include <cmath>
#include <cstddef>
#include <fstream>
#include <stdexcept>

#include "apps/images/image_file.hpp"
#include "apps/images/itk_image.hpp"
#include "apps/images/stored_image.hpp"
#include "host/system/error.hpp"
#include "host/system/log.hpp"
#include "host/system/temporary_folder.hpp"
#include "host/volume/typed_volume.hpp"

namespace halocline::fuzz {

std::map<std::string, Target>& targets() {
  static std::map<std::string, Target> all;
  return all;
}

void run(Target target, const std::string& bytes) {
  spdlog::set_level(spdlog::level::off);
  library_log()->set_level(spdlog::level::off);
  try {
    target(bytes);
  } catch (const Error&) {
  }
}

std::string path_of(const std::string& name) {
  static const TemporaryFolder folder("halocline-fuzz");
  return folder / name;
}

std::string file_of(const std::string& name, const std::string& bytes) {
  std::string path = path_of(name);
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

void require(bool good, const std::string& what) {
  if (!good) throw std::logic_error("a finding: " + what);
}

std::optional<Volume> read_any_image(const std::string& path) {
  const ImageInfo info = read_image_info(path);
  check_image_file(path);
  const auto source = open_image(path, true);
  constexpr std::size_t most = 4096;
  return info.grid.count() <= most ? std::optional(read_volume(*source)) : std::nullopt;
}

void require_as_through_itk(const std::string& path) {
  std::optional<StoredImage> image;
  Volume found, expected;
  try {
    image = stored_image(path);
    constexpr std::size_t most = 4096;
    if (!image || image->info.grid.count() > most) return;
    found = read_volume(*open_stored_image(*image, path));
    expected = to_volume(read_itk_typed(path));
  } catch (const Error&) {  // one of them does not read it
    return;
  }
  const Grid &grid = image->info.grid, &other = expected.grid;
  require(grid.size == other.size && grid.spacing == other.spacing && grid.origin == other.origin &&
              grid.direction == other.direction,
          "another grid than through ITK");
  for (std::size_t n = 0; n < found.voxels.size(); ++n)
    require(found.voxels[n] == expected.voxels[n] || !std::isfinite(found.voxels[n]), "other values than through ITK");
}

void run_verb(const std::string& verb, const std::vector<GivenSetting>& settings) {
  try {
    EmbeddedCommand().run({.verb = verb, .settings = settings});
  } catch (const FileError& error) {
    require(false, error.what());
  } catch (const PlanError& error) {
    require(false, error.what());
  }
}

}  // namespace halocline::fuzz
