# The promises of libsymtile_runtime.so: only symtile_* is exported, it needs only the C and C++
# libraries, and it is smaller than 1 MB.
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE symbols
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${symbols}")
foreach(line ${lines})
  # Weak symbols (u, V, W) are instantiations of the C++ library's own templates.
  if(NOT line MATCHES " [uVW] " AND NOT line MATCHES " symtile_[a-z_]+$")
    message(SEND_ERROR "exported, but not part of the C API: ${line}")
  endif()
endforeach()

execute_process(COMMAND ${READELF} -d ${LIBRARY} OUTPUT_VARIABLE dynamic
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "NEEDED[^\n]*\\[[^]]+\\]" needed "${dynamic}")
foreach(line ${needed})
  if(NOT line MATCHES "\\[(libstdc\\+\\+|libgcc_s|libc|libm|libpthread|libdl|ld-linux-[a-z0-9-]+)\\.so")
    message(SEND_ERROR "needs another library: ${line}")
  endif()
endforeach()

file(SIZE ${LIBRARY} bytes)
message(STATUS "${LIBRARY}: ${bytes} bytes")
if(CONFIG STREQUAL "Release" AND bytes GREATER_EQUAL 1048576)
  message(SEND_ERROR "${bytes} bytes are too many")
endif()
