// What the driver of a pipeline tells a stage about one micro-batch.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "actors/pipeline/stage_gate.h"
#include "actors/rref.h"

namespace troupe::detail {

/// A reference to a value whose type is known to its users only. Travels as an RRef does.
struct AnyRRef {
  std::shared_ptr<RRefHandle> handle;

  AnyRRef() = default;
  explicit AnyRRef(std::shared_ptr<RRefHandle> h) : handle(std::move(h)) {}
  template <class T>
  AnyRRef(const RRef<T>& rref) : handle(rref.shared_handle()) {}
  template <class T>
  [[nodiscard]] RRef<T> as() const {
    return RRef<T>(handle);
  }
};

/// One micro-batch for one stage.
struct StageTask {
  RoundPlan plan;
  std::uint32_t index = 0;         ///< of the micro-batch in the round
  std::uint32_t stage = 0;         ///< for reports
  bool records = false;            ///< gradients are enabled
  bool recomputes = false;         ///< in the backward pass, what the forward does not save
  bool defers_batch_norm = false;  ///< running statistics take in the round as one batch
  bool fetches_first = true;       ///< the inputs are fetched before the micro-batch may enter, else afterwards
  std::vector<AnyRRef> inputs;     ///< the result of the stage before, then one value for each skip connection

  [[nodiscard]] MicroBatchId id() const { return {plan.round, index}; }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(plan, index, stage, records, recomputes, defers_batch_norm, fetches_first, inputs);
  }
};

}  // namespace troupe::detail

namespace troupe {

template <>
struct WireFormat<detail::AnyRRef> {
  static constexpr bool kTravels = true;
  static void save(OutArchive& archive, const detail::AnyRRef& rref) { detail::save_rref(archive, rref.handle); }
  static void load(InArchive& archive, detail::AnyRRef& rref) { rref.handle = detail::load_rref(archive); }
  template <class Schema>
  static void describe(Schema& schema) {
    schema.token("rref");
  }
};

}  // namespace troupe
