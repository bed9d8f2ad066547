#include "symtile/runtime/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "symtile/base/check.h"

namespace symtile {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

void AlignedBuffer::reserve(size_t bytes) {
  if (bytes <= capacity_ && data_) return;
  release();
  const size_t alignment = bytes >= 2 * kHugePage ? kHugePage : kLine;
  if (bytes > SIZE_MAX / 2) throw EnvironmentError(fmt::format("out of memory: {} bytes", bytes));
  const size_t rounded = std::max((bytes + alignment - 1) / alignment * alignment, kLine);
  data_ = static_cast<std::byte*>(std::aligned_alloc(alignment, rounded));
  if (!data_) throw EnvironmentError(fmt::format("out of memory: {} bytes", bytes));
  capacity_ = rounded;
#ifdef MADV_HUGEPAGE
  // Only advice: without huge pages everything works, slower.
  if (alignment == kHugePage) (void)madvise(data_, rounded, MADV_HUGEPAGE);
#endif
}

void AlignedBuffer::release() {
  std::free(data_);
  data_ = nullptr;
  capacity_ = 0;
}

BlockRef HeapPool::allocate(size_t bytes) {
  // The best fit, unless it would waste more than it holds.
  auto best = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const size_t capacity = (*it)->capacity;
    if (capacity < bytes || capacity / 2 > bytes + 4096) continue;
    if (best == free_.end() || capacity < (*best)->capacity) best = it;
  }
  HeapBlock* block;
  if (best != free_.end()) {
    block = *best;
    *best = free_.back();
    free_.pop_back();
  } else {
    auto fresh = std::make_unique<HeapBlock>();
    if (device_) {
      fresh->remote = device_->allocate(bytes);
      fresh->capacity = fresh->remote->bytes();
    } else {
      fresh->buffer.reserve(bytes);
      fresh->data = fresh->buffer.data();
      fresh->capacity = fresh->buffer.capacity();
    }
    fresh->pool = this;
    block = fresh.get();
    free_.reserve(blocks_.size() + 1);  // giving back never allocates
    blocks_.push_back(std::move(fresh));
  }
  block->last_run = run_;
  return BlockRef(block);
}

BlockRef HeapPool::adopt(void* data, size_t bytes) {
  auto block = std::make_unique<HeapBlock>();
  block->data = static_cast<std::byte*>(data);
  block->capacity = bytes;
  block->pool = this;
  HeapBlock* raw = block.get();
  free_.reserve(blocks_.size() + 1);
  blocks_.push_back(std::move(block));
  return BlockRef(raw);
}

void HeapPool::give_back(HeapBlock* block) {
  if (block->buffer.data() || block->remote) {
    free_.push_back(block);
    return;
  }
  std::erase_if(blocks_, [&](const auto& b) { return b.get() == block; });
}

void HeapPool::end_run() {
  std::erase_if(blocks_, [&](const auto& b) { return b->references == 0 && b->last_run != run_; });
  free_.clear();
  for (const auto& b : blocks_) {
    if (b->references == 0) free_.push_back(b.get());
  }
  ++run_;
}

void HeapPool::trim() {
  std::erase_if(blocks_, [](const auto& b) { return b->references == 0; });
  free_.clear();
}

size_t HeapPool::bytes() const {
  size_t total = 0;
  for (const auto& b : blocks_) total += b->remote ? b->capacity : b->buffer.capacity();
  return total;
}

}  // namespace symtile
