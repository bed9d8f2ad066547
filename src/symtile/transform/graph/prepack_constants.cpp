// Lays constant column operands of contractions out in panels at compile time.
//
// B[k, n] (or its transpose) becomes B[n // kPanel, k, n % kPanel], zero beyond the last column:
// the order in which the contraction template reads it, on every CPU, so no run ever packs a
// weight. The kernel's body changes with it, so the module still means the same.
#include <algorithm>
#include <unordered_map>

#include "symtile/pass/pass.h"
#include "symtile/transform/graph_utils.h"
#include "symtile/transform/tile/contraction.h"
#include "symtile/transform/tile/results.h"

namespace symtile {
namespace {

struct Operand {
  int input;          ///< position among the kernel's inputs
  size_t k_at, n_at;  ///< the dimensions of B's rows and columns; all others have extent 1
  bool transposed() const { return n_at < k_at; }
};

/// The constant-to-be: a bare load of a matrix at [k, n] or [n, k], unit dimensions aside.
std::optional<Operand> packable(const TileFunction& f) {
  const auto joined = join_results(f);
  const auto form = compute_form(f), matched = joined ? compute_form(*joined) : form;
  const auto c = matched ? match_contraction(squeeze_unit_axes(*matched), f.facts) : std::nullopt;
  if (!c || c->packed || c->cols.size() != 1 || c->k.size() != 1) return std::nullopt;
  const auto* l = c->col_operand.as<Load>();
  if (!l) return std::nullopt;
  std::optional<size_t> k_at, n_at;
  for (size_t i = 0; i < l->indices.size(); ++i) {
    const auto* v = l->indices[i].as<VarRef>();
    if (v && v->name == c->k[0].name && !k_at) {
      k_at = i;
    } else if (v && v->name == c->cols[0].name && !n_at) {
      n_at = i;
    } else if (!l->indices[i].is_int(0)) {
      return std::nullopt;
    }
  }
  if (!k_at || !n_at) return std::nullopt;
  for (size_t i = 0; i < f.inputs.size(); ++i) {
    if (f.inputs[i].name != l->buffer) continue;
    // The product must be the only reader.
    int readers = 0;
    for (const ComputeStmt& stage : form->stages) {
      for (const Load* other : loads_of(stage.value)) readers += other->buffer == l->buffer;
    }
    if (readers != 1 || f.inputs[i].dims.size() != l->indices.size()) return std::nullopt;
    for (size_t d = 0; d < l->indices.size(); ++d) {
      if (d != *k_at && d != *n_at && !f.inputs[i].dims[d].is_const(1)) return std::nullopt;
    }
    return Operand{static_cast<int>(i), *k_at, *n_at};
  }
  return std::nullopt;
}

TileFunction packed_kernel(TileFunction f, const Operand& operand) {
  Buffer& b = f.inputs[static_cast<size_t>(operand.input)];
  const DimExpr k = b.dims[operand.k_at], n = b.dims[operand.n_at];
  b.dims = {ceildiv(n, kPanel), k, DimExpr(kPanel)};
  f.body = rewrite(f.body, nullptr, [&](const Expr& root) {
    return rewrite(root, [&](const Expr& e) {
      const auto* l = e.as<Load>();
      if (!l || l->buffer != b.name) return e;
      const Expr row = l->indices[operand.k_at], column = l->indices[operand.n_at];
      return load(l->buffer, l->dtype,
                  {floordiv(column, Expr(kPanel)), row, floormod(column, Expr(kPanel))});
    });
  });
  return f;
}

Constant pack(const ConstantData& source, const Operand& operand) {
  const int64_t k = source.dims[operand.k_at], n = source.dims[operand.n_at];
  const bool transposed = operand.transposed();
  const int64_t panels = (n + kPanel - 1) / kPanel;
  auto out = make_zeros(source.dtype, {panels, k, kPanel});
  const auto size = static_cast<size_t>(size_of(source.dtype));
  for (int64_t row = 0; row < k; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      const int64_t from = transposed ? column * k + row : row * n + column;
      const int64_t to = (column / kPanel * k + row) * kPanel + column % kPanel;
      std::copy_n(
          source.bytes.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(from) * size),
          size, out->bytes.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(to) * size));
    }
  }
  return out;
}

class Prepacker {
 public:
  explicit Prepacker(Module& module) : module_(module) {}

  void run(GraphFunction& f) {
    // Bindings are moved away as they are passed: their constants are kept here.
    std::unordered_map<int32_t, Constant> constants;
    std::vector<Binding> out;
    std::map<std::pair<int32_t, bool>, ValueId> packed;
    std::vector<Binding> bindings = std::move(f.bindings);
    f.bindings.clear();
    for (Binding& b : bindings) {
      auto* call = std::get_if<TileCall>(&b.node);
      const auto operand = call ? packable(module_.tile(call->callee)) : std::nullopt;
      if (operand) {
        ValueId& weight = call->args[static_cast<size_t>(operand->input)];
        const auto known = constants.find(weight.index);
        const Constant data = known == constants.end() ? nullptr : known->second;
        if (data) {
          ValueId& replacement = packed[{weight.index, operand->transposed()}];
          if (!replacement.valid()) {
            Constant panels = pack(*data, *operand);
            Dims dims(panels->dims.begin(), panels->dims.end());
            replacement =
                f.add_value(f.value(weight).name + "_panels", Type::tensor(dims, panels->dtype));
            out.push_back({replacement, ConstantNode{panels}, b.location});
          }
          weight = replacement;
          call->callee = kernel_for(call->callee, *operand);
        }
      }
      if (const auto* c = std::get_if<ConstantNode>(&b.node)) constants[b.result.index] = c->data;
      out.push_back(std::move(b));
    }
    f.bindings = std::move(out);
  }

 private:
  std::string kernel_for(const std::string& name, const Operand& operand) {
    std::string& packed = kernels_[name];
    if (packed.empty()) {
      TileFunction f = packed_kernel(module_.tile(name), operand);
      packed = f.name = module_.fresh_name(name + "_packed");
      module_.add(std::move(f));
    }
    return packed;
  }

  Module& module_;
  std::unordered_map<std::string, std::string> kernels_;
};

}  // namespace

void prepack_constants(Module& module, PassContext&) {
  Prepacker prepacker(module);
  for (const std::string& name : module.graph_names()) {
    GraphFunction f = module.graph(name);
    prepacker.run(f);
    module.graph(name) = std::move(f);
  }
}

}  // namespace symtile
