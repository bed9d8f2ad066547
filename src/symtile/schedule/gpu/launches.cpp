#include "symtile/schedule/gpu/launches.h"

#include "symtile/base/check.h"
#include "symtile/schedule/gpu/columns.h"
#include "symtile/schedule/gpu/grid.h"
#include "symtile/schedule/gpu/rows.h"
#include "symtile/schedule/gpu/scan.h"

namespace symtile::gpu {
namespace {

/// Bytes of an array that one work-item may keep to itself.
constexpr int64_t kPrivateBytes = 1024;

class Launches {
 public:
  Launches(const TileFunction& f, const GpuTarget& target) : f_(f), target_(target), names_(f) {}

  TileFunction build() {
    top(f_.body);
    Stmt body = with_workspace(workspace_, block(std::move(launches_)));
    TileFunction out = f_;
    out.body = std::move(body);
    out.attrs.set("schedule", std::string("launches"));
    return out;
  }

 private:
  void top(const Stmt& s) {
    if (const auto* b = as<BlockStmt>(s)) {
      for (const Stmt& part : b->stmts) top(part);
    } else if (const auto* a = as<AllocateStmt>(s)) {
      Buffer buffer = a->buffer;
      buffer.scope = Scope::scratch;
      workspace_.push_back(std::move(buffer));
      top(a->body);
    } else if (const auto* c = as<ComputeStmt>(s)) {
      std::vector<Expr> indices;
      for (const Axis& axis : c->axes) indices.push_back(var(axis.name));
      launches_.push_back(stage_launch({c->buffer, std::move(indices), c->axes, c->value}, f_.facts,
                                       target_, names_)
                              .launch);
    } else if (const auto scan = match_scan(s, f_.facts)) {
      launches_.push_back(scan_launch(*scan, f_.facts, target_, names_));
    } else if (const auto* loop = as<ForStmt>(s); loop && loop->kind == LoopKind::parallel) {
      launches_.push_back(parallel_launch(*loop));
    } else if (s) {
      launches_.push_back(single(s));
    }
  }

  Stmt parallel_launch(const ForStmt& loop) {
    // Nests of parallel loops become one.
    std::vector<Axis> axes;
    std::vector<std::pair<std::string, Expr>> starts;
    Stmt body;
    for (const ForStmt* at = &loop; at; at = as<ForStmt>(body)) {
      const auto begin = to_dim_expr(at->begin), end = to_dim_expr(at->end);
      const bool outer_only = begin && end && at->kind == LoopKind::parallel &&
                              !depends(*begin, axes) && !depends(*end, axes);
      if (!outer_only) break;
      const std::string position = names_.fresh(at->var + "_at");
      axes.push_back({position, ceildiv(max(*end - *begin, 0), at->step)});
      starts.emplace_back(at->var, at->begin + var(position) * Expr(at->step));
      body = at->body;
    }
    if (axes.empty()) return single(make_stmt(loop));
    LaunchParts parts;
    parts.threads = target_.max_threads;
    const LaunchVars vars(names_);
    const DimExpr total = extent_of(axes);
    const std::string item = names_.fresh("item");
    body = let_all(starts, in_one_item(body, var(item), total));
    body = let(item, vars.block() * Expr(parts.threads) + vars.thread(),
               only_if(var(item) < to_expr(total), bind_axes(axes, var(item), std::move(body))));
    parts.grid = to_expr(ceildiv(total, parts.threads));
    parts.body = std::move(body);
    return launch(vars, std::move(parts), target_, names_);
  }

  static bool depends(const DimExpr& e, const std::vector<Axis>& axes) {
    const auto symbols = e.symbols();
    for (const Axis& a : axes) {
      if (symbols.count(a.name)) return true;
    }
    return false;
  }

  Stmt single(const Stmt& s) {
    LaunchParts parts;
    parts.grid = 1;
    const LaunchVars vars(names_);
    parts.body = in_one_item(s, 0, 1);
    return launch(vars, std::move(parts), target_, names_);
  }

