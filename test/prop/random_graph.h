// Seeded random graph modules with symbolic shapes, over the core operators: what passes must keep.
#pragma once

#include <random>

#include "symtile/op/builder.h"
#include "symtile/op/ref_tensor.h"

namespace symtile::test {

class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed);

  const Module& module() const { return module_; }
  /// Values of the symbols of the parameters, empty extents, ones and primes among them.
  std::vector<DimValues> shapes();
  std::vector<RefTensor> inputs(const DimValues& symbols);

 private:
  using Step = bool (RandomGraph::*)();

  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  bool chance(int percent) { return below(100) < percent; }
  GraphFunction& main() { return module_.graph(Module::kMain); }
  const Dims& dims(ValueId v) { return *main().type(v).dims; }
  int rank(ValueId v) { return static_cast<int>(dims(v).size()); }
  DimExpr last_dim(ValueId v) { return dims(v).back(); }

  void add_helpers();
  void add_parameters();
  void grow();
  /// Adds a result to the pool, unless it would be too large to interpret.
  bool keep(ValueId v);
  /// A value of the pool, recent ones first; nullopt when `fits` holds for none.
  std::optional<ValueId> pick(const std::function<bool(ValueId)>& fits);
  std::optional<ValueId> pick_real(int min_rank);
  Constant random_constant(std::vector<int64_t> shape, DType dtype = DType::f32, double scale = 1);
  ValueId real_constant(std::vector<int64_t> shape, double scale = 1);
  /// A value that broadcasts to `v`.
  ValueId partner(ValueId v);

  // One operator each, or a pattern that a pass looks for; false when nothing in the pool fits.
  bool unary();
  bool binary();
  bool integers();
  bool nothing();    ///< an operator that does nothing
  bool undone();     ///< two that undo each other
  bool again();      ///< an operator that is there already
  bool constants();  ///< a computation on constants
  bool matmul();
  bool attention();
  bool siblings();     ///< products, or convolutions, of one value
  bool spelt_out();    ///< an activation or a normalisation in simpler operators
  bool convolution();  ///< with batch normalisation, scales and shifts behind it
  bool pooling();
  bool reduction();
  bool normalisation();
  bool transposition();
  bool reshaping();
  bool concatenation();
  bool slicing();
  bool expansion();
  bool padding();
  bool gathering();
  bool choice();   ///< top_k: a kernel with two results
  bool formula();  ///< a number made from dimensions
  bool data_dependent();
  bool call();  ///< of a graph function, or an `if`

  std::mt19937 random_;
  Module module_;
  std::optional<OpBuilder> build_;
  std::vector<ValueId> pool_;
  std::vector<std::string> symbols_ = {"n", "m", "h"};
};

}  // namespace symtile::test
