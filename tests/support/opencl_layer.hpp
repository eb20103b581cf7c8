// Answers of every OpenCL layer of the tests to the loader.
#pragma once

#include <CL/cl_layer.h>

#include <cstddef>
#include <cstring>
#include <string>

/// The answer of clGetLayerInfo of a layer with this name.
inline cl_int layer_info(const std::string& layer, cl_layer_info name, std::size_t size, void* value,
                         std::size_t* size_ret) {
  const auto give = [&](const void* what, std::size_t bytes) -> cl_int {
    if (value != nullptr && size < bytes) return CL_INVALID_VALUE;
    if (value != nullptr) std::memcpy(value, what, bytes);
    if (size_ret != nullptr) *size_ret = bytes;
    return CL_SUCCESS;
  };
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  if (name == CL_LAYER_API_VERSION) return give(&version, sizeof version);
  if (name == CL_LAYER_NAME) return give(layer.c_str(), layer.size() + 1);
  return CL_INVALID_VALUE;
}
