// rnn: h' = f(projected + h R^T). See recurrent.h for arguments and results.
// Spec: ONNX RNN, whose importer does the input projection.
#include "symtile/op/nn/recurrent.h"
#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

std::vector<Type> deduce(DeduceContext& c) { return deduce_recurrent(c, 1, 1, false); }

void step(const ReferenceStep& s) {
  std::vector<double> next(s.h.size());
  for (int64_t j = 0; j < s.hidden; ++j) {
    next[static_cast<size_t>(j)] = s.spec.apply(s.d, 0, s.x[j] + s.recur(s.h, j));
  }
  s.h = next;
}

void evaluate(EvalContext& c) { evaluate_recurrent(c, 1, -1, step); }

class RnnLowering : public RecurrentLowering {
 public:
  explicit RnnLowering(LowerContext& c) : RecurrentLowering(c, 1, -1) {}

 protected:
  std::vector<Stmt> step(int64_t d, const Expr& b) override {
    return {accumulate(gates_, h_, d, b, Expr(0), h_extent_, Expr(0)),
            loop("j", h_extent_, [&](const Expr& j) {
              return set(h_, d, b, j, spec_.apply(d, 0, gate(d, b, 0, j)));
            })};
  }
};

void lower(LowerContext& c) { RnnLowering(c).run(); }

std::vector<OpSample> samples() {
  const auto attrs = [](const char* direction, std::vector<std::string> activations) {
    const std::vector<double> ones(activations.size(), 1.0);
    return Attributes{{"direction", std::string(direction)},
                      {"activations", activations},
                      {"alpha", ones},
                      {"beta", ones}};
  };
  const Type lengths = Type::tensor({sym("b")}, DType::i32);
  return {
      make_sample({f32_tensor({1, 4, 2, 3}), f32_tensor({1, 3, 3})}, attrs("forward", {"tanh"}), {},
                  -1, 1),
      make_sample({f32_tensor({2, sym("t"), sym("b"), 5}), f32_tensor({2, 5, 5}), lengths,
                   f32_tensor({2, sym("b"), 5})},
                  attrs("bidirectional", {"tanh", "sigmoid"}), {{"t", 3}, {"b", 2}}, 0, 1),
      make_sample({f32_tensor({1, sym("t"), 1, 4}), f32_tensor({1, 4, 4})},
                  attrs("reverse", {"softsign"}), {{"t", 0}}, -1, 1),
  };
}

}  // namespace

extern const OpRecord rnn_op;
const OpRecord rnn_op = {
    .name = "rnn",
    .min_args = 2,
    .max_args = 4,
    .attrs = recurrent_attrs(),
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
