// Arrays that live from one step to the next without a program that names them all beforehand: a plan places them, and
// is made again when more of them are wanted than it has room for.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "scheduling/execution/device_parts.hpp"
#include "scheduling/planning/program_plan.hpp"
#include "scheduling/transport/transport.hpp"

namespace halocline {

class Session {
 public:
  /// Of one volume and one stack of projections, whose sizes extend() tells.
  Session(std::vector<Device> devices, PlanOptions options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// What steps need that are performed later: sizes, arrays of their own (not volumes and projections that outlive
  /// them), what fills these, halos, detector rows. The program's steps are examples, by whose cost the plan is made.
  void extend(const Program& program);
  /// Steps over slices read so many slices beside their own.
  void extend_halo(int low, int high);

  /// An array of float32 over the volume or the projections, whose contents are not defined, and its name. Throws
  /// PlanError where it does not fit.
  std::string allocate(ArrayKind kind);
  void release(const std::string& name);

  /// Works on the arrays as a program would (scheduling/planning/program.hpp); steps that write a volume and read its
  /// neighbours are not for sessions. Kernels may be under way when it returns. Throws ClError, BuildError, PlanError,
  /// Interrupted.
  void perform(const Step& step);
  /// All of an array from and to the host.
  void write(const std::string& name, const VolumeSource& from);
  void read(const std::string& name, VolumeSink& to);
  /// Until all kernels have ended.
  void wait();

  const Plan& plan();
  const std::vector<Device>& devices() const { return devices_; }
  const std::vector<DeviceModel>& models() const { return models_; }
  /// Moved so far.
  double bus_bytes() const { return traffic_.total(); }

 private:
  void plan_again();
  void take(Plan plan);
  bool add_in_place(const Plan& next);
  void trim();
  void save_arrays();
  bool stays(const std::string& name) const { return place_of(plan_, name) != Place::host; }
  bool is_enqueued(const Step& step) const;
  std::size_t bytes_of(const std::string& name) const;
  void hold(const std::string& name);

  std::vector<Device> devices_;
  PlanOptions options_;
  std::vector<DeviceModel> models_;
  Program program_;
  Plan plan_;
  bool planned_ = false;     // the plan has all that was asked for
  bool views_stay_ = false;  // all arrays are whole where kernels use them
  BusTraffic traffic_;
  Transport transport_;
  DeviceThreads threads_;
  std::unique_ptr<DeviceParts> parts_;
  std::set<std::string> used_, free_;  // arrays
  int allocated_ = 0;
};

}  // namespace halocline
