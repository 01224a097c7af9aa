// What the server of the language model serves: the table of word vectors, and the layer that turns hidden values back
// into words.
#pragma once

#include <cstdint>

#include "actors/function_registry.h"
#include "actors/remote_module.h"
#include "autograd/nn/embedding.h"
#include "autograd/nn/linear.h"
#include "tensor/generator.h"

namespace samples {

/// The node that owns both.
inline constexpr const char* kServer = "ps";

/// Made from: number of words, width of their vectors, generator.
inline constexpr auto word_table =
    troupe::module_class<troupe::nn::Embedding, std::int64_t, std::int64_t, troupe::Generator>;
/// Made from: number of hidden values, number of words, generator.
inline constexpr auto decoder = troupe::module_class<troupe::nn::Linear, std::int64_t, std::int64_t, troupe::Generator>;

/// Functions of the server; the trainer needs the registry, too, to call them.
troupe::FunctionRegistry server_functions();

}  // namespace samples
