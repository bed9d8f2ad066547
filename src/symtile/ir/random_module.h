// Seeded random modules for tests: every node kind of the three levels, odd names, special
// numbers. The modules print and parse; `valid` ones also verify.
#pragma once

#include <random>

#include "symtile/ir/module.h"

namespace symtile::testing {

class RandomModule {
 public:
  explicit RandomModule(unsigned seed) : engine_(seed) {}

  Module module() {
    Module m;
    m.add(ExternFunction{"cblas.sgemm"});
    m.add(ExternFunction{"odd \"library\"\n"});
    const int tiles = 1 + below(3);
    for (int i = 0; i < tiles; ++i) m.add(tile("kernel" + std::to_string(i)));
    m.add(graph(m));
    return m;
  }

  TileFunction tile(std::string name) {
    TileFunction f;
    f.name = std::move(name);
    f.symbols = {"n", "m"};
    names_ = {{"n", DType::i64}, {"m", DType::i64}};
    buffers_.clear();
    counter_ = 0;
    for (int i = 0; i < 3; ++i) f.inputs.push_back(buffer("in" + std::to_string(i)));
    f.inputs.back().name = "odd name %" + std::to_string(below(10));
    for (const Buffer& b : f.inputs) buffers_.push_back(b);
    f.outputs.push_back(buffer("0"));
    outputs_ = f.outputs;
    if (below(2)) f.facts.bound("n", 1, 1 + below(4096));
    if (below(2)) f.facts.assume_divisible(DimExpr::symbol("m"), 8);
    if (below(2)) f.attrs.set("op", std::string("conv\t\"x\""));
    std::vector<Stmt> body;
    const int stages = 1 + below(3);
    for (int i = 0; i < stages; ++i) body.push_back(statement(3));
    body.push_back(compute(f.outputs[0]));
    f.body = block(std::move(body));
    return f;
  }

  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(engine_); }

 private:
  DType dtype() { return static_cast<DType>(below(kNumDTypes)); }

  DimExpr dim() {
    const DimExpr n = DimExpr::symbol("n"), m = DimExpr::symbol("m");
    switch (below(8)) {
      case 0:
        return n;
      case 1:
        return m;
      case 2:
        return 4 * n + 1;
      case 3:
        return floordiv(n + 1, 2);
      case 4:
        return max(n, m);
      case 5:
        return n * m;
      case 6:
        return floormod(n, 8);
      default:
        return below(6);
    }
  }

  Dims dims() {
    Dims out;
    for (int i = below(4); i > 0; --i) out.push_back(dim());
    return out;
  }

  Buffer buffer(std::string name) {
    Buffer b{std::move(name), dtype(), dims(), Scope::global, {}};
    if (below(4) == 0) {
      for (size_t i = 0; i < b.dims.size(); ++i) b.strides.push_back(dim());
    }
    return b;
  }

  std::string fresh(const std::string& base) { return base + std::to_string(counter_++); }

  double number() {
    static constexpr double special[] = {0.0, -0.0, 1.0, 0.1, -2.5, 1e30, 6.1e-5, 65504, 3e-45};
    switch (below(4)) {
      case 0:
        return std::numeric_limits<double>::infinity() * (below(2) ? 1 : -1);
      case 1:
        return std::numeric_limits<double>::quiet_NaN();
      default:
        return special[below(9)];
    }
  }

  Expr immediate(DType t) {
    if (t == DType::boolean) return bool_imm(below(2));
    if (is_float(t)) return float_imm(t, number());
    static constexpr int64_t special[] = {0, 1, -1, 7, 127, 255, INT64_MAX, INT64_MIN, 1 << 20};
    return int_imm(t, special[below(9)]);
  }

  Expr leaf(DType t) {
    std::vector<Expr> choices = {immediate(t)};
    for (const auto& [name, type] : names_) {
      if (type == t) choices.push_back(var(name, type));
    }
    return choices[static_cast<size_t>(below(static_cast<int>(choices.size())))];
  }

