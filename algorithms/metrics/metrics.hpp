// Quality measures: how far an image is from a reference, and how noisy it is. All sums run in double, slice by slice,
// and are added in the order of the slices: the same number on any machine, for any number of threads.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "host/volume/volume.hpp"

namespace halocline {

/// A box of voxel indices, half-open: lower[a] <= index < upper[a]. X0,Y0,Z0,X1,Y1,Z1 on the command line.
struct Box {
  std::array<std::size_t, 3> lower{0, 0, 0}, upper{0, 0, 0};

  std::size_t count() const { return (upper[0] - lower[0]) * (upper[1] - lower[1]) * (upper[2] - lower[2]); }
};

/// Box of the six numbers X0,Y0,Z0,X1,Y1,Z1. Throws InputError that names `name` (the option) and reports the valid
/// range if the box is empty or reaches out of the grid.
Box make_box(const std::array<long long, 6>& numbers, const Grid& grid, const std::string& name);

/// Throws InputError as make_box does.
void check_box(const Box& box, const Grid& grid, const std::string& name);

/// Statistics of the voxels in a box.
struct BoxStatistics {
  std::size_t count = 0;
  double mean = 0;
  double deviation = 0;  ///< sample standard deviation (n - 1); 0 for a single voxel
  double minimum = 0, maximum = 0;
  double snr = 0;  ///< mean / deviation; infinite if the deviation is 0, NaN if both are
};

/// Throws InputError if the box does not fit.
BoxStatistics box_statistics(const Volume& volume, const Box& box);

/// Contrast-to-noise ratio |mean_a - mean_b| / sqrt((variance_a + variance_b) / 2) of two boxes: infinite where there
/// is no noise, NaN where there is no contrast either.
double contrast_to_noise(const BoxStatistics& a, const BoxStatistics& b);

/// Peak signal-to-noise ratio of a mean squared error, 10 log10(peak^2 / mse) in dB; NaN unless the peak is positive,
/// infinite for an error of 0.
double peak_signal_to_noise(double peak, double mse);

/// All measures against a reference. NaN marks what the data do not define; PSNR of equal images is infinite.
struct Comparison {
  double mse = 0, rmse = 0;
  double psnr = 0;  ///< 10 log10(MAX^2 / MSE) in dB with MAX the reference's maximum; NaN if that is not positive
  /// Structural similarity (Wang, Bovik, Sheikh, Simoncelli 2004, eq. 13): Gaussian window of sigma 1.5 and 11 taps an
  /// axis, C1 = (0.01 L)^2, C2 = (0.03 L)^2, L = maximum - minimum of the reference, averaged over all positions where
  /// the window fits. Along an axis with fewer than 11 voxels all positions count, with the window cut at the border
  /// and normalised again, so that a single slice gets the 2D measure. NaN if the reference is constant.
  double ssim = 0;
  double correlation = 0;         ///< Pearson's r; NaN if one of the images is constant
  double mean_difference = 0;     ///< mean of image - reference
  double largest_difference = 0;  ///< largest |image - reference|
};

/// Throws InputError that names both images if their grids differ.
Comparison compare_images(const Volume& image, const Volume& reference, const std::string& image_name = "the image",
                          const std::string& reference_name = "the reference");

}  // namespace halocline
