// Task mappings as programs: the interpreter runs a `tasks` statement and the loops that it lowers
// to, and both visit the tasks that the definition lists, in its order.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "symtile/interp/tile_interp.h"
#include "symtile/ir/lower_tasks.h"

namespace symtile {
namespace {

using Tasks = std::vector<std::vector<int64_t>>;

/// Records the tasks of worker w, in order: out[3 * i ...] = task i, out[last] = their number.
constexpr int64_t kMost = 400;

std::string recorder(const std::string& mapping, const std::string& symbols) {
  return fmt::format(
      "tile @t<w{}>() -> (%out: Buffer[({}), i64]) {{ alloc %n: Buffer[(1), i64, local] {{\n"
      "for z in 0 to {} {{ %out[z] = -1 }} %n[0] = 0\n"
      "tasks (i, j) of {} by w {{ %out[2 * %n[0]] = i  %out[2 * %n[0] + 1] = j  %n[0] = %n[0] + 1 "
      "}}"
      " %out[{}] = %n[0] }} }}",
      symbols, 2 * kMost + 1, 2 * kMost + 1, mapping, 2 * kMost);
}

Tasks run(const TileFunction& f, const DimValues& symbols) {
  const RefTensor out = run_tile(f, symbols, {}, {}).front();
  Tasks tasks;
  for (int64_t i = 0; i < out.i[2 * kMost]; ++i)
    tasks.push_back({out.i[static_cast<size_t>(2 * i)], out.i[static_cast<size_t>(2 * i + 1)]});
  return tasks;
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(engine_); }

  /// Extents are numbers, or symbols whose values go to `values` (0 among them).
  TaskMapping mapping(int atoms, DimValues& values) {
    TaskMapping m;
    for (int i = 0; i < atoms; ++i) {
      std::vector<DimExpr> extents;
      for (int d = 0; d < 2; ++d) {
        if (below(3) > 0) {
          extents.emplace_back(1 + below(3));
        } else {
          const std::string name = fmt::format("n{}", values.size());
          values[name] = below(8) == 0 ? 0 : 1 + below(3);
          extents.push_back(DimExpr::symbol(name));
        }
      }
      const std::vector<int> ranks = below(2) ? std::vector<int>{0, 1} : std::vector<int>{1, 0};
      m = m *
          (below(2) ? TaskMapping::spatial(extents, ranks) : TaskMapping::repeat(extents, ranks));
    }
    return m;
  }

 private:
  std::mt19937 engine_;
};

TaskMapping with_values(const TaskMapping& m, const DimValues& values) {
  TaskMapping out;
  for (const TaskMapping::Atom& atom : m.atoms()) {
    std::vector<DimExpr> extents;
    for (const DimExpr& e : atom.extents) extents.emplace_back(e.evaluate(values));
    out =
        out * (atom.kind == TaskMapping::Kind::spatial ? TaskMapping::spatial(extents, atom.ranks)
                                                       : TaskMapping::repeat(extents, atom.ranks));
  }
  return out;
}

TEST(TaskStatements, RunInListOrderAsStatementsAndAsLoops) {
  int beyond = 0, symbolic = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    Random random(seed);
    DimValues values;
    const TaskMapping m = random.mapping(1 + static_cast<int>(random.below(3)), values);
    symbolic += !values.empty();
    std::string symbols;
    for (const auto& [name, value] : values) symbols += ", " + name;
    const Module module = parse_module(recorder(m.str(), symbols));
    const TileFunction& f = module.tile("t");
    const TileFunction lowered = without_tasks(f);
    visit(lowered.body, [](const Stmt& s) { EXPECT_EQ(as<TaskStmt>(s), nullptr); }, nullptr);
    Module check;
    check.add(lowered);
    verify(check);
    const TaskMapping numbers = with_values(m, values);
    const int64_t workers = *numbers.workers().as_const();
    for (int64_t w = -1; w <= workers + 1; ++w) {
      const bool inside = w >= 0 && w < workers;
      beyond += !inside;
      const Tasks want = inside ? numbers.tasks(w) : Tasks{};
      DimValues at = values;
      at["w"] = w;
      ASSERT_EQ(run(f, at), want) << m.str() << " worker " << w << " seed " << seed;
      ASSERT_EQ(run(lowered, at), want) << print(lowered) << " worker " << w;
    }
  }
  EXPECT_GT(beyond, 100);
  EXPECT_GT(symbolic, 50);
}

TEST(TaskStatements, LoweringCapturesNoName) {
  // The body uses names that the lowering would like, and the worker is a loop variable.
  const Module module = parse_module(
      "tile @t<step, worker>() -> (%out: Buffer[(4), i64]) { for i in 0 to 4 { tasks (i) of "
      "spatial(4) * repeat(1) by i { %out[i] = step * 100 + worker } } }");
  const TileFunction f = without_tasks(module.tile("t"));
  const RefTensor out = run_tile(f, {{"step", 7}, {"worker", 5}}, {}, {}).front();
  EXPECT_EQ(out.i, (std::vector<int64_t>(4, 705)));
}

bool has_check(const Stmt& s) {
  bool found = false;
  visit(s, [&](const Stmt& x) { found |= as<IfStmt>(x) != nullptr; }, nullptr);
  return found;
}

TEST(TaskStatements, LoopsAndLetsProveWorkers) {
  const auto checked = [](const std::string& body) {
    return has_check(
        without_tasks(
            parse_module("tile @t<w>() -> (%out: Buffer[(8), i64]) { " + body + " }").tile("t"))
            .body);
  };
  const std::string tasks = " { tasks (i) of spatial(8) by v { %out[i] = 0 } } ";
  EXPECT_FALSE(checked("for v in 0 to 8" + tasks));
  EXPECT_FALSE(checked("for a in 0 to 2 { for l in 0 to 4 { let v = a * 4 + l" + tasks + "} }"));
  EXPECT_TRUE(checked("for v in 0 to 9" + tasks));
  EXPECT_TRUE(checked("for v in 0 to w" + tasks));
  EXPECT_TRUE(checked("for v in -1 to 8" + tasks));
  EXPECT_TRUE(checked("for a in 0 to 8 { let v = a - 1" + tasks + "}"));
  // What is known of a hidden name does not hold of the one that hides it.
  EXPECT_TRUE(checked("for v in 0 to 8 { let v = v + 1" + tasks + "}"));
  EXPECT_TRUE(checked("for v in 0 to 8 { let v = %out[v]" + tasks + "}"));
}

TEST(TaskStatements, AProvenWorkerNeedsNoCheck) {
  const Module module = parse_module(
      "tile @t<w>() -> (%out: Buffer[(8), i64]) { tasks (i) of spatial(8) by w { %out[i] = 0 } }");
  const auto* task = as<TaskStmt>(module.tile("t").body);
  ASSERT_NE(task, nullptr);
  Facts facts;
  facts.bound("w", 0, 7);
  EXPECT_FALSE(has_check(lower_tasks(*task, facts)));
  EXPECT_TRUE(has_check(lower_tasks(*task)));
}

}  // namespace
}  // namespace symtile
