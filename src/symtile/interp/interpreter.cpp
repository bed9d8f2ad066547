#include "symtile/interp/interpreter.h"

#include <algorithm>

#include "symtile/interp/tile_interp.h"
#include "symtile/ir/scalar_eval.h"
#include "symtile/op/op.h"

namespace symtile {
namespace {

using Values = std::vector<RefTensor>;

std::string dims_text(const std::vector<int64_t>& dims) {
  return fmt::format("({})", fmt::join(dims, ", "));
}

/// One activation of a graph function.
class Frame {
 public:
  Frame(const Module& module, const GraphFunction& f)
      : module_(module), f_(f), values_(f.values.size()) {}

  std::function<void(const GraphFunction&, const Binding&, const RefTensor&)> on_value;

  Values run(const std::vector<RefTensor>& args, const std::vector<int64_t>& dims) {
    SYMTILE_CHECK(args.size() == f_.params.size(), "'{}' takes {} arguments", f_.name,
                  f_.params.size());
    for (size_t i = 0; i < dims.size(); ++i) symbols_[f_.dim_params.at(i)] = dims[i];
    for (size_t i = 0; i < args.size(); ++i) {
      const Value& param = f_.value(f_.params[i]);
      match(param.type, args[i], fmt::format("input '{}'", param.name), {});
      set(f_.params[i], {args[i]});
    }
    check_facts();
    for (const Binding& b : f_.bindings) {
      set(b.result, evaluate(b));
      if (on_value && f_.type(b.result).is_tensor()) on_value(f_, b, get(b.result));
    }
    Values out;
    for (const ValueId r : f_.results) out.push_back(get(r));
    return out;
  }

 private:
  void set(ValueId id, Values v) { values_[static_cast<size_t>(id.index)] = std::move(v); }
  const RefTensor& get(ValueId id) const { return values_[static_cast<size_t>(id.index)].front(); }
  std::vector<int64_t> evaluate_dims(const Dims& dims) const {
    std::vector<int64_t> out;
    for (const DimExpr& d : dims) out.push_back(d.evaluate(symbols_));
    return out;
  }

  /// Checks a tensor against a type; binds symbols not seen before.
  void match(const Type& type, const RefTensor& t, const std::string& what,
             const Location& location) {
    if (type.is_tensor() && type.dtype != t.dtype) {
      fail(DiagId::bad_input, location, "{} has dtype {}, but {} is expected", what,
           name_of(t.dtype), name_of(type.dtype));
    }
    if (!type.dims) return;
    if (type.dims->size() != t.dims.size()) {
      fail(DiagId::bad_input, location, "{} has shape {}, but rank {} is expected", what,
           dims_text(t.dims), type.dims->size());
    }
    for (size_t i = 0; i < t.dims.size(); ++i) {
      const DimExpr& d = (*type.dims)[i];
      if (d.is_unknown()) continue;
      if (const auto name = d.as_symbol(); name && symbols_.emplace(*name, t.dims[i]).second)
        continue;
      if (const int64_t expected = d.evaluate(symbols_); expected != t.dims[i]) {
        fail(DiagId::bad_input, location, "{}: dimension {} is {}, but '{}' is {}", what, i,
             t.dims[i], d.str(), expected);
      }
    }
  }

  void check_facts() const {
    for (const auto& [name, range] : f_.facts.ranges()) {
      const auto it = symbols_.find(name);
      if (it == symbols_.end()) continue;
      if ((range.low && it->second < *range.low) || (range.high && it->second > *range.high)) {
        fail(DiagId::bad_input, {},
             "dimension '{}' is {}, outside the range that the model was compiled for", name,
             it->second);
      }
    }
  }

  Values evaluate(const Binding& b) {
    return std::visit([&](const auto& node) { return eval(node, b); }, b.node);
  }

  std::vector<Type> result_types(const Binding& b) const {
    const Type& t = f_.type(b.result);
    return t.is_tuple() ? t.elements : std::vector<Type>{t};
  }

  Values run_op(const OpCall& call, const Binding& b) {
    const OpRecord* op = find_op(call.op);
    SYMTILE_CHECK(op != nullptr, "unknown operator '{}'", call.op);
    EvalContext c(call, symbols_);
    for (const ValueId a : call.args) c.inputs.push_back(a.valid() ? &get(a) : nullptr);
    c.num_results = static_cast<int>(result_types(b).size());
    op->evaluate(c);
    return std::move(c.outputs);
  }

  Values eval(const OpCall& call, const Binding& b) { return run_op(call, b); }
  Values eval(const ExternCall& call, const Binding& b) {
    return run_op(OpCall{call.callee, call.args, call.attrs}, b);
  }

  Values eval(const TileCall& call, const Binding& b) {
    const TileFunction& tile = module_.tile(call.callee);
    DimValues symbols;
    for (size_t i = 0; i < tile.symbols.size(); ++i)
      symbols[tile.symbols[i]] = call.dims[i].evaluate(symbols_);
    std::vector<const RefTensor*> inputs;
    for (const ValueId a : call.args) inputs.push_back(&get(a));
    std::vector<std::vector<int64_t>> dims;
    for (const Type& t : result_types(b)) dims.push_back(evaluate_dims(*t.dims));
    return run_tile(tile, symbols, inputs, dims);
  }

  Values call_graph(const std::string& name, const Values& args, const Dims& dims) {
    return Frame(module_, module_.graph(name)).run(args, evaluate_dims(dims));
  }

