// Rules of tile functions: names in scope, ranks and dtypes, who may write, where stages stand.
#include <algorithm>
#include <unordered_set>

#include "symtile/diag/diagnostic.h"
#include "symtile/ir/expr_node.h"
#include "symtile/ir/intrinsics.h"
#include "symtile/ir/scalar_eval.h"
#include "symtile/ir/stmt_walk.h"
#include "symtile/ir/text_format.h"
#include "symtile/ir/verify.h"

namespace symtile {
namespace {

class TileVerifier {
 public:
  explicit TileVerifier(const TileFunction& f) : f_(f) {}

  void verify() {
    std::set<std::string> seen;
    for (const std::string& s : f_.symbols) {
      check_name(s, "symbol");
      if (!seen.insert(s).second) wrong("symbol '{}' is declared twice", s);
      variables_[s] = DType::i64;
    }
    for (const auto* list : {&f_.inputs, &f_.outputs}) {
      for (const Buffer& b : *list) declare(b);
    }
    if (f_.outputs.empty()) wrong("there is no output");
    if (!f_.body) wrong("there is no body");
    visit_stmt(f_.body);
    for (const Buffer& b : f_.outputs) {
      if (!written_.count(b.name)) wrong("output {} is never written", value_name(b.name));
    }
  }

 private:
  template <typename... Args>
  [[noreturn]] void wrong(fmt::format_string<Args...> format, Args&&... args) const {
    std::string where = function_name(f_.name);
    if (!place_.empty()) where += ", " + place_;
    fail(DiagId::bad_module, {}, "{}: {}", where, fmt::format(format, std::forward<Args>(args)...));
  }

  void check_name(const std::string& name, std::string_view what) const {
    if (!is_identifier(name)) wrong("{} '{}' is no identifier", what, name);
  }

  void declare(const Buffer& b) {
    if (b.name.empty()) wrong("a buffer has no name");
    if (!buffers_.emplace(b.name, &b).second) {
      wrong("buffer {} is declared twice", value_name(b.name));
    }
    for (const DimExpr& d : b.dims) {
      check_dim(d, b.name);
      if (const auto c = d.as_const(); c && *c < 0) {
        wrong("buffer {} has extent {}", value_name(b.name), *c);
      }
    }
    for (const DimExpr& d : b.strides) check_dim(d, b.name);
    if (!b.strides.empty() && b.strides.size() != b.dims.size()) {
      wrong("buffer {} has {} strides for rank {}", value_name(b.name), b.strides.size(),
            b.dims.size());
    }
  }

  void check_dim(const DimExpr& d, const std::string& of) const {
    if (d.is_unknown()) wrong("'{}' has an unknown extent; tile functions know every one", of);
    for (const std::string& s : d.symbols()) {
      const auto it = variables_.find(s);
      if (it == variables_.end()) {
        wrong("'{}' in extent '{}' of '{}' is not in scope", s, d.str(), of);
      }
      if (it->second != DType::i64) wrong("'{}' in an extent of '{}' is no i64", s, of);
    }
  }

  const Buffer& find_buffer(const std::string& name) const {
    const auto it = buffers_.find(name);
    if (it == buffers_.end()) wrong("buffer {} is not declared here", value_name(name));
    return *it->second;
  }

  const Buffer& writable(const std::string& name) {
    const Buffer& b = find_buffer(name);
    for (const Buffer& input : f_.inputs) {
      if (input.name == name) wrong("input {} is written", value_name(name));
    }
    written_.insert(name);
    return b;
  }

  /// Runs f with `names` in scope; names of one binder differ, outer names may be hidden.
  template <typename F>
  void with(const std::vector<std::string>& names, DType dtype, const F& f) {
    const auto outer = variables_;
    std::set<std::string> seen;
    for (const std::string& name : names) {
      check_name(name, "variable");
      if (!seen.insert(name).second) wrong("'{}' is bound twice", name);
      variables_[name] = dtype;
    }
    f();
    variables_ = outer;
  }

  void check_axes(const std::vector<Axis>& axes) const {
    for (const Axis& a : axes) {
      check_dim(a.extent, a.name);
      if (const auto c = a.extent.as_const(); c && *c < 0) {
        wrong("axis '{}' has extent {}", a.name, *c);
      }
    }
  }

  static std::vector<std::string> names_of(const std::vector<Axis>& axes) {
    std::vector<std::string> out;
    for (const Axis& a : axes) out.push_back(a.name);
    return out;
  }

  // Expressions.

