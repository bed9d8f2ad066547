// example_kernel MATMUL.sym
//
// Compiles the matmul of matmul.cpp and that of MATMUL.sym, each once, and runs both at several
// shapes. The plain compute form (no schedule: the compiler's template makes one) and three loops
// in C++ say what is right.
#include <cmath>
#include <cstdio>
#include <exception>
#include <random>
#include <vector>

#include "matmul.h"
#include "symtile/driver/driver.h"

namespace {

using namespace symtile;

constexpr const char* kMain = R"(
graph @main(%a: Tensor[(m, k), f32], %b: Tensor[(k, n), f32]) -> Tensor[(m, n), f32] {
  %c = call_tile @tiled_matmul(%a, %b) [m, n, k] : Tensor[(m, n), f32]
  return %c
})";

constexpr const char* kPlain = R"(
tile @tiled_matmul<m, n, k>(%a: Buffer[(m, k), f32], %b: Buffer[(k, n), f32])
    -> (%c: Buffer[(m, n), f32]) {
  compute %c[i < m, j < n] = sum(p < k) %a[i, p] * %b[p, j]
})";

std::vector<float> numbers(int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> out(static_cast<size_t>(count));
  for (float& x : out) x = uniform(engine);
  return out;
}

/// The largest difference from the three loops.
double worst(const std::vector<float>& a, const std::vector<float>& b, const float* c, int64_t m,
             int64_t n, int64_t k) {
  double out = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += static_cast<double>(a[static_cast<size_t>(i * k + p)]) *
               static_cast<double>(b[static_cast<size_t>(p * n + j)]);
      }
      const double difference = std::abs(sum - static_cast<double>(c[i * n + j]));
      out = difference <= out ? out : difference;  // a NaN is kept
    }
  }
  return out;
}

struct Kernel {
  const char* name;
  api::Model model;
  api::Session session;
  Kernel(const char* from, api::Model compiled)
      : name(from), model(std::move(compiled)), session(model) {}
};

int run(const char* file) {
  Module in_cpp = parse_module(kMain);
  in_cpp.add(tiled_matmul());
  Kernel kernels[] = {
      {"C++", open_module(in_cpp, {})},
      {"text", open_model(file, {}, {})},
      {"compute form", open_module(parse_module(std::string(kMain) + kPlain), {})},
  };
  int wrong = 0;
  constexpr int64_t kShapes[][3] = {{64, 64, 64}, {1, 1, 1},  {97, 101, 103}, {5, 200, 7},
                                    {130, 3, 64}, {0, 8, 16}, {8, 8, 0},      {256, 256, 256}};
  for (const auto& [m, n, k] : kShapes) {
    const std::vector<float> a = numbers(m * k, 1), b = numbers(k * n, 2);
    std::printf("%4d x %4d x %4d", static_cast<int>(m), static_cast<int>(n), static_cast<int>(k));
    for (Kernel& kernel : kernels) {
      const auto& outputs =
          kernel.session.run({api::input(a.data(), {m, k}), api::input(b.data(), {k, n})});
      const bool shaped = outputs.at(0).dims() == std::vector<int64_t>{m, n};
      const double difference = worst(a, b, outputs.at(0).data<float>(), m, n, k);
      const bool right = shaped && difference <= 1e-6 * static_cast<double>(k + 1);
      wrong += !right;
      std::printf("   %s: %s, off by %.1e", kernel.name, right ? "right" : "WRONG", difference);
    }
    std::printf("\n");
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: example_kernel MATMUL.sym\n");
    return 2;
  }
  try {
    return run(argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
