// Matched pairs of forward and back-projection for parallel, fan and cone beam: named projectors that follow rays, and
// their exact adjoints. Both directions gather, so nothing depends on the order in which work-items run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/projectors/adjoint_bricks.hpp"
#include "algorithms/projectors/backprojection_method.hpp"
#include "algorithms/projectors/joseph_slices.hpp"
#include "algorithms/projectors/projection_method.hpp"
#include "algorithms/projectors/rays.hpp"
#include "algorithms/projectors/upright.hpp"
#include "host/volume/volume_source.hpp"
#include "scheduling/execution/run.hpp"

namespace halocline {

class UserProjector;

/// joseph: bilinear interpolation on the planes of the index axis that a ray follows most (Joseph 1982); the volume is
/// zero outside the centres of its outermost voxels' neighbours. siddon: exact lengths in voxels of constant value
/// (Siddon 1985). distance_driven: the overlap of pixels and voxels on those planes (De Man & Basu 2004; for tilted
/// detectors an approximation, see cl/distance_driven.cl). Detectors are flat or cylinders. Rays run from the source to
/// the detector; those of a parallel beam are whole lines.
/// Or one that a user wrote (user_projector.hpp).
class Projector {
 public:
  enum Named { joseph, siddon, distance_driven };
  constexpr Projector(Named named = joseph) : named_(named) {}
  Projector(UserProjector users);

  /// nullptr: a named one.
  const UserProjector* users() const { return users_.get(); }
  /// Throws std::logic_error for a user's.
  Named named() const;
  friend bool operator==(const Projector&, const Projector&) = default;

 private:
  Named named_ = joseph;
  std::shared_ptr<const UserProjector> users_;
};

std::vector<std::string> projector_names();
/// "joseph", "siddon", "distance-driven", or the path of a user's projector, which ends in ".cl". Throws InputError
/// that names `projector` and lists them, and as UserProjector::from_file().
Projector projector_from_name(const std::string& name);
std::string projector_name(const Projector& projector);
/// "the projector joseph", "the projector 'own.cl'".
std::string projector_text(const Projector& projector);

struct ProjectionParameters {
  Projector projector = Projector::joseph;
  /// Joseph's interpolation in the texture units (8-bit fractions on most GPUs) instead of in float32. backproject() is
  /// then the adjoint to those fractions only.
  bool hardware_interpolation = false;
  /// There, textures of the volume in half precision (11 bits) where views share texels: twice as fast.
  bool half_texels = false;
  /// There, the largest magnitude of a voxel, to which the range of half precision is fitted. project() finds it.
  double largest_voxel = 1;
  /// Joseph and Siddon read the volume as images, and Joseph interpolates in float32: bitwise identical to reading
  /// buffers (which are read where a detector is a cylinder or rays end within the volume). project() and
  /// plan_project() take them for Siddon where they are faster.
  bool images = false;
  /// Buffers in the form for GPUs, not in those for CPUs, which take neighbouring pixels in vectors; Joseph's hold a
  /// second copy of the volume. project() and plan_project() set it by their devices. It changes no bit.
  bool gpu = false;
  /// Hardware interpolation: views half a turn apart share, two by two, the fetches of textures of two channels.
  /// project() and plan_project() set it by their devices. It changes no bit beyond the rounding of coordinates.
  bool texel_pairs = false;
  /// Joseph's buffers with slices innermost, where every ray runs within a slice (slice_rows()). project() and
  /// plan_project() take it where slices_innermost_pay(). It changes no bit.
  bool slices_innermost = false;
  /// Buffers with slices innermost and a detector column's rays side by side, where these differ along k alone
  /// (upright_form()). It changes no bit of Joseph's, and the last ones of Siddon's, without rays in faces, and of
  /// distance-driven.
  bool upright = false;
};

/// Key of Siddon's projection in Tuning::choices, and its values: images_form, too.
inline constexpr const char* siddon_form_choice = "Siddon's projection";
inline constexpr const char* buffers_form = "buffers";

/// A x: line integrals through the pixel centres.
class RayProjection : public ProjectionMethod {
 public:
  /// Throws InputError for hardware interpolation with a projector that does not interpolate, with a cylindrical
  /// detector or where rays end within the volume, and for images with a projector that has no such form.
  RayProjection(const Geometry& geometry, const Grid& volume, const Grid& projections,
                const ProjectionParameters& parameters = {});
  Requirements requirements() const override;
  void start(Slab& slab) const override;
  ViewTables view_tables() const override;
  std::vector<int> order() const override { return order_; }
  std::function<Range(Range)> crossed_rows() const override { return crossed_rows_; }
  /// Throws InputError if the volume is to be images and the device cannot hold it.
  void check_device(const DeviceInfo& device) const override;
  void loaded(Slab& slab) const override;
  void project(Slab& slab, Range views, const Scalars& scalars) const override;

