// Every scalar operator on every dtype that it accepts, on special values, and every cast, against
// ir/scalar_eval.h. One kernel a dtype holds all operators: drivers compile kernel by kernel.
#include <cmath>
#include <limits>

#include "device_run.h"
#include "symtile/ir/expr_node.h"
#include "symtile/ir/scalar_eval.h"

namespace symtile::test {
namespace {

constexpr DType kAllDTypes[] = {DType::f32, DType::f64, DType::f16,    DType::bf16, DType::i8,
                                DType::i16, DType::i32, DType::i64,    DType::u8,   DType::u16,
                                DType::u32, DType::u64, DType::boolean};

constexpr UnaryOp kUnary[] = {
#define UNARY_OP(name) UnaryOp::name,
#include "symtile/ir/scalar_ops.def"
};
constexpr BinaryOp kBinary[] = {
#define BINARY_OP(name) BinaryOp::name,
#include "symtile/ir/scalar_ops.def"
};

std::vector<ScalarValue> specials(DType dtype) {
  std::vector<ScalarValue> out;
  if (is_float(dtype)) {
    const double inf = std::numeric_limits<double>::infinity();
    for (const double v :
         {0.0,   -0.0,  1.0,   -1.0,    0.5,     1.5, -1.5, 2.5,         -2.5, 3.0,
          -7.25, 1e-3,  100.7, -129.2,  255.4,   3e4, -7e4, 3e9,         -3e9, 1e10,
          1e19,  -1e19, 6e-8,  65519.0, 65520.0, inf, -inf, std::nan("")}) {
      out.push_back({dtype, round_to(dtype, v), 0});
    }
    if (dtype == DType::f64) {
      for (const double v : {1e300, -1e300, 0x1p53 + 2, 1.0000000596046448, 2049.0000001, 1e-41}) {
        out.push_back({dtype, v, 0});
      }
    }
    return out;
  }
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
  for (const int64_t v : {int64_t{0},
                          int64_t{1},
                          int64_t{-1},
                          int64_t{2},
                          int64_t{3},
                          int64_t{-3},
                          int64_t{7},
                          int64_t{-7},
                          int64_t{8},
                          int64_t{31},
                          int64_t{32},
                          int64_t{63},
                          int64_t{64},
                          int64_t{100},
                          int64_t{127},
                          int64_t{-128},
                          int64_t{255},
                          int64_t{32767},
                          int64_t{-32768},
                          int64_t{2147483647},
                          int64_t{-2147483648},
                          int64_t{4294967295},
                          int64_t{9007199254740993},
                          int64_t{33555433},
                          int64_t{16842753},
                          kLow + 1,
                          kLow,
                          ~kLow}) {
    out.push_back({dtype, 0, wrap_to(dtype, v)});
  }
  return out;
}

Constant column(DType dtype, const std::vector<ScalarValue>& values) {
  auto out = make_zeros(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    is_float(dtype) ? out->set(at, values[i].real) : out->set_int(at, values[i].integer);
  }
  return out;
}

/// outputs[k][i] = results[k], whose variable `i` counts elements.
TileFunction elementwise(DType dtype, int inputs, const std::vector<Expr>& results) {
  TileFunction f;
  f.name = "ops";
  f.symbols = {"n"};
  const Dims dims = {DimExpr::symbol("n")};
  for (int k = 0; k < inputs; ++k) {
    f.inputs.push_back({k == 0 ? "x" : "y", dtype, dims, Scope::global, {}});
  }
  std::vector<Stmt> stores;
  for (size_t k = 0; k < results.size(); ++k) {
    const std::string name = fmt::format("z{}", k);
    f.outputs.push_back({name, results[k].dtype(), dims, Scope::global, {}});
    stores.push_back(store(name, {var("i")}, results[k]));
  }
  constexpr int kLanes = 32;
  const Stmt guarded = make_stmt(IfStmt{var("i") < var("n"), block(stores), nullptr});
  const Stmt lane = make_stmt(LetStmt{"i", var("block") * kLanes + var("lane"), guarded});
  f.body = for_loop("block", 0, to_expr(ceildiv(DimExpr::symbol("n"), kLanes)),
                    LoopKind::grid_block, for_loop("lane", 0, kLanes, LoopKind::warp_lane, lane));
  return f;
}

Expr element(const char* buffer, DType dtype) { return load(buffer, dtype, {var("i")}); }

/// Equal up to `ulps` of the dtype; 16-bit results may be rounded from an f32 that is a bit off.
bool agree(DType dtype, double got, double want, double ulps) {
  if (std::isnan(want)) return std::isnan(got);
  const double rounded = round_to(dtype, want);
  if (got == rounded) return true;
  if (size_of(dtype) == 2) ulps = ulps > 0 ? 1 : 0;
  const double digits = dtype == DType::f64   ? 0x1p-52
                        : dtype == DType::f32 ? 0x1p-23
                        : dtype == DType::f16 ? 0x1p-10
                                              : 0x1p-7;
  const double tiny = dtype == DType::f64 ? 5e-324 : dtype == DType::f16 ? 6e-8 : 1e-45;
  return std::abs(got - rounded) <= ulps * std::max(digits * std::abs(rounded), tiny);
}

/// The error that OpenCL allows of its functions, in f32.
double allowed_ulps(UnaryOp op) {
  const bool exact = op < UnaryOp::exp || op > UnaryOp::sigmoid;
  return exact ? 0 : op == UnaryOp::erf ? 16 : 6;
}

TEST(OpenclOps, UnaryOnSpecialValues) {
  SKIP_WITHOUT_OPENCL();
  for (const DType dtype : kAllDTypes) {
    const std::vector<ScalarValue> values = specials(dtype);
    std::vector<UnaryOp> ops;
    std::vector<Expr> results;
    for (const UnaryOp op : kUnary) {
      if (!why_not(op, dtype).empty()) continue;
      ops.push_back(op);
      results.push_back(unary(op, element("x", dtype)));
    }
    if (ops.empty()) continue;
    const std::vector<Constant> actual =
        run_on_opencl(elementwise(dtype, 1, results), {{"n", static_cast<int64_t>(values.size())}},
                      {column(dtype, values)});
    for (size_t k = 0; k < ops.size(); ++k) {
      for (size_t i = 0; i < values.size(); ++i) {
        const auto where = fmt::format("{} of {} {}/{}", name_of(ops[k]), name_of(dtype),
                                       values[i].real, values[i].integer);
        const auto at = static_cast<int64_t>(i);
        const DType result = results[k].dtype();
        if (is_float(result)) {
          const double want = eval_unary(ops[k], values[i].real);
          const double ulps = std::isinf(values[i].real) ? 0 : allowed_ulps(ops[k]);
          EXPECT_TRUE(agree(result, actual[k]->as_double(at), want, ulps))
              << where << " got " << actual[k]->as_double(at) << " want " << want;
        } else {
          const int64_t want = is_float(dtype)
                                   ? static_cast<int64_t>(eval_unary(ops[k], values[i].real))
                                   : eval_unary_int(ops[k], dtype, values[i].integer);
          EXPECT_EQ(actual[k]->as_int(at), want) << where;
        }
      }
    }
  }
}

TEST(OpenclOps, BinaryOnSpecialValues) {
  SKIP_WITHOUT_OPENCL();
  for (const DType dtype : kAllDTypes) {
    const std::vector<ScalarValue> values = specials(dtype);
    std::vector<ScalarValue> left, right;
    for (const ScalarValue& a : values) {
      for (const ScalarValue& b : values) {
        left.push_back(a);
        right.push_back(b);
      }
    }
    std::vector<BinaryOp> ops;
    std::vector<Expr> results;
    for (const BinaryOp op : kBinary) {
      if (!why_not(op, dtype, dtype).empty()) continue;
      ops.push_back(op);
      results.push_back(binary(op, element("x", dtype), element("y", dtype)));
    }
    const std::vector<Constant> actual =
        run_on_opencl(elementwise(dtype, 2, results), {{"n", static_cast<int64_t>(left.size())}},
                      {column(dtype, left), column(dtype, right)});
    for (size_t k = 0; k < ops.size(); ++k) {
      for (size_t i = 0; i < left.size(); ++i) {
        const ScalarValue a = left[i], b = right[i];
        const auto where = fmt::format("{} of {}: {}/{} and {}/{}", name_of(ops[k]), name_of(dtype),
                                       a.real, a.integer, b.real, b.integer);
        const auto at = static_cast<int64_t>(i);
        const DType result = results[k].dtype();
        if (is_float(result)) {
          double want = eval_binary(ops[k], a.real, b.real);
          if (dtype != DType::f64 && ops[k] == BinaryOp::floordiv) {
            want = std::floor(static_cast<float>(a.real) / static_cast<float>(b.real));
          }
          // Arithmetic of 16-bit floats happens in f32; pow may be off by what OpenCL allows.
          const double ulps = ops[k] == BinaryOp::pow ? 16 : size_of(dtype) == 2 ? 1 : 0;
          EXPECT_TRUE(agree(result, actual[k]->as_double(at), want, ulps))
              << where << " got " << actual[k]->as_double(at) << " want " << want;
        } else if (is_float(dtype)) {
          EXPECT_EQ(actual[k]->as_int(at), eval_compare(ops[k], a.real, b.real)) << where;
        } else {
          EXPECT_EQ(actual[k]->as_int(at), eval_binary_int(ops[k], dtype, a.integer, b.integer))
              << where;
        }
      }
    }
  }
}

TEST(OpenclOps, EveryCast) {
  SKIP_WITHOUT_OPENCL();
  for (const DType from : kAllDTypes) {
    const std::vector<ScalarValue> values = specials(from);
    std::vector<Expr> results;
    for (const DType to : kAllDTypes) results.push_back(cast(to, element("x", from)));
    const std::vector<Constant> actual =
        run_on_opencl(elementwise(from, 1, results), {{"n", static_cast<int64_t>(values.size())}},
                      {column(from, values)});
    for (size_t k = 0; k < results.size(); ++k) {
      const DType to = results[k].dtype();
      for (size_t i = 0; i < values.size(); ++i) {
        const ScalarValue want = eval_cast(to, values[i]);
        const auto at = static_cast<int64_t>(i);
        const auto where = fmt::format("{} {}/{} to {}", name_of(from), values[i].real,
                                       values[i].integer, name_of(to));
        if (is_float(to)) {
          EXPECT_TRUE(agree(to, actual[k]->as_double(at), want.real, 0))
              << where << " got " << actual[k]->as_double(at) << " want " << want.real;
        } else {
          EXPECT_EQ(actual[k]->as_int(at), want.integer) << where;
        }
      }
    }
  }
}

}  // namespace
}  // namespace symtile::test
