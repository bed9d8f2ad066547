// Expressions: loads, selects, reductions, and what is computed once.
#include <algorithm>
#include <utility>

#include "symtile/backend/c_source/printer.h"
#include "symtile/base/check.h"
#include "symtile/ir/expr_node.h"
#include "symtile/ir/reduction.h"
#include "symtile/ir/scalar_eval.h"

namespace symtile::c_source {
namespace {

/// C compilers limit the nesting of parentheses (often to 256).
constexpr int kMaxDepth = 40;

bool is_leaf(const Expr& e) { return e.as<IntImm>() || e.as<FloatImm>() || e.as<VarRef>(); }

}  // namespace

Value Printer::print_root(const Expr& e) {
  const auto uses = std::exchange(uses_, {});
  const auto memo = std::exchange(memo_, {});
  memo_.emplace_back();
  count_uses(e);
  Value out = print(e);
  uses_ = uses;
  memo_ = memo;
  return out;
}

void Printer::count_uses(const Expr& e) {
  if (is_leaf(e) || ++uses_[&e.node()].count > 1) return;
  for_each_child(e, [&](const Expr& child) { count_uses(child); });
}

Value Printer::print(const Expr& e) {
  for (auto scope = memo_.rbegin(); scope != memo_.rend(); ++scope) {
    if (const auto it = scope->find(&e.node()); it != scope->end()) return it->second;
  }
  Value value = print_node(e);
  const auto use = uses_.find(&e.node());
  const bool shared = use != uses_.end() && use->second.count > 1;
  if (shared || value.depth > kMaxDepth) value = spilled(value, e.dtype());
  if (shared) memo_.back()[&e.node()] = value;
  return value;
}

Value Printer::spilled(const Value& value, DType dtype) {
  if (value.constant || value.depth == 0) return value;
  Value out = value;
  out.text = fresh_temporary();
  out.depth = 0;
  line(fmt::format("const {} {} = {};", compute_type(dtype), out.text, value.text));
  return out;
}

Value Printer::print_node(const Expr& e) {
  if (const auto* n = e.as<IntImm>()) {
    return n->dtype == DType::i64 ? index_value(n->value) : print_int(n->dtype, n->value);
  }
  if (const auto* n = e.as<FloatImm>()) return print_float(n->dtype, n->value);
  if (const auto* n = e.as<VarRef>()) {
    const auto it = variables_.find(n->name);
    SYMTILE_CHECK(it != variables_.end(), "variable '{}' of '{}' has no value", n->name, f_.name);
    Value out{it->second.name};
    out.index = it->second.index;
    out.non_negative = it->second.non_negative;
    return out;
  }
  if (const auto* n = e.as<Load>()) {
    const BufferSlot& slot = buffers_.at(n->buffer);
    return loaded(slot, element(slot, n->indices));
  }
  if (const auto* n = e.as<UnaryExpr>()) return print_unary(n->op, n->a.dtype(), print(n->a));
  if (const auto* n = e.as<BinaryExpr>()) {
    const Value a = print(n->a);
    return print_binary(n->op, n->a.dtype(), a, print(n->b));
  }
  if (const auto* n = e.as<CastExpr>()) return print_cast(n->dtype, n->a.dtype(), print(n->a));
  if (const auto* n = e.as<SelectExpr>()) return print_select(*n);
  if (const auto* n = e.as<ReduceExpr>()) return print_reduce(*n);
  SYMTILE_UNREACHABLE("expression kind");
}

Value Printer::print_select(const SelectExpr& n) {
  const Value condition = print(n.condition);
  ++indent_;
  const auto arm = [&](const Expr& e, Value& value) {
    memo_.emplace_back();
    std::string statements = captured([&] { value = print(e); });
    memo_.pop_back();
    return statements;
  };
  Value a, b;
  const std::string then_text = arm(n.then_value, a), else_text = arm(n.else_value, b);
  --indent_;
  Value out;
  out.index = n.dtype == DType::i64 && a.index && b.index;
  out.non_negative = a.non_negative && b.non_negative;
  if (then_text.empty() && else_text.empty()) {
    out.text = fmt::format("({} ? {} : {})", condition.text, a.text, b.text);
    out.depth = std::max({condition.depth, a.depth, b.depth}) + 1;
    return out;
  }
  out.text = fresh_temporary();
  line(fmt::format("{} {};", compute_type(n.dtype), out.text));
  line(fmt::format("if ({}) {{", condition.text));
  text_ += then_text;
  ++indent_;
  line(fmt::format("{} = {};", out.text, a.text));
  --indent_;
  line("} else {");
  text_ += else_text;
  ++indent_;
  line(fmt::format("{} = {};", out.text, b.text));
  --indent_;
  line("}");
  return out;
}

Value Printer::print_reduce(const ReduceExpr& n) {
  const bool is_arg = is_arg_reduction(n.kind);
  const DType dtype = n.body.dtype();
  const std::string sum = fresh_temporary();
  line(fmt::format("{} {} = {};", compute_type(dtype), sum,
                   print_node(identity_of(n.kind, dtype)).text));
  std::string best;
  if (is_arg) {
    best = fresh_temporary();
    line(fmt::format("i64 {} = 0;", best));
  }
  // Axes may hide variables that nodes printed before mention.
  const auto memo = std::exchange(memo_, {});
  std::function<void(size_t)> loops = [&](size_t axis) {
    memo_.emplace_back();
    if (axis == n.axes.size()) {
      print_reduce_step(n, sum, best, variables_.at(n.axes[0].name).name);
    } else {
      const Value extent = print_dim(n.axes[axis].extent);
      const std::string name = fresh(n.axes[axis].name);
      braces(fmt::format("for (i64 {0} = 0; {0} < {1}; ++{0})", name, extent.text), [&] {
        with_variable(n.axes[axis].name, {name, true, true}, [&] { loops(axis + 1); });
      });
    }
    memo_.pop_back();
  };
  loops(0);
  memo_ = memo;
  return {is_arg ? best : sum};
}

void Printer::print_reduce_step(const ReduceExpr& n, const std::string& sum,
                                const std::string& best, const std::string& at) {
  const DType dtype = n.body.dtype();
  if (is_arg_reduction(n.kind)) {
    const bool is_max = n.kind == ReduceKind::argmax || n.kind == ReduceKind::argmax_last;
    const bool last = n.kind == ReduceKind::argmax_last || n.kind == ReduceKind::argmin_last;
    const std::string x = fresh_temporary();
    const Value value = print(n.body);
    line(fmt::format("const {} {} = {};", compute_type(dtype), x, value.text));
    std::string better = fmt::format("{} {}{} {}", x, is_max ? ">" : "<", last ? "=" : "", sum);
    // A NaN is best, the first (or last) of several. The start value is no element.
    if (is_float(dtype)) {
      better += last ? fmt::format(" || isnan({})", x)
                     : fmt::format(" || (isnan({}) && !isnan({}))", x, sum);
    }
    braces(fmt::format("if ({})", better), [&] {
      line(fmt::format("{} = {};", sum, x));
      line(fmt::format("{} = {};", best, at));
    });
    return;
  }
  const BinaryOp op = combining_operator(n.kind);
  const auto* product = n.body.as<BinaryExpr>();
  if (op == BinaryOp::add && is_float(dtype) && product && product->op == BinaryOp::mul) {
    const Value a = print(product->a), b = print(product->b);
    line(fmt::format("{} = st_fma_{}({}, {}, {});", sum, compute_type(dtype), a.text, b.text, sum));
    return;
  }
  const Value body = print(n.body);
  line(fmt::format("{} = {};", sum, print_binary(op, dtype, {sum}, body).text));
}

Value Printer::place(const BufferSlot& slot, const std::vector<Expr>& indices) {
  const Buffer& buffer = slot.buffer;
  SYMTILE_CHECK(indices.size() == buffer.dims.size(), "'{}' is accessed with {} indices",
                buffer.name, indices.size());
  Value at = index_value(0);
  const auto plus = [&](const Value& a, const Value& b) {
    return print_binary(BinaryOp::add, DType::i64, a, b);
  };
  const auto times = [&](const Value& a, const DimExpr& b) {
    return print_binary(BinaryOp::mul, DType::i64, a, print_dim(b));
  };
  for (size_t i = 0; i < indices.size(); ++i) {
    Value index = print(indices[i]);
    // Of loaded numbers only those in bounds are legal, so that nothing overflows here.
    index.index = true;
    if (buffer.strides.empty()) {
      at = plus(i == 0 ? at : times(at, buffer.dims[i]), index);
    } else {
      at = plus(at, times(index, buffer.strides[i]));
    }
  }
  return at;
}

std::string Printer::element(const BufferSlot& slot, const std::vector<Expr>& indices) {
  std::string at = place(slot, indices).text;
  if (at.size() > 2 && at.front() == '(' && at.find('(', 1) == std::string::npos) {
    at = at.substr(1, at.size() - 2);
  }
  return fmt::format("{}[{}]", slot.name, at);
}

Value Printer::loaded(const BufferSlot& slot, const std::string& element) const {
  Value out{element, static_cast<int>(std::count(element.begin(), element.end(), '(')) + 1};
  const DType dtype = slot.buffer.dtype;
  if (dtype == DType::boolean) out.text = fmt::format("({} != 0)", element);
  if (dtype == DType::f16 || dtype == DType::bf16) {
    out.text = fmt::format("st_f32_of_{}({})", name_of(dtype), element);
  }
  return out;
}

std::string Printer::stored(DType dtype, const std::string& value) const {
  if (dtype == DType::f16 || dtype == DType::bf16) {
    return fmt::format("st_{}_of_f32({})", name_of(dtype), value);
  }
  return value;
}

}  // namespace symtile::c_source
