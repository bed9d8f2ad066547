// DimExpr: canonical form, text, exactness.
#include "symtile/shape/dim_expr.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "symtile/diag/diagnostic.h"

namespace symtile {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

DimExpr p(const std::string& text) { return parse_dim_expr(text); }

template <typename Action>
DiagId diagnostic_of(const Action& action) {
  try {
    action();
  } catch (const DiagnosticError& e) {
    EXPECT_GT(std::string(e.what()).size(), 20u);
    return e.id();
  }
  ADD_FAILURE() << "no diagnostic";
  return DiagId::bad_module;
}

struct Pair {
  const char* in;
  const char* out;
};

TEST(DimExpr, PrintsItsCanonicalForm) {
  for (const auto& [in, out] :
       std::initializer_list<Pair>{{"0", "0"},
                                   {"-7", "-7"},
                                   {"1 + n*4", "4*n + 1"},
                                   {"(h + 1) // 2", "(h + 1) // 2"},
                                   {"(n + m)*(n - m)", "n*n - m*m"},
                                   {"-n + 4096", "4096 - n"},
                                   {"n - n", "0"},
                                   {"n*0", "0"},
                                   {"-(n // 2)", "-(n // 2)"},
                                   {"(-n) // 2", "(-n) // 2"},
                                   {"m - n // 2", "m - n // 2"},
                                   {"n // 2 * 4", "4*(n // 2)"},
                                   {"n*(m // 2)*n", "n*n*(m // 2)"},
                                   {"2*n // 3", "(2*n) // 3"},
                                   {"n // (m + 1)", "n // (m + 1)"},
                                   {"n % 8", "n % 8"},
                                   {"n // m // k", "(n // m) // k"},
                                   {"max(n, m) - min(m, 2)", "max(m, n) - min(2, m)"},
                                   {"ceildiv(n, 8)", "(n + 7) // 8"},
                                   {"a.b_1*2", "2*a.b_1"},
                                   {"?", "?"}}) {
    EXPECT_EQ(p(in).str(), out) << in;
    EXPECT_EQ(p(p(in).str()), p(in)) << in;
  }
}

TEST(DimExpr, SimplifiesDivisions) {
  for (const auto& [in, out] :
       std::initializer_list<Pair>{{"(4*n + 8) // 4", "n + 2"},
                                   {"(4*n + 3) // 4", "n"},
                                   {"(4*n + 3) % 4", "3"},
                                   {"(4*n + 3) % 8", "4*(n % 2) + 3"},
                                   {"(4*n + 3) // 8", "n // 2"},
                                   {"(n - 1) // 2", "(n + 1) // 2 - 1"},
                                   {"n // 2 // 3", "n // 6"},
                                   {"((w + 1) // 2 + 1) // 2", "(w + 3) // 4"},
                                   {"(n // 4 + m) // 2", "(4*m + n) // 8"},
                                   {"n // 4 * 4 + n % 4", "n"},
                                   {"(9*n + 1) // 4 * 4 + (9*n + 1) % 4", "9*n + 1"},
                                   {"m*(n // 4)*4 + m*(n % 4)", "m*n"},
                                   {"n // 1", "n"},
                                   {"n // -1", "-n"},
                                   {"n // -3", "(-n) // 3"},
                                   {"n % -4", "-((-n) % 4)"},
                                   {"n % 1", "0"},
                                   {"n % 8 % 4", "n % 4"},
                                   {"n % 8 // 4", "(n // 4) % 2"},
                                   {"n % 4 // 8", "0"},
                                   {"n % 4 % 8", "n % 4"},
                                   {"(n % 4 + 4) // 8", "0"},
                                   {"-7 // 2", "-4"},
                                   {"-7 % 2", "1"},
                                   {"7 // -2", "-4"},
                                   {"7 % -2", "-1"},
                                   {"-8 // -2", "4"},
                                   {"(8*n + 4*m) // 4", "m + 2*n"}}) {
    EXPECT_EQ(p(in), p(out)) << in << " gives " << p(in).str();
  }
}

TEST(DimExpr, DoesNotAssumeThatASymbolicDivisorIsNotZero) {
  for (const char* text : {"n // n", "(n*m) // m", "0 // n", "n % n", "m*(n // m) + n % m"}) {
    EXPECT_EQ(diagnostic_of([&] { p(text).evaluate({{"n", 0}, {"m", 0}}); }),
              DiagId::dimension_overflow)
        << text;
  }
}

TEST(DimExpr, SimplifiesExtrema) {
  for (const auto& [in, out] :
       std::initializer_list<Pair>{{"max(n, n + 1)", "n + 1"},
                                   {"min(n, n + 1)", "n"},
                                   {"max(n, n)", "n"},
                                   {"max(n, max(m, n - 3))", "max(n, m)"},
                                   {"max(3, max(n, 5))", "max(n, 5)"},
                                   {"max(n, m)", "max(m, n)"},
                                   {"max(n, min(n, m))", "n"},
                                   {"max(n + 3, min(n, m))", "n + 3"},
                                   {"max(max(n, m) + 1, n)", "max(n, m) + 1"},
                                   {"max(n + 1, m + 1)", "max(n, m) + 1"},
                                   {"min(max(m, n), n)", "n"},
                                   {"min(a, b, c)", "min(c, min(b, a))"},
                                   {"min(-3, 2)", "-3"}}) {
    EXPECT_EQ(p(in), p(out)) << in << " gives " << p(in).str();
  }
}

TEST(DimExpr, CeildivAndRoundUpForEverySign) {
  for (int64_t a = -9; a <= 9; ++a) {
    for (int64_t b : {-4, -3, -1, 1, 2, 5}) {
      const double exact = static_cast<double>(a) / static_cast<double>(b);
      EXPECT_EQ(ceildiv(DimExpr(a), DimExpr(b)).as_const(), static_cast<int64_t>(std::ceil(exact)));
      EXPECT_EQ(ceildiv(DimExpr::symbol("n"), DimExpr(b)).evaluate({{"n", a}}),
                static_cast<int64_t>(std::ceil(exact)));
    }
    const auto up = round_up(DimExpr(a), 4).as_const();
    EXPECT_TRUE(up && *up % 4 == 0 && *up >= a && *up < a + 4);
  }
  EXPECT_THROW(round_up(DimExpr(1), 0), InternalError);
}

TEST(DimExpr, UnknownAbsorbs) {
  const DimExpr u = DimExpr::unknown();
  const DimExpr n = DimExpr::symbol("n");
  for (const DimExpr& e : {u + n, n - u, u * 0, -u, floordiv(u, 2), floormod(n, u), min(u, n),
                           max(n, u), product({n, u, 2}), u.substitute({{"n", 3}})}) {
    EXPECT_TRUE(e.is_unknown());
  }
  EXPECT_FALSE(u.as_const() || u.as_symbol());
  EXPECT_NE(u, n);
  EXPECT_TRUE(u.symbols().empty());
  EXPECT_THROW(u.terms(), InternalError);
  EXPECT_EQ(diagnostic_of([&] { u.evaluate({}); }), DiagId::unknown_name);
  EXPECT_EQ(diagnostic_of([&] { floordiv(u, 0); }), DiagId::dimension_overflow);
}

TEST(DimExpr, OverflowIsADiagnostic) {
  const DimExpr n = DimExpr::symbol("n");
  const DimExpr big = kMax;
  const std::vector<std::function<void()>> cases = {
      [&] { (void)(big + 1); },
      [&] { (void)(DimExpr(kMin) - 1); },
      [&] { (void)(-DimExpr(kMin)); },
      [&] { (void)(DimExpr(0) - DimExpr(kMin)); },
      [&] { (void)(big * 2); },
      [&] { (void)(big * n + n); },
      [&] { (void)(big * n * 3); },
      [&] { (void)floordiv(kMin, -1); },
      [&] { (void)floordiv(n, kMin); },
      [&] { (void)floordiv(n, 0); },
      [&] { (void)floormod(n, 0); },
      [&] { (void)ceildiv(n, 0); },
      [&] { (void)ceildiv(5, 0); },
      [&] { (void)floordiv(n, DimExpr::symbol("m")).substitute({{"m", 0}}); },
      [&] { (n * n).evaluate({{"n", int64_t{1} << 40}}); },
      [&] { (n + 1).evaluate({{"n", kMax}}); },
      [&] { floordiv(n, DimExpr::symbol("m")).evaluate({{"n", kMin}, {"m", -1}}); },
      [&] { floordiv(n, DimExpr::symbol("m")).evaluate({{"n", 1}, {"m", 0}}); },
      [&] { (void)p("9223372036854775808"); },
      [&] { (void)p("99999999999999999999999999999999999999999999"); },
      [&] {
        DimExpr e = n;
        for (int i = 0; i < 70; ++i) e *= n;
      },
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(diagnostic_of(cases[i]), DiagId::dimension_overflow) << "case " << i;
  }
  EXPECT_EQ(p("-9223372036854775808").as_const(), kMin);
  EXPECT_EQ((DimExpr(kMin) * n).str(), "-9223372036854775808*n");
  EXPECT_EQ(p((DimExpr(kMin) * n).str()), DimExpr(kMin) * n);
  EXPECT_EQ(floormod(kMin, -1).as_const(), 0);
  // The value fits although parts of the sum do not.
  EXPECT_EQ((big * n - (big - 1) * DimExpr::symbol("m")).evaluate({{"n", 3}, {"m", 3}}), 3);
}

TEST(DimExpr, HostileTextIsADiagnostic) {
  for (const char* text : {"", " ", "n +", "(n", "n)", "n m", "4n", "max(n)", "max(n,", "n / 2",
                           "#", "n ** 2", "ceildiv(n, 2, 3)", "1.5", "\xff", "*n"}) {
    EXPECT_EQ(diagnostic_of([&] { p(text); }), DiagId::bad_text) << text;
  }
  EXPECT_EQ(diagnostic_of([&] { p(std::string(100000, '(')); }), DiagId::bad_text);
  EXPECT_EQ(diagnostic_of([&] { p(std::string(5000, '(')); }), DiagId::bad_text);
  EXPECT_EQ(diagnostic_of([&] { p(std::string(5000, '-') + "n"); }), DiagId::bad_text);
  std::string sum = "a0";
  std::string blowup = "1";
  for (int i = 1; i < 100; ++i) sum += " + a" + std::to_string(i);
  for (int i = 0; i < 20; ++i) blowup += "*(" + sum + ")";
  EXPECT_EQ(diagnostic_of([&] { p(blowup); }), DiagId::too_large);
  DimExpr deep = DimExpr::symbol("n");
  EXPECT_EQ(diagnostic_of([&] {
              for (int i = 0; i < 1000; ++i) deep = floordiv(deep + 1, DimExpr::symbol("m"));
            }),
            DiagId::too_large);
}

TEST(DimExpr, SubstitutesSimultaneously) {
  const DimExpr n = DimExpr::symbol("n");
  const DimExpr m = DimExpr::symbol("m");
  EXPECT_EQ(p("n + 2*m").substitute({{"n", m}, {"m", n}}), p("m + 2*n"));
  EXPECT_EQ(p("max(n, 3) + n // 2").substitute({{"n", p("2*k")}}), p("max(2*k, 3) + k"));
  EXPECT_EQ(p("n*n").substitute({{"n", p("a + 1")}}), p("a*a + 2*a + 1"));
  EXPECT_TRUE(p("n + m").substitute({{"n", DimExpr::unknown()}}).is_unknown());
  EXPECT_EQ(diagnostic_of([&] { p("n + m").evaluate({{"n", 1}}); }), DiagId::unknown_name);
}

TEST(DimExpr, AccessorsAndOrder) {
  EXPECT_EQ(DimExpr().as_const(), 0);
  EXPECT_EQ(p("n").as_symbol(), "n");
  EXPECT_FALSE(p("2*n").as_symbol() || p("n + 1").as_symbol() || p("3").as_symbol());
  EXPECT_TRUE(p("3").is_const(3));
  EXPECT_EQ(p("n*max(a, b // c)").symbols(), (std::set<std::string>{"a", "b", "c", "n"}));
  EXPECT_TRUE(p("0").terms().empty());
  ASSERT_EQ(p("3*n*n + 1").terms().size(), 2u);
  EXPECT_EQ(p("3*n*n + 1").terms()[0].coefficient, 3);
  EXPECT_EQ(p("3*n*n + 1").terms()[0].factors[0].second, 2);
  const std::vector<DimExpr> all = {p("-1"), p("7"), p("n"), p("m"), p("n*m"), p("n // 2"), p("?")};
  for (const DimExpr& a : all) {
    for (const DimExpr& b : all) {
      EXPECT_EQ(DimExpr::compare(a, b), -DimExpr::compare(b, a));
      EXPECT_EQ(a == b, !(a < b) && !(b < a));
      if (a == b) {
        EXPECT_EQ(std::hash<DimExpr>{}(a), std::hash<DimExpr>{}(b));
      }
    }
  }
}

TEST(DimExpr, SanitizesNames) {
  EXPECT_EQ(sanitize_symbol("batch size"), "batch_size");
  EXPECT_EQ(sanitize_symbol("0"), "_0");
  EXPECT_EQ(sanitize_symbol(".x"), "_.x");
  EXPECT_EQ(sanitize_symbol(""), "_");
  EXPECT_EQ(sanitize_symbol("floor(h/2)"), "floor_h_2_");
  for (const char* name : {"\xc3\xa4", "a b", "9", "-", "a.b"}) {
    const std::string s = sanitize_symbol(name);
    EXPECT_EQ(p(s).as_symbol(), s);
  }
  EXPECT_THROW(DimExpr::symbol("a b"), InternalError);
  EXPECT_THROW(DimExpr::symbol("a/b"), InternalError);
  EXPECT_THROW(DimExpr::symbol(""), InternalError);
}

}  // namespace
}  // namespace symtile
