#include "symtile/runtime/memory.h"

#include <gtest/gtest.h>

#include "symtile/base/check.h"

namespace symtile {
namespace {

TEST(AlignedBuffer, GrowsAndIsAligned) {
  AlignedBuffer b;
  b.reserve(0);
  EXPECT_NE(b.data(), nullptr);
  b.reserve(100);
  EXPECT_GE(b.capacity(), 100u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b.data()) % 64, 0u);
  const std::byte* before = b.data();
  b.reserve(50);
  EXPECT_EQ(b.data(), before);
  b.reserve(9 << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b.data()) % 64, 0u);
  EXPECT_THROW(b.reserve(SIZE_MAX - 5), EnvironmentError);
  EXPECT_EQ(b.capacity(), 0u);
}

TEST(HeapPool, ReusesBlocksAndGivesUnusedOnesBack) {
  HeapPool pool;
  const std::byte* first;
  {
    const BlockRef a = pool.allocate(1000);
    first = a->data;
    const BlockRef b = pool.allocate(1000);
    EXPECT_NE(a->data, b->data);
  }
  EXPECT_GE(pool.bytes(), 2000u);
  pool.end_run();
  BlockRef again = pool.allocate(900);
  EXPECT_TRUE(again->data == first || again->capacity >= 900);
  pool.end_run();  // the other block was not used in this run
  EXPECT_LT(pool.bytes(), 2000u);
  again = {};
  pool.end_run();
  pool.end_run();
  EXPECT_EQ(pool.bytes(), 0u);
}

TEST(HeapPool, LargeBlocksDoNotServeSmallRequests) {
  HeapPool pool;
  {
    const BlockRef large = pool.allocate(1 << 20);
  }
  const BlockRef small = pool.allocate(16);
  EXPECT_LT(small->capacity, 1u << 20);
}

TEST(HeapPool, AdoptsMemoryOfTheCaller) {
  HeapPool pool;
  float mine[4];
  BlockRef a = pool.adopt(mine, sizeof mine);
  EXPECT_EQ(static_cast<void*>(a->data), mine);
  BlockRef b = a;
  a = {};
  EXPECT_EQ(b->references, 1);
  b = {};
  EXPECT_EQ(pool.bytes(), 0u);
}

}  // namespace
}  // namespace symtile
