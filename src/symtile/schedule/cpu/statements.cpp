#include "symtile/schedule/cpu/statements.h"

namespace symtile {

TileFunction schedule_statements(TileFunction f) {
  if (f.is_scheduled()) return f;
  const auto loops_of = [](const Stmt& s) -> Stmt {
    const auto* stage = as<ComputeStmt>(s);
    if (!stage) return s;
    std::vector<Expr> indices;
    for (const Axis& a : stage->axes) indices.push_back(var(a.name));
    Stmt body = store(stage->buffer, std::move(indices), stage->value);
    for (size_t i = stage->axes.size(); i-- > 0;) {
      const bool innermost = i + 1 == stage->axes.size() && !has_reduction(stage->value);
      body = for_loop(stage->axes[i].name, 0, to_expr(stage->axes[i].extent),
                      innermost ? LoopKind::vectorized : LoopKind::serial, std::move(body));
    }
    return body;
  };
  f.body = rewrite(f.body, loops_of, nullptr);
  f.attrs.set("schedule", std::string("statements"));
  return f;
}

}  // namespace symtile
