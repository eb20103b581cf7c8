// Statistical weights of rays: the inverse variance of line integrals from counts.
#pragma once

#include "algorithms/preprocessing/counts.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

/// I^2 / (I + electronic^2) for I = photons exp(-p), the inverse variance of p = -ln(I / photons) with Poisson counts
/// and normal noise of the electronics (Thibault et al. 2006), for each line integral p of a stack that the caller
/// keeps: computed as they are read. `photons`: of the open beam in a pixel; `electronic`: standard deviation in
/// photons. Throws InputError that names the parameter if one is not finite, `photons` not positive or `electronic`
/// negative.
class WeightsOfCounts : public VolumeSource {
 public:
  WeightsOfCounts(const VolumeSource& line_integrals, double photons, double electronic);
  const Grid& grid() const override { return line_integrals_.grid(); }
  void read(std::size_t first, std::size_t count, float* to) const override;

 private:
  const VolumeSource& line_integrals_;
  double photons_, electronic2_;
};

/// The mean count of the open beam in a pixel. Counts are photons if the detector's gain is 1.
double open_beam(const CountsCalibration& calibration);

}  // namespace halocline
