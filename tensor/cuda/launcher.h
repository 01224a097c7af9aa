// Starts kernels. Only for .cu files.
//
// A kernel is written once, as a body: a struct that computes one element or the work of one team of lanes, in a header
// without CUDA. A Launcher runs bodies on a GPU. The tests have a launcher with the same members that runs them on the
// CPU.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tensor/cuda/sort_pairs.h"
#include "tensor/cuda/stream.h"
#include "tensor/device.h"
#include "tensor/kernels/host_device.h"

namespace troupe::cuda {
namespace detail {

inline constexpr std::uint32_t kBlockThreads = 256;
inline constexpr std::uint32_t kPerThread = 4;
inline constexpr std::int64_t kBlocksMax = std::int64_t{1} << 30;

// A thread reads several elements before it writes the first, so that more reads are in flight.
template <class Body>
__global__ void __launch_bounds__(kBlockThreads) map_kernel(const Body body, std::uint32_t count) {
  using Value = decltype(body.value(0U));
  const std::uint32_t first = blockIdx.x * (kBlockThreads * kPerThread) + threadIdx.x;
  Value values[kPerThread];
#pragma unroll
  for (std::uint32_t k = 0; k < kPerThread; ++k) {
    const std::uint32_t i = first + k * kBlockThreads;
    if (i < count) values[k] = body.value(i);
  }
#pragma unroll
  for (std::uint32_t k = 0; k < kPerThread; ++k) {
    const std::uint32_t i = first + k * kBlockThreads;
    if (i < count) body.put(i, values[k]);
  }
}

template <class Body>
__global__ void __launch_bounds__(kBlockThreads) each_kernel(const Body body, std::int64_t base, std::int64_t count) {
  const std::int64_t i = base + std::int64_t{blockIdx.x} * kBlockThreads + threadIdx.x;
  if (i < count) body(i);
}

/// A team: threads that share memory and compute one item together.
template <int lanes, class Shared>
struct DeviceTeam {
  static constexpr int kLanes = lanes;
  Shared& shared;
  int lane;

  /// Runs f(lane) on every lane. Returns when all lanes are done and see each other's writes to `shared`.
  template <class F>
  TROUPE_HOST_DEVICE void each(const F& f) const {
    f(lane);
#ifdef __CUDA_ARCH__
    if constexpr (lanes == 32) __syncwarp();
    else __syncthreads();
#endif
  }
};

template <int lanes, class Body>
__global__ void __launch_bounds__(kBlockThreads) team_kernel(const Body body, std::int64_t base, std::int64_t count) {
  static_assert(lanes == 32 || lanes == kBlockThreads);
  constexpr int kTeams = kBlockThreads / lanes;
  using Shared = typename Body::Shared;
  __shared__ alignas(16) unsigned char room[sizeof(Shared) * kTeams];
  const int team = static_cast<int>(threadIdx.x) / lanes;
  const std::int64_t i = base + std::int64_t{blockIdx.x} * kTeams + team;
  if (i >= count) return;  // all lanes of a team return together
  body(DeviceTeam<lanes, Shared>{reinterpret_cast<Shared*>(room)[team], static_cast<int>(threadIdx.x) % lanes}, i);
}

}  // namespace detail

/// Starts kernels on one GPU, in the order of its stream, without waiting for them. Throws DeviceError `[launch]
/// cuda:0: invalid configuration argument`.
class Launcher {
 public:
  explicit Launcher(Device device)
      : index_(device.index), gpu_("launch", device.index), stream_(stream_of(device.index)) {}

  [[nodiscard]] int index() const noexcept { return index_; }
  [[nodiscard]] cudaStream_t stream() const noexcept { return stream_; }

  /// Runs body.put(i, body.value(i)) for i < count < 2^31. REQUIRES: no value(i) reads an element that put() of another
  /// i writes.
  template <class Body>
  void map(std::int64_t count, const Body& body) const {
    if (count == 0) return;
    constexpr std::int64_t kPerBlock = detail::kBlockThreads * detail::kPerThread;
    const auto blocks = static_cast<unsigned>((count + kPerBlock - 1) / kPerBlock);
    detail::map_kernel<<<blocks, detail::kBlockThreads, 0, stream_>>>(body, static_cast<std::uint32_t>(count));
    check();
  }

  /// Runs body(i) for i < count, in any order.
  template <class Body>
  void each(std::int64_t count, const Body& body) const {
    for_blocks((count + detail::kBlockThreads - 1) / detail::kBlockThreads, [&](unsigned blocks, std::int64_t first) {
      detail::each_kernel<<<blocks, detail::kBlockThreads, 0, stream_>>>(body, first * detail::kBlockThreads, count);
    });
  }

  /// Runs body(team, i) for i < count. Each team has `lanes` lanes, 32 or 256, that share a Body::Shared.
  template <int lanes, class Body>
  void teams(std::int64_t count, const Body& body) const {
    constexpr std::int64_t kTeams = detail::kBlockThreads / lanes;
    for_blocks((count + kTeams - 1) / kTeams, [&](unsigned blocks, std::int64_t first) {
      detail::team_kernel<lanes><<<blocks, detail::kBlockThreads, 0, stream_>>>(body, first * kTeams, count);
    });
  }

  /// See cuda::sort_pairs().
  void sort_pairs(Tensor& keys, Tensor& values, int bits) const { cuda::sort_pairs(keys, values, bits); }

 private:
  template <class Start>
  void for_blocks(std::int64_t blocks, const Start& start) const {
    for (std::int64_t first = 0; first < blocks; first += detail::kBlocksMax) {
      start(static_cast<unsigned>(std::min(blocks - first, detail::kBlocksMax)), first);
      check();
    }
  }

  void check() const { require_success("launch", index_, cudaGetLastError()); }

  int index_;
  OnGpu gpu_;
  cudaStream_t stream_;
};

}  // namespace troupe::cuda
