// The helpers that every importer shares, in terms of the virtual interface.
#include "symtile/frontend/onnx/import_context.h"

#include <algorithm>

namespace symtile::onnx_import {

int ImportContext::rank(int i) {
  if (!has(i)) fail(DiagId::bad_model_file, "it has no input {}, which is required", i);
  const Type& t = type(i);
  if (!t.is_tensor() || !t.has_rank()) {
    fail(DiagId::unsupported,
         "the rank of its input {} is not known before run time (it is {}): it comes from an 'If' "
         "or a "
         "loop whose results differ in rank",
         i, t.str());
  }
  return t.rank();
}

const Dims& ImportContext::dims(int i) {
  (void)rank(i);
  return *type(i).dims;
}

std::vector<int64_t> ImportContext::require_ints(int i, const char* what) {
  if (!has(i)) fail(DiagId::bad_model_file, "it has no input {} ({}), which is required", i, what);
  std::vector<int64_t> out;
  if (const auto formulas = dims_value(i)) {
    for (const DimExpr& d : *formulas) {
      const auto n = facts().simplify(d).as_const();
      if (!n)
        fail(DiagId::unsupported, "{} must be constant, but depend on the dimension {}", what,
             d.str());
      out.push_back(*n);
    }
    return out;
  }
  const Constant data = constant(i);
  if (!data) fail(DiagId::unsupported, "{} must be constant, but are computed at run time", what);
  if (is_float(data->dtype)) {
    fail(DiagId::type_mismatch, "{} must be integers, but are {}", what, name_of(data->dtype));
  }
  for (int64_t k = 0; k < data->element_count(); ++k) out.push_back(data->as_int(k));
  return out;
}

ValueId ImportContext::reshape(ValueId x, Dims dims) {
  const Type& t = build().type(x);
  if (t.has_rank() && *t.dims == dims &&
      std::none_of(dims.begin(), dims.end(), [](const DimExpr& d) { return d.is_unknown(); })) {
    return x;
  }
  return call("reshape", {x}, {{"shape", std::move(dims)}});
}

ValueId ImportContext::cast(ValueId x, DType dtype) {
  return build().type(x).dtype == dtype ? x : call("cast", {x}, {{"to", dtype}});
}

ValueId ImportContext::transpose(ValueId x, std::vector<int64_t> perm) {
  // Only 0, 1, ..., rank - 1 moves nothing; anything malformed must reach the operator's checks.
  bool identity = build().type(x).rank() == static_cast<int>(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    identity = identity && perm[i] == static_cast<int64_t>(i);
  if (identity) return x;
  return call("transpose", {x}, {{"perm", std::move(perm)}});
}

ValueId ImportContext::unsqueeze(ValueId x, const std::vector<int>& axes) {
  const Type& t = build().type(x);
  if (!t.has_rank())
    fail(DiagId::unsupported, "the rank of its input is not known before run time");
  const size_t rank = static_cast<size_t>(t.rank()) + axes.size();
  std::vector<bool> is_new(rank, false);
  for (const int a : axes) {
    if (a < 0 || static_cast<size_t>(a) >= rank || is_new[static_cast<size_t>(a)]) {
      fail(DiagId::bad_attribute,
           "the axes [{}] are out of range or repeated for a result of rank {}",
           fmt::join(axes, ", "), rank);
    }
    is_new[static_cast<size_t>(a)] = true;
  }
  Dims out;
  size_t next = 0;
  for (size_t k = 0; k < rank; ++k) out.push_back(is_new[k] ? DimExpr(1) : (*t.dims)[next++]);
  return reshape(x, std::move(out));
}

int ImportContext::normalize_axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    fail(DiagId::bad_attribute, "axis {} is out of range for a tensor of rank {}", axis, rank);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace symtile::onnx_import
