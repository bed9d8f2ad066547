// What one ONNX operator's importer sees: the node's inputs, attributes and outputs.
//
// An importer is one function in frontend/onnx/ops/<name>.cpp and one line in ops.def. It reads
// inputs as graph values, as constants, or as dimension formulas (ONNX shape arithmetic is
// evaluated symbolically at import, so `Shape -> Gather -> Concat -> Reshape` never reaches the
// graph), and builds core operators through `build`. No protobuf type appears here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "symtile/op/builder.h"

namespace symtile::onnx_import {

class ImportContext {
 public:
  virtual ~ImportContext() = default;

  virtual const std::string& op_type() const = 0;
  virtual const std::string& node_name() const = 0;
  /// Version of the node's operator set (its domain's opset import).
  virtual int opset() const = 0;
  virtual const Location& location() const = 0;

  // ---- inputs
  virtual int num_inputs() const = 0;
  /// False for an optional input that is absent or has an empty name.
  virtual bool has(int i) const = 0;
  /// The input as a graph value (a value known as formulas is materialised); absent: CHECK.
  virtual ValueId in(int i) = 0;
  /// `in`, or an invalid id when absent.
  ValueId in_or_none(int i) { return has(i) ? in(i) : ValueId{}; }
  virtual const Type& type(int i) = 0;
  DType dtype(int i) { return type(i).dtype; }
  /// Rank of input i; an unknown rank is an `unsupported` diagnostic.
  int rank(int i);
  const Dims& dims(int i);
  /// Contents of a constant input; null otherwise.
  virtual Constant constant(int i) = 0;
  /// Elements of an integer (or bool) tensor of rank 0 or 1 as formulas, when known at import.
  virtual std::optional<Dims> dims_value(int i) = 0;
  /// As dims_value, but an unknown tensor is read at run time into fresh symbols (ReadDims); its
  /// element count must be known, else an `unsupported` diagnostic.
  virtual Dims require_dims(int i) = 0;
  /// As require_dims for a constant list of integers; `unsupported` diagnostic when not constant.
  std::vector<int64_t> require_ints(int i, const char* what);

  // ---- attributes
  virtual bool has_attr(const char* name) const = 0;
  virtual int64_t attr_int(const char* name, int64_t fallback) const = 0;
  virtual double attr_float(const char* name, double fallback) const = 0;
  virtual std::string attr_text(const char* name, const std::string& fallback) const = 0;
  virtual std::vector<int64_t> attr_ints(const char* name, std::vector<int64_t> fallback) const = 0;
  virtual std::vector<double> attr_floats(const char* name, std::vector<double> fallback) const = 0;
  virtual Constant attr_tensor(const char* name) const = 0;  ///< null when absent
  /// The ONNX TensorProto data type number as a DType; `unsupported` for strings, complex, ...
  virtual DType attr_dtype(const char* name, DType fallback) const = 0;

  // ---- outputs
  virtual int num_outputs() const = 0;
  /// True when output k exists and has a name (somebody may use it).
  virtual bool wants(int k) const = 0;
  virtual void out(int k, ValueId value) = 0;
  /// An output known as formulas; rank 1, or rank 0 when `scalar`.
  virtual void out_dims(int k, Dims dims, bool scalar, DType dtype = DType::i64) = 0;

  // ---- building
  virtual OpBuilder& build() = 0;
  const Facts& facts() { return build().facts(); }
  ValueId call(const std::string& op, std::vector<ValueId> args, Attributes attrs = {}) {
    return build().call(op, std::move(args), std::move(attrs));
  }
  /// Scalar constant of the dtype of `like`.
  ValueId scalar_like(ValueId like, double value) {
    return build().scalar(build().type(like).dtype, value);
  }
  /// reshape to the given formulas; nothing when the dims are already those.
  ValueId reshape(ValueId x, Dims dims);
  ValueId cast(ValueId x, DType dtype);
  ValueId transpose(ValueId x, std::vector<int64_t> perm);
  /// Unsqueezes with ones at the given (normalised) positions of the result.
  ValueId unsqueeze(ValueId x, const std::vector<int>& axes);
  int normalize_axis(int64_t axis, int rank);

  // ---- subgraphs (If, Loop, Scan; implemented by the core)
  /// Imports the graph attribute as a graph function of the module whose parameters are the
  /// subgraph's own inputs (with the given types) followed by the captured outer values.
  struct Subgraph {
    std::string function;
    std::vector<ValueId> captured;  ///< outer values, in parameter order
    std::vector<std::string> dim_params;
    std::vector<Type> result_types;
  };
  virtual Subgraph import_subgraph(const char* attr, const std::vector<Type>& input_types) = 0;
  /// Imports the graph attribute, which has no inputs, in place: its outputs become the node's.
  virtual void inline_subgraph(const char* attr) = 0;
  /// Which branch to import of an 'If' whose branches do not fit together: the first, and when what
  /// follows turns out not to accept it, on a second import of the function, the other one.
  virtual bool choose_branch() = 0;

  template <typename... A>
  [[noreturn]] void fail(DiagId id, fmt::format_string<A...> format, A&&... args) {
    symtile::fail(id, location(), format, std::forward<A>(args)...);
  }
};

using ImportFunction = void (*)(ImportContext&);

}  // namespace symtile::onnx_import
