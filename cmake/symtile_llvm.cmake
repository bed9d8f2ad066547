# Finds LLVM 19 and LLD 19 and wraps them as symtile::llvm and symtile::lld.
# Their version files accept only an exact minor version, so the major one is checked here.
find_package(LLVM REQUIRED CONFIG PATHS /usr/lib/llvm-19/lib/cmake/llvm NO_DEFAULT_PATH)
find_package(LLD REQUIRED CONFIG PATHS /usr/lib/llvm-19/lib/cmake/lld NO_DEFAULT_PATH)
if(NOT LLVM_VERSION_MAJOR EQUAL 19)
  message(FATAL_ERROR "symtile needs LLVM 19, found ${LLVM_PACKAGE_VERSION}; run scripts/install_deps.sh")
endif()

add_library(symtile_llvm_deps INTERFACE)
target_include_directories(symtile_llvm_deps SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${LLD_INCLUDE_DIRS})
target_compile_definitions(symtile_llvm_deps INTERFACE ${LLVM_DEFINITIONS_LIST})
target_link_libraries(symtile_llvm_deps INTERFACE lldELF lldCommon LLVM)
