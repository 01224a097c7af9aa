// Built without the CUDA toolkit. Every GPU is unavailable, so only device_count() and why_unavailable() are ever
// called.
#include "tensor/cuda/memory.h"
#include "tensor/cuda/shared_memory.h"
#include "tensor/error.h"

namespace troupe::cuda {
namespace {

constexpr const char* kWhy = "built without CUDA";

}  // namespace

int device_count() { return 0; }

std::string why_unavailable(int /*index*/) { return kWhy; }

bool is_in_use(int /*index*/) { return false; }

std::byte* allocate(int /*index*/, std::size_t /*size*/) { throw DeviceError(std::string("[allocate] ") + kWhy); }

void deallocate(int /*index*/, std::byte* /*block*/) noexcept {}

void copy(std::byte* /*to*/, Device /*to_device*/, const std::byte* /*from*/, Device /*from_device*/,
          std::size_t /*size*/) {
  throw DeviceError(std::string("[copy] ") + kWhy);
}

void synchronize(int /*index*/) { throw DeviceError(std::string("[synchronize] ") + kWhy); }

std::shared_ptr<const SharedBlock> SharedBlock::make(int /*index*/, std::size_t /*size*/) { return nullptr; }
SharedBlock::~SharedBlock() = default;

std::shared_ptr<const ForeignBlock> ForeignBlock::open(int /*index*/, const BlockHandle& /*handle*/) { return nullptr; }
ForeignBlock::~ForeignBlock() = default;

std::string uuid_of(int /*index*/) { return {}; }

}  // namespace troupe::cuda
