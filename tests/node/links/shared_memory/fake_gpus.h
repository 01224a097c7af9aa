// GPUs made of CPU memory, for tests of links that share GPU memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tensor/gpu_memory.h"

namespace troupe::testing {

/// The GPUs of a host. What several processes do with them is counted.
struct FakeHost {
  struct Memory {
    explicit Memory(std::size_t size) : bytes(size) {}
    std::vector<std::byte> bytes;
    const std::shared_ptr<std::atomic<int>> open = std::make_shared<std::atomic<int>>(0);  ///< outlives the memory
  };
  std::mutex mutex;
  std::map<std::uint64_t, std::weak_ptr<Memory>> blocks;  ///< by handle; guarded by mutex
  std::uint64_t last = 0;                                 ///< guarded by mutex
  std::atomic<int> live = 0;                              ///< blocks
  std::atomic<int> opened = 0;                            ///< times
  std::atomic<int> open_now = 0;
  std::atomic<int> freed_while_open = 0;
  std::function<void()> on_free = [] {};  ///< called when a block is freed; set before there are any
};

/// One process of the host: it uses some of its GPUs.
class FakeGpus final : public detail::GpuMemory {
 public:
  FakeGpus(std::shared_ptr<FakeHost> host, std::string its_process, std::vector<std::string> uuids = {"uuid-of-gpu-0"})
      : process(std::move(its_process)), host_(std::move(host)), uuids_(std::move(uuids)) {}

  const std::string process;

  std::atomic<int> finished = 0;
  std::atomic<bool> works = true;          ///< false: the process sees its GPUs, and has used none
  std::atomic<bool> opens = true;          ///< false: the driver refuses every handle
  std::atomic<bool> opens_halves = false;  ///< the driver says that blocks have half their size

  [[nodiscard]] std::string uuid_of(int gpu) const override {
    return gpu < static_cast<int>(uuids_.size()) ? uuids_[static_cast<std::size_t>(gpu)] : std::string();
  }

  [[nodiscard]] bool is_in_use(int /*gpu*/) const override { return works; }

  [[nodiscard]] std::optional<Shared> allocate(int /*gpu*/, std::size_t bytes) const override {
    auto made = std::make_unique<FakeHost::Memory>(bytes);
    ++host_->live;
    // Not shared: the host's handles keep this function.
    std::shared_ptr<FakeHost::Memory> memory(made.release(), [host = std::weak_ptr(host_)](FakeHost::Memory* ended) {
      if (const auto still = host.lock()) {
        if (*ended->open > 0) ++still->freed_while_open;
        --still->live;
        still->on_free();
      }
      delete ended;
    });
    const std::lock_guard lock(host_->mutex);
    detail::GpuBlockHandle handle{};
    std::memcpy(handle.data(), &++host_->last, sizeof host_->last);
    host_->blocks[host_->last] = memory;
    return Shared{.bytes = memory->bytes, .handle = handle, .owner = memory};
  }

  [[nodiscard]] std::optional<Opened> open(int /*gpu*/, const detail::GpuBlockHandle& handle) const override {
    std::uint64_t number = 0;
    std::memcpy(&number, handle.data(), sizeof number);
    const std::lock_guard lock(host_->mutex);
    const auto found = host_->blocks.find(number);
    FakeHost::Memory* const memory = found == host_->blocks.end() ? nullptr : found->second.lock().get();
    if (!opens || memory == nullptr) return std::nullopt;
    ++host_->opened;
    ++host_->open_now;
    ++*memory->open;
    // Open blocks do not keep the owner's memory alive, as with a GPU.
    std::shared_ptr<const void> owner(memory, [host = host_, open = memory->open](const void* /*closed*/) {
      --host->open_now;
      --*open;
    });
    const std::span<const std::byte> all(memory->bytes);
    return Opened{.bytes = opens_halves ? all.first(all.size() / 2) : all, .owner = std::move(owner)};
  }

  void copy(int /*gpu*/, std::byte* to, std::span<const std::byte> from) const override { std::ranges::copy(from, to); }
  void copy_to_cpu(int gpu, std::byte* to, std::span<const std::byte> from) const override { copy(gpu, to, from); }
  void finish(int /*gpu*/) const override { ++const_cast<FakeGpus*>(this)->finished; }

 private:
  const std::shared_ptr<FakeHost> host_;
  const std::vector<std::string> uuids_;
};

}  // namespace troupe::testing
