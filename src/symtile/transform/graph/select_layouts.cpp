// Chooses in which order of axes values are kept, so that transpositions cancel: a model that was
// exported from channels-last code has one in front of each convolution and one behind it, with
// elementwise operators, concatenations, paddings and means of channels in between.
//
// For each permutation p that the function transposes by, every operator that can work in any
// order is either left alone or works on values stored in the order before p. Values that cross
// between the two kinds are transposed, at the cost of the bytes that this moves; which operators
// change is the minimum cut between the transpositions and the operators that are bound to their
// order. Nothing changes unless fewer bytes are moved than before, and of equal cuts the one that
// changes least is taken. What is left to do (pairs that undo each other, constants in another
// order) later passes do.
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <queue>

#include "symtile/op/builder.h"
#include "symtile/pass/pass.h"
#include "symtile/transform/graph_utils.h"
#include "symtile/transform/tile/access.h"

namespace symtile {
namespace {

using Order = std::vector<int64_t>;

/// What a transposition costs beside the bytes that it moves: another kernel to start.
constexpr int64_t kStartBytes = 4096;
/// Each round moves fewer bytes than the one before; models need one or two.
constexpr int kMaxRounds = 8;

Order inverse(const Order& p) {
  Order out(p.size());
  for (size_t d = 0; d < p.size(); ++d) out[static_cast<size_t>(p[d])] = static_cast<int64_t>(d);
  return out;
}

/// The smallest set of nodes around `source` whose edges to the others cost least (Ford and
/// Fulkerson, along shortest paths).
class MinimumCut {
 public:
  explicit MinimumCut(size_t nodes) : edges_(nodes) {}

  void add(size_t a, size_t b, int64_t cost) {
    edges_[a][b] += cost;
    edges_[b][a] += cost;
  }

  /// What the cut costs; afterwards `inside` says which nodes are with the source.
  int64_t solve(size_t source, size_t sink, std::vector<bool>& inside) {
    int64_t total = 0;
    while (true) {
      std::vector<size_t> from(edges_.size(), edges_.size());
      from[source] = source;
      std::queue<size_t> next;
      for (next.push(source); !next.empty(); next.pop()) {
        for (const auto& [to, left] : edges_[next.front()]) {
          if (left == 0 || from[to] != edges_.size()) continue;
          from[to] = next.front();
          next.push(to);
        }
      }
      if (from[sink] == edges_.size()) {
        for (size_t n = 0; n < edges_.size(); ++n) inside[n] = from[n] != edges_.size();
        return total;
      }
      int64_t flow = std::numeric_limits<int64_t>::max();
      for (size_t n = sink; n != source; n = from[n]) flow = std::min(flow, edges_[from[n]][n]);
      for (size_t n = sink; n != source; n = from[n]) {
        edges_[from[n]][n] -= flow;
        edges_[n][from[n]] += flow;
      }
      total += flow;
    }
  }

 private:
  std::vector<std::map<size_t, int64_t>> edges_;
};

class Selector {
 public:
  Selector(GraphFunction& f, PassContext& context) : f_(f), context_(context) {}

  /// True when something changed.
  bool run() {
    std::set<Order> orders;
    for (const Binding& b : f_.bindings) {
      if (const OpCall* t = transposition(b)) orders.insert(t->attrs.get_ints("perm"));
    }
    return std::any_of(orders.begin(), orders.end(), [&](const Order& p) {
      return !std::is_sorted(p.begin(), p.end()) && select(p);
    });
  }

 private:
  static size_t at(ValueId v) { return static_cast<size_t>(v.index); }

  static const OpCall* transposition(const Binding& b) {
    const auto* call = std::get_if<OpCall>(&b.node);
    return call && call->op == "transpose" ? call : nullptr;
  }

  /// Bytes that a transposition reads and writes, at representative dimensions.
  int64_t cost(ValueId v) const {
    const Type& type = f_.type(v);
    DimValues values;
    const DimExpr count = product(*type.dims);
    for (const std::string& s : count.symbols()) {
      const DimRange r = f_.facts.range(DimExpr::symbol(s));
      values[s] = std::clamp<int64_t>(97, r.low.value_or(0), r.high.value_or(kMaxDim));
    }
    return kStartBytes + 2 * static_cast<int64_t>(size_of(type.dtype)) *
                             std::max<int64_t>(count.evaluate(values), 0);
  }

