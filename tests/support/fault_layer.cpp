// An OpenCL layer (CL/cl_layer.h; OPENCL_LAYERS names it to the loader: ocl-icd from 2.3, Khronos' from 3.0) between a
// program and its drivers, that makes chosen calls fail: see fault_layer.hpp.
#include "tests/support/fault_layer.hpp"

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl_layer.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tests/support/opencl_layer.hpp"

namespace {

enum class Scope { once, kind, device, all, event };

struct Fault {
  std::string kind;
  long number = 0;
  cl_int code = 0;
  Scope scope = Scope::once;
};

const cl_icd_dispatch* target = nullptr;  // the next layer, or the drivers
std::mutex mutex;
Fault fault;
std::map<std::string, long> calls;
std::string first_failed;
long hits = 0, live = 0;
bool pretend_gpu = false;
cl_context failing = nullptr;  // from the fault on, for the scopes `kind` and `device`

Fault parsed(const std::string& text) {
  Fault result;
  std::istringstream in(text);
  std::string number, code, scope;
  std::getline(in, result.kind, ':');
  std::getline(in, number, ':');
  std::getline(in, code, ':');
  std::getline(in, scope, ':');
  result.number = std::atol(number.c_str());
  result.code = std::atoi(code.c_str());
  result.scope = scope == "kind"     ? Scope::kind
                 : scope == "device" ? Scope::device
                 : scope == "all"    ? Scope::all
                 : scope == "event"  ? Scope::event
                                     : Scope::once;
  return result;
}

void arm(const std::string& text) {
  const std::lock_guard lock(mutex);
  fault = parsed(text);
  calls.clear();
  first_failed.clear();
  hits = 0;
  failing = nullptr;
}

enum class Verdict { pass, fail, swallow };  // swallow: report success, do nothing

Verdict judge(const char* kind, const char* call, cl_context context) {
  const std::lock_guard lock(mutex);
  const long number = ++calls[kind];
  const bool here = fault.kind == kind && fault.number == number;
  if (here) failing = context;
  const bool later =
      failing != nullptr &&
      (fault.scope == Scope::all ||
       (failing == context && (fault.scope == Scope::device || (fault.scope == Scope::kind && fault.kind == kind))));
  if (!here && !later) return Verdict::pass;
  if (hits++ == 0) first_failed = call;
  return fault.code == 0 || (here && fault.scope == Scope::event) ? Verdict::swallow : Verdict::fail;
}

// Verdict for launches of one kernel, which are a separate kind.
Verdict judge_kernel(cl_kernel kernel, cl_context context) {
  char name[256] = "";
  target->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, nullptr);
  return judge((std::string("kernel=") + name).c_str(), "clEnqueueNDRangeKernel", context);
}

void count_reference(long by) {
  const std::lock_guard lock(mutex);
  live += by;
}

// Halocline has a context for each device, and PoCL calls the context of a part of a device one of the whole: so a
// context identifies its device.
cl_context context_of(cl_context context) {
  return context;
}
cl_context context_of(cl_device_id) {
  return nullptr;
}
cl_context context_of(cl_command_queue queue) {
  cl_context context = nullptr;
  if (queue != nullptr) target->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, nullptr);
  return context;
}
cl_context context_of(cl_program program) {
  cl_context context = nullptr;
  target->clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof context, &context, nullptr);
  return context;
}
cl_context context_of(cl_kernel kernel) {
  cl_context context = nullptr;
  target->clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof context, &context, nullptr);
  return context;
}
cl_context context_of(cl_mem memory) {
  cl_context context = nullptr;
  target->clGetMemObjectInfo(memory, CL_MEM_CONTEXT, sizeof context, &context, nullptr);
  return context;
}

cl_int status_of(cl_event event) {
  cl_int status = CL_COMPLETE;
  target->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  return status;
}

bool any_failed(cl_uint count, const cl_event* events) {
  for (cl_uint n = 0; n < count; ++n)
    if (status_of(events[n]) < 0) return true;
  return false;
}

