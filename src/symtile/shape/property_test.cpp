// Seeded random formulas against brute force: the canonical form keeps the value, equal formulas
// meet in one form, and whatever is proved holds at every point of a small domain.
#include <gtest/gtest.h>

#include <algorithm>

#include "symtile/diag/diagnostic.h"
#include "symtile/shape/facts.h"
#include "symtile/shape/random_expr.h"

namespace symtile {
namespace {

using Op = RawExpr::Op;

std::optional<int64_t> value_of(const DimExpr& e, const DimValues& values) {
  try {
    return e.evaluate(values);
  } catch (const DiagnosticError&) {
    return std::nullopt;
  }
}

TEST(Property, CanonicalFormKeepsTheValue) {
  RandomExpr random(20240601, {.symbolic_divisors = true, .negative_divisors = true});
  int defined = 0;
  for (int trial = 0; trial < 6000; ++trial) {
    const Raw raw = random.expression(static_cast<int>(random.integer(1, 5)));
    std::optional<DimExpr> e;
    try {
      e = raw_to_dim(raw);
    } catch (const DiagnosticError& error) {
      // x // 0 in the middle of the tree, or a product that is too large.
      ASSERT_TRUE(error.id() == DiagId::dimension_overflow || error.id() == DiagId::too_large);
      continue;
    }
    SCOPED_TRACE("trial " + std::to_string(trial) + ": " + raw_text(raw) + " as " + e->str());
    ASSERT_EQ(parse_dim_expr(raw_text(raw)), *e);
    ASSERT_EQ(parse_dim_expr(e->str()), *e);
    ASSERT_EQ(parse_dim_expr(e->str()).hash(), e->hash());
    for (int point = 0; point < 12; ++point) {
      const int64_t reach = point < 8 ? 12 : 200;
      const DimValues values = {{"h", random.integer(-reach, reach)},
                                {"n", random.integer(-reach, reach)},
                                {"m", random.integer(0, reach)}};
      const auto expected = raw_evaluate(raw, values);
      if (!expected) continue;
      ++defined;
      ASSERT_EQ(value_of(*e, values), expected);
      DimSubstitution map;
      for (const auto& [name, v] : values) map[name] = DimExpr(v);
      ASSERT_EQ(e->substitute(map).as_const(), expected);
    }
  }
  EXPECT_GT(defined, 30000);
}

// Ways to write the same thing that must meet in one canonical form. Below a division, negative
// coefficients stay as written so that (m - n) // 2 reads well; there the prover must close the
// gap.
TEST(Property, EqualFormulasMeet) {
  RandomExpr random(77, {});
  const Facts nothing;
  int same_form = 0;
  int proved = 0;
  int questions = 0;
  const auto meet = [&](const DimExpr& x, const DimExpr& y) {
    ++questions;
    same_form += x == y;
    proved += nothing.proves_equal(x, y);
    return !nothing.proves_not_equal(x, y);
  };
  for (int trial = 0; trial < 1500; ++trial) {
    const DimExpr a = raw_to_dim(random.expression(2));
    const DimExpr b = raw_to_dim(random.expression(2));
    const DimExpr c = raw_to_dim(random.expression(2));
    const DimExpr k = random.integer(1, 9);
    const DimExpr l = random.integer(1, 9);
    SCOPED_TRACE("trial " + std::to_string(trial) + ": a = " + a.str() + ", b = " + b.str() +
                 ", c = " + c.str() + ", k = " + k.str() + ", l = " + l.str());
    ASSERT_EQ(a + b, b + a);
    ASSERT_EQ((a + b) + c, a + (b + c));
    ASSERT_EQ(a * b, b * a);
    ASSERT_EQ(a * (b + c), a * b + a * c);
    ASSERT_EQ(a - a, DimExpr(0));
    ASSERT_EQ(a - b, -(b - a));
    ASSERT_TRUE(meet(floordiv(a + k * b, k), floordiv(a, k) + b));
    ASSERT_TRUE(meet(floormod(a + k * b, k), floormod(a, k)));
    ASSERT_TRUE(meet(floordiv(a, k * l), floordiv(floordiv(a, k), l)));
    ASSERT_TRUE(meet(floordiv(a * l, k * l), floordiv(a, k)));
    ASSERT_EQ(min(a, b), min(b, a));
    ASSERT_EQ(max(max(a, b), c), max(a, max(b, c)));
    ASSERT_EQ(max(a, a + k), a + k);
    ASSERT_EQ(a + b - b, a);
  }
  EXPECT_GT(same_form * 100, questions * 85) << same_form << " of " << questions;
  EXPECT_GT(proved * 1000, questions * 985) << proved << " of " << questions;
}

// ---------------------------------------------------------------------------- soundness

struct Domain {
  Facts facts;
  std::vector<DimValues> points;  ///< every assignment that satisfies the facts
};

bool holds(const Facts& facts, const DimValues& values) {
  const auto at = [&](const DimExpr& e) { return value_of(e, values); };
  for (const auto& [name, range] : facts.ranges()) {
    const int64_t v = values.at(name);
    if ((range.low && v < *range.low) || (range.high && v > *range.high)) return false;
  }
  return std::all_of(facts.divisors().begin(), facts.divisors().end(),
                     [&](const auto& f) { return at(floormod(f.first, f.second)) == 0; }) &&
         std::all_of(facts.equalities().begin(), facts.equalities().end(),
                     [&](const auto& f) { return at(f.a) && at(f.a) == at(f.b); }) &&
         std::all_of(facts.inequalities().begin(), facts.inequalities().end(),
                     [&](const auto& f) { return at(f.a) && at(f.b) && *at(f.a) <= *at(f.b); });
}

Domain random_domain(RandomExpr& random) {
  Domain out;
  std::map<std::string, std::pair<int64_t, int64_t>> box;
  for (const char* name : {"h", "m", "n"}) {
    const int64_t low = random.integer(0, 4) == 0 ? random.integer(-5, 0) : random.integer(0, 2);
    const int64_t high = low + random.integer(3, 14);
    out.facts.bound(name, low, high);
    box[name] = {low, high};
  }
  const auto symbol = [&] { return DimExpr::symbol(random.symbol()); };
  const int64_t extra = random.integer(0, 3);
  for (int64_t i = 0; i < extra; ++i) {
    const Facts before = out.facts;
    try {
      switch (random.integer(0, 5)) {
        case 0:
          out.facts.assume_divisible(symbol(), random.integer(2, 4));
          break;
        case 1:
          out.facts.assume_divisible(symbol() * symbol() + random.integer(0, 2), 2);
          break;
        case 2:
          out.facts.assume_le(symbol() + random.integer(0, 1), symbol());
          break;
        case 3:
          out.facts.assume_le(raw_to_dim(random.expression(2)), symbol() * 2);
          break;
        case 4:
          out.facts.assume_equal(symbol(), symbol() + random.integer(0, 2));
          break;
        default:
          out.facts.assume_equal(raw_to_dim(random.expression(1)), symbol());
          break;
      }
    } catch (const DiagnosticError&) {
      out.facts = before;  // a contradiction, found out
    }
  }
  for (int64_t h = box["h"].first; h <= box["h"].second; ++h) {
    for (int64_t m = box["m"].first; m <= box["m"].second; ++m) {
      for (int64_t n = box["n"].first; n <= box["n"].second; ++n) {
        const DimValues values = {{"h", h}, {"m", m}, {"n", n}};
        if (holds(out.facts, values)) out.points.push_back(values);
      }
    }
  }
  return out;
}

// A formula near `a`, so that a good part of the questions has an answer worth proving.
DimExpr neighbour(RandomExpr& random, const DimExpr& a) {
  const DimExpr k = random.integer(1, 4);
  switch (random.integer(0, 7)) {
    case 0:
      return a + random.integer(0, 2);
    case 1:
      return floordiv(a, k) * k;
    case 2:
      return ceildiv(a, k) * k;
    case 3:
      return max(a, raw_to_dim(random.expression(1)));
    case 4:
      return a + DimExpr::symbol(random.symbol());
    case 5:
      return floordiv(a * k + random.integer(0, 3), k);
    case 6:
      return floordiv(a, 2) + floordiv(a + 1, 2);
    default:
      return raw_to_dim(random.expression(2));
  }
}

TEST(Property, ProofsAreSound) {
  RandomExpr random(4242, {.symbolic_divisors = true, .negative_divisors = true});
  std::map<std::string, int> proved;
  for (int trial = 0; trial < 1500; ++trial) {
    const Domain domain = random_domain(random);
    if (domain.points.empty()) continue;
    const Facts& facts = domain.facts;
    std::string known;
    for (const std::string& line : facts.str()) known += line + "; ";
    for (int question = 0; question < 3; ++question) {
      DimExpr a;
      DimExpr b;
      try {
        a = raw_to_dim(random.expression(static_cast<int>(random.integer(1, 3))));
        b = neighbour(random, a);
      } catch (const DiagnosticError&) {
        continue;
      }
      SCOPED_TRACE("trial " + std::to_string(trial) + ": a = " + a.str() + ", b = " + b.str() +
                   " where " + known);
      const int64_t d = random.integer(2, 6);
      const bool equal = facts.proves_equal(a, b);
      const bool differ = facts.proves_not_equal(a, b);
      const bool le = facts.proves_le(a, b);
      const bool lt = facts.proves_lt(a, b);
      const bool divisible = facts.proves_divisible(a, d);
      const DimRange range = facts.range(a);
      const DimExpr simple = facts.simplify(a);
      const auto solved = facts.solve(a, b, "n");
      proved["equal"] += equal;
      proved["differ"] += differ;
      proved["le"] += le;
      proved["divisible"] += divisible;
      proved["solved"] += solved.has_value();
      for (const DimValues& values : domain.points) {
        const auto x = value_of(a, values);
        const auto y = value_of(b, values);
        if (!x) continue;
        const std::string where = "h=" + std::to_string(values.at("h")) +
                                  " m=" + std::to_string(values.at("m")) +
                                  " n=" + std::to_string(values.at("n"));
        ASSERT_EQ(value_of(simple, values), x) << where << " simplified to " << simple.str();
        ASSERT_TRUE(!range.low || *range.low <= *x) << where << " low " << *range.low;
        ASSERT_TRUE(!range.high || *x <= *range.high) << where << " high " << *range.high;
        if (divisible) {
          ASSERT_EQ(*x % d, 0) << where << " d=" << d;
        }
        if (!y) continue;
        if (equal) {
          ASSERT_EQ(*x, *y) << where;
        }
        if (differ) {
          ASSERT_NE(*x, *y) << where;
        }
        if (le) {
          ASSERT_LE(*x, *y) << where;
        }
        if (lt) {
          ASSERT_LT(*x, *y) << where;
        }
        if (solved && *x == *y) {
          ASSERT_EQ(value_of(*solved, values), values.at("n")) << where << " n = " << solved->str();
        }
      }
    }
  }
  // The test would be empty if nothing were proved.
  EXPECT_GT(proved["equal"], 100);
  EXPECT_GT(proved["differ"], 100);
  EXPECT_GT(proved["le"], 500);
  EXPECT_GT(proved["divisible"], 100);
  EXPECT_GT(proved["solved"], 50);
}

}  // namespace
}  // namespace symtile
