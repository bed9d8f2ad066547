// Merges products of one value with several constant matrices (query, key and value; gate and up)
// into one product with the matrices side by side: the value is read, and packed, once. The parts
// are slices of the result, which the kernels that read them address in place; where a slice is cut
// into heads, the whole is cut first, so that no view stands between.
//
// Siblings whose result goes through the same constant sum (a bias) take it along. Convolutions of
// one value with windows alike are merged as well, with the activation that follows all of them,
// when only convolutions and concatenations read the parts: these address slices in place, and no
// kernel loses an epilogue.
#include <algorithm>
#include <cstring>
#include <set>

#include "symtile/op/op.h"
#include "symtile/pass/pass.h"
#include "symtile/transform/graph_utils.h"

namespace symtile {
namespace {

/// One product, with the bias that follows it.
struct Sibling {
  int product = -1;  ///< binding positions
  int sum = -1;      ///< -1: no bias
  Constant weight, bias;
};

/// Constants of one type one after the other along `axis`; their other dimensions agree.
Constant concatenated(const std::vector<Constant>& parts, size_t axis) {
  std::vector<int64_t> dims = parts[0]->dims;
  dims[axis] = 0;
  for (const Constant& p : parts) dims[axis] += p->dims[axis];
  const auto out = make_zeros(parts[0]->dtype, dims);
  const auto run = [&](const ConstantData& c) {
    size_t bytes = size_of(c.dtype);
    for (size_t d = axis; d < c.dims.size(); ++d) bytes *= static_cast<size_t>(c.dims[d]);
    return bytes;
  };
  const size_t stride = run(*out);
  size_t start = 0;
  for (const Constant& p : parts) {
    const size_t width = run(*p), count = width == 0 ? 0 : p->bytes.size() / width;
    for (size_t r = 0; r < count; ++r)
      std::memcpy(out->bytes.data() + r * stride + start, p->bytes.data() + r * width, width);
    start += width;
  }
  return out;
}

/// `extent` positions of `whole` from `start` along `axis`.
OpCall part_of(ValueId whole, size_t axis, const DimExpr& start, const Dims& extent) {
  Dims begin(extent.size(), DimExpr(0));
  begin[axis] = start;
  return {"slice",
          {whole},
          {{"begin", begin}, {"extent", extent}, {"step", std::vector<int64_t>(extent.size(), 1)}}};
}

/// New bindings, named after one value.
struct Made {
  GraphFunction& f;
  std::string name;
  Location location;
  std::vector<Binding> bindings;

  ValueId add(const char* suffix, Type type, GraphNode node) {
    const ValueId id = f.add_value(name + suffix, std::move(type));
    bindings.push_back({id, std::move(node), location});
    return id;
  }
  ValueId constant(const char* suffix, const Constant& data) {
    return add(suffix, Type::tensor(Dims(data->dims.begin(), data->dims.end()), data->dtype),
               ConstantNode{data});
  }
};

class Merger {
 public:
  Merger(GraphFunction& f, PassContext& context) : f_(f), context_(context) {}

  void run() {
    look();
    for (size_t i = 0; i < f_.bindings.size(); ++i) {
      if (merge_at(static_cast<int>(i)) || merge_convolutions_at(static_cast<int>(i))) look();
    }
    for (size_t i = 0; i < f_.bindings.size(); ++i) {
      if (cut_first(i)) look();
    }
  }

 private:
  void look() {
    defs_ = defining_bindings(f_);
    users_ = users_of(f_);
  }
  static size_t at(ValueId id) { return static_cast<size_t>(id.index); }
  Binding& binding(int i) { return f_.bindings[static_cast<size_t>(i)]; }
  const OpCall* call(int i) { return i < 0 ? nullptr : std::get_if<OpCall>(&binding(i).node); }

  std::optional<Sibling> sibling(int i, ValueId x) {
    const OpCall* c = call(i);
    if (!c || c->op != "matmul" || c->args[0] != x || c->args[1] == x || !c->attrs.map().empty())
      return std::nullopt;
    const ValueId result = binding(i).result;
    if (!f_.type(result).fully_known() || f_.type(result).rank() != f_.type(x).rank())
      return std::nullopt;
    Sibling s{i, -1, constant_of(f_, defs_, c->args[1]), nullptr};
    if (!s.weight || s.weight->dims.size() != 2 || !is_float(s.weight->dtype)) return std::nullopt;
    const std::vector<int>& users = users_[at(result)];
    const OpCall* sum = users.size() == 1 ? call(users[0]) : nullptr;
    if (!sum || sum->op != "add" || sum->args[0] == sum->args[1]) return s;
    const Constant bias = constant_of(f_, defs_, sum->args[sum->args[0] == result ? 1 : 0]);
    if (bias && bias->dims.size() == 1 && bias->dims[0] == s.weight->dims[1]) {
      s.sum = users[0];
      s.bias = bias;
    }
    return s;
  }

