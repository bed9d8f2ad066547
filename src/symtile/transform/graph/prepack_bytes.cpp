// Lays constant 8-bit operands of integer products out in words of four, at compile time.
//
//   columns  B[k, n] (or its transpose)  ->  W[n // kPanel, k // 4, n % kPanel]
//   rows     A[.., k, ..]                ->  W[.., k // 4, ..]      (k: the first reduction axis)
// Words hold signed bytes: u8 constants are stored less 128, and the kernel adds it. The kernel
// takes bytes out of words (transform/tile/packed_words.h), so the module still means the same.
#include <algorithm>
#include <unordered_map>

#include "symtile/pass/pass.h"
#include "symtile/transform/graph_utils.h"
#include "symtile/transform/tile/contraction.h"
#include "symtile/transform/tile/packed_words.h"

namespace symtile {
namespace {

constexpr int64_t kUnsignedShift = 128;
/// Of fewer elements along the reduction most of a word would be empty.
constexpr int64_t kFewestElements = 3;

struct Operand {
  int input = 0;  ///< position among the kernel's inputs
  size_t k_at = 0;
  std::optional<size_t> n_at;  ///< columns: in panels along this dimension
};

/// The one load of 8-bit numbers in `e`, a sum of it and zero points.
const Load* bytes_in(const Expr& e) {
  if (const auto* n = e.as<BinaryExpr>())
    return n->op == BinaryOp::sub || n->op == BinaryOp::add ? bytes_in(n->a) : nullptr;
  const auto* c = e.as<CastExpr>();
  const auto* l = c && c->dtype == DType::i32 ? c->a.as<Load>() : nullptr;
  return l && (l->dtype == DType::i8 || l->dtype == DType::u8) ? l : nullptr;
}

bool is_axis(const Expr& e, const std::string& name) {
  const auto* v = e.as<VarRef>();
  return v && v->name == name;
}

std::optional<Operand> operand_of(const TileFunction& f, const ComputeForm& form,
                                  const Contraction& c, bool columns) {
  const Load* l = bytes_in(columns ? c.col_operand : c.row_operand);
  if (!l) return std::nullopt;
  const auto input = std::find_if(f.inputs.begin(), f.inputs.end(),
                                  [&](const Buffer& b) { return b.name == l->buffer; });
  if (input == f.inputs.end() || input->dims.size() != l->indices.size()) return std::nullopt;
  int readers = 0;
  for (const Load* other : loads_of(form.stages[0].value)) readers += other->buffer == l->buffer;
  if (readers != 1) return std::nullopt;
  Operand out{static_cast<int>(input - f.inputs.begin()), 0, {}};
  const std::string& k = c.k.front().name;
  int of_k = 0;
  for (size_t i = 0; i < l->indices.size(); ++i) {
    if (!depends_on(l->indices[i], k)) continue;
    if (!is_axis(l->indices[i], k)) return std::nullopt;
    out.k_at = i;
    ++of_k;
  }
  const auto extent = input->dims[out.k_at].as_const();
  if (of_k != 1 || !extent || *extent < kFewestElements) return std::nullopt;
  if (!columns) return out;
  if (c.cols.size() != 1 || c.k.size() != 1) return std::nullopt;
  for (size_t i = 0; i < l->indices.size(); ++i) {
    if (i == out.k_at) continue;
    if (is_axis(l->indices[i], c.cols[0].name) && !out.n_at) {
      out.n_at = i;
    } else if (!l->indices[i].is_int(0) || !input->dims[i].is_const(1)) {
      return std::nullopt;
    }
  }
  return out.n_at ? std::optional(out) : std::nullopt;
}

std::vector<Operand> packable(const TileFunction& f) {
  const auto form = compute_form(f);
  const auto c = form ? match_contraction(squeeze_unit_axes(*form), f.facts) : std::nullopt;
  std::vector<Operand> out;
  if (!c || c->sum.dtype() != DType::i32) return out;
  for (const bool columns : {true, false}) {
    if (const auto operand = operand_of(f, *form, *c, columns)) out.push_back(*operand);
  }
  return out;
}

TileFunction word_kernel(TileFunction f, const Operand& o) {
  Buffer& b = f.inputs[static_cast<size_t>(o.input)];
  const DType was = b.dtype;
  const DimExpr words = ceildiv(b.dims[o.k_at], kBytesOfWord);
  if (o.n_at) {
    b.dims = {ceildiv(b.dims[*o.n_at], kPanel), words, DimExpr(kPanel)};
  } else {
    b.dims[o.k_at] = words;
  }
  b.dtype = DType::i32;
  const auto byte = [&](const Load& l) {
    const Expr k = l.indices[o.k_at], word = floordiv(k, Expr(kBytesOfWord));
    std::vector<Expr> at = l.indices;
    at[o.k_at] = word;
    if (o.n_at) {
      const Expr n = l.indices[*o.n_at];
      at = {floordiv(n, Expr(kPanel)), word, floormod(n, Expr(kPanel))};
    }
    return cast(DType::i32, byte_in_word(load(l.buffer, DType::i32, std::move(at)), k));
  };
  f.body = rewrite(f.body, nullptr, [&](const Expr& root) {
    return rewrite(root, [&](const Expr& e) {
      const auto* c = e.as<CastExpr>();
      const auto* l = c ? c->a.as<Load>() : nullptr;
      if (!l || l->buffer != b.name || l->dtype != was) return e;
      return was == DType::u8 ? byte(*l) + int_imm(DType::i32, kUnsignedShift) : byte(*l);
    });
  });
  return f;
}

Constant pack(const ConstantData& source, const Operand& o) {
  std::vector<int64_t> dims = source.dims;
  const int64_t words = (dims[o.k_at] + kBytesOfWord - 1) / kBytesOfWord;
  if (o.n_at) {
    dims = {(source.dims[*o.n_at] + kPanel - 1) / kPanel, words, kPanel};
  } else {
    dims[o.k_at] = words;
  }
  auto out = make_zeros(DType::i32, dims);
  const int64_t shift = source.dtype == DType::u8 ? kUnsignedShift : 0;
  std::vector<int64_t> at(source.dims.size(), 0);
  for (int64_t from = 0; from < source.element_count(); ++from) {
    std::vector<int64_t> place = at;
    place[o.k_at] /= kBytesOfWord;
    if (o.n_at) {
      const int64_t n = at[*o.n_at];
      place = {n / kPanel, place[o.k_at], n % kPanel};
    }
    int64_t to = 0;
    for (size_t d = 0; d < dims.size(); ++d) to = to * dims[d] + place[d];
    // Words are in memory order, little-endian as everything in the artifact.
    const auto byte = static_cast<size_t>(to * kBytesOfWord + at[o.k_at] % kBytesOfWord);
    out->bytes[byte] = static_cast<std::byte>(source.as_int(from) - shift);
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < source.dims[d]) break;
      at[d] = 0;
    }
  }
  return out;
}

