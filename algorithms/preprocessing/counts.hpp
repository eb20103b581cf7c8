// Line integrals from the counts of a detector.
//
//   q = -ln( max(count - dark, floor) / (open beam) ),      p = c1 q + c2 q^2 + ...
//
// with open = flat - dark of the pixel (1 without flats) and beam the view's intensity in units of it: from an air
// region, from flats before and after the scan, else 1. Counts that were not measured are replaced first
// (unmeasured.hpp). fdk() computes the same as it reads the counts (both use cl/counts.clh), with results that agree to
// rounding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/preprocessing/flat_fields.hpp"
#include "algorithms/preprocessing/replaced_values.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

constexpr std::size_t most_hardening_coefficients = 16;

struct CountsOptions {
  /// Region where every view sees the beam alone: pixels [u0, u1) x [v0, v1), given as u0, v0, u1, v1.
  std::optional<std::array<std::size_t, 4>> air = std::nullopt;
  /// Above the dark field; less has no logarithm, or a wild one, and is raised to it. Default: half a count of whole
  /// numbers, else 1e-5 of the beam.
  std::optional<double> floor = std::nullopt;
  std::optional<double> saturation = std::nullopt;  ///< from this count on a value counts as saturated; only reported
  std::vector<double> hardening = {};               ///< c1, c2, ...; empty: p = q
  int ring_width = 0;                               ///< pixels that rings may be wide (ring_offsets); 0: rings are kept
  bool allow_nonfinite = false;  ///< NaN and infinite counts were not measured; else they are refused
  bool within_views = false;     ///< values are replaced by others of the same view only (fill_unmeasured)
  std::size_t scan_views = 0;    ///< of the whole scan, which flats before and after enclose; 0: those of the stack
};

struct CountsReport {
  std::size_t pixels = 0;                      ///< values: size u * size v * views
  std::size_t raised = 0;                      ///< of good pixels, raised to the floor
  std::size_t saturated = 0;                   ///< of good pixels
  std::size_t bad_pixels = 0;                  ///< of the detector, interpolated in all views
  std::array<std::size_t, 2> bad_group{0, 0};  ///< columns and rows of the group of bad pixels that is thickest
  double filled_rms = 0;                       ///< FilledValues::rms of them
  LostEdges lost_edges = {};
  std::size_t replaced = 0;                    ///< values of good pixels that failed in a view, and were interpolated
  std::size_t failing = 0, first_failing = 0;  ///< good pixels that seem to fail now and then (failing_pixels)
  double beam_low = 1, beam_high = 1;          ///< the weakest and the strongest view's beam
  bool between_flats = false;                  ///< that was interpolated between flats before and after
  std::optional<LevelStep> odd_flats;          ///< a step in them that is not one of a scan
  std::optional<ClippedFlats> clipped_flats;
  std::vector<std::size_t> rough_views;  ///< ascending: views in which large parts were lost, and interpolated
  double above_flats = 1;                ///< median signal of that of the flats, where most is far above them
  bool transmissions = false;            ///< the stack has I/I0, and needs no flats
  bool looked_for_rings = false;
  std::size_t flats_left_out = 0;  ///< values of flats and darks that are far from those of the others
  double ring_rms = 0;             ///< of the offsets taken off q
  std::size_t rings = 0;           ///< pixels whose offset is not 0
};

/// Values with which a scan's counts become line integrals, as kernels read them.
struct CountsCalibration {
  struct Pixel {
    float dark, open;
  };
  std::array<std::size_t, 3> size{0, 0, 0};  ///< of the stack: columns, rows, views
  std::vector<Pixel> pixels;                 ///< rows of columns
  std::vector<float> beams;                  ///< of each view
  std::vector<float> coefficients{1};        ///< c1, c2, ...
  float floor = 0.5f;
  float dark_noise = 0;                    ///< standard deviation of the dark field; 0: not known
  ReplacedValues replaced = {};            ///< counts in place of those that were not measured
  std::vector<std::size_t> bad_rows = {};  ///< of the detector, without a good pixel; ascending
  CountsReport report;

  /// The calibration for these views of the scan only.
  CountsCalibration of_views(const std::vector<std::size_t>& views) const;
};

/// q of `columns` counts of row `row` of view `view`, which may be where they were.
void attenuations_of_row(const CountsCalibration& calibration, std::size_t row, std::size_t view, const float* counts,
                         float* q);

/// Replaces the counts of all pixels in view `view` by line integrals.
void view_to_line_integrals(const CountsCalibration& calibration, std::size_t view, float* values);

/// Replaces counts (u, v, view) by line integrals. Throws InputError unless the stack has the calibration's size.
void counts_to_line_integrals(Volume& counts, const CountsCalibration& calibration,
                              const std::string& name = "the counts");

/// Throws InputError that names the stack if its size is another than the calibration's.
void require_calibrated(const CountsCalibration& calibration, const Grid& stack, const std::string& name);

}  // namespace halocline
