# Compiles the distribution's ONNX schema with protoc into the library symtile_onnx_schema.
#
# The schema's package is renamed, so that the generated classes cannot meet those of another ONNX
# library in one process (Python, a framework). Releases of the schema differ; the fields that the
# importer reads and an older release lacks are added under their official numbers.
find_file(SYMTILE_ONNX_PROTO NAMES onnx.proto onnx-ml.proto PATH_SUFFIXES onnx)
if(NOT SYMTILE_ONNX_PROTO)
  message(FATAL_ERROR "the ONNX schema (onnx/onnx.proto) was not found: install libonnx-dev")
endif()

set(schema_dir ${CMAKE_BINARY_DIR}/onnx_schema)
file(READ ${SYMTILE_ONNX_PROTO} schema)
string(REGEX REPLACE "\npackage [a-zA-Z0-9_.]+;" "\npackage symtile_onnx_schema;" schema "${schema}")
string(REGEX REPLACE "\noption optimize_for = [A-Z_]+;" "" schema "${schema}")
string(APPEND schema "\noption optimize_for = LITE_RUNTIME;\n")
if(NOT schema MATCHES "attribute_proto")
  string(REGEX REPLACE "(message FunctionProto {)"
    "\\1\n  repeated AttributeProto attribute_proto = 11;" schema "${schema}")
endif()
if(NOT schema MATCHES " overload = 8;")
  string(REGEX REPLACE "(message NodeProto {)" "\\1\n  optional string overload = 8;" schema "${schema}")
  string(REGEX REPLACE "(message FunctionProto {)" "\\1\n  optional string overload = 13;" schema "${schema}")
endif()
set(schema_before "")
if(EXISTS ${schema_dir}/onnx_schema.proto)
  file(READ ${schema_dir}/onnx_schema.proto schema_before)
endif()
if(NOT schema STREQUAL schema_before)
  file(WRITE ${schema_dir}/onnx_schema.proto "${schema}")
endif()

add_custom_command(
  OUTPUT ${schema_dir}/onnx_schema.pb.cc ${schema_dir}/onnx_schema.pb.h
  COMMAND protobuf::protoc --cpp_out=${schema_dir} --proto_path=${schema_dir} onnx_schema.proto
  DEPENDS ${schema_dir}/onnx_schema.proto
  COMMENT "Compiling the ONNX schema")
add_library(symtile_onnx_schema STATIC ${schema_dir}/onnx_schema.pb.cc)
target_include_directories(symtile_onnx_schema SYSTEM PUBLIC ${schema_dir})
target_link_libraries(symtile_onnx_schema PUBLIC protobuf::libprotobuf-lite)
