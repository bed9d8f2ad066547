#include "symtile/ir/parse_expr.h"

#include <algorithm>

#include "symtile/ir/expr_node.h"
#include "symtile/ir/operator_text.h"

namespace symtile {
namespace {

constexpr UnaryOp kUnaryOps[] = {
#define UNARY_OP(name) UnaryOp::name,
#include "symtile/ir/scalar_ops.def"
};
constexpr BinaryOp kBinaryOps[] = {
#define BINARY_OP(name) BinaryOp::name,
#include "symtile/ir/scalar_ops.def"
};
constexpr ReduceKind kReduceKinds[] = {
    ReduceKind::sum,         ReduceKind::prod,       ReduceKind::max,    ReduceKind::min,
    ReduceKind::any,         ReduceKind::all,        ReduceKind::argmax, ReduceKind::argmin,
    ReduceKind::argmax_last, ReduceKind::argmin_last};

template <typename T, size_t N>
std::optional<T> find_named(const T (&table)[N], std::string_view name) {
  const auto it = std::find_if(table, table + N, [&](T t) { return name_of(t) == name; });
  return it == table + N ? std::nullopt : std::optional(*it);
}

class ExprParser {
 public:
  ExprParser(TextCursor& cursor, const BufferTypes& buffers, const VariableTypes& lets)
      : cursor_(cursor), buffers_(buffers), lets_(lets) {}

  /// Operators of `level` or tighter. Sets depth_ to the depth of the tree it returns.
  Expr parse(int level) {
    Expr left = unary();
    bool compared = false;
    while (const InfixOperator* infix = peek_infix(level)) {
      const size_t position = cursor_.position();
      const bool comparison = infix->level == kComparisonLevel;
      if (comparison && compared)
        cursor_.fail_here("comparisons do not chain: use && between them");
      compared = comparison;
      cursor_.move_to(position + infix->text.size());
      const int left_depth = depth_;
      Expr right = parse(infix->level + 1);
      check(position, why_not(infix->op, left.dtype(), right.dtype()));
      grow(position, std::max(left_depth, depth_));
      const DType dtype = result_dtype(infix->op, left.dtype());
      left = make_node(BinaryExpr{dtype, infix->op, std::move(left), std::move(right)});
    }
    return left;
  }

 private:
  void check(size_t position, const std::string& why) {
    if (!why.empty()) cursor_.fail_at(position, "{}", why);
  }

  void grow(size_t position, int child_depth) {
    depth_ = child_depth + 1;
    if (depth_ > TextCursor::kMaxDepth) {
      cursor_.fail_at(position, "an expression deeper than {} levels", TextCursor::kMaxDepth);
    }
  }

  const InfixOperator* peek_infix(int level) {
    for (const InfixOperator& infix : kInfixOperators) {
      if (!cursor_.peek(infix.text)) continue;
      // '%name' opens the next statement; the operator has a blank behind it.
      if (infix.op == BinaryOp::floormod && !cursor_.peek("% ") && !cursor_.peek("%(")) {
        return nullptr;
      }
      return infix.level >= level ? &infix : nullptr;
    }
    return nullptr;
  }

  Expr unary() {
    const NestingGuard guard(nesting_, cursor_);
    const size_t position = cursor_.position();
    if (cursor_.accept("-")) {
      if (cursor_.peek_digit()) return number(true);
      return prefix(position, UnaryOp::neg);
    }
    if (cursor_.peek("!") && !cursor_.peek("!=")) {
      cursor_.accept("!");
      return prefix(position, UnaryOp::logical_not);
    }
    return primary();
  }

  Expr prefix(size_t position, UnaryOp op) { return unary_node(position, op, unary()); }

  Expr unary_node(size_t position, UnaryOp op, Expr a) {
    check(position, why_not(op, a.dtype()));
    grow(position, depth_);
    const DType dtype = result_dtype(op, a.dtype());
    return make_node(UnaryExpr{dtype, op, std::move(a)});
  }

