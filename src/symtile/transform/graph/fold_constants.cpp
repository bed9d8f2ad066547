// Evaluates operator calls on constants at compile time, with the reference meaning in double
// precision; every result is rounded to its dtype, as at run time.
//
// Folding trades work for size, so a result may not be much larger than what it is made of (an
// expanded constant stays an expansion, and a huge product of constants stays a product). What
// fails to evaluate stays as it is: the error belongs to the run, which may never get there.
#include <unordered_map>

#include "symtile/op/builder.h"
#include "symtile/pass/pass.h"
#include "symtile/transform/graph_utils.h"
#include "symtile/transform/tile/access.h"

namespace symtile {
namespace {

constexpr int64_t kMaxBytes = int64_t{64} << 20;  ///< of one result
constexpr int64_t kMaxGrowth = 8;                 ///< of the result over its arguments
constexpr int64_t kSmallBytes = 64 << 10;         ///< a result of this size may grow
constexpr int64_t kRepeatBytes = 256;  ///< a repetition of equal elements, though, only to this
constexpr int64_t kMaxWork = int64_t{1} << 26;  ///< scalar steps

int64_t byte_count(const Constant& c) { return static_cast<int64_t>(c->bytes.size()); }

/// Operators whose result is the same few elements over and over.
bool repeats_elements(const std::string& op) {
  return op == "expand" || op == "full" || op == "tile";
}

/// Product of the extents; nullopt when one is a formula or there are too many elements.
std::optional<int64_t> count_of(const Dims& dims) {
  int64_t count = 1;
  for (const DimExpr& d : dims) {
    const auto extent = d.as_const();
    if (!extent || *extent < 0 || __builtin_mul_overflow(count, *extent, &count))
      return std::nullopt;
  }
  return count;
}

/// Scalar steps of a kernel: elements of its stages times elements of their reductions.
std::optional<int64_t> work_of(const TileFunction& f) {
  const auto form = compute_form(f);
  if (!form) return kMaxWork;
  int64_t work = 0;
  for (const ComputeStmt& stage : form->stages) {
    std::vector<Dims> nests(1);
    for (const Axis& a : stage.axes) nests[0].push_back(a.extent);
    visit(stage.value, [&](const Expr& e) {
      const auto* r = e.as<ReduceExpr>();
      if (!r) return;
      nests.push_back(nests[0]);
      for (const Axis& a : r->axes) nests.back().push_back(a.extent);
    });
    for (const Dims& nest : nests) {
      const auto count = count_of(nest);
      if (!count || __builtin_add_overflow(work, *count, &work)) return std::nullopt;
    }
  }
  return work;
}

class ConstantFolder {
 public:
  explicit ConstantFolder(GraphFunction& f) : f_(f) {}

  void run() {
    for (Binding& b : f_.bindings) {
      if (const auto* node = std::get_if<ConstantNode>(&b.node)) {
        known_[b.result.index] = {node->data};
        continue;
      }
      std::vector<Constant> results = fold(b);
      if (results.empty()) continue;
      known_[b.result.index] = results;
      if (f_.type(b.result).is_tuple()) continue;  // its members become constants below
      f_.value(b.result).type = type_of(*results.front());
      b.node = ConstantNode{results.front()};
    }
  }

 private:
  static Type type_of(const ConstantData& c) {
    return Type::tensor(Dims(c.dims.begin(), c.dims.end()), c.dtype);
  }

  Constant known(ValueId id) const {
    const auto it = known_.find(id.index);
    return it == known_.end() || it->second.size() != 1 ? nullptr : it->second.front();
  }

  /// The results of a binding; empty when it stays.
  std::vector<Constant> fold(const Binding& b) const {
    if (const auto* call = std::get_if<OpCall>(&b.node)) return fold_call(b, *call);
    if (const auto* dims = std::get_if<DimsToTensor>(&b.node)) return fold_dims(*dims);
    if (const auto* get = std::get_if<GetItem>(&b.node)) {
      const auto it = known_.find(get->tuple.index);
      const auto at = static_cast<size_t>(get->index);
      if (it != known_.end() && at < it->second.size()) return {it->second[at]};
    }
    return {};
  }

