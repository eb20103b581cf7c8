// Parameters of filtered back-projection.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "algorithms/fdk/ramp.hpp"
#include "algorithms/fdk/redundancy.hpp"
#include "algorithms/preprocessing/counts.hpp"
#include "host/volume/component.hpp"

namespace halocline {

/// Sum over the views: voxel by voxel (direct), or in Fourier space (gridding, of parallel beams: Gridding).
enum class FdkAlgorithm { direct, gridding };

struct FdkParameters {
  FdkAlgorithm algorithm = FdkAlgorithm::direct;
  Window window = Window::ram_lak;
  double cutoff = 1;  ///< fraction of the detector's highest frequency, in (0, 1]
  /// A filter in place of the ramp: its transfer function at frequencies evenly spaced from 0 to the detector's
  /// highest, with linear interpolation between them, in cycles a pixel: the ramp's values go from about 0 to 0.5. The
  /// window multiplies it, too. Empty: the ramp.
  std::vector<double> filter = {};
  bool hardware_interpolation = false;  ///< interpolate in the texture units (8-bit fractions on most GPUs)
  bool half_texels = false;             ///< there, of projections in half precision: faster, see VoxelDriven::Options
  double largest_projection = 1;        ///< about, to which half precision is fitted; fdk() finds it for itself
  RedundancyOptions redundancy = {};    ///< short scans and displaced detectors are weighted by themselves
  /// Fraction of their length, in [0, 1], by which rows that the detector cuts off are continued before they are
  /// filtered, with their slope and down to 0 (Ohnesorge et al. 2000). Not on the short side of a displaced detector.
  double pad = 0;
  /// Calibration of the projections if they are a detector's counts, which become line integrals as they are read. A
  /// plan needs no calibration.
  struct Counts {
    const CountsCalibration* calibration = nullptr;
    Component stored = Component::float32;  ///< or uint16, which takes half the time on the bus
  };
  std::optional<Counts> counts = std::nullopt;
  /// The detector's noise: I ~ Poisson(photons * exp(-p)) + N(0, electronic^2). With counts I is the signal, and
  /// `photons` the number that a count represents; the noise of flats and darks is left out.
  struct Noise {
    double photons = 1e5;
    double electronic = 0;
  };
  /// Noise of the projections, independent from pixel to pixel. If set, the result is not the attenuation but the
  /// variance of each voxel, in 1/mm^2.
  std::optional<Noise> variance = std::nullopt;
  /// Warn of what check_fdk() and check_fdk_views() return, but for a variance; false where the caller has, or
  /// reconstructs again and again.
  bool log_notes = true;
  /// Filter across the rotation axis where the detector's rows are not (UprightRows); false: along the rows, which is
  /// an approximation for small angles, but does not interpolate between pixels.
  bool upright_rows = true;
  /// Rows whose transform is no longer than this, a power of two, are filtered in local memory (row_filter.hpp); 0:
  /// none. Unless it is set, longest_local_rows() of the devices is taken.
  std::optional<std::size_t> longest_local_rows = std::nullopt;
};

/// Throws InputError for a cut-off, a filter, a padding or a noise that cannot be.
void check_fdk_parameters(const FdkParameters& parameters);

/// The filter's transfer function with its window, n = 0 .. length - 1 (ramp.hpp).
std::vector<double> transfer_of(const FdkParameters& parameters, std::size_t length);

/// The type of the projections that is uploaded.
Component stored_as(const FdkParameters& parameters);

}  // namespace halocline
