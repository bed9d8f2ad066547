// Random programs for one schedule template each, with what is fused around its anchor.
#pragma once

#include <random>

#include "symtile/op/builder.h"

namespace symtile::test {

/// Builds one random program. Extents are static, or symbols with the values they may take.
class Sketch {
 public:
  /// `symbolic`: how many extents of a hundred are symbols.
  Sketch(unsigned seed, int symbolic);

  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<int>(list.size()))];
  }

  /// An extent with one of these values: a number, or a symbol that takes several of them.
  DimExpr extent(std::vector<int64_t> values);
  /// Around the edges of tiles: 0, 1, primes, powers of two and their neighbours.
  DimExpr extent() { return extent({0, 1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 23}); }
  ValueId parameter(Dims dims, DType dtype);
  /// A weight: random elements, the extremes of its type among them; constant extents.
  ValueId weight(Dims dims, DType dtype);
  ValueId call(const std::string& op, std::vector<ValueId> args, Attributes attrs = {}) {
    return build_->call(op, std::move(args), std::move(attrs));
  }
  std::vector<ValueId> call_many(const std::string& op, std::vector<ValueId> args,
                                 Attributes attrs) {
    return build_->call_many(op, std::move(args), std::move(attrs));
  }
  ValueId scalar(DType dtype, double value) { return build_->scalar(dtype, value); }
  const Dims& dims(ValueId v) { return *main().type(v).dims; }
  DType dtype(ValueId v) { return main().type(v).dtype; }
  DType real() {
    return one_of({DType::f32, DType::f32, DType::f32, DType::f16, DType::bf16, DType::f64});
  }

  /// What may be fused in front of an anchor, and behind it.
  ValueId before(ValueId v);
  ValueId behind(ValueId v);
  void result(ValueId v) { main().results.push_back(v); }

  Module take() { return std::move(module_); }
  /// Some values for every symbol.
  std::vector<DimValues> values(int count);

 private:
  GraphFunction& main() { return module_.graph(Module::kMain); }

  std::mt19937 random_;
  int symbolic_;
  Module module_;
  std::optional<OpBuilder> build_;
  std::map<std::string, std::vector<int64_t>> symbols_;
  int parameters_ = 0;
};

struct Family {
  const char* name;
  void (*build)(Sketch&);
  const char* schedule = nullptr;  ///< the GPU schedule whose cases count; null: any
  bool matrix = false;             ///< for a device with matrix instructions
};
const std::vector<Family>& families();
/// Parts of it: sliding windows; operators that move or order elements, and recurrent steps.
std::vector<Family> window_families();
std::vector<Family> data_families();

using Ints = std::vector<int64_t>;

// families_weights.cpp
void int8_weights(Sketch& s);

}  // namespace symtile::test
