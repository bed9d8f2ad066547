// Parts shared by the recurrent operators rnn, gru and lstm.
//
// Arguments: `projected` (directions, time, batch, gates * hidden) is x W^T plus the biases that
// add to it, `r` (directions, hidden, gates * hidden) the recurrent weights, then optional sequence
// lengths (batch) and initial hidden state (directions, batch, hidden). Results: every hidden state
// (time, directions, batch, hidden), zero beyond a sequence's length, and the last one
// (directions, batch, hidden). The input projection is left to matmul because it does not depend
// on the state. Attributes: `direction`; `activations` with `alpha` and `beta`, per direction;
// `clip`.
#pragma once

#include "symtile/op/op.h"

namespace symtile {

struct Activation {
  std::string name;  ///< lower case ONNX name
  double alpha = 0, beta = 0;
  double operator()(double x) const;
  Expr operator()(const Expr& x) const;
};
bool is_activation(const std::string& name);

struct RecurrentSpec {
  explicit RecurrentSpec(const Attributes& attrs);
  std::string direction;
  std::vector<Activation> activations;  ///< of direction 0, then of direction 1
  std::optional<double> clip;

  bool reversed(int64_t d) const { return direction == "reverse" || d == 1; }
  /// Activation `k` of direction `d` applied to the clipped argument.
  template <typename T>
  T apply(int64_t d, size_t k, const T& x) const;
  size_t per_direction = 1;
};

std::vector<AttrSpec> recurrent_attrs(std::vector<AttrSpec> more = {});
/// Types of the results; `activations`: how many a direction needs.
std::vector<Type> deduce_recurrent(DeduceContext& c, int gates, size_t activations, bool has_cell);

/// One time step of one sequence in the reference.
struct ReferenceStep {
  const RecurrentSpec& spec;
  const EvalContext& c;
  int64_t d, hidden;
  const double* x;  ///< projected input, gates * hidden
  std::vector<double>&h, &cell;
  /// sum over k of state[k] * r[d, k, n]
  double recur(const std::vector<double>& state, int64_t n) const;
};
void evaluate_recurrent(EvalContext& c, int gates, int initial_cell,
                        void (*step)(const ReferenceStep&));

/// Builds the time loop; subclasses supply what happens in one step.
class RecurrentLowering {
 public:
  RecurrentLowering(LowerContext& c, int gates, int initial_cell);
  virtual ~RecurrentLowering() = default;
  void run();

 protected:
  /// Statements of one step of direction d: from `gates_` (holding the projected input at entry)
  /// to the new state. `b` is the batch index; `emit(j, h)` stores the new hidden state.
  virtual std::vector<Stmt> step(int64_t d, const Expr& b) = 0;

  /// for j in 0 .. extent: body(j)
  Stmt loop(const char* hint, const Expr& extent, const std::function<Stmt(const Expr&)>& body);
  /// for k, n: into[n - shift] += state[k] * r[d, k, n], n in [begin, end).
  Stmt accumulate(const TensorRef& into, const TensorRef& state, int64_t d, const Expr& b,
                  const Expr& begin, const Expr& end, const Expr& shift);
  /// Element j of gate g.
  Expr gate(int64_t d, const Expr& b, int64_t g, const Expr& j) const;
  Stmt set(const TensorRef& x, int64_t d, const Expr& b, const Expr& j, const Expr& value) const;
  Expr get(const TensorRef& x, int64_t d, const Expr& b, const Expr& j) const;
  Expr as_acc(const Expr& e) const { return cast(acc_, e); }
  Expr one() const { return imm(acc_, 1); }

  LowerContext& c_;
  RecurrentSpec spec_;
  DType acc_;
  DimExpr hidden_, batch_, directions_;
  Expr h_extent_;
  TensorRef projected_, r_, h_, cell_, gates_;  ///< state and gates: (directions, batch, ...)

 private:
  Stmt sequence(int64_t d, const Expr& b);
  DimExpr time_;
  int gate_count_, initial_cell_;
};

template <typename T>
T RecurrentSpec::apply(int64_t d, size_t k, const T& x) const {
  const Activation& f = activations[static_cast<size_t>(d) * per_direction + k];
  if (!clip) return f(x);
  if constexpr (std::is_same_v<T, double>) {
    return f(std::min(std::max(x, -*clip), *clip));
  } else {
    return f(min(max(x, imm(x.dtype(), -*clip)), imm(x.dtype(), *clip)));
  }
}

}  // namespace symtile
