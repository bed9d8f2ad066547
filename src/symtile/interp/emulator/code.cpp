#include "symtile/interp/emulator/code.h"

#include <sstream>

#include "symtile/base/check.h"
#include "symtile/ir/intrinsics.h"

namespace symtile::emulation {
namespace {

class Compiler {
 public:
  explicit Compiler(const TileFunction& f) : f_(f) {}

  Code run() {
    std::istringstream text(print(f_));
    for (std::string line; std::getline(text, line);) code_.lines.push_back(line);
    for (const std::string& s : f_.symbols) code_.symbols.push_back(bind(s, DType::i64));
    for (const Buffer& b : f_.inputs) declare(b);
    for (const Buffer& b : f_.outputs) declare(b);
    // The lines of the body are counted as print_tile writes them; the header is what is left.
    line_ = 1;
    code_.body = body(f_.body);
    const int header = static_cast<int>(code_.lines.size()) - (line_ - 1) - 1;
    SYMTILE_CHECK(header >= 1, "lines of '{}' do not add up", f_.name);
    shift(code_.body, header);
    code_.slots = static_cast<int>(code_.slot_types.size());
    return std::move(code_);
  }

 private:
  static void shift(StmtCode& s, int by) {
    s.line += by;
    for (StmtCode& b : s.bodies) shift(b, by);
  }

  int bind(const std::string& name, DType type) {
    const int slot = static_cast<int>(code_.slot_types.size());
    code_.slot_types.push_back(type);
    scope_[name].push_back(slot);
    return slot;
  }
  void unbind(const std::string& name) { scope_[name].pop_back(); }

  int declare(const Buffer& b) {
    BufferCode out;
    out.declaration = b;
    for (const DimExpr& d : b.dims) out.dims.push_back(expr(to_expr(d)));
    for (const DimExpr& d : b.strides) out.strides.push_back(expr(to_expr(d)));
    const int number = static_cast<int>(code_.buffers.size());
    code_.buffers.push_back(std::move(out));
    buffers_[b.name].push_back(number);
    return number;
  }
  int buffer(const std::string& name) const {
    const auto it = buffers_.find(name);
    SYMTILE_CHECK(it != buffers_.end() && !it->second.empty(), "no buffer '{}' in '{}'", name,
                  f_.name);
    return it->second.back();
  }

  ExprCode expr(const Expr& e) {
    ExprCode out;
    out.dtype = e.dtype();
    using Kind = ExprCode::Kind;
    const auto add = [&](const Expr& part) { out.parts.push_back(expr(part)); };
    if (const auto* i = e.as<IntImm>()) {
      out.integer = i->value;
    } else if (const auto* x = e.as<FloatImm>()) {
      out.kind = Kind::real;
      out.real = x->value;
    } else if (const auto* v = e.as<VarRef>()) {
      out.kind = Kind::variable;
      const auto it = scope_.find(v->name);
      SYMTILE_CHECK(it != scope_.end() && !it->second.empty(), "no variable '{}' in '{}'", v->name,
                    f_.name);
      out.slot = it->second.back();
    } else if (const auto* l = e.as<Load>()) {
      out.kind = Kind::load;
      out.slot = buffer(l->buffer);
      for (const Expr& i : l->indices) add(i);
    } else if (const auto* u = e.as<UnaryExpr>()) {
      out.kind = Kind::unary;
      out.unary = u->op;
      add(u->a);
    } else if (const auto* b = e.as<BinaryExpr>()) {
      out.kind = Kind::binary;
      out.binary = b->op;
      add(b->a);
      add(b->b);
    } else if (const auto* s = e.as<SelectExpr>()) {
      out.kind = Kind::select;
      add(s->condition);
      add(s->then_value);
      add(s->else_value);
    } else if (const auto* c = e.as<CastExpr>()) {
      out.kind = Kind::cast;
      add(c->a);
    } else if (const auto* r = e.as<ReduceExpr>()) {
      out.kind = Kind::reduce;
      out.reduction = r->kind;
      for (const Axis& a : r->axes) add(to_expr(a.extent));
      for (const Axis& a : r->axes) out.axes.push_back(bind(a.name, DType::i64));
      add(r->body);
      for (const Axis& a : r->axes) unbind(a.name);
    } else {
      SYMTILE_UNREACHABLE("expression kind");
    }
    return out;
  }

  StmtCode body(const Stmt& s) {
    const auto* b = as<BlockStmt>(s);
    if (!b || b->stmts.size() == 1) return s ? stmt(s) : StmtCode{};
    StmtCode out;
    out.kind = StmtCode::Kind::block;
    for (const Stmt& part : b->stmts) out.bodies.push_back(stmt(part));
    return out;
  }

