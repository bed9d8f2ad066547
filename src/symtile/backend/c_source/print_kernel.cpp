#include "symtile/backend/c_source/print_kernel.h"

#include "symtile/backend/c_source/printer.h"
#include "symtile/base/check.h"
#include "symtile/ir/expr_scope.h"
#include "symtile/ir/stmt_walk.h"

namespace symtile::c_source {
namespace {

constexpr int64_t kWorkspaceAlignment = 64;

int64_t constant_extent(const ForStmt& n, const TileFunction& f) {
  const auto begin = n.begin.as_int(), end = n.end.as_int();
  SYMTILE_CHECK(begin && end && *end > *begin, "the {} loop of '{}' needs constant bounds",
                name_of(n.kind), f.name);
  return (*end - *begin + n.step - 1) / n.step;
}

void collect_dtypes(const Expr& e, std::set<DType>& out) {
  visit(e, [&](const Expr& node) { out.insert(node.dtype()); });
}

}  // namespace

std::string identifier(const std::string& name, std::set<std::string>& taken) {
  std::string base;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    base += plain ? c : '_';
  }
  if (base.empty() || (base[0] >= '0' && base[0] <= '9')) base = "v" + base;
  base += '_';
  std::string unique = base;
  for (int i = 1; !taken.insert(unique).second; ++i) unique = fmt::format("{}{}", base, i);
  return unique;
}

std::set<DType> dtypes_of(const TileFunction& f) {
  std::set<DType> out;
  for (const Buffer& b : f.inputs) out.insert(b.dtype);
  for (const Buffer& b : f.outputs) out.insert(b.dtype);
  visit(
      f.body,
      [&](const Stmt& s) {
        if (const auto* a = as<AllocateStmt>(s)) out.insert(a->buffer.dtype);
      },
      [&](const Expr& e) { collect_dtypes(e, out); });
  return out;
}

PrintedKernel print_kernel(const TileFunction& scheduled, const std::string& name,
                           const Dialect& dialect) {
  return Printer(scheduled, dialect).print(name);
}

PrintedKernel Printer::print(const std::string& name) {
  launch_prefix_ = name;
  // Sizes first: whether there is a workspace decides about the parameters of every launch.
  const std::function<void(const Stmt&)> measure = [&](const Stmt& s) {
    if (const auto* n = as<AllocateStmt>(s)) {
      SYMTILE_CHECK(n->buffer.scope == Scope::scratch || n->buffer.scope == Scope::global,
                    "'{}' allocates {} buffer '{}' outside its grid loops", f_.name,
                    name_of(n->buffer.scope), n->buffer.name);
      workspace_.emplace_back(n, out_.workspace_bytes);
      const DimExpr bytes = product(n->buffer.dims) * DimExpr(size_of(n->buffer.dtype));
      out_.workspace_bytes += round_up(bytes, kWorkspaceAlignment);
      measure(n->body);
    } else if (const auto* n = as<LetStmt>(s)) {
      measure(n->body);
    } else if (const auto* n = as<BlockStmt>(s)) {
      for (const Stmt& part : n->stmts) measure(part);
    }
  };
  measure(f_.body);
  collect_launches(f_.body);
  return std::move(out_);
}

void Printer::collect_launches(const Stmt& s) {
  if (const auto* n = as<BlockStmt>(s)) {
    for (const Stmt& part : n->stmts) collect_launches(part);
  } else if (const auto* n = as<AllocateStmt>(s)) {
    collect_launches(n->body);
  } else if (const auto* n = as<LetStmt>(s)) {
    outer_lets_.push_back(n);
    collect_launches(n->body);
    outer_lets_.pop_back();
  } else {
    const auto* loop = as<ForStmt>(s);
    SYMTILE_CHECK(loop && loop->kind == LoopKind::grid_block,
                  "'{}' has a statement outside its grid_block loops; schedule it for {}", f_.name,
                  dialect_.name);
    print_launch(*loop);
  }
}

void Printer::find_block_shape(const Stmt& s, int64_t& warps, int64_t& lanes) {
  if (const auto* n = as<ForStmt>(s)) {
    if (n->kind == LoopKind::block_warp || n->kind == LoopKind::warp_lane) {
      int64_t& extent = n->kind == LoopKind::block_warp ? warps : lanes;
      const int64_t found = constant_extent(*n, f_);
      SYMTILE_CHECK(extent == 1 || extent == found, "'{}' has {} loops of {} and of {}", f_.name,
                    name_of(n->kind), extent, found);
      extent = found;
    }
  }
  for_each_part(
      *s, [&](const Stmt& part) { find_block_shape(part, warps, lanes); }, [](const Expr&) {});
}

