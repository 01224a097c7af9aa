// Lists of modules.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/nn/module.h"

namespace troupe::nn {

/// Modules of type M as parts named "0", "1", ...: `ModuleList<Linear> heads;`. The list has no forward(): its owner
/// uses the modules.
template <class M = Module>
class ModuleList final : public Module {
 public:
  ModuleList() = default;
  /// Throws ValueError if a module is null.
  explicit ModuleList(std::vector<std::shared_ptr<M>> modules) {
    for (auto& module : modules) append(std::move(module));
  }

  /// Throws ValueError if `module` is null. Not thread-safe.
  void append(std::shared_ptr<M> module) {
    modules_.push_back(add_module(std::to_string(modules_.size()), std::move(module)));
  }

  [[nodiscard]] std::size_t size() const noexcept { return modules_.size(); }
  /// Returns the module at `index`. Throws std::out_of_range.
  [[nodiscard]] M& operator[](std::size_t index) const { return *modules_.at(index); }
  [[nodiscard]] auto begin() const noexcept { return modules_.begin(); }
  [[nodiscard]] auto end() const noexcept { return modules_.end(); }

  /// Returns "ModuleList" for every M.
  [[nodiscard]] std::string kind() const override { return "ModuleList"; }

 private:
  std::vector<std::shared_ptr<M>> modules_;
};

}  // namespace troupe::nn
