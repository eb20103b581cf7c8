// Rays that were not measured, and values in their place.
//
// Pixels that are bad in all views are filled from good ones around them. First linearly: between those on both sides
// in the row and in the column, each with the weight 1/((|difference| + 0.01) distance)^2, so over the short side of a
// group of bad pixels and along the direction in which the sinogram changes least; from the nearest where only one side
// has any. Then better, where there are 16 views or more: what that misses is predicted from the line integrals around
// the pixel in seven views, and from the line between the two sides along which they fit best (Vo et al. 2018 see such
// lines in sinograms; Li & Orchard 2001, IEEE Trans. Image Process. 10, learn predictors so). The weights are learned
// from good pixels nearby, as though these were bad in the same way. Structure of the object within a pixel's width
// that has no trace beside it cannot be recovered: a column loses half of the error that the line has.
//
// A value that fails in one view is filled likewise, from the same pixel in the views before and after, too.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/preprocessing/replaced_values.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

struct Unmeasured {
  std::vector<char> bad;                            ///< pixels of the detector, in all views
  std::vector<std::vector<std::uint32_t>> failing;  ///< of each view, ascending: pixels that are not bad in all

  bool any() const;
};

/// Meaning of a stack's values.
class RayValues {
 public:
  virtual ~RayValues() = default;
  /// Returns the line integral of a value that the stack has. Called by several threads.
  virtual double integral(std::size_t pixel, std::size_t view, float stored) const = 0;
  /// Returns the value to store for it.
  virtual float stored(std::size_t pixel, std::size_t view, double integral) const = 0;
};

struct FilledValues {
  ReplacedValues replaced;
  double rms = 0;  ///< of the errors that the filling of bad pixels has at good ones; 0: it was not learned
  LostEdges edges = {};
};

/// Fills both. Throws InputError that names the stack if no pixel is good. within_views: nothing is taken from other
/// views, so that each has what it has alone.
FilledValues fill_unmeasured(const VolumeSource& stack, const Unmeasured& unmeasured, const RayValues& values,
                             bool within_views, const std::string& name);

/// Fills NaN and infinite line integrals in the same way. Reads the stack once, and again if there are any.
FilledValues fill_nonfinite(const VolumeSource& line_integrals, bool within_views, const std::string& name);

/// Neighbours on both sides: value and distance; NaN where there is none.
struct NeighbourPair {
  double low, high, to_low, to_high;
};
/// Returns the value between pairs of neighbours; NaN without any.
double between(std::span<const NeighbourPair> pairs);

/// Fills values that fail in single views; part of fill_unmeasured().
void fill_failing(const VolumeSource& stack, const Unmeasured& unmeasured, const RayValues& values, bool within_views,
                  ReplacedValues& replaced);

}  // namespace halocline
