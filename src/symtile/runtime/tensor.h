// A tensor in a register of the virtual machine: dense, row-major, at run time fully known.
#pragma once

#include <array>
#include <span>

#include "symtile/base/dtype.h"
#include "symtile/format/program.h"
#include "symtile/runtime/memory.h"

namespace symtile {

struct Tensor {
  std::byte* data = nullptr;
  DevicePlace place;  ///< on a device, in place of `data`
  int64_t bytes = 0;
  DType dtype = DType::f32;
  uint8_t rank = 0;
  std::array<int64_t, format::kMaxRank> extents;
  BlockRef owner;  ///< empty: borrowed from an arena, a constant or the caller

  std::span<const int64_t> dims() const { return std::span(extents).first(rank); }
  int64_t elements() const { return bytes / size_of(dtype); }
  bool is_remote() const { return place.memory != nullptr; }
  /// Owns a share of `block`, from its start.
  void own(BlockRef block) {
    data = block->data;
    place = {block->remote.get(), 0};
    owner = std::move(block);
  }
  /// Sets the type and computes `bytes`; throws UserError on a negative or too large shape.
  void set_shape(DType type, std::span<const int64_t> dims);
};

/// "f32[2, 3]"
std::string describe(const Tensor& tensor);

/// The element of an integer or bool tensor that has exactly one.
int64_t read_int(const Tensor& tensor, int64_t index = 0);

}  // namespace symtile
