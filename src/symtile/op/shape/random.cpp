#include "symtile/op/shape/random.h"

#include "symtile/op/elementwise.h"

namespace symtile {
namespace {

/// Applies the rounds of the hash to anything that has wrapping 32-bit arithmetic.
template <typename T, typename Xor, typename Mul>
T mixed(T x, Xor&& xor_shift, Mul&& multiply) {
  x = multiply(xor_shift(x, 16), 0x7feb352du);
  x = multiply(xor_shift(x, 15), 0x846ca68bu);
  return xor_shift(x, 16);
}

uint32_t mix(uint32_t x) {
  return mixed(
      x, [](uint32_t v, int by) { return v ^ (v >> by); },
      [](uint32_t v, uint32_t by) { return v * by; });
}

Expr number(uint32_t value) { return int_imm(DType::u32, static_cast<int64_t>(value)); }

Expr mix(const Expr& x) {
  return mixed(
      x,
      [](const Expr& v, int by) {
        return binary(BinaryOp::bit_xor, v,
                      binary(BinaryOp::shr, v, number(static_cast<uint32_t>(by))));
      },
      [](const Expr& v, uint32_t by) { return v * number(by); });
}

uint32_t key_of(int64_t seed, uint32_t stream) {
  const auto bits = static_cast<uint64_t>(seed);
  return mix(mix(static_cast<uint32_t>(bits) ^ mix(static_cast<uint32_t>(bits >> 32))) + stream);
}

}  // namespace

double random_uniform_at(int64_t seed, uint32_t stream, int64_t element) {
  const auto bits = static_cast<uint64_t>(element);
  const uint32_t high = mix(static_cast<uint32_t>(bits >> 32) ^ key_of(seed, stream));
  return (mix(static_cast<uint32_t>(bits) ^ high) >> 8) * 0x1p-24;
}

Expr random_uniform_at(int64_t seed, uint32_t stream, const Expr& element) {
  const Expr high = cast(DType::u32, binary(BinaryOp::shr, element, Expr(32)));
  const Expr low = cast(DType::u32, element);
  const Expr key = mix(binary(BinaryOp::bit_xor, high, number(key_of(seed, stream))));
  const Expr bits = mix(binary(BinaryOp::bit_xor, low, key));
  return cast(DType::f32, binary(BinaryOp::shr, bits, number(8))) * imm(DType::f32, 0x1p-24);
}

std::vector<AttrSpec> random_attrs(const char* first, const char* second) {
  return {{"dtype", AttrSpec::Kind::dtype, true},
          {"shape", AttrSpec::Kind::dims, true},
          {"seed", AttrSpec::Kind::integer, true},
          {first, AttrSpec::Kind::real, true},
          {second, AttrSpec::Kind::real, true}};
}

std::vector<Type> deduce_random(DeduceContext& c) {
  const DType dtype = c.attrs().get_dtype("dtype");
  if (!is_float(dtype))
    c.fail(DiagId::type_mismatch, "random numbers have a float type, not {}", name_of(dtype));
  return {Type::tensor(c.attrs().get_dims("shape"), dtype)};
}

void evaluate_random(EvalContext& c, const std::function<double(int64_t)>& value) {
  RefTensor& y = c.out(c.attrs().get_dtype("dtype"), c.dims_attr("shape"));
  for (int64_t i = 0; i < y.size(); ++i) y.set(i, value(i));
}

void lower_random(LowerContext& c, const std::function<Expr(const Expr&)>& value) {
  const Dims shape = c.attrs().get_dims("shape");
  c.compute(0, [&](const Index& index) {
    Expr element(0);
    for (size_t d = 0; d < shape.size(); ++d) element = element * to_expr(shape[d]) + index[d];
    return cast(c.out_dtype(), value(element));
  });
}

std::vector<OpSample> random_samples(const char* first, const char* second) {
  const DimExpr n = DimExpr::symbol("n");
  const auto sample = [&](DType dtype, Dims shape, int64_t seed, double a, double b,
                          DimValues symbols) {
    OpSample s;
    s.attrs = {{"dtype", dtype}, {"shape", std::move(shape)}, {"seed", seed}};
    s.attrs.set(first, a);
    s.attrs.set(second, b);
    s.symbols = std::move(symbols);
    s.tolerance = sample_tolerance(dtype);
    return s;
  };
  return {
      sample(DType::f32, {4, 33}, 0, 0, 1, {}), sample(DType::f32, {n, 3, n}, 7, -2, 5, {{"n", 5}}),
      sample(DType::f16, {17}, -1, 0, 1, {}), sample(DType::f64, {n}, 1 << 20, 3, 4, {{"n", 9}}),
      sample(DType::f32, {n}, 2, 0, 1, {{"n", 0}})};
}

}  // namespace symtile
