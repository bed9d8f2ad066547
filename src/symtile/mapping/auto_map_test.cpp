#include "symtile/mapping/auto_map.h"

#include <gtest/gtest.h>

#include <map>

#include "symtile/base/check.h"
#include "symtile/mapping/projection.h"

namespace symtile {
namespace {

using Tasks = std::vector<std::vector<int64_t>>;

TEST(AutoMap, TheFastestDimensionIsSharedFirst) {
  EXPECT_EQ(auto_map({64, 8}, 128).str(), "repeat(4, 1) * spatial(16, 8)");
  EXPECT_EQ(auto_map({6, 4}, 6).str(), "repeat(2, 2) * spatial(3, 2)");
  EXPECT_EQ(auto_map({8}, 1).str(), "repeat(8) * spatial(1)");
}

TEST(AutoMap, CoversTheGridOnce) {
  for (int64_t a = 1; a <= 6; ++a) {
    for (int64_t b = 1; b <= 6; ++b) {
      for (int64_t workers = 1; workers <= a * b; ++workers) {
        TaskMapping m;
        try {
          m = auto_map({a, b}, workers);
        } catch (const UserError&) {
          continue;
        }
        ASSERT_TRUE(m.workers().is_const(workers));
        std::map<std::vector<int64_t>, int> times;
        for (int64_t w = 0; w < workers; ++w) {
          for (const auto& t : m.tasks(w)) ASSERT_EQ(++times[t], 1) << m.str();
        }
        ASSERT_EQ(static_cast<int64_t>(times.size()), a * b) << m.str();
      }
    }
  }
}

TEST(AutoMap, RefusesWhatDoesNotDivide) {
  try {
    auto_map({7, 4}, 8);
    FAIL() << "8 workers share 28 tasks";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("8 workers cannot share a grid of (7, 4) tasks evenly"),
              std::string::npos)
        << e.what();
  }
}

TEST(AutoMap, FactsDecideForSymbolicExtents) {
  Facts facts;
  facts.assume_text("n % 8 == 0");
  const DimExpr n = DimExpr::symbol("n");
  const TaskMapping m = auto_map({n, 4}, 32, facts);
  EXPECT_TRUE(m.workers().is_const(32));
  EXPECT_EQ(facts.simplify(m.task_shape()[0]), n);
  EXPECT_THROW(auto_map({n, 4}, 32), UserError) << "without the fact";
}

TEST(AutoMap, ThePredicatedOneCoversAnyGrid) {
  for (const int64_t a : {1, 2, 3, 7, 16, 37}) {
    for (const int64_t b : {1, 5, 8, 31}) {
      for (const int64_t workers : {1, 6, 32, 128}) {
        const PredicatedMapping p = predicated_auto_map({a, b}, workers);
        const int64_t used = *p.mapping.workers().as_const();
        ASSERT_LE(used, workers);
        std::map<std::vector<int64_t>, int> times;
        for (int64_t w = 0; w < used; ++w) {
          for (const auto& t : p.mapping.tasks(w)) {
            ASSERT_TRUE(!p.exact[0] || t[0] < a) << p.mapping.str();
            ASSERT_TRUE(!p.exact[1] || t[1] < b) << p.mapping.str();
            if (t[0] < a && t[1] < b) ++times[t];
          }
        }
        ASSERT_EQ(static_cast<int64_t>(times.size()), a * b) << p.mapping.str();
        for (const auto& [t, n] : times) ASSERT_EQ(n, 1) << p.mapping.str();
      }
    }
  }
}

TEST(AutoMap, ThePredicatedOneTakesSymbols) {
  const DimExpr n = DimExpr::symbol("n");
  const PredicatedMapping p = predicated_auto_map({n, 8}, 32);
  EXPECT_EQ(p.mapping.str(), "repeat((n + 3) // 4, 1) * spatial(4, 8)");
  EXPECT_EQ(p.exact, (std::vector<bool>{false, true}));
}

TEST(Projection, WorkersShareTasks) {
  const ProjectedMapping p = projection(TaskMapping::spatial({4, 8}), {0});
  EXPECT_TRUE(p.workers().is_const(32));
  EXPECT_EQ(p.task_shape(), (std::vector<DimExpr>{1, 8}));
  for (int64_t w = 0; w < 32; ++w) EXPECT_EQ(p.tasks(w), (Tasks{{0, w % 8}}));
}

TEST(Projection, Composes) {
  // Warps in rows and columns, each warp loads the rows of its tile of A: columns do not matter.
  const ProjectedMapping p = projection(TaskMapping::spatial({2, 3}), {1}) *
                             ProjectedMapping(TaskMapping::spatial({4, 1}));
  EXPECT_TRUE(p.workers().is_const(24));
  EXPECT_EQ(p.task_shape(), (std::vector<DimExpr>{8, 1}));
  for (int64_t w = 0; w < 24; ++w) EXPECT_EQ(p.tasks(w), (Tasks{{w / 4 / 3 * 4 + w % 4, 0}}));
}

TEST(Projection, OfNothingIsTheMapping) {
  const TaskMapping m = TaskMapping::spatial({4, 8}) * TaskMapping::repeat({2, 2});
  const ProjectedMapping p = projection(m, {});
  EXPECT_EQ(p.task_shape(), m.task_shape());
  for (int64_t w = 0; w < 32; ++w) EXPECT_EQ(p.tasks(w), m.tasks(w));
}

TEST(Projection, RejectsBadUse) {
  EXPECT_THROW(projection(TaskMapping::spatial({4}), {1}), InternalError);
  EXPECT_THROW(
      ProjectedMapping(TaskMapping::spatial({4})) * ProjectedMapping(TaskMapping::spatial({4, 4})),
      InternalError);
}

}  // namespace
}  // namespace symtile
