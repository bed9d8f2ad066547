#include "symtile/runtime/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "symtile/base/check.h"

namespace symtile {

MappedFile::MappedFile(const std::string& path) {
  const auto fail = [&](const std::string& why) {
    throw EnvironmentError(fmt::format("cannot read '{}': {}", path, why));
  };
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) fail(std::strerror(errno));
  struct Close {
    int file;
    ~Close() { close(file); }
  } closer{file};
  struct stat info;
  if (fstat(file, &info) != 0) fail(std::strerror(errno));
  if (!S_ISREG(info.st_mode)) fail("it is not a regular file");
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return;  // nothing to map; the reader says that it is empty
  void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  if (data == MAP_FAILED) fail(std::strerror(errno));
  bytes_ = {static_cast<const std::byte*>(data), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace symtile