  Expr load_of(DType t, int depth) {
    std::vector<const Buffer*> fits;
    for (const Buffer& b : buffers_) {
      if (b.dtype == t) fits.push_back(&b);
    }
    if (fits.empty()) return leaf(t);
    const Buffer b = *fits[static_cast<size_t>(below(static_cast<int>(fits.size())))];
    std::vector<Expr> indices;
    for (size_t i = 0; i < b.dims.size(); ++i) indices.push_back(expr(DType::i64, depth - 1));
    return load(b.name, t, std::move(indices));
  }

  Expr expr(DType t, int depth) {
    if (depth <= 0) return leaf(t);
    switch (below(8)) {
      case 0:
        return leaf(t);
      case 1:
        return load_of(t, depth);
      case 2:
        return cast(t, expr(dtype(), depth - 1));
      case 3:
        return select(expr(DType::boolean, depth - 1), expr(t, depth - 1), expr(t, depth - 1));
      case 4:
        return unary_of(t, depth);
      case 5:
        return reduce_of(t, depth);
      default:
        return binary_of(t, depth);
    }
  }

  Expr unary_of(DType t, int depth) {
    static constexpr UnaryOp floats[] = {UnaryOp::neg, UnaryOp::exp, UnaryOp::sigmoid,
                                         UnaryOp::round};
    static constexpr UnaryOp ints[] = {UnaryOp::neg, UnaryOp::abs, UnaryOp::bit_not};
    if (t == DType::boolean) {
      if (below(2)) return unary(UnaryOp::logical_not, expr(t, depth - 1));
      return unary(below(2) ? UnaryOp::isnan : UnaryOp::isinf, expr(DType::f32, depth - 1));
    }
    return unary(is_float(t) ? floats[below(4)] : ints[below(3)], expr(t, depth - 1));
  }

  Expr binary_of(DType t, int depth) {
    static constexpr BinaryOp any[] = {
        BinaryOp::add,      BinaryOp::sub,  BinaryOp::mul, BinaryOp::div, BinaryOp::floordiv,
        BinaryOp::floormod, BinaryOp::fmod, BinaryOp::pow, BinaryOp::min, BinaryOp::max};
    static constexpr BinaryOp bits[] = {BinaryOp::bit_and, BinaryOp::bit_or, BinaryOp::bit_xor,
                                        BinaryOp::shl, BinaryOp::shr};
    static constexpr BinaryOp comparisons[] = {BinaryOp::eq, BinaryOp::ne, BinaryOp::lt,
                                               BinaryOp::le, BinaryOp::gt, BinaryOp::ge};
    static constexpr BinaryOp logic[] = {BinaryOp::logical_and, BinaryOp::logical_or,
                                         BinaryOp::logical_xor};
    if (t == DType::boolean) {
      if (below(2)) return binary(logic[below(3)], expr(t, depth - 1), expr(t, depth - 1));
      const DType operand = dtype();
      return binary(comparisons[below(6)], expr(operand, depth - 1), expr(operand, depth - 1));
    }
    const BinaryOp op = is_int(t) && below(3) == 0 ? bits[below(5)] : any[below(10)];
    return binary(op, expr(t, depth - 1), expr(t, depth - 1));
  }

  Expr reduce_of(DType t, int depth) {
    const std::string k = fresh("k");
    const std::vector<Axis> axes = {{k, dim()}};
    names_[k] = DType::i64;
    Expr out;
    if (t == DType::boolean) {
      out = reduce(below(2) ? ReduceKind::any : ReduceKind::all, axes, expr(t, depth - 1));
    } else if (t == DType::i64 && below(2)) {
      out = reduce(below(2) ? ReduceKind::argmax : ReduceKind::argmin_last, axes,
                   expr(DType::f16, depth - 1));
    } else {
      static constexpr ReduceKind kinds[] = {ReduceKind::sum, ReduceKind::prod, ReduceKind::max,
                                             ReduceKind::min};
      out = reduce(kinds[below(4)], axes, expr(t, depth - 1));
    }
    names_.erase(k);
    return out;
  }

