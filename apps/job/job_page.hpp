// --html: the images of a job, how it converged and its report, as a page.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/job/common_options.hpp"
#include "apps/report/report_page.hpp"
#include "host/volume/cutout.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

constexpr std::size_t most_page_images = 4;

/// Throws InputError that names `option` unless `path` ends with .html or .htm.
void require_html(const std::string& option, const std::string& path);

/// An image of the page. Those with one unit share grey values; those on one grid are compared.
struct Picture {
  std::string name, unit;
  bool projections = false;         ///< (u, v, view)
  std::optional<Grid> grid = {};    ///< grid of its voxels, if its file does not state it
  std::optional<Cutout> part = {};  ///< part of the image that alone is shown
};

class JobPage {
 public:
  /// Throws InputError if the command has no images to show.
  JobPage(const std::string& command, const CommonOptions& common);

  bool wanted() const { return !path_.empty(); }
  /// The image of a file, which is read when the page is written, in pieces where its format lets. Nothing without
  /// --html. The page has the first four images.
  void show(const Picture& picture, const std::string& path);
  /// Shows voxels in memory.
  void show(const Picture& picture, const VolumeSource& voxels);
  /// report: as --report writes it. Returns what was written, as a line; empty: nothing, for there was no image.
  std::string write(const nlohmann::json& report);

 private:
  struct Shown {
    Picture picture;
    std::string path;  // empty: binned
    PageVolume volume;
  };
  void bin(Shown& shown, const VolumeSource& voxels) const;

  std::string command_line_, path_;
  PageOptions options_;
  std::vector<Shown> shown_;
};

}  // namespace halocline