  bool of_rank(ValueId v, size_t rank) const {
    const Type& t = f_.type(v);
    return t.is_tensor() && t.fully_known() && t.dims->size() == rank;
  }
  bool is_constant(ValueId v) const { return constant_of(f_, defs_, v) != nullptr; }
  bool is_single(ValueId v) const {
    const Type& t = f_.type(v);
    return t.is_tensor() && t.fully_known() && product(*t.dims).is_const(1);
  }

  /// Works on each position by itself, whatever the order of the axes.
  bool is_elementwise(const Binding& b, const OpCall& call) const {
    const OpRecord* op = find_op(call.op);
    if (!op || !op->lower) return false;
    for (const AttrSpec& a : op->attrs) {
      if (a.kind == AttrSpec::Kind::integers || a.kind == AttrSpec::Kind::dims ||
          std::string_view(a.name).find("axis") != std::string_view::npos)
        return false;
    }
    std::vector<Type> args;
    std::vector<Constant> constants;
    for (const ValueId a : call.args) {
      args.push_back(a.valid() ? f_.type(a) : Type::object());
      constants.push_back(constant_of(f_, defs_, a));
    }
    const auto lowered = lower_call(call, args, {f_.type(b.result)}, constants, f_.facts, call.op);
    return lowered && classify(*lowered) <= KernelKind::broadcast;
  }

  /// The attributes for operands in the order before p; nullopt: the operator is bound to its
  /// order.
  std::optional<Attributes> moved(const Binding& b, const OpCall& call, const Order& p) const {
    const size_t rank = p.size();
    Attributes attrs = call.attrs;
    const auto axis = [&](int64_t a) {
      return p[static_cast<size_t>(a < 0 ? a + static_cast<int64_t>(rank) : a)];
    };
    const auto dims = [&](const char* name, size_t parts) {
      const Dims given = attrs.get_dims(name);
      Dims out = given;
      for (size_t d = 0; d < given.size(); ++d)
        out[d / rank * rank + static_cast<size_t>(p[d % rank])] = given[d];
      SYMTILE_CHECK(given.size() == parts * rank, "'{}' has {} numbers", name, given.size());
      attrs.set(name, out);
    };
    if (call.op == "concat" || call.op == "softmax") {
      attrs.set("axis", axis(call.attrs.get_int("axis", -1)));
    } else if (call.op == "pad") {
      dims("pads", 2);
    } else if (call.op == "slice") {
      dims("begin", 1);
      dims("extent", 1);
      const Order step = attrs.get_ints("step");
      Order to = step;
      for (size_t d = 0; d < step.size(); ++d) to[static_cast<size_t>(p[d])] = step[d];
      attrs.set("step", to);
    } else if (call.op.starts_with("reduce_")) {
      if (attrs.has("kept") || !attrs.has("axes") || !attrs.get_bool("keepdims", true))
        return std::nullopt;
      Order axes;
      for (const int64_t a : attrs.get_ints("axes")) axes.push_back(axis(a));
      attrs.set("axes", axes);
    } else if (!is_elementwise(b, call)) {
      return std::nullopt;
    }
    return attrs;
  }

  /// The operators that may work in either order, with their attributes for the other one.
  std::map<size_t, Attributes> movable(const Order& p) const {
    std::map<size_t, Attributes> out;
    for (size_t i = 0; i < f_.bindings.size(); ++i) {
      const Binding& b = f_.bindings[i];
      const auto* call = std::get_if<OpCall>(&b.node);
      if (!call || !of_rank(b.result, p.size())) continue;
      const bool fits = std::all_of(call->args.begin(), call->args.end(), [&](ValueId a) {
        return !a.valid() || of_rank(a, p.size()) || is_single(a) ||
               (is_constant(a) && f_.type(a).dims->size() < p.size());
      });
      if (!fits) continue;
      if (auto attrs = moved(b, *call, p)) out.emplace(i, std::move(*attrs));
    }
    return out;
  }

