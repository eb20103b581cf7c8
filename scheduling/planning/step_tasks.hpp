// Order in which a device works on the slabs and batches of a step, and the transfers between them. Pure C++: the
// executor carries it out and the planner counts it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scheduling/planning/plan.hpp"
#include "scheduling/planning/program.hpp"
#include "scheduling/planning/ray_chain.hpp"

namespace halocline {

/// Memory that holds a kept array between two tasks.
enum class Place {
  working,  ///< in the array that kernels use (volumes: the device's part)
  device,   ///< in another array of the device (ArrayRole::all_views)
  host,     ///< in host memory (scheduling/transport/transport.hpp)
};

Place place_of(const Plan& plan, const ArrayNeed& kept);
Place place_of(const Plan& plan, const std::string& kept);

/// Bytes of kept arrays in host memory, without inputs; of several ranks, those of the rank that has the most.
double bytes_on_host(const Plan& plan);

/// One slab and, except for Domain::slices, one batch of views.
struct Task {
  std::size_t slab = 0;  ///< in Plan::slabs
  Range views, rows;
  bool prepares = false;              ///< first task of the slab in this step
  bool begins = false;                ///< outputs of the step are cleared
  bool passes_on = false;             ///< ray_sums: the sums are then stored, for the slabs that go on with them
  std::vector<RayLink> follows = {};  ///< ray_sums: stored sums of other slabs that it goes on with
};
/// Tasks of one device, in order; `views`: of the step, `chain`: its chain. Each rank goes over all views of steps over
/// these, with its rows.
std::vector<Task> tasks_of(const Program& program, const Step& step, Range views, const Plan& plan, int device,
                           const RayChain& chain);

/// Contents of a device's arrays, and the transfers that change them.
class Residence {
 public:
  struct Part {
    Range range, rows;  ///< slices of a volume, views and rows of projections
    Range held = {};    ///< slices with the halos of the step, for loads
    bool operator==(const Part&) const = default;
  };
  struct Move {
    enum class Kind { load, store, zero } kind;
    std::string name;
    Part part;
  };

  explicit Residence(const Plan& plan) : plan_(plan) {}
  /// Transfers before kernels use `part` of the array. zero: it is cleared.
  std::vector<Move> before_use(const std::string& name, const Part& part, Access access, bool zero);
  /// Stores all changes; afterwards what had changed does not count as held.
  std::vector<Move> store_all();

 private:
  struct Held {
    Part part;
    bool changed = false;
  };
  const Plan& plan_;
  std::map<std::string, Held> held_;
};

/// Access of a task to an array of its step: sums continue those of other tasks.
Access access_in(const Task& task, const Step& step, Access access);

/// Part of an array that a task works on.
Residence::Part part_of_task(const Program& program, const Step& step, const ArrayAccess& array, const Plan& plan,
                             const Task& task);

/// Transfers before a task's kernels, and after them for the tasks that it passes its sums on to.
struct TaskMoves {
  std::vector<Residence::Move> before, after;
};
/// Transfers of all tasks of a step.
std::vector<TaskMoves> moves_of(const Program& program, const Step& step, const Plan& plan,
                                const std::vector<Task>& tasks);

/// Slices beside its own that a step's kernels read.
struct Halo {
  int low = 0, high = 0;
};
Halo halo_of(const Program& program, const Step& step);

/// Halos of a volume between resident slabs: slices of the slab that others read, and slices of others that it reads.
/// No range is empty.
struct SharedHalo {
  std::vector<Range> offered, fetched;
};
SharedHalo shared_halo(const Halo& halo, const Plan& plan, std::size_t slab);
/// Volumes whose halos must be updated before a step.
std::vector<std::string> volumes_to_share(const Program& program, const Step& step, const Plan& plan);
/// Volumes whose slices beside a rank's own it needs before a step, from other ranks.
std::vector<std::string> volumes_beside(const Program& program, const Step& step, const Plan& plan);
/// Volumes in host memory that a step writes and reads with a halo: results are stored in a second array there
/// (ArrayRole::next), and the two are swapped at the end of the step.
std::vector<std::string> volumes_to_replace(const Program& program, const Step& step, const Plan& plan);

/// A stack of projections, and the bytes of a row of it.
struct RayStack {
  std::string array;
  std::size_t row = 0;
};
/// The kept stacks that a step writes.
std::vector<RayStack> written_stacks(const Step& step, const Plan& plan);
/// The stacks of the state that checkpoints have.
std::vector<RayStack> stacks_of_state(const Plan& plan);

/// Throws std::logic_error where the program has no room for a step's halo, or a volume is not declared for it.
void check_halos(const Program& program);

/// Bytes over the bus, both ways, of a step and of the whole program.
double count_step_bytes(const Program& program, const Step& step, Range views, const Plan& plan);
double count_program_bytes(const Program& program, const Plan& plan);

}  // namespace halocline
