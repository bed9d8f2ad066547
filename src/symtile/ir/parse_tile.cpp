// Parser of tile functions and statements.
#include <algorithm>

#include "symtile/ir/expr_node.h"
#include "symtile/ir/parse_expr.h"
#include "symtile/ir/parse_function.h"

namespace symtile {
namespace {

constexpr Scope kScopes[] = {Scope::global, Scope::scratch, Scope::shared, Scope::warp,
                             Scope::local};
constexpr LoopKind kLoopKinds[] = {LoopKind::serial,   LoopKind::unrolled,   LoopKind::vectorized,
                                   LoopKind::parallel, LoopKind::grid_block, LoopKind::block_warp,
                                   LoopKind::warp_lane};

/// The element of `table` whose name is the next word, which is consumed.
template <typename T, size_t N>
std::optional<T> accept_named(TextCursor& cursor, const T (&table)[N]) {
  for (T t : table) {
    if (cursor.accept_word(name_of(t))) return t;
  }
  return std::nullopt;
}

class TileParser {
 public:
  explicit TileParser(TextCursor& cursor) : cursor_(cursor) {}

  TileFunction function() {
    TileFunction f;
    f.name = cursor_.sigil_name('@', "the name of a tile function");
    f.symbols = parse_symbols(cursor_);
    f.inputs = parameters();
    cursor_.expect("->", "the inputs of a tile function");
    f.outputs = parameters();
    if (cursor_.accept_word("facts")) f.facts = parse_facts(cursor_);
    if (cursor_.accept_word("attrs")) f.attrs = parse_attributes(cursor_);
    f.body = body("a tile function");
    return f;
  }

 private:
  std::vector<Buffer> parameters() {
    std::vector<Buffer> out;
    cursor_.expect("(", "the name of a tile function");
    if (cursor_.accept(")")) return out;
    do {
      const size_t position = cursor_.position();
      out.push_back(buffer());
      if (!buffers_.emplace(out.back().name, out.back().dtype).second) {
        cursor_.fail_at(position, "buffer {} is declared twice", value_name(out.back().name));
      }
    } while (cursor_.accept(","));
    cursor_.expect(")", "a list of buffers");
    return out;
  }

  Buffer buffer() {
    Buffer b;
    b.name = cursor_.sigil_name('%', "a buffer");
    cursor_.expect(":", "the name of a buffer");
    cursor_.expect_word("Buffer");
    cursor_.expect("[", "'Buffer'");
    b.dims = cursor_.dims_in_parentheses();
    cursor_.expect(",", "the shape of a buffer");
    b.dtype = cursor_.dtype("the element type of a buffer");
    while (cursor_.accept(",")) {
      if (cursor_.accept_word("strides")) {
        b.strides = cursor_.dims_in_parentheses();
      } else if (const auto scope = accept_named(cursor_, kScopes)) {
        b.scope = *scope;
      } else {
        cursor_.fail_expected("a scope or 'strides'");
      }
    }
    cursor_.expect("]", "a buffer");
    return b;
  }

  /// { statements }; exactly one statement stands for itself.
  Stmt body(std::string_view of) {
    std::vector<Stmt> stmts = statements(of);
    if (stmts.size() == 1) return stmts.front();
    return make_stmt(BlockStmt{std::move(stmts)});
  }

  std::vector<Stmt> statements(std::string_view of) {
    const NestingGuard guard(nesting_, cursor_);
    cursor_.expect("{", of);
    std::vector<Stmt> out;
    while (!cursor_.accept("}")) {
      out.push_back(statement());
      cursor_.accept(";");
    }
    return out;
  }

  Stmt statement() {
    if (cursor_.peek("%")) return store_statement();
    if (cursor_.accept_word("compute")) return compute();
    if (cursor_.accept_word("block")) return make_stmt(BlockStmt{statements("'block'")});
    if (cursor_.accept_word("alloc")) return allocate();
    if (cursor_.accept_word("for")) return loop();
    if (cursor_.accept_word("let")) return let();
    if (cursor_.accept_word("if")) return conditional();
    if (cursor_.accept_word("tasks")) return tasks();
    if (cursor_.accept_word("barrier")) {
      const auto scope = accept_named(cursor_, kScopes);
      if (!scope) cursor_.fail_expected("a scope");
      return make_stmt(BarrierStmt{*scope});
    }
    if (cursor_.accept_word("intrinsic")) {
      std::string name = cursor_.identifier_or_quoted("the name of an intrinsic");
      cursor_.expect("(", "the name of an intrinsic");
      return make_stmt(IntrinsicStmt{std::move(name), expressions(")")});
    }
    cursor_.fail_expected("a statement");
  }

  Expr expression() { return parse_expr(cursor_, buffers_, lets_); }

  Expr index(std::string_view what) {
    const size_t position = cursor_.position();
    Expr e = expression();
    if (e.dtype() != DType::i64) {
      cursor_.fail_at(position, "{} has type {}, not i64", what, name_of(e.dtype()));
    }
    return e;
  }

  std::vector<Expr> expressions(std::string_view close) {
    std::vector<Expr> out;
    if (cursor_.accept(close)) return out;
    do {
      out.push_back(expression());
    } while (cursor_.accept(","));
    cursor_.expect(close, "a list of expressions");
    return out;
  }

  std::string target() {
    const size_t position = cursor_.position();
    std::string name = cursor_.sigil_name('%', "a buffer");
    if (!buffers_.count(name)) {
      cursor_.fail_at(position, "no buffer {} in scope", value_name(name));
    }
    cursor_.expect("[", "a buffer");
    return name;
  }

