#include "symtile/runtime/shared_object.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "symtile/base/check.h"

namespace symtile {
namespace {

void write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw EnvironmentError(fmt::format("cannot store code: {}", std::strerror(errno)));
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

}  // namespace

SharedObject::SharedObject(std::span<const std::byte> image) {
  std::string path;
  file_ = memfd_create("symtile-code", MFD_CLOEXEC);
  const bool in_memory = file_ >= 0;
  if (in_memory) {
    path = fmt::format("/proc/self/fd/{}", file_);
  } else {
    const char* folder = std::getenv("TMPDIR");
    path = fmt::format("{}/symtile-XXXXXX", folder ? folder : "/tmp");
    file_ = mkostemp(path.data(), O_CLOEXEC);
    if (file_ < 0) {
      throw EnvironmentError(fmt::format("cannot create '{}': {}", path, std::strerror(errno)));
    }
  }
  try {
    write_all(file_, image);
    // The file stays open as long as the object is loaded: the loader knows objects by their path,
    // and the number in this path must not be given to another one.
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char* reason = handle_ ? nullptr : dlerror();
    if (!in_memory) unlink(path.c_str());
    if (!handle_) throw EnvironmentError(fmt::format("cannot load code: {}", reason));
  } catch (...) {
    close(file_);
    throw;
  }
}

SharedObject::SharedObject(SharedObject&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), file_(std::exchange(other.file_, -1)) {}

SharedObject& SharedObject::operator=(SharedObject&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(file_, other.file_);
  return *this;
}

SharedObject::~SharedObject() {
  if (handle_) dlclose(handle_);
  if (file_ >= 0) close(file_);
}

void* SharedObject::find(const std::string& symbol) const {
  return handle_ ? dlsym(handle_, symbol.c_str()) : nullptr;
}

}  // namespace symtile
