#include "symtile/mapping/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "symtile/mapping/task_mapping.h"

namespace symtile {
namespace {

using Index = std::vector<int64_t>;

/// Calls f for every index of a constant shape, in row-major order.
void for_each_index(const std::vector<DimExpr>& shape, const std::function<void(const Index&)>& f) {
  Index index(shape.size(), 0);
  const int64_t n = *product(shape).as_const();
  for (int64_t flat = 0; flat < n; ++flat) {
    int64_t rest = flat;
    for (size_t d = shape.size(); d-- > 0;) {
      index[d] = rest % *shape[d].as_const();
      rest /= *shape[d].as_const();
    }
    f(index);
  }
}

std::vector<int64_t> addresses(const DataLayout& layout) {
  std::vector<int64_t> out;
  for_each_index(layout.shape(), [&](const Index& i) { out.push_back(layout.at(i)); });
  return out;
}

void expect_unique(const DataLayout& layout) {
  std::set<int64_t> seen;
  for (const int64_t a : addresses(layout)) {
    ASSERT_TRUE(a >= 0 && a < *layout.size().as_const()) << layout.str();
    ASSERT_TRUE(seen.insert(a).second) << layout.str() << " uses address " << a << " twice";
  }
}

TEST(DataLayout, Strided) {
  EXPECT_EQ(addresses(DataLayout::row_major({2, 3})), (Index{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(addresses(DataLayout::column_major({2, 3})), (Index{0, 2, 4, 1, 3, 5}));
  const DataLayout padded = DataLayout::strided({2, 3}, {5, 1});
  EXPECT_EQ(addresses(padded), (Index{0, 1, 2, 5, 6, 7}));
  EXPECT_TRUE(padded.size().is_const(8));
  EXPECT_EQ(addresses(DataLayout::local({2, 2})), (Index{0, 0, 0, 0}));
  EXPECT_TRUE(DataLayout::local({2, 2}).size().is_const(1));
  EXPECT_EQ(DataLayout::row_major({}).at({}), 0);
}

TEST(DataLayout, SwizzleSpreadsAColumnOverTheBanks) {
  const DataLayout s = DataLayout::row_major({4, 4}).swizzle(1, 0);
  EXPECT_EQ(addresses(s), (Index{0, 1, 2, 3, 5, 4, 7, 6, 10, 11, 8, 9, 15, 14, 13, 12}));
  std::set<int64_t> banks;
  for (int64_t row = 0; row < 4; ++row) banks.insert(s.at({row, 0}) % 4);
  EXPECT_EQ(banks.size(), 4u) << "a column meets every bank once";
  // With a shift, pairs of rows share their key.
  const DataLayout t = DataLayout::row_major({4, 4}).swizzle(1, 0, 1);
  EXPECT_EQ(t.at({1, 0}), 4);
  EXPECT_EQ(t.at({2, 0}), 9);
}

TEST(DataLayout, PermuteReshapeConcatCompose) {
  const DataLayout row = DataLayout::row_major({2, 3});
  EXPECT_EQ(addresses(row.permute({1, 0})), addresses(DataLayout::column_major({3, 2})));
  EXPECT_EQ(addresses(row.reshape({3, 2})), (Index{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(addresses(DataLayout::column_major({2, 3}).reshape({6})), (Index{0, 2, 4, 1, 3, 5}));
  // Four tiles of 2 x 2, tile after tile.
  const DataLayout tiled = DataLayout::row_major({2, 2}) * DataLayout::row_major({2, 2});
  EXPECT_EQ(addresses(tiled), (Index{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15}));
  // Each of two threads holds its own elements: only the inner index addresses.
  const DataLayout registers = DataLayout::local({2, 1}) * DataLayout::row_major({2, 2});
  EXPECT_EQ(addresses(registers), (Index{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_TRUE(registers.size().is_const(4));
  const DataLayout stages = concat(DataLayout::row_major({2}), row);
  EXPECT_EQ(stages.at({1, 1, 2}), 11);
  EXPECT_TRUE(stages.size().is_const(12));
}

TEST(DataLayout, Text) {
  const DataLayout row = DataLayout::row_major({4, 4});
  EXPECT_EQ(row.swizzle(1, 0).str(), "swizzle(row_major(4, 4); 1, 0, 0)");
  EXPECT_EQ((row * DataLayout::column_major({2, 2})).str(), "row_major(4, 4) * column_major(2, 2)");
  EXPECT_EQ(row.permute({1, 0}).str(), "permute(row_major(4, 4); 1, 0)");
  EXPECT_EQ(row.reshape({16}).str(), "reshape(row_major(4, 4); 16)");
  EXPECT_EQ(DataLayout::local({2}).str(), "local(2)");
  EXPECT_EQ(DataLayout::strided({2}, {3}).str(), "strided(2; 3)");
}

TEST(DataLayout, RejectsBadUse) {
  const DataLayout row = DataLayout::row_major({2, 3});
  EXPECT_THROW(row.swizzle(1, 0), InternalError) << "3 is no power of two";
  EXPECT_THROW(row.swizzle(0, 0), InternalError);
  EXPECT_THROW(row.permute({0, 0}), InternalError);
  EXPECT_THROW(row.reshape({4}), InternalError);
  EXPECT_THROW(row * DataLayout::row_major({2}), InternalError);
  EXPECT_THROW(row.at({1}), InternalError);
  EXPECT_THROW(DataLayout::strided({2}, {}), InternalError);
}

/// A random layout of the given rank whose addresses are unique.
class RandomLayout {
 public:
  explicit RandomLayout(unsigned seed) : engine_(seed) {}
  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(engine_); }

  DataLayout make(int rank, int depth) {
    switch (depth <= 0 ? below(3) : below(8)) {
      case 0:
        return DataLayout::row_major(shape(rank));
      case 1:
        return DataLayout::column_major(shape(rank));
      case 2: {
        const std::vector<DimExpr> dims = shape(rank);
        std::vector<DimExpr> strides(dims.size());
        DimExpr next = 1 + below(2);
        for (size_t d = dims.size(); d-- > 0;) {
          strides[d] = next;
          next = next * dims[d] + below(3);
        }
        return DataLayout::strided(dims, strides);
      }
      case 3:
        if (rank < 2) return make(rank, depth - 1);
        return DataLayout::row_major(powers(rank)).swizzle(rank - 1, 0, static_cast<int>(below(2)));
      case 4: {
        std::vector<int> order(static_cast<size_t>(rank));
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), engine_);
        return make(rank, depth - 1).permute(order);
      }
      case 5: {
        const DataLayout base = make(rank, depth - 1);
        std::vector<DimExpr> to(static_cast<size_t>(rank), DimExpr(1));
        to[static_cast<size_t>(below(rank))] = product(base.shape());
        return base.reshape(to);
      }
      case 6:
        if (rank < 2) return make(rank, depth - 1);
        return concat(make(1, depth - 1), make(rank - 1, depth - 1));
      default:
        return make(rank, depth - 1) * make(rank, depth - 1);
    }
  }

 private:
  std::vector<DimExpr> shape(int rank) {
    std::vector<DimExpr> out;
    for (int d = 0; d < rank; ++d) out.emplace_back(1 + below(4));
    return out;
  }
  std::vector<DimExpr> powers(int rank) {
    std::vector<DimExpr> out;
    for (int d = 0; d < rank; ++d) out.emplace_back(int64_t{1} << below(3));
    return out;
  }
  std::mt19937 engine_;
};

TEST(DataLayout, AddressesAreUnique) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    RandomLayout random(seed);
    expect_unique(random.make(1 + static_cast<int>(random.below(3)), 2));
  }
}

TEST(DataLayout, AddressesOfAMappingAreUnique) {
  // Each worker of a partition meets its elements; together they meet every address once.
  for (unsigned seed = 0; seed < 100; ++seed) {
    RandomLayout random(seed);
    const DataLayout layout = random.make(2, 2);
    std::vector<DimExpr> ones(2, DimExpr(1));
    const bool split = random.below(2) == 0;
    const TaskMapping mapping =
        split ? TaskMapping::spatial({layout.shape()[0], 1}) *
                    TaskMapping::column_repeat({1, layout.shape()[1]})
              : TaskMapping::repeat(ones) * TaskMapping::column_spatial(layout.shape());
    std::set<int64_t> seen;
    for (int64_t w = 0; w < *mapping.workers().as_const(); ++w) {
      for (const Index& task : mapping.tasks(w)) {
        ASSERT_TRUE(seen.insert(layout.at(task)).second) << layout.str() << " " << mapping.str();
      }
    }
    ASSERT_EQ(static_cast<int64_t>(seen.size()), *product(layout.shape()).as_const());
  }
}

TEST(DataLayout, CompositionFollowsTheDefinition) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    RandomLayout random(seed);
    const DataLayout o = random.make(2, 1), i = random.make(2, 1), c = o * i;
    for_each_index(c.shape(), [&](const Index& x) {
      Index high = x, low = x;
      for (size_t d = 0; d < x.size(); ++d) {
        high[d] = x[d] / *i.shape()[d].as_const();
        low[d] = x[d] % *i.shape()[d].as_const();
      }
      ASSERT_EQ(c.at(x), o.at(high) * *i.size().as_const() + i.at(low)) << c.str();
    });
  }
}

TEST(DataLayout, CompositionIsAssociative) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    RandomLayout random(seed);
    const DataLayout a = random.make(2, 0), b = random.make(2, 0), c = random.make(2, 0);
    EXPECT_EQ(addresses((a * b) * c), addresses(a * (b * c))) << ((a * b) * c).str();
  }
}

TEST(DataLayout, FormulasAgreeWithNumbers) {
  const std::vector<DimExpr> names = {DimExpr::symbol("x"), DimExpr::symbol("y")};
  for (unsigned seed = 0; seed < 100; ++seed) {
    RandomLayout random(seed);
    const DataLayout layout = random.make(2, 2);
    const DimExpr address = layout(names);
    for_each_index(layout.shape(), [&](const Index& at) {
      ASSERT_EQ(address.evaluate({{"x", at[0]}, {"y", at[1]}}), layout.at(at)) << layout.str();
    });
  }
}

TEST(DataLayout, SymbolicExtents) {
  const DimExpr n = DimExpr::symbol("n"), x = DimExpr::symbol("x"), y = DimExpr::symbol("y");
  const DataLayout tiled = DataLayout::row_major({n, 2}) * DataLayout::row_major({4, 4});
  EXPECT_EQ(tiled.size(), 32 * n);
  EXPECT_EQ(tiled.shape()[0], 4 * n);
  EXPECT_EQ(tiled({x, y}).evaluate({{"x", 5}, {"y", 6}, {"n", 3}}), (1 * 2 + 1) * 16 + 1 * 4 + 2);
  EXPECT_EQ(DataLayout::column_major({n, 3})({x, y}), x + n * y);
  EXPECT_THROW(DataLayout::column_major({n, 3}).at({0, 1}), InternalError) << "n has no value";
}

}  // namespace
}  // namespace symtile
