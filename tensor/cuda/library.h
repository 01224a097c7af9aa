// NVIDIA libraries loaded on demand, and objects kept per GPU.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::cuda {

/// A shared library. It stays loaded until the process ends.
class Library {
 public:
  /// Loads the library. Throws DeviceError `[matmul] libcublas.so.13: cannot open shared object file: No such file or
  /// directory`, where matmul is `op`.
  Library(std::string_view op, const std::string& name);

  /// Sets `function` to the library's function `name`. Throws DeviceError if it has none.
  template <class Function>
  void load(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(find(name));
  }

 private:
  [[nodiscard]] void* find(const char* name) const;

  std::string op_;
  void* handle_;
};

/// One T per GPU, created at the first request. Thread-safe. REQUIRES: its owner never destroys it, because the driver
/// may have shut down by then.
template <class T>
class OneForEachGpu {
 public:
  /// Returns the T of GPU `index`. If there is none yet, `make()` creates it and returns a std::unique_ptr<T>.
  template <class Make>
  const T& at(int index, const Make& make) {
    const std::lock_guard lock(mutex_);
    const auto place = static_cast<std::size_t>(index);
    if (all_.size() <= place) all_.resize(place + 1);
    if (!all_[place]) all_[place] = make();
    return *all_[place];
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> all_;  // guarded by mutex_
};

}  // namespace troupe::cuda
