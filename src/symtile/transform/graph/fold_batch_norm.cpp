// Folds per-channel scales and shifts into the weights of the layer before: a batch normalisation
// in inference, and products, quotients, sums and differences with constants of one element a
// channel, behind a convolution or a product with a constant matrix. The algebra is exact, in
// double precision, and rounds once.
//
// A batch normalisation with nothing to fold into becomes one product and one sum.
#include <algorithm>
#include <cmath>

#include "symtile/op/op.h"
#include "symtile/pass/pass.h"
#include "symtile/transform/graph_utils.h"

namespace symtile {
namespace {

/// Shared weights are copied by folding; larger ones are not.
constexpr size_t kMaxCopiedBytes = size_t{1} << 20;

/// x * scale + shift, one entry a channel.
struct Affine {
  std::vector<double> scale, shift;
  explicit Affine(int64_t channels)
      : scale(static_cast<size_t>(channels), 1.0), shift(scale.size(), 0.0) {}
  void then(const std::vector<double>& by, const std::vector<double>& plus) {
    for (size_t i = 0; i < scale.size(); ++i) {
      scale[i] *= by[i];
      shift[i] = shift[i] * by[i] + plus[i];
    }
  }
  bool scales() const {
    return std::any_of(scale.begin(), scale.end(), [](double s) { return s != 1; });
  }
  bool finite() const {
    const auto ok = [](double v) { return std::isfinite(v); };
    return std::all_of(scale.begin(), scale.end(), ok) &&
           std::all_of(shift.begin(), shift.end(), ok);
  }
};

class Folder {
 public:
  explicit Folder(GraphFunction& f) : f_(f) {}

  void run() {
    uses_ = count_uses(f_);
    defs_ = defining_bindings(f_);
    user_.assign(f_.values.size(), -1);
    for (size_t i = 0; i < f_.bindings.size(); ++i) {
      for_each_operand(f_.bindings[i].node, [&](ValueId id) {
        if (id.valid()) user_[at(id)] = static_cast<int>(i);
      });
    }
    before_.resize(f_.bindings.size());
    dropped_.assign(f_.bindings.size(), false);
    const size_t count = f_.bindings.size();
    for (size_t i = 0; i < count; ++i) fold_into(static_cast<int>(i));
    for (size_t i = 0; i < count; ++i) {
      if (!dropped_[i]) split_batch_norm(static_cast<int>(i));
    }
    std::vector<Binding> out;
    for (size_t i = 0; i < count; ++i) {
      for (Binding& b : before_[i]) out.push_back(std::move(b));
      if (!dropped_[i]) out.push_back(std::move(f_.bindings[i]));
    }
    f_.bindings = std::move(out);
  }

 private:
  static size_t at(ValueId id) { return static_cast<size_t>(id.index); }
  Binding& binding(int i) { return f_.bindings[static_cast<size_t>(i)]; }
  OpCall* call(int i) { return i < 0 ? nullptr : std::get_if<OpCall>(&binding(i).node); }
  Constant constant(ValueId id) const {
    return id.valid() && at(id) < defs_.size() ? constant_of(f_, defs_, id) : nullptr;
  }
  ValueId argument(const OpCall& c, size_t i) const {
    return i < c.args.size() ? c.args[i] : ValueId{};
  }

  /// The layer a chain of steps begins with.
  struct Layer {
    Constant weight, bias;
    int64_t channels = 0;
    int axis = 1;  ///< of the result, the channels
    bool has_bias_operand = true;
  };

  std::optional<Layer> layer(const Binding& b, const OpCall& c) const {
    const Type& type = f_.type(b.result);
    if (!type.is_tensor() || !type.has_rank() || !is_float(type.dtype)) return std::nullopt;
    if (c.op != "conv" && c.op != "conv_transpose" && c.op != "matmul") return std::nullopt;
    Layer out;
    out.weight = constant(argument(c, 1));
    if (!out.weight) return std::nullopt;
    if (uses_[at(c.args[1])] > 1 && out.weight->bytes.size() > kMaxCopiedBytes) return std::nullopt;
    if (c.op == "matmul") {
      if (out.weight->dims.size() != 2) return std::nullopt;
      out.channels = out.weight->dims[c.attrs.get_bool("transpose_b", false) ? 0 : 1];
      out.axis = type.rank() - 1;
      out.has_bias_operand = false;
      return out;
    }
    const ValueId bias = argument(c, 2);
    out.bias = constant(bias);
    if (bias.valid() && !out.bias) return std::nullopt;
    out.channels =
        c.op == "conv" ? out.weight->dims[0] : out.weight->dims[1] * c.attrs.get_int("group", 1);
    return out;
  }