  Expr primary() {
    depth_ = 1;
    if (cursor_.accept("(")) {
      Expr e = parse(kReduceLevel);
      cursor_.expect(")", "an expression");
      return e;
    }
    if (cursor_.peek_digit()) return number(false);
    if (cursor_.peek("%")) return load_node();
    const size_t position = cursor_.position();
    if (cursor_.accept_word("true")) return make_node(IntImm{DType::boolean, 1});
    if (cursor_.accept_word("false")) return make_node(IntImm{DType::boolean, 0});
    const std::string word = cursor_.identifier("an expression");
    if (word == "cast" && cursor_.peek("<")) {
      if (auto e = cast_node(position)) return *e;
    }
    if (cursor_.peek("(")) return call(position, word);
    return variable(word);
  }

  Expr number(bool negative) {
    const size_t position = cursor_.position();
    const auto n = cursor_.number("a number");
    DType dtype = DType::i64;
    if (!n.suffix.empty()) {
      const auto suffix = parse_dtype(n.suffix);
      if (!suffix || *suffix == DType::boolean) {
        cursor_.fail_at(position, "'{}' is no element type of numbers", n.suffix);
      }
      dtype = *suffix;
    } else if (n.is_float) {
      cursor_.fail_at(position, "a float needs its element type, such as {}f32", n.digits);
    }
    depth_ = 1;
    if (is_float(dtype)) {
      return make_node(
          FloatImm{dtype, parse_float_value(cursor_, dtype, negative, n.digits, position)});
    }
    return make_node(IntImm{dtype, parse_int_value(cursor_, dtype, negative, n.digits, position)});
  }

  Expr variable(const std::string& name) {
    const auto it = lets_.find(name);
    DType dtype = it == lets_.end() ? DType::i64 : it->second;
    if (cursor_.accept(":")) dtype = cursor_.dtype("the element type of a variable");
    return make_node(VarRef{dtype, name});
  }

  Expr load_node() {
    const size_t position = cursor_.position();
    const std::string name = cursor_.sigil_name('%', "a buffer");
    const auto it = buffers_.find(name);
    if (it == buffers_.end()) {
      cursor_.fail_at(position, "no buffer {} in scope", value_name(name));
    }
    cursor_.expect("[", "a buffer");
    std::vector<Expr> indices = list("]");
    for (const Expr& i : indices) {
      if (i.dtype() != DType::i64) {
        cursor_.fail_at(position, "an index of {} has type {}, not i64", value_name(name),
                        name_of(i.dtype()));
      }
    }
    return make_node(Load{it->second, name, std::move(indices)});
  }

  /// Expressions up to `close`, which is consumed. depth_ becomes that of their parent.
  std::vector<Expr> list(std::string_view close) {
    std::vector<Expr> out;
    int deepest = 0;
    if (!cursor_.accept(close)) {
      do {
        out.push_back(parse(kReduceLevel));
        deepest = std::max(deepest, depth_);
      } while (cursor_.accept(","));
      cursor_.expect(close, "a list of expressions");
    }
    grow(cursor_.position(), deepest);
    return out;
  }

  /// Behind the word `cast`; nullopt when it is a variable compared with something.
  std::optional<Expr> cast_node(size_t position) {
    const size_t start = cursor_.position();
    cursor_.accept("<");
    const auto dtype = parse_dtype(cursor_.peek_word());
    if (dtype) {
      cursor_.dtype("an element type");
      if (cursor_.accept(">") && cursor_.accept("(")) {
        std::vector<Expr> args = list(")");
        if (args.size() != 1) cursor_.fail_at(position, "a cast has one operand");
        return make_node(CastExpr{*dtype, std::move(args[0])});
      }
    }
    cursor_.move_to(start);
    return std::nullopt;
  }

