#include "symtile/mapping/task_mapping.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "symtile/base/check.h"

namespace symtile {
namespace {

using Tasks = std::vector<std::vector<int64_t>>;

TaskMapping spatial(std::vector<DimExpr> d) { return TaskMapping::spatial(std::move(d)); }
TaskMapping repeat(std::vector<DimExpr> d) { return TaskMapping::repeat(std::move(d)); }

TEST(TaskMapping, WorkedExamples) {
  const TaskMapping a = spatial({4, 8}) * repeat({2, 2});
  EXPECT_TRUE(a.workers().is_const(32));
  EXPECT_EQ(a.task_shape(), (std::vector<DimExpr>{8, 16}));
  EXPECT_EQ(a.tasks(9), (Tasks{{2, 2}, {2, 3}, {3, 2}, {3, 3}}));

  const TaskMapping b = repeat({2, 2}) * spatial({4, 8});
  EXPECT_TRUE(b.workers().is_const(32));
  EXPECT_EQ(b.tasks(9), (Tasks{{1, 1}, {1, 9}, {5, 1}, {5, 9}}));
  EXPECT_NE(a, b) << "composition does not commute";

  const TaskMapping c = repeat({4, 1}) * spatial({16, 8});
  EXPECT_TRUE(c.workers().is_const(128));
  EXPECT_EQ(c.task_shape(), (std::vector<DimExpr>{64, 8}));
  EXPECT_EQ(c.tasks(37), (Tasks{{4, 5}, {20, 5}, {36, 5}, {52, 5}}));

  const Tasks column = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
  EXPECT_EQ((repeat({1, 2}) * repeat({2, 1})).tasks(0), column);
  EXPECT_EQ(TaskMapping::column_repeat({2, 2}).tasks(0), column);

  const TaskMapping d = spatial({2}) * repeat({2}) * spatial({2});
  EXPECT_EQ(d.tasks(0), (Tasks{{0}, {2}}));
  EXPECT_EQ(d.tasks(1), (Tasks{{1}, {3}}));
  EXPECT_EQ(d.tasks(2), (Tasks{{4}, {6}}));
  EXPECT_EQ(d.tasks(3), (Tasks{{5}, {7}}));

  const TaskMapping e = spatial({4, 2}) * repeat({2, 2}) * spatial({4, 8}) * repeat({4, 4});
  EXPECT_TRUE(e.workers().is_const(256));
  EXPECT_EQ(e.task_shape(), (std::vector<DimExpr>{128, 128}));
  EXPECT_EQ(e.tasks(33).size(), 64u);
  EXPECT_EQ(e.tasks(33)[0], (std::vector<int64_t>{0, 68}));

  const TaskMapping f = spatial({2, 1}) * spatial({1, 8}) * spatial({2, 1});
  EXPECT_TRUE(f.workers().is_const(32));
  EXPECT_EQ(f.task_shape(), (std::vector<DimExpr>{4, 8}));
  EXPECT_EQ(f.tasks(0), (Tasks{{0, 0}}));
  EXPECT_EQ(f.tasks(1), (Tasks{{1, 0}}));
  EXPECT_EQ(f.tasks(2), (Tasks{{0, 1}}));

  const TaskMapping g = TaskMapping::column_spatial({2, 3});
  const Tasks order = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}};
  for (int64_t w = 0; w < 6; ++w) EXPECT_EQ(g.tasks(w), (Tasks{order[static_cast<size_t>(w)]}));
}

TEST(TaskMapping, Text) {
  EXPECT_EQ((spatial({4, 8}) * repeat({2, 2})).str(), "spatial(4, 8) * repeat(2, 2)");
  EXPECT_EQ(TaskMapping::column_spatial({2, 3}).str(), "spatial(2, 3; 1, 0)");
  EXPECT_EQ(TaskMapping().str(), "identity");
  EXPECT_EQ(spatial({DimExpr::symbol("n")}).str(), "spatial(n)");
}

TEST(TaskMapping, SymbolicExtents) {
  const DimExpr n = DimExpr::symbol("n");
  const TaskMapping m = spatial({n, 4}) * repeat({2, 1});
  EXPECT_EQ(m.workers(), 4 * n);
  EXPECT_EQ(m.task_shape()[0], 2 * n);
  EXPECT_THROW(m.tasks(0), InternalError);
}

TEST(TaskMapping, RejectsBadUse) {
  EXPECT_THROW(spatial({2}) * spatial({2, 2}), InternalError);
  EXPECT_THROW(TaskMapping::spatial({2, 2}, {0, 0}), InternalError);
  EXPECT_THROW(spatial({2}).tasks(2), InternalError);
  EXPECT_THROW(spatial({2}).tasks(-1), InternalError);
}

TEST(TaskMapping, IdentityComposes) {
  const TaskMapping m = spatial({2, 3});
  EXPECT_EQ(TaskMapping() * m, m);
  EXPECT_EQ(m * TaskMapping(), m);
  EXPECT_EQ(TaskMapping().tasks(0), (Tasks{{}}));
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(engine_); }

  TaskMapping mapping(int rank, int atoms) {
    TaskMapping m;
    for (int i = 0; i < atoms; ++i) {
      std::vector<DimExpr> extents;
      std::vector<int> ranks;
      for (int d = 0; d < rank; ++d) {
        extents.emplace_back(1 + below(3));
        ranks.push_back(d);
      }
      std::shuffle(ranks.begin(), ranks.end(), engine_);
      m = m *
          (below(2) ? TaskMapping::spatial(extents, ranks) : TaskMapping::repeat(extents, ranks));
    }
    return m;
  }

 private:
  std::mt19937 engine_;
};

