// Connects the backward passes of one member's module with the rounds of its group.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
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

  /// Passes that begin while there are more calls of `hold` than of `stop_holding` hold their gradients for a later
  /// round.
  void hold();
  void stop_holding();

  /// Takes part in rounds without a pass until all members do so; then gives all the parameters and buffers of the
  /// lowest rank of the last round. What is held goes into the first of these rounds that does not fail, and is dropped
  /// if there is none. Waits. Throws RemoteError; std::logic_error if a pass runs.
  void join();

  // GradientReducer
  void begin(const PassId& pass) override;
  void found(const PassId& pass, const Variable& leaf, const Tensor& gradient, const SparseTensor& rows) override;
  void found_all(const PassId& pass) override;
  void finish(const PassId& pass, Gradients gradients, Done done) override;
  void fail(const PassId& pass, const Error& why) override;
  void complete(const PassId& pass) override;

 private:
  /// One pass, from `begin` to its end here: `fail`, or `finish` and the outcome of its round. Its job may last longer.
  struct Part {
    Part(const PassId& id, std::vector<LeafGradient> of_earlier_passes)
        : pass(id), own(of_earlier_passes), held(std::move(of_earlier_passes)) {}

    const PassId pass;
    MemberGradients own;
    bool has_round = false;
    // Guarded by Reducer::mutex_.
    std::vector<LeafGradient> held;  ///< what earlier passes left for this one; empty once it is held again
    // The outcome of the round and the end of the pass come in any order; the first of them is kept for the second.
    Gradients gradients;                          ///< of the pass, with those of other leaves
    Done done;                                    ///< set by finish
    std::optional<Result<RoundOutcome>> outcome;  ///< set by the job
  };

  /// The gradients of a pass that was no round, for the next round.
  struct Left {
    PassId pass;
    std::vector<LeafGradient> gradients;
    bool is_sure = false;  ///< the pass can no longer fail
  };

  void run_round(const std::shared_ptr<Part>& part);
  void end_round(const std::shared_ptr<Part>& part, Result<RoundOutcome> outcome);
  /// The round of `part` gave no gradients: keeps what earlier passes left for it for the next round. REQUIRES: mutex_.
  void hold_again(Part& part);
  /// The round has given gradients to `pass`, which its caller learns next. REQUIRES: mutex_.
  void note_told(const PassId& pass, const Result<RoundOutcome>& outcome);
  /// The pass, if it has left gradients, can no longer fail. REQUIRES: mutex_.
  void make_sure(const PassId& pass);
  /// Adds what passes have left to `held_`, in the order in which they were done: of all, of those before the first
  /// that may yet fail, or of the first. REQUIRES: mutex_.
  void hold_left();
  void hold_sure();
  void hold_first();
  void join_in_turn();
  [[nodiscard]] std::shared_ptr<Part> find(const PassId& pass) const;
  /// Returns the part of a pass that has begun and not ended here; null if there is none. REQUIRES: mutex_.
  [[nodiscard]] std::shared_ptr<Part> unended(const PassId& pass) const;
  [[nodiscard]] Result<Gradients> combined(const Gradients& found, const Result<RoundOutcome>& outcome) const;
  [[nodiscard]] Error error(ErrorCode code, std::string message) const;

  const std::weak_ptr<NodeCore> node_;
  const NodeName name_;
  const std::unique_ptr<Rounds> rounds_;                  // used on the strand only, but for `fail`
  const std::vector<Variable> leaves_;                    // the parameters, in the order of their numbers
  std::unordered_map<const void*, std::size_t> numbers_;  // constant after construction: by Variable::id()
  Strand strand_;

  mutable std::mutex mutex_;
  std::map<PassId, std::shared_ptr<Part>> parts_;     // guarded by mutex_: passes that have begun and not finished
  std::map<PassId, std::shared_ptr<Part>> finished_;  // guarded by mutex_: these wait for their round's outcome
  std::vector<LeafGradient> held_;                    // guarded by mutex_: for the next round
  std::size_t holders_ = 0;                           // guarded by mutex_
  std::set<PassId> told_;  // guarded by mutex_: passes of this node with gradients of their round; each may yet fail
  std::deque<Left> left_;  // guarded by mutex_: of passes that were no rounds, the first of which may yet fail
};

}  // namespace troupe::detail
