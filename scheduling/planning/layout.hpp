// Layout of slabs over the volume and the devices: the part of the planner that knows what fits.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "scheduling/planning/plan.hpp"

namespace halocline {

/// The slab of `interior`: with the halos of `iterations` iterations, cut at the volume's faces, its detector rows (at
/// least one, none without a stack) and its bytes with `views` in a batch.
SlabPlan make_slab(const Requirements& requirements, int device, Range interior, int iterations, int views);

/// The time-skewed region `interior` of a device's `block`, with all slices that it may hold in passes of up to
/// `iterations`.
SlabPlan make_region(const Requirements& requirements, int device, Range block, Range interior, int iterations);

/// One slab a device, in order of slices, that cover the volume and fit; thickness by the devices' speeds. Nothing if
/// they do not fit, or are fewer than `minimum_slabs` (as far as there are slices).
std::optional<std::vector<SlabPlan>> lay_out_resident(const Requirements& requirements,
                                                      std::span<const DeviceModel> devices, int iterations, int views,
                                                      int minimum_slabs);

/// A block for each device, cut into as few streamed slabs as fit; `bytes` of each is that of the device's arrays,
/// which are as large as the largest of them needs. Nothing if not even single slices fit. Slabs of iterative methods
/// are time-skewed regions (skew.hpp), whose arrays the requirements must contain.
std::optional<std::vector<SlabPlan>> lay_out_streamed(const Requirements& requirements,
                                                      std::span<const DeviceModel> devices, int iterations, int views,
                                                      int minimum_slabs);

/// Candidates for the views of a batch, of at most `views`: from the preferred one down by halves, or the requested
/// one. 0 alone where there are no views.
std::vector<int> batch_candidates(const Requirements& requirements, int views, const PlanOptions& options);

/// True where the plan can be carried out for these requirements: the same sizes, arrays, halos, iterations and
/// detector rows.
bool is_plan_of(const Plan& plan, const Requirements& requirements);

bool one_slab_a_device(std::span<const SlabPlan> slabs);

}  // namespace halocline
