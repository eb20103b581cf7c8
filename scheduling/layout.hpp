// How slabs are laid over the volume and the devices: the part of the planner that knows what fits.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "scheduling/plan.hpp"

namespace halocline {

/// The slab of `interior`: with the halos of `iterations` iterations between two exchanges, cut at the volume's faces,
/// its detector rows (at least one, none without a stack) and its bytes with `views` in a batch.
SlabPlan make_slab(const Requirements& requirements, int device, Range interior, int iterations, int views);

/// Slabs in order of slices that cover the volume and fit their devices: the slabs of a device share its arrays, which
/// are as large as the largest of them needs; that is what `bytes` of each then says. At least `minimum_slabs` (as far
/// as there are slices); thickness by the devices' speeds. One slab a device if that fits, else as few as fit. Nothing
/// if not even single slices fit.
std::optional<std::vector<SlabPlan>> lay_out(const Requirements& requirements, std::span<const DeviceBudget> devices,
                                             int iterations, int views, int minimum_slabs);

/// No device has more than one slab.
bool one_slab_a_device(std::span<const SlabPlan> slabs);

}  // namespace halocline
