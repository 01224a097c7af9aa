// What the server of the digits serves: one network that all trainers train.
#pragma once

#include <cstdint>

#include "actors/function_registry.h"
#include "actors/remote_module.h"
#include "samples/parameter_server/digit_net.h"

namespace samples {

/// The node that owns the network, and the network's name there.
inline constexpr const char* kServer = "ps";
inline constexpr const char* kNet = "net";

/// Made from a seed.
inline constexpr auto digit_net = troupe::module_class<DigitNet, std::uint64_t>;

/// Functions of the server; trainers need the registry, too, to call them.
troupe::FunctionRegistry server_functions();

}  // namespace samples
