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

  void merge(const std::vector<Sibling>& all, ValueId x) {
    const int64_t rows = all[0].weight->dims[0];
    int64_t columns = 0;
    for (const Sibling& s : all) columns += s.weight->dims[1];
    const std::string name = f_.value(binding(all[0].product).result).name;
    const Location location = binding(all[0].product).location;
    std::vector<Binding> made;
    const auto add = [&](const char* suffix, Type type, GraphNode node) {
      const ValueId id = f_.add_value(name + suffix, std::move(type));
      made.push_back({id, std::move(node), location});
      return id;
    };
    const auto side_by_side = [&](std::vector<int64_t> dims, Constant Sibling::* part) {
      auto out = make_zeros(all[0].weight->dtype, std::move(dims));
      const size_t size = size_of(out->dtype), stride = static_cast<size_t>(columns) * size;
      size_t start = 0;
      for (const Sibling& s : all) {
        const ConstantData& from = *(s.*part);
        const size_t width = static_cast<size_t>(from.dims.back()) * size;
        const size_t count = width == 0 ? 0 : from.bytes.size() / width;
        for (size_t r = 0; r < count; ++r)
          std::memcpy(out->bytes.data() + r * stride + start, from.bytes.data() + r * width, width);
        start += width;
      }
      return out;
    };
    const DType dtype = all[0].weight->dtype;
    const ValueId weight = add("_weights", Type::tensor({rows, columns}, dtype),
                               ConstantNode{side_by_side({rows, columns}, &Sibling::weight)});
    Dims dims = *f_.type(binding(all[0].product).result).dims;
    dims.back() = columns;
    const Type type = Type::tensor(dims, dtype);
    ValueId whole = add("_merged", type, OpCall{"matmul", {x, weight}, {}});
    if (all[0].bias) {
      const ValueId bias = add("_biases", Type::tensor({columns}, dtype),
                               ConstantNode{side_by_side({columns}, &Sibling::bias)});
      whole = add("_sum", type, OpCall{"add", {whole, bias}, {}});
    }
    int64_t start = 0;
    for (const Sibling& s : all) {
      Dims begin(dims.size(), DimExpr(0)), extent = dims;
      begin.back() = start;
      extent.back() = s.weight->dims[1];
      start += s.weight->dims[1];
      Attributes attrs{
          {"begin", begin}, {"extent", extent}, {"step", std::vector<int64_t>(dims.size(), 1)}};
      Binding& last = binding(s.sum < 0 ? s.product : s.sum);
      last.node = OpCall{"slice", {whole}, std::move(attrs)};
    }
    context_.note("merge_siblings: {} products of %{} became %{}", all.size(), f_.value(x).name,
                  f_.value(whole).name);
    // The products that a sum followed are nobody's any more.
    for (const Sibling& s : all) {
      if (s.sum >= 0) dead_.push_back(binding(s.product).result);
    }
    insert_before(all[0].product, std::move(made));
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
    const OpCall* activation = shared_activation(ends);
    for (const int e : ends) {
      for (const int u : users_[at(binding(e).result)]) {
        const OpCall* c = call(u);
        if (!c || (c->op != "conv" && c->op != "concat")) return false;
      }
    }
    merge_convolutions(all, ends, activation);
    return true;
  }

  /// The one operator that each of the results goes through, and nothing else reads them; moves
  /// `ends` to it.
  const OpCall* shared_activation(std::vector<int>& ends) {
    static const std::set<std::string> kActivations = {
        "relu",  "sigmoid",    "tanh",         "hard_swish", "gelu",
        "swish", "leaky_relu", "hard_sigmoid", "elu",        "mish"};
    std::vector<int> next;
    for (const int e : ends) {
      const std::vector<int>& users = users_[at(binding(e).result)];
      const OpCall* c = users.size() == 1 ? call(users[0]) : nullptr;
      if (!c || !kActivations.count(c->op) || c->args.size() != 1) return nullptr;
      if (!next.empty() && (c->op != call(next[0])->op || c->attrs != call(next[0])->attrs))
        return nullptr;
      next.push_back(users[0]);
    }
    ends = next;
    return call(ends[0]);
  }

  void merge_convolutions(const std::vector<int>& all, const std::vector<int>& ends,
                          const OpCall* activation) {
    const std::string name = f_.value(binding(all[0]).result).name;
    std::vector<Binding> made;
    const auto add = [&](const char* suffix, Type type, GraphNode node) {
      const ValueId id = f_.add_value(name + suffix, std::move(type));
      made.push_back({id, std::move(node), binding(all[0]).location});
      return id;
    };
    const auto stacked = [&](const char* suffix, size_t operand) {
      std::vector<std::byte> bytes;
      std::vector<int64_t> dims;
      DType dtype = DType::f32;
      for (const int s : all) {
        const Constant part = constant_of(f_, defs_, call(s)->args[operand]);
        bytes.insert(bytes.end(), part->bytes.begin(), part->bytes.end());
        dtype = part->dtype;
        if (dims.empty()) {
          dims = part->dims;
        } else {
          dims[0] += part->dims[0];
        }
      }
      const Type type = Type::tensor(Dims(dims.begin(), dims.end()), dtype);
      return add(suffix, type, ConstantNode{make_constant(dtype, dims, std::move(bytes))});
    };
    Dims dims = *f_.type(binding(all[0]).result).dims;
    dims[1] = 0;
    for (const int s : all) dims[1] += (*f_.type(binding(s).result).dims)[1];
    const Type type = Type::tensor(dims, f_.type(binding(all[0]).result).dtype);
    OpCall merged{"conv", {call(all[0])->args[0], stacked("_weights", 1)}, call(all[0])->attrs};
    if (has_bias(*call(all[0]))) merged.args.push_back(stacked("_biases", 2));
    ValueId whole = add("_merged", type, std::move(merged));
    if (activation)
      whole = add("_active", type, OpCall{activation->op, {whole}, activation->attrs});
    DimExpr start = 0;
    for (size_t k = 0; k < all.size(); ++k) {
      Dims begin(dims.size(), DimExpr(0)), extent = *f_.type(binding(all[k]).result).dims;
      begin[1] = start;
      start += extent[1];
      if (ends[k] != all[k]) dead_.push_back(binding(all[k]).result);
      binding(ends[k]).node = OpCall{
          "slice",
          {whole},
          {{"begin", begin}, {"extent", extent}, {"step", std::vector<int64_t>(dims.size(), 1)}}};
    }
    context_.note("merge_siblings: {} convolutions became %{}", all.size(), f_.value(whole).name);
    insert_before(all[0], std::move(made));
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
    Dims whole = *x.dims, from(last + 2, DimExpr(0));
    whole.back() = *width / *size;
    whole.emplace_back(*size);
    from[last] = *start / *size;
    Attributes attrs{
        {"begin", from}, {"extent", *out.dims}, {"step", std::vector<int64_t>(last + 2, 1)}};
    const ValueId id =
        f_.add_value(f_.value(part->args[0]).name + "_cut", Type::tensor(whole, x.dtype));
    Binding made{id, OpCall{"reshape", {part->args[0]}, {{"shape", whole}}},
                 f_.bindings[i].location};
    f_.bindings[i].node = OpCall{"slice", {id}, std::move(attrs)};
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
