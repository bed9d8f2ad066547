// The part of the OpenCL 1.2 interface that the runtime uses, from a library loaded when a program
// first asks for it: nothing links against OpenCL, and nothing needs its headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace symtile::opencl {

using Int = int32_t;
using UInt = uint32_t;
using Bits = uint64_t;
using Platform = struct PlatformTag*;
using Device = struct DeviceTag*;
using Context = struct ContextTag*;
using Queue = struct QueueTag*;
using Memory = struct MemoryTag*;
using Program = struct ProgramTag*;
using Kernel = struct KernelTag*;
using Event = struct EventTag*;

// Values of the standard.
inline constexpr Int kSuccess = 0;
inline constexpr Int kDeviceNotFound = -1;
inline constexpr Bits kDeviceCpu = 1 << 1, kDeviceGpu = 1 << 2, kDeviceAccelerator = 1 << 3,
                      kDeviceAll = 0xffffffff;
inline constexpr UInt kDeviceName = 0x102b, kDriverVersion = 0x102d, kDeviceVersion = 0x102f,
                      kDeviceSingleFpConfig = 0x101b, kDeviceMaxWorkGroupSize = 0x1004,
                      kDeviceMaxAllocation = 0x1010, kDeviceType = 0x1000;
inline constexpr Bits kCorrectlyRoundedDivideSqrt = 1 << 7;
inline constexpr Bits kReadWrite = 1 << 0, kReadOnly = 1 << 2, kCopyHostPointer = 1 << 5;
inline constexpr UInt kProgramBuildLog = 0x1183;
inline constexpr Bits kMapRead = 1 << 0, kMapWrite = 1 << 1;

#define SYMTILE_OPENCL_FUNCTIONS(f)                                                                \
  f(clGetPlatformIDs, Int, (UInt, Platform*, UInt*)) f(clGetDeviceIDs, Int,                        \
                                                       (Platform, Bits, UInt, Device*, UInt*))     \
      f(clGetDeviceInfo, Int, (Device, UInt, size_t, void*, size_t*)) f(                           \
          clCreateContext, Context,                                                                \
          (const intptr_t*, UInt, const Device*, const void*, void*, Int*)) f(clReleaseContext,    \
                                                                              Int, (Context))      \
          f(clCreateCommandQueue, Queue, (Context, Device, Bits, Int*)) f(                         \
              clReleaseCommandQueue, Int, (Queue)) f(clCreateBuffer, Memory,                       \
                                                     (Context, Bits, size_t, void*, Int*))         \
              f(clReleaseMemObject, Int, (Memory)) f(                                              \
                  clCreateProgramWithSource,                                                       \
                  Program, (Context, UInt, const char* const*, const size_t*, Int*))               \
                  f(clBuildProgram, Int,                                                           \
                    (Program, UInt, const Device*, const char*, const void*, void*))               \
                      f(clGetProgramBuildInfo,                                                     \
                        Int, (Program, Device, UInt, size_t, void*, size_t*)) f(clReleaseProgram,  \
                                                                                Int, (Program))    \
                          f(clCreateKernel, Kernel, (Program, const char*, Int*))                  \
                              f(clSetKernelArg, Int, (Kernel, UInt, size_t, const void*))          \
                                  f(clReleaseKernel, Int, (Kernel)) f(                             \
                                      clEnqueueNDRangeKernel, Int,                                 \
                                      (Queue, Kernel, UInt, const size_t*, const size_t*,          \
                                       const size_t*, UInt, const Event*, Event*))                 \
                                      f(clEnqueueReadBuffer, Int,                                  \
                                        (Queue, Memory, UInt, size_t, size_t, void*, UInt,         \
                                         const Event*, Event*))                                    \
                                          f(clEnqueueWriteBuffer, Int,                             \
                                            (Queue, Memory, UInt, size_t, size_t, const void*,     \
                                             UInt, const Event*, Event*))                          \
                                              f(clEnqueueCopyBuffer, Int,                          \
                                                (Queue, Memory, Memory, size_t, size_t, size_t,    \
                                                 UInt, const Event*, Event*))                      \
                                                  f(clEnqueueMapBuffer, void*,                     \
                                                    (Queue, Memory, UInt, Bits, size_t, size_t,    \
                                                     UInt, const Event*, Event*, Int*))            \
                                                      f(clEnqueueUnmapMemObject, Int,              \
                                                        (Queue, Memory, void*, UInt, const Event*, \
                                                         Event*)) f(clFlush, Int, (Queue))         \
                                                          f(clFinish, Int, (Queue))

struct Api {
#define SYMTILE_OPENCL_POINTER(name, result, parameters) result(*name) parameters = nullptr;
  SYMTILE_OPENCL_FUNCTIONS(SYMTILE_OPENCL_POINTER)
#undef SYMTILE_OPENCL_POINTER
};

/// Loads the library at the first call; throws EnvironmentError where there is none.
const Api& api();

/// Throws EnvironmentError that names the function unless `code` is kSuccess.
void check(Int code, const char* function);

}  // namespace symtile::opencl
