// Accuracy of the elementary functions: every exponent, both signs, special values, every level,
// against libm in a wider type.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

#include "symtile/backend/llvm/kernel_runner.h"

namespace symtile::codegen {
namespace {

struct Case {
  UnaryOp op;
  long double (*reference)(long double);
  double f32_limit;  ///< ulp
  double f64_limit;
};

long double sigmoid(long double x) {
  if (x >= 0) return 1 / (1 + expl(-x));
  const long double e = expl(x);
  return e / (1 + e);
}

const Case kCases[] = {
    {UnaryOp::exp, expl, 2, 2},     {UnaryOp::expm1, expm1l, 1, 4},
    {UnaryOp::log, logl, 2, 2},     {UnaryOp::log1p, log1pl, 1, 4},
    {UnaryOp::sin, sinl, 2, 2},     {UnaryOp::cos, cosl, 2, 2},
    {UnaryOp::tan, tanl, 1, 4},     {UnaryOp::asin, asinl, 1, 4},
    {UnaryOp::acos, acosl, 1, 4},   {UnaryOp::atan, atanl, 1, 4},
    {UnaryOp::sinh, sinhl, 1, 4},   {UnaryOp::cosh, coshl, 1, 4},
    {UnaryOp::tanh, tanhl, 2, 4},   {UnaryOp::asinh, asinhl, 1, 4},
    {UnaryOp::acosh, acoshl, 1, 4}, {UnaryOp::atanh, atanhl, 1, 4},
    {UnaryOp::erf, erfl, 2, 4},     {UnaryOp::sigmoid, sigmoid, 2, 4},
};

TileFunction elementwise(DType dtype, LoopKind kind, const std::function<Expr(Expr)>& f) {
  const DimExpr n = DimExpr::symbol("n");
  TileFunction out;
  out.name = "elementwise";
  out.symbols = {"n"};
  out.inputs = {{"x", dtype, {n}, Scope::global, {}}};
  out.outputs = {{"y", dtype, {n}, Scope::global, {}}};
  out.body =
      for_loop("i", 0, var("n"), kind, store("y", {var("i")}, f(load("x", dtype, {var("i")}))));
  return out;
}

template <typename T>
std::vector<T> all_exponents(size_t count) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  std::vector<T> out = {0,
                        static_cast<T>(-0.0),
                        1,
                        -1,
                        std::numeric_limits<T>::infinity(),
                        -std::numeric_limits<T>::infinity(),
                        std::numeric_limits<T>::quiet_NaN(),
                        std::numeric_limits<T>::denorm_min(),
                        -std::numeric_limits<T>::denorm_min(),
                        std::numeric_limits<T>::min(),
                        std::numeric_limits<T>::max(),
                        std::numeric_limits<T>::lowest()};
  // An odd multiplier walks through all bit patterns evenly.
  const Bits step = std::numeric_limits<Bits>::max() / static_cast<Bits>(count) | 1;
  Bits bits = 12345;
  for (size_t i = 0; i < count; ++i, bits += step) out.push_back(std::bit_cast<T>(bits));
  // More where functions change their form: near 1 and within a few units of 0.
  for (size_t i = 0; i < count / 2; ++i) {
    const T t = static_cast<T>(i) / static_cast<T>(count / 2);
    out.push_back(static_cast<T>(-20) + static_cast<T>(40) * t);
    out.push_back(static_cast<T>(0.6) + static_cast<T>(0.8) * t);
    out.push_back(static_cast<T>(-1.05) + static_cast<T>(2.1) * t);
    out.push_back(static_cast<T>(-760) + static_cast<T>(1520) * t);
  }
  return out;
}

template <typename T>
double ulps(T got, long double want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e30;
  if (std::isnan(got)) return 1e30;
  if (got == rounded)
    return std::signbit(got) == std::signbit(rounded) ? 0 : (got == 0 && want != 0 ? 0 : 1e30);
  if (std::isinf(got) || std::isinf(rounded)) {
    // One step beyond the largest number is within an ulp.
    const T other = std::isinf(got) ? rounded : got;
    return std::abs(other) == std::numeric_limits<T>::max() ? 1 : 1e30;
  }
  int exponent;
  std::frexp(std::abs(rounded), &exponent);
  const int lowest = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;
  const long double ulp =
      std::ldexp(1.0L, std::max(exponent - std::numeric_limits<T>::digits, lowest));
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / ulp);
}

