#include "symtile/backend/opencl/print_opencl.h"

#include "symtile/backend/c_source/prelude.h"
#include "symtile/base/check.h"

namespace symtile {
namespace {

const c_source::Dialect& opencl_dialect() {
  static const c_source::Dialect dialect = {
      .name = "OpenCL C",
      .kernel_head =
          [](int64_t threads) {
            return fmt::format("__kernel __attribute__((reqd_work_group_size({}, 1, 1))) void",
                               threads);
          },
      .global = "__global ",
      .shared = "__local ",
      .shared_declaration = "__local ",
      .block_index = "(i64)get_group_id(0)",
      .thread_index = "(i64)get_local_id(0)",
      .shared_barrier = "barrier(CLK_LOCAL_MEM_FENCE);",
      .global_barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
      .unroll_hint = "#pragma unroll",
      .vector_load =
          [](int64_t lanes, const std::string& pointer) {
            return fmt::format("vload{}(0, {})", lanes, pointer);
          },
      .vector_store =
          [](int64_t lanes, const std::string& value, const std::string& pointer) {
            return fmt::format("vstore{}({}, 0, {});", lanes, value, pointer);
          },
      .vector_lane = [](const std::string& value,
                        int64_t lane) { return fmt::format("{}.s{:x}", value, lane); },
  };
  return dialect;
}

constexpr const char* kTypes = R"(#pragma OPENCL FP_CONTRACT OFF
typedef char i8;
typedef short i16;
typedef int i32;
typedef long i64;
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef float f32;
#define ST_VECTORS(T, N) typedef N##2 T##x2; typedef N##4 T##x4; typedef N##8 T##x8; \
  typedef N##16 T##x16;
ST_VECTORS(i8, char)
ST_VECTORS(i16, short)
ST_VECTORS(i32, int)
ST_VECTORS(i64, long)
ST_VECTORS(u8, uchar)
ST_VECTORS(u16, ushort)
ST_VECTORS(u32, uint)
ST_VECTORS(u64, ulong)
ST_VECTORS(f32, float)
#define ST_FN static inline
#define ST_BITS_F32(x) as_uint(x)
#define ST_F32_BITS(x) as_float(x)
#ifdef FP_FAST_FMAF
#define st_fma_f32(a, b, c) fma(a, b, c)
#else
#define st_fma_f32(a, b, c) ((c) + (a) * (b))
#endif
)";

constexpr const char* kDoubleTypes = R"(#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double f64;
ST_VECTORS(f64, double)
#define ST_F64
#ifdef FP_FAST_FMA
#define st_fma_f64(a, b, c) fma(a, b, c)
#else
#define st_fma_f64(a, b, c) ((c) + (a) * (b))
#endif
#endif
)";

constexpr const char* kHalfTypes = R"(#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define ST_HALF
#define ST_F32_OF_HALF(h) convert_float(as_half(h))
#define ST_HALF_OF_F32(f) as_ushort(convert_half_rte(f))
#endif
)";

std::string head_of(const std::vector<TileFunction>& functions, const std::string& kernels) {
  c_source::PreludeParts parts;
  for (const TileFunction& f : functions) {
    const std::set<DType> dtypes = c_source::dtypes_of(f);
    parts.f64 |= dtypes.count(DType::f64) > 0;
    parts.f16 |= dtypes.count(DType::f16) > 0;
    parts.bf16 |= dtypes.count(DType::bf16) > 0;
  }
  std::string out = kTypes;
  if (parts.f64) out += kDoubleTypes;
  if (parts.f16) out += kHalfTypes;
  return out + c_source::prelude(parts, kernels) + "\n";
}

/// Such kernels are left out on devices without doubles; the others run there.
bool needs_doubles(const TileFunction& f) { return c_source::dtypes_of(f).count(DType::f64) > 0; }

}  // namespace

OpenclCode print_opencl(const std::vector<TileFunction>& scheduled) {
  OpenclCode out;
  std::set<std::string> taken;
  for (const TileFunction& f : scheduled) {
    c_source::PrintedKernel kernel =
        c_source::print_kernel(f, "k_" + c_source::identifier(f.name, taken), opencl_dialect());
    out.source += needs_doubles(f) ? "#ifdef ST_F64\n" + kernel.text + "#endif\n\n" : kernel.text;
    kernel.text.clear();
    out.kernels.push_back(std::move(kernel));
  }
  out.source = head_of(scheduled, out.source) + out.source;
  return out;
}

std::string view_opencl(const TileFunction& scheduled) {
  std::set<std::string> taken;
  return c_source::print_kernel(scheduled, "k_" + c_source::identifier(scheduled.name, taken),
                                opencl_dialect())
      .text;
}

}  // namespace symtile
