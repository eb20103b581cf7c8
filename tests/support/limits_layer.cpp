// An OpenCL layer (CL/cl_layer.h; OPENCL_LAYERS names it to the loader) that lets devices report smaller limits, and
// refuses what breaks them with the error of a real device. HALOCLINE_LIMITS is a list with commas, e.g.
// "gpu=1,group=64,layers=16":
//   platform=TEXT, vendor=TEXT, name=TEXT   names that are reported instead
//   programs=FOLDER   every program that is built is written there, as FOLDER/<hash>.cl: a comment with its options,
//                     then its text
//   gpu=1       the devices are GPUs
//   group=N     work-items of a work-group: CL_INVALID_WORK_GROUP_SIZE
//   kernel=N    the same of each kernel that is not compiled for a size (CL_KERNEL_WORK_GROUP_SIZE)
//   items=N     work-items of a group along each axis: CL_INVALID_WORK_ITEM_SIZE
//   local=N     bytes of local memory: CL_OUT_OF_RESOURCES
//   array=N     bytes of a buffer: CL_INVALID_BUFFER_SIZE
//   side=N      width and height of an image, layers=N layers of an array: CL_INVALID_IMAGE_SIZE
//   images=0    no images: CL_INVALID_OPERATION
//   pointers=0  compilers refuse a pointer to float2 for one to float4, as clang 22 does: CL_BUILD_PROGRAM_FAILURE
//   matrix=N    sub-groups of N work-items that multiply matrices, by Intel's extension
//   bits=32     addresses of so many bits
//   fp64=0      no float64: programs that are to use it do not compile
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl_layer.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/support/opencl_layer.hpp"

namespace {

const cl_icd_dispatch* target = nullptr;  // the next layer, or the drivers
std::map<std::string, std::size_t> limits;
std::map<std::string, std::string> texts;

bool has(const char* name) {
  return limits.contains(name);
}

std::size_t limit(const char* name) {
  const auto found = limits.find(name);
  return found == limits.end() ? static_cast<std::size_t>(-1) : found->second;
}

void read(const std::string& text) {
  std::istringstream in(text);
  for (std::string entry; std::getline(in, entry, ',');)
    if (const auto equals = entry.find('='); equals != std::string::npos) {
      const std::string name = entry.substr(0, equals), value = entry.substr(equals + 1);
      limits[name] = std::strtoull(value.c_str(), nullptr, 10);
      texts[name] = value;
    }
}

// Answers a query for a text with the one of that name, if there is one.
bool replaced(const char* name, size_t size, void* value, size_t* size_ret, cl_int& code) {
  const auto found = texts.find(name);
  if (found == texts.end()) return false;
  const std::size_t bytes = found->second.size() + 1;
  code = value != nullptr && size < bytes ? CL_INVALID_VALUE : CL_SUCCESS;
  if (value != nullptr && code == CL_SUCCESS) std::memcpy(value, found->second.c_str(), bytes);
  if (size_ret != nullptr) *size_ret = bytes;
  return true;
}

template <class Number>
void lower(void* value, std::size_t most) {
  auto* number = static_cast<Number*>(value);
  *number = std::min(*number, static_cast<Number>(most));
}

void lower_sizes(void* value, std::size_t bytes, std::size_t most) {
  for (std::size_t n = 0; n < bytes / sizeof(std::size_t); ++n)
    lower<std::size_t>(static_cast<std::size_t*>(value) + n, most);
}

// Writes spaces instead of the name: the length is unchanged.
void take_out(char* list, const char* name) {
  if (char* found = std::strstr(list, name)) std::memset(found, ' ', std::strlen(name));
}

// Answers a query for Intel's sub-groups.
cl_int sub_group_sizes(size_t size, void* value, size_t* size_ret) {
  const std::size_t sizes[] = {limit("matrix"), 32};
  if (value != nullptr && size < sizeof sizes) return CL_INVALID_VALUE;
  if (value != nullptr) std::memcpy(value, sizes, sizeof sizes);
  if (size_ret != nullptr) *size_ret = sizeof sizes;
  return CL_SUCCESS;
}

// The device's extensions and Intel's of matrices.
std::string with_matrices(cl_device_id device) {
  std::size_t bytes = 0;
  target->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, nullptr, &bytes);
  std::string list(bytes, ' ');
  target->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, bytes, list.data(), nullptr);
  return std::string(list.c_str()) + " cl_intel_subgroup_matrix_multiply_accumulate";
}

cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info name, size_t size, void* value,
                                     size_t* size_ret) {
  cl_int code = CL_SUCCESS;
  if (name == CL_PLATFORM_NAME && replaced("platform", size, value, size_ret, code)) return code;
  return target->clGetPlatformInfo(platform, name, size, value, size_ret);
}

cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t size, void* value,
                                   size_t* size_ret) {
  std::size_t bytes = 0;
  cl_int code = CL_SUCCESS;
  if (name == CL_DEVICE_NAME && replaced("name", size, value, size_ret, code)) return code;
  if (name == CL_DEVICE_VENDOR && replaced("vendor", size, value, size_ret, code)) return code;
  constexpr cl_device_info sub_group_sizes_intel = 0x4108;
  if (has("matrix") && name == sub_group_sizes_intel) return sub_group_sizes(size, value, size_ret);
  if (has("matrix") && name == CL_DEVICE_EXTENSIONS) {
    texts["extensions"] = with_matrices(device);
    if (limit("fp64") == 0) take_out(texts["extensions"].data(), "cl_khr_fp64");
    replaced("extensions", size, value, size_ret, code);
    return code;
  }
  code = target->clGetDeviceInfo(device, name, size, value, &bytes);
  if (size_ret != nullptr) *size_ret = bytes;
  if (code != CL_SUCCESS || value == nullptr) return code;
  if (name == CL_DEVICE_TYPE && has("gpu")) *static_cast<cl_device_type*>(value) = CL_DEVICE_TYPE_GPU;
  if (name == CL_DEVICE_MAX_WORK_GROUP_SIZE) lower<std::size_t>(value, limit("group"));
  if (name == CL_DEVICE_MAX_WORK_ITEM_SIZES) lower_sizes(value, bytes, limit("items"));
  if (name == CL_DEVICE_LOCAL_MEM_SIZE) lower<cl_ulong>(value, limit("local"));
  if (name == CL_DEVICE_MAX_MEM_ALLOC_SIZE) lower<cl_ulong>(value, limit("array"));
  if (name == CL_DEVICE_IMAGE_MAX_ARRAY_SIZE) lower<std::size_t>(value, limit("layers"));
  if (name == CL_DEVICE_IMAGE2D_MAX_WIDTH || name == CL_DEVICE_IMAGE2D_MAX_HEIGHT)
    lower<std::size_t>(value, limit("side"));
  if (name == CL_DEVICE_IMAGE_SUPPORT && has("images")) lower<cl_bool>(value, limit("images"));
  if (name == CL_DEVICE_ADDRESS_BITS) lower<cl_uint>(value, limit("bits"));
  if (name == CL_DEVICE_EXTENSIONS && has("fp64")) take_out(static_cast<char*>(value), "cl_khr_fp64");
  return code;
}

bool compiled_for_a_size(cl_kernel kernel, cl_device_id device) {
  std::size_t compiled[3] = {};
  target->clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof compiled, compiled,
                                   nullptr);
  return compiled[0] > 0;
}

cl_int CL_API_CALL get_kernel_info(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info name, size_t size,
                                   void* value, size_t* size_ret) {
  const cl_int code = target->clGetKernelWorkGroupInfo(kernel, device, name, size, value, size_ret);
  if (code != CL_SUCCESS || value == nullptr || name != CL_KERNEL_WORK_GROUP_SIZE) return code;
  lower<std::size_t>(value, limit("group"));
  if (!compiled_for_a_size(kernel, device)) lower<std::size_t>(value, limit("kernel"));
  return code;
}

cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset,
                          const size_t* global, const size_t* local, cl_uint count, const cl_event* list,
                          cl_event* event) {
  cl_device_id device = nullptr;
  target->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, nullptr);
  std::size_t items = 1;
  for (cl_uint axis = 0; local != nullptr && axis < dimensions; ++axis) {
    if (local[axis] > limit("items")) return CL_INVALID_WORK_ITEM_SIZE;
    items *= local[axis];
  }
  const std::size_t most =
      std::min(limit("group"), compiled_for_a_size(kernel, device) ? limit("group") : limit("kernel"));
  if (items > most) return CL_INVALID_WORK_GROUP_SIZE;
  cl_ulong bytes = 0;
  target->clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes, &bytes, nullptr);
  if (bytes > limit("local")) return CL_OUT_OF_RESOURCES;
  return target->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, list, event);
}

