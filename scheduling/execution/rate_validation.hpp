// Compares the time of a run with the prediction, and discards the measured rates where they do not fit.
#pragma once

#include <string>
#include <vector>

#include "host/opencl/device.hpp"
#include "scheduling/execution/run.hpp"

namespace halocline {

/// The plan with predictions for the iterations that were done: a method may stop early.
Plan plan_of_completed_work(const RunResult& result);

/// "too low" if a run took less than 0.6 of its predicted time, "too high" if more than twice that; else, or for runs
/// below 0.2 s, empty.
std::string rate_deviation(double predicted, double seconds);

/// Discards the rates of all `devices` (forget_rates()) if the run's time contradicts them: rates that were measured on
/// busy devices would spoil all later plans.
void validate_rates(const RunResult& result, const std::vector<Device>& devices);

}  // namespace halocline
