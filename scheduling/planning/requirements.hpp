// Sizes, arrays and costs that an algorithm declares for the planner. Pure C++, no OpenCL.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "scheduling/planning/range.hpp"

namespace halocline {

/// volume: nx * ny elements a slice of the slab with its halos, whose number, and `more_slices`, is rounded up to a
/// multiple of `slice_step`. slice: `elements` a slice of the slab with its halos, rounded up so, too. projections:
/// `row_length` (default: detector columns) * `rows` (default: those of the slab) * views of the batch. image: an image
/// array as wide as the detector and `rows` high (default: as the detector, whatever rows the slab needs), of a layer
/// for every `layer_views` views of the batch (default: `components`, which is one each). planes: the volume's voxels
/// as an image array of float32 or half, `components` a texel, see plane_extent(). fixed: `elements` in all.
enum class ArrayKind { volume, slice, projections, image, planes, fixed };

/// Space of an array. volume: the voxel grid, which slabs of slices with halos share. projections: the stack (u, v,
/// view), in batches of views and bands of detector rows. fixed: each device has all of it.
enum class Space { volume, projections, fixed };
constexpr Space space_of(ArrayKind kind) {
  switch (kind) {
    case ArrayKind::volume:
    case ArrayKind::slice:
    case ArrayKind::planes:
      return Space::volume;
    case ArrayKind::projections:
    case ArrayKind::image:
      return Space::projections;
    case ArrayKind::fixed:
      break;
  }
  return Space::fixed;
}

/// input: read from the host. state: kept from iteration to iteration, saved between passes. scratch: lost after use.
/// output: a state that is the result. sums: a `slice` array of doubles that the host adds up over the volume.
/// iteration: kept from step to step within an iteration (program.hpp).
enum class Lifetime { input, state, scratch, output, sums, iteration };

/// Loop of a step.
enum class Domain {
  slices,    ///< every slab of the volume: reads and writes volumes, voxel by voxel
  views,     ///< every batch of views: reads and writes projections, pixel by pixel
  ray_sums,  ///< each slab adds its part to every ray, in ascending order of slices: reads a volume, writes projections
  voxel_sums,  ///< every batch of views adds to each slab, in order: reads projections, writes a volume
};

/// Relation of an array that the planner adds to the declared array after which it is named.
enum class ArrayRole {
  own,            ///< declared by the program
  next,           ///< alternates with the declared one
  all_views,      ///< all views of projections of which kernels use a batch
  seam,           ///< slices of a region that the next one reads (skew.hpp)
  second_buffer,  ///< its transfers overlap with kernels on the declared one
  spare           ///< a second buffer of projections for any array (second_buffers.hpp)
};

/// Name of an array for plans and messages.
std::string name_in_role(ArrayRole role, const std::string& declared);

struct ArrayNeed {
  std::string name;
  ArrayKind kind = ArrayKind::volume;
  Lifetime lifetime = Lifetime::scratch;
  std::size_t element_bytes = 4;
  std::size_t components = 1;
  std::size_t elements = 0;     // kinds slice and fixed
  std::size_t row_length = 0;   // kind projections: 0 = detector columns
  std::size_t rows = 0;         // kinds projections and image; 0: the slab's
  std::size_t slice_step = 1;   // kinds volume and slice, arrays that only kernels access
  std::size_t more_slices = 0;  // ... beyond those of the slab and its halos
  int layer_views = 0;          // kind image: 0 = components
  int axis = 0;                 // kind planes
  bool halo_inout = false;      // volumes that a step both writes and reads with a halo
  bool on_device = false;       // input or output that resides on the devices
  ArrayRole role = ArrayRole::own;
  bool operator==(const ArrayNeed&) const = default;
};

/// A scratch array of the same shape in another role.
ArrayNeed in_role(ArrayRole role, const ArrayNeed& declared);

/// Part of the state of an iterative method, saved between passes and in checkpoints.
inline bool is_state(const ArrayNeed& need) {
  return need.lifetime == Lifetime::state || need.lifetime == Lifetime::output;
}

/// Cost of kernels for the planner. A unit of work is a voxel and an iteration; for voxel sums a voxel and a view; for
/// ray sums a pixel and a plane of voxels across its ray.
struct KernelCost {
  std::string name;            ///< name of a device's measured rate (DeviceModel::rates); empty: never measured
  double bytes = 0;            ///< bytes that a plain copy moves in the time of one unit; 0: every array twice
  double pixel_bytes = 0;      ///< the same for filtering one pixel of a view
  double reduction_bytes = 0;  ///< the same for a voxel and a reduction
};

/// Form of a program, for which there is an executor.
enum class ProgramForm {
  stencil,     ///< iterations over a volume, in slabs that are resident or streamed in time-skewed regions
  voxel_sums,  ///< a volume from projections: batches of views into slabs, which devices take from a queue
  ray_sums,    ///< projections of a volume: slabs into batches of views, which devices share
  steps        ///< any steps: tasks of a slab and a batch (step_tasks.hpp)
};

struct Requirements {
  std::string algorithm;
  ProgramForm form = ProgramForm::stencil;
  std::array<std::size_t, 3> size{1, 1, 1};   // of the volume; slabs are ranges of the last axis
  std::array<std::size_t, 3> stack{0, 0, 0};  // of the projections (columns, rows, views); 0: none
  std::vector<ArrayNeed> arrays;
  int iterations = 1;
  int halo_low = 0, halo_high = 0;         // slices that one iteration reads beyond those it computes
  int reduction_halo = 0;                  // slices beside the interior that a reduction needs
  bool reduction_every_iteration = false;  // every iteration is a barrier over all slabs
  std::vector<int> reductions;             // iterations done at the reductions, ascending, without the one at the end
  /// Reductions can change or end the iterations that follow. false: iterations need not wait for them.
  bool reductions_steer = true;
  int together = 1;                  // iterations that one launch can take
  bool takes_parts = false;          // StencilLoop::takes_parts()
  int border_slices = 0;             // smallest thickness of the parts at the border, up to a quarter of the slab
  std::vector<std::string> kernels;  // for the plan's text
  /// Detector rows that a range of slices needs, in programs of steps only by voxel_sums; empty: all.
  std::function<Range(Range slices)> detector_rows;
  int preferred_batch = 16;  // views at a time, memory allowing
  int batch_step = 1;        // divides a batch and the stack
  int largest_part = 0;      // programs of steps: views of the largest subset; 0: all
  KernelCost cost;

