// Smaller steps once a metric no longer gets better.
#pragma once

#include <cstdint>

#include "optim/local_optimizer.h"
#include "tensor/io/named_tensors.h"

namespace troupe::optim {

/// Which values of the metric are better.
enum class PlateauMode : std::uint8_t {
  min,  ///< smaller is better
  max,  ///< larger is better
};

/// What a threshold is measured by.
enum class Threshold : std::uint8_t {
  rel,  ///< a share of the best value so far
  abs,  ///< the metric itself
};

/// Settings of ReduceLrOnPlateau.
struct PlateauOptions {
  PlateauMode mode = PlateauMode::min;
  double factor = 0.1;         ///< of the rate at each reduction, in [0, 1)
  std::int64_t patience = 10;  ///< steps without improvement that are waited for, >= 0
  double threshold = 1e-4;     ///< by how much a value must be better to count, >= 0
  Threshold threshold_mode = Threshold::rel;
  std::int64_t cooldown = 0;  ///< steps after a reduction that do not count, >= 0
  double min_lr = 0.0;        ///< the rate goes no lower, >= 0
  double eps = 1e-8;          ///< smaller changes of the rate are left out, >= 0
};

/// Multiplies the rates of all groups by `factor` when `patience` + 1 steps in a row brought no value better than the
/// best by the threshold. A value that is not a number is not better. As torch.optim.lr_scheduler.ReduceLROnPlateau.
/// Not safe for several threads at once.
class ReduceLrOnPlateau {
 public:
  /// `optimizer` outlives this. Throws ValueError, for example `[reduce_lr_on_plateau] factor is not a number in [0,
  /// 1): 1`.
  ReduceLrOnPlateau(LocalOptimizer& optimizer, const PlateauOptions& options);

  /// The value of the metric after one more step, or epoch.
  void step(double metric);

  /// The best value so far; infinite before the first.
  [[nodiscard]] double best() const noexcept { return best_; }

  /// For write_safetensors(): "plateau.best" (f64), "plateau.bad_steps" and "plateau.cooldown" (i64). Rates are saved
  /// with the optimizer.
  [[nodiscard]] NamedTensors state() const;

  /// Goes on from there. Reads the names that begin with "plateau."; throws ValueError
  /// `[load_state] missing: plateau.best` and changes nothing if they do not fit.
  void load_state(const NamedTensors& state);

 private:
  [[nodiscard]] bool is_better(double metric) const;
  void reduce();

  LocalOptimizer& optimizer_;
  PlateauOptions options_;
  double best_;
  std::int64_t bad_steps_ = 0;  ///< without improvement since the last one, or since the last reduction
  std::int64_t cooldown_ = 0;   ///< steps that it still lasts
};

}  // namespace troupe::optim