  /// Merges the products that read the same value as binding i, if i is the first of them.
  bool merge_at(int i) {
    const OpCall* c = call(i);
    if (!c || c->op != "matmul") return false;
    const ValueId x = c->args[0];
    const auto first = sibling(i, x);
    if (!first) return false;
    std::vector<Sibling> all;
    for (const int u : users_[at(x)]) {
      const auto s = u < 0 ? std::nullopt : sibling(u, x);
      if (!s || s->weight->dtype != first->weight->dtype ||
          s->weight->dims[0] != first->weight->dims[0])
        continue;
      if ((s->sum < 0) != (first->sum < 0)) continue;
      if (all.empty() || all.back().product != s->product) all.push_back(*s);
    }
    if (all.size() < 2 || all.front().product != i) return false;
    merge(all, x);
    return true;
  }

  Made made_for(int i) { return {f_, f_.value(binding(i).result).name, binding(i).location, {}}; }

  void merge(const std::vector<Sibling>& all, ValueId x) {
    Made made = made_for(all[0].product);
    const auto side_by_side = [&](const char* suffix, Constant Sibling::* part) {
      std::vector<Constant> parts;
      for (const Sibling& s : all) parts.push_back(s.*part);
      return made.constant(suffix, concatenated(parts, parts[0]->dims.size() - 1));
    };
    const ValueId weight = side_by_side("_weights", &Sibling::weight);
    Dims dims = *f_.type(binding(all[0].product).result).dims;
    const size_t last = dims.size() - 1;
    dims[last] = f_.type(weight).dims->back();
    const Type type = Type::tensor(dims, all[0].weight->dtype);
    ValueId whole = made.add("_merged", type, OpCall{"matmul", {x, weight}, {}});
    if (all[0].bias) {
      const ValueId bias = side_by_side("_biases", &Sibling::bias);
      whole = made.add("_sum", type, OpCall{"add", {whole, bias}, {}});
    }
    int64_t start = 0;
    for (const Sibling& s : all) {
      dims[last] = s.weight->dims[1];
      binding(s.sum < 0 ? s.product : s.sum).node = part_of(whole, last, start, dims);
      start += s.weight->dims[1];
    }
    context_.note("merge_siblings: {} products of %{} became %{}", all.size(), f_.value(x).name,
                  f_.value(whole).name);
    // The products that a sum followed are nobody's any more.
    for (const Sibling& s : all) {
      if (s.sum >= 0) dead_.push_back(binding(s.product).result);
    }
    insert_before(all[0].product, std::move(made.bindings));
  }

  /// A convolution with constant operands, all of whose channels see the whole input.
  bool is_plain_convolution(const OpCall* c, ValueId x) const {
    if (!c || c->op != "conv" || c->args[0] != x || c->attrs.get_int("group", 1) != 1) return false;
    const Constant w = constant_of(f_, defs_, c->args[1]);
    if (!w || !w->dims.size()) return false;
    return c->args.size() < 3 || !c->args[2].valid() || constant_of(f_, defs_, c->args[2]);
  }

  static bool has_bias(const OpCall& c) { return c.args.size() > 2 && c.args[2].valid(); }

  /// Merges the convolutions that read the same value as binding i, if i is the first of them.
  bool merge_convolutions_at(int i) {
    const OpCall* first = call(i);
    if (!first || first->args.empty()) return false;  // `full` has no operands
    if (!is_plain_convolution(first, first->args[0])) return false;
    const ValueId x = first->args[0];
    const Constant w = constant_of(f_, defs_, first->args[1]);
    std::vector<int> all, ends;
    for (const int u : users_[at(x)]) {
      const OpCall* c = call(u);
      if (!is_plain_convolution(c, x) || c->attrs != first->attrs ||
          has_bias(*c) != has_bias(*first))
        continue;
      const Constant other = constant_of(f_, defs_, c->args[1]);
      if (other->dtype != w->dtype || !std::equal(w->dims.begin() + 1, w->dims.end(),
                                                  other->dims.begin() + 1, other->dims.end()))
        continue;
      if (f_.type(binding(u).result).fully_known() && (all.empty() || all.back() != u))
        all.push_back(u);
    }
    if (all.size() < 2 || all.front() != i) return false;
    ends = all;
    follow_shared_activation(ends);
    for (const int e : ends) {
      for (const int u : users_[at(binding(e).result)]) {
        const OpCall* c = call(u);
        if (!c || (c->op != "conv" && c->op != "concat")) return false;
      }
    }
    merge_convolutions(all, ends);
    return true;
  }

