// Operator records: everything the compiler knows about one high-level operator.
//
// An operator is one file defining `const OpRecord <name>_op` (attributes, deduction rule,
// reference meaning, lowering to compute form, sample inputs) and one line in ops.def. It gets
// verification, the interpreter, every backend and the conformance test from that.
#pragma once

#include <map>
#include <string_view>

#include "symtile/diag/diagnostic.h"
#include "symtile/ir/module.h"
#include "symtile/op/ref_tensor.h"

namespace symtile {

/// One attribute of the schema. `kind` is the index of the alternative in Attribute.
struct AttrSpec {
  enum class Kind : uint8_t { integer, real, text, dtype, integers, reals, texts, dims, function };
  const char* name;
  Kind kind;
  bool required = false;
};

class DeduceContext;
class EvalContext;
class LowerContext;

/// A ready-made case for the conformance test: inputs are made from `input_types` with seeded
/// random values in [low, high] (ints: whole numbers), unless given in `constants`.
struct OpSample {
  std::vector<Type> input_types;  ///< may contain symbols; the test chooses their values
  Attributes attrs;
  double low = -2.0, high = 2.0;
  std::map<int, Constant> constants;  ///< inputs with fixed contents, by position
  DimValues symbols;                  ///< values for the symbols of input_types
  double tolerance = 1e-5;
};

struct OpRecord {
  const char* name;
  int min_args;
  int max_args;  ///< -1: any number
  std::vector<AttrSpec> attrs;
  /// Types of the results from the types (and constant values) of the arguments.
  std::vector<Type> (*deduce)(DeduceContext&);
  /// Reference meaning: fills c.outputs.
  void (*evaluate)(EvalContext&);
  /// Builds the compute form; null for operators done by a library call of the same name
  /// (library/calls.def) or as a view.
  void (*lower)(LowerContext&);
  std::vector<OpSample> (*samples)();
  /// The result is the argument's elements in the same order with other dimensions.
  bool is_view = false;
};

/// All operators, sorted by name; and lookup by name (null when there is none).
const std::vector<const OpRecord*>& all_ops();
const OpRecord* find_op(std::string_view name);

/// Schema check of one binding; pass to verify().
void check_op_call(const GraphFunction& f, const Binding& b);
void check_op_call(const OpCall& call, const Location& location);

// ---- deduction ---------------------------------------------------------------------------

/// A condition that deduction could neither prove nor refute: becomes a CheckDims binding.
struct DimCheck {
  DimExpr a, b;
  std::string message;
};

class DeduceContext {
 public:
  DeduceContext(const OpCall& call, std::vector<Type> args, std::vector<Constant> constants,
                const Facts& facts, Location location)
      : call_(call),
        args_(std::move(args)),
        constants_(std::move(constants)),
        facts_(facts),
        location_(std::move(location)) {}

  const std::string& op() const { return call_.op; }
  const Attributes& attrs() const { return call_.attrs; }
  int num_args() const { return static_cast<int>(args_.size()); }
  /// False for an optional argument that was left out.
  bool has(int i) const { return i < num_args() && call_.args[static_cast<size_t>(i)].valid(); }
  const Type& arg(int i) const { return args_.at(static_cast<size_t>(i)); }
  DType dtype(int i) const { return arg(i).dtype; }
  bool rank_known(int i) const { return arg(i).has_rank(); }
  int rank(int i) const { return arg(i).rank(); }
  /// Dimensions of an argument whose rank is known.
  const Dims& dims(int i) const { return *arg(i).dims; }
  /// Contents of a constant argument; null otherwise.
  Constant constant(int i) const { return constants_.at(static_cast<size_t>(i)); }
  const Facts& facts() const { return facts_; }
  const Location& location() const { return location_; }

  /// Requires equality of two dimensions: nothing when proved, a shape_mismatch diagnostic when
  /// refuted, a run-time check otherwise. `what` reads like "dimension 1 of the left operand".
  /// Returns the more precise of the two (a known one instead of "?", a constant first).
  DimExpr require_equal(const DimExpr& a, const DimExpr& b, const std::string& what);
  void require_same_dtype(int i, int j) const;
  /// Diagnostic unless arg i is a tensor whose dtype satisfies `ok`; `expected` reads "a float
  /// type".
  void require_dtype(int i, bool (*ok)(DType), const char* expected) const;
  /// Diagnostic unless the rank is known to be in [low, high]; unknown ranks pass.
  void require_rank(int i, int low, int high) const;
  /// Negative axes count from the end; out of range is a bad_attribute diagnostic.
  int normalize_axis(int64_t axis, int rank) const;
  std::vector<int> normalize_axes(const std::vector<int64_t>& axes, int rank) const;

  template <typename... A>
  [[noreturn]] void fail(DiagId id, fmt::format_string<A...> format, A&&... args) const {
    symtile::fail(id, location_, "operator '{}': {}", call_.op,
                  fmt::format(format, std::forward<A>(args)...));
  }

  std::vector<DimCheck> checks;  ///< run-time checks asked for