  static std::vector<Constant> fold_dims(const DimsToTensor& node) {
    std::vector<int64_t> shape;
    if (!node.scalar) shape.push_back(static_cast<int64_t>(node.dims.size()));
    const auto out = make_zeros(node.dtype, shape);
    for (size_t i = 0; i < node.dims.size(); ++i) {
      const auto value = node.dims[i].as_const();
      if (!value) return {};
      out->set_int(static_cast<int64_t>(i), *value);
    }
    return {out};
  }

  std::vector<Constant> fold_call(const Binding& b, const OpCall& call) const {
    const OpRecord* op = find_op(call.op);
    SYMTILE_CHECK(op != nullptr, "unknown operator '{}'", call.op);
    std::vector<Constant> args;
    int64_t bytes = 0;
    for (const ValueId a : call.args) {
      args.push_back(a.valid() ? known(a) : nullptr);
      if (a.valid() && !args.back()) return {};
      if (a.valid()) bytes += byte_count(args.back());
    }
    bool formulas = false;
    for_each_dim(call, [&](const DimExpr& d) { formulas = formulas || !d.is_const(); });
    if (formulas || !worth_it(b, call, args, bytes)) return {};
    return evaluate(*op, b, call, args);
  }

  bool worth_it(const Binding& b, const OpCall& call, const std::vector<Constant>& args,
                int64_t bytes) const {
    const Type& type = f_.type(b.result);
    const std::vector<Type> results = type.is_tuple() ? type.elements : std::vector<Type>{type};
    int64_t total = 0;
    bool sized = true;
    for (const Type& t : results) {
      const auto count = t.is_tensor() && t.dims ? count_of(*t.dims) : std::nullopt;
      sized = sized && count && *count <= kMaxBytes;
      if (sized) total += *count * size_of(t.dtype);
    }
    // Only the data decide: such results are parts of their arguments.
    if (!sized) return bytes <= kSmallBytes;
    if (total > kMaxBytes) return false;
    const int64_t small = repeats_elements(call.op) ? kRepeatBytes : kSmallBytes;
    if (total > small && total >= kMaxGrowth * bytes) return false;
    if (total > small && repeats_elements(call.op) && total > bytes) return false;
    std::vector<Type> arg_types;
    for (const Constant& a : args) arg_types.push_back(a ? type_of(*a) : Type::object());
    if (!find_op(call.op)->lower)
      return true;  // views, and library calls of the size of their results
    const auto kernel = lower_call(call, arg_types, results, args, f_.facts, call.op);
    const auto work = kernel ? work_of(*kernel) : std::nullopt;
    return work && *work <= kMaxWork;
  }

  std::vector<Constant> evaluate(const OpRecord& op, const Binding& b, const OpCall& call,
                                 const std::vector<Constant>& args) const {
    std::vector<RefTensor> inputs;
    for (const Constant& a : args) inputs.push_back(a ? RefTensor::from_constant(*a) : RefTensor());
    const DimValues no_symbols;
    EvalContext c(call, no_symbols);
    for (size_t i = 0; i < args.size(); ++i) c.inputs.push_back(args[i] ? &inputs[i] : nullptr);
    const Type& type = f_.type(b.result);
    c.num_results = type.is_tuple() ? static_cast<int>(type.elements.size()) : 1;
    try {
      op.evaluate(c);
    } catch (const UserError&) {
      return {};
    }
    std::vector<Constant> out;
    for (const RefTensor& t : c.outputs) out.push_back(t.to_constant());
    return out;
  }

  GraphFunction& f_;
  std::unordered_map<int32_t, std::vector<Constant>> known_;  ///< by value; several for a tuple
};

}  // namespace

void fold_constants(Module& module, PassContext&) {
  for (const std::string& name : module.graph_names()) ConstantFolder(module.graph(name)).run();
}

}  // namespace symtile
