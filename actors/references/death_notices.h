// Deaths of peers, on their way to the owners of this node's values.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "messages/error.h"
#include "messages/ids.h"

namespace troupe::detail {

/// An owner does not say which lives concern it, so each is told of every death, which takes some microseconds. A few
/// owners are told at once; many by a job of the pool, so that calls behind them do not wait. Thread rule: any thread.
class DeathNotices {
 public:
  /// The values that have an owner.
  struct Owners {
    std::function<std::size_t()> count;
    std::function<std::vector<RRefId>()> list;  ///< which costs as much as telling them: only of owners to be told
  };

  /// Tells the owner of a value that these lives are over, on the thread that adds or on one of the pool.
  using Tell = std::function<void(const RRefId&, const std::shared_ptr<const std::vector<NodeLife>>&)>;

  /// Runs `job` on the pool, once, or calls `refused`, also when all threads wait: some may wait for what owners do
  /// when they are told. The job may run as long as this object lives.
  using Run = std::function<void(std::function<void()> job, std::function<void(const Error&)> refused)>;

  static constexpr std::size_t kToldHere = 1024;  ///< owners, at most, that add() tells itself

  /// `failed` is called if owners could not be told.
  DeathNotices(Owners owners, Tell tell, Run run, std::function<void(Error)> failed)
      : owners_(std::move(owners)), tell_(std::move(tell)), run_(std::move(run)), failed_(std::move(failed)) {}

  /// Tells every owner that the life is over. REQUIRES: who becomes an owner, or depends on the life, from now on looks
  /// at `Lives`, which has its end already.
  void add(NodeLife life);

 private:
  void tell(std::vector<NodeLife> lives) const;
  void tell_all() noexcept;

  const Owners owners_;
  const Tell tell_;
  const Run run_;
  const std::function<void(Error)> failed_;
  std::mutex mutex_;               ///< guards all below; never held while an owner is told
  std::vector<NodeLife> waiting_;  ///< not empty: has_job_
  bool has_job_ = false;           ///< one at a time, whatever number of peers dies
};

}  // namespace troupe::detail
