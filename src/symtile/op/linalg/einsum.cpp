// einsum: sum of products over labelled axes, "ab,bc->ac". Letters name axes whose extents agree;
// digits name axes that broadcast (the importer expands an ellipsis to digits). Labels that the
// result does not have are summed; a label twice in one operand takes its diagonal.
// Spec: ONNX Einsum, numpy.einsum. The importer turns what is a matmul into one.
#include <cctype>
#include <set>

#include "symtile/op/linalg/contract.h"
#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

struct Equation {
  std::vector<std::string> operands;
  std::string result;
  std::string summed;  ///< labels of the operands that the result lacks, in order of appearance
};

Equation parse(const std::string& text) {
  Equation e;
  const size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  e.result = arrow == std::string::npos ? "" : text.substr(arrow + 2);
  e.operands.emplace_back();
  for (const char ch : left) {
    if (ch == ',') {
      e.operands.emplace_back();
      continue;
    }
    e.operands.back() += ch;
    if (e.result.find(ch) == std::string::npos && e.summed.find(ch) == std::string::npos) {
      e.summed += ch;
    }
  }
  return e;
}

bool broadcasts(char label) { return std::isdigit(static_cast<unsigned char>(label)) != 0; }

/// Extent of every label, in symbols.
std::map<char, DimExpr> label_extents(const Equation& e, const std::vector<Dims>& operands,
                                      DeduceContext* c) {
  std::map<char, DimExpr> extents;
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t k = 0; k < operands[i].size(); ++k) {
      const char label = e.operands[i][k];
      const DimExpr& d = operands[i][k];
      const auto [at, fresh] = extents.emplace(label, d);
      if (fresh) continue;
      if (broadcasts(label)) {
        if (c != nullptr) at->second = broadcast_dims(*c, {at->second}, {d})[0];
      } else if (c != nullptr) {
        at->second =
            c->require_equal(at->second, d, fmt::format("the extent of label '{}'", label));
      }
    }
  }
  return extents;
}