// A command that is not done but ends with `status`.
cl_int end_with(cl_command_queue queue, cl_int status, cl_event* event) {
  if (event == nullptr) return CL_SUCCESS;
  cl_int code = CL_SUCCESS;
  *event = target->clCreateUserEvent(context_of(queue), &code);
  if (code != CL_SUCCESS) return code;
  target->clSetUserEventStatus(*event, status);
  count_reference(1);
  return CL_SUCCESS;
}

// clFFT 2.12.2 takes no notice when it cannot upload its constants, and then transforms whatever memory holds. Nothing
// can be done about that here, so this call never fails. The buffer is the only one that kernels may not write.
bool is_upload_of_clfft(cl_mem memory) {
  cl_mem_flags flags = 0;
  target->clGetMemObjectInfo(memory, CL_MEM_FLAGS, sizeof flags, &flags, nullptr);
  return (flags & CL_MEM_READ_ONLY) != 0;
}

// Place of each hooked function in the dispatch table, and its name.
template <std::size_t N>
struct Name {
  char text[N];
  constexpr Name(const char (&from)[N]) {
    for (std::size_t n = 0; n < N; ++n) text[n] = from[n];
  }
};

template <Name name, auto member, class Function>
struct EnqueueHook;

template <Name name, auto member, class... A>
struct EnqueueHook<name, member, cl_int(CL_API_CALL*)(cl_command_queue, A...)> {
  using First = std::tuple_element_t<0, std::tuple<A...>>;
  static constexpr bool launch = std::is_same_v<First, cl_kernel>;
  static constexpr bool transfer = std::is_same_v<First, cl_mem> && sizeof...(A) == 8 &&
                                   std::is_same_v<std::tuple_element_t<1, std::tuple<A...>>, cl_bool>;

  static cl_int CL_API_CALL call(cl_command_queue queue, A... arguments) {
    constexpr std::size_t last = sizeof...(A) - 1;
    const auto all = std::tie(arguments...);
    cl_event* event = std::get<last>(all);
    if constexpr (transfer)
      if (is_upload_of_clfft(std::get<0>(all))) return (target->*member)(queue, arguments...);
    Verdict verdict = judge("enqueue", name.text, context_of(queue));
    if constexpr (launch)
      if (verdict == Verdict::pass) verdict = judge_kernel(std::get<0>(all), context_of(queue));
    if (verdict == Verdict::fail) return fault.code;
    if (verdict == Verdict::swallow) {
      if constexpr (transfer)
        if (std::get<1>(all) == CL_TRUE && fault.code != 0) return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
      return end_with(queue, fault.code, event);
    }
    // A command whose predecessor failed fails, too (OpenCL 1.2, 5.11).
    if (any_failed(std::get<last - 2>(all), std::get<last - 1>(all)))
      return end_with(queue, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, event);
    const cl_int code = (target->*member)(queue, arguments...);
    if (code == CL_SUCCESS && event != nullptr) count_reference(1);
    return code;
  }
};

// Functions that make an object of the device of their first argument and give the code through their last.
template <Name kind, Name name, auto member, class Function>
struct CreateHook;

template <Name kind, Name name, auto member, class Object, class Parent, class... A>
struct CreateHook<kind, name, member, Object(CL_API_CALL*)(Parent, A...)> {
  static Object CL_API_CALL call(Parent parent, A... arguments) {
    cl_int* code = std::get<sizeof...(A) - 1>(std::tie(arguments...));
    if (judge(kind.text, name.text, context_of(parent)) != Verdict::pass) {
      if (code != nullptr) *code = fault.code;
      return nullptr;
    }
    const Object object = (target->*member)(parent, arguments...);
    if (object != nullptr) count_reference(1);
    return object;
  }
};

// Functions of one object that return the code.
template <Name kind, Name name, auto member, class Function>
struct CallHook;

template <Name kind, Name name, auto member, class Object, class... A>
struct CallHook<kind, name, member, cl_int(CL_API_CALL*)(Object, A...)> {
  static cl_int CL_API_CALL call(Object object, A... arguments) {
    if (judge(kind.text, name.text, context_of(object)) != Verdict::pass) return fault.code;
    return (target->*member)(object, arguments...);
  }
};

