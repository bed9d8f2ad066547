// Every scalar operator on every dtype it accepts, on special values, against the reference
// semantics of ir/scalar_eval.h; every cast; 16-bit floats.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "symtile/backend/llvm/kernel_runner.h"
#include "symtile/base/half.h"
#include "symtile/ir/scalar_eval.h"

namespace symtile::codegen {
namespace {

constexpr DType kAllDTypes[] = {DType::f32, DType::f64, DType::f16,    DType::bf16, DType::i8,
                                DType::i16, DType::i32, DType::i64,    DType::u8,   DType::u16,
                                DType::u32, DType::u64, DType::boolean};

const std::vector<UnaryOp> kUnary = {
#define UNARY_OP(name) UnaryOp::name,
#include "symtile/ir/scalar_ops.def"
};
const std::vector<BinaryOp> kBinary = {
#define BINARY_OP(name) BinaryOp::name,
#include "symtile/ir/scalar_ops.def"
};

/// Values in the memory form of a dtype.
class Column {
 public:
  Column(DType dtype, size_t count)
      : dtype_(dtype), bytes_(count * static_cast<size_t>(size_of(dtype)) + 64) {}
  void* data() { return bytes_.data(); }

  void set(size_t i, const ScalarValue& v) {
    uint64_t bits = static_cast<uint64_t>(v.integer);
    switch (dtype_) {
      case DType::f64:
        bits = std::bit_cast<uint64_t>(v.real);
        break;
      case DType::f32:
        bits = std::bit_cast<uint32_t>(static_cast<float>(v.real));
        break;
      case DType::f16:
        bits = float_to_half(static_cast<float>(v.real));
        break;
      case DType::bf16:
        bits = float_to_bfloat(static_cast<float>(v.real));
        break;
      default:
        break;
    }
    const auto size = static_cast<size_t>(size_of(dtype_));
    std::memcpy(bytes_.data() + i * size, &bits, size);
  }
  ScalarValue get(size_t i) const {
    const auto size = static_cast<size_t>(size_of(dtype_));
    uint64_t bits = 0;
    std::memcpy(&bits, bytes_.data() + i * size, size);
    ScalarValue v{dtype_, 0, 0};
    switch (dtype_) {
      case DType::f64:
        v.real = std::bit_cast<double>(bits);
        break;
      case DType::f32:
        v.real = std::bit_cast<float>(static_cast<uint32_t>(bits));
        break;
      case DType::f16:
        v.real = half_to_float(static_cast<uint16_t>(bits));
        break;
      case DType::bf16:
        v.real = bfloat_to_float(static_cast<uint16_t>(bits));
        break;
      default:
        v.integer = wrap_to(dtype_, static_cast<int64_t>(bits));
        break;
    }
    return v;
  }
  bool raw_is_clean_bool(size_t i) const { return bytes_[i] <= 1; }

