#include "optim/second_buffers.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <span>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/update.h"

namespace troupe::optim {
namespace {

/// Returns whether a next value like `current` may be written to `spare`.
bool is_usable(const Tensor& spare, const Tensor& current) {
  // A write into frozen memory would first copy elements that it overwrites.
  return spare.defined() && spare.shape() == current.shape() && spare.dtype() == current.dtype() &&
         spare.device() == current.device() && spare.is_contiguous() && spare.storage().size() == spare.nbytes() &&
         spare.storage().handle_count() == 1 && !spare.storage().frozen();
}

/// Returns the elements of `rows` that are not in `others`. REQUIRES: both ascend.
Tensor without(const Tensor& rows, const Tensor& others) {
  const Tensor all = rows.to(Device::cpu());
  const Tensor left_out = others.to(Device::cpu());
  std::vector<std::int64_t> rest;
  std::ranges::set_difference(all.data<std::int64_t>(), left_out.data<std::int64_t>(), std::back_inserter(rest));
  return from_values<std::int64_t>(std::span<const std::int64_t>(rest), {static_cast<std::int64_t>(rest.size())});
}

/// Returns a copy of `rows`, undefined if there is no memory for it.
Tensor copy_of(const Tensor& rows) noexcept {
  try {
    return rows.clone();
  } catch (const std::bad_alloc&) {
    return {};
  } catch (const DeviceError&) {
    return {};
  }
}

}  // namespace

SecondBuffers::SecondBuffers(std::size_t parameters) : spare_(parameters) {}

Tensor SecondBuffers::take(std::size_t index, const Tensor& current) {
  Spare spare = std::exchange(spare_[index], {});
  if (is_usable(spare.last, current)) return std::move(spare.last);
  return Tensor::empty(current.shape(), current.dtype(), current.device());
}

Tensor SecondBuffers::take_equal(std::size_t index, const Tensor& current, const Tensor& rows) {
  Spare spare = std::exchange(spare_[index], {});
  const bool usable = is_usable(spare.last, current);
  const Tensor& following = spare.following;
  const bool followed = usable && following.defined() && current.storage().same_as(following.storage()) &&
                        current.offset() == following.offset() && current.is_contiguous();
  const bool unwritten =
      followed && spare.last.version() == spare.last_version && current.version() == spare.following_version;
  Tensor next = usable ? std::move(spare.last) : Tensor::empty(current.shape(), current.dtype(), current.device());
  if (unwritten) {
    copy_rows(next, current, without(spare.rows, rows));
  } else {
    next.copy_from(current);
  }
  return next;
}

void SecondBuffers::give(std::size_t index, Tensor last, const Tensor& following, const Tensor& rows) noexcept {
  const Tensor own_rows = copy_of(rows);
  if (!own_rows.defined()) return give(index, std::move(last));
  const std::uint64_t version = last.version();
  spare_[index] = {std::move(last), version, following, following.version(), own_rows};
}

}  // namespace troupe::optim
