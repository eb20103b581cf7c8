// Devices that are open, and what jobs on them share.
#pragma once

#include <memory>
#include <vector>

#include "capi/include/halocline.h"
#include "host/opencl/device.hpp"
#include "host/opencl/fft.hpp"

namespace halocline::capi {

struct Context {
  std::vector<Device> devices;
  FftKernels kernels;  // so that runs after the first do not compile them
};

}  // namespace halocline::capi

struct halocline_context {
  std::shared_ptr<const halocline::capi::Context> shared;
};
