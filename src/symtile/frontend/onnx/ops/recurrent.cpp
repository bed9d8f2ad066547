// RNN, GRU and LSTM: the projection of the whole input sequence becomes one matmul, the recurrence
// a core operator. layout 1 (batch first) is transposed away.
#include <algorithm>
#include <cctype>

#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {
namespace {

struct Defaults {
  double alpha, beta;
  bool uses_alpha, uses_beta;
};

/// Parameters of an activation when the node gives none.
Defaults activation_defaults(const std::string& name) {
  if (name == "affine") return {1, 0, true, true};
  if (name == "leakyrelu") return {0.01, 0, true, false};
  if (name == "thresholdedrelu") return {1, 0, true, false};
  if (name == "scaledtanh") return {1, 1, true, true};
  if (name == "hardsigmoid") return {0.2, 0.5, true, true};
  if (name == "elu") return {1, 0, true, false};
  return {0, 0, false, false};
}

/// A list of strings; a context that cannot read one makes a node that has it unsupported.
template <typename Context>
std::vector<std::string> texts(Context& c, const char* name) {
  if constexpr (requires { c.attr_texts(name, std::vector<std::string>{}); }) {
    return c.attr_texts(name, std::vector<std::string>{});
  } else {
    if (c.has_attr(name)) c.fail(DiagId::unsupported, "attribute {} is a list of strings", name);
    return {};
  }
}

class RecurrentImport {
 public:
  RecurrentImport(ImportContext& c, const char* op, int gates, std::vector<std::string> activations)
      : c_(c), op_(op), gates_(gates), batch_first_(c.attr_int("layout", 0) != 0) {
    direction_ = lower_case(c.attr_text("direction", "forward"));
    attrs_.set("direction", direction_);
    directions_ = direction_ == "bidirectional" ? 2 : 1;
    if (c.has_attr("clip")) attrs_.set("clip", c.attr_float("clip", 0));
    read_activations(std::move(activations));
    read_dims();
  }

  Attributes& attrs() { return attrs_; }

