// Facts: reading, normalising, printing, contradicting, merging, simplifying, solving.
#include "symtile/shape/facts.h"

#include <gtest/gtest.h>

#include "symtile/diag/diagnostic.h"

namespace symtile {
namespace {

using Strings = std::vector<std::string>;

DimExpr p(const std::string& text) { return parse_dim_expr(text); }

Facts facts(const Strings& texts) {
  Facts out;
  for (const std::string& t : texts) out.assume_text(t);
  return out;
}

TEST(Facts, ReadsEveryForm) {
  const auto str = [](const std::string& text) { return facts({text}).str(); };
  EXPECT_EQ(str("n=1..4096"), Strings{"1 <= n <= 4096"});
  EXPECT_EQ(str(" n = 1 .. 4096 "), Strings{"1 <= n <= 4096"});
  EXPECT_EQ(str("n=1.."), Strings{"n >= 1"});
  EXPECT_EQ(str("n=..9"), Strings{"n <= 9"});
  EXPECT_EQ(str("n=-4..4"), Strings{"-4 <= n <= 4"});
  EXPECT_EQ(str("n=64"), Strings{"n == 64"});
  EXPECT_EQ(str("n == 64"), Strings{"n == 64"});
  EXPECT_EQ(str("64 == n"), Strings{"n == 64"});
  EXPECT_EQ(str("1 <= n <= 4096"), Strings{"1 <= n <= 4096"});
  EXPECT_EQ(str("0 < n < 10"), Strings{"1 <= n <= 9"});
  EXPECT_EQ(str("9 >= n >= 1"), Strings{"1 <= n <= 9"});
  EXPECT_EQ(str("n > 3"), Strings{"n >= 4"});
  EXPECT_EQ(str("n % 8 == 0"), Strings{"n % 8 == 0"});
  EXPECT_EQ(str("0 == n % 8"), Strings{"n % 8 == 0"});
  EXPECT_EQ(str("n % 8 == 3"), Strings{"(n + 5) % 8 == 0"});
  EXPECT_EQ(str("6*n % 8 == 0"), Strings{"(3*n) % 4 == 0"});
  EXPECT_EQ(str("b*s % 8 == 0"), Strings{"(b*s) % 8 == 0"});
  EXPECT_EQ(str("n == m"), Strings{"n == m"});
  EXPECT_EQ(str("m == n"), Strings{"n == m"});
  EXPECT_EQ(str("b*s == t"), Strings{"t == b*s"});
  EXPECT_EQ(str("n <= m"), Strings{"n <= m"});
  EXPECT_EQ(str("n < m"), Strings{"n + 1 <= m"});
  EXPECT_EQ(str("2*n + 1 <= 10"), Strings{"n <= 4"});
  EXPECT_EQ(str("2*n >= 5"), Strings{"n >= 3"});
  EXPECT_EQ(str("3*n == 12"), Strings{"n == 4"});
  EXPECT_EQ(str("n.1=2..3"), Strings{"2 <= n.1 <= 3"});
}

TEST(Facts, PrintsWhatItReads) {
  const Facts f = facts({"1 <= n <= 4096", "n % 8 == 0", "b*s % 6 == 0", "t == b*s", "h <= w",
                         "x*y == u*v", "k=2..", "j == 5", "a % 5 == 2"});
  Facts again;
  for (const std::string& line : f.str()) again.assume_text(line);
  EXPECT_EQ(again, f);
  EXPECT_EQ(again.str(), f.str());
  Facts merged;
  merged.merge(f);
  EXPECT_EQ(merged, f);
  merged.merge(f);
  EXPECT_EQ(merged, f);
}

TEST(Facts, RejectsWhatIsNotAFact) {
  for (const char* text : {"",
                           "n",
                           "n <=",
                           "<= n",
                           "n != 0",
                           "1 <= n <= 2 <= 3",
                           "n=1..2..3",
                           "n*m=1..2",
                           "n=a..b",
                           "n=..",
                           "n = ?",
                           "? <= n",
                           "4n <= 3",
                           "n ==",
                           "n=4..1",
                           "n < 0",
                           "2*n == 5",
                           "4 <= 3",
                           "n < n",
                           "n == n + 1",
                           "4*n % 8 == 2",
                           "(2*n + 1) % 2 == 0",
                           "n >= 99999999999999"}) {
    try {
      facts({text});
      ADD_FAILURE() << "accepted: " << text;
    } catch (const DiagnosticError& e) {
      EXPECT_EQ(e.id(), DiagId::bad_shape_fact) << text << ": " << e.what();
    }
  }
  EXPECT_THROW(Facts().assume_divisible(p("n"), 0), DiagnosticError);
}

TEST(Facts, RejectsContradictionsAndStaysUnchanged) {
  const std::vector<Strings> cases = {{"n=1..4", "n >= 5"},
                                      {"n == m", "n == m + 1"},
                                      {"n <= m", "m < n"},
                                      {"a <= b", "b <= c", "c < a"},
                                      {"n % 8 == 0", "n % 4 == 1"},
                                      {"n == m", "n=3..3", "m=4..4"},
                                      {"n == 2*m", "m >= 10", "n=..5"},
                                      {"n % 8 == 0", "n=1..7"}};
  for (const Strings& texts : cases) {
    Facts f;
    for (size_t i = 0; i + 1 < texts.size(); ++i) f.assume_text(texts[i]);
    const Facts before = f;
    EXPECT_THROW(f.assume_text(texts.back()), DiagnosticError) << texts.back();
    EXPECT_EQ(f, before);
  }
  Facts f;
  EXPECT_THROW(f.assume_text("1 <= n <= 0"), DiagnosticError);
  EXPECT_EQ(f, Facts());
}

TEST(Facts, RedundantFactsAreNotKept) {
  EXPECT_TRUE(facts({"n <= n + 1"}).str().empty());
  EXPECT_EQ(facts({"n % 8 == 0", "n % 4 == 0"}).str(), Strings{"n % 8 == 0"});
  EXPECT_EQ(facts({"a <= b", "b <= c", "a <= c"}).str().size(), 2u);
  // A consequence must not weaken the range of a dimension.
  Facts f;
  f.assume_le(DimExpr(-5), p("n"));
  EXPECT_TRUE(f.proves_le(0, p("n")));
}

TEST(Facts, RangesStartAsDimensions) {
  EXPECT_EQ(Facts().range(p("n")), (DimRange{0, kMaxDim}));
  EXPECT_EQ(facts({"n >= 3"}).range(p("n")), (DimRange{3, kMaxDim}));
  EXPECT_EQ(facts({"n=-3..3"}).range(p("n")), (DimRange{-3, 3}));
  EXPECT_EQ(Facts().range(DimExpr::unknown()), DimRange{});
  EXPECT_EQ(Facts().range(p("n*m*k*j")), (DimRange{0, std::nullopt}));
}

TEST(Facts, Simplifies) {
  struct Case {
    Strings facts;
    const char* in;
    const char* out;
  };
  const std::vector<Case> cases = {
      {{"n % 8 == 0"}, "n // 8 * 8", "n"},
      {{"n % 8 == 0"}, "n % 4", "0"},
      {{"n % 8 == 3"}, "n % 4", "3"},
      {{"n % 8 == 0"}, "(n + 7) // 8 * 8", "n"},
      {{"n % 8 == 0"}, "m*(n // 4)*4 + 1", "m*n + 1"},
      {{"b*s % 8 == 0"}, "b*s // 8 * 8", "b*s"},
      {{"n == m"}, "max(n, m)", "m"},
      {{"n == 64"}, "n // 3 + n*m", "64*m + 21"},
      {{"n <= m"}, "max(n, m)", "m"},
      {{"n <= m"}, "min(n, max(m, k))", "n"},
      {{"1 <= n <= 7"}, "n // 8", "0"},
      {{"1 <= n <= 7"}, "n % 8", "n"},
      {{"8 <= n <= 15"}, "n // 8", "1"},
      {{"n >= 1"}, "max(n, 1)", "n"},
      {{"s >= 1"}, "b*s // s", "b"},
      {{"s >= 1"}, "(b*s) % s", "0"},
      {{"s >= 1"}, "(b*s + s) // s", "b + 1"},
      {{"s >= 1"}, "n // n", "n // n"},
      {{}, "b*s // s", "b*s // s"},
      {{"h >= 1", "w >= 1"}, "(4*h*w) // (2*w)", "2*h"},
      {{"h >= 1", "w >= 1"}, "(n*w) // (h*w)", "n // h"},
      {{"t == b*s", "s >= 1"}, "t // s", "b"},
      {{"i=0..7", "s=8..8"}, "(s*n + i) // s", "n"},
      {{"i >= 0", "i < s"}, "i % s", "i"},
      {{"i >= 0", "i < s"}, "(n*s + i) // s", "n"},
      {{"b*s == t"}, "b*s*4 - t*4", "0"},
  };
  for (const Case& c : cases) {
    const DimExpr got = facts(c.facts).simplify(p(c.in));
    EXPECT_EQ(got, p(c.out)) << c.in << " gives " << got.str();
  }
  EXPECT_TRUE(Facts().simplify(DimExpr::unknown()).is_unknown());
}

TEST(Facts, Solves) {
  struct Case {
    Strings facts;
    const char* lhs;
    const char* rhs;
    const char* out;  // empty: no unique answer
  };
  const std::vector<Case> cases = {
      {{}, "x + 3", "t", "t - 3"},
      {{}, "t", "3 - x", "3 - t"},
      {{}, "2*x", "t", "t // 2"},
      {{}, "-2*x", "t", "(-t) // 2"},
      {{}, "2*x", "4*t + 6", "2*t + 3"},
      {{}, "2*x", "4*t + 5", ""},
      {{"s >= 1"}, "x*s", "t", "t // s"},
      {{}, "x*s", "t", ""},
      {{"s >= 1"}, "x*s + s", "t*s", "t - 1"},
      {{"s >= 1"}, "x*s*384", "b*s*384", "b"},
      {{}, "x // 2", "t", ""},
      {{"x % 2 == 0"}, "x // 2", "t", "2*t"},
      {{"x % 2 == 0"}, "3*(x // 2) + 1", "t", "(2*t - 2) // 3"},
      {{}, "x*x", "t", ""},
      {{}, "max(x, 1)", "t", ""},
      {{}, "t + 1", "t", ""},
      {{"x == y"}, "x + 1", "t", "t - 1"},
  };
  for (const Case& c : cases) {
    const auto got = facts(c.facts).solve(p(c.lhs), p(c.rhs), "x");
    const std::string text = got ? got->str() : "";
    EXPECT_EQ(got.has_value(), *c.out != '\0') << c.lhs << " == " << c.rhs << " gives " << text;
    if (got && *c.out) {
      EXPECT_EQ(*got, p(c.out)) << c.lhs << " == " << c.rhs << " gives " << text;
    }
  }
  EXPECT_FALSE(Facts().solve(DimExpr::unknown(), p("x"), "x"));
}

TEST(Facts, UnknownTeachesNothing) {
  Facts f;
  f.assume_equal(DimExpr::unknown(), p("n"));
  f.assume_le(p("n"), DimExpr::unknown());
  f.assume_divisible(DimExpr::unknown(), 4);
  EXPECT_EQ(f, Facts());
}

}  // namespace
}  // namespace symtile
