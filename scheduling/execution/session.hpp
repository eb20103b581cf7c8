// Session: steps one by one, on arrays that are allocated at any time. A plan places them, and is made again when it
// has no room for another.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "scheduling/execution/device_parts.hpp"
#include "scheduling/planning/program_plan.hpp"
#include "scheduling/transport/transport.hpp"

namespace halocline {

/// Steps that are kept, and their kernels with all arguments.
struct KeptJob {
  std::vector<Step> steps;
  KeptSteps kernels;
  bool stale = false;  ///< the steps may have other kernels now
};

class Session {
 public:
  /// A session on one volume and one stack of projections, whose sizes extend() sets.
  Session(std::vector<Device> devices, PlanOptions options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Adds the needs of later steps: sizes, arrays of their own (not volumes and projections that outlive them) and
  /// their contents, halos, detector rows. The program's steps are examples, by whose cost plans are made.
  void extend(const Program& program);
  /// The same at once. Throws PlanError, and adds nothing, where it does not fit.
  void extend_now(const Program& program);
  /// Adds arrays beside the others, and halos, at once; where they have no room there, as extend_now().
  void add_arrays(const Program& program);
  /// Fills the fixed arrays of a program that extend() added again, after all steps from before: their contents, and
  /// the kernels of its steps, have changed.
  void refill(const Program& program);
  /// Adds the halo that steps over slices read.
  void extend_halo(int low, int high);

  /// Allocates a float32 volume or stack of projections with undefined contents, and returns its name. Throws PlanError
  /// where it does not fit.
  std::string allocate(ArrayKind kind);
  void release(const std::string& name);

  /// Performs a step; not one that writes a volume and reads its neighbours. May return before kernels have ended.
  /// Throws ClError, BuildError, PlanError, Interrupted.
  void perform(const Step& step);
  /// Performs steps, and keeps their kernels with all arguments for replay(). Throws InputError for steps that are not
  /// kernels of one device that holds all arrays, and as perform() does.
  std::shared_ptr<KeptJob> keep(std::vector<Step> steps);
  /// Enqueues kept steps again, with the arrays' present values. Throws InputError if the arrays have been placed again
  /// since keep(), ClError, Interrupted.
  void replay(KeptJob& job);
  /// Reads the beginning of a fixed array of their device once they have ended. Throws as replay() does.
  void read(const KeptJob& job, const std::string& name, void* to, std::size_t bytes);
  /// Copies a whole array from and to the host.
  void write(const std::string& name, const VolumeSource& from);
  void read(const std::string& name, VolumeSink& to);
  /// Waits for all kernels.
  void wait();

  const Plan& plan();
  const std::vector<Device>& devices() const { return devices_; }
  const std::vector<DeviceModel>& models() const { return models_; }
  /// Bytes over the bus so far.
  double bus_bytes() const { return traffic_.total(); }

 private:
  void plan_again();
  void adopt(Plan plan);
  bool add_in_place(const Plan& next);
  void trim();
  void save_arrays();
  bool on_devices(const std::string& name) const { return place_of(plan_, name) != Place::host; }
  bool is_enqueued(const Step& step) const;
  void require_enqueued(const Step& step) const;
  void require_bound(const KeptJob& job);
  void enqueue(KeptJob& job);
  void forget_kept();
  std::size_t bytes_of(const std::string& name) const;
  void hold(const std::string& name);

  std::vector<Device> devices_;
  PlanOptions options_;
  std::vector<DeviceModel> models_;
  Program program_;
  Plan plan_;
  bool planned_ = false;       // the plan has all arrays and needs
  bool all_resident_ = false;  // all arrays are whole and on the devices
  BusTraffic traffic_;
  Transport transport_;
  DeviceThreads threads_;
  std::unique_ptr<DeviceParts> parts_;
  std::set<std::string> used_, free_;  // arrays
  std::vector<std::weak_ptr<KeptJob>> kept_;
  int allocated_ = 0;
};

}  // namespace halocline
