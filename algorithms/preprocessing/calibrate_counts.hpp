// Calibration of a scan's detector and beam from flats, darks and the counts themselves.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "algorithms/preprocessing/bad_pixels.hpp"
#include "algorithms/preprocessing/counts.hpp"
#include "algorithms/preprocessing/flat_fields.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

/// An image that goes with the counts; nullptr: none. The name is for messages.
struct CountsField {
  const Volume* stack = nullptr;
  std::string name;
  bool is_measured = true;  ///< else one given level, of which nothing is clipped
};

struct CountsFields {
  CountsField flats{nullptr, "the flats"};                       ///< without the object (u, v, n): their mean is taken
  CountsField flats_after{nullptr, "the flats after the scan"};  ///< the others are then from before it
  CountsField darks{nullptr, "the darks"};                       ///< without the beam: their mean; none: 0
  CountsField bad_pixels{nullptr,
                         "the bad pixels"};  ///< (u, v, 1), not 0 where bad; none: mark_bad_pixels() finds them
  std::string counts_name = "the counts";
};

/// Reads all counts twice, once more those of the air region, and again to fill what was not measured and for rings
/// (then a detector row of all views at a time is held for each thread). Means are taken in double, without values of
/// single flats and darks that are far from the others. Pixels whose flat is not above the dark field are bad whatever
/// the map says. The ring offsets go into `open` and so need nothing more.
///
/// Without an air region the beam is that of the flats: if there are some from before and after (flats_after, or a
/// LevelStep of a scan in one stack), linear in between over the views; else 1 in all views. Without flats and air the
/// stack must have transmissions: numbers from 0 to 1 that are not whole.
///
/// Throws InputError for: neither flats nor an air region nor transmissions; flats beside transmissions, which were
/// divided by them already; another detector size; NaN or infinite values, unless they are allowed; flats that are
/// above the darks in less than half of the pixels; a view without any signal; a detector without a good pixel; an air
/// region that is empty, reaches beyond the detector, holds no good pixel, or is dark in some view; options out of
/// range.
CountsCalibration calibrate_counts(const VolumeSource& counts, const CountsFields& fields,
                                   const CountsOptions& options = {});

/// Calibration of a scan that is still being recorded: its first views show which pixels are bad, and what rings there
/// are.
class CountsCalibrator {
 public:
  /// Calibrates by the first views, as calibrate_counts() does; the fields are not needed afterwards.
  CountsCalibrator(const VolumeSource& counts, const CountsFields& fields, const CountsOptions& options = {});

  struct Added {
    std::vector<float> beams;  ///< of each view
    ReplacedValues replaced;
  };
  /// Further views: to the bit what calibrate_counts() of all gives for the same bad pixels, if values are replaced
  /// within views (CountsOptions). Throws InputError, with this name, for another detector size, NaN or infinite values
  /// that are not allowed, and, with its number in the scan, for a view without any signal or one that is dark in the
  /// air region.
  Added add(const VolumeSource& counts, const std::string& name);

  /// Calibration by the first views; its report covers all views so far, except for failing pixels.
  const CountsCalibration& calibration() const { return out_; }
  const CountsOptions& options() const { return options_; }

 private:
  struct Lost {  // counts of good pixels
    std::size_t raised = 0, saturated = 0;
  };

  void take_fields(const Grid& grid, const CountsFields& fields);
  void take_beam_of_flats(const FieldMean& flats, const CountsFields& fields);
  void take_scale(const VolumeSource& counts, const CountsFields& fields);
  bool are_transmissions(const VolumeSource& counts) const;
  void take_brightest(const VolumeSource& counts, const CountsFields& fields);
  template <typename TakeRow>
  void look_through(const VolumeSource& counts, const std::string& name, const TakeRow& take_row) const;
  void mark_bad(const std::vector<SeenPixel>& seen, const Grid& grid, const CountsFields& fields);
  void take_pixels();
  Lost lost_in(std::span<const SeenPixel> seen, std::size_t first) const;
  void report_lost(const Lost& lost);
  void report_beams(const std::vector<float>& beams);
  std::vector<float> beams_of(const VolumeSource& counts, const std::string& name) const;
  std::vector<float> beams_in_air(const VolumeSource& counts, const std::string& name) const;
  ReplacedValues replace(const VolumeSource& counts, const std::vector<float>& beams, const std::string& name);
  void take_off_rings(const VolumeSource& counts);

  CountsOptions options_;
  CountsCalibration out_;
  std::size_t views_ = 0;            // number of views before those in work
  std::vector<double> dark_, open_;  // before they are rounded, and without rings
  std::vector<char> bad_;
  std::vector<std::size_t> failing_;         // pixels that show nothing in part of the views
  bool with_flats_ = false, whole_ = false;  // whole: counts are whole numbers
  double scale_ = 1, least_ = 0;             // of the beam; signal of the brightest pixel in a view that is not dark
  float brightest_ = INFINITY;               // counts above that are far too bright, in units of the open beam
  std::optional<BeamLevels> levels_;
};

/// Checks the options against the header alone; throws what it can tell. may_be_transmissions: the type is not one of
/// whole numbers.
void check_counts_options(const CountsOptions& options, const Grid& counts, bool with_flats, bool may_be_transmissions,
                          const std::string& counts_name);
/// Throws InputError unless an image's detector (u, v) is that of the counts.
void require_same_detector(const Grid& image, const std::string& name, const Grid& counts,
                           const std::string& counts_name);

}  // namespace halocline
