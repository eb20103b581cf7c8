// Primal-dual iterations in single passes over memory (cl/pdu_fused.cl): which form, in which tiles.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/opencl/device_info.hpp"
#include "scheduling/slabs/slab.hpp"

namespace halocline {

constexpr int most_stages = 2;  ///< iterations a pass

/// Way in which PDU and S-PDU iterate. Every form gives bitwise identical results for the same dual_bits.
struct FusedForm {
  int stages = 0;      ///< iterations a pass, 1 or 2; 0: two kernels that work in place, with the least memory
  int dual_bits = 32;  ///< of a stored component of the dual: 32 (float) or 16 (parts of lambda); 32 with 0 stages
};

/// All forms, which self-checks, tuning and benches read.
constexpr FusedForm fused_forms[] = {{0, 32}, {1, 32}, {1, 16}, {2, 32}, {2, 16}};

/// "in-place", or stages x bits of a stored dual ("2x16").
std::string fused_form_name(const FusedForm& form);

/// Least bytes of one iteration of a voxel. In place the dual kernel reads u and reads and writes q (28), the primal
/// kernel reads f and q and reads and writes u (24), and weights are read in both; a fused pass reads u and f (and w)
/// and writes u, and reads and writes q as it is stored, once for all its stages.
double fused_bytes(bool weighted, const FusedForm& form);

/// Cost for the planner: over the share of a copy's rate that the form reaches on an H200
/// (benchmarks/results/nvidia-h200.md).
KernelCost fused_cost(bool weighted, const FusedForm& form);

/// Work-groups of one compilation of the kernel.
struct FusedTile {
  int stages = 1, columns = 1, x = 1, y = 1;
  std::size_t items() const { return static_cast<std::size_t>(x) * static_cast<std::size_t>(y); }
  std::size_t local_bytes() const;
};

/// The largest tile that the device takes, of those measured to be fast, for rows of nx voxels.
FusedTile fused_tile(const DeviceInfo& device, int stages, std::size_t nx);

/// True if the device takes passes of so many iterations, and the shorter one that may be left at the end.
bool takes_stages(const DeviceInfo& device, int stages, std::size_t nx);

/// Slices a work-group streams through so that all compute units end at about the same time.
int fused_chunk(const FusedTile& tile, const DeviceInfo& device, std::size_t nx, std::size_t ny, std::int64_t slices);

/// The form that was measured to be fastest on devices like all of these (see benchmarks/results/nvidia-h200.md) and is
/// bitwise identical to the kernels in place; nothing if one of them is of a kind that was not measured.
std::optional<FusedForm> known_form(std::span<const DeviceModel> devices);

/// One pass of steps.size() iterations on `core`, or a part of one. The arrays are those of Pdu (weighted: and
/// "w"), and a "new_" one for each of u, qx, qy, qz, which gets the result. steps: dual steps along x, y, z and theta
/// of an iteration.
void launch_fused(Slab& slab, int dual_bits, bool weighted, Range core, const std::array<float, 3>& inverse_spacing,
                  float lambda, std::span<const std::array<float, 4>> steps);

/// The new arrays change places with the old ones, after the pass or its last part.
void advance_fused(Slab& slab);

}  // namespace halocline
