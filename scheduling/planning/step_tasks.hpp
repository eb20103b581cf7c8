// The order in which a device works on the slabs and batches of a program's step, and what has to move for it. Pure
// C++: the executor carries it out and the planner counts it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scheduling/planning/plan.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline {

/// Memory that holds a kept array between two tasks.
enum class Place {
  working,  ///< it is whole in the array that kernels use (volumes: the device's part of them)
  device,   ///< in another array of the device (ArrayRole::all_views)
  host,     ///< with the transport (scheduling/transport/transport.hpp), in host memory
};

Place place_of(const Plan& plan, const ArrayNeed& kept);
Place place_of(const Plan& plan, const std::string& kept);

/// Bytes of kept arrays that lie with the transport; inputs are there anyway.
double bytes_on_host(const Plan& plan);

/// One slab and, but for Domain::slices, one batch of views.
struct Task {
  std::size_t slab = 0;  ///< in Plan::slabs
  Range views, rows;
  bool prepares = false;   ///< the slab's first of this step
  bool begins = false;     ///< what the step writes is to be 0
  bool passes_on = false;  ///< ray_sums: after it the batch goes on to the device with the next slabs
};
/// Those of one device, in order; `views`: over which the step goes.
std::vector<Task> tasks_of(const Program& program, const Step& step, Range views, const Plan& plan, int device);

/// What an array of a device holds, and what has to move for it to hold something else.
class Residence {
 public:
  struct Part {
    Range range, rows;  ///< slices of a volume, views and rows of projections
    Range held = {};    ///< slices with the halos that the step reads, which a load brings
    bool operator==(const Part&) const = default;
  };
  struct Move {
    enum class Kind { load, store, zero } kind;
    std::string name;
    Part part;
  };

  explicit Residence(const Plan& plan) : plan_(plan) {}
  /// Before kernels use `part` of the array. zero: they are to find zeros there.
  std::vector<Move> enter(const std::string& name, const Part& part, Access access, bool zero);
  /// What has changed goes to where it lies, and nothing counts as held any more.
  std::vector<Move> leave();

 private:
  struct Held {
    Part part;
    bool changed = false;
  };
  const Plan& plan_;
  std::map<std::string, Held> held_;
};

/// What a task does with an array of its step: sums go on from what other tasks left.
Access access_in(const Task& task, const Step& step, Access access);

/// The part of an array of its step that a task works on.
Residence::Part part_of_task(const Program& program, const Step& step, const ArrayAccess& array, const Plan& plan,
                             const Task& task);

/// What has to move before a task's kernels, and after them for the device that it passes on to.
struct TaskMoves {
  std::vector<Residence::Move> before, after;
};
/// For each of a step's tasks.
std::vector<TaskMoves> moves_of(const Program& program, const Step& step, const Plan& plan,
                                const std::vector<Task>& tasks);

/// Slices beside those that a step's kernels work on which they read.
struct Halo {
  int low = 0, high = 0;
};
Halo halo_of(const Program& program, const Step& step);

/// Halos of a volume between resident slabs: slices of the slab that others read, and those of others
/// that it reads. No range is empty.
struct SharedHalo {
  std::vector<Range> offered, fetched;
};
SharedHalo shared_halo(const Halo& halo, const Plan& plan, std::size_t slab);
/// Volumes whose halos have to be brought up to date before a step.
std::vector<std::string> volumes_to_share(const Program& program, const Step& step, const Plan& plan);
/// Volumes that lie with the transport, that a step writes and whose neighbours it reads as they were: what it writes
/// goes to its successor there (ArrayRole::next), and the two change their names when the step ends.
std::vector<std::string> volumes_to_replace(const Program& program, const Step& step, const Plan& plan);

/// Throws std::logic_error where a step reads more halo than the program has room for, or of a volume that it writes
/// and that is not declared so.
void check_halos(const Program& program);

/// Bytes of a step over the bus, both ways, and of the whole program.
double count_step_bytes(const Program& program, const Step& step, Range views, const Plan& plan);
double count_program_bytes(const Program& program, const Plan& plan);

}  // namespace halocline
