// --flat --dark --air --bad-pixels ...: how a detector's counts become line integrals, for `counts` and for `fdk` and
// `slices` with --counts; and --reduce-rings, also of line integrals.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/jobs/counts_settings.hpp"
#include "algorithms/preprocessing/calibrate_counts.hpp"
#include "algorithms/preprocessing/counts.hpp"
#include "algorithms/preprocessing/ring_reduction.hpp"
#include "host/volume/typed_volume.hpp"

namespace halocline {

class Job;
struct ImageInfo;

struct CountsArguments {
  std::vector<std::string> flats = {};     // paths: none, one, or those from before and after the scan
  std::string dark = {}, bad_pixels = {};  // paths; empty: none
  CountsOptions options = {};
  std::optional<double> white_level = {};  // a value of the scan's file: the count of every pixel without the object
  std::string white_level_name = {};       // for messages

  bool has_open_beam() const { return !flats.empty() || white_level.has_value(); }
};

/// --flat, --dark and --bad-pixels; where there is a --counts, they need it.
void add_counts_files(Settings& settings, CountsArguments& arguments);

/// Takes, with `counts` and neither --flat nor --air, the level that the geometry's file states (.xtekct: WhiteLevel)
/// as the open beam, and says it.
void take_white_level(Job& job, bool counts, const std::string& geometry, CountsArguments& arguments);

/// Claims the files and checks all that their headers say. Returns the bytes that the images take in memory.
double check_counts_arguments(Job& job, const CountsArguments& arguments, const ImageInfo& counts,
                              const std::string& counts_path);

/// Reads counts: 16-bit ones as they are, others as float32.
TypedVolume read_counts(Job& job, const ImageInfo& info, const std::string& path);

/// Checks a command with --counts: with it, as check_counts_arguments(). Without it checks --reduce-rings, warns if
/// projections that ought to be line integrals are whole numbers, as counts are, and returns 0.
double check_counts_or_integrals(Job& job, bool counts, const CountsArguments& arguments, const ImageInfo& info,
                                 const std::string& path);

/// Line integrals, without rings if --reduce-rings says so; these are those of the whole file, and are said. With
/// --allow-nonfinite those that are not finite are interpolated, and are `replaced` if that is wanted.
std::unique_ptr<VolumeSource> open_line_integrals(Job& job, const CountsArguments& arguments, const std::string& path,
                                                  ReplacedValues* replaced = nullptr);
Volume read_line_integrals(Job& job, const CountsArguments& arguments, const std::string& path,
                           ReplacedValues* replaced = nullptr);
/// The rings that these take off; their size goes into the report ("ring_offset_rms").
DetectorOffsets find_rings(Job& job, const CountsArguments& arguments, const VolumeSource& line_integrals,
                           const std::string& path);

/// Reads the images that go with the counts and calibrates. From the greatest number of an integer type on, counts are
/// saturated unless --saturation says otherwise. Puts figures into the report ("counts"), and warns of what the user
/// should know.
CountsCalibration calibrate(Job& job, const CountsArguments& arguments, const VolumeSource& counts,
                            const ImageInfo& info, const std::string& counts_path);

/// Reads the images and calibrates by the views that exist; others may follow.
CountsCalibrator begin_calibration(Job& job, const CountsArguments& arguments, const VolumeSource& counts,
                                   const ImageInfo& info, const std::string& counts_path);
/// The paths that are given, with their options.
std::vector<std::pair<const char*, std::string>> field_files(const CountsArguments& arguments);

}  // namespace halocline