  Stmt store_statement() {
    std::string name = target();
    std::vector<Expr> indices = expressions("]");
    cursor_.expect("=", "the place of a store");
    return make_stmt(StoreStmt{std::move(name), std::move(indices), expression()});
  }

  Stmt compute() {
    ComputeStmt out;
    out.buffer = target();
    if (!cursor_.accept("]")) {
      do {
        std::string name = cursor_.identifier("the name of an axis");
        cursor_.expect("<", "the name of an axis");
        out.axes.push_back({std::move(name), cursor_.dim(",]")});
      } while (cursor_.accept(","));
      cursor_.expect("]", "the axes of a compute stage");
    }
    cursor_.expect("=", "the axes of a compute stage");
    std::vector<std::string> names;
    for (const Axis& a : out.axes) names.push_back(a.name);
    scoped(names, DType::i64, [&] { out.value = expression(); });
    return make_stmt(std::move(out));
  }

  Stmt allocate() {
    const size_t position = cursor_.position();
    Buffer b = buffer();
    if (!buffers_.emplace(b.name, b.dtype).second) {
      cursor_.fail_at(position, "buffer {} hides another one", value_name(b.name));
    }
    Stmt inner = body("a buffer");
    buffers_.erase(b.name);
    return make_stmt(AllocateStmt{std::move(b), std::move(inner)});
  }

  Stmt loop() {
    ForStmt out;
    out.kind = LoopKind::serial;
    out.var = cursor_.identifier("a loop variable");
    cursor_.expect_word("in");
    out.begin = index("the start of a loop");
    cursor_.expect_word("to");
    out.end = index("the end of a loop");
    if (cursor_.accept_word("step")) {
      const size_t position = cursor_.position();
      out.step = cursor_.integer("a step");
      if (out.step < 1) cursor_.fail_at(position, "a step is at least 1");
    }
    if (const auto kind = accept_named(cursor_, kLoopKinds)) out.kind = *kind;
    scoped({out.var}, DType::i64, [&] { out.body = body("the head of a loop"); });
    return make_stmt(std::move(out));
  }

  Stmt let() {
    LetStmt out;
    out.var = cursor_.identifier("a variable");
    cursor_.expect("=", "a variable");
    out.value = expression();
    scoped({out.var}, out.value.dtype(), [&] { out.body = body("the value of a variable"); });
    return make_stmt(std::move(out));
  }

  Stmt conditional() {
    const size_t position = cursor_.position();
    IfStmt out;
    out.condition = expression();
    if (out.condition.dtype() != DType::boolean) {
      cursor_.fail_at(position, "the condition has type {}, not bool",
                      name_of(out.condition.dtype()));
    }
    out.then_body = body("a condition");
    if (cursor_.accept_word("else")) out.else_body = body("'else'");
    return make_stmt(std::move(out));
  }

  Stmt tasks() {
    TaskStmt out;
    cursor_.expect("(", "'tasks'");
    if (!cursor_.accept(")")) {
      do {
        out.vars.push_back(cursor_.identifier("a task variable"));
      } while (cursor_.accept(","));
      cursor_.expect(")", "the task variables");
    }
    cursor_.expect_word("of");
    out.mapping = mapping();
    cursor_.expect_word("by");
    out.worker = index("the worker");
    scoped(out.vars, DType::i64, [&] { out.body = body("the worker"); });
    return make_stmt(std::move(out));
  }

  TaskMapping mapping() {
    TaskMapping out;
    if (cursor_.accept_word("identity")) return out;
    do {
      const size_t position = cursor_.position();
      TaskMapping next = mapping_atom();
      if (!out.atoms().empty() && next.rank() != out.rank()) {
        cursor_.fail_at(position, "task mappings of rank {} and {} do not compose", out.rank(),
                        next.rank());
      }
      out = out * next;
    } while (cursor_.accept("*"));
    return out;
  }

  TaskMapping mapping_atom() {
    const bool spatial = cursor_.accept_word("spatial");
    if (!spatial) cursor_.expect_word("repeat");
    const size_t position = cursor_.position();
    cursor_.expect("(", "a task mapping");
    Dims extents;
    std::vector<int> ranks;
    do {
      extents.push_back(cursor_.dim(",;)"));
    } while (cursor_.accept(","));
    if (cursor_.accept(";")) {
      do {
        const int64_t rank = cursor_.integer("a rank");
        if (rank < 0 || rank >= static_cast<int64_t>(extents.size()) ||
            std::count(ranks.begin(), ranks.end(), static_cast<int>(rank))) {
          cursor_.fail_at(position, "the ranks are a permutation of 0 to {}", extents.size() - 1);
        }
        ranks.push_back(static_cast<int>(rank));
      } while (cursor_.accept(","));
      if (ranks.size() != extents.size()) {
        cursor_.fail_at(position, "{} ranks for {} extents", ranks.size(), extents.size());
      }
    }
    cursor_.expect(")", "a task mapping");
    return spatial ? TaskMapping::spatial(std::move(extents), std::move(ranks))
                   : TaskMapping::repeat(std::move(extents), std::move(ranks));
  }

  template <typename F>
  void scoped(const std::vector<std::string>& names, DType dtype, const F& f) {
    const VariableTypes outer = lets_;
    for (const std::string& name : names) {
      if (dtype == DType::i64) {
        lets_.erase(name);
      } else {
        lets_[name] = dtype;
      }
    }
    f();
    lets_ = outer;
  }

  TextCursor& cursor_;
  BufferTypes buffers_;
  VariableTypes lets_;
  int nesting_ = 0;
};

}  // namespace

TileFunction parse_tile_function(TextCursor& cursor) { return TileParser(cursor).function(); }

}  // namespace symtile
