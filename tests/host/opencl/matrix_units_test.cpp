// labels: unit
#include "host/opencl/matrix_units.hpp"

#include <gtest/gtest.h>

namespace halocline {
namespace {

TEST(MatrixUnits, AreTakenByDriverAndDevice) {
  const auto of = [](const char* platform, const char* name, unsigned lanes = 0) {
    return matrix_units_of({.name = name, .platform = platform, .matrix_lanes = lanes});
  };
  const char *amd = "AMD Accelerated Parallel Processing", *intel = "Intel(R) OpenCL Graphics";
  EXPECT_EQ(of("NVIDIA CUDA", "NVIDIA H200"), MatrixUnits::nvidia);
  for (const char* name : {"gfx908:sramecc+:xnack-", "gfx90a", "gfx942", "gfx950"})
    EXPECT_EQ(of(amd, name), MatrixUnits::amd_64) << name;
  for (const char* name : {"gfx1100", "gfx1102", "gfx1151", "gfx1201"})
    EXPECT_EQ(of(amd, name), MatrixUnits::amd_32) << name;
  for (const char* name : {"gfx906", "gfx90c", "gfx1030", "gfx1250", "AMD"})
    EXPECT_EQ(of(amd, name), MatrixUnits::none) << name;
  EXPECT_EQ(of("rusticl", "gfx1100"), MatrixUnits::none);
  EXPECT_EQ(of(intel, "Intel(R) Arc(TM) A770 Graphics", 8), MatrixUnits::intel_8);
  EXPECT_EQ(of(intel, "Intel(R) Data Center GPU Max 1550", 16), MatrixUnits::intel_16);
  EXPECT_EQ(of(intel, "Intel(R) Iris(R) Xe Graphics"), MatrixUnits::none);
  EXPECT_EQ(of("Portable Computing Language", "pthread"), MatrixUnits::none);
}

}  // namespace
}  // namespace halocline