  /// Channel of the weight's element.
  static int64_t channel_of(const OpCall& c, const ConstantData& w, int64_t element) {
    const auto stride = [&](size_t axis) {
      int64_t s = 1;
      for (size_t k = axis + 1; k < w.dims.size(); ++k) s *= w.dims[k];
      return s;
    };
    if (c.op == "conv") return element / stride(0);
    if (c.op == "matmul")
      return c.attrs.get_bool("transpose_b", false) ? element / w.dims[1] : element % w.dims[1];
    const int64_t per_group = w.dims[0] / c.attrs.get_int("group", 1);
    return element / stride(0) / per_group * w.dims[1] + element / stride(1) % w.dims[1];
  }

  /// One element a channel: contents of a constant that broadcasts along the channel axis only.
  std::optional<std::vector<double>> per_channel(const Constant& c, const Layer& l,
                                                 int rank) const {
    if (!c || static_cast<int>(c->dims.size()) > rank) return std::nullopt;
    const int first = rank - static_cast<int>(c->dims.size());
    for (size_t k = 0; k < c->dims.size(); ++k) {
      const bool is_channel = first + static_cast<int>(k) == l.axis && c->dims[k] == l.channels;
      if (c->dims[k] != 1 && !is_channel) return std::nullopt;
    }
    std::vector<double> out(static_cast<size_t>(l.channels));
    for (int64_t i = 0; i < l.channels; ++i) {
      out[static_cast<size_t>(i)] = c->as_double(c->element_count() == 1 ? 0 : i);
    }
    return out;
  }

  /// (x - mean) / sqrt(variance + epsilon) * scale + bias as one scale and shift.
  static bool batch_norm_step(const OpCall& c, const std::vector<Constant>& p, Affine& affine) {
    const double epsilon = c.attrs.get_float("epsilon", 1e-5);
    std::vector<double> by, plus;
    for (size_t i = 0; i < affine.scale.size(); ++i) {
      const auto k = static_cast<int64_t>(i);
      by.push_back(p[0]->as_double(k) / std::sqrt(p[3]->as_double(k) + epsilon));
      plus.push_back(p[1]->as_double(k) - p[2]->as_double(k) * by.back());
    }
    affine.then(by, plus);
    return affine.finite();
  }

  std::optional<std::vector<Constant>> batch_norm_parameters(const OpCall& c) const {
    std::vector<Constant> out;
    for (size_t k = 1; k < 5; ++k) {
      out.push_back(constant(argument(c, k)));
      if (!out.back() || out.back()->element_count() != out.front()->element_count())
        return std::nullopt;
    }
    return out;
  }

  /// Adds the step that binding i applies to `x`; false when it is none, `affine` unchanged.
  bool add_step(int i, ValueId x, const Layer& l, Affine& affine) {
    const OpCall* c = call(i);
    if (!c) return false;
    const Type &from = f_.type(x), &to = f_.type(binding(i).result);
    if (from.dtype != to.dtype || !to.has_rank() || to.rank() != from.rank()) return false;
    Affine next = affine;
    if (c->op == "batch_norm") {
      const auto parameters = batch_norm_parameters(*c);
      if (!parameters || l.axis != 1 || parameters->front()->element_count() != l.channels)
        return false;
      if (!batch_norm_step(*c, *parameters, next)) return false;
      affine = next;
      return true;
    }
    const bool left = argument(*c, 0) == x;
    if (c->args.size() != 2 || c->args[0] == c->args[1]) return false;
    if (!left && (c->op == "sub" || c->op == "div")) return false;
    const auto other = per_channel(constant(c->args[left ? 1 : 0]), l, from.rank());
    if (!other) return false;
    std::vector<double> by(other->size(), 1.0), plus(other->size(), 0.0);
    for (size_t k = 0; k < other->size(); ++k) {
      const double v = (*other)[k];
      if (c->op == "mul")
        by[k] = v;
      else if (c->op == "div")
        by[k] = 1 / v;
      else if (c->op == "add")
        plus[k] = v;
      else if (c->op == "sub")
        plus[k] = -v;
      else
        return false;
    }
    next.then(by, plus);
    if (!next.finite()) return false;
    affine = next;
    return true;
  }

