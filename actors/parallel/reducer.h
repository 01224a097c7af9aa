// Connects the backward passes of one member's module with the rounds of its group.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "actors/contexts/gradient_reducer.h"
#include "actors/core/strand.h"
#include "actors/parallel/rounds.h"

namespace troupe::detail {

/// Performs a round for each pass of the contexts to which it is attached. Rounds run on the pool, one after the other,
/// beside the passes; a pass ends with its round. Thread rule: any thread may call any member.
class Reducer final : public GradientReducer, public std::enable_shared_from_this<Reducer> {
 public:
  /// `rounds` have begun. `scope` belongs to their node.
  Reducer(const Scope& scope, std::unique_ptr<Rounds> rounds);

  /// Takes part in the passes of the scope's context on this node from now on. Throws std::logic_error if `scope` has
  /// no context, std::invalid_argument if it belongs to another node.
  void attach(const Scope& scope);

  /// Passes that begin before as many calls of `stop_holding` hold their gradients for a later round.
  void hold();
  void stop_holding();

  /// Takes part in rounds without a pass until all members do so; then gives all the parameters and buffers of the
  /// lowest rank of the last round. Waits. Throws RemoteError; std::logic_error if a pass runs.
  void join();

  // GradientReducer
  void begin(const PassId& pass) override;
  void found(const PassId& pass, const Variable& leaf, const Tensor& gradient, const SparseTensor& rows) override;
  void finish(const PassId& pass, Gradients gradients, Done done) override;
  void fail(const PassId& pass, const Error& why) override;

 private:
  /// One pass, from `begin` to `finish` or `fail`. Its job may last longer.
  struct Part {
    explicit Part(std::vector<LeafGradient> of_earlier_passes)
        : own(of_earlier_passes), held(std::move(of_earlier_passes)) {}

    MemberGradients own;
    bool has_round = false;
    // Guarded by Reducer::mutex_.
    std::vector<LeafGradient> held;  ///< what earlier passes left for this one; empty once it is held again
    // What comes first of the round's outcome and the pass's end waits for the other.
    Gradients gradients;                          ///< of the pass, with those of other leaves
    Done done;                                    ///< set by finish
    std::optional<Result<RoundOutcome>> outcome;  ///< set by the job
  };

  void run_round(const std::shared_ptr<Part>& part);
  void end_round(const std::shared_ptr<Part>& part, Result<RoundOutcome> outcome);
  /// The round of `part` gives no gradients: the next one takes what earlier passes have left. REQUIRES: mutex_.
  void hold_again(Part& part);
  void join_in_turn();
  [[nodiscard]] std::shared_ptr<Part> find(const PassId& pass) const;
  [[nodiscard]] std::shared_ptr<Part> take(const PassId& pass);
  [[nodiscard]] Result<Gradients> combined(const Gradients& found, const Result<RoundOutcome>& outcome) const;
  [[nodiscard]] Error error(ErrorCode code, std::string message) const;

  const std::weak_ptr<NodeCore> node_;
  const NodeName name_;
  const std::unique_ptr<Rounds> rounds_;                  // used on the strand only
  const std::vector<Variable> leaves_;                    // the parameters, in the order of their numbers
  std::unordered_map<const void*, std::size_t> numbers_;  // constant after construction: by Variable::id()
  Strand strand_;

  mutable std::mutex mutex_;
  std::map<PassId, std::shared_ptr<Part>> parts_;  // guarded by mutex_: passes that have begun and not ended
  std::vector<LeafGradient> held_;                 // guarded by mutex_: for the next round
  std::size_t holders_ = 0;                        // guarded by mutex_
};

}  // namespace troupe::detail
