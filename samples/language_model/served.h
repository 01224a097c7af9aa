// What the server of the language model serves: the table of word vectors, and the layer that turns hidden values back
// into words.
#pragma once

#include <cstdint>

#include "actors/function_registry.h"
#include "autograd/nn/embedding.h"
#include "autograd/nn/linear.h"
#include "samples/parameters.h"

namespace samples {

/// The node that owns both.
inline constexpr const char* kServer = "ps";

troupe::nn::Embedding make_table(std::int64_t words, std::int64_t width, std::uint64_t seed);
troupe::nn::Linear make_decoder(std::int64_t hidden, std::int64_t words, std::uint64_t seed);

/// Functions of the server; the trainer needs the registry, too, to call them.
troupe::FunctionRegistry server_functions();

}  // namespace samples
