#include "symtile/schedule/gpu/attention.h"

#include <algorithm>
#include <limits>

#include "symtile/transform/tile/attention.h"

namespace symtile::gpu {
namespace {

struct Tile {
  int64_t rows, members;  ///< of a block; work-items of a row
  int64_t keys;           ///< of a step; a multiple of the members
};

int64_t columns_of(const Attention& a) {
  return a.column ? a.column->extent.as_const().value_or(-1) : 1;
}

std::optional<Tile> choose_tile(const Attention& a, const GpuTarget& target) {
  const auto depth = a.depth.extent.as_const();
  const int64_t columns = columns_of(a);
  if (!depth || *depth < 1 || columns < 1) return std::nullopt;
  for (int64_t members = std::max(target.lanes / 4, 1); members <= target.max_threads;
       members *= 2) {
    if ((columns + members - 1) / members > target.registers / 2) continue;
    for (int64_t keys = std::max<int64_t>(target.lanes, members); keys >= members; keys /= 2) {
      const int64_t rows = target.max_threads / members;
      const int64_t elements = (rows + keys) * (*depth + 1) + keys * columns + rows * (keys + 1);
      if (elements * size_of(a.product.dtype()) <= target.shared_bytes)
        return Tile{rows, members, keys};
    }
  }
  return std::nullopt;
}

class Template {
 public:
  Template(const TileFunction& f, LinearForm linear, Attention attention, const Tile& tile,
           const GpuTarget& target)
      : f_(f),
        target_(target),
        linear_(std::move(linear)),
        names_(f),
        vars_(names_),
        a_(std::move(attention)),
        tile_(tile) {
    type_ = a_.product.dtype();
    rows_ = a_.row ? to_expr(a_.row->extent) : Expr(1);
    keys_ = to_expr(a_.key.extent);
    depth_ = *a_.depth.extent.as_const();
    columns_ = columns_of(a_);
    each_ = (columns_ + tile_.members - 1) / tile_.members;
    const auto buffer = [&](const char* hint, Dims dims, Scope scope) {
      return Buffer{names_.fresh(hint), type_, std::move(dims), scope, {}};
    };
    q_ = buffer("query_tile", {tile_.rows, depth_ + 1}, Scope::shared);
    k_ = buffer("key_tile", {tile_.keys, depth_ + 1}, Scope::shared);
    v_ = buffer("value_tile", {tile_.keys, columns_}, Scope::shared);
    weights_ = buffer("weights", {tile_.rows, tile_.keys + 1}, Scope::shared);
    dot_ = buffer("dot", {1}, Scope::local);
    best_ = buffer("best", {1}, Scope::local);
    largest_ = buffer("largest_so_far", {1}, Scope::local);
    total_ = buffer("total_so_far", {1}, Scope::local);
    sums_ = buffer("sums", {each_}, Scope::local);
    row_ = a_.row ? a_.row->name : names_.fresh("row");
    m0_ = names_.fresh("m0");
    j0_ = names_.fresh("j0");
    r_ = names_.fresh("r");
    c_ = names_.fresh("c");
  }

  TileFunction build() {
    const std::string mb = names_.fresh("mb"), step = names_.fresh("step");
    std::vector<Axis> blocks = a_.batch;
    blocks.push_back({mb, a_.row ? ceildiv(a_.row->extent, tile_.rows) : DimExpr(1)});
    Expr seen = keys_;
    if (a_.causal) {
      // The last row of the tile sees most.
      const Expr last = substitute(*a_.causal, {{row_, var(m0_) + Expr(tile_.rows - 1)}});
      seen = max(min(keys_, var(m0_) + Expr(tile_.rows) + last), Expr(0));
    }
    const Expr steps = floordiv(seen + Expr(tile_.keys - 1), Expr(tile_.keys));
    Stmt body = let(j0_, var(step) * Expr(tile_.keys), one_step());
    body = block({load_queries(), start(),
                  for_loop(step, 0, steps, LoopKind::serial, std::move(body)), finish()});
    body = let(row_, var(m0_) + var(r_), std::move(body));
    body = make_stmt(TaskStmt{TaskMapping::spatial({tile_.rows, tile_.members}),
                              vars_.thread(),
                              {r_, c_},
                              std::move(body)});
    for (const Buffer* b : {&sums_, &total_, &largest_, &best_, &dot_})
      body = allocate(*b, std::move(body));
    LaunchParts parts;
    parts.threads = static_cast<int>(tile_.rows * tile_.members);
    parts.grid = to_expr(extent_of(blocks));
    parts.shared = {q_, k_, v_, weights_};
    parts.body =
        bind_axes(blocks, vars_.block(), let(m0_, var(mb) * Expr(tile_.rows), std::move(body)));
    return finish_schedule(f_, linear_, launch(vars_, std::move(parts), target_, names_),
                           "attention");
  }

