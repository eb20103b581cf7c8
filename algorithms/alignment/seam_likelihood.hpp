// Likelihood of an axis by which the two ends of half a turn continue each other.
#pragma once

#include <complex>
#include <vector>

#include "algorithms/alignment/seam_rows.hpp"

namespace halocline {

/// The logarithm of the likelihood that the axis is `shift` columns from the geometry's, but for a constant: sum over
/// frequencies w of Re(terms exp(4 pi i w (shift - centre))). Rows are tapered about the axis at `centre`, as far as
/// `half` to both sides, columns, which are on the detector in every view. The model: axis_by_double_wedge().
class SeamLikelihood {
 public:
  /// rows: kept by the caller.
  SeamLikelihood(const SeamRows& rows, double centre, double half);

  double at(double shift) const;
  /// Slope and minus the curvature at `shift`, and the variance of the slope from the scatter of its terms.
  struct Shape {
    double slope = 0, curvature = 0, scatter = 0;
  };
  Shape shape(double shift) const;
  /// Excess over the sum that terms without any order would have.
  double order(double shift) const;

 private:
  using Complex = std::complex<double>;

  double frequency(std::size_t i) const { return static_cast<double>(i) / static_cast<double>(length_); }
  Complex turned(std::size_t i, double shift) const;
  /// lines_: the tapered lines' spectra, with the axis as origin; conjugated where mirrored.
  void transform();
  double weight(double from_axis) const;
  /// -2 b^H (C^-1) a, of the direct views a and the mirrored b: what depends on the axis in -z^H C^-1 z of all.
  Complex term(std::size_t i, double signal, double noise) const;

  const SeamRows& rows_;
  double centre_, half_;
  std::size_t length_ = 1;
  double independent_ = 1;  // share of the frequencies that are independent
  std::vector<std::vector<Complex>> lines_;
  std::vector<Complex> terms_;
};

}  // namespace halocline
