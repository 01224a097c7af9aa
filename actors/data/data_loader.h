// Batches of examples, made on the pool while the training computes.
//
//   DistributedSampler sampler({.examples = digits.count(), .ranks = 2, .rank = 0, .seed = 1});
//   const auto load = [&](const Tensor& examples) { return batch(digits, examples); };
//   DataLoader<Batch> batches(node, sampler, {.batch = 32}, load);
//   while (const std::optional<Batch> next = batches.next()) train(*next);   // one epoch
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "actors/data/distributed_sampler.h"
#include "actors/data/prefetch.h"
#include "actors/scope.h"
#include "tensor/error.h"
#include "tensor/io/named_tensors.h"
#include "tensor/tensor.h"

namespace troupe {

/// How a DataLoader cuts batches and how far ahead it loads.
struct DataLoaderOptions {
  std::int64_t batch = 1;                ///< examples of a batch; the last one of an epoch may have fewer
  Remainder remainder = Remainder::pad;  ///< drop: leaves out a last batch that has fewer
  std::size_t ahead = 2;                 ///< batches that are made before they are asked for
};

/// The batches of one rank. Their position, for checkpoints, is that of the batches which next() has returned: those
/// made ahead do not count. Not thread-safe.
template <class Batch>
class DataLoader {
 public:
  /// Returns the batch of these examples, i64 (n). Runs on the pool of the scope's node, on one thread at a time.
  /// REQUIRES: what it refers to lives as long as the loader.
  using Load = std::function<Batch(const Tensor& examples)>;

  /// Throws ValueError `[DataLoader] batches of 0 examples`.
  DataLoader(const Scope& scope, DistributedSampler sampler, const DataLoaderOptions& options, Load load)
      : options_(options),
        taken_(std::move(sampler)),
        asked_(taken_),
        ahead_(scope, [load = std::move(load)](const Tensor& examples) {
          return std::static_pointer_cast<void>(std::make_shared<Batch>(load(examples)));
        }) {
    if (options.batch < 1) throw ValueError("[DataLoader] batches of " + std::to_string(options.batch) + " examples");
  }

  /// Returns the next batch of the epoch, nullopt after the last one. Throws what `load` throws; that batch counts as
  /// returned.
  [[nodiscard]] std::optional<Batch> next() {
    while (ahead_.asked() <= options_.ahead && has_batch(asked_)) ask();
    if (ahead_.asked() == 0) return std::nullopt;
    ahead_.wait();  // if it throws, the next call returns the batch
    static_cast<void>(taken_.next(options_.batch));
    return std::move(*std::static_pointer_cast<Batch>(ahead_.next()));
  }

  /// Begins an epoch. Changes nothing if it throws.
  void set_epoch(std::int64_t epoch) {
    taken_.set_epoch(epoch);
    begin();
  }
  [[nodiscard]] std::int64_t epoch() const { return taken_.epoch(); }

  /// As of the sampler.
  [[nodiscard]] NamedTensors state_dict() const { return taken_.state_dict(); }
  void load_state_dict(const NamedTensors& state) {
    taken_.load_state_dict(state);
    begin();
  }

 private:
  [[nodiscard]] bool has_batch(const DistributedSampler& sampler) const {
    return sampler.remaining() >= (options_.remainder == Remainder::drop ? options_.batch : 1);
  }
  /// If it throws, the batch is asked for by the next call.
  void ask() {
    DistributedSampler after = asked_;
    ahead_.ask(after.next(options_.batch));
    asked_ = std::move(after);
  }
  void begin() {
    ahead_.drop();
    asked_ = taken_;
  }

  DataLoaderOptions options_;
  DistributedSampler taken_;  ///< by the caller
  DistributedSampler asked_;  ///< of the pool
  detail::Prefetch ahead_;
};

}  // namespace troupe
