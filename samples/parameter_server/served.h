// What the server of the digits serves: one network that all trainers train.
#pragma once

#include <cstdint>

#include "actors/function_registry.h"
#include "actors/rref.h"
#include "samples/parameter_server/digit_net.h"
#include "samples/parameters.h"

namespace samples {

/// The node that owns the network.
inline constexpr const char* kServer = "ps";

/// The one network of the node that serves this, made when the first trainer asks.
troupe::RRef<DigitNet> shared_net(troupe::Scope& scope);

/// Functions of the server; trainers need the registry, too, to call them.
troupe::FunctionRegistry server_functions();

}  // namespace samples
