#include "actors/parallel/member_gradients.h"

#include <array>
#include <utility>

#include "tensor/ops/arithmetic.h"

namespace troupe::detail {

void LeafGradient::add(const LeafGradient& other) {
  if (!other.defined()) return;
  if (!defined()) {
    *this = other;
  } else if (rows.defined() && other.rows.defined()) {
    rows = troupe::add(std::array{rows, other.rows}).coalesce();
  } else {
    const Tensor mine = rows.defined() ? rows.to_dense() : dense;
    dense = troupe::add(mine, other.rows.defined() ? other.rows.to_dense() : other.dense);
    rows = {};
  }
}

MemberGradients::MemberGradients(std::vector<LeafGradient> held) : gradients_(std::move(held)) {
  for (std::size_t i = 0; i < gradients_.size(); ++i) final_.emplace_back();
}

void MemberGradients::add(std::size_t number, const LeafGradient& gradient) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    gradients_[number].add(gradient);
    order_.push_back(number);
  }
  final_[number].signal();
}

void MemberGradients::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  for (WaitPoint& point : final_) point.signal();
  end_.signal();
}

bool MemberGradients::fail(Error why) {
  {
    const std::lock_guard lock(mutex_);
    if (told_) return failure_.has_value();
    if (!failure_) failure_ = std::move(why);
  }
  end();
  return true;
}

bool MemberGradients::tell_failure() {
  const std::lock_guard lock(mutex_);
  told_ = true;
  return failure_.has_value();
}

void MemberGradients::wait_for(std::size_t number) { static_cast<void>(final_[number].wait(std::nullopt)); }
void MemberGradients::wait_for_end() { static_cast<void>(end_.wait(std::nullopt)); }

LeafGradient MemberGradients::of(std::size_t number) const {
  const std::lock_guard lock(mutex_);
  return gradients_[number];
}

std::vector<std::size_t> MemberGradients::order() const {
  const std::lock_guard lock(mutex_);
  return order_;
}

bool MemberGradients::has_ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

std::string MemberGradients::failure_text() const {
  const std::lock_guard lock(mutex_);
  return failure_ ? failure_->text() : std::string();
}

std::vector<LeafGradient> MemberGradients::all() const {
  const std::lock_guard lock(mutex_);
  return gradients_;
}

}  // namespace troupe::detail