  Range slices() const { return {0, static_cast<std::int64_t>(size[2])}; }
  Range rows() const { return {0, static_cast<std::int64_t>(stack[1])}; }
  Range views() const { return {0, static_cast<std::int64_t>(stack[2])}; }
};

inline bool is_iterative(const Requirements& requirements) {
  return requirements.form == ProgramForm::stencil;
}

/// Elements along the axes of a whole volume or stack of projections (ArrayNeed::row_length, rows).
std::array<std::size_t, 3> whole_extent(const ArrayNeed& need, const Requirements& requirements);

/// Width, height and layers of an array of kind planes for a slab of `slices`: a layer for each plane across index axis
/// `axis`, with (j, k), (i, k) or (i, j) along width and height. Slices along the height are rounded up to a power of
/// two: texture units may scale coordinates by the height, and results must not depend on the slab's.
std::array<std::size_t, 3> plane_extent(const ArrayNeed& need, const Requirements& requirements, std::int64_t slices);

/// Width, height and layers of an array of kind image for `views` in a batch.
std::array<std::size_t, 3> image_extent(const ArrayNeed& need, const Requirements& requirements, std::int64_t views);

/// Bytes of one array for a slab of `slices` (halos included), `rows` detector rows and `views` in a batch. The planner
/// and the allocation both use this function, so what is declared is what is allocated.
std::size_t array_bytes(const ArrayNeed& need, const Requirements& requirements, std::int64_t slices, std::int64_t rows,
                        std::int64_t views);
/// Bytes of a whole volume or stack of projections.
std::size_t whole_bytes(const ArrayNeed& need, const Requirements& requirements);

}  // namespace halocline