 private:
  DType dtype_;
  std::vector<unsigned char> bytes_;
};

std::vector<ScalarValue> specials(DType dtype) {
  std::vector<ScalarValue> out;
  if (is_float(dtype)) {
    const double inf = std::numeric_limits<double>::infinity();
    for (double v :
         {0.0,  -0.0,  1.0,    -1.0,  0.5,     1.5,     -1.5, 2.5,  -2.5,        3.0,  -7.25,
          1e-3, 100.7, -129.2, 255.4, 3e4,     -7e4,    3e9,  -3e9, 1e10,        1e19, -1e19,
          3e38, 1e-40, -1e-44, 6e-8,  65519.0, 65520.0, inf,  -inf, std::nan("")}) {
      out.push_back({dtype, round_to(dtype, v), 0});
    }
    if (dtype == DType::f64) {
      for (double v : {1e300, -1e300, 5e-324, 0x1p53 + 2, 1.0000000596046448, 2049.0000001}) {
        out.push_back({dtype, v, 0});
      }
    }
    return out;
  }
  for (int64_t v : {int64_t{0},
                    int64_t{1},
                    int64_t{-1},
                    int64_t{2},
                    int64_t{-2},
                    int64_t{3},
                    int64_t{-3},
                    int64_t{5},
                    int64_t{7},
                    int64_t{-7},
                    int64_t{8},
                    int64_t{16},
                    int64_t{31},
                    int64_t{32},
                    int64_t{33},
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
                    int64_t{-9007199254740993},
                    int64_t{33555433},
                    std::numeric_limits<int64_t>::max(),
                    std::numeric_limits<int64_t>::min()}) {
    const ScalarValue value{dtype, 0, wrap_to(dtype, v)};
    bool known = false;
    for (const ScalarValue& o : out) known |= o.integer == value.integer;
    if (!known) out.push_back(value);
  }
  return out;
}

bool accepts(UnaryOp op, DType dtype) {
  switch (op) {
    case UnaryOp::bit_not:
      return is_int(dtype);
    case UnaryOp::logical_not:
      return dtype == DType::boolean;
    case UnaryOp::neg:
    case UnaryOp::abs:
    case UnaryOp::sign:
      return dtype != DType::boolean;
    default:
      return is_float(dtype);
  }
}

bool accepts(BinaryOp op, DType dtype) {
  switch (op) {
    case BinaryOp::logical_and:
    case BinaryOp::logical_or:
    case BinaryOp::logical_xor:
      return dtype == DType::boolean;
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
    case BinaryOp::shl:
    case BinaryOp::shr:
      return is_int(dtype);
    default:
      return dtype != DType::boolean || is_comparison(op);
  }
}

/// Equal up to `ulps` of the dtype; zeros must agree in sign unless `any_zero`.
bool agree(const ScalarValue& got, double want, double ulps, bool any_zero) {
  if (std::isnan(want)) return std::isnan(got.real);
  const double rounded = round_to(got.dtype, want);
  if (got.real == rounded) return any_zero || std::signbit(got.real) == std::signbit(rounded);
  const double digits = got.dtype == DType::f64   ? 0x1p-52
                        : got.dtype == DType::f32 ? 0x1p-23
                        : got.dtype == DType::f16 ? 0x1p-10
                                                  : 0x1p-7;
  const double tiny = got.dtype == DType::f64 ? 5e-324 : got.dtype == DType::f16 ? 6e-8 : 1e-45;
  return std::abs(got.real - rounded) <= ulps * std::max(digits * std::abs(rounded), tiny);
}

Buffer column(const char* name, DType dtype) {
  return {name, dtype, {DimExpr::symbol("n")}, Scope::global, {}};
}

/// Both loop kinds of one expression, so that scalars and vectors are tested.
std::vector<TileFunction> both_kinds(std::vector<Buffer> inputs, DType result, const Expr& e) {
  std::vector<TileFunction> out;
  for (LoopKind kind : {LoopKind::vectorized, LoopKind::serial}) {
    TileFunction f;
    f.name = "op";
    f.symbols = {"n"};
    f.inputs = inputs;
    f.outputs = {column("z", result)};
    f.body = for_loop("i", 0, var("n"), kind, store("z", {var("i")}, e));
    out.push_back(std::move(f));
  }
  return out;
}

class OpsAtLevel : public testing::TestWithParam<CpuLevel> {};
INSTANTIATE_TEST_SUITE_P(Levels, OpsAtLevel, testing::ValuesIn(runnable_levels()),
                         [](const auto& info) {
                           std::string name(name_of(info.param));
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST_P(OpsAtLevel, UnaryOnSpecialValues) {
  for (DType dtype : kAllDTypes) {
    const auto values = specials(dtype);
    std::vector<TileFunction> functions;
    std::vector<UnaryOp> ops;
    for (UnaryOp op : kUnary) {
      if (!accepts(op, dtype)) continue;
      const Expr e = unary(op, load("x", dtype, {var("i")}));
      for (TileFunction& f : both_kinds({column("x", dtype)}, e.dtype(), e)) {
        functions.push_back(std::move(f));
        ops.push_back(op);
      }
    }
    const KernelRunner runner(functions, GetParam());
    Column x(dtype, values.size());
    for (size_t i = 0; i < values.size(); ++i) x.set(i, values[i]);
    for (size_t k = 0; k < ops.size(); ++k) {
      const DType result = functions[k].outputs[0].dtype;
      Column z(result, values.size());
      runner.run({x.data(), z.data()}, {static_cast<int64_t>(values.size())}, 1, k);
      for (size_t i = 0; i < values.size(); ++i) {
        const ScalarValue got = z.get(i);
        const auto where = fmt::format("{} of {} {}/{}, kind {}", name_of(ops[k]), name_of(dtype),
                                       values[i].real, values[i].integer, k % 2);
        if (result == DType::boolean) {
          EXPECT_TRUE(z.raw_is_clean_bool(i)) << where;
        }
        if (is_float(result)) {
          const double want = eval_unary(ops[k], values[i].real);
          EXPECT_TRUE(agree(got, want, 4, false))
              << where << " got " << got.real << " want " << want;
        } else {
          const int64_t want = is_float(dtype)
                                   ? static_cast<int64_t>(eval_unary(ops[k], values[i].real))
                                   : eval_unary_int(ops[k], dtype, values[i].integer);
          EXPECT_EQ(got.integer, want) << where;
        }
      }
    }
  }
}

TEST_P(OpsAtLevel, BinaryOnSpecialValues) {
  for (DType dtype : kAllDTypes) {
    const auto values = specials(dtype);
    const size_t count = values.size() * values.size();
    std::vector<TileFunction> functions;
    std::vector<BinaryOp> ops;
    for (BinaryOp op : kBinary) {
      if (!accepts(op, dtype)) continue;
      const Expr e = binary(op, load("x", dtype, {var("i")}), load("y", dtype, {var("i")}));
      for (TileFunction& f : both_kinds({column("x", dtype), column("y", dtype)}, e.dtype(), e)) {
        functions.push_back(std::move(f));
        ops.push_back(op);
      }
    }
    const KernelRunner runner(functions, GetParam());
    Column x(dtype, count), y(dtype, count);
    for (size_t i = 0; i < count; ++i) {
      x.set(i, values[i / values.size()]);
      y.set(i, values[i % values.size()]);
    }
    for (size_t k = 0; k < ops.size(); ++k) {
      const DType result = functions[k].outputs[0].dtype;
      Column z(result, count);
      runner.run({x.data(), y.data(), z.data()}, {static_cast<int64_t>(count)}, 1, k);
      for (size_t i = 0; i < count; ++i) {
        const ScalarValue a = values[i / values.size()], b = values[i % values.size()];
        const ScalarValue got = z.get(i);
        const auto where = fmt::format("{} of {}: {}/{} and {}/{}, kind {}", name_of(ops[k]),
                                       name_of(dtype), a.real, a.integer, b.real, b.integer, k % 2);
        if (is_float(result)) {
          // Arithmetic of 16-bit floats happens in f32.
          double want = eval_binary(ops[k], a.real, b.real);
          const bool inner = ops[k] == BinaryOp::floordiv || ops[k] == BinaryOp::floormod;
          if (dtype != DType::f64 && ops[k] == BinaryOp::floordiv) {
            want = std::floor(static_cast<float>(a.real) / static_cast<float>(b.real));
          }
          const bool any_zero = ops[k] == BinaryOp::min || ops[k] == BinaryOp::max || inner;
          const double ulps =
              ops[k] == BinaryOp::pow ? 2 : (is_float(dtype) && size_of(dtype) == 2);
          EXPECT_TRUE(agree(got, want, ulps, any_zero))
              << where << " got " << got.real << " want " << want;
        } else if (is_float(dtype)) {
          EXPECT_EQ(got.integer, eval_compare(ops[k], a.real, b.real)) << where;
        } else {
          EXPECT_EQ(got.integer, eval_binary_int(ops[k], dtype, a.integer, b.integer)) << where;
        }
      }
    }
  }
}

TEST_P(OpsAtLevel, EveryCast) {
  for (DType from : kAllDTypes) {
    const auto values = specials(from);
    std::vector<TileFunction> functions;
    for (DType to : kAllDTypes) {
      const Expr e = cast(to, load("x", from, {var("i")}));
      for (TileFunction& f : both_kinds({column("x", from)}, to, e)) {
        functions.push_back(std::move(f));
      }
    }
    const KernelRunner runner(functions, GetParam());
    Column x(from, values.size());
    for (size_t i = 0; i < values.size(); ++i) x.set(i, values[i]);
    for (size_t k = 0; k < functions.size(); ++k) {
      const DType to = functions[k].outputs[0].dtype;
      Column z(to, values.size());
      runner.run({x.data(), z.data()}, {static_cast<int64_t>(values.size())}, 1, k);
      for (size_t i = 0; i < values.size(); ++i) {
        const ScalarValue got = z.get(i), want = eval_cast(to, values[i]);
        const auto where =
            fmt::format("{} {}/{} to {}, kind {}: got {}/{}", name_of(from), values[i].real,
                        values[i].integer, name_of(to), k % 2, got.real, got.integer);
        if (is_float(to)) {
          EXPECT_TRUE(agree(got, want.real, 0, false)) << where << " want " << want.real;
        } else {
          EXPECT_EQ(got.integer, want.integer) << where;
        }
      }
    }
  }
}

TEST_P(OpsAtLevel, HalfConversionsOfAllBitPatterns) {
  for (DType dtype : {DType::f16, DType::bf16}) {
    const auto functions = both_kinds({column("x", dtype)}, DType::f32,
                                      cast(DType::f32, load("x", dtype, {var("i")})));
    const auto back = both_kinds({column("x", DType::f32)}, dtype,
                                 cast(dtype, load("x", DType::f32, {var("i")})));
    const KernelRunner widen(functions, GetParam()), narrow(back, GetParam());
    std::vector<uint16_t> bits(65536);
    for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
    for (size_t kind = 0; kind < 2; ++kind) {
      std::vector<float> wide(bits.size());
      widen.run({bits.data(), wide.data()}, {65536}, 1, kind);
      for (size_t i = 0; i < bits.size(); ++i) {
        const float want = dtype == DType::f16 ? half_to_float(bits[i]) : bfloat_to_float(bits[i]);
        if (std::isnan(want)) {
          EXPECT_TRUE(std::isnan(wide[i]));
        } else {
          EXPECT_EQ(std::bit_cast<uint32_t>(wide[i]), std::bit_cast<uint32_t>(want)) << i;
        }
      }
      std::vector<float> samples;
      for (uint32_t b = 0; b < 0xfffff000u; b += 0x1001) samples.push_back(std::bit_cast<float>(b));
      std::vector<uint16_t> out(samples.size());
      narrow.run({samples.data(), out.data()}, {static_cast<int64_t>(samples.size())}, 1, kind);
      for (size_t i = 0; i < samples.size(); ++i) {
        const uint16_t want =
            dtype == DType::f16 ? float_to_half(samples[i]) : float_to_bfloat(samples[i]);
        if (std::isnan(samples[i])) continue;
        EXPECT_EQ(out[i], want) << samples[i];
      }
    }
  }
}

}  // namespace
}  // namespace symtile::codegen
