// Libraries of NVIDIA that are loaded when they are needed, and what there is of them for each GPU.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::cuda {

/// A shared library; loaded for the rest of the process.
class Library {
 public:
  /// `op` is for errors: DeviceError `[matmul] libcublas.so.13: cannot open shared object file: No such file or
  /// directory`.
  Library(std::string_view op, const std::string& name);

  /// Sets `function` to that of this name. Throws DeviceError if there is none.
  template <class Function>
  void load(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(find(name));
  }

 private:
  [[nodiscard]] void* find(const char* name) const;

  std::string op_;
  void* handle_;
};

/// One T for each GPU, made when it is asked for the first time. Any thread. Whoever has one of these never destroys
/// it: the driver may have shut down before.
template <class T>
class OneForEachGpu {
 public:
  /// `make()` gives a std::unique_ptr<T>.
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