  Stmt compute(const Buffer& b) {
    std::vector<Axis> axes;
    for (const DimExpr& d : b.dims) axes.push_back({fresh("i"), d});
    for (const Axis& a : axes) names_[a.name] = DType::i64;
    Expr value = expr(b.dtype, 4);
    for (const Axis& a : axes) names_.erase(a.name);
    return make_stmt(ComputeStmt{b.name, std::move(axes), std::move(value)});
  }

  Stmt store_to(const Buffer& b) {
    std::vector<Expr> indices;
    for (size_t i = 0; i < b.dims.size(); ++i) indices.push_back(expr(DType::i64, 2));
    return store(b.name, std::move(indices), expr(b.dtype, 3));
  }

  template <typename F>
  Stmt scoped(const std::string& name, DType t, const F& f) {
    names_[name] = t;
    Stmt s = f();
    names_.erase(name);
    return s;
  }

  Stmt statement(int depth) {
    const Buffer& out = outputs_[0];
    if (depth == 0) return store_to(out);
    switch (below(9)) {
      case 0: {
        Buffer b = buffer(fresh("tmp"));
        b.scope = static_cast<Scope>(below(5));
        buffers_.push_back(b);
        Stmt body = block({store_to(b), statement(depth - 1)});
        buffers_.pop_back();
        return make_stmt(AllocateStmt{std::move(b), std::move(body)});
      }
      case 1: {
        const std::string i = fresh("i");
        const auto kind = static_cast<LoopKind>(below(7));
        const bool constant = kind == LoopKind::unrolled || kind == LoopKind::vectorized;
        Expr end = constant ? Expr(8) : expr(DType::i64, 2);
        return scoped(i, DType::i64, [&] {
          return for_loop(i, 0, end, kind, statement(depth - 1), 1 + below(3));
        });
      }
      case 2: {
        const std::string v = fresh("v");
        Expr value = expr(dtype(), 2);
        return scoped(v, value.dtype(),
                      [&] { return make_stmt(LetStmt{v, value, statement(depth - 1)}); });
      }
      case 3: {
        Stmt otherwise = below(2) ? statement(depth - 1) : nullptr;
        return make_stmt(IfStmt{expr(DType::boolean, 2), statement(depth - 1), otherwise});
      }
      case 4: {
        const std::string i = fresh("i"), j = fresh("j");
        TaskMapping mapping =
            TaskMapping::spatial({4, dim()}) *
            TaskMapping::repeat({2, 2}, below(2) ? std::vector<int>{1, 0} : std::vector<int>{});
        names_[j] = DType::i64;
        Stmt s = scoped(i, DType::i64, [&] {
          return make_stmt(TaskStmt{mapping, Expr(3), {i, j}, statement(depth - 1)});
        });
        names_.erase(j);
        return s;
      }
      case 5:
        return make_stmt(BarrierStmt{static_cast<Scope>(below(5))});
      case 6:
        return make_stmt(IntrinsicStmt{"mma.sync <8>", {expr(DType::f16, 2)}});
      case 7:
        return make_stmt(BlockStmt{{statement(depth - 1)}});
      default:
        return store_to(out);
    }
  }

  Constant constant() {
    const DType t = dtype();
    auto c = make_zeros(t, {below(4), 1 + below(7)});
    for (int64_t i = 0; i < c->element_count(); ++i) c->set(i, number());
    // Now and then bytes that no list of numbers prints: payloads, bools other than 0 and 1.
    if (below(3) == 0) {
      for (std::byte& b : c->bytes) b = static_cast<std::byte>(below(256));
    }
    return c;
  }

  Attributes attributes() {
    Attributes a;
    if (below(2)) a.set("axis", int64_t{-1});
    if (below(2)) a.set("alpha", number());
    if (below(2)) a.set("odd name", std::string("\x01 ünï \\ \" \n"));
    if (below(2)) a.set("dtype", dtype());
    if (below(2)) a.set("ints", std::vector<int64_t>{INT64_MIN, 0, INT64_MAX});
    if (below(2)) a.set("floats", below(2) ? std::vector<double>{} : std::vector<double>{1, 0.1});
    if (below(2))
      a.set("texts", below(2) ? std::vector<std::string>{} : std::vector<std::string>{"a", "b\"c"});
    if (below(2)) a.set("no_ints", std::vector<int64_t>{});
    if (below(2)) a.set("dims", dims());
    if (below(2)) a.set("callee", FunctionRef{"kernel0"});
    return a;
  }