  Expr call(size_t position, const std::string& word) {
    if (const auto dtype = parse_dtype(word); dtype && is_float(*dtype)) return special(*dtype);
    if (const auto kind = find_named(kReduceKinds, word); kind && axes_follow()) {
      return reduction(position, *kind);
    }
    cursor_.accept("(");
    std::vector<Expr> args = list(")");
    if (word == "select") return select_node(position, std::move(args));
    if (const auto op = find_named(kUnaryOps, word); op && args.size() == 1) {
      depth_ -= 1;
      return unary_node(position, *op, std::move(args[0]));
    }
    if (const auto op = find_named(kBinaryOps, word); op && args.size() == 2) {
      check(position, why_not(*op, args[0].dtype(), args[1].dtype()));
      const DType dtype = result_dtype(*op, args[0].dtype());
      return make_node(BinaryExpr{dtype, *op, std::move(args[0]), std::move(args[1])});
    }
    cursor_.fail_at(position, "no scalar operator '{}' with {} operands", word, args.size());
  }

  Expr select_node(size_t position, std::vector<Expr> args) {
    if (args.size() != 3) cursor_.fail_at(position, "select(condition, then, else)");
    if (args[0].dtype() != DType::boolean) {
      cursor_.fail_at(position, "the condition of a select has type {}, not bool",
                      name_of(args[0].dtype()));
    }
    if (args[1].dtype() != args[2].dtype()) {
      cursor_.fail_at(position, "a select between {} and {}", name_of(args[1].dtype()),
                      name_of(args[2].dtype()));
    }
    const DType dtype = args[1].dtype();
    return make_node(SelectExpr{dtype, std::move(args[0]), std::move(args[1]), std::move(args[2])});
  }

  /// f32(inf), f32(-inf), f32(nan), f32(nan(0x...)).
  Expr special(DType dtype) {
    cursor_.accept("(");
    const bool negative = cursor_.accept("-");
    const auto value = parse_special_float(cursor_, negative);
    if (!value) cursor_.fail_expected("inf or nan");
    cursor_.expect(")", "a special value");
    return make_node(FloatImm{dtype, *value});
  }

  /// '(' name '<' : the axes of a reduction. min and max of comparisons do not exist, but
  /// min(cast<f32>(x), y) does.
  bool axes_follow() {
    const size_t start = cursor_.position();
    cursor_.accept("(");
    const std::string word(cursor_.peek_word());
    bool follows =
        !word.empty() && cursor_.accept_word(word) && !cursor_.peek("<=") && cursor_.accept("<");
    if (follows && word == "cast") {
      const std::string type(cursor_.peek_word());
      follows = !parse_dtype(type) || !cursor_.accept_word(type) || !cursor_.peek(">");
    }
    cursor_.move_to(start);
    return follows;
  }

  Expr reduction(size_t position, ReduceKind kind) {
    cursor_.accept("(");
    std::vector<Axis> axes;
    do {
      std::string name = cursor_.identifier("the name of an axis");
      cursor_.expect("<", "the name of an axis");
      axes.push_back({std::move(name), cursor_.dim(",)")});
    } while (cursor_.accept(","));
    cursor_.expect(")", "the axes of a reduction");
    VariableTypes inner = lets_;
    for (const Axis& a : axes) inner.erase(a.name);
    ExprParser parser(cursor_, buffers_, inner);
    parser.nesting_ = nesting_;
    Expr body = parser.parse(kReduceLevel);
    check(position, why_not(kind, axes.size(), body.dtype()));
    grow(position, parser.depth_);
    const DType dtype = result_dtype(kind, body.dtype());
    return make_node(ReduceExpr{dtype, kind, std::move(axes), std::move(body)});
  }

  TextCursor& cursor_;
  const BufferTypes& buffers_;
  const VariableTypes& lets_;
  int nesting_ = 0;
  int depth_ = 0;
};

}  // namespace

Expr parse_expr(TextCursor& cursor, const BufferTypes& buffers, const VariableTypes& lets) {
  return ExprParser(cursor, buffers, lets).parse(kReduceLevel);
}

}  // namespace symtile