Printer::Variable Printer::symbol_variable(const std::string& symbol) {
  const auto low = f_.facts.lower_bound(DimExpr::symbol(symbol));
  return {fresh(symbol), true, low && *low >= 0};
}

/// Declares the buffers and symbols of the function; the parameters as text.
std::string Printer::bind_parameters() {
  std::string parameters;
  const auto add = [&](const std::string& parameter) {
    parameters += (parameters.empty() ? "" : ", ") + parameter;
  };
  const auto bind_buffer = [&](const Buffer& buffer, bool is_input) {
    const std::string name = fresh(buffer.name);
    buffers_[buffer.name] = {buffer, name};
    const std::string memory = fresh(buffer.name + "_memory"), at = fresh(buffer.name + "_at");
    add(fmt::format("{}u8* {}", dialect_.global, memory));
    add(fmt::format("i64 {}", at));
    const std::string type = fmt::format("{}{}{}*", dialect_.global, is_input ? "const " : "",
                                         storage_type(buffer.dtype));
    line(fmt::format("{} {} = ({})({} + {});", type, name, type, memory, at));
  };
  for (const Buffer& b : f_.inputs) bind_buffer(b, true);
  for (const Buffer& b : f_.outputs) bind_buffer(b, false);
  if (!out_.workspace_bytes.is_const(0)) add(dialect_.global + "u8* workspace");
  for (const std::string& s : f_.symbols) {
    variables_[s] = symbol_variable(s);
    add("i64 " + variables_[s].name);
  }
  return parameters;
}

void Printer::declare_workspace() {
  for (const auto& [allocation, offset] : workspace_) {
    const Buffer& buffer = allocation->buffer;
    const std::string name = fresh(buffer.name);
    const std::string type = fmt::format("{}{}*", dialect_.global, storage_type(buffer.dtype));
    line(fmt::format("{} {} = ({})(workspace + {});", type, name, type,
                     print_root(to_expr(offset)).text));
    buffers_[buffer.name] = {buffer, name};
  }
}

void Printer::print_launch(const ForStmt& grid) {
  SYMTILE_CHECK(grid.begin.is_int(0) && grid.step == 1,
                "the grid_block loop of '{}' does not count from 0 by 1", f_.name);
  VariableMap lets;
  for (const LetStmt* let : outer_lets_) lets[let->var] = substitute(let->value, lets);
  const auto blocks = to_dim_expr(substitute(grid.end, lets));
  SYMTILE_CHECK(blocks, "the grid of '{}' is no formula of its symbols: {}", f_.name,
                grid.end.str());
  PrintedLaunch launch;
  launch.name = fmt::format("{}_{}", launch_prefix_, out_.launches.size());
  launch.blocks = *blocks;

  text_.clear();
  taken_ = {"workspace"};
  temporaries_ = 0;
  variables_.clear();
  buffers_.clear();
  warps_ = lanes_ = 1;
  find_block_shape(grid.body, warps_, lanes_);
  launch.threads = warps_ * lanes_;
  const std::string parameters = bind_parameters();
  declare_workspace();
  declare_shared(grid.body);
  const std::function<void(size_t)> body = [&](size_t let) {
    if (let < outer_lets_.size()) {
      const LetStmt& n = *outer_lets_[let];
      const Value value = print_root(n.value);
      const std::string name = fresh(n.var);
      line(fmt::format("const {} {} = {};", compute_type(n.value.dtype()), name, value.text));
      with_variable(n.var, {name, value.index, value.non_negative}, [&] { body(let + 1); });
      return;
    }
    const std::string name = fresh(grid.var);
    line(fmt::format("const i64 {} = {};", name, dialect_.block_index));
    with_variable(grid.var, {name, true, true}, [&] { print(grid.body); });
  };
  body(0);
  out_.text += fmt::format("{} {}({}) {{\n{}}}\n\n", dialect_.kernel_head(launch.threads),
                           launch.name, parameters, text_);
  out_.launches.push_back(std::move(launch));
}

}  // namespace symtile::c_source
