// Scheduled tile functions in, one shared object for one CPU level out (LLVM, then LLD in-process).
//
// ABI of every kernel:
//   void k(void* const* buffers, const int64_t* symbols, void* scratch, int64_t begin, int64_t end)
// `buffers` are the function's inputs then outputs, `symbols` the values of its symbols,
// `scratch` is private to the calling thread (64-byte aligned, scratch_bytes long), and
// [begin, end) is the part of the outermost parallel loop to run. A body that is not one
// LoopKind::parallel loop has extent 1. Kernels touch no global state and call nothing but
// memcpy, memset and memmove.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "symtile/ir/module.h"
#include "symtile/target/cpu_target.h"

namespace symtile {

struct KernelCode {
  std::string symbol;       ///< exported name in the shared object
  DimExpr parallel_extent;  ///< trip count of the outermost parallel loop, over the symbols
  DimExpr scratch_bytes;    ///< per thread
};

struct CpuCode {
  std::vector<std::byte> shared_object;
  std::vector<KernelCode> kernels;  ///< in the order of the functions
};

struct CpuCodegenOptions {
  int threads = 0;  ///< compile threads; 0: all cores
  std::function<void(int done, int total)> progress;
};

CpuCode compile_cpu(const std::vector<TileFunction>& scheduled, const CpuTarget& target,
                    const CpuCodegenOptions& options = {});

/// For people: the LLVM IR before and after optimisation, or the assembly, of one function.
enum class CodeView : uint8_t { llvm_ir, optimized_llvm_ir, assembly };
std::string view_code(const TileFunction& scheduled, const CpuTarget& target, CodeView view);

}  // namespace symtile
