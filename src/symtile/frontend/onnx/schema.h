// The ONNX protobuf classes, compiled from the distribution's schema under a package of our own.
// Included by the loading and importing core only; operator importers see no protobuf type.
#pragma once

#include "onnx_schema.pb.h"

namespace symtile::onnx_import {
namespace pb = ::symtile_onnx_schema;
}