  Values collect(const std::vector<ValueId>& ids) const {
    Values out;
    for (const ValueId id : ids) out.push_back(get(id));
    return out;
  }

  Values eval(const GraphCall& call, const Binding&) {
    return call_graph(call.callee, collect(call.args), call.dims);
  }

  Values eval(const If& node, const Binding&) {
    const bool taken = get(node.condition).as_int(0) != 0;
    return call_graph(taken ? node.then_fn : node.else_fn, collect(node.args), node.dims);
  }

  Values eval(const Loop& node, const Binding& b) {
    Values carried = collect(node.carried);
    const Values captured = collect(node.captured);
    std::vector<Values> scanned(static_cast<size_t>(node.scanned));
    bool go = !node.condition.valid() || get(node.condition).as_int(0) != 0;
    RefTensor iteration(DType::i64, {}), condition(DType::boolean, {});
    for (int64_t i = 0; go && (!node.trip_count.valid() || i < get(node.trip_count).as_int(0));
         ++i) {
      iteration.i[0] = i;
      condition.i[0] = 1;
      Values args{iteration, condition};
      args.insert(args.end(), carried.begin(), carried.end());
      args.insert(args.end(), captured.begin(), captured.end());
      Values results = call_graph(node.body, args, node.dims);
      go = results.front().as_int(0) != 0;
      const auto first = results.begin() + 1;
      const auto split = first + static_cast<std::ptrdiff_t>(carried.size());
      for (size_t s = 0; s < scanned.size(); ++s)
        scanned[s].push_back(split[static_cast<std::ptrdiff_t>(s)]);
      carried.assign(first, split);
    }
    for (size_t s = 0; s < scanned.size(); ++s) {
      carried.push_back(stack(scanned[s], result_types(b)[node.carried.size() + s]));
    }
    return carried;
  }

  /// Stacks tensors on a new axis 0; of no tensors, the extents come from the declared type.
  RefTensor stack(const Values& parts, const Type& type) const {
    if (parts.empty()) {
      std::vector<int64_t> dims{0};
      if (type.dims) {
        for (size_t i = 1; i < type.dims->size(); ++i) {
          const DimExpr& d = (*type.dims)[i];
          const auto known = d.symbols();
          const bool bound =
              !d.is_unknown() && std::all_of(known.begin(), known.end(), [&](const std::string& s) {
                return symbols_.count(s) > 0;
              });
          dims.push_back(bound ? d.evaluate(symbols_) : 0);
        }
      }
      return RefTensor(type.dtype, dims);
    }
    std::vector<int64_t> dims = parts.front().dims;
    dims.insert(dims.begin(), static_cast<int64_t>(parts.size()));
    RefTensor out(parts.front().dtype, dims);
    int64_t at = 0;
    for (const RefTensor& p : parts) {
      for (int64_t i = 0; i < p.size(); ++i) out.copy_element(at++, p, i);
    }
    return out;
  }

  Values eval(const MatchCast& cast, const Binding& b) {
    match(cast.type, get(cast.value), fmt::format("value '{}'", f_.value(cast.value).name),
          b.location);
    return {get(cast.value)};
  }

  Values eval(const ReadDims& read, const Binding& b) {
    const RefTensor& t = get(read.value);
    if (t.size() != static_cast<int64_t>(read.symbols.size())) {
      fail(DiagId::bad_input, b.location, "value '{}' has {} elements, but {} are expected",
           f_.value(read.value).name, t.size(), read.symbols.size());
    }
    for (size_t i = 0; i < read.symbols.size(); ++i) {
      // Clamped as everywhere: "to the end" is often written as INT64_MAX.
      symbols_[read.symbols[i]] = std::clamp(t.as_int(static_cast<int64_t>(i)), -kMaxDim, kMaxDim);
    }
    return {t};
  }

  Values eval(const DimsToTensor& node, const Binding&) {
    const std::vector<int64_t> elements = evaluate_dims(node.dims);
    RefTensor t(node.dtype, node.scalar
                                ? std::vector<int64_t>{}
                                : std::vector<int64_t>{static_cast<int64_t>(elements.size())});
    for (size_t i = 0; i < elements.size(); ++i) t.set_int(static_cast<int64_t>(i), elements[i]);
    return {t};
  }

  Values eval(const CheckDims& check, const Binding& b) {
    const int64_t x = check.a.evaluate(symbols_), y = check.b.evaluate(symbols_);
    if (x != y) {
      fail(DiagId::bad_input, b.location, "{}: {} is {}, but {} is {}", check.message,
           check.a.str(), x, check.b.str(), y);
    }
    return {};
  }

  Values eval(const ConstantNode& node, const Binding&) {
    return {RefTensor::from_constant(*node.data)};
  }
  Values eval(const MakeTuple& node, const Binding&) { return collect(node.members); }
  Values eval(const GetItem& node, const Binding&) {
    return {values_[static_cast<size_t>(node.tuple.index)].at(static_cast<size_t>(node.index))};
  }

  const Module& module_;
  const GraphFunction& f_;
  std::vector<Values> values_;
  DimValues symbols_;
};

}  // namespace

std::vector<RefTensor> Interpreter::run(const std::vector<RefTensor>& inputs) const {
  Frame frame(module_, module_.graph(Module::kMain));
  frame.on_value = on_value;
  return frame.run(inputs, {});
}

}  // namespace symtile
