#include "compiled.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iterator>
#include <sstream>

#include "symtile/driver/driver.h"
#include "symtile/format/artifact.h"
#include "symtile/op/builder.h"

namespace symtile::test {
namespace {

constexpr unsigned kMaxSeconds = 200;
constexpr size_t kGroup = 160;
constexpr int kThreads = 2;

/// One graph that computes all cases. Every case has symbols and parameters of its own.
class Bundle {
 public:
  explicit Bundle(const std::vector<const Case*>& cases) : cases_(cases) {
    GraphFunction f;
    f.name = std::string(Module::kMain);
    Module module;
    module_.add(f);
    GraphFunction& main = module_.graph(Module::kMain);
    OpBuilder build(module_, main);
    for (size_t k = 0; k < cases.size(); ++k) add(*cases[k], k, main, build);
  }

  const Module& module() const { return module_; }

  /// Parameters in order, for one shape of every case.
  std::vector<Constant> inputs(const std::vector<Reference>& references,
                               const std::vector<Variation>& variations) const {
    std::vector<Constant> out;
    for (size_t k = 0; k < cases_.size(); ++k) {
      for (const int argument : arguments_[k]) {
        out.push_back(references[k].inputs[static_cast<size_t>(argument)].to_constant());
      }
      for (const std::string& symbol : extra_[k])
        out.push_back(make_zeros(DType::boolean, {variations[k].symbols.at(symbol)}));
    }
    return out;
  }

 private:
  void add(const Case& c, size_t k, GraphFunction& f, OpBuilder& build) {
    DimSubstitution rename;
    for (const auto& entry : c.sample.symbols) {
      rename[entry.first] = DimExpr::symbol(fmt::format("{}{}_{}", c.op->name, k, entry.first));
    }
    std::vector<int> arguments;
    std::vector<ValueId> values;
    std::set<std::string> bound;
    for (size_t i = 0; i < c.call.args.size(); ++i) {
      if (c.constants[i] || !c.call.args[i].valid()) {
        values.push_back(c.constants[i] ? build.constant(c.constants[i]) : ValueId{});
        continue;
      }
      const Type& type = c.sample.input_types[i];
      for (const DimExpr& d : *type.dims) {
        if (const auto name = d.as_symbol()) bound.insert(*name);
      }
      values.push_back(f.add_param(fmt::format("x{}_{}", k, i), type.substitute(rename)));
      arguments.push_back(static_cast<int>(i));
    }
    // Symbols that no parameter binds get one that does nothing else.
    std::vector<std::string> extra;
    for (const auto& [name, to] : rename) {
      if (bound.count(name)) continue;
      f.add_param(fmt::format("s{}_{}", k, name), Type::tensor({to}, DType::boolean));
      extra.push_back(name);
    }
    arguments_.push_back(std::move(arguments));
    extra_.push_back(std::move(extra));
    Attributes attrs = c.sample.attrs;
    for (auto& entry : attrs.map()) {
      if (auto* dims = std::get_if<Dims>(&entry.second)) {
        for (DimExpr& d : *dims) d = d.substitute(rename);
      }
    }
    for (const ValueId v : build.call_many(c.op->name, values, attrs)) f.results.push_back(v);
  }