  GraphFunction graph(const Module& m) {
    GraphFunction f;
    f.name = "main";
    f.dim_params = {"q"};
    const DimExpr n = DimExpr::symbol("n"), k = DimExpr::symbol("m");
    const ValueId x = f.add_param("x", Type::tensor({n, k}, DType::f32));
    const ValueId y = f.add_param("odd %\"name\"", Type::tensor({k, 4 * n + 1}, DType::f16));
    const ValueId c = f.add_param("", Type::tensor({}, DType::boolean));
    f.value(x).placement.kind = Placement::Kind::parameter;
    if (below(2)) f.facts.bound("n", 1, 64);
    if (below(2)) f.arena_bytes = 64 * n + 128;
    std::vector<ValueId> pool = {x, y, c};
    const auto pick = [&] {
      return pool[static_cast<size_t>(below(static_cast<int>(pool.size())))];
    };
    const auto bind = [&](GraphNode node, Type type) {
      const ValueId id = f.bind(std::move(node), std::move(type),
                                make_location("model.onnx", "conv \"1\"", "Conv"));
      if (below(4) == 0) f.value(id).placement = {Placement::Kind::arena, 64 * n, {}};
      if (below(4) == 0) f.value(id).placement = {Placement::Kind::alias, {}, x};
      if (below(8) == 0) f.value(id).placement.kind = Placement::Kind::heap;
      pool.push_back(id);
      return id;
    };
    for (int i = 3 + below(8); i > 0; --i) {
      switch (below(8)) {
        case 0: {
          OpCall op{below(2) ? "matmul" : "if", {pick(), pick(), {}}, attributes()};
          if (below(4) == 0) op.op = "odd op";
          bind(std::move(op), Type::tensor({n, DimExpr::unknown()}, dtype()));
          break;
        }
        case 1:
          bind(ExternCall{"cblas.sgemm", {pick()}, attributes()}, Type::object());
          break;
        case 2: {
          Constant data = constant();
          Dims shape(data->dims.begin(), data->dims.end());
          bind(ConstantNode{data}, Type::tensor(shape, data->dtype));
          break;
        }
        case 3: {
          const ValueId a = pick(), b = pick();
          const ValueId t = bind(MakeTuple{{a, b}}, Type::tuple({f.type(a), f.type(b)}));
          bind(GetItem{t, 1}, f.type(b));
          break;
        }
        case 4: {
          const Type t = Type::tensor({n, below(2) ? k : DimExpr::unknown()}, DType::f32);
          bind(MatchCast{x, t}, t);
          break;
        }
        case 5: {
          const ValueId shape =
              bind(DimsToTensor{{n, 4 * k}, DType::i64, 0}, Type::tensor({2}, DType::i64));
          const std::string s = "s" + std::to_string(shape.index);
          bind(ReadDims{shape, {s, s + "b"}}, Type::tensor({2}, DType::i64));
          break;
        }
        case 6:
          bind(CheckDims{n * k, DimExpr::symbol("q"), "a \"check\""}, Type::object());
          break;
        default: {
          const std::string callee = m.tile_names().front();
          const TileFunction& t = m.tile(callee);
          std::vector<ValueId> args;
          const DimSubstitution to = {{"n", n}, {"m", k}};
          for (const Buffer& b : t.inputs) {
            args.push_back(bind(OpCall{"make", {}, {}}, Type::tensor(b.dims, b.dtype)));
          }
          const Buffer& out = t.outputs.front();
          bind(TileCall{callee, args, {n, k}}, Type::tensor(out.dims, out.dtype).substitute(to));
        }
      }
    }
    f.results = {pick(), pick()};
    if (below(2)) f.result_names = {"logits", "odd\tresult"};
    return f;
  }

  std::mt19937 engine_;
  std::map<std::string, DType> names_;
  std::vector<Buffer> buffers_;
  std::vector<Buffer> outputs_;
  int counter_ = 0;
};

}  // namespace symtile::testing
