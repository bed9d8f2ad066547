# libsymtile_runtime.so: the C API and nothing else, from the sources of base, format and runtime.
# They are compiled again because fmt is taken header-only, so that users need no other library.
file(GLOB_RECURSE runtime_sources CONFIGURE_DEPENDS
  ${CMAKE_CURRENT_LIST_DIR}/*.cpp ${CMAKE_CURRENT_LIST_DIR}/../format/*.cpp)
list(FILTER runtime_sources EXCLUDE REGEX "_test\\.cpp$")
add_library(symtile_runtime_shared SHARED ${runtime_sources})
target_link_libraries(symtile_runtime_shared PRIVATE symtile_flags fmt::fmt-header-only
  Threads::Threads ${CMAKE_DL_LIBS})
target_compile_options(symtile_runtime_shared PRIVATE -ffunction-sections -fdata-sections)
target_compile_definitions(symtile_runtime_shared PRIVATE SYMTILE_VERSION="${PROJECT_VERSION}")
target_link_options(symtile_runtime_shared PRIVATE
  -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,--no-undefined
  $<$<CONFIG:Release>:-s>)
set_target_properties(symtile_runtime_shared PROPERTIES
  OUTPUT_NAME symtile_runtime
  VERSION ${PROJECT_VERSION} SOVERSION 0
  CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

target_compile_definitions(symtile_runtime PRIVATE SYMTILE_VERSION="${PROJECT_VERSION}")

if(TARGET symtile_runtime_test)
  # Kernels as the compiler would make them, without the compiler.
  add_library(symtile_test_kernels MODULE ${CMAKE_CURRENT_LIST_DIR}/test_kernels.c)
  target_compile_options(symtile_test_kernels PRIVATE -Wall -Wextra -Werror)
  add_dependencies(symtile_runtime_test symtile_test_kernels)
  target_compile_definitions(symtile_runtime_test PRIVATE
    SYMTILE_TEST_KERNELS="$<TARGET_FILE:symtile_test_kernels>")
  # The C API as a C99 program sees it.
  target_sources(symtile_runtime_test PRIVATE ${CMAKE_CURRENT_LIST_DIR}/c_api_test.c)
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/c_api_test.c PROPERTIES
    COMPILE_OPTIONS "-std=c99;-Wall;-Wextra;-Wpedantic;-Werror")
  if(NOT SYMTILE_SANITIZE)
    add_test(NAME symtile_runtime_shared_check
      COMMAND ${CMAKE_COMMAND} -DLIBRARY=$<TARGET_FILE:symtile_runtime_shared>
        -DNM=${CMAKE_NM} -DREADELF=${CMAKE_READELF} -DCONFIG=$<CONFIG>
        -P ${CMAKE_CURRENT_LIST_DIR}/check_shared_library.cmake)
  endif()
endif()
