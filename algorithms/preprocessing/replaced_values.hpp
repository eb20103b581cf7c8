// Values of a projection stack that replace those that were not measured.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "algorithms/preprocessing/projection_part.hpp"
#include "host/volume/typed_volume.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

/// Counts or line integrals, as the stack (u, v, view) has them. Rays without a measurement are just these.
struct ReplacedValues {
  struct Value {
    std::uint32_t pixel;  ///< of the detector
    float value;
  };
  std::size_t pixels = 0;                 ///< of the detector
  std::vector<std::vector<Value>> views;  ///< of each view, by ascending pixels; none: nothing is replaced

  std::size_t count() const;
  bool empty() const { return count() == 0; }
  /// Returns those of these views of the stack.
  ReplacedValues of_views(const std::vector<std::size_t>& chosen) const;
  /// Puts them into `count` values from number `first` of the stack on. Twice makes no difference.
  void put(std::size_t first, std::size_t count, float* values) const;
  /// Puts all of them into a stack, as whole numbers if the type has such.
  void put(TypedVolume& stack) const;
  /// Returns whether these values are in the stack.
  bool are_in(const TypedVolume& stack) const;
};

/// A stack with the values in place of those stored in it. Both must outlive it.
class MendedSource : public VolumeSource {
 public:
  MendedSource(const VolumeSource& source, const ReplacedValues& replaced) : source_(source), replaced_(replaced) {}
  const Grid& grid() const override { return source_.grid(); }
  void read(std::size_t first, std::size_t count, float* to) const override;
  std::size_t bus_bytes() const override { return source_.bus_bytes(); }

 private:
  const VolumeSource& source_;
  const ReplacedValues& replaced_;
};

/// Multiplies the weights of a part's bins by the share of their pixels that measured: 0 where none did. `replaced`: of
/// the whole stack.
void withhold(const ReplacedValues& replaced, const ProjectionPart& part, std::size_t columns, Volume& weights);
/// Sets the weights of a whole stack to 0 there.
void withhold(const ReplacedValues& replaced, Volume& weights);

/// Columns at the left and right edges of the detector without a good pixel. They are continued from one side, so what
/// the object has there is lost.
struct LostEdges {
  std::size_t columns = 0;
  double integral = 0;  ///< line integral put there: mean over the rows, of the view where it is largest

  /// Returns whether the object reaches them: air has 0, and beams waver by a tenth.
  bool hide_the_object() const { return columns > 0 && integral > 0.1; }
};

}  // namespace halocline
