#include "actors/pipeline/balance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "autograd/reads.h"
#include "tensor/create.h"

namespace troupe {
namespace {

/// Gives the operations of this thread copies of generators: the generators themselves do not advance.
class CopiedGenerators final : public detail::Reader {
 public:
  [[nodiscard]] Tensor value_of(const std::shared_ptr<const void>& /*identity*/, const Edge& /*edge*/,
                                Tensor now) override {
    return now;
  }
  [[nodiscard]] Generator& generator_for(Generator& generator) override {
    return copies_.try_emplace(&generator, generator).first->second;
  }

 private:
  std::map<const Generator*, Generator> copies_;
};

/// Gives the buffers of a module their values back at its end.
class KeptBuffers {
 public:
  explicit KeptBuffers(const nn::Module& module) {
    for (const auto& [name, buffer] : module.named_buffers()) values_.emplace_back(buffer, buffer.value());
  }
  ~KeptBuffers() {
    for (const auto& [buffer, value] : values_) buffer.set_value(value);
  }
  KeptBuffers(const KeptBuffers&) = delete;
  KeptBuffers& operator=(const KeptBuffers&) = delete;

 private:
  std::vector<std::pair<Variable, Tensor>> values_;
};

/// Calls `visit(index, layer, input)` for each layer; its result is the next one's input. Leaves no trace in the
/// layers.
void walk(const nn::Sequential& layers, const Tensor& sample,
          const std::function<Tensor(std::size_t, nn::Layer&, const Variable&)>& visit) {
  const KeptBuffers kept(layers);
  CopiedGenerators generators;
  const detail::ReaderGuard guard(generators);
  Tensor input = sample;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool has_gradient = is_floating(input.dtype());
    input = visit(i, layers[i], Variable(input, has_gradient ? RequiresGrad::yes : RequiresGrad::no));
  }
}

}  // namespace

std::vector<std::size_t> balanced(std::span<const double> costs, std::size_t parts) {
  const std::size_t count = costs.size();
  if (parts == 0 || count < parts) {
    throw std::invalid_argument(fmt::format("[balance] {} layers for {} parts", count, parts));
  }
  std::vector<double> until{0.0};  // the cost of the first i layers
  for (const double cost : costs) {
    if (!(cost >= 0.0) || !std::isfinite(cost))
      throw std::invalid_argument(fmt::format("[balance] a cost of {}", cost));
    until.push_back(until.back() + cost);
  }
  // least[p][n]: the largest part of the first n layers in p + 1 parts. begin[p][n]: where the last of them begins.
  std::vector<std::vector<double>> least(parts, std::vector<double>(count + 1));
  std::vector<std::vector<std::size_t>> begin(parts, std::vector<std::size_t>(count + 1));
  least[0] = until;
  for (std::size_t p = 1; p < parts; ++p) {
    for (std::size_t n = p + 1; n <= count; ++n) {
      least[p][n] = std::numeric_limits<double>::infinity();
      for (std::size_t first = p; first < n; ++first) {
        const double largest = std::max(least[p - 1][first], until[n] - until[first]);
        if (largest < least[p][n]) least[p][n] = largest, begin[p][n] = first;
      }
    }
  }
  std::vector<std::size_t> counts(parts);
  std::size_t end = count;
  for (std::size_t p = parts; p > 0; --p) {
    const std::size_t first = begin[p - 1][end];
    counts[p - 1] = end - first;
    end = first;
  }
  return counts;
}

std::vector<std::size_t> balance_by_time(const nn::Sequential& layers, const Tensor& sample, std::size_t parts,
                                         const Clock& clock, Duration budget) {
  std::vector<double> least(layers.size(), std::numeric_limits<double>::infinity());
  const TimePoint begin = clock.now();
  do {
    walk(layers, sample, [&](std::size_t i, nn::Layer& layer, const Variable& input) {
      const TimePoint before = clock.now();
      const Variable output = layer.forward(input);
      if (output.requires_grad()) static_cast<void>(backward(sum(output)));
      const auto took = std::chrono::duration<double>(clock.now() - before).count();
      least[i] = std::min(least[i], took);
      return output.value();
    });
  } while (clock.now() - begin < budget);
  return balanced(least, parts);
}

std::vector<std::size_t> balance_by_size(const nn::Sequential& layers, const Tensor& sample, std::size_t parts,
                                         double parameter_scale, std::size_t chunks) {
  std::vector<double> bytes(layers.size());
  walk(layers, sample, [&](std::size_t i, nn::Layer& layer, const Variable& input) {
    const Variable output = layer.forward(input);
    for (const Variable& parameter : layer.parameters())
      bytes[i] += parameter_scale * static_cast<double>(parameter.value().nbytes());
    bytes[i] += static_cast<double>(chunks) * static_cast<double>(output.value().nbytes());
    return output.value();
  });
  return balanced(bytes, parts);
}

}  // namespace troupe
