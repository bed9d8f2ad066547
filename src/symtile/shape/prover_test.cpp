// What the prover must be able to show, and what it must not.
#include <gtest/gtest.h>

#include <chrono>

#include "symtile/shape/facts.h"

namespace symtile {
namespace {

using Strings = std::vector<std::string>;

DimExpr p(const std::string& text) { return parse_dim_expr(text); }

Facts facts(const Strings& texts) {
  Facts out;
  for (const std::string& t : texts) out.assume_text(t);
  return out;
}

struct Question {
  Strings facts;
  const char* a;
  const char* b;
};

TEST(Prover, ProvesEqualities) {
  for (const auto& [known, a, b] : std::vector<Question>{
           {{}, "((w + 1) // 2 + 1) // 2", "(w + 3) // 4"},
           {{}, "(((w + 1) // 2 + 1) // 2 + 1) // 2", "(w + 7) // 8"},
           {{}, "(w - 1) // 2 + 1", "(w + 1) // 2"},
           {{}, "(m - n) // 2 + n", "(m + n) // 2"},
           {{}, "n // 4 * 4 + n % 4", "n"},
           {{}, "(n + 1) // 2 + n // 2", "n"},
           {{}, "max(n + 1, m + 1)", "max(n, m) + 1"},
           {{}, "max(n, m) + min(n, m)", "n + m"},
           {{}, "max(2*n, 2*m)", "2*max(m, n)"},
           {{}, "min(n, max(n, m))", "n"},
           {{}, "n % 2 + 2*(n % 8 // 2)", "n % 8"},
           {{}, "n // 2 % 3 + 3*(n // 6)", "n // 2"},
           {{"n == m", "n >= 1"}, "max(n, m)*min(n, m, 1)", "n"},
           {{"n >= 1", "m >= 1", "n == m"}, "max(n, m)*min(n, m, 1)", "m"},
           {{"n % 8 == 0"}, "n // 8 * 8", "n"},
           {{"n % 8 == 0"}, "(n + 7) // 8", "n // 8"},
           {{"n % 8 == 0"}, "n // 4", "2*(n // 8)"},
           {{"n % 8 == 0", "n % 12 == 0"}, "n // 24 * 24", "n"},
           {{"b*s % 8 == 0"}, "b*s // 8 * 8", "b*s"},
           {{"b*s % 8 == 0"}, "(b*s + 7) // 8 * 8", "b*s"},
           {{"t == b*s"}, "t*384", "b*s*384"},
           {{"b*s == 4*k + 4*j"}, "b*s*h", "4*h*(k + j)"},
           {{"s >= 1"}, "b*s // s", "b"},
           {{"s >= 1", "h >= 1"}, "b*s*h // (h*s)", "b"},
           {{"s >= 1"}, "(b*s) % s", "0"},
           {{"n <= m", "m <= n"}, "n", "m"},
           {{"n <= m", "m <= n"}, "n*k", "m*k"},
           {{"n=5..5"}, "n*m", "5*m"},
           {{"1 <= n <= 8"}, "(n + 7) // 8", "1"},
           {{"1 <= n"}, "max(n, 1)", "n"},
       }) {
    EXPECT_TRUE(facts(known).proves_equal(p(a), p(b))) << a << " == " << b;
    EXPECT_TRUE(facts(known).proves_le(p(b), p(a))) << b << " <= " << a;
    EXPECT_FALSE(facts(known).proves_not_equal(p(a), p(b))) << a << " != " << b;
  }
}

TEST(Prover, ProvesInequalities) {
  for (const auto& [known, a, b] : std::vector<Question>{
           {{}, "n", "(n + 7) // 8 * 8"},
           {{}, "(n + 7) // 8 * 8", "n + 7"},
           {{}, "n // 8 * 8", "n"},
           {{}, "n // 3", "n // 2"},
           {{}, "n % 8", "7"},
           {{}, "n % 8", "n"},
           {{}, "b*s*384", "b*s*1536"},
           {{}, "2*h*w", "4*h*w"},
           {{}, "n", "n*n"},
           {{}, "n*(m // 2)", "n*m"},
           {{}, "(h // 2)*(w // 2)*4", "h*w"},
           {{}, "min(n, m)", "max(n, k)"},
           {{}, "max(n, m)", "n + m"},
           {{}, "h*w*4", "(h + 1)*(w + 1)*4"},
           {{"n >= 1"}, "m", "n*m"},
           {{"n >= 1", "m >= 1"}, "n + m - 1", "n*m"},
           {{"k >= 1"}, "n // k", "n"},
           {{"k >= 1"}, "n // k * k", "n"},
           {{"k >= 1"}, "n % k + 1", "k"},
           {{"k >= 1"}, "n", "ceildiv(n, k)*k"},
           {{"a <= b", "b <= c"}, "a", "c"},
           {{"a <= b", "b <= c", "c <= d", "d <= e"}, "a + 1", "e + 1"},
           {{"a <= b", "x <= y"}, "a*x", "b*y"},
           {{"a <= b"}, "a*c*384", "b*c*384"},
           {{"a <= b"}, "a // 4", "b // 4"},
           {{"a <= b"}, "(a + 7) // 8 * 8", "(b + 7) // 8 * 8"},
           {{"a < b"}, "2*a + 2", "2*b"},
           {{"a <= b", "b=..10"}, "3*a", "30"},
           {{"k <= h"}, "1", "(h - k) // 2 + 1"},
           {{"0 <= i < n", "0 <= j < m"}, "i*m + j + 1", "n*m"},
           {{"0 <= i < n", "0 <= j < m", "0 <= l < k"}, "(i*m + j)*k + l + 1", "n*m*k"},
           {{"1 <= n <= 10"}, "n*n - n", "90"},
           {{"1 <= n <= 10", "1 <= m <= 5"}, "100 - 3*n*m", "97"},
           {{"n % 8 == 0", "n >= 1"}, "8", "n"},
       }) {
    EXPECT_TRUE(facts(known).proves_le(p(a), p(b))) << a << " <= " << b;
    EXPECT_FALSE(facts(known).proves_lt(p(b), p(a))) << b << " < " << a;
  }
}

TEST(Prover, ProvesDisequalities) {
  for (const auto& [known, a, b] : std::vector<Question>{
           {{}, "n", "n + 1"},
           {{}, "2*n", "2*m + 1"},
           {{}, "4*n + 6*m", "2*k + 1"},
           {{}, "n*2 % 4", "1"},
           {{}, "n", "-1"},
           {{"n=1..4", "m=5..9"}, "n", "m"},
           {{"n < m"}, "n", "m"},
           {{"n >= 1"}, "n + m", "m"},
           {{"n % 8 == 0"}, "n", "m*4 + 2"},
           {{"n % 8 == 3"}, "n", "8*m"},
           {{"b*s % 8 == 0"}, "b*s + 1", "0"},
           {{"n == 4"}, "n*m", "6*k + 1"},
       }) {
    EXPECT_TRUE(facts(known).proves_not_equal(p(a), p(b))) << a << " != " << b;
    EXPECT_FALSE(facts(known).proves_equal(p(a), p(b))) << a << " == " << b;
  }
}

TEST(Prover, ProvesDivisibility) {
  struct Case {
    Strings facts;
    const char* e;
    int64_t d;
  };
  for (const auto& [known, e, d] : std::vector<Case>{
           {{}, "8*n + 16", 8},
           {{}, "8*n + 16", -8},
           {{}, "0", 7},
           {{}, "n", 1},
           {{}, "n*n + n", 2},
           {{}, "n*n*n - n", 6},
           {{}, "(n + 7) // 8 * 8", 4},
           {{}, "max(4*n, 8)", 4},
           {{"b % 8 == 0"}, "b*s", 8},
           {{"b % 4 == 0", "s % 2 == 0"}, "b*s", 8},
           {{"b*s % 8 == 0"}, "b*s*h + 16", 8},
           {{"b*s % 8 == 0"}, "3*b*s", 4},
           {{"(n + m) % 4 == 0"}, "n*k + m*k", 4},
           {{"n % 8 == 3"}, "n + 5", 8},
           {{"n % 4 == 0", "n % 6 == 0"}, "n", 12},
           {{"t == 16*k"}, "t", 16},
           {{"n % 16 == 0"}, "n // 4", 4},
           {{"n=64"}, "n", 32},
       }) {
    EXPECT_TRUE(facts(known).proves_divisible(p(e), d)) << e << " % " << d;
  }
  EXPECT_FALSE(Facts().proves_divisible(p("n"), 2));
  EXPECT_FALSE(Facts().proves_divisible(p("n"), 0));
  EXPECT_FALSE(facts({"n % 8 == 0"}).proves_divisible(p("n + 4"), 8));
  EXPECT_FALSE(facts({"b*s % 8 == 0"}).proves_divisible(p("b"), 8));
}

TEST(Prover, BoundsExpressions) {
  struct Case {
    Strings facts;
    const char* e;
    DimRange range;
  };
  const Strings small = {"1 <= n <= 10", "2 <= m <= 5"};
  for (const auto& [known, e, range] : std::vector<Case>{
           {small, "n*m", {2, 50}},
           {small, "3*n - 2*m", {-7, 26}},
           {small, "n*n - n", {0, 90}},
           {small, "100 - n*m", {50, 98}},
           {small, "(n + 7) // 8 * 8", {8, 16}},
           {small, "n % 4", {0, 3}},
           {small, "n // m", {0, 5}},
           {small, "max(n, m) - min(n, m)", {0, 9}},
           {{"n <= m", "m <= 8"}, "m - n", {0, 8}},
           {{"n <= m", "m <= 8"}, "n", {0, 8}},
           {{"n % 8 == 0", "n=3..30"}, "n", {8, 24}},
           {{}, "n // m", {std::nullopt, std::nullopt}},  // no value when m is 0
           {{}, "7", {7, 7}},
       }) {
    EXPECT_EQ(facts(known).range(p(e)), range)
        << e << ": " << facts(known).range(p(e)).low.value_or(-999) << " .. "
        << facts(known).range(p(e)).high.value_or(-999);
  }
}

TEST(Prover, DoesNotProveWhatIsFalse) {
  const Facts f;
  EXPECT_FALSE(f.proves_equal(p("n"), p("m")));
  EXPECT_FALSE(f.proves_not_equal(p("n"), p("m")));
  EXPECT_FALSE(f.proves_le(p("n"), p("m")));
  EXPECT_FALSE(f.proves_equal(p("n // 8 * 8"), p("n")));
  EXPECT_FALSE(f.proves_le(1, p("n")));
  EXPECT_FALSE(f.proves_le(p("m"), p("n*m")));
  EXPECT_FALSE(f.proves_not_equal(p("n"), p("2*n")));
  EXPECT_FALSE(f.proves_equal(p("b*s // s"), p("b")));
  EXPECT_FALSE(f.proves_le(p("n // m"), p("n")));
  EXPECT_FALSE(facts({"n=-3..3"}).proves_le(p("n"), p("2*n")));
  EXPECT_FALSE(facts({"n=-3..3"}).proves_le(p("n*n"), p("n*n*n*n*n")));
}

TEST(Prover, UnknownIsNeverProved) {
  const DimExpr u = DimExpr::unknown();
  const Facts f;
  EXPECT_FALSE(f.proves_equal(u, u));
  EXPECT_FALSE(f.proves_not_equal(u, p("n")));
  EXPECT_FALSE(f.proves_le(u, u));
  EXPECT_FALSE(f.proves_lt(p("n"), u));
  EXPECT_FALSE(f.proves_divisible(u, 1));
}

TEST(Prover, HugeNumbersAreNotProvedNotWrapped) {
  const std::string big = "9223372036854775807";
  const Facts f;
  EXPECT_FALSE(f.proves_le(p(big + "*n*m"), p("n")));
  EXPECT_FALSE(f.proves_equal(p(big + "*n"), p("-" + big + "*n")));
  EXPECT_TRUE(f.proves_le(p(big + "*n"), p(big + "*n")));
  EXPECT_EQ(f.range(p(big + "*n")).high, std::nullopt);
  EXPECT_EQ(f.range(p(big + "*n")).low, 0);
  EXPECT_EQ(f.range(p("n*m*k")).high, std::nullopt);
}

// A formula as importers make them must be cheap to ask about, provable or not.
TEST(Prover, QuestionsAreFast) {
  const Facts f = facts({"1 <= b <= 64", "1 <= s <= 512", "n % 8 == 0", "h <= w"});
  const DimExpr a = p("b*s*384 + (h + 1) // 2*b");
  const auto start = std::chrono::steady_clock::now();
  int proved = 0;
  for (int i = 0; i < 200; ++i) {
    proved += f.proves_equal(a, p("b*s*384 + (h + 1) // 2*b"));
    proved += f.proves_le(a, p("b*s*768 + (w + 1) // 2*b"));
    proved += f.proves_equal(a, p("b*s*384 + (w + 1) // 2*b"));
    proved += f.proves_not_equal(p("b"), p("s"));
  }
  const auto elapsed = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(proved, 400);
  EXPECT_LT(std::chrono::duration<double>(elapsed).count(), 4.0);
}

// What chained broadcasts of unknown extents give: each level doubles the formula and multiplies
// its check. Without a limit on work per question this takes hours.
TEST(Prover, AnswersAboutNestedBroadcastsInTime) {
  Facts facts;
  DimExpr extent = DimExpr::symbol("s0");
  for (int i = 1; i < 8; ++i) {
    const DimExpr next = DimExpr::symbol("s" + std::to_string(i));
    facts.assume_equal((extent - next) * (extent - 1) * (next - 1), 0);
    extent = max(extent, next) * min(min(extent, next), 1);
  }
  EXPECT_TRUE(facts.proves_le(0, extent));
  EXPECT_TRUE(facts.proves_equal(extent + extent, 2 * extent));
  EXPECT_FALSE(facts.proves_le(extent, DimExpr::symbol("s1")));
  const DimExpr simple = facts.simplify(floordiv(4 * extent + 3, 4));
  DimValues values;
  for (int i = 0; i < 8; ++i) values["s" + std::to_string(i)] = i % 2 ? 5 : 1;
  EXPECT_EQ(simple.evaluate(values), 5);
}

}  // namespace
}  // namespace symtile