template <auto member, long by, class Function>
struct CountHook;

template <auto member, long by, class Object>
struct CountHook<member, by, cl_int(CL_API_CALL*)(Object)> {
  static cl_int CL_API_CALL call(Object object) {
    const cl_int code = (target->*member)(object);
    if (code == CL_SUCCESS) count_reference(by);
    return code;
  }
};

cl_context CL_API_CALL create_context(const cl_context_properties* properties, cl_uint count,
                                      const cl_device_id* devices,
                                      void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*), void* data,
                                      cl_int* code) {
  if (judge("open", "clCreateContext", nullptr) != Verdict::pass) {
    if (code != nullptr) *code = fault.code;
    return nullptr;
  }
  const cl_context context = target->clCreateContext(properties, count, devices, notify, data, code);
  if (context != nullptr) count_reference(1);
  return context;
}

cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                          cl_command_queue_properties properties, cl_int* code) {
  if (judge("open", "clCreateCommandQueue", context) != Verdict::pass) {
    if (code != nullptr) *code = fault.code;
    return nullptr;
  }
  const cl_command_queue queue = target->clCreateCommandQueue(context, device, properties, code);
  if (queue != nullptr) count_reference(1);
  return queue;
}

void* CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,
                             size_t size, cl_uint count, const cl_event* list, cl_event* event, cl_int* code) {
  if (judge("enqueue", "clEnqueueMapBuffer", context_of(queue)) != Verdict::pass) {
    if (code != nullptr) *code = fault.code == 0 ? CL_MAP_FAILURE : fault.code;
    return nullptr;
  }
  void* mapped = target->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, count, list, event, code);
  if (mapped != nullptr && event != nullptr) count_reference(1);
  return mapped;
}

// Commands of before the fault may still use the program's memory, so they are waited for even if that is to fail.
cl_int CL_API_CALL finish(cl_command_queue queue) {
  const cl_int code = target->clFinish(queue);
  return judge("wait", "clFinish", context_of(queue)) == Verdict::pass ? code : fault.code;
}

cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event* events) {
  cl_command_queue queue = nullptr;
  if (count > 0) target->clGetEventInfo(events[0], CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, nullptr);
  std::vector<cl_event> sound;
  for (cl_uint n = 0; n < count; ++n)
    if (status_of(events[n]) >= 0) sound.push_back(events[n]);
  const cl_int code =
      sound.empty() ? CL_SUCCESS : target->clWaitForEvents(static_cast<cl_uint>(sound.size()), sound.data());
  if (judge("wait", "clWaitForEvents", context_of(queue)) != Verdict::pass) return fault.code;
  return sound.size() < count ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : code;
}

cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t size, void* value,
                                   size_t* size_ret) {
  const cl_int code = target->clGetDeviceInfo(device, name, size, value, size_ret);
  if (!pretend_gpu || code != CL_SUCCESS || value == nullptr) return code;
  if (name == CL_DEVICE_TYPE) *static_cast<cl_device_type*>(value) = CL_DEVICE_TYPE_GPU;
  if (name == CL_DEVICE_HOST_UNIFIED_MEMORY) *static_cast<cl_bool*>(value) = CL_FALSE;
  return code;
}

// PoCL keeps a buffer that is still mapped for ever; so the mapping ends even if this is to fail.
cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem memory, void* mapped, cl_uint count, const cl_event* list,
                         cl_event* event) {
  const cl_int code = target->clEnqueueUnmapMemObject(queue, memory, mapped, count, list, event);
  const bool fails = judge("enqueue", "clEnqueueUnmapMemObject", context_of(queue)) == Verdict::fail;
  if (code == CL_SUCCESS && event != nullptr && fails) target->clReleaseEvent(*event);
  if (code == CL_SUCCESS && event != nullptr && !fails) count_reference(1);
  return fails ? fault.code : code;
}

cl_event CL_API_CALL create_user_event(cl_context context, cl_int* code) {
  const cl_event event = target->clCreateUserEvent(context, code);
  if (event != nullptr) count_reference(1);
  return event;
}

