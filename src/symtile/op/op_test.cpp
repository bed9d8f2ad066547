// Every operator record against itself.
#include <gtest/gtest.h>

#include <random>

#include "symtile/op/builder.h"
#include "symtile/op/elementwise.h"

namespace symtile {
namespace {

std::vector<int64_t> extents(const Dims& dims, const DimValues& symbols) {
  std::vector<int64_t> out;
  for (const DimExpr& d : dims) out.push_back(d.evaluate(symbols));
  return out;
}

Constant random_input(const Type& type, const OpSample& sample, std::mt19937& random) {
  RefTensor t(type.dtype, extents(*type.dims, sample.symbols));
  std::uniform_real_distribution<double> reals(sample.low, sample.high);
  std::uniform_int_distribution<int64_t> whole(static_cast<int64_t>(sample.low),
                                               static_cast<int64_t>(sample.high));
  for (int64_t i = 0; i < t.size(); ++i) {
    if (t.is_float_kind()) {
      t.set(i, reals(random));
    } else {
      t.set_int(i, whole(random));
    }
  }
  return t.to_constant();
}

/// A call of `record` on the sample's inputs; an input type of kind object means "absent".
OpCall call_of(const OpRecord& record, const OpSample& sample) {
  OpCall call{record.name, {}, sample.attrs};
  for (size_t i = 0; i < sample.input_types.size(); ++i) {
    const bool present = sample.input_types[i].is_tensor();
    call.args.push_back(ValueId{present ? static_cast<int32_t>(i) : -1});
  }
  return call;
}

std::vector<Constant> constants_of(const OpSample& sample) {
  std::vector<Constant> out(sample.input_types.size());
  for (const auto& [i, data] : sample.constants) out.at(static_cast<size_t>(i)) = data;
  return out;
}

class EveryOp : public testing::TestWithParam<const OpRecord*> {};

TEST_P(EveryOp, HasSamples) { EXPECT_FALSE(GetParam()->samples().empty()); }

TEST_P(EveryOp, DeducesWhatItEvaluates) {
  const OpRecord& record = *GetParam();
  int number = 0;
  for (const OpSample& sample : record.samples()) {
    SCOPED_TRACE(fmt::format("sample {}", number++));
    const OpCall call = call_of(record, sample);
    std::vector<DimCheck> checks;
    const std::vector<Type> types =
        deduce_call(call, sample.input_types, constants_of(sample), Facts(), nullptr, &checks);
    for (const DimCheck& c : checks) {
      EXPECT_EQ(c.a.evaluate(sample.symbols), c.b.evaluate(sample.symbols)) << c.message;
    }
    std::mt19937 random(7);
    std::vector<RefTensor> inputs;
    for (size_t i = 0; i < sample.input_types.size(); ++i) {
      const auto fixed = sample.constants.find(static_cast<int>(i));
      if (fixed != sample.constants.end()) {
        inputs.push_back(RefTensor::from_constant(*fixed->second));
        EXPECT_EQ(inputs.back().dims, extents(*sample.input_types[i].dims, sample.symbols));
      } else if (call.args[i].valid()) {
        inputs.push_back(
            RefTensor::from_constant(*random_input(sample.input_types[i], sample, random)));
      } else {
        inputs.emplace_back();
      }
    }
    EvalContext c(call, sample.symbols);
    for (size_t i = 0; i < inputs.size(); ++i) {
      c.inputs.push_back(call.args[i].valid() ? &inputs[i] : nullptr);
    }
    c.num_results = static_cast<int>(types.size());
    record.evaluate(c);
    ASSERT_EQ(c.outputs.size(), types.size());
    for (size_t k = 0; k < types.size(); ++k) {
      EXPECT_EQ(c.outputs[k].dtype, types[k].dtype);
      ASSERT_TRUE(types[k].has_rank());
      ASSERT_EQ(c.outputs[k].rank(), types[k].rank());
      int64_t count = 1;
      for (size_t d = 0; d < types[k].dims->size(); ++d) {
        count *= c.outputs[k].dims[d];
        const DimExpr& formula = (*types[k].dims)[d];
        if (formula.is_unknown()) continue;
        EXPECT_EQ(formula.evaluate(sample.symbols), c.outputs[k].dims[d])
            << "result " << k << ", dimension " << d << ": " << formula.str();
      }
      EXPECT_EQ(c.outputs[k].size(), count);
    }
  }
}

/// With less known about the arguments, deduction still answers, and never something else.
TEST_P(EveryOp, DeducesFromLess) {
  const OpRecord& record = *GetParam();
  for (const OpSample& sample : record.samples()) {
    const OpCall call = call_of(record, sample);
    const std::vector<Type> exact =
        deduce_call(call, sample.input_types, constants_of(sample), Facts(), nullptr);
    for (bool rank_known : {true, false}) {
      std::vector<Type> vague = sample.input_types;
      for (Type& t : vague) {
        if (!t.is_tensor()) continue;
        t = rank_known ? Type::tensor_of_rank(t.rank(), t.dtype) : Type::tensor_any_rank(t.dtype);
      }
      const std::vector<Type> types =
          deduce_call(call, vague, constants_of(sample), Facts(), nullptr);
      ASSERT_EQ(types.size(), exact.size());
      for (size_t k = 0; k < types.size(); ++k) {
        EXPECT_EQ(types[k].dtype, exact[k].dtype);
        if (types[k].has_rank()) {
          EXPECT_EQ(types[k].rank(), exact[k].rank());
        }
      }
    }
  }
}

TEST_P(EveryOp, LowersToAValidTileFunction) {
  const OpRecord& record = *GetParam();
  for (const OpSample& sample : record.samples()) {
    const OpCall call = call_of(record, sample);
    const std::vector<Type> types =
        deduce_call(call, sample.input_types, constants_of(sample), Facts(), nullptr);
    std::optional<TileFunction> f =
        lower_call(call, sample.input_types, types, constants_of(sample), Facts(), "kernel");
    if (!f) continue;
    EXPECT_EQ(f->outputs.size(), types.size());
    Module m;
    m.add(*f);
    EXPECT_NO_THROW(verify(m)) << print(*f);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryOp, testing::ValuesIn(all_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace symtile
