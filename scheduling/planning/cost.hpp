// Cost of a plan: bytes over the bus, host memory and time.
#pragma once

#include <vector>

#include "scheduling/planning/plan.hpp"

namespace halocline {

/// True where devices share the views of a projection, and each works on all slabs.
bool shares_views(const Requirements& requirements);

/// Number of exchanges between slabs, or of passes over streamed slabs.
double count_passes(const Requirements& requirements, int iterations_per_exchange);

/// Units of work (KernelCost) of the whole job.
double count_units(const Requirements& requirements);

/// Units of work a second: measured, or what the device's memory bandwidth allows.
double unit_rate(const KernelCost& cost, const Requirements& requirements, const DeviceModel& device);

/// Slices (for projections: views) a second of each device, kernels and transfers. Rates within 5 % of each other are
/// averaged, so that equal devices get equal shares.
std::vector<double> throughputs(const Requirements& requirements, std::span<const DeviceModel> devices);

/// Fraction of its time that a larger team of devices must save.
constexpr double worth_another = 0.02;

/// Teams of device numbers, the smallest first, all devices last: the fastest, and of equally fast ones 1, 2, 4 ... and
/// all, those with the most memory first. Parts of a split device stay in one team. DeviceModel::speed holds
/// throughputs().
std::vector<std::vector<int>> possible_teams(std::span<const DeviceModel> devices);

/// Fraction of the views for each device, by speed; 0 for devices that would gain less than 2 %. Sums to 1.
std::vector<double> view_shares(const Plan& plan);

/// Numbers of the devices that take part in the plan.
std::vector<int> used_devices(const Plan& plan);

/// Bytes of a slice of the method's volumes and slice arrays, without second buffers (skew.hpp).
struct SliceBytes {
  double input = 0, state = 0, output = 0, all = 0;  // state includes outputs
  double held = 0;                                   // inputs that reside on devices
  int states = 0;                                    // arrays of state
};
SliceBytes slice_bytes(const Requirements& requirements);

/// Bytes over the bus, both ways, of a plan whose other fields are set.
double count_bus_bytes(const Plan& plan);

/// Bytes of host memory that a run needs besides inputs and result: state of streamed slabs, halos, staging, and the
/// arrays of CPU devices.
double count_host_bytes(const Plan& plan);
/// Part of it that a scratch folder can hold: the state of streamed slabs (host/system/scratch_folder.hpp).
double host_state_bytes(const Plan& plan);

/// True where the result is written from the devices, and not from the state of streamed slabs in host memory.
bool result_leaves_at_once(const Plan& plan);

/// Seconds to change from the resident slabs of `from` to those of `to`: the state through the host, and the inputs
/// again.
double move_seconds(const Plan& from, const Plan& to);

/// Seconds of the slowest device.
double estimate_seconds(const Plan& plan);

/// Seconds of one device's phases, without overlap.
struct PhaseSeconds {
  double upload = 0, kernels = 0, download = 0, waits = 0;
};

/// Factor by which the host's limit (PlanOptions::host_bandwidth) slows down transfers of `bytes` in all, of which the
/// slowest device alone would need `longest` seconds.
double congestion(double bytes, double longest, double host_bandwidth);

/// Seconds of phases in `pieces` pieces, each of which overlaps with the other phases of its neighbours: the longest
/// phase, and the rest before its first and after its last piece. 1 piece: the sum.
double pipelined(const PhaseSeconds& phases, double pieces);

}  // namespace halocline
