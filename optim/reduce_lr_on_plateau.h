// Reduces learning rates when a metric stops improving.
#pragma once

#include <cstdint>

#include "optim/rate_groups.h"
#include "tensor/io/named_tensors.h"

namespace troupe::optim {

/// Which values of the metric are better.
enum class PlateauMode : std::uint8_t {
  min,  ///< smaller is better
  max,  ///< larger is better
};

/// The unit of the threshold.
enum class Threshold : std::uint8_t {
  rel,  ///< relative to the best value so far
  abs,  ///< in units of the metric
};

/// Settings of ReduceLrOnPlateau.
struct PlateauOptions {
  PlateauMode mode = PlateauMode::min;
  double factor = 0.1;         ///< factor of the rate at each reduction, in [0, 1)
  std::int64_t patience = 10;  ///< steps without improvement before a reduction, >= 0
  double threshold = 1e-4;     ///< by how much an improvement must exceed the best value, >= 0
  Threshold threshold_mode = Threshold::rel;
  std::int64_t cooldown = 0;  ///< steps after a reduction that are not counted, >= 0
  double min_lr = 0.0;        ///< lowest rate, >= 0
  double eps = 1e-8;          ///< a change of the rate of at most eps is skipped, >= 0
};

/// Multiplies all rates by `factor` after `patience` + 1 steps in a row whose value is not better than the best by more
/// than the threshold. NaN is not better. As torch.optim.lr_scheduler.ReduceLROnPlateau. Not thread-safe.
class ReduceLrOnPlateau {
 public:
  /// REQUIRES: `optimizer` outlives this object. Throws ValueError, for example `[reduce_lr_on_plateau] factor is not a
  /// number in [0, 1): 1`.
  ReduceLrOnPlateau(RateGroups& optimizer, const PlateauOptions& options);

  /// Records the metric after one more step or epoch, and reduces the rates if it is time.
  void step(double metric);

  /// Returns the best value so far; infinite before the first.
  [[nodiscard]] double best() const noexcept { return best_; }

  /// Returns the state for write_safetensors(): "plateau.best" (f64), "plateau.bad_steps" and "plateau.cooldown" (i64).
  /// The rates are saved with the optimizer.
  [[nodiscard]] NamedTensors state_dict() const;

  /// Restores a saved state. Reads the names that begin with "plateau.". If they do not fit, throws ValueError
  /// `[load_state_dict] missing: plateau.best` and changes nothing.
  void load_state_dict(const NamedTensors& state);

 private:
  [[nodiscard]] bool is_better(double metric) const;
  void reduce();

  RateGroups& optimizer_;
  PlateauOptions options_;
  double best_;
  std::int64_t bad_steps_ = 0;  ///< steps since the last improvement or reduction
  std::int64_t cooldown_ = 0;   ///< remaining steps of the cooldown
};

}  // namespace troupe::optim
