// --views, --views-per-frame, --crop, --bin, --pixel, --detector-origin: which projections of a file are worked on.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/geometry/detector_pixels.hpp"
#include "algorithms/preprocessing/projection_part.hpp"
#include "apps/job/job.hpp"

namespace halocline {

struct ProjectionOptions {
  std::string views;  // FIRST:LAST[:STEP]
  std::optional<std::size_t> views_per_frame;
  std::optional<std::array<std::size_t, 4>> crop;  // U0, V0, NU, NV
  std::vector<double> bin;                         // U[,V]
  DetectorPixels detector;                         // pitch and origin, where the file has none
  bool filtered = true;                            // along the columns, of which there have to be two then
};

void add_projection_options(Settings& settings, ProjectionOptions& options);
/// --views alone; of_what: which of them, if not those of the file.
void add_views_option(Settings& settings, ProjectionOptions& options, const std::string& of_what = {});
/// --crop, --bin, --pixel and --detector-origin alone.
void add_detector_options(Settings& settings, ProjectionOptions& options);

/// --pixel and --detector-origin alone, for commands that take whole files.
void add_pixel_options(Settings& settings, DetectorPixels& detector, const std::string& group = "Detector");

/// The grid of a file's projections: pitch and origin of the detector as the options say, else as the file does, else
/// as the geometry file does where its name is given. Throws InputError if none does: TIFF files do not say where their
/// pixels lie.
Grid placed_projections(const DetectorPixels& detector, const ImageInfo& file, const std::string& name,
                        const std::string& geometry = {});

/// The chosen parts of a file: one, or one for each frame.
struct ChosenProjections {
  Grid file;                           ///< grid of the stack in the file; pitch and origin as the options say
  std::vector<ProjectionPart> frames;  ///< all of the same size
  bool whole = false;                  ///< the one part is all of the file as it is

  Grid stack() const { return part_grid(file, frames.front()); }
  /// Pixels of the file in one of the stack.
  double pixels() const { return static_cast<double>(frames.front().bin[0] * frames.front().bin[1]); }
  /// The views of frame n: of the geometry of all views in the file, or of one frame, which then serves for each.
  Geometry geometry(const Geometry& all, std::size_t n) const;
  /// The views of that geometry that some frame takes.
  std::vector<std::size_t> views(const Geometry& all) const;
};

/// Throws InputError that names the option: what it selects is not in the file, or the file cannot say where its pixels
/// are (TIFF) and neither --pixel nor the geometry file does.
ChosenProjections choose_projections(const ProjectionOptions& options, const ImageInfo& file, const std::string& name,
                                     const std::string& geometry);

/// Throws InputError unless the geometry has as many views as the file, or as a frame of it.
void check_view_count(const ChosenProjections& chosen, const ProjectionOptions& options, const Geometry& all,
                      const std::string& name, const std::string& geometry_name);

/// Warns with the covered fractions if the volume reaches outside what the detector sees in every view (if it is
/// displaced on a full turn: in half of them), and puts them into the report. Nothing for a cylindrical detector.
/// chosen: the volume was chosen by the field of view, and has been reported.
void warn_of_coverage(Job& job, const Geometry& geometry, const Grid& stack, const Grid& volume, bool displaced,
                      bool chosen);

}  // namespace halocline
