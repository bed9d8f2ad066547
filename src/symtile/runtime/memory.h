// Memory of a session: aligned buffers, and a pool of reference-counted blocks for heap tensors,
// here or on a device.
//
// A session runs on one thread at a time, so counts are plain integers. Blocks that a run did not
// use are given back at its end: memory follows the shapes in use instead of growing with each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "symtile/runtime/device.h"

namespace symtile {

/// Uninitialised memory, 64-byte aligned; large ones are placed on huge pages where possible.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  ~AlignedBuffer() { release(); }

  /// Makes room for `bytes`; contents are lost when it grows. Throws EnvironmentError.
  void reserve(size_t bytes);
  void release();
  std::byte* data() const { return data_; }
  size_t capacity() const { return capacity_; }

 private:
  std::byte* data_ = nullptr;
  size_t capacity_ = 0;
};

class HeapPool;

struct HeapBlock {
  AlignedBuffer buffer;
  std::byte* data = nullptr;             ///< of the buffer, or the caller's memory
  std::unique_ptr<DeviceMemory> remote;  ///< in place of `data`
  size_t capacity = 0;
  int references = 0;
  uint64_t last_run = 0;
  HeapPool* pool = nullptr;
};

/// A share of a block; the last one gives it back to the pool.
class BlockRef {
 public:
  BlockRef() = default;
  explicit BlockRef(HeapBlock* block) : block_(block) { acquire(); }
  BlockRef(const BlockRef& other) : block_(other.block_) { acquire(); }
  BlockRef(BlockRef&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BlockRef& operator=(BlockRef other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BlockRef() { drop(); }

  explicit operator bool() const { return block_ != nullptr; }
  const HeapBlock* get() const { return block_; }
  const HeapBlock* operator->() const { return block_; }
  friend bool operator==(const BlockRef&, const BlockRef&) = default;

 private:
  void acquire() {
    if (block_) ++block_->references;
  }
  void drop();
  HeapBlock* block_ = nullptr;
};

class HeapPool {
 public:
  /// On `device`, which must outlive the pool; null: here.
  explicit HeapPool(DeviceQueue* device = nullptr) : device_(device) {}
  /// At least `bytes` of uninitialised memory. Throws EnvironmentError.
  BlockRef allocate(size_t bytes);
  /// Wraps memory of the caller, which must outlive the reference.
  BlockRef adopt(void* data, size_t bytes);
  /// Ends a run: free blocks that it did not use go back to the system.
  void end_run();
  /// Gives all free blocks back.
  void trim();
  size_t bytes() const;

 private:
  friend class BlockRef;
  void give_back(HeapBlock* block);
  DeviceQueue* device_;
  std::vector<std::unique_ptr<HeapBlock>> blocks_;
  std::vector<HeapBlock*> free_;
  uint64_t run_ = 0;
};

inline void BlockRef::drop() {
  if (block_ && --block_->references == 0) block_->pool->give_back(block_);
}

}  // namespace symtile
