// Folds per-channel scales and shifts in front of a layer into its constant weights: the
// preprocessing of an image, the scale of a normalisation before a projection. fold_batch_norm does
// the same for what stands behind a layer.
//
//   conv(x * s, W) = conv(x, W * s)         matmul(x + t, W) = matmul(x, W) + t W
//
// A shift goes through a convolution only where nothing is padded: the border is zero behind it.
// The algebra is exact, in double precision, and rounds once.
#include <algorithm>
#include <cmath>
#include <functional>

#include "symtile/op/op.h"
#include "symtile/pass/pass.h"
#include "symtile/transform/graph_utils.h"

namespace symtile {
namespace {

/// Shared weights are copied by folding; larger ones are not.
constexpr size_t kMaxCopiedBytes = size_t{1} << 20;

class Folder {
 public:
  explicit Folder(GraphFunction& f) : f_(f) {}

  void run() {
    uses_ = count_uses(f_);
    defs_ = defining_bindings(f_);
    before_.resize(f_.bindings.size());
    const size_t count = f_.bindings.size();
    for (size_t i = 0; i < count; ++i) {
      while (fold(i)) continue;
    }
    std::vector<Binding> out;
    for (size_t i = 0; i < count; ++i) {
      std::move(before_[i].begin(), before_[i].end(), std::back_inserter(out));
      out.push_back(std::move(f_.bindings[i]));
    }
    f_.bindings = std::move(out);
  }

 private:
  static size_t at(ValueId id) { return static_cast<size_t>(id.index); }

  /// Constants made here are known too.
  Constant constant(ValueId v) const {
    const auto it = made_.find(v.index);
    if (it != made_.end()) return it->second;
    return v.valid() && at(v) < defs_.size() ? constant_of(f_, defs_, v) : nullptr;
  }

  /// A layer whose input may be scaled: which channel an element of the weight belongs to.
  struct Layer {
    Constant weight;
    int axis = 1;  ///< of the input, the channels
    int64_t channels = 0;
    int64_t outputs = 0;
    bool may_shift = true;
    std::function<std::pair<int64_t, int64_t>(int64_t)> place;  ///< element -> input, output
  };

  std::optional<Layer> layer(const OpCall& c, const Type& x) const {
    if ((c.op != "conv" && c.op != "matmul") || !x.has_rank() || !is_float(x.dtype))
      return std::nullopt;
    Layer out;
    out.weight = constant(c.args[1]);
    if (!out.weight || out.weight->dtype != x.dtype || size_of(x.dtype) < 4) return std::nullopt;
    if (uses_[at(c.args[1])] > 1 && out.weight->bytes.size() > kMaxCopiedBytes) return std::nullopt;
    const std::vector<int64_t>& dims = out.weight->dims;
    if (c.op == "matmul") {
      if (dims.size() != 2 || x.rank() < 2 || c.attrs.get_bool("transpose_a", false))
        return std::nullopt;
      const bool transposed = c.attrs.get_bool("transpose_b", false);
      out.axis = x.rank() - 1;
      out.channels = dims[transposed ? 1 : 0];
      out.outputs = dims[transposed ? 0 : 1];
      const int64_t width = dims[1];
      out.place = [=](int64_t e) {
        const std::pair<int64_t, int64_t> at{e / width, e % width};
        return transposed ? std::pair{at.second, at.first} : at;
      };
      return out;
    }
    const int64_t group = c.attrs.get_int("group", 1), inputs = dims[1];
    out.channels = inputs * group;
    out.outputs = dims[0];
    int64_t taps = 1;
    for (size_t d = 2; d < dims.size(); ++d) taps *= dims[d];
    const int64_t outputs = dims[0], in_group = std::max<int64_t>(outputs / group, 1);
    out.place = [=](int64_t e) {
      const int64_t o = e / (inputs * taps);
      return std::pair{o / in_group * inputs + e / taps % inputs, o};
    };
    const ValueId bias = c.args.size() > 2 ? c.args[2] : ValueId{};
    const Dims pads = c.attrs.has("pads") ? c.attrs.get_dims("pads") : Dims{};
    out.may_shift =
        (!bias.valid() || constant(bias)) &&
        std::all_of(pads.begin(), pads.end(), [](const DimExpr& p) { return p.is_const(0); });
    return out;
  }

  static std::optional<std::vector<double>> per_channel(const Constant& c, const Layer& l,
                                                        int rank) {
    if (!c || static_cast<int>(c->dims.size()) > rank) return std::nullopt;
    const int first = rank - static_cast<int>(c->dims.size());
    for (size_t k = 0; k < c->dims.size(); ++k) {
      const bool is_channel = first + static_cast<int>(k) == l.axis && c->dims[k] == l.channels;
      if (c->dims[k] != 1 && !is_channel) return std::nullopt;
    }
    std::vector<double> out;
    for (int64_t i = 0; i < l.channels; ++i)
      out.push_back(c->as_double(c->element_count() == 1 ? 0 : i));
    return out;
  }

