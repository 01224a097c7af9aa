// What refused_programs.cc includes; refused_programs_test precompiles it once for all programs.
#pragma once

#include <functional>
#include <string>

#include "actors/function_registry.h"
#include "actors/op.h"
#include "actors/remote_module.h"
#include "actors/rref.h"
#include "tensor/tensor.h"
