#include "symtile/frontend/onnx/external_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "symtile/frontend/onnx/load_model.h"

namespace symtile::onnx_import {
namespace {

/// The parts of a path that may be opened; anything else is refused before the disk is touched.
std::vector<std::string> safe_parts(const std::string& path, const Location& where) {
  const auto refuse = [&](const char* why) {
    fail(DiagId::external_data, where,
         "the path '{}' of the external data {}; it must be a relative "
         "path inside the model's folder",
         printable(path), why);
  };
  if (path.empty()) refuse("is empty");
  if (path.size() > 4096) refuse("is too long");
  if (path.find('\0') != std::string::npos) refuse("contains a zero byte");
  if (path.find('\\') != std::string::npos) refuse("contains a backslash");
  if (path.find("_ORT_MEM_ADDR_") != std::string::npos) refuse("names memory of another process");
  if (path.front() == '/' || (path.size() > 1 && path[1] == ':')) refuse("is absolute");
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    std::string part = path.substr(begin, end - begin);
    if (part == "..") refuse("contains '..'");
    if (!part.empty() && part != ".") parts.push_back(std::move(part));
    begin = end + 1;
  }
  if (parts.empty()) refuse("names no file");
  return parts;
}

struct Descriptor {
  int fd;
  explicit Descriptor(int value) : fd(value) {}
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int release() { return std::exchange(fd, -1); }
  void reset(int value) {
    if (fd >= 0) ::close(fd);
    fd = value;
  }
};

}  // namespace

ExternalFile::ExternalFile(const std::filesystem::path& folder, const std::string& path,
                           const Location& where)
    : path_(printable(path)) {
  const std::vector<std::string> parts = safe_parts(path, where);
  const auto failed = [&]() {
    const int error = errno;
    fail(DiagId::external_data, where, "external data '{}' cannot be opened: {}", path_,
         error == ELOOP || error == ENOTDIR
             ? "it is reached through a symbolic link or a plain file"
             : std::strerror(error));
  };
  // One part at a time, following no link: the path cannot leave the folder even when the
  // folder changes meanwhile. Non-blocking, so that a pipe is refused instead of waited for.
  const std::string root = folder.empty() ? "." : folder.string();
  Descriptor at(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (at.fd < 0) failed();
  for (size_t i = 0; i < parts.size(); ++i) {
    const int kind = i + 1 < parts.size() ? O_DIRECTORY : O_NONBLOCK;
    const int next = ::openat(at.fd, parts[i].c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind);
    if (next < 0) failed();
    at.reset(next);
  }
  struct stat info{};
  if (::fstat(at.fd, &info) != 0) failed();
  if (!S_ISREG(info.st_mode)) {
    fail(DiagId::external_data, where, "external data '{}' is not a regular file", path_);
  }
  if (info.st_nlink > 1) {
    fail(DiagId::external_data, where,
         "external data '{}' has several hard links, so it may lie outside the model's folder; "
         "copy it",
         path_);
  }
  fd_ = at.release();
  size_ = static_cast<uint64_t>(info.st_size);
  device_ = static_cast<uint64_t>(info.st_dev);
  inode_ = static_cast<uint64_t>(info.st_ino);
}

ExternalFile::~ExternalFile() {
  if (fd_ >= 0) ::close(fd_);
}

std::vector<std::byte> ExternalFile::read(uint64_t offset, uint64_t length,
                                          const Location& where) const {
  if (offset > size_ || length > size_ - offset) {
    fail(DiagId::external_data, where,
         "external data '{}' has {} bytes, but {} bytes at offset {} are needed; the file is "
         "truncated",
         path_, size_, length, offset);
  }
  std::vector<std::byte> out(length);
  for (uint64_t done = 0; done < length;) {
    const ssize_t n =
        ::pread(fd_, out.data() + done, length - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      fail(DiagId::external_data, where, "external data '{}' cannot be read: {}", path_,
           n == 0 ? "the file ended early" : std::strerror(errno));
    }
    done += static_cast<uint64_t>(n);
  }
  return out;
}

}  // namespace symtile::onnx_import
