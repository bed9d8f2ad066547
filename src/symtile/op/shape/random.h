// Random numbers without state: element i of a tensor is a hash of (seed, i). Every backend gives
// the same numbers at every run and every shape, in any order and on any number of threads; ONNX
// leaves the generator open. The hash is the two-round multiply and xor-shift of C. Wellons
// ("lowbias32").
#pragma once

#include "symtile/op/op.h"

namespace symtile {

/// A uniform number in [0, 1), a multiple of 2^-24; `stream` tells several per element apart.
double random_uniform_at(int64_t seed, uint32_t stream, int64_t element);
/// The same as an f32 expression; `element` is i64.
Expr random_uniform_at(int64_t seed, uint32_t stream, const Expr& element);

/// dtype, shape, seed, and the two numbers of the distribution.
std::vector<AttrSpec> random_attrs(const char* first, const char* second);
std::vector<Type> deduce_random(DeduceContext& c);
/// value(element number) for every element.
void evaluate_random(EvalContext& c, const std::function<double(int64_t)>& value);
void lower_random(LowerContext& c, const std::function<Expr(const Expr&)>& value);
std::vector<OpSample> random_samples(const char* first, const char* second);

}  // namespace symtile
