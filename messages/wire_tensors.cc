#include "messages/wire_tensors.h"

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "messages/tensor_wire.h"

namespace troupe {
namespace {

/// A small tensor that expands by repetition would take memory for all its elements on first use. There is no
/// legitimate reason to send one.
void require_all_came(const Tensor& part) {
  if (part.defined() && !part.is_contiguous())
    throw DecodeError("[decode] a sparse tensor in parts that are not dense");
}

}  // namespace

void WireFormat<Device>::save(OutArchive& ar, const Device& device) { ar(detail::wire_number(device)); }

void WireFormat<Device>::load(InArchive& ar, Device& device) { device = detail::device_of(ar.number<std::uint16_t>()); }

void WireFormat<DeviceMap>::save(OutArchive& ar, const DeviceMap& map) { ar(map.pairs()); }

void WireFormat<DeviceMap>::load(InArchive& ar, DeviceMap& map) {
  const std::uint64_t count = ar.length(2 * sizeof(std::uint16_t));
  if (count > DeviceMap::kPairsMax) {
    throw DecodeError(fmt::format("[decode] a device map of {} pairs, of {} at most", count, DeviceMap::kPairsMax));
  }
  map = {};
  try {
    for (std::uint64_t i = 0; i < count; ++i) {
      DeviceMap::Pair pair;
      ar(pair);
      map.add(pair.first, pair.second);
      if (map.pairs().size() == i) {
        throw DecodeError(
            fmt::format("[decode] a device map with {} to {} twice", to_string(pair.first), to_string(pair.second)));
      }
    }
  } catch (const std::invalid_argument& error) {
    throw DecodeError(fmt::format("[decode] {}", error.what()));
  }
}

void WireFormat<SparseTensor>::save(OutArchive& ar, const SparseTensor& value) {
  ar(value.defined());
  if (!value.defined()) return;
  ar(value.indices().contiguous(), value.values().contiguous(),
     std::vector<std::int64_t>(value.shape().begin(), value.shape().end()), value.is_coalesced());
}

void WireFormat<SparseTensor>::load(InArchive& ar, SparseTensor& value) {
  bool defined = false;
  ar(defined);
  value = SparseTensor();
  if (!defined) return;
  Tensor indices;
  Tensor values;
  std::vector<std::int64_t> sizes;
  bool coalesced = false;
  ar(indices, values, sizes, coalesced);
  require_all_came(indices);
  require_all_came(values);
  if (indices.defined()) ar.tensors().count_indices(indices.nbytes());
  try {
    value = SparseTensor(std::move(indices), std::move(values), Shape(std::span<const std::int64_t>(sizes)));
    if (coalesced) value = value.as_coalesced();
  } catch (const DeviceMemoryError&) {  // the bytes are right
    throw;
  } catch (const TensorError& error) {
    throw DecodeError(std::string("[decode] ") + error.what());
  }
}

}  // namespace troupe