 private:
  static Stmt barrier() { return make_stmt(BarrierStmt{Scope::shared}); }
  Expr low() const { return imm(type_, -std::numeric_limits<double>::infinity()); }
  Expr one(const Buffer& b) const { return load(b.name, type_, {Expr(0)}); }
  Stmt set(const Buffer& b, Expr value) const { return store(b.name, {Expr(0)}, std::move(value)); }

  /// to[i, j] = value(i, j) for the whole tile, neighbours along j; zero where `inside` is not.
  Stmt load_tile(const Buffer& to, int64_t rows, int64_t columns,
                 const std::function<std::pair<Expr, Expr>(const Expr&, const Expr&)>& value) {
    const std::string x = names_.fresh("x"), i = names_.fresh("i"), j = names_.fresh("j");
    const auto [inside, element] = value(var(i), var(j));
    Stmt body = store(to.name, {var(i), var(j)}, select(inside, element, imm(type_, 0)));
    body = let_all({{i, floordiv(var(x), Expr(columns))}, {j, floormod(var(x), Expr(columns))}},
                   std::move(body));
    return for_loop(x, vars_.thread(), Expr(rows * columns), LoopKind::serial, std::move(body),
                    tile_.rows * tile_.members);
  }

  Stmt load_queries() {
    return load_tile(q_, tile_.rows, depth_, [&](const Expr& i, const Expr& d) {
      const Expr row = var(m0_) + i;
      return std::pair(row < rows_, substitute(a_.query, {{row_, row}, {a_.depth.name, d}}));
    });
  }

  Stmt start() {
    const std::string i = names_.fresh("i");
    return block({set(largest_, low()), set(total_, imm(type_, 0)),
                  for_loop(i, 0, Expr(each_), LoopKind::unrolled,
                           store(sums_.name, {var(i)}, imm(type_, 0)))});
  }

  /// The keys of a step that this work-item looks after.
  Stmt own_keys(const std::function<Stmt(const Expr& at)>& body) {
    const std::string i = names_.fresh("i"), j = names_.fresh("j");
    return for_loop(i, 0, Expr(tile_.keys / tile_.members), LoopKind::serial,
                    let(j, var(i) * Expr(tile_.members) + var(c_), body(var(j))));
  }

  Expr weight(const Expr& at) const { return load(weights_.name, type_, {var(r_), at}); }

  Stmt one_step() {
    const Stmt keys = load_tile(k_, tile_.keys, depth_, [&](const Expr& j, const Expr& d) {
      const Expr key = var(j0_) + j;
      return std::pair(key < keys_,
                       substitute(a_.key_operand, {{a_.key.name, key}, {a_.depth.name, d}}));
    });
    const Stmt values = load_tile(v_, tile_.keys, columns_, [&](const Expr& j, const Expr& e) {
      const Expr key = var(j0_) + j;
      std::map<std::string, Expr> at = {{a_.key.name, key}};
      if (a_.column) at[a_.column->name] = e;
      return std::pair(key < keys_, substitute(a_.value, at));
    });
    const std::string j = names_.fresh("j"), safe = names_.fresh("safe"),
                      scale = names_.fresh("scale");
    const Stmt find_best =
        block({set(best_, one(largest_)), for_loop(j, 0, Expr(tile_.keys), LoopKind::serial,
                                                   set(best_, max(one(best_), weight(var(j)))))});
    const Expr shift = var(safe, type_);
    const Stmt weigh = own_keys([&](const Expr& at) {
      return store(weights_.name, {var(r_), at}, unary(UnaryOp::exp, weight(at) - shift));
    });
    // A row that has seen nothing but -inf keeps its maximum, but must not subtract it.
    Stmt rest = let_all({{safe, select(equal(one(best_), low()), imm(type_, 0), one(best_))},
                         {scale, unary(UnaryOp::exp, one(largest_) - shift)}},
                        block({set(largest_, one(best_)), barrier(), weigh, barrier(),
                               accumulate(var(scale, type_)), barrier()}));
    return block({keys, values, barrier(), scores(), barrier(), find_best, std::move(rest)});
  }