  void check_expr(const Expr& e, DType dtype, std::string_view what) {
    check_expr(e);
    if (e.dtype() != dtype) {
      wrong("{} is {}, not {}: {}", what, name_of(e.dtype()), name_of(dtype), e.str());
    }
  }

  void check_expr(const Expr& e) {
    std::unordered_set<const ExprNode*> done;  // shared subtrees are checked once
    check_tree(e, done);
  }

  void check_tree(const Expr& e, std::unordered_set<const ExprNode*>& done) {
    if (!e.defined()) wrong("an expression is missing");
    if (!done.insert(&e.node()).second) return;
    if (const auto* r = e.as<ReduceExpr>()) return check_node(*r);
    for_each_child(e, [&](const Expr& c) { check_tree(c, done); });
    std::visit([&](const auto& n) { check_node(n); }, e.node().value);
  }

  void check_node(const IntImm& n) const {
    if (is_float(n.dtype) || wrap_to(n.dtype, n.value) != n.value) {
      wrong("{} is no value of {}", n.value, name_of(n.dtype));
    }
  }
  void check_node(const FloatImm& n) const {
    if (!is_float(n.dtype)) wrong("{} is no value of {}", n.value, name_of(n.dtype));
    if (n.value == n.value && round_to(n.dtype, n.value) != n.value) {
      wrong("{} is no value of {}", n.value, name_of(n.dtype));
    }
  }
  void check_node(const VarRef& n) const {
    const auto it = variables_.find(n.name);
    if (it == variables_.end()) wrong("variable '{}' is not in scope", n.name);
    if (it->second != n.dtype) {
      wrong("variable '{}' is {} but used as {}", n.name, name_of(it->second), name_of(n.dtype));
    }
  }
  void check_node(const Load& n) {
    const Buffer& b = find_buffer(n.buffer);
    if (b.dtype != n.dtype) {
      wrong("buffer {} is {} but loaded as {}", value_name(n.buffer), name_of(b.dtype),
            name_of(n.dtype));
    }
    if (computed_ && *computed_ == n.buffer) wrong("the stage reads the buffer it writes");
    check_indices(b, n.indices);
  }
  void check_node(const UnaryExpr& n) const {
    check_why(why_not(n.op, n.a.dtype()));
    check_result(n.dtype, result_dtype(n.op, n.a.dtype()), name_of(n.op));
  }
  void check_node(const BinaryExpr& n) const {
    check_why(why_not(n.op, n.a.dtype(), n.b.dtype()));
    check_result(n.dtype, result_dtype(n.op, n.a.dtype()), name_of(n.op));
  }
  void check_node(const SelectExpr& n) const {
    if (n.condition.dtype() != DType::boolean) {
      wrong("the condition of a select is {}, not bool", name_of(n.condition.dtype()));
    }
    check_result(n.dtype, n.then_value.dtype(), "select");
    check_result(n.dtype, n.else_value.dtype(), "select");
  }
  void check_node(const CastExpr&) const {}
  void check_node(const ReduceExpr& n) {
    check_axes(n.axes);
    with(names_of(n.axes), DType::i64, [&] { check_expr(n.body); });
    check_why(why_not(n.kind, n.axes.size(), n.body.dtype()));
    check_result(n.dtype, result_dtype(n.kind, n.body.dtype()), name_of(n.kind));
  }

  void check_why(const std::string& why) const {
    if (!why.empty()) wrong("{}", why);
  }
  void check_result(DType declared, DType actual, std::string_view op) const {
    if (declared != actual) {
      wrong("'{}' gives {} but is annotated {}", op, name_of(actual), name_of(declared));
    }
  }
  void check_indices(const Buffer& b, const std::vector<Expr>& indices) const {
    if (indices.size() != b.dims.size()) {
      wrong("buffer {} of rank {} is accessed with {} indices", value_name(b.name), b.dims.size(),
            indices.size());
    }
    for (const Expr& i : indices) {
      if (i.dtype() != DType::i64) {
        wrong("an index of {} is {}, not i64", value_name(b.name), name_of(i.dtype()));
      }
    }
  }

  // Statements.

  void visit_stmt(const Stmt& s) {
    if (!s) wrong("a statement is missing");
    const std::string outer = place_;
    std::visit([&](const auto& n) { check_stmt(n); }, s->value);
    place_ = outer;
  }

  void check_stmt(const BlockStmt& n) {
    for (const Stmt& s : n.stmts) visit_stmt(s);
  }