class Prepacker {
 public:
  explicit Prepacker(Module& module) : module_(module) {}

  void run(GraphFunction& f) {
    std::unordered_map<int32_t, Constant> constants;
    std::map<std::tuple<int32_t, size_t, bool>, ValueId> packed;
    std::vector<Binding> bindings = std::move(f.bindings), out;
    f.bindings.clear();
    for (Binding& b : bindings) {
      if (auto* call = std::get_if<TileCall>(&b.node)) {
        for (const Operand& o : packable(module_.tile(call->callee))) {
          ValueId& weight = call->args[static_cast<size_t>(o.input)];
          const auto known = constants.find(weight.index);
          if (known == constants.end()) continue;
          ValueId& words = packed[{weight.index, o.k_at, o.n_at.has_value()}];
          if (!words.valid()) {
            const Constant data = pack(*known->second, o);
            words =
                f.add_value(f.value(weight).name + "_words",
                            Type::tensor(Dims(data->dims.begin(), data->dims.end()), DType::i32));
            out.push_back({words, ConstantNode{data}, b.location});
          }
          weight = words;
          call->callee = kernel_for(call->callee, o);
        }
      }
      if (const auto* c = std::get_if<ConstantNode>(&b.node)) constants[b.result.index] = c->data;
      out.push_back(std::move(b));
    }
    f.bindings = std::move(out);
  }

 private:
  std::string kernel_for(const std::string& name, const Operand& o) {
    std::string& made = kernels_[{name, o.input}];
    if (made.empty()) {
      TileFunction f = word_kernel(module_.tile(name), o);
      made = f.name = module_.fresh_name(name + "_words");
      module_.add(std::move(f));
    }
    return made;
  }

  Module& module_;
  std::map<std::pair<std::string, int>, std::string> kernels_;
};

}  // namespace

void prepack_bytes(Module& module, PassContext&) {
  Prepacker prepacker(module);
  for (const std::string& name : module.graph_names()) {
    GraphFunction f = module.graph(name);
    prepacker.run(f);
    module.graph(name) = std::move(f);
  }
}

}  // namespace symtile