  /// Moves `ends` to the one operator that each of the results goes through, if nothing else reads
  /// them.
  void follow_shared_activation(std::vector<int>& ends) {
    static const std::set<std::string> kActivations = {
        "relu",  "sigmoid",    "tanh",         "hard_swish", "gelu",
        "swish", "leaky_relu", "hard_sigmoid", "elu",        "mish"};
    std::vector<int> next;
    for (const int e : ends) {
      const std::vector<int>& users = users_[at(binding(e).result)];
      const OpCall* c = users.size() == 1 ? call(users[0]) : nullptr;
      if (!c || !kActivations.count(c->op) || c->args.size() != 1) return;
      if (!next.empty() && (c->op != call(next[0])->op || c->attrs != call(next[0])->attrs)) return;
      next.push_back(users[0]);
    }
    ends = next;
  }

  void merge_convolutions(const std::vector<int>& all, const std::vector<int>& ends) {
    Made made = made_for(all[0]);
    const OpCall& first = *call(all[0]);
    const auto stacked = [&](const char* suffix, size_t operand) {
      std::vector<Constant> parts;
      for (const int s : all) parts.push_back(constant_of(f_, defs_, call(s)->args[operand]));
      return made.constant(suffix, concatenated(parts, 0));
    };
    Type type = f_.type(binding(all[0]).result);
    OpCall merged{"conv", {first.args[0], stacked("_weights", 1)}, first.attrs};
    (*type.dims)[1] = f_.type(merged.args[1]).dims->front();
    if (has_bias(first)) merged.args.push_back(stacked("_biases", 2));
    ValueId whole = made.add("_merged", type, std::move(merged));
    if (ends != all)
      whole = made.add("_active", type, OpCall{call(ends[0])->op, {whole}, call(ends[0])->attrs});
    DimExpr start = 0;
    for (size_t k = 0; k < all.size(); ++k) {
      const Dims extent = *f_.type(binding(all[k]).result).dims;
      if (ends[k] != all[k]) dead_.push_back(binding(all[k]).result);
      binding(ends[k]).node = part_of(whole, 1, start, extent);
      start += extent[1];
    }
    context_.note("merge_siblings: {} convolutions became %{}", all.size(), f_.value(whole).name);
    insert_before(all[0], std::move(made.bindings));
  }

  /// Inserts the bindings and removes what nobody reads any more.
  void insert_before(int at, std::vector<Binding> made) {
    f_.bindings.insert(f_.bindings.begin() + at, std::make_move_iterator(made.begin()),
                       std::make_move_iterator(made.end()));
    std::erase_if(f_.bindings, [&](const Binding& b) {
      return std::find(dead_.begin(), dead_.end(), b.result) != dead_.end();
    });
    dead_.clear();
  }

  /// reshape(slice(x)) that cuts the last axis into (heads, size) becomes slice(reshape(x)).
  bool cut_first(size_t i) {
    const auto* cut = std::get_if<OpCall>(&f_.bindings[i].node);
    if (!cut || cut->op != "reshape") return false;
    const OpCall* part = call(defs_[at(cut->args[0])]);
    if (!part || part->op != "slice") return false;
    const Type &x = f_.type(part->args[0]), &y = f_.type(cut->args[0]),
               &out = f_.type(f_.bindings[i].result);
    if (!x.fully_known() || !out.fully_known() || out.rank() != x.rank() + 1) return false;
    const size_t last = x.dims->size() - 1;
    const auto size = out.dims->back().as_const(), width = x.dims->back().as_const();
    const Dims& begin = part->attrs.get_dims("begin");
    const std::vector<int64_t> step = part->attrs.get_ints("step");
    const auto start = begin[last].as_const(), taken = y.dims->back().as_const();
    if (!size || *size == 0 || !width || !start || !taken || *width % *size || *start % *size ||
        *taken % *size)
      return false;
    for (size_t k = 0; k < last; ++k) {
      if (!begin[k].is_const(0) || !f_.facts.proves_equal((*x.dims)[k], (*y.dims)[k]) ||
          !f_.facts.proves_equal((*y.dims)[k], (*out.dims)[k]))
        return false;
    }
    if (std::any_of(step.begin(), step.end(), [](int64_t s) { return s != 1; })) return false;
    if (!(*out.dims)[last].is_const(*taken / *size)) return false;
    const Dims extent = *out.dims;  // a new value may move the types
    Dims whole = *x.dims;
    whole.back() = *width / *size;
    whole.emplace_back(*size);
    const ValueId id =
        f_.add_value(f_.value(part->args[0]).name + "_cut", Type::tensor(whole, x.dtype));
    Binding made{id, OpCall{"reshape", {part->args[0]}, {{"shape", whole}}},
                 f_.bindings[i].location};
    f_.bindings[i].node = part_of(id, last, *start / *size, extent);
    f_.bindings.insert(f_.bindings.begin() + static_cast<std::ptrdiff_t>(i), std::move(made));
    return true;
  }

  GraphFunction& f_;
  PassContext& context_;
  std::vector<int> defs_;
  std::vector<std::vector<int>> users_;
  std::vector<ValueId> dead_;
};

}  // namespace

void merge_siblings(Module& module, PassContext& context) {
  for (const std::string& name : module.graph_names()) Merger(module.graph(name), context).run();
}

}  // namespace symtile
