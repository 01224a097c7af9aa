// What rules are made of besides their equations: options that can be asked for, and a step size that can change.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "optim/optimizer.h"

namespace troupe::optim {

/// A rule with these options. `Options` has `kRule`, the rule's name, `lr`, `maximize`, `each()`, and `check()`, which
/// throws ValueError if they make no sense.
template <class Options>
class Rule : public Optimizer {
 public:
  [[nodiscard]] std::string_view name() const noexcept final { return Options::kRule; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }

  [[nodiscard]] double lr() const noexcept final { return options_.lr; }
  void set_lr(double lr) final {
    Options changed = options_;
    changed.lr = lr;
    changed.check();
    options_ = changed;
  }

 protected:
  Rule(const Options& options, std::vector<StateKind> kinds) : Optimizer(std::move(kinds)), options_(options) {
    options.check();
  }

 private:
  [[nodiscard]] std::vector<std::pair<std::string, double>> named_options() const final {
    std::vector<std::pair<std::string, double>> named;
    Options options = options_;
    options.each([&](std::string_view name, const auto& option) { named.emplace_back(name, option); });
    return named;
  }
  [[nodiscard]] bool maximizes() const noexcept final { return options_.maximize; }

  Options options_;
};

}  // namespace troupe::optim
