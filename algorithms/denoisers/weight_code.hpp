// How the weights of S-PDU are stored on a device (cl/weights.clh).
#pragma once

#include <cstddef>
#include <string>

#include "scheduling/planning/requirements.hpp"

namespace halocline {

/// Weights as float32 (32 bits) or half (16). No positive weight becomes 0, which says that no view saw the voxel:
/// halves end at 2^-24 (6e-8) and at 65504, and weights beyond become these. The problem that is solved is that with
/// the stored weights w', and gap and certificate are of it. Its solution u' is close to the u of the weights w as
/// given: with d = largest_change()
///   ||u - u'||_w' <= d ||u - f||_w',   ||x||_w'^2 = sum_i x_i^2 / w'_i,
/// because subgradients of the total variation are monotone: ((u - f) / w - (u' - f) / w', u - u') <= 0, so that
/// ||u - u'||_w'^2 <= ((1 / w' - 1 / w) (u - f), u - u') = ((1 - w' / w) (u - f) / w', u - u').
class WeightCode {
 public:
  /// bits: 32 or 16. least, largest: of the positive weights, which may be 0 if there are none.
  WeightCode(int bits, double least, double largest);

  int bits() const { return bits_; }
  std::size_t bytes() const { return static_cast<std::size_t>(bits_ / 8); }
  /// The least upper bound on |w' - w| / w that follows from the type and from least and largest.
  double largest_change() const;
  /// The modulus of convexity of sum_i (u_i - f_i)^2 / (2 w'_i): the inverse of the largest stored weight.
  double convexity() const;
  /// `count` weights to bytes() each; what is not positive to 0.
  void encode(const float* from, std::byte* to, std::size_t count) const;
  /// What a weight becomes.
  float stored(float weight) const;

  /// The volume "w" that a method declares.
  ArrayNeed array() const;
  /// The compiler option.
  std::string option() const;

 private:
  int bits_;
  float least_, largest_;  // float32 as the weights are
};

}  // namespace halocline
