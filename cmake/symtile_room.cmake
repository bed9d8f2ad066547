# A room is one folder of src/symtile and one static library. DEPENDS is the only declaration of
# who may include whom (transitively); test/meta reads it and every #include.

add_library(symtile_flags INTERFACE)
target_include_directories(symtile_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_options(symtile_flags INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wno-missing-field-initializers
  -ffp-contract=off)
target_compile_options(symtile_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow>)
# With it ccache can serve files that use a precompiled header.
target_compile_options(symtile_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
if(SYMTILE_SANITIZE)
  target_compile_options(symtile_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(symtile_flags INTERFACE -fsanitize=address,undefined)
endif()

# symtile_room(NAME [PATH dir] [DEPENDS rooms...] [LIBRARIES targets...] [PCH header] [COLD])
# COLD: hundreds of small files whose code is no bottleneck; -O1 compiles them in two thirds of the
# time. Test programs are cold too.
# PCH: a header, relative to src/symtile, to precompile for the room.
# Sources: every .cpp below the folder except *_test.cpp, which become the test program NAME_test.
function(symtile_room name)
  cmake_parse_arguments(ROOM "COLD" "PATH;PCH" "DEPENDS;LIBRARIES;EXCLUDE" ${ARGN})
  if(NOT ROOM_PATH)
    set(ROOM_PATH ${name})
  endif()
  set(dir ${CMAKE_CURRENT_SOURCE_DIR}/${ROOM_PATH})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  string(REPLACE "/" "_" target "symtile_${name}")
  if(sources)
    add_library(${target} STATIC ${sources})
    set(kind PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(kind INTERFACE)
  endif()
  target_link_libraries(${target} ${kind} symtile_flags fmt::fmt ${ROOM_LIBRARIES})
  foreach(dep ${ROOM_DEPENDS})
    string(REPLACE "/" "_" dep_target "symtile_${dep}")
    target_link_libraries(${target} ${kind} ${dep_target})
  endforeach()
  if(ROOM_COLD)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(ROOM_PCH AND sources)
    # The public header that every file of the room includes anyway: parsed once, not per file.
    target_precompile_headers(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/${ROOM_PCH})
  endif()
  if(SYMTILE_TESTS AND tests)
    add_executable(${target}_test ${tests})
    target_link_libraries(${target}_test PRIVATE ${target} GTest::gtest GTest::gtest_main)
    target_compile_options(${target}_test PRIVATE $<$<CONFIG:Release>:-O1>)
    add_test(NAME ${target}_test COMMAND ${target}_test)
    set_tests_properties(${target}_test PROPERTIES WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  endif()
endfunction()
