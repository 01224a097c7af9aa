// The base class of rules with everything except their equations: options that can be read, and a step size that can
// change.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "optim/optimizer.h"
#include "optim/option_checks.h"

namespace troupe::optim {

/// A rule with these options. `Options` has `kRule`, the rule's name, `lr`, `maximize`, `each()`, and `check()`, which
/// throws ValueError for invalid options.
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

  [[nodiscard]] double momentum() const noexcept final {
    if constexpr (kHasMomentum) return momentum_in(options_);
    else return 0.0;
  }
  void set_momentum(double momentum) final {
    if constexpr (kHasMomentum) {
      // The constructor decided which states exist; a later momentum cannot add or remove one.
      const bool had_buffer = momentum_in(options_) != 0.0;
      if constexpr (requires { options_.momentum; }) require_momentum_or_none(Options::kRule, had_buffer, momentum);
      Options changed = options_;
      momentum_in(changed) = momentum;
      changed.check();
      options_ = changed;
    } else {
      refuse_momentum(Options::kRule);
    }
  }

 protected:
  Rule(const Options& options, std::vector<StateKind> kinds, std::string product = {})
      : Optimizer(std::move(kinds), std::move(product)), options_(options), first_momentum_(momentum()) {
    options.check();
  }

 private:
  static constexpr bool kHasMomentum = requires(Options o) { o.momentum; } || requires(Options o) { o.beta1; };

  template <class Any>
  [[nodiscard]] static auto& momentum_in(Any& options) noexcept {
    if constexpr (requires { options.momentum; }) return options.momentum;
    else return options.beta1;
  }

  [[nodiscard]] std::vector<std::pair<std::string, double>> named_options() const final {
    std::vector<std::pair<std::string, double>> named;
    Options options = options_;
    if constexpr (kHasMomentum) momentum_in(options) = first_momentum_;
    options.each([&](std::string_view name, const auto& option) { named.emplace_back(name, option); });
    return named;
  }
  [[nodiscard]] bool maximizes() const noexcept final { return options_.maximize; }

  Options options_;
  double first_momentum_;  ///< from the constructor; saved instead of what a schedule set
};

}  // namespace troupe::optim