  bool select(const Order& p) {
    defs_ = defining_bindings(f_);
    const Order back = inverse(p);
    const auto is_by = [&](size_t i, const Order& order) {
      const OpCall* t = transposition(f_.bindings[i]);
      return t && t->attrs.get_ints("perm") == order;
    };
    const std::map<size_t, Attributes> ops = movable(p);
    // A node a binding; values from outside the function, and its results, keep their order.
    const size_t source = f_.bindings.size(), sink = source + 1;
    MinimumCut cut(sink + 1);
    int64_t before = 0;
    const auto reads = [&](size_t reader, ValueId v) {
      if (!v.valid() || !of_rank(v, p.size()) || is_constant(v) || is_single(v)) return;
      const int def = defs_[at(v)];
      const auto maker = static_cast<size_t>(def);
      const size_t from = def < 0            ? sink
                          : ops.count(maker) ? maker
                          : is_by(maker, p)  ? source
                                             : sink;
      if (from == reader || (from == sink && reader == sink)) return;
      const int64_t bytes = cost(v);
      cut.add(from, reader, bytes);
      if ((from == source) != (reader == source)) before += bytes;
    };
    for (size_t i = 0; i < f_.bindings.size(); ++i) {
      const size_t reader = ops.count(i) ? i : is_by(i, back) ? source : sink;
      for_each_operand(f_.bindings[i].node, [&](ValueId v) {
        if (!is_by(i, p)) reads(reader, v);
      });
    }
    for (const ValueId r : f_.results) reads(sink, r);
    std::vector<bool> inside(sink + 1, false);
    const int64_t after = cut.solve(source, sink, inside);
    if (after >= before) return false;
    context_.note("select_layouts: @{}: without transpositions by [{}] {} bytes move instead of {}",
                  f_.name, fmt::join(p, ", "), after, before);
    rewrite(p, ops, inside);
    return true;
  }

  void rewrite(const Order& p, const std::map<size_t, Attributes>& ops,
               const std::vector<bool>& inside) {
    const Order back = inverse(p);
    std::map<int32_t, ValueId> in_order;  ///< value -> the same in the order before p
    std::vector<Binding> out, bindings = std::move(f_.bindings);
    Location location;
    const auto bind = [&](const std::string& op, ValueId from, Attributes attrs, Dims dims) {
      const Type type = Type::tensor(std::move(dims), f_.type(from).dtype);
      const ValueId to = f_.add_value(f_.value(from).name + "_moved", type);
      out.push_back({to, OpCall{op, {from}, std::move(attrs)}, location});
      return to;
    };
    const auto permuted = [&](const Dims& dims) {
      Dims to;
      for (const int64_t d : back) to.push_back(dims[static_cast<size_t>(d)]);
      return to;
    };
    const auto take = [&](ValueId v) {
      if (!v.valid() || is_single(v)) return v;
      ValueId& known = in_order[v.index];
      if (known.valid()) return known;
      ValueId from = v;
      if (f_.type(v).dims->size() < p.size()) {
        Dims dims(p.size() - f_.type(v).dims->size(), DimExpr(1));
        dims.insert(dims.end(), f_.type(v).dims->begin(), f_.type(v).dims->end());
        from = bind("reshape", v, {{"shape", dims}}, dims);
      }
      return known = bind("transpose", from, {{"perm", back}}, permuted(*f_.type(from).dims));
    };
    for (size_t i = 0; i < bindings.size(); ++i) {
      Binding& b = bindings[i];
      location = b.location;
      if (const OpCall* t = transposition(b); t && t->attrs.get_ints("perm") == p)
        in_order[b.result.index] = t->args[0];
      if (!ops.count(i) || !inside[i]) {
        out.push_back(std::move(b));
        continue;
      }
      auto& call = std::get<OpCall>(b.node);
      for (ValueId& a : call.args) a = take(a);
      call.attrs = ops.at(i);
      const Type& type = f_.type(b.result);
      const ValueId moved = f_.add_value(f_.value(b.result).name + "_moved",
                                         Type::tensor(permuted(*type.dims), type.dtype));
      in_order[b.result.index] = moved;
      out.push_back({moved, std::move(call), location});
      out.push_back({b.result, OpCall{"transpose", {moved}, {{"perm", p}}}, location});
    }
    f_.bindings = std::move(out);
  }

  GraphFunction& f_;
  PassContext& context_;
  std::vector<int> defs_;
};

}  // namespace

void canonicalize(Module&, PassContext&);
void dead_code(Module&, PassContext&);

void select_layouts(Module& module, PassContext& context) {
  for (const std::string& name : module.graph_names()) {
    for (int round = 0; round < kMaxRounds; ++round) {
      if (!Selector(module.graph(name), context).run()) break;
      // Pairs of transpositions are gone before the next order is looked at.
      canonicalize(module, context);
      dead_code(module, context);
      if (!module.has(name)) break;
    }
  }
}

}  // namespace symtile
