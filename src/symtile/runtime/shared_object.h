// A shared object loaded from memory, without touching the disk where the system allows.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace symtile {

class SharedObject {
 public:
  SharedObject() = default;
  /// Throws EnvironmentError.
  explicit SharedObject(std::span<const std::byte> image);
  SharedObject(SharedObject&& other) noexcept;
  SharedObject& operator=(SharedObject&& other) noexcept;
  ~SharedObject();

  /// Address of an exported symbol; null when there is none.
  void* find(const std::string& symbol) const;

 private:
  void* handle_ = nullptr;
  int file_ = -1;
};

}  // namespace symtile