  /// The projected input; `separate_bias`: the recurrent bias of the last gate is left out.
  ValueId projected(bool separate_bias) {
    ValueId x = c_.in(0);
    if (batch_first_) x = c_.transpose(x, {1, 0, 2});
    const ValueId rows = c_.reshape(x, {time_ * batch_, input_});
    ValueId y = c_.call("matmul", {rows, c_.in(1)}, {{"transpose_b", int64_t{1}}});
    if (c_.has(3)) {
      const ValueId both = c_.reshape(c_.in(3), {directions_, 2, gates_, hidden_});
      ValueId bias = c_.call("reduce_sum", {both},
                             {{"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t{0}}});
      if (separate_bias) {
        const ValueId summed = part(both, {0, 0, 0, 0}, {directions_, 1, gates_ - 1, hidden_});
        const ValueId second = part(both, {0, 1, 0, 0}, {directions_, 1, gates_ - 1, hidden_});
        const ValueId last = part(both, {0, 0, gates_ - 1, 0}, {directions_, 1, 1, hidden_});
        bias = c_.call("concat", {c_.call("add", {summed, second}), last}, {{"axis", int64_t{2}}});
      }
      y = c_.call("add", {y, c_.reshape(bias, {directions_, 1, hidden_ * gates_})});
    }
    return c_.reshape(y, {directions_, time_, batch_, hidden_ * gates_});
  }

  /// The recurrent bias of the last gate, (directions, hidden).
  ValueId last_recurrent_bias() {
    if (!c_.has(3)) return {};
    const ValueId both = c_.reshape(c_.in(3), {directions_, 2, gates_, hidden_});
    return c_.reshape(part(both, {0, 1, gates_ - 1, 0}, {directions_, 1, 1, hidden_}),
                      {directions_, hidden_});
  }

  ValueId recurrent_weights() { return c_.transpose(c_.in(2), {0, 2, 1}); }

  ValueId state(int input) {
    if (!c_.has(input)) return {};
    return batch_first_ ? c_.transpose(c_.in(input), {1, 0, 2}) : c_.in(input);
  }

  void finish(std::vector<ValueId> args, int results) {
    while (!args.back().valid()) args.pop_back();
    std::vector<ValueId> y = c_.build().call_many(op_, std::move(args), attrs_);
    if (batch_first_) {
      // (time, directions, batch, hidden) to (batch, time, directions, hidden).
      if (c_.wants(0)) y[0] = c_.transpose(y[0], {2, 0, 1, 3});
      for (int k = 1; k < results; ++k) {
        if (c_.wants(k))
          y[static_cast<size_t>(k)] = c_.transpose(y[static_cast<size_t>(k)], {1, 0, 2});
      }
    }
    for (int k = 0; k < results; ++k) {
      if (c_.wants(k)) c_.out(k, y[static_cast<size_t>(k)]);
    }
  }

 private:
  static std::string lower_case(std::string s) {
    std::transform(s.begin(), s.end(), s.begin(),
                   [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
    return s;
  }

  /// The parameters of activations are consumed in order by those that have some.
  void read_activations(std::vector<std::string> names) {
    const std::vector<std::string> defaults = names;
    names.clear();
    for (const std::string& n : texts(c_, "activations")) names.push_back(lower_case(n));
    if (names.empty()) {
      for (int64_t d = 0; d < directions_; ++d) {
        names.insert(names.end(), defaults.begin(), defaults.end());
      }
    }
    if (names.size() != defaults.size() * static_cast<size_t>(directions_)) {
      c_.fail(DiagId::bad_attribute, "activations has {} entries, must have {}", names.size(),
              defaults.size() * static_cast<size_t>(directions_));
    }
    const std::vector<double> alphas = c_.attr_floats("activation_alpha", {});
    const std::vector<double> betas = c_.attr_floats("activation_beta", {});
    std::vector<double> alpha, beta;
    size_t next_alpha = 0, next_beta = 0;
    for (const std::string& n : names) {
      const Defaults d = activation_defaults(n);
      alpha.push_back(d.uses_alpha && next_alpha < alphas.size() ? alphas[next_alpha++] : d.alpha);
      beta.push_back(d.uses_beta && next_beta < betas.size() ? betas[next_beta++] : d.beta);
    }
    attrs_.set("activations", names);
    attrs_.set("alpha", alpha);
    attrs_.set("beta", beta);
  }

  void read_dims() {
    for (int i = 0; i < 3; ++i) {
      if (c_.rank(i) != 3) {
        c_.fail(DiagId::type_mismatch, "input {} has rank {}, must have rank 3", i, c_.rank(i));
      }
    }
    const Dims &x = c_.dims(0), &r = c_.dims(2);
    time_ = x[batch_first_ ? 1 : 0];
    batch_ = x[batch_first_ ? 0 : 1];
    input_ = x[2];
    hidden_ = r[2];
    const int64_t said = c_.attr_int("hidden_size", 0);
    if (said > 0 && !hidden_.is_unknown() && c_.facts().proves_not_equal(hidden_, said)) {
      c_.fail(DiagId::shape_mismatch, "hidden_size is {}, but the recurrent weights have {}", said,
              hidden_.str());
    }
    if (said > 0 && hidden_.is_unknown()) hidden_ = said;
  }

  ValueId part(ValueId x, Dims begin, Dims extent) {
    const std::vector<int64_t> step(extent.size(), 1);
    return c_.call("slice", {x},
                   {{"begin", std::move(begin)}, {"extent", std::move(extent)}, {"step", step}});
  }

  ImportContext& c_;
  std::string op_, direction_;
  int64_t gates_, directions_ = 1;
  bool batch_first_;
  Attributes attrs_;
  DimExpr time_, batch_, input_, hidden_;
};

}  // namespace

void import_rnn(ImportContext& c) {
  RecurrentImport r(c, "rnn", 1, {"tanh"});
  r.finish({r.projected(false), r.recurrent_weights(), c.in_or_none(4), r.state(5)}, 2);
}

void import_gru(ImportContext& c) {
  RecurrentImport r(c, "gru", 3, {"sigmoid", "tanh"});
  const bool linear = c.attr_int("linear_before_reset", 0) != 0;
  if (linear) r.attrs().set("linear_before_reset", int64_t{1});
  r.finish({r.projected(linear), r.recurrent_weights(), c.in_or_none(4), r.state(5),
            linear ? r.last_recurrent_bias() : ValueId{}},
           2);
}

void import_lstm(ImportContext& c) {
  RecurrentImport r(c, "lstm", 4, {"sigmoid", "tanh", "tanh"});
  if (c.attr_int("input_forget", 0) != 0) r.attrs().set("input_forget", int64_t{1});
  r.finish({r.projected(false), r.recurrent_weights(), c.in_or_none(4), r.state(5), r.state(6),
            c.in_or_none(7)},
           3);
}

}  // namespace symtile::onnx_import
