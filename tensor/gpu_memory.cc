#include "tensor/gpu_memory.h"

#include <cstdint>

#include "tensor/cuda/memory.h"
#include "tensor/cuda/shared_memory.h"

namespace troupe::detail {
namespace {

class CudaMemory final : public GpuMemory {
 public:
  [[nodiscard]] std::string uuid_of(int gpu) const override { return cuda::uuid_of(gpu); }

  [[nodiscard]] bool is_in_use(int gpu) const override { return cuda::is_in_use(gpu); }

  [[nodiscard]] std::optional<Shared> allocate(int gpu, std::size_t bytes) const override {
    auto block = cuda::SharedBlock::make(gpu, bytes);
    if (!block) return std::nullopt;
    return Shared{.bytes = block->bytes(), .handle = block->handle(), .owner = block};
  }

  [[nodiscard]] std::optional<Opened> open(int gpu, const GpuBlockHandle& handle) const override {
    auto block = cuda::ForeignBlock::open(gpu, handle);
    if (!block) return std::nullopt;
    return Opened{.bytes = block->bytes(), .owner = block};
  }

  void copy(int gpu, std::byte* to, std::span<const std::byte> from) const override {
    const Device device = Device::cuda(static_cast<std::int16_t>(gpu));
    cuda::copy(to, device, from.data(), device, from.size());
    cuda::synchronize(gpu);
  }

  void copy_to_cpu(int gpu, std::byte* to, std::span<const std::byte> from) const override {
    cuda::copy(to, Device::cpu(), from.data(), Device::cuda(static_cast<std::int16_t>(gpu)), from.size());
    cuda::synchronize(gpu);
  }

  void finish(int gpu) const override { cuda::synchronize(gpu); }
};

}  // namespace

std::shared_ptr<const GpuMemory> cuda_memory() { return std::make_shared<const CudaMemory>(); }

}  // namespace troupe::detail
