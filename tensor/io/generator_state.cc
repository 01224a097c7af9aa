#include "tensor/io/generator_state.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "tensor/create.h"
#include "tensor/error.h"

namespace troupe {

Tensor state_of(const Generator& generator) {
  const std::uint64_t position = Generator(generator).skip(0);
  const std::array numbers{std::bit_cast<std::int64_t>(generator.seed()),
                           std::bit_cast<std::int64_t>(generator.stream()), std::bit_cast<std::int64_t>(position)};
  return from_values<std::int64_t>(std::span(numbers), {3});
}

Generator generator_of(const Tensor& state) {
  if (!state.defined() || state.dtype() != DType::i64 || state.shape() != Shape{3}) {
    throw ValueError(fmt::format(
        "[generator] not the state of a generator: {}",
        state.defined() ? fmt::format("{} {}", name_of(state.dtype()), to_string(state.shape())) : "undefined"));
  }
  const Tensor numbers = state.to(Device::cpu()).contiguous();
  const auto of = numbers.data<std::int64_t>();
  Generator generator(std::bit_cast<std::uint64_t>(of[0]), std::bit_cast<std::uint64_t>(of[1]));
  generator.skip(std::bit_cast<std::uint64_t>(of[2]));
  return generator;
}

}  // namespace troupe