  /// The statement as one of `items` work-items runs it: inner parallel loops in order, arrays in
  /// registers when they are small, otherwise a part of a workspace.
  Stmt in_one_item(const Stmt& s, const Expr& item, const DimExpr& items) {
    return rewrite(
        s,
        [&](const Stmt& x) -> Stmt {
          if (const auto* loop = as<ForStmt>(x); loop && loop->kind == LoopKind::parallel) {
            ForStmt serial = *loop;
            serial.kind = LoopKind::serial;
            return make_stmt(std::move(serial));
          }
          if (const auto* st = as<StoreStmt>(x); st && has_reduction(st->value)) {
            return store_point({st->buffer, st->indices, {}, st->value}, names_);
          }
          if (const auto* l = as<LetStmt>(x); l && has_reduction(l->value)) {
            PointEvaluator evaluator(names_);
            Expr value = evaluator.evaluate(l->value);
            evaluator.append(let(l->var, std::move(value), l->body));
            return evaluator.finish();
          }
          if (const auto* i = as<IfStmt>(x); i && has_reduction(i->condition)) {
            PointEvaluator evaluator(names_);
            Expr condition = evaluator.evaluate(i->condition);
            evaluator.append(make_stmt(IfStmt{std::move(condition), i->then_body, i->else_body}));
            return evaluator.finish();
          }
          if (const auto* a = as<AllocateStmt>(x)) return private_array(*a, item, items);
          return x;
        },
        nullptr);
  }

  Stmt private_array(const AllocateStmt& a, const Expr& item, const DimExpr& items) {
    const auto count = constant_size(a.buffer);
    Buffer b = a.buffer;
    if (count && *count * static_cast<int64_t>(size_of(b.dtype)) <= kPrivateBytes) {
      b.scope = Scope::local;
      return allocate(b, a.body);
    }
    b.scope = Scope::scratch;
    b.name = names_.fresh(b.name);
    b.dims.insert(b.dims.begin(), items);
    b.strides.clear();
    workspace_.push_back(b);
    const std::string from = a.buffer.name;
    const auto with_item = [&](std::vector<Expr> indices) {
      indices.insert(indices.begin(), item);
      return indices;
    };
    return rewrite(
        a.body,
        [&](const Stmt& x) -> Stmt {
          const auto* st = as<StoreStmt>(x);
          return st && st->buffer == from ? store(b.name, with_item(st->indices), st->value) : x;
        },
        [&](const Expr& e) {
          return rewrite(e, [&](const Expr& x) -> Expr {
            const auto* l = x.as<Load>();
            return l && l->buffer == from ? load(b.name, l->dtype, with_item(l->indices)) : x;
          });
        });
  }

  const TileFunction& f_;
  const GpuTarget& target_;
  NameSource names_;
  std::vector<Buffer> workspace_;
  std::vector<Stmt> launches_;
};

}  // namespace

StageLaunch stage_launch(const Stage& stage, const Facts& function_facts, const GpuTarget& target,
                         NameSource& names) {
  Facts facts = function_facts;
  add_axis_facts(facts, stage.axes);
  visit(stage.value, [&](const Expr& e) {
    if (const auto* r = e.as<ReduceExpr>()) add_axis_facts(facts, r->axes);
  });
  if (wants_columns(stage, facts)) return {"columns", column_launch(stage, facts, target, names)};
  if (!wants_group(stage, facts)) return {"grid", grid_launch(stage, facts, target, names)};
  RowProgram program;
  program.rows = stage.axes;
  program.stages = {{stage.buffer, stage.indices, {}, stage.value}};
  program.facts = facts;
  return {"rows", row_launch(program, target, names).launch};
}

bool is_gpu_kernel(const TileFunction& f) {
  bool found = false;
  visit(
      f.body,
      [&](const Stmt& s) {
        const auto* loop = as<ForStmt>(s);
        found = found || (loop && loop->kind == LoopKind::grid_block);
      },
      [](const Expr&) {});
  return found;
}

TileFunction schedule_launches(const TileFunction& f, const GpuTarget& target) {
  return Launches(f, target).build();
}

}  // namespace symtile::gpu
