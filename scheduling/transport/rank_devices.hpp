// The devices of all ranks as one list, which each of them plans with, and one tuning for those of a model.
#pragma once

#include <string>
#include <vector>

#include "host/opencl/device.hpp"
#include "host/volume/run_sums.hpp"
#include "scheduling/planning/plan.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {

/// The ranks that carry out a plan, or the plans with these options.
inline Ranks& ranks_of(const Plan& plan) {
  return plan.several_ranks() ? ranks() : one_rank();
}
inline Ranks& ranks_of(const PlanOptions& options) {
  return options.all_devices.empty() ? one_rank() : ranks();
}

/// These options for plans of this rank's devices alone.
PlanOptions of_this_rank(PlanOptions options);

/// A device, as ranks tell each other.
struct RankDevice {
  DeviceModel model;
  std::string tuned_model;  // host/opencl/tuned_values.hpp
  Tuning tuning;            // of which the model has what plans depend on
};

/// A rank's devices as bytes that keep all numbers as they are, and back.
std::string packed(const std::vector<RankDevice>& devices);
std::vector<RankDevice> unpacked(const std::string& bytes, int rank);

/// Gives the devices of a model the tuning of the first of them, in order of ranks, that is tuned for the most kinds of
/// work (Tuning::classes). Returns a line for each model of which one had another.
std::vector<std::string> take_one_tuning(std::vector<RankDevice>& devices);

/// Sets PlanOptions::all_devices and rank to the models of these and the other ranks' devices, if there are several
/// ranks; all of them call it. These devices get the tuning that take_one_tuning() gives them, and the options its
/// lines as notes. Throws InputError that names a rank whose devices are of another kind than the first one's: results
/// are the same on devices of a kind.
void plan_with_all(PlanOptions& options, const std::vector<Device>& devices, Ranks& ranks);

/// Models of the devices for which programs are made that are planned with these options: those of all ranks, or these.
std::vector<DeviceModel> models_of_all(const std::vector<Device>& devices, const PlanOptions& options);

/// Throws Error if the plans of the ranks differ.
void require_same_plan(const Plan& plan, Ranks& ranks);

/// The range of the values that the ranks of a plan have each seen a part of.
ValueRange range_of_all(const Plan& plan, ValueRange own);

}  // namespace halocline