cl_mem refuse(cl_int* code, cl_int with) {
  if (code != nullptr) *code = with;
  return nullptr;
}

cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void* host, cl_int* code) {
  if (size > limit("array")) return refuse(code, CL_INVALID_BUFFER_SIZE);
  return target->clCreateBuffer(context, flags, size, host, code);
}

cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                const cl_image_desc* description, void* host, cl_int* code) {
  if (limit("images") == 0) return refuse(code, CL_INVALID_OPERATION);
  if (std::max(description->image_width, description->image_height) > limit("side") ||
      description->image_array_size > limit("layers"))
    return refuse(code, CL_INVALID_IMAGE_SIZE);
  return target->clCreateImage(context, flags, format, description, host, code);
}

std::mutex mutex;
std::set<cl_program> refused;
std::map<cl_program, std::string> sources;

// The file's name is a hash of its content, so that a program that is built again is written once.
void write_program(const std::string& options, const std::string& source) {
  const std::string text = "// options: " + options + "\n" + source;
  char name[32];
  std::snprintf(name, sizeof name, "/%016zx.cl", std::hash<std::string>{}(text));
  std::ofstream(texts["programs"] + name, std::ios::binary) << text;
}

// Options that the drivers under this layer do not know.
std::string known_options(const std::string& options) {
  static const std::regex of_intel("-cl-intel-[a-zA-Z0-9-]+");
  return std::regex_replace(options, of_intel, "");
}

cl_program CL_API_CALL create_program(cl_context context, cl_uint count, const char** texts, const size_t* lengths,
                                      cl_int* code) {
  const cl_program program = target->clCreateProgramWithSource(context, count, texts, lengths, code);
  static const std::regex without_cast("float4 ?\\* ?\\w+ ?= ?\\w+;");
  const std::lock_guard lock(mutex);
  refused.erase(program);
  sources[program].clear();
  for (cl_uint n = 0; n < count; ++n) {
    const std::string text =
        lengths != nullptr && lengths[n] > 0 ? std::string(texts[n], lengths[n]) : std::string(texts[n]);
    sources[program] += text;
    if (limit("pointers") == 0 && std::regex_search(text, without_cast)) refused.insert(program);
  }
  return program;
}

cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                         void(CL_CALLBACK* notify)(cl_program, void*), void* data) {
  if (const std::lock_guard lock(mutex); refused.contains(program)) return CL_BUILD_PROGRAM_FAILURE;
  if (limit("fp64") == 0 && options != nullptr && std::strstr(options, "USE_FP64") != nullptr)
    return CL_BUILD_PROGRAM_FAILURE;
  const std::string given = options == nullptr ? "" : options;
  if (const std::lock_guard lock(mutex); has("programs") && sources.contains(program))
    write_program(given, sources[program]);
  return target->clBuildProgram(program, count, devices, known_options(given).c_str(), notify, data);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void* value,
                                                                         size_t* size_ret) {
  return layer_info("halocline limits", name, size, value, size_ret);
}

__attribute__((visibility("default"))) cl_int CL_API_CALL clInitLayer(cl_uint, const cl_icd_dispatch* next,
                                                                      cl_uint* count_ret,
                                                                      const cl_icd_dispatch** table_ret) {
  static cl_icd_dispatch table;
  target = next;
  table = *next;
  table.clGetPlatformInfo = get_platform_info;
  table.clGetDeviceInfo = get_device_info;
  table.clGetKernelWorkGroupInfo = get_kernel_info;
  table.clEnqueueNDRangeKernel = launch;
  table.clCreateBuffer = create_buffer;
  table.clCreateImage = create_image;
  table.clCreateProgramWithSource = create_program;
  table.clBuildProgram = build;
  if (const char* text = std::getenv("HALOCLINE_LIMITS")) read(text);
  *count_ret = sizeof table / sizeof(void*);
  *table_ret = &table;
  return CL_SUCCESS;
}

}  // extern "C"
