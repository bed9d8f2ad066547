# Finds LLVM 19 and LLD 19 and wraps them as symtile::llvm and symtile::lld.
find_package(LLVM 19 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/llvm)
find_package(LLD REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/lld)

add_library(symtile_llvm_deps INTERFACE)
target_include_directories(symtile_llvm_deps SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${LLD_INCLUDE_DIRS})
target_compile_definitions(symtile_llvm_deps INTERFACE ${LLVM_DEFINITIONS_LIST})
target_link_libraries(symtile_llvm_deps INTERFACE lldELF lldCommon LLVM)
