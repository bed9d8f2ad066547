// Families whose weights are constants, in the layouts that the compiler gives them.
#include "families.h"

namespace symtile::test {
namespace {

using Ints = std::vector<int64_t>;

DType byte(Sketch& s, int unsigned_percent) {
  return s.chance(unsigned_percent) ? DType::u8 : DType::i8;
}

}  // namespace

void int8_weights(Sketch& s) {
  const DType a = byte(s, 70), b = byte(s, 30);
  std::vector<ValueId> args;
  ValueId y;
  if (s.chance(60)) {
    const int64_t k = s.one_of<int64_t>({1, 2, 4, 7, 8, 12, 16, 20, 33}),
                  n = s.one_of<int64_t>({1, 3, 16, 31, 32, 33, 40});
    const DimExpr m = s.extent();
    args = {s.parameter({m, k}, a), s.weight({k, n}, b)};
    if (s.chance(60)) args.push_back(s.parameter(s.chance(50) ? Dims{} : Dims{m, 1}, a));
    if (args.size() == 3 && s.chance(60)) args.push_back(s.weight({n}, b));
    y = s.call("matmul_integer", args);
  } else {
    const int64_t group = s.one_of<int64_t>({1, 1, 1, 2}),
                  in = group * s.one_of<int64_t>({1, 3, 4, 5, 8}),
                  out = group * s.one_of<int64_t>({1, 4, 9});
    const Ints kernel = {s.one_of<int64_t>({1, 2, 3}), s.one_of<int64_t>({1, 3})};
    const Ints strides = {s.one_of<int64_t>({1, 1, 2}), s.one_of<int64_t>({1, 1, 3})};
    args = {s.parameter({s.extent({0, 1, 2}), in, s.extent({5, 8}), s.extent({7, 11, 18})}, a),
            s.weight({out, in / group, kernel[0], kernel[1]}, b)};
    if (s.chance(60)) args.push_back(s.parameter({}, a));
    if (args.size() == 3 && s.chance(60)) args.push_back(s.weight({out}, b));
    y = s.call("conv_integer", args,
               {{"group", group},
                {"strides", strides},
                {"pads", Dims{s.below(2), s.below(2), s.below(2), s.below(2)}}});
  }
  if (s.chance(60)) {
    // Back to real numbers, as quantised models do.
    y = s.call("cast", {y}, {{"to", DType::f32}});
    y = s.call("mul", {y, s.scalar(DType::f32, 1.0 / 1024)});
    y = s.behind(y);
  }
  s.result(y);
}

}  // namespace symtile::test
