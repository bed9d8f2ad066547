// Lays constant column operands of contractions out in panels at compile time.
//
// B[k, n] (or its transpose) becomes B[n // kPanel, k, n % kPanel], zero beyond the last column:
// the order in which the contraction template reads it, on every CPU, so no run ever packs a
// weight. The kernel's body changes with it, so the module still means the same.
#include <unordered_map>

#include "symtile/pass/pass.h"
#include "symtile/transform/graph_utils.h"
#include "symtile/transform/tile/contraction.h"

namespace symtile {
namespace {

struct Operand {
  int input;        ///< position among the kernel's inputs
  bool transposed;  ///< stored as [n, k]
};

/// The constant-to-be: a bare load of a matrix at [k, n] or [n, k].
std::optional<Operand> packable(const TileFunction& f) {
  const auto form = compute_form(f);
  const auto c = form ? match_contraction(*form, f.facts) : std::nullopt;
  if (!c || c->packed || c->cols.size() != 1 || c->k.size() != 1) return std::nullopt;
  const auto* l = c->col_operand.as<Load>();
  if (!l || l->indices.size() != 2) return std::nullopt;
  const auto* first = l->indices[0].as<VarRef>();
  const auto* second = l->indices[1].as<VarRef>();
  if (!first || !second) return std::nullopt;
  const std::string &k = c->k[0].name, &n = c->cols[0].name;
  const bool straight = first->name == k && second->name == n, transposed = first->name == n && second->name == k;
  if (!straight && !transposed) return std::nullopt;
  for (size_t i = 0; i < f.inputs.size(); ++i) {
    if (f.inputs[i].name != l->buffer) continue;
    // Every read of the buffer must be this one.
    for (const Load* other : loads_of(form->stages[0].value)) {
      if (other->buffer == l->buffer && !structurally_equal(load("_", DType::f32, other->indices), load("_", DType::f32, l->indices))) {
        return std::nullopt;
      }
    }
    return Operand{static_cast<int>(i), transposed};
  }
  return std::nullopt;
}

TileFunction packed_kernel(TileFunction f, const Operand& operand) {
  Buffer& b = f.inputs[static_cast<size_t>(operand.input)];
  const DimExpr k = b.dims[operand.transposed ? 1 : 0], n = b.dims[operand.transposed ? 0 : 1];
  b.dims = {ceildiv(n, kPanel), k, DimExpr(kPanel)};
  f.body = rewrite(f.body, nullptr, [&](const Expr& root) {
    return rewrite(root, [&](const Expr& e) {
      const auto* l = e.as<Load>();
      if (!l || l->buffer != b.name) return e;
      const Expr row = l->indices[operand.transposed ? 1 : 0], column = l->indices[operand.transposed ? 0 : 1];
      return load(l->buffer, l->dtype, {floordiv(column, Expr(kPanel)), row, floormod(column, Expr(kPanel))});
    });
  });
  return f;
}

Constant pack(const ConstantData& source, bool transposed) {
  const int64_t k = source.dims[transposed ? 1 : 0], n = source.dims[transposed ? 0 : 1];
  const int64_t panels = (n + kPanel - 1) / kPanel;
  auto out = make_zeros(source.dtype, {panels, k, kPanel});
  const auto size = static_cast<size_t>(size_of(source.dtype));
  for (int64_t row = 0; row < k; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      const int64_t from = transposed ? column * k + row : row * n + column;
      const int64_t to = (column / kPanel * k + row) * kPanel + column % kPanel;
      std::copy_n(source.bytes.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(from) * size), size,
                  out->bytes.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(to) * size));
    }
  }
  return out;
}

class Prepacker {
 public:
  explicit Prepacker(Module& module) : module_(module) {}

  void run(GraphFunction& f) {
    const std::vector<int> defs = defining_bindings(f);
    std::vector<Binding> out;
    std::map<std::pair<int32_t, bool>, ValueId> packed;
    std::vector<Binding> bindings = std::move(f.bindings);
    f.bindings.clear();
    for (Binding& b : bindings) {
      auto* call = std::get_if<TileCall>(&b.node);
      const auto operand = call ? packable(module_.tile(call->callee)) : std::nullopt;
      if (operand) {
        ValueId& weight = call->args[static_cast<size_t>(operand->input)];
        const Constant data = constant_in(bindings, defs, weight);
        if (data && data->dims.size() == 2) {
          ValueId& replacement = packed[{weight.index, operand->transposed}];
          if (!replacement.valid()) {
            Constant panels = pack(*data, operand->transposed);
            Dims dims(panels->dims.begin(), panels->dims.end());
            replacement = f.add_value(f.value(weight).name + "_panels", Type::tensor(dims, panels->dtype));
            out.push_back({replacement, ConstantNode{panels}, b.location});
          }
          weight = replacement;
          call->callee = kernel_for(call->callee, *operand);
        }
      }
      out.push_back(std::move(b));
    }
    f.bindings = std::move(out);
  }

 private:
  static Constant constant_in(const std::vector<Binding>& bindings, const std::vector<int>& defs, ValueId id) {
    const int def = static_cast<size_t>(id.index) < defs.size() ? defs[static_cast<size_t>(id.index)] : -1;
    const auto* node = def >= 0 ? std::get_if<ConstantNode>(&bindings[static_cast<size_t>(def)].node) : nullptr;
    return node ? node->data : nullptr;
  }

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