 private:
  bool turned() const;
  /// Form of the kernels that read buffers: results are bitwise identical in all of them. portable: a ray a work-item.
  /// slices: with slices innermost (cl/joseph_slices.cl). upright: so, too, a column's rays side by side
  /// (cl/upright.clh). lanes: for CPUs, pixels of a row in vectors
  /// (cl/joseph_lanes.cl, cl/siddon_lanes.cl, cl/distance_driven_lanes.cl).
  enum class Form { portable, slices, upright, lanes };
  Form form() const;
  bool images() const { return (parameters_.images || parameters_.hardware_interpolation) && table_.plain(); }
  /// True if planes across that axis are read as images.
  bool planes_across(int axis) const;
  std::string image_options(int axis) const;
  void stack_slices(Slab& slab) const;
  void project_slices(Slab& slab, Range views) const;
  void stack_upright(Slab& slab) const;
  void project_upright(Slab& slab, Range views) const;

  Grid volume_, projections_;
  ProjectionParameters parameters_;
  int pack_ = 1;            // views that share a texel
  std::vector<int> order_;  // in packs of views a half or a quarter of a turn apart; empty: in the order of the stack
  RayTable table_;
  std::optional<SliceRows> slice_rows_;
  std::optional<UprightForm> upright_;
  Form form_;
  bool faces_;  // of voxels, in which rays may run: cl/siddon_faces.clh
  std::function<Range(Range)> crossed_rows_;
};

/// A^T y, of the A that RayProjection computes: <A x, y> = <x, A^T y> to float32's rounding.
class RayBackprojection : public BackprojectionMethod {
 public:
  /// gpu: Joseph's adjoint in a form for GPUs (cl/joseph_stacks.cl), not in that for CPUs (cl/joseph_tiles.cl), and
  /// fewer slices a work-item of the others. It changes no bit.
  /// brick: for GPUs, the projector's adjoint in bricks of that shape (cl/bricks.clh) where bricks_take(). It
  /// changes the last bits; the shape changes none.
  RayBackprojection(const Geometry& geometry, const Grid& projections, const Grid& volume, Projector projector,
                    bool gpu = false, const AdjointBrick* brick = nullptr);
  Requirements requirements() const override;
  void start(Slab& slab) const override;
  ViewTables view_tables() const override;
  void filter(Slab& slab, Range views, const Scalars& scalars) const override;
  void accumulate(Slab& slab, Range views, Range slices, const Scalars& scalars) const override;

 private:
  Grid projections_, volume_;
  Projector projector_;
  RayTable table_;
  bool faces_;                     // of voxels, in which rays may run: cl/siddon_faces.clh
  bool tiles_, stacks_, upright_;  // forms of Joseph's adjoint: for CPUs, for GPUs where no ray follows k, without tilt
  std::optional<AdjointBrick> brick_;  // if in bricks
  int slices_per_item_;                // but for tiles, as measured (benchmarks/results/nvidia-h200.md)
  std::vector<float> matrices_;        // 12 a view
  std::function<Range(Range)> detector_rows_;

  bool keeps_ends() const;  // in "values"
  void declare_bricks(Requirements& requirements) const;
  void filter_bricks(Slab& slab, Range views) const;
  void accumulate_bricks(Slab& slab, Range views, Range slices) const;
};

/// Throws InputError as check_grid and check_projections do, and for a cylindrical detector whose images are turned in
/// their plane.
void check_projection_grids(const Geometry& geometry, const Grid& volume, const Grid& projections);

/// Projections of `volume` on the stack `projections` (u, v, view). Throws InputError as check_projections, check_grid
/// and make_rays do, PlanError, ClError, BuildError, Interrupted.
RunResult project(const Volume& volume, const Geometry& geometry, const Grid& projections,
                  const ProjectionParameters& parameters, const std::vector<Device>& devices,
                  const RunOptions& options = {});
/// Projects by Joseph's method.
RunResult project(const Volume& volume, const Geometry& geometry, const Grid& projections,
                  const std::vector<Device>& devices, const RunOptions& options = {});

/// Projects from and to wherever the voxels are stored; RunResult::output stays empty. Values are not examined.
RunResult project_into(const VolumeSource& volume, const Geometry& geometry, VolumeSink& projections,
                       const ProjectionParameters& parameters, const std::vector<Device>& devices,
                       const RunOptions& options = {});

/// The adjoint of project() with the same projector, on the stack `projections`. Throws as project() does.
RunResult backproject(const Volume& projections, const Geometry& geometry, const Grid& volume, Projector projector,
                      const std::vector<Device>& devices, const RunOptions& options = {});
RunResult backproject_into(const VolumeSource& projections, const Geometry& geometry, VolumeSink& volume,
                           Projector projector, const std::vector<Device>& devices, const RunOptions& options = {});

/// Plans of the functions above.
Plan plan_project(const Geometry& geometry, const Grid& volume, const Grid& projections,
                  const ProjectionParameters& parameters, const std::vector<DeviceModel>& models,
                  const PlanOptions& options = {});
Plan plan_backproject(const Geometry& geometry, const Grid& projections, const Grid& volume, Projector projector,
                      const std::vector<DeviceModel>& models, const PlanOptions& options = {});

}  // namespace halocline
