#include "device_run.h"

#include <cmath>
#include <random>

#include "symtile/interp/interpreter.h"

namespace symtile::test {
namespace {

Module module_of(const TileFunction& f, const DimValues& symbols,
                 const std::vector<Constant>& inputs) {
  GraphFunction main;
  main.name = std::string(Module::kMain);
  std::vector<ValueId> args;
  for (const Constant& c : inputs) {
    const Type type = Type::tensor(Dims(c->dims.begin(), c->dims.end()), c->dtype);
    args.push_back(main.add_param(fmt::format("x{}", args.size()), type));
  }
  Dims dims;
  DimSubstitution values;
  for (const std::string& s : f.symbols) {
    dims.emplace_back(symbols.at(s));
    values.emplace(s, dims.back());
  }
  std::vector<Type> results;
  for (const Buffer& out : f.outputs) {
    results.push_back(Type::tensor(out.dims, out.dtype).substitute(values));
  }
  const bool single = results.size() == 1;
  const ValueId result =
      main.bind(TileCall{f.name, args, dims}, single ? results[0] : Type::tuple(results));
  for (size_t k = 0; k < results.size(); ++k) {
    main.results.push_back(
        single ? result : main.bind(GetItem{result, static_cast<int64_t>(k)}, results[k]));
    main.result_names.push_back(f.outputs[k].name);
  }
  Module module;
  module.add(std::move(main));
  module.add(f);
  return module;
}

double largest(const ConstantData& c) {
  double out = 1;
  for (int64_t i = 0; i < c.element_count(); ++i) {
    const double v = std::abs(c.as_double(i));
    if (std::isfinite(v)) out = std::max(out, v);
  }
  return out;
}

}  // namespace

std::vector<Constant> run_on_opencl(const Module& module, const std::vector<Constant>& inputs) {
  CompileOptions options;
  options.targets = {"opencl"};
  options.verify_each = true;
  const auto bytes = format::artifact_bytes(compile(module, options).parts());
  const api::Model model(bytes.data(), bytes.size());
  api::Session session(model, 1, false, "opencl");
  return run_session(session, inputs);
}

std::vector<Constant> run_on_opencl(const TileFunction& f, const DimValues& symbols,
                                    const std::vector<Constant>& inputs) {
  return run_on_opencl(module_of(f, symbols, inputs), inputs);
}

void expect_close(const std::vector<Constant>& actual, const std::vector<RefTensor>& expected,
                  double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t k = 0; k < expected.size(); ++k) {
    const Constant e = expected[k].to_constant();
    ASSERT_EQ(actual[k]->dims, e->dims);
    ASSERT_EQ(actual[k]->dtype, e->dtype);
    const double allowed = tolerance * largest(*e);
    for (int64_t i = 0; i < e->element_count(); ++i) {
      if (!is_float(e->dtype)) {
        ASSERT_EQ(actual[k]->as_int(i), e->as_int(i)) << "output " << k << " element " << i;
        continue;
      }
      const double want = e->as_double(i), got = actual[k]->as_double(i);
      if (std::isnan(want) ? std::isnan(got) : got == want) continue;
      ASSERT_LE(std::abs(got - want), allowed)
          << "output " << k << " element " << i << ": " << got << ", not " << want;
    }
  }
}

void expect_as_interpreted(const Module& module, const std::vector<Constant>& inputs,
                           double tolerance) {
  std::vector<RefTensor> arguments;
  for (const Constant& c : inputs) arguments.push_back(RefTensor::from_constant(*c));
  expect_close(run_on_opencl(module, inputs), Interpreter(module).run(arguments), tolerance);
}

void expect_as_interpreted(const TileFunction& f, const DimValues& symbols,
                           const std::vector<Constant>& inputs, double tolerance) {
  expect_as_interpreted(module_of(f, symbols, inputs), inputs, tolerance);
}

Constant random_constant(DType dtype, const std::vector<int64_t>& dims, uint64_t seed) {
  std::mt19937_64 random(seed);
  auto out = make_zeros(dtype, dims);
  for (int64_t i = 0; i < out->element_count(); ++i) {
    if (is_float(dtype)) {
      out->set(i, std::uniform_real_distribution<double>(-2, 2)(random));
    } else {
      out->set(i, static_cast<double>(random() % (dtype == DType::boolean ? 2 : 100)));
    }
  }
  return out;
}

}  // namespace symtile::test
