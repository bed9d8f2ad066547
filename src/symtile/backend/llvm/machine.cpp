#include "symtile/backend/llvm/machine.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/AggressiveInstCombine/AggressiveInstCombine.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopDeletion.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Vectorize/LoopVectorize.h>

#include "symtile/base/check.h"

namespace symtile::codegen {
namespace {

/// LLVM's own registry of targets; registering twice is harmless but not free.
bool register_targets() {
  static const bool done = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    return true;
  }();
  return done;
}

llvm::FunctionPassManager pass_list() {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());

  // Memory promotion first: an accumulator that lives in memory across a loop becomes a register.
  llvm::LoopPassManager promote;
  promote.addPass(llvm::LoopRotatePass());
  promote.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(promote), true));
  llvm::LoopPassManager shape;
  shape.addPass(llvm::IndVarSimplifyPass());
  shape.addPass(llvm::LoopDeletionPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(shape)));
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::GVNPass());
  passes.addPass(llvm::DSEPass());

  passes.addPass(llvm::LoopVectorizePass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions()
                                           .convertSwitchRangeToICmp(true)
                                           .hoistCommonInsts(true)
                                           .sinkCommonInsts(true)));
  passes.addPass(llvm::LoopUnrollPass(llvm::LoopUnrollOptions(2)));
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::InstCombinePass());
  llvm::LoopPassManager hoist;
  hoist.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(hoist), true));
  passes.addPass(llvm::ADCEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  return passes;
}

std::string emit(llvm::TargetMachine& machine, llvm::Module& module, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  llvm::TargetLibraryInfoImpl library((llvm::Triple(module.getTargetTriple())));
  library.disableAllFunctions();
  passes.add(new llvm::TargetLibraryInfoWrapperPass(library));

  // As TargetMachine::addPassesToEmitFile, but without the machine scheduler: it hoists the loads
  // of unrolled register tiles until the accumulators spill, while the order in which kernels are
  // written is good already for out-of-order CPUs.
  auto& target = static_cast<llvm::LLVMTargetMachine&>(machine);
  auto* info = new llvm::MachineModuleInfoWrapperPass(&target);
  llvm::TargetPassConfig* config = target.createPassConfig(passes);
  config->disablePass(&llvm::MachineSchedulerID);
  passes.add(config);
  passes.add(info);
  const bool no_selection = config->addISelPasses();
  SYMTILE_CHECK(!no_selection, "this LLVM cannot emit code for {}", module.getTargetTriple());
  config->addMachinePasses();
  config->setInitialized();
  const bool no_printer =
      target.addAsmPrinter(passes, stream, nullptr, type, info->getMMI().getContext());
  SYMTILE_CHECK(!no_printer, "this LLVM cannot print code for {}", module.getTargetTriple());
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
  return std::string(bytes.data(), bytes.size());
}

}  // namespace

Machine::Machine(const CpuTarget& target) : target_(target) {
  register_targets();
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(target.triple, error);
  SYMTILE_CHECK(found != nullptr, "{}", error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.FunctionSections = true;
  machine_.reset(found->createTargetMachine(target.triple, target.cpu, target.features, options,
                                            llvm::Reloc::PIC_, std::nullopt,
                                            llvm::CodeGenOptLevel::Default));
  SYMTILE_CHECK(machine_ != nullptr, "no target machine for {}", target.triple);
}

Machine::~Machine() = default;

void Machine::prepare(llvm::Module& module) const {
  module.setTargetTriple(target_.triple);
  module.setDataLayout(machine_->createDataLayout());
}

void Machine::prepare(llvm::Function& function) const {
  function.addFnAttr("target-cpu", target_.cpu);
  if (!target_.features.empty()) function.addFnAttr("target-features", target_.features);
  // Without these two, LLVM splits 512-bit operations on CPUs it thinks slow at them.
  const std::string bits = std::to_string(8 * target_.vector_bytes);
  function.addFnAttr("prefer-vector-width", bits);
  function.addFnAttr("min-legal-vector-width", bits);
  function.addFnAttr("no-trapping-math", "true");
  function.addFnAttr("no-builtins");
  function.addFnAttr(llvm::Attribute::NoUnwind);
  function.addFnAttr(llvm::Attribute::MustProgress);
}

void Machine::optimize(llvm::Module& module) const {
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  const bool broken = llvm::verifyModule(module, &stream);
  SYMTILE_CHECK(!broken, "ill-formed LLVM module: {}", problem);

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopInterleaving = true;
  tuning.LoopVectorization = true;
  llvm::PassBuilder builder(machine_.get(), tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);

  llvm::ModulePassManager passes;
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(pass_list()));
  passes.addPass(llvm::GlobalDCEPass());
  passes.run(module, modules);
}

std::string Machine::emit_object(llvm::Module& module) const {
  return emit(*machine_, module, llvm::CodeGenFileType::ObjectFile);
}

std::string Machine::emit_assembly(llvm::Module& module) const {
  return emit(*machine_, module, llvm::CodeGenFileType::AssemblyFile);
}

}  // namespace symtile::codegen