  StmtCode stmt(const Stmt& s) {
    StmtCode out;
    out.line = line_++;
    using Kind = StmtCode::Kind;
    if (!s) return out;
    if (const auto* b = as<BlockStmt>(s)) {
      out.kind = Kind::block;
      for (const Stmt& part : b->stmts) out.bodies.push_back(stmt(part));
      ++line_;
    } else if (const auto* a = as<AllocateStmt>(s)) {
      out.kind = Kind::allocate;
      out.slot = declare(a->buffer);
      out.bodies.push_back(body(a->body));
      buffers_[a->buffer.name].pop_back();
      ++line_;
    } else if (const auto* st = as<StoreStmt>(s)) {
      out.kind = Kind::store;
      out.slot = buffer(st->buffer);
      code_.buffers[static_cast<size_t>(out.slot)].written = true;
      for (const Expr& i : st->indices) out.exprs.push_back(expr(i));
      out.exprs.push_back(expr(st->value));
    } else if (const auto* loop = as<ForStmt>(s)) {
      out.kind = Kind::loop;
      out.loop = loop->kind;
      out.step = loop->step;
      out.exprs.push_back(expr(loop->begin));
      out.exprs.push_back(expr(loop->end));
      out.slot = bind(loop->var, DType::i64);
      out.bodies.push_back(body(loop->body));
      unbind(loop->var);
      ++line_;
    } else if (const auto* l = as<LetStmt>(s)) {
      out.kind = Kind::let;
      out.exprs.push_back(expr(l->value));
      out.slot = bind(l->var, l->value.dtype());
      out.bodies.push_back(body(l->body));
      unbind(l->var);
      ++line_;
    } else if (const auto* i = as<IfStmt>(s)) {
      out.kind = Kind::condition;
      out.exprs.push_back(expr(i->condition));
      out.bodies.push_back(body(i->then_body));
      if (i->else_body) {
        ++line_;
        out.bodies.push_back(body(i->else_body));
      }
      ++line_;
    } else if (const auto* t = as<TaskStmt>(s)) {
      out.kind = Kind::tasks;
      out.tasks = t;
      out.exprs.push_back(expr(t->worker));
      for (const TaskMapping::Atom& atom : t->mapping.atoms()) {
        for (const DimExpr& d : atom.extents) out.extents.push_back(expr(to_expr(d)));
      }
      for (const std::string& v : t->vars) out.slots.push_back(bind(v, DType::i64));
      out.bodies.push_back(body(t->body));
      for (const std::string& v : t->vars) unbind(v);
      ++line_;
    } else if (const auto* barrier = as<BarrierStmt>(s)) {
      out.kind = Kind::barrier;
      out.scope = barrier->scope;
    } else if (const auto* n = as<IntrinsicStmt>(s)) {
      intrinsic(*n, out);
    } else {
      SYMTILE_CHECK(!as<ComputeStmt>(s), "'{}' is not in scheduled form", f_.name);
      SYMTILE_UNREACHABLE("statement kind");
    }
    return out;
  }

  void intrinsic(const IntrinsicStmt& n, StmtCode& out) {
    using Kind = StmtCode::Kind;
    const auto id = intrinsic_of(n);
    SYMTILE_CHECK(id || n.name.starts_with("prefetch"),
                  "intrinsic '{}' has no meaning in the emulator", n.name);
    if (id == Intrinsic::copy_async) {
      const Load &to = *n.args[0].as<Load>(), &from = *n.args[1].as<Load>();
      out.kind = Kind::copy;
      out.slot = buffer(to.buffer);
      out.source = buffer(from.buffer);
      code_.buffers[static_cast<size_t>(out.slot)].written = true;
      for (const Expr& i : to.indices) out.exprs.push_back(expr(i));
      for (const Expr& i : from.indices) out.from.push_back(expr(i));
      out.step = copied_elements(n);
    } else if (id == Intrinsic::commit_copies) {
      out.kind = Kind::commit;
    } else if (id == Intrinsic::wait_copies) {
      out.kind = Kind::wait;
      out.step = n.args[0].as_int().value();
    } else if (id == Intrinsic::mma_m16n8k16) {
      out.kind = Kind::together;
      const int line = line_;
      out.bodies.push_back(body(plain_statements(n)));
      line_ = line;
      const std::function<void(StmtCode&)> all_here = [&](StmtCode& s) {
        s.line = out.line;
        for (StmtCode& part : s.bodies) all_here(part);
      };
      all_here(out.bodies[0]);
    }
  }

  const TileFunction& f_;
  Code code_;
  int line_ = 1;
  std::map<std::string, std::vector<int>> scope_, buffers_;
};

}  // namespace

Code compile(const TileFunction& f) { return Compiler(f).run(); }

}  // namespace symtile::emulation