  std::vector<const Case*> cases_;
  Module module_;
  std::vector<std::vector<int>> arguments_;  ///< of each case, those that are parameters
  std::vector<std::vector<std::string>>
      extra_;  ///< of each case, symbols with a parameter of their own
};

/// Runs in the child: prints "P", "S" or "F message" for every case and shape.
void check_group(const std::vector<const Case*>& cases, bool optimize, const std::string& device,
                 std::FILE* out) {
  const Bundle bundle(cases);
  CompileOptions options;
  options.optimize = optimize;
  options.targets = {device};
  options.verify_each = true;
  const std::vector<std::byte> artifact =
      format::artifact_bytes(compile(bundle.module(), options).parts());
  const api::Model model(artifact.data(), artifact.size());
  api::Session session(model, kThreads, false, device.c_str());
  size_t rounds = 0;
  std::vector<std::vector<Variation>> variations;
  for (const Case* c : cases) {
    variations.push_back(variations_of(*c));
    rounds = std::max(rounds, variations.back().size());
  }
  for (size_t round = 0; round < rounds; ++round) {
    // A case that has no such shape runs at its own once more.
    std::vector<Reference> references;
    std::vector<Variation> now;
    std::vector<bool> counts;
    for (size_t k = 0; k < cases.size(); ++k) {
      const bool has = round < variations[k].size();
      Variation variation = has ? variations[k][round] : variations[k][0];
      auto reference = evaluate(*cases[k], variation);
      counts.push_back(has && reference);
      if (!reference) {
        if (has) std::fprintf(out, "S\n");
        variation = variations[k][0];
        reference = evaluate(*cases[k], variation);
        SYMTILE_CHECK(reference.has_value(), "{} does not allow its own shape", cases[k]->name());
      }
      references.push_back(std::move(*reference));
      now.push_back(std::move(variation));
    }
    const std::vector<Constant> results = run_session(session, bundle.inputs(references, now));
    size_t at = 0;
    for (size_t k = 0; k < cases.size(); ++k) {
      std::string why;
      for (const RefTensor& expected : references[k].outputs) {
        const std::string d = difference(expected, RefTensor::from_constant(*results.at(at++)),
                                         cases[k]->sample.tolerance);
        if (why.empty()) why = d;
      }
      if (!counts[k]) continue;
      if (why.empty()) {
        std::fprintf(out, "P\n");
      } else {
        std::fprintf(out, "F%s %s: %s\n", cases[k]->name().c_str(), now[k].text().c_str(),
                     why.c_str());
      }
    }
  }
}

struct ChildResult {
  std::string output;
  std::string error;  ///< empty when the group ran to its end
};

ChildResult run_child(const std::vector<const Case*>& cases, bool optimize,
                      const std::string& device) {
  int ends[2];
  if (pipe(ends) != 0) throw EnvironmentError("cannot make a pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw EnvironmentError("cannot fork");
  if (child == 0) {
    close(ends[0]);
    alarm(kMaxSeconds);
    std::FILE* out = fdopen(ends[1], "w");
    int status = 0;
    try {
      check_group(cases, optimize, device, out);
    } catch (const std::exception& e) {
      std::fprintf(out, "E%s\n", e.what());
      status = 1;
    }
    std::fclose(out);
    _exit(status);
  }
  close(ends[1]);
  ChildResult result;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    result.output.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    result.error =
        fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  } else if (WEXITSTATUS(status) != 0) {
    const size_t at = result.output.rfind("\nE");
    result.error = at == std::string::npos ? result.output.substr(1) : result.output.substr(at + 2);
    while (!result.error.empty() && result.error.back() == '\n') result.error.pop_back();
  }
  return result;
}

Tally check_divided(const std::vector<const Case*>& cases, bool optimize,
                    const std::string& device) {
  const ChildResult result = run_child(cases, optimize, device);
  Tally tally;
  std::string how = optimize ? "compiled" : "compiled without optimisation";
  if (device != "cpu") how += " for " + device;
  if (result.error.empty()) {
    std::istringstream lines(result.output);
    for (std::string line; std::getline(lines, line);) {
      tally.passed += line == "P";
      tally.skipped += line == "S";
      if (line[0] == 'F') tally.failures.push_back(fmt::format("{}, {}", how, line.substr(1)));
    }
    return tally;
  }
  if (cases.size() == 1) {
    tally.failures.push_back(fmt::format("{}, {}: {}", how, cases[0]->name(), result.error));
    return tally;
  }
  const auto middle = cases.begin() + static_cast<std::ptrdiff_t>(cases.size() / 2);
  tally.merge(check_divided({cases.begin(), middle}, optimize, device));
  tally.merge(check_divided({middle, cases.end()}, optimize, device));
  return tally;
}

}  // namespace

void Tally::merge(Tally other) {
  passed += other.passed;
  skipped += other.skipped;
  failures.insert(failures.end(), std::make_move_iterator(other.failures.begin()),
                  std::make_move_iterator(other.failures.end()));
}

Tally check_compiled(const std::vector<Case>& cases, bool optimize, const std::string& device) {
  Tally tally;
  for (size_t begin = 0; begin < cases.size(); begin += kGroup) {
    std::vector<const Case*> group;
    for (size_t k = begin; k < std::min(cases.size(), begin + kGroup); ++k)
      group.push_back(&cases[k]);
    tally.merge(check_divided(group, optimize, device));
  }
  return tally;
}

}  // namespace symtile::test
