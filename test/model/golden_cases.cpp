#include "golden_cases.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "symtile/base/check.h"
#include "symtile/driver/npy.h"

namespace symtile::test {
namespace {

/// Number `index` (from 0) of the splitmix64 stream of `seed`: its upper 24 bits.
int64_t random24(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<int64_t>((z ^ (z >> 31)) >> 40);
}

void fill_noise(ConstantData& out, const nlohmann::json& recipe, int frame) {
  const uint64_t seed = recipe.at("seed").get<uint64_t>() + 1000u * static_cast<uint64_t>(frame);
  const double lo = recipe.at("lo"), hi = recipe.at("hi");
  const int64_t smooth = recipe.at("smooth");
  const double scale = static_cast<double>(smooth) * 16777216.0;
  int64_t sum = 0;
  for (int64_t k = 0; k + 1 < smooth; ++k) sum += random24(seed, static_cast<uint64_t>(k));
  for (int64_t i = 0; i < out.element_count(); ++i) {
    sum += random24(seed, static_cast<uint64_t>(i + smooth - 1));
    const double u = static_cast<double>(sum) / scale;
    out.set(i, lo + (hi - lo) * u);
    sum -= random24(seed, static_cast<uint64_t>(i));
  }
}

void fill_glyphs(ConstantData& out, const nlohmann::json& recipe) {
  const uint64_t seed = recipe.at("seed");
  const double ink = recipe.at("ink"), paper = recipe.at("paper");
  const int64_t height = out.dims.at(out.dims.size() - 2), width = out.dims.back();
  const int64_t columns = (width + 2) / 3;
  for (int64_t i = 0; i < out.element_count(); ++i) {
    const int64_t x = i % width, y = i / width % height;
    const bool mark = random24(seed, static_cast<uint64_t>(y / 3 * columns + x / 3)) % 2 == 1;
    const bool in_row = y % 40 >= 10 && y % 40 < 28 && x % 15 < 12 && x % 150 < 128;
    out.set(i, mark && in_row ? ink : paper);
  }
}

void fill_tokens(ConstantData& out, const nlohmann::json& recipe) {
  const uint64_t seed = recipe.at("seed");
  const int64_t count = recipe.at("count");
  for (int64_t i = 0; i < out.element_count(); ++i)
    out.set_int(i, random24(seed, static_cast<uint64_t>(i)) % count);
}

/// Rows of so many ones, then zeros.
void fill_lengths(ConstantData& out, const nlohmann::json& lengths) {
  const int64_t width = out.dims.back();
  for (int64_t i = 0; i < out.element_count(); ++i) {
    const int64_t ones = lengths.at(static_cast<size_t>(i / width));
    out.set_int(i, i % width < ones ? 1 : 0);
  }
}

}  // namespace

nlohmann::json read_json(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw EnvironmentError("cannot open " + file.string());
  return nlohmann::json::parse(in);
}

std::vector<GoldenOutput> read_golden_outputs(const std::filesystem::path& folder,
                                              const nlohmann::json& outputs) {
  std::vector<GoldenOutput> out;
  for (const nlohmann::json& entry : outputs) {
    GoldenOutput& output = out.emplace_back();
    output.name = entry.at("name");
    output.dims = entry.at("dims").get<std::vector<int64_t>>();
    output.values = read_npy(folder / entry.at("file").get<std::string>());
    if (entry.contains("index")) {
      output.positions = read_npy(folder / entry.at("index").get<std::string>());
    }
    output.atol = entry.value("atol", kAtol);
  }
  return out;
}

std::vector<GoldenCase> read_golden_cases(const std::filesystem::path& folder) {
  std::vector<GoldenCase> out;
  const nlohmann::json manifest = read_json(folder / "cases.json");
  for (const nlohmann::json& entry : manifest.at("cases")) {
    GoldenCase& c = out.emplace_back();
    c.name = entry.at("name");
    c.frames = entry.at("frames");
    c.fails = entry.at("fails");
    c.carry = entry.at("carry").get<std::map<std::string, std::string>>();
    c.inputs = entry.at("inputs");
    c.outputs = read_golden_outputs(folder, entry.at("outputs"));
  }
  return out;
}

Constant make_input(const nlohmann::json& spec, int frame) {
  const auto dtype = parse_dtype(spec.at("dtype").get<std::string>());
  if (!dtype) throw UserError("cases.json: unknown dtype " + spec.at("dtype").dump());
  auto out = make_zeros(*dtype, spec.at("dims").get<std::vector<int64_t>>());
  if (spec.contains("noise")) {
    fill_noise(*out, spec.at("noise"), frame);
  } else if (spec.contains("tokens")) {
    fill_tokens(*out, spec.at("tokens"));
  } else if (spec.contains("lengths")) {
    fill_lengths(*out, spec.at("lengths"));
  } else if (spec.contains("glyphs")) {
    fill_glyphs(*out, spec.at("glyphs"));
  } else {
    const nlohmann::json& value = spec.at("value");
    for (int64_t i = 0; i < out->element_count(); ++i)
      out->set(i, value.is_array() ? value.at(static_cast<size_t>(i)) : value);
  }
  return out;
}

Comparison compare(const GoldenOutput& expected, const Constant& actual) {
  Comparison out;
  if (actual->dims != expected.dims) {
    out.mismatch = fmt::format("dims are [{}], not [{}]", fmt::join(actual->dims, ", "),
                               fmt::join(expected.dims, ", "));
    return out;
  }
  for (int64_t i = 0; i < expected.values->element_count(); ++i) {
    const int64_t at = expected.positions ? expected.positions->as_int(i) : i;
    const double want = expected.values->as_double(i), got = actual->as_double(at);
    const double error = std::abs(got - want);
    if (!std::isfinite(error)) {
      out.mismatch = fmt::format("element {} is {}, not {}", at, got, want);
      return out;
    }
    out.max_error = std::max(out.max_error, error);
    out.of_tolerance = std::max(out.of_tolerance, error / (expected.atol + kRtol * std::abs(want)));
  }
  return out;
}

}  // namespace symtile::test
