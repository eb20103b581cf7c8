// Filtered back-projection of circular scans: cone beam (Feldkamp, Davis & Kress 1984), fan beam (a detector of one
// row) and parallel beam, and the noise variance of the result (Borsdorf et al. 2008).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/backprojection.hpp"
#include "algorithms/ramp.hpp"

namespace halocline {

struct FdkParameters {
  Window window = Window::ram_lak;
  double cutoff = 1;                    ///< fraction of the detector's highest frequency, in (0, 1]
  bool hardware_interpolation = false;  ///< interpolate in the texture units (8-bit fractions on most GPUs)
  /// The detector's noise: I ~ Poisson(photons * exp(-p)) + N(0, electronic^2).
  struct Noise {
    double photons = 1e5;
    double electronic = 0;
  };
  /// If set, the result is not the attenuation but the variance of each voxel, in 1/mm^2, for projections with this
  /// noise, independent from pixel to pixel.
  std::optional<Noise> variance = std::nullopt;
};

/// f(x) = sum over views of gap/2 * SDD/SID * 1/du * [(p cos gamma) * h](u, v) / w^2, with the angular gap of each
/// view, the detector's pitch du, cos gamma = SDD/sqrt(SDD^2 + u^2 + v^2) and w = (SID - s)/SID for s towards the
/// source. u and v count from the foot of the perpendicular from the source. Parallel beam: gap * 1/du * [p * h](u, v).
/// The volume comes in 1/mm.
class Fdk : public BackprojectionMethod {
 public:
  Fdk(const Geometry& geometry, const Grid& projections, const Grid& grid, const FdkParameters& parameters);
  Requirements requirements() const override;
  void start(Slab& slab) const override;
  void filter(Slab& slab, Range views) const override;
  void accumulate(Slab& slab, Range views) const override;

 private:
  Grid projections_;
  FdkParameters parameters_;
  std::size_t length_;  // of a padded row
  std::vector<float> filter_, weights_;
  VoxelDriven voxels_;
};

/// Throws InputError unless the scan can be reconstructed: the stack has as many views as the geometry, its rows lie
/// along u, no arc is missing (cone and fan beam need the full circle, a parallel beam 180 degrees), and the detector
/// sees some of the volume. Returns what is worth telling: repeated or disordered views, a displaced detector.
std::vector<std::string> check_fdk(const Geometry& geometry, const Grid& projections, const Grid& grid,
                                   const std::string& projections_name = "the projections",
                                   const std::string& geometry_name = "the geometry");

/// Reconstructs `projections` (line integrals) on `grid`. Throws InputError as check_fdk does and for bad parameters,
/// PlanError, ClError, BuildError, Interrupted.
RunResult fdk(const Volume& projections, const Geometry& geometry, const Grid& grid, const FdkParameters& parameters,
              const std::vector<Device>& devices, const RunOptions& options = {});

/// What fdk() would do.
Plan plan_fdk(const Geometry& geometry, const Grid& projections, const Grid& grid, const FdkParameters& parameters,
              const std::vector<DeviceBudget>& budgets, const PlanOptions& options = {});

}  // namespace halocline
