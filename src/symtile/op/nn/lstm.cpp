// lstm: gates i, o, f, c in this order; c' = f * c + i * g(c gate), h' = o * h(c'). Argument 4 is
// the initial cell state, argument 5 the peepholes (directions, 3 * hidden) of i, o, f; with
// input_forget f is 1 - i. A third result is the last cell state. See recurrent.h for the rest.
// Spec: ONNX LSTM, whose importer does the input projection.
#include "symtile/op/nn/recurrent.h"
#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

constexpr int kInitialCell = 4, kPeepholes = 5;

std::vector<Type> deduce(DeduceContext& c) {
  std::vector<Type> out = deduce_recurrent(c, 4, 3, true);
  if (c.has(kPeepholes)) {
    c.require_rank(kPeepholes, 2, 2);
    if (c.rank_known(kPeepholes)) {
      c.require_equal(c.dims(kPeepholes)[0], (*out[1].dims)[0], "the directions of the peepholes");
      c.require_equal(c.dims(kPeepholes)[1], (*out[1].dims)[2] * 3, "the length of the peepholes");
    }
  }
  return out;
}

void step(const ReferenceStep& s) {
  const int64_t n = s.hidden;
  const bool coupled = s.c.attrs().get_bool("input_forget", false);
  std::vector<double> next_h(s.h.size()), next_cell(s.h.size());
  for (int64_t j = 0; j < n; ++j) {
    const auto k = static_cast<size_t>(j);
    const auto peephole = [&](int64_t g, double cell) {
      return s.c.has(kPeepholes) ? s.c.in(kPeepholes).as_double((s.d * 3 + g) * n + j) * cell : 0.0;
    };
    const auto sum = [&](int64_t g) { return s.x[g * n + j] + s.recur(s.h, g * n + j); };
    const double i = s.spec.apply(s.d, 0, sum(0) + peephole(0, s.cell[k]));
    const double f = coupled ? 1 - i : s.spec.apply(s.d, 0, sum(2) + peephole(2, s.cell[k]));
    next_cell[k] = f * s.cell[k] + i * s.spec.apply(s.d, 1, sum(3));
    const double o = s.spec.apply(s.d, 0, sum(1) + peephole(1, next_cell[k]));
    // Clipping is for the gates' arguments; the cell state goes to h as it is.
    next_h[k] = o * s.spec.activations[static_cast<size_t>(s.d) * 3 + 2](next_cell[k]);
  }
  s.h = next_h;
  s.cell = next_cell;
}

void evaluate(EvalContext& c) { evaluate_recurrent(c, 4, kInitialCell, step); }

class LstmLowering : public RecurrentLowering {
 public:
  explicit LstmLowering(LowerContext& c)
      : RecurrentLowering(c, 4, kInitialCell),
        coupled_(c.attrs().get_bool("input_forget", false)) {}

 protected:
  std::vector<Stmt> step(int64_t d, const Expr& b) override {
    const auto peephole = [&](int64_t g, const Expr& j, const Expr& cell, const Expr& sum) {
      if (!c_.has(kPeepholes)) return sum;
      return sum + as_acc(c_.in(kPeepholes)({Expr(d), Expr(g) * h_extent_ + j})) * cell;
    };
    return {accumulate(gates_, h_, d, b, Expr(0), Expr(4) * h_extent_, Expr(0)),
            loop("j", h_extent_,
                 [&](const Expr& j) {
                   const Expr cell = get(cell_, d, b, j);
                   const Expr i = spec_.apply(d, 0, peephole(0, j, cell, gate(d, b, 0, j)));
                   const Expr f = coupled_
                                      ? one() - i
                                      : spec_.apply(d, 0, peephole(2, j, cell, gate(d, b, 2, j)));
                   return set(cell_, d, b, j, f * cell + i * spec_.apply(d, 1, gate(d, b, 3, j)));
                 }),
            loop("j", h_extent_, [&](const Expr& j) {
              const Expr cell = get(cell_, d, b, j);
              const Expr o = spec_.apply(d, 0, peephole(1, j, cell, gate(d, b, 1, j)));
              return set(h_, d, b, j, o * spec_.activations[static_cast<size_t>(d) * 3 + 2](cell));
            })};
  }

 private:
  bool coupled_;
};

void lower(LowerContext& c) { LstmLowering(c).run(); }

std::vector<OpSample> samples() {
  const auto attrs = [](const char* direction, int copies) {
    std::vector<std::string> names;
    for (int i = 0; i < copies; ++i) names.insert(names.end(), {"sigmoid", "tanh", "tanh"});
    const std::vector<double> ones(names.size(), 1.0);
    return Attributes{{"direction", std::string(direction)},
                      {"activations", names},
                      {"alpha", ones},
                      {"beta", ones}};
  };
  const Type lengths = Type::tensor({sym("b")}, DType::i32);
  Attributes special = attrs("reverse", 1);
  special.set("clip", 0.5);
  special.set("input_forget", int64_t{1});
  return {
      make_sample({f32_tensor({1, 4, 2, 12}), f32_tensor({1, 3, 12})}, attrs("forward", 1), {}, -1,
                  1),
      make_sample({f32_tensor({2, sym("t"), sym("b"), 20}), f32_tensor({2, 5, 20}), lengths,
                   f32_tensor({2, sym("b"), 5}), f32_tensor({2, sym("b"), 5}), f32_tensor({2, 15})},
                  attrs("bidirectional", 2), {{"t", 3}, {"b", 2}}, 0, 1),
      make_sample({f32_tensor({1, sym("t"), 1, 16}), f32_tensor({1, 4, 16})}, special, {{"t", 5}},
                  -1, 1),
  };
}

}  // namespace

extern const OpRecord lstm_op;
const OpRecord lstm_op = {
    .name = "lstm",
    .min_args = 2,
    .max_args = 6,
    .attrs = recurrent_attrs({{"input_forget", AttrSpec::Kind::integer}}),
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
