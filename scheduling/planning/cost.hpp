// What a plan costs: bytes over the bus, host memory and time. Every part is a small function, so that an executor
// which learns to do things at once changes one line here.
#pragma once

#include <vector>

#include "scheduling/planning/plan.hpp"

namespace halocline {

/// The method makes projections of a volume, and the devices share its views; every one of them sees all slabs.
bool shares_views(const Requirements& requirements);

/// Exchanges between slabs (or passes over streamed slabs): iterations by iterations per
/// exchange.
double count_passes(const Requirements& requirements, int iterations_per_exchange);

/// Units of work (KernelCost) of the whole job.
double count_units(const Requirements& requirements);

/// Units of work a second: as measured, else as many as the device's memory bandwidth allows.
double unit_rate(const KernelCost& cost, const Requirements& requirements, const DeviceModel& device);

/// Slices (of methods that make projections: views) a second of each device, kernels and transfers. Those within 5 % of
/// each other count as equal, and get the same number, so that equal devices get equal shares.
std::vector<double> throughputs(const Requirements& requirements, std::span<const DeviceModel> devices);

/// What a team of devices has to gain over a smaller one: a part of its time.
constexpr double worth_another = 0.02;

/// The devices' numbers, in teams that may work together: the fastest, and of those that are equally fast 1, 2, 4 ...
/// and all, those with the most memory first. Parts of a device go together. The smallest team first, all devices last.
/// DeviceModel::speed is as throughputs() says.
std::vector<std::vector<int>> possible_teams(std::span<const DeviceModel> devices);

/// The part of the views that each device takes, by speed; 0 for those that are excluded: what they would gain is less
/// than 2 %. Sums to 1.
std::vector<double> view_shares(const Plan& plan);

/// Numbers of the devices that take part in the plan.
std::vector<int> used_devices(const Plan& plan);

/// Bytes of a slice of the method's own volumes and slice arrays, by what happens to them; second arrays that take
/// turns (skew.hpp) do not count.
struct SliceBytes {
  double input = 0, state = 0, output = 0, all = 0;  // state: outputs too
  double held = 0;                                   // inputs that lie on the devices; outputs there count nowhere else
  int states = 0;                                    // arrays of state
};
SliceBytes slice_bytes(const Requirements& requirements);

/// Bytes over the bus, both ways, of a plan whose other fields are set.
double count_bus_bytes(const Plan& plan);

/// Bytes of host memory that a run of a plan holds besides inputs and result: the state of streamed slabs,
/// halos, memory for the bus, and the arrays of CPU devices.
double count_host_bytes(const Plan& plan);
/// Of these, the arrays that hold the state of streamed slabs: what a scratch folder can take
/// (host/system/scratch_folder.hpp).
double host_state_bytes(const Plan& plan);

/// Whether the result of an iterative method goes to where it belongs from the devices, and not by way of the state
/// that streamed slabs have on the host.
bool result_leaves_at_once(const Plan& plan);

/// Seconds that it takes a run of `from`, whose slabs are resident, to go on with those of `to`: the state through the
/// host, and the inputs again.
double move_seconds(const Plan& from, const Plan& to);

/// Seconds of the slowest device.
double estimate_seconds(const Plan& plan);

/// Of one device, each by itself.
struct PhaseSeconds {
  double upload = 0, kernels = 0, download = 0, waits = 0;
};

/// How many times as long transfers take because of what the host can send (PlanOptions::host_bandwidth): `bytes` of
/// all devices, of which the slowest would need `longest` seconds.
double congestion(double bytes, double longest, double host_bandwidth);

/// Seconds of phases that follow each other in `pieces` pieces, each of which overlaps with the other phases of its
/// neighbours: the longest phase, and what is left to do before its first and after its last piece. 1 piece: the sum.
double pipelined(const PhaseSeconds& phases, double pieces);

}  // namespace halocline
