// How slabs are laid over the volume and the devices: the part of the planner that knows what fits.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "scheduling/planning/plan.hpp"

namespace halocline {

/// The slab of `interior`: with the halos of `iterations` iterations between two exchanges, cut at the volume's faces,
/// its detector rows (at least one, none without a stack) and its bytes with `views` in a batch.
SlabPlan make_slab(const Requirements& requirements, int device, Range interior, int iterations, int views);

/// The time-skewed region `interior` of a device's `block`, with all that it can have to hold in passes of up to
/// `iterations`.
SlabPlan make_region(const Requirements& requirements, int device, Range block, Range interior, int iterations);

/// One slab a device, in order of slices, that cover the volume and fit their devices; thickness by the devices'
/// speeds. Nothing if they do not fit, or if they are fewer than `minimum_slabs` (as far as there are slices).
std::optional<std::vector<SlabPlan>> lay_out_resident(const Requirements& requirements,
                                                      std::span<const DeviceModel> devices, int iterations, int views,
                                                      int minimum_slabs);

/// A block for each device, cut into as few slabs as fit, which are streamed. The slabs of a device share its arrays,
/// which are as large as the largest of them needs; that is what `bytes` of each then says. Nothing if not even single
/// slices fit. Those of iterative methods are time-skewed regions, see scheduling/planning/skew.hpp, whose arrays the
/// requirements have to hold.
std::optional<std::vector<SlabPlan>> lay_out_streamed(const Requirements& requirements,
                                                      std::span<const DeviceModel> devices, int iterations, int views,
                                                      int minimum_slabs);

/// Numbers of views in a batch to try, of at most `views`: from the preferred one down by halves, or the one that was
/// asked for. 0 alone where there are no views.
std::vector<int> batch_candidates(const Requirements& requirements, int views, const PlanOptions& options);

/// Whether a plan was made for these sizes, arrays, halos, iterations and detector rows, and so can be carried out for
/// them. Where inputs and outputs lie does not matter, nor what kernels cost.
bool is_plan_of(const Plan& plan, const Requirements& requirements);

/// No device has more than one slab.
bool one_slab_a_device(std::span<const SlabPlan> slabs);

}  // namespace halocline
