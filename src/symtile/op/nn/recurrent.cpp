#include "symtile/op/nn/recurrent.h"

#include <algorithm>
#include <cmath>

#include "symtile/op/linalg/contract.h"

namespace symtile {
namespace {

constexpr const char* kActivations[] = {"affine",   "elu",        "hardsigmoid",    "leakyrelu",
                                        "relu",     "scaledtanh", "sigmoid",        "softplus",
                                        "softsign", "tanh",       "thresholdedrelu"};

}  // namespace

bool is_activation(const std::string& name) {
  return std::find(std::begin(kActivations), std::end(kActivations), name) !=
         std::end(kActivations);
}

double Activation::operator()(double x) const {
  if (name == "tanh") return std::tanh(x);
  if (name == "relu") return std::max(x, 0.0);
  if (name == "affine") return alpha * x + beta;
  if (name == "leakyrelu") return x >= 0 ? x : alpha * x;
  if (name == "thresholdedrelu") return x > alpha ? x : 0;
  if (name == "scaledtanh") return alpha * std::tanh(beta * x);
  if (name == "hardsigmoid") return std::min(std::max(alpha * x + beta, 0.0), 1.0);
  if (name == "elu") return x >= 0 ? x : alpha * std::expm1(x);
  if (name == "softsign") return x / (1 + std::abs(x));
  if (name == "softplus") return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

Expr Activation::operator()(const Expr& x) const {
  const auto number = [&](double v) { return imm(x.dtype(), v); };
  const Expr zero = number(0);
  if (name == "tanh") return unary(UnaryOp::tanh, x);
  if (name == "relu") return max(x, zero);
  if (name == "affine") return number(alpha) * x + number(beta);
  if (name == "leakyrelu") return select(x >= zero, x, number(alpha) * x);
  if (name == "thresholdedrelu") return select(x > number(alpha), x, zero);
  if (name == "scaledtanh") return number(alpha) * unary(UnaryOp::tanh, number(beta) * x);
  if (name == "hardsigmoid") return min(max(number(alpha) * x + number(beta), zero), number(1));
  if (name == "elu") return select(x >= zero, x, number(alpha) * unary(UnaryOp::expm1, x));
  if (name == "softsign") return x / (number(1) + unary(UnaryOp::abs, x));
  if (name == "softplus") {
    return max(x, zero) + unary(UnaryOp::log1p, unary(UnaryOp::exp, -unary(UnaryOp::abs, x)));
  }
  return unary(UnaryOp::sigmoid, x);
}

RecurrentSpec::RecurrentSpec(const Attributes& attrs)
    : direction(attrs.get_text("direction", "forward")) {
  const auto* names = std::get_if<std::vector<std::string>>(&attrs.map().at("activations"));
  const std::vector<double> alpha = attrs.get_floats("alpha"), beta = attrs.get_floats("beta");
  for (size_t k = 0; k < names->size(); ++k) {
    activations.push_back({(*names)[k], alpha.at(k), beta.at(k)});
  }
  per_direction = activations.size() / (direction == "bidirectional" ? 2 : 1);
  if (attrs.has("clip")) clip = attrs.get_float("clip");
}

std::vector<AttrSpec> recurrent_attrs(std::vector<AttrSpec> more) {
  more.push_back({"direction", AttrSpec::Kind::text});
  more.push_back({"activations", AttrSpec::Kind::texts, true});
  more.push_back({"alpha", AttrSpec::Kind::reals, true});
  more.push_back({"beta", AttrSpec::Kind::reals, true});
  more.push_back({"clip", AttrSpec::Kind::real});
  return more;
}

std::vector<Type> deduce_recurrent(DeduceContext& c, int gates, size_t activations, bool has_cell) {
  c.require_dtype(0, is_float, "a float type");
  for (int i = 1; i < c.num_args(); ++i) {
    if (c.has(i) && i != 2) c.require_same_dtype(0, i);
  }
  if (c.has(2)) c.require_dtype(2, is_int, "an integer type");
  const std::string direction = c.attrs().get_text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    c.fail(DiagId::bad_attribute, "direction '{}' is not forward, reverse or bidirectional",
           direction);
  }
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  const auto& names = std::get<std::vector<std::string>>(c.attrs().map().at("activations"));
  const size_t want = activations * static_cast<size_t>(directions);
  if (names.size() != want || c.attrs().get_floats("alpha").size() != want ||
      c.attrs().get_floats("beta").size() != want) {
    c.fail(DiagId::bad_attribute, "activations, alpha and beta must have {} entries", want);
  }
  for (const std::string& name : names) {
    if (!is_activation(name)) c.fail(DiagId::bad_attribute, "activation '{}' is not known", name);
  }
  c.require_rank(0, 4, 4);
  c.require_rank(1, 3, 3);
  const Dims any4(4, DimExpr::unknown()), any3(3, DimExpr::unknown());
  const Dims& x = c.rank_known(0) ? c.dims(0) : any4;
  const Dims& r = c.rank_known(1) ? c.dims(1) : any3;
  const DimExpr& hidden = r[1];
  c.require_equal(x[0], directions, "the directions of the projected input");
  c.require_equal(r[0], directions, "the directions of the recurrent weights");
  c.require_equal(r[2], hidden * gates, "the gates of the recurrent weights");
  c.require_equal(x[3], hidden * gates, "the gates of the projected input");
  if (c.has(2)) {
    c.require_rank(2, 1, 1);
    if (c.rank_known(2)) c.require_equal(c.dims(2)[0], x[2], "the batch of the sequence lengths");
  }
  for (int i = 3; i < (has_cell ? 5 : 4); ++i) {
    if (!c.has(i)) continue;
    c.require_rank(i, 3, 3);
    if (!c.rank_known(i)) continue;
    const Dims want_dims = {directions, x[2], hidden};
    for (size_t k = 0; k < 3; ++k) {
      c.require_equal(c.dims(i)[k], want_dims[k],
                      fmt::format("dimension {} of the initial state", k));
    }
  }
  const Type last = Type::tensor({directions, x[2], hidden}, c.dtype(0));
  std::vector<Type> out = {Type::tensor({x[1], directions, x[2], hidden}, c.dtype(0)), last};
  if (has_cell) out.push_back(last);
  return out;
}

double ReferenceStep::recur(const std::vector<double>& state, int64_t n) const {
  const RefTensor& r = c.in(1);
  double sum = 0;
  for (int64_t k = 0; k < hidden; ++k) {
    sum += state[static_cast<size_t>(k)] * r.as_double((d * hidden + k) * r.dims[2] + n);
  }
  return sum;
}

void evaluate_recurrent(EvalContext& c, int gates, int initial_cell,
                        void (*step)(const ReferenceStep&)) {
  const RecurrentSpec spec(c.attrs());
  const RefTensor& x = c.in(0);
  const int64_t directions = x.dims[0], time = x.dims[1], batch = x.dims[2];
  const int64_t hidden = c.in(1).dims[1];
  c.out(x.dtype, {time, directions, batch, hidden});
  c.out(x.dtype, {directions, batch, hidden});
  if (initial_cell >= 0) c.out(x.dtype, {directions, batch, hidden});
  const auto initial = [&](int i, int64_t base) {
    std::vector<double> state(static_cast<size_t>(hidden), 0.0);
    if (i < 0 || !c.has(i)) return state;
    for (int64_t j = 0; j < hidden; ++j)
      state[static_cast<size_t>(j)] = c.in(i).as_double(base + j);
    return state;
  };
  std::vector<double> row(static_cast<size_t>(gates * hidden));
  for (int64_t d = 0; d < directions; ++d) {
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t base = (d * batch + b) * hidden;
      const int64_t length = c.has(2) ? c.in(2).as_int(b) : time;
      if (length < 0 || length > time) {
        fail(DiagId::bad_input, {}, "operator '{}': sequence length {} is not within 0 and {}",
             c.call.op, length, time);
      }
      std::vector<double> h = initial(3, base), cell = initial(initial_cell, base);
      for (int64_t t = 0; t < length; ++t) {
        const int64_t at = spec.reversed(d) ? length - 1 - t : t;
        for (size_t n = 0; n < row.size(); ++n) {
          row[n] =
              x.as_double(((d * time + at) * batch + b) * gates * hidden + static_cast<int64_t>(n));
        }
        step(ReferenceStep{spec, c, d, hidden, row.data(), h, cell});
        for (int64_t j = 0; j < hidden; ++j) {
          c.outputs[0].set(((at * directions + d) * batch + b) * hidden + j,
                           h[static_cast<size_t>(j)]);
        }
      }
      for (int64_t j = 0; j < hidden; ++j) {
        c.outputs[1].set(base + j, h[static_cast<size_t>(j)]);
        if (initial_cell >= 0) c.outputs[2].set(base + j, cell[static_cast<size_t>(j)]);
      }
    }
  }
}

}  // namespace symtile
