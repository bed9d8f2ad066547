#include "symtile/backend/vm/allocate_registers.h"

#include <algorithm>
#include <map>

namespace symtile {
namespace {

using namespace format;
using format::Loop;  // not that of ir/, which a precompiled header may bring in

/// Calls on_use(uint32_t&) and on_def(uint32_t&) for the registers of an instruction.
template <typename OnUse, typename OnDef>
struct RegisterVisitor {
  OnUse on_use;
  OnDef on_def;

  void operator()(Use& r) { on_use(r.value); }
  void operator()(OptionalUse& r) {
    if (r.valid()) on_use(r.value);
  }
  void operator()(Def& r) { on_def(r.value); }
  template <typename T>
  void operator()(std::vector<T>& list) {
    for (T& element : list) (*this)(element);
  }
  template <typename T>
  void operator()(T&) {}
};

template <typename OnUse, typename OnDef>
void visit_registers(Instruction& instruction, OnUse on_use, OnDef on_def) {
  RegisterVisitor<OnUse, OnDef> visitor{on_use, on_def};
  std::visit(
      [&](auto& op) {
        std::decay_t<decltype(op)>::fields(op, [&](const char*, auto& field) { visitor(field); });
      },
      instruction);
}

bool makes_heap_memory(const Instruction& i) {
  return std::holds_alternative<HeapTensor>(i) || std::holds_alternative<CallBuiltin>(i) ||
         std::holds_alternative<CallFunction>(i) || std::holds_alternative<Branch>(i) ||
         std::holds_alternative<Loop>(i);
}

}  // namespace

void mark_outputs(format::Function& f) {
  const auto& results = std::get<Return>(f.code.back()).values;
  std::map<uint32_t, uint32_t> source_of;  // views
  std::map<uint32_t, HeapTensor*> heap;
  for (Instruction& i : f.code) {
    if (const auto* view = std::get_if<ViewTensor>(&i)) {
      source_of[view->result.value] = view->source.value;
    } else if (auto* tensor = std::get_if<HeapTensor>(&i)) {
      heap[tensor->result.value] = tensor;
    }
  }
  for (size_t k = 0; k < results.size(); ++k) {
    uint32_t r = results[k].value;
    for (auto it = source_of.find(r); it != source_of.end(); it = source_of.find(r)) {
      r = it->second;
    }
    const auto it = heap.find(r);
    if (it != heap.end() && it->second->output < 0) it->second->output = static_cast<int64_t>(k);
  }
}

void allocate_registers(format::Function& f) {
  std::vector<size_t> last_use(f.registers, 0);
  for (size_t i = 0; i < f.code.size(); ++i) {
    const auto seen = [&](uint32_t& r) { last_use[r] = i; };
    visit_registers(f.code[i], seen, seen);
  }
  std::vector<uint32_t> real(f.registers, kNoIndex);
  std::vector<bool> owns(f.registers, false);
  std::vector<uint32_t> free;
  for (uint32_t r = 0; r < f.params; ++r) real[r] = r;
  uint32_t count = f.params;

  std::vector<Instruction> code;
  for (size_t i = 0; i < f.code.size(); ++i) {
    Instruction& instruction = f.code[i];
    std::vector<uint32_t> ending;  // virtual registers whose last use this is
    if (const auto* view = std::get_if<ViewTensor>(&instruction)) {
      owns[view->result.value] = owns[view->source.value];
    }
    const bool heap = makes_heap_memory(instruction);
    const auto note_end = [&](uint32_t r) {
      if (last_use[r] == i && std::find(ending.begin(), ending.end(), r) == ending.end()) {
        ending.push_back(r);
      }
    };
    visit_registers(
        instruction,
        [&](uint32_t& r) {
          note_end(r);
          r = real[r];
        },
        [&](uint32_t& r) {
          note_end(r);
          if (heap) owns[r] = true;
          // Never a register this instruction reads: those are freed below.
          if (free.empty()) free.push_back(count++);
          real[r] = free.back();
          free.pop_back();
          r = real[r];
        });
    const bool last = std::holds_alternative<Return>(instruction);
    code.push_back(std::move(instruction));
    for (uint32_t r : ending) {
      if (owns[r] && !last) code.push_back(Release{{real[r]}});
      free.push_back(real[r]);
    }
  }
  f.code = std::move(code);
  f.registers = count;
}

}  // namespace symtile
