// gru: gates z, r and candidate h in this order; h' = (1 - z) * candidate + z * h. The candidate is
// g(projected + (r * h) R^T), or with linear_before_reset g(projected + r * (h R^T + bias)), bias
// being optional argument 4 (directions, hidden). See recurrent.h for the rest.
// Spec: ONNX GRU, whose importer does the input projection.
#include "symtile/op/nn/recurrent.h"
#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

constexpr int kBias = 4;

std::vector<Type> deduce(DeduceContext& c) {
  std::vector<Type> out = deduce_recurrent(c, 3, 2, false);
  if (c.has(kBias)) {
    c.require_rank(kBias, 2, 2);
    if (c.rank_known(kBias)) {
      c.require_equal(c.dims(kBias)[0], (*out[1].dims)[0], "the directions of the bias");
      c.require_equal(c.dims(kBias)[1], (*out[1].dims)[2], "the length of the bias");
    }
  }
  return out;
}

void step(const ReferenceStep& s) {
  const int64_t n = s.hidden;
  const bool linear = s.c.attrs().get_bool("linear_before_reset", false);
  std::vector<double> reset(s.h.size()), next(s.h.size()), gated(s.h.size());
  for (int64_t j = 0; j < n; ++j) {
    const auto k = static_cast<size_t>(j);
    reset[k] = s.spec.apply(s.d, 0, s.x[n + j] + s.recur(s.h, n + j));
    gated[k] = reset[k] * s.h[k];
  }
  for (int64_t j = 0; j < n; ++j) {
    const auto k = static_cast<size_t>(j);
    const double z = s.spec.apply(s.d, 0, s.x[j] + s.recur(s.h, j));
    double candidate = s.x[2 * n + j];
    if (linear) {
      const double bias = s.c.has(kBias) ? s.c.in(kBias).as_double(s.d * n + j) : 0;
      candidate += reset[k] * (s.recur(s.h, 2 * n + j) + bias);
    } else {
      candidate += s.recur(gated, 2 * n + j);
    }
    next[k] = (1 - z) * s.spec.apply(s.d, 1, candidate) + z * s.h[k];
  }
  s.h = next;
}

void evaluate(EvalContext& c) { evaluate_recurrent(c, 3, -1, step); }

class GruLowering : public RecurrentLowering {
 public:
  explicit GruLowering(LowerContext& c)
      : RecurrentLowering(c, 3, -1),
        linear_(c.attrs().get_bool("linear_before_reset", false)),
        gated_(c.buffer("gated", acc_, h_.dims())) {}

 protected:
  std::vector<Stmt> step(int64_t d, const Expr& b) override {
    const Expr two = Expr(2) * h_extent_, three = Expr(3) * h_extent_;
    const auto reset = [&](const Expr& j) { return spec_.apply(d, 0, gate(d, b, 1, j)); };
    std::vector<Stmt> out;
    if (linear_) {
      // gated_ holds h R^T + bias of the candidate.
      out.push_back(loop("j", h_extent_, [&](const Expr& j) {
        const bool has_bias = c_.has(kBias);
        return set(gated_, d, b, j, has_bias ? as_acc(c_.in(kBias)({Expr(d), j})) : imm(acc_, 0));
      }));
      out.push_back(accumulate(gates_, h_, d, b, Expr(0), two, Expr(0)));
      out.push_back(accumulate(gated_, h_, d, b, two, three, two));
    } else {
      // gated_ holds r * h.
      out.push_back(accumulate(gates_, h_, d, b, Expr(0), two, Expr(0)));
      out.push_back(loop("j", h_extent_, [&](const Expr& j) {
        return set(gated_, d, b, j, reset(j) * get(h_, d, b, j));
      }));
      out.push_back(accumulate(gates_, gated_, d, b, two, three, Expr(0)));
    }
    out.push_back(loop("j", h_extent_, [&](const Expr& j) {
      const Expr z = spec_.apply(d, 0, gate(d, b, 0, j));
      Expr candidate = gate(d, b, 2, j);
      if (linear_) candidate = candidate + reset(j) * get(gated_, d, b, j);
      const Expr h = get(h_, d, b, j);
      return set(h_, d, b, j, (one() - z) * spec_.apply(d, 1, candidate) + z * h);
    }));
    return out;
  }

 private:
  bool linear_;
  TensorRef gated_;
};

void lower(LowerContext& c) { GruLowering(c).run(); }

std::vector<OpSample> samples() {
  const auto attrs = [](const char* direction, int copies, int64_t linear) {
    std::vector<std::string> names;
    for (int i = 0; i < copies; ++i) names.insert(names.end(), {"sigmoid", "tanh"});
    const std::vector<double> ones(names.size(), 1.0);
    return Attributes{{"direction", std::string(direction)},
                      {"activations", names},
                      {"alpha", ones},
                      {"beta", ones},
                      {"linear_before_reset", linear}};
  };
  const Type lengths = Type::tensor({sym("b")}, DType::i32);
  return {
      make_sample({f32_tensor({1, 4, 2, 9}), f32_tensor({1, 3, 9})}, attrs("forward", 1, 0), {}, -1,
                  1),
      make_sample({f32_tensor({2, sym("t"), sym("b"), 12}), f32_tensor({2, 4, 12}), lengths,
                   f32_tensor({2, sym("b"), 4}), f32_tensor({2, 4})},
                  attrs("bidirectional", 2, 1), {{"t", 3}, {"b", 2}}, 0, 1),
      make_sample({f32_tensor({1, sym("t"), 1, 15}), f32_tensor({1, 5, 15})},
                  attrs("reverse", 1, 0), {{"t", 5}}, -1, 1),
  };
}

}  // namespace

extern const OpRecord gru_op;
const OpRecord gru_op = {
    .name = "gru",
    .min_args = 2,
    .max_args = 5,
    .attrs = recurrent_attrs({{"linear_before_reset", AttrSpec::Kind::integer}}),
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
