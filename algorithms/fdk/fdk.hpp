// Filtered back-projection of circular scans: cone beam (Feldkamp, Davis & Kress 1984), fan beam (a detector of one
// row) and parallel beam, and the noise variance of the result (Borsdorf et al. 2008).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/fdk/ramp.hpp"
#include "algorithms/fdk/redundancy.hpp"
#include "algorithms/fdk/upright_rows.hpp"
#include "algorithms/preprocessing/counts.hpp"
#include "algorithms/projectors/backprojection.hpp"
#include "host/typed_volume.hpp"

namespace halocline {

struct FdkParameters {
  Window window = Window::ram_lak;
  double cutoff = 1;                    ///< fraction of the detector's highest frequency, in (0, 1]
  bool hardware_interpolation = false;  ///< interpolate in the texture units (8-bit fractions on most GPUs)
  bool half_texels = false;             ///< there, of projections in half precision: faster, see VoxelDriven::Options
  RedundancyOptions redundancy = {};    ///< short scans and displaced detectors are weighted by themselves
  /// Rows that the detector cuts off go on by this fraction of their length, in [0, 1], before they are filtered, with
  /// the slope that they have and down to 0 (Ohnesorge et al. 2000). Not on the short side of a displaced detector.
  double pad = 0;
  /// If set, the projections are a detector's counts, which become line integrals as they are read. A plan needs no
  /// calibration.
  struct Counts {
    const CountsCalibration* calibration = nullptr;
    Component stored = Component::float32;  ///< or uint16, which takes half the time on the bus
  };
  std::optional<Counts> counts = std::nullopt;
  /// The detector's noise: I ~ Poisson(photons * exp(-p)) + N(0, electronic^2). With counts I is the signal, and
  /// `photons` those that a count stands for; the noise of flats and darks is left out.
  struct Noise {
    double photons = 1e5;
    double electronic = 0;
  };
  /// If set, the result is not the attenuation but the variance of each voxel, in 1/mm^2, for projections with this
  /// noise, independent from pixel to pixel.
  std::optional<Noise> variance = std::nullopt;
  /// Warn of what check_fdk() and check_fdk_views() return, but for a variance; false where the caller has, or
  /// reconstructs again and again.
  bool tell = true;
  /// Filter across the rotation axis where the detector's rows are not (UprightRows); false: along the rows, which is
  /// an approximation for small angles, but leaves pixels as they are.
  bool upright_rows = true;
  /// Rows whose transform is no longer than this, a power of two, are filtered in local memory (row_filter.hpp); 0:
  /// none. Unless it is set, fdk() and Slices take longest_local_rows() of their devices, and plans none.
  std::optional<std::size_t> longest_local_rows = std::nullopt;
};

/// The rows that are filtered: on a flat detector (a cylindrical one is projected onto the plane that touches it), or
/// on an upright one where rows are not across the rotation axis, as wide as back-projection reads them.
struct FilteredRows {
  std::optional<UprightRows> upright;  ///< if rows are not across the axis
  Geometry geometry;                   ///< of the views on that detector
  Grid measured;                       ///< the stack on it
  Grid padded;                         ///< the same with the columns that a displaced detector lacks
  std::size_t before = 0;              ///< of these, how many come before the measured ones
  std::size_t low_extent = 0;          ///< columns that a truncated row goes on by, on either side
  std::size_t high_extent = 0;
  std::size_t length = 0;  ///< of the Fourier transform
};
/// earlier: the rows of views that came before, whose upright detector is kept if it is large enough.
FilteredRows filtered_rows(const Geometry& geometry, const Grid& projections, const FdkParameters& parameters,
                           const FilteredRows* earlier = nullptr);

/// The weights and the ramp filter of FDK: from "raw" (projections, input) to "spectrum", whose pairs of real rows are
/// then filtered (cl/fdk.cl). What back-projects takes them from there.
class FdkFilter {
 public:
  /// before: the filter of views that came earlier (filtered_rows()).
  FdkFilter(const Geometry& geometry, const Grid& projections, const FdkParameters& parameters,
            const FdkFilter* before = nullptr);
  /// From now on view n is order[n] of the geometry.
  void take_in_order(const std::vector<int>& order);
  const FilteredRows& rows() const { return rows_; }
  const Redundancy& redundancy() const { return redundancy_; }
  /// Whether arrays that the other declared serve this one, and its rows stand in the same columns.
  bool fits(const FdkFilter& other) const;
  /// Adds arrays and kernels.
  void declare(Requirements& requirements) const;
  /// Lets slabs hold the detector rows as well that replacements of bad pixels come from; unless resampled() they are
  /// the rows that are filtered.
  void hold_rows_read(Requirements& requirements) const;
  /// Whether the rows that are filtered lie between those that are measured.
  bool resampled() const { return cylinder_ || rows_.upright.has_value(); }
  /// The measured rows that these rows need.
  Range rows_read(Range rows) const;
  void start(Slab& slab) const;
  void run(Slab& slab, Range views) const;
  /// Rows of "spectrum" to "filtered", as `layout` (options of filtered.clh) says, with its work-items.
  void unpack(Slab& slab, Range views, const std::string& layout, std::array<std::size_t, 3> items) const;