  Stmt scores() {
    return own_keys([&](const Expr& at) {
      const std::string d = names_.fresh("d"), product = names_.fresh("product");
      const Expr pair =
          load(q_.name, type_, {var(r_), var(d)}) * load(k_.name, type_, {at, var(d)});
      const Expr score = replace_exactly(a_.score, {{a_.product, var(product, type_)}});
      const Expr inside = var(row_) < rows_ && var(a_.key.name) < keys_;
      Stmt body = let(product, one(dot_),
                      store(weights_.name, {var(r_), at}, select(inside, score, low())));
      return block({set(dot_, imm(type_, 0)),
                    for_loop(d, 0, Expr(depth_), LoopKind::serial, set(dot_, one(dot_) + pair)),
                    let(a_.key.name, var(j0_) + at, std::move(body))});
    });
  }

  /// total and sums, after what they were is scaled to the new maximum.
  Stmt accumulate(const Expr& scale) {
    const std::string i = names_.fresh("i"), i2 = names_.fresh("i"), j = names_.fresh("j"),
                      e = names_.fresh("e");
    const Expr sum = load(sums_.name, type_, {var(i)}), own = load(sums_.name, type_, {var(i2)});
    Expr term = weight(var(j)) * load(v_.name, type_, {var(j), var(e)});
    if (a_.causal) {
      term = select(var(j0_) + var(j) <= var(row_) + *a_.causal, term, imm(type_, 0));
    }
    Stmt add = let(e, var(i2) * Expr(tile_.members) + var(c_),
                   only_if(var(e) < Expr(columns_), store(sums_.name, {var(i2)}, own + term)));
    return block(
        {set(total_, one(total_) * scale),
         for_loop(i, 0, Expr(each_), LoopKind::unrolled, store(sums_.name, {var(i)}, sum * scale)),
         for_loop(j, 0, Expr(tile_.keys), LoopKind::serial,
                  block({set(total_, one(total_) + weight(var(j))),
                         for_loop(i2, 0, Expr(each_), LoopKind::unrolled, std::move(add))}))});
  }

  Stmt finish() {
    const std::string i = names_.fresh("i"), e = a_.column ? a_.column->name : names_.fresh("e"),
                      x = names_.fresh("attended");
    // The sum over no key at all is 0.
    Expr value = load(sums_.name, type_, {var(i)}) / one(total_);
    if (a_.zero == Attention::Zero::without_sum)
      value = select(one(total_) > imm(type_, 0), value, imm(type_, 0));
    if (a_.zero == Attention::Zero::without_keys)
      value = select(equal(one(total_), imm(type_, 0)), imm(type_, 0), value);
    value = select(equal(keys_, 0), imm(type_, 0), value);
    const std::string& out = linear_.stages.back().buffer;
    const Expr result = replace_exactly(a_.result, {{a_.weighted, var(x, type_)}});
    Stmt body = let(x, value, store(out, {linear_.store_index.at(out)}, result));
    body = only_if(var(row_) < rows_ && var(e) < Expr(columns_), std::move(body));
    return for_loop(i, 0, Expr(each_), LoopKind::unrolled,
                    let(e, var(i) * Expr(tile_.members) + var(c_), std::move(body)));
  }

  const TileFunction& f_;
  const GpuTarget& target_;
  LinearForm linear_;
  NameSource names_;
  LaunchVars vars_;
  Attention a_;
  Tile tile_;
  DType type_ = DType::f32;
  Expr rows_, keys_;
  int64_t depth_ = 1, columns_ = 1, each_ = 1;  ///< each_: columns of a work-item
  Buffer q_, k_, v_, weights_, dot_, best_, largest_, total_, sums_;
  std::string row_, m0_, j0_, r_, c_;
};

}  // namespace

std::optional<TileFunction> schedule_attention(const TileFunction& f, const ComputeForm& form,
                                               const GpuTarget& target) {
  if (!match_attention(squeeze_unit_axes(form))) return std::nullopt;
  LinearForm linear = linearize(f, form);
  auto matched = match_attention({linear.temporaries, linear.stages});
  if (!matched) return std::nullopt;
  const auto tile = choose_tile(*matched, target);
  if (!tile) return std::nullopt;
  return Template(f, std::move(linear), std::move(*matched), *tile, target).build();
}

}  // namespace symtile::gpu
