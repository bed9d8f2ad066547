// Prints tile functions and statements.
#include <fmt/format.h>

#include "symtile/ir/print_graph.h"
#include "symtile/ir/text_format.h"

namespace symtile {
namespace {

std::string buffer_text(const Buffer& b) {
  std::string out =
      fmt::format("{}: Buffer[{}, {}", value_name(b.name), dims_text(b.dims), name_of(b.dtype));
  if (b.scope != Scope::global) out += fmt::format(", {}", name_of(b.scope));
  if (!b.strides.empty()) out += ", strides " + dims_text(b.strides);
  return out + "]";
}

std::string buffers_text(const std::vector<Buffer>& buffers) {
  std::string out = "(";
  for (size_t i = 0; i < buffers.size(); ++i) out += (i ? ", " : "") + buffer_text(buffers[i]);
  return out + ")";
}

class StmtPrinter {
 public:
  explicit StmtPrinter(int indent) : indent_(indent) {}

  void print(const Stmt& s) {
    if (!s) return line("block {}");
    std::visit([&](const auto& n) { node(n); }, s->value);
  }

  /// The statements of a body between braces; a block of one keeps its own braces, because one
  /// statement alone reads back as itself.
  void body(const Stmt& s) {
    ++indent_;
    const BlockStmt* b = as<BlockStmt>(s);
    if (b && b->stmts.size() != 1) {
      for (const Stmt& part : b->stmts) print(part);
    } else if (s) {
      print(s);
    }
    --indent_;
  }

  std::string take() { return std::move(out_); }

 private:
  void line(const std::string& text) {
    out_.append(static_cast<size_t>(2 * indent_), ' ');
    out_ += text;
    out_ += '\n';
  }

  void braced(const std::string& head, const Stmt& s) {
    line(head + " {");
    body(s);
    line("}");
  }

  std::string expr(const Expr& e) const { return print_expr(e, lets_); }
  std::string exprs(const std::vector<Expr>& list) const {
    std::string out;
    for (size_t i = 0; i < list.size(); ++i) out += (i ? ", " : "") + expr(list[i]);
    return out;
  }

  void node(const BlockStmt& n) {
    line("block {");
    ++indent_;
    for (const Stmt& s : n.stmts) print(s);
    --indent_;
    line("}");
  }
  void node(const ComputeStmt& n) {
    std::string axes;
    for (const Axis& a : n.axes) {
      axes += fmt::format("{}{} < {}", axes.empty() ? "" : ", ", a.name, a.extent.str());
    }
    line(fmt::format("compute {}[{}] = {}", value_name(n.buffer), axes, expr(n.value)));
  }
  void node(const AllocateStmt& n) { braced("alloc " + buffer_text(n.buffer), n.body); }
  void node(const StoreStmt& n) {
    line(fmt::format("{}[{}] = {}", value_name(n.buffer), exprs(n.indices), expr(n.value)));
  }
  void node(const ForStmt& n) {
    std::string head = fmt::format("for {} in {} to {}", n.var, expr(n.begin), expr(n.end));
    if (n.step != 1) head += fmt::format(" step {}", n.step);
    if (n.kind != LoopKind::serial) head += fmt::format(" {}", name_of(n.kind));
    scoped({n.var}, DType::i64, [&] { braced(head, n.body); });
  }
  void node(const LetStmt& n) {
    const std::string head = fmt::format("let {} = {}", n.var, expr(n.value));
    const DType dtype = n.value.defined() ? n.value.dtype() : DType::i64;
    scoped({n.var}, dtype, [&] { braced(head, n.body); });
  }
  void node(const IfStmt& n) {
    line("if " + expr(n.condition) + " {");
    body(n.then_body);
    if (n.else_body) {
      line("} else {");
      body(n.else_body);
    }
    line("}");
  }
  void node(const TaskStmt& n) {
    std::string vars;
    for (const std::string& v : n.vars) vars += (vars.empty() ? "" : ", ") + v;
    const std::string head =
        fmt::format("tasks ({}) of {} by {}", vars, n.mapping.str(), expr(n.worker));
    scoped(n.vars, DType::i64, [&] { braced(head, n.body); });
  }
  void node(const BarrierStmt& n) { line(fmt::format("barrier {}", name_of(n.scope))); }
  void node(const IntrinsicStmt& n) {
    line(fmt::format("intrinsic {}({})", plain_name(n.name), exprs(n.args)));
  }

  /// Runs f with `names` in scope as variables of `dtype`.
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

  int indent_;
  VariableTypes lets_;
  std::string out_;
};

}  // namespace

std::string print(const Stmt& s, int indent) {
  StmtPrinter printer(indent);
  printer.print(s);
  return printer.take();
}

std::string print(const TileFunction& f) {
  std::string out = "tile " + function_name(f.name);
  if (!f.symbols.empty()) {
    out += "<";
    for (size_t i = 0; i < f.symbols.size(); ++i) out += (i ? ", " : "") + f.symbols[i];
    out += ">";
  }
  out += buffers_text(f.inputs) + " -> " + buffers_text(f.outputs);
  if (const std::string facts = print_facts(f.facts); !facts.empty()) out += "\n    " + facts;
  if (!f.attrs.map().empty()) out += "\n    attrs " + print_attributes(f.attrs);
  StmtPrinter printer(0);
  printer.body(f.body);
  return out + " {\n" + printer.take() + "}\n";
}

}  // namespace symtile
