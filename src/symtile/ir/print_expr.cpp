// Prints expressions in infix form, with no more parentheses than the tree needs.
#include "symtile/ir/expr_node.h"
#include "symtile/ir/operator_text.h"
#include "symtile/ir/text_format.h"

namespace symtile {
namespace {

class ExprPrinter {
 public:
  explicit ExprPrinter(const VariableTypes& lets) : lets_(lets) {}

  /// Prints `e` where only operators of `level` or tighter may stand bare.
  void print(const Expr& e, int level) {
    if (!e.defined()) {
      out_ += "<undefined>";
      return;
    }
    std::visit([&](const auto& n) { node(n, level); }, e.node().value);
  }

  std::string take() { return std::move(out_); }

 private:
  void node(const IntImm& n, int) {
    if (n.dtype == DType::boolean) {
      out_ += n.value ? "true" : "false";
      return;
    }
    out_ += int_text(n.dtype, n.value);
    if (n.dtype != DType::i64) out_ += name_of(n.dtype);
  }

  void node(const FloatImm& n, int) {
    const std::string text = float_text(n.dtype, n.value);
    // inf and nan would read as names with a suffix attached.
    if (text.find_first_of("in") != std::string::npos) {
      out_ += fmt::format("{}({})", name_of(n.dtype), text);
    } else {
      out_ += text;
      out_ += name_of(n.dtype);
    }
  }

  void node(const VarRef& n, int) {
    out_ += n.name;
    const auto it = lets_.find(n.name);
    if (n.dtype == (it == lets_.end() ? DType::i64 : it->second)) return;
    out_ += ":";
    out_ += name_of(n.dtype);
  }

  void node(const Load& n, int) {
    out_ += value_name(n.buffer) + "[";
    list(n.indices);
    out_ += "]";
  }

  void node(const UnaryExpr& n, int level) {
    const bool of_number = n.a.as<IntImm>() || n.a.as<FloatImm>();
    const bool prefix = n.op == UnaryOp::logical_not || (n.op == UnaryOp::neg && !of_number);
    if (!prefix) return call(name_of(n.op), {n.a});
    parenthesised(level > kUnaryLevel, [&] {
      out_ += n.op == UnaryOp::neg ? "-" : "!";
      print(n.a, kUnaryLevel);
    });
  }

  void node(const BinaryExpr& n, int level) {
    const InfixOperator* infix = infix_of(n.op);
    if (!infix) return call(name_of(n.op), {n.a, n.b});
    const bool comparison = infix->level == kComparisonLevel;
    parenthesised(level > infix->level, [&] {
      print(n.a, infix->level + comparison);
      out_ += fmt::format(" {} ", infix->text);
      print(n.b, infix->level + 1);
    });
  }

  void node(const SelectExpr& n, int) { call("select", {n.condition, n.then_value, n.else_value}); }

  void node(const CastExpr& n, int) { call(fmt::format("cast<{}>", name_of(n.dtype)), {n.a}); }

  void node(const ReduceExpr& n, int level) {
    parenthesised(level > kReduceLevel, [&] {
      out_ += name_of(n.kind);
      out_ += "(";
      for (size_t i = 0; i < n.axes.size(); ++i) {
        out_ += fmt::format("{}{} < {}", i ? ", " : "", n.axes[i].name, n.axes[i].extent.str());
      }
      out_ += ") ";
      print(n.body, kReduceLevel);
    });
  }

  void call(std::string_view name, const std::vector<Expr>& args) {
    out_ += name;
    out_ += "(";
    list(args);
    out_ += ")";
  }

  void list(const std::vector<Expr>& items) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (i) out_ += ", ";
      print(items[i], kReduceLevel);
    }
  }

  template <typename F>
  void parenthesised(bool needed, const F& f) {
    if (needed) out_ += "(";
    f();
    if (needed) out_ += ")";
  }

  const VariableTypes& lets_;
  std::string out_;
};

}  // namespace

std::string print_expr(const Expr& e, const VariableTypes& lets) {
  ExprPrinter printer(lets);
  printer.print(e, kReduceLevel);
  return printer.take();
}

std::string Expr::str() const { return print_expr(*this); }

}  // namespace symtile
