// The state of printing one tile function: names in scope, and the text so far.
//
// An expression becomes C text that is used once. Nodes that an expression uses several times, and
// subexpressions too deep for C compilers, become constants of their own. What stands in an arm of
// a `select` is not evaluated outside it: the arm is a ternary operand, or a branch of an `if` when
// it needs statements.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "symtile/backend/c_source/print_kernel.h"
#include "symtile/ir/lower_tasks.h"

namespace symtile::c_source {

/// The text of a value, with parentheses where it is no primary expression.
struct Value {
  std::string text;
  int depth = 0;                    ///< nesting of parentheses
  bool index = false;               ///< i64 arithmetic that cannot overflow
  bool non_negative = false;        ///< known for indices only
  std::optional<int64_t> constant;  ///< of an index
};

class Printer {
 public:
  Printer(const TileFunction& f, const Dialect& dialect)
      : f_(without_tasks(f)), dialect_(dialect) {}

  PrintedKernel print(const std::string& name);

 private:
  struct Variable {
    std::string name;
    bool index = false;
    bool non_negative = false;
  };
  struct BufferSlot {
    Buffer buffer;
    std::string name;
  };
  struct Use {
    int count = 0;
  };

  // print_kernel.cpp: launches
  void collect_launches(const Stmt& s);
  void print_launch(const ForStmt& grid);
  std::string bind_parameters();
  void declare_workspace();
  void find_block_shape(const Stmt& s, int64_t& warps, int64_t& lanes);

  // print_stmt.cpp
  void print(const Stmt& s);
  void print_for(const ForStmt& n);
  void print_worker_loop(const ForStmt& n);
  void print_allocate(const AllocateStmt& n);
  void print_store(const StoreStmt& n);
  void print_let(const LetStmt& n);
  void print_if(const IfStmt& n);
  void declare_shared(const Stmt& s);

  // print_vector.cpp
  /// The loop with vector loads and stores; false, and no text, where it has none.
  bool print_vectors(const ForStmt& n);
  std::string declare_buffer(const Buffer& buffer);

  // print_expr.cpp
  /// A whole expression; what it shares with others is not kept.
  Value print_root(const Expr& e);
  Value print(const Expr& e);
  Value print_node(const Expr& e);
  Value print_select(const SelectExpr& n);
  Value print_reduce(const ReduceExpr& n);
  void print_reduce_step(const ReduceExpr& n, const std::string& sum, const std::string& best,
                         const std::string& at);
  Value print_dim(const DimExpr& d) { return print(to_expr(d)); }
  Value place(const BufferSlot& slot, const std::vector<Expr>& indices);
  std::string element(const BufferSlot& slot, const std::vector<Expr>& indices);
  Value loaded(const BufferSlot& slot, const std::string& element) const;
  std::string stored(DType dtype, const std::string& value) const;
  Value spilled(const Value& value, DType dtype);
  void count_uses(const Expr& e);
  template <typename F>
  std::string captured(F&& f);

  // The text
  void line(const std::string& text);
  template <typename F>
  void braces(const std::string& head, F&& f);
  template <typename F>
  void with_variable(const std::string& name, Variable variable, F&& f);
  template <typename F>
  void with_buffer(const Buffer& buffer, std::string name, F&& f);
  std::string fresh(const std::string& name) { return identifier(name, taken_); }
  std::string fresh_temporary() { return "t" + std::to_string(temporaries_++); }
  Variable symbol_variable(const std::string& symbol);

  const TileFunction f_;  ///< without task statements
  const Dialect& dialect_;
  std::string launch_prefix_;
  PrintedKernel out_;

  // Of the function: what stands around the grid loops.
  std::vector<const LetStmt*> outer_lets_;
  std::vector<std::pair<const AllocateStmt*, DimExpr>> workspace_;  ///< with offsets

  // Of the launch.
  std::string text_;
  int indent_ = 1;
  int temporaries_ = 0;
  int64_t warps_ = 1, lanes_ = 1;
  std::set<std::string> taken_;
  std::map<std::string, Variable> variables_;
  std::map<std::string, BufferSlot> buffers_;
  std::map<const AllocateStmt*, std::string> shared_names_;

  // Of the expression.
  std::unordered_map<const ExprNode*, Use> uses_;
  std::vector<std::unordered_map<const ExprNode*, Value>> memo_;
};

/// Operators on values; `dtype` is that of the operands.
Value print_unary(UnaryOp op, DType dtype, const Value& a);
Value print_binary(BinaryOp op, DType dtype, const Value& a, const Value& b);
Value print_cast(DType to, DType from, const Value& a);
Value print_int(DType dtype, int64_t value);
Value print_float(DType dtype, double value);
Value index_value(int64_t value);
/// The type in which values of `dtype` are computed, and the one in which they are stored.
std::string compute_type(DType dtype);
std::string storage_type(DType dtype);

template <typename F>
std::string Printer::captured(F&& f) {
  std::string before;
  before.swap(text_);
  f();
  before.swap(text_);
  return before;
}

template <typename F>
void Printer::braces(const std::string& head, F&& f) {
  line(head.empty() ? "{" : head + " {");
  ++indent_;
  f();
  --indent_;
  line("}");
}

template <typename F>
void Printer::with_variable(const std::string& name, Variable variable, F&& f) {
  const auto it = variables_.find(name);
  std::optional<Variable> hidden;
  if (it != variables_.end()) hidden = it->second;
  variables_[name] = std::move(variable);
  f();
  if (hidden) {
    variables_[name] = *hidden;
  } else {
    variables_.erase(name);
  }
}

template <typename F>
void Printer::with_buffer(const Buffer& buffer, std::string name, F&& f) {
  const auto it = buffers_.find(buffer.name);
  std::optional<BufferSlot> hidden;
  if (it != buffers_.end()) hidden = it->second;
  buffers_[buffer.name] = {buffer, std::move(name)};
  f();
  if (hidden) {
    buffers_[buffer.name] = *hidden;
  } else {
    buffers_.erase(buffer.name);
  }
}

}  // namespace symtile::c_source
