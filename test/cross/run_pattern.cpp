// run_pattern MODEL OUT SHAPE...: runs an artifact on f32 inputs of the given shapes ("2x3x8"; "-"
// for a scalar) that a formula makes, writes the bytes of all outputs, one after the other, to OUT,
// and prints the element type and the number of bytes of each. Built twice, for this machine and
// for another, by aarch64_test.py.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "symtile/symtile.hpp"

namespace {

std::vector<int64_t> shape_of(const std::string& text) {
  std::vector<int64_t> dims;
  if (text == "-") return dims;
  size_t at = 0;
  while (at < text.size()) {
    size_t used = 0;
    dims.push_back(std::stoll(text.substr(at), &used));
    at += used + 1;
  }
  return dims;
}

/// In [-4, 4), without sums of libraries that differ between machines.
float value_at(size_t input, size_t i) {
  const auto bits = static_cast<uint32_t>((i + 1) * 2654435761U + input * 40503U);
  return static_cast<float>(static_cast<int32_t>(bits >> 8) - (1 << 23)) / (1 << 21);
}

int run(int argc, char** argv) {
  const symtile::api::Model model(argv[1]);
  symtile::api::Session session(model, 2);
  std::vector<std::vector<float>> data;
  std::vector<symtile::api::Input> inputs;
  for (int a = 3; a < argc; ++a) {
    const std::vector<int64_t> dims = shape_of(argv[a]);
    size_t count = 1;
    for (const int64_t d : dims) count *= static_cast<size_t>(d);
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = value_at(inputs.size(), i);
    data.push_back(std::move(values));
    inputs.push_back(symtile::api::input(data.back().data(), dims));
  }
  std::FILE* out = std::fopen(argv[2], "wb");
  if (!out) return 3;
  for (const symtile::api::Output& o : session.run(inputs)) {
    std::printf("%s %zu\n", symtile_dtype_name(o.dtype()), o.bytes());
    std::fwrite(o.raw(), 1, o.bytes(), out);
  }
  return std::fclose(out) == 0 ? 0 : 3;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "run_pattern: %s\n", e.what());
    return 1;
  }
}
