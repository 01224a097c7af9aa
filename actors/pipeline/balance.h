// How the layers of a network are shared out over the stages of a pipeline.
//
//   const auto counts = balance_by_time(*layers, sample, 2, clock);     // {17, 33}: 17 layers first
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "actors/clock.h"
#include "autograd/nn/sequential.h"
#include "tensor/tensor.h"

namespace troupe {

/// Returns how many of the layers, which cost so much each, go into each of `parts` consecutive parts, so that the
/// largest sum of a part is as small as possible. Each part has a layer. Throws std::invalid_argument if there are
/// fewer layers than parts, `parts` is 0, or a cost is negative or not a number. O(layers^2 * parts).
[[nodiscard]] std::vector<std::size_t> balanced(std::span<const double> costs, std::size_t parts);

/// Shares the layers out by the time that forward and backward of each takes: the least of several runs, which last
/// about `budget` in all. `sample` is an input of the first layer, a micro-batch for example. The layers are as before:
/// parameters, buffers, generators and mode. Throws as `balanced`, and what a layer throws. Threads: as a forward.
/// Source: `torchgpipe.balance.balance_by_time`.
[[nodiscard]] std::vector<std::size_t> balance_by_time(const nn::Sequential& layers, const Tensor& sample,
                                                       std::size_t parts, const Clock& clock,
                                                       Duration budget = std::chrono::seconds(1));

/// Shares the layers out by the bytes that they keep: `parameter_scale` times the parameters (2: with a gradient each;
/// Adam has 4), and the results of `chunks` micro-batches like `sample`. Otherwise as balance_by_time.
[[nodiscard]] std::vector<std::size_t> balance_by_size(const nn::Sequential& layers, const Tensor& sample,
                                                       std::size_t parts, double parameter_scale = 2.0,
                                                       std::size_t chunks = 1);

}  // namespace troupe