 private:
  void find_rows_read(const Geometry& geometry, const Grid& projections);
  void weight(Slab& slab, Range views) const;
  std::string count_options() const;
  std::string weight_options() const;
  /// "raw" to "spectrum" in one kernel.
  void run_local(Slab& slab, Range views) const;
  std::vector<SlabArgument> weight_arguments(Slab& slab, Range views) const;

  FdkParameters parameters_;
  std::size_t raw_columns_, raw_rows_;
  FilteredRows rows_;
  Redundancy redundancy_;
  bool general_, cylinder_;                           // weighted by fdk_general.cl; from a cylindrical detector
  bool local_;                                        // filtered by fdk_rows.cl
  std::vector<float> filter_, weights_, beams_;       // the latter two: of the views in their order
  std::array<std::array<float, 4>, 2> correlations_;  // of pixels along u and v, see fdk_general.cl
  std::vector<Range> rows_read_;                      // a row, if resampled
};

/// f(x) = sum over views of gap/2 * SDD/SID * 1/du * [(p w K cos gamma) * h](u, v) / d^2, with the angular gap of each
/// view, the detector's pitch du, cos gamma = SDD/sqrt(SDD^2 + u^2 + v^2) and d = (SID - s)/SID for s towards the
/// source. u and v count from the foot of the perpendicular from the source. w shares the weight of rays measured twice
/// (Redundancy), K is 1 unless the detector is tilted about its rows or the source stands aside (fdk_general.cl).
/// Parallel beam: gap * 1/du * K [p * h](u, v). Rows that are not across the rotation axis are resampled (UprightRows).
/// The volume comes in 1/mm.
class Fdk : public BackprojectionMethod {
 public:
  /// devices: that are to run it; they decide how projections lie in memory.
  Fdk(const Geometry& geometry, const Grid& projections, const Grid& grid, const FdkParameters& parameters,
      std::span<const DeviceModel> devices = {});
  Requirements requirements() const override;
  std::vector<int> order() const override { return voxels_.order(); }
  void check_device(const DeviceInfo& device) const { voxels_.check_device(device); }
  void start(Slab& slab) const override;
  void filter(Slab& slab, Range views) const override;
  void accumulate(Slab& slab, Range views, Range slices) const override;
  Range rows_read(Range rows) const override { return filter_.rows_read(rows); }

 private:
  bool variance_;
  FdkFilter filter_;
  VoxelDriven voxels_;
};

/// The parameters with longest_local_rows set for these devices.
FdkParameters with_row_filter(const FdkParameters& parameters, const std::vector<Device>& devices);

/// Throws InputError for a cut-off, a padding or a noise that cannot be.
void check_fdk_parameters(const FdkParameters& parameters);

/// Throws InputError unless the scan can be reconstructed: the stack has as many views as the geometry, its rows lie
/// along u, the arc is long enough and the detector well placed (redundancy_of; a parallel beam needs 180 degrees), and
/// the detector sees some of the volume. Returns what is worth telling of the views together: repeated or disordered
/// ones, slanted rows that stay so (slant_that_stays()), a short scan, a displaced detector.
std::vector<std::string> check_fdk(const Geometry& geometry, const Grid& projections, const Grid& grid,
                                   const std::string& projections_name = "the projections",
                                   const std::string& geometry_name = "the geometry",
                                   const RedundancyOptions& redundancy = {});

/// Throws InputError if the detector's rows stand far too steep in some view, as check_fdk does. Returns what is worth
/// telling of single views, by their numbers: steep rays, suspicious_views(). For all views of a scan at
/// once, of which check_fdk may get a part. numbers: see suspicious_views().
std::vector<std::string> check_fdk_views(const Geometry& geometry, const Grid& grid,
                                         const std::string& geometry_name = "the geometry",
                                         std::span<const std::size_t> numbers = {});

/// Reconstructs `projections` (line integrals) on `grid`. Throws InputError as check_fdk does and for bad parameters,
/// PlanError, ClError, BuildError, Interrupted.
RunResult fdk(const Volume& projections, const Geometry& geometry, const Grid& grid, const FdkParameters& parameters,
              const std::vector<Device>& devices, const RunOptions& options = {});

/// The same of projections in their own type, float32 or, for counts, uint16 (parameters.counts->stored is set here).
RunResult fdk(const TypedVolume& projections, const Geometry& geometry, const Grid& grid,
              const FdkParameters& parameters, const std::vector<Device>& devices, const RunOptions& options = {});

/// The same without a volume in host memory: the slices go to `output`, whose grid they lie on, as they are done;
/// RunResult::output stays empty.
RunResult fdk_into(const TypedVolume& projections, const Geometry& geometry, VolumeSink& output,
                   const FdkParameters& parameters, const std::vector<Device>& devices, const RunOptions& options = {});

/// The same without projections in host memory: float32 values are read from `projections` as they are uploaded, for
/// each slab those of its detector rows. `stack`: where they lie.
RunResult fdk_into(const VolumeSource& projections, const Grid& stack, const Geometry& geometry, VolumeSink& output,
                   const FdkParameters& parameters, const std::vector<Device>& devices, const RunOptions& options = {});

/// What fdk() would do.
Plan plan_fdk(const Geometry& geometry, const Grid& projections, const Grid& grid, const FdkParameters& parameters,
              const std::vector<DeviceModel>& models, const PlanOptions& options = {});

}  // namespace halocline
