// Compares the time of a run with the prediction, and discards the measured rates where they do not fit.
#pragma once

#include <string>
#include <vector>

#include "host/opencl/device.hpp"
#include "scheduling/execution/run.hpp"

namespace halocline {

/// The prediction for the iterations that were done: a method may stop before its last one.
Plan plan_of_completed_work(const RunResult& result);

/// Which way the rates were wrong by which a run of `seconds` seconds was predicted to take `predicted`: "too low" if
/// it took less than 0.6 of that, "too high" if more than twice that. Empty: neither, or less than 0.2 s, which is too
/// short to judge.
std::string rate_deviation(double predicted, double seconds);

/// Rates that were measured while something else kept the devices busy would spoil all later plans, and exclude
/// devices: where the run's time says so, those of `devices`, all of which the planner had to choose from, are
/// forgotten (forget_rates()).
void validate_rates(const RunResult& result, const std::vector<Device>& devices);

}  // namespace halocline