cl_icd_dispatch table_with_hooks() {
  cl_icd_dispatch table = *target;
#define ENQUEUE(function) \
  table.function = EnqueueHook<#function, &cl_icd_dispatch::function, decltype(table.function)>::call
#define CREATE(kind, function) \
  table.function = CreateHook<kind, #function, &cl_icd_dispatch::function, decltype(table.function)>::call
#define CALL(kind, function) \
  table.function = CallHook<kind, #function, &cl_icd_dispatch::function, decltype(table.function)>::call
#define COUNT(object)                                                                                                \
  table.clRetain##object = CountHook<&cl_icd_dispatch::clRetain##object, 1, decltype(table.clRetain##object)>::call; \
  table.clRelease##object = CountHook<&cl_icd_dispatch::clRelease##object, -1, decltype(table.clRelease##object)>::call
  ENQUEUE(clEnqueueReadBuffer);
  ENQUEUE(clEnqueueReadBufferRect);
  ENQUEUE(clEnqueueWriteBuffer);
  ENQUEUE(clEnqueueWriteBufferRect);
  ENQUEUE(clEnqueueCopyBuffer);
  ENQUEUE(clEnqueueCopyBufferRect);
  ENQUEUE(clEnqueueFillBuffer);
  ENQUEUE(clEnqueueCopyBufferToImage);
  ENQUEUE(clEnqueueCopyImageToBuffer);
  ENQUEUE(clEnqueueNDRangeKernel);
  ENQUEUE(clEnqueueMarkerWithWaitList);
  ENQUEUE(clEnqueueBarrierWithWaitList);
  table.clEnqueueMapBuffer = map_buffer;
  table.clEnqueueUnmapMemObject = unmap;
  CREATE("allocation", clCreateBuffer);
  CREATE("allocation", clCreateSubBuffer);
  CREATE("allocation", clCreateImage);
  CREATE("build", clCreateProgramWithSource);
  CREATE("build", clCreateProgramWithBinary);
  CREATE("build", clCreateKernel);
  CALL("build", clBuildProgram);
  CALL("argument", clSetKernelArg);
  CALL("wait", clFlush);
  CALL("open", clCreateSubDevices);
  table.clFinish = finish;
  table.clWaitForEvents = wait_for_events;
  table.clCreateContext = create_context;
  table.clCreateCommandQueue = create_queue;
  table.clGetDeviceInfo = get_device_info;
  table.clCreateUserEvent = create_user_event;
  COUNT(Context);
  COUNT(CommandQueue);
  COUNT(MemObject);
  COUNT(Program);
  COUNT(Kernel);
  COUNT(Event);
#undef ENQUEUE
#undef CREATE
#undef CALL
#undef COUNT
  return table;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void* value,
                                                                         size_t* size_ret) {
  return layer_info("halocline faults", name, size, value, size_ret);
}

__attribute__((visibility("default"))) cl_int CL_API_CALL clInitLayer(cl_uint, const cl_icd_dispatch* next,
                                                                      cl_uint* count_ret,
                                                                      const cl_icd_dispatch** table_ret) {
  static cl_icd_dispatch table;
  target = next;
  table = table_with_hooks();
  *count_ret = sizeof table / sizeof(void*);
  *table_ret = &table;
  if (const char* text = std::getenv("HALOCLINE_FAULT")) arm(text);
  return CL_SUCCESS;
}

__attribute__((visibility("default"))) void halocline_fault_arm(const char* text) {
  arm(text);
}
__attribute__((visibility("default"))) long halocline_fault_calls(const char* kind) {
  const std::lock_guard lock(mutex);
  return calls[kind];
}
__attribute__((visibility("default"))) const char* halocline_fault_first() {
  return first_failed.c_str();
}
__attribute__((visibility("default"))) long halocline_fault_hits() {
  const std::lock_guard lock(mutex);
  return hits;
}
__attribute__((visibility("default"))) void halocline_fault_pretend(int gpu) {
  pretend_gpu = gpu != 0;
}
__attribute__((visibility("default"))) long halocline_fault_live() {
  const std::lock_guard lock(mutex);
  return live;
}

}  // extern "C"