template <typename T>
double worst(const KernelRunner& runner, const std::vector<T>& x,
             long double (*reference)(long double), T* where) {
  std::vector<T> y(x.size());
  runner.run({const_cast<T*>(x.data()), y.data()}, {static_cast<int64_t>(x.size())});
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = ulps<T>(y[i], reference(static_cast<long double>(x[i])));
    if (error > most) {
      most = error;
      *where = x[i];
    }
  }
  return most;
}

template <typename T>
void check_all(DType dtype, double Case::* limit, size_t count) {
  const std::vector<T> x = all_exponents<T>(count);
  for (const Case& c : kCases) {
    std::string line(name_of(c.op));
    for (CpuLevel level : runnable_levels()) {
      for (LoopKind kind : {LoopKind::vectorized, LoopKind::serial}) {
        const KernelRunner runner(elementwise(dtype, kind, [&](Expr v) { return unary(c.op, v); }),
                                  level);
        T where = 0;
        const double most = worst<T>(runner, x, c.reference, &where);
        EXPECT_LE(most, c.*limit) << name_of(c.op) << " of " << name_of(dtype) << " at " << where
                                  << " on " << name_of(level) << ", " << name_of(kind);
        line += fmt::format("  {:.3g}", most);
      }
    }
    std::printf("%s ulp %s\n", std::string(name_of(dtype)).c_str(), line.c_str());
  }
}

TEST(Math, F32IsAccurate) { check_all<float>(DType::f32, &Case::f32_limit, 200000); }
TEST(Math, F64IsAccurate) { check_all<double>(DType::f64, &Case::f64_limit, 50000); }

template <typename T>
void check_pow(DType dtype, double limit) {
  const T inf = std::numeric_limits<T>::infinity();
  std::vector<T> xs = {0,
                       static_cast<T>(-0.0),
                       1,
                       -1,
                       inf,
                       -inf,
                       std::numeric_limits<T>::quiet_NaN(),
                       static_cast<T>(0.5),
                       2,
                       -2,
                       3,
                       static_cast<T>(1e-30),
                       static_cast<T>(-7.25)};
  std::vector<T> ys = xs;
  for (int i = -12; i <= 12; ++i) ys.push_back(static_cast<T>(i) / 2);
  uint64_t state = 1;
  std::vector<T> a, b;
  for (T x : xs) {
    for (T y : ys) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  for (int i = 0; i < 40000; ++i) {
    const auto next = [&] {
      state = state * 6364136223846793005u + 1442695040888963407u;
      return static_cast<double>(state >> 11) * 0x1p-53;
    };
    const double range = dtype == DType::f32 ? 87 : 708;
    const double log_x = (next() - 0.5) * (i % 2 ? 2 : 80);
    a.push_back(static_cast<T>(std::exp(log_x)));
    b.push_back(static_cast<T>((next() * 2 - 1) * range / std::max(std::abs(log_x), 1e-3)));
  }
  const DimExpr n = DimExpr::symbol("n");
  TileFunction f;
  f.name = "power";
  f.symbols = {"n"};
  f.inputs = {{"x", dtype, {n}, Scope::global, {}}, {"y", dtype, {n}, Scope::global, {}}};
  f.outputs = {{"z", dtype, {n}, Scope::global, {}}};
  f.body = for_loop(
      "i", 0, var("n"), LoopKind::vectorized,
      store("z", {var("i")},
            binary(BinaryOp::pow, load("x", dtype, {var("i")}), load("y", dtype, {var("i")}))));
  for (CpuLevel level : runnable_levels()) {
    const KernelRunner runner(f, level);
    std::vector<T> z(a.size());
    runner.run({a.data(), b.data(), z.data()}, {static_cast<int64_t>(a.size())});
    double most = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const double error = ulps<T>(z[i], powl(a[i], b[i]));
      EXPECT_LE(error, limit) << a[i] << " ^ " << b[i] << " = " << z[i];
      most = std::max(most, error);
    }
    std::printf("%s ulp pow  %.3g\n", std::string(name_of(dtype)).c_str(), most);
  }
}

TEST(Math, PowIsAccurate) {
  check_pow<float>(DType::f32, 1);
  check_pow<double>(DType::f64, 2);
}

}  // namespace
}  // namespace symtile::codegen
