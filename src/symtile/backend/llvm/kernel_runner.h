// For tests: compiles one tile function, loads it into this process and runs it.
#pragma once

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "symtile/backend/llvm/compile_cpu.h"
#include "symtile/base/check.h"

namespace symtile::codegen {

class KernelRunner {
 public:
  KernelRunner(std::vector<TileFunction> functions, CpuLevel level)
      : functions_(std::move(functions)), code_(compile_cpu(functions_, cpu_target(level))) {
    fd_ = ::memfd_create("kernels", 0);
    SYMTILE_CHECK(fd_ >= 0);
    const auto size = static_cast<ssize_t>(code_.shared_object.size());
    SYMTILE_CHECK(::write(fd_, code_.shared_object.data(), code_.shared_object.size()) == size);
    const std::string path = "/proc/self/fd/" + std::to_string(fd_);
    library_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    SYMTILE_CHECK(library_ != nullptr, "{}", ::dlerror());
  }
  KernelRunner(TileFunction function, CpuLevel level)
      : KernelRunner(std::vector<TileFunction>{std::move(function)}, level) {}
  ~KernelRunner() {
    ::dlclose(library_);
    ::close(fd_);
  }
  KernelRunner(const KernelRunner&) = delete;
  KernelRunner& operator=(const KernelRunner&) = delete;

  const CpuCode& code() const { return code_; }

  /// Runs kernel `index` on `buffers`, its parallel loop cut into `pieces` ranges.
  void run(std::vector<void*> buffers, std::vector<int64_t> symbols = {}, int pieces = 1,
           size_t index = 0) const {
    using Kernel = void (*)(void* const*, const int64_t*, void*, int64_t, int64_t);
    const KernelCode& kernel = code_.kernels[index];
    const auto function = reinterpret_cast<Kernel>(::dlsym(library_, kernel.symbol.c_str()));
    SYMTILE_CHECK(function != nullptr, "no symbol {}", kernel.symbol);
    DimValues values;
    for (size_t i = 0; i < symbols.size(); ++i) values[functions_[index].symbols[i]] = symbols[i];
    const int64_t extent = kernel.parallel_extent.evaluate(values);
    const int64_t bytes = kernel.scratch_bytes.evaluate(values);
    const auto scratch_size = static_cast<size_t>(((bytes + 63) / 64 + 1) * 64);
    const std::unique_ptr<void, void (*)(void*)> scratch(std::aligned_alloc(64, scratch_size),
                                                         std::free);
    for (int64_t p = 0; p < pieces; ++p) {
      function(buffers.data(), symbols.data(), scratch.get(), extent * p / pieces,
               extent * (p + 1) / pieces);
    }
  }

 private:
  std::vector<TileFunction> functions_;
  CpuCode code_;
  void* library_ = nullptr;
  int fd_ = -1;  ///< stays open: dlopen takes two libraries of one path for the same
};

/// Every x86 level (or armv8) that this machine can run.
inline std::vector<CpuLevel> runnable_levels() {
  const CpuLevel best = native_cpu_level();
  if (best == CpuLevel::armv8) return {best};
  std::vector<CpuLevel> levels = {CpuLevel::x86_64_v2, CpuLevel::x86_64_v3, CpuLevel::x86_64_v4,
                                  CpuLevel::x86_64_v4_vnni};
  while (levels.back() > best) levels.pop_back();
  return levels;
}

}  // namespace symtile::codegen
