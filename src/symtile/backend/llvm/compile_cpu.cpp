#include "symtile/backend/llvm/compile_cpu.h"

#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "symtile/backend/llvm/kernel_codegen.h"
#include "symtile/backend/llvm/link_shared.h"
#include "symtile/backend/llvm/machine.h"

namespace symtile {
namespace {

using codegen::KernelCodegen;
using codegen::Machine;

/// A C identifier; the prefix keeps kernels apart from memcpy and the like.
std::string symbol_for(const std::string& name, std::set<std::string>& taken) {
  std::string symbol = "k_";
  for (char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    symbol += plain ? c : '_';
  }
  std::string unique = symbol;
  for (int i = 1; !taken.insert(unique).second; ++i) unique = fmt::format("{}_{}", symbol, i);
  return unique;
}

/// Statements and the expressions at their roots, unrolled loops counted as often as they run.
int64_t cost_of(const Stmt& s) {
  if (!s) return 0;
  if (const auto* n = as<BlockStmt>(s)) {
    int64_t sum = 0;
    for (const Stmt& child : n->stmts) sum += cost_of(child);
    return sum;
  }
  if (const auto* n = as<AllocateStmt>(s)) return cost_of(n->body);
  if (const auto* n = as<LetStmt>(s)) return 1 + cost_of(n->body);
  if (const auto* n = as<IfStmt>(s)) return 1 + cost_of(n->then_body) + cost_of(n->else_body);
  if (const auto* n = as<TaskStmt>(s)) return 8 * cost_of(n->body);
  if (const auto* n = as<ForStmt>(s)) {
    const auto begin = n->begin.as_int(), end = n->end.as_int();
    const bool expands = n->kind == LoopKind::unrolled && begin && end;
    const int64_t times = expands ? std::clamp<int64_t>(*end - *begin, 1, 1024) : 1;
    return 4 + times * cost_of(n->body);
  }
  return 4;
}

struct BuiltModule {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  KernelCode code;
};

void build_module(BuiltModule& out, const TileFunction& function, const std::string& symbol,
                  const Machine& machine) {
  out.module = std::make_unique<llvm::Module>(symbol, out.context);
  machine.prepare(*out.module);
  KernelCodegen codegen(*out.module, function, machine.target(), symbol);
  out.code = codegen.build();
  for (llvm::Function& f : *out.module) {
    if (!f.isDeclaration()) machine.prepare(f);
  }
}

}  // namespace

CpuCode compile_cpu(const std::vector<TileFunction>& scheduled, const CpuTarget& target,
                    const CpuCodegenOptions& options) {
  const size_t count = scheduled.size();
  std::vector<std::string> symbols;
  std::set<std::string> taken;
  for (const TileFunction& f : scheduled) symbols.push_back(symbol_for(f.name, taken));

  // Largest first, each in a module of its own: the threads stay busy to the end.
  std::vector<int64_t> costs;
  for (const TileFunction& f : scheduled) costs.push_back(cost_of(f.body));
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return costs[a] > costs[b]; });

  CpuCode out;
  out.kernels.resize(count);
  std::vector<std::string> objects(count);
  std::atomic<size_t> next{0};
  std::mutex mutex;  // guards done, failure and the progress callback
  int done = 0;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      const Machine machine(target);
      for (size_t i = next++; i < count; i = next++) {
        const size_t index = order[i];
        BuiltModule built;
        built.context.setDiscardValueNames(true);
        build_module(built, scheduled[index], symbols[index], machine);
        machine.optimize(*built.module);
        objects[index] = machine.emit_object(*built.module);
        out.kernels[index] = std::move(built.code);
        const std::lock_guard<std::mutex> lock(mutex);
        ++done;
        if (options.progress) options.progress(done, static_cast<int>(count));
      }
    } catch (...) {
      next = count;  // the others finish what they have and stop
      const std::lock_guard<std::mutex> lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  const size_t wanted = options.threads > 0 ? static_cast<size_t>(options.threads)
                                            : std::max(1u, std::thread::hardware_concurrency());
  const size_t helpers = std::min(wanted, std::max<size_t>(count, 1)) - 1;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < helpers; ++i) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  if (failure) std::rethrow_exception(failure);

  if (count > 0) out.shared_object = codegen::link_shared(objects, symbols);
  return out;
}

std::string view_code(const TileFunction& scheduled, const CpuTarget& target, CodeView view) {
  const Machine machine(target);
  std::set<std::string> taken;
  BuiltModule built;
  build_module(built, scheduled, symbol_for(scheduled.name, taken), machine);
  if (view != CodeView::llvm_ir) machine.optimize(*built.module);
  if (view == CodeView::assembly) return machine.emit_assembly(*built.module);
  std::string text;
  llvm::raw_string_ostream stream(text);
  built.module->print(stream, nullptr);
  return text;
}

}  // namespace symtile
