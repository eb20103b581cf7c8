// Control of the OpenCL layer that makes calls fail (fault_layer.cpp).
//
// A fault is "KIND:NUMBER:CODE[:SCOPE]":
//   KIND    enqueue     clEnqueue*
//           kernel=NAME clEnqueueNDRangeKernel of that kernel
//           allocation  clCreateBuffer, clCreateSubBuffer, clCreateImage
//           build       clCreateProgramWith*, clBuildProgram, clCreateKernel
//           argument    clSetKernelArg
//           wait        clFinish, clFlush, clWaitForEvents
//           open        clCreateContext, clCreateCommandQueue, clCreateSubDevices
//   NUMBER  which call of the kind, from 1
//   CODE    what it returns, e.g. -5; 0: it says that all is well, but does nothing (enqueue, kernel=)
//   SCOPE   once    that call alone (the default)
//           kind    that call and all later ones of its kind on the same device
//           all     that call and all later ones: every device is lost
//           device  that call and all later ones of any kind on the same device: the device is lost
//           event   the call succeeds, but its event ends with CODE, and nothing was done (enqueue, kernel=)
//
// The environment's HALOCLINE_FAULT arms one when the layer is loaded; tests do through the functions below, which they
// find in the loaded layer with dlsym().
#pragma once

extern "C" {

/// Counters back to 0; from now on `fault` ("": none).
using HaloclineFaultArm = void(const char* fault);
/// Calls of a kind since.
using HaloclineFaultCalls = long(const char* kind);
/// Name of the first call that failed ("": none did), and how many did.
using HaloclineFaultFirst = const char*();
using HaloclineFaultHits = long();
/// Makes CPU devices pass for GPUs with separate memory, so that a program takes its paths for those.
using HaloclineFaultPretend = void(int gpu);
/// References to contexts, queues, memory, programs, kernels and events that were not released.
using HaloclineFaultLive = long();

}  // extern "C"
