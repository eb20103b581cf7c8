// labels: device
// Projectors whose move fails stay where they were: a layer makes calls of OpenCL fail (tests/CMakeLists.txt).
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "algorithms/expressions/expression.hpp"
#include "algorithms/solvers/projector_operator.hpp"
#include "host/system/error.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/fault_layer.hpp"
#include "tests/support/same_bits.hpp"

namespace halocline::moving_faults_test {
namespace {

using namespace expressions;
using reference::device;

const Grid grid = default_grid({19, 17, 13}, {1.7, 2, 2.3});
const Grid stack = reference::detector(23, 11, 3, 2.1, 1.9);

// Joseph's rays along i need an array that those along j do not.
Geometry scan_from(double angle) {
  return circular_geometry({.sid = 150, .sdd = 230, .angles = {angle, angle + 2, angle + 4}});
}

LinearOperator projector_on(const Context& on, double angle) {
  return projector(on, scan_from(angle), grid, stack, Projector::joseph);
}

std::pair<Volume, Volume> both_directions(const LinearOperator& A) {
  return {read(A * uniform(A.domain(), 1)), read(adjoint(A) * uniform(A.range(), 2))};
}

void expect_bits(const LinearOperator& A, double angle) {
  const auto found = both_directions(A), expected = both_directions(projector_on(Context(device()), angle));
  EXPECT_TRUE(same_bits(found.first, expected.first));
  EXPECT_TRUE(same_bits(found.second, expected.second));
}

class MovingFaults : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Calls, MovingFaults, testing::Values("allocation", "enqueue"));

TEST_P(MovingFaults, LeaveTheProjectorWhereItWas) {
  device();  // which loads the layer
  void* library = ::dlopen(HALOCLINE_FAULT_LAYER, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) GTEST_SKIP() << "the OpenCL loader has not loaded OPENCL_LAYERS=" << HALOCLINE_FAULT_LAYER;
  const auto arm = reinterpret_cast<HaloclineFaultArm*>(::dlsym(library, "halocline_fault_arm"));
  const double along_j = -4, along_i = 86;
  constexpr int calls = 12;  // of a move, and some more; tests' writes to new arrays may fail without an error
  int failed = 0;
  for (int call = 1; call <= calls; ++call) {
    const Context on(device());
    const LinearOperator A = projector_on(on, along_j);
    const Array x = uniform(A.domain(), 3);
    const Volume values = read(x);
    both_directions(A);
    arm((std::string(GetParam()) + ":" + std::to_string(call) + ":-4:once").c_str());
    bool fails = false;
    try {
      A.move_to(scan_from(along_i));
    } catch (const ClError&) {
      fails = true, ++failed;
    }
    arm("");
    expect_bits(A, fails ? along_j : along_i);
    EXPECT_TRUE(same_bits(read(x), values)) << "call " << call;
    A.move_to(scan_from(along_i));
    expect_bits(A, along_i);
  }
  EXPECT_GT(failed, 0);
}

}  // namespace
}  // namespace halocline::moving_faults_test