 private:
  const OpCall& call_;
  std::vector<Type> args_;
  std::vector<Constant> constants_;
  const Facts& facts_;
  Location location_;
};

/// Numpy broadcasting of two dimension lists. A pair that is not provably compatible gets a
/// run-time check ((a-b)(a-1)(b-1) == 0) and the extent max(a,b) * min(a,b,1).
Dims broadcast_dims(DeduceContext& c, const Dims& a, const Dims& b);
/// Broadcast of all arguments; nullopt when a rank is unknown.
std::optional<Dims> broadcast_args(DeduceContext& c);

// ---- reference evaluation ----------------------------------------------------------------

class EvalContext {
 public:
  EvalContext(const OpCall& op_call, const DimValues& dim_values)
      : call(op_call), symbols(dim_values) {}
  const OpCall& call;
  const DimValues& symbols;
  std::vector<const RefTensor*> inputs;  ///< null: absent
  std::vector<RefTensor> outputs;
  int num_results = 1;

  const Attributes& attrs() const { return call.attrs; }
  bool has(int i) const {
    return i < static_cast<int>(inputs.size()) && inputs[static_cast<size_t>(i)] != nullptr;
  }
  const RefTensor& in(int i) const { return *inputs.at(static_cast<size_t>(i)); }
  /// A `dims` attribute with the symbols replaced by their values.
  std::vector<int64_t> dims_attr(std::string_view name) const;
  /// Adds an output of zeros and returns it.
  RefTensor& out(DType dtype, std::vector<int64_t> dims);
};

std::vector<int64_t> broadcast_extents(const std::vector<int64_t>& a,
                                       const std::vector<int64_t>& b);
/// Flat position in a tensor of extents `dims` of the broadcast index `index` (right-aligned).
int64_t broadcast_offset(const std::vector<int64_t>& dims, const std::vector<int64_t>& index);

// ---- lowering ----------------------------------------------------------------------------

/// Index of an output element.
using Index = std::vector<Expr>;

/// A buffer that expressions can read: `x({i, j})`.
struct TensorRef {
  Buffer buffer;
  Expr operator()(Index index) const { return load(buffer.name, buffer.dtype, std::move(index)); }
  const Dims& dims() const& { return buffer.dims; }
  Dims dims() && { return std::move(buffer.dims); }  ///< of a temporary: by value, never dangling
  DType dtype() const { return buffer.dtype; }
  int rank() const { return static_cast<int>(buffer.dims.size()); }
};

class LowerContext {
 public:
  LowerContext(const OpCall& call, std::vector<Type> arg_types, std::vector<Type> result_types,
               std::vector<Constant> constants, const Facts& facts, std::string name);

  const Attributes& attrs() const { return call_.attrs; }
  const Facts& facts() const { return facts_; }
  bool has(int i) const;
  int num_args() const { return static_cast<int>(call_.args.size()); }
  /// Argument i as a readable buffer.
  TensorRef in(int i) const;
  Constant constant(int i) const { return constants_.at(static_cast<size_t>(i)); }
  int num_results() const { return static_cast<int>(result_types_.size()); }
  TensorRef result(int k = 0) const;
  const Dims& out_dims(int k = 0) const { return *result_types_.at(static_cast<size_t>(k)).dims; }
  DType out_dtype(int k = 0) const { return result_types_.at(static_cast<size_t>(k)).dtype; }

  /// Adds the stage that computes result k: `value` gets the output index (one i64 variable a dim).
  void compute(int k, const std::function<Expr(const Index&)>& value);
  /// Adds a stage that computes a temporary of the given dims and returns it.
  TensorRef temporary(std::string hint, DType dtype, Dims dims,
                      const std::function<Expr(const Index&)>& value);
  /// Adds a temporary with no stage of its own (to be written by `statement`).
  TensorRef buffer(std::string hint, DType dtype, Dims dims);
  /// Adds statements of the scheduled form, for algorithms that are not elementwise or reductions.
  /// The outermost loop should be LoopKind::parallel where iterations are independent.
  void statement(Stmt s);
  /// A variable name not used yet, and an axis with such a name.
  std::string fresh(std::string hint);
  Axis axis(std::string hint, DimExpr extent);

  /// Loads x at the output index with numpy broadcasting (right-aligned) of x against `out`.
  Expr load_broadcast(const TensorRef& x, const Index& index, const Dims& out) const;

  TileFunction finish();

 private:
  const OpCall& call_;
  std::vector<Type> result_types_;
  std::vector<Constant> constants_;
  const Facts& facts_;
  TileFunction function_;
  std::vector<int> arg_buffer_;  ///< position in function_.inputs; -1: absent
  std::vector<Buffer> temporaries_;
  std::vector<Stmt> stages_;
  std::map<std::string, int> names_;
};

/// reduce(kind, {axis}, body(var)).
Expr reduce_over(ReduceKind kind, const Axis& axis, const std::function<Expr(Expr)>& body);
Expr reduce_over(ReduceKind kind, const std::vector<Axis>& axes,
                 const std::function<Expr(const Index&)>& body);

}  // namespace symtile
