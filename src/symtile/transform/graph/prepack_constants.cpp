// Lays constant operands of contractions out at compile time in the order in which the contraction
// template reads them, on every CPU, so no run ever packs a weight.
//
// A column operand B[k, n] (or its transpose) becomes panels B[n // kPanel, k, n % kPanel], a row
// operand A[m, k..] becomes strips A[m // kStrip, k, m % kStrip], zero beyond the last column or
// row. The kernel's body changes with it, so the module still means the same.
#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "symtile/pass/pass.h"
#include "symtile/transform/graph_utils.h"
#include "symtile/transform/tile/contraction.h"
#include "symtile/transform/tile/results.h"

namespace symtile {
namespace {

/// A constant-to-be: its dimension `lane_at` is cut into parts of `width`, all others are one.
struct Operand {
  int input;  ///< position among the kernel's inputs
  size_t lane_at;
  int64_t width;
};

/// The input that `operand` is a bare load of, at `lane` in one dimension and at the reduction
/// axes, in order, in the others (unit dimensions aside); nothing else reads it.
std::optional<Operand> packable(const TileFunction& f, const ComputeForm& form, const Expr& operand,
                                const std::string& lane, const std::vector<Axis>& k,
                                int64_t width) {
  const auto* l = operand.as<Load>();
  if (!l) return std::nullopt;
  std::optional<size_t> lane_at;
  size_t next = 0;
  for (size_t i = 0; i < l->indices.size(); ++i) {
    const auto* v = l->indices[i].as<VarRef>();
    if (v && v->name == lane && !lane_at) {
      lane_at = i;
    } else if (v && next < k.size() && v->name == k[next].name) {
      ++next;
    } else if (!l->indices[i].is_int(0)) {
      return std::nullopt;
    }
  }
  if (!lane_at || next != k.size()) return std::nullopt;
  for (size_t i = 0; i < f.inputs.size(); ++i) {
    const Buffer& buffer = f.inputs[i];
    if (buffer.name != l->buffer) continue;
    // However often the sum stands in the value (twice in a GELU), its matrix is read once.
    int inside = 0, outside = 0;
    const Expr rest = rewrite(form.stages[0].value, [&](const Expr& e) {
      return e.as<ReduceExpr>() ? imm(e.dtype(), 0) : e;
    });
    for (const Load* other : loads_of(only_reduction(form.stages[0].value)))
      inside += other->buffer == l->buffer;
    for (const Load* other : loads_of(rest)) outside += other->buffer == l->buffer;
    if (inside != 1 || outside != 0 || buffer.dims.size() != l->indices.size()) return std::nullopt;
    for (size_t d = 0; d < l->indices.size(); ++d) {
      if (l->indices[d].is_int(0) && !buffer.dims[d].is_const(1)) return std::nullopt;
    }
    return Operand{static_cast<int>(i), *lane_at, width};
  }
  return std::nullopt;
}

std::vector<Operand> packable(const TileFunction& f) {
  const auto joined = join_results(f);
  const auto matched = joined ? compute_form(*joined) : compute_form(f);
  const auto c = matched ? match_contraction(squeeze_unit_axes(*matched), f.facts) : std::nullopt;
  std::vector<Operand> out;
  if (!c) return out;
  if (!c->packed && c->cols.size() == 1 && c->k.size() == 1) {
    if (const auto b = packable(f, *matched, c->col_operand, c->cols[0].name, c->k, kPanel))
      out.push_back(*b);
  }
  // Fewer rows than a strip would be padded to more than they are.
  const bool fills_strips =
      c->rows.size() == 1 && c->rows[0].extent.as_const().value_or(0) >= kStrip;
  if (!c->strips && fills_strips && is_float(c->sum.dtype()) &&
      c->row_operand.dtype() == c->sum.dtype()) {
    if (const auto a = packable(f, *matched, c->row_operand, c->rows[0].name, c->k, kStrip))
      out.push_back(*a);
  }
  return out;
}

TileFunction packed_kernel(TileFunction f, const Operand& operand) {
  Buffer& b = f.inputs[static_cast<size_t>(operand.input)];
  const Dims dims = b.dims;
  DimExpr others = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (d != operand.lane_at) others *= dims[d];
  }
  b.dims = {ceildiv(dims[operand.lane_at], operand.width), others, DimExpr(operand.width)};
  f.body = rewrite(f.body, nullptr, [&](const Expr& root) {
    return rewrite(root, [&](const Expr& e) {
      const auto* l = e.as<Load>();
      if (!l || l->buffer != b.name) return e;
      Expr flat = 0;
      for (size_t d = 0; d < dims.size(); ++d) {
        if (d != operand.lane_at) flat = flat * to_expr(dims[d]) + l->indices[d];
      }
      const Expr lane = l->indices[operand.lane_at], width(operand.width);
      return load(l->buffer, l->dtype, {floordiv(lane, width), flat, floormod(lane, width)});
    });
  });
  return f;
}

Constant pack(const ConstantData& source, const Operand& operand) {
  const int64_t lanes = source.dims[operand.lane_at], width = operand.width;
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < source.dims.size(); ++d) {
    if (d < operand.lane_at) outer *= source.dims[d];
    if (d > operand.lane_at) inner *= source.dims[d];
  }
  const int64_t parts = (lanes + width - 1) / width;
  auto out = make_zeros(source.dtype, {parts, outer * inner, width});
  const auto size = static_cast<std::ptrdiff_t>(size_of(source.dtype));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t lane = 0; lane < lanes; ++lane) {
      for (int64_t i = 0; i < inner; ++i) {
        const int64_t from = (o * lanes + lane) * inner + i;
        const int64_t to = (lane / width * (outer * inner) + o * inner + i) * width + lane % width;
        std::copy_n(source.bytes.begin() + from * size, size, out->bytes.begin() + to * size);
      }
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
    std::map<std::tuple<int32_t, size_t, int64_t>, ValueId> packed;
    std::vector<Binding> bindings = std::move(f.bindings);
    f.bindings.clear();
    for (Binding& b : bindings) {
      auto* call = std::get_if<TileCall>(&b.node);
      const std::vector<Operand> operands =
          call ? packable(module_.tile(call->callee)) : std::vector<Operand>{};
      for (const Operand& operand : operands) {
        ValueId& weight = call->args[static_cast<size_t>(operand.input)];
        const auto known = constants.find(weight.index);
        if (known == constants.end() || !known->second) continue;
        ValueId& replacement = packed[{weight.index, operand.lane_at, operand.width}];
        if (!replacement.valid()) {
          Constant parts = pack(*known->second, operand);
          Dims dims(parts->dims.begin(), parts->dims.end());
          const char* kind = operand.width == kPanel ? "_panels" : "_strips";
          replacement = f.add_value(f.value(weight).name + kind, Type::tensor(dims, parts->dtype));
          out.push_back({replacement, ConstantNode{parts}, b.location});
        }
        weight = replacement;
        call->callee = kernel_for(call->callee, operand);
      }
      if (const auto* c = std::get_if<ConstantNode>(&b.node)) constants[b.result.index] = c->data;
      out.push_back(std::move(b));
    }
    f.bindings = std::move(out);
  }

 private:
  std::string kernel_for(const std::string& name, const Operand& operand) {
    std::string& packed = kernels_[{name, operand.input, operand.width}];
    if (packed.empty()) {
      TileFunction f = packed_kernel(module_.tile(name), operand);
      packed = f.name = module_.fresh_name(name + "_packed");
      module_.add(std::move(f));
    }
    return packed;
  }

  Module& module_;
  std::map<std::tuple<std::string, int, int64_t>, std::string> kernels_;
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
