// The settings of a pipeline.
#pragma once

#include <cstdint>

namespace troupe {

/// When backward passes of micro-batches begin.
enum class Schedule : std::uint8_t {
  fill_drain,   ///< when all micro-batches have left the last stage; a stage keeps what all of them saved
  one_f_one_b,  ///< as soon as a micro-batch has left the last stage; stage i keeps what stages - i of them saved
};

/// Which micro-batches are computed again in the backward pass, so that what their operations save is not kept.
enum class Recompute : std::uint8_t {
  never,
  except_last,  ///< all but the last one, whose backward pass comes next
  always,
};

/// How the loss of a batch is made from the losses of its micro-batches.
enum class LossOf : std::uint8_t {
  mean,  ///< the loss function averages over its rows: the mean, weighted by the rows of each micro-batch
  sum,   ///< the loss function sums over its rows: the sum
};

struct PipelineOptions {
  std::int64_t chunks = 1;                    ///< micro-batches of a batch; fewer if the batch has fewer rows
  Recompute recompute = Recompute::never;     ///< in train mode and with gradients
  Schedule schedule = Schedule::one_f_one_b;  ///< of `loss`; `forward` fills and drains
  bool deferred_batch_norm = false;           ///< running statistics are those of the batch, not of micro-batches
  LossOf loss_of = LossOf::mean;
};

}  // namespace troupe
