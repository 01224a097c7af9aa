// Sees what a thread computes, for profiles.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string_view>

namespace troupe {

class Tensor;

/// Told of each computation of the threads that it watches, after it. Its members are called by those threads.
class ComputeWatcher {
 public:
  using Time = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

  virtual ~ComputeWatcher() = default;

  [[nodiscard]] virtual Time now() const = 0;

  /// A kernel has run since `begin`: on a GPU, it has been started. `inputs`: the tensors that it
  /// reads, some of which may be undefined.
  virtual void computed(std::string_view kernel, Time begin, std::span<const Tensor* const> inputs) noexcept = 0;

  /// The backward of an operation, "mul", has run since `begin`, or the gradients of a boundary between nodes were
  /// passed on, "recv", or came in, "send".
  virtual void went_back(std::string_view operation, Time begin) noexcept = 0;

  /// Returns the watcher of the calling thread; null if there is none.
  [[nodiscard]] static ComputeWatcher* here() noexcept;

  /// Sets another watcher of the calling thread, or none. Returns the one before: for guards, and for coroutines that
  /// hold one.
  [[nodiscard]] static std::shared_ptr<ComputeWatcher> exchange_here(std::shared_ptr<ComputeWatcher> watcher) noexcept;
  [[nodiscard]] static std::shared_ptr<ComputeWatcher> shared_here() noexcept;

  /// Sets the watcher of the calling thread, or none, during the guard's lifetime.
  class Guard {
   public:
    explicit Guard(std::shared_ptr<ComputeWatcher> watcher) noexcept;
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    std::shared_ptr<ComputeWatcher> outside_;
  };
};

/// Tells the thread's watcher, if there is one, of a kernel that runs until the object's end.
class WatchedKernel {
 public:
  /// REQUIRES: `name` and the inputs outlive the object. Of the inputs, those that are undefined are left out.
  explicit WatchedKernel(std::string_view name, std::span<const Tensor* const> inputs) noexcept;
  ~WatchedKernel();
  WatchedKernel(const WatchedKernel&) = delete;
  WatchedKernel& operator=(const WatchedKernel&) = delete;

 private:
  ComputeWatcher* const watcher_;
  const std::string_view name_;
  const std::span<const Tensor* const> inputs_;
  const ComputeWatcher::Time begin_;
};

}  // namespace troupe