  void fold_into(int i) {
    const OpCall* c = call(i);
    const auto l = c ? layer(binding(i), *c) : std::nullopt;
    if (!l) return;
    Affine affine(l->channels);
    if (l->bias) {
      for (int64_t k = 0; k < l->channels; ++k)
        affine.shift[static_cast<size_t>(k)] = l->bias->as_double(k);
    }
    std::vector<int> steps;
    ValueId end = binding(i).result;
    while (uses_[at(end)] == 1 && user_[at(end)] >= 0 &&
           add_step(user_[at(end)], end, *l, affine)) {
      steps.push_back(user_[at(end)]);
      end = binding(steps.back()).result;
    }
    if (steps.empty() || (!l->has_bias_operand && steps.size() == 1 && !affine.scales())) return;
    replace(i, *l, affine, steps);
  }

  /// Afterwards the layer stands where the last step stood; a matrix product has a sum there.
  void replace(int i, const Layer& l, const Affine& affine, const std::vector<int>& steps) {
    OpCall layer_call = *call(i);
    const int last = steps.back();
    const DType dtype = l.weight->dtype;
    if (affine.scales()) {
      const auto scaled = make_zeros(dtype, l.weight->dims);
      for (int64_t e = 0; e < scaled->element_count(); ++e) {
        const auto channel = static_cast<size_t>(channel_of(layer_call, *l.weight, e));
        const double value = l.weight->as_double(e) * affine.scale[channel];
        scaled->set(e, value);
        if (std::isfinite(l.weight->as_double(e)) && !std::isfinite(scaled->as_double(e))) return;
      }
      layer_call.args[1] = add_constant(i, f_.value(layer_call.args[1]).name + "_folded", scaled);
    }
    const auto shift = make_zeros(dtype, {l.channels});
    bool shifts = false;
    for (int64_t k = 0; k < l.channels; ++k) {
      shift->set(k, affine.shift[static_cast<size_t>(k)]);
      shifts = shifts || affine.shift[static_cast<size_t>(k)] != 0;
    }
    const std::string& name = f_.value(binding(i).result).name;
    for (const int s : steps) dropped_[static_cast<size_t>(s)] = s != last;
    if (l.has_bias_operand || !shifts) {
      if (shifts || layer_call.args.size() > 2) {
        layer_call.args.resize(3);
        layer_call.args[2] = shifts ? add_constant(last, name + "_bias", shift) : ValueId{};
      }
      dropped_[static_cast<size_t>(i)] = true;
      binding(last).node = std::move(layer_call);
    } else {
      const ValueId bias = add_constant(last, name + "_bias", shift);
      binding(last).node = OpCall{"add", {binding(i).result, bias}, {}};
      binding(i).node = std::move(layer_call);
    }
  }

  ValueId add_constant(int before, const std::string& name, Constant data) {
    const Type type = Type::tensor(Dims(data->dims.begin(), data->dims.end()), data->dtype);
    const ValueId id = f_.add_value(name, type);
    before_[static_cast<size_t>(before)].push_back(
        {id, ConstantNode{std::move(data)}, binding(before).location});
    return id;
  }

  void split_batch_norm(int i) {
    const OpCall* c = call(i);
    if (!c || c->op != "batch_norm") return;
    const ValueId x = c->args[0];
    const Type& type = f_.type(x);
    const auto parameters = batch_norm_parameters(*c);
    // In 16 bits the product would round once more.
    if (!parameters || !type.has_rank() || type.rank() < 2 || size_of(type.dtype) < 4) return;
    const int64_t channels = parameters->front()->element_count();
    Affine affine(channels);
    if (!batch_norm_step(*c, *parameters, affine)) return;
    std::vector<int64_t> dims(static_cast<size_t>(type.rank() - 1), 1);
    dims[0] = channels;
    const auto scale = make_zeros(type.dtype, dims), shift = make_zeros(type.dtype, dims);
    for (int64_t k = 0; k < channels; ++k) {
      scale->set(k, affine.scale[static_cast<size_t>(k)]);
      shift->set(k, affine.shift[static_cast<size_t>(k)]);
    }
    const std::string name = f_.value(binding(i).result).name;
    const ValueId by = add_constant(i, name + "_scale", scale),
                  plus = add_constant(i, name + "_shift", shift);
    const ValueId product = f_.add_value(name + "_scaled", f_.type(binding(i).result));
    before_[static_cast<size_t>(i)].push_back(
        {product, OpCall{"mul", {x, by}, {}}, binding(i).location});
    binding(i).node = OpCall{"add", {product, plus}, {}};
  }

  GraphFunction& f_;
  std::vector<int> uses_, defs_, user_;
  std::vector<std::vector<Binding>> before_;  ///< new bindings in front of each
  std::vector<bool> dropped_;
};

}  // namespace

void fold_batch_norm(Module& module, PassContext&) {
  for (const std::string& name : module.graph_names()) Folder(module.graph(name)).run();
}

}  // namespace symtile
