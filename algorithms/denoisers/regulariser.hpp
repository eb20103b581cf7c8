// Penalties and bounds of pdu and spdu beside plain total variation.
#pragma once

#include <limits>
#include <optional>
#include <string>

#include "host/volume/volume.hpp"

namespace halocline {

/// phi(d) of the difference vector d at a voxel. isotropic: |d| (Rudin, Osher & Fatemi 1992). anisotropic: the sum
/// |d_x| + |d_y| + |d_z|. huber: |d|^2 / (2 delta) up to |d| = delta and |d| - delta / 2 beyond (Huber 1964): slopes
/// remain slopes where total variation makes stairs (Chambolle & Pock 2011, section 6.2).
enum class Variation { isotropic, anisotropic, huber };

/// Throws InputError that names `variation` and lists the names.
Variation variation_named(const std::string& name);
std::string variation_name(Variation variation);

/// min_u sum_i (u_i - f_i)^2 / (2 w_i) + lambda sum_i phi((P D u)_i) over minimum <= u <= maximum. P is 1, or, guided
/// by a reference volume v, 1 - gamma xi xi^T with xi = grad v / sqrt(|grad v|^2 + eta^2): differences across the
/// reference's edges are free, or cheaper (directional total variation, Ehrhardt & Betcke 2016).
struct Regulariser {
  Variation variation = Variation::isotropic;
  std::optional<double> huber_delta;                          // huber, and there needed: grey values per mm
  double minimum = -std::numeric_limits<double>::infinity();  // grey values
  double maximum = std::numeric_limits<double>::infinity();   // grey values
  bool guided = false;                                        // by the input "reference"
  std::optional<double> reference_eta;       // grey values of the reference per mm; none: see reference_eta()
  std::optional<double> reference_strength;  // gamma, above 0 and at most 1; none: 1

  bool boxed() const {
    return minimum > -std::numeric_limits<double>::infinity() || maximum < std::numeric_limits<double>::infinity();
  }
  /// Plain total variation, for which there are faster kernels.
  bool plain() const { return variation == Variation::isotropic && !boxed() && !guided; }
};

/// Throws InputError that names the parameter (`variation`, `huber_delta`, `minimum`, `maximum`, `reference`,
/// `reference_eta`, `reference_strength`) if a value is out of range, missing, or of no use, or if `method` knows no
/// regularisers.
void check_regulariser(const Regulariser& regulariser, const std::string& method);

/// `given`, or twice the gradient that the reference's noise makes, and at least a hundredth of its largest gradient:
/// noise is no edge, and in a noiseless reference nearly everything is. `spacing`: mm between voxels. Throws InputError
/// that names `reference` if the volume is constant, or `reference_eta` if it is below a billionth of the largest
/// gradient.
double reference_eta(const Volume& reference, const std::array<double, 3>& spacing, const std::optional<double>& given);

}  // namespace halocline