std::vector<Type> deduce(DeduceContext& c) {
  const std::string text = c.attrs().get_text("equation");
  const Equation e = parse(text);
  c.require_dtype(0, is_number, "a number type");
  if (static_cast<int>(e.operands.size()) != c.num_args()) {
    c.fail(DiagId::bad_attribute, "equation '{}' has {} operands, the call has {}", text,
           e.operands.size(), c.num_args());
  }
  std::set<char> known;
  std::vector<Dims> dims;
  for (int i = 0; i < c.num_args(); ++i) {
    const std::string& labels = e.operands[static_cast<size_t>(i)];
    for (const char label : labels) {
      if (std::isalnum(static_cast<unsigned char>(label)) == 0) {
        c.fail(DiagId::bad_attribute, "label '{}' in equation '{}' is not a letter or digit", label,
               text);
      }
      known.insert(label);
    }
    const int rank = static_cast<int>(labels.size());
    c.require_same_dtype(0, i);
    c.require_rank(i, rank, rank);
    dims.push_back(c.rank_known(i) ? c.dims(i) : Dims(labels.size(), DimExpr::unknown()));
  }
  const std::map<char, DimExpr> extents = label_extents(e, dims, &c);
  Dims out;
  for (size_t k = 0; k < e.result.size(); ++k) {
    const char label = e.result[k];
    if (known.count(label) == 0 || e.result.find(label) != k) {
      c.fail(DiagId::bad_attribute, "label '{}' of the result in '{}' is unknown or repeated",
             label, text);
    }
    out.push_back(extents.at(label));
  }
  return {Type::tensor(std::move(out), c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const Equation e = parse(c.attrs().get_text("equation"));
  std::map<char, int64_t> extents;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    for (size_t k = 0; k < e.operands[i].size(); ++k) {
      const int64_t d = c.inputs[i]->dims[k];
      const auto [at, fresh] = extents.emplace(e.operands[i][k], d);
      if (!fresh && at->second == 1) at->second = d;
    }
  }
  std::vector<int64_t> dims, summed;
  for (const char label : e.result) dims.push_back(extents.at(label));
  for (const char label : e.summed) summed.push_back(extents.at(label));
  const bool real = is_float(c.in(0).dtype);
  RefTensor& out = c.out(c.in(0).dtype, dims);
  int64_t to = 0;
  std::map<char, int64_t> value;
  for_each_index(dims, [&](const std::vector<int64_t>& index) {
    for (size_t k = 0; k < index.size(); ++k) value[e.result[k]] = index[k];
    double sum = 0;
    uint64_t wrapped = 0;
    for_each_index(summed, [&](const std::vector<int64_t>& inner) {
      for (size_t k = 0; k < inner.size(); ++k) value[e.summed[k]] = inner[k];
      double factor = 1;
      uint64_t integer = 1;
      for (size_t i = 0; i < c.inputs.size(); ++i) {
        const RefTensor& x = *c.inputs[i];
        std::vector<int64_t> at;
        for (const char label : e.operands[i]) at.push_back(value[label]);
        const int64_t from = broadcast_offset(x.dims, at);
        if (real) {
          factor *= x.as_double(from);
        } else {
          integer *= static_cast<uint64_t>(x.as_int(from));
        }
      }
      sum += factor;
      wrapped += integer;
    });
    if (real) {
      out.set(to++, sum);
    } else {
      out.set_int(to++, static_cast<int64_t>(wrapped));
    }
  });
}

void lower(LowerContext& c) {
  const Equation e = parse(c.attrs().get_text("equation"));
  const DType acc = accumulation_type(c.out_dtype());
  std::vector<Dims> dims;
  for (int i = 0; i < c.num_args(); ++i) dims.push_back(c.in(i).dims());
  std::map<char, DimExpr> extents = label_extents(e, dims, nullptr);
  // A broadcast label has the result's extent, or the largest one when it is summed.
  for (size_t i = 0; i < dims.size(); ++i) {
    for (size_t k = 0; k < dims[i].size(); ++k) {
      DimExpr& extent = extents.at(e.operands[i][k]);
      const DimExpr& d = dims[i][k];
      if (extent.is_const(1)) {
        extent = d;
      } else if (broadcasts(e.operands[i][k]) && extent != d && !d.is_const(1)) {
        extent = max(extent, d) * min(min(extent, d), 1);
      }
    }
  }
  for (size_t k = 0; k < e.result.size(); ++k) extents[e.result[k]] = c.out_dims()[k];
  c.compute(0, [&](const Index& index) {
    std::map<char, Expr> value;
    for (size_t k = 0; k < e.result.size(); ++k) value[e.result[k]] = index[k];
    const auto product_at = [&](const Index& inner) {
      for (size_t k = 0; k < inner.size(); ++k) value[e.summed[k]] = inner[k];
      Expr factor;
      for (int i = 0; i < c.num_args(); ++i) {
        const auto a = static_cast<size_t>(i);
        Index at;
        for (size_t k = 0; k < dims[a].size(); ++k) {
          const char label = e.operands[a][k];
          const Expr& v = value.at(label);
          at.push_back(
              broadcasts(label) ? broadcast_index(c.facts(), dims[a][k], extents.at(label), v) : v);
        }
        const Expr x = cast(acc, c.in(i)(at));
        factor = factor.defined() ? factor * x : x;
      }
      return factor;
    };
    if (e.summed.empty()) return cast(c.out_dtype(), product_at({}));
    std::vector<Axis> axes;
    for (const char label : e.summed) axes.push_back(c.axis(std::string("k"), extents.at(label)));
    return cast(c.out_dtype(), reduce_over(ReduceKind::sum, axes, product_at));
  });
}

std::vector<OpSample> samples() {
  const auto equation = [](const char* text) {
    return Attributes{{"equation", std::string(text)}};
  };
  return {
      make_sample({f32_tensor({3, 4}), f32_tensor({4, 5})}, equation("ab,bc->ac")),
      make_sample({f32_tensor({2, sym("i"), sym("j")}), f32_tensor({2, sym("j")})},
                  equation("0ij,0j->0i"), {{"i", 3}, {"j", 17}}),
      make_sample({f32_tensor({1, sym("n"), 3}), f32_tensor({4, sym("n"), 3})},
                  equation("0ni,0ni->n"), {{"n", 5}}),
      make_sample({f32_tensor({sym("n"), 3, 3})}, equation("aii->ai"), {{"n", 4}}),
      make_sample({Type::tensor({3, 0}, DType::i32)}, equation("ab->a")),
      make_sample({f32_tensor({2}), f32_tensor({3}), f32_tensor({4})}, equation("a,b,c->cab")),
  };
}

}  // namespace

extern const OpRecord einsum_op;
const OpRecord einsum_op = {
    .name = "einsum",
    .min_args = 1,
    .max_args = -1,
    .attrs = {{"equation", AttrSpec::Kind::text, true}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
