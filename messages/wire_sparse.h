// Wire format of sparse tensors. Included by archive.h.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "messages/archive.h"
#include "tensor/sparse.h"

namespace troupe {

/// A boolean for presence; then its two tensors, its shape and whether it is coalesced.
template <>
struct WireFormat<SparseTensor> {
  static constexpr bool kTravels = true;
  static void save(OutArchive& ar, const SparseTensor& value);
  static void load(InArchive& ar, SparseTensor& value);
  template <class Schema>
  static void describe(Schema& schema) {
    schema.token("sparse");
  }
};

}  // namespace troupe