/// The definition, straight: f(w) = [t1 . d2 + t2 | t1 in f1(w / n2), t2 in f2(w mod n2)].
Tasks compose(const TaskMapping& f1, const TaskMapping& f2, int64_t w) {
  const int64_t n2 = *f2.workers().as_const();
  const auto d2 = f2.task_shape();
  Tasks out;
  for (const auto& t1 : f1.tasks(w / n2)) {
    for (const auto& t2 : f2.tasks(w % n2)) {
      std::vector<int64_t> t;
      for (size_t d = 0; d < t1.size(); ++d) t.push_back(t1[d] * *d2[d].as_const() + t2[d]);
      out.push_back(t);
    }
  }
  return out;
}

TEST(TaskMapping, CompositionFollowsTheDefinition) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const int rank = 1 + static_cast<int>(random.below(3));
    const TaskMapping f1 = random.mapping(rank, 1 + static_cast<int>(random.below(2)));
    const TaskMapping f2 = random.mapping(rank, 1 + static_cast<int>(random.below(2)));
    const TaskMapping f = f1 * f2;
    for (int64_t w = 0; w < *f.workers().as_const(); ++w) {
      ASSERT_EQ(f.tasks(w), compose(f1, f2, w)) << f.str() << " seed " << seed;
    }
  }
}

TEST(TaskMapping, CompositionIsAssociative) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const TaskMapping a = random.mapping(2, 1), b = random.mapping(2, 1), c = random.mapping(2, 1);
    EXPECT_EQ((a * b) * c, a * (b * c));
  }
}

TEST(TaskMapping, CoversEveryTaskOnce) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const int rank = 1 + static_cast<int>(random.below(3));
    const TaskMapping m = random.mapping(rank, 1 + static_cast<int>(random.below(3)));
    const int64_t workers = *m.workers().as_const();
    const int64_t total = *product(m.task_shape()).as_const();
    std::map<std::vector<int64_t>, int> times;
    for (int64_t w = 0; w < workers; ++w) {
      const Tasks tasks = m.tasks(w);
      ASSERT_EQ(static_cast<int64_t>(tasks.size()) * workers, total) << m.str();
      for (const auto& t : tasks) {
        ++times[t];
        for (size_t d = 0; d < t.size(); ++d) {
          ASSERT_TRUE(t[d] >= 0 && t[d] < *m.task_shape()[d].as_const()) << m.str();
        }
      }
    }
    ASSERT_EQ(static_cast<int64_t>(times.size()), total) << m.str() << " seed " << seed;
  }
}

/// Lowers as a compiler would: spatial by division and remainder, repeat as a loop nest in rank
/// order, outer atoms outside.
Tasks lowered(const TaskMapping& m, int64_t worker) {
  Tasks out;
  const auto& atoms = m.atoms();
  std::function<void(size_t, int64_t, std::vector<int64_t>)> run = [&](size_t i, int64_t w,
                                                                       std::vector<int64_t> base) {
    if (i == atoms.size()) {
      out.push_back(base);
      return;
    }
    const auto& atom = atoms[i];
    const size_t rank = atom.extents.size();
    std::vector<int64_t> extent, stride(rank);
    for (const DimExpr& e : atom.extents) extent.push_back(*e.as_const());
    for (size_t d = 0; d < rank; ++d) {
      stride[d] = 1;
      for (size_t o = 0; o < rank; ++o) {
        if (atom.ranks[o] > atom.ranks[d]) stride[d] *= extent[o];
      }
    }
    int64_t n2 = 1;
    for (size_t j = i + 1; j < atoms.size(); ++j) {
      if (atoms[j].kind != TaskMapping::Kind::spatial) continue;
      n2 *= *product(atoms[j].extents).as_const();
    }
    const bool is_spatial = atom.kind == TaskMapping::Kind::spatial;
    const int64_t count = is_spatial ? 1 : *product(atom.extents).as_const();
    for (int64_t k = 0; k < count; ++k) {
      const int64_t flat = is_spatial ? w / n2 : k;
      std::vector<int64_t> next(rank);
      for (size_t d = 0; d < rank; ++d) {
        next[d] = base[d] * extent[d] + (flat / stride[d]) % extent[d];
      }
      run(i + 1, is_spatial ? w % n2 : w, next);
    }
  };
  run(0, worker, std::vector<int64_t>(static_cast<size_t>(m.rank()), 0));
  return out;
}

TEST(TaskMapping, LoweredOrderIsListOrder) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const TaskMapping m = random.mapping(2, 1 + static_cast<int>(random.below(4)));
    for (int64_t w = 0; w < *m.workers().as_const(); ++w) {
      ASSERT_EQ(m.tasks(w), lowered(m, w)) << m.str() << " seed " << seed;
    }
  }
}

TEST(TaskMapping, UnitMappings) {
  EXPECT_EQ(spatial({1, 1}).tasks(0), repeat({1, 1}).tasks(0));
  const TaskMapping single = spatial({2, 2}) * spatial({3, 1});
  for (int64_t w = 0; w < 12; ++w) EXPECT_EQ(single.tasks(w).size(), 1u);
}

}  // namespace
}  // namespace symtile
