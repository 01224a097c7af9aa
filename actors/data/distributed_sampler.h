// Which examples each member of a group takes, in which order: a seeded shuffle of all, dealt out to the ranks.
#pragma once

#include <cstdint>

#include "tensor/io/named_tensors.h"
#include "tensor/tensor.h"

namespace troupe {

/// What happens if the ranks cannot get equal numbers of examples.
enum class Remainder : std::uint8_t {
  pad,   ///< some examples, from the beginning of the order, are given out twice
  drop,  ///< the last examples of the order are left out in this epoch
};

/// Whether each epoch has an order of its own, or that of the data set.
enum class Shuffle : std::uint8_t { no, yes };

/// The data set that a DistributedSampler deals out, and the ranks that it deals to.
struct SamplerOptions {
  std::int64_t examples = 0;  ///< of the data set: their indices are 0 ... examples - 1
  std::int64_t ranks = 1;
  std::int64_t rank = 0;
  std::uint64_t seed = 0;  ///< the same on all ranks
  Shuffle shuffle = Shuffle::yes;
  Remainder remainder = Remainder::pad;
};

/// The examples of one rank. In each epoch the order is permutation() of Generator(seed, epoch); rank r of n takes
/// elements r, r + n, r + 2n, ... All ranks get the same number of examples.
///
/// The state is that of the group, the same on every rank that has taken as many examples: epoch, and examples given
/// out to all ranks in it. So a training may go on with another number of ranks: the rest of the epoch is dealt out to
/// them. Source: `torch.utils.data.DistributedSampler`, whose permutations differ. A plain class; not thread-safe.
class DistributedSampler {
 public:
  /// Begins with epoch 0. Throws ValueError `[DistributedSampler] rank 2 of 2`, `[DistributedSampler] -1 examples`.
  explicit DistributedSampler(const SamplerOptions& options);

  /// Begins an epoch. Throws ValueError `[DistributedSampler] epoch -1`.
  void set_epoch(std::int64_t epoch);
  [[nodiscard]] std::int64_t epoch() const { return epoch_; }

  /// Returns how many examples this rank has not taken in this epoch.
  [[nodiscard]] std::int64_t remaining() const { return of_rank_ - taken_; }

  /// Returns the next `count` examples, or as many as remain: i64 (n). Throws ValueError for a negative count.
  Tensor next(std::int64_t count);

  [[nodiscard]] const SamplerOptions& options() const { return options_; }

  /// Returns the state for a checkpoint: "epoch", "given_out", and what must be equal when it is loaded, "examples",
  /// "seed" and "shuffle" (i64).
  [[nodiscard]] NamedTensors state_dict() const;

  /// Restores a state, also of another number of ranks, or one without "shuffle" as it was once saved. If it does not
  /// fit, changes nothing and throws ValueError `[load_state_dict] missing: epoch`, `[load_state_dict] examples is 5,
  /// not 7`.
  void load_state_dict(const NamedTensors& state);

 private:
  void begin(std::int64_t epoch, std::int64_t given_out);

  SamplerOptions options_;
  std::int64_t epoch_ = 0;
  std::int64_t given_out_ = 0;  ///< in this epoch, before these ranks began
  std::int64_t of_rank_ = 0;    ///< examples of this rank from there on
  std::int64_t taken_ = 0;      ///< of them
  Tensor order_;                ///< of all examples in this epoch, i64
};

}  // namespace troupe
