// What a plan costs: bytes over the bus, and a simple estimate of the time by which the planner compares plans.
#pragma once

#include "scheduling/plan.hpp"

namespace halocline {

/// The method makes projections of a volume, and the devices share its views; every one of them sees all slabs.
bool shares_views(const Requirements& requirements);

/// Exchanges between slabs (or visits to slabs that do not stay on their device): iterations by iterations per
/// exchange.
double count_passes(const Requirements& requirements, int iterations_per_exchange);

/// Bytes over the bus, both ways, of a plan whose other fields are set.
double count_bus_bytes(const Plan& plan);

/// Seconds of the slowest device; good to compare plans of the same work, not a forecast.
double estimate_seconds(const Plan& plan);

}  // namespace halocline
