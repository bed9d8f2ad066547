#include "symtile/runtime/opencl/opencl_api.h"

#include <dlfcn.h>

#include "symtile/base/check.h"

namespace symtile::opencl {
namespace {

constexpr const char* kLibrary = "libOpenCL.so.1";

Api load() {
  // Never closed: drivers leave threads behind.
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    throw EnvironmentError(
        fmt::format("OpenCL is not installed: {} was not found. Install an OpenCL loader and a "
                    "driver, for example the packages ocl-icd-libopencl1 and pocl-opencl-icd",
                    kLibrary));
  }
  Api out;
  const auto find = [&]<typename F>(F*& function, const char* name) {
    function = reinterpret_cast<F*>(dlsym(library, name));
    if (!function) throw EnvironmentError(fmt::format("{} lacks {}", kLibrary, name));
  };
#define SYMTILE_OPENCL_FIND(name, result, parameters) find(out.name, #name);
  SYMTILE_OPENCL_FUNCTIONS(SYMTILE_OPENCL_FIND)
#undef SYMTILE_OPENCL_FIND
  return out;
}

const char* name_of(Int code) {
  switch (code) {
    case -2:
      return "device not available";
    case -3:
      return "compiler not available";
    case -4:
      return "memory object allocation failure";
    case -5:
      return "out of resources";
    case -6:
      return "out of host memory";
    case -11:
      return "build program failure";
    case -46:
      return "invalid kernel name";
    case -52:
      return "invalid kernel arguments";
    case -54:
      return "invalid work group size";
    case -61:
      return "invalid buffer size";
    default:
      return "error";
  }
}

}  // namespace

const Api& api() {
  static const Api table = load();
  return table;
}

void check(Int code, const char* function) {
  if (code == kSuccess) return;
  throw EnvironmentError(fmt::format("OpenCL: {} failed: {} ({})", function, name_of(code), code));
}

}  // namespace symtile::opencl