  void check_stmt(const ComputeStmt& n) {
    place_ = fmt::format("compute {}", value_name(n.buffer));
    if (loops_ > 0) wrong("a compute stage stands inside a loop or a task mapping");
    const Buffer& b = writable(n.buffer);
    check_axes(n.axes);
    if (n.axes.size() != b.dims.size()) {
      wrong("{} axes for a buffer of rank {}", n.axes.size(), b.dims.size());
    }
    for (size_t i = 0; i < n.axes.size(); ++i) {
      const DimExpr &extent = n.axes[i].extent, &dim = b.dims[i];
      if (extent != dim && f_.facts.proves_not_equal(extent, dim)) {
        wrong("axis '{}' has extent {}, dimension {} of the buffer {}", n.axes[i].name,
              extent.str(), i, dim.str());
      }
    }
    computed_ = &n.buffer;
    with(names_of(n.axes), DType::i64, [&] { check_expr(n.value, b.dtype, "the value"); });
    computed_ = nullptr;
  }

  void check_stmt(const AllocateStmt& n) {
    place_ = fmt::format("alloc {}", value_name(n.buffer.name));
    declare(n.buffer);
    visit_stmt(n.body);
    buffers_.erase(n.buffer.name);
    written_.erase(n.buffer.name);
  }

  void check_stmt(const StoreStmt& n) {
    place_ = fmt::format("store to {}", value_name(n.buffer));
    const Buffer& b = writable(n.buffer);
    for (const Expr& i : n.indices) check_expr(i);
    check_indices(b, n.indices);
    check_expr(n.value, b.dtype, "the value");
  }

  void check_stmt(const ForStmt& n) {
    place_ = fmt::format("loop '{}'", n.var);
    check_expr(n.begin, DType::i64, "the start");
    check_expr(n.end, DType::i64, "the end");
    if (n.step < 1) wrong("the step is {}", n.step);
    if (n.kind == LoopKind::unrolled || n.kind == LoopKind::vectorized) {
      const auto extent = to_dim_expr(n.end - n.begin);
      if (!extent || !f_.facts.simplify(*extent).is_const()) {
        wrong("a loop that is {} needs a constant extent, not {}", name_of(n.kind),
              (n.end - n.begin).str());
      }
    }
    ++loops_;
    with({n.var}, DType::i64, [&] { visit_stmt(n.body); });
    --loops_;
  }

  void check_stmt(const LetStmt& n) {
    place_ = fmt::format("let '{}'", n.var);
    check_expr(n.value);
    with({n.var}, n.value.dtype(), [&] { visit_stmt(n.body); });
  }

  void check_stmt(const IfStmt& n) {
    check_expr(n.condition, DType::boolean, "the condition of an if");
    visit_stmt(n.then_body);
    if (n.else_body) visit_stmt(n.else_body);
  }

  void check_stmt(const TaskStmt& n) {
    place_ = fmt::format("tasks of {}", n.mapping.str());
    check_expr(n.worker, DType::i64, "the worker");
    if (static_cast<int>(n.vars.size()) != n.mapping.rank()) {
      wrong("{} variables for a mapping of rank {}", n.vars.size(), n.mapping.rank());
    }
    for (const TaskMapping::Atom& atom : n.mapping.atoms()) {
      for (const DimExpr& d : atom.extents) check_dim(d, "task mapping");
    }
    ++loops_;
    with(n.vars, DType::i64, [&] { visit_stmt(n.body); });
    --loops_;
  }

  void check_stmt(const BarrierStmt&) {}

  void check_stmt(const IntrinsicStmt& n) {
    place_ = fmt::format("intrinsic '{}'", n.name);
    if (n.name.empty()) wrong("the intrinsic has no name");
    for (const Expr& a : n.args) check_expr(a);
    const std::string why = why_wrong_intrinsic(
        n, [&](const std::string& name) -> const Buffer* { return buffers_.at(name); });
    if (!why.empty()) wrong("it {}", why);
    // Of any other instruction it is the target's business which regions it writes.
    if (intrinsic_of(n)) return;
    for (const Expr& a : n.args) {
      if (const Load* l = a.as<Load>()) written_.insert(l->buffer);
    }
  }

  const TileFunction& f_;
  std::map<std::string, DType> variables_;
  std::map<std::string, const Buffer*> buffers_;
  std::set<std::string> written_;
  std::string place_;
  const std::string* computed_ = nullptr;  ///< target of the compute stage being checked
  int loops_ = 0;
};

}  // namespace

void verify_tile(const TileFunction& f) { TileVerifier(f).verify(); }

}  // namespace symtile
