// Descriptions of machines, of which a plan is then made.
// lines of: scheduling/planning/machine.cpp
#include "scheduling/planning/machine.hpp"

#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

void machine(const std::string& bytes) {
  const Machine machine = read_machine(file_of("input.json", bytes));
  for (const DeviceModel& device : machine.devices)
    require(device.memory > 0 && device.memory_bandwidth > 0 && device.bus_bandwidth > 0, "a device of no size");
}
const Registered registered("machine", machine);

}  // namespace
}  // namespace halocline::fuzz