  bool fold(size_t i) {
    auto* c = std::get_if<OpCall>(&f_.bindings[i].node);
    if (!c || c->args.size() < 2 || at(c->args[0]) >= defs_.size()) return false;
    const ValueId input = c->args[0];
    const auto l = layer(*c, f_.type(input));
    if (!l || uses_[at(input)] != 1 || defs_[at(input)] < 0) return false;
    const auto* step =
        std::get_if<OpCall>(&f_.bindings[static_cast<size_t>(defs_[at(input)])].node);
    if (!step || step->args.size() != 2) return false;
    const bool scales = step->op == "mul" || step->op == "div";
    const bool shifts = step->op == "add" || step->op == "sub";
    if (!scales && !(shifts && l->may_shift)) return false;
    const bool swaps = step->op == "mul" || step->op == "add";
    for (const size_t k : {size_t{1}, size_t{0}}) {
      if (k == 0 && !swaps) break;
      const ValueId x = step->args[1 - k];
      auto by = per_channel(constant(step->args[k]), *l, f_.type(input).rank());
      if (!by || !may_stand_for(f_.facts, f_.type(x), f_.type(input))) continue;
      if (!std::all_of(by->begin(), by->end(), [](double v) { return std::isfinite(v); })) continue;
      for (double& v : *by) {
        if (step->op == "div") v = 1 / v;
        if (step->op == "sub") v = -v;
      }
      return scales ? scale(i, *l, *by, x) : shift(i, *l, *by, x);
    }
    return false;
  }

  bool scale(size_t i, const Layer& l, const std::vector<double>& by, ValueId x) {
    const auto scaled = make_zeros(l.weight->dtype, l.weight->dims);
    for (int64_t e = 0; e < scaled->element_count(); ++e) {
      const double was = l.weight->as_double(e);
      scaled->set(e, was * by[static_cast<size_t>(l.place(e).first)]);
      if (std::isfinite(was) && !std::isfinite(scaled->as_double(e))) return false;
    }
    auto& c = std::get<OpCall>(f_.bindings[i].node);
    c.args[0] = x;
    c.args[1] = add_constant(i, f_.value(c.args[1]).name + "_scaled", scaled);
    return true;
  }

  bool shift(size_t i, const Layer& l, const std::vector<double>& by, ValueId x) {
    auto& c = std::get<OpCall>(f_.bindings[i].node);
    const Constant bias = c.args.size() > 2 ? constant(c.args[2]) : nullptr;
    std::vector<double> sums(static_cast<size_t>(l.outputs), 0.0);
    for (int64_t e = 0; e < l.weight->element_count(); ++e) {
      const auto [in, out] = l.place(e);
      sums[static_cast<size_t>(out)] += l.weight->as_double(e) * by[static_cast<size_t>(in)];
    }
    const auto shifted = make_zeros(l.weight->dtype, {l.outputs});
    for (int64_t o = 0; o < l.outputs; ++o) {
      shifted->set(o, sums[static_cast<size_t>(o)] + (bias ? bias->as_double(o) : 0));
      if (!std::isfinite(shifted->as_double(o))) return false;
    }
    const ValueId added = add_constant(i, f_.value(f_.bindings[i].result).name + "_bias", shifted);
    c.args[0] = x;
    if (c.op == "conv") {
      c.args.resize(3);
      c.args[2] = added;
      return true;
    }
    // The product gets a name of its own; the sum takes its place.
    const ValueId result = f_.bindings[i].result;
    const ValueId product = f_.add_value(f_.value(result).name + "_product", f_.type(result));
    before_[i].push_back({product, std::move(c), f_.bindings[i].location});
    f_.bindings[i].node = OpCall{"add", {product, added}, {}};
    return false;  // what stands in front of the product now is no longer looked at
  }

  ValueId add_constant(size_t before, const std::string& name, Constant data) {
    const Type type = Type::tensor(Dims(data->dims.begin(), data->dims.end()), data->dtype);
    const ValueId id = f_.add_value(name, type);
    made_[id.index] = data;
    uses_.resize(f_.values.size(), 1);
    before_[before].push_back({id, ConstantNode{std::move(data)}, f_.bindings[before].location});
    return id;
  }

  GraphFunction& f_;
  std::vector<int> uses_, defs_;
  std::map<int32_t, Constant> made_;
  std::vector<std::vector<Binding>> before_;  ///< new bindings in front of each
};

}  // namespace

void fold_input_scales(Module& module, PassContext&) {
  for (const std::string& name : module.graph_names()) Folder(module.graph(name)).run();
}

}  // namespace symtile
