// Runs the bodies of GPU kernels on the CPU, last to first: an order that no GPU guarantees.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tensor/tensor.h"

namespace troupe::testing {

/// The members of cuda::Launcher that kernels use.
class HostLauncher {
 public:
  template <class Body>
  void map(std::int64_t count, const Body& body) const {
    constexpr std::int64_t kPerThread = 4;
    for (std::int64_t end = count; end > 0; end -= kPerThread) {
      const std::int64_t begin = std::max(end - kPerThread, std::int64_t{0});
      std::vector<decltype(body.value(0U))> values;
      for (std::int64_t i = begin; i < end; ++i) values.push_back(body.value(static_cast<std::uint32_t>(i)));
      for (std::int64_t i = begin; i < end; ++i)
        body.put(static_cast<std::uint32_t>(i), values[static_cast<std::size_t>(i - begin)]);
    }
  }

  template <class Body>
  void each(std::int64_t count, const Body& body) const {
    for (std::int64_t i = count - 1; i >= 0; --i) body(i);
  }

  template <int lanes, class Body>
  void teams(std::int64_t count, const Body& body) const {
    for (std::int64_t i = count - 1; i >= 0; --i) {
      typename Body::Shared shared;
      std::fill_n(reinterpret_cast<unsigned char*>(&shared), sizeof shared,
                  static_cast<unsigned char>(0xA5));  // never zeros
      body(Team<lanes, typename Body::Shared>{shared}, i);
    }
  }

  void sort_pairs(Tensor& keys, Tensor& values, int bits) const {
    const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << static_cast<unsigned>(bits)) - 1;
    const auto key = keys.data<std::int64_t>();
    const auto value = values.data<std::int64_t>();
    std::vector<std::size_t> order(key.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return static_cast<std::uint64_t>(key[i]) & mask; });
    Tensor sorted_keys = Tensor::empty(keys.shape(), DType::i64);
    Tensor sorted_values = Tensor::empty(keys.shape(), DType::i64);
    std::ranges::transform(order, sorted_keys.mutable_data<std::int64_t>().begin(),
                           [&](std::size_t i) { return key[i]; });
    std::ranges::transform(order, sorted_values.mutable_data<std::int64_t>().begin(),
                           [&](std::size_t i) { return value[i]; });
    keys = sorted_keys;  // the result is in other memory, as it may be on a GPU
    values = sorted_values;
  }

 private:
  template <int lanes, class Shared>
  struct Team {
    static constexpr int kLanes = lanes;
    Shared& shared;

    template <class F>
    void each(const F& f) const {
      for (int lane = lanes - 1; lane >= 0; --lane) f(lane);
    }
  };
};

}  // namespace troupe::testing

namespace troupe {

inline const testing::HostLauncher kHost;

}  // namespace troupe
